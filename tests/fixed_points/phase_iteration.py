"""Where a kernel goes, by layer after layer of a map of the tests' own quadrature.

Gauss-Legendre panels, graded towards kinks and steep places, that are written down here by hand for
each activation; nothing is taken from the library.
"""

from __future__ import annotations

import math

import numpy as np

tanh, sin, cos, exp = np.tanh, np.sin, np.cos, np.exp
verf = np.vectorize(math.erf)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)
LAYERS = 3000
SCALES = [1.0, 1e-3, 1e3, 0.037, 41.0]


def sig(z):
    return 1 / (1 + exp(-np.clip(z, -700, 700)))


def relu(z):
    return np.maximum(z, 0)


# Text, function, derivative, places of kinks and steep parts, their widths, the highest frequency.
ACTIVATIONS = [
    ("tanh({z})", tanh, lambda z: 1 - tanh(z) ** 2, [], [], 0),
    ("sin({z})", sin, cos, [], [], 2),
    ("erf({z})", verf, lambda z: 2 / math.sqrt(math.pi) * exp(-z * z), [], [], 0),
    ("atan({z})", np.arctan, lambda z: 1 / (1 + z * z), [], [], 0),
    (
        "{z}*(1+erf({z}/sqrt(2)))/2",
        lambda z: z * (1 + verf(z / 2**0.5)) / 2,
        lambda z: (1 + verf(z / 2**0.5)) / 2 + z * exp(-z * z / 2) / math.sqrt(2 * math.pi),
        [],
        [],
        0,
    ),
    (
        "{z}*sigmoid({z})",
        lambda z: z * sig(z),
        lambda z: sig(z) + z * sig(z) * (1 - sig(z)),
        [],
        [],
        0,
    ),
    ("log(1+exp({z}))", lambda z: np.logaddexp(0, z), sig, [], [], 0),
    ("sigmoid({z})", sig, lambda z: sig(z) * (1 - sig(z)), [], [], 0),
    (
        "relu({z})+exp(-relu(-({z})))-1",
        lambda z: np.where(z > 0, z, np.expm1(np.minimum(z, 0))),
        lambda z: np.where(z > 0, 1, exp(np.minimum(z, 0))),
        [0],
        [1],
        0,
    ),
    ("{z}/(1+abs({z}))", lambda z: z / (1 + abs(z)), lambda z: 1 / (1 + abs(z)) ** 2, [0], [1], 0),
    (
        "max(-1,min({z},1))",
        lambda z: np.clip(z, -1, 1),
        lambda z: (abs(z) < 1) * 1.0,
        [-1, 1],
        [1, 1],
        0,
    ),
    (
        "max(0,min({z},6))",
        lambda z: np.clip(z, 0, 6),
        lambda z: ((z > 0) & (z < 6)) * 1.0,
        [0, 6],
        [1, 1],
        0,
    ),
    (
        "max(0,min({z}/6+1/2,1))",
        lambda z: np.clip(z / 6 + 0.5, 0, 1),
        lambda z: (abs(z) < 3) / 6.0,
        [-3, 3],
        [1, 1],
        0,
    ),
    (
        "{z}*max(0,min({z}/6+1/2,1))",
        lambda z: z * np.clip(z / 6 + 0.5, 0, 1),
        lambda z: np.where(abs(z) < 3, z / 3 + 0.5, (z > 0) * 1.0),
        [-3, 3],
        [1, 1],
        0,
    ),
    (
        "max(-10,min({z},10))",
        lambda z: np.clip(z, -10, 10),
        lambda z: (abs(z) < 10) * 1.0,
        [-10, 10],
        [1, 1],
        0,
    ),
    ("where({z}<3,{z},3)", lambda z: np.minimum(z, 3), lambda z: (z < 3) * 1.0, [3], [1], 0),
    (
        "tanh({z})+relu({z}-5)/10",
        lambda z: tanh(z) + relu(z - 5) / 10,
        lambda z: 1 - tanh(z) ** 2 + (z > 5) / 10,
        [5],
        [1],
        0,
    ),
    (
        "sin({z})+relu({z}-4)",
        lambda z: sin(z) + relu(z - 4),
        lambda z: cos(z) + (z > 4),
        [4],
        [1],
        2,
    ),
    ("sin(30*({z}))", lambda z: sin(30 * z), lambda z: 30 * cos(30 * z), [], [], 60),
    (
        "sin({z})+sin(15*({z}))/10",
        lambda z: sin(z) + sin(15 * z) / 10,
        lambda z: cos(z) + 1.5 * cos(15 * z),
        [],
        [],
        30,
    ),
    ("cos({z})", cos, lambda z: -sin(z), [], [], 2),
    (
        "sin({z})+(1-cos({z}))/3",
        lambda z: sin(z) + (1 - cos(z)) / 3,
        lambda z: cos(z) + sin(z) / 3,
        [],
        [],
        2,
    ),
    ("{z}-({z})**3/6", lambda z: z - z**3 / 6, lambda z: 1 - z * z / 2, [], [], 0),
    ("{z}-({z})**3/500000", lambda z: z - 2e-6 * z**3, lambda z: 1 - 6e-6 * z * z, [], [], 0),
    (
        "tanh(1000*({z}))+{z}/10",
        lambda z: tanh(1000 * z) + z / 10,
        lambda z: 1000 * (1 - tanh(1000 * z) ** 2) + 0.1,
        [0],
        [1e-3],
        0,
    ),
    (
        "tanh({z})+exp(-10000*({z}-3/10)**2)",
        lambda z: tanh(z) + exp(-1e4 * (z - 0.3) ** 2),
        lambda z: 1 - tanh(z) ** 2 - 2e4 * (z - 0.3) * exp(-1e4 * (z - 0.3) ** 2),
        [0.3],
        [1e-2],
        0,
    ),
    (
        "{z}*exp(-({z})**2/2)",
        lambda z: z * exp(-z * z / 2),
        lambda z: (1 - z * z) * exp(-z * z / 2),
        [],
        [],
        0,
    ),
    (
        "tanh({z})-tanh(2*({z}))/8",
        lambda z: tanh(z) - tanh(2 * z) / 8,
        lambda z: 1 - tanh(z) ** 2 - (1 - tanh(2 * z) ** 2) / 4,
        [],
        [],
        0,
    ),
    (
        "abs({z})-max(0,abs({z})-2)",
        lambda z: np.minimum(abs(z), 2),
        lambda z: np.sign(z) * (abs(z) < 2),
        [0, -2, 2],
        [1, 1, 1],
        0,
    ),
    (
        "1/2+tanh({z}-2)/2",
        lambda z: 0.5 + tanh(z - 2) / 2,
        lambda z: (1 - tanh(z - 2) ** 2) / 2,
        [2],
        [1],
        0,
    ),
    (
        "{z}/(1+({z})**2)",
        lambda z: z / (1 + z * z),
        lambda z: (1 - z * z) / (1 + z * z) ** 2,
        [0],
        [1],
        0,
    ),
    (
        "where(abs({z})<1,({z})**3,{z})",
        lambda z: np.where(abs(z) < 1, z**3, z),
        lambda z: np.where(abs(z) < 1, 3 * z * z, 1),
        [-1, 1],
        [1, 1],
        0,
    ),
]


def scaled(index, c):
    """σ(c z)/c as text, as a function, its derivative, and its places in units of z."""
    text, function, slope, cuts, widths, frequency = ACTIVATIONS[index]
    text = text.replace("{z}", "z") if c == 1 else f"({text.replace('{z}', f'({c!r}*z)')})/{c!r}"
    places = [x / c for x in cuts], [w / c for w in widths], frequency * c
    return text, lambda z: function(c * z) / c, lambda z: slope(c * z), *places


class Mean:
    """The mean of the square of a function, on panels that serve K within a factor of two."""

    def __init__(self, function, cuts, widths, frequency):
        self.function, self.cuts, self.widths = function, cuts, widths
        self.frequency, self.known = frequency, {}

    def __call__(self, K):
        octave = math.floor(math.log2(K))
        if octave not in self.known:
            z, lengths = self.panels(math.sqrt(2.0 ** (octave + 1)))
            self.known[octave] = z * z / 2, self.function(z) ** 2 * lengths
        y, column = self.known[octave]
        return float(column @ exp(-y / K)) / math.sqrt(2 * math.pi * K)

    def panels(self, root):
        reach = 14 * root
        edges = {0.0, *np.linspace(-reach, reach, 61)}
        for cut, width in zip(self.cuts, self.widths, strict=True):
            edges.add(cut)
            step = min(width, root) / 4
            while step < 2 * reach:
                edges |= {cut - step, cut + step}
                step *= 1.5
        edges = np.array(sorted(x for x in edges if abs(x) <= reach))
        if self.frequency:
            count = math.ceil(2 * reach * self.frequency / 6) + 1
            edges = np.unique(np.concatenate([edges, np.linspace(-reach, reach, count)]))
        half = (edges[1:] - edges[:-1]) / 2
        z = (edges[:-1] + half)[:, None] + half[:, None] * NODES
        return z.ravel(), (half[:, None] * WEIGHTS).ravel()


def destination(function, slope, C_W, C_b, K, cuts, widths, frequency):
    """K and χ_⊥ at the end, 0 or infinity, or None for what has not settled."""
    mean = Mean(function, cuts, widths, frequency)
    history = []
    for _ in range(LAYERS):
        after = C_b + C_W * mean(K)
        if after > 1e60 or after < 1e-30:
            return (math.inf if after > 1 else 0), None
        if abs(after - K) < 1e-13 * K:
            return after, C_W * Mean(slope, cuts, widths, frequency)(after)
        history.append(after)
        K = after
        if len(history) % 6 == 0 and len(history) > 11:
            K = accelerated(history)
    return None, None


def accelerated(history):
    """Aitken's limit where the last differences fall by one factor; else the last."""
    a, b, c, d = history[-4:]
    if b == a or c == b:
        return d
    before, ratio = (c - b) / (b - a), (d - c) / (c - b)
    limit = d + (d - c) * ratio / (1 - ratio) if 0 < ratio < 1 else d
    settled = 0 < ratio < 1 and abs(ratio - before) < 1e-2 * (1 - ratio)
    return limit if settled and limit > 0 and abs(limit - d) < 0.2 * d else d
