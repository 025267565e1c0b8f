"""Charts as SVG and as text: what stands in them, at its place."""

import re
import xml.etree.ElementTree as ET

import pytest

from pecli import PecliError, Recipe
from pecli.extrapolate.report import extrapolate
from pecli.plots.charts import Axis, BarChart, BarLayer, LineChart, Mark, Trace, scale_of, tick_text
from pecli.plots.images import check_picture, draw, picture_bytes
from pecli.plots.reach import charts_of

SVG = "{http://www.w3.org/2000/svg}"
LINES = LineChart(
    "Loss <by> position & seed",
    Axis("position (tokens)"),
    Axis("loss (nats)"),
    (Trace("rope", (0, 50, 100), (0.0, 1.0, 2.0)), Trace("alibi", (0, 100), (2.0, float("nan")))),
    (Mark(25, "trained to 25"),),
)


def texts(document):
    return ["".join(node.itertext()) for node in ET.fromstring(document).iter(f"{SVG}text")]


def test_an_svg_is_well_formed_and_names_everything():
    document = picture_bytes([LINES], "x.svg")
    found = texts(document)
    for word in (LINES.title, "position (tokens)", "loss (nats)", "rope", "alibi", "trained to 25", "100", "2"):
        assert word in found
    assert document == picture_bytes([LINES], "x.svg")


def test_charts_stand_one_below_the_other():
    root = ET.fromstring(picture_bytes([LINES, LINES, LINES], "x.svg"))
    assert int(root.get("height")) == 3 * 380
    assert len(root.findall(f"{SVG}g")) == 3


def test_a_line_goes_through_its_points():
    path, _in_the_legend = re.findall(
        r'<path d="(M[\d. L]+)" fill="none" stroke="#0072b2"', picture_bytes([LINES], "x.svg").decode()
    )
    points = [tuple(map(float, p.split())) for p in path[1:].split("L")]
    assert points == [(74.0, 326.0), (329.0, 186.0), (584.0, 46.0)]


def test_names_are_text_and_never_markup():
    hostile = LineChart(
        "<script>alert(1)</script>\x1b[31m", LINES.x, LINES.y, (Trace('"><g onload="x"', (0, 1), (0, 1)),)
    )
    document = picture_bytes([hostile], "x.svg").decode()
    assert "<script" not in document
    assert 'onload="x"' not in document
    assert "\x1b" not in document


def test_text_shows_every_series_and_the_mark():
    text = draw([LINES], 60)
    assert "● rope" in text
    assert "○ alibi" in text
    assert "┆ trained to 25" in text
    assert max(map(len, text.splitlines())) <= 60


def test_bars_are_stacked_to_their_heights():
    bars = BarChart(
        "seen", Axis("pair"), Axis("share", low=0, high=1), (BarLayer("old", (1, 0.5)), BarLayer("new", (0, 0.5), 0.4))
    )
    rows = [line.split("┤")[-1].split("│")[-1] for line in draw([bars], 60).splitlines()[2:18]]
    assert all(row[0] == "█" for row in rows)
    assert [row[-1] for row in rows] == ["▒"] * 8 + ["█"] * 8


@pytest.mark.parametrize(
    ("axis", "values", "ticks"),
    [
        (Axis(""), (0, 97), (0, 20, 40, 60, 80, 100)),
        (Axis(""), (-0.3, 0.9), (-0.4, -0.2, 0, 0.2, 0.4, 0.6, 0.8, 1)),
        (Axis("", log=True), (1, 30000), (1, 10, 100, 1000, 10000)),
        (Axis("", low=0, high=1), (), (0, 0.2, 0.4, 0.6, 0.8, 1)),
        (Axis(""), (5, 5), (4.4, 4.6, 4.8, 5.0, 5.2, 5.4, 5.6)),
    ],
)
def test_ticks_are_round_numbers(axis, values, ticks):
    assert scale_of(axis, values).ticks == pytest.approx(ticks)


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
    check_picture("-")
    with pytest.raises(PecliError, match=r"unknown suffix of a picture '.bmp'"):
        check_picture("x.bmp")


def test_a_png_without_matplotlib_names_the_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(PecliError, match=r"pip install 'pecli\[plot\]', or write .svg"):
        picture_bytes([LINES], "x.png")


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
    lengths = ("--train-len", 64, "--test-len", 256, "-q")
    asked = ("--plot", "a.svg", "--picture", "ramps+phases")
    assert pecli("extrapolate", "rope:dim=16", *lengths, "--scaling", "yarn,ntk", *asked).returncode == 0
    assert [t for t in texts((tmp_path / "a.svg").read_text()) if t.startswith(("How much", "Phases", "Score"))] == [
        "How much slower a scaling makes a pair", "Phases of rope:dim=16: seen in training and new",
    ]  # fmt: skip
    refuses("extrapolate", "rope:dim=16", *lengths, "--picture", "phases", says=["--plot"])
    refuses("extrapolate", "rope:dim=16", *lengths, "--plot", "-", "--picture", "ramp", says=["ramps"])
    says = ["cannot be drawn of alibi:heads=2", "reach can"]
    refuses("extrapolate", "alibi:heads=2", *lengths, "--plot", "-", "--picture", "inside", says=says)
