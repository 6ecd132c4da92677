"""Generated kernels, each a module that imports only NumPy. Do not edit."""
