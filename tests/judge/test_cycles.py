"""Cyclic features of calendars, as spreadsheets and notebooks make them: what they are, and how two of them differ."""

from datetime import datetime, timedelta

import numpy as np
import pytest

START = datetime(2024, 1, 1)
HOURS = [START + timedelta(hours=k) for k in range(24 * 90)]
DAYS = [START + timedelta(days=k) for k in range(730)]
hour = np.array([one.hour for one in HOURS])
weekday = np.array([one.weekday() for one in HOURS])
month = np.array([one.month for one in HOURS])
day = np.array([one.timetuple().tm_yday for one in DAYS])
month_of_day = np.array([one.month for one in DAYS])


def features(angles, digits=8):
    """Return sines and cosines of angles by name, as columns."""
    return {f"{name}_{f.__name__}": f(x).round(digits) for name, x in angles.items() for f in (np.sin, np.cos)}


def write(path, columns, digits=8):
    """Write columns with their names."""
    lines = (",".join(f"{v:.{digits}f}" for v in row) for row in zip(*columns.values(), strict=True))
    with open(path, "w") as file:
        file.write("\n".join([",".join(columns), *lines, ""]))


def turns(values, period):
    """Return the angles of numbers."""
    return 2 * np.pi * values / period


CALENDAR = {"hour": turns(hour, 24), "dow": turns(weekday, 7), "month": turns(month, 12)}


@pytest.mark.parametrize(("other", "said"), [
    ({"hour": turns(hour, 23)}, "hour_sin and hour_cos: one turn takes 23 rows where 24 were expected"),
    ({"hour": turns(hour + 2, 24)}, "hour_sin and hour_cos: every angle is ahead by 2 rows (0.5236 radians)"),
    ({"hour": hour / 24}, "one turn takes 150.7964 rows where 24 were expected (the factor 2 pi is missing)"),
    ({"hour": 15.0 * hour}, "hour_sin and hour_cos: the angles are degrees that were taken for radians"),
    ({"hour": turns(hour, 48)}, "hour_sin and hour_cos: one turn takes 48 rows where 24 were expected"),
    ({"dow": turns(weekday, 6)}, "dow_sin and dow_cos: one turn takes 6 steps where 7 were expected"),
    ({"dow": turns((weekday + 1) % 7, 7)}, "dow_sin and dow_cos: every angle is ahead by 1 step (0.8976 radians)"),
    ({"month": turns(month - 1, 12)}, "month_sin and month_cos: every angle is behind by 1 step (0.5236 radians)"),
    ({"month": np.pi / 2 - turns(month, 12)}, "month_sin and month_cos: cosine and sine are exchanged"),
    ({"month": -turns(month, 12)}, "month_sin and month_cos: the sine has the other sign"),
])  # fmt: skip
@pytest.mark.parametrize("digits", [8, 4])
def test_one_feature_of_a_calendar_differs(ask, other, said, digits):
    write("mine.csv", features({**CALENDAR, **other}), digits)
    write("theirs.csv", features(CALENDAR), digits)
    ask("compare", "mine.csv", "theirs.csv").says(said if digits == 8 else said.partition("150")[0]).never(
        "inf", "rounded"
    )


@pytest.mark.parametrize(("other", "said"), [
    ({"day": turns(day, 366)}, "day_sin and day_cos: one turn takes 366 rows where 365 were expected"),
    ({"day": turns(day - 1, 365)}, "day_sin and day_cos: every angle is behind by 1 row (0.01721 radians)"),
    ({"month": turns(month_of_day, 11)}, "month_sin and month_cos: one turn takes 11 steps where 12 were expected"),
    ({"month": turns(month_of_day - 1, 11)}, "one turn takes 11 steps where 12 were expected"),
    ({"day": turns(day, 366), "month": turns(month_of_day, 13)}, "month_cos: one turn takes 13 steps where 12"),
])  # fmt: skip
def test_days_and_months_of_two_years_differ(ask, other, said):
    own = {"day": turns(day, 365), "month": turns(month_of_day, 12)}
    write("mine.csv", features({**own, **other}))
    write("theirs.csv", features(own))
    ask("compare", "mine.csv", "theirs.csv").says(said)


def test_what_cyclic_features_are_is_told(ask):
    write("calendar.csv", {"t": np.arange(len(hour)), **features(CALENDAR)})
    ask("identify", "calendar.csv").says(
        "cyclic features: hour_sin and hour_cos, one turn takes 24 rows", "dow_sin and dow_cos, one turn takes 7 steps",
        "month_sin and month_cos, one turn takes 12 steps",
    ).never("unknown", "deviation")  # fmt: skip


def test_a_period_of_few_digits_is_no_scaling(ask):
    write("year.csv", features({"day": turns(np.arange(365), 365.25)}), 4)
    ask("identify", "year.csv").says("cyclic features: day_sin and day_cos, one turn takes 365.25 rows").never(
        "rope", "sure"
    )


def test_features_in_one_array_without_names_differ(ask):
    columns = np.stack([*features(CALENDAR).values()], 1).astype("float32")
    wrong = np.stack([*features({**CALENDAR, "dow": turns(weekday, 6)}).values()], 1).astype("float32")
    np.save("theirs.npy", columns)
    np.save("mine.npy", wrong)
    ask("compare", "mine.npy", "theirs.npy").says("columns 2 and 3: one turn takes 6 steps where 7 were expected")


def test_longitudes_in_degrees_are_found_on_either_side_of_0(ask):
    degrees = np.random.default_rng(0).uniform(-180, 180, 800).round(3)
    write("mine.csv", features({"lon": degrees}))
    write("theirs.csv", features({"lon": np.radians(degrees)}))
    ask("compare", "mine.csv", "theirs.csv").says("lon_sin and lon_cos: the angles are degrees that were taken")


def test_channels_of_a_map_have_periods(ask):
    lat, lon = np.radians(np.arange(-90, 90.1, 2.5)), np.radians(np.arange(0, 360, 2.5))
    along = [np.broadcast_to(f(x), (73, 144)) for x in (lat[:, None], lon) for f in (np.sin, np.cos)]
    for name, axis in (("first.npy", 0), ("last.npy", 2)):
        np.save(name, np.stack(along, axis).astype("float32"))
        ask("identify", name).says(
            "cyclic features: channels 0 and 1, one turn takes 144 rows", "one turn takes 144 columns"
        )


def test_one_array_of_several_that_differs_is_named(ask):
    draw = np.random.default_rng(1).normal(size=(2, 20, 8))
    np.savez("theirs.npz", a=draw[0], b=draw[1])
    np.savez("mine.npz", a=draw[0], b=-draw[1])
    ask("compare", "mine.npz", "theirs.npz").says("different: b: the sign of all values is changed")


def test_rows_of_a_calendar_in_another_order_are_the_same_rows(ask):
    order = np.random.default_rng(0).permutation(len(hour))
    write("mine.csv", features({name: angles[order] for name, angles in CALENDAR.items()}))
    write("theirs.csv", features(CALENDAR))
    ask("compare", "mine.csv", "theirs.csv").says("different: the rows are the expected ones in another order")


def test_rows_of_an_hour_that_was_put_forward_are_ahead(ask):
    later = hour.copy()
    later[602:] = (later[602:] + 1) % 24
    write("mine.csv", features({**CALENDAR, "hour": turns(later, 24)}))
    write("theirs.csv", features(CALENDAR))
    ask("compare", "mine.csv", "theirs.csv").says("rows 602 to 2159: every angle is ahead by 1 row (0.2618 radians)")


def test_one_factor_of_all_pairs_is_said_once(ask):
    days = np.arange(730)
    for name, year in (("mine", 365), ("theirs", 365.25)):
        waves = [f(2 * np.pi * k * days / year) for k in range(1, 11) for f in (np.sin, np.cos)]
        write(f"{name}.csv", {f"yearly_delim_{k + 1}": wave for k, wave in enumerate(waves)})
    ask("compare", "mine.csv", "theirs.csv").says(
        "one turn takes 365 rows where 365.25 were expected; all 10 pairs turn 1.0007 times as fast"
    )


def test_float32_of_any_values_is_harmless(ask):
    columns = features(CALENDAR, 16)
    np.savez("theirs.npz", **columns)
    np.savez("mine.npz", **{name: values.astype("float32") for name, values in columns.items()})
    ask("compare", "mine.npz", "theirs.npz").says("harmless: the values were rounded to float32").never("quantised")
    np.save("theirs.npy", np.random.default_rng(0).normal(size=(100, 7)))
    np.save("mine.npy", np.load("theirs.npy").astype("float32"))
    ask("compare", "mine.npy", "theirs.npy").says("harmless: the values were rounded to float32", "--ulp 1")


def maps(times=1.0):
    """Return sines and cosines of latitudes and longitudes as maps."""
    lat, lon = np.arange(90, -90.1, -2.5)[:, None] * times, np.arange(0, 360, 2.5)[None] * times
    both = {"lat": lat, "lon": lon}
    shape = (lat.size, lon.size)
    return {
        f"{f.__name__}_{n}": np.broadcast_to(f(x), shape).astype("float32")
        for n, x in both.items()
        for f in (np.sin, np.cos)
    }


def test_maps_of_degrees_are_told(ask):
    np.savez("mine.npz", **maps())
    np.savez("theirs.npz", **maps(np.pi / 180))
    ask("compare", "mine.npz", "theirs.npz").says(
        "sin_lat and cos_lat: the angles are degrees that were taken", "sin_lon and cos_lon: the angles are degrees"
    )
    ask("identify", "theirs.npz").says(
        "cyclic features: sin_lat and cos_lat, one turn takes 144 rows", "one turn takes 144 columns"
    ).never("rope")


def test_coordinates_of_a_map_are_told(ask):
    x, y = np.meshgrid(np.linspace(-1, 1, 64), np.linspace(-1, 1, 48))
    np.save("coords.npy", np.stack([x, y]).astype("float32"))
    ask("identify", "coords.npy").says("channel 0 goes evenly from -1 to 1 along each row", "along each column")


def test_a_map_half_a_turn_away_is_told(ask):
    right = maps(np.pi / 180)
    np.savez("theirs.npz", **right)
    np.savez("mine.npz", **{name: -values if "lon" in name else values for name, values in right.items()})
    ask("compare", "mine.npz", "theirs.npz").says("sin_lon and cos_lon: cosine and sine have the other sign").never(
        "rope"
    )


def test_two_angles_show_no_factor(ask):
    want = np.r_[np.zeros(49), 1]
    write("mine.csv", features({"a": 1.5 * want}))
    write("theirs.csv", features({"a": want}))
    ask("compare", "mine.csv", "theirs.csv").says("a_sin[49] is").never("degrees", "times")


def test_scattered_hours_that_are_off_were_not_rounded(ask):
    later = np.where(np.arange(len(hour)) % 7 == 3, hour + 1, hour)
    write("mine.csv", features({**CALENDAR, "hour": turns(later, 24)}))
    write("theirs.csv", features(CALENDAR))
    ask("compare", "mine.csv", "theirs.csv").says("unevenly").never("were rounded")


def test_exchanged_columns_beside_days_that_are_counted_from_1_are_told(ask):
    days = np.arange(365) % 7
    turns = 2 * np.pi * (days + 1) / 7
    np.save("t.npy", np.stack([np.cos(turns), np.sin(turns)], axis=1).astype("float32"))
    answer = ask("compare", "t.npy", "sinusoidal:dim=2,scale=0.8975979010256552,len=365").ends(1)
    answer.says("different: cosine and sine are exchanged", "every angle is ahead by 1 row").never("other way")
    np.save("r.npy", np.stack([np.sin(turns), np.cos(turns)], axis=1).astype("float32")[1:][::-1])
    answer = ask("compare", "r.npy", "sinusoidal:dim=2,scale=0.8975979010256552,len=364").ends(1)
    answer.says("the other way|reversed").never("exchanged")
