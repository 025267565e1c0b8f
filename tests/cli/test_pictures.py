"""Pictures of tables: what their pixels, lines and arrows stand for, and that the README's are current."""

import base64
import math
import re
import struct
import xml.etree.ElementTree as ET
import zlib

import numpy as np
import pytest

from pecli import PecliError, Table, manual
from pecli.formats import open_table
from pecli.plots.charts import (
    Axis,
    BarChart,
    BarLayer,
    Circles,
    Heat,
    LineChart,
    Span,
    palette,
    rgb,
    scale_of,
    scales,
    shade,
)
from pecli.plots.images import draw, picture_bytes, png, stored
from pecli.plots.tables import charts_of_table, shrunk
from pecli.plots.terminal import code
from tests.conftest import ROOT

SVG = "{http://www.w3.org/2000/svg}"


def charts(text, *words):
    return charts_of_table(Table.parse(text), text, words)


def pixels(document):
    """Decode the image inside an SVG: palette indices (rows, columns) and the palette."""
    address = next(ET.fromstring(document).iter(f"{SVG}image")).get("href")
    data = base64.b64decode(address.partition("base64,")[2])
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(name + body)
        chunks[name] = body
        at += 12 + size
    wide, high = struct.unpack(">II", chunks[b"IHDR"][:8])
    raw = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(high, wide + 1)
    assert not raw[:, 0].any()
    return raw[:, 1:], np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)


def test_stored_blocks_are_a_zlib_stream():
    for size in (0, 1, 65535, 65536, 200_000):
        data = bytes(range(256)) * (size // 256 + 1)
        assert zlib.decompress(stored(data[:size])) == data[:size]
    assert len(png([b"\0\1", b"\1\0"], [(0, 0, 0), (255, 255, 255)])) < 120


def test_the_map_of_a_sinusoid_has_its_columns_apart():
    (heat,) = charts("sinusoidal:dim=8,len=20,dtype=float64", "heatmap")
    p, w = np.arange(20.0)[:, None], 10000.0 ** (-np.arange(4) / 4)
    np.testing.assert_allclose(heat.values, np.concatenate([np.sin(p * w), np.cos(p * w)], axis=1), atol=1e-12)
    assert heat.x == "columns 0, 2, 4 .. (sines), then columns 1, 3, 5 .. (cosines)"
    assert (heat.y, heat.rows) == ("position", (0.0, 19.0))


def test_the_ticks_of_a_map_are_true_columns():
    document = picture_bytes(charts("sinusoidal:dim=128,len=20", "heatmap"), "x.svg")
    texts = [
        (float(n.get("x", 0)), n.text) for n in ET.fromstring(document).iter(f"{SVG}text") if n.get("y") == "345.0"
    ]
    left, wide = 74, (760 - 176 - 74) / 128  # cells of one column each
    for x, column in ((x, int(text)) for x, text in texts):
        cell = column // 2 + 64 * (column % 2)
        assert x == pytest.approx(left + (cell + 0.5) * wide, abs=0.06)
    assert {int(text) % 2 for _, text in texts} == {0, 1}
    (pair,) = charts("rope:dim=32,len=20", "heatmap")
    assert pair.columns == [Span(0, 15, 16, "cos"), Span(0, 15, 16, "sin")]
    shown = draw(charts("sinusoidal:dim=64,len=8", "heatmap"), 80)
    assert re.search(r"\n +0 +sines +62 1 +cosines +63\n", shown)


def test_waves_of_chosen_columns():
    (chart,) = charts_of_table(Table.parse("sinusoidal:dim=32,len=40,dtype=float64"), "s", ["waves"], [0, 1, 8, 9])
    assert [s.name for s in chart.series] == ["column 0 (sin)", "column 1 (cos)", "column 8 (sin)", "column 9 (cos)"]
    w = 10000 ** (-8 / 32)
    np.testing.assert_allclose(chart.series[3].y, np.cos(np.arange(40) * w), atol=1e-12)
    (chart,) = charts_of_table(Table.parse("rope:dim=8,len=9,dtype=float64"), "r", ["waves"], [2])
    assert [s.name for s in chart.series] == ["cos 2", "sin 2"]
    np.testing.assert_allclose(chart.series[1].y, np.sin(np.arange(9) * 10000**-0.5), atol=1e-12)


def test_only_arrays_with_the_same_rows_stand_side_by_side():
    (heat,) = charts("shaw:dim=8,clip=3,len=20", "heatmap")
    assert heat.columns == [Span(0, 7, 8)]  # not the index, whose rows are queries
    assert np.shape(heat.values) == (7, 8)
    (heat,) = charts("transformer-xl:dim=8,heads=2,head-dim=4,len=12", "heatmap")
    assert [span.count for span in heat.columns] == [8]  # nor where queries are as many as rows
    (heat,) = charts("xpos:dim=8,max-len=9,len=9", "heatmap")
    assert [span.name for span in heat.columns] == ["cos", "sin", "scale"]
    (chart,) = charts_of_table(Table.parse("fourier:dim=8,len=20"), "f", ["waves"], [6])
    assert [s.name for s in chart.series] == ["column 6"]


def test_rows_that_all_point_one_way_are_alike():
    (heat,) = charts("integer:dim=4,max-len=64,len=64", "similarity")
    assert heat.ends() == (0.0, 1.0)  # and not what rounding makes of 1


def test_no_angle_is_claimed_of_rows_that_lie_differently_apart():
    with pytest.raises(PecliError, match="picture=query-key cannot be drawn"):
        charts("rope2d:dim=8,grid=6x8", "query-key")  # rows 6 and 8 lie in two lines


def test_channels_that_cannot_be_drawn_are_refused(refuses):
    table = Table.parse("rope:dim=32,len=20")
    for words, channels, rule in (
        (["waves"], [16], "channels=16 is no column of the table, which has 0 to 15"),
        (["waves"], range(9), "at most 8"),
        (["heatmap"], [1], "of waves, which are not drawn"),
    ):
        with pytest.raises(PecliError, match=rule):
            charts_of_table(table, "r", words, channels)
    refuses("inspect", "rope:dim=8", "--plot", "-", "--channels", "0,4", says=["--channels", "0 to 3"])
    refuses("inspect", "rope:dim=8", "--channels", "1", says=["it is an option of pecli plot"])


def test_a_query_and_a_key_keep_their_angle_at_one_distance():
    (chart,) = charts("rope:dim=8,len=12,dtype=float64", "query-key")
    assert charts("rope:dim=8,len=12,dtype=float64", "turned") == [chart]  # the older spelling
    for (m, n), (name, arrows), (arc,) in zip(((1, 3), (2, 4), (6, 8)), chart.circles, chart.arcs, strict=True):
        assert name == f"m = {m}, n = {n}"
        before, after = [a.angle for a in arrows[:2]], [a.angle for a in arrows[2:]]
        assert math.cos(after[0] - before[0] - m) == pytest.approx(1, abs=1e-12)  # pair 0 turns by one radian
        assert math.cos(after[1] - before[1] - n) == pytest.approx(1, abs=1e-12)
        assert arc.stop - arc.start == pytest.approx((before[1] - before[0] + 2) % (2 * math.pi), abs=1e-9)
    assert len(set(chart.notes)) == 1


def test_slopes_are_marked_and_their_ticks_are_powers_of_two():
    document = picture_bytes(charts("alibi:heads=8,len=9", "slopes")[:1], "x.svg").decode()
    assert document.count("<circle") == 8 + 1  # the heads, and the key
    for text in ("1/2", "1/16", "1/256", *map(str, range(8))):
        assert f">{text}</text>" in document


def test_pixels_have_the_colours_of_the_values():
    heat = Heat("t", "x", "y", [[-2.0, 0.0], [1.0, math.nan]], "v", [Span(0, 1, 2)], (0, 1))
    found, colours = pixels(picture_bytes([heat], "x.svg"))
    corners = found[0, 0], found[0, -1], found[-1, 0], found[-1, -1]
    assert [tuple(colours[i]) for i in corners] == [
        (0x05, 0x30, 0x61), (0xF7, 0xF7, 0xF7), rgb(shade(0.75, palette(heat))), (0xBB, 0xBB, 0xBB),
    ]  # fmt: skip
    assert found.shape == (160, 160)


def test_cells_that_do_not_fit_are_averaged():
    values = np.random.default_rng(0).standard_normal((12, 9))
    np.testing.assert_allclose(shrunk(values, 4, 3), values.reshape(4, 3, 3, 3).mean(axis=(1, 3)))


def test_similarity_is_the_cosine_of_rows():
    (heat,) = charts("learned:dim=8,max-len=10,len=10,dtype=float64", "similarity")
    rows = Table.parse("learned:dim=8,max-len=10,len=10,dtype=float64").read("pe")
    unit = rows / np.linalg.norm(rows, axis=1)[:, None]
    np.testing.assert_allclose(heat.values, unit @ unit.T, atol=1e-12)


def test_a_row_of_zeros_is_grey_in_the_similarity():
    (heat,) = charts("binary:dim=4,len=8", "similarity")
    assert np.isnan(np.array(heat.values)[0]).all()
    assert np.isfinite(np.array(heat.values)[1:, 1:]).all()
    assert "grey" in heat.value


def test_arrows_have_the_angles_of_the_pairs():
    (chart,) = charts("rope:dim=8,len=10,base=16,dtype=float64", "rotation")
    for number, (name, arrows) in enumerate(chart.circles):
        assert name == f"pair {number}"
        for position, arrow in enumerate(arrows):
            assert math.cos(arrow.angle - position * 16 ** (-number / 4)) == pytest.approx(1, abs=1e-12)
            assert arrow.length == pytest.approx(1)


def test_slopes_and_biases_by_distance():
    slopes, by_distance = charts("alibi:heads=4,len=6", "slopes")
    assert list(slopes.series[0].y) == [0.25, 0.0625, 0.015625, 0.00390625]
    assert by_distance.series[0].name == "head 0"
    assert list(by_distance.series[0].x) == list(range(-5, 6))
    assert list(by_distance.series[0].y) == [-0.25 * abs(d) for d in range(-5, 6)]


def test_the_matrix_of_a_bias_hides_what_is_masked():
    first, last = charts("alibi:heads=4,len=4,mask=causal", "bias")
    assert first.title.endswith("head 0 of 4")
    assert last.title.endswith("head 3 of 4")
    assert np.isnan(np.array(first.values)[0, 1:]).all()
    assert first.values[3] == [-0.75, -0.5, -0.25, 0.0]
    assert first.value == "added to the logit (grey: masked)"
    kernel, *_, by_distance = charts("gaussian:heads=2,sigma=1+4,len=8")
    assert kernel.value == by_distance.y.label == "multiplies the logit"


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("sinusoidal:dim=16,len=32", [Heat, LineChart, Heat, Circles]),
        ("rope:dim=16,len=32", [Heat, LineChart, Heat, Circles, Circles]),
        ("binary:dim=8,len=32", [Heat, LineChart, Heat]),
        ("alibi:heads=4,len=32", [Heat, Heat, LineChart, LineChart]),
        ("t5:heads=2,len=32", [Heat, Heat, LineChart]),
    ],
)
def test_a_family_has_its_own_pictures(text, kinds):
    found = charts(text)
    assert [type(chart) for chart in found] == kinds
    document = picture_bytes(found, "x.svg")
    assert document == picture_bytes(charts(text), "x.svg")
    texts = ["".join(node.itertext()) for node in ET.fromstring(document).iter(f"{SVG}text")]
    for chart in found:
        assert chart.title in texts


def test_a_part_of_a_long_table_says_which():
    (heat,) = charts("sinusoidal:dim=8,len=100000", "heatmap")
    assert heat.title.endswith("the first 512 of 100,000 rows")
    assert heat.rows == (0.0, 511.0)


def test_positions_that_are_not_even_are_no_axis():
    (heat,) = charts("sinusoidal:dim=8,positions=1+2+50", "heatmap")
    assert heat.y == "row (positions are not evenly spaced)"
    assert heat.rows == (0.0, 2.0)


def test_pictures_of_files(tmp_path):
    np.save(tmp_path / "b.npy", -np.abs(np.arange(9)[:, None] - np.arange(9))[None] * np.ones((2, 1, 1)))
    found = charts_of_table(open_table(str(tmp_path / "b.npy")), "b.npy")
    assert [type(chart) for chart in found] == [Heat, Heat, LineChart]
    angles = np.arange(8)[:, None] * 0.3 ** np.arange(8)
    np.save(tmp_path / "r.npy", np.stack([np.cos(angles), np.sin(angles)]))  # square too, and yet no bias
    found = charts_of_table(open_table(str(tmp_path / "r.npy")), "r.npy")
    assert [type(chart) for chart in found][:4] == [Heat, LineChart, Heat, Circles]


def test_what_cannot_be_drawn_names_what_can():
    with pytest.raises(
        PecliError, match=r"picture=rotation cannot be drawn of alibi:heads=2,len=9.*bias and slopes can"
    ):
        charts("alibi:heads=2,len=9", "rotation")
    with pytest.raises(PecliError, match="did you mean 'heatmap'"):
        charts("rope:dim=4,len=4", "heat")


def test_letters_show_the_map_without_colour():
    heat = Heat("t\x1b[2J", "x", "y", [[0.0, 1.0], [0.5, math.inf]], "v", [Span(0, 1, 2)], (0, 1), centred=False)
    lines = draw([heat], 40).splitlines()
    assert lines[0] == "t?[2J"
    assert lines[3].strip() == "0 │    @@@@│"
    assert lines[4].strip() == "1 │====xxxx│".replace("=", "+")
    assert "\x1b" not in "\n".join(lines)


def test_half_blocks_hold_two_rows_in_colour():
    heat = Heat("t", "x", "y", [[-1.0], [1.0]], "v", [Span(0, 0, 1)], (0, 1))
    line = draw([heat], 40, colour="true").splitlines()[3]
    assert "\x1b[38;2;5;48;97;48;2;103;0;31m▀▀▀▀\x1b[0m" in line
    assert "\x1b[38;5;" in draw([heat], 40, colour="256")
    assert draw([heat], 40, colour="256", unicode=False).isascii()


def test_the_nearest_of_216_colours():
    assert code("#ff0000", "256") == "38;5;196"
    assert code("#0000ff", "256", ground=True) == "48;5;21"


@pytest.mark.parametrize("text", ["sinusoidal:dim=64,len=64", "rope:dim=64,len=64", "alibi:heads=8,len=64"])
def test_the_terminal_keeps_to_its_width_and_to_ascii_where_it_must(text):
    assert max(map(len, draw(charts(text), 80).splitlines())) <= 80
    assert draw(charts(text), 80, unicode=False).isascii()


def test_the_command_draws(pecli, tmp_path):
    result = pecli("inspect", "rope:dim=8", "--plot", "a.svg", "--picture", "waves+rotation", "-q")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == ""
    assert len(ET.parse(tmp_path / "a.svg").getroot().findall(f"{SVG}g")) == 2
    shown = pecli("inspect", "rope:dim=8", "--plot", "-", "--picture", "heatmap")
    assert shown.stdout.startswith("Values of rope:dim=8")
    assert "\x1b" not in shown.stdout
    forced = pecli("inspect", "rope:dim=8", "--plot", "-", "--picture", "heatmap", env={"FORCE_COLOR": "1"})
    assert "\x1b[38;5;" in forced.stdout
    plain = pecli("inspect", "rope:dim=8", "--plot", "-", env={"PYTHONIOENCODING": "ascii", "NO_COLOR": "1"})
    assert plain.returncode == 0
    assert plain.stdout.isascii()


def test_the_command_refuses(refuses):
    refuses("inspect", "rope:dim=8", "--picture", "waves", says=["pecli plot"])
    refuses("inspect", "rope:dim=8", "--plot", "a.svg", "--picture", "wave", says=["waves"])
    refuses("inspect", "rope:dim=8", "--plot", "a.gif", says=[".gif", ".svg"])
    refuses("inspect", "rope:dim=8", "--plot", "-", "--json", says=["-o -"])
    refuses("inspect", "rope:dim=8", "--plot", "a.svg", "--picture", "slopes", says=["slopes", "heatmap"])
    refuses("inspect", "alibi:heads=2", "--plot", "a.svg", "--picture", "waves", says=["bias and slopes"])


def test_arrows_in_the_terminal_are_digits_at_their_angle():
    text = draw(charts("rope:dim=2,positions=0+1.5707963267948966+3.141592653589793", "rotation"), 80)
    circle = text.splitlines()[2:10]
    assert circle[0][8] == "1"
    assert "2" in {circle[3][0], circle[4][0]}
    assert "0" in {circle[3][16], circle[4][16]}
    assert "90.00 deg" in text


def test_a_png_is_drawn_from_the_shapes_of_the_svg(monkeypatch):
    """Each shape is given to matplotlib once, at its place; what it draws of them is its own affair."""
    from types import SimpleNamespace

    from pecli.plots import images as writer
    from pecli.plots.shapes import Area, Cells, Disc, Stroke, Words, shapes_of

    calls = []

    class Paper:
        def __getattr__(self, name):
            return lambda *args, **more: calls.append((name, args, more))

    figure = SimpleNamespace(add_axes=lambda box: Paper(), savefig=lambda out, **more: out.write(b"drawn"))
    modules = {
        "matplotlib.figure": SimpleNamespace(Figure=lambda **more: figure),
        "matplotlib.patches": SimpleNamespace(Polygon=lambda c, **m: "area", Circle=lambda c, r, **m: "disc"),
    }
    monkeypatch.setattr(writer, "import_module", modules.__getitem__)
    drawn = [*charts("alibi:heads=4,len=8"), *charts("rope:dim=8,len=12")]
    assert picture_bytes(drawn, "x.png") == b"drawn"
    shapes = [shape for chart in drawn for shape in shapes_of(chart)]
    counts = {name: sum(call[0] == name for call in calls) for name in ("text", "imshow", "plot", "add_patch")}
    assert counts["text"] == sum(isinstance(s, Words) for s in shapes)
    assert counts["imshow"] == sum(isinstance(s, Cells) for s in shapes)
    assert counts["plot"] == sum(len(s.lines) for s in shapes if isinstance(s, Stroke))
    patches = sum(len(s.rings) if isinstance(s, Area) else isinstance(s, Disc) for s in shapes)
    assert counts["add_patch"] == patches
    words = [s.text for s in shapes if isinstance(s, Words)]
    assert [args[2] for name, args, _ in calls if name == "text"] == words
    texts = ["".join(n.itertext()) for n in ET.fromstring(picture_bytes(drawn, "x.svg")).iter(f"{SVG}text")]
    assert texts == words


def test_a_png_is_drawn_where_matplotlib_is():
    pytest.importorskip("matplotlib")
    data = picture_bytes([*charts("rope:dim=8,len=8"), *charts("alibi:heads=4,len=8")], "x.png")
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert picture_bytes([*charts("rope:dim=8,len=8")], "x.pdf").startswith(b"%PDF-")


def test_a_png_without_matplotlib_names_the_remedy(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(PecliError, match=r"pip install 'pecli\[plot\]'"):
        picture_bytes(charts("rope:dim=8,len=8", "heatmap"), "x.png")


@pytest.mark.parametrize("path", [*ROOT.glob("man/pictures/*"), *ROOT.glob("docs/pictures/*")], ids=lambda p: p.name)
def test_the_documents_pictures_are_current_small_and_shown(path, made):
    assert path.read_text() == made[path]
    assert path.stat().st_size < 200_000
    documents = [ROOT / "README.md", *ROOT.glob("docs/*.md")]
    assert any(f"{path.parent.name}/{path.name})" in page.read_text() for page in documents)


@pytest.fixture(scope="module")
def made():
    """Every picture of the documents, as its command in docs/pictures.txt draws it now."""
    return dict(manual.pictures())


def test_a_single_value_has_nothing_to_draw():
    with pytest.raises(PecliError, match="has nothing to draw"):
        charts_of_table(Table.parse("learned:dim=1,len=1"), "x")


def test_the_slopes_of_a_bias_of_one_query_and_one_key_are_drawn():
    charts = charts_of_table(Table.parse("alibi:heads=8,len=1"), "x")
    assert [chart.title for chart in charts] == ["Slopes of x"]
    assert charts[0].series[0].y == [2.0**-h for h in range(1, 9)]
    assert draw(charts)


@pytest.mark.parametrize("recipe", ["kerple:heads=2", "t5:heads=2", "sandwich:heads=2"])
def test_one_value_of_each_head_is_no_slope(recipe):
    with pytest.raises(PecliError, match="has nothing to draw"):
        charts_of_table(Table.parse(f"{recipe},len=1"), "x")


def test_a_logarithmic_axis_without_positive_values_has_a_scale():
    scale = scale_of(Axis("x", log=True), [0.0, -1.0])
    assert (scale.low, scale.high) == (1.0, 10.0)


def test_arrows_of_a_grid_lie_where_both_of_its_axes_move():
    for recipe, step in (
        ("rope2d:dim=16,grid=6x8", 9),
        ("rope-axes:axes=4+4+4,grid=2x4x6", 7),
        ("rope:dim=16,len=40", 1),
    ):
        (chart,) = charts(recipe, "rotation")
        assert [a.name for a in chart.circles[0][1]] == [f"position {k * step}" for k in range(5)]
        assert all(len({round(a.angle, 9) for a in arrows}) > 1 for _, arrows in chart.circles)


def test_weights_of_one_sign_are_not_drawn_about_zero():
    first, _ = charts("gaussian:heads=2,sigma=1+4,len=64", "bias")
    assert not first.centred
    assert first.ends() == (0.0, 1.0)


def test_a_bars_number_stands_below_its_middle():
    chart = BarChart("t", Axis("pair"), Axis("share", low=0.0, high=1.0), (BarLayer("one", [1.0] * 4),))
    across, _ = scales(chart)
    assert across.ticks == (0.0, 1.0, 2.0, 3.0)
    assert [across.place(tick) for tick in across.ticks] == [0.125, 0.375, 0.625, 0.875]
