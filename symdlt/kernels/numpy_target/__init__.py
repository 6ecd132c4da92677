"""Kernels in NumPy: the template, what fills it, and what the generated modules run on."""
