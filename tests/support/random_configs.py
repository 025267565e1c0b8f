"""``python -m tests.support.random_configs --count 2000 --seed 1``: random configs against transformers' own modules.

Every class of the installed transformers that makes rotary frequencies from a config is constructed with random keys,
old and new ones, missing and contradicting each other. pecli reads the same keys: frequencies within the roundings of
float32, the same attention factor, and a refusal where the class refuses. Ends with a count; status 1 if anything
differs.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import logging
import os
import pkgutil
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np

from pecli.errors import PecliError
from pecli.models.reader import read_data
from pecli.spec.recipe import Recipe

ROUNDINGS = 8
"""Float32 roundings of a frequency besides that of its exponent, which changes base^-e by |ln w| roundings."""
MAX_FACTOR_GAP = 1e-12
ABOUT_POSITIONS = ("rope_", "theta", "factor", "original_max", "rotary", "beta_")
"""Words of a refusal that is about positions; of others pecli need not know."""

WIDER = re.compile("wider than a head|rotates .* columns of a head")
"""A refusal of a head that is narrower than what rotates, which a class of transformers takes to its first forward."""

Class = tuple[str, Any, Any]


def classes() -> Iterator[Class]:
    """Yield model type, config class and rotary class of each model whose rotary module takes its config alone."""
    import transformers.models as models

    for module in pkgutil.iter_modules(models.__path__):
        name = f"transformers.models.{module.name}.modeling_{module.name}"
        try:
            modeling = importlib.import_module(name)
        except Exception:  # a model whose packages are not installed
            continue
        for _, rotary in inspect.getmembers(modeling, inspect.isclass):
            if rotary.__module__ != name or not rotary.__name__.endswith("RotaryEmbedding"):
                continue
            taken = [
                p for p in inspect.signature(rotary.__init__).parameters.values() if p.name not in ("self", "device")
            ]
            needed = [p for p in taken if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
            if [p.name for p in needed] != ["config"]:
                continue
            kind = needed[0].annotation
            kind = getattr(modeling, kind, None) if isinstance(kind, str) else kind
            if not inspect.isclass(kind) or not getattr(kind, "model_type", "") or kind.sub_configs:
                continue
            if _is_rope(kind.model_type):
                yield kind.model_type, kind, rotary


def _is_rope(name: str) -> bool:
    """Whether pecli reads the bare type as a rotation over one position; grids are tested elsewhere."""
    try:
        layers = read_data({"model_type": name}, "config.json").layers.values()
    except PecliError:
        return False
    return any(one.of("rope") for one in layers)


def rope_keys(rng: Random) -> dict[str, Any]:
    """Return the keys of a scaling: of one type as a rule complete, now and then not."""
    kind = rng.choice(("default", "linear", "dynamic", "yarn", "llama3", "longrope"))
    keys: dict[str, Any] = {rng.choice(("rope_type", "rope_type", "type")): kind}
    every = {
        "factor": rng.choice((1, 2.0, 4, 8.5, 40)), "original_max_position_embeddings": rng.choice((256, 2048, 8192)),
        "beta_fast": rng.choice((32, 16)), "beta_slow": 1, "attention_factor": rng.choice((None, 1.0, 1.25)),
        "mscale": rng.choice((1.0, 0.707)), "mscale_all_dim": rng.choice((1.0, 0.707)),
        "truncate": rng.choice((True, False)), "low_freq_factor": 1.0, "high_freq_factor": rng.choice((4.0, 8)),
    }  # fmt: skip
    needed = {"linear": ("factor",), "dynamic": ("factor",), "yarn": ("factor", "original_max_position_embeddings"),
              "llama3": ("factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor"),
              "longrope": ("original_max_position_embeddings",)}.get(kind, ())  # fmt: skip
    more = {"yarn": ("beta_fast", "beta_slow", "attention_factor", "mscale", "mscale_all_dim", "truncate")}.get(
        kind, ()
    )
    keys |= {key: every[key] for key in needed if rng.random() < 0.93}
    keys |= {key: every[key] for key in more if rng.random() < 0.25}
    return keys


def config_keys(rng: Random, width: int) -> dict[str, Any]:
    """Return random keys of a config; `width` is that of a head."""
    heads = rng.choice((2, 4, 8))
    keys: dict[str, Any] = {}
    if rng.random() < 0.8:
        keys |= {
            "hidden_size": heads * width,
            "num_attention_heads": heads,
            "num_key_value_heads": rng.choice((1, heads)),
        }
    if rng.random() < 0.3:
        keys["head_dim"] = rng.choice((width, 2 * width, 48))
    if rng.random() < 0.5:
        keys["max_position_embeddings"] = rng.choice((512, 4096, 131072))
    if rng.random() < 0.4:
        keys["partial_rotary_factor"] = rng.choice((0.25, 0.5, 1.0))
    theta = {"rope_theta": rng.choice((10000, 10000.0, 500000.0, 1e6, 123456.7))} if rng.random() < 0.6 else {}
    if rng.random() < 0.6:
        scaling = rope_keys(rng)
        if "longrope" in scaling.values():
            count = keys.get("head_dim", width) // 2
            scaling |= {
                name: [round(rng.uniform(1, 8), 2) for _ in range(count)] for name in ("short_factor", "long_factor")
            }
        if rng.random() < 0.5:
            keys |= {"rope_scaling": scaling, **theta}
        else:
            keys["rope_parameters"] = scaling | theta
    else:
        keys |= theta
    return keys


def tables_of(kind: Any, rotary: Any, keys: dict[str, Any]) -> dict[str, tuple[np.ndarray[Any, Any], float]]:
    """Return the frequencies and the attention factor of a class by kind of layer."""
    module = rotary(kind(**json.loads(json.dumps(keys))))
    found = {}
    for name, value in [*module.named_buffers(), *vars(module).items()]:
        if name.endswith("inv_freq") and "original" not in name and hasattr(value, "numpy") and value.dim() == 1:
            layer = name.removesuffix("inv_freq").rstrip("_") or "all"
            prefix = "" if layer == "all" else f"{layer}_"
            found[layer] = (value.double().numpy(), float(getattr(module, f"{prefix}attention_scaling", 1.0)))
    return found


def compared(name: str, kind: Any, rotary: Any, keys: dict[str, Any]) -> str:
    """Return how pecli's reading differs from the class; empty if it does not."""
    try:
        wanted = tables_of(kind, rotary, keys)
    except Exception as error:
        wanted, refusal = {}, f"{type(error).__name__}: {error}"
    else:
        refusal = ""
    text = json.loads(json.dumps({"model_type": name, **keys}), parse_float=Decimal)
    try:
        layers = {layer: one.of("rope") for layer, one in read_data(text, "config.json").layers.items()}
        plans = {}
        for layer, one in layers.items():
            if one is not None:
                params = dict(one.params)
                if params.get("scaling") in ("dynamic", "longrope"):
                    params["seq-len"] = "1"
                plans[layer] = Recipe.bind("rope", **params).plan
    except PecliError as error:
        return "" if refusal or WIDER.search(str(error)) else f"pecli refuses: {error}"
    if refusal and not any(word in refusal for word in ABOUT_POSITIONS):
        return ""
    if refusal:
        return f"transformers refuses ({refusal[:200]}), pecli reads {[str(p)[:80] for p in plans][:2]}"
    if not wanted:  # the class keeps sines of GPT-J, made in its constructor
        return ""
    if len(wanted) == 1 and len(plans) >= 1:
        wanted = dict.fromkeys(plans, next(iter(wanted.values())))
    if wanted.keys() != plans.keys():
        return f"layers {sorted(plans)} where the class has {sorted(wanted)}"
    for layer, (frequencies, factor) in wanted.items():
        have = -np.sort([-float(w) for w in plans[layer].frequencies])
        frequencies = -np.sort(-frequencies)  # ERNIE keeps them in the order of its sections
        if have.shape != frequencies.shape:
            return f"{layer}: {len(have)} frequencies where the class has {len(frequencies)}"
        size = np.maximum(np.abs(frequencies), 1e-300)
        rounding = 2.0**-24 * (ROUNDINGS + np.abs(np.log(size)) + _factor(keys))
        gap = np.abs(have - frequencies) / size / rounding
        if gap.max(initial=0) > 1:
            place = int((gap > 1).argmax())
            return f"{layer}: frequency {place} is {have[place]:.9g} where the class has {frequencies[place]:.9g}"
        if abs(float(plans[layer].magnitude) - factor) > MAX_FACTOR_GAP * factor:
            return f"{layer}: attention factor {float(plans[layer].magnitude)} where the class has {factor}"
    return ""


def _factor(keys: dict[str, Any]) -> float:
    """Return the factor of a ramp, by which it magnifies its roundings; 32 is the default of gpt-oss."""
    given = keys.get("rope_scaling") or keys.get("rope_parameters") or {}
    return float(given.get("factor") or 32)


def main() -> int:
    """Compare random configs of all classes in turn."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.random_configs", description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="one model type")
    given = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    import transformers

    every = [one for one in classes() if given.only in (None, one[0])]
    bad: Counter[str] = Counter()
    for number in range(given.count):
        name, kind, rotary = every[number % len(every)]
        rng = Random(f"{given.seed}-{number}")
        keys = config_keys(rng, rng.choice((32, 64, 128)))
        if problem := compared(name, kind, rotary, keys):
            bad[name] += 1
            print(f"{given.seed}-{number} {name} {json.dumps(keys)}\n    {problem}", flush=True)
    types = len({name for name, _, _ in every})
    print(
        f"transformers {transformers.__version__}: {given.count} configs of {types} model types, {bad.total()} differ"
    )
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
