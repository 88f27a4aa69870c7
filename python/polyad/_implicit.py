# SPDX-License-Identifier: BSD-3-Clause
"""Chooses the options of implicit feedback by rankings of held-out entries."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _backend
from ._errors import UsageError
from ._evaluation import split
from ._functions import Callback, _alpha, _count, _entries, _interruptible, _limit, _mode
from ._keywords import own_keywords
from ._tensor import SparseTensor, _trusted

_share = 0.1  # candidates are evaluated on this share of the entries, and on the last ones
_shortest = 1e-3  # a limit that has passed ends the run after its first epoch


def _search(
    engine: Any, kept: SparseTensor, held: SparseTensor, options: dict[str, Any], keeps_alpha: bool, ranking: Any, watch: Any
) -> dict[str, Any]:
    """What the engine found; raises the KeyboardInterrupt that ended it, with what was found before in ``choice``."""
    found: dict[str, Any] = engine.choose_implicit(kept._held, held._held, options, keeps_alpha, *ranking, watch)
    interrupt = found.pop("interrupted")
    best = found["candidates"][found["best"]]
    chosen = {name: best[name] for name in ("implicit", "ridge", "rank") if name != "rank" or best["rank"] > 0}
    if "columns" in options:
        chosen["columns"] = options["columns"]
    found = {"options": chosen, **found}
    if interrupt is not None:
        interrupt.choice = found
        raise interrupt
    return found


def _warn_of_popular(found: dict[str, Any], stacklevel: int) -> None:
    """The most popular items may rank better than the best candidate."""
    ndcg, popular = found["candidates"][found["best"]]["ndcg"], found["popular_ndcg"]
    if popular > ndcg:
        warnings.warn(
            f"the most popular items rank better than the chosen options: an NDCG of {popular:.4f}, not {ndcg:.4f}, on the held-out entries",
            stacklevel=stacklevel + 1,
        )


def _chosen_by_ranking(implicit: Any, engine: Any, train: SparseTensor, options: dict[str, Any]) -> dict[str, Any]:
    """The choice of ``fast_tucker(implicit=True)``; puts alpha, the ridge and R into the options of the run, and takes
    the time of the search from its limit."""
    if implicit is not True and implicit != "auto":
        raise UsageError(f"implicit is an alpha above 0, True or 'auto', not {implicit!r}")
    if options.get("resume"):
        raise UsageError("resume continues with the options of the checkpoint's run: give its alpha as implicit")
    kept, held = split(train, _share, "last_and_share", mode=0, seed=options["seed"])
    found = _search(engine, kept, held, {**options, "implicit": 40.0}, False, (0, 1, 10, False), None)
    _warn_of_popular(found, 5)  # through fast_tucker and its two decorators
    best = found["candidates"][found["best"]]
    options.update(found["options"])
    options["time_limit_s"] = max(options["time_limit_s"] - found["seconds"], _shortest)
    return {
        "learns": True,
        "biases": None,
        "model": None,
        **best,
        "popular_ndcg": found["popular_ndcg"],
        "popular_ndcg_error": found["popular_ndcg_error"],
        "columns": options.get("columns", []),
        "targets": options.get("targets", []),
        "shrinkage": None,
        "ridge_per_entry": False,
        "bias_damping": 0.0,
        "max_epochs": options["max_epochs"],
        "candidates": len(found["candidates"]),
        "seconds": found["seconds"],
        "reason": found["reason"],
        "rows": [],
    }


@own_keywords
@_interruptible
def choose_implicit(
    kept: Any,
    held: Any = None,
    *,
    implicit: bool | float | None = None,
    ridge: float | None = None,
    rank: int = 0,
    columns: int | Sequence[int] | None = None,
    max_epochs: int = 20,
    seed: int = 0,
    time_limit_s: float = math.inf,
    k: int = 10,
    mode: int | str = 1,
    user_mode: int | str = 0,
    contexts: str = "each",
    callback: Callback | None = None,
    threads: int | None = None,
    device: int | None = None,
) -> dict[str, Any]:
    """Choose alpha, the ridge and R of implicit feedback by the NDCG of recommendations.

    Each candidate is fitted to some entries and evaluated on others. First alphas of 1, 3 and 10 are tried with R = 64, and 0.1 or 40
    where that leads on. Then smaller and larger ridges are tried, as long as they are better, and then an R of 128 or 32, each with the best
    of the others so far.
    The first ridge depends on alpha and on how many entries the rows have. The loss over all cells cannot choose them, since alpha and the ridge are part of it.

    Parameters
    ----------
    kept : SparseTensor or what :func:`asarray` takes
        The entries to learn from, of any shape and from 0 on: see `implicit` of :func:`fast_tucker`. Entries at one place
        are summed.
    held : SparseTensor or what :func:`asarray` takes, optional
        The entries to evaluate on, within the shape of `kept`. Those above 0 are relevant. Their labels are matched to
        those of `kept`. Without it, the last entry of each row of `user_mode` is held out, in the order of `kept`, if
        that row keeps others, and a tenth of the other entries (``split(kept, 0.1, "last_and_share", mode=user_mode)``).
    implicit, ridge, rank, columns
        As for :func:`fast_tucker`. What is given is kept, and not tried. With `columns` no R is tried either.
    max_epochs : int
        Of each candidate; more than 15 count as 15.
    seed : int
    time_limit_s : float
        In seconds. The search ends after the epoch that passes it, with the best candidate so far. If it ends within the first
        fit, that candidate is the choice, and its ``ndcg`` is NaN.
    k : int
        How many recommendations of each query are evaluated.
    mode, user_mode : int or str
        The modes of the items and of the users: numbers, from 0, or names.
    contexts : {"each", "average"}
        As for :func:`evaluate`.
    callback : function, optional
        Called after each candidate with its dict, as in `candidates` below. If it returns False, the search ends, with
        the reason "stopped".
    threads, device : int, optional
        As for :func:`set_threads` and :func:`set_device`.

    Returns
    -------
    dict
        ``options``: those of the best candidate, for :func:`fast_tucker`. ``candidates``: dicts of ``implicit`` (alpha),
        ``ridge``, ``rank``, ``ndcg`` (from 0 to 1), ``ndcg_error`` (its standard error over users) and ``users``, in the
        order of the search. ``best``: the number of the best one, from 0. ``popular_ndcg`` and ``popular_ndcg_error``: the
        NDCG of the most popular items on the same entries. If it is larger than that of the best candidate,
        a UserWarning says so. ``seconds``, and ``reason``: "converged", "time limit" or "stopped".

    Raises
    ------
    UsageError
        Also if no user has a held-out entry above 0, or a value is negative.
    MemoryError, NumericalError
    KeyboardInterrupt
        After Ctrl-C, at the end of an epoch or of an evaluation. What was found before is in its attribute ``choice``,
        as the function would return it.

    Examples
    --------
    >>> import polyad
    >>> X = polyad.generate("uniform", (20, 30), 300, seed=1)
    >>> found = polyad.choose_implicit(X, rank=4, max_epochs=2)
    >>> sorted(found["options"])
    ['implicit', 'rank', 'ridge']
    >>> polyad.fast_tucker(X, **found["options"]).rank
    4
    """
    engine = _backend.engine(threads, device)
    if contexts not in ("each", "average"):
        raise UsageError(f"contexts is each or average, not {contexts!r}")
    if callback is not None and not callable(callback):
        raise UsageError(f"the callback is a function, not {callback!r}")
    first = _entries(kept, "keep")
    users, items = (_mode(first._names.mode_number(given, first.ndim), first.ndim) for given in (user_mode, mode))
    if held is None:
        first, second = split(first, _share, "last_and_share", mode=users, seed=_count("seed", seed))
    else:
        second = _held_like(first, _entries(held, "keep", first))
    alpha = None if implicit is True else _alpha(implicit)
    options: dict[str, Any] = {
        "implicit": 40.0 if alpha is None else alpha,
        "rank": _count("rank", rank),
        "max_epochs": _count("max_epochs", max_epochs),
        "seed": _count("seed", seed),
        "time_limit_s": _limit("time_limit_s", time_limit_s, 0),
    }
    if ridge is not None:
        options["ridge"] = _limit("ridge", ridge, 0)
    if columns is not None:
        given = [columns] if isinstance(columns, (int, np.integer)) else columns
        options["columns"] = [_count("columns", number, 1) for number in given]
    ranking = (users, items, _count("k", k, 1), contexts == "average")
    found = _search(engine, first, second, options, alpha is not None, ranking, callback)
    _warn_of_popular(found, 4)  # through its two decorators
    return found


def _held_like(kept: SparseTensor, held: SparseTensor) -> SparseTensor:
    """Held-out entries with the types and the shape of those to learn from.

    Raises
    ------
    UsageError
        For entries outside that shape.
    """
    if held.ndim != kept.ndim or any(a > b for a, b in zip(held.shape, kept.shape)):
        raise UsageError(f"held-out entries of {held.shape} for entries of {kept.shape}")
    typed = held.to_host().astype(kept.dtype)
    # Checked before they may become narrower.
    checked = SparseTensor(typed.coords, typed.values, kept.shape, duplicates="keep")
    return _trusted(checked.coords.astype(kept.to_host().coords.dtype), checked.values, kept.shape, None)
