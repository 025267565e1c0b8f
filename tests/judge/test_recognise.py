"""Every encoding recognises its own tables from their values alone, or its declaration says why it cannot."""

import contextlib
import subprocess
import sys

import pytest

from pecli import Table
from pecli.encodings import CATALOGUE
from pecli.errors import PecliError
from pecli.judge.identify import identify
from pecli.tables.selection import InMemory

EVERY = list(CATALOGUE)
RULED = [n for n in EVERY if any(map(CATALOGUE[n].declares, ("identify", "identify_waves", "identify_axes")))]
ROWS = 40  # where an encoding leaves the length open: enough to tell its parameters


def example(name):
    """The table of an encoding's example."""
    for rows in (ROWS, 8, None):
        with contextlib.suppress(PecliError):
            return Table.parse(CATALOGUE[name].example, length=rows)
    raise AssertionError(name)


@pytest.mark.parametrize("name", RULED)
def test_an_example_is_recognised(name):
    table = example(name)
    found = identify(table)
    assert found.recipe is not None
    named = [recipe.partition(":")[0] for recipe in (found.recipe, *found.aliases)]
    assert name in named, named
    if found.equal is not None:
        assert found.equal == 1.0


@pytest.mark.parametrize("name", [n for n in EVERY if n not in RULED])
def test_a_declaration_says_why_it_cannot_be_recognised(name):
    assert CATALOGUE[name].unrecognised


def test_recognising_loads_only_when_asked():
    code = "import sys, pecli.encodings as e; list(e.CATALOGUE); print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_an_alias_is_said():
    cache = Table.parse("rope:dim=16,len=40,layout=concat").read("cos_sin")
    found = identify(InMemory({"array": cache.astype("float64")}))
    assert {r.partition(":")[0] for r in (found.recipe, *found.aliases)} >= {"rope", "sinusoidal"}
