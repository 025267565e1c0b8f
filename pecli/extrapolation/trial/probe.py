"""A measured trial: small models trained on a toy language, one per encoding, tried beyond their length."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pecli.declare.encoding import Family
from pecli.encodings.recipe import Recipe, join_recipe, split_recipe
from pecli.errors import PecliError
from pecli.extrapolation.trial.language import CHANGE, KEYS, VALUES, Text, speak
from pecli.extrapolation.trial.model import Adam, Floats, Model
from pecli.extrapolation.trial.placing import TRAIN, placing

DEFAULTS = ("learned", "sinusoidal", "rope", "alibi", "none")
TIMES = 4
TESTED = 1_000_003  # seed of the text that all are tried on
HOLDS, LOSES = 1.05, 1.25
"""Loss beyond over loss inside: up to the first it holds, from the second it loses clearly."""
RULES = {
    "holds": f"the loss at the end of the test length is at most {HOLDS:g} times that inside",
    "drifts": f"the loss at the end of the test length is between {HOLDS:g} and {LOSES:g} times that inside",
    "loses": f"the loss at the end of the test length is more than {LOSES:g} times that inside",
    "ends": "there are no positions beyond the training length, and no loss",
}


@dataclass(frozen=True)
class Settings:
    """The budget of one training; the same for every encoding and seed."""

    train: int = TRAIN
    test: int = TRAIN * TIMES
    steps: int = 600
    batch: int = 32
    seeds: tuple[int, ...] = (0, 1, 2)
    tried: int = 256


@dataclass(frozen=True)
class ModelTrial:
    """What one encoding did.

    Attributes
    ----------
    name : str
        The recipe, and the scaling it was tried with where one was added for the test.
    recipe, tried_with : str
        Trained with, tested with.
    losses : list of list of float
        Mean loss in nats of each predicted value, by seed; up to the training length where values end there.
    inside, beyond : float
        Mean over the seeds in the second half of the training length, and in as many positions at the end
        of the test length; None where there are no values.
    spread_inside, spread_beyond : (float, float)
        Smallest and largest seed.
    verdict : str
        A key of `RULES`.
    """

    name: str
    recipe: str
    tried_with: str
    losses: list[list[float]]
    inside: float
    spread_inside: tuple[float, float]
    beyond: float | None
    spread_beyond: tuple[float, float] | None
    verdict: str


@dataclass(frozen=True)
class Probe:
    """All trials, and what they are measured against.

    Attributes
    ----------
    positions : list of int
        Of the predicted values.
    floor : list of float
        Loss of the perfect predictor there.
    floor_inside, floor_beyond : float
    """

    settings: Settings
    language: str
    positions: list[int]
    floor: list[float]
    floor_inside: float
    floor_beyond: float
    trials: tuple[ModelTrial, ...]


LANGUAGE = (
    f"pairs of {KEYS} keys and {VALUES} values: a key shows the value it showed last, or with chance {CHANGE:g} a new "
    "one; the model must find the latest showing of each key"
)


Scaled = Callable[[Recipe], Sequence[Recipe]]
DEFAULT = Settings()


def run_probe(
    recipes: Sequence[Recipe],
    settings: Settings = DEFAULT,
    scaled: Scaled = lambda _: (),
    report: Callable[[str], None] | None = None,
) -> Probe:
    """Train each encoding once per seed, and measure the loss by position inside and beyond.

    Parameters
    ----------
    recipes : sequence of Recipe
        Fitted to the model by `fitted`.
    settings : Settings
        Budget.
    scaled : callable
        Gives further recipes that a trained one is tested with, without training.
    report : callable, optional
        Told what has been trained.
    """
    text = speak(np.random.default_rng(TESTED), settings.tried, settings.test)
    tests = [(recipe, *scaled(recipe)) for recipe in recipes]
    stop = threading.Event()

    def job(which: int, seed: int) -> list[NDArray[np.float64]]:
        model = _trained(recipes[which], settings, seed, stop)
        if report:
            report(f"trained {_label(recipes[which])}, seed {seed}")
        return [_tried(model, test, text, settings) for test in tests[which]]

    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        jobs = [[pool.submit(job, which, seed) for seed in settings.seeds] for which in range(len(recipes))]
        try:
            losses = [[one.result() for one in row] for row in jobs]
        except BaseException:  # an interrupt: the trainings stop at their next step
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    trials = [
        _trial(recipe, test, [seed[i] for seed in found], settings)
        for recipe, found, tried in zip(recipes, losses, tests, strict=True)
        for i, test in enumerate(tried)
    ]
    floor = text.floor.mean(0)
    inside, beyond = _windows(settings)
    return Probe(
        settings=settings,
        language=LANGUAGE,
        positions=list(range(0, settings.test, 2)),
        floor=floor.tolist(),
        floor_inside=float(floor[inside].mean()),
        floor_beyond=float(floor[beyond].mean()),
        trials=tuple(trials),
    )


def _trained(recipe: Recipe, settings: Settings, seed: int, stop: threading.Event) -> Model:
    """Train one model; weights and data of a seed are the same for every encoding."""
    where = placing(recipe, settings.train, settings.train)
    model = Model(np.random.default_rng(seed), where)
    data = np.random.default_rng(10_000 + seed)
    adam = Adam(model.weights, settings.steps)
    for _ in range(settings.steps):
        if stop.is_set():
            break
        adam.update(model.gradients(speak(data, settings.batch, settings.train).tokens, where))
    return model


def _tried(model: Model, test: Recipe, text: Text, settings: Settings) -> NDArray[np.float64]:
    """Return the mean loss by position, as far as there are values."""
    length = settings.test
    try:
        where = placing(test, length, settings.train)
    except PecliError:
        length = settings.train
        where = placing(test, length, settings.train)
    batches = range(0, len(text.tokens), settings.batch)
    losses: list[Floats] = [model.loss(text.tokens[low : low + settings.batch, :length], where) for low in batches]
    mean: NDArray[np.float64] = np.concatenate(losses).astype(np.float64).mean(0)
    return mean


def _label(recipe: Recipe) -> str:
    """Return the recipe without what fits it to the model."""
    name, keys = split_recipe(recipe.short)
    if recipe.encoding.facts.learned and recipe.encoding.family is not Family.ABSOLUTE:
        name += " (values not trained)"
    return join_recipe(name, {key: value for key, value in keys.items() if key not in ("dim", "heads", "max-len")})


def _change(recipe: Recipe, test: Recipe) -> str:
    """Return what a recipe has in the test that it had not in training: the scaling's name, or keys."""
    scaling = test.values.get("scaling")
    if isinstance(scaling, str):
        return scaling
    before = recipe.keys()
    return ", ".join(f"{key}={value}" for key, value in test.keys().items() if before.get(key) != value)


def _windows(settings: Settings) -> tuple[slice, slice]:
    """Return the values of the second half of the training length, and as many at the end of the test length."""
    inside, last = settings.train // 2, settings.test // 2
    return slice(inside // 2, inside), slice(last - inside // 2, last)


def _trial(recipe: Recipe, test: Recipe, losses: list[NDArray[np.float64]], settings: Settings) -> ModelTrial:
    inside, beyond = (
        [float(loss[part].mean()) for loss in losses if len(loss) >= part.stop] for part in _windows(settings)
    )
    name = _label(recipe) if test is recipe else f"{_label(recipe)} + {_change(recipe, test)}"
    made = ModelTrial(
        name, str(recipe), str(test), [loss.tolist() for loss in losses], float(np.mean(inside)),
        (min(inside), max(inside)), None, None, "ends",
    )  # fmt: skip
    if not beyond:
        return made
    mean = float(np.mean(beyond))
    ratio = mean / made.inside
    verdict = "holds" if ratio <= HOLDS else "drifts" if ratio <= LOSES else "loses"
    return replace(made, beyond=mean, spread_beyond=(min(beyond), max(beyond)), verdict=verdict)
