"""Who may import whom: one table, read from the source files."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "pecli"
# the layers, lowest first: a module imports its own line and those above it in this list, never those below
LAYERS = [
    {"errors", "words"},
    {"text", "tabular", "layouts", "phase", "openers"},
    {
        "elementary",
        "exponentials",
        "halving",
        "seeded",
        "points",
        "vectors",
        "positions",
        "parameter",
        "plan",
        "pictures",
    },
    {"spec"},
    {"encodings"},
    {"recipe", "purposes", "arithmetic"},
    {"models"},
    {"table", "kernels", "grouped"},
    {"formats"},
    {"analysis"},
    {"cli", "manual"},
]
PLACE = {name: i for i, layer in enumerate(LAYERS) for name in layer}
EVERYWHERE = {"click": [], "typer": ["cli", "manual"], "rich": ["cli"], "h5py": ["formats"], "pyarrow": ["formats"]}


def imports(path, *, top_only=False):
    """Yield the full names that a module imports; imports for type checkers do not count."""
    tree = ast.parse(path.read_text())
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    inside = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in guarded or (top_only and id(node) in inside):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def layer(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


MODULES = sorted(PACKAGE.rglob("*.py"))


def test_every_module_has_a_layer():
    found = {layer(path) for path in MODULES} - {"__init__", "__main__"}
    assert found == set(PLACE)


def starts(name, prefix):
    return name == prefix or name.startswith(prefix + ".")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_only_what_its_layer_may(path):
    for name in imports(path):
        if starts(name, "pecli") and name.count(".") and name.split(".")[1] in PLACE and layer(path) in PLACE:
            assert PLACE[name.split(".")[1]] <= PLACE[layer(path)], f"{path.name} imports {name}"
        for package, allowed in EVERYWHERE.items():
            assert not starts(name, package) or layer(path) in allowed, f"{path.name} imports {name}"


def test_rich_is_imported_in_one_place():
    users = {p for p in MODULES if any(starts(name, "rich") for name in imports(p))}
    assert users
    assert {str(p.relative_to(PACKAGE)).replace("/__init__.py", ".py").split("/")[1] for p in users} <= {
        "render.py",
        "render",
    }


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_heavy_packages_are_imported_only_inside_functions(path):
    for name in imports(path, top_only=True):
        assert not starts(name, "h5py"), name
        assert not starts(name, "pyarrow"), name


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_the_library_never_prints(path):
    if path.name in ("output.py", "manual.py"):
        return
    calls = [n.func for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
    assert not [c for c in calls if isinstance(c, ast.Name) and c.id == "print"]
