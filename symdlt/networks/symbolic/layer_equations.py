"""Equations of a layer as text and LaTeX; their symbols are named as they are printed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from fractions import Fraction
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from symdlt.algebra import Polynomial
from symdlt.algebra.names import GREEK
from symdlt.algebra.polynomial import Monomial
from symdlt.definitions import Correlator, Layer, Stack, read_layer_definition, tensor
from symdlt.display import Explanation
from symdlt.errors import SchemaError, require
from symdlt.networks.symbolic.accounts import Account
from symdlt.networks.symbolic.glossary import Glossary

if TYPE_CHECKING:
    import sympy as sp

SCHEMA = "symdlt.layer-equations"
# An address, as an entry point is: accounts are told by what derives the equations again.
ACCOUNT = "symdlt.networks.symbolic.explanations:explain_equations"
# A convention: raised when documents change.
VERSION = 1


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

    @property
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

    @property
    def latex_rows(self) -> tuple[str, ...]:
        """The rows of the equation in LaTeX."""
        rows, room = [""], ROW
        for text in self.terms or ("0",):
            latex = _latex_term(text)
            signed = latex if latex[0] == "-" or rows == [""] else f"+ {latex}"
            if rows[-1] and room < len(text):
                rows, room = [*rows, signed], ROW
            else:
                rows[-1] = f"{rows[-1]} {signed}".strip()
            room -= len(text)
        name, mark, _ = self.name.partition("[l+1]")
        left = _latex_symbol(name) + (r"\Big|_{\ell+1}" if mark else "")
        return (f"{left} ={{}}& {rows[0]}", *(rf"& \quad {row}" for row in rows[1:]))

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
        glossary: what the symbols are, if accounts were recorded.
    """

    correlator: Correlator
    layer: Layer | Stack
    equations: tuple[LayerEquation, ...]
    glossary: Glossary | None = field(default=None, compare=False, repr=False)

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
        return f"LayerEquations({self.correlator.name}, {str(self.layer)!r})"

    def _repr_latex_(self) -> str:
        return self.to_latex()

    def to_latex(self) -> str:
        """All equations as one `align*` environment."""
        rows = [row for equation in self.equations for row in equation.latex_rows]
        return "\n".join([r"\begin{align*}", " \\\\\n".join(rows), r"\end{align*}"])

    def to_json(self, indent: int | None = 1) -> str:
        """The equations as JSON text, which `from_json` reads.

        Raises:
            SchemaError: if the text of the layer does not say all of it, as for laws of its own.

        >>> from symdlt import layer_equations
        >>> gated = layer_equations("G", "u = U z; v = V z; z' = b + W s(u) v")
        >>> LayerEquations.from_json(gated.to_json()) == gated
        True
        """
        if read_layer_definition(str(self.layer)) != self.layer:
            raise SchemaError(
                f"The layer {self.layer!r} is not what its text says, as it has laws or learning "
                "rates of its own. A document holds the text. Save what it is made of yourself."
            )
        document = {
            "schema": SCHEMA,
            "version": VERSION,
            "tensor": self.correlator.name,
            "layer": str(self.layer),
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
            if (document["schema"], document["version"]) != (SCHEMA, VERSION):
                raise ValueError(f"its schema is not {SCHEMA} of version {VERSION}")
            equations = tuple(map(_read_equation, document["equations"]))
            layer = read_layer_definition(document["layer"])
            return cls(tensor(document["tensor"]), layer, equations)
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
    texts = [(_rank(name), name, power) for name, power in monomial]
    return sorted(
        texts, key=lambda each: (each[0], _samples(each[1]) if each[0] == 2 else "", each[1])
    )


def _others(texts: list[tuple[int, str, int]]) -> list[str]:
    """All factors but widths."""
    return [f"{b}^{p}" if p != 1 else b for r, b, p in texts if r > 0]


def _samples(bracket: str) -> str:
    """The samples of a bracket in their order."""
    return "".join(re.findall(r"_(\w)", bracket))


def _rank(name: str) -> int:
    """Widths, constants, brackets, tensors."""
    if name[0] == "n" and name[1:2] in ("", "'", "_"):
        return 0
    if name[0] == "<":
        return 2
    return 1 if name[0] in "Cl" or name[0].islower() else 3


# A bracket, a noise with its function, a ratio, or a word without blanks; each with its power.
_PARTS = re.compile(r"<[^>]*>(?:\^\d+)?|Q?Y_\w+\[[^\]]*\](?:\^\d+)?|\([^)]*\)|\S+")
_POWER = re.compile(r"(?P<base>.*[^\^])\^(?P<power>\d+)$")
_FACTOR = re.compile(
    r"(?P<name>[^\W\d_]\w*?)(?P<order>'*|\^\(\d+\))"
    r"(?:\((?P<field>\w+)(?:\^m)?\))?(?P<later>\^m)?_(?P<at>\w)$"
)
ROW = 75  # letters of text that fit into a row of LaTeX; measured at 10pt
_LETTERS = {"G": "K", "H": r"\Theta", **{name: rf"\{name}" for name in GREEK.values()}}


def _latex_term(text: str) -> str:
    """A term of the text in LaTeX."""
    sign, body = ("- ", text[1:]) if text[0] == "-" else ("", text)
    factors = []
    for part in _PARTS.findall(body):
        power = _POWER.match(part)
        if power is None:
            factors.append(_latex_symbol(part))
        elif part[0] in "<Y" or ("_" in part and part[0].isupper() and part[0] not in "C"):
            factors.append(rf"\left({_latex_symbol(power['base'])}\right)^{power['power']}")
        else:
            factors.append(f"{_latex_symbol(power['base'])}^{power['power']}")
    return sign + r" \, ".join(factors)


def _latex_symbol(name: str) -> str:
    """A symbol of the text in LaTeX."""
    widths = {"n": r"n_{\ell}", "n'": r"n_{\ell-1}"}
    if name in widths:
        return widths[name]
    if name[0] == "<":
        return rf"\left\langle {_latex_function(name[1:-1])}\right\rangle"
    if name[0] == "(":
        over, *under = name[1:-1].split("/")
        return rf"\frac{{{_latex_symbol(over)}}}{{{' '.join(map(_latex_symbol, under))}}}"
    if name[0].isdigit():
        above, slash, below = name.partition("/")
        return rf"\tfrac{{{above}}}{{{below}}}" if slash else above
    if name.startswith("Y_"):
        legs, _, inside = name[2:].rstrip("]").partition("[")
        function, _, edges = inside.partition("; ")
        above = rf"^{{({edges})}}" if edges else ""
        return rf"Y_{{{legs}}}{above}[{_latex_function(function)}]"
    head, _, tail = name.partition("_")
    letter, _, mark = head.partition("^")
    letter = _LETTERS.get(letter, letter)
    if letter[0] == "Q" and len(letter) > 1:
        letter = rf"\widehat{{{letter[1:]}}}"
    above = r"^{(\ell m)}" if mark == "lm" else ""
    return letter + above + (f"_{{{tail}}}" if tail else "")


def _latex_function(text: str) -> str:
    """Products of functions of fields, and sums of them."""
    summands = re.split(r"( [+-] )", text)
    return "".join(
        one if place % 2 else r" \,".join(map(_latex_factor, one.split()))
        for place, one in enumerate(summands)
    )


def _latex_constant(word: str) -> str:
    """A number or a symbol, with its power."""
    power = _POWER.match(word)
    if power is None:
        return _latex_symbol(word)
    return f"{_latex_symbol(power['base'])}^{power['power']}"


def _latex_factor(word: str) -> str:
    """A function of a field at a sample, the field itself, or a constant in front."""
    match = _FACTOR.match(word)
    if match is None:
        return _latex_constant(word)
    name, order, field, at = match["name"], match["order"], match["field"], match["at"]
    letter = r"\sigma" if name == "s" else name if len(name) == 1 else rf"\mathrm{{{name}}}"
    order = f"^{{{order[1:]}}}" if order[:1] == "^" else order
    later = r"^{(m)}" if "^m" in word else ""
    if field is None:
        return f"{letter}{order}{later}_{{{at}}}"
    return f"{letter}{order}({field}{later}_{{{at}}})"
