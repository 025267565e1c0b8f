"""Charts of lines as SVG and as text: what stands in them, at its place."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from pecli import PecliError, Recipe
from pecli.extrapolate.report import extrapolate
from pecli.plots.charts import Axis, LineChart, Trace, tick_text
from pecli.plots.figures import check_picture
from pecli.plots.reach import charts_of
from pecli.plots.terminal import draw, scale_of

SVG = "{http://www.w3.org/2000/svg}"
LINES = LineChart(
    "Loss <by> position & seed",
    Axis("position (tokens)"),
    Axis("loss (nats)"),
    (Trace("rope", (0, 50, 100), (0.0, 1.0, 2.0)), Trace("alibi", (0, 100), (2.0, float("nan")))),
    ((25, "trained to 25"),),
)


def figure(*charts):
    pytest.importorskip("matplotlib")
    from pecli.plots.figures import figure_of

    return figure_of(charts)


def texts(document):
    return ["".join(node.itertext()) for node in ET.fromstring(document).iter(f"{SVG}text")]


def test_an_svg_names_everything_and_its_bytes_do_not_change():
    document = figure(LINES)._repr_svg_()
    found = texts(document)
    for word in (LINES.title, "position (tokens)", "loss (nats)", "rope", "alibi", "trained to 25", "100", "2.0"):
        assert word in found
    assert document == figure(LINES)._repr_svg_()


def test_lines_and_marks_are_those_of_the_chart():
    (ax,) = figure(LINES).axes
    first, second, mark = ax.get_lines()
    np.testing.assert_array_equal(first.get_xydata(), [(0, 0), (50, 1), (100, 2)])
    assert list(second.get_xdata()) == [0, 100]
    assert list(mark.get_xdata()) == [25, 25]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("position (tokens)", "loss (nats)")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["rope", "alibi", "trained to 25"]


def test_lines_that_are_apart_have_a_frame_each_over_the_others():
    chart = LineChart(
        "t", Axis("x"), Axis("y"), [Trace(n, (0, 1, 2), (1, 1, k)) for k, n in enumerate("abc")], apart=True
    )
    made = figure(chart)
    assert [len(ax.get_lines()) for ax in made.axes] == [4, 4, 4, 0]
    for number, ax in enumerate(made.axes[:3]):
        assert list(ax.get_lines()[-1].get_ydata()) == [1, 1, number]
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["abc"[number]]


def test_areas_are_filled_down_to_0():
    chart = LineChart("t", Axis("x"), Axis("y"), [Trace("a", (0, 1, 2), (1, 0.5, 0.25))], style="areas")
    (ax,) = figure(chart).axes
    corners = ax.collections[0].get_paths()[0].vertices
    assert corners[:, 1].min() == 0
    assert corners[:, 1].max() == 1


def test_text_shows_every_series_and_the_mark():
    text = draw([LINES], 60)
    assert "● rope" in text
    assert "○ alibi" in text
    assert "┆ trained to 25" in text
    assert max(map(len, text.splitlines())) <= 60


@pytest.mark.parametrize(
    ("axis", "values", "ticks"),
    [
        (Axis(""), (0, 97), (0, 20, 40, 60, 80, 100)),
        (Axis(""), (-0.3, 0.9), (-0.4, -0.2, 0, 0.2, 0.4, 0.6, 0.8, 1)),
        (Axis("", 10), (1, 30000), (1, 10, 100, 1000, 10000)),
        (Axis("", low=0, high=1), (), (0, 0.2, 0.4, 0.6, 0.8, 1)),
        (Axis(""), (5, 5), (4.4, 4.6, 4.8, 5.0, 5.2, 5.4, 5.6)),
    ],
)
def test_ticks_are_round_numbers(axis, values, ticks):
    assert scale_of(axis, values)[1] == pytest.approx(ticks)


def test_ticks_are_written_short():
    assert [tick_text(v) for v in (0.2, 0.30000000000000004, 4000, 1e6, 2.5e-5, 0)] == [
        "0.2",
        "0.3",
        "4000",
        "1e6",
        "2.5e-5",
        "0",
    ]


def test_only_svg_png_and_pdf_are_written():
    pytest.importorskip("matplotlib")
    for path in ("-", "x.svg", "x.PNG", "x.pdf"):
        check_picture(path)
    with pytest.raises(PecliError, match=r"unknown suffix '.gif' of a picture"):
        check_picture("x.gif")


def test_phases_are_seen_or_new():
    phases, _ = charts_of([extrapolate("r", Recipe.parse("rope:dim=16"), 100, 500)])
    reached, seen = phases.series
    turns = np.array([10000 ** (-i / 8) for i in range(8)]) / (2 * np.pi)
    for trace, length in ((seen, 100), (reached, 500)):  # of slow pairs, the arc that the positions cover
        slow = turns * (length - 1) < 0.9
        np.testing.assert_allclose(np.array(trace.y)[slow], (turns * (length - 1))[slow], atol=0.02)


@pytest.mark.parametrize(
    ("recipe", "titles"),
    [
        ("rope:dim=16", ["Phases of rope:dim=16: seen in training and new", "Score against distance of rope:dim=16"]),
        ("alibi:heads=20", ["Weight of a key against its distance, alibi:heads=20"]),
        ("binary:dim=16", []),
    ],
)
def test_a_report_is_drawn_by_what_it_has(recipe, titles):
    charts = charts_of([extrapolate(recipe, Recipe.parse(recipe), 100, 500)])
    assert [chart.title for chart in charts] == titles
    for chart in charts:
        if isinstance(chart, LineChart):
            assert len(chart.series) <= 8


@pytest.mark.parametrize(
    ("recipe", "label"),
    [
        ("rope:dim=16", "mean cosine of the pairs"),
        ("rope:dim=16,scaling=yarn,factor=4,original-max=100", "mean cosine of the pairs x magnitude^2"),
    ],
)
def test_a_mean_cosine_above_one_names_its_magnitude(recipe, label):
    assert charts_of([extrapolate(recipe, Recipe.parse(recipe), 100, 400)])[1].y.label == label


def test_pictures_are_chosen_by_name(pecli, refuses, tmp_path):
    pytest.importorskip("matplotlib")
    lengths = ("--train-len", 64, "--test-len", 256, "-q")
    asked = ("--plot", "a.svg", "--kind", "ramps+phases")
    assert pecli("extrapolate", "rope:dim=16", *lengths, "--scaling", "yarn,ntk", *asked).returncode == 0
    assert [t for t in texts((tmp_path / "a.svg").read_text()) if t.startswith(("How much", "Phases", "Score"))] == [
        "How much slower each scaling makes each pair", "Phases of rope:dim=16: seen in training and new",
    ]  # fmt: skip
    refuses("extrapolate", "rope:dim=16", *lengths, "--kind", "phases", says=["--plot"])
    refuses("extrapolate", "rope:dim=16", *lengths, "--plot", "-", "--kind", "ramp", says=["ramps"])
    says = ["cannot be drawn of alibi:heads=2", "choose reach"]
    refuses("extrapolate", "alibi:heads=2", *lengths, "--plot", "-", "--kind", "phases", says=says)
