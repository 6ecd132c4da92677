"""What kernels in JAX are made of. These modules import jax; the generator copies, and reads only.

Every function is pure, and its derivatives are numbers also where a formula divides by zero on the
way: such places are left out before the division, and chosen afterwards.
"""
