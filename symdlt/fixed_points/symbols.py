"""The learning rates as SymPy symbols, in results about NTKs."""

import sympy as sp

LAMBDA_B = sp.Symbol("lambda_b", positive=True)
LAMBDA_W = sp.Symbol("lambda_W", positive=True)
