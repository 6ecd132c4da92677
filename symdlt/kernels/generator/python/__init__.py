"""What targets written in Python share: expressions, layout, linking, and activations as text."""
