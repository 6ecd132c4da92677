"""Trained networks, theory and experiment."""
