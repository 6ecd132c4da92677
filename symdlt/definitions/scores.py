"""Scores of attention in the streams of a layer: what may read them, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from symdlt.definitions.streams import (
    ABOVE,
    BELOW,
    LAYER_NORM,
    SOFTMAX,
    SiteFunction,
    Stream,
    at_pairs,
    functions_in,
    is_recurrent,
    sites_of,
)
from symdlt.errors import LayerError

Sites = Sequence[Sequence[str]]
Refused = Callable[[str], LayerError]


def check_scores(streams: Sequence[Stream], sites: Sites, refused: Refused) -> None:
    """Refuse scores whose theory is not known, and what reads them otherwise than as attention.

    Raises:
        LayerError: made by `refused`.
    """
    pairs, masks = at_pairs(streams), {stream.name for stream in streams if stream.mask}
    if pairs and is_recurrent(streams):
        raise refused(
            "has scores, and reads earlier steps. Let a layer with scores follow one with steps"
        )
    if masks and is_recurrent(streams):
        raise refused(
            "has masks, and reads earlier steps. Whether a mask is drawn anew at each step is not "
            "said. Let a layer with masks follow"
        )
    if streams[-1].name in pairs:
        raise refused("ends with scores. Let weights read them, and values")
    for stream in streams:
        if stream.score:
            _check_score(stream.score, sites, pairs, refused)
        for drawn in (one for one in stream.drawn if one.function is not None):
            assert drawn.function is not None
            read = drawn.function.fields
            _check_softmax(drawn.function, pairs, refused)
            causal = drawn.window is not None and drawn.window.causal
            if causal and not read & pairs:
                raise refused(f"has weights {drawn.tensor.name}[causal] that read no scores")
            if not read & pairs:
                continue
            if len(drawn.function.terms) > 1 or read <= pairs:
                raise refused(
                    f"has weights {drawn.tensor.name} that read scores without values, or a sum. "
                    "Attention is one product of functions of scores and of values, as in "
                    "W softmax(q.k) v; add others with weights of their own"
                )
            if (drawn.window and not causal) or read & masks:
                raise refused(
                    f"has weights {drawn.tensor.name} with a window, or a mask, that read scores. "
                    "Attention reads all positions, or with [causal] those up to each. Give the "
                    "values a window or a mask, in a statement of their own"
                )


def _check_score(
    score: tuple[str, str], sites: Sites, pairs: frozenset[str], refused: Refused
) -> None:
    site = next(one for one in sites if score[0] in one)
    if {BELOW, ABOVE} & {*site}:
        raise refused(
            f"has scores {'.'.join(score)} at the neurons of {BELOW} or {ABOVE}. Heads are as many "
            "as values have. Give queries and keys weights of their own, as in q = Q z; k = K z"
        )
    if pairs & {*score}:
        raise refused(f"has scores of scores, {score[0]}.{score[1]}")


def _check_softmax(read: SiteFunction, pairs: frozenset[str], refused: Refused) -> None:
    factors = [one for _, several in read.terms for one in several if one.function == SOFTMAX]
    if any(one.field not in pairs for one in factors):
        raise refused("has softmax of a field that is no score. It is over positions, as of q.k")
    if any(one.order for one in factors) or len(factors) > 1:
        raise refused("has a derivative, or a product, of softmax, which is over all positions")


def scores_without_fluctuations(
    streams: Sequence[Stream], widths: Mapping[str, int], heads: int
) -> str:
    """Why of scores in a layer nothing of order 1/n is known; empty if it is, or if there are none.

    Args:
        streams: of the layer.
        widths: of its fields.
        heads: how many there are, 0 if that is not known.
    """
    scores = {stream.name: stream.score for stream in streams if stream.score}
    sites = sites_of(streams)
    reads = [one.function.fields for s in streams for one in s.drawn if one.function]
    of_values = {name for site in sites if {*site} & {*scores} for name in site}
    summed = [
        name for ends in scores.values() for site in sites if ends[0] in site for name in site
    ]
    if any(len({*ends}) == 1 for ends in scores.values()):
        return (
            "scores of a field with itself, over the number of neurons of a head, fluctuate about "
            "a mean that does"
        )
    if scores and any(SOFTMAX in functions_in(stream) for stream in streams):
        return "products of four softmaxes have means over all scores of four positions"
    if of_values & {BELOW, ABOVE}:
        return f"values are at the neurons of {BELOW} or {ABOVE}; give them weights, as in v = V z"
    if any((one.norm or one.mask) and one.name in of_values for one in streams):
        return "norms, or masks, are at the neurons of values"
    if any(one.norm == LAYER_NORM and one.name in summed for one in streams):
        return "means of queries or keys are taken away; rmsnorm keeps them"
    if any(read & of_values.union(summed) and not read & at_pairs(streams) for read in reads):
        return "queries, keys or values are read by weights without scores"
    if len({*summed}) < len(summed):
        return "several scores are sums over the same neurons"
    if scores and not heads:
        return "the number of heads is not known; give it, as in inner={'heads': 16}"
    if any(widths[name] % heads for name in scores):
        return f"the neurons of values do not make {heads} heads; give as many for each"
    return ""
