"""inspect: what a table holds, and whether it is what its recipe says."""

import gc
import json

import h5py
import numpy as np
import pytest

from pecli import Table, open_table, write_table
from pecli.cli.inspect import MEASURE, MEASURED, InspectOptions
from pecli.cli.options import declared
from pecli.inspect.statistics import inspect_table


def test_every_option_of_what_to_look_for_is_known_to_the_checks_of_conflicts():
    assert {name for name, (_, option) in declared(InspectOptions).items() if option.panel == MEASURE} == {*MEASURED}


def inspected(pecli, *arguments):
    result = pecli("inspect", *arguments, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout, parse_constant=lambda name: pytest.fail(name))


def test_arrays_recipe_metadata_and_statistics(pecli, tmp_path):
    table = Table.parse("rope:dim=8,len=30,start=5")
    write_table(table, tmp_path / "t.h5")
    found = inspected(pecli, "t.h5")
    assert found["source"] == "t.h5"
    assert found["format"] == "hdf5"
    assert found["arrays"] == [{"name": n, "shape": [30, 4], "dtype": "float32"} for n in ("cos", "sin")]
    assert found["recipe"] == table.recipe
    assert "cos(p w_i)" in found["metadata"]["formula"]
    assert found["positions"] == [5, 34]
    cos = table.read("cos").astype(np.float64)
    stats = found["statistics"]["cos"]
    assert stats["minimum"] == cos.min()
    assert stats["maximum"] == cos.max()
    assert stats["mean"] == pytest.approx(cos.mean(), rel=1e-12)
    assert stats["norm_max"] == pytest.approx(np.linalg.norm(cos, axis=1).max(), rel=1e-12)


def test_nan_and_infinity_are_counted_and_left_out_of_the_statistics(pecli, tmp_path):
    values = np.ones((5, 3), np.float32)
    values[3, 1], values[4, 2] = np.nan, -np.inf
    np.save(tmp_path / "t.npy", values)
    stats = inspected(pecli, "t.npy")["statistics"]["array"]
    assert (stats["nan"], stats["infinite"], stats["first_nan"]) == (1, 1, 3)
    assert (stats["minimum"], stats["maximum"], stats["mean"]) == (1.0, 1.0, 1.0)


def test_statistics_of_a_long_table_are_those_of_the_whole(pecli, tmp_path):
    values = np.random.default_rng(5).standard_normal((50_000, 40)).astype(np.float32)
    np.save(tmp_path / "t.npy", values)
    stats = inspected(pecli, "t.npy")["statistics"]["array"]
    assert (stats["minimum"], stats["maximum"]) == (values.min(), values.max())
    assert stats["mean"] == pytest.approx(values.astype(np.float64).mean(), abs=1e-12)


def test_slopes_are_listed_in_full_digits(pecli):
    found = inspected(pecli, "alibi:heads=12,len=4")
    assert found["slopes"][:3] == [0.5, 0.25, 0.125]
    assert found["slopes"][8] == 2**-0.5
    assert repr(2**-0.5) in pecli("inspect", "alibi:heads=12,len=4").stdout


def test_the_example_of_four_dimensions_prints_its_formula_lines(pecli):
    text = pecli("inspect", "sinusoidal:dim=4", "--steps").stdout
    for line in ("0.841", "-0.416", "0.9998", "sin(1)", "10000"):
        assert line in text


def test_a_recipe_without_a_length_gets_a_short_one(pecli):
    assert inspected(pecli, "sinusoidal:dim=8")["arrays"][0]["shape"] == [128, 8]
    assert inspected(pecli, "binary:dim=3")["arrays"][0]["shape"] == [8, 3]
    assert inspected(pecli, "sinusoidal:dim=8", "--len", "3", "--dtype", "float64")["arrays"][0]["dtype"] == "float64"


def test_standard_input_and_one_array_of_a_file(pecli, tmp_path):
    np.savez(tmp_path / "t.npz", x=np.ones((2, 2)), y=np.zeros((3, 3)))
    assert [a["name"] for a in inspected(pecli, "t.npz")["arrays"]] == ["x", "y"]
    assert inspected(pecli, "t.npz::y")["arrays"][0]["shape"] == [3, 3]
    data = (tmp_path / "t.npz").read_bytes()
    result = pecli("inspect", "-", "--json", text=False, stdin=data)
    assert json.loads(result.stdout)["arrays"][0]["name"] == "x"


def test_a_file_may_have_the_name_of_an_encoding(pecli, tmp_path):
    np.save(tmp_path / "rope.npy", np.ones((2, 2)))
    (tmp_path / "rope.npy").rename(tmp_path / "rope")
    assert inspected(pecli, "./rope")["format"] == "npy"


def test_names_in_a_file_never_reach_the_terminal_as_escapes(pecli, tmp_path):
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["a\x1b[31m[bold]b"] = np.ones((2, 2))
        file.attrs["note"] = "\x1b]0;owned\x07"
    for arguments in (("inspect", "t.h5"), ("compare", "t.h5", "t.h5"), ("inspect", "t.h5", "--identify")):
        result = pecli(*arguments)
        assert "\x1b" not in result.stdout + result.stderr
        assert "\x07" not in result.stdout + result.stderr


def test_a_file_is_verified_against_its_recipe(pecli, tmp_path):
    write_table(Table.parse("rope:dim=8,len=300,scaling=linear,factor=3"), tmp_path / "t.h5")
    result = pecli("inspect", "--verify", "t.h5")
    assert result.returncode == 0
    assert "verified: 2,400 values" in result.stdout
    gc.collect()  # a process that ends closes the file; this one goes on
    with h5py.File(tmp_path / "t.h5", "r+") as file:
        file["cos"][200, 3] += np.float32(1e-6)
    result = pecli("inspect", "--verify", "t.h5", "--json")
    assert result.returncode == 1
    found = json.loads(result.stdout)
    assert (found["verified"], found["wrong"], found["first"]["index"]) == (False, 1, [200, 3])


@pytest.mark.parametrize(
    "text",
    [
        "learned:dim=8,max-len=40,seed=7,len=40",
        "alibi:heads=4,len=9",
        "binary:dim=5,len=32",
        "sinusoidal:dim=8,positions=0.1+7",
    ],
)
def test_every_kind_of_table_verifies(pecli, tmp_path, text):
    for suffix in ("h5", "npz", "parquet"):
        write_table(Table.parse(text), tmp_path / f"t.{suffix}")
        assert pecli("inspect", "--verify", f"t.{suffix}").returncode == 0, suffix


def test_more_positions_than_a_recipe_lists_are_verified_from_the_file(pecli, tmp_path):
    places = tmp_path / "p.npy"
    np.save(places, np.random.default_rng(1).integers(0, 10**6, 3000))
    write_table(Table.parse("sinusoidal:dim=4", positions=f"@{places}"), tmp_path / "t.h5")
    assert pecli("inspect", "--verify", "t.h5").returncode == 0


def test_the_recipe_of_an_npy_file_is_given_beside_it(pecli, refuses, tmp_path):
    write_table(Table.parse("sinusoidal:dim=8,len=50,dtype=float64"), tmp_path / "t.npy")
    refuses("inspect", "--verify", "t.npy", says=["holds no recipe", "pecli verify t.npy RECIPE"])
    assert pecli("inspect", "--verify", "t.npy", "--recipe", "sinusoidal:dim=8").returncode == 0
    wrong = pecli("inspect", "--verify", "t.npy", "--recipe", "sinusoidal:dim=8,base=500")
    assert wrong.returncode == 1
    assert "base 10000 where 500 was expected" in wrong.stdout


@pytest.fixture
def parts(tmp_path):
    """A folder with the four parts of a table, under names of the user's."""
    folder = tmp_path / "parts"
    folder.mkdir()
    for k, name in enumerate(("a", "b2", "zz", "10")):
        write_table(Table.parse("rope:dim=8,len=101", shard=f"{k}/4"), folder / f"{name}.h5")
    return folder


def test_a_folder_of_parts_is_verified_as_a_whole(pecli, parts):
    result = pecli("inspect", "--verify", parts)
    assert result.returncode == 0
    assert "is complete and correct, 4 of 4 parts" in result.stdout


def test_gaps_overlaps_and_strangers_are_named(pecli, parts):
    (parts / "zz.h5").unlink()
    (parts / "copy.h5").write_bytes((parts / "a.h5").read_bytes())
    write_table(Table.parse("rope:dim=8,len=101,base=7", shard="2/4"), parts / "other.h5")
    write_table(Table.parse("rope:dim=8,len=101", shard="1/5"), parts / "five.h5")
    np.save(parts / "noise.npy", np.ones((3, 3)))
    (parts / "broken.h5").write_bytes(b"no table")
    (parts / "README.txt").write_text("not a table, not looked at")
    result = pecli("inspect", "--verify", parts, "--json")
    found = json.loads(result.stdout)
    assert result.returncode == 1
    text = "\n".join(found["findings"])
    assert "missing: part 2 of 4" in text
    assert "are both part 0/4" in text
    for name in ("other.h5", "five.h5", "noise.npy", "broken.h5"):
        assert any(name in line and "does not belong" in line for line in found["findings"]), name
    assert "README" not in text


def test_a_wrong_value_in_a_part_is_found(pecli, parts):
    with h5py.File(parts / "b2.h5", "r+") as file:
        file["sin"][3, 1] = 0.5
    result = pecli("inspect", "--verify", parts)
    assert result.returncode == 1
    assert "b2.h5 is not verified: 1 values differ" in result.stdout


def test_parts_without_recipes_are_taken_in_the_order_of_their_numbers(pecli, tmp_path):
    for k in range(12):
        write_table(Table.parse("sinusoidal:dim=8,len=100", shard=f"{k}/12"), tmp_path / f"part-{k}.npy")
    assert pecli("inspect", "--verify", tmp_path, "--recipe", "sinusoidal:dim=8,len=100").returncode == 0
    (tmp_path / "part-5.npy").unlink()
    assert pecli("inspect", "--verify", tmp_path, "--recipe", "sinusoidal:dim=8,len=100").returncode == 1


def test_what_cannot_be_looked_at_is_refused(refuses, tmp_path):
    np.save(tmp_path / "t.npy", np.ones((2, 2)))
    np.save(tmp_path / "o.npy", np.array([object()]), allow_pickle=True)
    (tmp_path / "empty").mkdir()
    refuses("inspect", "missing.npy", says=["missing.npy", "does not exist"])
    refuses("inspect", "o.npy", says=["never unpickled"])
    refuses("inspect", "empty", says=["folder"])
    refuses("inspect", "--verify", "empty", says=["folder", "without a table"])
    refuses("inspect", "t.npy", "--steps", says=["recipe"])
    refuses("inspect", "t.npy", "--step", "3", says=["step", "for recipes"])
    refuses("inspect", "t.npy", "--recipe", "rope:dim=8", says=["inspect has no option --recipe"])
    refuses("inspect", "rope:dim=8", "--verify", says=["for files"])
    refuses("inspect", "rop:dim=8", says=["unknown encoding 'rop': did you mean 'rope'?"])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [1.5e308, -1.7e308, 1e-200, 3e-310, 1.0])
def test_a_mean_and_norms_at_the_ends_of_float64(tmp_path, value):
    values = np.full((3000, 300), value)
    values[5] = 0.0
    values[7, 0] = np.nan
    np.save(tmp_path / "t.npy", values)
    with open_table(tmp_path / "t.npy") as table:
        (found,) = inspect_table("t", table).statistics
    share = (2999 * 300 - 1) / (3000 * 300 - 1)
    assert found.mean == pytest.approx(value * share, rel=1e-12)
    assert found.norm_min == 0
    assert found.norm_max == pytest.approx(abs(value) * 300**0.5, rel=1e-12)


def test_listed_positions_are_not_said_to_go_from_one_to_another(pecli, tmp_path):
    pecli("generate", "rope:dim=8", "--positions", "0,5,3", "-o", "t.h5")
    for options in ([], ["--all"]):
        assert "a list, the first 0, the last 3" in pecli("inspect", "t.h5", *options).stdout


def test_what_most_files_of_a_folder_are_parts_of_is_the_whole(pecli, tmp_path):
    (tmp_path / "parts").mkdir()
    for name, keys in (
        ("a", "len=24,shard=0/4"),
        ("b", "len=12,shard=1/3"),
        *((f"c{k}", f"len=24,shard={k}/3") for k in range(3)),
    ):
        write_table(Table.parse(f"sinusoidal:dim=8,{keys}"), tmp_path / "parts" / f"{name}.npz")
    said = pecli("inspect", "parts", "--verify").stdout
    assert "parts/a.npz does not belong: it is part 0/4 where 3 are of 3" in said
    assert "parts/b.npz does not belong: it is a part of sinusoidal" in said
    assert not any(f"c{k}.npz does not belong" in said for k in range(3))
    assert "missing" not in said
