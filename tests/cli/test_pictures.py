"""Pictures of tables: what cells, lines and arrows stand for, and what matplotlib is given of them."""

import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import pecli as library
from docs import generate
from pecli import PecliError, Table
from pecli.cli.run import run
from pecli.formats import open_table, write_table
from pecli.plots.charts import BLUE_TO_RED, EQUAL, Circles, Heat, LineChart, Span, resampled
from pecli.plots.tables import charts_of_difference, charts_of_table
from pecli.plots.terminal import code, draw, scale_of, shade
from pecli.spec.tabular import InMemory
from tests.conftest import ROOT, clean_environment

SVG = "{http://www.w3.org/2000/svg}"


def charts(text, *words, channels=()):
    return charts_of_table(Table.parse(text), text, words, channels)


def figure(text, kind, **more):
    pytest.importorskip("matplotlib")
    return library.plot(text, kind, **more)


def texts(document):
    return ["".join(node.itertext()) for node in ET.fromstring(document).iter(f"{SVG}text")]


def drawn(charts, suffix=".svg"):
    pytest.importorskip("matplotlib")
    from pecli.plots.figures import picture_bytes

    return picture_bytes(charts, f"x{suffix}")


def test_the_map_of_a_sinusoid_has_its_columns_apart():
    (heat,) = charts("sinusoidal:dim=8,len=20,dtype=float64", "heatmap")
    p, w = np.arange(20.0)[:, None], 10000.0 ** (-np.arange(4) / 4)
    np.testing.assert_allclose(heat.values, np.concatenate([np.sin(p * w), np.cos(p * w)], axis=1), atol=1e-12)
    assert heat.columns == [Span(0, 6, 4, "sin"), Span(1, 7, 4, "cos")]
    assert (heat.y, heat.rows) == ("position", (0.0, 19.0))
    (pair,) = charts("rope:dim=32,len=20", "heatmap")
    assert pair.columns == [Span(0, 15, 16, "cos"), Span(0, 15, 16, "sin")]
    (four,) = charts("sincos2d:dim=16,grid=4x4", "heatmap")
    assert [(span.name, span.first, span.last) for span in four.columns] == [
        ("sin", 0, 3), ("sin", 8, 11), ("cos", 4, 7), ("cos", 12, 15),
    ]  # fmt: skip
    shown = draw(charts("sinusoidal:dim=64,len=8", "heatmap"), 80)
    assert re.search(r"\n +0 +sin +62 1 +cos +63\n", shown)


def test_matplotlib_is_given_the_values_of_the_table():
    made = figure("sinusoidal:dim=8,len=20,dtype=float64", "heatmap")
    ax = made.axes[0]
    table = Table.parse("sinusoidal:dim=8,len=20,dtype=float64").read("pe")
    np.testing.assert_array_equal(ax.images[0].get_array(), table[:, 0::2])
    np.testing.assert_array_equal(ax.images[1].get_array(), table[:, 1::2])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("column", "position")
    assert [text.get_text() for text in ax.texts] == ["sin", "cos"]
    for tick, label in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True):
        image = ax.images[int(label.get_text()) % 2]
        left, right, _, _ = image.get_extent()
        assert (tick - left) * 8 / (right - left) == pytest.approx(
            int(label.get_text()) + 1 - int(label.get_text()) % 2
        )


def test_curves_of_waves_are_computed_between_the_rows_and_dots_are_the_rows():
    made = figure("sinusoidal:dim=128,len=50,dtype=float64", "waves")
    ax = made.axes[0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [f"column {c} (sin)" for c in (0, 16, 32, 48)]
    table = Table.parse("sinusoidal:dim=128,len=50,dtype=float64").read("pe")
    lines = ax.get_lines()
    for number, column in enumerate((0, 16, 32, 48)):
        curve, dots = lines[2 * number : 2 * number + 2]
        np.testing.assert_array_equal(dots.get_ydata(), table[:, column])
        np.testing.assert_allclose(curve.get_ydata(), np.sin(curve.get_xdata() * 10000 ** (-column / 128)), atol=1e-12)
        assert len(curve.get_xdata()) == 49 * 8 + 1


def test_waves_of_chosen_columns(tmp_path):
    (chart,) = charts("sinusoidal:dim=32,len=40,dtype=float64", "waves", channels=[0, 1, 8, 9])
    assert [s.name for s in chart.series] == ["column 0 (sin)", "column 1 (cos)", "column 8 (sin)", "column 9 (cos)"]
    w = 10000 ** (-8 / 32)
    np.testing.assert_allclose(chart.series[3].y, np.cos(np.arange(40) * w), atol=1e-12)
    (chart,) = charts("rope:dim=8,len=9,dtype=float64", "waves", channels=[2])
    assert [s.name for s in chart.series] == ["column 2 (cos)", "column 2 (sin)"]
    np.testing.assert_allclose(chart.series[1].y, np.sin(np.arange(9) * 10000**-0.5), atol=1e-12)
    write_table(Table.parse("rope:dim=8,len=9"), tmp_path / "r.npz")
    (chart,) = charts_of_table(open_table(tmp_path / "r.npz"), "r", ["waves"])
    assert chart.style == "lines"
    assert chart.series[0].curve is not None  # by the recipe in the file


def test_what_has_no_values_between_the_rows_is_drawn_as_steps(tmp_path):
    for text in ("binary:dim=8,len=32", "learned:dim=8,max-len=20,len=20", "sincos2d:dim=16,grid=4x5"):
        (chart,) = charts(text, "waves")
        assert (chart.style, chart.apart) == ("steps", True)
        assert all(line.curve is None for line in chart.series)
    np.save(tmp_path / "x.npy", np.sin(np.arange(20.0)[:, None] * np.ones(4)))
    (chart,) = charts_of_table(open_table(tmp_path / "x.npy"), "x", ["waves"])
    assert chart.style == "steps"
    bits = figure("binary:dim=8,len=32", "waves")
    assert [ax.get_lines()[0].get_drawstyle() for ax in bits.axes] == ["steps-mid"] * 4  # a frame for each bit
    np.testing.assert_array_equal(bits.axes[2].get_lines()[0].get_ydata(), np.arange(32) >> 2 & 1)


def test_a_table_that_differs_from_its_recipe_has_no_curves_of_it():
    found = InMemory({"pe": -Table.parse("sinusoidal:dim=8,len=20").read("pe")})
    found.recipe = "sinusoidal:dim=8,len=20"
    (chart,) = charts_of_table(found, "f", ["waves"])
    assert all(line.curve is None for line in chart.series)


def test_only_arrays_with_the_same_rows_stand_side_by_side():
    (heat,) = charts("shaw:dim=8,clip=3,len=20", "heatmap")
    assert heat.columns == [Span(0, 7, 8)]  # not the index, whose rows are queries
    assert np.shape(heat.values) == (7, 8)
    (heat,) = charts("transformer-xl:dim=8,heads=2,head-dim=4,len=12", "heatmap")
    assert sum(span.count for span in heat.columns) == 8  # nor where queries are as many as rows
    (heat,) = charts("xpos:dim=8,max-len=9,len=9", "heatmap")
    assert [span.name for span in heat.columns] == ["cos", "sin", "scale"]
    (chart,) = charts("fourier:dim=8,len=20", "waves", channels=[6])
    assert [s.name.split(" (")[0] for s in chart.series] == ["column 6"]


def test_rows_that_all_point_one_way_are_alike():
    (heat,) = charts("integer:dim=4,max-len=64,len=64", "similarity")
    assert heat.ends == (0.0, 1.0)  # and not what rounding makes of 1


def test_channels_that_cannot_be_drawn_are_refused(refuses):
    for words, channels, rule in (
        (["waves"], [16], "channels=16 is no column of the table, which has 0 to 15"),
        (["waves"], range(9), "at most 8"),
        (["heatmap"], [1], "pairs of rotation, none of which is drawn"),
    ):
        with pytest.raises(PecliError, match=rule):
            charts("rope:dim=32,len=20", *words, channels=channels)
    refuses("inspect", "rope:dim=8", "--plot", "-", "--channels", "0,4", says=["--channels", "0 to 3"])
    refuses("inspect", "rope:dim=8", "--channels", "1", says=["it is an option of pecli plot"])


def test_slopes_are_dots_and_their_ticks_are_powers_of_two():
    made = figure("alibi:heads=8,len=9", "slopes")
    ax = made.axes[0]
    np.testing.assert_array_equal(ax.get_lines()[1].get_ydata(), 2.0 ** -np.arange(1, 9))
    assert ax.get_yscale() == "log"
    labels = texts(made._repr_svg_())
    assert {"1/2", "1/16", "1/256", *map(str, range(8))} <= set(labels)


def test_masked_cells_are_grey_and_colours_are_those_of_the_values():
    made = figure("alibi:heads=2,len=4,mask=causal", "bias")
    image = made.axes[0].images[0]
    assert image.get_array().mask.tolist() == np.triu(np.ones((4, 4), bool), 1).tolist()
    shown = image.to_rgba(image.get_array())
    assert tuple(round(255 * part) for part in shown[0, 1][:3]) == (0xBB,) * 3
    assert tuple(round(255 * part) for part in shown[3, 3][:3]) == (0, 0, 4)  # 0, the largest


def test_cells_that_do_not_fit_are_averaged():
    values = np.random.default_rng(0).standard_normal((12, 9))
    np.testing.assert_allclose(resampled(values, 4, 3), values.reshape(4, 3, 3, 3).mean(axis=(1, 3)))
    np.testing.assert_allclose(resampled(values, 4, 3, largest=True), values.reshape(4, 3, 3, 3).max(axis=(1, 3)))
    assert resampled(values, 99, 99).shape == values.shape


def test_similarity_is_the_cosine_of_rows():
    (heat,) = charts("learned:dim=8,max-len=10,len=10,dtype=float64", "similarity")
    rows = Table.parse("learned:dim=8,max-len=10,len=10,dtype=float64").read("pe")
    unit = rows / np.linalg.norm(rows, axis=1)[:, None]
    np.testing.assert_allclose(heat.values, unit @ unit.T, atol=1e-12)


def test_a_row_of_zeros_is_grey_in_the_similarity():
    (heat,) = charts("binary:dim=4,len=8", "similarity")
    assert np.isnan(heat.values[0]).all()
    assert np.isfinite(heat.values[1:, 1:]).all()
    assert "grey" in heat.value


def test_arrows_have_the_angles_of_the_pairs_and_notes_their_frequencies():
    (chart,) = charts("rope:dim=8,len=10,base=16,dtype=float64", "rotation")
    for number, circle in enumerate(chart.circles):
        w = 16 ** (-number / 4)
        assert circle.name == f"pair {number}"
        assert circle.notes == [f"w = {w:.4g}", f"{math.degrees(w):.4g}° a position"]
        for position, arrow in enumerate(circle.arrows):
            assert math.cos(arrow.angle - position * w) == pytest.approx(1, abs=1e-12)
            assert arrow.length == pytest.approx(1)
    (chart,) = charts("rope:dim=64,len=10", "rotation", channels=[3, 20])
    assert [circle.name for circle in chart.circles] == ["pair 3", "pair 20"]


def test_patches_are_columns_on_the_grid_and_one_patch_against_all():
    table = Table.parse("sincos2d:dim=16,grid=3x5,dtype=float64")
    columns, alike = charts("sincos2d:dim=16,grid=3x5,dtype=float64", "patches", channels=[0, 8])
    rows = table.read("pe")
    np.testing.assert_array_equal(columns.values, np.hstack([rows[:, 0].reshape(3, 5), rows[:, 8].reshape(3, 5)]))
    assert [span.name for span in columns.columns] == ["sin 0", "sin 8"]
    unit = rows / np.linalg.norm(rows, axis=1)[:, None]
    expected = [(unit @ unit[5 * r + c]).reshape(3, 5) for r, c in ((0, 0), (1, 2), (1, 4))]
    np.testing.assert_allclose(alike.values, np.hstack(expected), atol=1e-12)
    assert [span.name for span in alike.columns] == ["patch 0, 0", "patch 1, 2", "patch 1, 4"]


def test_patches_of_a_video_are_frames():
    found = charts("rope-axes:axes=4+4+4,grid=2x4x6,dtype=float64", "patches", channels=[2])
    assert [[span.name for span in chart.columns] for chart in found] == [["frame 0", "frame 1"]] * 3
    cos = Table.parse("rope-axes:axes=4+4+4,grid=2x4x6,dtype=float64").read("cos")[:, 2].reshape(2, 4, 6)
    np.testing.assert_array_equal(found[0].values, np.hstack([cos[0], cos[1]]))
    with pytest.raises(PecliError, match="kind=patches cannot be drawn"):
        charts("rope:dim=8,len=16", "patches")


@pytest.mark.parametrize(
    ("text", "near", "far"), [("t5:heads=2,len=300", {0: 0, 1: 17, -1: 1, -3: 3}, {-200: 15, 200: 31}),
                              ("deberta:dim=4,len=600", {0: 0, 5: -5, -100: 100}, {-599: 257})]
)  # fmt: skip
def test_buckets_are_those_of_the_index(text, near, far):
    found = charts(text, "buckets")
    (chart,) = found
    assert (chart.style, chart.y.label) == ("steps", "bucket")
    bucket = dict(zip(chart.series[0].x, chart.series[0].y, strict=True))
    index = Table.parse(text).read("index")
    for distance in (*near, *far):
        query = 0 if distance > 0 else len(index) - 1
        assert bucket[distance] == index[query, query + distance]
    assert {d: bucket[d] for d in near} == near or text.startswith("deberta")


def test_a_grid_has_no_bucket_for_a_distance():
    with pytest.raises(PecliError, match="buckets"):  # one step in a window may also be the end of a line of patches
        charts("window:grid=3x4,heads=2", "buckets")


def test_frames_below_each_other_show_all_values():
    drawn = figure("shaw:dim=32,clip=3,len=64", "waves")
    values = [line.get_ydata() for ax in drawn.axes for line in ax.lines]
    for ax in drawn.axes:
        low, high = ax.get_ylim()
        assert low <= min(map(min, values)) <= max(map(max, values)) <= high


def test_slopes_of_heads():
    (slopes,) = charts("alibi:heads=4,len=6", "slopes")
    assert list(slopes.series[0].y) == [0.25, 0.0625, 0.015625, 0.00390625]


def test_the_matrix_of_a_bias_hides_what_is_masked():
    first, last = charts("alibi:heads=4,len=4,mask=causal", "bias")
    assert first.title.endswith("head 0 of 4")
    assert last.title.endswith("head 3 of 4")
    assert np.isnan(first.values[0, 1:]).all()
    assert first.values[3].tolist() == [-0.75, -0.5, -0.25, 0.0]
    assert first.value == "added to the logit (grey: masked)"
    assert charts("gaussian:heads=2,sigma=1+4,len=8")[0].value == "multiplies the logit"


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("sinusoidal:dim=16,len=32", [Heat, LineChart, Heat, Circles]),
        ("rope:dim=16,len=32", [Heat, LineChart, Heat, Circles]),
        ("binary:dim=8,len=32", [Heat, LineChart, Heat]),
        ("alibi:heads=4,len=32", [Heat, Heat, LineChart]),
        ("t5:heads=2,len=32", [Heat, Heat, LineChart]),
        ("sincos2d:dim=16,grid=4x4", [Heat, LineChart, Heat, Heat, Heat]),
    ],
)
@pytest.mark.sample(3)
def test_a_family_has_its_own_pictures(text, kinds):
    found = charts(text, "all")
    assert [type(chart) for chart in found] == kinds
    assert len(charts(text)) < len(found)
    document = drawn(found)
    assert document == drawn(charts(text, "all"))
    said = " ".join(texts(document))
    for chart in found:
        assert chart.title in said
    assert b"<dc:date>" not in document
    assert b"prefers-color-scheme:dark" in document


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG\r\n\x1a\n"), (".pdf", b"%PDF-")])
@pytest.mark.sample(2)
def test_other_formats_are_drawn_from_the_same_charts(suffix, start):
    found = charts("rope:dim=8,len=12")
    made = drawn(found, suffix)
    assert made.startswith(start)
    assert made == drawn(found, suffix)


def test_names_in_a_picture_are_text_and_never_markup():
    hostile = charts_of_table(Table.parse("sinusoidal:dim=4,len=4"), "</text><script>$x^2$ \x1b[31m\u7a7a", ["heatmap"])
    document = drawn(hostile).decode()
    assert "<script" not in document
    assert "\x1b" not in document
    assert any("</text><script>$x^2$ ?[31m\u7a7a" in text for text in texts(document))


def test_plot_returns_a_figure_or_draws_into_axes():
    mpl = pytest.importorskip("matplotlib.figure")
    made = library.plot("rope:dim=8,len=12", "all")
    assert isinstance(made, mpl.Figure)
    assert len(made.subfigs) == 4
    ax = mpl.Figure().subplots()
    assert library.plot("rope:dim=8,len=12", "similarity", ax=ax) is ax
    assert ax.get_title() == "Similarity of positions in rope:dim=8,len=12"
    rows = np.hstack([Table.parse("rope:dim=8,len=12").read(name) for name in ("cos", "sin")]).astype(float)
    unit = rows / np.linalg.norm(rows, axis=1)[:, None]
    np.testing.assert_allclose(ax.images[0].get_array(), unit @ unit.T, atol=1e-12)
    with pytest.raises(PecliError, match="takes one picture, and these are 4"):
        library.plot("rope:dim=8,len=12", "all", ax=ax)
    with pytest.raises(PecliError, match="did you mean 'heatmap'"):
        library.plot("rope:dim=8,len=12", ["heat"])


def test_a_difference_is_drawn_where_it_is_and_how_large():
    first = Table.parse("sinusoidal:dim=8,len=600")
    values = first.read("pe").copy()
    values[300, 2] += 0.5
    values[7, 3] = np.nan
    (heat,) = charts_of_difference(InMemory({"pe": values}), first, ("A", "B"))
    cells = np.nan_to_num(heat.values, nan=-1)
    assert np.argwhere(cells > 0).tolist() == [[300 * 256 // 600, 2]]
    assert cells.max() == pytest.approx(0.5, abs=1e-6)
    assert np.isnan(heat.values[7 * 256 // 600, 3])
    assert heat.rows == (0, 599)
    assert "grey: NaN" in heat.value
    assert charts_of_difference(first, first, ("A", "B")) == []
    text = draw([heat], 80)
    assert text.count("@") == 4 + 2  # four letters wide, and twice in the legend
    assert shade(-math.inf, BLUE_TO_RED) == EQUAL
    made = figure("sinusoidal:dim=8,len=60", (), other="sinusoidal:dim=8,len=60,base=500")
    assert made.axes[0].images[0].get_array().mask[:, 0].all()  # pair 0 has the same frequency
    assert made.axes[0].images[0].norm.vmax == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize(("low", "ticks"), [(0.98, ["0.985", "0.99"]), (0.05, ["0.05", "1"]), (1e-5, ["1e-4", "1"])])
def test_the_bar_of_a_difference_has_plain_numbers_within_one_power_of_ten_too(low, ticks):
    values = np.zeros((8, 4))
    values[2:, 1:] = np.geomspace(low, 1, 18).reshape(6, 3)
    first = InMemory({"pe": np.zeros((8, 4))})
    said = texts(drawn(charts_of_difference(InMemory({"pe": values}), first, ("A", "B"))))
    assert set(ticks) <= set(said)
    assert not any("$" in text for text in said)


def test_compare_draws_the_difference(pecli, refuses, tmp_path):
    pytest.importorskip("matplotlib")
    names = ("rope:dim=8,len=32", "rope:dim=8,len=32,base=500")
    result = pecli("compare", *names, "--values", "--plot", "d.svg")
    assert result.returncode == 1
    assert any("cos: difference of rope:dim=8,len=32 and" in text for text in texts((tmp_path / "d.svg").read_text()))
    shown = pecli("compare", *names, "--values", "--plot", "-")
    assert "largest absolute difference" in shown.stdout
    same = pecli("compare", names[0], names[0], "--values", "--plot", "e.svg")
    assert same.returncode == 0
    assert "all values are equal" in same.stderr
    assert not (tmp_path / "e.svg").exists()
    refuses("compare", *names, "--plot", "d.svg", says=["--values"])
    refuses("compare", *names, "--values", "--plot", "-", "--json", says=["standard output"])
    refuses("compare", *names, names[0], "--values", "--plot", "d.svg", says=["two sources"])
    refuses("compare", names[0], "alibi:heads=2", "--values", "--plot", "d.svg", says=["one shape"])


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
    found = charts_of_table(open_table(str(tmp_path / "b.npy")), "b.npy", ["all"])
    assert [type(chart) for chart in found] == [Heat, Heat]
    angles = np.arange(8)[:, None] * 0.3 ** np.arange(8)
    np.save(tmp_path / "r.npy", np.stack([np.cos(angles), np.sin(angles)]))  # square too, and yet no bias
    found = charts_of_table(open_table(str(tmp_path / "r.npy")), "r.npy", ["all"])
    assert [type(chart) for chart in found][:4] == [Heat, LineChart, Heat, Circles]


def test_what_cannot_be_drawn_names_what_can():
    rule = r"kind=rotation cannot be drawn of alibi:heads=2,len=9: choose bias, slopes"
    with pytest.raises(PecliError, match=rule):
        charts("alibi:heads=2,len=9", "rotation")
    with pytest.raises(PecliError, match="did you mean 'heatmap'"):
        charts("rope:dim=4,len=4", "heat")


def test_letters_show_the_map_without_colour():
    values = np.array([[0.0, 1.0], [0.5, math.inf]])
    lines = draw([Heat("t\x1b[2J", "x", "y", values, "v", [Span(0, 1, 2)], (0, 1))], 40).splitlines()
    assert lines[0] == "t?[2J"
    assert lines[3].strip() == "0 │    @@@@│"
    assert lines[4].strip() == "1 │++++xxxx│"
    assert "\x1b" not in "\n".join(lines)


def test_half_blocks_hold_two_rows_in_colour():
    heat = Heat("t", "x", "y", np.array([[-1.0], [1.0]]), "v", [Span(0, 0, 1)], (0, 1))
    line = draw([heat], 40, colour=True).splitlines()[3]
    assert "\x1b[38;5;17;48;5;52m▀▀▀▀\x1b[0m" in line


def test_curves_have_colours_in_a_terminal_that_has_them():
    shown = draw(charts("sinusoidal:dim=64,len=64", "waves"), 80, colour=True)
    assert "\x1b[38;5;25m●" in shown
    assert "\x1b[38;5;166m·" in shown
    assert "\x1b" not in draw(charts("sinusoidal:dim=64,len=64", "waves"), 80)


def test_the_nearest_of_216_colours():
    assert code("#ff0000") == "38;5;196"
    assert code("#0000ff", ground=True) == "48;5;21"


@pytest.mark.parametrize("text", ["sinusoidal:dim=64,len=64", "rope:dim=64,len=64", "alibi:heads=8,len=64"])
def test_the_terminal_keeps_to_its_width(text):
    assert max(map(len, draw(charts(text), 80).splitlines())) <= 80


def test_the_command_draws(pecli, tmp_path):
    pytest.importorskip("matplotlib")
    result = pecli("inspect", "rope:dim=8", "--plot", "a.svg", "--kind", "waves+rotation", "-q")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == ""
    said = texts((tmp_path / "a.svg").read_text())
    assert {"Columns of rope:dim=8, the first 50 of 128 rows", "Rotation of pairs in rope:dim=8"} <= set(said)
    shown = pecli("inspect", "rope:dim=8", "--plot", "-", "--kind", "heatmap")
    assert shown.stdout.startswith("Values of rope:dim=8")
    assert "\x1b" not in shown.stdout
    forced = pecli("inspect", "rope:dim=8", "--plot", "-", "--kind", "heatmap", env={"FORCE_COLOR": "1"})
    assert "\x1b[38;5;" in forced.stdout
    plain = pecli("inspect", "rope:dim=8", "--plot", "-", env={"PYTHONIOENCODING": "ascii", "NO_COLOR": "1"})
    assert plain.returncode == 0
    assert plain.stdout.isascii()


def test_the_command_refuses(refuses):
    pytest.importorskip("matplotlib")
    refuses("inspect", "rope:dim=8", "--kind", "waves", says=["pecli plot"])
    refuses("inspect", "rope:dim=8", "--plot", "a.svg", "--kind", "wave", says=["waves"])
    refuses("inspect", "rope:dim=8", "--plot", "a.gif", says=[".gif", ".svg"])
    refuses("inspect", "rope:dim=8", "--plot", "-", "--json", says=["-o -"])
    refuses("inspect", "rope:dim=8", "--plot", "a.svg", "--kind", "slopes", says=["slopes", "heatmap"])
    refuses("inspect", "alibi:heads=2", "--plot", "a.svg", "--kind", "waves", says=["choose bias, slopes"])


def test_arrows_in_the_terminal_are_angles():
    text = draw(charts("rope:dim=4,base=100,len=5", "rotation"), 80)
    assert "pair 1, w = 0.1, 5.73° a position" in text
    assert "2: 114.59°" in text


def test_without_matplotlib_files_are_refused_and_the_terminal_and_pages_work(monkeypatch, pecli, refuses):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refuses("plot", "rope:dim=8", "-o", "x.svg", says=["matplotlib", "pip install 'pecli[plot]'"])
    with pytest.raises(PecliError, match=r"pip install 'pecli\[plot\]'"):
        library.plot("rope:dim=8")
    assert pecli("plot", "rope:dim=8").returncode == 0
    assert pecli("plot", "rope:dim=8", "-o", "x.html").returncode == 0


@pytest.mark.parametrize("path", [*ROOT.glob("man/pictures/*"), *ROOT.glob("docs/pictures/*")], ids=lambda p: p.name)
def test_the_documents_pictures_are_current_small_and_shown(path, made):
    """Their bytes are those of one version of matplotlib, which each names; of another, the same words."""
    if version_of(path.read_text()) == version_of(made[path]):
        assert path.read_text() == made[path]
    assert sorted(texts(path.read_text())) == sorted(texts(made[path]))
    assert path.stat().st_size < 200_000
    documents = [ROOT / "README.md", *ROOT.glob("docs/*.md")]
    assert any(f"{path.parent.name}/{path.name})" in page.read_text() for page in documents)


def version_of(svg):
    return re.search(r"Matplotlib v[\d.]+", svg)[0]


@pytest.fixture(scope="module")
def made():
    """Every picture of the documents, as its command in docs/pictures.txt draws it now."""
    pytest.importorskip("matplotlib")
    return dict(generate.pictures())


def test_a_single_value_has_nothing_to_draw():
    with pytest.raises(PecliError, match="has nothing to draw"):
        charts("learned:dim=1,len=1")


def test_the_slopes_of_a_bias_of_one_query_and_one_key_are_drawn():
    found = charts("alibi:heads=8,len=1")
    assert [chart.title for chart in found] == ["Slopes of alibi:heads=8,len=1"]
    assert found[0].series[0].y == [2.0**-h for h in range(1, 9)]
    assert draw(found)


@pytest.mark.parametrize("recipe", ["kerple:heads=2", "sandwich:heads=2"])
def test_one_value_of_each_head_is_no_slope(recipe):
    with pytest.raises(PecliError, match="has nothing to draw"):
        charts(f"{recipe},len=1")


def test_a_logarithmic_axis_without_positive_values_has_a_scale():
    from pecli.plots.charts import Axis

    share, ticks = scale_of(Axis("x", 10), [0.0, -1.0])
    assert ticks == [1.0, 10.0]
    assert [share(tick) for tick in ticks] == [0.0, 1.0]


def test_arrows_of_a_grid_lie_where_both_of_its_axes_move():
    for recipe, step in (("rope2d:dim=16,grid=6x8", 11), ("rope:dim=16,len=40", 1)):
        (chart,) = charts(recipe, "rotation")
        assert [a.name for a in chart.circles[0].arrows] == [f"{k * step}" for k in range(5)]
        assert all(len({round(a.angle, 9) for a in circle.arrows}) > 1 for circle in chart.circles)


def test_weights_of_one_sign_are_not_drawn_about_zero():
    first, _ = charts("gaussian:heads=2,sigma=1+4,len=64", "bias")
    assert not first.centred
    assert first.ends == (0.0, 1.0)


def test_a_matplotlibrc_of_the_working_folder_is_not_obeyed(tmp_path):
    pytest.importorskip("matplotlib")
    words = [sys.executable, "-m", "pecli", "plot", "rope:dim=4,len=3", "-o", "a.svg"]
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\nfont.size: 40\n")
    subprocess.run(words, cwd=tmp_path, env=clean_environment(), check=True, capture_output=True)
    assert run(["plot", "rope:dim=4,len=3", "-o", str(tmp_path / "b.svg")]) == 0
    assert (tmp_path / "a.svg").read_text() == (tmp_path / "b.svg").read_text()
