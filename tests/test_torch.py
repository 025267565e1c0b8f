"""pecli.torch beside the real framework; skipped with a word where that is absent."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make frameworks runs this")

from pecli import table, widen  # noqa: E402
from pecli.errors import BadParameter, PecliError  # noqa: E402
from pecli.testing import assert_applied, assert_table  # noqa: E402
from pecli.torch import AbsoluteModule, BiasModule, RotaryModule, audit  # noqa: E402

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


def test_nothing_is_saved_and_what_others_saved_is_taken():
    module = torch.nn.Sequential(torch.nn.Linear(16, 16), AbsoluteModule("sinusoidal:dim=16", 30))
    assert set(module.state_dict()) == {"0.weight", "0.bias"}
    for name, shape in (("1.pe", (1, 30, 16)), ("1.pe.weight", (30, 16)), ("1.inv_freq", (8,))):
        module.load_state_dict({**module.state_dict(), name: torch.zeros(shape)})
    with pytest.raises(RuntimeError, match="other"):
        module.load_state_dict({**module.state_dict(), "1.other": torch.zeros(1)})
    assert module[1].pe.abs().sum() > 0


def test_it_grows_or_raises():
    module = AbsoluteModule("sinusoidal:dim=4", 8)
    x = torch.zeros(2, 5, 4)
    assert_table(module(x, offset=7)[0], "sinusoidal:dim=4,start=7")
    assert module.length == 12
    with pytest.raises(IndexError, match="past the 8"):
        AbsoluteModule("sinusoidal:dim=4", 8, grow=False)(x, offset=7)
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


def test_it_is_exported():
    module = RotaryModule("rope:dim=8", 64)
    q = torch.randn(1, 2, 6, 8)

    class Turn(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.rotary = module

        def forward(self, x):
            return self.rotary.rotate(x, "half")

    made = torch.export.export(Turn(), (q,))
    assert torch.equal(made.module()(q), module.rotate(q, "half"))


def test_a_live_model_is_audited():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    config = transformers.LlamaConfig(
        hidden_size=64, num_attention_heads=4, num_key_value_heads=4, num_hidden_layers=1, intermediate_size=64,
        vocab_size=32, max_position_embeddings=128,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config)
    (right,) = audit(model)
    assert right.comparison.total.max_abs < 64 * 2.0**-23
    with torch.no_grad():
        model.model.rotary_emb.inv_freq.copy_(torch.from_numpy(1 / 5e5 ** (np.arange(0, 16, 2) / 16)).float())
    (wrong,) = audit(model)
    assert "500000" in repr(wrong)


def test_a_llamas_logits_are_the_same_with_pecli_in_its_place():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    config = transformers.LlamaConfig(
        hidden_size=64, num_attention_heads=4, num_key_value_heads=4, num_hidden_layers=2, intermediate_size=64,
        vocab_size=32, max_position_embeddings=128,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config).eval()
    words = torch.randint(0, 32, (1, 40))

    class Exact(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = RotaryModule(config, 128)

        def forward(self, x, position_ids):
            return tuple(torch.cat((part, part), -1) for part in self.table(position_ids))

    with torch.no_grad():
        own = model(words).logits
        model.model.rotary_emb = Exact()
        exact = model(words).logits
    assert not torch.isnan(exact).any()
    assert (own - exact).abs().max() < 1e-5
