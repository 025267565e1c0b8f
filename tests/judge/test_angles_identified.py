"""Tables of angles that were not reduced, and vectors of frequencies, made by plain NumPy, whole and spoiled."""

import numpy as np
import pytest

import pecli

TABLE = ",layout=angles"


def powers(base, width, *, pairs=None, reach=None):
    """Return frequencies; RetNet's reach 1/base itself."""
    count = pairs or (width + 1) // 2
    return np.longdouble(base) ** (-np.arange(count) / np.longdouble(reach or width / 2))


def saved(tmp_path, values, name="angles"):
    np.save(tmp_path / f"{name}.npy", values)
    return pecli.identify(tmp_path / f"{name}.npy")


def angles(w, rows=129, start=0, dtype="float32"):
    return ((start + np.arange(rows))[:, None] * w).astype(dtype)


@pytest.mark.parametrize(
    ("start", "dtype"),
    [
        (0, "float16"),
        (2, "float16"),
        (-100, "float16"),
        *((s, d) for s in (0, 2, -100, 5000) for d in ("float32", "float64")),
    ],
)
def test_angles_are_named_wherever_they_begin(tmp_path, start, dtype):
    found = saved(tmp_path, angles(powers(10007, 96), start=start, dtype=dtype))
    begun = f",start={start}" if start else ""
    assert found.recipe == f"rope:dim=96,base=10007,scaling=none,len=129{begun},dtype={dtype}{TABLE}"
    if dtype == "float32":
        assert (found.confidence, found.equal, found.notes) == ("sure", 1.0, ())


def test_a_step_below_one_is_linear_scaling_and_an_odd_width_is_named(tmp_path):
    assert (
        "scaling=linear,factor=3,len=129,start=-17," in saved(tmp_path, angles(powers(1e6, 64) / 3, start=-17)).recipe
    )
    assert "rotary-dim=15,base=10000,scaling=none" in saved(tmp_path, angles(powers(1e4, 15))).recipe


def test_angles_of_retnet_are_its_own_and_no_long_base_of_another(tmp_path):
    found = saved(tmp_path, angles(powers(123457, 64, reach=31)))
    assert found.recipe.startswith("retnet:dim=64,heads=1,base=123457,")
    assert found.confidence == "sure"


def test_angles_of_a_framework_are_compared_with_what_its_arithmetic_gives(tmp_path):
    exponents = np.arange(0, 64, 2, dtype=np.float32) / np.float32(64)
    w = np.float32(1) / np.power(500000.0, exponents.astype(np.float64)).astype(np.float32)
    table = np.arange(300, dtype=np.float32)[:, None] * w
    found = saved(tmp_path, table)
    assert found.confidence == "sure"
    assert found.recipe.endswith(f"dtype=float32{TABLE},arithmetic=float32")
    assert found.arithmetic == "float32"
    made = pecli.table(found.recipe)["angles"]
    assert np.array_equal(made, table)


def test_a_half_of_the_columns_at_rest_is_a_share_that_rotates(tmp_path):
    w = np.concatenate([powers(10000, 64, pairs=16), np.zeros(16)])
    assert "rope:dim=64,partial=0.5,base=10000,scaling=proportional" in saved(tmp_path, angles(w)).recipe


def change(table, how):
    rng = np.random.default_rng(7)
    if how == "value":
        table[5, 3] = 70
        return table, 1
    if how == "nan":
        table[40, 1] = np.nan
        return table, 1
    if how == "rows":
        table[[9, 44, 100]] = rng.normal(size=(3, table.shape[1]))
        return table, 3 * table.shape[1]
    if how == "column":
        table[:, 12] = -table[:, 12]
        return table, len(table) - 1
    if how == "exchanged":
        table[[20, 90]] = table[[90, 20]]
        return table, 2 * table.shape[1]
    table[100:] = 0
    return table, table.shape[1] * 29


@pytest.mark.parametrize("how", ["value", "nan", "rows", "column", "exchanged", "tail"])
def test_spoiled_angles_are_named_and_what_differs_is_counted(tmp_path, how):
    table, wrong = change(angles(powers(500000, 64)), how)
    found = saved(tmp_path, table)
    assert found.recipe == f"rope:dim=64,base=500000,scaling=none,len=129,dtype=float32{TABLE}"
    assert found.confidence == "likely"
    assert round((1 - found.equal) * table.size) == wrong
    assert any("differ" in note for note in found.notes)


def test_angles_in_degrees_or_noise_are_no_rotation_by_radians(tmp_path):
    assert saved(tmp_path, np.degrees(angles(powers(10000, 64), dtype="float64"))).recipe is None
    assert saved(tmp_path, np.random.default_rng(3).normal(size=(129, 32)).cumsum(axis=0)).recipe is None


NOTE = "these are the frequencies of its pairs"


def test_a_vector_of_an_odd_width_or_of_retnet_has_its_short_base(tmp_path):
    found = saved(tmp_path, powers(10000, 33).astype(np.float32))
    assert found.recipe == "rope:dim=34,rotary-dim=33,base=10000,scaling=none"
    assert (found.confidence, found.residual) == ("sure", 0.0)
    found = saved(tmp_path, powers(10000, 64, reach=31).astype(np.float32))
    assert found.recipe == "retnet:dim=64,heads=1,base=10000,decay=none"
    assert found.confidence == "sure"


@pytest.mark.parametrize(
    ("twice", "words"),
    [
        (lambda w: np.concatenate([w, w]), "they stand there twice, in two halves"),
        (lambda w: np.repeat(w, 2), "each stands there twice in turn"),
        (lambda w: w, None),
    ],
)
def test_a_vector_may_hold_each_frequency_twice(tmp_path, twice, words):
    found = saved(tmp_path, twice(powers(500000, 64).astype(np.float32)))
    assert found.recipe == "rope:dim=64,base=500000,scaling=none"
    assert found.confidence == "sure"
    assert (words in found.notes) == (words is not None)


def test_zeros_at_the_end_of_a_vector_are_pairs_that_rest(tmp_path):
    found = saved(tmp_path, np.concatenate([powers(8e6, 96, pairs=24), np.zeros(24)]).astype(np.float32))
    assert "dim=96,partial=0.5,base=8000000,scaling=proportional" in found.recipe


def test_frequencies_in_turns_are_no_scaling_of_seven_digits(tmp_path):
    assert saved(tmp_path, (powers(500000, 64) / (2 * np.pi)).astype(np.float32)).recipe is None


def test_frequencies_that_a_library_was_a_unit_off_with_are_counted(tmp_path):
    w = powers(500000, 64).astype(np.float32)
    w[[5, 9]] = np.nextafter(w[[5, 9]], np.float32(1))
    found = saved(tmp_path, w)
    assert found.confidence == "likely"
    assert any(note.startswith("2 of 32 values differ by less than a millionth") for note in found.notes)
