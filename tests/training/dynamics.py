"""The coupled difference equations of training, iterated."""


def iterated(z, H, dH, one, two, y, steps):
    """z, H and dH after some steps, by (∞.81)–(∞.83) with the index order that the errata give.

    An index is a sample, or a sample and a neuron; those of training come first.
    """
    a = slice(0, len(y))
    for eta in steps:
        r = z[a] - y
        new_z = z - eta * H[:, a] @ r + eta**2 / 2 * dH[:, a, a] @ r @ r
        new_z -= eta**3 / 6 * one[:, a, a, a] @ r @ r @ r
        first = dH[..., a] @ r
        second = (one + two)[..., a, a] @ r @ r
        new_H = H - eta * (first + first.T) + eta**2 / 2 * (second + second.T)
        leaf = two[..., a] @ r
        dH = dH - eta * (one[..., a] @ r + leaf + leaf.transpose(0, 2, 1))
        z, H = new_z, new_H
    return z, H, dH
