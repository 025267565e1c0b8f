"""The page to play with: one file, no network, what it holds is the table, and it runs in a browser."""

import json
import re
import shutil
import subprocess

import pytest

from pecli import CATALOGUE, Table, open_table, write_table
from pecli.plots.page import page_of

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))


def test_a_page_is_one_file_that_asks_nobody():
    page = page_of(Table.parse("rope:dim=8,len=16"), "rope:dim=8")
    assert not re.findall(r"(?:src|href)=|https?://|fetch\(|import\(", page)
    assert page.startswith("<!doctype html>")
    assert "<title>pecli: rope:dim=8</title>" in page


def test_what_a_page_holds_is_the_table():
    table = Table.parse("rope:dim=8,len=16,start=3,dtype=float64")
    own = data_of(page_of(table, "r"))["variants"][0]
    assert own["at"] == list(range(3, 19))
    assert own["columns"][:5] == ["cos 0", "cos 1", "cos 2", "cos 3", "sin 0"]
    assert own["values"][1] == pytest.approx(table.read("cos")[:, 1].tolist(), rel=1e-5)
    hand = own["hands"][3]
    assert hand["pair"] == 3
    assert hand["sin"] == pytest.approx(table.read("sin")[:, 3].tolist(), rel=1e-5)


def test_scalings_are_beside_each_other_where_there_are_any():
    words = [v["word"] for v in data_of(page_of(Table.parse("rope:dim=8,len=64"), "r"))["variants"]]
    assert words[0] == "as it is"
    assert {"linear", "ntk", "yarn", "llama3"} <= set(words)
    assert "none" not in words  # that is as it is
    assert len(data_of(page_of(Table.parse("learned:dim=4,max-len=8,len=8"), "l"))["variants"]) == 1


def test_columns_in_turn_have_their_true_names():
    own = data_of(page_of(Table.parse("sinusoidal:dim=6,len=8"), "s"))["variants"][0]
    assert own["columns"] == [f"column {c}" for c in (0, 2, 4, 1, 3, 5)]


def test_a_bias_has_its_heads_and_what_is_masked_is_no_number(tmp_path):
    write_table(Table.parse("alibi:heads=3,mask=causal,len=6"), tmp_path / "a.h5")
    own = data_of(page_of(open_table(tmp_path / "a.h5"), "a"))["variants"][0]
    assert len(own["heads"]) == 3
    key, query = 4, 1
    assert own["heads"][0][key][query] is None
    slopes = [2**-4, 2**-8, 2**-2]  # of three heads: those of two, and the first of four
    assert [head[1][4] for head in own["heads"]] == pytest.approx([-3 * slope for slope in slopes], rel=1e-5)


def test_a_name_cannot_break_out_of_its_place():
    page = page_of(Table.parse("sinusoidal:dim=4,len=4"), "</script><b>x")
    assert "</script><b>x" not in page


def test_the_command_writes_it(pecli, refuses, tmp_path):
    assert pecli("inspect", "alibi:heads=2,len=8", "--plot", "a.html", "-q").returncode == 0
    assert data_of((tmp_path / "a.html").read_text())["name"] == "alibi:heads=2,len=8"
    refuses("inspect", "alibi:heads=2,len=8", "--plot", "a.html", "--picture", "slopes", says=["page"])
    refuses("extrapolate", "rope:dim=8", "--train-len", 8, "--test-len", 16, "--plot", "a.html", says=[".svg"])


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_it_runs_in_a_browser(tmp_path):
    path = tmp_path / "page.html"
    options = [
        "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom",
    ]  # fmt: skip
    for recipe in ("rope:dim=8,len=32", "alibi:heads=2,len=8"):
        path.write_text(page_of(Table.parse(recipe), recipe))
        words = [CHROMIUM, *options, path.as_uri()]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        shown = done.stdout
        assert 'aria-label="' in shown.split('id="map"')[1][:400], done.stderr[-2000:]
        assert re.search(r'id="shown">(position|query) 1<', shown)
        assert ("pair 1" in shown) == recipe.startswith("rope")


def test_a_file_has_the_formula_of_its_recipe_and_the_size_of_the_whole(tmp_path):
    write_table(Table.parse("rope:dim=128,len=300,layout=half"), tmp_path / "a.npz")
    own = data_of(page_of(open_table(tmp_path / "a.npz"), "a"))["variants"][0]
    assert own["formula"] == list(CATALOGUE["rope"].formula)
    assert own["of"] == [300, 256]
    assert len(own["values"]) == 64
    assert len(own["values"][0]) == 128
