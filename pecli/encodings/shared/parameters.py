"""Parameters that several encodings share, each written once."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pecli.declare.changes import other_bases
from pecli.declare.encoding import Param
from pecli.declare.words import USUAL_BASES

WIDEST = 1 << 16  # columns: more than any model has, and each takes some hundred digits to work out
MODEL_WIDTH = ("d-model", "hidden-size", "embed-dim")  # what other programs call the width of an absolute table
NO_HEAD = (("head-dim", "is the width of one attention head: give dim=, the model's width"),)
HEAD_WIDTH = ("head-dim",)  # of a rotary table
HEAD_COUNT = ("n-heads", "num-heads", "n-head", "num-attention-heads")
NO_MODEL = (
    *((word, "is the width of the model: give head-dim=, that width over the number of heads") for word in MODEL_WIDTH),
    *((word, "is no part of the table: give head-dim=, the model's width over that number") for word in HEAD_COUNT),
)
THETA = ("theta", "rope-theta")
Dim = Annotated[int, Param("Width of each vector.", ge=1, le=WIDEST, names=MODEL_WIDTH, wrong=NO_HEAD)]
HeadDim = Annotated[
    int, Param("Width of one attention head.", ge=2, le=WIDEST, even=True, names=HEAD_WIDTH, wrong=NO_MODEL)
]
OTHER_BASES = other_bases(*USUAL_BASES)
Base = Annotated[
    Decimal,
    Param("Base of the geometric series of frequencies (theta).", ge=1e-6, le=1e30, mistaken=OTHER_BASES, names=THETA),
]
Heads = Annotated[int, Param("Number of attention heads.", ge=1, le=1 << 16, names=HEAD_COUNT)]
Seed = Annotated[int, Param("Seed of the drawn values.", ge=0, lt=1 << 64)]
MAX_LEN = ("max-position-embeddings", "max-positions", "n-positions", "max-seq-len", "num-embeddings")
VectorDim = Annotated[
    int, Param("Width of each vector, that of one attention head.", ge=1, le=WIDEST, names=HEAD_WIDTH, wrong=NO_MODEL)
]
MaxLen = Annotated[
    int | None, Param("Rows of the whole table (default: the table's own length).", ge=1, lt=1 << 53, of_table="length")
]
