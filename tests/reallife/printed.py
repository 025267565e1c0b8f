"""Tables as books and slides print them: a few decimals, rounded or cut, often the first columns alone."""

from __future__ import annotations

import numpy as np

from tests.reallife.build import rope64, sinusoid
from tests.reallife.cases import printed

printed("first 4 columns of 512", "sinusoidal:dim=512", 2, lambda: sinusoid(12, 512)[:, :4])
printed("first 8 columns of 64, 3 digits", "sinusoidal:dim=64", 3, lambda: sinusoid(10, 64)[:, :8])
printed("first 6 columns of 16, 2 digits", "sinusoidal:dim=16", 2, lambda: sinusoid(8, 16)[:, :6])
printed("8 columns of 8, cut", "sinusoidal:dim=8", 2, lambda: np.trunc(sinusoid(10, 8) * 100) / 100)
printed("16 columns cut to 3 digits", "sinusoidal:dim=16", 3, lambda: np.trunc(sinusoid(20, 16) * 1000) / 1000)
printed("4 digits of 32 columns", "sinusoidal:dim=32", 4, lambda: sinusoid(16, 32))
printed("sines before cosines, 3 digits", "sinusoidal:dim=8,order=sin-cos", 3, lambda: sinusoid(12, 8, order="sin-cos"))
printed(
    "cosines of a rotary table, 4 digits", "rope:dim=16,layout=split", 4, lambda: rope64(16, 24, layout="split")["cos"]
)
