"""ALiBi: slopes of the frameworks, the forms of its bias, masks, and Falcon's arithmetic."""

import numpy as np
import pytest

from pecli import Recipe, Table
from pecli.errors import BadParameter
from pecli.numbers.rounding import widen
from tests.support.golden_cases import cases, values

BLOOM = cases("relations")["alibi__bloom"]["heads"]
FALCON = cases("relations")["alibi__falcon"]["heads"]
GOLDEN = values("relations")


def read(recipe, name="bias", **options):
    table = Table.parse(recipe, **options)
    found = table.read(name)
    return widen(found, "bfloat16") if table.array(name).dtype == "bfloat16" else found


@pytest.mark.parametrize("heads", BLOOM)
def test_slopes_are_those_of_the_frameworks_to_the_last_bit_of_float64(heads):
    found = read(f"alibi:heads={heads},form=slopes,dtype=float64", "slopes", length=1)
    np.testing.assert_array_equal(found, GOLDEN[f"alibi__bloom/{heads}/true"])


@pytest.mark.parametrize("heads", BLOOM)
def test_float32_arithmetic_gives_blooms_own_slopes(heads):
    found = read(f"alibi:heads={heads},form=slopes,arithmetic=float32", "slopes", length=1)
    theirs = GOLDEN[f"alibi__bloom/{heads}/float32"]
    assert (np.abs(found - theirs) <= np.spacing(theirs)).all()  # torch's power is not correctly rounded
    assert (found != theirs).sum() <= max(1, len(theirs) // 50)


@pytest.mark.parametrize("heads", FALCON)
def test_falcon_rounds_its_slopes_to_bfloat16(heads):
    for recipe in (f"alibi:heads={heads},convention=falcon", f"alibi:heads={heads},slope-dtype=bfloat16"):
        found = read(recipe, "slopes", form="slopes", length=1)
        np.testing.assert_array_equal(found, GOLDEN[f"alibi__falcon/{heads}/slopes"])


@pytest.mark.parametrize("heads", cases("relations")["alibi__falcon"]["biases"])
def test_falcons_bias_is_a_row_of_rounded_products(heads):
    found = read(f"alibi:heads={heads},convention=falcon", queries=1, keys=6)
    np.testing.assert_array_equal(found[:, 0], GOLDEN[f"alibi__falcon/{heads}/bias"])


def test_falcons_positions_lie_on_bfloat16s_grid_too():
    row = read("alibi:heads=1,convention=falcon", queries=1, keys=4096)[0, 0]
    assert len(np.unique(row)) == 769
    exact = read("alibi:heads=1,bias=key-position", queries=1, keys=4096)[0, 0]
    assert np.abs(row - exact).max() == 8 * 2.0**-8


def test_blooms_bias_is_the_slope_times_the_key():
    found = read("alibi:heads=8,convention=bloom", queries=1, keys=6)
    np.testing.assert_array_equal(found[:, 0], GOLDEN["alibi__bloom/bias"])
    padded = Table.make(Recipe.parse("alibi:heads=8,convention=bloom"), positions="0,0,0,1,2,3", queries=1).read("bias")
    np.testing.assert_array_equal(padded[:, 0], GOLDEN["alibi__bloom/leftpad2"])


def test_mpt_counts_back_from_the_last_key():
    np.testing.assert_array_equal(read("alibi:heads=1,convention=mpt", queries=1, keys=4)[0, 0] * 256, [-3, -2, -1, 0])


def test_the_papers_rule_differs_unless_the_heads_are_a_power_of_two():
    three = read("alibi:heads=3,slopes=paper,form=slopes,dtype=float64", "slopes", length=1)
    np.testing.assert_array_equal(three, [0.15749013123685915, 0.02480314143700312, 2**-8])
    eight = [read(f"alibi:heads=8,slopes={rule},form=slopes", "slopes", length=1) for rule in ("paper", "frameworks")]
    np.testing.assert_array_equal(*eight)


def test_slopes_fall_to_the_power_that_is_asked_for():
    np.testing.assert_array_equal(
        read("alibi:heads=4,bias-max=4,form=slopes", "slopes", length=1), [0.5, 0.25, 0.125, 0.0625]
    )


def test_given_slopes_are_used_and_heads_beyond_them_have_none():
    found = read("alibi:heads=3,alibi-heads=2,slope-values=1+0.1,form=slopes,dtype=float64", "slopes", length=1)
    np.testing.assert_array_equal(found, [1, 0.1, 0])
    assert not read("alibi:heads=3,alibi-heads=2", length=4)[2].any()


def test_the_mask_hides_later_keys_in_every_form():
    for bias in ("symmetric", "key-position", "last-key"):
        plain, masked = (read(f"alibi:heads=2,bias={bias},mask={mask}", length=6) for mask in ("none", "causal"))
        later = np.triu(np.ones((6, 6), bool), 1)
        assert (masked[:, later] == -np.inf).all()
        np.testing.assert_array_equal(masked[:, ~later], plain[:, ~later])
    assert read("alibi:heads=1,mask=causal,form=distance", length=3)[0].tolist() == [
        -2 / 256,
        -1 / 256,
        0,
        -np.inf,
        -np.inf,
    ]


def test_products_are_rounded_once():
    # slope 2^-0.5 times 12345678 in float32: both factors exact, one rounding
    found = read("alibi:heads=16,bias=key-position", positions="12345678")[0, 0, 0]
    assert found == 8729713.0  # 12345678 / sqrt 2 = 8729712.6..


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        ("alibi:heads=2,alibi-heads=3", "alibi-heads=3 must be at most heads=2"),
        ("alibi:heads=3,slope-values=1+2", r"slope-values=\(2 slopes\) must be 3"),
        ("alibi:heads=0", "heads=0 must be from 1 to 4096"),
    ],
)
def test_what_does_not_fit_is_said_with_both_values(recipe, says):
    with pytest.raises(BadParameter, match=says):
        Recipe.parse(recipe)
