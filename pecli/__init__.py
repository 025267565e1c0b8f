"""Exact tables of positional encodings.

The public names are those of :mod:`pecli.public`, resolved when first used, so
that importing the package, as every command does, loads no NumPy.

Examples
--------
>>> import pecli
>>> table = pecli.table("sinusoidal:dim=4,len=3")
>>> table
<Table sinusoidal:dim=4,len=3,dtype=float32: pe (3, 4) float32>
>>> table["pe"].round(3).tolist()[1]
[0.8410000205039978, 0.5400000214576721, 0.009999999776482582, 1.0]
"""

import sys

_arguments = getattr(sys, "argv", [])
_is_module = _arguments[:1] == ["-m"] and sys.orig_argv[-len(_arguments)] in ("pecli", "-mpecli")
if _is_module and not sys.flags.safe_path:
    del sys.path[0]  # the current folder, before anything is imported that it might stand for
if _is_module or "".join(_arguments[:1]).endswith("/pecli"):  # python -m pecli, or the script
    import _signal  # type: ignore[import-not-found]  # built in: before any file is read, Ctrl-C is no error

    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

    from pecli.process import become_command

    become_command()

from types import ModuleType
from typing import TYPE_CHECKING, Any

from pecli.version import __version__ as __version__

if TYPE_CHECKING:
    from pecli.public import *  # noqa: F403 - the names stand once, there


class _Package(ModuleType):
    """The package itself, whose functions ``apply``, ``extrapolate`` and ``inspect`` are not hidden by subpackages."""

    def __setattr__(self, name: str, value: object) -> None:
        if name not in ("apply", "extrapolate", "inspect") or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module 'pecli' has no attribute {name!r}")
    from importlib import import_module

    public = import_module("pecli.public")
    if name == "__all__":
        return sorted(public.__all__)
    if name not in public.__all__:
        functions = ", ".join(sorted(n for n in public.__all__ if n.islower()))
        raise AttributeError(f"module 'pecli' has no attribute {name!r}: its functions are {functions}")
    return getattr(public, name)


def __dir__() -> list[str]:
    return [*__getattr__("__all__"), "__version__"]
