"""Who may import whom: one line for each room of the house, read from the source files."""

import ast
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "pecli"
# from the ground up: a module imports its own room and the rooms above it in this list, lazily or for types too
ROOMS = (
    "errors",
    "version",
    "process",
    "settings",
    "numbers",
    "spec",
    "engine",
    "encodings",
    "formats",
    "models",
    "tables",
    "judge",
    "inspect",
    "extrapolate",
    "apply",
    "teach",
    "plots",
    "own",
    "api",
    "public",
    "__init__",
    "testing",
    "framework_tables",
    "torch",
    "keras",
    "jax",
    "dask",
    "cli",
    "__main__",
)
# what a package outside the standard library may be imported by, and whether its import must wait inside a function
PACKAGES = {
    "click": (),
    "typer": ("cli",),
    "rich": ("cli.terminal",),
    "h5py": ("formats.hdf5",),
    "pyarrow": ("formats",),
    "matplotlib": ("plots",),
    "pytest": ("testing.plugin",),
    "torch": ("torch",),
    "keras": ("keras",),
    "jax": ("jax",),
    "gguf": ("formats.gguf",),
    "onnx": ("formats.onnx",),
    "zarr": ("formats.zarr", "formats.io.remote"),
    "fsspec": ("formats.io.remote",),
    "dask": ("dask",),
    "aiohttp": ("formats.io.remote",),
}
LAZY = ("h5py", "pyarrow", "matplotlib", "gguf", "onnx", "zarr", "fsspec", "aiohttp", "dask")


def name_of(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def imported(node):
    """The names that an import statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert node.level == 0, "imports are absolute"
    return [f"{node.module}.{alias.name}" for alias in node.names]


def read(tree):
    """What a module imports as (name, at once), wherever the import stands, and whether it calls print."""
    found, prints = [], False
    left = [(tree, True)]
    while left:
        node, at_once = left.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found += [(name, at_once) for name in imported(node)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            prints = True
        later = isinstance(node, ast.FunctionDef) or (
            isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        )
        left += [(inner, at_once and not later) for inner in ast.iter_child_nodes(node)]
    return found, prints


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def trees():
    """The syntax tree of every module: parsed once, and not while tests are collected."""
    return {name: ast.parse(path.read_text()) for name, path in MODULES.items()}


@cache
def imports_and_prints():
    return {name: read(tree) for name, tree in trees().items()}


def all_imports():
    return {name: imports for name, (imports, _) in imports_and_prints().items()}


def own(name):
    """The module of pecli that an imported name lies in; None for another package."""
    if name != "pecli" and not name.startswith("pecli."):
        return None
    parts = name.split(".")[1:]
    while parts and ".".join(parts) not in MODULES:
        parts.pop()
    return ".".join(parts) or "__init__"


@cache
def needs():
    return {name: {own(i) for i, _ in imports} - {None, name} for name, imports in all_imports().items()}


def within(name, room):
    return name == room or name.startswith(room + ".")


def place(name):
    return ROOMS.index(name.split(".")[0])


def test_every_module_has_a_room():
    assert {name.split(".")[0] for name in MODULES} == set(ROOMS)


def test_a_module_imports_its_own_room_and_those_below_it():
    assert {(a, b) for a, others in needs().items() for b in others if place(b) > place(a)} == set()


def circles():
    """Groups of modules that import each other, by Tarjan's algorithm."""
    number, low, stack, found = {}, {}, [], []

    def visit(name):
        number[name] = low[name] = len(number)
        stack.append(name)
        for other in needs()[name]:
            if other not in number:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == number[name]:
            at = stack.index(name)
            group = stack[at:]
            del stack[at:]
            if len(group) > 1:
                found.append(group)

    for name in needs():
        if name not in number:
            visit(name)
    return found


def test_no_modules_import_each_other():
    assert circles() == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_is_imported_only_in_its_room(package):
    users = {name for name, imports in all_imports().items() if any(within(i, package) for i, _ in imports)}
    assert {name for name in users if not any(within(name, room) for room in PACKAGES[package])} == set()


@pytest.mark.parametrize("package", LAZY)
def test_a_heavy_package_is_imported_only_inside_functions(package):
    assert {
        name for name, imports in all_imports().items() if any(now and within(i, package) for i, now in imports)
    } == set()


def test_the_library_never_prints():
    assert {name for name, (_, prints) in imports_and_prints().items() if prints} <= {"cli.terminal.output"}
