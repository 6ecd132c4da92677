"""Equations of a layer as text and LaTeX; their symbols are named as they are printed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from symdlt.algebra import ORTHOGONAL, Polynomial, gaussian, orthogonal, signs, uniform
from symdlt.algebra.polynomial import Monomial
from symdlt.definitions import (
    AnyTensor,
    Layer,
    Stack,
    ascii_name,
    named_tensor,
    read_layer_definition,
    split_subleading,
)
from symdlt.derivation.response.symbolic.accounts import Account
from symdlt.derivation.response.symbolic.glossary import Glossary
from symdlt.display import Explanation, full_latex, latex_for_display
from symdlt.errors import SchemaError, require

if TYPE_CHECKING:
    import sympy as sp

SCHEMA = "symdlt.layer-equations"
# An address, as an entry point is: accounts are told by what derives the equations again.
ACCOUNT = "symdlt.derivation.response.symbolic.explanations:explain_equations"
# A convention: raised when documents change.
VERSION = 1
WITH_LAWS = 2  # of documents with laws, which those who read the first version would pass over
# Laws that are made of a variance alone, by the names that they give themselves.
LAWS = {"uniform": uniform, "signs": signs, ORTHOGONAL: orthogonal}


@dataclass(frozen=True)
class LayerEquation:
    r"""One equation of a layer, as a sum of terms.

    Attributes:
        name: what stands on the left, for instance V_1234[l+1].
        polynomial: the right side, whose symbols are named as they are printed.
        account: how it was made, if that was recorded.
    """

    name: str
    polynomial: Polynomial
    account: Account | None = field(default=None, compare=False, repr=False)

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms as text, fresh sources first."""
        return tuple(text for _, text, _ in self._sorted)

    @property
    def products(self) -> tuple[Polynomial, ...]:
        """The terms, in the same order."""
        return tuple(product for _, _, product in self._sorted)

    @cached_property
    def _sorted(self) -> list[tuple[tuple[object, ...], str, Polynomial]]:
        terms = [
            (n, monomial, Polynomial(((monomial, n),))) for monomial, n in self.polynomial.terms
        ]
        keyed = [(_key(monomial), term_text(n, monomial), term) for n, monomial, term in terms]
        return sorted(keyed, key=lambda each: each[:2])

    def to_sympy(self) -> sp.Expr:
        """The right side in SymPy."""
        import sympy as sp

        return sp.Add(
            *(
                sp.Mul(sp.Rational(Fraction(number)), *(sp.Symbol(n) ** p for n, p in monomial))
                for monomial, number in self.polynomial.terms
            )
        )

    def __str__(self) -> str:
        lines = [f"  {'-' if t[0] == '-' else '+'} {t.removeprefix('-')}" for t in self.terms]
        return "\n".join([f"{self.name} =", *(lines if self.polynomial else ["  0"])])


@dataclass(frozen=True)
class LayerEquations:
    """The equations of one tensor for one layer; an index gives one of them.

    Attributes:
        correlator: the tensor.
        layer: the layer.
        equations: of a layer that closes, its recursion; with a skip those of the covariance of
            conditional covariances, of the noise that later functions meet, and of the tensor.
        glossary: what the symbols are; None if they were read from a document.
        piece: 1 for the correction of order 1/n of the kernel or the NTK, else 0.
    """

    correlator: AnyTensor
    layer: Layer | Stack
    equations: tuple[LayerEquation, ...]
    glossary: Glossary | None = field(default=None, compare=False, repr=False)
    piece: int = 0

    @property
    def name(self) -> str:
        """What the equations are of, such as V or G.1."""
        return self.correlator.name + f".{self.piece}" * bool(self.piece)

    @property
    def asked(self) -> str | AnyTensor:
        """What `layer_equations` derives them again from."""
        return self.name if self.piece else self.correlator

    def explain(self, term: int | None = None) -> Explanation:
        """Where one term comes from, or all terms: each step with the factor that it brings.

        Args:
            term: its number, from 1 over all equations as they are printed; all if left out.

        Raises:
            OrderError: if there is no term of that number.
            SchemaError: for equations that are not those of their layer, as of a changed document.

        >>> from symdlt import layer_equations
        >>> gated = layer_equations("H", "u = U z; v = V z; z' = b + W s(u) v")
        >>> told = gated.explain(3)
        >>> print(told[told.index("Way") :])
        Way 1 of 1, contributing 1:
          1. The weights W of z'_1 and z'_2 are contracted, over the n_u neurons of u and v: the
             mean of s(u)_1 v_1 s(u)_2 v_2. Factor: C_W <s(u)_1 s(u)_2>.
          2. The edge 1-2 is in v_1 and v_2 of it: a derivative along each, and their NTK.
          3. The edge 1-2 of v_1 and v_2 is a weight of V, over the n neurons of z: the mean of
             z_1 z_2. Factor: lambda_V.
          4. z_1 itself in it meets z_2: their covariance. Factor: G_12.
        """
        told: Explanation = resolve_name(ACCOUNT)(self, term)
        return told

    def __str__(self) -> str:
        return "\n".join(map(str, self.equations))

    def __repr__(self) -> str:
        return f"LayerEquations({self.name}, {str(self.layer)!r})"

    def _repr_latex_(self) -> str:
        return latex_for_display(self)

    def to_latex(self) -> str:
        """All equations in LaTeX; `symdlt.to_latex` takes choices of notation as well."""
        return full_latex(self)

    def to_json(self, indent: int | None = 1) -> str:
        """The equations as JSON text, which `from_json` reads.

        Raises:
            SchemaError: if the text of the layer, and names of laws, do not say all of it.

        >>> from symdlt import layer_equations
        >>> gated = layer_equations("G", "u = U z; v = V z; z' = b + W s(u) v")
        >>> LayerEquations.from_json(gated.to_json()) == gated
        True
        """
        laws = laws_of(self.layer)
        if layer_with(str(self.layer), laws) != self.layer:
            raise SchemaError(
                f"The layer {self.layer!r} is not what its text says, as it has learning rates of "
                "its own, or laws that are more than a name. A document holds the text, and names "
                "of laws. Save what it is made of yourself."
            )
        document = {
            "schema": SCHEMA,
            "version": WITH_LAWS if laws else VERSION,
            "tensor": self.name,
            "layer": str(self.layer),
            **({"laws": laws} if laws else {}),
            "equations": [
                {
                    "name": equation.name,
                    "terms": [
                        {"coefficient": str(Fraction(number)), "symbols": dict(monomial)}
                        for monomial, number in equation.polynomial.terms
                    ],
                }
                for equation in self.equations
            ],
        }
        return json.dumps(document, indent=indent)

    @classmethod
    def from_json(cls, text: str) -> LayerEquations:
        """Read equations back; nothing in the text is evaluated.

        Raises:
            SchemaError: if the text is not what `to_json` writes.
        """
        require(text, str, "JSON text", "Give what `LayerEquations.to_json` wrote.")
        try:
            document = json.loads(text)
            laws = document.get("laws", {})
            known = SCHEMA, WITH_LAWS if laws else VERSION
            if (document["schema"], document["version"]) != known:
                raise ValueError(f"its schema is not {SCHEMA} of version {known[1]}")
            equations = tuple(map(_read_equation, document["equations"]))
            layer = layer_with(document["layer"], laws)
            name, piece = split_subleading(document["tensor"])
            return cls(named_tensor(name), layer, equations, None, piece)
        except (
            LookupError,
            TypeError,
            ValueError,
            ArithmeticError,
            AttributeError,
            RecursionError,
        ) as reason:
            problem = f"missing {reason}" if type(reason) is KeyError else str(reason)
            raise SchemaError(
                f"The text is no document with equations of a layer: {problem[:200]}. "
                "Give what `LayerEquations.to_json` wrote."
            ) from None

    def __getitem__(self, number: int) -> LayerEquation:
        return self.equations[number]

    def __len__(self) -> int:
        return len(self.equations)


def laws_of(layer: Layer | Stack) -> dict[str, str]:
    """The names of the laws of weights that are not Gaussian, by the names of the weights."""
    drawn = [one.tensor for stream in layer.streams for one in stream.drawn]
    return {
        ascii_name(one.name): one.law.name for one in drawn if one.law and not one.law.is_gaussian
    }


def layer_with(text: str, laws: dict[str, str]) -> Layer | Stack:
    """The layer of a text, with weights of some laws; Gaussian ones for laws without a name."""
    if not laws:
        return read_layer_definition(text)
    return Stack(text, laws={name: LAWS.get(law, gaussian) for name, law in laws.items()})


def _read_equation(entry: dict[str, Any]) -> LayerEquation:
    total = Polynomial.number(0)
    for term in entry["terms"]:
        number = Fraction(term["coefficient"])
        symbols = sorted(term["symbols"].items())
        if not all(type(power) is int for _, power in symbols):
            raise ValueError("a power that is no whole number")
        total = total + Polynomial(((tuple(symbols), number),))
    if not isinstance(entry["name"], str):
        raise TypeError("a name that is no text")
    return LayerEquation(entry["name"], total)


def term_text(number: int | Fraction, monomial: Monomial) -> str:
    """A term as text: its number, widths, constants, means and tensors.

    >>> term_text(Fraction(-1, 2), (("C_W", 2), ("n", 1), ("n'", -1)))
    "-1/2 (n/n') C_W^2"
    """
    texts = _ranked(monomial)
    above = [f"{b}^{p}" if p > 1 else b for r, b, p in texts if r == 0 and p > 0]
    below = [f"{b}^{-p}" if p < -1 else b for r, b, p in texts if r == 0 and p < 0]
    ratio = ["/".join([" ".join(above) or "1", *below])] if above or below else []
    parts = [str(abs(number))] if abs(number) != 1 else []
    parts += [f"({text})" for text in ratio] + _others(texts)
    return ("-" if number < 0 else "") + (" ".join(parts) or "1")


def _key(monomial: Monomial) -> tuple[object, ...]:
    """Where a term is sorted."""
    texts = _ranked(monomial)
    tensors = sum(r == 3 for r, _, _ in texts)
    brackets = sum(r == 2 for r, _, _ in texts)
    older = any(b == "n'" and p < 0 for _, b, p in texts)
    return older, tensors, [t for t in texts if t[0] == 3], brackets, _others(texts)


def _ranked(monomial: Monomial) -> list[tuple[int, str, int]]:
    """The factors in the order in which they are written."""

    def place(each: tuple[int, str, int]) -> tuple[int, str, str]:
        rank, name, _ = each
        shifted = "+" * (rank == 1 and "+" in name)  # scales, behind the sum over their offsets
        return rank, _samples(name) if rank == 2 else shifted, name

    return sorted(((_rank(name), name, power) for name, power in monomial), key=place)


def _others(texts: list[tuple[int, str, int]]) -> list[str]:
    """All factors but widths."""
    return [f"{b}^{p}" if p != 1 else b for r, b, p in texts if r > 0]


@cache
def _samples(bracket: str) -> str:
    """The samples of a bracket in their order."""
    return "".join(re.findall(r"_(\w)", bracket))


@cache  # names are few, and terms many
def _rank(name: str) -> int:
    """Widths, constants, brackets, tensors."""
    if name == "P" or (name[0] == "n" and name[1:2] in ("", "'", "_")):
        return 0
    if name[0] == "<":
        return 2
    return 1 if name[0] in "Cl" or name[0].islower() else 3
