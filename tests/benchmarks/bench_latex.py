"""Figures of the typesetting: run as a script, prints what it measures, asserts nothing.

The work is a recursion cut off at 945 terms, as many as there are pairings of ten legs. The first
call is timed in a process of its own, so that no cache is warm; the best of five calls follows in
that same process. The peer is `sympy.latex` on the sum of the same terms, every bracket and tensor
being one symbol, which spares SymPy the inside of them.
"""

import importlib.util
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from symdlt.derivation import Recursion, RecursionTerm, derive
from symdlt.formats.latex import to_latex

HERE = Path(__file__).parent
TERMS, BAR = 945, 0.04
ROWS = (
    ("many inputs", "X6_01_23", "many"),
    ("a correction, many inputs", "A.1", "many"),
    ("one input", "X8_01_23", "one"),
)


def best(work: Callable[[], object], repeat: int) -> float:
    """The shortest of some runs, in seconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def cut(name: str, inputs: str) -> Recursion:
    """The recursion of a tensor without its later terms."""
    whole = derive(name, inputs=inputs)
    return replace(whole, terms=whole.terms[:TERMS])


def ours(name: str, inputs: str) -> None:
    """Print the seconds of the first call, of the best call, and the number of terms."""
    recursion = cut(name, inputs)
    first = best(lambda: to_latex(recursion), 1)
    print(first, best(lambda: to_latex(recursion), 5), len(recursion.terms))


def theirs(name: str, inputs: str) -> None:
    """Print the seconds of SymPy's call and the number of terms of its sum."""
    import sympy

    constants = sympy.symbols("C_b C_W lambda_b lambda_W")
    ratio = sympy.Symbol("r")
    known: dict[object, object] = {}

    def product(term: RecursionTerm) -> object:
        factors = [sympy.Rational(str(term.coefficient)), ratio**term.width_ratio]
        factors += [c**p for c, p in zip(constants, term.hyperparameters.powers, strict=True)]
        for factor in (*term.brackets, *term.tensors):
            factors.append(known.setdefault(factor, sympy.Symbol(f"X_{len(known)}")))
        return sympy.Mul(*factors)

    total = sympy.Add(*map(product, cut(name, inputs).terms))
    print(best(lambda: sympy.latex(total), 1), len(total.args))


def measured(who: str, *row: str) -> list[float]:
    """What one side prints in a fresh process."""
    code = f"import bench_latex; bench_latex.{who}{row!r}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=HERE
    )
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    """Print one row for each recursion."""
    for what, *row in ROWS:
        first, again, terms = measured("ours", *row)
        peer = "SymPy not compared"
        if importlib.util.find_spec("sympy"):
            seconds, number = measured("theirs", *row)
            peer = f"SymPy {seconds * 1e3:.0f} ms for {number:.0f} ({seconds / first:.1f}x)"
        print(
            f"LaTeX of {terms:.0f} terms, {what:26} first {first * 1e3:5.1f} ms, "
            f"best {again * 1e3:5.1f} ms, bar {BAR * 1e3:.0f} ms, {peer}"
        )


if __name__ == "__main__":
    main()
