"""The symbols in the equations of a layer, whose names say what they are, in LaTeX."""

from __future__ import annotations

import re

from symdlt.algebra.names import GREEK
from symdlt.definitions import BELOW, NAMED, ascii_name
from symdlt.formats.latex.notation import Conventions, power, sigma, symbol_text, tensor_text

LAYER, ABOVE = r"\ell", r"\ell+1"
_GREEK = {ascii: letter for letter, ascii in GREEK.items()}
_POWER = re.compile(r"(?P<base>.*[^\^])\^(?P<power>\d+)")
# A function of a field at a sample, s'(z^m)_1, or where there is one field alone s'^m_1.
_FACTOR = re.compile(
    r"(?P<name>[^\W\d_]\w*?)(?P<order>'*|\^\(\d+\))"
    r"(?:\((?:(?P<norm>\w+)\((?P<inner>\w+?)(?:\^m)?\)|(?P<field>\w+?)(?:\^m)?)\))?"
    r"(?P<later>\^m)?_(?P<at>\w(?:\+\w)?)"
)
_NOISE = re.compile(
    r"Y(?:\^\((?P<field>\w+)\))?_(?P<legs>[^\[]+)\[(?P<function>[^;\]]+)(?:; (?P<edges>[^\]]+))?\]"
)
_TENSOR = re.compile(
    r"(?P<part>Q?)(?P<letter>[A-Z][H3]?)(?P<piece>\.1)?"
    r"(?:\^(?P<other>.*)m|\^\((?P<fields>[\w',]+)\))?_(?P<at>[\d+,a-z]+)"
)
_SCALE = re.compile(r"(?P<letter>\w+?)(?:\((?P<of>\w+)\))?(?P<later>\^m)?_(?P<at>\w(?:\+\w)?)")
# Blocks of fourth cumulants, without and with an edge.
_BLOCKS = {"X": "", "XH": "H"}


def symbol_latex(name: str, layer: str, use: Conventions) -> str:
    r"""A mean, a tensor of a layer, a noise, or a scale of norms, by its name.

    >>> symbol_latex("QV_1134", r"\ell", Conventions(sample=""))
    'V_{(11)(34)}^{Q(\\ell)}'
    >>> symbol_latex("<s''_1 s_2>", r"\ell", Conventions(sample=""))
    "\\left\\langle \\sigma''_{1}\\sigma_{2}\\right\\rangle_{K^{(\\ell)}}"
    >>> symbol_latex("F3_132", r"\ell", Conventions(sample=""))
    '\\mathring{F}_{132}^{(\\ell)}'
    >>> symbol_latex("G^lm_31", r"\ell", Conventions(sample=""))
    'K_{31}^{(m\\ell)}'
    >>> symbol_latex("V^(h,z)_1234", r"\ell", Conventions(sample=""))
    'V_{(12)(34)}^{h,z}'
    """
    if name[0] == "<":
        return _mean(name[1:-1], use)
    noise = _NOISE.fullmatch(name)
    if noise:
        edges = f"[{noise['edges']}]" if noise["edges"] else ""
        below, above = samples_latex(noise["legs"], use), _above(edges, layer, use)
        if noise["field"]:
            above = f"^{{{edges}{field_latex(noise['field'])}}}"
        return f"Y_{{{below}}}{above}[{function_latex(noise['function'], use)}]"
    known = _TENSOR.fullmatch(name)
    if known and (known["letter"] in NAMED or known["letter"] in _BLOCKS):
        return _tensor(known, layer, use)
    scale = _SCALE.fullmatch(name)
    if scale is None:
        return constant_latex(name, "")
    letter = scale["letter"] if len(scale["letter"]) == 1 else rf"\mathrm{{{scale['letter']}}}"
    marks = field_latex(scale["of"]) if scale["of"] else ""
    above = f"^{{{marks}{'(m)' * bool(scale['later'])}}}" if marks or scale["later"] else ""
    return f"{letter}_{{{samples_latex(scale['at'], use)}}}{above}"


def _tensor(known: re.Match[str], layer: str, use: Conventions) -> str:
    """A tensor, the part of it that fluctuates together, or a kernel between layers."""
    letter, at, other = known["letter"], known["at"], known["other"]
    below = samples_latex(at, use)
    if known["fields"]:
        return _inside(known, use)
    if other is not None:
        return rf"{kernel_letter(letter, use)}_{{{below}}}{between_latex(other)}"
    if letter in _BLOCKS:
        return f"X_{{{below}}}{_above(_BLOCKS[letter], layer, use)}"
    correlator, piece = NAMED[letter], 1 if known["piece"] else 0
    if at.isdigit():
        labels = tuple(map(int, at))
        return tensor_text(correlator, piece, labels, layer, use, known["part"])
    text = tensor_text(correlator, piece, None, layer, use, known["part"])
    head, mark, above = text.partition("^")
    return f"{head}_{{{below}}}{mark}{above}"


def _inside(known: re.Match[str], use: Conventions) -> str:
    """A tensor of fields inside the layer, which stand above it."""
    letter, at = known["letter"], known["at"]
    head = kernel_letter(letter, use) if letter in ("G", "H") else ""
    if not head:
        labels = tuple(map(int, at)) if at.isdigit() else None
        head, _, _ = tensor_text(NAMED[letter], 0, labels, LAYER, use, "").partition("^")
    below = "" if "_" in head else f"_{{{samples_latex(at, use)}}}"
    return f"{head}{below}^{{{','.join(map(field_latex, known['fields'].split(',')))}}}"


def kernel_letter(letter: str, use: Conventions) -> str:
    """The letter of the kernel or of the NTK."""
    return {"G": use.kernel, "H": use.frozen_ntk}[letter]


def between_latex(mark: str) -> str:
    """The layers of a kernel of z of layer m: with a field of layer ℓ, with z of it, or alone."""
    field = mark.removesuffix("l") if set(mark) == {"l"} else mark
    below = rf"m{LAYER}" if mark else "m"
    return f"^{{{field_latex(field) if field else ''}({below})}}"


def _above(marks: str, layer: str, use: Conventions) -> str:
    """Marks, and the layer, which without layers is a prime above."""
    if use.layers:
        return f"^{{{marks}({use.number(layer)})}}"
    marks += r"\prime" * (layer == ABOVE)
    return f"^{{{marks}}}" if marks else ""


def _mean(text: str, use: Conventions) -> str:
    """A mean; of z of layer ℓ alone with the kernel, as those of recursions have it."""
    factors = [_FACTOR.fullmatch(_POWER.sub(r"\g<base>", word)) for word in text.split()]
    known = ("s", BELOW)  # others may be masks
    of_z = all(
        one and not one["norm"] and one["field"] in (None, BELOW) and one["name"] in known
        for one in factors
    )
    plain = of_z and "^m" not in text
    below = f"_{{{use.kernel}{use.layer(LAYER)}}}" if plain else ""
    return rf"\left\langle {function_latex(text, use)}\right\rangle{below}"


def function_latex(text: str, use: Conventions) -> str:
    """Products of functions of fields, and sums of them."""
    summands = re.split(r"( [+-] )", text)
    return "".join(
        one if place % 2 else "".join(_factor(word, use) for word in one.split())
        for place, one in enumerate(summands)
    )


def _factor(word: str, use: Conventions) -> str:
    """A function of a field at a sample, the field itself, or a constant in front."""
    raised = _POWER.fullmatch(word)
    base, exponent = (raised["base"], int(raised["power"])) if raised else (word, 1)
    match = _FACTOR.fullmatch(base)
    if match is None:
        return power(constant_latex(base, ""), exponent)
    below = samples_latex(match["at"], use)
    later = "(m)" if "^m" in base else ""
    name, order = match["name"], match["order"]
    letter = letter_latex(name, int(order[2:-1]) if order[:1] == "^" else len(order))
    if match["norm"]:
        inside = indexed(field_latex(match["inner"]), below, later)
        return power(rf"{letter}(\mathrm{{{match['norm']}}}({inside}))", exponent)
    if match["field"]:
        return power(f"{letter}({indexed(field_latex(match['field']), below, later)})", exponent)
    return power(indexed(letter, below, later), exponent)


def samples_latex(text: str, use: Conventions) -> str:
    """Samples one behind the other, where weights have windows with their shifts."""
    if text.isdigit():
        return use.samples(map(int, text))
    parts = text.split(",") if "," in text else [text]
    shown = []
    for part in parts:
        label, mark, shift = part.partition("+")
        shown.append(use.samples([int(label)]) + mark + shift)
    return ",".join(shown)


def constant_latex(name: str, layer: str) -> str:
    r"""A constant of the layer, with the superscript of its layer.

    >>> constant_latex("lambda_W", "^{(1)}"), constant_latex("xi", "")
    ('\\lambda_W^{(1)}', '\\xi')
    """
    if re.fullmatch(r"\d+/\d+", name):
        over, under = name.split("/")
        return rf"\tfrac{{{over}}}{{{under}}}"
    stem, mark, below = name.partition("_")
    return symbol_text(_GREEK.get(stem, stem) + mark + below) + layer


def width_latex(name: str) -> str:
    """The width of a layer or of a field inside it, or the number of positions."""
    known = {"n": rf"n_{{{LAYER}}}", "n'": r"n_{\ell-1}"}
    stem, mark, field = name.partition("_")
    return known.get(name) or stem + (f"_{{{field_latex(field)}}}" if mark else "")


def indexed(symbol: str, below: str, later: str = "") -> str:
    r"""A symbol with an index and a layer, also where it has an index or primes already.

    >>> indexed("h", "i"), indexed("h_{a}", "i"), indexed(r"\sigma'", "1", "(m)")
    ('h_{i}', '{h_{a}}_{i}', "{\\sigma'}_{1}^{(m)}")
    """
    taken = "_" in symbol or (later and ("'" in symbol or "^" in symbol))
    own = f"{{{symbol}}}" if taken else symbol
    return own + (f"_{{{below}}}" if below else "") + (f"^{{{later}}}" if later else "")


def letter_latex(name: str, order: int) -> str:
    r"""An activation or its derivative by its name, which of the network's own one is s.

    >>> letter_latex("s", 2), letter_latex("tanh", 4)
    ("\\sigma''", '\\mathrm{tanh}^{(4)}')
    """
    letter = r"\sigma" if name == "s" else field_latex(name)
    return sigma(order, "").replace(r"\sigma", letter)


def field_latex(name: str) -> str:
    r"""A field as a symbol, of a norm with what it is of.

    >>> field_latex("h_a"), field_latex("rmsnorm(z)")
    ('h_{a}', '\\mathrm{rmsnorm}(z)')
    """
    if name.endswith(")"):
        head, _, inside = name.partition("(")
        return f"{field_latex(head)}({field_latex(inside[:-1])})"
    stem, mark, below = ascii_name(name).partition("_")
    primes = stem[len(stem.rstrip("'")) :]
    stem = stem.rstrip("'")
    head = rf"\{stem}" if stem in _GREEK else stem if len(stem) == 1 else rf"\mathrm{{{stem}}}"
    return head + primes + (f"_{{{below}}}" if mark else "")
