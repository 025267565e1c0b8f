"""A recipe that stands in a file opens no other file, unless the user says that it may."""

import os
import threading
import time
from itertools import cycle

import h5py
import numpy as np
import pytest

from pecli import CATALOGUE, open_table
from pecli.cli.run import run
from pecli.engine.threads import ordered_map
from pecli.errors import BadRecipe
from pecli.formats import number_files
from pecli.numbers import reader
from pecli.settings import Settings, settings, using

ARRAYS = {"absolute": ("pe",), "rotary": ("cos", "sin"), "bias": ("bias",), "relative": ("vector",)}


@pytest.fixture
def opened(monkeypatch):
    """The paths of numbers that are opened."""
    paths, real = [], number_files.open_numbers

    def record(path):
        paths.append(path)
        return real(path)

    monkeypatch.setattr(number_files, "open_numbers", record)
    return paths


def foreign(path, recipe, names):
    with h5py.File(path, "w") as file:
        for name in names:
            file[name] = np.zeros((4, 4), np.float32)
        file.attrs["pecli_recipe"] = recipe


def commands(path):
    return [
        ["inspect", path, "--verify"], ["inspect", path], ["inspect", path, "--identify"],
        ["inspect", path, "--properties"], ["compare", path, path], ["compare", path, "none:dim=4,len=4"],
        ["convert", path, "-o", "out.npz"], ["convert", path, "--dtype", "float16", "-o", "out.npz"],
        ["convert", path, "--layout", "half", "-o", "out.npz"],
        ["extrapolate", path, "--train-len", "4", "--test-len", "8"],
        ["extrapolate", path, "--test-len", "8", "--extend", "linear", "-o", "out.npz"],
        ["apply", path, "--random", "1x2x4x4", "-o", "out.npz"], ["apply", path, "q.npy", "-o", "out.npz"],
    ]  # fmt: skip


def cases():
    """Every parameter that may name a file, with the ways to name one in turn."""
    files = "q.npy", "q.npy::array"
    ways = {True: cycle((*files, '"cpe:content=q.npy"')), False: cycle(files)}
    for name, encoding in CATALOGUE.items():
        for parameter in encoding.parameters.values():
            if parameter.kind == "text" or parameter.param.file:
                yield name, parameter.option, next(ways[parameter.kind == "text"])
    yield "sinusoidal", "positions", "@q.npy"


@pytest.mark.parametrize(("number", "name", "key", "value"), [(k, *case) for k, case in enumerate(cases())])
@pytest.mark.sample(2)
def test_no_command_opens_what_a_files_recipe_names(number, name, key, value, tmp_path, monkeypatch, opened, capfd):
    """Every case with a third of the commands."""
    monkeypatch.chdir(tmp_path)
    np.save("q.npy", np.zeros((1, 2, 4, 4), np.float32))
    encoding = CATALOGUE[name]
    keys = {"dim": "4", "heads": "2", "len": "4"} | {key: value}
    own = {parameter.option for parameter in encoding.parameters.values()} | {"len", "positions"}
    recipe = f"{name}:" + ",".join(f"{k}={v}" for k, v in keys.items() if k in own)
    foreign("t.h5", recipe, ARRAYS.get(encoding.family.word, ("pe",)))
    for command in commands("t.h5")[number % 3 :: 3]:
        assert run(command) in (0, 1, 2), (command, capfd.readouterr().err)
    assert opened == []


def test_the_refusal_names_the_way_out_and_trust_opens_it(tmp_path, monkeypatch, opened, capfd):
    monkeypatch.chdir(tmp_path)
    np.save("w.npy", np.arange(12, dtype=np.float32).reshape(3, 4))
    assert run(["generate", "cpe:content=w.npy", "-o", "t.h5"]) == 0
    assert opened
    opened.clear()
    assert run(["inspect", "t.h5", "--verify"]) == 1
    assert "--trust-recipe" in "".join(capfd.readouterr())
    assert opened == []
    with open_table("t.h5") as table, pytest.raises(BadRecipe, match=r"names the file 'w\.npy', which a recipe in a"):
        reader.open_numbers(type(table.recipe)("w.npy"))
    assert run(["inspect", "t.h5", "--verify", "--trust-recipe"]) == 0
    assert opened


def test_what_the_user_names_beside_it_is_opened(tmp_path, monkeypatch, opened):
    monkeypatch.chdir(tmp_path)
    np.save("w.npy", np.arange(12, dtype=np.float32).reshape(3, 4))
    assert run(["generate", "cpe:content=w.npy", "-o", "t.h5"]) == 0
    assert run(["compare", "t.h5", "cpe:content=w.npy"]) == 0
    assert run(["inspect", "t.h5", "--verify", "--recipe", "cpe:content=w.npy"]) == 0


def test_content_comes_through_a_pipe(pecli, tmp_path):
    np.save(tmp_path / "c.npy", np.random.default_rng(1).normal(size=(5, 8)))
    read, write = os.pipe()
    os.write(write, (tmp_path / "c.npy").read_bytes())
    os.close(write)
    done = pecli("generate", "cpe", "--content", f"/dev/fd/{read}", "-o", "a.npy")  # as a shell names <(cat c.npy)
    os.close(read)
    plain = pecli("generate", "cpe", "--content", "c.npy", "-o", "b.npy")
    assert (done.returncode, plain.returncode) == (0, 0), (done.stderr, plain.stderr)
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()


def test_trust_ends_with_its_run(capfd):
    """A program that runs several commands trusts in the one that was told to."""
    assert run(["inspect", "rope:dim=4", "--trust-recipe", "--limit", "1G", "--precision", "2"]) == 0
    assert "-1.00  1.00" in capfd.readouterr().out
    assert settings() == Settings()


def test_threads_have_the_settings_of_the_one_that_starts_them():
    """Two threads that run commands share nothing; the threads that work for a command have what it was told."""
    seen = {}

    def work(limit):
        with using(Settings(limit=limit)):
            seen[limit] = list(ordered_map(lambda size: (time.sleep(0.01), reader.limit(size))[1], [1, 2, 30], 2))

    threads = [threading.Thread(target=work, args=(limit,)) for limit in (10, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {10: [10, 10, 30], 20: [20, 20, 30]}
    assert reader.limit(1) == 1
