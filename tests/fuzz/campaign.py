"""What is tried, in order: command lines, damaged files, bombs."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tests.fuzz.children import Worker
from tests.fuzz.files import bombs, damage, readings, sound
from tests.fuzz.kills import faults, kills
from tests.fuzz.words import all_options, command_line, options_in

Failure = tuple[str, list[str], str]
Failures = Iterator[Failure]
Key = tuple[str, str]


class Ground:
    """A folder with files in which children run, and which is put back to what it was after each."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._store = folder / "here", folder / "store"
        self.folder.mkdir()
        self._store.mkdir()
        self.worker = Worker(self.folder)
        self._kept: dict[str, int] = {}

    def keep(self) -> None:
        """Keep what the folder holds now."""
        for entry in os.scandir(self.folder):
            if entry.name not in self._kept:
                self._kept[entry.name] = entry.inode()
                if entry.is_file():  # whoever replaces a file leaves this one as it is
                    os.link(entry, self._store / entry.name)

    def forget(self, name: str) -> None:
        """Remove a file that was kept."""
        del self._kept[name]
        (self._store / name).unlink()
        (self.folder / name).unlink()

    def tried(self, label: str, words: list[str], stdin: str | None = None) -> tuple[int, list[Failure]]:
        """Run one command line; return its status and what went wrong, and remove what it wrote."""
        outcome = self.worker.run(words, stdin and self.folder / stdin)
        left = [e.name for e in os.scandir(self.folder) if self._kept.get(e.name) != e.inode()]
        named = "\n".join(words)
        bad = []
        written = sum(path.stat().st_size for name in left for path in _files(self.folder / name))
        if problem := outcome.problem(written):
            bad.append((label, words, problem))
        elif companion := [name for name in left if name.startswith(".") or name not in named]:
            bad.append((label, words, f"left {companion} beside"))
        elif outcome.status == 2 and left:
            bad.append((label, words, f"failed and left {left}"))
        for name in left:
            (shutil.rmtree if (self.folder / name).is_dir() else Path.unlink)(self.folder / name)
        for name in self._kept.keys() - set(os.listdir(self.folder)):
            os.link(self._store / name, self.folder / name)
        return outcome.status, bad


def _files(path: Path) -> Iterator[Path]:
    """Yield a file, or those in a folder."""
    return filter(Path.is_file, path.rglob("*")) if path.is_dir() else filter(Path.is_file, [path])


@contextmanager
def grounds() -> Iterator[Ground]:
    """Give an empty ground."""
    with playground() as folder:
        ground = Ground(folder)
        try:
            yield ground
        finally:
            ground.worker.end()


@contextmanager
def playground() -> Iterator[Path]:
    """Give an empty folder."""
    folder = Path(tempfile.mkdtemp(prefix="pecli-fuzz-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def load() -> None:
    """Import what children need before they are forked, so that a case takes milliseconds."""
    import gc
    import pkgutil
    from importlib import import_module

    import pecli

    for module in pkgutil.walk_packages(pecli.__path__, "pecli."):
        if not module.name.endswith(("__main__", ".torch", ".jax", ".keras", ".dask")):
            import_module(module.name)
    gc.collect()
    gc.freeze()  # what is not looked at need not be copied


def command_lines(seed: int, count: int, counts: Counter[str], accepted: Counter[Key] | None = None) -> Failures:
    """Try command lines; each is decided by the seed and its number.

    In `accepted` is counted how often each option stood in a line that did what it was told.
    """
    accepted = Counter() if accepted is None else accepted
    accepted.update(dict.fromkeys(all_options(), 0))
    with grounds() as ground:
        files = sound(ground.folder)
        ground.keep()
        for number in range(count):
            rng = Random(f"{seed}-{number}")
            words = [word for word in command_line(rng, files) if "\0" not in word]
            counts["command lines"] += 1
            status, bad = ground.tried(f"words {seed}-{number}", words, rng.choice(files))
            if status in (0, 1):
                counts["accepted"] += 1
                accepted.update(options_in(words, accepted))
            yield from bad


def damaged_files(seed: int, count: int, counts: Counter[str]) -> Failures:
    """Try damaged files, each in two ways."""
    with grounds() as ground:
        originals = {name: (ground.folder / name).read_bytes() for name in sound(ground.folder)}
        ground.keep()
        for number in range(count):
            rng = Random(f"{seed}-{number}")
            name = rng.choice(list(originals))
            bad = f"bad{Path(name).suffix}"
            (ground.folder / bad).write_bytes(damage(rng, originals[name]))
            ground.keep()
            counts["damaged files"] += 1
            for words in rng.sample(readings(bad), 2):
                counts["readings"] += 1
                yield from ground.tried(f"files {seed}-{number} {name}", words, bad)[1]
            ground.forget(bad)


def killed_writers(seed: int, count: int, counts: Counter[str]) -> Failures:
    """Kill writers at random times."""
    with playground() as folder:
        yield from kills(seed, count, counts, folder)


def faulty_disks(seed: int, count: int, counts: Counter[str]) -> Failures:
    """Let calls of writers fail."""
    with playground() as folder:
        yield from faults(seed, count, counts, folder)


def constructed_bombs(seed: int, count: int, counts: Counter[str]) -> Failures:
    """Try so many of the ways in which each bomb can be read."""
    with playground() as folder:
        ground = Ground(folder)
        sound(ground.folder)
        names = bombs(ground.folder)
        ground.keep()
        for name in names:
            counts["bombs"] += 1
            ways = readings(name)
            for words in Random(f"{seed}-{name}").sample(ways, min(count, len(ways))):
                counts["readings"] += 1
                yield from ground.tried(f"bomb {name}", words)[1]
