"""The symbols in results, as SymPy has them: for `subs`, `solve` and the like.

SymPy tells symbols of one name apart by what is assumed of them, so that ``subs("lambda_b", 0)``
changes nothing. These are the symbols themselves.

>>> from symdlt import exponents, symbols
>>> exponents("tanh")["H"].coefficient.subs(symbols.lambda_W, 0)
lambda_b
"""

import sympy as sp

C_b = sp.Symbol("C_b", positive=True)
C_W = sp.Symbol("C_W", positive=True)
lambda_b = sp.Symbol("lambda_b", positive=True)
lambda_W = sp.Symbol("lambda_W", positive=True)
K = sp.Symbol("K", positive=True)
layer = sp.Symbol("l", positive=True)
depth = sp.Symbol("L", positive=True)
n = sp.Symbol("n", positive=True)
n_below = sp.Symbol("n'", positive=True)
eta = sp.Symbol("eta", positive=True)
sigma_1 = sp.Symbol("sigma_1", positive=True)
a_1 = sp.Symbol("a_1", negative=True)
p_perp = sp.Symbol("p_perp", real=True)


def named(name: str) -> sp.Symbol:
    """The symbol of a name: one of these, or a real one."""
    known = globals().get(name)
    return known if isinstance(known, sp.Symbol) else sp.Symbol(name, real=True)
