"""One layer of causal attention, trained with Adam: small enough for seconds, enough to recall.

Each token is its embedding plus one of the token before it, so that a value
knows its key and one layer can look a key up.  There is no MLP and no norm.
Gradients are written out by hand; everything is float32.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.extrapolation.trial.language import KEYS, TOKENS, VALUES

Floats = NDArray[np.float32]
WIDTH, HEADS = 64, 4
HEAD = WIDTH // HEADS
TINY = 1e-12


@dataclass(frozen=True)
class Placing:
    """How positions enter for one length; what an encoding does not use is None.

    Attributes
    ----------
    vectors : (n, WIDTH), added to the embeddings
    cos, sin : (n, HEAD/2), rotate queries and keys
    scale : (n, HEAD/2), multiplies turned queries and divides turned keys (xPos)
    bias : (HEADS, n, n), added to the logits
    trained : bool
        Whether `vectors` are the start of a trained table.
    """

    vectors: Floats | None = None
    cos: Floats | None = None
    sin: Floats | None = None
    scale: Floats | None = None
    bias: Floats | None = None
    trained: bool = False


class Model:
    """Weights, and the two passes.

    Parameters
    ----------
    random : Generator
        Draws the initial weights, in one order for every encoding.
    placing : Placing
        At the training length; gives the start of a trained table.
    """

    def __init__(self, random: np.random.Generator, placing: Placing) -> None:
        def draw(*shape: int, scale: float) -> Floats:
            return (random.standard_normal(shape) * scale).astype(np.float32)

        self.weights: dict[str, Floats] = {
            "token": draw(TOKENS, WIDTH, scale=0.5),
            "previous": draw(TOKENS + 1, WIDTH, scale=0.5),
            **{name: draw(WIDTH, WIDTH, scale=WIDTH**-0.5) for name in ("query", "key", "value", "out")},
            "read": draw(WIDTH, VALUES, scale=WIDTH**-0.5),
        }
        if placing.trained:
            assert placing.vectors is not None
            self.weights["position"] = placing.vectors.copy()

    def loss(self, tokens: NDArray[np.int64], placing: Placing) -> Floats:
        """Return the loss in nats of each value, (batch, n/2)."""
        chance = self._forward(tokens, placing)[-1]
        return -np.log(np.take_along_axis(chance, _targets(tokens), -1)[..., 0] + TINY)

    def _forward(self, tokens: NDArray[np.int64], placing: Placing) -> tuple[Any, ...]:
        """Return what the backward pass needs, and last the chance of each value."""
        w, (batch, n) = self.weights, tokens.shape
        previous = np.concatenate([np.full((batch, 1), TOKENS), tokens[:, :-1]], 1)
        x = w["token"][tokens] + w["previous"][previous]
        vectors = w.get("position", placing.vectors)
        if vectors is not None:
            x = x + vectors[:n]
        q, k, v = (_heads(x @ w[name]) for name in ("query", "key", "value"))
        if placing.cos is not None:
            q, k = _turn(q, placing, 1), _turn(k, placing, -1)
        q = q[:, :, ::2]  # only keys predict: what follows a value is random
        logits = q @ k.transpose(0, 1, 3, 2) * HEAD**-0.5
        if placing.bias is not None:
            logits += placing.bias[:, :n:2, :n]
        logits += np.where(np.arange(n) > np.arange(0, n, 2)[:, None], np.float32(-1e9), np.float32(0))
        weights = _softmax(logits)
        mixed = (weights @ v).transpose(0, 2, 1, 3).reshape(batch, n // 2, WIDTH)
        out = x[:, ::2] + mixed @ w["out"]
        return previous, x, q, k, v, weights, mixed, out, _softmax(out @ w["read"])

    def gradients(self, tokens: NDArray[np.int64], placing: Placing) -> dict[str, Floats]:
        """Return the gradients of the mean loss."""
        w, n = self.weights, tokens.shape[1]
        previous, x, q, k, v, weights, mixed, out, error = self._forward(tokens, placing)
        target = _targets(tokens)
        np.put_along_axis(error, target, np.take_along_axis(error, target, -1) - 1, -1)
        error /= target.size
        of_out = error @ w["read"].T
        found = {"read": _outer(out, error), "out": _outer(mixed, of_out)}
        of_mixed = _heads(of_out @ w["out"].T)
        of_weights = of_mixed @ v.transpose(0, 1, 3, 2)
        of_logits = weights * (of_weights - (of_weights * weights).sum(-1, keepdims=True))
        of_logits *= HEAD**-0.5
        of_q = np.zeros_like(k)
        of_q[:, :, ::2] = of_logits @ k
        of_k = of_logits.transpose(0, 1, 3, 2) @ q
        of_v = weights.transpose(0, 1, 3, 2) @ of_mixed
        if placing.cos is not None:
            of_q, of_k = _turn(of_q, placing, 1, back=True), _turn(of_k, placing, -1, back=True)
        of_x = np.zeros_like(x)
        of_x[:, ::2] = of_out
        for name, of in (("query", of_q), ("key", of_k), ("value", of_v)):
            flat = of.transpose(0, 2, 1, 3).reshape(x.shape)
            found[name] = _outer(x, flat)
            of_x += flat @ w[name].T
        found["token"] = _summed(tokens, of_x, TOKENS)
        found["previous"] = _summed(previous, of_x, TOKENS + 1)
        if "position" in w:
            found["position"] = np.zeros_like(w["position"])
            found["position"][:n] = of_x.sum(0)
        return found


class Adam:
    """Adam with warm-up, a cosine to zero, and clipped gradients."""

    def __init__(self, weights: dict[str, Floats], steps: int, rate: float = 3e-3) -> None:
        self.weights, self.steps, self.rate, self.step = weights, steps, rate, 0
        self.first = {name: np.zeros_like(w) for name, w in weights.items()}
        self.second = {name: np.zeros_like(w) for name, w in weights.items()}

    def update(self, gradients: Mapping[str, Floats]) -> None:
        """Take one step."""
        self.step += 1
        rate = self.rate * min(1.0, self.step / 50) * 0.5 * (1 + math.cos(math.pi * self.step / self.steps))
        norm = math.sqrt(sum(float((g * g).sum()) for g in gradients.values()))
        clip = 1.0 / max(norm, 1.0)
        a, b = 0.9, 0.98
        for name, weights in self.weights.items():
            g = gradients[name] * clip
            self.first[name] = self.first[name] * a + g * (1 - a)
            self.second[name] = self.second[name] * b + np.square(g) * (1 - b)
            mean = self.first[name] / (1 - a**self.step)
            square = self.second[name] / (1 - b**self.step)
            np.subtract(weights, rate * mean / (np.sqrt(square) + 1e-8), out=weights)


def _targets(tokens: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of each value among the values, (batch, n/2, 1)."""
    return (tokens[:, 1::2] - KEYS)[..., None]


def _heads(x: Floats) -> Floats:
    """Return (batch, n, WIDTH) as (batch, HEADS, n, HEAD)."""
    return x.reshape(*x.shape[:2], HEADS, HEAD).transpose(0, 2, 1, 3)


def _turn(x: Floats, placing: Placing, power: int, back: bool = False) -> Floats:
    """Rotate pairs (i, i + HEAD/2) of each head by the position's angles, times the scale to a power.

    `back` is the transposed map, which a gradient takes.
    """
    assert placing.cos is not None
    assert placing.sin is not None
    n, half = x.shape[2], HEAD // 2
    cos, sin = placing.cos[:n], placing.sin[:n] * (-1 if back else 1)
    if placing.scale is not None:
        scale = placing.scale[:n] ** power
        cos, sin = cos * scale, sin * scale
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], -1)


def _softmax(x: Floats) -> Floats:
    e = np.exp(x - x.max(-1, keepdims=True))
    shares: Floats = e / e.sum(-1, keepdims=True)
    return shares


def _outer(a: Floats, b: Floats) -> Floats:
    """Return the gradient of a matrix between inputs a and errors b."""
    product: Floats = a.reshape(-1, a.shape[-1]).T @ b.reshape(-1, b.shape[-1])
    return product


def _summed(index: NDArray[np.int64], rows: Floats, count: int) -> Floats:
    """Return the sum of the rows of each index: a one-hot product, many times faster than add.at."""
    hot = np.zeros((index.size, count), np.float32)
    hot[np.arange(index.size), index.ravel()] = 1
    return _outer(hot, rows)
