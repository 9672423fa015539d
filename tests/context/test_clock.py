"""Windows from steps, the calendar, what is usual at an hour, and columns that wander."""

import numpy as np
import pytest

from oddatom.context.clock import DAY, HOUR, MINUTE, SECOND, default_window, duration_words, hour_of_day, weekday
from oddatom.context.usual_hours import learn_usual_hours
from oddatom.context.wander import take_back, wander_limits


def hours_from(date, n):
    return np.datetime64(date, "us").astype(np.int64) + HOUR * np.arange(n)


@pytest.mark.parametrize(
    ("step", "window"),
    [(SECOND, 60), (MINUTE, 60), (15 * MINUTE, 96), (HOUR, 24), (DAY, 30), (7 * DAY, 52), (10 * MINUTE, 48), (0.0, 48)],
)
def test_a_window_is_a_natural_cycle_of_rows(step, window):
    assert default_window(step, 10_000, True) == window
    assert default_window(step, 100, True) == 10
    assert default_window(step, 5, True) == 3
    assert default_window(step, 10_000, False) == 48


def test_the_calendar():
    times = hours_from("2024-02-29T23", 3)  # a Thursday
    assert hour_of_day(times).tolist() == [23, 0, 1]
    assert weekday(times).tolist() == [3, 4, 4]
    assert weekday(np.array([-1.0, 0.0])).tolist() == [2, 3]  # 1969 ended on a Wednesday


def test_durations_in_words():
    assert duration_words(SECOND) == "1 second"
    assert duration_words(300 * SECOND) == "5 minutes"
    assert duration_words(0.25 * SECOND) == "0.25 seconds"


def test_what_is_usual_at_an_hour_and_on_a_weekday():
    rng = np.random.RandomState(0)
    times = hours_from("2024-01-01", 24 * 60)
    noon, sunday = hour_of_day(times) == 12, weekday(times) == 6
    x = rng.randn(times.size) + 50.0 * (noon & ~sunday)
    found = learn_usual_hours(np.column_stack([x, rng.randn(times.size)]), times, HOUR)
    assert found.name == "hour and weekday"
    assert found.places.tolist() == [0]  # the clock says nothing of noise
    usual = found.deviations(np.full((2, 2), 50.0), hours_from("2024-03-04T11", 2))  # a Monday, eleven and twelve
    assert usual[0, 0] > 20.0
    assert abs(usual[1, 0]) < 5.0
    on_sunday = found.deviations(np.full((1, 2), 50.0), hours_from("2024-03-10T12", 1))
    assert on_sunday[0, 0] > 5.0


def test_quiet_hours_have_a_scale_of_their_own():
    rng = np.random.RandomState(1)
    times = hours_from("2024-01-01", 24 * 20)
    night = hour_of_day(times) < 6
    x = np.where(night, 0.1, 10.0) * rng.randn(times.size)
    found = learn_usual_hours(x[:, None], times, HOUR)
    assert found.name == "hour"
    at = found.deviations(np.array([[5.0], [5.0]]), np.array([times[3], times[12]]))[:, 0]
    assert abs(at[0]) > 3.0 * abs(at[1])


@pytest.mark.parametrize(("n", "step"), [(24 * 2, HOUR), (100, DAY / 2 + 1)])
def test_too_short_a_time_says_nothing_of_hours(n, step):
    times = step * np.arange(n)
    found = learn_usual_hours(np.sin(2 * np.pi * times / DAY)[:, None], times, step)
    assert found is None or not found.hours


def test_a_column_that_wanders_counts_less_beyond_what_training_has_seen():
    rng = np.random.RandomState(0)
    numbers = np.column_stack([np.cumsum(rng.randn(1000)), rng.randn(1000)])
    limits = wander_limits(numbers, 0.25)
    assert limits[:2, 0].tolist() == [numbers[:, 0].min(), numbers[:, 0].max()]
    assert limits[2:, 0].tolist() == pytest.approx(np.quantile(numbers[:, 0], [0.25, 0.75]))
    assert np.isnan(limits[:, 1]).all()
    assert np.array_equal(take_back(numbers, limits), numbers)
    beyond = np.array([[limits[1, 0] + 20.0, 1e6], [limits[0, 0] - 20.0, 0.0], [np.nan, np.nan]])
    back = take_back(beyond, limits)
    assert back[:2].tolist() == pytest.approx(np.array([[limits[3, 0] + 1.0, 1e6], [limits[2, 0] - 1.0, 0.0]]))
    assert np.isnan(back[2]).all()
    flat = take_back(np.vstack([numbers, beyond]), wander_limits(numbers, 0.5))
    assert np.unique(flat[:-1, 0]).tolist() == [pytest.approx(np.median(numbers[:, 0]))]
    assert np.isnan(flat[-1, 0])


def test_few_rows_show_no_wandering():
    assert np.isnan(wander_limits(np.arange(50.0)[:, None], 0.02)).all()
