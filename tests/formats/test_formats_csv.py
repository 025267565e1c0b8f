"""What csv files are read as: every column is an array, a label of the rows, or words; nothing vanishes."""

import numpy as np
import pytest

from pecli import CATALOGUE, Table
from pecli.declare.tabular import Array
from pecli.errors import BadFile, BadParameter
from pecli.formats import open_table, write_table
from pecli.inspect.facts import example_table
from tests.support.format_tables import Given


def read(path, text):
    path.write_text(text)
    with open_table(path) as stored:
        return {a.name: (a.dtype, stored.read(a.name).tolist()) for a in stored.arrays}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pe0,pe1\n1,2\n3,x\n4,5\n", "holds 'x' in line 3, column 'pe1', where a number should stand"),
        ("pe0,pe1\n1,2\n3,", "has no value in line 3, column 'pe1'"),
        ("position,pe0\n0,1\nx,2\n", "holds 'x' in line 3, column 'position'"),
        ("a,b\n1,2\n3,-1e400\n", "holds '-1e400' in line 3, column 'b', which is beyond the largest float64"),
        ("a\r1\r2\r3", "carriage returns alone"),
        ("a,b\r1,2\r3,4\n", "carriage returns alone"),
        ("a," + "b" * 200_000 + "\n1,2\n", "names no columns"),
    ],
)
def test_a_cell_or_a_line_that_is_wrong_is_refused_by_its_place(text, words, tmp_path):
    (tmp_path / "x.csv").write_bytes(text.encode())
    with pytest.raises(BadFile, match=words), open_table(tmp_path / "x.csv") as stored:
        [stored.read(array.name) for array in stored.arrays]


@pytest.mark.parametrize("text", ["x", "", "1e399", "9" * 400])
def test_a_cell_far_from_either_end_is_refused_by_its_place(text, tmp_path):
    rows = [f"{value}" for value in np.sin(np.arange(1000)).astype(np.float32).tolist()]
    rows[500] = text
    (tmp_path / "x.csv").write_text("\n".join(["position,pe0", *(f"{i},{row}" for i, row in enumerate(rows))]))
    with pytest.raises(BadFile, match="in line 502, column 'pe0'"):
        open_table(tmp_path / "x.csv")


def test_an_infinity_is_none_beyond_the_largest_though_words_hold_its_name(tmp_path):
    assert read(tmp_path / "x.csv", "note,a\ninformal,inf\nx,2\n") == {"a": ("float64", [np.inf, 2.0])}


def test_a_csv_beyond_the_limit_is_refused_with_the_remedy(tmp_path, monkeypatch):
    (tmp_path / "x.csv").write_text("1,2\n3,4\n")
    monkeypatch.setattr("pecli.formats.csv.LARGEST_FILE", 4)
    with pytest.raises(BadFile, match="convert it to npy where it was made"):
        open_table(tmp_path / "x.csv")


def test_a_column_of_words_is_left_out_gaps_or_not(tmp_path):
    assert read(tmp_path / "x.csv", "note,a\none,1\ntwo,2\n") == {"a": ("int64", [1, 2])}
    assert read(tmp_path / "x.csv", "note,a\none,1\nnan,2\n") == {"a": ("int64", [1, 2])}
    assert read(tmp_path / "x.csv", "note,a\n,1\n,2\n") == {"a": ("int64", [1, 2])}


def test_integers_beyond_int64_are_read_as_float64(tmp_path):
    assert read(tmp_path / "x.csv", "a,b\n1,99999999999999999999999\n") == {
        "a": ("int64", [1]),
        "b": ("float64", [1e23]),
    }
    assert read(tmp_path / "x.csv", "b\n9223372036854775807\n-9223372036854775808\n") == {
        "b": ("int64", [2**63 - 1, -(2**63)]),
    }
    assert read(tmp_path / "x.csv", "b\n9223372036854775808\n0\n") == {"b": ("float64", [2.0**63, 0])}


def test_each_array_has_a_type_of_its_own(tmp_path):
    text = "position,vector0,vector1,index0,index1,m0\n0,0.1,0.25,4,5,0.1\n1,0.5,0.75,6,7,0.3333333333333333\n"
    assert read(tmp_path / "x.csv", text) == {
        "vector": ("float64", [[0.1, 0.25], [0.5, 0.75]]),
        "index": ("int64", [[4, 5], [6, 7]]),
        "m": ("float64", [[0.1], [0.3333333333333333]]),
    }


def test_short_decimals_in_complex_columns_are_complex(tmp_path):
    assert read(tmp_path / "x.csv", "cis0_re,cis0_im\n0.1,0.25\n") == {"cis": ("complex128", [[0.1 + 0.25j]])}
    assert read(tmp_path / "x.csv", "cis0_re,cis0_im\n1,2\n") == {"cis": ("complex128", [[1 + 2j]])}


def test_a_fraction_far_from_either_end_makes_the_column_one_of_fractions(tmp_path):
    rows = [str(row) for row in range(1000)]
    rows[500] = "0.5"
    found = read(tmp_path / "x.csv", "\n".join(["a", *rows]))
    assert found == {"a": ("float64", [float(row) for row in rows])}


def test_labels_number_the_rows_and_are_no_arrays(tmp_path):
    assert read(tmp_path / "x.csv", "row,bucket,vector0\n0,3,0.5\n1,4,1.5\n") == {"vector": ("float64", [[0.5], [1.5]])}
    assert read(tmp_path / "x.csv", "key,row\n0,3\n1,4\n") == {"key": ("int64", [0, 1]), "row": ("int64", [3, 4])}


def test_axes_without_names_keep_their_sizes(tmp_path):
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 8
    table = Given([Array("array", (2, 3, 4), "float32", ("axis0", "axis1", "axis2"), 2)], {"array": values}, None)
    write_table(table, tmp_path / "x.csv", threads=1)
    with open_table(tmp_path / "x.csv") as stored:
        assert [(a.name, a.shape) for a in stored.arrays] == [("array", (2, 3, 4))]
        np.testing.assert_array_equal(stored.read("array"), values)


@pytest.mark.parametrize("encoding", [pytest.param(e, id=name) for name, e in CATALOGUE.items()])
def test_every_example_comes_back_from_csv(encoding, tmp_path):
    """Names, shapes, values, integers as integers."""
    for recipe in (example_table(encoding, 9).recipe, *MORE.get(encoding.name, ())):
        table = Table.parse(recipe, dtype="float32")
        try:
            write_table(table, tmp_path / "x.csv", threads=1)
        except BadParameter as error:
            assert "holds arrays of equal length only" in str(error)  # noqa: PT017
            continue
        with open_table(tmp_path / "x.csv") as stored:
            assert all(array.dtype in ("float64", "complex128", "int64") for array in stored.arrays)
            assert stored.take_type("float32")
            assert [(a.name, a.shape, a.dtype) for a in stored.arrays] == [
                (a.name, a.shape, a.dtype) for a in table.arrays
            ]
            for array in table.arrays:
                np.testing.assert_array_equal(stored.read(array.name), table.read(array.name))
            found, numbers = stored.position(0, 2), table.position(0, 2)
            labelled = table.arrays[0].axes[table.arrays[0].lead - 1] in ("position", "query")
            if labelled:
                np.testing.assert_array_equal(found, numbers)


MORE = {
    "transformer-xl": ["transformer-xl:dim=8,len=6,clamp=3"],
    "shaw": ["shaw:dim=8,len=5,clip=4"],
}
