"""The notebook of the examples, run top to bottom as Jupyter would, with each framework that is there."""

import ast
import importlib.util
import json
import os

import pytest

from tests.conftest import ROOT

CELLS = json.loads((ROOT / "examples" / "tour.ipynb").read_text())["cells"]
FRAMEWORKS = ("torch", "keras", "jax")


def test_it_has_twenty_cells_and_holds_no_output():
    assert len(CELLS) == 20
    assert not any(cell.get("outputs") for cell in CELLS)
    assert {tag for cell in CELLS for tag in cell["metadata"].get("tags", ())} == set(FRAMEWORKS)


@pytest.mark.parametrize("framework", ["numpy", *FRAMEWORKS])
def test_its_cells_run_in_order(framework, tmp_path, monkeypatch):
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed: make frameworks runs its cells")
    if "KERAS_BACKEND" not in os.environ and framework == "keras":
        backend = next((name for name in ("jax", "torch", "tensorflow") if importlib.util.find_spec(name)), "numpy")
        monkeypatch.setenv("KERAS_BACKEND", backend)
    monkeypatch.chdir(tmp_path)
    space = {}
    for cell in CELLS:
        tags = cell["metadata"].get("tags", [])
        # what the frameworks' cells need of the others is there in any case; all plain cells are run once
        if cell["cell_type"] == "code" and (not tags or framework in tags):
            shown = _run("".join(cell["source"]), space)
            assert repr(shown)


def _run(text, space):
    """Run a cell; return what Jupyter shows of it, the value of its last line where that is an expression."""
    tree = ast.parse(text)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), space)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), space)
