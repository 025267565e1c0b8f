"""Tiny random transformers models: `replace` leaves a forward within 1e-6 of its size, or says what it left."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make frameworks runs this")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from pecli.torch import audit, replace  # noqa: E402 - which need torch

TEXT = {
    "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2,
    "intermediate_size": 64, "vocab_size": 96, "max_position_embeddings": 128, "head_dim": 16,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
T5 = {"d_model": 64, "d_kv": 16, "num_heads": 4, "d_ff": 64, "num_layers": 2}
GPT = {"n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 128}
BART = {
    "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "decoder_start_token_id": 2,
}  # fmt: skip
PLAIN = (
    "Llama Mistral Qwen2 Qwen3 Gemma Gemma2 Gemma3Text Phi Phi3 StableLm Starcoder2 Olmo Olmo2 Olmo3 "
    "Cohere Cohere2 Granite Mixtral Qwen2Moe Glm Glm4 Helium Persimmon GPTNeoX SmolLM3 Nemotron Ernie4_5 "
    "Exaone4 SeedOss Apertus Arcee HunYuanDenseV1 GptOss MiniMax DiffLlama Lfm2 VaultGemma ModernBert "
    "RoFormer Bert Roberta Electra Moshi Llama4Text JetMoe Doge EuroBert Cwm"
)
MODELS = {
    **{name: {} for name in PLAIN.split()},
    **dict.fromkeys(["T5", "MT5", "UMT5", "LongT5"], T5),
    **dict.fromkeys(["Bart", "MBart", "Marian", "Pegasus", "M2M100"], BART),
    "GPTJ": {**GPT, "rotary_dim": 8}, "CodeGen": {**GPT, "rotary_dim": 8}, "GPT2": GPT,
    "Bloom": {"n_head": 4, "n_layer": 2}, "Mpt": {"d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 128},
    "OPT": {"ffn_dim": 64, "word_embed_proj_dim": 64},
    "XGLM": {"d_model": 64, "attention_heads": 4, "ffn_dim": 64, "num_layers": 2},
    "DeepseekV3": {
        "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 16,
        "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_group": 1, "topk_group": 1,
        "first_k_dense_replace": 1, "head_dim": 8, "num_key_value_heads": 4},
}  # fmt: skip
IDS = torch.randint(3, 90, (2, 17), generator=torch.Generator().manual_seed(4))
MIN_MODELS = 40


def forward(model):
    more = {"decoder_input_ids": IDS} if model.config.is_encoder_decoder else {}
    with torch.no_grad():
        return model(input_ids=IDS, **more)[0]


def made(name):
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config", None)
    if config is None:
        pytest.skip(f"this transformers has no {name}Config")
    return getattr(transformers, f"{name}Model")(config(**{**TEXT, **MODELS[name]})).eval()


@pytest.mark.parametrize("name", MODELS)
def test_a_forward_stays_the_same(name):
    model = made(name)
    own = forward(model)
    seen = [one for one in audit(model) if not one.good]
    assert seen == []
    done = replace(model)
    gap, size = float((forward(model) - own).abs().max()), max(1.0, float(own.abs().max()))
    assert gap <= 1e-6 * size, done
    assert all(done.left.values())  # says why


def test_there_are_enough_of_them():
    assert sum(hasattr(transformers, f"{name}Model") for name in MODELS) >= MIN_MODELS
