"""What every stack makes of the public configs, against tables that the stacks' own code computed."""

import json
from decimal import Decimal

import numpy as np
import pytest

from pecli.encodings.recipe import Recipe
from pecli.errors import PecliError
from pecli.models.reader import read_for
from pecli.models.stack_differences import read_as
from pecli.models.stacks import stack_of
from pecli.tables.table import Table
from tests.support.golden_cases import cases, values

STACKS = cases("stacks")
ALL = [(stack, case) for stack, found in STACKS.items() for case in found["cases"]]
FREQUENCIES = {"llama.cpp": 3e-5}  # ggml multiplies its way from pair to pair
ANGLES = {"llama.cpp": 3e-5, "mlx": 1e-5}  # of a float32 angle, relative: their own powers; the others' to 4e-7


ARCHITECTURES = {"rope_phi3_5_vision_su": ["Phi3VForCausalLM"]}  # left out of the configs, where they do not matter


def readings(stack, case):
    """The stack's reading of every kind of layer, or the error with which the config is refused."""
    config = json.loads(json.dumps(cases("configs")[case]["config"]), parse_float=Decimal)
    config |= {"architectures": ARCHITECTURES[case]} if case in ARCHITECTURES else {}
    try:
        return {kind: read_as(layer, stack) for kind, layer in read_for(config, case, stack).layers.items()}
    except PecliError as error:
        return error


def test_the_references_are_all_there():
    assert len(ALL) == 409


@pytest.mark.parametrize(("stack", "case"), ALL)
def test_a_stack_makes_its_own_table(stack, case):
    wanted = STACKS[stack]["cases"][case]
    found = readings(stack, case)
    if "error" in wanted:
        if isinstance(found, PecliError):
            assert not stack_of(stack).own_reader, found  # transformers' refusal is its own
            return
        for one in found.values():
            assert one.params is None
            assert one.differences[-1].error == wanted["error"]
        return
    for kind, table in wanted.items():
        one = found[kind] if kind in found else next(iter(found.values()))
        if "error" in table:
            assert one.params is None
            assert one.differences[-1].error[:30] == table["error"][:30]
            continue
        compared(one, case, table, stack)


def compared(one, case, table, stack):
    length = cases("configs")[case]["config"].get("max_position_embeddings", 131072)
    recipe = Recipe.bind("rope", **one.params).resolve(length=length, last=length - 1, whole=True)
    turning = np.array([float(w) for w in recipe.plan.frequencies])
    wanted = values("stacks")[table["frequencies"]].astype(float)
    turning = turning if len(turning) == len(wanted) else turning[turning != 0]  # some leave out pairs that stand still
    np.testing.assert_allclose(turning, wanted, rtol=FREQUENCIES.get(stack, 3e-6), atol=1e-12)
    assert float(recipe.plan.magnitude) == pytest.approx(table["scale"], rel=3e-6)
    made = Table.make(recipe, positions=",".join(table["samples"]), dtype="float64")
    for i, (position, samples) in enumerate(table["samples"].items()):
        bound = 2e-5 + table["scale"] * float(position) * np.abs(turning) * ANGLES.get(stack, 4e-7)
        for part, name in zip(("cos", "sin"), samples, strict=True):
            error = np.abs(made.read(part)[i][: len(turning)] - values("stacks")[name])
            assert (error <= bound).all(), (part, position)
