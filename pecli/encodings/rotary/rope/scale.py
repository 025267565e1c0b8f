"""The scalings of a rope, from lengths alone."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import partial

from pecli.declare.rescaling import Rescaling
from pecli.encodings.rotary.rope.scaling import Scaling, declared
from pecli.encodings.rotary.rope.scalings import SCALINGS, TAKEN, scaling_of
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, parse_number


def scale(keys: Mapping[str, str]) -> dict[str, Rescaling]:
    """Return the scalings of a rope with these keys; a recipe that has one already keeps what it says of it."""
    if "frequencies" in keys:
        return {}
    own = scaling_of(keys["scaling"])
    if own.extends:
        plain = {key: text for key, text in keys.items() if key != "scaling" and key not in TAKEN}
        others = [scaling for scaling in SCALINGS.values() if scaling.parameters and scaling.extends]
    else:  # which pairs turn is the model's, and was so in training: only the factor is added after it
        plain = {key: text for key, text in keys.items() if key != "factor"}
        others = [own]
    found = {"none": Rescaling(lambda _train, _test, _factor: (plain, None))}
    for scaling in others:
        made = partial(_made, scaling, keys if scaling is own and own.extends else None, plain)
        found[scaling.name] = Rescaling(made, scaling.least, scaling.by_base)
    return found


def _made(
    scaling: Scaling, own: Mapping[str, str] | None, plain: Mapping[str, str], train: int, test: int,
    factor: Decimal | None,
) -> tuple[Mapping[str, object], Decimal]:  # fmt: skip
    """Return the parameters of a scaling, with what they leave out from the lengths."""
    times = CONTEXT.divide(Decimal(test), Decimal(train)) if factor is None else factor
    given: dict[str, object] = {**(plain if own is None else own), "scaling": scaling.name}
    if "factor" in scaling.options and (own is None or factor is not None):
        given = {key: value for key, value in given.items() if key not in scaling.factor_names} | {"factor": times}
    for option, parameter in scaling.options.items():
        if declared(parameter)[1].of_table:
            given[option] = test
    lengths = {"max-position": train, "original-max": train}
    given |= {option: lengths[option] for option in scaling.required if option in lengths and option not in given}
    missing = [option for option in scaling.required if option not in given]
    if missing:
        rule = f"needs the lists that were searched for a model: give a recipe with {' and '.join(sorted(missing))}"
        raise BadParameter("scaling", scaling.name, rule)
    named = next((given[name] for name in scaling.factor_names if name in given), times)
    return given, Decimal(parse_number("factor", named))
