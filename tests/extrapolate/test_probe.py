"""The trial: its language, its gradients, its placing of encodings, and that it learns."""

import json
import subprocess
import sys
import threading

import numpy as np
import pytest

from pecli import PecliError, Recipe
from pecli.extrapolation.trial import probe
from pecli.extrapolation.trial.language import CHANGE, KEYS, VALUES, speak
from pecli.extrapolation.trial.model import HEADS, WIDTH, Model, Placing
from pecli.extrapolation.trial.placing import fitted, fitted_by_name, placing
from tests.conftest import clean_environment


def test_the_language_shows_the_last_value_of_a_key_unless_it_changes():
    text = speak(np.random.default_rng(3), 200, 64)
    assert text.tokens.shape == (200, 64)
    same = new = 0
    for row, floor in zip(text.tokens, text.floor, strict=True):
        bound = {}
        for key, value, loss in zip(row[::2], row[1::2], floor, strict=True):
            if key in bound:
                chance = 1 - CHANGE + CHANGE / VALUES if value == bound[key] else CHANGE / VALUES
                same, new = same + (value == bound[key]), new + (value != bound[key])
            else:
                chance = 1 / VALUES
            assert loss == pytest.approx(-np.log(chance))
            bound[key] = value
    assert new / (same + new) == pytest.approx(CHANGE * (1 - 1 / VALUES), abs=0.01)
    assert text.tokens[:, ::2].max() < KEYS <= text.tokens[:, 1::2].min()


@pytest.mark.parametrize("name", ["learned", "sinusoidal", "rope", "xpos", "alibi", "none"])
def test_gradients_are_those_of_the_loss(name):
    recipe = fitted_by_name(name, 16)
    where = placing(recipe, 16, 16)
    model = Model(np.random.default_rng(0), where)
    # float64 throughout, so that a difference quotient means something
    wide = {f: None if v is None else v.astype(np.float64) for f, v in vars(where).items() if f != "trained"}
    where = Placing(**wide, trained=where.trained)
    model.weights = {k: v.astype(np.float64) for k, v in model.weights.items()}
    tokens = speak(np.random.default_rng(1), 3, 16).tokens
    found = model.gradients(tokens, where)
    draw = np.random.default_rng(2)
    for key, weights in model.weights.items():
        for _ in range(4):
            spot = tuple(draw.integers(0, side) for side in weights.shape)
            kept, step = weights[spot], 1e-5
            sides = []
            for sign in (1, -1):
                weights[spot] = kept + sign * step
                sides.append(model.loss(tokens, where).mean())
            weights[spot] = kept
            assert found[key][spot] == pytest.approx((sides[0] - sides[1]) / (2 * step), abs=3e-7), key


def test_a_model_does_not_see_what_comes_later():
    where = placing(fitted_by_name("alibi"), 32, 64)
    model = Model(np.random.default_rng(0), where)
    tokens = speak(np.random.default_rng(1), 2, 32).tokens
    changed = tokens.copy()
    changed[:, 20:] = speak(np.random.default_rng(9), 2, 32).tokens[:, 20:]
    np.testing.assert_allclose(model.loss(tokens, where)[:, :10], model.loss(changed, where)[:, :10], rtol=1e-6)


def test_positions_come_from_the_tables():
    assert placing(fitted_by_name("sinusoidal"), 8, 64).vectors.shape == (8, WIDTH)
    rope = placing(Recipe.parse("rope:dim=16,partial=0.5"), 8, 64)
    np.testing.assert_array_equal(rope.sin[:, 4:], 0)  # pairs beyond the rotary width stand still
    assert rope.sin[:, :4].any()
    bias = placing(fitted_by_name("alibi"), 8, 64).bias
    assert bias.shape == (HEADS, 8, 8)
    assert bias[0, 5, 3] == -2 / 4


def test_learned_positions_end_and_the_others_do_not():
    settings = probe.Settings(train=16, test=32, steps=2, batch=2, seeds=(0,), tried=4)
    found = probe.run_probe([fitted_by_name(n, 16) for n in ("learned", "none")], settings)
    learned, none = found.trials
    assert (learned.verdict, learned.beyond, len(learned.losses[0])) == ("ends", None, 8)
    assert none.beyond is not None
    assert len(none.losses[0]) == len(found.floor) == len(found.positions) == 16


def test_a_trained_model_is_tried_with_scalings_too():
    settings = probe.Settings(train=16, test=32, steps=1, batch=2, seeds=(0, 1), tried=4)
    linear = Recipe.parse("rope:dim=16,scaling=linear,factor=2")
    found = probe.run_probe([fitted_by_name("rope", 16)], settings, lambda _: [linear])
    assert [t.tried_with for t in found.trials] == [str(Recipe.parse("rope:dim=16")), str(linear)]
    assert found.trials[1].name == "rope + linear"
    assert len(found.trials[1].losses) == 2
    assert found.trials[0].losses[0] != found.trials[1].losses[0]  # slower phases, other losses


def test_a_seed_starts_every_encoding_from_the_same_weights():
    one, other = (Model(np.random.default_rng(5), placing(fitted_by_name(n), 8, 64)) for n in ("rope", "learned"))
    np.testing.assert_array_equal(one.weights["query"], other.weights["query"])
    assert set(other.weights) - set(one.weights) == {"position"}


def test_an_interrupted_training_stops_at_its_next_step():
    stop = threading.Event()
    stop.set()
    recipe, settings = fitted_by_name("none"), probe.Settings(steps=10**9)
    model = probe._trained(recipe, settings, 0, stop)
    fresh = Model(np.random.default_rng(0), placing(recipe, settings.train, settings.train))
    assert model.weights.keys() == fresh.weights.keys()
    for name, weights in fresh.weights.items():  # not one step was taken
        np.testing.assert_array_equal(model.weights[name], weights)


def test_training_lowers_the_loss_on_text_it_has_not_seen():
    recipe, settings = fitted_by_name("alibi", 16), probe.Settings(train=16, test=32, steps=80, batch=16)
    where, text = placing(recipe, 16, 16), speak(np.random.default_rng(5), 64, 16)
    before = Model(np.random.default_rng(0), where).loss(text.tokens, where).mean()
    after = probe._trained(recipe, settings, 0, threading.Event()).loss(text.tokens, where).mean()
    assert after < 0.9 * before
    assert after > text.floor.mean()  # nothing beats the predictor that knows the language


@pytest.mark.parametrize(
    ("beyond", "verdict"), [(1.0, "holds"), (1.05, "holds"), (1.06, "drifts"), (1.25, "drifts"), (1.26, "loses")]
)
def test_a_verdict_compares_the_ends_of_both_lengths(beyond, verdict):
    settings = probe.Settings(train=16, test=64)  # 8 and 32 values: inside 4 to 7, beyond 28 to 31
    losses = [np.full(32, 50.0), np.full(32, 50.0)]
    for seed, each in enumerate(losses):
        each[4:8], each[28:32] = 1 + 0.2 * seed, beyond * (1 + 0.2 * seed)
    recipe = fitted_by_name("none", 16)
    found = probe._trial(recipe, recipe, losses, settings)
    assert found.verdict == verdict
    assert found.spread_inside == pytest.approx((1.0, 1.2))
    assert found.beyond == pytest.approx(1.1 * beyond)
    assert probe._trial(recipe, recipe, [each[:8] for each in losses], settings).verdict == "ends"


def test_an_encoding_without_a_place_in_the_model_is_refused():
    with pytest.raises(PecliError, match="has no place in the probe"):
        fitted(Recipe.parse("sincos2d:dim=16,grid=4x4"))


SHORT = """
import json
from pecli.extrapolation.trial.probe import Settings, run_probe
from pecli.extrapolation.trial.placing import fitted_by_name
settings = Settings(steps=250, seeds=(0,), tried=64)
found = run_probe([fitted_by_name("sinusoidal"), fitted_by_name("alibi")], settings)
print(json.dumps([[trial.inside, trial.beyond] for trial in found.trials]))
"""


def test_a_short_trial_shows_sinusoids_losing_and_alibi_holding():
    # In a child with one thread for each product: threads that wait for each other cost minutes on busy cores.
    child = subprocess.run(
        [sys.executable, "-c", SHORT], env=clean_environment(OPENBLAS_NUM_THREADS="1"), capture_output=True, check=True
    )
    (inside, beyond), (alibi_inside, alibi_beyond) = json.loads(child.stdout)
    assert max(inside, alibi_inside) < 1.1
    assert beyond > 1.5 * inside
    assert alibi_beyond < 1.1 * alibi_inside
