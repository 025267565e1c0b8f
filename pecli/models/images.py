"""Patches of images, videos and spectrograms: what stands between braces in others.txt."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from pecli.models.keys import Keys, Notes, number, shown


def measured(word: str, keys: Keys, notes: Notes) -> str:
    """Return what a word between braces stands for: NAME, or NAME:SIZE with the class's default.

    Raises
    ------
    BadFile
        For a size that is no whole number, or no list of them.
    """
    name, _, size = word.partition(":")
    return MEASURES[name](keys, notes, int(size) if size else 0)


def _sizes(keys: Keys, notes: Notes, name: str, default: int, count: int = 2) -> list[int]:
    """Return a size as `count` numbers: one number stands for all."""
    value = keys.get(name, default)
    items = value if isinstance(value, list) and len(value) == count else [value] * count
    found = [number(item) for item in items]
    whole = [int(one) for one in found if one is not None and one >= 1]
    if len(whole) != count:
        raise keys.bad(f"has {name} {shown(value)}: it must be a whole number of at least 1")
    notes.use(name, "size of what the positions count")
    return whole


def _along(keys: Keys, notes: Notes, image: str, size: int) -> list[int]:
    """Return how many patches stand along an image, rows and columns."""
    sizes = zip(_sizes(keys, notes, image, size or 224), _sizes(keys, notes, "patch_size", 16), strict=True)
    return [max(1, side // patch) for side, patch in sizes]


def _tubelets(keys: Keys, notes: Notes) -> int:
    """Return how many blocks of frames, rows and columns a video has."""
    frames, height, width = _sizes(keys, notes, "tubelet_size", 16, 3)
    rows, columns = _sizes(keys, notes, "image_size", 224)
    return keys.needed("num_frames", 32) // frames * (rows // height) * (columns // width)


def _spectrogram(keys: Keys, notes: Notes) -> int:
    """Return how many overlapping patches a spectrogram has."""
    patch = keys.needed("patch_size", 16)
    sides = (("num_mel_bins", 128, "frequency_stride"), ("max_length", 1024, "time_stride"))
    counts = [(keys.needed(name, size) - patch) // keys.needed(stride, 10) + 1 for name, size, stride in sides]
    notes.use("patch_size", "number of patches")
    return prod(counts)


def _cross(sides: list[int]) -> str:
    return "x".join(map(str, sides))


MEASURES: dict[str, Callable[[Keys, Notes, int], str]] = {
    "grid": lambda keys, notes, size: _cross(_along(keys, notes, "image_size", size)),
    "patches": lambda keys, notes, size: str(prod(_along(keys, notes, "image_size", size))),
    "pretrained": lambda keys, notes, size: str(prod(_along(keys, notes, "pretrain_image_size", size))),
    "largest": lambda keys, notes, size: str(prod(_along(keys, notes, "max_img_size", size))),
    "greatest": lambda keys, notes, size: str(prod(_along(keys, notes, "max_image_size", size))),
    "window": lambda keys, notes, size: _cross(_sizes(keys, notes, "window_size", size or 7)),
    "tubelets": lambda keys, notes, size: str(_tubelets(keys, notes)),
    "spectrogram": lambda keys, notes, size: str(_spectrogram(keys, notes)),
}
