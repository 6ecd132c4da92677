"""symdlt: recursions of finite-width networks, derived from the definitions."""
