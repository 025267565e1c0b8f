"""Layouts of a rotary table: which arrays hold the cos and sin of its pairs, and where.

n rows, K pairs.

======== ===================== ==========================================
layout   arrays                returned by
======== ===================== ==========================================
split    cos, sin (n, K)       flash-attention, gpt-oss
half     cos, sin (n, 2K)      Llama: two equal halves
interleaved  cos, sin (n, 2K)  Cohere: each value twice in turn
concat   cos_sin (n, 2K)       vLLM's cache: cos, then sin
sin-cos  sin_cos (n, 2K)       GPT-J: sin, then cos
pairs    cos_sin (n, K, 2)     torchtune
complex  cis (n, K)            Llama 4, DeepSeek-V2
angles   angles (n, K)         TransformerEngine: radians, not reduced
======== ===================== ==========================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pecli.errors import UnknownName
from pecli.numbers.deferred import NDArray
from pecli.numbers.dtypes import COMPLEX
from pecli.spec.tabular import Array

Part = Literal["cos", "sin", "angle"]
LAYOUTS = ("split", "half", "interleaved", "concat", "sin-cos", "pairs", "complex", "angles")
# Layouts by the names of the libraries and functions that use them.
LAYOUT_SYNONYMS = {
    "neox": "half", "gpt-neox": "half", "llama": "half", "hf": "half", "rotate-half": "half", "cohere": "interleaved",
    "gptj": "sin-cos", "gpt-j": "sin-cos", "vllm": "concat", "torchtune": "pairs", "cis": "complex", "freqs": "angles",
}  # fmt: skip


def check_layout(option: str, word: str) -> None:
    """Raise UnknownName for a word that is no layout."""
    if word not in LAYOUTS:
        raise UnknownName(option, word, LAYOUTS, LAYOUT_SYNONYMS.get(word.lower()))


def layout_arrays(layout: str, n: int, width: int, dtype: str) -> tuple[Array, ...]:
    """Return the arrays of a rotary table of `n` rows and `width` pairs."""
    pair, channel = ("position", "pair"), ("position", "channel")
    match layout:
        case "split":
            return Array("cos", (n, width), dtype, pair), Array("sin", (n, width), dtype, pair)
        case "half" | "interleaved":
            return Array("cos", (n, 2 * width), dtype, channel), Array("sin", (n, 2 * width), dtype, channel)
        case "concat":
            return (Array("cos_sin", (n, 2 * width), dtype, channel),)
        case "sin-cos":
            return (Array("sin_cos", (n, 2 * width), dtype, channel),)
        case "pairs":
            return (Array("cos_sin", (n, width, 2), dtype, ("position", "pair", "part")),)
        case "complex":
            return (Array("cis", (n, width), COMPLEX[dtype], pair),)
    return (Array("angles", (n, width), dtype, pair),)


def cosines_and_sines(names: Sequence[str]) -> list[str]:
    """Return the names of the first cosines and their sines: cos, cos_cached, rotary_emb.cos_cached ..

    Real and imaginary parts are such too: freq_cis_real, freq_cis_imag.
    """
    return list(next(iter(cosine_sine_pairs(names)), ()))


def cosine_sine_pairs(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return the names of all cosines, each with that of its sines."""
    every = {*names}
    both = (("cos", "sin"), ("real", "imag"))
    return [
        (name, other)
        for part, partner in both
        for name in names
        if part in name and partner not in name and (other := name.replace(part, partner)) in every
    ]


def column_views(layout: str, width: int, array: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the places of `width` columns in an array: views (rows, width), two where a layout has each twice."""
    if array.shape[1] == width:
        return [array]
    return [array[:, :width], array[:, width:]] if layout == "half" else [array[:, 0::2], array[:, 1::2]]


def layout_views(layout: str, width: int, out: Mapping[str, NDArray[Any]]) -> list[tuple[Part, NDArray[Any]]]:
    """Return the parts of a layout with their places: views (rows, width) into the arrays of a layout."""
    found: list[tuple[Part, NDArray[Any]]] = []
    for name, array in out.items():
        if layout in ("split", "half", "interleaved"):
            part: Part = "cos" if name == "cos" else "sin"
            found += [(part, view) for view in column_views(layout, width, array)]
        elif layout == "pairs":
            found += [("cos", array[:, :, 0]), ("sin", array[:, :, 1])]
        elif layout == "concat":
            found += [("cos", array[:, :width]), ("sin", array[:, width:])]
        elif layout == "sin-cos":
            found += [("sin", array[:, :width]), ("cos", array[:, width:])]
        elif layout == "complex":
            found += [("cos", array.real), ("sin", array.imag)]
        else:
            found += [("angle", array)]
    return found
