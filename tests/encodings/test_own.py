"""Encodings of one's own: one file gives every command; a wrong one is answered in a sentence."""

import importlib.metadata
import json
import os
import shutil
import types

import mpmath
import numpy as np
import pytest

from pecli import CATALOGUE, Table
from pecli.errors import BadFile, BadRecipe
from pecli.spec import catalogue, parameter
from pecli.spec.declaration import REGISTRY
from pecli.spec.parameter import sections
from pecli.testing import assert_table, check_encoding
from tests.conftest import ROOT

EXAMPLE = ROOT / "examples" / "own_encoding.py"
NAME = "resonance-rope"


@pytest.fixture
def alone(monkeypatch):
    """The catalogue as it was, afterwards."""
    monkeypatch.setattr(catalogue, "_plugins", {})
    yield
    for name in [n for n, e in REGISTRY.items() if e.function.__module__.startswith("pecli_plugin")]:
        del REGISTRY[name]


def test_every_command_knows_it(pecli, tmp_path):
    own = ("--plugin", EXAMPLE)
    made = pecli(*own, "generate", NAME, "--dim", 8, "--len", 16, "-o", "r.safetensors")
    assert made.returncode == 0, made.stderr
    assert "Resonance RoPE" in pecli("list", NAME, f"--plugin={EXAMPLE}").stdout
    assert NAME in pecli("list", env={"PECLI_PLUGIN": str(EXAMPLE)}).stdout
    assert "verified" in pecli("inspect", "r.safetensors", "--verify", *own).stdout
    assert pecli(*own, "compare", "r.safetensors", f"{NAME}:dim=8").returncode == 0
    assert "2 pi" in pecli(*own, "inspect", f"{NAME}:dim=4,base=100", "--steps").stdout
    reach = pecli(*own, "extrapolate", f"{NAME}:dim=8", "--train-len", 16, "--test-len", 64, "--json")
    assert json.loads(reach.stdout)["reports"][0]["verdict"] == "unseen"
    np.save(tmp_path / "q.npy", np.ones((16, 8)))
    assert pecli(*own, "apply", f"{NAME}:dim=8", "q.npy", "--pairs", "half", "-o", "o.npy").returncode == 0
    assert "--base" in pecli(*own, "generate", NAME, "--help").stdout


def test_without_the_plugin_nobody_knows_it(refuses):
    refuses("generate", NAME, "--dim", 8, "--len", 4, says="unknown encoding")


def test_its_values_are_the_formulas(alone):
    catalogue.load_file(str(EXAMPLE))
    table = Table.parse(f"{NAME}:dim=8,len=40", dtype="float64")
    with mpmath.workdps(30):
        for i in range(4):
            n = mpmath.nint(2 * mpmath.pi * mpmath.mpf(10000) ** (mpmath.mpf(2 * i) / 8))
            for p in (1, 7, 39):
                assert table["cos"][p, i] == float(mpmath.cos(2 * mpmath.pi * p / n))
    assert_table((table["cos"], table["sin"]), f"{NAME}:dim=8")
    check_encoding(NAME)
    assert NAME in CATALOGUE


WRONG = {
    "def f(:": "line 1: invalid syntax",
    "x = 1": "declares no encoding",
    "import pecli.own\n\npecli.own.nothing": "line 3: AttributeError",
    EXAMPLE.read_text().replace('Annotated[int, Param("Width of one attention head.", ge=2, le=1 << 20, even=True)]',
                                "int"): "resonance_rope(dim) has no Param",
    EXAMPLE.read_text().replace("dim: Annotated[int", "dim: Annotated[float"): "int, Decimal, bool or str",
    EXAMPLE.read_text().replace("def resonance_rope", "def rope"): "two encodings are called rope",
    EXAMPLE.read_text().replace("    Every", "    Parameters\n    ----------\n    width\n        Of it.\n\n    Every"):
        "resonance_rope has no width, which its docstring describes",
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_declaration_is_answered_with_file_and_line(alone, text, tmp_path):
    assert "rope" in CATALOGUE
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(BadFile) as caught:
        catalogue.load_file(str(path))
    assert WRONG[text] in str(caught.value)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("line", "instead", "says"),
    [
        ("    return rotation(", "    return len(", "returned int, which is not a plan"),
        ("    waves = [", "    1 / 0\n    waves = [", "ZeroDivisionError"),
    ],
)
def test_what_its_function_does_wrong_is_no_bug_of_pecli(pecli, tmp_path, line, instead, says):
    text = EXAMPLE.read_text()
    assert line in text
    path = tmp_path / "mine.py"
    path.write_text(text.replace(line, instead))
    wrong = pecli("--plugin", path, "generate", NAME, "--dim", 4, "--len", 2)
    assert wrong.returncode == 2, wrong.stderr
    assert f"{path}" in wrong.stderr
    assert " line " in wrong.stderr
    assert says in wrong.stderr


def test_a_parameter_called_as_an_option_of_every_table_is_refused(pecli, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(EXAMPLE.read_text().replace("base: Annotated", "step: Annotated").replace("(base,", "(step,"))
    wrong = pecli("--plugin", path, "generate", NAME, "--dim", 4, "--len", 2)
    assert wrong.returncode == 2
    assert f"{NAME} declares --step, an option of every table" in wrong.stderr


def test_a_name_of_the_catalogue_is_taken_before_it_is_imported(process, tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.py").write_text(EXAMPLE.read_text().replace("def resonance_rope", "def rope"))
    refused = process("--plugin", "own/mine.py", "list")
    assert refused.returncode == 2
    assert "mine.py: line " in refused.stderr
    assert "rope is an encoding of pecli" in refused.stderr


def test_a_plugin_that_is_not_there(refuses):
    refuses("--plugin", "none.py", "list", says=("none.py", "is no file"))
    refuses("list", "--plugin", says="--plugin needs a file")


def test_installed_packages_are_asked_for_unknown_names_alone(alone, monkeypatch):
    asked = []

    def entry_points(*, group, name):
        asked.append((group, name))
        return [types.SimpleNamespace(load=lambda: catalogue.load_file(str(EXAMPLE)))]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    monkeypatch.setattr(catalogue, "load_installed", catalogue.load_installed.__wrapped__)
    assert "rope" in CATALOGUE
    assert asked == []
    assert CATALOGUE[NAME].title == "Resonance RoPE"
    assert asked == [("pecli.encodings", NAME)]
    assert os.environ.get("PECLI_PLUGIN") is None


def test_nothing_is_left_beside_a_plugin(process, tmp_path):
    shutil.copy(EXAMPLE, tmp_path / "own.py")
    assert process("--plugin", "own.py", "list", env={"PYTHONDONTWRITEBYTECODE": ""}).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["own.py"]


FAMILIES = ROOT / "examples" / "own_families.py"
D = np.abs(np.arange(6) - np.arange(6)[:, None])
FORMULAS = {
    "decay-pe:dim=4": {"pe": np.exp(-np.arange(6)[:, None] / np.arange(1, 5))},
    "linear-rope:dim=4,longest=64": {"cos": np.cos(np.arange(6)[:, None] * 2 * np.pi * np.array([1, 2]) / 64)},
    "late-rope:dim=8,base=100,factor=4,first=2": {
        "sin": np.sin(np.arange(6)[:, None] * 100 ** (-np.arange(4) / 4) / [1, 1, 4, 4])
    },
    "hyperbolic-bias:heads=2": {"bias": -np.array([1, 2])[:, None, None] * D / (1 + D)},
    "ramp-vectors:dim=4,clip=3": {"vector": np.arange(-3, 4)[:, None] / (3 * np.arange(1, 5))},
}


@pytest.mark.parametrize("recipe", FORMULAS)
def test_an_example_of_every_family_keeps_the_contract(alone, recipe):
    catalogue.load_file(str(FAMILIES))
    table = Table.parse(recipe, length=6, dtype="float64")
    for name, values in FORMULAS[recipe].items():
        np.testing.assert_allclose(table[name], values, rtol=0, atol=1e-15)
    check_encoding(recipe.partition(":")[0])


def changed(folder, line, instead):
    """Write the example of every family with a mistake in one line; return its path."""
    text, path = FAMILIES.read_text(), folder / "mine.py"
    assert line in text
    path.write_text(text.replace(line, instead))
    return path


@pytest.mark.parametrize(
    ("recipe", "line", "instead", "shape"),
    [
        ("decay-pe:dim=4", "exp(points.times(rates))", "np.zeros(3)", "(3,), where (6, 4) is needed"),
        ("hyperbolic-bias:heads=2", "[:, None] * share", ".hi[:, None] * np.ones(3)", "(2, 3), where (2, 11)"),
        ("ramp-vectors:dim=4,clip=3", "(clip * np.arange(1.0, dim + 1))", "np.ones(3)", "(7, 3), where (7, 4)"),
    ],
)
def test_values_of_another_shape_are_answered_with_file_and_line(alone, tmp_path, recipe, line, instead, shape):
    path = changed(tmp_path, line, instead)
    catalogue.load_file(str(path))
    made = Table.parse(recipe, length=6)
    with pytest.raises(BadRecipe) as caught:
        made[made.arrays[0].name]
    assert str(caught.value).startswith(f"{path}, line ")
    assert shape in str(caught.value)


@pytest.mark.parametrize(
    ("line", "instead", "command", "says"),
    [
        ("-clip, clip) + clip", "-9, 9)", "generate ramp-vectors:dim=4,clip=3 --len 8", "vector has 7"),
        ('Reach("b', '("b', "extrapolate hyperbolic-bias:heads=2 --train-len 8 --test-len 16", "where Reach is needed"),
        ("return [Step(", "return [(", "explain hyperbolic-bias:heads=2", "lesson gave tuple, where Step is needed"),
    ],
)
def test_what_hooks_and_rows_do_wrong_has_file_and_line(pecli, tmp_path, line, instead, command, says):
    path = changed(tmp_path, line, instead)
    wrong = pecli("--plugin", path, *command.split())
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1), wrong.stderr
    assert f"{path}, line " in wrong.stderr
    assert says in wrong.stderr


@pytest.mark.parametrize("recipe", FORMULAS)
def test_every_family_is_extrapolated_without_a_rule_of_its_own(pecli, recipe):
    done = pecli("--plugin", FAMILIES, "extrapolate", recipe, "--train-len", 8, "--test-len", 16)
    assert done.returncode == 0, done.stderr


def test_its_own_rule_lesson_and_extension_are_used(pecli, tmp_path):
    own = ("--plugin", FAMILIES)
    assert pecli(*own, "generate", "hyperbolic-bias", "--heads", 4, "--len", 16, "-o", "b.npy").returncode == 0
    assert pecli(*own, "identify", "b.npy").stdout.startswith("hyperbolic-bias:heads=4,len=16 (sure")
    assert "-3 / (1 + 3) = -0.7500" in pecli(*own, "explain", "hyperbolic-bias:heads=2").stdout
    for name in ("hyperbolic-bias:heads=2", "ramp-vectors:dim=4,clip=3", "late-rope:dim=8,factor=4"):
        assert pecli(*own, "extrapolate", name, "--train-len", 8, "--test-len", 16).returncode == 0
    q = np.random.default_rng(1).normal(size=(1, 1, 6, 4))
    np.save(tmp_path / "q.npy", q), np.save(tmp_path / "k.npy", q)
    done = pecli(*own, "apply", "ramp-vectors:dim=4,clip=3", "q.npy", "k.npy", "--scores", "-o", "s.npy")
    assert done.returncode == 0, done.stderr
    r = FORMULAS["ramp-vectors:dim=4,clip=3"]["vector"][np.clip(np.arange(6) - np.arange(6)[:, None], -3, 3) + 3]
    expected = (q @ q.swapaxes(-1, -2) + np.einsum("bhid,ijd->bhij", q, r)) / 2
    np.testing.assert_allclose(np.load(tmp_path / "s.npy"), expected, rtol=0, atol=1e-13)


DOCUMENTED = '''
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

from pecli.own import Family, Param, Waves, encoding, geometric, rotation


@encoding(family=Family.ROTARY, title="Own", example="own-rope:dim=4")
def own_rope(*, dim: int, base: Annotated[Decimal, Param("Overruled.", ge=1), Param(le=1000)] = Decimal(100)) -> Waves:
    """Rotation with a base of its own.

    It says more.

    Formula
    -------
    w_i = base^(-2i/dim)
    cos(p w_i), sin(p w_i)

    Parameters
    ----------
    dim : int
        Width of one
        attention head.
    base
        Base of the frequencies.

    Source
    ------
    nobody 2026

    Used by
    -------
    these
    tests

    Use it
    ------
    here

    Not
    ---
    elsewhere

    Not recognised
    --------------
    it is a test's
    """
    return rotation(geometric(base, Fraction(2, dim), dim // 2))
'''


def test_the_docstring_may_hold_what_people_read(alone, tmp_path):
    path = tmp_path / "documented.py"
    path.write_text(DOCUMENTED)
    catalogue.load_file(str(path))
    found = CATALOGUE["own-rope"]
    assert found.description == "Rotation with a base of its own.\n\nIt says more."
    assert found.formula == ("w_i = base^(-2i/dim)", "cos(p w_i), sin(p w_i)")
    assert (found.source, found.users) == (("nobody 2026",), "these tests")
    assert (found.use_when, found.not_when, found.unrecognised) == ("here", "elsewhere", "it is a test's")
    dim, base = (found.parameters[name].param for name in ("dim", "base"))
    assert dim.help == "Width of one attention head."
    assert (base.help, base.ge, base.le) == ("Base of the frequencies.", 1, 1000)
    check_encoding("own-rope")


def test_a_docstring_is_read_from_the_file_where_python_leaves_it_out(alone, tmp_path, monkeypatch):
    path = tmp_path / "documented.py"
    path.write_text(DOCUMENTED)
    catalogue.load_file(str(path))
    function = CATALOGUE["own-rope"].function
    known, function.__doc__ = dict(sections(function)), None
    assert sections.__wrapped__(function) == {"": ""}
    monkeypatch.setattr(parameter, "sys", types.SimpleNamespace(flags=types.SimpleNamespace(optimize=2)))
    assert sections.__wrapped__(function) == known
    assert sections.__wrapped__(lambda: 0) == {"": ""}
