"""From recursions to what a kernel computes; a target's own folder makes text of it."""
