"""Pages made of the declarations: one for each encoding, the gallery; and a check of the links of the built site."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import formulas
import numpy as np

import pecli
from pecli import CATALOGUE, Recipe, Table
from pecli.cli.explain import example_view
from pecli.cli.terminal.layout import lines_of
from pecli.errors import PecliError
from pecli.plots.charts import Chart
from pecli.plots.figures import picture_bytes
from pecli.plots.page import page_of
from pecli.plots.tables import charts_of_table
from pecli.spec.catalogue import Question, general_questions, questions
from pecli.spec.declaration import PICTURES, Encoding, Family
from pecli.teach.examples import work_through

ROWS, WIDE = 64, 32  # of a picture's table, where it can have them
PLAYED = ("sinusoidal", "rope", "alibi")
ORDER = "Why attention needs positions at all, and convolutions do not: [without positions](none.md#why).\n"
FILTER = """<p><input type="search" class="words" placeholder="Show only questions with …" aria-label="Words"></p>
<script>
document.querySelector("input.words").oninput = event => {
  const words = event.target.value.toLowerCase().split(/\\s+/);
  for (const one of document.querySelectorAll("section#questions section section"))
    one.hidden = !words.every(word => one.textContent.toLowerCase().includes(word));
  for (const group of document.querySelectorAll("section#questions > section"))
    group.hidden = !group.querySelector("section:not([hidden])");
};
</script>"""
KINDS = {
    "heatmap": "The values themselves: a row for each position, a column for each channel.",
    "waves": "Chosen columns over positions (`--channels 0,1,8,9` chooses others).",
    "similarity": "The cosine of every two rows.",
    "rotation": "The first positions of a few pairs as arrows.",
    "patches": "Columns over the grid of patches, and the similarity of one patch with all.",
    "bias": "What is added to the logits of the first and of the last head.",
    "slopes": "The slope of each head.",
    "buckets": "Which trained number or vector each distance has.",
}


def drawn_recipe(encoding: Encoding) -> str:
    """Return the example of an encoding with rows and columns enough for a picture, where it can fill them."""
    long = re.sub(r"(?<=[:,])max-len=\d+", f"max-len={ROWS}", encoding.example)
    wide = re.sub(r"(?<=[:,])dim=\d+", f"dim={WIDE}", long)
    made = list(_made(f"{wide},len={ROWS}", wide, f"{long},len={ROWS}"))
    return next((text for text, table in made if _moves(table)), made[0][0] if made else encoding.example)


def _made(*texts: str) -> Iterator[tuple[str, Table]]:
    for text in texts:
        try:
            yield text, pecli.table(text)
        except PecliError:  # it has no such length or width
            continue


def _moves(table: Table) -> bool:
    """Whether most columns of a table are more than one number again and again."""
    first = np.asarray(table[table.arrays[0].name])
    return bool((first != first[:1]).any(axis=0).mean() > 0.5)


def pictures_of(encoding: Encoding) -> Iterator[tuple[str, str, list[Chart]]]:
    """Yield the kinds of picture that an encoding has, each with its command and what it draws; of zeros none."""
    recipe = drawn_recipe(encoding)
    for kind in PICTURES if encoding.family is not Family.NONE else ():
        try:
            charts = charts_of_table(pecli.table(recipe), recipe, [kind])
        except PecliError:  # it has no such picture
            continue
        yield kind, f"pecli plot {shlex.quote(recipe)} --kind {kind} -o {encoding.name}-{kind}.svg", charts


def encoding_page(encoding: Encoding, kinds: dict[str, str]) -> str:
    """Return the page of an encoding; `kinds` are its pictures and their commands."""
    name = encoding.name
    lines = [f"# {encoding.title}", "", f"`{name}`. {_plain(encoding.description)}", ""]
    if encoding.use_when:
        lines += [f"Use it {_plain(encoding.use_when)}; not {_plain(encoding.not_when)}.", ""]
    names = {p.option for p in encoding.options}
    shown = (formulas.html(line, names) for line in encoding.formula)
    lines += ["## Formula", "", "```{raw} html", '<div class="formula">', *shown, "</div>", "```", ""]
    lines += ["From " + "; ".join(map(str, encoding.source)) + ".", ""]
    lines += [f"Used by {encoding.users}.", ""] if encoding.users else []
    if kinds:
        kind, command = next(iter(kinds.items()))
        lines += ["## Picture", "", f"![{kind} of {name}]({name}-{kind}.svg)", "", "```sh", command, "```", ""]
        others = ", ".join(f"[{other}](gallery.md#{name}-{other})" for other in list(kinds)[1:])
        lines += [f"Also {others}, in the gallery.", ""] if others else []
    example = work_through(Recipe.parse(encoding.example))
    title, _, *items = example_view(example, 80)
    steps = items[len(example.formula) :]  # the formula stands above
    lines += ["## Worked example", "", "```text", *(line for item in (title, *steps) for line in lines_of(item, 80))]
    lines += ["```", ""]
    lines += ["## Options", "", "| option | what it is |", "|---|---|"]
    lines += [f"| `--{p.option}` | {_with_code(p.help_text.replace('|', '/'))} |" for p in encoding.options]
    return "\n".join([*lines, "", "## Why", "", *_answers(questions(encoding)), ORDER])


def _with_code(text: str) -> str:
    """Return text with the options that it names as code."""
    return re.sub(r"--[a-z][a-z-]*", r"`\g<0>`", text)


def _answers(asked: Sequence[Question]) -> Iterator[str]:
    """Yield each question as a heading, its answer as prose, and the command that shows it."""
    for reason in asked:
        yield from (f"### {_plain(reason.question)}", "", _plain(reason.answer), "")
        yield from ("```sh", f"pecli {reason.see}", "```", "") if reason.see else ()


def _plain(text: str) -> str:
    """Return text of which Markdown takes no sign for its own."""
    return re.sub(r"([\\`*_\[\]<>|$^~#])", r"\\\1", text)


def gallery(drawn: dict[str, dict[str, str]]) -> str:
    """Return the gallery: each kind of picture, of each encoding that has it, with its command."""
    lines = ["# Gallery", "", "Every kind of picture of every encoding, each with the command that draws it.", ""]
    lines += ["A page to play with, `-o FILE.html`: " + ", ".join(
        f"<a href=\"../play-{name}.html\">{name}</a>" for name in PLAYED) + ".", ""]  # fmt: skip
    for kind, said in KINDS.items():
        lines += [f"## {kind}", "", said, ""]
        for name, kinds in drawn.items():
            if kind in kinds:
                image = f"![{kind} of {name}]({name}-{kind}.svg)"
                lines += [f"### {name}: {kind}", "", image, "", "```sh", kinds[kind], "```", ""]
    return "\n".join(lines)


def all_questions() -> str:
    """Return every question once, with its answer, under its encodings; first why positions are needed at all."""
    about: dict[Question, list[str]] = {}
    for name, encoding in sorted(CATALOGUE.items(), key=lambda item: item[1].family is not Family.NONE):
        for one in questions(encoding):
            about.setdefault(one, []).append(name)
    asked: dict[tuple[str, ...], list[Question]] = {}
    for one, names in about.items():
        asked.setdefault(tuple(names), []).append(one)
    lines = ["# Questions", "", "What is asked about each encoding. `pecli explain NAME --why` prints the same, and"]
    lines += ['`pecli explain "your question"` searches all of it.', "", "```{raw} html", FILTER, "```", ""]
    lines += ["## Work with tables", "", *_answers(general_questions())]
    for names, found in asked.items():
        links = ", ".join(f"[{CATALOGUE[name].title}]({name}.md)" for name in names)
        lines += [f"## {', '.join(names)}", "", links, "", *_answers(found)]
    return "\n".join(lines)


def index() -> str:
    """Return the list of encodings, by family, each with what it is."""
    lines = ["# Catalogue", "", "A page for each encoding, and a [gallery](gallery.md) of their pictures.", ""]
    families = dict.fromkeys(encoding.family for encoding in CATALOGUE.values())
    for family in families:
        found = {n: encoding for n, encoding in CATALOGUE.items() if encoding.family is family}
        lines += [f"## {family.title}", ""]
        for name, encoding in found.items():
            what = encoding.description.partition("\n")[0]
            lines.append(f"- [{encoding.title}]({name}.md): {_plain(what[:1].lower() + what[1:].rstrip('.'))}")
        lines += ["", "```{toctree}", ":hidden:", ":maxdepth: 1", f":caption: {family.title}", "", *found, "```", ""]
    return "\n".join(lines)


def write(folder: Path, extra: Path) -> None:
    """Write the catalogue with its pictures, and the pages to play with."""
    folder.mkdir(exist_ok=True)
    extra.mkdir(exist_ok=True)
    drawn: dict[str, dict[str, str]] = {}
    for name, encoding in CATALOGUE.items():
        drawn[name] = {}
        for kind, command, charts in pictures_of(encoding):
            drawn[name][kind] = command
            path = folder / f"{name}-{kind}.svg"
            path.write_bytes(picture_bytes(charts, path.name))
        (folder / f"{name}.md").write_text(encoding_page(encoding, drawn[name]))
    (folder / "gallery.md").write_text(gallery(drawn))
    (folder / "questions.md").write_text(all_questions())
    (folder / "index.md").write_text(index())
    for name in PLAYED:
        recipe = drawn_recipe(CATALOGUE[name])
        (extra / f"play-{name}.html").write_text(page_of(pecli.table(recipe), recipe))


class Links(HTMLParser):
    """The addresses that a page leads to, and the anchors that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.to: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take what leads somewhere, and what can be led to."""
        found = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := found.get(key))}
        where = found.get("src" if tag in ("img", "script") else "href")
        if where:
            self.to.append(where)


def dead_links(site: Path) -> list[str]:
    """Return the links of a built site that lead nowhere in it, and addresses of others that are malformed."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        pages[path.resolve()] = found = Links()
        found.feed(path.read_text(encoding="utf-8"))
    dead = []
    for path, page in pages.items():
        for where in page.to:
            parts = urlsplit(where)
            if parts.scheme in ("data", "mailto"):
                continue
            if parts.scheme or parts.netloc:
                good = parts.scheme in ("", "https", "http") and "." in parts.netloc and " " not in where
            else:
                target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
                known = pages.get(target)
                good = target.exists() and (not parts.fragment or known is None or parts.fragment in known.anchors)
            if not good:
                dead.append(f"{path.relative_to(site.resolve())}: {where}")
    return dead


if __name__ == "__main__":
    found = dead_links(Path(sys.argv[1]))
    sys.exit("\n".join(["links that lead nowhere:", *found]) if found else 0)
