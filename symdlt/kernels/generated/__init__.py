"""Generated kernels, in NumPy and what kernels share. Do not edit."""
