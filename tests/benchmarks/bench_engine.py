"""Figures of the derivation engine: run as a script, prints what it measures, asserts nothing.

Every row is timed in a process of its own, in seconds of its one core, from an empty cache; the
import is not counted except where the whole process is timed. It takes about four minutes. No other
engine derives these recursions, so that there is no peer to compare with.
"""

import subprocess
import sys
import time

ROWS = [
    (
        "all thirteen recursions, multi-input",
        "0.3 s",
        "from symdlt import BOOK, derive",
        "results = [derive(name) for name in BOOK]",
    ),
    (
        "all 103 tensors of the next order, single-input",
        "10 s, 500 MB",
        "from symdlt import correlators, derive",
        "results = [derive(c, inputs='one') for c in correlators(2)]",
    ),
    (
        "all 103 tensors of the next order, multi-input",
        "60 s",
        "from symdlt import correlators, derive",
        "results = [derive(c) for c in correlators(2)]",
    ),
    (
        "all 1971 tensors of 1/n^3, single-input",
        "180 s, 2 GB",
        "from symdlt import correlators, derive",
        "results = [derive(c, inputs='one') for c in correlators(3)]",
    ),
    (
        "exponents to 1/n^2, K* = 0 with sigma_2",
        "60 s",
        "from symdlt import BOOK, correlators; from symdlt.asymptotics import exponents",
        "results = exponents('K*=0, general', [*BOOK, *correlators(2)]).tensors",
    ),
    (
        "six-point vertex, multi-input",
        "1 s",
        "from symdlt import derive",
        "results = [derive('X6')]",
    ),
    (
        "eight-point vertex, single-input",
        "5 s",
        "from symdlt import derive",
        "results = [derive('X8', inputs='one')]",
    ),
]

TIMED = """
import resource, time
{setup}
start = time.process_time()
{work}
seconds = time.process_time() - start
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
lengths = [len(result.terms) for result in results if hasattr(result, "terms")]
size = f"{{sum(lengths)}} terms" if lengths else f"{{len(results)}} tensors"
print(f"{{seconds:.3f}} s, {{memory:.0f}} MB, {{size}}")
"""


def main() -> None:
    """Print one row for each piece of work."""
    for work, bar, setup, statement in ROWS:
        code = TIMED.format(setup=setup, work=statement)
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        print(f"{work:50} {done.stdout.strip():40} bar {bar:15} peer not compared")
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "symdlt", "derive", "R"], capture_output=True, check=True)
    seconds = time.perf_counter() - start
    name = "symdlt derive R, cold process"
    print(f"{name:50} {f'{seconds:.3f} s':40} bar {'1.0 s':15} peer not compared")


if __name__ == "__main__":
    main()
