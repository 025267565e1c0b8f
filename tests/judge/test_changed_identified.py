"""Tables that somebody changed after they were computed are named, with what was done to them; made by plain NumPy."""

import numpy as np
import pytest

from pecli import identify

GRID = (8, 12)


def power(width):
    return 10000.0 ** (-np.arange(0, width, 2) / width)


def angles(dim=32):
    """Of rows and columns of a grid."""
    y, x = (axis.reshape(-1, 1) for axis in np.indices(GRID))
    return np.concatenate([y * power(dim // 2), x * power(dim // 2)], 1)


def rotary(kind="f4"):
    return {"cos": np.cos(angles()).astype(kind), "sin": np.sin(angles()).astype(kind)}


def image(kind="f4"):
    """MAE's table of the same grid."""
    half = angles(64)[:, :16], angles(64)[:, 16:]
    return np.concatenate([f(a) for a in half[::-1] for f in (np.sin, np.cos)], 1).astype(kind)


def alibi(heads=8, n=24):
    slopes = 2.0 ** (-8 * np.arange(1, heads + 1) / heads)
    return (-slopes[:, None, None] * np.abs(np.arange(n) - np.arange(n)[:, None])).astype("f4")


def exchanged(values):
    found = values.copy()
    found[:, [3, 9]] = values[:, [9, 3]]
    return found


def column(by):
    def change(values):
        found = values.copy()
        found[..., 5] *= np.float32(by)
        return found

    return change


def twice(values):
    rows = values.reshape(-1, values.shape[-1])
    return np.concatenate([rows[:31], rows[30:-1]]).reshape(values.shape)


CHANGES = {
    "columns 3 and 9 are exchanged": exchanged,
    "column 5 has the other sign": column(-1),
    "column 5 was multiplied by 1.1": column(1.1),
    "every value was multiplied by 22.6": lambda values: values * np.float32(22.6),
    "every value was multiplied by the square root of 32": lambda values: values * np.float32(32**0.5),
    "every value has been raised by 0.1": lambda values: values + np.float32(0.1),
    "every value has been raised by -0.5": lambda values: values - np.float32(0.5),
    "row 30 stands twice, and all rows after it one later": twice,
}
PAIR = "rope2d:dim=32,grid=8x12,base=10000"
SAME = (PAIR, "rope-axes:axes=16+16,grid=8x12,base=10000")


@pytest.mark.parametrize("said", CHANGES)
@pytest.mark.parametrize("name", ["cos", "sin"])
def test_one_array_of_a_pair_may_have_been_changed(said, name):
    arrays = rotary()
    arrays[name] = CHANGES[said](arrays[name])
    found = identify(arrays)
    assert found.confidence == "likely"
    assert found.recipe.startswith((PAIR, "rope-axes:axes=16+16,grid=8x12,base=10000"))
    if said.startswith("column 5"):  # most values of every row are as they were
        assert found.recipe.startswith(
            ("rope2d:dim=32,grid=8x12,base=10000", "rope-axes:axes=16+16,grid=8x12,base=10000")
        )
        assert any(note.endswith("of 3072 values differ, in column 5") for note in found.notes)
        return
    assert any(f"of the array '{name}' {said}" in note for note in found.notes)
    wrong = np.count_nonzero(arrays[name] != rotary()[name])
    assert any(f"{wrong} of {2 * arrays[name].size} values differ" in note for note in found.notes)


@pytest.mark.parametrize("said", ["every value was multiplied by 22.6", "every value has been raised by 0.1"])
@pytest.mark.parametrize(("values", "name"), [(image(), "sincos2d:dim=64,grid=8x12"), (alibi(), "alibi:heads=8")])
def test_what_all_values_were_changed_by_is_said(said, values, name):
    changed = CHANGES[said](values)
    found = identify({"array": changed})
    by_itself = name == "alibi:heads=8" and "multiplied" in said  # is an ALiBi of other slopes
    assert found.recipe.startswith(name)
    assert by_itself or any(said in note for note in found.notes)
    assert found.confidence == "likely"


@pytest.mark.parametrize("at", [3, 40, 90])
def test_a_row_that_is_missing_is_found(at):
    found = identify({"cos": np.delete(rotary()["cos"], at, 0)})
    assert found.recipe.startswith(PAIR)
    assert f"row {at} is missing" in found.notes
    assert (found.equal, found.residual) == (None, None)  # nothing is counted where a row is missing


def test_a_row_that_is_missing_is_found_in_lines_and_by_distance():
    x = np.linspace(-1, 1, 65)[:, None]
    parts = np.stack([f(x * 2.0 ** np.arange(6) * np.pi) for f in (np.sin, np.cos)], -1).reshape(65, -1)
    found = identify({"a": np.delete(np.concatenate([x, parts], 1).astype("f4"), 41, 0)})
    assert found.recipe.startswith("nerf:bands=6,grid=65")
    assert any(note.startswith("row 41 is missing") for note in found.notes)
    index = np.clip(np.arange(32) - np.arange(32)[:, None], -8, 8) + 8
    found = identify({"a": np.delete(index, 11, 0)})
    assert found.recipe.startswith("shaw:dim=1,clip=8,right=8")
    assert "row 11 is missing" in found.notes
    kerple = -0.7 * np.log1p(
        0.25 * np.array([1, 2, 3])[:, None, None] * np.abs(np.subtract.outer(*[np.arange(20)] * 2))
    )
    rows = kerple.reshape(-1, 20)
    lost = np.concatenate([np.delete(rows, 27, 0), rows[-1:]]).reshape(kerple.shape).astype("f4")
    found = identify({"a": lost})
    assert found.recipe.startswith("kerple:heads=3,kind=log,r1=0.7+0.7+0.7,r2=0.25+0.5+0.75")
    assert "row [1, 7] is missing, and the last one stands twice" in found.notes


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_columns_that_stand_twice_may_be_changed_once(layout):
    sin = rotary()["sin"]
    values = np.concatenate([sin, sin], 1) if layout == "half" else np.repeat(sin, 2, 1)
    found = identify({"a": exchanged(values)})
    assert found.recipe.startswith(SAME)
    assert f"layout={layout}" in found.recipe
    assert "columns 3 and 9 are exchanged" in found.notes


def test_both_arrays_may_have_been_changed_and_the_base_be_unusual():
    w = 10007.0 ** (-np.arange(0, 16, 2) / 16)
    y, x = (axis.reshape(-1, 1) for axis in np.indices(GRID))
    turned = np.concatenate([y * w, x * w], 1)
    found = identify({"a": 8 * np.stack([np.cos(turned), np.sin(turned)]).astype("f4")})
    assert "base=10007" in found.recipe
    for name in ("cos", "sin"):
        assert any(f"of the array '{name}' every value was multiplied by 8" in note for note in found.notes)


def test_noise_is_no_change():
    rng = np.random.default_rng(2)
    arrays = rotary()
    assert identify({"a": rng.permutation(arrays["cos"].reshape(-1)).reshape(96, 16)}).recipe is None
    assert identify({"a": rng.standard_normal((96, 32)).astype("f4")}).recipe is None
    arrays["cos"][:, 2:8] = rng.standard_normal((96, 6))
    found = identify(arrays)
    assert not any("column" in note for note in found.notes)


@pytest.mark.parametrize(
    "values",
    [
        np.full((33, 33), np.inf, "f4"),
        np.ones((2, 3, 4, 5), "c8"),
        np.ones((64, 2)) * np.arange(64)[:, None],
        np.full((3, 3), np.nan),
        np.full((2, 2), -np.inf),
        np.zeros((0, 4)),
        np.arange(4)[None],
    ],
)
def test_nothing_makes_it_crash(values):
    assert identify({"a": values}).confidence in ("sure", "likely", "unknown")
    assert identify({"cos": values, "sin": values}).confidence in ("sure", "likely", "unknown")


def test_a_neighbour_of_a_changed_narrow_table_is_not_named():
    """Sandwich of width 96 and base 1000 is within a unit of width 128 in most values."""
    d = np.abs(np.arange(64) - np.arange(64)[:, None])
    wanted = (np.cos(d[..., None] * 10000.0 ** (-np.arange(1, 65) / 64)).sum(-1) - 64) / (
        2 * np.arange(1, 5)[:, None, None]
    )
    rows = wanted.astype("f2").reshape(-1, 64)
    found = identify({"a": np.concatenate([rows[:154], rows[153:-1]]).reshape(4, 64, 64)})
    assert found.recipe is None or "width=128,base=10000" in found.recipe


def test_a_row_that_is_missing_where_another_one_follows():
    p = np.arange(64)[:, None] * power(16)
    rows = np.delete(np.concatenate([np.cos(p), np.sin(p)], 1), 25, 0).astype("f4")
    found = identify({"cos": rows[:, :8], "sin": rows[:, 8:]})
    assert not any("stands twice" in note for note in found.notes)


def test_coordinates_of_a_window_may_be_changed_in_a_column():
    y, x = np.meshgrid(np.arange(-4, 5) / 4, np.arange(-8, 9) / 8, indexing="ij")
    table = np.stack([np.sign(a) * np.log2(1 + 8 * np.abs(a)) / 3 for a in (y, x)], -1)[None]
    table[..., 1] *= 1.1
    assert identify({"a": table}).confidence in ("unknown", "likely")
