"""Vectors of frequencies, as checkpoints keep them: which rotations they are of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from pecli.declare.guess import Guess
from pecli.encodings.shared.angles import Rule, resting_keys, width_keys, widths
from pecli.measures.evidence import Evidence
from pecli.measures.spectra import LEVELS, SHORT, Measured, Spectrum
from pecli.measures.vectors import once
from pecli.numbers.positions import fraction_text
from pecli.numbers.shortest import as_decimal, decimal_exactly, digits

MOST = 16  # rules for a vector, of which few rounded numbers may leave many
NOTES = ("these are the frequencies of its pairs",)


def vectors(
    name: str,
    evidence: Evidence,
    rule: Rule,
    more: dict[str, str],
    *,
    cost: float = 0.0,
    fitted: Sequence[str] = (),
    accept: Callable[[Spectrum, bool], bool] = lambda *_: True,
) -> Iterator[Guess]:
    """Yield rotations of an encoding whose frequencies follow a rule.

    Parameters
    ----------
    name : str
        Of the encoding.
    evidence : Evidence
    rule : callable
        Of measured frequencies, what they may be.
    more : dict of str
        Further parameters.
    cost : float
        Of the encoding, in digits.
    fitted : sequence of str
        Parameters beside the base that may have a range.
    accept : callable
        Of what they may be, and whether some were left out, whether somebody may have chosen it.
    """
    for measured, spoiled in evidence.frequencies:
        pairs = round(measured.half)
        rest = resting_keys(len(measured.steps), pairs)
        for width in widths(name, pairs):
            given = Measured(measured.steps, measured.errors, width / 2)
            for spectrum in rules_of(given, rule, MOST, single=evidence.sample.grain == "float32"):
                factor = 1 / spectrum.step
                linear = {} if factor == 1 else {"scaling": "linear", "factor": fraction_text(factor)}
                scaled = [one for one in (linear, rest, spectrum.keys) if "scaling" in one]
                if len(scaled) > 1 or not decimal_exactly(factor) or digits(as_decimal(factor)) > SHORT:
                    continue
                if accept(spectrum, spoiled):
                    keys = {**width_keys(width), **spectrum.keys, **linear, **rest, **more}
                    free = ("base", *(key for key in fitted if key in keys))
                    notes = (*NOTES, *once(evidence.rows)[1]) if evidence.rows is not None else NOTES
                    total = spectrum.cost + cost + width % 2
                    yield Guess(name, keys, {"length": "1"}, total, notes=notes, free=free, vector=True)


def of_level(measured: Measured, rule: Rule, most: int, levels: Iterable[str] = LEVELS) -> list[Spectrum]:
    """Return the cheapest rules of the finest arithmetic that explains frequencies."""
    for level in levels:
        spectra = sorted(rule(measured.at(level)), key=lambda s: s.cost)
        if spectra:
            return spectra[:most]
    return []


def rules_of(measured: Measured, rule: Rule, most: int, *, single: bool) -> list[Spectrum]:
    """Return the same; of `single` values, whose powers may be off, those of fewer digits too, which are as good."""
    spectra = of_level(measured, rule, most)
    if single:
        spectra += of_level(measured, rule, most, ("float32",))
    return list({f"{one.step}{one.keys}": one for one in spectra}.values())
