"""What a careless or hostile user does to the command, and what it answers."""

import json
import subprocess
import sys

import h5py
import numpy as np
import pytest

from pecli import Table, open_table
from pecli.errors import PecliError
from tests.conftest import clean_environment
from tests.fuzz.files import safetensors


def shell(command, tmp_path):
    text = command.replace("pecli", f'"{sys.executable}" -m pecli')
    return subprocess.run(
        ["bash", "-c", text],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=clean_environment(),
        timeout=60,
        check=False,
    )


def test_a_converted_type_claims_no_recipe_that_it_does_not_fit(pecli, tmp_path):
    pecli("generate", "sinusoidal", "--dim", 64, "--len", 2000, "-o", "a.h5")
    pecli("convert", "a.h5", "--dtype", "float16", "-o", "b.h5")
    stored = open_table(tmp_path / "b.h5")
    assert stored.recipe is None
    assert stored.metadata["converted_from"].startswith("sinusoidal:dim=64,")


def test_a_recipe_is_converted_by_computing_it_anew(pecli, tmp_path):
    recipe = "sinusoidal:dim=64,len=2000"
    assert pecli("convert", f"{recipe},dtype=float32", "--dtype", "float16", "-o", "b.h5").returncode == 0
    want = Table.parse(recipe, dtype="float16")
    stored = open_table(tmp_path / "b.h5")
    assert stored.recipe == want.recipe
    assert stored.read("pe").tobytes() == want.read("pe").tobytes()


def test_a_layout_that_contradicts_the_files_recipe_is_refused(pecli, refuses):
    pecli("generate", "rope", "--dim", 8, "--len", 6, "--layout", "half", "-o", "rh.npz")
    refuses("convert", "rh.npz", "--from-layout", "interleaved", "--layout", "split", "-o", "x.h5", says="contradicts")


@pytest.mark.parametrize(("start", "stop"), [(0, 99), (-1, 2), (3, 2)])
def test_rows_that_a_table_does_not_have_are_refused(start, stop):
    with pytest.raises(PecliError, match=r"must lie within 0\.\.4"):
        Table.parse("rope:dim=4,len=4").read_rows(["cos"], start, stop)


def test_names_that_a_table_does_not_have_are_refused():
    table = Table.parse("rope:dim=4,len=4")
    for call in (lambda: table.read("nope"), lambda: list(table.blocks(["x"])), lambda: table.read_rows(["x"], 0, 1)):
        with pytest.raises(PecliError, match="unknown array"):
            call()


def test_positions_may_be_a_list_of_numbers():
    table = Table.parse("rope:dim=4", positions=[1, 2.5])
    assert table.read("cos").tobytes() == Table.parse("rope:dim=4,positions=1+2.5").read("cos").tobytes()


def test_an_array_without_values_is_shown(pecli, tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((0, 4)))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["pe"] = np.zeros((0, 4))
    for name in ("a.npy", "a.h5"):
        done = pecli("inspect", name)
        assert done.returncode == 0, done.stderr


def test_a_closed_standard_output_is_trouble_only_where_it_is_needed(tmp_path):
    assert shell("pecli list >&-", tmp_path).returncode == 2
    assert shell("pecli generate sinusoidal --dim 4 --len 2 -o a.npy >&- 2>&- <&-", tmp_path).returncode == 0
    assert np.load(tmp_path / "a.npy").shape == (2, 4)


def test_a_closed_standard_input_is_an_empty_one(tmp_path):
    done = shell("pecli generate sinusoidal --dim 4 --positions @- --format csv <&-", tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("width", ["abc", "20", "1" * 30, "9" * 9, "1" * 5000])
def test_a_width_that_no_screen_has_is_no_width(width, pecli):
    assert pecli("generate", "rope", "--dim", 4, "--len", 2, env={"COLUMNS": width}).returncode == 0
    assert pecli("generate", "--help", env={"COLUMNS": width, "FORCE_COLOR": "1"}).returncode == 0


def test_a_name_that_the_encoding_lacks_is_written_with_escapes(pecli, tmp_path):
    np.save(tmp_path / "ü.npy", np.zeros((3, 4), np.float32))
    done = pecli("inspect", "ü.npy", env={"LC_ALL": "C", "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr


def test_an_empty_argument_is_an_error(refuses):
    refuses("generate", "sinusoidal", "--dim", 4, "--len", 2, "-o", "", says="empty")
    refuses("generate", "rope", "--config", "", "--len", 2, says="empty")


def test_options_that_would_be_ignored_are_refused(refuses):
    base = ("generate", "sinusoidal", "--dim", 4, "--len", 2)
    refuses(*base, "--threads", "2", says="--threads 2 has no effect without -o")
    refuses(*base, "-o", "a.npy", "--rows", 3, says="--rows 3 is for the screen")
    refuses(*base, "-o", "a.npy", "--threads", 0, says="--threads 0 must be from 1")


def test_the_arithmetic_stands_in_the_title(pecli):
    shown = pecli("generate", "rope", "--dim", 8, "--len", 2, "--arithmetic", "float32").stdout
    assert shown.startswith("rope:dim=8,arithmetic=float32 ")


def test_an_unknown_command_names_the_nearest(refuses):
    refuses("zzz", says="known: generate")
    refuses("nope", says="did you mean pecli generate nope, or pecli list nope?")
    refuses("generat", says="did you mean 'generate'?")


def test_a_newline_in_a_name_stays_in_its_line(pecli):
    done = pecli("generate", "sinusoidal", "--dim", 4, "--len", 2, "-o", "a\nb.npy")
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) == 1


def test_escapes_in_a_file_never_reach_the_terminal(pecli, tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["pe\x1b[31m"] = np.zeros((2, 2))
        file.attrs["formula"] = "[bold]\x1b]0;title\x07"
        file.attrs["pecli_recipe"] = "rope:dim=4,\x1b[31m\u202e"
    looks = (["inspect", "a.h5"], ["inspect", "a.h5", "--json"], ["inspect", "a.h5", "--get", "recipe"])
    for arguments in (*looks, ["compare", "a.h5", "a.h5"]):
        done = pecli(*arguments, env={"FORCE_COLOR": "0"})
        assert "\x1b" not in done.stdout + done.stderr
        assert "\x07" not in done.stdout + done.stderr


def test_metadata_of_safetensors_with_a_zero_is_written_with_an_escape(pecli, tmp_path):
    table = {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}
    data = safetensors({"__metadata__": {"formula": "a\0b"}, "p\0e": table}, bytes(16))
    (tmp_path / "a.safetensors").write_bytes(data)
    assert pecli("convert", "a.safetensors", "-o", "a.h5").returncode == 0
    with h5py.File(tmp_path / "a.h5") as file:
        assert file.attrs["formula"] == r"a\x00b"
        assert r"p\x00e" in file


def test_a_recipe_without_end_is_not_gone_through(refuses):
    refuses("inspect", "rope:dim=8,len=100000000000", says="--len")


def test_json_is_strict(pecli, tmp_path):
    np.save(tmp_path / "a.npy", np.array([[np.inf, np.nan, 1.0]]))
    found = json.loads(pecli("inspect", "a.npy", "--json").stdout, parse_constant=lambda word: pytest.fail(word))
    assert found["format"] == "npy"
