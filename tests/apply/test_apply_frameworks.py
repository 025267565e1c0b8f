"""Queries, keys, scores and biases as transformers and ONNX compute them; how they were made: reference/applied.py."""

import json
import re

import numpy as np
import pytest

from pecli.apply.apply import apply
from pecli.apply.tensors import ApplyOptions, tensor_of
from pecli.spec.tabular import InMemory
from pecli.tables.sources import read_source
from tests.conftest import DATA

REFERENCE = json.loads((DATA / "reference" / "applied.json").read_text())


def array(held):
    return np.array(held["values"], np.float32).reshape(held["shape"])


@pytest.mark.parametrize("case", REFERENCE["cases"], ids=lambda case: case["name"])
def test_what_a_framework_does_is_what_pecli_does(case, tmp_path):
    inputs, files = {}, {}
    for name, held in case["inputs"].items():
        (inputs if name in ("q", "k", "logits") else files)[name] = array(held)
    wish = dict(case["wish"])

    def saved(match):
        """Write what stands for a placeholder, one array or several, and return its path."""
        name, path = match[1], tmp_path / f"{match[1]}.npz"
        np.savez(path, **{key.partition(".")[2] or key: x for key, x in files.items() if key.partition(".")[0] == name})
        return f'"{path}"'

    recipe = re.sub(r"@(\w+)", saved, case["recipe"])
    axes = wish.pop("axes", None)
    tensors = [tensor_of(InMemory({name: x}), name, axes) for name, x in inputs.items()]
    outputs = apply(read_source(recipe), tensors, ApplyOptions(**wish)).outputs
    found, expected = outputs.read(outputs.arrays[0].name), array(case["output"])
    assert found.shape == expected.shape
    # float32 angles at positions of a hundred err by 4e-6; sums of a few float32 products by 1e-6
    near = (2e-5 if "start" in wish else 3e-6) * max(1, abs(expected).max() / 4)
    np.testing.assert_allclose(found, expected, rtol=0, atol=near)
    plain = inputs.get("logits", next(iter(inputs.values())))
    assert plain.shape != found.shape or abs(found - plain).max() > 0.1


def test_every_framework_is_there():
    names = {case["name"] for case in REFERENCE["cases"]}
    models = {"llama", "cohere", "gpt-j", "gpt-neox", "qwen2-vl", "bloom", "mpt", "t5", "deberta-v2", "xlnet"}
    onnx = {f"onnx {pairs} {width}" for pairs in ("half", "interleaved") for width in (4, 8)}
    projected = {"deberta-v2 projected", "xlnet projected", "wav2vec2-conformer", "wav2vec2-bert"}
    assert names == models | onnx | projected | {"qwen2-vl of an image", "torch", "torch attention"}


def test_a_permuted_llama_gave_the_same_logits():
    before, unturned, after = (np.array(REFERENCE["llama"][when]) for when in ("before", "unturned", "after"))
    assert len(before) == 7
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-6)
    assert abs(unturned - before).max() > 1e-3  # permuted weights with the pairing that they had
