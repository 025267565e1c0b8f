"""Six tiny random models generate the same tokens before and after `replace`: cache, left padding, compile."""

import copy
import shutil

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make frameworks runs this")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from pecli.torch import replace  # noqa: E402 - which needs torch

IDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": None, "vocab_size": 96}
TEXT = {
    **IDS, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2,
    "intermediate_size": 64, "max_position_embeddings": 128, "head_dim": 16,
}  # fmt: skip
STREAMS = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}
TOWER = {
    "depth": 1, "embed_dim": 32, "num_heads": 2, "hidden_size": 64, "patch_size": 4, "spatial_merge_size": 2,
    "in_channels": 3,
}  # fmt: skip
MODELS = {
    "Llama": ("LlamaForCausalLM", "LlamaConfig", TEXT),
    "Gemma 3": ("Gemma3ForCausalLM", "Gemma3TextConfig", {**TEXT, "sliding_window": 8}),
    "BLOOM": ("BloomForCausalLM", "BloomConfig", {**IDS, "hidden_size": 64, "n_head": 4, "n_layer": 2}),
    "GPT-J": (
        "GPTJForCausalLM", "GPTJConfig",
        {**IDS, "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 128, "rotary_dim": 8},
    ),
    "T5": (
        "T5ForConditionalGeneration", "T5Config",
        {**IDS, "d_model": 64, "d_kv": 16, "num_heads": 4, "d_ff": 64, "num_layers": 2, "decoder_start_token_id": 0},
    ),
    "Qwen2-VL": (
        "Qwen2VLForConditionalGeneration", "Qwen2VLConfig",
        {"text_config": {**TEXT, "rope_parameters": STREAMS}, "vision_config": TOWER,
         "image_token_id": 85, "vision_start_token_id": 86, "video_token_id": 87},
    ),
}  # fmt: skip
REPLACED = {
    "Llama": ["model.rotary_emb"], "Gemma 3": ["model.rotary_emb.sliding_attention"], "BLOOM": ["transformer"],
    "GPT-J": ["transformer.rotary_emb.embed_positions"], "Qwen2-VL": ["model.language_model.rotary_emb"],
    "T5": [f"{side}.block.0.layer.0.SelfAttention.buckets" for side in ("encoder", "decoder")],
}  # fmt: skip
COMPILER = any(map(shutil.which, ("c++", "g++", "clang++")))
COMPILED = ("BLOOM", "T5")  # whose replaced functions are in the graph; by inductor, which takes a minute each


def inputs(name):
    drawn = torch.Generator().manual_seed(5)
    ids = torch.randint(3, 80, (2, 12), generator=drawn)
    ids[0, :5] = 0  # padding on the left
    more = {}
    if name == "Qwen2-VL":
        ids = torch.tensor([[0, 0, 0, 86, 85, 85, 85, 85, 5, 6, 7, 8], [3, 4, 86, 85, 85, 85, 85, 5, 6, 7, 8, 9]])
        image = torch.randn(32, 3 * 2 * 4 * 4, generator=drawn)
        more = {"pixel_values": image, "image_grid_thw": torch.tensor([[1, 4, 4]] * 2),
                "mm_token_type_ids": (ids == 85).int()}  # fmt: skip
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), **more}


def tokens(model, name, cache):
    with torch.no_grad():
        return model.generate(**inputs(name), max_new_tokens=10, do_sample=False, use_cache=cache)


@pytest.mark.parametrize("name", MODELS)
def test_tokens_are_equal(name):
    model, config, options = MODELS[name]
    torch.manual_seed(3)
    own = getattr(transformers, model)(getattr(transformers, config)(**options)).eval()
    for weight in own.parameters():
        weight.data *= 3 if weight.ndim > 1 else 1  # so that tokens differ
    exact = copy.deepcopy(own)
    done = replace(exact)
    assert [found for found in done if found in REPLACED[name]] == REPLACED[name], done
    for cache in (True, False):
        expected = tokens(own, name, cache)
        assert len(set(expected.flatten().tolist())) > 2
        assert torch.equal(tokens(exact, name, cache), expected)
    expected, forward = tokens(own, name, True), exact.forward
    for backend in ("aot_eager", "inductor") if name in COMPILED and COMPILER else ("aot_eager",):
        torch.compiler.reset()
        exact.forward = torch.compile(forward, backend=backend)
        assert torch.equal(tokens(exact, name, True), expected)
