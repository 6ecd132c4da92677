"""The mean prediction (∞.160)–(∞.165) written out, for random tensors and random projectors.

A term is a number, a tensor with the letters of its axes, and a projector with those of its axes.
The letters abcefg stand for α_1 … α_6, d for δ, and i for the output.
"""

import numpy as np
import pytest

from symdlt.training import CustomAlgorithm, projectors

from .synthetic import random_tensors, trained

TRAIN, TESTS, N_L = 3, 2, 2

VARIANCE = [(-1, "A", "dabc"), (-1, "B", "dbac"), (-N_L, "B", "dcab")]
DNTK = [
    *((-1, "P", "dabc", "dNTK-B", z) for z in ("abce", "baec")),
    *((-1, "Q", "dabc", "dNTK-B", z) for z in ("abce", "baec")),
    *((-N_L, "Q", "dbac", "dNTK-B", z) for z in ("abce", "baec")),
    (-N_L, "P", "adbc", "dNTK-A", "abce"),
    (-1, "Q", "adbc", "dNTK-A", "abce"),
    (-1, "Q", "abdc", "dNTK-A", "abce"),
    (-1, "P", "adbc", "dNTK-A", "abec"),
    (-N_L, "Q", "adbc", "dNTK-A", "abec"),
    (-1, "Q", "abdc", "dNTK-A", "abec"),
]
FIRST = [
    (-1, "R", "dabc", "ddNTK-IB", "abcefg"),
    (-1, "R", "dabc", "ddNTK-IB", "bcafge"),
    (-1, "R", "dabc", "ddNTK-IB", "cabgef"),
    (-1, "R", "adbc", "ddNTK-IA", "abcefg"),
    (-1, "R", "abcd", "ddNTK-IA", "abcfge"),
    (-1, "R", "acdb", "ddNTK-IA", "abcgef"),
]
SECOND = [
    (-1, "S", "dabc", "ddNTK-IIB", "abcefg"),
    (-1, "T", "dabc", "ddNTK-IIB", "cabgef"),
    (-1, "U", "dabc", "ddNTK-IIB", "bcafge"),
    (-1, "S", "abdc", "ddNTK-IIA", "abcfge"),
    (-1, "T", "adcb", "ddNTK-IIA", "abcefg"),
    (-1, "U", "acbd", "ddNTK-IIA", "abcgef"),
]
PRINTED_DNTK = {
    "2 Z_B^{1234}": [(*term, name, z.replace("baec", "abce")) for *term, name, z in DNTK],
    "Z_A^{1234} in the last line": [
        (*term, name, z.replace("abec", "abce")) for *term, name, z in DNTK
    ],
    "last line twice": DNTK + DNTK[-3:],
}
PRINTED_SECOND = [
    (*term, {"cabgef": "bcafge", "bcafge": "cabgef"}.get(z, z)) for *term, z in SECOND
]


class Book:
    """What the terms are to be contracted with."""

    def __init__(self, training, y, values):
        self.tensors, vectors = training.statistics.tensors, training.statistics.spectrum[1]
        K = self.tensors["G"][:TRAIN, :TRAIN]
        self.inverse = np.linalg.inv(self.tensors["H"][:TRAIN, :TRAIN])
        self.y = y
        self.cubic = (
            np.einsum("ei,fj,gj->efgi", y, y, y)
            + N_L * np.einsum("ei,fg->efgi", y, K)
            + np.einsum("fi,ge->efgi", y, K)
            + np.einsum("gi,ef->efgi", y, K)
        )
        self.Z = {
            name: np.einsum(
                "uv,au,bv,cu,ev->abce" if value.ndim == 2 else "uvw,au,bv,cw,eu,fv,gw->abcefg",
                value,
                *[vectors] * (2 * value.ndim),
            )
            for name, value in values.items()
        }

    def part(self, terms):
        """The sum of terms, at δ and again under −H_βα H^{αα'}."""
        moved = sum(number * self._contracted(*term) for number, *term in terms)
        carried = self.tensors["H"][TRAIN:, :TRAIN] @ self.inverse
        return moved[TRAIN:] - carried @ moved[:TRAIN]

    def _contracted(self, tensor, axes, projector=None, upper=""):
        block = self.tensors[tensor]
        for place, axis in enumerate(axes):
            block = block if axis == "d" else block.take(range(TRAIN), place)
        if tensor == "H.1":
            return block @ self.inverse @ self.y
        if projector is None:
            return np.einsum(f"{axes},ab,ce,ei->di", block, self.inverse, self.inverse, self.y)
        errors, last = (self.y, "ei") if len(upper) == 4 else (self.cubic, "efgi")
        return np.einsum(f"{axes},{upper},{last}->di", block, self.Z[projector], errors)


@pytest.fixture(scope="module")
def both():
    """The book's, and the parts of `Training.moment` for the mean."""
    rng = np.random.default_rng(160)
    tensors, _ = random_tensors(rng, TRAIN + TESTS)
    y = rng.standard_normal((TRAIN, N_L))
    values = {
        name: rng.standard_normal((TRAIN,) * len(projector.response.modes))
        for name, projector in projectors().items()
    }
    algorithm = CustomAlgorithm({name: lambda *h, v=value: v for name, value in values.items()})
    training = trained(tensors, y, algorithm)
    return Book(training, y, values), training.moment(1, 1)


def ours(parts, family):
    return sum(part for name, part in parts.items() if name.rstrip("AB").rstrip("-") == family)


FAMILIES = {
    "NTK": [(1, "H.1", "da")],
    "NTK fluctuation": VARIANCE,
    "dNTK": DNTK,
    "ddNTK-I": FIRST,
    "ddNTK-II": SECOND,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_part_of_the_mean(both, family):
    written_out, parts = both
    np.testing.assert_allclose(
        ours(parts, family), written_out.part(FAMILIES[family]), rtol=1e-11, atol=1e-11
    )


PRINTED = {
    "(∞.162) without its minus": ("NTK fluctuation", [(-n, *term) for n, *term in VARIANCE]),
    "(∞.165) with T and U exchanged": ("ddNTK-II", PRINTED_SECOND),
    **{f"(∞.163) with {what}": ("dNTK", terms) for what, terms in PRINTED_DNTK.items()},
}


@pytest.mark.parametrize("misprint", PRINTED)
def test_as_printed_it_differs(both, misprint):
    written_out, parts = both
    family, terms = PRINTED[misprint]
    assert np.abs(ours(parts, family) - written_out.part(terms)).max() > 0.05
