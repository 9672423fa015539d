"""The transformer that makes finite numbers of a table as it is."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from oddatom._documented import DocumentedMixin
from oddatom.arrays.threads import run_all, threads_here
from oddatom.estimators._validation import check_parameters, old_model_on_error
from oddatom.exceptions import OddAtomError, ParameterError, TableWarning
from oddatom.table.columns import Columns, as_columns, unique_names
from oddatom.table.deciding import Rules, decide
from oddatom.table.decision import ColumnDecision, leave_out
from oddatom.table.encoding import Trouble, encode
from oddatom.table.forms import no_values
from oddatom.table.large_numbers import large_number_advice
from oddatom.table.number_styles import settle_styles
from oddatom.table.repeats import leave_out_repeats
from oddatom.table.wording import in_words, nothing_left, some

MANY_ROWS = 10_000  # of which columns are looked at side by side
T = TypeVar("T")


class TableEncoder(DocumentedMixin, TransformerMixin, BaseEstimator):
    """Make numbers of a table as it is: numbers, text, dates, booleans, ids, missing values.

    Every column is looked at once, at training:

    - numbers, also those written as text ("12", "1,234.5", "1.234,5", "€ 5", "7 %"), stay numbers; other columns, and
      semicolons in the file, say what the comma in "1,234" means; a missing value becomes the median, and a column
      "age is missing" marks it where training had missing values;
    - booleans, also as words (true, yes, on, …), become 0 and 1, a missing value the commoner of the two;
    - dates, also as text, become days since the median, weekday and month where some of these are rare, and the time of
      day as a point on a circle; times of day become that point alone;
    - the time of the rows is left out: dates in the order of the rows, epochs and counters, which would make every
      later row odd (see `running.py`); `columns` takes them all the same;
    - text with up to `max_levels` values becomes a column for each, "colour=red", and one, "colour is new", for values
      that training did not have, so that they stand out; text with more values becomes the share of training rows
      that have the value, 0 for a new one;
    - ids (see `ids.py`), empty columns, lists and bytes are left out, and of 100 rows on columns that repeat another:
      equal, in another unit, or the same categories under other names. A constant column is kept: a new value shows.

    NaN, None, NaT, infinities, empty text and the usual words for nothing ("NA", "n/a", "null", "-", "?", …) are
    missing. A text column holds numbers where nine tenths of its values do; the rest is missing. What a row becomes
    does not depend on the rows around it, so a file may be transformed in any pieces.

    Parameters
    ----------
    columns : sequence of str or int, default=None
        Use these alone, and all of them but empty ones. None means every column that is no id. Names; positions for
        tables without names.
    ignore : sequence of str or int, default=()
        Columns not to use.
    id : str, int or sequence of them, default=None
        Columns that name the rows: not used.
    max_levels : int, default=20
        Most values of a text column that get a column each.
    dates : {"number", "drop"}, default="number"
        What to do with dates.
    categories : {"one-hot", "codes"}, default="one-hot"
        What becomes of text with up to `max_levels` values: a column for each, or one column with the number of the
        value among the sorted ones, the next number for a value that training did not have, and -1 for a missing one.
        With "codes" missing numbers stay missing (NaN), and `missing="seen"` marks none.
        `OddAtomDetector` takes such columns as `categorical_features`; other detectors would take them for numbers.
    missing : {"seen", "always"}, default="seen"
        Where to mark missing values: in columns that had some at training, or in every column. With "seen" a value
        missing from a column that was complete becomes the median without a trace but a `TableWarning`; "always"
        makes such rows stand out.

    Attributes
    ----------
    columns_ : list of ColumnDecision
        What was decided about every column of the training table, and why: plain data.
    source_ : list of str
        For every output the column that it came from.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> import pandas as pd
    >>> from oddatom.table import TableEncoder
    >>> table = pd.DataFrame({"age": ["31", "n/a", "58"], "colour": ["red", "blue", "red"]})
    >>> encoder = TableEncoder().fit(table)
    >>> print(*encoder.describe(), sep="\\n")
    age: number, median 44.5 for 1 missing value
    colour: text, a column for each of 2 values (blue, red)
    >>> encoder.transform(table)[1]
    array([44.5,  1. ,  1. ,  0. ,  0. ])
    >>> list(encoder.get_feature_names_out())
    ['age', 'age is missing', 'colour=blue', 'colour=red', 'colour is new']
    """

    _documented_in = "oddatom.table"
    _parameter_constraints: ClassVar[dict] = {
        "columns": ["array-like", None],
        "ignore": ["array-like"],
        "id": [str, Integral, "array-like", None],
        "max_levels": [Interval(Integral, 1, None, closed="left")],
        "dates": [StrOptions({"number", "drop"})],
        "categories": [StrOptions({"one-hot", "codes"})],
        "missing": [StrOptions({"seen", "always"})],
    }
    _advice: ClassVar[dict[str, str]] = {
        "columns": "A list of names; None means every column that is no id.",
        "ignore": "A list of names.",
        "id": "One name or a list of them.",
        "max_levels": "20 is the default.",
    }

    def __init__(
        self,
        columns: Sequence[str | int] | None = None,
        *,
        ignore: Sequence[str | int] = (),
        id: str | int | Sequence[str | int] | None = None,
        max_levels: int = 20,
        dates: str = "number",
        categories: str = "one-hot",
        missing: str = "seen",
    ) -> None:
        self.columns = columns
        self.ignore = ignore
        self.id = id
        self.max_levels = max_levels
        self.dates = dates
        self.categories = categories
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decide what to do with every column.

        A `TableWarning` says where whole numbers above 2**53 that differ become the same float.

        Parameters
        ----------
        X : pyarrow.Table or RecordBatch, pandas or polars frame, or array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        return self._learn(X, type(self).__name__, 3)

    def _learn(self, X: Any, owner: str, stacklevel: int, roles: Mapping[str, tuple[str, str]] = {}) -> Self:
        """Fit; errors name `owner`, and warnings are those of the caller at `stacklevel`.

        Columns with a role are left out: `roles` has the kind and the reason of each, by name.
        """
        check_parameters(self, self._advice)
        with old_model_on_error(self):
            table = as_columns(X)
            _check_size(table, owner)
            wanted, ignored, ids = (self._named(what, table, owner) for what in ("columns", "ignore", "id"))
            named, codes = self.columns is not None, self.categories == "codes"
            rules = Rules(int(self.max_levels), self.dates, self.missing == "always", named, codes=codes)

            def of_column(i: int) -> ColumnDecision:
                name = table.names[i]
                if name in roles:
                    return leave_out(name, *roles[name])
                if name in ids:
                    return leave_out(name, "id", "it names the rows")
                if name in ignored:
                    return leave_out(name, "ignored", "it is ignored")
                if self.columns is not None and name not in wanted:
                    return leave_out(name, "ignored", "it is not among the columns to use")
                return decide(name, table.get(i), rules)

            decisions = settle_styles(table, _by_column(of_column, len(table.names), table.n_rows), rules)
            self.columns_ = _different_outputs(decisions if named else leave_out_repeats(table, decisions))
            if not any(decision.used for decision in self.columns_):
                raise nothing_left(self.columns_)
            self.n_features_in_ = len(table.names)
            if table.named:
                self.feature_names_in_ = np.array(table.names, dtype=object)
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
        if messages := large_number_advice(self.columns_):
            warnings.warn(TableWarning({message: message for message in messages}), stacklevel=stacklevel)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the table as numbers.

        Columns may come in another order, and others beside them. A `TableWarning` says which are not there, and which
        hold values that cannot be read: both count as missing.

        Parameters
        ----------
        X : pyarrow.Table or RecordBatch, pandas or polars frame, or array-like of shape (n_samples, n_features)

        Returns
        -------
        numbers : ndarray of shape (n_samples, n_outputs)
            float64, finite.
        """
        check_is_fitted(self)
        return self._encode(X, type(self).__name__, 4)  # scikit-learn wraps this method

    def _encode(self, X: Any, owner: str, stacklevel: int) -> np.ndarray:
        """Transform; errors name `owner`, and warnings are those of the caller at `stacklevel`."""
        table = as_columns(X)
        position = self._positions(table, owner, stacklevel + 1)
        out = np.empty((table.n_rows, sum(len(decision.outputs) for decision in self.columns_)))
        ends = np.cumsum([0, *(len(decision.outputs) for decision in self.columns_)])
        used = [i for i, decision in enumerate(self.columns_) if decision.used]

        def of_column(k: int) -> Trouble:
            i = used[k]
            at = position[i]
            values = no_values(table.n_rows) if at is None else table.get(at)
            return encode(self.columns_[i], values, out[:, ends[i] : ends[i + 1]])

        messages, absent = {}, []
        for i, trouble in zip(used, _by_column(of_column, len(used), table.n_rows), strict=True):
            if position[i] is None:
                absent.append(repr(self.columns_[i].name))
            elif trouble.n_unread or trouble.n_missing:
                kind, said = in_words(self.columns_[i], trouble)
                messages[kind] = said
        if absent:
            messages = {"absent": f"not in the table, so all missing: {some(absent)}", **messages}
        if messages:
            warnings.warn(TableWarning(messages, {"missing": "always"}), stacklevel=stacklevel)
        return out

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the outputs.

        Parameters
        ----------
        input_features : sequence of str, default=None
            Names for the columns of a table that had none.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        named = zip(self.columns_, names, strict=True)
        return np.array([name + o[len(decision.name) :] for decision, name in named for o in decision.outputs], object)

    @property
    def source_(self) -> list[str]:
        """For every output the column that it came from."""
        return [decision.name for decision in self.columns_ for _ in decision.outputs]

    def describe(self) -> list[str]:
        """Return a line for every column of the training table: what is done with it."""
        check_is_fitted(self)
        return [decision.line() for decision in self.columns_]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _named(self, parameter: str, table: Columns, owner: str) -> set[str]:
        """Return the names of the columns that a parameter names."""
        return set(named_columns(getattr(self, parameter), parameter, table, owner))

    def _positions(self, table: Columns, owner: str, stacklevel: int) -> list[int | None]:
        """Return where the training table's columns are: by name where both tables have names, else by position."""
        names = getattr(self, "feature_names_in_", None)
        if table.named and names is not None:
            found = {name: i for i, name in enumerate(table.names)}
            used = [decision.name for decision in self.columns_ if decision.used]
            if not any(name in found for name in used):
                raise OddAtomError(
                    f"The table has none of the columns that {{owner}} was fitted on ({some([repr(n) for n in used])})."
                    f" It has {some([repr(name) for name in table.names])}.",
                    parameter="X",
                    advice="Pass a table like the training table.",
                    owner=owner,
                )
            return [found.get(decision.name) for decision in self.columns_]
        if len(table.names) != self.n_features_in_:
            raise OddAtomError(
                f"X has {len(table.names)} features, but {{owner}} is expecting {self.n_features_in_} features as "
                "input.",
                parameter="X",
                owner=owner,
            )
        if names is not None:
            problem = f"X does not have valid feature names, but {owner} was fitted with feature names"
            warnings.warn(problem, stacklevel=stacklevel)
        elif table.named:
            warnings.warn(f"X has feature names, but {owner} was fitted without feature names", stacklevel=stacklevel)
        return list(range(len(table.names)))


def _by_column(function: Callable[[int], T], n_columns: int, n_rows: int) -> list[T]:
    """Return a function of every column's place, in threads where there are many rows."""
    tasks = [partial(function, i) for i in range(n_columns)]
    if n_rows < MANY_ROWS:
        return [task() for task in tasks]
    with threads_here():
        return run_all(tasks)


def named_columns(given: Any, parameter: str, table: Columns, owner: str) -> list[str]:
    """Return the names of the columns that a parameter names, in the order given; raise where one is not there."""
    listed = [] if given is None else [given] if isinstance(given, (str, Integral)) else list(given)
    names = []
    for column in listed:
        name = str(column)
        if isinstance(column, Integral) and not table.named and int(column) in range(len(table.names)):
            name = table.names[int(column)]
        if name not in table.names:
            known = some([repr(name) for name in table.names])
            raise ParameterError(
                owner,
                parameter,
                f"must name columns of the table. Got {column!r} instead.",
                value=given,
                advice=f"It has {known}.",
            )
        names.append(name)
    return names


def _check_size(table: Columns, owner: str) -> None:
    """Raise scikit-learn's errors for a table without rows or columns."""
    for n, what in ((table.n_rows, "sample"), (len(table.names), "feature")):
        if n == 0:
            shape = (table.n_rows, len(table.names))
            raise OddAtomError(
                f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required by {{owner}}.",
                parameter="X",
                owner=owner,
            )


def _different_outputs(decisions: list[ColumnDecision]) -> list[ColumnDecision]:
    """Return the decisions with outputs that all have different names."""
    names = iter(unique_names(output for decision in decisions for output in decision.outputs))
    return [decision._replace(outputs=[next(names) for _ in decision.outputs]) for decision in decisions]
