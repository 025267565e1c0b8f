"""Rotary tables of grids and of several position streams: values, orders, layouts, refusals."""

from decimal import Decimal

import mpmath
import numpy as np
import pytest

from pecli import Recipe, Table
from pecli.engine import widen
from pecli.errors import PecliError
from pecli.spec.plans import Band, Waves
from tests.support.oracle import matches, power, waves


def read(recipe, dtype="float64", **options):
    table = Table.parse(recipe, dtype=dtype, **options)
    return [table.read(name) for name in ("cos", "sin")]


def check(recipe, angles):
    """Hold cos and sin against those of the angles, rows of mpmath numbers."""
    for made, function in zip(read(recipe), ("cos", "sin"), strict=True):
        assert matches(made, waves([[(function, a) for a in row] for row in angles]))


def series(base, width):
    return [power(base, mpmath.mpf(-2 * k) / width) for k in range(width // 2)]


def grid(height, width):
    return [(y, x) for y in range(height) for x in range(width)]


def test_rows_and_columns_turn_half_the_pairs_each():
    with mpmath.workdps(60):
        w = series("10000", 6)
        check("rope2d:dim=12,grid=3x4", [[y * f for f in w] + [x * f for f in w] for y, x in grid(3, 4)])


def test_columns_may_stand_first_and_count_from_one():
    with mpmath.workdps(60):
        w = series("10000", 6)
        angles = [[(x + 1) * f for f in w] + [(y + 1) * f for f in w] for y, x in grid(3, 4)]
        check("rope2d:dim=12,grid=3x4,axis-order=xy,first=1", angles)


def test_sides_may_take_turns():
    with mpmath.workdps(60):
        w = series("10000", 6)
        check("rope2d:dim=12,grid=3x4,pairs=alternate", [[c * f for f in w for c in (y, x)] for y, x in grid(3, 4)])


def test_pixtral_takes_even_and_odd_frequencies_of_the_whole_series():
    with mpmath.workdps(60):
        w = series("10000", 12)
        angles = [[y * f for f in w[0::2]] + [x * f for f in w[1::2]] for y, x in grid(3, 4)]
        check("rope2d:dim=12,grid=3x4,convention=pixtral", angles)


@pytest.mark.parametrize(("word", "height", "width"), [("separate", 3, 5), ("max", 5, 5), ("min", 3, 3)])
def test_centres_run_from_minus_one_to_one_in_turns(word, height, width):
    with mpmath.workdps(60):
        w = [2 * mpmath.pi * f for f in series("100", 6)]

        def centre(i, side):
            return mpmath.mpf(2 * i + 1) / side - 1

        angles = [[centre(y, height) * f for f in w] + [centre(x, width) * f for f in w] for y, x in grid(3, 5)]
        check(f"rope2d:dim=12,grid=3x5,base=100,coordinates={word}", angles)


def test_coordinates_are_stretched_to_the_grid_of_pretraining():
    with mpmath.workdps(60):
        w = series("10000", 4)
        angles = [
            [mpmath.mpf(16 * y) / 3 * f for f in w] + [mpmath.mpf(8 * x) / 5 * f for f in w] for y, x in grid(3, 5)
        ]
        check("rope2d:dim=8,grid=3x5,reference=16x8", angles)


def test_the_pixel_series_is_timms():
    with mpmath.workdps(60):
        w = [mpmath.pi * (1 + mpmath.mpf(k) * (112 - 1) / 3) for k in range(4)]
        angles = [[(y - 1) * f for f in w] + [(mpmath.mpf(2 * x) / 4 - 1) * f for f in w] for y, x in grid(3, 5)]
        check("rope2d:dim=16,grid=3x5,convention=timm-pixel,series=pixel", angles)
        w = [mpmath.pi * 2 ** (k * (mpmath.log(224, 2) - 1) / 3) for k in range(4)]  # linear_bands=False, the default
        angles = [[(y - 1) * f for f in w] + [(mpmath.mpf(2 * x) / 4 - 1) * f for f in w] for y, x in grid(3, 5)]
        check("rope2d:dim=16,grid=3x5,convention=timm-pixel", angles)


def test_merged_patches_come_block_by_block():
    plain, merged = read("rope2d:dim=8,grid=4x6"), read("rope2d:dim=8,grid=4x6,merge=2")
    order = [
        y * 6 + x for by in range(2) for bx in range(3) for y in (2 * by, 2 * by + 1) for x in (2 * bx, 2 * bx + 1)
    ]
    for a, b in zip(plain, merged, strict=True):
        assert np.array_equal(a[order], b)


def test_frames_repeat_the_grid():
    one, three = read("rope2d:dim=8,grid=4x6,merge=2"), read("rope2d:dim=8,grid=3x4x6,merge=2")
    for a, b in zip(one, three, strict=True):
        assert np.array_equal(np.tile(a, (3, 1)), b)


@pytest.mark.parametrize("layout", ["split", "half", "interleaved", "concat", "sin-cos", "pairs", "complex", "angles"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_beside_the_grid_do_not_turn_in_any_layout(layout, dtype):
    recipe = f"rope2d:dim=8,grid=3x4,prefix=2,suffix=1,layout={layout}"
    table = Table.parse(recipe, dtype=dtype)
    still = Table.parse("rope:dim=8", length=1, dtype=dtype, layout=layout)
    inner = Table.parse(f"rope2d:dim=8,grid=3x4,layout={layout}", dtype=dtype)
    for array in table.arrays:
        values = table.read(array.name)
        assert len(values) == 15
        for row in (0, 1, 14):
            assert np.array_equal(values[row], still.read(array.name)[0])
        assert np.array_equal(values[2:14], inner.read(array.name))


@pytest.mark.parametrize("layout", ["half", "interleaved", "concat", "sin-cos", "pairs", "complex", "angles"])
@pytest.mark.parametrize(
    "recipe",
    ["rope2d:dim=8,grid=40x30", "rope2d:dim=12,grid=40x30,pairs=alternate", "rope-axes:axes=2+4+6,grid=3x20x20"],
)
def test_a_layout_arranges_the_same_pairs(recipe, layout):
    cos, sin = read(recipe, "float32")
    table = Table.parse(recipe, layout=layout)
    made = [table.read(a.name) for a in table.arrays]
    match layout:
        case "half":
            wanted = [np.concatenate([v, v], axis=1) for v in (cos, sin)]
        case "interleaved":
            wanted = [np.repeat(v, 2, axis=1) for v in (cos, sin)]
        case "concat":
            wanted = [np.concatenate([cos, sin], axis=1)]
        case "sin-cos":
            wanted = [np.concatenate([sin, cos], axis=1)]
        case "pairs":
            wanted = [np.stack([cos, sin], axis=-1)]
        case "complex":
            wanted = [cos + 1j * sin]
        case "angles":
            assert np.abs(np.cos(made[0].astype(np.float64)) - cos).max() < 1e-5
            return
    for a, b in zip(made, wanted, strict=True):
        assert np.array_equal(a, b)


def test_each_side_may_have_halves_of_its_own():
    whole, axis = (read(f"rope2d:dim=16,grid=5x6,layout=half,halves={h}") for h in ("whole", "axis"))
    order = [0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7]
    for a, b in zip(whole, axis, strict=True):
        assert np.array_equal(a[:, order], b)


def test_each_axis_has_its_own_series():
    with mpmath.workdps(60):
        series_of = [series(base, width) for base, width in (("10000", 4), ("100", 6), ("10000", 8))]
        angles = [
            [c * f for c, w in zip((t, y, x), series_of, strict=True) for f in w]
            for t in range(2)
            for y, x in grid(3, 4)
        ]
        check("rope-axes:axes=4+6+8,grid=2x3x4,base=10000+100+10000", angles)


def test_coordinates_of_axes_may_be_shifted_scaled_and_centred():
    with mpmath.workdps(60):
        w = series("10000", 4)
        rows = [(t + 5, (y - 2) * mpmath.mpf("0.5"), x - 2) for t in range(1) for y in range(3) for x in range(4)]
        angles = [[c * f for c in row for f in w] for row in rows]
        check("rope-axes:axes=4+4+4,grid=1x3x4,first=5+0+0,scale=1+0.5+1,centred=0+1+1", angles)


def test_the_base_may_be_stretched():
    with mpmath.workdps(60):
        base = 10000 * mpmath.mpf(3) ** (mpmath.mpf(8) / 6)
        w = [base ** (mpmath.mpf(-2 * k) / 8) for k in range(4)]
        check("rope-axes:axes=8,grid=5,ntk=3", [[p * f for f in w] for p in range(5)])


@pytest.mark.parametrize(
    ("convention", "axes"),
    [("flux", "16+56+56"), ("wan", "44+42+42"), ("cogvideox", "16+24+24"), ("hunyuan-video", "16+56+56")],
)
def test_a_convention_of_axes_is_its_widths(convention, axes):
    base = ",base=256" if convention == "hunyuan-video" else ""
    assert Recipe.parse(f"rope-axes:convention={convention},grid=1x2x2") == Recipe.parse(
        f"rope-axes:axes={axes},grid=1x2x2{base}"
    )


@pytest.mark.parametrize(
    "recipe",
    [
        "rope2d:dim=16,grid=40x50,merge=2,prefix=3",
        "rope-axes:axes=4+6+6,grid=5x16x18",
        "mrope:dim=16,sections=2+3+3,sequence=100+2x20x30+200,section-order=interleaved",
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("layout", ["split", "half"])
def test_any_rows_equal_those_of_the_whole(recipe, dtype, layout):
    whole = read(recipe, dtype, layout=layout)
    rows = [7, 3, len(whole[0]) - 1, 0, 3, 49, 50, 51, 1299, 99, 100]
    parts = {
        "positions": (read(recipe, dtype, layout=layout, positions=",".join(map(str, rows))), rows),
        "range": (read(recipe, dtype, layout=layout, start=33, length=1000), slice(33, 1033)),
    }
    for made, pick in parts.values():
        for a, b in zip(made, whole, strict=True):
            assert np.array_equal(a, b[pick])


def mrope_angles(streams, sections, order, width):
    """The angle of each pair, by which stream it belongs to."""
    w = series("10000", width)
    n = width // 2
    if order == "chunked":
        owner = [s for s, size in enumerate(sections) for _ in range(size)]
    elif order == "interleaved":
        owner = [0] * n
        for stream in (1, 2):
            for i in range(stream, 3 * sections[stream], 3):
                if i < n:
                    owner[i] = stream
    else:
        owner = [1 + i % 2 if i < 2 * sections[0] else 0 for i in range(n)]
    return [[p[s] * f for s, f in zip(owner, w, strict=True)] for p in streams]


@pytest.mark.parametrize(
    ("order", "sections"),
    [("chunked", (2, 3, 3)), ("interleaved", (4, 2, 2)), ("interleaved", (3, 3, 2)), ("hw-alternating", (3, 3, 2))],
)
def test_each_section_turns_with_its_stream(order, sections):
    streams = [(0, 0, 0), (1, 1, 1), (2, 5, 9), (1000, 3, 77)]
    with mpmath.workdps(60):
        flat = "+".join(str(p) for row in streams for p in row)
        recipe = f"mrope:dim=16,sections={'+'.join(map(str, sections))},section-order={order},streams={flat}"
        check(recipe, mrope_angles(streams, sections, order, 16))


def test_text_alone_is_turned_as_by_rope():
    for a, b in zip(read("mrope:dim=16,sections=2+3+3", length=50), read("rope:dim=16", length=50), strict=True):
        assert np.array_equal(a, b)
    alone = read("mrope:dim=16,sections=2+3+3,sequence=300")
    for a, b in zip(alone, read("rope:dim=16", length=300), strict=True):
        assert np.array_equal(a, b)


def test_a_scaling_of_rope_is_one_of_mrope():
    keys = "dim=16,scaling=yarn,factor=4,original-max=64,base=500"
    for a, b in zip(read(f"mrope:{keys},sections=2+3+3", length=50), read(f"rope:{keys}", length=50), strict=True):
        assert np.array_equal(a, b)


def positions_of(sequence, **keys):
    more = "".join(f",{k.replace('_', '-')}={v}" for k, v in keys.items())
    plan = Recipe.parse(f"mrope:dim=16,sections=2+3+3,sequence={sequence}{more}").plan
    return [axis.index(np.arange(plan.rows)).tolist() for axis in plan.axes]


def test_text_goes_on_after_the_largest_position_of_an_image():
    assert positions_of("2+1x2x3+2") == [
        [0, 1, 2, 2, 2, 2, 2, 2, 5, 6],
        [0, 1, 2, 2, 2, 3, 3, 3, 5, 6],
        [0, 1, 2, 3, 4, 2, 3, 4, 5, 6],
    ]


def test_frames_of_a_video_may_lie_further_apart():
    assert positions_of("1+3x1x2+1", time_step="2.5")[0] == [0, 1, 1, 3, 3, 6, 6, 7]


def test_a_column_of_frames_is_no_text():
    assert positions_of("1+2x1x1+1") == [[0, 1, 2, 3], [0, 1, 1, 3], [0, 1, 1, 3]]


def test_hunyuan_splits_the_doubled_vector():
    streams = [(1, 2, 3, 4), (10, 20, 30, 40)]
    flat = "+".join(str(p) for row in streams for p in row)
    recipe = f"mrope:dim=8,sections=1+1+1+1,section-order=streams,streams={flat}"
    with mpmath.workdps(60):
        w = series("10000", 8)
        angles = [[p[c // 2] * w[c % 4] for c in range(8)] for p in streams]
        for made, function in zip(read(recipe, layout="half"), ("cos", "sin"), strict=True):
            assert matches(made, waves([[(function, a) for a in row] for row in angles]))
    with pytest.raises(PecliError, match="layout=half"):
        Table.parse(recipe)


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        ("rope2d:dim=10,grid=4x4", ["dim=10", "multiple of 4", "8 or 12"]),
        ("rope2d:dim=8,grid=4", ["grid=4", "2 or 3 numbers"]),
        ("rope2d:dim=8,grid=3x4,merge=2", ["merge=2", "grid=3x4"]),
        ("rope2d:dim=8,grid=4x4,coordinates=separate,first=1", ["first=1", "coordinates=separate"]),
        ("rope2d:dim=8,grid=4x4,max-resolution=2", ["max-resolution=2", "series=half"]),
        ("rope2d:dim=8,grid=4x4,halves=axis,pairs=alternate", ["halves=axis", "pairs=alternate"]),
        ("rope2d:dim=8,grid=4x4,convention=qwen", ["unknown convention 'qwen'"]),
        ("rope-axes:axes=4+4,grid=2x3x4", ["axes=4+4", "grid=2x3x4"]),
        ("rope-axes:axes=4+5+4,grid=2x3x4", ["axes=4+5+4", "even"]),
        ("rope-axes:axes=4+4+4,grid=2x3x4,base=10+20", ["base=10+20", "one number or 3"]),
        ("rope-axes:axes=2+4+4,grid=2x3x4,ntk=2", ["ntk=2", "width 2"]),
        ("rope-axes:axes=4,grid=8,merge=2", ["merge=2", "grid=8"]),
        ("mrope:dim=128,sections=16+24+20", ["sections=16+24+20", "60", "64"]),
        ("mrope:dim=128,sections=32+32,section-order=interleaved", ["sections=32+32", "three"]),
        ("mrope:dim=128,sections=20+24+20,section-order=hw-alternating", ["sections=20+24+20", "equal"]),
        ("mrope:dim=16,sections=2+3+3,streams=1+2+3+4", ["4 numbers", "3 positions"]),
        ("mrope:dim=16,sections=2+3+3,sequence=4+2x3", ["2x3", "TxHxW"]),
        ("mrope:dim=16,sections=2+3+3,sequence=0", ["sequence=0"]),
        ("mrope:dim=16,sections=4+4,sequence=4", ["sequence=4", "2 sections"]),
        ("mrope:dim=16,sections=2+3+3,streams=1+2+3,sequence=4", ["sequence=4", "streams"]),
        ("mrope:dim=16,sections=2+3+3,time-step=2", ["time-step=2", "sequence="]),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(recipe, says):
    with pytest.raises(PecliError) as error:
        Recipe.parse(recipe)
    message = str(error.value)
    assert "\n" not in message
    for word in says:
        assert word in message, message


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_pairs_that_nothing_turns_stand_still(dtype):
    recipe = Recipe.parse("rope:dim=8")
    only = slice(1, 2)
    recipe.__dict__["plan"] = Waves(4, (Band((Decimal(1),), only, only),))
    table = Table.make(recipe, length=5, dtype=dtype)
    cos, sin = (widen(table.read(name), dtype) for name in ("cos", "sin"))
    assert (cos[:, [0, 2, 3]] == 1).all()
    assert not sin[:, [0, 2, 3]].any()
    assert np.array_equal(cos[:, 1], widen(Table.parse("rope:dim=2", length=5, dtype=dtype).read("cos"), dtype)[:, 0])
