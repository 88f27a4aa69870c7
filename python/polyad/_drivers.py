# SPDX-License-Identifier: BSD-3-Clause
# Made by scripts/python_signatures of python/drivers.in.py and the tables of options: do not edit.
"""The drivers."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _backend
from ._errors import UsageError
from ._functions import (
    Callback,
    Format,
    _alpha,
    _count,
    _cp_start,
    _drifts,
    _entries,
    _expect_same_rows,
    _factors_of,
    _fixed_modes,
    _modes_by_number,
    _group,
    _interruptible,
    _limit,
    _lists_of,
    _matrices,
    _observed,
    _range,
    _rates,
    _settled,
    _shares_of_weights,
    _time_mode,
    _unless_interrupted,
    _updates,
    _warn_of_negative_values,
    _watched,
)
from ._implicit import _chosen_by_ranking
from ._keywords import own_keywords
from ._models import CPModel, FastTuckerModel, TuckerModel
from ._tensor import SparseTensor, _trusted, without_repeats


def _expect_checkpoint(every: Any, checkpoint: str | os.PathLike[str] | None) -> None:
    if checkpoint is None and every != 10:
        raise UsageError("checkpoint_every is for runs with a checkpoint: leave it out")


def _expect_one_start(start: Any, resume: str | os.PathLike[str] | None) -> None:
    if start is not None and resume is not None:
        raise UsageError("resume is a start: leave start out")


@own_keywords
@_interruptible
def cp_als(
    X: Any,
    rank: int = 0,
    *,
    max_iterations: int = 50,
    tolerance: float = 0.0001,
    time_limit_s: float = math.inf,
    seed: int = 0,
    time_phases: bool = False,
    kkt_tolerance: float = 0.0,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int = 10,
    resume: str | os.PathLike[str] | None = None,
    restarts: int = 1,
    start: Any = None,
    ridge: Any = 0.0,
    nonnegative: Any = False,
    lower: Any = None,
    upper: Any = None,
    l1: Any = 0.0,
    constraints: Any = None,
    inner: int | str = 1,
    fix: int | Sequence[int] = (),
    format: str = "auto",  # noqa: A002
    deterministic: bool = False,
    duplicates: str = "sum",
    callback: Callback | None = None,
    progress: bool = False,
    threads: int | None = None,
    device: int | None = None,
) -> CPModel:
    """Factor a sparse tensor by CP-ALS, the canonical polyadic decomposition by alternating least squares.

    Parameters
    ----------
    X : SparseTensor, Format, or what :func:`asarray` takes
        A tensor of float32 is computed in single precision.
    rank : int
        R. 0: that of the start, or of the Format, or 16.
    max_iterations : int
        Maximum number of iterations; 0: only the fit of the start.
    tolerance : float
        Stop when an iteration changes the fit by at most ``tolerance`` s (1 - s^2)^(1/2), s = 1 - fit; 0: never.
        What is left, s, and what is explained both count.
    time_limit_s : float
        Stop after the iteration that passes ``time_limit_s`` seconds.
    seed : int
        Seed of the random start.
    time_phases : bool
        Time the phases of each iteration for the report; this costs a little time.
    kkt_tolerance : float
        With bounds or l1: stop at a KKT violation below ``kkt_tolerance``; 0: never.
    checkpoint : path, optional
        Write checkpoints to this file, the last one at the end.
        The last one is also written after Ctrl-C.
    checkpoint_every : int
        Iterations between checkpoints.
    resume : path, optional
        Continue from a checkpoint; if sums have a fixed order, to the same bits.
        Instead of a start. Its tensor, rank, precision, format, bounds and penalties must be those of the run;
        ``format="auto"`` takes its format. The tool's checkpoints may be resumed here, and the reverse.
    restarts : int
        Number of random starts, concurrent on a device; the best fit wins. Their seeds count up from the given one.
        A run that breaks down is left out. Not with checkpoints, and with `start` only if some of its modes are fixed.
    start : "nvecs", CPModel, pyttb.ktensor or sequence of array_like, optional
        "nvecs": the leading left singular vectors of the unfolded tensor. Matrices are I_n x R each, and copied. Rows that a model does not store are zero. The scale of their columns matters to a run without iterations only: it reports the
        fit of the start, a model's weights included. With ridges, the matrices share a model's weights so that their penalties are equal.
    ridge : float, sequence of N floats, or dict of mode: float
        CP-ALS minimises ||X - M||^2 / 2 + sum over n of ridge_n / 2 ||A^(n)||^2, with the model's weights inside the
        factors. If one mode has a penalty, each other one has one, too, or bounds on both sides: the scale of the
        components would escape into a mode without.
    nonnegative : bool, N of them, list of modes, or dict of mode: bool
        Factors without negative entries. If all modes are nonnegative, a warning reports the share of negative values in ||X||^2.
        Here and below a mode is its number, from 0, or its name.
    lower, upper : float or None, sequence of N of them, or dict of mode: float
        Bounds of the entries. A mode with bounds other than 0, or with an l1, has its own scale in the model.
    l1 : float, sequence of N floats, or dict of mode: float
        Adds l1_n times the sum of all magnitudes of A^(n) to the objective. Entries become exactly 0.
    constraints : str or dict, sequence of N of them, or dict of mode: str or dict, optional
        These bounds and penalties in one argument, in place of the separate ones. Those of a mode are "nonnegative", a
        dict such as ``{"nonnegative": True, "l1": 0.1}`` or None. It also takes the `constraints` of a :class:`CPModel`.
    inner : int or "exact"
        Sweeps over each row in an update with bounds or l1: cyclic coordinate descent, HALS (Cichocki & Phan, 2009). "exact"
        solves each row exactly. Such a run depends on the scale of a start; a random one is multiplied by
        <X, M> / ||M||^2.
    fix : int, str, or sequence of them
        Modes, by number or name, whose factors stay those of `start`, with their order and bits. A model's weights go to another mode. With
        `restarts`, the other modes are drawn.
    format : str
        Storage format: auto, or a name with options.
        Not with a Format.
    deterministic : bool
        Sum in a fixed order: the same bits at every run.
        Not with a Format.
    duplicates : {"sum", "last", "error"}
        Nonzeros at one place: sum them, take the last one, or make them an error.
    callback : function, optional
        Called after each iteration with a dict of ``iteration``, ``fit``, ``delta`` and ``seconds``, ``start`` if there
        are several, and ``phases`` if they are timed. If it returns False, the run ends, with the reason "stopped". An exception passes.
    progress : bool
        Show the iterations (with tqdm if it is installed).
    threads, device : int, optional
        As for :func:`set_threads` and :func:`set_device`.

    Returns
    -------
    CPModel

    Raises
    ------
    UsageError
        Also if coordinates were changed after the tensor was made, and one is outside now.
    MemoryError, NumericalError
    InputError
        For a checkpoint that is damaged or of another run.
    WriteError
        For a checkpoint that cannot be written.
    KeyboardInterrupt
        After Ctrl-C, at the end of an iteration. Its attribute ``model`` is the model so far, with the reason
        "interrupted"; it is None before the first iteration ends.

    Examples
    --------
    >>> import polyad
    >>> X, planted = polyad.generate("low-rank", (30, 40, 50), rank=3, seed=1)
    >>> model = polyad.cp_als(X, 3, tolerance=1e-8)
    >>> round(model.fit, 3)
    1.0
    >>> weights, factors = model
    >>> [factor.shape for factor in factors]
    [(30, 3), (40, 3), (50, 3)]
    """
    engine = _backend.engine(threads, device)
    _expect_one_start(start, resume)
    nvecs = isinstance(start, str)
    if nvecs and start != "nvecs":
        raise UsageError(f"the start is 'nvecs' or matrices, not {start!r}")
    model = None if nvecs else start
    held = X if isinstance(X, Format) else without_repeats(X, duplicates, model)
    _expect_same_rows("the start", model, held)
    order = len(held.shape)
    separate = {"nonnegative": nonnegative, "lower": lower, "upper": upper, "l1": l1, "ridge": ridge}
    separate = {name: given if isinstance(given, str) else _modes_by_number(given, held) for name, given in separate.items()}
    updates = _updates(**_settled(constraints, separate, order), inner=inner, order=order)
    fixed = _fixed_modes(_modes_by_number(fix, held), order)
    if isinstance(held, SparseTensor):
        _warn_of_negative_values(updates, held)
    _expect_checkpoint(checkpoint_every, checkpoint)
    options = {
        "rank": _count("rank", rank),
        "max_iterations": _count("max_iterations", max_iterations),
        "tolerance": _limit("tolerance", tolerance, 0),
        "time_limit_s": _limit("time_limit_s", time_limit_s, 0),
        "seed": _count("seed", seed),
        "time_phases": bool(time_phases),
        "kkt_tolerance": _limit("kkt_tolerance", kkt_tolerance, 0),
        "checkpoint": "" if checkpoint is None else os.fspath(checkpoint),
        "checkpoint_every": _count("checkpoint_every", checkpoint_every, 1),
        "resume": "" if resume is None else os.fspath(resume),
        "restarts": _count("restarts", restarts, 1),
        "updates": updates,
        "fixed_modes": fixed,
    }
    begin = [] if start is None or nvecs else _cp_start(start, held.dtype, _shares_of_weights(updates, fixed, order))
    watch, close = _watched(callback, progress, max_iterations, "CP-ALS")
    try:
        if isinstance(held, Format):
            if format != "auto" or deterministic:
                raise UsageError("the format was chosen already: any_format takes these options")
            if nvecs:
                raise UsageError("start='nvecs' needs the tensor, not a Format")
            result = engine.cp_als_format(held._held, options, begin, _lists_of(start), watch)
        else:
            result = engine.cp_als(held._held, options, format, deterministic, nvecs, begin, _lists_of(start), watch)
    finally:
        close()
    return _unless_interrupted(CPModel._of(result, held._names, held._package), result)


@own_keywords
@_interruptible
def tucker(
    X: Any,
    ranks: int | Sequence[int],
    *,
    max_iterations: int = 50,
    tolerance: float = 1e-06,
    time_limit_s: float = math.inf,
    seed: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int = 10,
    resume: str | os.PathLike[str] | None = None,
    start: Any = None,
    duplicates: str = "sum",
    callback: Callback | None = None,
    progress: bool = False,
    threads: int | None = None,
    device: int | None = None,
) -> TuckerModel:
    """Factor a sparse tensor by HOOI, the Tucker decomposition by higher-order orthogonal iteration.

    Parameters
    ----------
    X : SparseTensor or what :func:`asarray` takes
    ranks : int or sequence of int
        R_n, each at most I_n and the product of the others. One number applies to all modes.
    max_iterations : int
        Maximum number of iterations; 0: only the fit of the start.
    tolerance : float
        Stop when an iteration changes the fit by at most ``tolerance`` s (1 - s^2)^(1/2), s = 1 - fit; 0: never.
    time_limit_s : float
        Stop after the iteration that passes ``time_limit_s`` seconds.
    seed : int
        Seed of the random start.
    checkpoint : path, optional
        Write checkpoints to this file, the last one at the end.
    checkpoint_every : int
        Iterations between checkpoints.
    resume : path, optional
        Continue from a checkpoint; if sums have a fixed order, to the same bits.
    start : "hosvd", TuckerModel or sequence of array_like, optional
        Matrices of orthonormal columns, I_n x R_n; copied. "hosvd" computes them. Without it they are random.
    duplicates, callback, progress, threads, device
        As for :func:`cp_als`.

    Returns
    -------
    TuckerModel

    Raises
    ------
    UsageError, MemoryError, NumericalError, InputError, WriteError, KeyboardInterrupt
        As for :func:`cp_als`.

    Examples
    --------
    >>> import polyad
    >>> X, _ = polyad.generate("low-rank", (20, 20, 20), rank=2, seed=1)
    >>> model = polyad.tucker(X, 2)
    >>> model.core.shape, round(model.fit, 3)
    ((2, 2, 2), 1.0)
    """
    engine = _backend.engine(threads, device)
    _expect_one_start(start, resume)
    hosvd = isinstance(start, str)
    if hosvd and start != "hosvd":
        raise UsageError(f"the start is 'hosvd' or matrices, not {start!r}")
    tensor = without_repeats(X, duplicates, None if hosvd else start)
    if isinstance(ranks, (int, np.integer)):
        ranks = [ranks] * tensor.ndim
    _expect_checkpoint(checkpoint_every, checkpoint)
    options = {
        "ranks": [_count("a rank", rank) for rank in ranks],
        "max_iterations": _count("max_iterations", max_iterations),
        "tolerance": _limit("tolerance", tolerance, 0),
        "time_limit_s": _limit("time_limit_s", time_limit_s, 0),
        "seed": _count("seed", seed),
        "checkpoint": "" if checkpoint is None else os.fspath(checkpoint),
        "checkpoint_every": _count("checkpoint_every", checkpoint_every, 1),
        "resume": "" if resume is None else os.fspath(resume),
    }
    begin = [] if start is None or hosvd else _matrices(_factors_of(start), tensor.dtype)
    watch, close = _watched(callback, progress, max_iterations, "Tucker")
    try:
        result = engine.tucker(tensor._held, options, hosvd, begin, _lists_of(start), watch)
    finally:
        close()
    return _unless_interrupted(TuckerModel._of(result, tensor._names, tensor._package), result)


@own_keywords
@_interruptible
def fast_tucker(
    train: Any,
    *,
    validation: Any = None,
    test: Any = None,
    columns: int | Sequence[int] | None = None,
    time_mode: int | str = -1,
    drift: Any = None,
    implicit: bool | float | str | None = None,
    optimizer: str = "als",
    shrinkage: Any = None,
    targets: Sequence[str] | None = None,
    range: tuple[float, float] | None = None,  # noqa: A002
    rank: int = 0,
    biases: bool = True,
    bias: Any = None,
    seed: int = 0,
    cg_steps: int = 3,
    max_epochs: int = 20,
    ridge: float | None = None,
    ridge_per_entry: bool = False,
    core_ridge: float = 0.0,
    update_cores: bool = True,
    adam: Any = None,
    sgd: Any = None,
    patience: int = 0,
    time_limit_s: float = math.inf,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int = 10,
    resume: str | os.PathLike[str] | None = None,
    format: str = "auto",  # noqa: A002
    deterministic: bool = False,
    duplicates: str = "keep",
    callback: Callback | None = None,
    progress: bool = False,
    threads: int | None = None,
    device: int | None = None,
) -> FastTuckerModel:
    """Learn from the entries that were observed, to predict the others.

    Parameters
    ----------
    train : SparseTensor or what :func:`asarray` takes
        Every stored entry is an observation, zeros too; all others are unknown. The same place may occur several
        times.
    validation, test : SparseTensor or what :func:`asarray` takes, optional
        The first decides which epoch is best, with `patience`; the other is only reported. Their rows are matched to
        the labels of the training set; labels that it does not have are an error.
    columns : int or sequence of int, optional
        J_n, one number or one for each mode. Without them and `rank` held-out entries choose.
    time_mode : int or str
        The mode of time, its number from 0 or its name: the biases of the other modes' rows drift over it, by a number for each bin of
        equal length. -1: they do not drift.
    drift : int, mapping or sequence, optional
        ``bins``, 0 for biases that stay, and ``damping`` in observations (30), of all modes or of each: ``16``,
        ``{"bins": 16, "damping": 10}``, ``[(16, 10), 4, 0]``. That of the mode of time itself is the number of bins in which
        times share a bias; 0, as with one number for all modes: each time has its own.
        Its damping X determines how drifts fade out: k bins after the last time with entries, 1 / (1 + X k) of them is left,
        and nothing if X is 30 or more.
        Without it held-out entries choose, or, if they choose nothing, 30 bins, fewer for sparse rows.
    implicit : bool, float or "auto", optional
        Implicit feedback, such as clicks or counts: the alpha of Hu, Koren and Volinsky (2008), or True to choose it. An entry
        x > 0 has the target 1 and the weight 1 + alpha x, and every other cell the target 0 and the weight 1. Values
        are not negative; entries at one place are summed. The scores only rank rows. There are no biases and there is no
        search; without `ridge` it is 2.5 alpha, or 0.5 alpha with more than two modes; without `rank` that is 32.
        True or "auto" chooses alpha, and `ridge` and `rank` unless they are given, by rankings: :func:`choose_implicit` learns
        from all entries but the last one of each row of mode 0 and a tenth of the others. The model is then fitted to all entries.
    optimizer : {"als", "adam", "sgd"}
    shrinkage : float, sequence or mapping, optional
        ``observations``, ``share``, ``to_one``. Without it held-out entries choose.
    targets : sequence of {"zero", "one", "left_out"}, optional
        What the rows of each mode are drawn to.
    range : tuple of float, optional
        Lowest and highest prediction.
    rank : int
        R, the rank of the core; 0: the largest J, or chosen if J is not given either.
    biases : bool
        A mean and biases, fitted first; the paper has none.
    bias : sequence or mapping, optional
        ``sweeps`` (10): Sweeps over the modes in the fit of the biases. ``damping`` (5.0): Damp each bias as ``damping``
        entries would.
    seed : int
        Seed of the start and of the held-out entries.
    cg_steps : int
        Implicit feedback: steps of conjugate gradients for each row in an epoch; 0: exact rows.
    max_epochs : int
        Maximum number of epochs.
    ridge : float, optional
        Ridge of a row of a factor, in place of the shrinkage; unset: 5 for adam and sgd.
    ridge_per_entry : bool
        The ridge counts once for every entry of a row (als, sgd).
    core_ridge : float
        Ridge of the core matrices.
    update_cores : bool
        Updates of the core matrices.
    adam : sequence or mapping, optional
        ``step`` (0.01): Learning rate of adam. ``first`` (0.9): Decay of the first moments. ``second`` (0.999): Decay of
        the second moments. ``epsilon`` (1e-08): Added to the root of the second moments.
    sgd : sequence or mapping, optional
        ``step`` (0.01): Learning rate of the factors. ``core_step`` (0.1): Learning rate of the core matrices. ``decay``
        (0.1): After t epochs, divide both rates by 1 + ``decay`` t^1.5. ``intermediates`` (True): C = A B formed once,
        not again for every entry. ``share_fibers`` (True): Products shared over a fiber.
    patience : int
        Stop ``patience`` epochs after the best validation error, keep that; 0: never.
    time_limit_s : float
        Stop after the epoch that passes ``time_limit_s`` seconds.
    checkpoint : path, optional
        Write checkpoints to this file, the last one at the end.
    checkpoint_every : int
        Epochs between checkpoints.
    resume : path, optional
        Continue from a checkpoint; if sums have a fixed order, to the same bits.
    format : str
        Storage format: auto, or a name with options.
    deterministic : bool
        Sum in a fixed order: the same bits at every run.
    duplicates : {"keep", "sum", "last", "error"}
        Entries at one place, in each set: keep them all, each an observation, sum them, take the last one, or make them
        an error.
    callback : function, optional
        Called after each epoch with a dict of ``epoch``, ``train``, ``validation``, ``test``, ``seconds``, with
        `implicit` also ``objective``, the loss over all cells with the ridge. If it returns False, the run ends, with the reason "stopped".
    progress, threads
        As for :func:`cp_als`.

    Returns
    -------
    FastTuckerModel

    Raises
    ------
    UsageError, MemoryError, NumericalError, KeyboardInterrupt
        As for :func:`cp_als`. During the search, ``model`` is the best candidate so far, or mean and biases.

    Examples
    --------
    >>> import polyad
    >>> X = polyad.generate("uniform", (20, 30, 10), 3000, seed=1)
    >>> model = polyad.fast_tucker(X, range=(0, 1))
    >>> predicted = polyad.predict(model, [[0, 0, 0], [19, 29, 9]])
    >>> predicted.shape
    (2,)

    With the last mode as time:

    >>> model = polyad.fast_tucker(X, rank=2, shrinkage=10, time_mode=2, drift=[4, 2, 0])
    >>> [drift.shape for drift in model.drifts]
    [(20, 4), (30, 2), (10, 0)]
    """
    engine = _backend.engine(threads, device)
    if train is None:
        raise UsageError("there are no entries to learn from")
    first = _entries(train, duplicates)
    sets = [first, *(None if entries is None else _entries(entries, duplicates, first) for entries in (validation, test))]
    time_mode = -1 if isinstance(time_mode, (int, np.integer)) and time_mode == -1 else _time_mode(first, time_mode)
    _expect_checkpoint(checkpoint_every, checkpoint)
    is_implicit = implicit is not None and implicit is not False
    has_biases = biases and not is_implicit
    has_ridge = ridge is not None or ridge_per_entry
    for name, is_given, is_used, what in (
        ("bias", bias is not None, has_biases, "models with biases"),
        ("adam", adam is not None, optimizer == "adam", "optimizer='adam'"),
        ("sgd", sgd is not None, optimizer == "sgd", "optimizer='sgd'"),
        ("targets", targets is not None, optimizer == "als", "optimizer='als'"),
        ("shrinkage", shrinkage is not None, optimizer == "als" and not has_ridge, "optimizer='als' without a ridge"),
        ("cg_steps", _count("cg_steps", cg_steps) != 3, is_implicit, "implicit feedback"),
        ("core_ridge", core_ridge, update_cores, "update_cores=True"),
        ("patience", patience, validation is not None, "runs with a validation set"),
    ):
        if is_given and not is_used:
            raise UsageError(f"{name} is for {what}: leave it out")
    for k in (1, 2):
        entries = sets[k]
        if entries is None:
            continue
        entries = entries.astype(first.dtype)
        if entries.shape != first.shape or entries.coords.itemsize != first.coords.itemsize:
            if len(entries.shape) != len(first.shape) or any(a > b for a, b in zip(entries.shape, first.shape)):
                raise UsageError(f"entries of {entries.shape} for a training set of {first.shape}")
            # Checked before they may become narrower.
            entries = SparseTensor(entries.coords, entries.values, first.shape, duplicates="keep")
            entries = _trusted(entries.coords.astype(first.coords.dtype), entries.values, first.shape, None)
        sets[k] = entries
    options: dict[str, Any] = {
        "rank": _count("rank", rank),
        "biases": bool(biases),
        **_group("bias", bias, {"sweeps": 10, "damping": 5.0}),
        "seed": _count("seed", seed),
        "cg_steps": _count("cg_steps", cg_steps),
        "max_epochs": _count("max_epochs", max_epochs),
        "ridge": None if ridge is None else _limit("ridge", ridge, 0),
        "ridge_per_entry": bool(ridge_per_entry),
        "core_ridge": _limit("core_ridge", core_ridge, 0),
        "update_cores": bool(update_cores),
        **_group("adam", adam, {"step": 0.01, "first": 0.9, "second": 0.999, "epsilon": 1e-08}),
        **_group("sgd", sgd, {"step": 0.01, "core_step": 0.1, "decay": 0.1, "intermediates": True, "share_fibers": True}),
        "patience": _count("patience", patience),
        "time_limit_s": _limit("time_limit_s", time_limit_s, 0),
        "checkpoint": "" if checkpoint is None else os.fspath(checkpoint),
        "checkpoint_every": _count("checkpoint_every", checkpoint_every, 1),
        "resume": "" if resume is None else os.fspath(resume),
        "format": format,
        "deterministic": bool(deterministic),
        "optimizer": optimizer,
        "bias.time_mode": time_mode,
    }
    if columns is not None:
        given = [columns] if isinstance(columns, (int, np.integer)) else columns
        options["columns"] = [_count("columns", number, 1) for number in given]
    if time_mode != -1:
        if not biases:
            raise UsageError("a mode of time is about biases: it needs them")
        if drift is not None:
            options["bias.drift"] = _drifts(drift, first.ndim, time_mode)
    elif drift is not None:
        raise UsageError("a drift needs a mode of time")
    searches = implicit is True or isinstance(implicit, str)
    alpha = None if searches else _alpha(implicit)
    if alpha is not None:
        options["implicit"] = alpha
    if shrinkage is not None:
        options["shrinkage"] = _rates("shrinkage", shrinkage, {"observations": 10, "share": 0.05, "to_one": 1000})
    if targets is not None:
        options["targets"] = [str(target) for target in targets]
        if len(options["targets"]) != first.ndim:
            raise UsageError(f"there are {len(options['targets'])} targets for {first.ndim} modes")
    if range is not None:
        options["range"] = _range("range", range)
    choice = _chosen_by_ranking(implicit, engine, first, options) if searches else None
    watch, close = _watched(callback, progress, max_epochs, "epoch")
    try:
        result = engine.fast_tucker(
            first._held, *(None if entries is None else entries._held for entries in sets[1:]), options, watch
        )
    finally:
        close()
    model = FastTuckerModel._of(result, first._names)
    model.observed = _observed(first)
    model.choice = choice or model.choice
    return _unless_interrupted(model, result)
