"""Cases of the fuzz campaign: command lines, damaged files, stores, configs, plug-ins, servers, bombs, everyday tables.

Each case is decided by the seed and its number.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from pecli.cli import commands
from pecli.errors import PecliError
from pecli.tables.table import Table
from tests.fuzz import answers
from tests.fuzz.children import CPU_SECONDS, Worker
from tests.fuzz.files import OWN, bombs, damage, readings, sound
from tests.fuzz.kills import faults, kills
from tests.fuzz.servers import LIES, lying_server
from tests.fuzz.words import HOSTILE, all_options, command_line, options_in

GOLDEN = Path(__file__).parents[1] / "data" / "golden"


class Failure(NamedTuple):
    """A case that went wrong, with what is needed to run it again in a folder of sound files."""

    label: str
    words: list[str]
    problem: str
    files: Mapping[str, bytes] = {}
    stdin: str = ""
    env: Mapping[str, str] = {}

    @property
    def kind(self) -> str:
        """The problem without its numbers and names; failures of one kind have one cause, as a rule."""
        last = self.problem.strip().splitlines()[-1] if self.problem.strip() else ""
        return re.sub(r"[0-9]+|'[^']*'", "", last)[-120:]


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

    def tried(
        self, label: str, words: list[str], stdin: str | None = None, env: Mapping[str, str] | None = None
    ) -> tuple[int, list[Failure]]:
        """Run one command line; return its status and what went wrong, and remove what it wrote."""
        outcome = self.worker.run(words, stdin and self.folder / stdin, env)
        left = [e.name for e in os.scandir(self.folder) if self._kept.get(e.name) != e.inode()]
        named = "\n".join(words)
        bad = []
        written = sum(path.stat().st_size for name in left for path in _files(self.folder / name))
        if problem := outcome.problem(written, bytes_asked(words) if outcome.seconds > CPU_SECONDS else 0):
            bad.append(Failure(label, words, problem, {}, stdin or "", env or {}))
        elif companion := [name for name in left if name.startswith(".") or name not in named]:
            bad.append(Failure(label, words, f"left {companion} behind"))
        elif outcome.status == 2 and left:
            bad.append(Failure(label, words, f"failed and left {left}"))
        for name in left:
            (shutil.rmtree if (self.folder / name).is_dir() else Path.unlink)(self.folder / name)
        for name in self._kept.keys() - set(os.listdir(self.folder)):
            os.link(self._store / name, self.folder / name)
        return outcome.status, bad


def bytes_asked(words: list[str]) -> int:
    """Return the bytes of the tables that a command line names by recipes and reads whole."""
    total = 0
    for word in words if {"apply", "compare", "convert", "identify", "inspect", "verify"} & {*words} else ():
        with suppress(PecliError):
            without = re.sub(",positions=[^,]*", "", word)  # options of the command may replace them
            total += sum(array.bytes for array in Table.parse(without).arrays)
    return total


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
    import pkgutil

    import pecli

    for module in pkgutil.walk_packages(pecli.__path__, "pecli."):
        if not module.name.endswith(("__main__", ".torch", ".jax", ".keras", ".dask")):
            import_module(module.name)
    commands.built = cache(commands.built)  # Typer makes options by reflection: half of the time of a line
    _freeze()


def warm() -> None:
    """Do before many children are forked what each would do: make the options of all commands, draw pictures."""
    from pecli import CATALOGUE

    for name in commands.COMMANDS:
        commands.built(name)
    for name in CATALOGUE:
        commands.built("generate").get_command(None, name)
    for name in ("figure", "backends.backend_svg", "backends.backend_pdf", "backends.backend_agg"):
        with suppress(ImportError):
            import_module(f"matplotlib.{name}")
    _freeze()


def _freeze() -> None:
    gc.collect()
    gc.freeze()  # what is not looked at need not be copied


Env = Callable[[Random], Mapping[str, str]]


def lines(prefix: str, label: str, seed: int, count: int, env: Env) -> Iterator[tuple[list[str], int, list[Failure]]]:
    """Yield random command lines with the status and the failures of each, run in random environments."""
    with grounds() as ground:
        files = sound(ground.folder)
        ground.keep()
        for number in range(count):
            rng = Random(f"{prefix}{seed}-{number}")
            words = [word for word in command_line(rng, files) if "\0" not in word]
            yield words, *ground.tried(f"{label} {seed}-{number}", words, rng.choice(files), env(rng))


def command_lines(seed: int, count: int, counts: Counter[str], accepted: Counter[Key] | None = None) -> Failures:
    """Try command lines; `accepted` counts how often each option was in an accepted line."""
    accepted = Counter() if accepted is None else accepted
    accepted.update(dict.fromkeys(all_options(), 0))
    for words, status, bad in lines("", "words", seed, count, lambda _: {}):
        counts["command lines"] += 1
        if status in (0, 1):
            counts["accepted"] += 1
            accepted.update(options_in(words, accepted))
        yield from bad


def environment(rng: Random) -> dict[str, str]:
    """Return variables of the environment, sensible and hostile."""
    names = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TERM", "LANG", "LC_ALL", "HOME", "TMPDIR", "PAGER", "PWD")
    values = ("", "0", "1", "40", "1000000", "dumb", "xterm-256color", "C", "de_DE.UTF-8", "/nowhere")
    some = rng.sample(names, rng.randint(1, 4))
    return {name: rng.choice((*values, *(v for v in HOSTILE if "\0" not in v and v.isprintable()))) for name in some}


def environments(seed: int, count: int, counts: Counter[str]) -> Failures:
    """Try command lines in strange environments."""
    for _, _, bad in lines("env-", "env", seed, count, environment):
        counts["environments"] += 1
        yield from bad


def damaged(
    part: str, seed: int, count: int, counts: Counter[str], originals: Mapping[str, bytes], ground: Ground, ways: Any
) -> Failures:
    """Try damaged copies of some files, each in two of the ways in which a file of that name is read."""
    for number in range(count):
        rng = Random(f"{seed}-{number}")
        name = rng.choice(list(originals))
        bad = f"bad{Path(name).suffix}"
        data = damage(rng, originals[name])
        (ground.folder / bad).write_bytes(data)
        ground.keep()
        counts[f"damaged {part}"] += 1
        for words in rng.sample(ways(bad), 2):
            counts["readings"] += 1
            for failure in ground.tried(f"{part} {seed}-{number} {name}", words, bad)[1]:
                yield failure._replace(files={bad: data})
        ground.forget(bad)


def damaged_files(seed: int, count: int, counts: Counter[str]) -> Failures:
    """Try damaged files of every format."""
    with grounds() as ground:
        originals = {name: (ground.folder / name).read_bytes() for name in sound(ground.folder)}
        ground.keep()
        yield from damaged("files", seed, count, counts, originals, ground, readings)


def config_readings(name: str) -> list[list[str]]:
    """Return command lines that read a config."""
    return [
        ["inspect", name], ["inspect", name, "--json"], ["generate", name, "--len", "4"],
        ["compare", name, "--stacks"], ["compare", "cache.npy", name], ["generate", "rope", "--config", name],
        ["extrapolate", name, "--test-len", "64"], ["explain", name], ["inspect", name, "--layer-type", "all"],
        ["apply", name, "--random", "1x2x4x16", "-o", "out.npz"], ["verify", "cache.npy", name],
    ]  # fmt: skip


def changed_config(rng: Random, config: Any) -> Any:
    """Return a config with values of other types and sizes, keys missing, or parts put elsewhere."""
    hostile = (None, True, -1, 0, 1, 10**30, 1e308, float("nan"), "", "yarn", [], {}, [[]], {"a": {"b": []}}, "1e400")
    if isinstance(config, dict) and config:
        found = dict(config)
        for _ in range(rng.choice((1, 1, 2, 4))):
            key = rng.choice([*found, "rope_scaling", "rope_parameters", "rope_theta", "head_dim", "text_config"])
            match rng.randrange(4):
                case 0:
                    found.pop(key, None)
                case 1:
                    found[key] = rng.choice(hostile)
                case 2:
                    found[key] = changed_config(rng, found.get(key, {}))
                case 3:
                    found[key] = rng.choice([*found.values(), *hostile])
        return found
    if isinstance(config, list):
        return [*config[: rng.randint(0, len(config))], rng.choice(hostile)]
    return rng.choice(hostile)


def damaged_configs(seed: int, count: int, counts: Counter[str]) -> Failures:
    """Try configs of models with wrong values, and some with wrong bytes."""
    with grounds() as ground:
        sound(ground.folder)
        configs = [case["config"] for case in json.loads((GOLDEN / "configs.json").read_text()).values()]
        ground.keep()
        for number in range(count):
            rng = Random(f"config-{seed}-{number}")
            data = json.dumps(changed_config(rng, rng.choice(configs))).encode()
            data = damage(rng, data) if rng.random() < 0.2 else data
            (ground.folder / "bad.json").write_bytes(data)
            ground.keep()
            counts["damaged configs"] += 1
            for words in rng.sample(config_readings("bad.json"), 2):
                for failure in ground.tried(f"configs {seed}-{number}", words)[1]:
                    yield failure._replace(files={"bad.json": data})
            ground.forget("bad.json")


def damaged_plugins(seed: int, count: int, counts: Counter[str]) -> Failures:
    """Try plug-ins of which a word was replaced or left out; they cannot do more harm than a wrong formula."""
    ways = (["list"], ["generate", "own-waves:dim=4,len=3"], ["explain", "own-waves:dim=4"],
            ["inspect", "own-waves:dim=8"], ["generate", "own-waves", "--help"],
            ["compare", "own-waves:dim=4", "rope:dim=4"])  # fmt: skip
    with grounds() as ground:
        sound(ground.folder)
        ground.keep()
        for number in range(count):
            rng = Random(f"plugin-{seed}-{number}")
            words = re.split(r"(\W+)", OWN)
            for _ in range(rng.choice((1, 1, 2, 3))):
                at = rng.randrange(len(words))
                words[at] = rng.choice(("", "None", "0", "dim", "x", rng.choice(words)))
            data = "".join(words).encode()
            (ground.folder / "bad.py").write_bytes(data)
            ground.keep()
            counts["damaged plug-ins"] += 1
            for failure in ground.tried(f"plugins {seed}-{number}", ["--plugin", "bad.py", *rng.choice(ways)])[1]:
                yield failure._replace(files={"bad.py": data})
            ground.forget("bad.py")


def damaged_stores(seed: int, count: int, counts: Counter[str]) -> Failures:
    """Try zarr stores of which one object is damaged or missing."""
    if importlib.util.find_spec("zarr") is None:
        counts["damaged stores (no zarr)"] += 0
        return
    from pecli.formats import write_table

    with grounds() as ground:
        sound(ground.folder)
        write_table(Table.parse("rope:dim=8,len=40"), ground.folder.parent / "whole.zarr")
        whole = {path.relative_to(ground.folder.parent / "whole.zarr"): path.read_bytes()
                 for path in _files(ground.folder.parent / "whole.zarr")}  # fmt: skip
        ground.keep()
        for number in range(count):
            rng = Random(f"store-{seed}-{number}")
            name = rng.choice(list(whole))
            objects = dict(whole)
            objects[name] = damage(rng, whole[name])
            if rng.random() < 0.1:
                del objects[name]
            for place, data in objects.items():
                (ground.folder / "bad.zarr" / place).parent.mkdir(parents=True, exist_ok=True)
                (ground.folder / "bad.zarr" / place).write_bytes(data)
            counts["damaged stores"] += 1
            for words in rng.sample(readings("bad.zarr"), 2):
                _, bad = ground.tried(f"stores {seed}-{number} {name}", words)
                yield from (f._replace(files={f"bad.zarr/{n}": data for n, data in objects.items()})
                            for f in bad if "bad.zarr" not in f.problem)  # fmt: skip
                for place, data in objects.items():
                    (ground.folder / "bad.zarr" / place).parent.mkdir(parents=True, exist_ok=True)
                    (ground.folder / "bad.zarr" / place).write_bytes(data)
            shutil.rmtree(ground.folder / "bad.zarr")


def lying_servers(seed: int, count: int, counts: Counter[str]) -> Failures:
    """Read from a server on this machine that lies about length, range and type, redirects, breaks off and stalls."""
    if importlib.util.find_spec("fsspec") is None or importlib.util.find_spec("aiohttp") is None:
        counts["lying servers (no fsspec and aiohttp)"] += 0
        return
    from pecli.formats.io import remote

    remote.PAUSE, remote.SILENCE = 0.01, 1.0  # the children, which are forked later, wait as short
    with grounds() as ground, lying_server(ground.folder) as address:
        names = sound(ground.folder)
        ground.keep()
        for number in range(count):
            rng = Random(f"url-{seed}-{number}")
            lie, name = rng.choice(LIES), rng.choice([n for n in names if not n.endswith(".py")])
            url = f"{address}/{lie}/{rng.randrange(1 << 16)}/{name}"
            words = rng.choice(readings(url))
            counts["lying servers"] += 1
            yield from ground.tried(f"servers {seed}-{number}", words)[1]


def killed_writers(seed: int, count: int, counts: Counter[str]) -> Failures:
    """Kill writers at random times."""
    with playground() as folder:
        yield from (Failure(*found) for found in kills(seed, count, counts, folder))


def faulty_disks(seed: int, count: int, counts: Counter[str]) -> Failures:
    """Let calls of writers fail."""
    with playground() as folder:
        yield from (Failure(*found) for found in faults(seed, count, counts, folder))


def constructed_bombs(seed: int, count: int, counts: Counter[str]) -> Failures:
    """Read each bomb in some of the ways in which it can be read."""
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


def false_answers(seed: int, count: int, counts: Counter[str]) -> Failures:
    """Ask what everyday tables are, and how they differ from recipes; what is false in an answer fails."""
    with grounds() as ground:
        for number in range(count):
            case = answers.case_of(seed, number)
            name, data = case.file()
            (ground.folder / name).write_bytes(data)
            counts["everyday tables"] += 1
            for words, problem in answers.false_answers(case, ground.worker.run):
                yield Failure(f"answers {seed}-{number}", words, problem, {name: data})


def again(found: Failure) -> Failure | None:
    """Run a failed case once more, alone; return how it fails, or None."""
    with grounds() as ground:
        sound(ground.folder)
        for name, data in found.files.items():
            (ground.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (ground.folder / name).write_bytes(data)
        ground.keep()
        _, bad = ground.tried(found.label, list(found.words), found.stdin or None, found.env)
        return next((failure._replace(files=found.files) for failure in bad if failure.kind == found.kind), None)


def minimised(found: Failure, tries: int = 60) -> Failure:
    """Return a case with fewer words and fewer bytes that fails in the same way."""
    best, left = found, tries
    if again(best) is None:  # it needs a server, or what ran before it
        return found
    for at in reversed(range(len(best.words))):
        some = best._replace(words=best.words[:at] + best.words[at + 1 :])
        best, left = (some if again(some) else best), left - 1
    for name in best.files:
        size = len(best.files[name]) // 2
        while size and left > 0:
            for start in range(0, len(best.files[name]), size):
                data = best.files[name]
                some = best._replace(files={**best.files, name: data[:start] + data[start + size :]})
                left -= 1
                if left > 0 and again(some):
                    best = some
                    break
            else:
                size //= 2
    return best
