"""Absolute tables against those of transformers and diffusers, committed in tests/data/golden."""

import numpy as np
import pytest

from pecli import Recipe, Table
from tests.support.golden_cases import allowed, cases, values

CONVENTION = {
    "ctrl": "ctrl", "distilbert": "xlm", "informer": "marian", "marian": "marian", "pegasus": "pegasus",
    "videomae": "paper", "speecht5": "paper", "whisper": "whisper", "xlm": "xlm", "fairseq-sinusoidal": "fairseq",
}  # fmt: skip
SINUSOIDS = [
    pytest.param(name, i, id=case["array"])
    for name, entry in cases("absolute").items()
    if name.startswith("sinusoid__")
    for i, case in enumerate(entry["cases"])
]
TIMESTEPS = [
    pytest.param(name, i, id=case["array"])
    for name, entry in cases("absolute").items()
    if name.startswith("timestep__")
    for i, case in enumerate(entry["cases"])
]
IN_DOUBLE = ("distilbert", "informer", "marian", "pegasus", "xlm")


def frequencies_by_column(recipe):
    """The frequency of each column of a sinusoid, for bounds; zero where a column is padded."""
    plan = Recipe.parse(recipe).plan
    found = np.zeros(plan.width)
    for band in plan.bands:
        for place in (band.sin, band.cos):
            w = np.array([float(f) for f in band.frequencies])
            found[place] = w[: len(range(*place.indices(plan.width)))]
    return found


@pytest.mark.parametrize(("name", "index"), SINUSOIDS)
def test_a_convention_gives_its_frameworks_sinusoid(name, index):
    entry = cases("absolute")[name]
    case = entry["cases"][index]
    expected = values("absolute")[case["array"]].astype(np.float64)
    recipe = f"sinusoidal:dim={expected.shape[1]},convention={CONVENTION[entry['family']]}"
    if "padding_idx" in case:
        recipe += f",pad-row={'none' if case['padding_idx'] is None else case['padding_idx']}"
    rows = case.get("rows", list(range(len(expected))))
    table = Table.parse(recipe, positions=",".join(map(str, rows)), dtype="float64")
    bound = allowed(rows, frequencies_by_column(recipe))
    if entry["family"] in IN_DOUBLE:  # computed in float64 and rounded once
        bound = 2.0**-25 + 1e-12
    assert (np.abs(table.read("pe") - expected) <= bound).all()


@pytest.mark.parametrize(("name", "index"), TIMESTEPS)
def test_time_steps_are_those_of_diffusers(name, index):
    case = cases("absolute")[name]["cases"][index]
    expected = values("absolute")[case["array"]].astype(np.float64)
    order = "cos-sin" if case["flip_sin_to_cos"] else "sin-cos"
    recipe = (
        f"sinusoidal:dim={case['embedding_dim']},order={order},shift={case['downscale_freq_shift']},"
        f"scale={case['scale']},base={case['max_period']},odd=pad"
    )
    table = Table.parse(recipe, positions=",".join(map(str, case["timesteps"])), dtype="float64")
    # a frequency is the exponential of up to ln 10000 = 9.2, whose own rounding is 2^-21 / 2: half as much again
    bound = 1.5 * allowed(case["timesteps"], frequencies_by_column(recipe))
    assert (np.abs(table.read("pe") - expected) <= bound).all()


def test_a_table_in_the_type_of_the_framework_is_equal_where_it_computes_in_double():
    expected = values("absolute")["sinusoid__marian_64x512/0"]
    rows = cases("absolute")["sinusoid__marian_64x512"]["cases"][0]["rows"]
    made = Table.parse("sinusoidal:dim=512,convention=marian", positions=",".join(map(str, rows))).read("pe")
    different = made != expected
    assert different.mean() < 1e-3  # a double within an ulp rounds the other way that rarely
    assert (np.abs(made[different] - expected[different]) <= np.spacing(np.abs(expected[different]))).all()


@pytest.mark.parametrize(
    ("name", "recipe"),
    [
        ("sincos2d__rt_detr_32_3x5", "sincos2d:dim=32,grid=3x5,convention=rt-detr"),
        ("sincos2d__vit_mae_64_4x4", "sincos2d:dim=64,grid=4x4,convention=mae,prefix=1"),
    ],
)
def test_two_dimensional_tables_are_the_frameworks(name, recipe):
    expected = values("absolute")[f"{name}/0"].astype(np.float64)
    made = Table.parse(recipe, dtype="float64").read("pe")
    assert np.abs(made - expected).max() <= 5 * 4 * 2.0**-23


@pytest.mark.parametrize("index", [0, 1])
def test_three_dimensional_tables_are_diffusers(index):
    case = cases("absolute")["sincos3d__diffusers"]["cases"][index]
    expected = values("absolute")[case["array"]]
    args = case["args"]
    width, height = args["spatial_size"] if isinstance(args["spatial_size"], list) else [args["spatial_size"]] * 2
    space, time = args.get("spatial_interpolation_scale", 1), args.get("temporal_interpolation_scale", 1)
    grid = f"{args['temporal_size']}x{height}x{width}"
    recipe = f"sincos3d:dim={args['embed_dim']},grid={grid},grid-scale={time}+{space}+{space}"
    made = Table.parse(recipe, dtype="float64").read("pe")
    assert np.abs(made - expected.reshape(made.shape)).max() <= 1e-6


DETR = [
    pytest.param(name, i, id=case["array"])
    for name, entry in cases("absolute").items()
    if name.startswith("detr_sine__")
    for i, case in enumerate(entry["cases"])
]


@pytest.mark.parametrize(("name", "index"), DETR)
def test_sine_positions_are_those_of_the_detectors(name, index):
    case = cases("absolute")[name]["cases"][index]
    expected = values("absolute")[case["array"]].astype(np.float64)
    recipe = f"detr:dim={expected.shape[1]},grid={case['h']}x{case['w']},temperature={case['temperature']}"
    normalize, centre = case["normalize"], "deformable" in name
    inside = np.ones(len(expected), bool)
    if normalize:
        recipe += ",normalize=true" + (",center=true" if centre else "")
        recipe += f",coordinate-scale={case['scale']}" if case["scale"] else ""
    if case.get("mask"):
        mask = np.array(case["mask"], bool)
        recipe += f",valid={mask.any(axis=1).sum()}x{mask.any(axis=0).sum()}"
        if centre:
            # a line that is masked whole is (0 - 0.5) / (0 + 1e-6): half a million turns, of which
            # float32 keeps no digit; there the real value and the framework's are unrelated
            inside = np.repeat(mask.any(axis=1), mask.shape[1]) & np.tile(mask.any(axis=0), mask.shape[0])
    made = Table.parse(recipe, dtype="float64").read("pe")
    assert np.abs(made - expected)[inside].max() <= 4 * (1 + 2 * np.pi) * 2.0**-23


def test_points_by_a_given_matrix_are_those_of_sam():
    case = cases("absolute")["sam_fourier"]["cases"][0]
    expected = values("absolute")["sam_fourier/0"].astype(np.float64)
    matrix = np.array(case["gaussian_2xF"]).T
    height, width = case["input_shape_hw"]
    recipe = (
        f"fourier:dim={expected.shape[1]},matrix={'+'.join(map(repr, matrix.ravel().tolist()))},point-axes=2,"
        f"points={'+'.join(map(repr, np.ravel(case['coords_xy']).tolist()))},extent={width}+{height}"
    )
    table = Table.parse(recipe, dtype="float64")
    angle = 2 * np.pi * np.abs(matrix).sum(axis=1)
    assert (np.abs(table.read("pe") - expected) <= np.tile(4 * (1 + angle) * 2.0**-23, 2)).all()
    assert np.array_equal(table.read("B"), matrix)


def test_rows_of_trained_positions_begin_after_the_offset_of_the_model():
    expect = cases("absolute")["learned__position_ids"]["expect"]
    whole = Table.parse("learned:dim=4,max-len=14", dtype="float64", length=14).read("pe")
    tokens = np.array(expect["input_ids"]) != expect["padding_idx"]
    for ids in (expect["roberta_position_ids"], expect["opt_table_rows"]):
        counted = (np.cumsum(tokens, axis=1) - 1) * tokens - ~tokens  # padding stands one before the first token
        for row, wanted in zip(counted.tolist(), ids, strict=True):
            text = ",".join(map(str, row))
            made = Table.parse("learned:dim=4,max-len=12,rows-offset=2", positions=text, dtype="float64").read("pe")
            assert np.array_equal(made, whole[wanted])
    shifted = Table.parse("learned:dim=4,max-len=12,rows-offset=2", length=6, dtype="float64").read("pe")
    assert np.array_equal(shifted, whole[expect["bart_table_rows"][0]])
