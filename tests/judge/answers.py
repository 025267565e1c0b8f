"""Answers of commands, tables made with plain NumPy, and files to keep them in, for the tests of the judge.

The tests ask for the substance of an answer: which words it has, which it must not have, and its exit status.
"""

import json
import math
import re
from dataclasses import dataclass

import numpy as np

from pecli.spec.catalogue import find

UNKNOWN = ("no formula", "no fault", "no known mistake", "nothing in common", "unexplained", "internal error")
"""What must not be said where the reason is known."""


@dataclass
class Answer:
    """Exit status and text of a command."""

    status: int
    out: str
    err: str

    @property
    def text(self):
        """Everything printed, in lower case, in one line."""
        return " ".join(f"{self.out} {self.err}".lower().split())

    def __str__(self):
        return f"status {self.status}\n{self.out}{self.err}"

    def says(self, *words):
        """Assert that every word is in the answer; "a|b" is either of them."""
        for word in words:
            assert any(one in self.text for one in word.lower().split("|")), f"'{word}' is not said:\n{self}"
        return self

    def never(self, *words):
        """Assert that no word is in the answer."""
        for word in words:
            assert word.lower() not in self.text, f"'{word}' is said:\n{self}"
        return self

    def ends(self, status):
        """Assert the exit status."""
        assert self.status == status, str(self)
        return self

    @property
    def tolerance(self):
        """The option that the answer names, as words of a command line."""
        found = re.search(r"--(atol|ulp)[ =]([0-9.e+-]*[0-9])", self.out)
        assert found, f"no tolerance is named:\n{self}"
        return f"--{found[1]}", found[2]


def recipe_keys(recipe):
    """Return the name of an encoding and the parameters of its recipe as a dictionary."""
    name, _, rest = recipe.partition(":")
    return {"encoding": name, **dict(item.split("=", 1) for item in rest.split(",") if item)}


def defaults(encoding):
    """Return the parameters that a recipe may leave out, with their values as text."""
    options = find(encoding).options
    return {
        option.option: option.text(option.default)
        for option in options
        if not option.required and option.default is not None
    }


def assert_identified(found, encoding, **keys):
    """Assert that an identification names a recipe with these parameters, written or left out as defaults."""
    assert found.recipe is not None, repr(found)
    assert found.confidence in ("sure", "likely"), repr(found)
    recipes = [recipe_keys(str(recipe)) for recipe in (found.recipe, *found.aliases)]
    wanted = {"encoding": encoding, **{key.replace("_", "-"): str(value) for key, value in keys.items()}}
    assert any(wanted.items() <= {**defaults(own["encoding"]), **own}.items() for own in recipes), repr(found)


def frequencies(dim, base=10000.0):
    """Return base^(-2i/dim), float64."""
    return base ** (-np.arange(0, dim, 2) / dim)


def angles(rows, dim, base=10000.0, start=0):
    """Return position times frequency, float64, (rows, dim/2)."""
    return np.arange(start, start + rows)[:, None] * frequencies(dim, base)


def pairs(values):
    """Return one column for each pair."""
    return values


def half(values):
    """Return two equal halves, as Llama's module has them."""
    return np.concatenate([values, values], axis=1)


def interleaved(values):
    """Return each column twice in turn, as Cohere's module has them."""
    return np.repeat(values, 2, axis=1)


LAYOUTS = {"split": pairs, "half": half, "interleaved": interleaved}


def cache(angle, layout="split", dtype="float32", magnitude=1.0):
    """Return cos and sin of angles in a layout."""
    put = LAYOUTS[layout]
    return {name: put(f(angle) * magnitude).astype(dtype) for name, f in (("cos", np.cos), ("sin", np.sin))}


def sinusoid(rows, dim, base=10000.0, start=0, dtype="float32"):
    """Return the table of Vaswani et al. by float64 NumPy."""
    table, angle = np.empty((rows, dim)), angles(rows, dim, base, start)
    table[:, 0::2], table[:, 1::2] = np.sin(angle), np.cos(angle)
    return table.astype(dtype)


def get_slopes(heads):
    """Return ALiBi's slopes as its authors' get_slopes does, float64."""

    def power_of_two(n):
        first = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [first * first**i for i in range(n)]

    if math.log2(heads).is_integer():
        return np.array(power_of_two(heads))
    closest = 2 ** math.floor(math.log2(heads))
    return np.concatenate([power_of_two(closest), get_slopes(2 * closest)[0::2][: heads - closest]])


def bloom_slopes(heads):
    """Return ALiBi's slopes as BLOOM's code does: torch.pow in float32."""
    closest = 2 ** math.floor(math.log2(heads))
    base = np.float32(2 ** (-(2 ** -(math.log2(closest) - 3))))
    slopes = np.power(base, np.arange(1, 1 + closest, dtype="float32"), dtype="float32")
    if closest < heads:
        extra = np.float32(2 ** (-(2 ** -(math.log2(2 * closest) - 3))))
        odd = np.arange(1, 1 + 2 * min(closest, heads - closest), 2, dtype="float32")
        slopes = np.concatenate([slopes, np.power(extra, odd, dtype="float32")])
    return slopes


def distances(size):
    """Return |key - query|, (size, size)."""
    return np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float)


def llama_config(path, head_dim=64, base=10000.0, length=128):
    """Write the config.json of a small Llama."""
    config = {
        "model_type": "llama", "hidden_size": 8 * head_dim, "num_attention_heads": 8, "num_key_value_heads": 8,
        "num_hidden_layers": 2, "max_position_embeddings": length, "rope_theta": base, "vocab_size": 100,
        "intermediate_size": 64,
    }  # fmt: skip
    path.write_text(json.dumps(config))
    return path
