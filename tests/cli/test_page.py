"""The page to play with: one file, no network, what it holds is the table, and it runs in a browser."""

import base64
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from pecli import CATALOGUE, Table, open_table, write_table
from pecli.plots.page import page_of
from pecli.spec.tabular import InMemory

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))


def matrix(variant, number=0):
    """The values of a variant, (rows, columns)."""
    packed = np.frombuffer(base64.b64decode(variant["values"][number]), "<f4")
    return packed.reshape(variant["width"], variant["rows"]).T


def test_a_page_is_one_file_that_asks_nobody():
    page = page_of(Table.parse("rope:dim=8,len=16"), "rope:dim=8")
    assert not re.findall(r"(?:src|href)=|https?://|fetch\(|import\(", page)
    assert page.startswith("<!doctype html>")
    assert "<title>pecli: rope:dim=8</title>" in page


def test_a_page_holds_every_row_of_the_table():
    table = Table.parse("rope:dim=8,len=3000,start=3,dtype=float64")
    own = data_of(page_of(table, "r"))["variants"][0]
    assert own["at"] == list(range(3, 3003))
    assert own["columns"][:5] == ["cos 0", "cos 1", "cos 2", "cos 3", "sin 0"]
    assert own["spans"] == [["cos", 4], ["sin", 4]]
    np.testing.assert_allclose(matrix(own), np.hstack([table.read("cos"), table.read("sin")]), atol=1e-7)
    angles = np.frombuffer(base64.b64decode(own["hands"]), "<f4").reshape(4, 3000)
    np.testing.assert_allclose(np.cos(angles.T), table.read("cos"), atol=1e-6)
    np.testing.assert_allclose(np.sin(angles.T), table.read("sin"), atol=1e-6)


def test_hands_of_a_sinusoid_start_at_cosine_1():
    own = data_of(page_of(Table.parse("sinusoidal:dim=6,len=8"), "s"))["variants"][0]
    angles = np.frombuffer(base64.b64decode(own["hands"]), "<f4").reshape(3, 8)
    np.testing.assert_allclose(angles[0, :4], [0, 1, 2, 3], atol=1e-6)


def test_hands_say_the_values_of_a_table_that_a_scaling_multiplies():
    table = Table.parse("rope:dim=8,len=16,scaling=yarn,factor=4,original-max=4")
    own = data_of(page_of(table, "r"))["variants"][0]
    assert own["size"] == pytest.approx(0.1 * np.log(4) + 1, rel=1e-6)


def test_more_rows_than_a_page_holds_are_refused(refuses):
    refuses("plot", "rope:dim=8", "--len", 20000, "-o", "a.html", says=["at most 16384"])
    refuses("plot", "alibi:heads=2", "--len", 600, "-o", "a.html", says=["512"])


def test_scalings_are_beside_each_other_where_there_are_any():
    variants = data_of(page_of(Table.parse("rope:dim=8,len=64"), "r"))["variants"]
    words = [v["word"] for v in variants]
    assert {v["said"] for v in variants[1:]} == {"trained on 16 positions, scaled by 4 for 64"}
    linear = variants[words.index("linear")]
    np.testing.assert_allclose(matrix(linear)[:, 0], np.cos(np.arange(64) / 4), atol=1e-6)
    assert words[0] == "as it is"
    assert {"linear", "ntk", "yarn", "llama3"} <= set(words)
    assert "none" not in words  # that is as it is
    assert len(data_of(page_of(Table.parse("learned:dim=4,max-len=8,len=8"), "l"))["variants"]) == 1


def test_columns_in_turn_have_their_true_names():
    own = data_of(page_of(Table.parse("sinusoidal:dim=6,len=8"), "s"))["variants"][0]
    assert own["columns"] == ["sin 0", "sin 2", "sin 4", "cos 1", "cos 3", "cos 5"]


def test_a_bias_has_its_heads_and_what_is_masked_is_no_number(tmp_path):
    write_table(Table.parse("alibi:heads=3,mask=causal,len=6"), tmp_path / "a.h5")
    own = data_of(page_of(open_table(tmp_path / "a.h5"), "a"))["variants"][0]
    assert own["heads"] == [0, 1, 2]
    key, query = 4, 1
    assert np.isnan(matrix(own)[query, key])
    slopes = [2**-4, 2**-8, 2**-2]  # of three heads: those of two, and the first of four
    assert [matrix(own, head)[4, 1] for head in range(3)] == pytest.approx([-3 * slope for slope in slopes], rel=1e-5)


NAMES = ("data", "</script><b>x", "\"'`\\", "{{data}}", "\u2028\u7a7a", "__proto__", "<!--")


@pytest.mark.parametrize("name", NAMES)
def test_names_of_arrays_cannot_break_a_page(name):
    values = np.cos(np.arange(8.0)[:, None] * np.ones(3))
    page = page_of(InMemory({name: values, f"{name}2": values}), name)
    assert page.count("</script>") == 2
    assert "<b>x" not in page.partition("</head>")[2]
    (own,) = data_of(page)["variants"]
    assert own["columns"][0] == f"{name} 0"


def test_the_command_writes_it(pecli, refuses, tmp_path):
    assert pecli("inspect", "alibi:heads=2,len=8", "--plot", "a.html", "-q").returncode == 0
    assert data_of((tmp_path / "a.html").read_text())["name"] == "alibi:heads=2,len=8"
    refuses("inspect", "alibi:heads=2,len=8", "--plot", "a.html", "--kind", "slopes", says=["page"])
    refuses("extrapolate", "rope:dim=8", "--train-len", 8, "--test-len", 16, "--plot", "a.html", says=[".svg"])


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_it_runs_in_a_browser(tmp_path):
    path = tmp_path / "page.html"
    options = [
        "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom",
    ]  # fmt: skip
    file = InMemory({"data": np.cos(np.arange(8.0)[:, None] * np.ones(3)), "</script>": np.ones((8, 2))})
    tables = {recipe: Table.parse(recipe) for recipe in ("rope:dim=8,len=32", "alibi:heads=2,len=8")}
    for name, table in {**tables, "file": file}.items():
        path.write_text(page_of(table, name))
        words = [CHROMIUM, *options, path.as_uri()]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        shown = done.stdout
        assert 'aria-label="' in shown.split('id="map"')[1][:400], done.stderr[-2000:]
        assert re.search(r'id="shown">(position|query) 1<', shown)
        assert ("pair 1" in shown) == name.startswith("rope")
        assert ">Play</button>" in shown
        assert re.search(r'id="upname">(position|query)<', shown)
        assert re.search(r'id="acrossname">(column|key)<', shown)


def test_a_file_has_the_formula_of_its_recipe_and_the_size_of_the_whole(tmp_path):
    write_table(Table.parse("rope:dim=128,len=300,layout=half"), tmp_path / "a.npz")
    own = data_of(page_of(open_table(tmp_path / "a.npz"), "a"))["variants"][0]
    assert own["formula"] == list(CATALOGUE["rope"].formula)
    assert (own["rows"], own["width"], own["of"]) == (300, 128, 256)
