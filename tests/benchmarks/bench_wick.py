"""Speed of the Wick layer against FORM, SymPy and python-flint: run as a script.

Prints for each piece of work our time, the bar, and the time of each peer in this same run with
the ratio peer / ours, or "not compared" where the peer is absent or cannot do the work in a
minute. A number that the two must agree on is checked before a time is printed.
"""

import importlib.util
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from symdlt.algebra import (
    Expression,
    Polynomial,
    activation,
    constant,
    gaussian,
    neurons,
    preactivations,
    product,
    samples,
    weights,
)
from symdlt.algebra.averages import expectation, expectation_orbits, expectation_terms

HERE = Path(__file__).parent
Outcome = int | str
Peer = tuple[str, Callable[[], Outcome]]


@dataclass(frozen=True)
class Work:
    """One row of the table: what is timed, the bar in seconds, and who else does it."""

    name: str
    ours: Callable[[], Outcome]
    bar: float | None
    peers: tuple[Peer, ...] = ()
    repeat: int = 3


def best_time(action: Callable[[], Outcome], repeat: int) -> tuple[float, Outcome]:
    best, outcome = float("inf"), ""
    for _ in range(repeat):
        start = time.perf_counter()
        outcome = action()
        best = min(best, time.perf_counter() - start)
    return best, outcome


def show_time(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds < 0.1 else f"{seconds:.2f} s"


def names(letter: str, count: int) -> str:
    return " ".join(f"{letter}{place}" for place in range(1, count + 1))


def legs_of_inputs(count: int) -> tuple[Expression, object]:
    head = weights(1)
    (column,) = neurons("j", "n_0")
    x = constant("x", column)
    rows = neurons(names("i", count), "n_1")
    return product((head(row, column) * x(column)).sum(column) for row in rows), head


def count_pairings(count: int) -> Callable[[], Outcome]:
    expression, head = legs_of_inputs(count)
    return lambda: sum(1 for _ in expectation_terms(expression, head))


def trace_polynomial(power: int) -> Callable[[], Outcome]:
    head = weights(1, rows="n", columns="m", law=gaussian(1))
    rows, columns = neurons(names("r", power), "n"), neurons(names("c", power), "m")
    walk = product(
        head(rows[k], columns[k]) * head(rows[(k + 1) % power], columns[k]) for k in range(power)
    ).sum(*rows, *columns)

    def run() -> Outcome:
        average = expectation(walk, over=head)
        return int(average.terms[0].coefficient.substitute({"n": 2, "m": 3}).as_fraction())

    return run


def split_neurons(count: int) -> Callable[[], Outcome]:
    head, z = weights(2), preactivations(1)
    σ = activation("σ", z)
    (column,) = neurons("j", "n_1")
    rows, marks = neurons(names("i", count), "n_2"), samples(names("d", count))
    expression = product(
        (head(row, column) * σ(column, mark)).sum(column)
        for row, mark in zip(rows, marks, strict=True)
    )
    pairs = expectation_orbits(expression, over=head)
    return lambda: expectation_orbits(pairs, over=z).multiplicity


def latex_of_pairings(count: int) -> Callable[[], Outcome]:
    expression, head = legs_of_inputs(count)
    average = expectation(expression, over=head)
    return lambda: average.latex().count(" + ") + 1


def form(program: str, **settings: int) -> Callable[[], Outcome]:
    defines = [piece for key, value in settings.items() for piece in ("-D", f"{key}={value}")]

    def run() -> Outcome:
        done = subprocess.run(
            ["form", "-q", *defines, str(HERE / program)],
            capture_output=True,
            check=True,
            text=True,
            timeout=100,
        )
        return done.stdout.strip()

    return run


def form_trace(power: int) -> Callable[[], Outcome]:
    run = form("traces.frm", POWER=power)

    def value() -> Outcome:
        formula = "".join(str(run()).split()).partition("=")[2].rstrip(";")
        return int(read_polynomial(formula).substitute({"n": 2, "m": 3}).as_fraction())

    return value


def read_polynomial(formula: str) -> Polynomial:
    """Read FORM's sum of products of numbers and powers of symbols."""
    total = Polynomial.number(0)
    for term in formula.split("+"):
        piece = Polynomial.number(1)
        for factor in term.split("*"):
            name, _, power = factor.partition("^")
            base = Polynomial.number(int(name)) if name.isdigit() else Polynomial.symbol(name)
            piece = piece * base ** int(power or 1)
        total = total + piece
    return total


def pairings(places: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], ...]]:
    if not places:
        yield ()
        return
    for k in range(1, len(places)):
        for rest in pairings(places[1:k] + places[k + 1 :]):
            yield ((places[0], places[k]), *rest)


def sympy_pairings(count: int) -> Callable[[], Outcome]:
    import sympy

    rows = sympy.symbols(f"i1:{count + 1}", integer=True)
    scale = sympy.Symbol("C") ** (count // 2)

    def run() -> Outcome:
        return len(
            sympy.Add(
                *[
                    sympy.Mul(scale, *[sympy.KroneckerDelta(rows[a], rows[b]) for a, b in pairing])
                    for pairing in pairings(tuple(range(count)))
                ]
            ).args
        )

    return run


def sympy_latex(count: int) -> Callable[[], Outcome]:
    import sympy

    average = expectation(*legs_of_inputs(count)).to_sympy()
    return lambda: len(average.args) if sympy.latex(average) else 0


def loops(power: int, pairing: tuple[tuple[int, int], ...], shift: int) -> int:
    """Count the closed loops of rows (shift 1) or columns (shift 0) of a trace's pairing."""
    parent = list(range(power))

    def find(place: int) -> int:
        while parent[place] != place:
            place = parent[place]
        return place

    closed = power
    for pair in pairing:
        a, b = (find((place + shift) // 2 % power) for place in pair)
        if a != b:
            parent[a] = b
            closed -= 1
    return closed


def counted_trace(
    power: int, add: Callable[[list[tuple[int, int]]], Outcome]
) -> Callable[[], Outcome]:
    def run() -> Outcome:
        return add(
            [
                (loops(power, pairing, 1), loops(power, pairing, 0))
                for pairing in pairings(tuple(range(2 * power)))
            ]
        )

    return run


def sympy_add(powers: list[tuple[int, int]]) -> Outcome:
    import sympy

    n, m = sympy.symbols("n m")
    return int(sympy.Add(*[n**a * m**b for a, b in powers]).subs({n: 2, m: 3}))


def flint_add(powers: list[tuple[int, int]]) -> Outcome:
    from flint import Ordering, fmpz_mpoly_ctx

    context = fmpz_mpoly_ctx.get(("n", "m"), Ordering.lex)
    n, m = context.gens()
    total = context.from_dict({})
    for a, b in powers:
        total += n**a * m**b
    return int(total(2, 3))


def works() -> list[Work]:
    """List the rows, with the peers that are installed."""
    has_form = shutil.which("form") is not None
    has_sympy = importlib.util.find_spec("sympy") is not None
    has_flint = importlib.util.find_spec("flint") is not None

    def peers(
        *candidates: tuple[bool, str, Callable[[], Callable[[], Outcome]]],
    ) -> tuple[Peer, ...]:
        return tuple((name, make()) for there, name, make in candidates if there)

    rows = [
        Work(
            f"T1 pairings of {2 * k} legs, streamed as terms",
            count_pairings(2 * k),
            bar,
            peers(
                (has_form, "FORM", lambda k=k: form("pairings.frm", LEGS=2 * k)),
                (has_sympy and k < 6, "SymPy", lambda k=k: sympy_pairings(2 * k)),
            ),
            repeat,
        )
        for k, bar, repeat in ((5, None, 5), (7, 0.2, 3), (8, 3.0, 1))
    ]
    rows += [
        Work(
            f"T2 E tr (W W^T)^{k}",
            trace_polynomial(k),
            bar,
            peers(
                (has_form and k < 9, "FORM", lambda k=k: form_trace(k)),
                (has_sympy and k < 6, "SymPy", lambda k=k: counted_trace(k, sympy_add)),
                (has_flint and k < 6, "python-flint", lambda k=k: counted_trace(k, flint_add)),
            ),
            repeat,
        )
        for k, bar, repeat in ((5, None, 5), (7, None, 5), (10, 0.02, 5), (15, 0.1, 3))
    ]
    rows += [
        Work(
            f"T3 coincidences of {2 * k} legs, orbit form",
            split_neurons(2 * k),
            bar,
            peers((has_form and k < 6, "FORM", lambda k=k: form("splitting.frm", LEGS=2 * k))),
            10,
        )
        for k, bar in ((5, 0.001), (10, 0.01))
    ]
    rows.append(
        Work(
            "LaTeX of 945 terms",
            latex_of_pairings(10),
            0.04,
            peers((has_sympy, "SymPy", lambda: sympy_latex(10))),
        )
    )
    return rows


def main() -> None:
    """Time every row and print the table."""
    print(f"{'work':45} {'ours':>10} {'bar':>10}  peers (peer / ours)")
    for work in works():
        seconds, outcome = best_time(work.ours, work.repeat)
        compared = []
        for name, run in work.peers:
            theirs, answer = best_time(run, min(work.repeat, 2))
            agreed = "" if str(answer) == str(outcome) else f" DISAGREES: {answer} {outcome}"
            compared.append(f"{name} {show_time(theirs)} ({theirs / seconds:.1f}x){agreed}")
        bar = "-" if work.bar is None else show_time(work.bar)
        print(
            f"{work.name:45} {show_time(seconds):>10} {bar:>10}  "
            f"{', '.join(compared) or 'not compared'}",
            flush=True,
        )
    for name, there in (
        ("FORM", shutil.which("form") is not None),
        ("SymPy", importlib.util.find_spec("sympy") is not None),
        ("python-flint", importlib.util.find_spec("flint") is not None),
    ):
        if not there:
            print(f"{name}: not installed, not compared")


if __name__ == "__main__":
    main()
