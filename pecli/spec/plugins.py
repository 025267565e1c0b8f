"""Encodings of one's own: read from files that the user names, or from installed packages, never from elsewhere."""

from __future__ import annotations

import os
import sys
import traceback
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from pecli.errors import BadFile
from pecli.spec.declaration import REGISTRY

VARIABLE = "PECLI_PLUGIN"
GROUP = "pecli.encodings"
_read: dict[str, str] = {}  # files, by the name of their module


def load_named() -> None:
    """Read the files that the environment variable names.

    Raises
    ------
    BadFile
        As :func:`load_file`.
    """
    for path in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        load_file(path)


def load_file(path: str) -> None:
    """Read the declarations in a file, once.

    Raises
    ------
    BadFile
        If it cannot be read, declares nothing, or is wrong: with the line, in one sentence.
    """
    file = Path(path)
    if str(file.resolve()) in _read.values():
        return
    if not file.is_file():
        raise BadFile(path, "is no file: name one of Python that declares an encoding")
    name = f"pecli_plugin_{len(_read)}_{file.stem}"
    spec = spec_from_file_location(name, file.resolve())
    if spec is None or spec.loader is None:
        raise BadFile(path, "is no file of Python: its name must end in .py")
    before = set(REGISTRY)
    _read[name] = str(file.resolve())
    module = sys.modules[name] = module_from_spec(spec)
    caching, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # nothing is left beside a file that was named
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        for new in set(REGISTRY) - before:
            del REGISTRY[new]
        raise BadFile(path, fault_of(error) or f"{type(error).__name__}: {error}") from error
    finally:
        sys.dont_write_bytecode = caching
    for new in sorted(set(REGISTRY) - before):
        line = f"line {REGISTRY[new].function.__code__.co_firstlineno}"
        if not _is_free(new):
            del REGISTRY[new]
            raise BadFile(path, f"{line}: {new} is an encoding of pecli: choose another name")
        try:
            _ = REGISTRY[new].parameters  # they are read when first asked for
        except Exception as error:
            del REGISTRY[new]
            raise BadFile(path, f"{line}: {error}") from error
    if set(REGISTRY) == before:
        raise BadFile(path, "declares no encoding: decorate a function with pecli.own.encoding")


def _is_free(name: str) -> bool:
    """Whether no module of the catalogue has this name; it may not have been imported yet."""
    catalogue = Path(__file__).parents[1] / "encodings"
    word = name.replace("-", "_")
    return not any([*catalogue.glob(f"*/{word}.py"), *catalogue.glob(f"*/{word}/__init__.py")])


def load_installed(name: str) -> None:
    """Import the module of an installed package whose entry point has this name; nothing where there is none."""
    from importlib.metadata import entry_points

    for found in entry_points(group=GROUP, name=name):
        found.load()


def declared_in(name: str) -> str | None:
    """Return the file, of those that the user named, that declares an encoding; None for any other encoding."""
    encoding = REGISTRY.get(name)
    path = None if encoding is None else encoding.function.__code__.co_filename
    return path if path in _read.values() else None


def fault_of(error: BaseException) -> str:
    """Return where an error arose in a file of the user's and what it is; nothing if it did not."""
    if isinstance(error, SyntaxError) and error.filename in _read.values():
        return f"line {error.lineno}: {error.msg}"
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in _read.values()]
    return f"line {lines[-1].lineno}: {type(error).__name__}: {error}" if lines else ""


def file_of(error: BaseException) -> str:
    """Return the user's file in which an error arose; nothing if in none."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.filename for frame in reversed(frames) if frame.filename in _read.values()), "")
