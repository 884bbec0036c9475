"""The target for graphics cards: kernels as CUDA text around a fixed shell (`shell.cu`), compiled on first use through CuPy."""
