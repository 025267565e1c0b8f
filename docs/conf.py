"""Sphinx: static pages from the Markdown of this folder, the docstrings and the declarations."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import pecli  # noqa: E402
from pecli import CATALOGUE, Recipe  # noqa: E402
from pecli.version import __version__ as release  # noqa: E402, F401

project = "pecli"
copyright = "the pecli developers"  # noqa: A001 - Sphinx's name
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = "pecli"
exclude_patterns = ["README.md"]
autodoc_typehints = "none"
napoleon_google_docstring = False
nitpicky = False


def write_catalogue(app):
    """Write a page for each encoding, with its worked example and, where it can be drawn, a picture."""
    from pecli.cli.advice import why_text
    from pecli.cli.inspect.lesson_view import text_of
    from pecli.encodings.shared.reasons import reasons
    from pecli.errors import PecliError
    from pecli.inspection.measured import example_table
    from pecli.lessons.lesson import work_through

    folder = HERE / "catalogue"
    folder.mkdir(exist_ok=True)
    names = "\n".join(CATALOGUE)
    (folder / "index.md").write_text(f"# Catalogue\n\n```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n")
    for name, encoding in CATALOGUE.items():
        lines = [f"# {encoding.title}", "", f"`{name}`. {encoding.description}", ""]
        if encoding.guidance:
            lines += [f"Use it {encoding.guidance.when}; not {encoding.guidance.unless}.", ""]
        lines += ["## Formula", "", "```text", *encoding.formula, "```", ""]
        lines += ["## Source", "", *(f"- {source}" for source in encoding.source), ""]
        lines += ["Used by " + encoding.users + ".", ""] if encoding.users else []
        lines += ["## Parameters", "", "| option | what it is |", "|---|---|"]
        lines += [f"| `--{p.option}` | {p.param.help.replace('|', '/')} |" for p in encoding.options]
        try:
            pecli.plot(example_table(encoding, 64)).save(folder / f"{name}.svg")
            lines += ["", "## Picture", "", f"![{encoding.title}]({name}.svg)"]
        except PecliError:  # what depends on content, or is empty, has none
            pass
        lines += [
            "",
            "## Worked example",
            "",
            "```text",
            text_of(work_through(Recipe.parse(encoding.example))),
            "```",
            "",
        ]
        lines += ["## Why", "", "```text", why_text(name, reasons(encoding)), "```", ""]
        (folder / f"{name}.md").write_text("\n".join(lines))


def setup(app):
    """Make the catalogue's pages before Sphinx reads."""
    app.connect("builder-inited", write_catalogue)
