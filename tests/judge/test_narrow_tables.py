"""Tables whose steps were rounded to a narrow type, with what makes them harder: sizes, steps, far rows, odd bases."""

import math

import numpy as np
import pytest

from pecli import open_table
from pecli.judge.identify import identify
from tests.support import campaign_tables, unknown_tables

CASES = {
    "an amplitude and bfloat16 phases": (100.0, 32, 600, 0, 1.0, math.sqrt(32), "bfloat16"),
    "an odd base, far rows and bfloat16 frequencies": (123456.7, 32, 256, 1000, 1.0, math.sqrt(32), "bfloat16 freq"),
    "beyond a turn of the slowest pair, half a step": (333.0, 64, 300, 1000, 0.5, 8.0, "bfloat16 freq"),
    "a step of ten": (10000.0, 64, 100, 1000, 10.0, 1.0, "bfloat16 freq"),
}


def found_in(tmp_path, **arrays):
    np.savez(tmp_path / "t.npz", **arrays)
    with open_table(tmp_path / "t.npz") as table:
        return identify(table)


@pytest.mark.parametrize("name", CASES)
def test_sinusoids_computed_with_narrow_steps_are_named_with_the_range_of_their_base(tmp_path, name):
    base, d, n, start, step, size, how = CASES[name]
    w, p = unknown_tables.powers(base, d / 2, d // 2), start + step * np.arange(n)
    cos, sin = campaign_tables.computed(w, p, how.replace("freq", "frequencies"))
    table = np.stack([size * sin, size * cos], 2).reshape(n, d).astype(np.float32)
    found = found_in(tmp_path, pe=table)
    low, high = (float(end) for end in found.ranges["base"])
    assert (found.equal, found.arithmetic) == (1.0, "bfloat16")
    assert low <= base <= high
    assert high / low < 1.02
    assert (f"start={start}," in found.recipe) == bool(start)
    assert (f"step={step:g}," in found.recipe) == (step != 1)
    assert ("amplitude=1," in found.recipe) == (size == 1)


def test_positions_divided_by_a_factor_before_frequencies_were_rounded_are_a_linear_scaling(tmp_path):
    cos, sin = campaign_tables.computed(
        unknown_tables.powers(10000.0, 48, 48) / 2.5, np.arange(7.0, 27.0), "bfloat16 frequencies"
    )
    found = found_in(tmp_path, cos=cos, sin=sin)
    assert found.recipe.startswith("rope:dim=96,base=10000,scaling=linear,factor=2.5,len=20,start=7,")
    assert found.equal == 1.0


def test_a_vector_of_float16_frequencies_is_named_though_its_slowest_are_zero(tmp_path):
    w = unknown_tables.yarn(5e6, 128, 16.0, 4096).astype(np.float16)
    assert (w == 0).any()
    found = found_in(tmp_path, inv_freq=w)
    assert "dim=128,base=5000000,scaling=yarn,factor=16,original-max=4096" in found.recipe
    assert found.equal == 1.0


def test_cosines_alone_of_an_odd_base_are_placed_by_few_fast_columns(tmp_path):
    cos, _ = campaign_tables.exact(unknown_tables.powers(123456.7, 16, 16), np.arange(50.0, 83.0))
    found = found_in(tmp_path, cos=cos.astype(np.float32))
    assert found.confidence == "sure"
    assert "base=123456.7," in found.recipe
    assert "start=50," in found.recipe


def test_bfloat16_values_in_a_float16_file_are_named(tmp_path):
    pair = campaign_tables.exact(unknown_tables.powers(10000.0, 24, 24), np.arange(40.0))
    cos, sin = (unknown_tables.bf16(v.astype(np.float32)).astype(np.float16) for v in pair)
    found = found_in(tmp_path, cos=cos, sin=sin)
    assert found.recipe.startswith("rope:dim=48,base=10000,scaling=none,len=40,")
    assert found.equal > 0.99


def test_a_wrong_double_is_placed_beside_values_that_another_way_to_compute_gives(tmp_path):
    cos, sin = campaign_tables.exact(unknown_tables.powers(2.5e7, 40, 40), np.arange(127.0))
    cos[3, 5] = np.nextafter(cos[3, 5], 2)
    cos[104, 7] += 0.25
    made = unknown_tables.lay_out(cos, sin, "broadcast", "float64")
    found = found_in(tmp_path, **made)
    said = " ".join(found.notes)
    assert "as near as two ways to compute a double are" in said
    assert "2 of 20320 values differ, in row 104" in said


def test_rows_of_zeros_at_the_end_of_a_short_scaled_table_are_counted_and_placed(tmp_path):
    w = unknown_tables.yarn(500000.0, 96, 16.0, 32768)
    cos, sin = (v * (0.1 * math.log(16) + 1) for v in campaign_tables.exact(w, np.arange(7.0, 40.0)))
    cos[29:], sin[29:] = 0.0, 0.0
    found = found_in(tmp_path, cos=cos, sin=sin)
    said = " ".join(found.notes)
    assert "scaling=yarn,factor=16,original-max=32768" in found.recipe
    assert found.confidence == "likely"
    assert "384 of 3168 values differ" in said
    assert "row 29" in said
    assert "33 rows" not in said  # that are not equal to the bit, as two ways to compute a double leave them


def test_a_step_of_nearly_one_is_one(tmp_path):
    w = unknown_tables.powers(10007.0, 127, 128)
    cos, sin = campaign_tables.computed(w, 1000 + np.arange(23.0), "float32")
    found = found_in(tmp_path, pe=np.concatenate([cos, sin], 1).astype(np.float32))
    assert "base=10007,order=cos-sin,shift=1," in found.recipe
    assert "step=" not in found.recipe


def test_weights_of_a_truncated_normal_distribution_are_not_called_normal(tmp_path):
    drawn = np.random.default_rng(11).standard_normal(20000)
    cut = drawn[np.abs(drawn) < 2][:2400].reshape(300, 8) * 0.02
    assert "truncated normal" in " ".join(found_in(tmp_path, weight=cut).notes)
    assert "from a normal" in " ".join(found_in(tmp_path, weight=drawn[:2400].reshape(300, 8) * 0.02).notes)
