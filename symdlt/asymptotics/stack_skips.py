r"""V of blocks that read a function of neurons which they keep, where every kernel stays.

In $h = U\sigma(z)$, $z' = \xi z + W f(h)$ the neurons of h are others in each layer, and so is
their noise. That of z is met again at all later depths, by the one weight that reads it. Both
susceptibilities being 1, what the block adds to V by it is what a layer of one weight,
$z' = \xi z + W\sigma(z)$, adds, with the same ξ: the response of z' to $\langle\sigma\sigma\rangle$
is $(1-\xi^2)$ over the mean square of σ in both. So V grows by what the recursion of the last
layer alone has of h, and by `skip_growth`. Masks are others in each layer as well, and what they
add is in the recursion of the last layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import sympy as sp

from symdlt.asymptotics.asymptotes import Asymptote
from symdlt.asymptotics.skip_growth import skip_growth
from symdlt.asymptotics.stack_kept import solve_kept
from symdlt.definitions import BELOW, RESIDUAL, Stack, ascii_name
from symdlt.derivation import derive_stack_system
from symdlt.fixed_points.stack_maps import StackMap
from symdlt.symbols import n

# Digits to which the growth by the last layer alone is one number, however it is found.
AGREED = 1e-12


def growth_of_v(
    maps: StackMap, slopes: Mapping[str, tuple[sp.Expr, sp.Expr]], known: tuple[Asymptote, ...]
) -> Asymptote | None:
    """The asymptote of V, or nothing for a layer of which it is not known.

    Args:
        maps: the layer, which keeps z and is no chain of steps.
        slopes: of each function, to the left and to the right of zero.
        known: the asymptotes of G and H.
    """
    read = [one.function for one in maps.layer.drawn if one.function is not None]
    terms = [factors for function in read for _, factors in function.terms]
    masks = {stream.name for stream in maps.layer.streams if stream.mask}
    plain = [tuple(one for one in factors if one.field not in masks) for factors in terms]
    of_z = [factors for factors in plain if any(one.field == BELOW for one in factors)]
    if len(of_z) != 1 or len(of_z[0]) != 1 or of_z[0][0].function is None or of_z[0][0].order:
        return None
    ((constant, _),) = maps.layer.streams[-1].kept
    ((monomial, factor),) = constant.terms
    xi = sp.Rational(*factor.as_integer_ratio())
    for name, power in monomial:
        xi *= maps.numbers[ascii_name(name)] ** power
    of_skip = skip_growth(maps.functions[of_z[0][0].function], RESIDUAL, {"xi": xi})
    last = v_of_last_layer(maps, slopes)
    whole = v_of_last_layer(replace(maps, layer=_without_masks(maps.layer)), slopes)
    alone = whole.ratio_coefficient.subs(n, 0)
    if abs(alone - of_skip.last_layer) > AGREED * alone:
        return None
    growth = sp.expand(last.ratio_coefficient - alone) + of_skip.growth
    K = next(a for a in known if a.name == "G").coefficient
    return replace(last, coefficient=growth * K**2, ratio_coefficient=growth, exact=None)


def _without_masks(layer: Stack) -> Stack:
    """The layer with all neurons, by masks that drop none."""
    return layer.with_streams(
        lambda one: replace(one, mask=replace(one.mask, rate=Fraction(0)) if one.mask else None)
    )


def v_of_last_layer(maps: StackMap, slopes: Mapping[str, tuple[sp.Expr, sp.Expr]]) -> Asymptote:
    """What V would be if each layer met the noise of the layer below alone.

    Args:
        maps: the layer.
        slopes: of each function, to the left and to the right of zero.
    """
    system = derive_stack_system(["G", "H", "V"], maps.layer, truncated=True)
    tensors, _ = solve_kept(maps, slopes, system, {})
    return next(a for a in tensors if a.name == "V")
