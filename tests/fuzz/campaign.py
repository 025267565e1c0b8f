"""What is tried, in order: command lines, damaged files, bombs."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tests.fuzz.children import run_child
from tests.fuzz.files import bombs, damage, readings, sound
from tests.fuzz.kills import faults, kills
from tests.fuzz.words import command_line

Failure = tuple[str, list[str], str]


@contextmanager
def playground() -> Iterator[Path]:
    """Give a folder in which children run."""
    folder = Path(tempfile.mkdtemp(prefix="pecli-fuzz-"))
    (folder / "here").mkdir()
    try:
        yield folder / "here"
    finally:
        shutil.rmtree(folder)


def load() -> None:
    """Import what children need before they are forked, so that a case takes milliseconds."""
    import pkgutil
    from importlib import import_module

    import pecli

    for module in pkgutil.walk_packages(pecli.__path__, "pecli."):
        if not module.name.endswith(("__main__", ".torch", ".jax", ".keras", ".dask")):
            import_module(module.name)


def tried(folder: Path, label: str, words: list[str], kept: set[str]) -> Iterator[Failure]:
    """Run one command line; yield what went wrong, and remove what it wrote."""
    found = run_child(words, folder)
    left = sorted(entry.name for entry in folder.iterdir() if entry.name not in kept)
    if found.problem:
        yield label, words, found.problem
    elif hidden := [name for name in left if name.startswith(".")]:
        yield label, words, f"left {hidden}"
    elif found.status == 2 and left:
        yield label, words, f"failed and left {left}"
    for name in left:
        (shutil.rmtree if (folder / name).is_dir() else Path.unlink)(folder / name)


def command_lines(seed: int, count: int, counts: Counter[str]) -> Iterator[Failure]:
    """Try command lines; each is decided by the seed and its number."""
    with playground() as folder:
        files = sound(folder)
        kept = {entry.name for entry in folder.iterdir()}
        for number in range(count):
            counts["command lines"] += 1
            words = [w for w in command_line(Random(f"{seed}-{number}"), files) if "\0" not in w]
            yield from tried(folder, f"words {seed}-{number}", words, kept)


def damaged_files(seed: int, count: int, counts: Counter[str]) -> Iterator[Failure]:
    """Try damaged files, each in one or two ways."""
    with playground() as folder:
        originals = {name: (folder / name).read_bytes() for name in sound(folder)}
        kept = {entry.name for entry in folder.iterdir()}
        for number in range(count):
            rng = Random(f"{seed}-{number}")
            name = rng.choice(list(originals))
            bad = f"bad{Path(name).suffix}"
            (folder / bad).write_bytes(damage(rng, originals[name]))
            counts["damaged files"] += 1
            for words in rng.sample(readings(bad), 2):
                counts["readings"] += 1
                yield from tried(folder, f"files {seed}-{number} {name}", words, kept | {bad})
            (folder / bad).unlink()


def killed_writers(seed: int, count: int, counts: Counter[str]) -> Iterator[Failure]:
    """Kill writers at random times."""
    with playground() as folder:
        yield from kills(seed, count, counts, folder)


def faulty_disks(seed: int, count: int, counts: Counter[str]) -> Iterator[Failure]:
    """Let calls of writers fail."""
    with playground() as folder:
        yield from faults(seed, count, counts, folder)


def constructed_bombs(seed: int, count: int, counts: Counter[str]) -> Iterator[Failure]:
    """Try so many of the ways in which each bomb can be read."""
    with playground() as folder:
        sound(folder)
        names = bombs(folder)
        kept = {entry.name for entry in folder.iterdir()}
        for name in names:
            counts["bombs"] += 1
            ways = readings(name)
            for words in Random(f"{seed}-{name}").sample(ways, min(count, len(ways))):
                counts["readings"] += 1
                yield from tried(folder, f"bomb {name}", words, kept)
