"""What the columns of a csv file hold, which says no types: told from some of its rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pecli.formats.common.decimals import infer, is_number, is_whole, parse
from pecli.formats.common.gathered import labels_of, stem_of
from pecli.formats.common.input import InputFile

SHOWN = 40  # characters of a cell in a message

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet computes


def written_name(name: str) -> str:
    """Return a name as a header has it: no spreadsheet takes it for a formula, whose author may be anybody."""
    return f"'{name}" if name.lstrip("'").startswith(FORMULA) else name


def read_name(name: str) -> str:
    """Return the name that a header's cell stands for."""
    return name[1:] if name.startswith("'") and name.lstrip("'").startswith(FORMULA) else name


def column_types(
    source: InputFile, names: Sequence[str], rows: Mapping[int, Sequence[str]], more: Mapping[str, str]
) -> dict[str, str]:
    """Return the type of each column with numbers, one for all columns of an array; what has none is left out.

    Parameters
    ----------
    source : InputFile
        The file, for messages.
    names : sequence of str
        Of all columns.
    rows : mapping of int to sequence of str
        Some rows by their numbers.
    more : mapping of str to str
        For some columns a number found elsewhere.

    Raises
    ------
    BadFile
        If a column has numbers and something else.
    """
    labels = labels_of(names)
    texts: dict[str, list[str]] = {}
    for place, name in enumerate(names):
        column = {number: row[place] for number, row in rows.items()}
        numbers = {number for number, text in column.items() if is_number(text)}
        if len(numbers) < len(column):
            if all(math.isnan(float(column[number])) for number in numbers):  # words, and gaps that pandas calls nan
                continue
            wrong = next(number for number in column if number not in numbers)
            raise source.bad(cell_fault(column[wrong], wrong, name, "float64"))
        texts[name] = [*column.values(), *([more[name]] if name in more else [])]
    types = {name: infer(texts[name]) for name in labels if name in texts}
    arrays: dict[tuple[str, bool], list[str]] = {}
    for name in texts:
        if name not in labels:
            arrays.setdefault(stem_of(name), []).append(name)
    for (_, parts), members in arrays.items():  # parts of complex values are two float64
        dtype = "float64" if parts else infer([text for name in members for text in texts[name]])
        types.update(dict.fromkeys(members, dtype))
    return {name: types[name] for name in names if name in types}


def cell_fault(text: str, row: int, name: str, dtype: str) -> str:
    """Return what is wrong with a cell of a column of this type; nothing where it is right."""
    where = f"in row {row}, column '{name[:SHOWN]}'"
    if not text.strip():
        return f"has no value {where}: it is damaged, or has a gap to fill first"
    if not is_number(text):
        return f"holds '{text[:SHOWN]}' {where}, where a number should stand"
    if dtype == "int64" and not is_whole(text):
        return f"holds '{text[:SHOWN]}' {where}, where its first and last rows have whole numbers"
    try:
        parse([text], dtype)
    except OverflowError:
        return f"holds '{text[:SHOWN]}' {where}, which is beyond the largest {dtype}"
    return ""
