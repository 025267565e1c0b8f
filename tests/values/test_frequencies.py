"""Frequencies of rotary tables, against mpmath."""

from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from pecli.errors import BadFile, BadParameter, BadRecipe
from pecli.numbers.decimals import PI, geometric, power
from pecli.spec.recipe import Recipe

mpmath.mp.dps = 130  # for the cases that are computed where they are listed
M = mpmath.mpf


@pytest.fixture(autouse=True)
def _precision():
    with mpmath.workdps(130):
        yield


def real(value):
    return M(str(value))


def worst(found, wanted):
    """Largest relative error of decimals."""
    assert len(found) == len(wanted)
    return max(abs(real(a) - b) / abs(b) if b else abs(real(a)) for a, b in zip(found, wanted, strict=True))


def plan(text, **more):
    return Recipe.parse(text).plan


def series(base, d, count=None):
    return [M(base) ** (-M(2 * i) / d) for i in range((d + 1) // 2 if count is None else count)]


def test_pi_has_all_its_digits():
    with mpmath.workdps(200):
        assert abs(M(str(PI)) - mpmath.pi) < M(10) ** -150


@pytest.mark.parametrize("base", ["10000", "500000", "1e-6", "1e30", "1.0000001", "0.5", "1"])
@pytest.mark.parametrize("d", [2, 7, 128, 4096])
def test_a_geometric_series_has_105_correct_digits(base, d):
    found = geometric(Decimal(base), Fraction(2, d), (d + 1) // 2)
    assert worst(found, series(base, d)) < M(10) ** -105


def test_a_power_that_is_a_short_decimal_is_exact():
    assert geometric(Decimal(10000), Fraction(1, 4), 4) == (1, Decimal("0.1"), Decimal("0.01"), Decimal("0.001"))
    assert power(Decimal(16), Fraction(-1, 2)) == Decimal("0.25")


def test_an_odd_rotary_width_gives_one_pair_more():
    assert worst(plan("rope:dim=64,rotary-dim=21").frequencies, series(10000, 21)) < M(10) ** -100
    assert len(plan("rope:dim=64,partial=0.33").frequencies) == 11


def test_linear_divides_every_frequency():
    found = plan("rope:dim=64,scaling=linear,factor=2.5").frequencies
    assert worst(found, [w / M("2.5") for w in series(10000, 64)]) < M(10) ** -100


@pytest.mark.parametrize("given", ["factor=8", "alpha=8"])
def test_ntk_raises_the_base_once(given):
    found = plan(f"rope:dim=64,scaling=ntk,{given}").frequencies
    assert worst(found, series(10000 * M(8) ** (M(64) / 62), 64)) < M(10) ** -100


@pytest.mark.parametrize(("length", "growth"), [(100, 1), (4096, 1), (8192, 3), (6000, M(2) * 6000 / 4096 - 1)])
def test_dynamic_raises_the_base_with_the_length(length, growth):
    found = plan(f"rope:dim=64,scaling=dynamic,factor=2,max-position=4096,seq-len={length}").frequencies
    assert worst(found, series(10000 * M(growth) ** (M(64) / 62), 64)) < M(10) ** -100


def yarn(d, base, factor, original, fast=32, slow=1, truncate=True, rotations=False):
    """YaRN by hand: the authors' ramp over indices, or the paper's over rotations."""
    w = series(base, d)

    def index(beta):
        return d * mpmath.log(M(original) / (2 * mpmath.pi * beta)) / (2 * mpmath.log(M(base)))

    low, high = index(fast), index(slow)
    if truncate:
        low, high = mpmath.floor(low), mpmath.ceil(high)
    low, high = max(low, M(0)), min(high, M(d - 1))
    if low == high:
        high += M("0.001")
    shares = [(i - low) / (high - low) for i in range(d // 2)]
    if rotations:
        shares = [1 - (original * x / (2 * mpmath.pi) - slow) / (M(fast) - slow) for x in w]
    shares = [min(max(s, M(0)), M(1)) for s in shares]
    return [x * (1 - s) + x / factor * s for x, s in zip(w, shares, strict=True)]


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ("", {}),
        (",truncate=no", {"truncate": False}),
        (",ramp=rotations", {"rotations": True}),
        (",beta-fast=16,beta-slow=2,truncate=no", {"fast": 16, "slow": 2, "truncate": False}),
        (",beta-fast=4,beta-slow=4,truncate=no", {"fast": 4, "slow": 4, "truncate": False}),
    ],
)
@pytest.mark.parametrize("original", [16, 512, 4096, 10**7])
def test_yarn_blends_by_its_ramp(more, options, original):
    text = f"rope:dim=64,base=500000,scaling=yarn,factor=8,original-max={original}{more}"
    assert worst(plan(text).frequencies, yarn(64, 500000, 8, original, **options)) < M(10) ** -100
    by_parts = plan(text.replace("=yarn", "=ntk-by-parts"))
    assert by_parts.frequencies == plan(text).frequencies
    assert by_parts.magnitude == 1


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ("", M("0.1") * mpmath.log(40) + 1),
        (",mscale=1,mscale-all-dim=1", M(1)),
        (",mscale=0.707", M("0.1") * M("0.707") * mpmath.log(40) + 1),
        (",mscale=1,mscale-all-dim=0.5", (M("0.1") * mpmath.log(40) + 1) / (M("0.05") * mpmath.log(40) + 1)),
        (",coefficient=0.07", M("0.07") * mpmath.log(40) + 1),
        (",attention-factor=1.25", M("1.25")),
        (",attention-factor=0", M(0)),
    ],
)
def test_yarn_has_one_magnitude(more, wanted):
    found = plan(f"rope:dim=64,scaling=yarn,factor=40,original-max=4096{more}").magnitude
    assert abs(real(found) - wanted) < M(10) ** -100


def test_yarn_of_a_factor_of_at_most_one_has_no_magnitude():
    assert plan("rope:dim=64,scaling=yarn,factor=0.5,original-max=4096").magnitude == 1


SHORT = "+".join(f"1.{i:02d}" for i in range(8))
LONG = "+".join(str(1 + i / 2) for i in range(8))


@pytest.mark.parametrize(("length", "stretch"), [(1024, SHORT), (1025, LONG)])
def test_longrope_takes_its_long_list_beyond_the_original_length(length, stretch):
    text = f"rope:dim=16,scaling=longrope,short-factor={SHORT},long-factor={LONG},original-max=1024,max-position=4096"
    found = plan(f"{text},seq-len={length}")
    wanted = [w / M(s) for w, s in zip(series(10000, 16), stretch.split("+"), strict=True)]
    assert worst(found.frequencies, wanted) < M(10) ** -100
    assert abs(real(found.magnitude) - mpmath.sqrt(1 + mpmath.log(4) / mpmath.log(1024))) < M(10) ** -100


@pytest.mark.parametrize(
    ("more", "length", "wanted"),
    [
        ("factor=0.5", 1, 1),
        ("attention-factor=1.25", 1, M("1.25")),
        ("short-mscale=1.1,long-mscale=1.2", 2000, M("1.2")),
    ],
)
def test_longrope_has_a_magnitude_by_factor_or_as_given(more, length, wanted):
    lists = f"short-factor={SHORT},long-factor={LONG},original-max=1024"
    text = f"rope:dim=16,scaling=longrope,{lists},{more},seq-len={length}"
    assert abs(real(plan(text).magnitude) - wanted) < M(10) ** -100


def llama3(d, base, factor, original, low, high):
    found = []
    for w in series(base, d):
        length = 2 * mpmath.pi / w
        if length > M(original) / low:
            found.append(w / factor)
        elif length < M(original) / high:
            found.append(w)
        else:
            s = (M(original) / length - low) / (M(high) - low)
            found.append((1 - s) * w / factor + s * w)
    return found


@pytest.mark.parametrize(("low", "high"), [(1, 4), (4, 4), (4, 1), (0.125, 0.5)])
def test_llama3_scales_by_wavelength(low, high):
    more = f"low-freq-factor={low},high-freq-factor={high}"
    found = plan(f"rope:dim=128,base=500000,scaling=llama3,factor=8,original-max=8192,{more}").frequencies
    assert worst(found, llama3(128, 500000, 8, 8192, M(low), M(high))) < M(10) ** -100


def test_proportional_turns_a_part_by_exponents_of_the_whole():
    found = plan("rope:dim=64,scaling=proportional,partial=0.3,factor=2").frequencies
    assert worst(found, [w / 2 for w in series(10000, 64, 9)] + [M(0)] * 23) < M(10) ** -100


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rope:dim=73", "dim=73 must be even"),
        ("rope:dim=64,rotary-dim=128", "rotary-dim=128 must be at most dim=64"),
        ("rope:dim=64,partial=0.001", "leaves no column"),
        ("rope:dim=2,scaling=ntk,factor=2", "must be above 2"),
        ("rope:dim=2,scaling=dynamic,factor=2,max-position=4,seq-len=9", "must be above 2"),
        ("rope:dim=64,scaling=linear", "scaling=linear needs factor="),
        ("rope:dim=64,scaling=linear,factor=0", "factor=0 must be above 0"),
        ("rope:dim=64,factor=2", "has no effect with scaling=none"),
        ("rope:dim=64,scaling=yarn,factor=8", "scaling=yarn needs original-max="),
        ("rope:dim=64,rotary-dim=21,scaling=yarn,factor=8,original-max=9", "must be even for yarn"),
        ("rope:dim=64,base=1,scaling=yarn,factor=8,original-max=9", "must not be 1 for yarn"),
        ("rope:dim=64,scaling=yarn,factor=8,original-max=9,attention-factor=1,mscale=1", "excludes mscale="),
        ("rope:dim=64,scaling=ntk,factor=2,alpha=2", "alpha=2 says again what factor= says"),
        ("rope:dim=64,base=1e31", "base=1e31 must be from 1e-6 to 1e30"),
        (
            "rope:dim=64,scaling=longrope,short-factor=1+2,long-factor=1+2,original-max=9,factor=2,seq-len=1",
            "short-factor=2 numbers must be 32 numbers, one for each pair of the rotary width 64",
        ),
    ],
)
def test_a_wrong_parameter_is_refused_with_the_values_it_concerns(text, says):
    with pytest.raises((BadParameter, BadRecipe)) as caught:
        Recipe.parse(text)
    assert says in str(caught.value)


def test_frequencies_come_from_a_text_file_as_written(tmp_path):
    file = tmp_path / "freqs.txt"
    file.write_text("1, 0.1\n0.010000000000000000000000000000001  # a comment\n")
    recipe = Recipe.bind("rope", dim=6, frequencies=str(file))
    assert recipe.plan.frequencies == (Decimal(1), Decimal("0.1"), Decimal("0.010000000000000000000000000000001"))
    assert Recipe.parse(str(recipe)) == recipe


def test_frequencies_come_from_json_and_npy_exactly(tmp_path):
    values = np.array([1, 0.1, 0.01], np.float32)
    np.save(tmp_path / "freqs.npy", values)
    (tmp_path / "freqs.json").write_text("[1, 0.1, 1e-2]")
    npy = Recipe.bind("rope", dim=6, frequencies=str(tmp_path / "freqs.npy")).plan.frequencies
    text = Recipe.bind("rope", dim=6, frequencies=str(tmp_path / "freqs.json")).plan.frequencies
    assert npy == tuple(Decimal(float(v)) for v in values)
    assert text == (Decimal(1), Decimal("0.1"), Decimal("0.01"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"),
        ("# 1\n", "no numbers"),
        ("1\ntwo\n", "item 2 is 'two', which is no finite number"),
        ('{"a": 1}', "no list"),
        ("[1, nan", "not JSON"),
    ],
)
def test_a_file_that_is_no_vector_is_refused(tmp_path, content, says):
    file = tmp_path / "freqs.txt"
    file.write_text(content)
    with pytest.raises((BadFile, BadParameter)) as caught:
        Recipe.bind("rope", dim=6, frequencies=str(file))
    assert says in str(caught.value)


def test_given_frequencies_exclude_what_would_compute_them():
    with pytest.raises((BadParameter, BadRecipe), match="has no effect"):
        Recipe.parse("rope:dim=4,frequencies=1+0.5,base=500")
    with pytest.raises(BadParameter, match="too many for dim=2"):
        Recipe.parse("rope:dim=2,frequencies=1+0.5")
