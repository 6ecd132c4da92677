"""Kernels in JAX: the templates, what fills them, and what the generated modules run on."""
