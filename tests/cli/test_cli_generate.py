"""``pecli generate`` as its users run it: in a child process, in an empty folder."""

import json
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest

from pecli import Table, open_table
from pecli.cli.run import run
from tests.conftest import clean_environment


def test_the_main_job(pecli, tmp_path):
    done = pecli("generate", "sinusoidal", "--len", 2048, "--dim", 512, "-o", "pe.h5")
    assert done.returncode == 0
    assert done.stdout == ""
    assert done.stderr.startswith("wrote pe.h5: sinusoidal:dim=512, pe 2048 x 512 float32, 4.0 MiB, ")
    with h5py.File(tmp_path / "pe.h5") as file:
        assert file["pe"].shape == (2048, 512)
        assert file["pe"].dtype == np.float32
        np.testing.assert_array_equal(file["position"][:], np.arange(2048))
        np.testing.assert_array_equal(file["pe"][0, :4], [0, 1, 0, 1])
        assert file.attrs["pecli_recipe"].startswith("sinusoidal:dim=512,")


def test_the_same_command_gives_the_same_bytes(pecli, tmp_path):
    for suffix in ("npy", "npz", "h5", "parquet", "csv", "json"):
        arguments = ("generate", "rope", "--len", 40, "--dim", 8, "-q")
        for name in ("a", "b"):
            assert pecli(*arguments, "-o", f"{name}.{suffix}").returncode == 0
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes(), suffix


def test_shards_joined_are_the_whole(pecli, tmp_path):
    whole = Table.parse("sinusoidal:dim=8,len=101").read("pe")
    for k in range(3):
        pecli("generate", "sinusoidal", "--dim", 8, "--len", 101, "--shard", f"{k}/3", "-o", f"{k}.npy")
    joined = np.concatenate([np.load(tmp_path / f"{k}.npy") for k in range(3)])
    assert joined.tobytes() == whole.tobytes()


def test_the_step_and_the_start_are_decimals(pecli, tmp_path):
    pecli("generate", "sinusoidal", "--dim", 4, "--start", "-0.5", "--step", "0.1", "--len", 6, "-o", "a.npz")
    found = open_table(tmp_path / "a.npz")
    np.testing.assert_allclose(found.read("pe")[:, 0], np.sin([-0.5, -0.4, -0.3, -0.2, -0.1, 0]), atol=1e-7)
    assert "start=-0.5" in found.recipe


def test_positions_come_from_standard_input(pecli):
    done = pecli("generate", "sinusoidal", "--dim", 2, "--positions", "@-", "--format", "csv", stdin="3\n0\n")
    assert done.returncode == 0
    assert [line.split(",")[0] for line in done.stdout.split()] == ["position", "3", "0"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["-o", "a.csv", "--compress"], "--compress has no effect on csv"),
        (["-o", "a.npy", "--wide"], "--wide has no effect on npy"),
        (["-o", "there.npy", "--no-clobber"], "there.npy exists and --no-clobber is set"),
        (["-o", "a.npy", "--dtype", "bfloat16"], "-o a.npy is npy, which has no bfloat16, the type of 'pe': use hdf5"),
        (["-o", "a", "--format", "npy", "--dtype", "bfloat16"], "--format npy has no bfloat16"),
    ],
)
@pytest.mark.parametrize("dry", [["--dry-run"], []])
def test_a_dry_run_refuses_what_writing_does(more, said, dry, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.npy").write_bytes(b"old")
    assert run(["generate", "sinusoidal", "--len", "4", "--dim", "4", *more, *dry]) == 2
    assert os.listdir(tmp_path) == ["there.npy"]
    assert said in capfd.readouterr().err


def test_a_dry_run_says_what_it_would_do_and_writes_nothing(pecli, tmp_path):
    done = pecli("generate", "sinusoidal", "--len", 4, "--dim", 4, "-o", "a.npy", "--dry-run")
    assert done.returncode == 0
    assert done.stderr == "would write a.npy: sinusoidal:dim=4, pe 4 x 4 float32, 64 B\n"
    assert os.listdir(tmp_path) == []


def test_no_clobber_leaves_the_old_file(pecli, tmp_path):
    (tmp_path / "a.npy").write_bytes(b"old")
    done = pecli("generate", "sinusoidal", "--len", 4, "--dim", 4, "-o", "a.npy", "--no-clobber")
    assert done.returncode == 2
    assert "--no-clobber" in done.stderr
    assert (tmp_path / "a.npy").read_bytes() == b"old"
    assert pecli("generate", "sinusoidal", "--len", 4, "--dim", 4, "-o", "a.npy").returncode == 0
    assert np.load(tmp_path / "a.npy").shape == (4, 4)


def test_json_says_what_was_written(pecli):
    done = pecli("generate", "rope", "--len", 4, "--dim", 4, "-o", "a.h5", "--json")
    found = json.loads(done.stdout)
    assert set(found) == {"path", "format", "recipe", "arrays", "bytes", "seconds"}
    assert found["path"] == "a.h5"
    assert [a["name"] for a in found["arrays"]] == ["cos", "sin"]


def test_quiet_says_nothing(pecli):
    done = pecli("generate", "sinusoidal", "--len", 4, "--dim", 4, "-o", "a.npy", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_npy_streams_to_a_pipe(pecli):
    import io

    done = pecli("generate", "rope", "--len", 6, "--dim", 4, "-o", "-", text=False)
    assert done.returncode == 0
    cos, sin = np.load(io.BytesIO(done.stdout))
    np.testing.assert_allclose(cos**2 + sin**2, 1, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["sinusoidal", "--dim", "7", "--len", "4"], "--dim 7 must be even: use 6 or 8"),
        (["sinusoidal", "--dim", "0", "--len", "4"], "--dim 0 must be from 1 to"),
        (["sinusoidal", "--dim", "4", "--len", "0"], "--len 0 must be at least 1"),
        (["sinusoidal", "--dim", "4", "--len", "-3"], "--len -3 must be at least 1"),
        (["sinusoidal", "--dim", "4", "--len", "2", "--start", "9007199254740992"], "below 2^53"),
        (["sinusoidal", "--dim", "4", "--len", "2", "--base", "0"], "--base 0"),
        (["sinusoidal", "--dim", "4", "--len", "2", "--base", "x"], "--base x must be a finite number"),
        (["sinusoidal", "--dim", "4"], "needs a length: give --len N, or --positions"),
        (["sinusoidal", "--len", "4"], "sinusoidal needs --dim"),
        (["sinusodal", "--dim", "4", "--len", "4"], "did you mean 'sinusoidal'?"),
        (["sinusoidal", "--dim", "4", "--len", "2", "--bas", "3"], "--bas"),
        (["sinusoidal", "--dim", "4", "--len", "2", "--format", "npyy"], "did you mean 'npy'?"),
        (["sinusoidal", "--dim", "4", "--len", "2", "-o", "a.npx"], "npx"),
        (["sinusoidal", "--dim", "4", "--len", "2", "-o", "nowhere/a.npy"], "nowhere"),
        (["sinusoidal", "--dim", "4", "--len", "2", "-o", "."], "is a folder: name a file in it"),
        (["sinusoidal", "--dim", "4", "--len", "2", "--dtype", "float8"], "unknown dtype 'float8'"),
        (["sinusoidal", "--dim", "4", "--len", "2", "--dtype", "bfloat16", "-o", "a.npy"], "bfloat16"),
        (["sinusoidal", "--dim", "512", "--len", "999999999999", "-o", "a.npy"], "free"),
        (["sinusoidal", "--dim", "4", "--len", "2", "--shard", "2/2"], "--shard 2/2"),
        (
            ["sinusoidal", "--dim", "4", "--len", "2", "--positions", "1"],
            "--len 2 cannot go with --positions: give one of them",
        ),
        (["sinusoidal", "--dim", "4", "--positions", "1,x"], "--positions x must be a finite number"),
        (["sinusoidal", "--dim", "4", "--positions", "@nofile"], "nofile"),
        (["integer", "--dim", "1", "--len", "4", "--start", "2"], "needs --max-len"),
        (["learned", "--dim", "4", "--len", "4", "--shard", "0/2"], "needs --max-len"),
        (["learned", "--dim", "4", "--max-len", "4", "--len", "5"], "has positions 0 to 3"),
        (["binary", "--dim", "3", "--len", "9"], "position 8"),
        (["binary", "--dim", "3", "--positions", "0.5"], "whole"),
        (["alibi", "--heads", "0", "--len", "4"], "--heads 0"),
        (["alibi", "--heads", "2", "--len", "4", "--form", "flat"], "flat"),
        (["rope", "--dim", "4", "--len", "4", "--layout", "halff"], "did you mean 'half'?"),
        (["rope", "--dim", "4", "--len", "4", "--layout", "complex", "--dtype", "float16"], "has no complex type"),
        (["sinusoidal", "--dim", "4", "--len", "4", "-o", "-", "--json"], "both use standard output"),
        (["sinusoidal", "--dim", "4", "--len", "4", "--compress"], "has no effect without -o"),
        (["sinusoidal", "--dim", "4", "--len", "4", "--rows", "0"], "--rows 0 must be from 1"),
    ],
    ids=lambda value: " ".join(value)[:50] if isinstance(value, list) else None,
)
def test_what_is_wrong_is_said_in_one_sentence_and_no_file_appears(refuses, arguments, says):
    refuses("generate", *arguments, says=says)


def test_binary_to_a_terminal_is_refused():
    pty = pytest.importorskip("pty")
    parent, child = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "pecli", "generate", "sinusoidal", "--dim", "4", "--len", "2", "-o", "-"],
        stdout=child, stderr=subprocess.PIPE, env=clean_environment(), text=True, timeout=60, check=False,
    )  # fmt: skip
    os.close(child)
    os.close(parent)
    assert done.returncode == 2
    assert "would print binary npy to a terminal" in done.stderr


def test_a_closed_pipe_ends_the_command_as_it_ends_cat(tmp_path):
    command = f'"{sys.executable}" -m pecli generate sinusoidal --dim 512 --len 100000 -o -'
    shell = f'{command} | head -c 100 >/dev/null; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(
        ["bash", "-c", shell], capture_output=True, text=True, env=clean_environment(), timeout=60, check=True
    )
    assert done.stdout.strip() == "141", done.stderr
    assert done.stderr == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["list"], ["generate", "sinusoidal", "--dim", "4", "--len", "2", "-o", "-"]])
def test_a_full_disk_behind_standard_output_is_trouble(arguments):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "pecli", *arguments], stdout=full, stderr=subprocess.PIPE, text=True,
            env=clean_environment(), timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert "space" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_is_plain_in_a_pipe_and_obeys_the_variables(pecli):
    for env in ({}, {"NO_COLOR": "1"}, {"TERM": "dumb"}, {"GITHUB_ACTIONS": "1"}, {"FORCE_COLOR": "0"}):
        assert "\x1b" not in pecli("generate", "rope", "--help", env=env).stdout
    assert "\x1b" in pecli("generate", "rope", "--help", env={"FORCE_COLOR": "1", "TERM": "xterm"}).stdout
    assert "\x1b" not in pecli("generate", "rope", "--dim", 4, "--len", 2, env={"NO_COLOR": "1"}).stdout


def test_what_is_printed_fits_eighty_columns(pecli):
    for arguments in (["sinusoidal", "--dim", 64], ["rope", "--dim", 64], ["alibi", "--heads", 4]):
        shown = pecli("generate", *arguments, "--len", 100).stdout
        assert max(map(len, shown.splitlines())) <= 80, shown


def test_no_option_help_holds_square_brackets_that_rich_would_eat():
    from pecli import CATALOGUE

    for encoding in CATALOGUE.values():
        assert not any("[" in p.param.help for p in encoding.options), encoding.name


def test_the_brackets_of_a_formula_survive_rich(pecli):
    shown = pecli(
        "generate", "fourier", "--help-all", env={"FORCE_COLOR": "1", "TERM": "dumb", "COLUMNS": "100"}
    ).stdout
    assert "[" in shown.replace("\x1b[", "")


def test_no_encoding_has_a_parameter_that_a_table_has():
    from pecli import CATALOGUE
    from pecli.cli.generate import TableOptions
    from pecli.cli.options import parameters_of

    for encoding in CATALOGUE.values():
        own = {parameter.name for parameter in encoding.options}
        shared = {parameter.name for parameter in parameters_of(TableOptions, encoding.family)}
        assert not own & shared, encoding.name


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_float16_hdf5_that_netcdf4_cannot_read_is_said(pecli, dtype):
    done = pecli("generate", "sinusoidal", "--dim", "4", "--len", "2", "--dtype", dtype, "-o", "a.h5")
    assert ("netCDF4 crashes on float16" in done.stderr) == (dtype == "float16")
