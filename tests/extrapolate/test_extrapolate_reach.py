"""What biases, learned rows and plain values do beyond the training length."""

import dataclasses
import math
import re
import time
from decimal import Decimal

import pytest

from pecli import CATALOGUE, PecliError, Recipe
from pecli.extrapolate.coverage import cover
from pecli.extrapolate.report import RULES, extrapolate, reach_of, rules_of, stored_rows
from pecli.extrapolate.scalings import unscaled


def reach(text, train, test, **options):
    return extrapolate(text, Recipe.parse(text), train, test, **options)


def test_alibi_falls_and_reaches_as_far_as_its_slopes_say():
    found = reach("alibi:heads=8", 1024, 4096)
    assert found.verdict == "falls"
    # weight exp(-m D) >= 0.01 up to D = ln(100) / m = 4.605 * 2^h
    assert [h.window for h in found.bias.heads] == [9, 18, 36, 73, 147, 294, 589, 1178]
    assert [h.last for h in found.bias.heads] == [-4095 / 2**h for h in range(1, 9)]
    assert all((h.below, h.above, h.shared) == (1.0, 0.0, 1) for h in found.bias.heads)
    assert "its table need not grow" in found.finding


def test_every_form_of_alibi_says_the_same():
    plain = reach("alibi:heads=4", 100, 400).bias.heads
    for form in ("key-position", "last-key"):
        assert reach(f"alibi:heads=4,bias={form}", 100, 400).bias.heads == plain


def test_a_window_is_found_between_the_distances_of_a_sample():
    found = reach("alibi:heads=32,slopes=paper", 1 << 18, 1 << 20)
    assert found.bias.sampled
    assert found.bias.heads[31].window == 1178
    assert found.bias.heads[0].window == int(4.605170185988092 / 2**-0.25)


def test_t5_shares_one_bucket_from_its_last_boundary_on():
    found = reach("t5:heads=2,bidirectional=false", 1024, 100_000)
    assert found.verdict == "inside"
    assert (found.index.shared_from, found.index.shared) == (113, 99_887)
    assert (found.index.rows_trained, found.index.rows_test, found.index.new) == (32, 32, 0)
    both = reach("t5:heads=2,bidirectional=true", 1024, 4096)
    assert both.index.shared_from == 91


def test_t5_trained_on_few_distances_meets_new_buckets():
    found = reach("t5:heads=2,bidirectional=false", 20, 4096)
    assert found.verdict == "unseen"
    assert found.index.new == 32 - found.index.rows_trained
    assert found.index.rows_trained == 18  # 0 .. 15 each their own, 16 to 18 and 19 to 20 share


def test_integer_positions_leave_the_unit_range():
    found = reach("integer:dim=2", 101, 201)
    assert found.verdict == "unseen"
    assert found.values.trained == (0.0, 1.0)
    assert found.values.test == (1.01, 2.0)
    assert (found.values.columns, found.values.outside, found.values.first) == (2, 2, 101)


def test_binary_ends_with_its_last_bit_and_has_bits_never_set_in_training():
    assert reach("binary:dim=8", 100, 200).values.outside == 1  # 128 needs bit 7
    assert reach("binary:dim=8", 100, 200).values.first == 128
    ended = reach("binary:dim=8", 100, 300)
    assert ended.verdict == "ends"
    assert "position with a value is 255; positions 256 to 299 have none" in ended.finding


def test_a_column_that_leaves_its_range_is_named_with_the_range_it_had():
    found = reach("binary:dim=8", 16, 64)
    assert (found.values.column, found.values.trained, found.values.test) == (4, (0.0, 0.0), (0.0, 1.0))
    assert "column 4 at position 16: it had 0, and has 0 to 1 at the new positions" in found.finding


def test_buckets_are_counted_without_heads():
    found = reach("t5", 8, 16)
    assert (found.bias, found.index.rows_trained, found.index.rows_test) == (None, 8, 10)


def test_what_heads_make_their_bias_of_is_measured_without_heads():
    found = reach("fire", 8, 16)  # x = ln(c (i - j) + 1) / ln(c max(L, i) + 1), c = 0.1, L = 512
    assert found.bias.heads[0].last == pytest.approx(math.log(0.1 * 15 + 1) / math.log(0.1 * 512 + 1))
    assert found.verdict == "unseen"
    assert "the value shared by all heads" in found.finding


@pytest.mark.parametrize("text", ["nerf:bands=6", "bands:bands=4"])
def test_a_grid_that_is_not_given_has_as_many_points_as_training_had(text):
    found = reach(text, 64, 128)
    assert found.verdict == "fixed"
    assert "64 rows" in found.finding


def test_a_scaling_that_decides_which_pairs_turn_was_there_in_training():
    text = "rope:dim=16,scaling=proportional,partial=0.5"
    plain, scaled = reach(text, 64, 256), reach(text + ",factor=4", 64, 256)
    assert (plain.verdict, scaled.verdict) == ("unseen", "inside")
    # 4 pairs turn, by 10000^(-2i/16); the one that makes no whole turn in 64 positions is the last
    assert [p.index for p in plain.waves.pairs if p.outside] == [3]
    assert [p.trained for p in scaled.waves.pairs[4:]] == [0.0] * 4
    assert scaled.waves.pairs[3].frequency == pytest.approx(scaled.waves.pairs[3].trained / 4)


def test_learned_rows_end_or_were_never_trained():
    ended = reach("learned:dim=4", 512, 1024)
    assert ended.verdict == "ends"
    assert "511; positions 512 to 1023" in ended.finding
    assert "--extend" in ended.remedy
    assert reach("learned:dim=4,max-len=2048", 512, 1024).verdict == "untrained"


def test_trained_rows_of_a_file_end():
    found = stored_rows("pe.npy", 512, 600)
    assert (found.verdict, found.train) == ("ends", 512)
    assert "511; positions 512 to 599" in found.finding


def test_no_positions_have_nothing_to_run_out_of():
    assert reach("none:dim=8", 10, 20).verdict == "nothing"


MEASURED = {  # what may be found of examples trained on 4 positions (phases) or 512
    "phases": (4, {"unseen"}),
    "biases": (512, {"falls", "inside"}),
    "vectors": (512, {"inside"}),
    "values": (512, {"unseen", "ends"}),
    "rows": (512, {"ends", "untrained"}),
    "grid": (512, {"fixed"}),
    "content": (512, {"inside"}),
    "nothing": (512, {"nothing"}),
}


@pytest.mark.parametrize("name", CATALOGUE)
def test_what_is_declared_of_new_positions_is_what_is_measured(name):
    recipe = Recipe.parse(CATALOGUE[name].example)
    declared = reach_of(recipe)
    if declared.measured:  # the same must hold of what stands for it
        other = Recipe.parse(declared.measured)
        declared = reach_of(other)
    train, verdicts = MEASURED[declared.new]
    found = extrapolate(name, recipe, train, 8 * train)
    assert found.verdict in verdicts
    assert found.longer


def test_an_encoding_that_declares_nothing_of_new_positions_has_its_familys():
    recipe = Recipe.parse("rope:dim=4")
    silent = Recipe(dataclasses.replace(recipe.encoding, hooks={}), recipe.values)
    assert extrapolate("x", silent, 10, 20).verdict


def test_deberta_is_measured_as_its_index_is_used_cut_to_its_rows():
    found = reach("deberta:buckets=8,max-distance=16,dim=4", 512, 4096)
    assert (found.verdict, found.index.rows_test) == ("inside", 8)  # rows 8 + (0 .. 7) of 16
    assert found.recipe == str(Recipe.parse("deberta:buckets=8,max-distance=16,dim=4"))


def test_a_gated_table_reaches_as_far_as_the_one_that_is_gated():
    text = 'conditional:dim=8,content="learned:dim=3,max-len=512"'
    assert reach(text, 50, 100).verdict == reach("sinusoidal:dim=8", 50, 100).verdict == "unseen"
    assert reach(text + ",position=learned", 50, 100).verdict == "ends"


def test_a_grid_has_the_length_that_it_has():
    found = reach("sincos2d:dim=16,grid=4x4", 10, 30)
    assert found.verdict == "fixed"
    assert "16 rows" in found.finding


def test_a_scaling_counts_as_added_after_training_unless_it_was_trained():
    text = "rope:dim=64,scaling=linear,factor=4"
    assert reach(text, 100, 400).verdict == "inside"
    assert reach(text, 100, 400, tuned=True).verdict == "unseen"


def test_the_score_of_two_rotated_vectors_of_ones_is_the_mean_cosine():
    found = reach("rope:dim=4", 8, 16).waves
    from math import cos

    assert found.score.at(3) == pytest.approx((cos(3) + cos(0.03)) / 2, abs=1e-15)
    assert found.score.at(15) == pytest.approx((cos(15) + cos(0.15)) / 2, abs=1e-15)


def test_the_magnitude_squared_scales_the_score():
    text = "rope:dim=8,scaling=yarn,factor=4,original-max=10,attention-factor=1.5"
    assert reach(text, 10, 40).waves.score.at(0) == pytest.approx(2.25)


def test_the_rules_of_the_words_used_are_printed():
    found = [reach("alibi:heads=2", 10, 20), reach("rope:dim=8", 10, 20, scalings=("none", "linear"))]
    rules = rules_of(found)
    assert rules["falls"] == RULES["falls"]
    assert set(rules) == {"falls", "unseen", "phases", "kept", "blended", "interpolated"}


def test_a_test_length_within_the_training_is_refused():
    with pytest.raises(PecliError, match="test-len=100 must be above the training length 100"):
        reach("rope:dim=8", 100, 100)


def test_a_million_positions_take_less_than_a_second():
    started = time.perf_counter()
    reach(
        "rope:dim=128", 4096, 1_000_000, scalings=("none", "linear", "ntk", "dynamic", "ntk-by-parts", "yarn", "llama3")
    )
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize(
    ("recipe", "train", "test"),
    [
        ("rope:dim=16", 2048, 2049),
        ("rope:dim=16", 1000, 3001),
        ("sinusoidal:dim=64,base=500000", 4096, 32768),
        ("rope:dim=32,scaling=linear,factor=2", 1000, 3001),
    ],
)
def test_what_a_remedy_names_keeps_every_phase_inside(recipe, train, test):
    made = Recipe.parse(recipe)
    report = extrapolate(recipe, made, train, test)
    seen = unscaled(made).plan.frequencies
    factor = Decimal(re.search(r"frequencies by ([0-9.]+)", report.remedy)[1])
    slowed = cover([w / factor for w in made.plan.frequencies], train, test, seen)
    assert sum(pair.outside for pair in slowed) == 0
    base = re.search(r"a base of ([0-9.e+]+)", report.remedy)
    if base is not None:
        other = Recipe.bind(made.encoding.name, **{**made.keys(), "base": base[1]}).plan.frequencies
        assert sum(pair.outside for pair in cover(other, train, test, seen)) == 0


@pytest.mark.parametrize(
    ("recipe", "train", "test"), [("rope:dim=16,base=0.01", 3, 11), ("rope:dim=8,frequencies=6+3.5+0.1+0.01", 7, 100)]
)
def test_half_a_turn_a_position_and_more_has_no_remedy_that_is_known(recipe, train, test):
    report = extrapolate(recipe, Recipe.parse(recipe), train, test)
    assert report.verdict == "unseen"
    assert "keeps every phase inside" not in report.remedy
    assert report.waves.smallest_factor is None


def test_no_base_is_named_that_no_recipe_may_have():
    report = extrapolate("rope", Recipe.parse("rope:dim=32"), 7, 10**6)
    assert "dividing all frequencies" in report.remedy
    assert "base" not in report.remedy


def test_a_head_that_reaches_the_last_trained_key_gave_none_less():
    recipe = Recipe.parse("alibi:heads=1,slope-values=1")  # e^-4 is above 1 %, e^-5 below
    assert extrapolate("alibi", recipe, 5, 20).finding.startswith("0 of 1 heads")
    assert extrapolate("alibi", recipe, 6, 20).finding.startswith("1 of 1 heads")


def test_few_phases_outside_are_not_all_inside():
    report = extrapolate("rope", Recipe.parse("rope:dim=4096,base=600"), 3757, 7000)
    assert 0.9995 < report.waves.inside < 1
    assert "100.0 %" not in report.finding
