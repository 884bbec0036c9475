"""Physics as numbers: recursions, tracer, compiled kernels, the engine."""
