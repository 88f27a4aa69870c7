# SPDX-License-Identifier: BSD-3-Clause
"""Measures recommendations, and splits entries so that the test is fair."""

from __future__ import annotations

import math
import os
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _backend
from ._errors import UsageError
from ._functions import _count, _given, _limit, _mode, _time_mode
from ._keywords import own_keywords
from ._names import Names
from ._table import is_table
from ._tensor import SparseTensor, _trusted, asarray

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._models import FastTuckerModel

_classes = {"all": "all users", "few": "users with fewer than 4 training entries",
            "some": "users with 4 to 19 training entries", "many": "users with 20 and more training entries"}  # fmt: skip


class Evaluation:
    """The metrics of recommendations, of a model and of baselines: what :func:`evaluate` returns.

    ``evaluation["ndcg"]`` is a number of the model over all users; ``print(evaluation)`` shows the whole table.

    Attributes
    ----------
    metrics : list of str
        precision, recall, ndcg, map, mrr, hit_rate, auc, novelty, coverage, rmse and mae, as :func:`evaluate` defines
        them.
    scores : list of dict
        For each method ("model", "biases", "popular") and class of users ("all"; "few", "some" and "many" training
        entries: up to 3, 4 to 19, 20 and more): ``method``, ``activity``, ``users`` with relevant entries,
        ``entries`` of the test set, and a tuple ``(value, error, users)`` for each metric: the value, its standard
        error for draws of users, and the users that have one. A missing one is NaN.
    k : int
        How many recommendations were evaluated for each query.
    entries, relevant, users, queries : int
        Test entries, relevant items of queries, users who have some, and queries.
    left_out : int
        Users of the test set without a relevant entry.
    unknown : int
        Queries with an index that the model does not have, or that has no entries in the training set.
    unreachable : int
        Relevant items that are not candidates, and count as missed.
    candidates : int
        Items with entries in the training set.
    """

    @own_keywords
    def __init__(self, found: dict[str, Any], k: int, metrics: list[str], labels: NDArray[Any] | None) -> None:
        self.k = k
        self.metrics = metrics
        self.scores: list[dict[str, Any]] = [
            {"method": method, "activity": activity, "users": users, "entries": entries, **dict(zip(metrics, values))}
            for method, activity, users, entries, values in found["scores"]
        ]
        for name in ("entries", "relevant", "users", "queries", "left_out", "unknown", "unreachable", "candidates"):
            setattr(self, name, int(found[name]))
        self._rows = np.asarray(found["user_rows"]).astype(np.int64)
        self._of_users = [(method, np.asarray(values)) for method, values in found["of_users"]]
        self._labels = labels

    entries: int
    relevant: int
    users: int
    queries: int
    left_out: int
    unknown: int
    unreachable: int
    candidates: int

    def get(self, metric: str, method: str = "model", activity: str = "all") -> tuple[float, float]:
        """A metric and its standard error.

        Parameters
        ----------
        metric : str
        method : {"model", "biases", "popular"}
        activity : {"all", "few", "some", "many"}

        Raises
        ------
        UsageError
            If there is no such number.
        """
        if metric not in self.metrics:
            raise UsageError(f"there is no metric {metric!r}: they are {', '.join(self.metrics)}")
        for scores in self.scores:
            if scores["method"] == method and scores["activity"] == activity:
                value, error, _ = scores[metric]
                return value, error
        raise UsageError(f"nothing is known of {method!r} for {activity!r} users")

    def __getitem__(self, metric: str) -> float:
        return self.get(metric)[0]

    def to_frame(self) -> Any:
        """The table as a ``pandas.DataFrame``: a row for each method and class of users, two columns for each metric,
        of which the second, such as ``ndcg_error``, is the standard error."""
        rows = []
        for scores in self.scores:
            row = {name: scores[name] for name in ("method", "activity", "users", "entries")}
            for metric in self.metrics:
                row[metric], row[f"{metric}_error"], _ = scores[metric]
            rows.append(row)
        return import_module("pandas").DataFrame(rows)

    def users_frame(self) -> Any:
        """The metrics of each user as a ``pandas.DataFrame``, for paired comparisons of methods: a row for each user and
        method. Users are labels if the model has some. Metrics that are defined for users only.

        Raises
        ------
        UsageError
            Unless the evaluation was made with ``per_user=True``.
        """
        if not self._of_users:
            raise UsageError("the metrics of each user need evaluate(..., per_user=True)")
        pandas = import_module("pandas")
        users = self._rows if self._labels is None else self._labels[self._rows]
        frames = []
        for method, values in self._of_users:
            frame = pandas.DataFrame(values, columns=self.metrics[: values.shape[1]])
            frame.insert(0, "method", method)
            frame.insert(0, "user", users)
            frames.append(frame)
        return pandas.concat(frames, ignore_index=True)

    def __repr__(self) -> str:
        lines = [
            f"{self.users} users with relevant entries, {self.left_out} without; {self.queries} queries for the first "
            f"{self.k} of {self.candidates} items"
        ]
        for activity in dict.fromkeys(scores["activity"] for scores in self.scores):
            of_class = [scores for scores in self.scores if scores["activity"] == activity]
            first = of_class[0]
            lines += ["", f"{_classes[activity]}: {first['users']} with relevant entries, {first['entries']} test entries"]
            lines.append(" " * 12 + "".join(f"{scores['method']:<20}" for scores in of_class))
            for metric in self.metrics:
                lines.append(f"{metric:<12}" + "".join(f"{_text(*scores[metric][:2]):<20}" for scores in of_class))
        lines += ["", "values are means over users +- 1.96 standard errors of the mean"]
        return "\n".join(line.rstrip() for line in lines)


def _text(value: float, error: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.4f}" if math.isnan(error) else f"{value:.4f} +- {1.96 * error:.4f}"


def _for_model(given: Any, like: Any, names: Names) -> SparseTensor:
    """Entries whose rows are called as those of a model; others get rows after these."""
    is_tied = is_table(given) or isinstance(given, (str, os.PathLike))
    if isinstance(given, SparseTensor):
        is_tied = given.labels is not None or given._shows_base or names.labels is not None
    if not is_tied:
        return asarray(given, duplicates="keep")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unknown rows are counted
        return asarray(given, duplicates="keep", like=like, unknown="new")


def _wide(tensor: SparseTensor) -> SparseTensor:
    coords = tensor.to_host().coords.astype(np.uint64)
    return SparseTensor(coords, tensor.to_host().values, tensor.shape, duplicates="keep")


@own_keywords
def evaluate(
    model: FastTuckerModel,
    test: Any,
    seen: Any = None,
    k: int = 10,
    *,
    relevant: float = 0.0,
    mode: int | str = 1,
    user_mode: int | str = 0,
    contexts: str = "each",
    rank_seen: bool = False,
    baselines: bool = True,
    per_user: bool = False,
    clip: tuple[float, float] | None = None,
    threads: int | None = None,
) -> Evaluation:
    """Measure the recommendations of a completion model on test entries, and those of two baselines.

    Each user is recommended the `k` items with the highest predictions, which are ranked as by :func:`recommend`: before
    predictions are clipped, and the lower row first if they are equal. The baselines are the model's biases alone and,
    with `seen`, the items with most users there.

    Parameters
    ----------
    model : FastTuckerModel
    test : SparseTensor or what :func:`asarray` takes
        Test entries. Labels are matched to the model's. Rows that the model does not have use the known biases only.
    seen : SparseTensor or what :func:`asarray` takes, optional
        The training set. What a user has there, in any context, is not recommended to this user.
    k : int
        How many recommendations are evaluated.
    relevant : float
        Test entries are relevant if their value is at least this, and above 0.
    mode, user_mode : int or str
        The modes of the items and of the users: numbers, from 0, or names.
    contexts : {"each", "average"}
        Rows of other modes: each combination of a user and contexts in relevant test entries is a query, or the model
        averages over them, and each user is one query.
    rank_seen : bool
        Recommend what is in `seen`, too.
    baselines : bool
    per_user : bool
        Keep the metrics of each user for :meth:`Evaluation.users_frame`.
    clip : tuple of float, optional
        Lowest and highest prediction for RMSE and MAE, in place of the model's range.
    threads : int, optional
        As for :func:`set_threads`.

    Returns
    -------
    Evaluation
        Let L be the first k items of a query, T its relevant items with values g:

        * precision: ``|L & T| / k``; recall: ``|L & T| / |T|``; hit_rate: whether L has a relevant item
        * ndcg: the sum over L of ``g / log2(1 + rank)``, over that of the k largest g of T in their best order
        * map: the sum over relevant items of L of the precision at their ranks, over ``|T|``
        * mrr: 1 / rank of the first relevant item of L, or 0
        * auc: the share of the pairs of a relevant and another candidate in the right order, exact over all candidates;
          ties count half
        * novelty: the mean over L of -log2 of the share of the users in `seen` who have the item; an item without
          entries counts as one with one user
        * coverage: the share of the items with entries in the training set that are in L of some query

        A user's number is the mean over the user's queries, and a metric is the mean over users who have relevant
        entries. Relevant items that are not candidates count as missed; only the AUC leaves them out. RMSE and MAE are
        those of all test entries. Scores of implicit feedback are compared with its targets: 1 for any value above 0.

    Raises
    ------
    UsageError, InputError, NumericalError, MemoryError

    Examples
    --------
    >>> import numpy as np, polyad
    >>> items = np.array([[3.0], [2.0], [1.0]])
    >>> model = polyad.FastTuckerModel([np.ones((2, 1)), items], [np.eye(1)] * 2)
    >>> test = polyad.SparseTensor([[0, 0], [1, 1]], [1.0, 1.0], (2, 3))
    >>> found = polyad.evaluate(model, test, k=2)
    >>> found["recall"], found["mrr"]
    (1.0, 0.75)
    """
    engine = _backend.engine(threads)
    given, dtype = _given(model, clip)
    order = len(model.factors)
    if contexts not in ("each", "average"):
        raise UsageError(f"contexts is each or average, not {contexts!r}")
    items = _mode(model._mode_number(mode), order)
    users = _mode(model._mode_number(user_mode), order)
    threshold = _limit("relevant", relevant)
    tests = _for_model(test, model, model._names)
    known = None if seen is None else _for_model(seen, tests if tests.labels is not None else model, tests._names)
    for what, tensor in (("test", tests), ("seen", known)):
        if tensor is not None and tensor.ndim != order:
            raise UsageError(f"{what} has {tensor.ndim} modes, but the model has {order}")
    if known is not None and known.nnz == 0:
        known = None
    if known is not None and known.to_host().coords.dtype != tests.to_host().coords.dtype:
        tests, known = _wide(tests), _wide(known)
    held = None if known is None else known.to_host().astype(dtype)._held
    found = engine.evaluate(
        given,
        tests.to_host().astype(dtype)._held,
        held,
        users,
        items,
        _count("k", k, 1),
        threshold,
        contexts == "average",
        bool(rank_seen),
        bool(baselines),
        bool(per_user),
        model.row_fit is not None and model.row_fit.get("implicit") is not None,
    )
    labels = tests._names.of_mode(users) if tests.labels is not None else model._names.of_mode(users)
    return Evaluation(found, int(k), list(engine.metric_names), labels)


@own_keywords
def split(
    X: Any,
    share: float = 0.1,
    by: str = "coordinates",
    *,
    mode: int | str | None = None,
    time_mode: int | str | None = None,
    ties: str = "one",
    seed: int = 0,
) -> tuple[SparseTensor, SparseTensor]:
    """Split entries into a part to learn from and a part to test on, by the question that the test should answer.

    Parameters
    ----------
    X : SparseTensor or what :func:`asarray` takes
        Repeated entries are kept.
    share : float
        The share of the entries to hold out or, with "rows", of the rows with entries. Not used by "last".
    by : {"coordinates", "entries", "time", "last", "last_and_share", "rows"}
        * "coordinates": at random; entries at the same place stay together. As ``polyad fast-tucker --split``.
        * "entries": at random; entries at the same place may be separated. As :func:`hold_out`.
        * "time": the latest entries. Those of one time stay together; the number that is nearest to the share is held
          out, at least the last time, and at least the first time stays.
        * "last": the last entry of each row of `mode`, if that row keeps other entries.
        * "last_and_share": these, and a share of the other entries at random, but never the first one of a row.
          :func:`choose_implicit` divides entries in this way.
        * "rows": all entries of random rows of `mode`: how are new users predicted?
    mode : int or str, optional
        For "last", "last_and_share" and "rows".
    time_mode : int or str, optional
        For "time", "last" and "last_and_share"; without it the last entry is the last one in the order of `X`.
    ties : {"one", "all"}
        If a row has several entries of its last time, "last" and "last_and_share" draw one of them, or hold all of them out.
    seed : int

    Returns
    -------
    (SparseTensor, SparseTensor)
        The entries that stay, and those that are held out; copies, in the order of `X`.

    Raises
    ------
    UsageError
        If a mode is missing or does not exist, or nothing would be left to learn from.

    Examples
    --------
    >>> import polyad
    >>> X = polyad.SparseTensor([[0, 0, 1], [0, 1, 2], [1, 0, 2], [1, 1, 3]], [1.0, 2.0, 3.0, 4.0])
    >>> known, hidden = polyad.split(X, 0.25, "time", time_mode=2)
    >>> hidden.values.tolist()
    [4.0]
    >>> polyad.split(X, by="last", mode=0, time_mode=2)[1].values.tolist()
    [2.0, 4.0]
    """
    tensor = asarray(X, duplicates="keep").to_host()
    if ties not in ("one", "all"):
        raise UsageError(f"ties is one or all, not {ties!r}")
    if by in ("last", "last_and_share", "rows") and mode is None:
        raise UsageError(f"by={by!r} needs the mode of the rows")
    if by == "time" and time_mode is None:
        raise UsageError("by='time' needs time_mode")

    def number(given: Any) -> int:
        return -1 if given is None else _mode(tensor._names.mode_number(given, tensor.ndim), tensor.ndim)

    time = -1 if time_mode is None else _time_mode(tensor, time_mode)
    parts = _backend.module().split(
        tensor._held, str(by), _limit("share", share), number(mode), time, ties == "one", _count("seed", seed)
    )
    divided = tuple(
        _trusted(coords, values.astype(tensor.dtype, copy=False), tuple(shape), tensor._names)
        for coords, values, shape in parts
    )
    for part in divided:
        part.found = {"left_out": tensor.found.get("left_out", [])}
    return divided  # type: ignore[return-value]
