"""Definitions: how a layer is made of the one below, written in the index language."""

from symdlt.definitions.layers import DENSE, FIELD, WIDTH, Branch, Layer, Way, ascii_name

__all__ = ["DENSE", "FIELD", "WIDTH", "Branch", "Layer", "Way", "ascii_name"]
