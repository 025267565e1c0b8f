"""Decimals in csv and JSON, and random tables through every format."""

import json
import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from pecli.errors import BadFile, BadParameter
from pecli.formats import FORMATS, open_table, write_table
from pecli.formats.decimals import narrowed, shortest, spelled
from pecli.inspect.facts import example_table
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.tabular import Array
from pecli.tables.table import Table
from tests.support.format_tables import WITHOUT_POSITIONS, Given, absolute, rotations, slopes

quick = settings(max_examples=60, deadline=None, derandomize=True)
FLOATS = {"float16": (np.float16, 16), "float32": (np.float32, 32), "float64": (np.float64, 64)}


@pytest.mark.parametrize("dtype", FLOATS)
@quick
@given(data=st.data())
def test_a_shortest_decimal_reads_back_to_the_same_value(dtype, data):
    kind, width = FLOATS[dtype]
    value = data.draw(st.floats(width=width))
    (text,) = shortest(np.array([value], kind))
    (found,) = narrowed(np.array([float(text)]), dtype)
    assert found.tobytes() == kind(value).tobytes() or math.isnan(value)


@quick
@given(st.integers(1, 0x7F7FFFFE))
def test_a_shortest_decimal_whose_float64_is_the_middle_of_two_floats_is_rounded_once(bits):
    low, high = (struct.unpack("<f", struct.pack("<I", k))[0] for k in (bits, bits + 1))
    middle = np.array([(low + high) / 2])
    even = low if bits % 2 == 0 else high
    assert narrowed(middle, "float32")[0] == even  # no decimal of either is the middle


def test_shortest_decimals_are_those_that_numpy_prints():
    values = np.array([0.1, 1, -0.0, 1e-5, 3e38, 1e-45, 16777218, np.inf, -np.inf, np.nan], np.float32)
    assert shortest(values) == [
        "0.1", "1.0", "-0.0", "1e-05", "3e+38", "1e-45", "1.6777218e+07", "inf", "-inf", "nan",
    ]  # fmt: skip
    assert shortest(np.array([0.1], np.float16)) == ["0.1"]
    assert shortest(np.array([0.1, 1 / 3])) == ["0.1", "0.3333333333333333"]
    assert shortest(np.array([2**63 - 1, -5])) == ["9223372036854775807", "-5"]
    assert shortest(np.array([True, False])) == ["1", "0"]


def test_decimals_of_a_type_are_told_from_others():
    values = np.sin(np.arange(50))
    narrow = values.astype(np.float32)
    assert spelled(np.array([float(text) for text in shortest(narrow)]), "float32")
    assert spelled(narrow.astype(np.float64), "float32")
    assert spelled(np.array([float(f"{value:.9g}") for value in narrow.tolist()]), "float32")
    assert not spelled(values, "float32")
    assert not spelled(np.array([1e300]), "float32")
    assert spelled(np.array([np.nan, np.inf, -np.inf, 0.5]), "float16")


@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_a_text_without_types_is_float64_and_still_compares_as_what_was_written(suffix, tmp_path):
    path = tmp_path / f"x{suffix}"
    narrow = np.sin(np.arange(50)).astype(np.float32)
    rows = [f"{value!r}" for value in narrow.tolist()] if suffix == ".csv" else None
    short = shortest(narrow)
    path.write_text("\n".join(["pe0", *short]) if rows else f"[{','.join(f'[{text}]' for text in short)}]")
    with open_table(path) as stored:
        name = stored.arrays[0].name
        assert stored.arrays[0].dtype == "float64"
        np.testing.assert_array_equal(stored.read(name)[:, 0], [float(text) for text in short])
        assert stored.take_type("float32")
        assert stored.arrays[0].dtype == "float32"
        np.testing.assert_array_equal(stored.read(name)[:, 0], narrow)
    path.write_text(path.read_text().replace(short[-1], "0.12345678901234567"))
    with open_table(path) as stored:
        assert not stored.take_type("float32")
        assert (stored.arrays[0].dtype, stored.read(name)[-1, 0]) == ("float64", 0.12345678901234567)


def test_csv_columns_of_every_kind(tmp_path):
    path = tmp_path / "x.csv"
    for table, head in [
        (absolute(width=2), "position,pe0,pe1"),
        (bias_of(2), "head,query,b0,b1"),
        (rotations(width=2), "position,cis0_re,cis0_im,cis1_re,cis1_im"),
        (slopes(), "head,slopes"),
    ]:
        write_table(table, path, threads=1)
        lines = path.read_text().splitlines()
        assert lines[0] == head
        assert len(lines) == 1 + table.arrays[0].rows


def bias_of(keys):
    values = np.arange(2 * 3 * keys, dtype=np.float32).reshape(2, 3, keys)
    return Given([Array("bias", (2, 3, keys), "float32", ("head", "query", "key"), 2)], {"bias": values}, np.arange(3))


def test_csv_of_a_bias_numbers_heads_and_queries(tmp_path):
    write_table(bias_of(2), tmp_path / "x.csv", threads=1)
    assert (tmp_path / "x.csv").read_text() == (
        "head,query,b0,b1\n0,0,0.0,1.0\n0,1,2.0,3.0\n0,2,4.0,5.0\n1,0,6.0,7.0\n1,1,8.0,9.0\n1,2,10.0,11.0\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "position,pe0,pe1\n5,0.5,0.25\n6,1.5,inf\n",
        "position;pe0;pe1\r\n5;0.5;0.25\r\n6;1.5;inf\r\n\r\n\r\n",
        "# a comment\n\nposition\tpe0\tpe1\n5\t.5\t25e-2\n6\t1.50\tInfinity",
        '\ufeff"position","pe0","pe1"\n5,0.5,0.25\n6,1.5,inf\n',
        "position pe0 pe1\n5 0.5   0.25\n6  1.5 inf\n",
        "position, note, pe0, pe1\n5, first, 0.5, 0.25\n6, second, 1.5, inf\n",
    ],
)
def test_csv_that_others_wrote(text, tmp_path):
    (tmp_path / "x.csv").write_bytes(text.encode())
    with open_table(tmp_path / "x.csv") as stored:
        assert [(array.name, array.shape) for array in stored.arrays] == [("pe", (2, 2))]
        assert stored.read("pe").tolist() == [[0.5, 0.25], [1.5, math.inf]]
        assert stored.position(0, 2).tolist() == [5, 6]


def test_text_that_numpy_wrote(tmp_path):
    values = np.sin(np.arange(3000)).reshape(500, 6).astype(np.float32)
    np.savetxt(tmp_path / "x.csv", values, delimiter=",")
    with open_table(tmp_path / "x.csv") as stored:
        assert [(array.name, array.shape, array.dtype) for array in stored.arrays] == [("array", (500, 6), "float64")]
        np.testing.assert_array_equal(stored.read("array"), values)
        np.testing.assert_array_equal(stored.read_rows(["array"], 33, 444)["array"], values[33:444])
    np.savetxt(tmp_path / "plain.txt", values)
    with open_table(tmp_path / "plain.txt") as stored:
        np.testing.assert_array_equal(stored.read("array"), values)


@pytest.mark.parametrize("first", [0, 7])
def test_a_first_column_that_counts_numbers_the_rows_of_decimals(first, tmp_path):
    p = np.arange(first, first + 9)[:, None]
    np.savetxt(tmp_path / "a.csv", np.concatenate([p, np.sin(p), np.cos(p)], axis=1), delimiter=",", fmt="%.9g")
    with open_table(tmp_path / "a.csv") as table:
        np.testing.assert_allclose(table.read("array"), np.concatenate([np.sin(p), np.cos(p)], axis=1), atol=1e-9)
        assert table.arrays[0].axes[0] == "position"
        np.testing.assert_array_equal(table.position(0, 9), p[:, 0])
    whole, angles = np.concatenate([p, p * p], axis=1), p * [1, 0.25]
    for name, values in {"whole": whole, "angles": angles}.items():  # which may be any table, and are RoPE's angles
        np.savetxt(tmp_path / f"{name}.csv", values, delimiter=",", fmt="%g")
        with open_table(tmp_path / f"{name}.csv") as table:
            np.testing.assert_array_equal(table.read("array"), values)


def test_a_mark_of_utf_8_may_stand_before_numbers_too(tmp_path):
    (tmp_path / "x.csv").write_bytes("\ufeff1.5,2\n3,4\n".encode())
    with open_table(tmp_path / "x.csv") as stored:
        assert stored.read("array").tolist() == [[1.5, 2], [3, 4]]


def test_csv_rows_are_found_anywhere(tmp_path):
    values = np.arange(200_000, dtype=np.float32).reshape(100_000, 2) / 7
    table = Given([Array("pe", values.shape, "float32", ("position", "channel"))], {"pe": values}, np.arange(100_000))
    write_table(table, tmp_path / "x.csv", threads=2)
    with open_table(tmp_path / "x.csv") as stored:
        assert stored.take_type("float32")
        for start, stop in [(0, 3), (21_840, 21_850), (99_990, 100_000), (65_535, 65_537), (100, 100)]:
            np.testing.assert_array_equal(stored.read_rows(["pe"], start, stop)["pe"], values[start:stop])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("position,pe0\n0,1.0\n1\n", "line 3 has 1 value, and the first line has 2: delete lines that are not rows"),
        ("1,2,3\n4,5,6\n7,8", "line 3 has 2 values, and the first line has 3: the file was cut off"),
        ("position,pe0\n", "has no rows of numbers"),
        ("# only a comment\n", "has no rows of numbers"),
        ("a,a\n1,2\n", "two columns called 'a'"),
        ("a,b\nx,y\n", "holds no array of numbers"),
    ],
)
def test_damaged_csv_is_refused(text, word, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(BadFile, match=word):
        open_table(tmp_path / "x.csv")


def test_a_word_among_numbers_is_refused(tmp_path):
    rows = [f"{row},{row}.5" for row in range(1000)]
    rows[500] = "500,\x1b[31mred"
    (tmp_path / "x.csv").write_text("\n".join(["position,pe0", *rows]))
    with pytest.raises(BadFile, match="where a number should stand"):
        open_table(tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("text", "arrays"),
    [
        ("[[1.5, 2], [3, 4]]", {"array": [[1.5, 2], [3, 4]]}),
        ('{"cos": [[1.5]], "sin": [[0.25]]}', {"cos": [[1.5]], "sin": [[0.25]]}),
        ('[1, 2, "inf", "-inf", -Infinity]', {"array": [1, 2, math.inf, -math.inf, -math.inf]}),
        ('{"position": [3, 4], "pe": [[0.5], [0.75]]}', {"pe": [[0.5], [0.75]]}),
    ],
)
def test_json_that_others_wrote(text, arrays, tmp_path):
    (tmp_path / "x.json").write_text(text)
    with open_table(tmp_path / "x.json") as stored:
        assert {array.name: stored.read(array.name).tolist() for array in stored.arrays} == arrays


@pytest.mark.parametrize("value", [np.float32(1.5), np.int64(-3), np.float64(math.inf), np.complex64(1 + 2j)])
def test_a_number_in_no_list_survives_json(value, tmp_path):
    np.savez(tmp_path / "x.npz", count=value, table=np.eye(2))
    with open_table(tmp_path / "x.npz") as stored:
        write_table(stored, tmp_path / "x.json")
    with open_table(tmp_path / "x.json") as stored:
        assert [(array.name, array.shape) for array in stored.arrays] == [("count", ()), ("table", (2, 2))]
        assert (stored.read("count"), stored.read("count").dtype) == (value, value.dtype)


def test_json_has_no_bare_infinity(tmp_path):
    values = np.array([[np.inf, -np.inf], [np.nan, 0.1]], np.float32)
    table = Given([Array("pe", (2, 2), "float32", ("position", "channel"))], {"pe": values}, np.arange(2))
    write_table(table, tmp_path / "x.json", threads=1)

    def refuse(word):
        raise AssertionError(word)

    found = json.loads((tmp_path / "x.json").read_text(), parse_constant=refuse)
    assert found["arrays"]["pe"]["values"] == [["inf", "-inf"], ["nan", 0.1]]
    with open_table(tmp_path / "x.json") as stored:
        np.testing.assert_array_equal(stored.read("pe"), values)


# Random tables

shapes = st.tuples(st.integers(1, 40), st.integers(1, 9))


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_table_survives_any_format(name, data, tmp_path_factory):
    dtype = data.draw(st.sampled_from(["float16", "float32", "float64"]))
    shape = data.draw(shapes)
    names = data.draw(st.sampled_from([("pe",), ("cos", "sin"), ("x", "layer/y", "z")]))
    elements = st.floats(width=FLOATS[dtype][1], allow_nan=False)
    values = {n: data.draw(npst.arrays(FLOATS[dtype][0], shape, elements=elements)) for n in names}
    first = data.draw(st.integers(-(2**53), 2**53 - 50))
    positions = np.arange(first, first + shape[0])
    table = Given([Array(n, shape, dtype, ("position", "channel")) for n in names], values, positions)
    path = tmp_path_factory.mktemp("any") / f"x{FORMATS[name].suffixes[0]}"
    write_table(table, path, threads=data.draw(st.integers(1, 3)))
    with open_table(path) as stored:
        if name == "npy":
            expected = np.stack(list(values.values())) if len(names) > 1 else values["pe"]
            assert stored.read("array").tobytes() == expected.tobytes()
            return
        for n in names:
            found = stored.read(n)
            if name == "csv":  # which tells no type
                np.testing.assert_array_equal(found.astype(dtype), values[n])
            else:
                assert found.tobytes() == values[n].tobytes()
        if name not in WITHOUT_POSITIONS:
            np.testing.assert_array_equal(stored.position(0, shape[0]), positions)


# What csv files are read as: every column is an array, a label of the rows, or words; nothing vanishes.


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
        ("a\r1\r2\r3", "carriage returns alone"),
        ("a,b\r1,2\r3,4\n", "carriage returns alone"),
        ("a," + "b" * 200_000 + "\n1,2\n", "without column names"),
    ],
)
def test_a_cell_or_a_line_that_is_wrong_is_refused_by_its_place(text, words, tmp_path):
    (tmp_path / "x.csv").write_bytes(text.encode())
    with pytest.raises(BadFile, match=words), open_table(tmp_path / "x.csv") as stored:
        [stored.read(array.name) for array in stored.arrays]


@pytest.mark.parametrize("text", ["x", " "])
def test_a_cell_far_from_either_end_is_refused_by_its_place(text, tmp_path):
    rows = [f"{value}" for value in np.sin(np.arange(1000)).astype(np.float32).tolist()]
    rows[500] = text
    (tmp_path / "x.csv").write_text("\n".join(["position,pe0", *(f"{i},{row}" for i, row in enumerate(rows))]))
    with pytest.raises(BadFile, match="in line 502, column 'pe0'"):
        open_table(tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("d0,d1\n1.5,2\n,4\n5,\n", [[1.5, 2], [np.nan, 4], [5, np.nan]]),
        ("d0,d1,d2\n1,,3\n4,,6\n,,\n", [[1, np.nan, 3], [4, np.nan, 6], [np.nan] * 3]),
        ("d0\td1\n1\t2\n\t\n", [[1, 2], [np.nan] * 2]),
        (",d0,d1\n0,1,2\n1,,\n", [[1, 2], [np.nan] * 2]),
    ],
)
def test_an_empty_cell_is_nan_as_pandas_writes_it(text, expected, tmp_path):
    dtype, values = read(tmp_path / "x.csv", text)["d"]
    assert dtype == "float64"
    np.testing.assert_array_equal(values, expected)


def test_a_position_without_a_value_is_refused(tmp_path):
    with pytest.raises(BadFile, match="has no value in line 3, column 'position'"):
        read(tmp_path / "x.csv", "position,d0\n0,1\n,2\n2,3\n")


def test_an_infinity_is_none_beyond_the_largest_though_words_hold_its_name(tmp_path):
    assert read(tmp_path / "x.csv", "note,a\ninformal,inf\nx,2\n") == {"a": ("float64", [np.inf, 2.0])}


def test_a_csv_beyond_the_limit_is_refused_with_the_remedy(tmp_path, monkeypatch):
    (tmp_path / "x.csv").write_text("1,2\n3,4\n")
    monkeypatch.setattr("pecli.formats.csv.LARGEST_CSV", 4)
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
        "b": ("int64", [2**63 - 1, -(2**63)])
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


MORE = {"transformer-xl": ["transformer-xl:dim=8,len=6,clamp=3"], "shaw": ["shaw:dim=8,len=5,clip=4"]}


PLAIN = np.sin(np.arange(40)[:, None] * 0.7 ** np.arange(8)).astype("float32")


@pytest.mark.parametrize("header", [",0,1,2,3,4,5,6,7", "Unnamed: 0,0,1,2,3,4,5,6,7", "0,1,2,3,4,5,6,7"])
def test_columns_that_are_numbered_as_pandas_does_are_one_array(header, tmp_path):
    index = [] if header.startswith("0") else [np.arange(40)]
    rows = zip(*index, *(map(str, column) for column in PLAIN.T), strict=True)
    (tmp_path / "t.csv").write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    with open_table(tmp_path / "t.csv") as table:
        assert [(a.name, a.shape) for a in table.arrays] == [("array", (40, 8))]
        assert table.row_labels == (header.partition(",")[0],) * len(index)
        assert np.array_equal(table.read("array").astype("float32"), PLAIN)


def test_whole_numbers_from_0_are_a_row_of_whole_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("0,1,2\n1,0,1\n2,1,0\n")
    with open_table(tmp_path / "t.csv") as table:
        assert table.read("array").tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]


@pytest.mark.parametrize(
    "text",
    [
        "[[ 0.   1.5]\n [-2.   nan]]\n",
        "array([[0., 1.5],\n       [-2., nan]], dtype=float32)",
        "tensor([[ 0.0000e+00,  1.5000e+00],\n        [-2.0000e+00,         nan]])",
        "[0.0, 1.5]\n[-2, NaN]\n",
        "0,0;1,5\n-2,0;1,5\n",
    ],
)
def test_what_programs_print_is_read(text, tmp_path):
    (tmp_path / "t.txt").write_text(text)
    with open_table(tmp_path / "t.txt") as table:
        values = table.read(table.arrays[0].name)
    assert [*values[:2, 0], values[0, 1]] == [0.0, -2.0, 1.5]


def test_a_shortened_print_is_refused(tmp_path):
    (tmp_path / "t.txt").write_text(str(np.zeros((2000, 3))))
    with pytest.raises(BadFile, match=r"is shortened with '\.\.\.': print it whole"):
        open_table(tmp_path / "t.txt")


@pytest.mark.parametrize("text", ["[[1, 2], [3, 4]] more", "[[1+2, 3], [4, 5]]", "[[1, 2], [3, 4]", "[[1, 2], [3, 4"])
def test_what_no_program_prints_is_no_table(text, tmp_path):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(BadFile, match=r"is not JSON: .*line 1, column"):
        open_table(tmp_path / "t.json")
