"""Rows in order: series, ties, repeats and gaps, and the last rows of before."""

import numpy as np

from oddatom.context.following import Scored, count_episodes, first_of_episodes
from oddatom.context.ordered import LastRows, put_in_order
from oddatom.estimators._feedback import keys_of


def zeros(n):
    return np.zeros(n, np.int64)


def put(series, times, numbers, before=None, **options):
    """Put rows in order, with a hash of each."""
    return put_in_order(series, times, numbers, keys_of(numbers), before, **options)


def test_rows_are_put_in_the_order_of_series_and_times():
    series, times = np.array([1, 0, 1, 0]), np.array([5.0, 9.0, 2.0, 1.0])
    ordered = put(series, times, np.arange(4.0)[:, None])
    assert ordered.encoded[:, 0].tolist() == [3.0, 1.0, 2.0, 0.0]
    assert ordered.place.tolist() == [3, 1, 2, 0]
    assert ordered.start.tolist() == [0, 0, 2, 2]


def test_rows_of_one_time_do_not_see_each_other_in_any_order():
    times, numbers = np.array([0.0, 1.0, 1.0, 2.0]), np.array([[1.0], [7.0], [3.0], [4.0]])
    ordered = put(zeros(4), times, numbers)
    assert ordered.first.tolist() == [0, 1, 1, 3]
    turned = put(zeros(4), times[::-1], numbers[::-1])
    assert np.array_equal(turned.encoded, ordered.encoded)
    assert np.array_equal(turned.place[::-1], ordered.place)


def test_a_row_that_is_there_twice_counts_once():
    times, numbers = np.array([0.0, 1.0, 1.0, 1.0]), np.array([[1.0], [np.nan], [np.nan], [3.0]])
    ordered = put(zeros(4), times, numbers)
    assert ordered.times.size == 3
    assert ordered.place[1] == ordered.place[2] != ordered.place[3]


def test_a_long_step_starts_anew():
    ordered = put(zeros(4), np.array([0.0, 1.0, 12.0, 13.0]), np.zeros((4, 1)), gap=10.0)
    assert ordered.start.tolist() == [0, 0, 2, 2]


def test_the_last_rows_come_first_and_a_repeated_one_is_found_among_them():
    rows = np.array([[1.0], [2.0]])
    last = LastRows(zeros(2), np.array([1.0, 2.0]), rows, keys_of(rows), np.zeros(2))
    ordered = put(zeros(2), np.array([3.0, 2.0]), np.array([[3.0], [2.0]]), last)
    assert ordered.times.tolist() == [1.0, 2.0, 3.0]
    assert ordered.before.tolist() == [0, 1]
    assert ordered.place.tolist() == [2, 1]


def scored(cause, window, scores):
    return Scored(scores, np.zeros(50, np.int64), cause, np.zeros(50), window)


def test_of_an_episode_the_row_that_it_is_due_to_is_listed():
    scores = np.zeros(50)
    scores[[10, 11, 12, 40]] = [-5.0, -9.0, -8.0, -6.0]
    ordered = put(zeros(50), np.arange(50.0), np.arange(50.0)[:, None])
    order, none = np.argsort(scores, kind="stable"), np.zeros(50, bool)
    assert first_of_episodes(order, ordered, scored(np.arange(50), 8, scores), none, 2).tolist() == [11, 40]
    cause = np.arange(50)
    cause[40] = 19  # which is near row 11
    assert first_of_episodes(order, ordered, scored(cause, 8, scores), none, 2).tolist() == [11, 0]
    cause[[11, 10, 40]] = 10, 8, 40  # row 8 is odd by itself
    assert first_of_episodes(order, ordered, scored(cause, 8, scores), none, 2).tolist() == [40, 8]
    flagged = scores < -8.5  # row 11 alone
    assert first_of_episodes(order, ordered, scored(cause, 8, scores), flagged, 2).tolist() == [11, 40]
    assert count_episodes(scores < 0, ordered, 8) == 2
    assert count_episodes(scores < 0, ordered, 60) == 1
    assert count_episodes(scores < -99, ordered, 8) == 0


def test_episodes_of_two_series_are_two():
    series = np.repeat([0, 1], 10)
    ordered = put(series, np.tile(np.arange(10.0), 2), np.arange(20.0)[:, None])
    assert count_episodes(np.isin(np.arange(20), [9, 10]), ordered, 5) == 2
