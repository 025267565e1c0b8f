"""Modules under torch.compile, in threads, from the meta device; widths, types and copies in every framework."""

import copy
import pickle
import threading

import numpy as np
import pytest

import pecli

torch = pytest.importorskip("torch", reason="torch is not installed")

from pecli.torch import AbsoluteModule, BiasModule, EmbeddingModule, RotaryModule, replace  # noqa: E402 - need torch

ROPE = "rope:dim=16"


def exact(n, start=0, recipe=ROPE):
    return {key: torch.from_numpy(values) for key, values in dict(pecli.table(recipe, length=n, start=start)).items()}


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_compiled_rotation_grows(fullgraph):
    module = RotaryModule(ROPE, 32)
    turn = torch.compile(lambda x: module.rotate(x, "half", offset=30), fullgraph=fullgraph)
    for n in (2, 10, 90):
        x = torch.randn(1, 2, n, 16)
        expected = RotaryModule(ROPE, 200).rotate(x, "half", offset=30)
        torch.testing.assert_close(turn(x), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_compiled_lookup_by_positions_grows(fullgraph):
    module = RotaryModule(ROPE, 32)
    look = torch.compile(lambda places: module(places), fullgraph=fullgraph)
    for places in (torch.arange(20)[None], torch.tensor([[3, 31, 32, 500]])):
        cos, sin = look(places)
        assert torch.equal(cos, exact(501)["cos"][places])
        assert torch.equal(sin, exact(501)["sin"][places])


def test_a_compiled_lookup_that_may_not_grow_raises():
    rows = EmbeddingModule("learned:dim=8,max-len=16,std=1")
    look = torch.compile(rows, fullgraph=True)
    assert torch.equal(look(torch.tensor([3, 15])), rows.pe[[3, 15]])
    with pytest.raises((IndexError, pecli.PecliError)):
        look(torch.tensor([3, 16]))
    look(torch.tensor([3, 3])).sum().backward()
    assert rows.pe.grad[3].eq(2).all()


def test_a_compiled_bias_grows():
    module = BiasModule("alibi:heads=2", 8)
    made = torch.compile(lambda logits: logits + module(logits.shape[-2], logits.shape[-1]))
    for n in (5, 40):
        assert torch.equal(made(torch.zeros(1, 2, n, n))[0], exact(n, recipe="alibi:heads=2")["bias"])


def test_a_replaced_llama_is_compiled_past_its_tables_end():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(hidden_size=64, num_attention_heads=4, num_hidden_layers=1, intermediate_size=32,
                                      vocab_size=32, max_position_embeddings=32)  # fmt: skip
    model = transformers.LlamaModel(config).eval()
    words = torch.arange(50)[None] % 32
    with torch.no_grad():
        own = [model(words[:, :n]).last_hidden_state for n in (20, 50)]
        assert replace(model) == ["rotary_emb"]
        compiled = torch.compile(model)
        for n, expected in zip((20, 50), own, strict=True):
            torch.testing.assert_close(compiled(words[:, :n]).last_hidden_state, expected, rtol=0, atol=2e-5)


def test_threads_that_make_a_module_grow_get_their_rows():
    wrong, step = [], threading.Barrier(8)
    table = exact(4000)["cos"]

    def work(module, number):
        step.wait()
        for k in range(40):
            start = 16 + 40 * k + number
            cos, _ = module(offset=start, count=8)
            if cos.shape != (8, 8) or not torch.equal(cos, table[start : start + 8]):
                wrong.append((start, tuple(cos.shape)))

    for _ in range(4):
        module = RotaryModule(ROPE, 16)
        threads = [threading.Thread(target=work, args=(module, number)) for number in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    assert wrong == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_module_that_comes_from_meta_has_its_values(dtype):
    for made in (RotaryModule(ROPE, 32).to("meta"), RotaryModule(ROPE, 32, device="meta")):
        module = made.to(dtype).to_empty(device="cpu")
        module.load_state_dict({})
        assert torch.equal(module.cos, RotaryModule(ROPE, 32, dtype=dtype).cos)
        assert torch.equal(module.sin, RotaryModule(ROPE, 32, dtype=dtype).sin)
    here = RotaryModule(ROPE, 32)
    torch.nn.Sequential(here).to_empty(device="cpu")
    assert torch.equal(here.cos, exact(32)["cos"])
    rows = EmbeddingModule("learned:dim=8,max-len=16,std=1").to("meta").to_empty(device="cpu")
    rows.load_state_dict({"pe": torch.ones(16, 8)})
    assert rows.pe.eq(1).all()


def test_modules_are_copied_and_pickled_and_grow_apart():
    module = RotaryModule(ROPE, 16)
    for made in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        look = torch.compile(lambda places, made=made: made(places)[0])
        assert torch.equal(look(torch.tensor([3, 40])), exact(41)["cos"][[3, 40]])
        assert made.length > 40
        assert module.length == 16


@pytest.mark.parametrize("width", [1, 8, 32])
def test_a_width_that_is_not_the_recipes_is_refused(width):
    x = torch.randn(1, 2, 3, width)
    with pytest.raises(pecli.PecliError, match=f"vectors of {width}"):
        RotaryModule(ROPE, 16).rotate(x, "half")
    with pytest.raises(pecli.PecliError, match=f"vectors of {width}"):
        AbsoluteModule("sinusoidal:dim=16", 16)(x[0])
    part = RotaryModule("rope:dim=32,rotary-dim=16", 16)
    assert torch.equal(part.rotate(torch.ones(1, 1, 3, 32), "half")[..., 16:], torch.ones(1, 1, 3, 16))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_a_result_has_the_type_of_its_input(dtype):
    x = torch.randn(1, 2, 3, 16).to(dtype)
    assert RotaryModule(ROPE, 16).rotate(x, "half").dtype == dtype
    assert AbsoluteModule("sinusoidal:dim=16", 16)(x[0]).dtype == dtype


def test_jax_checks_widths_and_keeps_types_too():
    jnp = pytest.importorskip("jax.numpy", reason="jax is not installed")
    from pecli.jax import AbsoluteTable, RotaryTable

    x = jnp.ones((1, 2, 3, 16), jnp.bfloat16)
    assert RotaryTable(ROPE, 16).rotate(x, "half").dtype == jnp.bfloat16
    assert AbsoluteTable("sinusoidal:dim=16", 16)(x[0]).dtype == jnp.bfloat16
    for width in (1, 8, 32):
        with pytest.raises(pecli.PecliError, match=f"vectors of {width}"):
            RotaryTable(ROPE, 16).rotate(jnp.ones((1, 2, 3, width)), "half")
        with pytest.raises(pecli.PecliError, match=f"vectors of {width}"):
            AbsoluteTable("sinusoidal:dim=16", 16)(jnp.ones((2, 3, width)))


def test_keras_checks_widths_and_keeps_types_too():
    keras = pytest.importorskip("keras", reason="keras is not installed")
    from pecli.keras import AbsoluteLayer, RotaryLayer

    x = keras.ops.cast(np.ones((1, 2, 3, 16)), "bfloat16")
    assert keras.backend.standardize_dtype(RotaryLayer(ROPE, 16).rotate(x, "half").dtype) == "bfloat16"
    for width in (1, 8, 32):
        with pytest.raises(pecli.PecliError, match=f"vectors of {width}"):
            RotaryLayer(ROPE, 16).rotate(np.ones((1, 2, 3, width), np.float32), "half")
        with pytest.raises((pecli.PecliError, RuntimeError), match=f"vectors of {width}"):
            AbsoluteLayer("sinusoidal:dim=16", 16)(np.ones((2, 3, width), np.float32))
