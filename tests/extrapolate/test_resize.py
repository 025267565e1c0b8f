"""Longer tables from trained rows, against PyTorch's interpolate (tests/data/reference/resize.json) and by hand."""

import json

import numpy as np
import pytest

from pecli import PecliError
from pecli.extrapolate.resize import Extension, Resized, make_taps, trained_rows
from pecli.spec.tabular import Array, Tabular
from tests.conftest import DATA

REFERENCE = json.loads((DATA / "reference" / "resize.json").read_text())


class Rows(Tabular):
    """Trained rows in memory."""

    def __init__(self, rows, dtype="float32", shape=None):
        self.values = np.asarray(rows)
        axes = tuple(f"axis{i}" for i in range(len(shape or self.values.shape)))
        self.arrays = (Array("weight", shape or self.values.shape, dtype, axes, lead=len(axes) - 1),)
        self.recipe, self.metadata = None, {}

    def fill(self, start, stop, out):
        for target in out.values():
            target[...] = self.values[start:stop]


def resized(rows, way, new, dtype="float32", **options):
    table = Rows(np.asarray(rows, np.float32) if dtype == "float32" else rows, dtype)
    return Resized(*trained_rows(table), Extension(way, **options), new, "a test")


def drawn(rows, width):
    """The rows that tests/data/reference/resize.py draws."""
    i = np.arange(rows * width, dtype=np.int64)
    values = ((i * 7919 + 104729 * (i // width) ** 2) % 257 - 128).astype(np.float32)
    return values.reshape(rows, width) / np.float32(64)


def case_id(case):
    grid = "x".join(map(str, case["grid"])) + "-" + "x".join(map(str, case["to_grid"]))
    return f"{grid}-{case['extend']}{'-antialias' * case['antialias']}"


@pytest.mark.parametrize("case", REFERENCE["grids"], ids=case_id)
def test_a_grid_is_resized_as_pytorch_does(case):
    rows = drawn(case["grid"][0] * case["grid"][1], case["width"])
    new = case["to_grid"][0] * case["to_grid"][1]
    grid, to_grid = tuple(case["grid"]), tuple(case["to_grid"])
    made = resized(rows, case["extend"], new, grid=grid, to_grid=to_grid, antialias=case["antialias"])
    np.testing.assert_allclose(made.read("weight"), case["values"], rtol=0, atol=4e-6)


@pytest.mark.parametrize("case", REFERENCE["lines"], ids=lambda c: f"{c['rows']}-{c['to']}-{c['extend']}")
def test_a_sequence_is_resized_as_pytorch_does(case):
    made = resized(drawn(case["rows"], case["width"]), case["extend"], case["to"])
    np.testing.assert_allclose(made.read("weight"), case["values"], rtol=0, atol=4e-6)


def test_the_references_hold_every_kind():
    kinds = {(c["extend"], c["antialias"]) for c in REFERENCE["grids"]}
    assert kinds == {("linear", False), ("linear", True), ("cubic", False), ("cubic", True)}
    up = [c for c in REFERENCE["grids"] if c["to_grid"][0] > c["grid"][0]]
    down = [c for c in REFERENCE["grids"] if c["to_grid"][0] < c["grid"][0]]
    assert up
    assert down


def test_a_tile_repeats_the_rows():
    made = resized([[1, 2], [3, 4], [5, 6]], "tile", 7).read("weight")
    np.testing.assert_array_equal(made[:, 0], [1, 3, 5, 1, 3, 5, 1])


def test_nearest_stretches_the_rows():
    made = resized([[1], [3], [5]], "nearest", 7).read("weight")
    np.testing.assert_array_equal(made[:, 0], [1, 1, 1, 3, 3, 5, 5])


def test_linear_lies_half_a_row_inside_and_is_clamped_at_the_ends():
    made = resized([[0], [4]], "linear", 4).read("weight")
    np.testing.assert_array_equal(made[:, 0], [0, 1, 3, 4])


def test_prefix_rows_stay_and_the_rest_is_resized():
    rows = np.concatenate([np.full((2, 1), 9.0), drawn(4, 1)])
    made = resized(rows, "linear", 10).read("weight")
    kept = resized(rows, "linear", 10, prefix=2).read("weight")
    np.testing.assert_array_equal(kept[:2, 0], [9, 9])
    np.testing.assert_array_equal(kept[2:], resized(rows[2:], "linear", 8).read("weight"))
    assert not np.array_equal(made, kept)


def test_any_block_equals_the_same_rows_of_the_whole():
    made = resized(drawn(1 + 14 * 14, 5), "cubic", 1 + 24 * 24, prefix=1, grid=(14, 14), to_grid=(24, 24))
    whole = made.read("weight")
    for start, stop in ((0, 1), (0, 5), (1, 30), (23, 26), (570, 577)):
        np.testing.assert_array_equal(made.read_rows(["weight"], start, stop)["weight"], whole[start:stop])


def test_axes_of_size_one_before_the_rows_stay():
    table = Rows(drawn(6, 4), shape=(1, 6, 4))
    made = Resized(*trained_rows(table), Extension("linear"), 9, "a test")
    assert made.arrays[0].shape == (1, 9, 4)
    assert made.read("weight").shape == (1, 9, 4)


def test_a_longer_table_says_how_it_was_made():
    made = resized(drawn(17, 2), "cubic", 26, prefix=1, grid=(4, 4), to_grid=(5, 5), antialias=True)
    assert made.metadata["extension"] == "--extend cubic --prefix 1 --grid 4x4 --to-grid 5x5 --antialias"


def test_the_type_of_the_rows_stays():
    for dtype in ("float16", "float64"):
        assert resized(drawn(4, 2).astype(dtype), "linear", 6, dtype).read("weight").dtype == dtype
    bits = (drawn(4, 2).view(np.uint32) >> 16).astype(np.uint16)  # the values have few bits: exact in bfloat16
    made = resized(bits, "tile", 6, "bfloat16").read("weight")
    np.testing.assert_array_equal(made, np.concatenate([bits, bits[:2]]))


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("way", ["linear", "cubic"])
@pytest.mark.parametrize(("old", "new"), [(3, 17), (17, 3), (5, 5), (1, 4), (4, 1)])
def test_the_weights_of_a_new_row_add_up_to_one(way, antialias, old, new):
    index, weight = make_taps(Extension(way, antialias=antialias), old, new)
    np.testing.assert_allclose(weight.sum(1), 1, atol=1e-15)
    assert index.min() >= 0
    assert index.max() < old


@pytest.mark.parametrize(
    ("options", "new", "says"),
    [
        ({"way": "lanczos"}, 30, "unknown way to extend 'lanczos'"),
        ({"way": "linear", "prefix": 17}, 30, "prefix=17 must be below 17, the rows of the table"),
        ({"way": "linear"}, 17, "test-len=17 must be above 17"),
        ({"way": "tile", "antialias": True}, 30, "antialias=true is for linear and cubic, not for tile"),
        ({"way": "cubic", "grid": (4, 4), "to_grid": (6, 6)}, 36, "grid=4x4 has 16 cells.*give --prefix 1 if"),
        ({"way": "cubic", "grid": (3, 4), "to_grid": (6, 6), "prefix": 1}, 37, "16 after the prefix: 4x4 would fit"),
        ({"way": "tile", "grid": (1, 17), "to_grid": (6, 6)}, 36, "along a sequence"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_remedy(options, new, says):
    with pytest.raises(PecliError, match=says.replace("^", r"\^").replace("+", r"\+")):
        resized(drawn(17, 2), options.pop("way"), new, **options)


def test_rows_must_be_one_array_of_two_axes():
    with pytest.raises(PecliError, match="must be rows of real numbers"):
        trained_rows(Rows(drawn(4, 4), shape=(2, 2, 4)))
    with pytest.raises(PecliError, match="must be rows of real numbers"):
        trained_rows(Rows(np.zeros((4, 4), np.int64), "int64"))
