"""What the symbols in a kernel of a layer of several fields are, in any target."""

from __future__ import annotations

import textwrap

from symdlt.definitions import Stack
from symdlt.kernels.generator.python.layout import COLUMNS, filled
from symdlt.kernels.generator.representation import KernelModule

ONE_INPUT = """\
Notation: s, s', s'', … are the activation and its derivatives (sk in identifiers); <…> is the
mean over z of variance K = G, dk<…> = <(d/dz)^k …>/k!, and <A; B> = <(A - <A>)(B - <B>)>. With L
layers the hidden widths are n_1 … n_(L-1), and r = n_l/n_(l-1). A tensor that starts at order
1/n^m is returned without its factor n_(l-1)^-m, a piece X.j without n_(l-1)^-j besides.
"""

FIELDS = (
    "Notation: s, s', s'', … are the activation and its derivatives (sk in identifiers)$functions, "
    "<…> is the mean over the fields of one neuron$given$samples. With L layers the hidden widths "
    "are n_1 … n_(L-1), and $ratios. Layer 1 has the biases and the weights of the last statement, "
    "which read the input. A tensor that starts at order 1/n^m is returned without its factor "
    "n_(l-1)^-m$pieces."
)

DEPTHS = (
    "All layers keep the neurons of z, so that widths are equal, and each later layer m reads "
    "functions of z, marked ^m, at the same neurons. Q being the covariance of z given the layers "
    "before, QV is n times the covariance of Q(z z) with Q(z z), and alike for other tensors; "
    "$noise, the average over neurons of what layer m reads$edges. G^lm is the covariance of z of "
    "layer m with z of layer l. In code Y_s is the table of F = s s, Y_s_24 that with an edge "
    "between its axes 2 and 4, and later_… are means over layer m."
)


SCALES = (
    "What a field is multiplied with where it is normalised is $told: one over the root of its "
    "mean square over neurons."
)

MASKS = (
    "mask_… is the mean of factors of a mask, of which each sample has a draw of its own$placed: "
    "of k factors at d different samples it is kept^(d-k), kept being the part that is not dropped."
)

POSITIONS = (
    "A sample is an input at a position. In equations $meaning. Divided by its number of terms a "
    "sum is a mean over the positions that are read, which layers_with_positions takes of what the "
    "functions below have for 1+q at x1 and so on. PARTS says which of these functions, and means, "
    "a tensor is the sum of, and which axes go over positions together; so it does of a readout of "
    "all positions."
)


INSIDE = (
    "INSIDE are tensors of fields inside the layer: V_u_v is V with u in place of z at its first "
    "pair and v at its second one, and n in place of n', and alike others."
)


def notation_of_fields(module: KernelModule) -> str:
    """What the symbols are of a layer that takes means over several fields."""
    many = module.inputs == "many"
    kind = "covariance" if many else "variance"
    functions = ""
    if isinstance(module.layer, Stack) and module.fields:
        field, _ = module.fields[-1].printed
        functions = f", s({field}) is that of the field {field}"
    for one in module.fields:
        for place, name in enumerate(one.functions[1:], 1):
            number = place * module.stride
            functions += (
                f", s{number}, s{number + 1}, … over {one.name} are {name} and its derivatives"
            )
    inside = [f"{kind}_{one.name}" for one in module.fields if one.covariance is not None]
    given = f", of the {kind} K = G of z" + f" and of {', '.join(inside)}" * bool(inside)
    if not many:
        given += ", and <A; B> = <(A - <A>)(B - <B>)>"
    samples = ", and the numbers 1, 2, … stand for the samples x1, x2, …" * many
    widths = [one.name.removeprefix("r_") for one in module.parameters if one.role == "ratio"]
    told = "n/n' is r = n_l/n_(l-1)", "n/n_{0} is r_{0}, n_{0} being the width of {0} in layer l+1"
    if not many:
        told = "r = n_l/n_(l-1)", "r_{0} = n_l/n_{0}, n_{0} being the width of {0} in layer l+1"
    ratios = [told[0], *map(told[1].format, widths)]
    text = filled(
        FIELDS,
        functions=functions,
        given=given,
        samples=samples,
        ratios=", and ".join(ratios),
        pieces=", a piece X.j without n_(l-1)^-j besides" * module.has_pieces,
    )
    scales = [one.printed for one in module.fields if one.scale]
    if named := [f"{letter}, of {field}" for field, letter in scales]:
        text += f" {filled(SCALES, told=' and '.join(named))}"
    if module.has_masks:
        placed = ", the same at all its positions" * (module.positions is not None)
        text += f" {filled(MASKS, placed=placed)}"
    if module.depths is not None:
        noise = "Y_12[F] is that of Q(z_1 z_2)" if many else "Y is that of Q(z z)"
        noise += " with the noise of F"
        edges = ", with edges behind a semicolon" * many
        text += f" {filled(DEPTHS, noise=noise, edges=edges)}"
    if module.positions is not None:
        text += f" {filled(POSITIONS, meaning=module.positions.meaning.replace('`', ''))}"
        text += f" {INSIDE}" * bool(module.positions.inside)
    return textwrap.fill(text, COLUMNS, break_on_hyphens=False) + "\n"
