"""Rotary tables of images, videos and multimodal text against those of transformers, committed in tests/data/golden."""

import json
from decimal import Decimal

import numpy as np
import pytest

from pecli import Recipe, Table
from pecli.models.reader import read_data
from tests.support.golden_cases import cases, values

STEP = 2.0**-23
CONVENTION = {
    "pixtral": "pixtral", "gemma4_vision": "gemma4", "kimi_k25_vision": "kimi-k2.5", "step3p5_vision": "step3",
    "dinov3_vit": "dinov3", "llama4_vision_model": "llama4-vision", "efficientloftr": "efficientloftr",
    "sam2_video": "sam2", "sam3_tracker_video": "sam2",
}  # fmt: skip
LAYOUT = {"sam2": "interleaved", "llama4-vision": "split", "efficientloftr": "split"}
TABLES = [
    pytest.param(name, i, id=f"{name}-{i}")
    for name, entry in cases("vision").items()
    for i in range(len(entry.get("grids", [])))
]
MULTIMODAL = [name for name, entry in cases("vision").items() if name.startswith("rope_")]


def head_width(config):
    """The width of a head as the vision towers' configs give it."""
    if "head_dim" in config:
        return config["head_dim"]
    if config["model_type"] in ("sam2_video", "sam3_tracker_video"):
        return config["memory_attention_hidden_size"] // config["memory_attention_num_attention_heads"]
    heads = config.get("num_heads", config.get("num_attention_heads"))
    if config["model_type"] == "efficientloftr":
        return int(config["partial_rotary_factor"] * config["hidden_size"]) // heads * 2
    return config.get("embed_dim", config["hidden_size"]) // heads


def recipe_of(config, grid):
    """The recipe of a grid for a vision tower."""
    convention = CONVENTION.get(config["model_type"], "qwen2-vl")
    if "patches_hw" in grid or "grid_hw" in grid:
        sides, merge = grid.get("patches_hw", grid.get("grid_hw")), 1
    elif "grid_thw" in grid:
        sides, merge = grid["grid_thw"][1:], grid.get("spatial_merge_size", 2 if convention == "qwen2-vl" else 1)
    else:
        sides, merge = [config["image_size"] // config["patch_size"]] * 2, 1
    keys = {"dim": head_width(config), "grid": "x".join(map(str, sides)), "convention": convention, "merge": merge}
    if "rope_theta" in config:
        keys["base"] = f"{config['rope_theta']:g}"
    if convention == "sam2":
        keys["axis-order"] = "yx"  # the reference was given rows first; the model itself gives columns first
    layout = LAYOUT.get(convention, "half")
    return "rope2d:" + ",".join(f"{k}={v}" for k, v in keys.items()), layout


@pytest.mark.parametrize(("name", "index"), [p for p in TABLES if "minimax" not in p.id])
def test_a_grid_is_rotated_as_by_the_model(name, index):
    entry = cases("vision")[name]
    grid = entry["grids"][index]
    recipe, layout = recipe_of(entry["config"], grid)
    cos, sin = (values("vision")[f"{name}/{index}/{part}"].astype(np.float64) for part in ("cos", "sin"))
    table = Table.parse(recipe, dtype="float64", layout=layout)
    rows = grid.get("rows", slice(0, len(cos)))
    largest = 2 * np.pi if "dinov3" in recipe else 33
    for part, expected in (("cos", cos), ("sin", sin)):
        made = table.read(part)[rows]
        assert made.shape == expected.shape
        assert np.abs(made - expected).max() <= 4 * (1 + largest) * STEP


def test_a_video_is_rotated_as_by_minimax():
    name = "vision__minimax_m3_vl"
    (grid,) = cases("vision")[name]["grids"]
    width = 2 * (head_width(cases("vision")[name]["config"]) // 3 // 2)
    sides = "x".join(map(str, grid["grid_thw"]))
    recipe = f"rope-axes:convention=minimax-m3,grid={sides}"
    assert Recipe.parse(recipe) == Recipe.parse(f"rope-axes:axes={width}+{width}+{width},merge=2,grid={sides}")
    table = Table.parse(recipe, dtype="float64", layout="half")
    for part in ("cos", "sin"):
        assert np.abs(table.read(part) - values("vision")[f"{name}/0/{part}"]).max() <= 4 * 6 * STEP


def test_an_axis_of_v_jepa_turns_neighbours_by_different_angles():
    entry = cases("vision")["vision__vjepa2_axis"]
    d, positions = entry["config"]["axis_dim"], ",".join(map(str, entry["positions"]))
    table = Table.parse(f"rope-axes:axes={d},grid=6,halves=axis", positions=positions, dtype="float64", layout="half")
    cos, sin = table.read("cos"), table.read("sin")
    x = np.eye(d)  # row j is the basis vector e_j
    turned = np.empty_like(x)
    turned[:, 0::2], turned[:, 1::2] = -x[:, 1::2], x[:, 0::2]
    for i, expected in enumerate(values("vision")["vision__vjepa2_axis/matrices"]):
        assert np.abs(x * cos[i] + turned * sin[i] - expected).max() <= 4 * 6 * STEP


@pytest.mark.parametrize("name", MULTIMODAL)
def test_several_streams_are_rotated_as_by_the_model(name):
    entry = cases("vision")[name]
    given, expected = entry["rope_parameters"], entry["mrope"]
    streams = np.array(expected.get("position_ids_thw", expected.get("position_ids_axes"))).T
    order = "interleaved" if given.get("mrope_interleaved") else "streams" if streams.shape[1] == 4 else "chunked"
    keys = {
        "dim": entry["head_dim"], "rotary-dim": entry["rotary_dim"], "base": f"{given['rope_theta']:g}",
        "sections": "+".join(map(str, expected["mrope_section"])), "section-order": order,
        "streams": "+".join(map(str, streams.ravel())),
    }  # fmt: skip
    if "alpha" in given:
        keys |= {"scaling": "ntk", "alpha": f"{given['alpha']:g}"}
    recipe = "mrope:" + ",".join(f"{k}={v}" for k, v in keys.items())
    layout = "half" if order == "streams" else "split"  # the reference holds unequal columns only
    table = Table.parse(recipe, dtype="float64", layout=layout)
    bound = 4 * (1 + streams.max(axis=1, keepdims=True)) * STEP
    for part in ("cos", "sin"):
        assert (np.abs(table.read(part) - values("vision")[f"{name}/{part}"]) <= bound).all()


def test_positions_of_text_and_images_are_those_of_qwen():
    entry = cases("vision")["mrope__qwen2_vl_position_ids"]
    expect = entry["expect"]
    tokens, image = expect["input_ids"][0], 301
    (frames, height, width), merge = expect["image_grid_thw"][0], entry["config"]["spatial_merge_size"]
    before, after = tokens.index(image), len(tokens) - 1 - tokens[::-1].index(image)
    text = f"{before}+{frames}x{height // merge}x{width // merge}+{len(tokens) - 1 - after}"
    plan = Recipe.parse(f"mrope:dim=128,sections=16+24+24,sequence={text}").plan
    rows = np.arange(plan.rows)
    assert plan.rows == len(tokens)
    assert [axis.index(rows).tolist() for axis in plan.axes] == expect["position_ids_thw"]


TOWERS = sorted(
    {name for name, entry in cases("vision").items() if "grids" in entry and "model_type" in entry["config"]}
)
OF_THE_GRID = {"grid", "merge", "prefix", "axis_order"}  # how the reference was asked for, and the class token


@pytest.mark.parametrize("name", [name for name in TOWERS if "minimax" not in name])
def test_a_towers_config_gives_its_recipe(name):
    entry = cases("vision")[name]
    (layer,) = read_data(json.loads(json.dumps(entry["config"]), parse_float=Decimal), name).layers.values()
    text, _ = recipe_of(entry["config"], entry["grids"][0])
    wanted = Recipe.parse(text)
    found = Recipe.bind("rope2d", **{**layer.params, "grid": "x".join(map(str, wanted.values["grid"]))})
    assert {k: v for k, v in found.values.items() if k not in OF_THE_GRID} == {
        k: v for k, v in wanted.values.items() if k not in OF_THE_GRID
    }
