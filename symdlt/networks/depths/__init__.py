"""Networks with skips: all depths of one definition at once, as arrays over pairs of depths."""
