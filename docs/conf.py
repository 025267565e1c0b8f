"""Sphinx: static pages from the Markdown of this folder, the docstrings and the declarations."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

sys.path.insert(0, str(HERE))

import pages  # noqa: E402

from pecli.version import __version__ as release  # noqa: E402, F401

project = "pecli"
copyright = "the pecli developers"  # noqa: A001 - Sphinx's name
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
copybutton_prompt_text = "$ "  # which is not copied, nor is the output
html_theme = "furo"
html_title = "pecli"
exclude_patterns = ["README.md", "catalogue/extra"]
myst_heading_anchors = 3
autodoc_typehints = "none"
autodoc_mock_imports = ["torch", "jax"]  # the site builds without them
# "recipe" as a type of a parameter is a word here and not a link; a mocked base class is no mistake.
suppress_warnings = ["ref.python", "autodoc.mocked_object"]
napoleon_google_docstring = False
smartquotes = False  # an option has two hyphens


html_static_path = ["_static"]
html_css_files = ["pecli.css"]
html_extra_path = ["catalogue/extra"]
EXTRA = HERE / "catalogue" / "extra"
EXTRA.mkdir(parents=True, exist_ok=True)


def write_catalogue(app):
    """Write a page for each encoding, with its worked example and its pictures, and the gallery."""
    pages.write(HERE / "catalogue", EXTRA)


def skip_field(_app, _what, _name, member, _skip, _options):
    """Leave out a named tuple's field as a member: the sections of the docstring describe it."""
    return True if type(member).__name__ == "_tuplegetter" else None


def setup(app):
    """Make the catalogue's pages before Sphinx reads."""
    app.connect("builder-inited", write_catalogue)
    app.connect("autodoc-skip-member", skip_field)
