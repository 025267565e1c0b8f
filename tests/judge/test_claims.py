"""What identification claims is true of every value of the file: the ones it did not look at first, too."""

import time

import numpy as np
import pytest

import pecli
from pecli import Table, open_table
from pecli.judge.identify import identify
from tests.support import campaign_tables, unknown_tables
from tests.support.unknown_tables import bf16


def found_in(tmp_path, **arrays):
    np.savez(tmp_path / "t.npz", **arrays)
    with open_table(tmp_path / "t.npz") as table:
        return identify(table)


def test_an_infinite_double_is_not_as_near_as_another_way_to_compute(tmp_path):
    n = np.arange(60.0)
    bias = np.exp(-((n - n[:, None]) ** 2) / 18)[None]
    bias[0, 40, 7] = np.inf
    found = found_in(tmp_path, bias=bias)
    assert found.recipe.startswith("gaussian:heads=1,sigma=3,")
    assert "one value differs, at [0, 40, 7]: inf" in " ".join(found.notes)


def test_rows_exchanged_far_out_in_a_table_of_doubles_are_counted(tmp_path):
    angle = np.arange(2000.0)[:, None] * 10000.0 ** (-np.arange(64) / 64)
    table = np.concatenate([np.sin(angle), np.cos(angle)], axis=1)
    table[[900, 1700]] = table[[1700, 900]]
    said = " ".join(found_in(tmp_path, pe=table).notes)
    assert "values differ" in said
    assert "900" in said
    assert "1700" in said


def test_values_next_to_the_recipes_are_counted_and_placed(tmp_path):
    table = np.array(Table.parse("rope:dim=8,len=100,layout=concat")["cos_sin"])
    for row, column in ((10, 2), (50, 6), (51, 7)):
        table[row, column] = np.nextafter(table[row, column], np.float32(9))
    found = found_in(tmp_path, cos_sin=table)
    assert any(note.startswith("3 of 800 values differ") for note in found.notes)


def test_the_column_of_an_odd_width_is_compared_in_any_arithmetic(tmp_path):
    angle = np.arange(65.0)[:, None] * 160000.0 ** (-np.arange(3) / 3)
    table = np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(65, 6)[:, :5].astype(np.float16)
    table[40, 4] = 0.75
    found = found_in(tmp_path, pe=table)
    assert found.confidence == "likely"
    assert "40" in " ".join(found.notes)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_range_is_claimed_whose_ends_give_other_values(tmp_path, dtype):
    angle = np.arange(700.0)[:, None] * 1771.0 ** (-np.arange(64) / 64)
    table = (0.02 * np.concatenate([np.sin(angle), np.cos(angle)], axis=1).astype(dtype)).astype(dtype)
    found = found_in(tmp_path, pe=table)
    for end in found.ranges.get("base", ()):
        turned = np.arange(700.0)[:, None] * float(end) ** (-np.arange(64) / 64)
        assert np.abs(np.sin(turned) * 0.02 - table[:, :64]).max() < 1e-5


@pytest.mark.parametrize("seed", range(4))
def test_two_random_frequencies_are_no_base_and_step(tmp_path, seed):
    w = np.random.default_rng(seed).uniform(0.1, 3, 2)
    angle = np.arange(500.0)[:, None] * w
    found = found_in(tmp_path, pe=np.concatenate([np.sin(angle), np.cos(angle)], axis=1))
    assert "base=" not in (found.recipe or "")


def test_a_size_of_nearly_one_is_one_where_a_type_cannot_tell(tmp_path):
    angle = np.arange(-16.0, 2031)[:, None] * 150000.0 ** (-np.arange(0, 512, 2) / 511)
    table = np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(2047, -1)[:, :511]
    found = found_in(tmp_path, pe=bf16(table.astype(np.float32)))
    assert "base=150000," in found.recipe
    assert "amplitude=1," in found.recipe


def test_a_size_of_one_over_a_root_is_told(tmp_path):
    angle = np.arange(512.0, 1512)[:, None] * 500000.0 ** (-np.arange(4) / 4)
    table = np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(1000, 8) / np.sqrt(8)
    found = found_in(tmp_path, pe=table.astype(np.float32))
    assert "amplitude=0.353553390593273" in found.recipe


def test_a_third_of_the_positions_is_a_factor_of_three(tmp_path):
    angle = np.arange(300.0)[:, None] / 3 * 100.0 ** (-np.arange(16) / 16)
    found = found_in(tmp_path, cache=np.concatenate([np.sin(angle), np.cos(angle)], axis=1).astype(np.float32))
    assert found.recipe.startswith("rope:dim=32,base=100,scaling=linear,factor=3,")


def fading(rows, dim, base=512):
    """xPos: cosines, sines and scales, in double precision."""
    angle = np.arange(float(rows))[:, None] * 10000.0 ** (-np.arange(0, dim, 2) / dim)
    z = (np.arange(0, dim, 2) / dim + 0.4) / 1.4
    return {
        "cos": np.cos(angle),
        "sin": np.sin(angle),
        "scale": z ** ((np.arange(rows)[:, None] - rows // 2) / base),
    }


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
def test_an_array_beside_cosines_and_sines_is_accounted_for(tmp_path, kind):
    narrow = bf16 if kind == "bfloat16" else lambda values: values.astype(kind)
    made = {name: narrow(values.astype(np.float32))[None] for name, values in fading(256, 64).items()}
    assert found_in(tmp_path, **made).recipe.startswith("xpos:dim=64,base=10000,scale-base=512,")
    made["sin"][0, 200, 3] = 0.25
    said = repr(found_in(tmp_path, **made))
    assert "xpos:dim=64,base=10000,scale-base=512," in said
    assert "200" in said


def test_an_array_that_a_recipe_does_not_account_for_is_not_passed_over(tmp_path):
    made = fading(64, 16)
    made["scale"] = np.random.default_rng(1).random((64, 8))
    found = found_in(tmp_path, **{name: values.astype(np.float32) for name, values in made.items()})
    assert found.recipe.startswith("rope:dim=16,")
    assert "the array 'scale' was not compared" in found.notes


def test_a_decay_of_many_rows_keeps_its_shape(tmp_path):
    angle = np.arange(200.0)[:, None] * 10000.0 ** (-np.arange(32) / 31)
    far = np.arange(200)[:, None] - np.arange(200)
    decay = np.where(far < 0, 0, (1 - 2.0 ** (-5 - np.arange(4)))[:, None, None] ** np.maximum(far, 0))
    made = {"cos": np.cos(angle), "sin": np.sin(angle), "decay": decay}
    found = found_in(tmp_path, **{name: bf16(values.astype(np.float32)) for name, values in made.items()})
    assert found.recipe.startswith("retnet:dim=64,heads=4,base=10000,decay=dense,")


@pytest.mark.parametrize("leading", [(1,), (1, 1)])
def test_a_stack_behind_axes_of_length_1_is_a_stack(tmp_path, leading):
    pair = Table.parse("rope:dim=20,base=518752,len=61")
    stack = np.stack([pair["cos"], pair["sin"]])
    assert found_in(tmp_path, array=stack.reshape(*leading, *stack.shape)).recipe.startswith("rope:dim=20,base=518752,")


def test_channels_before_rows_and_columns_are_those_of_a_grid(tmp_path):
    table = np.array(Table.parse("detr:dim=64,grid=5x9,temperature=20,normalize=true")["pe"])
    found = found_in(tmp_path, pos=table.T.reshape(1, 64, 5, 9).copy())
    assert found.recipe.startswith("detr:dim=64,grid=5x9,temperature=20,normalize=true,")
    assert found.notes[0] == "channels come before rows and columns"


def test_few_columns_on_their_side_are_a_table_in_little_time(tmp_path):
    pair = Table.parse("rope:dim=6,base=500000,len=3000,arithmetic=float32")
    began = time.process_time()
    found = found_in(tmp_path, cos=pair["cos"].T.copy(), sin=pair["sin"].T.copy())
    assert time.process_time() - began < 10
    assert found.recipe.startswith("rope:dim=6,base=500000,")
    assert found.notes[0] == "rows and columns are exchanged"


def test_a_base_that_float32_steps_explain_is_better_than_one_of_seven_digits(tmp_path):
    exponents = (np.arange(0, 8, 2) / 8).astype(np.float32).astype(np.float64)
    w = np.float32(1) / (100.0**exponents).astype(np.float32)
    found = found_in(tmp_path, inv_freq=w)
    assert found.recipe.startswith("rope:dim=8,base=100,")


def test_what_differs_is_said_where_several_recipes_are_as_near(tmp_path):
    w = (69.6 ** (-np.arange(6) / 6)).astype(np.float32)
    w[5] = 0.02590239
    found = found_in(tmp_path, inv_freq=w)
    assert found.confidence in ("likely", "unknown")
    assert found.equal == 1.0 or not found.recipe or any("differs, at [5]" in note for note in found.notes)


def test_a_base_of_few_digits_that_misses_values_of_a_narrow_type_has_a_range_that_holds_the_true_one(tmp_path):
    exponents = (np.arange(0, 12, 2) / 12).astype(np.float32).astype(np.float64)
    w = np.float32(1) / (123456.7**exponents).astype(np.float32)
    angle = (np.arange(-100, 8092, dtype=np.float32)[:, None] * w).astype(np.float64)
    found = found_in(tmp_path, cache=bf16(np.concatenate([np.sin(angle), np.cos(angle)], 1).astype(np.float32)))
    low, high = map(float, found.ranges["base"])
    assert low <= 123456.7 <= high


def test_the_frequencies_beside_cosines_and_sines_are_compared_too():
    table = Table.parse("rope:dim=16,len=64")
    arrays = {name: np.array(table[name]) for name in ("cos", "sin")}
    w = 10000.0 ** (-np.arange(8) / 8)
    right = pecli.identify({**arrays, "inv_freq": w.astype(np.float32)})
    wrong = pecli.identify({**arrays, "inv_freq": (w / 2).astype(np.float32)})
    assert right.confidence == "sure"
    said = "the array 'inv_freq' holds other numbers than the recipe's frequencies"
    assert (wrong.confidence, wrong.notes[-1]) == ("likely", said)


@pytest.mark.parametrize(("factor", "start"), [(3.0, -100), (1.5, 100)])
@pytest.mark.parametrize("joined", [True, False])
def test_a_factor_is_said_where_neither_step_nor_start_is_a_decimal(tmp_path, factor, start, joined):
    w = (unknown_tables.torch_frequencies(500000.0, 64) / np.float32(factor)).astype(np.float32)
    angle = (np.arange(start, start + 128, dtype=np.float32)[:, None] * w).astype(np.float64)
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    found = found_in(tmp_path, **({"cache": np.concatenate([cos, sin], 1)} if joined else {"cos": cos, "sin": sin}))
    assert f"rope:dim=64,base=500000,scaling=linear,factor={factor:g},len=128,start={start}," in found.recipe
    assert (found.confidence, found.equal) == ("sure", 1.0)


def test_frequencies_that_are_not_the_recipes_own_are_counted_in_units(tmp_path):
    w = np.nextafter(unknown_tables.torch_frequencies(10000.0, 64), np.float32(2))
    angle = (np.arange(300, dtype=np.float32)[:, None] * w).astype(np.float64)
    found = found_in(tmp_path, cos=np.cos(angle).astype(np.float32), sin=np.sin(angle).astype(np.float32))
    assert found.equal == 1.0
    assert "float32 frequencies up to 2 units in the last place from the recipe's" in " ".join(found.notes)


def test_what_an_arithmetic_gives_has_the_aliases_of_what_is_exact(tmp_path):
    angle = (np.arange(300, dtype=np.float32)[:, None] * unknown_tables.torch_frequencies(10007.0, 32)).astype(float)
    found = found_in(tmp_path, freqs_cis=(np.cos(angle) + 1j * np.sin(angle)).astype(np.complex64))
    assert found.arithmetic == "float32"
    assert {other.split(":")[0] for other in (found.recipe, *found.aliases)} >= {"complex", "rope"}
    found = found_in(tmp_path, cache=np.concatenate([np.cos(angle), np.sin(angle)], 1).astype(np.float32))
    assert {other.split(":")[0] for other in (found.recipe, *found.aliases)} >= {"sinusoidal", "rope"}


def test_the_last_sine_of_an_odd_width_has_a_frequency_of_its_own_units(tmp_path):
    w = (1 / np.float32(1771) ** (np.arange(0, 65, 2, dtype=np.float32) / np.float32(65))).astype(np.float32)
    w[-1] = np.nextafter(np.nextafter(w[-1], np.float32(2)), np.float32(2))
    angle = (np.arange(100, 228, dtype=np.float32)[:, None] * w).astype(np.float64)
    pe = np.zeros((128, 65), np.float32)
    pe[:, 0::2], pe[:, 1::2] = np.sin(angle), np.cos(angle[:, :-1])
    found = found_in(tmp_path, pe=pe)
    assert "base=1771," in found.recipe
    assert found.equal == 1.0


def test_a_row_that_the_recipe_leaves_blank_does_not_differ(tmp_path):
    angle = (np.arange(50, dtype=np.float32)[:, None] * unknown_tables.torch_frequencies(16.0, 128)).astype(float)
    pe = np.stack([np.sin(angle), np.cos(angle)], -1).reshape(50, 128).astype(np.float32)
    pe[25] = 0
    found = found_in(tmp_path, pe=pe)
    assert "base=16,order=interleaved," in found.recipe
    assert "pad-row=25," in found.recipe
    assert (found.equal, " differ" in " ".join(found.notes)) == (1.0, False)


def test_no_invented_base_explains_rows_after_a_lost_one(tmp_path):
    w = unknown_tables.powers(8e6, 127.5, 128)
    cos, sin = campaign_tables.exact(w, 2 * np.arange(1106.0))
    pe = np.stack([sin, cos], -1).reshape(1106, 256)[:, :255].astype(np.float32)
    found = found_in(tmp_path, pe=np.delete(pe, 484, 0))
    assert "base=8000000," in found.recipe
    assert "row 484 is missing, and the last one is one more" in found.notes


def test_columns_of_angles_out_of_order_are_no_slopes(tmp_path):
    angles = np.outer(np.arange(64.0), unknown_tables.powers(10000.0, 32, 32)).astype(np.float32)
    angles[:, [3, 20]] = angles[:, [20, 3]]
    found = found_in(tmp_path, angles=angles)
    assert "slope-values" not in (found.recipe or "")


def test_a_shorter_base_that_gives_less_does_not_stand_for_the_right_one(tmp_path):
    w = np.concatenate([unknown_tables.powers(123456.7, 32, 32)[:8], np.zeros(24)])
    cos, sin = campaign_tables.exact(w, np.arange(128.0))
    cos, sin = (np.nextafter(part, 2) for part in (cos, sin))  # as another library's cosine
    found = found_in(tmp_path, cos=np.concatenate([cos, cos], 1), sin=np.concatenate([sin, sin], 1))
    assert "dim=64,partial=0.25,base=123456.7,scaling=proportional" in found.recipe


def test_a_base_that_many_units_make_fit_is_not_sure(tmp_path):
    w = unknown_tables.powers(77777.0, 63, 64).astype(np.float32)
    angle = (np.arange(0, 960, 10, dtype=np.float32)[:, None] * w).astype(np.float64)
    pe = np.float32(128**0.5) * np.concatenate([np.sin(angle), np.cos(angle)], 1).astype(np.float32)
    np.save(tmp_path / "pe.npy", bf16(pe))
    found = pecli.identify(tmp_path / "pe.npy")
    said = (found.recipe, *found.notes)
    assert found.confidence == "likely" or "base=77777,order=sin-cos,shift=1" in found.recipe
    assert "base=77777,order=sin-cos,shift=1" in " ".join(said)
