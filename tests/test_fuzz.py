"""A small part of the campaign that `make fuzz` runs, the same every time, and what the campaign has found."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from pecli.cli.run import run
from tests.conftest import ROOT, clean_environment
from tests.fuzz.files import bombs, npy


def test_a_small_campaign_finds_nothing():
    """In a process of its own, since it forks."""
    code = (
        "import sys, collections\nfrom tests.fuzz import campaign\ncampaign.load()\ncounts = collections.Counter()\n"
        "found = [*campaign.command_lines(7, 120, counts), *campaign.damaged_files(7, 60, counts)]\n"
        "print(*found, sep='\\n')\nsys.exit(len(found))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def bomb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bombs")
    bombs(folder)
    return folder


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rows.npy", "rows of no values"),  # walked row by row, without end
        ("rows-fortran.npy", "rows of no values"),
        ("rows.h5", "rows of no values"),
        ("rows.safetensors", "rows of no values"),
        ("fields.csv", "1,000,001 columns"),  # each column was looked at by itself
        ("deep.json", "is no JSON"),
        ("huge.npy", "truncated"),
    ],
)
def test_what_a_header_claims_bounds_no_work(name, said, bomb, capfd):
    assert run(["compare", str(bomb / name), str(bomb / name)]) == 2
    assert said in capfd.readouterr().err


@pytest.mark.parametrize("name", ["wide.csv", "blank.csv", "comments.csv", "chunk.h5", "line.csv", "digits.json"])
def test_a_small_file_takes_seconds(name, bomb):
    """Seen before: 30 s for 20,000 columns, 1 MiB read for each blank line, a chunk inflated for every block."""
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "pecli", "compare", bomb / name, bomb / name],
        cwd=ROOT, env=clean_environment(), capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime < 5


def test_a_limit_is_named_and_raised(tmp_path, monkeypatch, capfd):
    from pecli.formats.json import read
    from pecli.numbers import limits

    monkeypatch.setattr(read, "LARGEST", 1 << 20)
    monkeypatch.setattr(limits, "_least", 0)
    path = tmp_path / "a.json"
    path.write_text("[" + "0," * 600_000 + "0]")
    assert run(["inspect", str(path)]) == 2
    assert "at most 1 MiB are read (more with --limit SIZE)" in capfd.readouterr().err
    assert run(["inspect", str(path), "--limit", "2M"]) == 0
    monkeypatch.setattr(limits, "_least", 0)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0), (0,)])
@pytest.mark.parametrize("more", [[], ["--identify"], ["--plot", "-"], ["--properties"], ["--sha256"], ["--json"]])
def test_an_array_without_values_is_no_bug(shape, more, tmp_path, capfd):
    np.save(tmp_path / "a.npy", np.zeros(shape))
    assert run(["inspect", str(tmp_path / "a.npy"), *more]) in (0, 1, 2), capfd.readouterr().err
    capfd.readouterr()


def test_a_header_that_is_damaged_is_refused(tmp_path, capfd):
    """Every bit of an npy header, through the readers of sources and of numbers."""
    whole = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n", np.arange(12, dtype="<f4").tobytes())
    path = tmp_path / "a.npy"
    counts = Counter()
    for bit in range(0, 8 * (len(whole) - 48), 3):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        for words in (["inspect", path], ["generate", "cpe", "--content", path], ["generate", "sinusoidal:dim=4",
                      "--positions", f"@{path}"]):  # fmt: skip
            counts[run([str(word) for word in words])] += 1
    assert set(counts) <= {0, 2}, capfd.readouterr().err[-500:]
    capfd.readouterr()
    assert Path(path).exists()


@pytest.mark.parametrize(
    "words",
    [
        ["inspect", "gaussian:len=1200", "--identify"],  # rows of a sample were taken for the whole square
        ["inspect", "xpos:dim=32,scale-base=2,len=5000", "--identify"],  # scales that overflow
        ["inspect", "learned:dim=1,len=1", "--plot", "-"],  # one value has no row axis once squeezed
        ["inspect", "sinusoidal:dim=4,len=2", "--properties"],
        ["inspect", "rope:dim=16,scaling=yarn,factor=4,original-max=16,len=64", "--identify"],
        ["extrapolate", "t5", "--train-len", "8", "--test-len", "16"],
        ["extrapolate", "fire", "--train-len", "8", "--test-len", "16"],
        ["extrapolate", "nerf:bands=6,len=64", "--test-len", "128"],
        ["extrapolate", "bands:bands=6,len=64", "--test-len", "128"],
        ["generate", "retnet", "--dim", "128", "--heads", "128", "--len", "17", "--arithmetic", "bfloat16"],
        ["compare", "none:dim=3,len=17", "sincos2d:dim=16,grid=1x1"],
    ],
)
def test_what_was_a_bug_is_an_answer(words, capfd):
    assert run(words) in (0, 1, 2), capfd.readouterr().err
    capfd.readouterr()


@pytest.mark.parametrize(
    "name", ["signalling.npy", "evil.npz", "evil-dots.npz", "config-deep.json", "deep-object.json"]
)
def test_a_hostile_file_is_an_answer_too(name, bomb, tmp_path, capfd):
    """A NaN that signals warned; a member called /etc/evil.npy is a group without a name in HDF5."""
    path = str(bomb / name)
    for words in (
        ["inspect", path], ["inspect", path, "--identify"], ["convert", path, "-o", str(tmp_path / "out.h5")],
        ["compare", path, path], ["generate", path, "--len", "2"], ["convert", path, "-o", str(tmp_path / "out.csv")],
        ["convert", path, "--dtype", "float16", "-o", str(tmp_path / "out.npz")],
    ):  # fmt: skip
        assert run(words) in (0, 1, 2), (words, capfd.readouterr().err)
    capfd.readouterr()


def edges():
    from pecli import CATALOGUE
    from tests.fuzz.words import smallest

    for encoding in CATALOGUE.values():
        for rows in (1, 2, 3):
            yield smallest(encoding, rows, least=False)
        yield smallest(encoding, 3, least=True)


def test_every_command_over_every_encoding_of_few_rows(tmp_path, monkeypatch, capfd):
    """With 1, 2, 3 rows, and with the smallest values that the declarations allow: one column, one head."""
    monkeypatch.chdir(tmp_path)
    np.save("c.npy", np.arange(24.0).reshape(3, 8))
    bad = []
    for recipe in edges():
        for words in (
            ["generate", recipe, "-o", "a.h5"], ["inspect", recipe], ["inspect", recipe, "--properties"],
            ["inspect", recipe, "--plot", "-"], ["compare", recipe, recipe, "--values"],
            ["extrapolate", recipe, "--train-len", "2", "--test-len", "3"], ["inspect", "a.h5", "--verify"],
        ):  # fmt: skip
            if run(words) not in (0, 1, 2):
                bad.append((words, capfd.readouterr().err[-200:]))
            capfd.readouterr()
    assert not bad, bad


def test_a_few_killed_writers_and_faulty_disks_leave_the_old_file_or_the_new_one():
    code = (
        "import sys, collections\nfrom tests.fuzz import campaign\ncounts = collections.Counter()\n"
        "found = [*campaign.killed_writers(7, 4, counts), *campaign.faulty_disks(7, 6, counts)]\n"
        "print(*found, sep='\\n')\nsys.exit(len(found))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
