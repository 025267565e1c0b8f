"""Old and new keys -> one dictionary of rope parameters for each kind of layer.

This follows transformers 5.23: ``modeling_rope_utils.RotaryEmbeddingConfigMixin``
and the overrides of ``convert_rope_params_to_dict`` and ``__post_init__`` in the
configuration classes.  A ``fold`` of families.txt names one of the functions here.
"""

from __future__ import annotations

from pecli.models.families import ModelFamily
from pecli.models.folding.common import Fold as Fold
from pecli.models.folding.common import Folded as Folded
from pecli.models.folding.common import Parameters as Parameters
from pecli.models.folding.many import flat, kept, pair
from pecli.models.folding.single import SINGLE
from pecli.models.keys import Keys, Notes

FOLDS: dict[str, Fold] = {"flat": flat, "pair": pair, "kept": kept}
"""The folds of many classes; those of single ones are in SINGLE."""


def fold(keys: Keys, family: ModelFamily, notes: Notes) -> Folded:
    """Return the rope parameters of a config, as the family folds them."""
    return (FOLDS | SINGLE)[family.option("fold", "flat")](keys, family, notes)
