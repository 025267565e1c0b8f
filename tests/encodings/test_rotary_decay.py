"""xPos and RetNet: scales, decays, centres, refusals."""

import mpmath
import numpy as np
import pytest

from pecli import Table
from pecli.errors import PecliError
from pecli.inspect.statistics import preview
from tests.support.golden_cases import cases, values
from tests.support.oracle import matches, number, power


def scale(position, i, dim, base, centre):
    z = (mpmath.mpf(2 * i) / dim + mpmath.mpf("0.4")) / mpmath.mpf("1.4")
    return z ** ((number(position) - number(centre)) / number(base))


def test_the_scale_is_torchscales_lucidrains_and_x_transformers():
    entry = cases("absolute")["xpos__scale_16"]
    length = entry["config"]["length"]
    made = Table.parse(f"xpos:dim={entry['config']['head_dim']}", length=length, dtype="float64").read("scale")
    assert np.abs(made - values("absolute")["xpos__scale_16/true"]).max() <= 2.0**-52
    for name in ("rotary_embedding_torch_scale", "x_transformers_scale", "torchscale_scale"):
        assert np.abs(made - values("absolute")[f"xpos__scale_16/{name}"]).max() <= 2.0**-22


def test_the_centre_of_an_odd_length_is_cut_or_rounded_up():
    entry = cases("absolute")["xpos__scale_16"]
    ceil = Table.parse("xpos:dim=16,centre=ceil", length=11, dtype="float64").read("scale")
    floor = Table.parse("xpos:dim=16", length=11, dtype="float64").read("scale")
    assert (ceil[-entry["odd_length_11_torchscale_min_pos"]] == 1).all()
    assert (floor[5] == 1).all()


@pytest.mark.parametrize("centre", ["0", "2.5", "-100000"])
def test_the_scale_is_the_formula(centre):
    positions = ["0", "1", "-3", "255", "256", "257", "-256", "1000.25", "4095"]
    table = Table.parse(f"xpos:dim=8,centre={centre},scale-base=300", positions=",".join(positions), dtype="float64")
    with mpmath.workdps(60):
        assert matches(table.read("scale"), [[scale(p, i, 8, "300", centre) for i in range(4)] for p in positions])


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_scale_is_rounded_correctly_to_narrow_types(dtype):
    table = Table.parse("xpos:dim=64,centre=1000", length=2000, dtype=dtype)
    with mpmath.workdps(40):
        rows = range(0, 2000, 61)
        exact = np.array([[float(scale(p, i, 64, 512, 1000)) for i in range(32)] for p in rows])
    assert np.array_equal(table.read("scale")[::61], exact.astype(dtype))


def test_scales_beyond_the_type_are_zero_and_infinite_and_never_no_number():
    made = Table.parse("xpos:dim=8,centre=0,scale-base=1", positions="-1000000,-900,900,1000000", dtype="float64").read(
        "scale"
    )
    assert np.isinf(made[0, :3]).all()
    assert not made[3, :3].any()
    assert not np.isnan(made).any()


def test_cosines_and_sines_are_those_of_rope():
    xpos, rope = (Table.parse(f"{name}:dim=16", length=50) for name in ("xpos", "rope"))
    for part in ("cos", "sin"):
        assert np.array_equal(xpos.read(part), rope.read(part))


@pytest.mark.parametrize(
    ("layout", "order"), [("half", [0, 1, 2, 0, 1, 2]), ("interleaved", [0, 0, 1, 1, 2, 2]), ("concat", [0, 1, 2])]
)
def test_the_scale_is_laid_out_as_the_angles(layout, order):
    split = Table.parse("xpos:dim=6", length=30).read("scale")
    assert np.array_equal(Table.parse("xpos:dim=6", length=30, layout=layout).read("scale"), split[:, order])


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_any_rows_of_the_scale_equal_those_of_the_whole(dtype):
    whole = Table.parse("xpos:dim=32,centre=700", length=3000, dtype=dtype).read("scale")
    for start, length in ((1, 255), (250, 700), (2999, 1)):
        part = Table.parse("xpos:dim=32,centre=700", start=start, length=length, dtype=dtype).read("scale")
        assert np.array_equal(part, whole[start : start + length])
    listed = Table.parse("xpos:dim=32,centre=700", positions="2999,0,700,256", dtype=dtype).read("scale")
    assert np.array_equal(listed, whole[[2999, 0, 700, 256]])


def test_a_slice_needs_the_length_that_the_centre_comes_from():
    with pytest.raises(PecliError, match="max-len="):
        Table.parse("xpos:dim=8", start=5, length=5)
    whole = Table.parse("xpos:dim=8", length=10).read("scale")
    assert np.array_equal(Table.parse("xpos:dim=8,max-len=10", start=5, length=5).read("scale"), whole[5:])


def test_retnets_frequencies_run_down_to_one_over_the_base():
    with mpmath.workdps(60):
        w = [power("10000", mpmath.mpf(-i) / 3) for i in range(4)]
        expected = [[mpmath.cos(p * f) for f in w] for p in range(20)]
    assert matches(Table.parse("retnet:dim=8,heads=1,decay=none", length=20, dtype="float64").read("cos"), expected)


def gamma(head):
    return 1 - mpmath.mpf(2) ** (-5 - head)


def test_the_decay_by_distance_is_a_power_of_each_heads_gamma():
    with mpmath.workdps(60):
        expected = [[gamma(h) ** k for k in range(600)] for h in range(3)]
    assert matches(Table.parse("retnet:dim=4,heads=3", length=600, dtype="float64").read("decay"), expected)


def test_the_dense_decay_is_causal():
    n = 40
    made = Table.parse("retnet:dim=4,heads=2,decay=dense", length=n, dtype="float64").read("decay")
    with mpmath.workdps(60):
        for head in range(2):
            rows = [[gamma(head) ** (i - j) if j <= i else mpmath.mpf(0) for j in range(n)] for i in range(n)]
            assert matches(made[head], rows)
    by_distance = Table.parse("retnet:dim=4,heads=2", length=n, dtype="float64").read("decay")
    assert np.array_equal(made[1, n - 1, ::-1], by_distance[1])


def test_the_logarithm_of_the_decay_is_added_and_hides_what_comes_after():
    made = Table.parse("retnet:dim=4,heads=2,decay=dense,apply=log", length=5, dtype="float64").read("decay")
    assert np.isneginf(made[0][np.triu_indices(5, 1)]).all()
    with mpmath.workdps(60):
        assert made[1, 4, 1] == float(3 * mpmath.log(gamma(1)))
        assert made[1, 2, 2] == 0


def test_the_decay_of_late_heads_loses_nothing():
    """1 - 2^(-5 - h) has more digits than its logarithm is rounded to."""
    n, heads = 5, (40, 50, 64, 300, 550, 899)
    made = Table.parse("retnet:dim=4,heads=900,apply=log", length=n, dtype="float64").read("decay")
    with mpmath.workprec(2000):
        for head in heads:
            expected = [i * mpmath.log(1 - mpmath.mpf(2) ** (-5 - head)) for i in range(n)]
            assert made[head].tolist() == [float(v) for v in expected]


@pytest.mark.parametrize("decay", ["distance", "dense", "dense,apply=log"])
def test_any_rows_of_the_decay_equal_those_of_the_whole(decay):
    table = Table.parse(f"retnet:dim=4,heads=3,decay={decay}", length=30)
    (array,) = (a for a in table.arrays if a.name == "decay")
    whole = table.read_rows(["decay"], 0, array.rows)["decay"]
    for start, stop in ((0, 1), (7, 64), (29, 31), (array.rows - 5, array.rows)):
        assert np.array_equal(table.read_rows(["decay"], start, stop)["decay"], whole[start:stop])


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        ("xpos:dim=7", ["dim=7", "even"]),
        ("xpos:dim=8,centre=middle", ["middle", "floor or ceil"]),
        ("xpos:dim=8,centre=3,max-len=9", ["max-len=9", "centre=3"]),
        ("xpos:dim=8,scale-base=0", ["scale-base=0"]),
        ("xpos:dim=8,centre=1e300", ["centre=1e300", "2^53"]),
        ("retnet:dim=8", ["heads=N"]),
        ("retnet:dim=8,heads=901", ["heads=901", "from 1 to 900"]),
        ("retnet:dim=8,heads=2,decay=none,apply=log", ["apply=log", "decay=none"]),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(recipe, says):
    with pytest.raises(PecliError) as error:
        Table.parse(recipe, length=4)
    message = str(error.value)
    assert "\n" not in message
    for word in says:
        assert word in message, message


def test_a_decay_of_a_thousand_million_distances_is_previewed_by_the_few_that_show():
    parts = preview(Table.parse("retnet:dim=8,heads=2,max-len=1000000000", length=4))
    decay = next(part for part in parts if part.title == "decay")
    assert decay.column_labels[:3] == ["0", "1", "2"]
    assert [row[:3] for row in decay.cells] == [[1, 0.96875, 0.9384765625], [1, 0.984375, 0.968994140625]]


def test_a_preview_by_distance_stands_around_distance_0():
    (part,) = preview(Table.parse("alibi:heads=1", length=100, start=0, form="distance"), columns=4)
    assert part.column_labels == ["-2", "-1", "0", "1", "2"]
    assert [abs(value) for value in part.cells[0]] == [2 / 256, 1 / 256, 0, 1 / 256, 2 / 256]
