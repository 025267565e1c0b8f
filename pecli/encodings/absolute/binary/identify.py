"""Bits of positions, whichever comes first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pecli.spec.profiles import Candidate, CodeRows

# Rows that count by chance in no mask.
MIN_ROWS = 4
# Share of neighbouring rows that must be consecutive numbers, where others are corrupted.
MIN_SHARE_COUNTS = 0.9


def identify(rows: CodeRows) -> Iterator[Candidate]:
    """Yield binary and Gray codes of consecutive positions."""
    values, width = rows.values, rows.values.shape[1]
    if len(values) < MIN_ROWS or width > 53 or not np.isin(values, (-1.0, 0.0, 1.0)).all():
        return
    signed = bool((values < 0).any())
    if signed and (values == 0).any():
        return
    for msb in (False, True):
        bits = (values[:, ::-1] if msb else values) > 0
        for code in ("binary", "gray"):
            plain = np.cumsum(bits[:, ::-1], axis=1)[:, ::-1] % 2 if code == "gray" else bits
            numbers = plain @ (2.0 ** np.arange(width))
            start = np.median(numbers - np.arange(len(numbers)))
            if (numbers == start + np.arange(len(numbers))).mean() >= MIN_SHARE_COUNTS and start >= 0:
                keys = {"dim": str(width), "msb": str(msb).lower(), "code": code, "signed": str(signed).lower()}
                yield Candidate("binary", keys, rows.table | ({"start": f"{start:.0f}"} if start else {}))
