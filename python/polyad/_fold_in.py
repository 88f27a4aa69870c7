# SPDX-License-Identifier: BSD-3-Clause
"""Rows of a completion model from their entries, without a new fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _backend
from ._errors import UsageError
from ._evaluation import _for_model
from ._functions import _alpha, _given, _limit, _observed, _rates
from ._keywords import own_keywords
from ._models import FastTuckerModel
from ._names import Names
from ._tensor import SparseTensor, _trusted


def _with_types(entries: SparseTensor, dtype: np.dtype[Any], wide: bool) -> SparseTensor:
    """Entries with values of the model's type, and coordinates of 64 bits if `wide`."""
    typed = entries.astype(dtype)
    coords = typed.to_host().coords
    if wide and coords.itemsize < 8:
        return _trusted(coords.astype(np.uint64), typed.to_host().values, typed.shape, None)
    return typed


def _folded(model: FastTuckerModel, entries: Any, added: Any, asked: dict[str, Any], threads: int | None) -> FastTuckerModel:
    given, dtype = _given(model)
    engine = _backend.engine(threads)
    first = _for_model(entries, model, model._names)
    like = first if first.labels is not None else model
    sets = [first, None if added is None else _for_model(added, like, like._names)]
    for of in sets:
        if of is not None and of.ndim != len(model.factors):
            raise UsageError(f"entries of {of.ndim} modes for a model of {len(model.factors)}")
    wide = any(of is not None and of.to_host().coords.itemsize == 8 for of in sets)
    typed = [None if of is None else _with_types(of, dtype, wide) for of in sets]
    result = engine.fold_in(given, *(None if of is None else of._held for of in typed), asked)
    folded = FastTuckerModel._of_arrays(result, None)
    folded._set_names(_names_of(model, first, folded.shape))
    folded.observed = _observed_rows(model, folded.shape, first)
    folded.choice = model.choice
    folded.row_fit = {"implicit": None, "ridge": None, "shrinkage": None, "targets": [], **asked}
    return folded


def _names_of(model: FastTuckerModel, entries: SparseTensor, shape: tuple[int, ...]) -> Names:
    """What the rows are called: those of the model, and those that the entries add. The mode of time has no new ones."""
    names = model._names
    if names.labels is None or entries.labels is None:
        return names
    labels = [None if of is None else of[:size] for of, size in zip(entries.labels, shape)]
    known = [of if more is None else more for of, more in zip(names.labels, labels)]
    return Names(known, names.mode_names, names.index_base)


def _observed_rows(model: FastTuckerModel, shape: tuple[int, ...], entries: Any) -> list[Any] | None:
    """The rows that the model has seen, and those of the entries."""
    now = _observed(entries)
    marks: list[Any] = []
    for n, size in enumerate(shape):
        marked = np.zeros(size, dtype=bool)
        before = None if model.observed is None else model.observed[n]
        marked[: model.shape[n]] = True if before is None else np.asarray(before, dtype=bool)
        reach = min(size, entries.shape[n])  # later times than the model's last one count as the last
        marked[:reach] |= True if now is None or now[n] is None else now[n][:reach]
        marks.append(None if marked.all() else marked)
    return None if all(marked is None for marked in marks) else marks


def _asked(
    model: FastTuckerModel, implicit: Any, ridge: Any, ridge_per_entry: bool, shrinkage: Any, targets: Any, bias_damping: Any
) -> dict[str, Any]:
    fit = model.row_fit if isinstance(model, FastTuckerModel) else None
    if fit is not None:
        bias_damping = fit["bias_damping"] if bias_damping is None else bias_damping
        implicit = fit["implicit"] if implicit is None else implicit
        if ridge is None and shrinkage is None and not ridge_per_entry:
            ridge, ridge_per_entry, shrinkage = fit["ridge"], fit["ridge_per_entry"], fit["shrinkage"]
        targets = fit["targets"] or None if targets is None else targets
    asked: dict[str, Any] = {
        "ridge_per_entry": bool(ridge_per_entry),
        "bias_damping": _limit("bias_damping", 5.0 if bias_damping is None else bias_damping, 0),
    }
    alpha = _alpha(implicit)
    if alpha is not None:
        asked["implicit"] = alpha
    if ridge is not None:
        asked["ridge"] = _limit("ridge", ridge, 0)
    if shrinkage is not None:
        asked["shrinkage"] = _rates("shrinkage", shrinkage, {"observations": 10, "share": 0.05, "to_one": 1000})
    if targets is not None:
        asked["targets"] = [str(target) for target in targets]
    return asked


@own_keywords
def fold_in(
    model: FastTuckerModel,
    entries: Any,
    *,
    implicit: bool | float | None = None,
    ridge: float | None = None,
    ridge_per_entry: bool = False,
    shrinkage: Any = None,
    targets: Sequence[str] | None = None,
    bias_damping: float | None = None,
    threads: int | None = None,
) -> FastTuckerModel:
    """Rows of new users and items from their entries, without a new fit.

    Each new row is the solution of an epoch of als, with all other rows as they are. First it gets a bias where the
    model has some: the sum of what the other terms leave, over `bias_damping` plus the number of its entries.

    Parameters
    ----------
    model : FastTuckerModel
    entries : SparseTensor or what :func:`asarray` takes
        The entries of the new rows. Their labels are matched to the model's; those that it does not have become new rows
        with these labels. In modes without labels, rows beyond the shape of the model are new. So are rows without
        entries in the training set (`FastTuckerModel.observed`). Others stay as they are. Times after the model's last
        one count as the last.
    implicit, ridge, ridge_per_entry, shrinkage, targets
        As the model was fitted with: see :func:`fast_tucker`. What is not given is as `FastTuckerModel.row_fit` says. If that
        is None, the shrinkage is ``(10, 0.05, 1000)``, and modes whose rows are all ones are left out.
    bias_damping : float, optional
        In entries; without it as `FastTuckerModel.row_fit` says, or 5.
    threads
        As for :func:`cp_als`.

    Returns
    -------
    FastTuckerModel
        Of the larger shape, with the labels of the new rows.

    Examples
    --------
    >>> import polyad
    >>> X = polyad.generate("uniform", (20, 30), 300, seed=1)
    >>> model = polyad.fast_tucker(X, implicit=10, rank=4)
    >>> polyad.fold_in(model, polyad.SparseTensor([[20, 3], [20, 7]], [1.0, 2.0])).shape
    (21, 30)
    """
    asked = _asked(model, implicit, ridge, ridge_per_entry, shrinkage, targets, bias_damping)
    return _folded(model, entries, None, asked, threads)


@own_keywords
def update_rows(
    model: FastTuckerModel,
    entries: Any,
    added: Any,
    *,
    implicit: bool | float | None = None,
    ridge: float | None = None,
    ridge_per_entry: bool = False,
    shrinkage: Any = None,
    targets: Sequence[str] | None = None,
    bias_damping: float | None = None,
    threads: int | None = None,
) -> FastTuckerModel:
    """The rows that have new entries, solved again without a new fit; see :func:`fold_in`.

    Parameters
    ----------
    model : FastTuckerModel
    entries : SparseTensor or what :func:`asarray` takes
        All entries of these rows, the old ones and the added ones.
    added : SparseTensor or what :func:`asarray` takes
        Entries whose rows are solved, in every mode. Their values play no part.
    implicit, ridge, ridge_per_entry, shrinkage, targets, bias_damping, threads
        As for :func:`fold_in`.

    Returns
    -------
    FastTuckerModel
    """
    asked = _asked(model, implicit, ridge, ridge_per_entry, shrinkage, targets, bias_damping)
    return _folded(model, entries, added, asked, threads)
