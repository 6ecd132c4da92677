"""Kernel files of layers with windows next to `propagate`, at all positions."""

from __future__ import annotations

import re

import numpy as np
from kernel_reference import loaded, passes_its_doctests_alone

from symdlt import BOOK, Network, propagate
from symdlt.definitions import ascii_name, read_layer_definition
from symdlt.kernels import kernel_for, numpy_activation

WIDTHS, INNER, OUTPUTS = [40, 30], [25, 35], 50
ROUNDING = 1e-12


def inputs(*shape):
    return np.random.default_rng(0).standard_normal(shape)


def overlaps(x):
    """At all pairs of samples and positions."""
    return np.tensordot(x, x, (1, 1)) / x.shape[1]


def values_for(names, depth):
    """A number for each layer, none like another."""
    rng = np.random.default_rng(7)
    return {name: rng.uniform(0.3, 1.1, depth).tolist() for name in names if name[:2] != "r_"}


def text_that_stands_alone(folder, layer, values):
    """The text of a kernel, which works with NumPy and no symdlt in reach."""
    text = kernel_for(["V"], layer=layer, name="mine").text
    program = (
        "x = np.linspace(-1.0, 1.0, 8).reshape(1, 2, 4)\n"
        "sine = [np.sin, np.cos, lambda z: -np.sin(z)]\n"
        "v = mine.propagate(sine, np.tensordot(x, x, (1, 1)) / 2, 3, readout='mean',\n"
        f"    **{values})['V']\n"
    )
    assert passes_its_doctests_alone(folder, text, program) == "3 0.0 True"
    assert all(len(line) <= 100 for line in text.splitlines() if "--layer" not in line)
    return text


def mean_over_positions(name, table, samples):
    """A tensor over samples alone, where the two ends of a pair are at one position."""
    matching = BOOK[name.partition(".")[0]].matching
    axes = 2 * len(matching)
    place = {vertex: "pq"[pair] for pair, both in enumerate(matching) for vertex in both}
    letters = "".join("abcd"[axis] + place[axis] for axis in range(axes))
    count = round(table.size ** (1 / axes)) // samples
    table = table.reshape(axes * (samples, count))
    return np.einsum(f"{letters}->{'abcd'[:axes]}", table) / count ** len(matching)


def kernel_and_theory(layer, x, readout, tensors, widths):
    """What the kernel gives, and `propagate` of the same network."""
    module = loaded(kernel_for(tensors, layer=layer, name="own"))
    names, depth = module.HYPERPARAMETERS, len(widths)
    values = values_for(names, depth)
    inside = (INNER * depth)[: depth - 1]
    ratios = [1.0, *(n / inner for n, inner in zip(widths[:-1], inside, strict=True))]
    functions = numpy_activation("tanh", module.DERIVATIVES).functions
    found = module.propagate(
        getattr(module, "ACTIVATION", functions),
        overlaps(x),
        depth,
        widths=widths[:-1],
        readout=readout,
        tolerance=ROUNDING,
        **values,
        **{name: ratios for name in names if name[:2] == "r_"},
    )
    *inner_statements, last = layer.split("; ")
    window = dict(re.findall(r"([A-Z])(\[[^]]*\])", last))
    read = re.sub(r"([A-Z])(\[[^]]*\])?(?= )", rf"\1[{readout}]", last) if readout else last
    if readout:  # which has no positions to keep anything at
        read = re.sub(r"z' = (xi|1/2)? ?[ahz] \+", "z' =", read)
    for statement in reversed(inner_statements):  # and computes nothing that it does not read
        if re.search(rf"\b{statement.partition(' = ')[0]}\b", read.partition(" = ")[2]):
            read = f"{statement}; {read}"
    drawn = read_layer_definition(layer).streams[-1].drawn
    first = " + ".join(
        "b" if d.function is None else f"{d.tensor.name}{window.get(d.tensor.name, '')} z"
        for d in drawn
    )
    inner = {name[2:]: [1, *inside] for name in names if name[:2] == "r_"}
    layers = [f"z' = {first}", *[layer] * (depth - 2), read]
    symbols = {ascii_name(name) for one in layers for name in read_layer_definition(one).symbols}
    known = {name: value for name, value in values.items() if name in symbols}
    network = Network("tanh", widths[:-1], known, layers, n_L=widths[-1], inner=inner)
    return found, propagate(network, x, list(found), tolerance=ROUNDING)


def check(layer, shape, readout=None, tensors=tuple(BOOK), widths=(*WIDTHS, OUTPUTS)):
    """What a kernel gives of inputs of a shape is what `propagate` gives, and what was asked."""
    x = inputs(*shape)
    found, right = kernel_and_theory(layer, x, readout, tensors, widths)
    assert {*tensors} <= {*found} <= {*BOOK, *tensors}
    for name, layers in found.items():
        for ours, theirs in zip(layers, right[name], strict=True):
            mean = mean_over_positions(name, ours, len(x))
            assert np.abs(mean - theirs).max() <= ROUNDING * np.abs(theirs).max(), name
