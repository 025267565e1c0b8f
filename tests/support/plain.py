"""What each example of the catalogue holds, written out from its formula in NumPy's float64 and nothing of pecli's.

Drawn values (a trained matrix before training) are given: they have no formula.  Rows are positions 0 .. 7, or all
places of a grid.
"""

import math

import numpy as np

ROWS = 8


def missing(name):
    return NotImplementedError(f"write the formula of {name} here, tests/support/plain.py, in NumPy alone")


def frequencies(count, width, base=10000.0):
    return base ** (-2.0 * np.arange(count) / width)


def places(*sides):
    """The coordinates of the places of a grid, the last fastest, one column each."""
    return np.indices(sides).reshape(len(sides), -1, 1).astype(float)


def side_by_side(angles):
    """Sine and cosine of each angle side by side."""
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(angles), -1)


def one_after_another(angles):
    return np.concatenate([np.sin(angles), np.cos(angles)], -1)


def coordinates(count):
    return np.linspace(-1, 1, count)[:, None]


def absolute(name, given):
    """``pe``; `given` are the drawn arrays."""
    p = np.arange(ROWS)[:, None]
    match name:
        case "sinusoidal":
            return side_by_side(p * frequencies(2, 4))
        case "integer":
            return p / 9
        case "binary":
            return (p >> np.arange(8)) & 1
        case "learned":
            return given["pe"]
        case "sincos2d":
            y, x = places(6, 8)
            return np.concatenate([one_after_another(c * frequencies(2, 4)) for c in (x, y)], -1)
        case "sincos3d":
            t, y, x = places(3, 4, 4)
            parts = (t, frequencies(2, 4)), (x, frequencies(3, 6)), (y, frequencies(3, 6))
            return np.concatenate([one_after_another(c * w) for c, w in parts], -1)
        case "detr":
            y, x = places(6, 8) + 1
            return np.concatenate([side_by_side(c * frequencies(2, 4)) for c in (y, x)], -1)
        case "bands":
            x = coordinates(64)
            return np.concatenate([x, one_after_another(math.pi * np.linspace(1, 32, 4) * x)], -1)
        case "nerf":
            return side_by_side(math.pi * 2.0 ** np.arange(4) * coordinates(64))
        case "complex":
            return np.exp(1j * p * frequencies(2, 4))
        case "fourier":
            return one_after_another(2 * math.pi * p * given["B"].T)
        case "none":
            return np.zeros((ROWS, 4))
    raise missing(name)


def rotary(name):
    """Angles (n, pairs), what multiplies queries and divides keys, and the weights of heads, queries and keys."""
    p, one = np.arange(ROWS)[:, None], np.ones((1, 1))
    match name:
        case "rope":
            return p * frequencies(2, 4), one, None
        case "rope2d":
            return np.concatenate([c * frequencies(2, 4) for c in places(6, 8)], -1), one, None
        case "rope-axes":
            return np.concatenate([c * frequencies(2, 4) for c in places(2, 4, 6)], -1), one, None
        case "xpos":
            z = (2 * np.arange(2) / 4 + 0.4) / 1.4
            return p * frequencies(2, 4), z ** ((p - 4) / 512), None
        case "retnet":
            gamma = 1 - 2.0 ** (-5 - np.arange(2))
            back = p - p.T
            return p * np.array([1, 1e-4]), one, np.where(back >= 0, gamma[:, None, None] ** abs(back), 0)
        case "mrope":
            return p * frequencies(4, 8), one, None
    raise missing(name)


def bias(name, given):
    """``bias`` (heads, queries, keys)."""
    far = np.arange(ROWS) - np.arange(ROWS)[:, None]  # key minus query
    near, h = abs(far), np.arange(1, 9)[:, None, None]
    match name:
        case "alibi":
            return -(2.0**-h) * near
        case "kerple":
            return -np.array([1, 0.5])[:, None, None] * np.log1p(np.array([1, 0.25])[:, None, None] * near)
        case "gaussian":
            return np.exp(-(far**2) / (2 * np.array([1.0, 4.0])[:, None, None] ** 2))
        case "sandwich":
            k = np.arange(1, 5)[:, None, None]
            return (np.cos(far * 10000.0 ** (-2 * k / 8)).sum(0) - 4) / (8 * h[:2] / 2)
        case "t5":
            return by_index(given["bias"], t5_buckets(far))
        case "fire":
            w1, b1, w2, b2 = given["weights"]
            x = np.log1p(0.1 * near) / (np.log1p(0.1 * 16) + 1e-6)  # no query lies beyond the threshold of 16
            return (np.maximum(0, x[..., None] * w1 + b1) @ w2.T + b2).transpose(2, 0, 1)
        case "window":
            y, x = places(3, 4)[..., 0]
            return by_index(given["bias"], (y[:, None] - y + 2) * 7 + x[:, None] - x + 3)
    raise missing(name)


def t5_buckets(far):
    """8 buckets to a distance of 16: half of them for each side, 0 and 1 exact, two logarithmic."""
    near = abs(far)
    beyond = 2 + np.floor(2 * np.log(np.maximum(near, 1) / 2) / math.log(16 / 2) + 1e-12).astype(int)
    return np.where(near < 2, near, np.minimum(beyond, 3)) + 4 * (far > 0)


def by_index(values, index):
    """Values (heads, q, k) that depend on the index (q, k) alone: those of each index's first place, everywhere."""
    _, first, place = np.unique(index, return_index=True, return_inverse=True)
    return values.reshape(len(values), -1)[:, first][:, place.reshape(index.shape)]


def relative(name, given):
    """The vectors and which of them a query and a key have; of a grid, of rows and of columns."""
    back = np.arange(ROWS)[:, None] - np.arange(ROWS)
    match name:
        case "shaw":
            return given["vector"], np.clip(-back, -3, 3) + 3
        case "transformer-xl":
            return one_after_another((7 - np.arange(ROWS))[:, None] * frequencies(4, 8)), np.minimum(7, 7 - back)
        case "deberta":
            near = abs(back)
            beyond = 4 + np.ceil(3 * np.log(np.maximum(near, 4) / 4) / math.log(15 / 4) - 1e-12)
            return given["vector"], np.where(near <= 4, back, np.sign(back) * beyond).astype(int) + 8
        case "decomposed":
            rows, columns = np.arange(3), np.arange(4)
            return (
                (given["vector_height"], rows[:, None] - rows + 2),
                (given["vector_width"], columns[:, None] - columns + 3),
            )
    raise missing(name)
