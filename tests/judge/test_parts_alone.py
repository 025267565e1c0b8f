"""Cosines or sines alone, in every arithmetic, of any size, from any position: what pairs tell, one of them tells."""

import math

import numpy as np
import pytest

from pecli import open_table
from pecli.judge.identify import identify
from tests.support import campaign_tables, unknown_tables

PAIRS = unknown_tables.powers
LLAMA = unknown_tables.by_rotations


def found_in(tmp_path, part, w, positions, how="exact", dtype="float32", size=1.0):
    made = campaign_tables.exact(w, positions) if how == "exact" else campaign_tables.computed(w, positions, how)
    name = ("cos", "sin")[part]
    np.savez(tmp_path / "t.npz", **{name: unknown_tables.narrow(size * made[part], dtype)})
    with open_table(tmp_path / "t.npz") as table:
        found = identify(table)
    assert found.notes[0] == f"the {name} alone of a rotary table"
    return found


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize(
    ("base", "how", "dtype", "said"),
    [
        (50000.0, "bfloat16 frequencies", "bfloat16", "frequencies rounded to bfloat16"),
        (10007.0, "float32", "float16", "frequencies and positions and angles rounded to float32"),
        (1771.0, "bfloat16 positions", "float32", "positions rounded to bfloat16"),
    ],
)
def test_one_part_tells_how_it_was_computed(tmp_path, part, base, how, dtype, said):
    found = found_in(tmp_path, part, PAIRS(base, 24, 24), np.arange(400.0), how, dtype)
    low, high = found.ranges.get("base", (base, base))
    assert float(low) <= base <= float(high) < 1.01 * float(low)
    assert said in found.notes
    assert found.equal > 0.99


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize("start", [0, 512])
def test_one_part_tells_the_size_of_the_pairs(tmp_path, part, start):
    w, size = unknown_tables.yarn(10000.0, 64, 8, 4096), 0.1 * math.log(8) + 1
    found = found_in(tmp_path, part, w, start + np.arange(300.0), size=size)
    assert "scaling=yarn,factor=8,original-max=4096,beta-fast=32,beta-slow=1,ramp=index" in found.recipe
    assert "attention-factor" not in found.recipe
    assert found.equal == 1.0


@pytest.mark.parametrize("start", [0, 1, 700])
def test_slow_columns_are_measured_from_position_0_on(tmp_path, start):
    found = found_in(tmp_path, 0, LLAMA(500000.0, 128, 8, 8192, 1, 4), start + np.arange(512.0))
    assert "base=500000,scaling=llama3,factor=8,original-max=8192," in found.recipe
    assert found.equal == 1.0


def test_columns_that_turn_by_more_than_half_a_turn_a_row_follow_from_the_slower_ones(tmp_path):
    found = found_in(tmp_path, 0, PAIRS(11000.0, 6, 6), 8 * np.arange(256.0), "float32")
    assert found.recipe.startswith("rope:dim=12,base=11000,scaling=none,len=256,step=8,")
    assert found.equal == 1.0


@pytest.mark.parametrize(("d", "base", "factor", "low", "high"), [(10, 1e7, 16, 1, 8), (18, 10000.0, 3, 2, 6)])
def test_few_pairs_of_an_unusual_ramp_are_named(tmp_path, d, base, factor, low, high):
    w = LLAMA(base, d, factor, 2048, low, high)
    cos, sin = (part.astype(np.float32) for part in campaign_tables.exact(w, np.arange(2000.0)))
    np.savez(tmp_path / "t.npz", cos=cos, sin=sin)
    with open_table(tmp_path / "t.npz") as table:
        found = identify(table)
    assert f"scaling=llama3,factor={factor}," in found.recipe
    assert found.equal == 1.0


def test_frequencies_of_rows_that_go_backward_tell_a_base_too(tmp_path):
    w = PAIRS(190000.0, 16, 16)
    cos, sin = campaign_tables.computed(w, np.arange(-1.0, 67.0), "float32")
    table = unknown_tables.bf16(np.concatenate([sin, cos], 1))
    np.savez(tmp_path / "t.npz", sincos=np.ascontiguousarray(table.T))
    with open_table(tmp_path / "t.npz") as opened:
        assert "base=190000," in identify(opened).recipe


def test_columns_that_stand_still_are_pairs_that_rest(tmp_path):
    w = np.concatenate([PAIRS(100.0, 64, 64)[:16], np.zeros(48)])
    found = found_in(tmp_path, 0, w, np.arange(1000.0, 1700.0))
    assert found.recipe.startswith("rope:dim=128,partial=0.25,base=100,scaling=proportional,len=700,start=1000,")
    assert (found.confidence, found.equal) == ("sure", 1.0)


def test_a_position_before_0_is_no_0_where_steps_are_small(tmp_path):
    w = (unknown_tables.torch_frequencies(10007.0, 16) / np.float32(10)).astype(np.float32)
    angle = (np.arange(-1, 128, dtype=np.float32)[:, None] * w).astype(np.float64)
    np.savez(tmp_path / "t.npz", cos=np.cos(angle).astype(np.float32))
    with open_table(tmp_path / "t.npz") as table:
        found = identify(table)
    assert "base=10007,scaling=linear,factor=10,len=129,start=-1," in found.recipe
