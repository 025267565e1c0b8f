"""Unknown tables that are hard to place or to compute: few pairs far out, odd bases, steps far away, spoiled grids."""

import numpy as np
import pytest

from pecli import open_table
from pecli.judge.identify import identify
from tests.support import campaign_tables, unknown_tables

PAIRS = unknown_tables.powers


def found_in(tmp_path, **arrays):
    np.savez(tmp_path / "t.npz", **arrays)
    with open_table(tmp_path / "t.npz") as table:
        return identify(table)


@pytest.mark.parametrize(
    ("base", "rows", "how", "dtype", "wrong"),
    [
        (10007.0, 128, "float32", "float32", 1),
        (100.0, 20, "twice", "float32", 0),
        (20000.0, 8192, "float32", "bfloat16", 0),
        (1e6, 129, "bfloat16 positions", "float16", 0),
    ],
)
def test_two_turning_pairs_are_placed_at_a_whole_position(tmp_path, base, rows, how, dtype, wrong):
    w = np.concatenate([PAIRS(base, 8, 8)[:2], np.zeros(6)])
    parts = campaign_tables.computed(w, np.arange(100.0, 100 + rows), how)
    cos, sin = (unknown_tables.narrow(np.repeat(part, 2, 1), dtype) for part in parts)
    cos[67 % rows, 3] += wrong
    found = found_in(tmp_path, cos=cos, sin=sin)
    assert f"dim=16,partial=0.25,base={base:.0f},scaling=proportional,len={rows},start=100," in found.recipe
    assert found.equal == 1 - wrong / cos.size / 2


def test_a_step_far_from_position_0_is_the_factor_that_somebody_chose(tmp_path):
    w = PAIRS(150000.0, 32, 32) / 2.5
    cos, sin = campaign_tables.computed(w, np.arange(4096.0, 4116.0), "twice")
    found = found_in(tmp_path, cos=cos, sin=sin)
    assert found.recipe.startswith("rope:dim=64,base=150000,scaling=linear,factor=2.5,len=20,start=4096,")
    assert found.equal == 1.0


def test_a_base_is_fitted_at_positions_as_they_were_rounded(tmp_path):
    w = PAIRS(123456.7, 64, 64) / 8
    cos, sin = campaign_tables.computed(w, np.arange(100.0, 1123.0), "bfloat16 positions")
    found = found_in(tmp_path, cache=unknown_tables.bf16(np.concatenate([cos, sin], 1)))
    low, high = (float(end) for end in found.ranges["base"])
    assert "base=123456.7," in found.recipe
    assert (found.equal, found.notes[0]) == (1.0, "positions rounded to bfloat16")
    assert low <= 123456.7 <= high


def test_exponentials_are_no_other_base(tmp_path):
    parts = campaign_tables.computed(PAIRS(8888.0, 8, 8), np.arange(100.0, 147.0), "exponential")
    found = found_in(tmp_path, **{n: p.astype(np.float16) for n, p in zip(("cos", "sin"), parts, strict=True)})
    assert "base=8888," in found.recipe
    assert (found.equal, found.arithmetic) == (1.0, "float32")


def test_exponentials_of_a_long_base_leave_a_range_of_bases(tmp_path):
    w = PAIRS(123456.7, 127, 128)
    cos, sin = campaign_tables.computed(w, 10.0 * np.arange(384), "exponential")
    found = found_in(tmp_path, pe=np.stack([16 * sin, 16 * cos], 2).reshape(384, 256).astype(np.float32))
    low, high = (float(end) for end in found.ranges["base"])
    assert (found.confidence, found.equal) == ("likely", 1.0)
    bases = {"shift=1": 123456.7, "shift=0": 123456.7 ** (128 / 127)}
    assert [low <= base <= high for shift, base in bases.items() if shift in found.recipe] == [True]
    (other,) = [note for note in found.notes if note.startswith("the values leave room for another choice: ")]
    assert ("base=123456.7," in other) == ("shift=1" in other)


def test_the_shorter_of_two_bases_for_the_same_frequencies_is_told_by_some_rows(tmp_path):
    cos, sin = campaign_tables.exact(PAIRS(8888.0, 32, 32) / 4, np.arange(255.0))
    table = unknown_tables.bf16(np.concatenate([sin, cos], 1).astype(np.float32))
    table[157:] = table[: 255 - 157]
    found = found_in(tmp_path, pe=table)
    assert "base=8888," in found.recipe
    assert found.notes[0] == "5488 of 16320 values differ, in every row from 157 to 254"


def test_a_wrong_row_is_placed_in_a_long_table_of_two_roundings(tmp_path):
    cos, sin = campaign_tables.computed(PAIRS(1e4, 31, 32), np.arange(2.0, 5002.0), "float32")
    table = np.concatenate([cos, sin], 1).astype(np.float16)
    table[1585] += np.float16(0.5)
    found = found_in(tmp_path, pe=table)
    assert found.notes[:2] == (
        "frequencies and positions and angles rounded to float32",
        "64 of 320000 values differ from what that arithmetic gives, in row 1585",
    )


@pytest.mark.parametrize(("dtype", "later"), [("float16", 49), ("float32", 35)])
def test_widths_of_axes_are_told_by_the_points_that_are_right(tmp_path, dtype, later):
    y, x = np.divmod(np.arange(70.0), 5)
    w = [PAIRS(1e4, k / 2, k // 2).astype(np.float64) for k in (8, 44, 44)]
    angle = np.concatenate([0 * y[:, None] * w[0], y[:, None] * w[1], x[:, None] * w[2]], 1)
    cos, sin = np.cos(angle).astype(dtype), np.sin(angle).astype(dtype)
    random = np.random.default_rng(5)
    cos[later:], sin[later:] = (random.uniform(-1, 1, (70 - later, 48)) for _ in range(2))
    found = found_in(tmp_path, cos=cos, sin=sin)
    assert found.recipe.startswith("rope-axes:axes=8+44+44,grid=1x14x5,base=10000,")
    assert abs(found.equal - later / 70) < 0.01
    assert found.notes[0].endswith(f"values differ, in every row from {later} to 69")


@pytest.mark.parametrize(("rows", "columns", "width"), [(6, 4, 64), (14, 16, 32)])
def test_a_base_far_from_the_usual_ones_is_found_by_few_points_of_a_narrow_grid(tmp_path, rows, columns, width):
    y, x = np.divmod(np.arange(float(rows * columns)), columns)
    parts = [unknown_tables.sin_cos(v, width // 2, 54321.0) for v in (x, y)]
    found = found_in(tmp_path, pe=unknown_tables.bf16(np.concatenate(parts, 1).astype(np.float32)))
    low, high = (float(end) for end in found.ranges["base"])
    assert found.recipe.startswith(f"sincos2d:dim={width},grid={rows}x{columns},base=543")
    assert (found.confidence, found.equal) == ("likely", 1.0)
    assert low <= 54321 <= high < 1.001 * low


def test_the_number_of_a_mask_may_be_of_a_wider_type_than_the_bias(tmp_path):
    d = unknown_tables.distances(17)
    table = unknown_tables.bf16((-unknown_tables.alibi_slopes(16, 4.0)[:, None, None] * np.abs(d)).astype(np.float32))
    found = found_in(tmp_path, bias=np.where(d > 0, np.finfo(np.float32).min, table))
    assert found.recipe.startswith("alibi:heads=16,slopes=frameworks,bias-max=4,bias=symmetric,mask=causal,")
    assert found.recipe.endswith("dtype=bfloat16")
    assert found.equal == 1.0
    assert found.notes == ("-3.40282e+38 stands where keys are hidden, and the recipe has minus infinity",)


SCALED = {
    "YaRN, eight pairs in bfloat16": (8888.0, 16, "yarn", 2.0, 32768, 127, 0, "bfloat16 frequencies"),
    "YaRN, 17 rows rounded twice": (10000.0, 128, "yarn", 2.0, 8192, 17, 0, "twice"),
    "YaRN, float16 phases far out": (500000.0, 64, "whole", 8.0, 8192, 33, 100, "float16"),
    "YaRN, bfloat16 phases of a small base": (333.0, 96, "yarn", 40.0, 32768, 20, 7, "bfloat16"),
    "Llama 3, slow pairs that hardly move": (1771.0, 96, "llama3", 32.0, 32768, 257, 100, "bfloat16"),
}


@pytest.mark.parametrize("name", SCALED)
def test_usual_ramps_are_found_in_few_or_narrow_rows(tmp_path, name):
    base, d, kind, factor, original, rows, start, how = SCALED[name]
    if kind == "llama3":
        w = unknown_tables.by_rotations(base, d, factor, original, 1, 4)
    else:
        w = unknown_tables.yarn(base, d, factor, original, truncate=kind == "yarn")
    cos, sin = campaign_tables.computed(w, np.arange(start, start + float(rows)), how)
    found = found_in(tmp_path, cos=cos, sin=sin)
    scaling = "llama3" if kind == "llama3" else "ntk-by-parts"  # of pairs of size 1
    assert f",scaling={scaling},factor={factor:.0f},original-max={original}," in found.recipe
    assert ("truncate=false" in found.recipe) == (kind == "whole")
    low, high = (float(end) for end in found.ranges["base"])
    assert found.equal > 0.999
    assert low <= base <= high < 1.01 * low


@pytest.mark.parametrize(
    ("base", "factor", "original", "kind"), [(77777.0, 4.0, 8192, "yarn"), (123456.7, 16.0, 4096, "")]
)
def test_a_vector_of_float16_tells_the_base_that_all_its_frequencies_allow(tmp_path, base, factor, original, kind):
    w = unknown_tables.yarn(base, 128, factor, original, truncate=bool(kind)).astype(np.float16)
    found = found_in(tmp_path, inv_freq=w)
    low, high = (float(end) for end in found.ranges["base"])
    assert f",scaling=yarn,factor={factor:.0f},original-max={original}," in found.recipe
    assert found.equal == 1.0
    assert low <= base <= high < 1.001 * low


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize(
    ("base", "rows", "start", "step", "dtype", "said"),
    [
        (8e6, 19, 0, 2, "float32", "base=8000000,scaling=none,len=19,step=2,"),
        (50000.0, 400, 0, 0.25, "float32", "base=50000,scaling=linear,factor=4,len=400,"),
        (10007.0, 310, 3, 1.5, "bfloat16", "base=10007,scaling=none,len=310,start=3,step=1.5,"),
        (10000.0, 620, 5000, 1, "float64", "base=10000,scaling=none,len=620,start=5000,"),
    ],
)
def test_cosines_alone_have_a_start_and_a_step(tmp_path, part, base, rows, start, step, dtype, said):
    w = PAIRS(base, 16, 16)
    alone = campaign_tables.exact(w, start + step * np.arange(float(rows)))[part]
    found = found_in(tmp_path, cache=unknown_tables.narrow(np.concatenate([alone, alone], 1), dtype))
    assert found.recipe.startswith(f"rope:dim=32,{said}")
    assert found.notes[0] == f"the {('cos', 'sin')[part]} alone of a rotary table"
    assert found.equal == 1.0 or dtype == "float64"


@pytest.mark.parametrize(
    ("rows", "value", "said"),
    [
        (slice(40, 63), 0.25, "every row from 40 to 62"),
        (50, np.nan, "32 of 2016 values differ, all of them NaN, in row 50"),
        (slice(62, 63), 9.0, "32 of 2016 values differ, in row 62"),
    ],
)
def test_wrong_rows_of_cosines_alone_are_placed(tmp_path, rows, value, said):
    cos = np.tile(campaign_tables.exact(PAIRS(11000.0, 16, 16), np.arange(63.0))[0].astype(np.float32), 2)
    cos[rows] = value
    found = found_in(tmp_path, cos_cached=cos)
    assert found.recipe.startswith("rope:dim=32,base=11000,scaling=none,len=63,dtype=float32,layout=half")
    assert found.confidence == "likely"
    assert any(said in note for note in found.notes)


def test_a_size_of_two_digits_is_told_where_roundings_lean(tmp_path):
    parts = campaign_tables.computed(PAIRS(5e5, 16, 16), np.arange(4096.0), "bfloat16 frequencies")
    cos, sin = (unknown_tables.bf16((0.02 * part.astype(np.float64)).astype(np.float32)) for part in parts)
    found = found_in(tmp_path, pe=np.concatenate([sin, cos], 1))
    assert "base=500000," in found.recipe
    assert "amplitude=0.02," in found.recipe
    assert (found.equal, found.notes[0]) == (1.0, "frequencies rounded to bfloat16")


def test_slow_pairs_that_float16_holds_at_rest_are_part_of_a_ramp(tmp_path):
    w = unknown_tables.yarn(5e6, 128, 32.0, 4096, truncate=False)
    cos, sin = campaign_tables.computed(w, np.arange(100.0, 356.0), "float16")
    found = found_in(tmp_path, cache=np.stack([cos, sin]))
    assert "dim=128,base=5000000,scaling=ntk-by-parts,factor=32,original-max=4096," in found.recipe
    assert (found.equal, found.arithmetic) == (1.0, "float16")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_later_rows_tell_wide_positions_where_others_are_spoiled(tmp_path, dtype):
    cos, sin = campaign_tables.computed(PAIRS(1e4, 8, 8), np.arange(383.0), "bfloat16 frequencies")
    table = unknown_tables.narrow(np.concatenate([sin, cos], 1).astype(np.float64), dtype)
    table[346:] = table[:37]
    found = found_in(tmp_path, pe=table)
    assert found.notes[0].startswith("frequencies rounded to bfloat16")
    assert found.notes[1].endswith(
        "of 6128 values differ from what that arithmetic gives, in every row from 346 to 382"
    )


@pytest.mark.parametrize(
    ("dtype", "at", "value"),
    [("float32", 5, np.nan), ("bfloat16", 0, 7.25), ("float64", 15, -1.5), ("float16", 9, 0.25)],
)
def test_a_wrong_number_of_a_vector_is_placed(tmp_path, dtype, at, value):
    w = unknown_tables.narrow(PAIRS(50000.0, 16, 16), dtype)
    w[at] = value
    found = found_in(tmp_path, inv_freq=w)
    assert found.recipe.startswith("rope:dim=32,base=50000,scaling=none")
    assert (found.confidence, found.equal) == ("likely", 15 / 16)
    assert found.notes[1].startswith(f"one value differs, at [{at}]: {value!r}, and the recipe has ")


def test_a_vector_of_few_numbers_with_one_left_out_is_no_unusual_ramp(tmp_path):
    w = unknown_tables.by_rotations(11000.0, 20, 16.0, 1024, 2, 6).astype(np.float32)
    found = found_in(tmp_path, inv_freq=w)
    assert found.recipe is None or found.equal == 1.0


def test_a_base_of_many_digits_is_looked_for_in_float32_too(tmp_path):
    parts = campaign_tables.computed(PAIRS(1e4, 31, 32), np.arange(1000.0, 9192.0), "exponential")
    cos, sin = (8 * part.astype(np.float64) for part in parts)
    found = found_in(tmp_path, pe=np.stack([sin, cos], 2).reshape(8192, 64).astype(np.float16))
    assert found.recipe.startswith("sinusoidal:dim=64,base=10000,order=interleaved,shift=1,")
    assert found.arithmetic == "float32"
    assert found.equal > 0.999
