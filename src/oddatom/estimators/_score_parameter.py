"""A parameter called `score`, in a library that takes an attribute of that name for a method."""

from __future__ import annotations

from typing import Any, NoReturn, Self, overload


class ScoreParameter:
    """Keep `score` among the parameters, but do not show it as an attribute.

    scikit-learn calls `estimator.score(X, y)` wherever an estimator has that attribute; an outlier detector has none.
    """

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: Any = None) -> NoReturn: ...

    def __get__(self, instance: object | None, owner: Any = None) -> Self:
        if instance is None:
            return self
        raise AttributeError(
            f"{type(instance).__name__} has a parameter 'score' and no method: read it with get_params()['score']."
        )

    def __set__(self, instance: object, value: Any) -> None:
        vars(instance)["score"] = value


class ScoreParameterMixin:
    """`get_params` of an estimator whose parameters include `score`; none of them is an estimator."""

    score = ScoreParameter()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : ignored, no parameter is an estimator
        """
        return {name: vars(self)[name] for name in self._get_param_names()}  # type: ignore[attr-defined]

    @property
    def _score_by(self) -> str:
        """The parameter `score`."""
        return vars(self)["score"]
