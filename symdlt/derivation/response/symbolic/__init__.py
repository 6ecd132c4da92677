"""The equations of layers in symbols, and the account of each term."""
