"""Sixty activations at six pairs of variances each, against an independent map: run as a script.

For each pair the kernel, the NTK and V after two hidden layers, as `propagate` gives them, and the
fixed point and its slopes, as `phase` does, are compared with sums over panels. These know the text
as Python reads it, and where it has kinks; derivatives are complex steps. Prints what disagrees and
what is refused, and how many pairs agree.
"""

import math
import re
import sys
import warnings

import numpy as np

from symdlt import MLP, phase
from symdlt.errors import SymdltError

NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
# Of a step into the complex plane: its square is nothing.
TINY = 1e-30
# What counts as right, of the sizes.
RIGHT = 1e-6
MOST_STEPS = 400
MOST_PANELS = 1e5
SETTINGS = [(1.0, 0.0), (1.5, 0.05), (0.8, 0.3), (2.0, 1e-4), (3.0, 1.0), (1.1, 0.0)]

# The text; places where it is not smooth; the length on which it varies; half of where it does,
# if that is less than everywhere.
ACTIVATIONS: list[tuple[str, tuple[float, ...], float, float]] = [
    ("tanh(z)", (), 1.0, 9.0),
    ("tanh(1000*z)", (), 1e-3, 0.04),
    ("tanh(z/1000)*1000", (), 1e3, math.inf),
    ("tanh(30*z)", (), 1 / 30, 1.2),
    ("tanh(z) + tanh(20*z)/10", (), 0.05, 2.0),
    ("tanh(z) - z/10", (), 1.0, 9.0),
    ("erf(z)", (), 0.7, 6.0),
    ("erf(1000*z)", (), 7e-4, 0.008),
    ("erf(z/100)*100", (), 70.0, math.inf),
    ("erf(2*z + 1)", (), 0.35, 5.0),
    ("sin(z)", (), 1.0, math.inf),
    ("sin(30*z)", (), 1 / 30, math.inf),
    ("sin(300*z)/300", (), 1 / 300, math.inf),
    ("cos(z)", (), 1.0, math.inf),
    ("cos(30*z)", (), 1 / 30, math.inf),
    ("sin(z) + sin(15*z)/10", (), 1 / 15, math.inf),
    ("z*sin(8*z)/4", (), 1 / 8, math.inf),
    ("sin(z) + cos(z)", (), 1.0, math.inf),
    ("sin(z/1000)*1000", (), 1e3, math.inf),
    ("z*cos(z)", (), 1.0, math.inf),
    ("z - sin(z)/2", (), 1.0, math.inf),
    ("z", (), 1.0, math.inf),
    ("z + 1/2", (), 1.0, math.inf),
    ("z - z**3/100", (), 3.0, math.inf),
    ("z - 2e-6*z**3", (), 100.0, math.inf),
    ("z*z/3", (), 1.0, math.inf),
    ("z + z*z/10", (), 1.0, math.inf),
    ("1/(1 + exp(-z))", (), 1.0, 40.0),
    ("1/(1 + exp(-50*z))", (), 0.02, 0.8),
    ("z/(1 + exp(-z))", (), 1.0, 40.0),
    ("z/(1 + exp(-30*z))", (), 1 / 30, 1.4),
    ("log(1 + exp(z))", (), 1.0, 40.0),
    ("z*(1 + erf(z/sqrt(2)))/2", (), 1.0, 9.0),
    ("z*(1 + erf(100*z))/2", (), 0.007, 0.09),
    ("exp(-z**2)", (), 0.5, 7.0),
    ("exp(-100*z**2)", (), 0.05, 0.7),
    ("tanh(z) + exp(-10000*(z - 3/10)**2)", (), 5e-3, 0.4),
    ("z/sqrt(1 + z**2)", (), 0.5, math.inf),
    ("z*exp(-z**2/2)", (), 0.7, 9.0),
    ("exp(z/4) - 1", (), 4.0, math.inf),
    ("sinh(z/4)", (), 4.0, math.inf),
    ("max(z, 0)", (0.0,), 1.0, math.inf),
    ("1000*max(z/1000, 0)", (0.0,), 1e3, math.inf),
    ("max(z, z/100)", (0.0,), 1.0, math.inf),
    ("abs(z)", (0.0,), 1.0, math.inf),
    ("max(z, 0) - 1/2", (0.0,), 1.0, math.inf),
    ("max(-1, min(z, 1))", (-1.0, 1.0), 1.0, math.inf),
    ("max(-10, min(z, 10))", (-10.0, 10.0), 1.0, math.inf),
    ("max(-1/10, min(z, 1/10))", (-0.1, 0.1), 0.1, math.inf),
    ("max(0, min(z, 6))", (0.0, 6.0), 1.0, math.inf),
    ("max(0, min(z/6 + 1/2, 1))", (-3.0, 3.0), 1.0, math.inf),
    ("max(z - 1, 0)", (1.0,), 1.0, math.inf),
    ("sin(z) + max(z - 4, 0)", (4.0,), 1.0, math.inf),
    ("tanh(z) + max(z - 5, 0)/10", (5.0,), 1.0, 9.0),
    ("where(z < 0, exp(z) - 1, z)", (0.0,), 1.0, 40.0),
    ("where(z < 0, z/10, tanh(z))", (0.0,), 1.0, 9.0),
    ("where(z < 1, z, 1)", (1.0,), 1.0, math.inf),
    ("max(z, 0)**2/2", (0.0,), 1.0, math.inf),
    ("z + max(z, 0)*(exp(z/4) - 1)", (0.0,), 1.0, math.inf),
    ("max(z, 0) + tanh(50*z)/10", (0.0,), 0.02, 0.8),
]


NAMES = {
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "sinh": np.sinh,
    "exp": lambda z: np.exp(np.clip(np.real(z), -700.0, 700.0) + 1j * np.imag(z)),
    "log": np.log,
    "sqrt": np.sqrt,
    "erf": lambda z: (
        np.vectorize(math.erf)(np.real(z))
        + 2j / math.sqrt(math.pi) * np.imag(z) * np.exp(-(np.real(z) ** 2))
    ),
    "abs": lambda z: np.where(np.real(z) < 0.0, -z, z),
    "max": lambda a, b: np.where(np.real(a) > np.real(b), a, b),
    "min": lambda a, b: np.where(np.real(a) < np.real(b), a, b),
    "where": np.where,
}


class Reference:
    """Means of one activation by sums over panels."""

    def __init__(self, text, kinks, scale, half):
        body = re.sub(r"z < ", "z.real < ", text)
        self.code = compile(body, text, "eval")
        self.kinks, self.scale, self.half = kinks, scale, half

    def both(self, z):
        """The function and its derivative."""
        with np.errstate(all="ignore"):
            found = eval(self.code, NAMES, {"z": z + 1j * TINY})
        return np.real(found) + 0.0 * z, np.imag(found) / TINY + 0.0 * z

    def nodes(self, K):
        """Nodes and weights for z ~ N(0, K)."""
        root = math.sqrt(K)
        reach = 14.0 * root + 4.0 * K * (self.scale == 4.0 or bool(self.kinks))
        inner = min(reach, self.half)
        fine = min(0.25 * root, 0.5 * self.scale)
        if inner > MOST_PANELS * fine:
            raise OverflowError
        ends = [np.linspace(-inner, inner, 2 + int(2 * inner / fine))]
        if inner < reach:
            count = 2 + int((reach - inner) / (0.25 * root))
            ends += [np.linspace(inner, reach, count), np.linspace(-reach, -inner, count)]
        edges = np.unique(np.concatenate([*ends, [k for k in self.kinks if abs(k) < reach]]))
        half = 0.5 * np.diff(edges)[:, None]
        z = (edges[:-1, None] + half) + half * NODES
        density = np.exp(-0.5 * z**2 / K) / math.sqrt(2.0 * math.pi * K)
        return z.ravel(), (half * WEIGHTS * density).ravel()

    def means(self, K):
        """<s s>, <s' s'>, <s s s s>, and the slope of the first in K."""
        if K == 0.0:
            s, t = self.both(np.zeros(1))
            return s[0] ** 2, t[0] ** 2, s[0] ** 4, math.nan
        z, weights = self.nodes(K)
        s, t = self.both(z)
        with np.errstate(over="ignore", invalid="ignore"):
            slope = (s**2 * (z**2 - K)) @ weights / (2.0 * K**2)
            found = s**2 @ weights, t**2 @ weights, s**4 @ weights, slope
        if not np.isfinite(found[0]):
            raise OverflowError
        return found


def propagated(reference, text, C_W, C_b, n=10):
    """The largest deviation of G, H and V, of their sizes; nothing if the sums overflow."""
    net = MLP(activation=text, widths=[n, n], C_b=C_b, C_W=C_W, lambda_b=0.3, lambda_W=0.7)
    K, theta, V = C_b + C_W * 0.6, 0.3 + 0.7 * 0.6, 0.0
    for _ in range(2):
        try:
            square, slopes, fourth, slope = reference.means(K)
        except OverflowError:
            return None
        V = C_W**2 * (fourth - square**2 + slope**2 * V)
        theta = 0.3 + 0.7 * square + C_W * slopes * theta
        K = C_b + C_W * square
        if not max(K, theta, abs(V)) < 1e100:
            return None
    found = net.propagate([[math.sqrt(0.6)]], ["G", "H", "V"])
    sizes = {"G": K, "H": theta, "V": V + C_W**2 * fourth}
    right = {"G": K, "H": theta, "V": V}
    return max(abs(found[k][-1].item() - right[k]) / sizes[k] for k in right)


def settled(reference, text, C_W, C_b):
    """The largest deviation of a fixed point and its slopes."""
    found = phase(text, C_W, C_b)
    start = K = 1.0
    settles = lost = False
    for _ in range(MOST_STEPS):
        before = K
        try:
            K = C_b + C_W * reference.means(K)[0]
        except OverflowError:
            lost = True
            break
        settles = abs(K - before) < 1e-13 * K or K < 1e-12
        if settles:
            break
    star = float(found.K)
    if lost:
        return 0.0 if star == math.inf else math.inf
    if star == math.inf:  # not there yet: it must still grow
        return 0.0 if K > before > start else math.inf
    if star == 0.0:
        return 0.0 if K < 1e-12 or before >= K else math.inf
    square, slopes, _, slope = reference.means(star)
    off = [abs(C_b + C_W * square - star) / star]
    off.append(abs(C_W * slopes - float(found.chi_perp)) / max(1.0, C_W * slopes))
    off.append(abs(C_W * slope - float(found.chi_parallel)) / max(1.0, abs(C_W * slope)))
    if settles:
        off.append(abs(K - star) / star)
    elif abs(K - star) > abs(before - star) * (1.0 + 1e-9):
        off.append(math.inf)
    return max(off)


def main():
    warnings.simplefilter("error")
    chosen = sys.argv[1:]
    agreed = wrong = refused = beyond = 0
    for text, kinks, scale, half in ACTIVATIONS:
        if chosen and text not in chosen:
            continue
        reference = Reference(text, kinks, scale, half)
        for C_W, C_b in SETTINGS:
            for kind, test in (("propagate", propagated), ("phase", settled)):
                try:
                    off = test(reference, text, C_W, C_b)
                except SymdltError as reason:
                    refused += 1
                    print(f"refused  {kind} {text} {C_W} {C_b}: {str(reason)[:200]}", flush=True)
                    continue
                if off is None:
                    beyond += 1
                    continue
                agreed, wrong = agreed + (off <= RIGHT), wrong + (not off <= RIGHT)
                if not off <= RIGHT:
                    print(f"WRONG    {kind} {text} {C_W} {C_b}: off by {off:.2g}", flush=True)
    print(f"{len(chosen or ACTIVATIONS)} activations, {len(SETTINGS)} pairs of variances each:")
    print(f"{agreed} agree, {wrong} do not, {refused} are refused, {beyond} beyond the sums")


if __name__ == "__main__":
    main()
