"""The target for processors: kernels as LLVM text on vectors of lanes, compiled for this machine and kept on disk."""
