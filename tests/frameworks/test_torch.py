"""pecli.torch beside the real framework; skipped with a word where that is absent."""

import runpy

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make frameworks runs this")

from pecli import table, widen  # noqa: E402
from pecli.errors import BadParameter, PecliError  # noqa: E402
from pecli.testing import assert_applied, assert_table  # noqa: E402
from pecli.torch import AbsoluteModule, BiasModule, EmbeddingModule, RelativeModule, RotaryModule, audit, replace  # noqa: E402
from tests.conftest import ROOT  # noqa: E402

NARROW = (torch.float16, torch.bfloat16, torch.float64)


@pytest.mark.parametrize("dtype", NARROW)
def test_every_type_is_rounded_once_from_the_real_values(dtype):
    module = AbsoluteModule("sinusoidal:dim=16", 300).to(dtype)
    name = str(dtype).removeprefix("torch.")
    exact = table("sinusoidal:dim=16,len=300", dtype=name).read("pe")
    assert module.pe.dtype == dtype
    assert (module.pe.double().numpy() == widen(exact, name)).all()
    twice = AbsoluteModule("sinusoidal:dim=16", 300).to(torch.bfloat16).to(torch.float64)
    assert (twice.pe.numpy() == table("sinusoidal:dim=16,len=300", dtype="float64")["pe"]).all()


def test_nothing_is_saved_and_what_others_saved_is_compared():
    module = torch.nn.Sequential(torch.nn.Linear(16, 16), AbsoluteModule("sinusoidal:dim=16", 30))
    assert set(module.state_dict()) == {"0.weight", "0.bias"}
    angles = np.arange(30)[:, None] / 10000 ** (np.arange(0, 16, 2) / 16)
    pe = torch.from_numpy(np.stack([np.sin(angles), np.cos(angles)], -1).reshape(30, 16)).float()
    for name, value in (("1.pe", pe[None]), ("1.pe.weight", pe), ("1.pe", pe.half()), ("1.pe", pe.bfloat16())):
        assert module.load_state_dict({**module.state_dict(), name: value}) is not None
    with pytest.raises(RuntimeError, match="other"):
        module.load_state_dict({**module.state_dict(), "1.other": torch.zeros(1)})
    with pytest.raises(RuntimeError, match="is not sinusoidal:dim=16"):
        module.load_state_dict({**module.state_dict(), "1.pe": pe.reshape(30, 8, 2).flip(-1).reshape(30, 16)})


def test_a_rotary_cache_that_others_saved_is_compared():
    module = RotaryModule("rope:dim=16", 64)
    w = torch.tensor(1 / 10000 ** (np.arange(0, 16, 2) / 16))
    angles = torch.arange(64)[:, None] * torch.cat((w, w))
    saved = {"inv_freq": w.float(), "cos_cached": angles.cos()[None, None], "sin_cached": angles.sin()[None, None]}
    module.load_state_dict(saved)
    wrong = torch.tensor(1 / 500000 ** (np.arange(0, 16, 2) / 16)).float()
    with pytest.raises(RuntimeError, match="base 500000 where 10000 was expected"):
        module.load_state_dict({"inv_freq": wrong})


def test_a_learned_table_is_a_parameter_with_the_seeds_values():
    module = EmbeddingModule("learned:dim=4,max-len=8,std=0.02,seed=3")
    start = table("learned:dim=4,max-len=8,std=0.02,seed=3,len=8")["pe"]
    assert (module.pe.detach().numpy() == start).all()
    assert [name for name, _ in module.named_parameters()] == ["pe"]
    trained = torch.randn(8, 4)
    for name, value in (("pe", trained[None]), ("weight", trained), ("pe.weight", trained), ("pe", trained)):
        module.load_state_dict({name: value})
        assert torch.equal(module.pe.detach(), trained)
    with pytest.raises(RuntimeError, match="size mismatch"):
        module.load_state_dict({"weight": torch.zeros(9, 4)})
    assert torch.equal(module(torch.tensor([[1, 7]]))[0, 1], trained[7])
    with pytest.raises(PecliError):
        module(torch.tensor([8]))
    module(torch.arange(8)).sum().backward()
    assert (module.pe.grad == 1).all()


def test_trained_numbers_of_distances_are_parameters_and_their_index_grows():
    module = BiasModule("t5:heads=2,buckets=8,max-distance=16,std=0.5", 6)
    assert_table(module(6).detach(), table("t5:heads=2,buckets=8,max-distance=16,std=0.5,len=6").only(["bias"]))
    assert module(2, 40).shape == (2, 2, 40)
    assert torch.equal(module(2, 40), module(40)[:, 38:])
    module.load_state_dict({"relative_attention_bias.weight": torch.zeros(8, 2)})
    assert not module(5).any()
    vectors = RelativeModule("shaw:dim=4,clip=3", 5)
    assert vectors(2, 9).shape == (2, 9, 4)
    assert torch.equal(vectors(9)[8, 0], vectors.vector[0])
    with pytest.raises(BadParameter, match="other arrays"):
        RelativeModule("decomposed:dim=2,grid=3x4")


def test_it_grows_or_raises():
    module = AbsoluteModule("sinusoidal:dim=4", 8)
    x = torch.zeros(2, 5, 4)
    assert_table(module(x, offset=7)[0], "sinusoidal:dim=4,start=7")
    assert module.length == 12
    with pytest.raises(IndexError, match="past the 8"):
        AbsoluteModule("sinusoidal:dim=4", 8, grow=False)(x, offset=7)
    with pytest.raises(IndexError, match="position -6 lies before the table"):
        module(x, offset=-6)  # which would have taken rows 6 to 10
    with pytest.raises(IndexError, match="position -2 lies before the table"):
        BiasModule("alibi:heads=2", 8)(6, 4)
    with pytest.raises(PecliError):
        AbsoluteModule("learned:dim=4,max-len=8", 8)(x, offset=7)
    with pytest.raises(BadParameter, match="is rotary"):
        AbsoluteModule("rope:dim=4", 8)


def test_queries_of_cached_decoding_turn_as_in_the_whole():
    module, q = RotaryModule("rope:dim=8", 64), torch.randn(2, 3, 6, 8)
    whole = module.rotate(q, "half")
    assert_applied(q, whole, "rope:dim=8", pairs="half")
    assert_applied(q, module.rotate(q, "interleaved", offset=9), "rope:dim=8", pairs="interleaved", start=9)
    assert torch.equal(module.rotate(q[:, :, 4:], "half", offset=4), whole[:, :, 4:])
    places = torch.tensor([[0, 1, 2, 3, 4, 5], [7, 8, 9, 10, 11, 80]])
    listed = module.rotate(q, "half", places)
    assert_applied(q, listed, "rope:dim=8", pairs="half", positions=places.numpy())
    assert torch.equal(listed[:1], whole[:1])


def test_a_bias_of_decoding_is_the_last_rows_of_the_whole():
    module = BiasModule("alibi:heads=4", 16)
    assert torch.equal(module(2, 10), module(10)[:, 8:])
    assert module(1, 40).shape == (4, 1, 40)
    assert_table(module(10), "alibi:heads=4")


class Turn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rotary, self.bias, self.rows = (
            RotaryModule("rope:dim=8", 64), BiasModule("alibi:heads=2", 16), AbsoluteModule("sinusoidal:dim=8", 64)
        )  # fmt: skip

    def forward(self, x, positions):
        q = self.rotary.rotate(self.rows(x, positions), "half", positions)
        return (q @ q.transpose(-1, -2) + self.bias(x.shape[-2])).softmax(-1) @ x


def test_it_is_exported():
    module, x, positions = Turn(), torch.randn(1, 2, 6, 8), torch.tensor([3, 4, 5, 9, 10, 11])
    made = torch.export.export(module, (x, positions))
    assert torch.equal(made.module()(x, positions), module(x, positions))


def test_it_is_compiled():
    module, x, positions = Turn(), torch.randn(1, 2, 6, 8), torch.tensor([3, 4, 5, 9, 10, 11])
    made = torch.compile(module, backend="aot_eager", fullgraph=True)
    assert torch.equal(made(x, positions), module(x, positions))


def test_it_goes_to_onnx(tmp_path):
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    module, x, positions = Turn(), torch.randn(1, 2, 6, 8), torch.tensor([3, 4, 5, 9, 10, 11])
    path = tmp_path / "turn.onnx"
    torch.onnx.export(module, (x, positions), str(path), dynamo=True, verbose=False)
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    (got,) = session.run(None, dict(zip(names, (x.numpy(), positions.numpy()), strict=True)))
    assert np.abs(got - module(x, positions).numpy()).max() < 1e-6


SMALL = {"vocab_size": 32, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
SIZES = {
    "GPT2": {"n_embd": 32, "n_head": 2, "n_layer": 1, "n_positions": 64},
    "Llama": {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 64,
              "max_position_embeddings": 128},
    "Gemma3Text": {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 16,
                   "num_hidden_layers": 7, "intermediate_size": 32, "max_position_embeddings": 128},
    "Bloom": {"hidden_size": 32, "n_head": 4, "n_layer": 1},
    "Marian": {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
               "decoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16,
               "max_position_embeddings": 64, "decoder_start_token_id": 1},
    "T5": {"d_model": 16, "d_kv": 4, "d_ff": 16, "num_layers": 1, "num_heads": 4, "decoder_start_token_id": 1},
}  # fmt: skip


def tiny(name):
    """A model of transformers in a tiny size, random, without its head."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(1)
    word = name + "Model"
    return getattr(transformers, word)(getattr(transformers, name + "Config")(**SIZES[name], **SMALL)).eval()


def outputs(model):
    words = torch.randint(3, 32, (2, 40), generator=torch.Generator().manual_seed(2))
    more = {"decoder_input_ids": words} if model.config.is_encoder_decoder else {}
    with torch.no_grad():
        return model(input_ids=words, **more).last_hidden_state


@pytest.mark.parametrize("name", SIZES)
def test_every_table_of_a_live_model_is_audited(name):
    found = audit(tiny(name))
    assert found
    assert all(one.good for one in found), found
    learned = name == "GPT2"
    assert any(one.comparison is not None for one in found) != learned
    assert all(one.trained for one in found if one.comparison is None), found


def test_an_audit_says_what_was_done():
    model = tiny("Llama")
    with torch.no_grad():
        model.rotary_emb.inv_freq.copy_(torch.from_numpy(1 / 5e5 ** (np.arange(0, 16, 2) / 16)).float())
    (wrong,) = audit(model)
    assert "base 500000 where 10000 was expected" in repr(wrong)
    model = tiny("Marian")
    model.encoder.embed_positions.weight.data = model.encoder.embed_positions.weight.data.roll(1, 0)
    assert [one.good for one in audit(model)] == [False, True]


@pytest.mark.parametrize("name", ["Llama", "Gemma3Text", "Bloom", "Marian", "T5"])
def test_a_model_gives_the_same_with_pecli_in_its_place(name):
    model = tiny(name)
    own = outputs(model)
    put = replace(model)
    assert put
    exact = outputs(model)
    assert not torch.isnan(exact).any()
    assert (own - exact).abs().max() < 2e-5
    if name == "Llama":
        narrow = model.to(torch.bfloat16).rotary_emb.tables["all"].cos
        assert (
            narrow.double().numpy() == widen(table("rope:dim=16,len=128", dtype="bfloat16").read("cos"), "bfloat16")
        ).all()


def test_a_scaling_that_waits_for_the_sequence_stays_the_models_own():
    scaling = {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 10000.0}
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    model = transformers.LlamaModel(transformers.LlamaConfig(**SIZES["Llama"], **SMALL, rope_parameters=scaling))
    assert [one.good for one in audit(model)] == [True]
    assert replace(model) == []


def test_a_masked_bloom_gives_the_same():
    model, words = tiny("Bloom"), torch.randint(3, 32, (2, 12))
    mask = torch.ones(2, 12, dtype=torch.long)
    mask[1, :5] = 0
    with torch.no_grad():
        own = model(words, attention_mask=mask).last_hidden_state
        replace(model)
        assert (model(words, attention_mask=mask).last_hidden_state - own)[mask.bool()].abs().max() < 1e-5


def test_a_gpt2_gives_the_same_with_a_trained_table_of_pecli():
    model = tiny("GPT2")
    own = outputs(model)
    rows = EmbeddingModule(model.config)
    rows.load_state_dict(model.wpe.state_dict())
    model.wpe = rows
    assert torch.equal(outputs(model), own)


def test_the_trial_past_the_training_length_runs(capsys, monkeypatch):
    words = "--train 16 --test 32 --steps 3 --seeds 1 --sequences 4 --markdown"
    monkeypatch.setattr("sys.argv", ["extrapolation_trial.py", *words.split()])
    runpy.run_path(str(ROOT / "examples" / "extrapolation_trial.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    shown = {line.partition(" ")[0]: line for line in lines[2:]}
    assert len(shown) == 7
    assert "no values" in shown["learned:dim=64"]
    assert "no values" not in shown["rope:dim=16,scaling=yarn"]
    lowest, *others = (float(line.split("|")[1].split()[0]) for line in lines[:1:-1])
    assert lowest < min(others)  # nothing beats the predictor that knows the language
