"""What encodings cost: against counts of the arithmetic, one operation at a time, and published figures."""

import itertools
import json

import pytest

from pecli import CATALOGUE
from pecli.inspect.facts import Setting, cost_of
from pecli.spec.recipe import Recipe

SMALL = Setting(length=6, width=8, heads=2, layers=3, dtype="float32")
N, WIDTH, HEADS, HEAD, LAYERS = 6, 8, 2, 4, 3


def cost(text, setting=SMALL):
    recipe = Recipe.parse(text) if ":" in text else None
    return cost_of(CATALOGUE[text.partition(":")[0]], recipe, setting)


class Tally:
    """Additions and multiplications of a computation written out."""

    def __init__(self):
        self.added = self.multiplied = 0

    def add(self, *terms):
        self.added += len(terms) - 1
        return 0.0

    def multiply(self, *factors):
        self.multiplied += len(factors) - 1
        return 0.0

    def dot(self, d):
        self.add(*(self.multiply(0.0, 0.0) for _ in range(d)))

    @property
    def pair(self):
        return self.added, self.multiplied


def rows_added(tally):
    for _ in itertools.product(range(N), range(WIDTH)):
        tally.add("x", "pe")


def rotated(tally):
    for _ in itertools.product(range(LAYERS), "qk", range(HEADS), range(N), range(HEAD // 2)):
        tally.add(tally.multiply("x", "cos"), tally.multiply("y", "sin"))
        tally.add(tally.multiply("x", "sin"), tally.multiply("y", "cos"))


def decayed(tally):
    rotated(tally)
    for _ in itertools.product(range(LAYERS), range(HEADS), range(N), range(N)):
        tally.multiply("score", "decay")


def biased(tally):
    for _ in itertools.product(range(LAYERS), range(HEADS), range(N), range(N)):
        tally.add("logit", "bias")


def weighed(tally):
    for _ in itertools.product(range(LAYERS), range(HEADS), range(N), range(N)):
        tally.multiply("logit", "weight")


def by_distance(tally):
    for _ in itertools.product(range(LAYERS), range(HEADS), range(N), range(N)):
        tally.dot(HEAD)  # the query with the vector of the distance
        tally.add("score", "term")


def with_biases_of_content(tally):
    for _ in itertools.product(range(LAYERS), range(HEADS), range(N)):
        for _ in range(HEAD):
            tally.add("q", "u")
            tally.add("q", "v")
        for _ in range(N):
            tally.dot(HEAD)
            tally.add("score", "term")


def both_ways(tally):
    for _ in range(2):  # content to position, and position to content
        by_distance(tally)


def by_rows_and_columns(tally):
    high, wide = 2, 3
    for _ in itertools.product(range(LAYERS), range(HEADS), range(N)):
        for _ in range(high + wide):
            tally.dot(HEAD)
        for _ in range(N):
            tally.add("score", "of the row", "of the column")


def gated(tally):
    for _ in range(N):
        tally.dot(5)
        tally.add("x w", "b")
        for _ in range(WIDTH):
            tally.add("x", tally.multiply("gate", "pe"))


def convolved(tally):
    for _ in itertools.product(range(N), range(5)):
        tally.dot(3)
        tally.add("x", "sum", "b")


def queries_scaled(tally):
    for _ in itertools.product(range(LAYERS), range(HEADS), range(N), range(HEAD)):
        tally.multiply("q", "scale")


def nothing(tally):
    """No operation."""


COUNTED = {
    "sinusoidal": rows_added, "learned": rows_added, "none": nothing, "nerf": nothing, "bands": nothing,
    "rope": rotated, "xpos": rotated, "retnet": decayed, "alibi": biased, "kerple": biased,
    "sandwich:heads=2,width=8": biased,
    "t5": biased, "fire": biased, "window:grid=2x3,heads=2": biased, "gaussian": weighed,
    "shaw:dim=4,clip=2": by_distance,
    "transformer-xl": with_biases_of_content, "deberta": both_ways, "decomposed:grid=2x3,dim=4": by_rows_and_columns,
    'conditional:content="none:dim=5",dim=8,channels=5': gated,
    'cpe:content="none:dim=5",kernel=3,channels=5': convolved,
    "query-scale": queries_scaled,
}  # fmt: skip


@pytest.mark.parametrize("text", COUNTED)
def test_work_is_what_the_arithmetic_does_written_out(text):
    tally, found = Tally(), cost(text)
    COUNTED[text](tally)
    assert found.positions == N
    assert (found.additions, found.products) == tally.pair


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("alibi", HEADS), ("kerple", 2 * HEADS), ("gaussian", HEADS), ("sandwich:heads=2,width=8", HEADS * N),
        ("t5", 32 * HEADS), ("fire:heads=2,hidden=8", 2 * 8 + 9 * 2 + 2), ("window:grid=2x3,heads=2", 3 * 5 * 2),
        ("shaw:dim=4,clip=2", 5 * 4), ("deberta:buckets=8,max-distance=16,dim=8", 16 * 8), ("none", 0),
        ("decomposed:grid=2x3,dim=4", (3 + 5) * 4), ("transformer-xl", N * 8 + 2 * 8), ("rope", N * 4),
        ("sinusoidal", N * 8),
    ],
)  # fmt: skip
def test_a_kernel_holds_what_its_formula_needs(text, values):
    assert cost(text).kernel_bytes == 4 * values


def test_published_figures():
    """BERT's positions (512 x 768), T5's buckets (32 x 12 heads), Swin's 7 x 7 windows (169 x heads), a Llama cache."""
    bert = cost("learned", Setting(512, 768, 12, 12))
    assert (bert.trained, bert.additions) == (393_216, 512 * 768)
    assert cost("t5", Setting(512, 768, 12, 12)).trained == 32 * 12
    assert cost("window:grid=7x7,heads=3").trained == 13 * 13 * 3
    llama = cost("rope", Setting(4096, 4096, 32, 32, "float16"))
    assert llama.table_bytes == 4096 * 128 * 2
    bloom = cost("alibi", Setting(2048, 14336, 112, 70, "float32"))
    assert (bloom.kernel_bytes, bloom.table_bytes) == (112 * 4, 112 * 2048 * 2048 * 4)


@pytest.mark.parametrize("encoding", CATALOGUE.values(), ids=lambda e: e.name)
def test_every_encoding_has_a_cost(encoding):
    found = cost(encoding.name)
    assert min(found.additions, found.products, found.trained, found.kernel_bytes) >= 0
    assert found.per_token == (found.additions // found.positions, found.products // found.positions)


# the command


def test_costs_side_by_side(pecli):
    told = json.loads(
        pecli("compare", "alibi", "rope:dim=4", "--cost", "--len", "1k", "--dim", 8, "--heads", 2, "--layers", 3,
              "--dtype", "float16", "--json").stdout
    )  # fmt: skip
    assert told["setting"] == {"length": 1024, "width": 8, "heads": 2, "layers": 3, "dtype": "float16"}
    assert told["costs"]["alibi:heads=2"]["kernel_bytes"] == 4
    assert told["costs"]["rope:dim=4"]["products_token"] == 4 * 8 * 3
    shown = pecli("compare", "--cost").stdout
    assert all(f"\n{name}" in shown for name in CATALOGUE)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("alibi --len 4", "--len 4 is for --cost"),
        ("alibi --cost --dim 9 --heads 2", "--heads 2 must divide the model's width 9"),
        ("alibi --cost --atol 1", "--atol 1 has no effect with --cost"),
        ("alibi --cost --dtype int8", "unknown dtype 'int8'"),
    ],
)
def test_what_has_no_cost_is_said(pecli, words, said):
    done = pecli("compare", *words.split())
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
