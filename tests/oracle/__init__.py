"""Monte Carlo of real networks as a judge of the theory."""
