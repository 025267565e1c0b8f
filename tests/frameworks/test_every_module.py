"""Every module of the installed transformers that makes rotary tables or sines from its config alone, audited."""

import importlib
import inspect
import pkgutil

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from pecli.torch import audit, replace  # noqa: E402 - which need torch

NOT_COMPARED = {
    "EfficientLoFTR", "EsmFold2", "Gemma4Vision", "Llama4Vision", "MiniMaxM3VLVision", "MusicFlamingo",
    "Sam3ViT",  # which are called otherwise
    "Glm4vText", "Glm4vMoeText", "GlmImageText", "HunYuanVL",  # whose default config lacks what its module needs
}  # fmt: skip
MIN_MODULES = 200


def rotary_modules():
    """Yield the names and the modules, each in a model that has its config."""
    for found in pkgutil.iter_modules(transformers.models.__path__):
        name = f"transformers.models.{found.name}.modeling_{found.name}"
        try:
            modeling = importlib.import_module(name)
        except Exception:  # whose packages are not installed
            continue
        for word, kind in inspect.getmembers(modeling, inspect.isclass):
            if kind.__module__ != name or not word.endswith("RotaryEmbedding"):
                continue
            taken = [one for one in inspect.signature(kind).parameters.values() if one.name != "device"]
            config = taken[0].annotation if taken else None
            config = getattr(modeling, config, None) if isinstance(config, str) else config
            if not inspect.isclass(config) or (len(taken) > 1 and taken[1].default is taken[1].empty):
                continue
            try:
                module = kind(config()).eval()
            except Exception:  # a config without defaults
                continue
            model = torch.nn.Module()
            model.rope, model.config = module, getattr(module, "config", None) or config()
            yield word.removesuffix("RotaryEmbedding"), model


def test_no_rotary_module_is_said_to_differ_from_its_config():
    count, named = 0, set()
    for name, model in rotary_modules():
        for one in audit(model):
            if not one.name.startswith("rope"):
                continue
            if one.good:
                count += 1
            else:
                assert one.comparison is None, (name, one)
                named.add(name)
    assert named <= NOT_COMPARED
    assert count >= MIN_MODULES


SMALL = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1, "intermediate_size": 32}
TOWER = {"depth": 1, "num_heads": 4, "hidden_size": 64, "patch_size": 4, "spatial_merge_size": 2, "in_channels": 3}
MODELS = {  # the folder, the model and its config with options; the name of the module
    "Pixtral": ("pixtral", "PixtralVision", {**SMALL, "image_size": 16, "patch_size": 4, "head_dim": 16},
                "patch_positional_embedding"),
    "Qwen2-VL": ("qwen2_vl", "Qwen2VLVision", {**TOWER, "embed_dim": 64}, "rotary_pos_emb"),
    "Qwen3-VL": ("qwen3_vl", "Qwen3VLVision", {**TOWER, "intermediate_size": 32, "out_hidden_size": 64},
                 "rotary_pos_emb"),
    "GLM-4V": ("glm4v", "Glm4vVision", {"depth": 1, "num_heads": 4, "hidden_size": 64, "patch_size": 4,
                                        "image_size": 16, "intermediate_size": 32, "out_hidden_size": 64},
               "rotary_pos_emb"),
    "XLNet": ("xlnet", "XLNet", {"d_model": 64, "n_head": 4, "n_layer": 1, "d_inner": 32, "vocab_size": 32},
              "XLNetModel"),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_towers_and_distances_are_compared_and_left(name):
    folder, word, options, table = MODELS[name]
    modeling = importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")
    config = getattr(transformers, f"{word}Config", None) or getattr(modeling, f"{word}Config")
    kinds = (f"{word}Model", "Qwen2VisionTransformerPretrainedModel")
    model = next(getattr(modeling, kind) for kind in kinds if hasattr(modeling, kind))(config(**options)).eval()
    found = {one.name: one for one in audit(model)}
    assert found[table].comparison is not None
    assert all(found.values()), found
    done = replace(model)
    assert done == []
    assert "called with sizes or coordinates" in done.left[table]
    if name != "XLNet":
        model.get_submodule(table).inv_freq.mul_(0.5)
        assert not next(one for one in audit(model) if one.name == table)


SINES = ("detr", "conditional_detr", "dab_detr", "deformable_detr", "mask2former", "table_transformer")


@pytest.mark.parametrize("folder", SINES)
def test_detrs_sines_are_compared(folder):
    modeling = importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")
    kind = next(one for word, one in vars(modeling).items() if word.endswith("SinePositionEmbedding"))
    word = kind.__name__.removesuffix("SinePositionEmbedding")
    config = getattr(transformers, f"{word}Config")()
    width = next(getattr(config, key) for key in ("d_model", "hidden_dim", "hidden_size") if hasattr(config, key))
    by_config = next(iter(inspect.signature(kind).parameters)) == "config"
    model = torch.nn.Module()
    model.config, model.sines = config, kind(config) if by_config else kind(width // 2, normalize=True)
    (found,) = (one for one in audit(model) if one.name == "sines")
    assert found.comparison is not None
    assert found, found


def test_timms_mixed_frequencies_are_trained():
    timm = pytest.importorskip("timm")
    model = timm.create_model("vit_small_patch16_rope_mixed_224", depth=1, embed_dim=64, num_heads=4)
    assert [one.trained for one in audit(model) if one.name == "rope"] == [True]
    assert replace(model).left == {}
