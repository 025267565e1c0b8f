"""Everything that is printed goes through here: results to standard output, messages to standard error.

Nothing read from a file reaches the terminal as it is: `clean` makes control
characters visible, so that a name or an attribute is never an escape sequence; a URL loses what it may keep secret.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
import textwrap
from collections.abc import Mapping
from typing import Any

from pecli.errors import UnknownName
from pecli.numbers.reader import shown

MIN_COLUMNS, WIDE = 40, 80  # columns of a screen, and of prose
ASCII = str.maketrans({"…": ".", "≥": ">", "─": "-"})  # where no more is shown


def say(text: str) -> None:
    """Print a result."""
    text = shown(text)
    sys.stdout.write((text if has_unicode() else text.translate(ASCII)) + "\n")


def has_unicode() -> bool:
    """Whether standard output shows all of Unicode."""
    return "utf" in (getattr(sys.stdout, "encoding", None) or "").lower()


EXAMPLE = "for example: "  # before a command line in a message, which a terminal shows on a line of its own


def tell(text: str) -> None:
    """Print a message to standard error, on a terminal wrapped at words; a closed one is no reason to fail."""
    text = shown(text, secrets=True)
    try:
        if is_terminal(sys.stderr) and (width := os.get_terminal_size(2).columns) >= MIN_COLUMNS:
            text, mark, command = text.partition(EXAMPLE)
            lines = [part for line in f"{text}{mark}".splitlines() for part in wrapped(line, width, "", "  ")]
            text = "\n".join([*lines, f"  {command}"] if mark else lines)
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        return


def wrapped(text: str, width: int | None, lead: str = "", hang: str = "") -> list[str]:
    """Return text as lines that begin with `lead` and then `hang`; no word is broken, runs of blanks stay."""
    line = clean(lead + text)
    if width is None or len(line) <= width:
        return [line.rstrip()]
    return textwrap.wrap(
        clean(text), width, initial_indent=clean(lead), subsequent_indent=hang, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def clean(text: object) -> str:
    """Return text with control characters (all of Unicode's, but for newline and tab) written as escapes."""
    return "".join(c if c in "\n\t" or c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def line(text: object) -> str:
    """Return text as one line: a newline (in a file's name, say) is written as an escape too."""
    return clean(text).replace("\n", "\\n")


def print_json(result: Mapping[str, Any]) -> None:
    """Print one JSON object: strict, infinity as the string "inf", NaN as "nan"."""
    import json

    say(json.dumps(plain(result), allow_nan=False, ensure_ascii=True))


def plain(value: Any) -> Any:
    """Return a value that strict JSON holds."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in value]
    if isinstance(value, str):
        return shown(value)  # before JSON escapes what a secret may hold
    if value is None or isinstance(value, bool | int):
        return value
    if hasattr(value, "tolist"):  # a NumPy array or scalar
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)


def value_of(result: Mapping[str, Any], key: str) -> str:
    """Return one value of an answer, or one parameter of its recipe, as bare text.

    Shape and dtype have a line for each array if they differ.

    Raises
    ------
    UnknownName
        If it has none of that name.
    """
    arrays = result.get("arrays") or []
    found = {
        "shape": [(array["name"], "x".join(map(str, array["shape"]))) for array in arrays if "shape" in array],
        "dtype": [(array["name"], array["dtype"]) for array in arrays if "dtype" in array],
    }
    if key not in result and found.get(key):
        words = list(dict.fromkeys(word for _, word in found[key]))
        return words[0] if len(words) == 1 else "\n".join(f"{name} {word}" for name, word in found[key])
    result = {**result.get("parameters", {}), **result}
    if key not in result:
        raise UnknownName("value", key, [*result, *(name for name, words in found.items() if words)])
    value = plain(result[key])
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    if isinstance(value, list) and all(isinstance(part, str | int | float) for part in value):
        return "\n".join(map(line, value))
    if isinstance(value, str):
        return clean(value)
    import json

    return json.dumps(value)


def is_terminal(stream: Any) -> bool:
    """Whether a stream is a terminal; a closed one is not."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError, OSError):
        return False


def screen_width() -> int | None:
    """Return the columns of the screen, of which there are 40 at least; None where no screen is there and none stated.

    COLUMNS states them for a terminal and for a pipe alike.
    """
    stated = os.environ.get("COLUMNS", "")
    if stated.isascii() and stated.isdigit() and stated != "0":
        return max(MIN_COLUMNS, int(stated))
    return max(MIN_COLUMNS, shutil.get_terminal_size().columns) if is_terminal(sys.stdout) else None


def prose_width() -> int:
    """Return the columns of prose: the screen's, but no more than are easily read."""
    return min(screen_width() or WIDE, WIDE)


def wants_colour() -> bool:
    """Whether to use colour: NO_COLOR, then FORCE_COLOR, then TERM=dumb, then whether it is a terminal."""
    if os.environ.get("NO_COLOR"):
        return False
    force = os.environ.get("FORCE_COLOR")
    if force:
        return force != "0"
    return os.environ.get("TERM") != "dumb" and is_terminal(sys.stdout)
