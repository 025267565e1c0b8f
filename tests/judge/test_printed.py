"""identify --digits: tables that were printed with a few decimals, rounded or cut, often the first columns alone."""

import numpy as np
import pytest

from tests.reallife.cases import CASES
from tests.reallife.score import agree, load

load(None)
PRINTED = [case for case in CASES if case.group == "printed"]


@pytest.mark.parametrize("case", PRINTED, ids=lambda case: case.name)
def test_a_printed_table_is_named(case, pecli, tmp_path):
    values, digits = case.make()
    np.savetxt(tmp_path / "t.csv", values, fmt=f"%.{digits}f", delimiter=",")
    done = pecli("identify", "t.csv", "--digits", str(digits))
    assert agree(done.stdout.split()[0], case.truth[0]), done.stdout
    assert "likely" in done.stdout


def test_what_is_no_printed_table_is_unknown(pecli, tmp_path):
    np.savetxt(tmp_path / "t.csv", np.random.default_rng(0).normal(size=(9, 6)), fmt="%.2f", delimiter=",")
    assert pecli("identify", "t.csv", "--digits", "2").stdout.startswith("unknown")


def test_other_widths_are_told(pecli, tmp_path):
    angles = np.arange(4)[:, None] * 10000.0 ** (-np.arange(0, 4, 2) / 512)
    table = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(4, 4)
    np.savetxt(tmp_path / "t.csv", table, fmt="%.2f", delimiter=",")
    assert "widths from" in pecli("identify", "t.csv", "--digits", "2").stdout
