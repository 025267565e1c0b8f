"""A table as a NumPy user meets it, and what fills it: once for all threads, with a magnitude for each pair."""

import threading
import time
from decimal import Decimal

import mpmath
import numpy as np
import pytest

import pecli
from pecli.errors import BadParameter, UnknownName
from pecli.numbers.positions import Positions
from pecli.spec.plans import Waves, rotation
from pecli.spec.recipe import Recipe
from pecli.tables.fill import filler, waves
from pecli.tables.request import Extent, Request


def test_it_is_a_mapping_of_names_to_arrays():
    table = pecli.table("rope:dim=4,len=3")
    assert (list(table), table.keys(), "cos" in table, "pe" in table) == (["cos", "sin"], ("cos", "sin"), True, False)
    assert table["cos"].shape == (3, 2)
    assert table["cos"][0].tolist() == [1.0, 1.0]
    assert {name: values.tobytes() for name, values in dict(table).items()} == {
        name: table.read(name).tobytes() for name in ("cos", "sin")
    }
    with pytest.raises(UnknownName, match="did you mean 'cos'"):
        table["cosine"]


def test_its_repr_says_recipe_shape_and_type():
    said = "<Table rope:dim=4,len=3,dtype=float16,layout=half: cos (3, 4) float16, sin (3, 4) float16>"
    assert repr(pecli.table("rope:dim=4,len=3,dtype=float16,layout=half")) == said


def test_one_array_is_an_array_and_several_are_refused():
    one = np.asarray(pecli.table("none:dim=2,len=3"))
    assert (one.dtype, one.tolist()) == (np.float32, [[0.0, 0.0]] * 3)
    with pytest.raises(BadParameter, match="arrays=cos, sin are several: choose one by its name"):
        np.asarray(pecli.table("rope:dim=4,len=3"))


@pytest.mark.parametrize(
    ("text", "name", "axis", "rows", "stated"),
    [
        ("rope:dim=8,start=5,step=2", "sin", 0, 40, True),
        ("learned:dim=4,max-len=40", "pe", 0, 40, True),
        ("rope2d:dim=8,grid=6x8", "cos", 0, 48, False),
        ("alibi:heads=3", "bias", 1, 40, False),
        ("shaw:dim=4,clip=3", "index", 0, 40, False),
        ("transformer-xl:dim=4", "index", 0, 40, False),
        ('conditional:dim=4,content="none:dim=4"', "pe", 0, 40, False),
    ],
)
def test_a_slice_holds_the_rows_of_the_whole(text, name, axis, rows, stated):
    whole = pecli.table(text, length=None if rows == 48 else rows)
    assert whole.rows == rows
    for start, stop in ((0, rows), (7, 12), (rows - 1, rows)):
        part = whole[start:stop]
        expected = np.ascontiguousarray(whole[name].take(range(start, stop), axis=axis))
        assert part.rows == stop - start
        assert part[name].tobytes() == expected.tobytes()
        if stated:
            assert pecli.table(part.recipe)[name].tobytes() == expected.tobytes()
        else:
            assert part.recipe is None
    assert whole[10:20][2:4][name].tobytes() == whole[12:14][name].tobytes()


@pytest.mark.parametrize("rows", [slice(3, 3), slice(0, 4, 2), slice(9, 12)])
def test_a_slice_without_rows_or_with_gaps_is_refused(rows):
    with pytest.raises(BadParameter, match="must be neighbouring rows, such as 0:10, of the 5 that there are"):
        pecli.table("rope:dim=4,len=5")[rows]


def test_frequencies_are_made_once_for_all_threads(monkeypatch):
    made, lock, wheel = [], threading.RLock, filler.FrequencySet

    def slow_lock():
        time.sleep(0.02)  # so that threads which would each make one do
        return lock()

    def slow_frequencies(*given, **options):
        made.append(threading.current_thread().name)
        time.sleep(0.02)
        return wheel(*given, **options)

    table = pecli.table("rope:dim=8,len=64")
    monkeypatch.setattr(threading, "RLock", slow_lock)
    monkeypatch.setattr(filler, "FrequencySet", slow_frequencies)
    out = [{"cos": np.empty((8, 4), np.float32)} for _ in range(8)]
    threads = [threading.Thread(target=table.fill, args=(8 * k, 8 * k + 8, out[k])) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    np.testing.assert_array_equal(np.concatenate([o["cos"] for o in out]), table["cos"])


def filled(plan, count, layout="split"):
    """Rows of a plan, by its filler alone: it knows no table."""
    recipe = Recipe.parse(f"rope:dim={2 * plan.width}")
    made = waves.WaveFiller(plan, recipe, Extent(Positions.arange(count), 0, count), Request(layout=layout))
    out = {a.name: np.empty(a.shape, np.float32) for a in made.arrays}
    made.fill(0, count, out, 1)
    return out


def test_a_magnitude_may_be_a_number_for_each_pair():
    frequencies = (Decimal(1), Decimal("0.5"), Decimal("0.01"), Decimal("0.001"))
    sizes = (Decimal(1), Decimal("1.25"), Decimal("1.25"), Decimal("0.1"))
    plan = rotation(frequencies, sizes)
    assert plan.magnitudes == sizes
    assert plan.frequencies == frequencies
    for layout, at in (("split", range(4)), ("half", [4, 5, 6, 7])):
        found = filled(plan, 50, layout)
        for name, function in (("cos", mpmath.cos), ("sin", mpmath.sin)):
            for i, column in enumerate(at):
                w, size = mpmath.mpf(str(frequencies[i])), mpmath.mpf(str(sizes[i]))
                expected = [float(size * function(p * w)) for p in range(50)]
                np.testing.assert_array_equal(found[name][:, column], np.float32(expected))


def test_who_needs_one_magnitude_is_told_where_they_differ():
    assert rotation((Decimal(1), Decimal(2)), Decimal("1.5")).magnitude == Decimal("1.5")
    assert Waves(2, ()).magnitude == 1
    with pytest.raises(BadParameter, match=r"magnitude=1 to 2 differs from pair to pair"):
        _ = rotation((Decimal(1), Decimal(2)), (Decimal(1), Decimal(2))).magnitude
    with pytest.raises(BadParameter, match="must be one number, or 2, one for each pair"):
        rotation((Decimal(1), Decimal(2)), (Decimal(1),))
