"""How single symbols are written: conventions, samples, tensors, activations, powers."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from fractions import Fraction
from functools import lru_cache
from os import PathLike, fspath
from pathlib import Path
from reprlib import repr as short_repr

from symdlt.algebra.names import GREEK
from symdlt.definitions import BOOK, FIELD, AnyTensor, OddTensor, ascii_name, primes
from symdlt.errors import NotationError, require

_PAIRED = frozenset("VA")
_NAMED = frozenset(
    re.findall(
        r"\w+",
        "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu "
        "xi pi varpi rho varrho sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta "
        "Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell hbar imath jmath aleph",
    )
)
# Of amsmath and amssymb, which documents load.
_STYLED = re.compile(
    r"\\(?:math(?:cal|bb|bf|rm|sf|it|tt|frak)|boldsymbol|hat|tilde|bar|vec|d?dot|check|breve|acute"
    r"|grave|wide(?:hat|tilde)|overline|underline)\s*\{([^\n]*)\}"
)


# Lines in points: those of the classes of the same names, at their usual sizes.
WIDTHS = {
    "a4": 445.0,
    "article": 345.0,
    "neurips": 397.0,
    "iclr": 397.0,
    "icml": 234.0,
    "revtex": 246.0,
    "revtex-wide": 510.0,
}
# Of a line in points: a product of two brackets and a tensor takes more; convention.
LEAST_WIDTH = 120.0
# What users may write for a letter: symbols, macros, sub- and superscripts; nothing that acts.
_LETTER = re.compile(r"(?:\\[A-Za-z]+|[A-Za-z0-9 ]|[_^{}'*])+")
_ACTING = re.compile(
    r"\\(?:input|include|write|immediate|openout|openin|read|csname|expandafter|[gex]?def|let|newcommand"
    r"|renewcommand|catcode|special|usepackage|begin|end|par|loop|directlua|jobname)(?![A-Za-z])"
)


@dataclass(frozen=True, slots=True)
class Conventions:
    r"""Choices of notation; the defaults are those of PDLT.

    Attributes:
        layers: write the layer on every symbol, $V^{(\ell)}$ instead of $V$; without, what is
            of the layer above has a prime.
        kernel: the letter of the leading metric.
        frozen_ntk: the letter of the leading NTK mean.
        sample: the letter of samples; empty for $V_{(12)(34)}$ instead of
            $V_{(\delta_1\delta_2)(\delta_3\delta_4)}$.
        width: how many points a line may take, or the name of a class: a4, article, neurips, iclr,
            icml, revtex (one column), revtex-wide.
        letters: of your own, by the names of symbols: {"sigma": r"\phi", "C_W": r"\sigma_w^2"};
            sigma, z, n, those of layers such as C_W or lambda_b, and tensors, V.
        at: the layer that ℓ+1 is, where a recursion holds for one layer alone.

    >>> Conventions(layers=False).layer("\\ell")
    ''
    >>> Conventions(sample="").samples((1, 2)), Conventions(sample="").samples((9, 10))
    ('12', '9,10')
    """

    layers: bool = True
    kernel: str = "K"
    frozen_ntk: str = r"\Theta"
    sample: str = r"\delta"
    width: float | str = 445.0
    at: int | None = None
    letters: Mapping[str, str] | tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Conventions:
        """Read a TOML file, with the attributes as keys and letters as a table.

        Raises:
            NotationError: for a file that is none, or keys that are no attributes.
        """
        try:
            given = tomllib.loads(Path(path).read_text("utf-8"))
        except OSError as reason:
            raise NotationError(
                f"{fspath(path)!r:.80} cannot be read: {reason.strerror}. It was given as a file "
                "of notation. Give the path of a TOML file."
            ) from reason
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as reason:
            raise NotationError(
                f"{fspath(path)!r:.80} is no TOML: {reason}. It was given as a file of "
                'notation. Write lines such as kernel = "K", and a table [letters].'
            ) from reason
        known = {field.name for field in fields(cls)} - {"at"}
        unknown = sorted({*given} - known)
        if unknown:
            raise NotationError(
                f"{fspath(path)!r:.80} has the keys {', '.join(unknown)}, which are no choices of "
                f"notation. Known are {', '.join(sorted(known))}. Take the others out."
            )
        return cls(**given)

    def __post_init__(self) -> None:
        object.__setattr__(self, "letters", _checked_letters(self.letters))
        if isinstance(self.width, str):
            if self.width not in WIDTHS:
                raise NotationError(
                    f"There is no width {short_repr(self.width)}. It is the name of a class or a "
                    f"number of points. Give one of {', '.join(WIDTHS)}, or a number."
                )
            object.__setattr__(self, "width", WIDTHS[self.width])
        elif isinstance(self.width, int | float) and not self.width >= LEAST_WIDTH:
            raise NotationError(
                f"A line of {self.width} points holds no formula. It was given as `width`. Give "
                f"{LEAST_WIDTH:g} or more; a column of a paper has about 234."
            )
        for name in ("kernel", "frozen_ntk", "sample"):
            text = getattr(self, name)
            require(text, str, f"a text for `{name}`", "Write it in LaTeX.")
            if not _is_symbol(text) and not (text == "" and name == "sample"):
                raise NotationError(
                    f"{short_repr(text)} is not one symbol in LaTeX. It was given as `{name}`, "
                    "and gets subscripts and superscripts of its own. Give a letter, a Greek "
                    r"letter such as \Theta, or one of these in a style, as in \mathcal{K}."
                )
        self._refuse_one_letter_for_two()
        require(self.layers, bool, "True or False", "It says whether layers are written.")
        require(self.width, int | float, "the width of a line", "Give it in points.")

    def _refuse_one_letter_for_two(self) -> None:
        written = {name: _as_written(name) for name in ("sigma", "z", "n", "ell", "C_b", "C_W")}
        written |= {name: name for name in BOOK if name not in ("G", "H")} | {
            "samples": self.sample
        }
        written |= {"the kernel": self.kernel, "the NTK": self.frozen_ntk}
        same = {"G", "H", "K", "Theta"}  # of which the kernel and the NTK are leading pieces
        written |= {name: text for name, text in dict(self.letters).items() if name not in same}
        read: dict[str, str] = {}
        for name, text in written.items():
            if text in read and text:
                raise NotationError(
                    f"{text} stands for {read[text]} and for {name}. A letter has one meaning. "
                    "Give one of them another."
                )
            read[text] = name

    @property
    def points(self) -> float:
        """The width of a line in points."""
        assert not isinstance(self.width, str)
        return self.width

    def layer(self, layer: str) -> str:
        """The superscript of a layer."""
        return f"^{{({self.number(layer)})}}" if self.layers else ""

    def number(self, layer: str) -> str:
        """A layer by its number, if it has one."""
        if self.at is None:
            return layer
        return {r"\ell+1": str(self.at), r"\ell": str(self.at - 1)}.get(layer, layer)

    def places(self, labels: Iterable[int], shifts: Mapping[int, str]) -> str:
        r"""Samples, of which some are at shifted positions.

        >>> Conventions().places((1, 2), {1: "q_1"})
        '\\delta_{1}+q_1,\\delta_{2}'
        """
        listed = list(labels)
        if not any(label in shifts for label in listed):
            return self.samples(listed)
        return ",".join(
            self.samples([label]) + (f"+{shifts[label]}" if label in shifts else "")
            for label in listed
        )

    def samples(self, labels: Iterable[int]) -> str:
        """Samples one after another; those below zero are summed and need a letter."""
        listed = list(labels)
        if self.sample:
            return "".join(f"{self.sample}_{{{label}}}" for label in listed)
        texts = [rf"\beta_{{{-label}}}" if label < 0 else str(label) for label in listed]
        apart = all(label < 0 for label in listed) or all(len(text) == 1 for text in texts)
        return ("" if apart else ",").join(texts)


def _checked_letters(given: object) -> tuple[tuple[str, str], ...]:
    """Letters of users by name, refused if they would do more than stand there."""
    pairs = given.items() if isinstance(given, Mapping) else given
    letters = []
    listed: list[object] = list(pairs) if isinstance(pairs, Iterable) else [given]
    for pair in listed:
        name, text = pair if isinstance(pair, tuple) and len(pair) == 2 else (given, None)
        usable = isinstance(text, str) and _LETTER.fullmatch(text) and not _ACTING.search(text)
        balanced = usable and _is_balanced(str(text)) and re.search("[A-Za-z]", str(text))
        if not (isinstance(name, str) and re.fullmatch(r"[A-Za-z]\w*", name) and balanced):
            raise NotationError(
                f"{short_repr(text)} cannot be the letter of {short_repr(name)}. It was given in "
                "`letters`. Give symbols and macros of LaTeX by the names of what they stand for, "
                r'such as {"sigma": r"\phi", "C_W": r"\sigma_w^2"}.'
            )
        stem = name.partition("_")[0]
        if len(stem) > 1 and stem not in _NAMED:
            near = get_close_matches(stem, _NAMED, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise NotationError(
                f"There is no symbol {short_repr(name)}. It was given in `letters`, by which "
                "symbols have letters of your own: sigma, z, n, C_W, lambda_b, V and the like."
                f"{hint}"
            )
        letters.append((name, str(text)))
    return tuple(sorted(letters))


def _is_balanced(text: str) -> bool:
    depth = 0
    for letter in text:
        depth += (letter == "{") - (letter == "}")
        if depth < 0:
            return False
    return depth == 0


def renamed(latex: str, use: Conventions) -> str:
    r"""Formulas with the letters of the user.

    >>> renamed(r"C_W^{2}\sigma C_{W}", Conventions(letters={"C_W": r"\sigma_w^2"}))
    '\\sigma_w^{4}\\sigma {\\sigma_w^2}'
    """
    known = dict(use.letters)
    if not known:
        return latex
    written = {_as_written(name): text for name, text in known.items()}
    words = sorted(written, key=len, reverse=True)
    starts = (r"" if word[0] == "\\" else r"(?<![A-Za-z\\])" for word in words)
    # A subscript may stand in braces: expressions have them where recursions have none.
    braced = (re.sub(r"_(.+)", r"_(?:\1|\\{\1\\})", re.escape(word)) for word in words)
    ends = (start + word for start, word in zip(starts, braced, strict=True))
    pattern = rf"(?:{'|'.join(ends)})(?![A-Za-z])"

    def replaced(match: re.Match[str]) -> str:
        text = written[re.sub("[{}]", "", match[1])]
        if "^" not in text and "_" not in text:
            return text + (match[2] or "")
        raised = re.fullmatch(r"(.*)\^(?:(\d)|\{(\d+)\})", text)
        if raised and match[2] and "^" not in raised[1]:
            own = int(raised[2] or raised[3])
            return f"{raised[1]}^{{{own * int(match[2][2:-1])}}}"
        return rf"\left({text}\right){match[2]}" if match[2] else f"{{{text}}}"

    return re.sub(rf"({pattern})(\^\{{\d+\}})?", replaced, latex)


def _as_written(name: str) -> str:
    """A name as it stands in formulas without letters of the user."""
    stem, mark, below = name.partition("_")
    return (rf"\{stem}" if stem in _NAMED else stem) + mark + below


def _is_symbol(text: str) -> bool:
    """Whether a text is a letter, a named one, or such letters in styles and accents."""
    styled = _STYLED.fullmatch(text)
    if styled:
        return _is_symbol(styled[1]) or re.fullmatch("[A-Za-z0-9]+", styled[1]) is not None
    return re.fullmatch("[A-Za-z]", text) is not None or (text[:1] == "\\" and text[1:] in _NAMED)


@lru_cache(maxsize=1 << 14)
def tensor_text(
    correlator: AnyTensor,
    piece: int,
    labels: tuple[int, ...] | None,
    layer: str,
    use: Conventions,
    fields: str = "",
) -> str:
    r"""A tensor with its samples; for one input, with the number of its axes if it has no letter.

    The fields of its axes, where a layer has several, stand in front of the layer. Odd tensors
    have the letters of those with one more vertex, under a ring.

    >>> from symdlt.definitions import ODD, tensor
    >>> tensor_text(ODD["A3"], 0, (1, 2, 3), r"\ell", Conventions(sample=""))
    '\\mathring{A}_{1(23)}^{(\\ell)}'
    >>> tensor_text(tensor("V"), 1, (1, 2, 3, 4), r"\ell", Conventions(sample=""))
    'V_{(12)(34)}^{\\{1\\}(\\ell)}'
    """
    if labels is None:
        below = f"_{{{correlator.axes}}}" if correlator.symbol == "X" else ""
    else:
        below = f"_{{{_subscript(correlator, labels, use)}}}"
    above = _superscript(correlator, piece, layer, use, fields)
    return _letter(correlator, piece, use) + below + above


def tensor_name(correlator: AnyTensor, piece: int, use: Conventions) -> str:
    """A tensor without its samples, in the letters of the user."""
    return renamed(tensor_text(correlator, piece, None, "", use), use)


def _letter(correlator: AnyTensor, piece: int, use: Conventions) -> str:
    if isinstance(correlator, OddTensor):
        return rf"\mathring{{{correlator.symbol[0]}}}"
    if piece == 0:
        return {"G": use.kernel, "H": use.frozen_ntk}.get(correlator.symbol, correlator.symbol)
    return correlator.symbol


def _superscript(
    correlator: AnyTensor, piece: int, layer: str, use: Conventions, fields: str
) -> str:
    marks = fields
    if correlator.symbol == "X":
        edges = correlator.name.split("_")[1:]
        marks += f"[{','.join(edges)}]" if edges else ""
    marks += rf"\{{{piece}\}}" if piece else ""
    if use.layers or layer == "1":
        marks += f"({use.number(layer)})"
    else:
        marks += r"\prime" * (layer == r"\ell+1")
    return f"^{{{marks}}}" if marks else ""


def _subscript(correlator: AnyTensor, labels: tuple[int, ...], use: Conventions) -> str:
    if isinstance(correlator, OddTensor) and not correlator.forest.edges:
        alone, *pair = labels
        return f"{use.samples([alone])}({use.samples(pair)})"
    if correlator.symbol in _PAIRED or (correlator.symbol == "X" and not correlator.forest.edges):
        pairs = zip(labels[::2], labels[1::2], strict=True)
        return "".join(f"({use.samples(pair)})" for pair in pairs)
    return use.samples(labels)


def symbol_text(name: str) -> str:
    r"""A symbol of a layer.

    >>> symbol_text("λ_W"), symbol_text("C_W"), symbol_text("ξ"), symbol_text("C_beta")
    ('\\lambda_W', 'C_W', '\\xi', 'C_{\\beta}')
    """
    stem, *below = ascii_name(name).split("_")
    if not below:
        return rf"\{stem}" if stem in GREEK.values() else stem
    index = symbol_text("_".join(below))
    return f"{symbol_text(stem)}_{index if len(index) == 1 else f'{{{index}}}'}"


def sigma(order: int, subscript: str) -> str:
    """A derivative of the activation, or the preactivation itself."""
    if order == FIELD:
        return "z" + (f"_{{{subscript}}}" if subscript else "")
    return rf"\sigma{primes(order, '^{{({})}}')}" + (f"_{{{subscript}}}" if subscript else "")


def power(text: str, exponent: int) -> str:
    r"""A factor to a power, in brackets where it has a superscript of its own.

    >>> power("K^{(1)}", 2)
    '\\left(K^{(1)}\\right)^{2}'
    >>> power(r"\left\langle \sigma\sigma\right\rangle_{K^{(1)}}", 2)
    '\\left\\langle \\sigma\\sigma\\right\\rangle_{K^{(1)}}^{2}'
    """
    if exponent == 1:
        return text
    bare = text.startswith(r"\left") or ("^" not in text and "'" not in text)
    return f"{text}^{{{exponent}}}" if bare else rf"\left({text}\right)^{{{exponent}}}"


def powers(factors: tuple[str, ...]) -> tuple[str, ...]:
    """Equal factors collected to powers, in the order in which they first appear."""
    if len(set(factors)) == len(factors):
        return factors
    return tuple(power(text, count) for text, count in Counter(factors).items())


def rational(number: Fraction) -> tuple[str, ...]:
    """A positive rational number as a factor; 1 is left out.

    >>> rational(Fraction(1, 2)), rational(Fraction(1))
    (('\\\\tfrac{1}{2}',), ())
    """
    if number.denominator != 1:
        return (rf"\tfrac{{{number.numerator}}}{{{number.denominator}}}",)
    return () if number == 1 else (str(number.numerator),)
