"""Values of printed equations of layers, read off their text alone, for activations that are
polynomials: means are sums over Gauss-Hermite nodes, which are exact for them."""

import re
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.polynomial import Polynomial

# A polynomial without parity, as numbers and as text, and two inputs at which it is followed.
COEFFICIENTS = (0, 1, 0.4, -0.2)
ACTIVATION = "z + 2/5*z**2 - 1/5*z**3"
X = np.array([[1.0, 0.3], [-0.4, 0.9]])
FACTOR = re.compile(
    r"(?P<name>[a-z]\w*?)(?P<order>'*|\^\(\d+\))(?:\((?P<field>.+)\))?(?P<later>\^m)?_(?P<at>[^_]+)$"
)


@lru_cache
def nodes(dimensions, count=8):
    x, w = np.polynomial.hermite_e.hermegauss(count)
    points = np.array([*product(x, repeat=dimensions)]).T
    return points, np.prod([*product(w / w.sum(), repeat=dimensions)], axis=1)


def square_root(covariance):
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.clip(values, 0, None))


class Meaning:
    """What the symbols of an equation are.

    Args:
        coefficients: of the activation.
        covariance: of two fields at two labels.
        constants: numbers by their names.
        tensors: of each letter a function of labels.
        kept: of masks by their names the part that is kept, and whether samples share one draw.
        offsets: of a window.
        move: a label at an offset; None beyond the edge.
    """

    def __init__(
        self, coefficients, covariance, constants, tensors, kept=None, offsets=(), move=None
    ):
        self.activation = Polynomial(coefficients)
        self.covariance, self.constants, self.tensors = covariance, constants, tensors
        self.kept, self.known = kept or {}, {}
        self.offsets, self.move = offsets, move

    def factors(self, text):
        for word in text.split():
            match = FACTOR.match(word)
            name, order = match["name"], match["order"]
            order = int(order[2:-1]) if order[:1] == "^" else len(order)
            later = match["later"] or ""
            # s_1 is of z; h_1, s(h)_1 and rmsnorm(z)_1 are what they say
            if name == "s":
                yield self.activation, order, (match["field"] or "z") + later, match["at"]
            else:
                field = name if match["field"] is None else f"{name}({match['field']})"
                yield Polynomial([0, 1]), order, field + later, match["at"]

    def mean(self, text, at):
        factors = [*self.factors(text)]
        if any(at(label) is None for *_, label in factors):
            return 0.0  # beyond the edge
        if (mask := factors[0][2].removesuffix("^m")) in self.kept:
            part, shared = self.kept[mask]
            draws = 1 if shared else len({at(label) for *_, label in factors})
            return part ** (draws - len(factors))
        legs = [*dict.fromkeys((field, at(label)) for _, _, field, label in factors)]
        key = tuple(sorted((legs.index((f, at(x))), o, len(p)) for p, o, f, x in factors))
        if (key, *legs) not in self.known:
            joint = [[self.covariance(f, a, g, b) for g, b in legs] for f, a in legs]
            points, measure = nodes(len(legs))
            fields = square_root(np.array(joint)) @ points
            whole = measure.copy()
            for function, order, field, label in factors:
                one = function.deriv(order) if order else function
                whole = whole * one(fields[legs.index((field, at(label)))])
            self.known[(key, *legs)] = whole.sum()
        return self.known[(key, *legs)]

    def value(self, equation, at):
        """The right side, with a sample for each label."""
        total, values = 0.0, {}  # of symbols, which stand in many terms
        for monomial, number in equation.polynomial.terms:
            letters = [name[-1] for name, _ in monomial if name.startswith("sum_")]
            for chosen in product(self.offsets, repeat=len(letters)):
                shifts = dict(zip(letters, chosen, strict=True))

                def moved(label, shifts=shifts):
                    sample, _, letter = label.partition("+")
                    return self.move(at(sample), shifts[letter]) if letter else at(sample)

                term = float(number)
                for name, power in monomial:
                    if term and not name.startswith("sum_"):
                        key = name, *shifts.items()
                        if key not in values:
                            values[key] = self.symbol(name, moved)
                        term = term * values[key] ** power
                total += term
        return total

    def symbol(self, name, at):
        if name[0] == "<":
            return self.mean(name[1:-1], at)
        if name in self.constants:
            return self.constants[name]
        head, _, tail = name.partition("_")
        if "Y" in head:
            return self.tensors[head.removeprefix("Q")](name, at)
        labels = [*map(at, tail.split(",") if "," in tail else tail)]
        return 0.0 if None in labels else self.tensors[head](*labels)
