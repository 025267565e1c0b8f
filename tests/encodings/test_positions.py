"""Positions are exact: ranges, lists, files, and what lies outside."""

import io
import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from pecli import Positions
from pecli.errors import BadFile, BadParameter
from pecli.numbers.positions import fraction_text, parse_shard


def test_a_decimal_is_what_it_writes():
    tenths = Positions.arange(4, Decimal(0), Decimal("0.1"))
    assert list(tenths) == [Fraction(0), Fraction(1, 10), Fraction(2, 10), Fraction(3, 10)]
    assert tenths.numbers(0, 4).tolist() == [0.0, 0.1, 0.2, 0.3]


def test_whole_positions_are_int64_and_fractional_ones_float64():
    assert Positions.arange(3, 5).numbers(0, 3).dtype == np.int64
    assert Positions.arange(3, 0, Decimal("0.5")).numbers(0, 3).dtype == np.float64


def test_a_list_of_tiny_and_huge_positions_stays_exact():
    exact = [Fraction(0.1), Fraction(2**52 + 1), Fraction(-3), Fraction(1e-300)]
    positions = Positions.listed(np.array([0.1, 2**52 + 1, -3, 1e-300]))
    assert list(positions) == exact
    assert positions.numbers(0, 4).tolist() == [0.1, 2**52 + 1, -3.0, 1e-300]
    assert list(positions.part(1, 3)) == exact[1:3]


def test_a_list_as_text_takes_commas_or_plus_signs():
    assert list(Positions.parse("0,5,9.5")) == list(Positions.parse("0+5+9.5")) == [0, 5, Fraction(19, 2)]


def test_a_file_of_positions_is_text_or_npy(tmp_path):
    (tmp_path / "p.txt").write_text("0\n0.1\n-7\n")
    np.save(tmp_path / "p.npy", np.array([0.1]))
    assert list(Positions.parse(f"@{tmp_path}/p.txt")) == [0, Fraction(1, 10), -7]
    assert list(Positions.parse(f"@{tmp_path}/p.npy")) == [Fraction(0.1)]  # the binary value


@pytest.mark.parametrize(("text", "says"), [("", "is empty"), ("1\nx\n", "item 2 is 'x'"), ("nan", "item 1 is 'nan'")])
def test_a_file_that_holds_no_positions_is_refused(tmp_path, text, says):
    (tmp_path / "p.txt").write_text(text)
    with pytest.raises(BadFile, match=says):
        Positions.parse(f"@{tmp_path}/p.txt")


def test_an_npy_with_objects_is_never_unpickled(tmp_path):
    np.save(tmp_path / "p.npy", np.array([object()]), allow_pickle=True)
    with pytest.raises(BadFile, match="never unpickled"):
        Positions.parse(f"@{tmp_path}/p.npy")


@pytest.mark.parametrize(
    ("count", "start", "step", "says"),
    [
        (0, 0, 1, "len=0 must be at least 1"),
        (-5, 0, 1, "len=-5 must be at least 1"),
        (3, 0, 0, "step=0 must not be 0"),
        (1, 2**53, 1, "below 2\\^53"),
        (2, 2**53 - 1, 1, "reaches beyond 2\\^53"),
        (10**17, 0, 1, "reaches beyond 2\\^53"),
        (2, Decimal(2**52), Decimal("0.00001"), "too many decimals"),
    ],
)
def test_a_range_outside_what_is_exact_is_refused(count, start, step, says):
    with pytest.raises(BadParameter, match=says):
        Positions.arange(count, start, step)


def test_the_largest_positions_are_allowed():
    assert Positions.arange(2, 2**53 - 2).numbers(0, 2).tolist() == [2**53 - 2, 2**53 - 1]
    assert Positions.arange(2, -(2**53) + 1).lowest == -(2**53) + 1


def test_parts_of_a_shard_join_to_the_whole():
    bounds = [parse_shard(f"{k}/7", 100) for k in range(7)]
    assert bounds[0][0] == 0
    assert bounds[-1][1] == 100
    assert all(a[1] == b[0] for a, b in itertools.pairwise(bounds))


@pytest.mark.parametrize("text", ["7/7", "-1/7", "1", "a/b", "1/0", "", "1/2/3", "2/200"])
def test_a_shard_that_is_no_part_is_refused(text):
    with pytest.raises(BadParameter, match="shard"):
        parse_shard(text, 100)


@pytest.mark.parametrize("text", ["0", "-12", "0.1", "-1.25e-4", "123456789.5", "9007199254740991"])
def test_the_text_of_a_position_is_its_shortest(text):
    assert fraction_text(Fraction(text)) == text


def test_a_file_of_positions_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "positions.txt"
    path.write_bytes(b"\xef\xbb\xbf3\n0.5\n")
    assert list(Positions.parse(f"@{path}")) == [3, Fraction(1, 2)]


def test_positions_are_written_in_ascii_digits_without_underscores():
    for text in ("\u0663", "1_000", "1,\uff18"):
        with pytest.raises(BadParameter, match="must be a finite number"):
            Positions.parse(text)


def test_a_bad_item_of_standard_input_is_named_so(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"1 2x")))
    with pytest.raises(BadFile, match=r"^standard input: item 2 is '2x', which is no finite number"):
        Positions.parse("@-")


@pytest.mark.parametrize("value", [math.nan, math.inf, np.float32(-np.inf), None, np.uint64(2**64 - 1), 2**53])
def test_what_is_no_position_is_refused_in_a_list_too(value):
    with pytest.raises(BadParameter, match="positions"):
        Positions.listed(np.array([1, value]) if isinstance(value, np.uint64) else [1, value])
    with pytest.raises(BadParameter, match="positions"):
        Positions.listed(np.array([value]))


def test_unsigned_positions_are_taken():
    assert list(Positions.listed(np.array([3, 2**53 - 1], np.uint64))) == [3, 2**53 - 1]
