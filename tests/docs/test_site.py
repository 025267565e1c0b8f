"""The pages made of the declarations, and the check of the built site's links."""

import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from pecli import CATALOGUE
from pecli.cli.run import run
from pecli.spec.declaration import PICTURES
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "docs"))
import formulas
import pages


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The catalogue, as Sphinx finds it, without what is drawn in its pictures."""
    folder = tmp_path_factory.mktemp("site") / "catalogue"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "picture_bytes", lambda charts, name: b"<svg/>")
        pages.write(folder, folder / "extra")
    return folder


@pytest.fixture(scope="module")
def shown(made):
    """Each picture of the gallery with its command."""
    text = (made / "gallery.md").read_text()
    return re.findall(r"!\[[^]]*\]\((\S+\.svg)\)\n\n```sh\npecli (.*)\n```", text)


def test_every_encoding_has_a_page_with_its_lesson_and_options(made):
    for name, encoding in CATALOGUE.items():
        text = (made / f"{name}.md").read_text()
        assert text.startswith(f"# {encoding.title}\n\n`{name}`. ")
        assert "Step 1: " in text
        assert all(f"| `--{p.option}` |" in text for p in encoding.options)
        for image in re.findall(r"\]\(([\w-]+\.svg)\)", text):
            assert (made / image).exists()
        formula = re.findall(r"## Formula\n\n```{raw} html\n(.*?)```", text, re.DOTALL)[0]
        assert "<math>" in formula
        assert len(ET.fromstring(formula).findall("p")) == len(encoding.formula)


def test_equations_become_mathml_and_prose_stays_prose():
    def text_of(line):
        parts = (part.text or "" for part in ET.fromstring(formulas.html(line, {"scales"})).iter())
        return "".join(parts)

    shown = formulas.html("with scales a: pe(p, i) = p / (L - 1) (i / (dim - 1))^a", {"scales"})
    assert shown.startswith("<p>with <code>scales</code> <math><mi>a</mi></math>: <math>")
    page = ET.fromstring(shown)
    assert [["".join(part.itertext()) for part in fraction] for fraction in page.iter("mfrac")] == [
        ["p", "L−1"], ["i", "dim−1"],
    ]  # fmt: skip
    assert [["".join(part.itertext()) for part in power] for power in page.iter("msup")] == [["(idim−1)", "a"]]
    assert text_of("w_i = base^(-2i/dim), a pair") == "wi=base−2i/dim"
    assert formulas.html("a complex number", ()) == "<p>a complex number</p>"
    assert "a query's row" in formulas.html("normalize: a query's row over its sum", ())


def test_the_gallery_shows_every_kind_of_picture_of_every_encoding(made, shown):
    kinds = {name: {k for k in PICTURES if f"{name}-{k}.svg" in dict(shown)} for name in CATALOGUE}
    assert kinds["rope"] == {"heatmap", "waves", "similarity", "rotation"}
    assert kinds["alibi"] == {"bias", "slopes"}
    assert [name for name, found in kinds.items() if not found] == ["none"]  # zeros are nothing to look at
    assert {path.name for path in made.glob("*.svg")} == {image for image, _ in shown}
    assert all(f"play-{name}.html" in (made / "gallery.md").read_text() for name in pages.PLAYED)
    for path in made.glob("*.svg"):
        ET.parse(path)


@pytest.mark.exhaustive
def test_all_commands_of_the_gallery_draw_what_stands_above_them(shown, tmp_path, monkeypatch, capfd):
    made = tmp_path / "catalogue"
    pages.write(made, made / "extra")
    monkeypatch.chdir(tmp_path)
    for image, command in shown:
        assert run([*shlex.split(command), "-q"]) == 0
        assert (tmp_path / image).read_bytes() == (made / image).read_bytes()
    capfd.readouterr()


def test_an_answer_is_prose_whose_signs_stay_signs(made):
    text = (made / "rope.md").read_text()
    assert "### Is the score \\<q, k\\> times a function of the distance?\n\nNo. " in text
    assert "```sh\npecli explain rope:dim=4\n```" in text


def test_a_picture_has_no_columns_that_stand_still():
    assert pages.drawn_recipe(CATALOGUE["binary"]) == "binary:dim=8,len=64"


@pytest.mark.exhaustive
def test_the_site_builds_without_a_warning_and_its_links_lead_somewhere(tmp_path):
    pytest.importorskip("sphinx", reason="the docs group is not installed: make docs-site installs it")
    pytest.importorskip("myst_parser")
    pytest.importorskip("furo")
    site = tmp_path / "site"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-E", "-d", tmp_path / "trees", "-b", "html", "docs", site]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert len(list(site.rglob("*.html"))) > len(CATALOGUE)
    assert pages.dead_links(site) == []


def test_links_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="top">a</h1><a href="b.html#there">b</a><a href="#top">up</a><img src="x.svg">'
        '<a href="b.html#gone"></a><a href="c.html"></a><a href="https://example.org/x"></a><a href="https://bad"></a>'
    )
    (tmp_path / "b.html").write_text('<p id="there">b</p><a href="a.html">a</a><a href="mailto:x@y.z">m</a>')
    assert pages.dead_links(tmp_path) == [
        "a.html: x.svg", "a.html: b.html#gone", "a.html: c.html", "a.html: https://bad",
    ]  # fmt: skip
