"""Printed decimals are those of the real number, not of the float32 nearest to it."""

import re
from decimal import ROUND_HALF_EVEN, Decimal

import mpmath
import pytest

from pecli.cli.run import run


def shown(text):
    """The numbers of the printed rows, without their labels."""
    rows = [line.split() for line in text.splitlines() if re.match(r" +\d+ ", line)]
    return [row[1:] for row in rows if "." in line_of(row)]


def line_of(row):
    return " ".join(row)


def rounded(value, digits):
    with mpmath.workdps(40):
        return str(
            Decimal(mpmath.nstr(value, 30, strip_zeros=False)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_EVEN)
        )


def test_the_first_table_of_the_readme(capfd):
    """cos 0.01 is 0.99995000042; the nearest float32 lies below 0.99995."""
    assert run(["generate", "sinusoidal", "--dim", "4", "--len", "3"]) == 0
    rows = shown(capfd.readouterr().out)
    assert rows[1] == ["0.8415", "0.5403", "0.0100", "1.0000"]


@pytest.mark.parametrize("base", [100, 10000, 12345])
@pytest.mark.sample(2)
def test_every_cell_of_a_table_is_the_real_number_rounded(base, capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    assert run(["generate", f"sinusoidal:dim=8,base={base}", "--len", "400", "--rows", "400"]) == 0
    rows = shown(capfd.readouterr().out)
    assert len(rows) == 400
    with mpmath.workdps(40):
        for position, row in enumerate(rows[1:], 1):
            for column, text in enumerate(row):
                angle = position * mpmath.mpf(base) ** (mpmath.mpf(-2 * (column // 2)) / 8)
                value = (mpmath.cos if column % 2 else mpmath.sin)(angle)
                if "e" not in text:
                    assert text == rounded(value, len(text.partition(".")[2])).replace("-0.0000", "-0.0000"), (
                        position,
                        column,
                    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_types_show_what_they_hold(dtype, capfd):
    assert run(["generate", "sinusoidal", "--dim", "4", "--len", "3", "--dtype", dtype]) == 0
    rows = shown(capfd.readouterr().out)
    assert rows[1][0] == {"float16": "0.8413", "bfloat16": "0.83984375"}[dtype]


def test_json_has_the_values_of_the_table(capfd):
    import json

    assert run(["generate", "sinusoidal", "--dim", "4", "--len", "3", "--json"]) == 0
    values = json.loads(capfd.readouterr().out)["arrays"][0]["values"]
    assert values[1][3] == 0.9999499917030334  # the float32
