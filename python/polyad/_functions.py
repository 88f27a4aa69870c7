# SPDX-License-Identifier: BSD-3-Clause
"""The drivers and products as functions."""

from __future__ import annotations

import builtins
import functools
import math
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from . import _backend, _device
from ._errors import InputError, MemoryError, NumericalError, UsageError
from ._keywords import own_keywords
from ._models import CPModel, FastTuckerModel, Rankings, TuckerModel
from ._names import Names, Unknown, rows_of, same_numbering
from ._table import columns_of, is_table
from ._tensor import SparseTensor, _coordinates, _expect_unmasked, _extents, _trusted, _zeros, asarray, frame_of, without_repeats

if TYPE_CHECKING:
    from numpy.typing import NDArray

Callback = Callable[[dict[str, Any]], Any]
P = ParamSpec("P")
R = TypeVar("R")
Model = TypeVar("Model", CPModel, TuckerModel, FastTuckerModel)


class Format:
    """A tensor in a storage format, chosen once for several runs (:func:`any_format`).

    Attributes
    ----------
    shape : tuple of int
    nnz : int
    dtype : numpy.dtype
    chosen : str
        The format's name.
    because : str
        Why it was chosen.
    warning : str
        What its results may lose: formats that add float32 term by term lose digits in long rows. Otherwise empty.
    storage_bytes : int
    rank : int
        The rank that it was built for.
    """

    def __init__(self, held: Any, names: Names | None = None, package: str = "numpy") -> None:
        self._held = held
        self._package = package
        self._names = names or Names()
        self.shape: tuple[int, ...] = tuple(held.extents)
        self.nnz: int = held.nnz
        self.dtype = np.dtype(np.float32 if held.single else np.float64)
        self.chosen: str = held.chosen
        self.because: str = held.because
        self.warning: str = held.warning
        self.storage_bytes: int = held.storage_bytes
        self.rank: int = held.rank

    def __repr__(self) -> str:
        return f"Format({self.chosen}, {' x '.join(map(str, self.shape))}, {self.nnz} nonzeros, {self.dtype})"


@own_keywords
def any_format(
    X: Any,
    *,
    rank: int = 16,
    iterations: float = 20,
    format: str = "auto",  # noqa: A002
    deterministic: bool = False,
    duplicates: str = "sum",
    threads: int | None = None,
    device: int | None = None,
) -> Format:
    """Choose and build a storage format, for several runs or products of one tensor.

    Parameters
    ----------
    X : SparseTensor or what :func:`asarray` takes
    rank : int
        The rank of the models to come, for memory and times.
    iterations : float
        The expected number of iterations.
    format : str
        "auto", or a name with options: "sorted", "f-coo:threadlen=16".
    deterministic : bool
        A fixed order of summation: the same bits at every run.
    duplicates : {"sum", "last", "error"}
        Nonzeros at one place: sum them, take the last one, or make them an error.
    threads, device : int, optional
        As for :func:`set_threads` and :func:`set_device`.

    Returns
    -------
    Format

    Examples
    --------
    >>> import polyad
    >>> X = polyad.generate("uniform", (20, 30, 40), 500)
    >>> polyad.any_format(X, rank=4, format="sorted").chosen
    'sorted'
    """
    engine = _backend.engine(threads, device)
    tensor = without_repeats(X, duplicates)
    held = engine.build_format(tensor._held, _count("rank", rank), float(iterations), format, deterministic, False)
    if held.warning:
        warnings.warn(held.warning, stacklevel=3)  # through own_keywords
    return Format(held, tensor._names, tensor._package)


def _compare_formats(
    X: Any, rank: int, iterations: float, format: str, deterministic: bool, threads: int | None, measure: bool  # noqa: A002
) -> dict[str, Any]:
    engine = _backend.engine(threads)
    tensor = without_repeats(X, "sum")
    found: dict[str, Any] = engine.compare_formats(
        tensor._held, _count("rank", rank, 1), float(iterations), format, deterministic, measure
    )
    return found


@own_keywords
def estimate(
    X: Any, *, rank: int = 16, iterations: float = 20, deterministic: bool = False, threads: int | None = None
) -> dict[str, Any]:
    """Predict the memory and the time of each storage format with the cost model; nothing is built.

    Parameters
    ----------
    X : SparseTensor or what :func:`asarray` takes
        Nonzeros at one place are summed.
    rank, iterations, deterministic, threads
        As for :func:`any_format`.

    Returns
    -------
    dict
        ``best``, the name of the fastest format that fits (empty if none does), ``because``, ``free_bytes``, and
        ``candidates``, the best first: dicts of ``name``, ``bytes``, ``build_bytes``, ``need_bytes`` (at most,
        factors included), ``fits``, ``streams``, ``predicted`` and ``measured``. The last two are None, or dicts of
        seconds: ``load_s`` of the kernels, ``build_s``, ``mode_s`` of an MTTKRP of each mode, ``iteration_s``.

    Examples
    --------
    >>> import polyad
    >>> X = polyad.generate("uniform", (20, 30, 40), 500)
    >>> found = polyad.estimate(X, rank=4)
    >>> found["best"] == found["candidates"][0]["name"]
    True
    """
    return _compare_formats(X, rank, iterations, "auto", deterministic, threads, False)


@own_keywords
def tune(
    X: Any,
    *,
    rank: int = 16,
    iterations: float = 20,
    format: str = "auto",  # noqa: A002
    deterministic: bool = False,
    threads: int | None = None,
) -> dict[str, Any]:
    """Measure the time of each storage format on the tensor itself.

    Parameters
    ----------
    X : SparseTensor or what :func:`asarray` takes
        Nonzeros at one place are summed.
    rank, iterations, deterministic, threads
        As for :func:`any_format`.
    format : str
        "auto" tries all formats that fit. A name tries only that format, in all its shapes.

    Returns
    -------
    dict
        The same as from :func:`estimate`, with ``measured``; and ``shapes``, pairs of a format with its options and seconds for
        all modes, the fastest first. Pass ``best``, or the first of ``shapes``, as `format` to :func:`cp_als`.

    Examples
    --------
    >>> import polyad
    >>> X = polyad.generate("uniform", (20, 30, 40), 500)
    >>> found = polyad.tune(X, rank=4, format="sorted")
    >>> found["best"], len(found["candidates"][0]["measured"]["mode_s"])
    ('sorted', 3)
    """
    return _compare_formats(X, rank, iterations, format, deterministic, threads, True)


def _count(name: str, value: Any, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise UsageError(f"{name} is an int of {least} or more, not {value!r}")
    if value >= 2**64:
        raise UsageError(f"{name} is an int below 2^64, not {value!r}")
    return int(value)


def _limit(name: str, value: Any, least: float = -math.inf) -> float:
    """A number that is not NaN and not less than `least`."""
    try:
        number = math.nan if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError):
        raise UsageError(f"{name} is a number, not {value!r}") from None
    if math.isnan(number):
        raise UsageError(f"{name} is a number, not {value!r}")
    if number < least:
        raise UsageError(f"{name} is {least:g} or more, not {value!r}")
    return number


def _per_mode(name: str, given: Any, order: int) -> list[float]:
    """Numbers of at least 0, one for each mode, from one number, a sequence or a mapping of modes; none if all are 0."""
    if isinstance(given, Mapping):
        numbers = [0.0] * order
        for mode, number in given.items():
            if _count(f"a mode of {name}", mode) >= order:
                raise UsageError(f"{name} names mode {mode}, but the tensor has modes 0 to {order - 1}")
            numbers[mode] = _limit(f"{name} of mode {mode}", number, 0)
    elif np.ndim(given) == 0:
        numbers = [_limit(name, given, 0)] * order
    else:
        numbers = [_limit(f"{name} of mode {mode}", number, 0) for mode, number in enumerate(given)]
        if len(numbers) != order:
            raise UsageError(f"{name} has {len(numbers)} numbers, and the tensor {order} modes")
    return numbers if any(numbers) else []


def _modes_by_number(given: Any, X: Any) -> Any:
    """A mapping or a sequence of modes, or one mode, with the numbers of modes for their names; other things as they are."""
    names: Names = getattr(X, "_names", None) or Names()
    order = len(X.shape)
    if isinstance(given, Mapping):
        return {names.mode_number(mode, order): number for mode, number in given.items()}
    if isinstance(given, str):
        return names.mode_number(given, order)
    if isinstance(given, (list, tuple)) and any(isinstance(mode, str) for mode in given):
        return [names.mode_number(mode, order) for mode in given]
    return given


def _bounds(name: str, given: Any, order: int, usual: float) -> list[float]:
    """Numbers of any sign, one for each mode, from None, one number, a sequence or a mapping of modes."""
    numbers = [usual] * order
    if isinstance(given, Mapping):
        for mode, number in given.items():
            if _count(f"a mode of {name}", mode) >= order:
                raise UsageError(f"{name} names mode {mode}, but the tensor has modes 0 to {order - 1}")
            numbers[mode] = usual if number is None else _limit(f"{name} of mode {mode}", number)
        return numbers
    if given is None or np.ndim(given) == 0:
        return [usual if given is None else _limit(name, given)] * order
    if len(given) != order:
        raise UsageError(f"{name} has {len(given)} numbers, and the tensor {order} modes")
    return [usual if number is None else _limit(f"{name} of mode {n}", number) for n, number in enumerate(given)]


def _nonnegative_modes(given: Any, order: int) -> list[bool]:
    """Whether each mode is nonnegative, from a bool, one for each mode, a list of modes or a mapping of modes."""
    if isinstance(given, (bool, np.bool_)):
        return [bool(given)] * order
    if isinstance(given, (Sequence, np.ndarray)) and len(given) > 0 and all(isinstance(one, (bool, np.bool_)) for one in given):
        if len(given) != order:
            raise UsageError(f"nonnegative has {len(given)} bools, and the tensor {order} modes")
        return [bool(one) for one in given]
    if given is None or isinstance(given, (str, bytes)) or np.ndim(given) == 0 and not isinstance(given, Mapping):
        raise UsageError(f"nonnegative is True, False, one of them for each mode, a list of modes or a dict of modes, not {given!r}")
    result = [False] * order
    for mode in given:
        if _count("a mode of nonnegative", mode) >= order:
            raise UsageError(f"nonnegative names mode {mode}, but the tensor has modes 0 to {order - 1}")
        result[mode] = bool(given[mode]) if isinstance(given, Mapping) else True
    return result


_separate = {"nonnegative": False, "lower": None, "upper": None, "l1": 0.0, "ridge": 0.0}


def _of_one_mode(given: Any) -> dict[str, Any]:
    """What a mode's constraints say, by the names of the separate arguments."""
    if given is None:
        return {}
    if isinstance(given, str):
        given = {given: True}
    if not isinstance(given, Mapping):
        raise UsageError(f"the constraints of a mode are 'nonnegative' or a dict of {', '.join(_separate)}, not {given!r}")
    for name in given:
        if name not in _separate:
            from ._foreign_names import unknown_keyword

            raise unknown_keyword("constraints", str(name), _separate)
    for name in ("lower", "upper", "l1", "ridge"):
        if isinstance(given.get(name), bool):
            raise UsageError(f"constraints take a number for {name!r}, not {given[name]!r}")
    return dict(given)


def _settled(constraints: Any, separate: dict[str, Any], order: int) -> dict[str, Any]:
    """The separate arguments, or what `constraints` says in their place: one value for all modes, one for each mode, or
    a mapping of modes."""
    if constraints is None:
        return separate
    for name, usual in _separate.items():
        given = separate[name]
        if isinstance(given, Mapping) or np.ndim(given) > 0 or given != usual:
            raise UsageError(f"give either constraints or {name}, not both")
    if isinstance(constraints, str) or isinstance(constraints, Mapping) and all(isinstance(k, str) for k in constraints):
        modes = [_of_one_mode(constraints)] * order
    elif isinstance(constraints, Mapping):
        modes = [{} for _ in range(order)]
        for mode, given in constraints.items():
            if _count("a mode of constraints", mode) >= order:
                raise UsageError(f"constraints name mode {mode}, but the tensor has modes 0 to {order - 1}")
            modes[mode] = _of_one_mode(given)
    elif isinstance(constraints, Sequence):
        if len(constraints) != order:
            raise UsageError(f"constraints are of {len(constraints)} modes, and the tensor has {order}")
        modes = [_of_one_mode(given) for given in constraints]
    else:
        raise UsageError(f"constraints are of all modes, a list with those of each mode, or a dict of modes, not {constraints!r}")
    return {name: {n: mode[name] for n, mode in enumerate(modes) if name in mode} or usual for name, usual in _separate.items()}


def _updates(
    nonnegative: Any, lower: Any, upper: Any, l1: Any, ridge: Any, inner: int | str, order: int
) -> list[tuple[Any, ...]]:
    """(lower, upper, l1, ridge, inner) of each mode; none at all if no mode has bounds or penalties."""
    if isinstance(inner, str):
        if inner != "exact":
            raise UsageError(f"inner is an int of 1 or more, or 'exact', not {inner!r}")
        sweeps = _backend.module().exact_inner
    else:
        sweeps = _count("inner", inner, 1)
    low = _bounds("lower", lower, order, -math.inf)
    for mode, is_nonnegative in enumerate(_nonnegative_modes(nonnegative, order)):
        low[mode] = max(low[mode], 0.0) if is_nonnegative else low[mode]
    high = _bounds("upper", upper, order, math.inf)
    magnitudes, squares = _per_mode("l1", l1, order), _per_mode("ridge", ridge, order)
    if sweeps != 1 and not any(magnitudes) and max(low) == -math.inf and min(high) == math.inf:
        raise UsageError(f"inner={inner!r} is for modes with bounds or an l1 penalty, and no mode has one")
    if not magnitudes and not squares and max(low) == -math.inf and min(high) == math.inf:
        return []
    zeros = [0.0] * order
    return [(*numbers, sweeps) for numbers in zip(low, high, magnitudes or zeros, squares or zeros)]


def _warn_of_negative_values(updates: Sequence[tuple[Any, ...]], tensor: SparseTensor) -> None:
    """A model without negative numbers does not reach negative values."""
    if not updates or any(update[0] < 0 for update in updates):
        return
    values = np.asarray(tensor.to_host().values, dtype=np.float64)
    if not (values < 0).any():
        return
    squares = np.square(values / np.abs(values).max())  # neither overflow nor vanish
    warnings.warn(
        f"all modes are nonnegative, and negative values have {100 * squares[values < 0].sum() / squares.sum():.3g} % of the "
        "tensor's squared norm: the model cannot reach them",
        stacklevel=5,  # through cp_als and its two decorators
    )


def _shares_of_weights(updates: Sequence[tuple[Any, ...]], fixed: Sequence[int], order: int) -> dict[int, float]:
    """The k modes that share the weights w of a start, each with the factor of its share, which is factor * |w|^(1/k): the
    one whose scale is free, or else those with a ridge alone, whose penalties are equal at the minimum, or else those
    whose scale is limited by penalties."""
    limited: dict[int, float] = {}
    ridges: dict[int, float] = {}
    for n, (low, high, l1, ridge, _) in enumerate(updates or [(-math.inf, math.inf, 0, 0, 1)] * order):
        if n in fixed:
            continue
        if l1 == ridge == 0 and low in (0, -math.inf) and high in (0, math.inf):
            return {n: 1.0}
        if not (math.isfinite(low) and math.isfinite(high)):
            limited[n] = 1.0
        if l1 == 0 and low == -math.inf and high == math.inf:
            ridges[n] = ridge
    mean = sum(map(math.log, ridges.values())) / max(len(ridges), 1)
    shares = {n: math.exp((mean - math.log(ridge)) / 2) for n, ridge in ridges.items()}
    return shares or limited or {n: 1.0 for n in [n for n in range(order) if n not in fixed][:1]}


def _fixed_modes(given: Any, order: int) -> list[int]:
    """Modes, from one number or a sequence."""
    modes = [given] if np.ndim(given) == 0 else list(given)
    for mode in modes:
        if _count("a mode of fix", mode) >= order:
            raise UsageError(f"fix names mode {mode}, but the tensor has modes 0 to {order - 1}")
    return [int(mode) for mode in modes]


def _range(name: str, given: Any) -> tuple[float, float]:
    """The lowest and the highest number."""
    try:
        lowest, highest = () if isinstance(given, (str, bytes)) else given
    except (TypeError, ValueError):
        raise UsageError(f"{name} is (lowest, highest), not {given!r}") from None
    ends = _limit(f"the lowest number of {name}", lowest), _limit(f"the highest number of {name}", highest)
    if ends[0] > ends[1]:
        raise UsageError(f"{name} is (lowest, highest), and {lowest!r} is more than {highest!r}")
    return ends


def _matrices(arrays: Sequence[Any], dtype: np.dtype[Any]) -> list[Any]:
    """Row-major matrices of that type; without a copy where they are, whatever the stride of their rows."""
    result = []
    for n, array in enumerate(arrays):
        if _device.is_on_device(array):
            if len(array.shape) != 2:
                raise UsageError(f"matrix {n} has {len(array.shape)} dimensions")
            result.append(_device.rows(array, dtype))
            continue
        _expect_unmasked(array, f"the entries of matrix {n}")
        matrix = np.asarray(array)
        if matrix.ndim != 2:
            raise UsageError(f"matrix {n} has {matrix.ndim} dimensions")
        if matrix.dtype.kind not in "iufb":
            raise UsageError(f"expected a matrix of real numbers, not of {matrix.dtype}")
        row_major = matrix.shape[1] <= 1 or matrix.strides[1] == matrix.itemsize
        rows = matrix.strides[0] if matrix.shape[0] > 1 else matrix.shape[1] * matrix.itemsize
        fits = row_major and rows % max(matrix.itemsize, 1) == 0 and rows >= matrix.shape[1] * matrix.itemsize
        if matrix.dtype != dtype or not fits or not matrix.flags.aligned:
            matrix = np.array(matrix, dtype=dtype, order="C")
        result.append(matrix)
    return result


def _factors_of(start: Any) -> Any:
    if hasattr(start, "factors"):
        return start.factors
    if hasattr(start, "factor_matrices"):
        return start.factor_matrices
    if isinstance(start, tuple) and len(start) == 2 and not hasattr(start[1], "ndim"):
        return start[1]
    return start


def _cp_start(start: Any, dtype: np.dtype[Any], shares: Mapping[int, float]) -> list[Any]:
    """The matrices of a start, with their shares of a model's weights (_shares_of_weights)."""
    factors = list(_factors_of(start))
    is_pair = isinstance(start, tuple) and _factors_of(start) is not start
    weights = start[0] if is_pair else getattr(start, "weights", None)
    if weights is not None and factors:
        first = next(iter(shares), 0)
        for n, share in shares.items():
            if n >= len(factors):
                continue  # the engine says how many there must be
            on_device = _device.is_on_device(factors[n])
            factors[n] = factors[n] * 1 if on_device else np.array(factors[n], dtype=dtype)
            for r, weight in enumerate(weights):
                size = share * abs(float(weight)) ** (1 / len(shares))
                factors[n][:, r] *= math.copysign(size, float(weight)) if n == first else size
    return _matrices(factors, dtype)


def _expect_same_rows(what: str, model: Any, tensor: Any) -> None:
    """UsageError if a model and a tensor have labels, but other ones. Tensors were matched before, Formats cannot be."""
    names = getattr(model, "_names", None)
    if names is not None and not same_numbering(names, tensor._names):
        raise UsageError(f"{what} and the tensor have different numberings: their rows have other labels")


def _lists_of(start: Any) -> Any:
    """The lists of rows of a start that is a model of ours."""
    return start._lists if isinstance(start, (CPModel, TuckerModel)) else None


def _looked_up(X: Any, given: Any, mode: int) -> tuple[Any, list[Any]]:
    """The tensor and the factors of a product. A model may store only some rows: then the nonzeros in these rows,
    renumbered, since the others contribute nothing. The factor of `mode` plays no part."""
    factors = list(_factors_of(given))
    if _lists_of(given) is None or not 0 <= mode < len(factors):
        return X, factors
    if isinstance(X, Format):
        raise UsageError("the model stores only the rows that occur: a product with it takes the tensor, not a Format")
    tensor = X.to_host()
    if tensor.ndim != len(factors) or any(tensor.shape[n] != given.shape[n] for n in range(len(factors)) if n != mode):
        raise UsageError(f"a model of {given.shape}, but the tensor is {tensor.shape}")
    coords, kept, shape = np.array(tensor.coords), np.ones(tensor.nnz, dtype=bool), list(tensor.shape)
    for n, numbers in enumerate(given.rows):
        if n == mode or numbers is None:
            continue
        at, stored = given._positions(n, coords[:, n].astype(np.int64))
        kept &= stored
        coords[:, n] = at
        shape[n] = max(len(numbers), 1)
    columns = _device.to_host(factors[mode]).shape[1]
    factors[mode] = _zeros((shape[mode], columns), np.float64, "the product", f"the product, {shape[mode]} x {columns},")
    return _trusted(coords[kept], np.asarray(tensor.values)[kept], tuple(shape), None), factors


def _new_slices(model: CPModel, X: Any, where: int) -> Any:
    """A tensor of slices along mode `where`, without duplicates. Rows of the other modes get the numbers of the model.

    Raises
    ------
    InputError
        For labels that the model does not have.
    UsageError
        If only one of the two has labels in one of the other modes, and they are not numbers.
    """
    names: Names = model._names
    if isinstance(X, Format):
        return X
    if is_table(X) and names.mode_names is not None:
        columns = list(getattr(X, "column_names", X.columns))  # pyarrow, or pandas and polars
        others = [column for column in columns if column not in names.mode_names]
        if others and len(columns) == len(names.mode_names) + len(others):
            X = asarray(X, modes=list(names.mode_names), value=others[-1])
    tensor = without_repeats(X, "sum")
    if (tensor.labels is None and names.labels is None) or tensor.ndim != len(model.shape):
        return tensor
    order = len(model.shape)
    labels = [tensor._names.of_mode(n) if n == where else names.of_mode(n) for n in builtins.range(order)]
    known = Names(labels, names.mode_names, names.index_base)
    shape = [tensor.shape[n] if n == where else model.shape[n] for n in builtins.range(order)]
    return asarray(tensor, like=SimpleNamespace(_names=known, shape=shape))


def _project(model: CPModel, X: Any, mode: int, threads: int | None) -> Any:
    """Rows of a model's mode for the slices of X, whose other rows are numbered as the model's."""
    engine = _backend.engine(threads)
    held = X if isinstance(X, Format) else asarray(X)
    where = _mode(mode, len(model.factors))
    sizes = [size for n, size in enumerate(held.shape) if n != where]
    if len(held.shape) != len(model.factors) or sizes != [size for n, size in enumerate(model.shape) if n != where]:
        raise UsageError(f"a model of {model.shape}, but the tensor is {tuple(held.shape)}, and only mode {where} may differ")
    package, dtype = held._package, held.dtype
    held, factors = _looked_up(held, model, where)
    # Its numbers play no part; its rows are the tensor's.
    factors[where] = np.zeros((held.shape[where], model.rank), dtype=dtype)
    if isinstance(held, Format):
        format = held._held  # noqa: A001
    else:
        format = engine.build_format(held._held, model.rank, 1.0 / len(held.shape), "auto", False, False)  # noqa: A001
    limits = [[c["lower"], c["upper"], c["l1"], c["ridge"]] for c in model.constraints or []]
    rows, _, _ = engine.project(format, [float(weight) for weight in model.weights], _matrices(factors, dtype), limits, where)
    return _device.as_package(rows, package)


class _Progress:
    """tqdm where it is installed, otherwise a line on stderr from time to time."""

    def __init__(self, total: int, name: str) -> None:
        self._name = name
        try:
            self._bar = import_module("tqdm.auto").tqdm(total=total, desc=name)
        except ImportError:
            self._bar = None

    def __call__(self, step: dict[str, Any]) -> None:
        number = step.get("iteration", step.get("epoch"))
        if "fit" in step:
            text = f"fit {step['fit']:.6f}"
        else:
            errors = step["test"] or step["validation"] or step["train"]
            text = f"RMSE {errors['rmse']:.5f}" if errors else ""
        if self._bar is not None:
            self._bar.update(number - self._bar.n)
            self._bar.set_postfix_str(text)
        else:
            print(f"{self._name} {number}: {text}", file=sys.stderr)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _watched(callback: Callback | None, progress: bool, total: int, name: str) -> tuple[Callback | None, Callable[[], None]]:
    if callback is not None and not callable(callback):
        raise UsageError(f"the callback is a function, not {callback!r}")
    if not progress:
        return callback, lambda: None
    shown = _Progress(total, name)

    def both(step: dict[str, Any]) -> Any:
        shown(step)
        return None if callback is None else callback(step)

    return both, shown.close


def _interruptible(driver: Callable[P, R]) -> Callable[P, R]:
    """Who catches a KeyboardInterrupt of the driver finds the attribute ``model`` in it, None without a model."""

    @functools.wraps(driver)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return driver(*args, **kwargs)
        except KeyboardInterrupt as interrupt:
            if not hasattr(interrupt, "model"):
                interrupt.model = None  # type: ignore[attr-defined]
            raise

    return run


def _unless_interrupted(model: Model, result: dict[str, Any]) -> Model:
    """The model, or the KeyboardInterrupt that ended its run, with the model in it."""
    interrupt = result["interrupted"]
    if interrupt is None:
        return model
    interrupt.model = model
    raise interrupt


def _rates(name: str, given: Any, names: Mapping[str, float]) -> list[float]:
    """A mapping by the names, or the numbers in their order; what is left out keeps its default."""
    if isinstance(given, Mapping):
        unknown = set(given) - set(names)
        if unknown:
            raise UsageError(f"{name} has no {', '.join(sorted(unknown))}; it has {', '.join(names)}")
        return [_limit(f"{key} of {name}", given.get(key, default)) for key, default in names.items()]
    numbers = [_limit(name, number) for number in ([given] if np.ndim(given) == 0 else given)]
    if not 1 <= len(numbers) <= len(names):
        raise UsageError(f"{name} is ({', '.join(names)})")
    return numbers + list(names.values())[len(numbers) :]


def _group(name: str, given: Any, defaults: Mapping[str, float]) -> dict[str, Any]:
    """Options of one argument, by their names in C++: `adam` has "adam.step" and others."""
    if given is None:
        return {}
    return {f"{name}.{key}": type(defaults[key])(x) for key, x in zip(defaults, _rates(name, given, defaults))}


def _drifts(drift: Any, order: int, time_mode: int) -> list[tuple[int, float]]:
    """Bins and damping of each mode: one for all but that of time, or a sequence of as many as there are modes."""
    single = isinstance(drift, (int, np.integer, Mapping))
    modes = [0 if n == time_mode else drift for n in range(order)] if single else list(drift)
    if len(modes) != order:
        raise UsageError(f"there are {len(modes)} drifts for {order} modes")
    result = []
    for given in modes:
        if not isinstance(given, Mapping):
            numbers = [given] if isinstance(given, (int, np.integer)) else list(given)
            if not 1 <= len(numbers) <= 2:
                raise UsageError(f"a drift is bins, or (bins, damping), not {given!r}")
            given = dict(zip(("bins", "damping"), numbers))
        unknown = set(given) - {"bins", "damping"}
        if unknown or "bins" not in given:
            raise UsageError(f"a drift has bins and perhaps damping, not {dict(given)!r}")
        result.append((_count("bins", given["bins"]), _limit("damping", given.get("damping", 30.0), 0)))
    return result


def _alpha(implicit: Any) -> float | None:
    """The weight of implicit feedback; None without it. True is 40, as for the tool's project --implicit."""
    if implicit is None or implicit is False:
        return None
    if implicit is True:
        return 40.0
    alpha = _limit("implicit", implicit)
    if not 0 < alpha < math.inf:
        raise UsageError(f"implicit is an alpha above 0, not {implicit!r}")
    return alpha


def _entries(given: Any, duplicates: str, like: SparseTensor | None = None) -> SparseTensor:
    """Entries of completion, with the rows of `like`."""
    if duplicates not in ("keep", "sum", "last", "error"):
        raise UsageError(f"duplicates is keep, sum, last or error, not {duplicates!r}")
    entries = asarray(given, duplicates=duplicates, like=like)
    if not isinstance(given, SparseTensor) or duplicates == "keep":
        return entries
    merged = SparseTensor(entries.coords, entries.values, entries.shape, duplicates=duplicates)
    return _trusted(merged.coords, merged.values, merged.shape, entries._names)


def _observed(X: SparseTensor) -> list[Any] | None:
    """For each mode, which rows have entries; None if every row has some."""
    coords = X.to_host().coords
    marks: list[Any] = []
    for n, size in enumerate(X.shape):
        marked = np.zeros(size, dtype=bool)
        marked[coords[:, n]] = True
        marks.append(None if marked.all() else marked)
    return None if all(marked is None for marked in marks) else marks


def _given(model: FastTuckerModel, range: Any = None) -> tuple[dict[str, Any], np.dtype[Any]]:  # noqa: A002
    """The model as the compiled module takes it, and its type."""
    if not isinstance(model, FastTuckerModel):
        raise UsageError(f"expected a FastTuckerModel, not {type(model).__name__}")
    dtype = np.dtype(np.float32 if all(f.dtype == np.float32 for f in model.factors) else np.float64)
    lowest, highest = model.range if range is None else _range("clip", range)
    given = {
        "factors": _matrices(model.factors, dtype),
        "cores": _matrices(model.cores, dtype),
        "biases": [np.ascontiguousarray(bias, dtype=dtype) for bias in model.biases],
        "time_mode": model.time_mode,
        "drifts": _matrices(model.drifts, dtype),
        "mean": model.mean,
        "lowest": lowest,
        "highest": highest,
        "observed": [None if rows is None else np.ascontiguousarray(rows, dtype=np.uint8) for rows in model.observed or ()],
    }
    return given, dtype


def _expected_by_biases(model: FastTuckerModel, places: NDArray[Any]) -> NDArray[Any]:
    """Mean, biases and drifts at places, clipped. A row that the model does not have has no bias."""
    expected = np.full(len(places), model.mean)
    time = model.time_mode
    for n, bias in enumerate(model.biases):
        known = places[:, n] < len(bias)
        expected[known] += bias[places[known, n]]
    for n, drift in enumerate(model.drifts):
        bins = drift.shape[1]
        if bins == 0:
            continue
        known = places[:, n] < len(drift)
        times = model.shape[time]
        bin_of = np.minimum(places[known, time], times - 1) * bins // times
        expected[known] += drift[places[known, n], bin_of]
    return np.clip(expected, *model.range)


def _first_new(model: FastTuckerModel, places: NDArray[Any], also_empty: bool) -> tuple[int, int, str] | None:
    """The first place with a row that the model does not have: its number, the mode, and the fault."""
    outside = places >= np.asarray(model.shape)
    empty = np.zeros_like(outside)
    for n, rows in enumerate(model.observed or ()):
        if rows is not None and also_empty:
            empty[:, n] = ~np.asarray(rows, dtype=bool)[np.minimum(places[:, n], len(rows) - 1)]
    faults = (outside | empty).any(axis=1)
    if not faults.any():
        return None
    k = int(np.argmax(faults))
    n = int(np.argmax((outside | empty)[k]))
    fault = "which the model does not have" if outside[k, n] else "which has no entries in the training set"
    return k, n, fault


def _placed(model: FastTuckerModel, places: Any, what: str) -> tuple[NDArray[Any], list[Unknown], Names]:
    """Coordinates by the model's rows, and what these are called. Labels that it does not have get rows after its own."""
    names: Names = model._names
    if is_table(places):
        found = columns_of(places, None, None, True, names, model.shape)
        return found.coords, found.unknown, found.names
    if isinstance(places, SparseTensor):
        if places.labels is not None or places._shows_base:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # who called counts them
                places = asarray(places, like=model, unknown="new")
        return places.coords, [], names if places.labels is None else places._names
    return _coordinates(places), [], names


def _fault_text(model: Any, coords: NDArray[Any], unknown: Sequence[Unknown], fault: tuple[int, int, str]) -> str:
    """The place with a row that the model does not have."""
    k, n, reason = fault
    bits = 8 * coords.itemsize
    place = tuple(int(row) - (2**bits if row >= 2 ** (bits - 1) else 0) for row in coords[k])
    text = f"{'; '.join(map(str, unknown))}: " if unknown else ""
    return f"{text}place {k}, {place}, has row {place[n]} of {model._names.mode_text(n)}, {reason}"


def _values_at(
    model: CPModel | TuckerModel, coords: Any, unknown: Sequence[Unknown], given: Any, cold_start: str | None, threads: int | None
) -> NDArray[Any]:
    """The model's values at coordinates, or what is left of the given values."""
    if cold_start not in (None, "refuse", "zero"):
        raise UsageError(f"cold_start of a CP or Tucker model is refuse or zero, not {cold_start!r}")
    engine = _backend.engine(threads)
    shape = model.shape
    if coords.shape[1] != len(shape):
        raise UsageError(f"places of {coords.shape[1]} numbers for a model of {len(shape)} modes")
    arrays = [*model.factors, model.core] if isinstance(model, TuckerModel) else list(model.factors)
    single = all(_device.dtype_of(array) == np.float32 for array in arrays)
    dtype = np.dtype(np.float32 if single and (given is None or _device.dtype_of(given) == np.float32) else np.float64)
    core: list[Any] = []
    if isinstance(model, TuckerModel):
        # Unfolded by the last mode, as the library has it.
        unfolded = np.moveaxis(np.asarray(_device.to_host(model.core)), -1, 0)
        core = _matrices([np.ascontiguousarray(unfolded, dtype=dtype).reshape(unfolded.shape[0], -1)], dtype)
    weights = [float(weight) for weight in model.weights] if isinstance(model, CPModel) else []
    on_device = _device.is_on_device(coords)
    inside = None
    if not on_device:
        outside = coords >= np.asarray(shape, dtype=np.uint64)
        faulty = outside.any(axis=1)
        if faulty.any():
            k = int(np.argmax(faulty))
            if cold_start != "zero":
                fault = (k, int(np.argmax(outside[k])), "which the model does not have")
                raise UsageError(f"{_fault_text(model, coords, unknown, fault)}; cold_start='zero' takes the value there as 0")
            inside = ~faulty
    values = None if given is None else _device.typed(given, dtype) if on_device else np.ascontiguousarray(given, dtype=dtype)
    out = np.zeros(coords.shape[0], dtype=dtype) if values is None or on_device else np.array(values)
    at, left = coords if on_device else np.ascontiguousarray(coords), values
    if inside is not None:
        at, left = np.ascontiguousarray(coords[inside]), None if values is None else values[inside]
    found = np.empty(at.shape[0], dtype=dtype)
    factors = _matrices(model.factors, dtype)
    engine.model_values(weights, factors, core, model._lists, at, [] if left is None else [left], found)
    if not np.isfinite(found).all():
        k = int(np.flatnonzero(~np.isfinite(found))[0])
        row = coords[k] if inside is None else at[k]
        place = tuple(int(i) for i in np.asarray(_device.to_host(row)))
        what = "the model's value" if given is None else "the residual"
        raise NumericalError(f"{what} at {place} is not a finite number")
    if inside is None:
        return found
    out[inside] = found
    return out


def _expect_model_first(model: Any) -> None:
    if not isinstance(model, (CPModel, TuckerModel, FastTuckerModel)):
        raise UsageError(f"the first argument is a model, not {type(model).__name__}")


@own_keywords
def residuals(
    model: CPModel | TuckerModel | FastTuckerModel, X: Any, *, cold_start: str | None = None, threads: int | None = None
) -> NDArray[Any]:
    """The residuals of a model at a tensor's entries: each value minus the model's value.

    Parameters
    ----------
    model : CPModel, TuckerModel or FastTuckerModel
    X : SparseTensor, or what :func:`asarray` takes
        Its rows are matched to the model's labels. Entries at one place stay separate.
    cold_start : {"refuse", "bias", "zero"}, optional
        As for :func:`predict`.
    threads : int, optional
        As for :func:`set_threads`.

    Returns
    -------
    numpy.ndarray
        One number for each entry, in the order of ``polyad.asarray(X, duplicates="keep", like=model)``. The difference
        is rounded once, to float32 if the model and the values are float32, else to float64.

    Raises
    ------
    UsageError, NumericalError
        As :func:`predict`.

    Examples
    --------
    >>> import numpy as np, polyad
    >>> model = polyad.CPModel([2.0], [np.array([[1.0], [3.0]]), np.array([[1.0], [10.0]])])
    >>> X = polyad.SparseTensor([[0, 0], [1, 1]], [2.5, 60.0])
    >>> polyad.residuals(model, X)
    array([0.5, 0. ])
    """
    _expect_model_first(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels that are unknown are refused below, or counted as asked
        tensor = asarray(X, duplicates="keep", like=model, unknown="new")
    if isinstance(model, (CPModel, TuckerModel)):
        return _values_at(model, tensor.coords, [], tensor.values, cold_start, threads)
    found = predict(model, tensor.coords, cold_start=cold_start, threads=threads)
    dtype = np.result_type(found.dtype, _device.dtype_of(tensor.values))
    left: NDArray[Any] = np.asarray(_device.to_host(tensor.values), dtype=np.float64) - found
    return left.astype(dtype)


@own_keywords
def predict(
    model: FastTuckerModel | CPModel | TuckerModel,
    places: Any,
    *,
    cold_start: str | None = None,
    frame: bool = False,
    threads: int | None = None,
) -> Any:
    """Predict the values of a completion model, or compute those of a CP or Tucker model, at some places.

    Parameters
    ----------
    model : FastTuckerModel, CPModel or TuckerModel
    places : array_like of int, count x N, SparseTensor, or a table of pandas, polars or pyarrow
        Coordinates, from 0. The columns of a table are matched to the labels of the model: those that have the names
        of its modes, or else all, or all but the last one.
    cold_start : {"refuse", "bias", "zero"}, optional
        What to do with a place with a row that a completion model does not have, or that has no entries in the training
        set: "refuse" raises UsageError, "bias" predicts by the mean and the biases that are known. Without it, rows
        without entries are predicted by the model, and others refused. A CP or Tucker model refuses rows that it does
        not have; with "zero" the value there is 0.
    frame : bool
        Return a ``pandas.DataFrame``: a column for each mode with the labels of the places, or with their numbers from
        the index base of the model on, and the column prediction.
    threads : int, optional
        As for :func:`set_threads`.

    Returns
    -------
    numpy.ndarray or pandas.DataFrame
        One number for each place, of the model's type.

    Raises
    ------
    UsageError
        If a place has a row that the model does not have, with the place.
    NumericalError
        If a value of a CP or Tucker model is not a finite number, with the place.

    Examples
    --------
    >>> import numpy as np, polyad
    >>> model = polyad.CPModel([2.0], [np.array([[1.0], [3.0]]), np.array([[1.0], [10.0]])])
    >>> polyad.predict(model, [[0, 0], [1, 1]])
    array([ 2., 60.])
    """
    coords, predictions, names = _predict(model, places, cold_start, threads)
    return frame_of(_device.to_host(coords), predictions, "prediction", names) if frame else predictions


def _predict(
    model: FastTuckerModel | CPModel | TuckerModel, places: Any, cold_start: str | None, threads: int | None
) -> tuple[NDArray[Any], NDArray[Any], Names]:
    """Coordinates, their predictions, and what the rows are called."""
    _expect_model_first(model)
    if isinstance(model, (CPModel, TuckerModel)):
        coords, unknown, names = _placed(model, places, "places")
        return coords, _values_at(model, coords, unknown, None, cold_start, threads), names
    if cold_start not in (None, "refuse", "bias"):
        raise UsageError(f"cold_start is refuse or bias, not {cold_start!r}")
    engine = _backend.engine(threads)
    given, dtype = _given(model)
    coords, unknown, names = _placed(model, places, "places")
    if coords.shape[1] != len(model.factors):
        raise UsageError(f"places of {coords.shape[1]} numbers for a model of {len(model.factors)} modes")
    on_device = _device.is_on_device(coords)
    fault = None if on_device else _first_new(model, coords, cold_start == "refuse")
    if fault is not None and cold_start != "bias":
        raise UsageError(
            f"{_fault_text(model, coords, unknown, fault)}; cold_start='bias' predicts it by the biases that are known"
        )
    out = np.empty(coords.shape[0], dtype=dtype)
    if fault is None:
        engine.predict(given, np.ascontiguousarray(coords) if not on_device else coords, out)
        return coords, out, names
    known = (coords < np.asarray(model.shape)).all(axis=1)
    inside = np.empty(int(known.sum()), dtype=dtype)
    engine.predict(given, np.ascontiguousarray(coords[known], dtype=np.uint64), inside)
    out[known] = inside
    # What no model has stays beyond all rows as a signed number.
    beyond = np.minimum(coords[~known], np.array(2 ** (8 * coords.itemsize - 1) - 1, dtype=coords.dtype))
    out[~known] = _expected_by_biases(model, beyond.astype(np.int64))
    return coords, out, names


def _indices(name: str, given: Any, dimensions: int, shape: str, averages: bool = False) -> NDArray[Any]:
    """uint64 in C order. With `averages` -1 and None become the largest number, the library's every_row."""
    try:
        array = np.asarray(given)
        if array.dtype == object and averages:
            array = np.asarray([[-1 if index is None else index for index in row] for row in array])
    except (TypeError, ValueError):
        raise UsageError(f"{name} are an array of integers of {shape}") from None
    if array.ndim != dimensions:
        raise UsageError(f"{name} are an array of {shape}, not of {array.ndim} dimensions")
    if array.dtype.kind not in "iu":
        if array.size > 0:
            raise UsageError(f"{name} are integers, not {array.dtype}")
        array = array.astype(np.int64)
    if array.dtype.kind == "i" and array.size > 0 and array.min() < (-1 if averages else 0):
        raise InputError(f"{name} count from 0; the smallest is {array.min()}")
    if array.dtype.kind == "i":
        array = array.astype(np.int64)  # in which -1 has the bits of the largest number
    return np.ascontiguousarray(array.astype(np.uint64))


def _recommend(
    model: FastTuckerModel, mode: int, queries: Any, n: int, seen: Any, clip: Any, threads: int | None, stacklevel: int
) -> Rankings:
    engine = _backend.engine(threads)
    given, dtype = _given(model, clip)
    order = len(model.factors)
    where = _mode(model._mode_number(mode), order)
    queries, unknown = _queries(model, [n for n in builtins.range(order) if n != where], queries)
    asked = _indices("queries", queries, 2, "Q x (N - 1)", averages=True)
    if asked.shape[1] != order - 1:
        raise UsageError(f"queries of {asked.shape[1]} indices for the {order - 1} modes other than mode {where}")
    held = None
    if seen is not None:
        if isinstance(seen, SparseTensor) or is_table(seen) or isinstance(seen, (str, os.PathLike)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what the model does not know cannot be recommended
                tied = is_table(seen) or isinstance(seen, (str, os.PathLike)) or seen.labels is not None or seen._shows_base
                seen = asarray(seen, duplicates="keep", like=model, unknown="new") if tied else seen
        elif hasattr(seen, "shape") and not isinstance(seen, np.ndarray) and not _device.is_on_device(seen):
            seen = asarray(seen, duplicates="keep")  # a sparse matrix, such as scipy's
        else:
            seen = _device.to_host(seen) if _device.is_on_device(seen) else seen
            coords = _coordinates(seen)
            values = np.zeros(coords.shape[0], dtype=dtype)
            seen = SparseTensor(seen, values, duplicates="keep") if coords.shape[0] else None
        if seen is not None:
            if seen.ndim != order:
                raise UsageError(f"entries of {seen.ndim} modes were seen, but the model has {order}")
            held = seen.astype(dtype)._held
    ranked = Rankings._of(*engine.recommend(given, where, asked, _count("n", n, 1), held))
    if clip is not None:  # the range of the model would make the best scores equal
        ranked.scores = np.clip(ranked.scores, *_range("clip", clip))
    if ranked.unknown:
        text = f" ({'; '.join(map(str, unknown))})" if unknown else ""
        warnings.warn(
            f"{ranked.unknown} of {len(ranked)} queries have an index that the model does not have{text}: answered by the "
            "biases that are known",
            stacklevel=stacklevel,
        )
    others = [n for n in builtins.range(order) if n != where]
    return _named(ranked, model, where, {other: asked[:, k] for k, other in enumerate(others)})


def _queries(model: FastTuckerModel, modes: Sequence[int], given: Any) -> tuple[Any, list[Unknown]]:
    """Queries with labels by the model's rows: of tables, and of sequences in which a text is a label."""
    names: Names = model._names
    sub = Names(
        None if names.labels is None else [names.labels[n] for n in modes],
        None if names.mode_names is None else [names.mode_names[n] for n in modes],
        names.index_base,
    )
    if is_table(given):
        found = columns_of(given, list(given.columns) if sub.mode_names is None else None, None, True, sub, [model.shape[n] for n in modes])
        return found.coords, found.unknown
    array = np.asarray(given, dtype=object) if isinstance(given, (list, tuple)) else np.asarray(given)
    if array.ndim != 2 or array.shape[1] != len(modes) or array.dtype.kind not in "OU":
        return given, []
    if not any(isinstance(entry, str) for entry in array.reshape(-1).tolist()):
        return given, []
    unknown: list[Unknown] = []
    rows = np.array(array, dtype=object)
    for k, n in enumerate(modes):
        rows[:, k], new = _rows_of_texts(model, n, array[:, k].tolist())
        if new:
            unknown.append(Unknown(names.mode_text(n), new))
    return rows.tolist(), unknown


def _rows_of_texts(model: FastTuckerModel, n: int, given: list[Any]) -> tuple[list[Any], list[Any]]:
    """Rows of a mode, of which texts are labels. A label that the model does not have is the first row after its own."""
    texts = [entry for entry in given if isinstance(entry, str)]
    if not texts:
        return given, []
    labels = model._names.of_mode(n)
    if labels is None:
        raise UsageError(f"{texts[0]!r} is a label, but {model._names.mode_text(n)} has none")
    found = dict(zip(texts, rows_of(labels, np.array(texts, dtype=object)).tolist()))
    rows = [found[entry] if isinstance(entry, str) else entry for entry in given]
    new = [text for text, row in found.items() if row < 0]
    return [model.shape[n] if isinstance(entry, str) and row < 0 else row for entry, row in zip(given, rows)], new


def _named(ranked: Rankings, model: FastTuckerModel, mode: int, asked: Mapping[int, Any]) -> Rankings:
    """With what :meth:`Rankings.to_frame` shows."""
    names: Names = model._names

    def column(n: int) -> str:
        named = names.mode_names is not None and names.mode_names[n] is not None
        return str(names.mode_names[n]) if named else f"mode_{n}"

    ranked.labels = names.of_mode(mode)
    ranked._name = "similar" if mode in asked else "row" if column(mode) == f"mode_{mode}" else column(mode)
    for n, rows in asked.items():
        labels, size = names.of_mode(n), model.shape[n]
        shown = np.empty(len(rows), dtype=object)
        for q, row in enumerate(rows.tolist()):
            if row != 2**64 - 1:  # the mean over all rows is None
                shown[q] = labels[row] if labels is not None and row < size else row
        ranked._queries[column(n)] = shown
    return ranked


@own_keywords
def recommend(
    model: FastTuckerModel,
    mode: int | str,
    queries: Any,
    n: int = 10,
    seen: Any = None,
    clip: tuple[float, float] | None = None,
    *,
    frame: bool = False,
    threads: int | None = None,
) -> Any:
    """Find the rows of a mode with the highest predictions of a completion model.

    Rows are ranked by their scores: predictions that are not clipped to the model's range.

    Parameters
    ----------
    model : FastTuckerModel
    mode : int or str
        The mode whose rows are requested: its number, from 0, or its name.
    queries : array_like of int or str, Q x (N - 1), or a table
        For each query a row of every mode but `mode`, in their order: a number from 0, or a label as text. -1 or None
        averages over the rows of a mode that have entries. A row that the model does not have contributes neither bias
        nor factors. The columns of a table are matched to the labels of the model.
    n : int
        The number of rows for each query; all rows if the mode has fewer.
    seen : SparseTensor, array_like of int, count x N, a table or the name of a file, optional
        Rows of entries with the query's indices are left out. Values are ignored. Labels are matched to the model's.
    clip : tuple of float, optional
        Lowest and highest score, in place of the model's range.
    frame : bool
        Return a ``pandas.DataFrame``, as ``to_frame()`` makes it.
    threads : int, optional
        As for :func:`set_threads`.

    Returns
    -------
    Rankings or pandas.DataFrame
        The scores are predictions, computed in the model's type. Rows without entries in the training set are left
        out. ``to_frame()`` makes a table with the labels of the rows.

    Warns
    -----
    UserWarning
        With the number of queries that have an index which the model does not have.

    Raises
    ------
    UsageError, InputError, NumericalError, MemoryError

    Examples
    --------
    >>> import numpy as np, polyad
    >>> items = np.array([[1.0], [3.0], [2.0]])
    >>> model = polyad.FastTuckerModel([np.array([[1.0], [-1.0]]), items], [np.eye(1)] * 2)
    >>> rows, scores = polyad.recommend(model, 1, [[0]], n=2)[0]
    >>> rows.tolist(), scores.tolist()
    ([1, 2], [3.0, 2.0])
    >>> rows, scores = polyad.recommend(model, 1, [[0]], n=2, seen=[[0, 1]])[0]
    >>> rows.tolist()
    [2, 0]
    """
    found = _recommend(model, mode, queries, n, seen, clip, threads, 4)
    return found.to_frame() if frame else found


@own_keywords
def similar(
    model: FastTuckerModel, mode: int | str, rows: Any, n: int = 10, *, frame: bool = False, threads: int | None = None
) -> Any:
    """Find the rows of a mode that are most similar, by the cosine between what they add to the predictions for all rows of the
    other modes.

    Parameters
    ----------
    model : FastTuckerModel
    mode : int or str
        Its number, from 0, or its name.
    rows : int, str or array_like, Q
        Rows of the mode: numbers from 0, or labels as texts. No row is compared with itself.
    n : int
        The number of rows for each query; all other rows if the mode has fewer.
    frame : bool
        Return a ``pandas.DataFrame``, as ``to_frame()`` makes it.
    threads : int, optional
        As for :func:`set_threads`.

    Returns
    -------
    Rankings or pandas.DataFrame
        The scores are cosines, from -1 to 1; 0 for a row of zeros.

    Raises
    ------
    UsageError
        Also for a row that the model does not have.

    Examples
    --------
    >>> import numpy as np, polyad
    >>> items = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    >>> model = polyad.FastTuckerModel([np.eye(2), items], [np.eye(2)] * 2)
    >>> rows, cosines = polyad.similar(model, 1, 0)[0]
    >>> rows.tolist(), cosines.round(3).tolist()
    ([2, 1], [0.707, 0.0])
    """
    engine = _backend.engine(threads)
    given, _ = _given(model)
    where = _mode(model._mode_number(mode), len(model.factors))
    asked_rows = [rows] if np.ndim(rows) == 0 else list(rows)
    if any(isinstance(row, str) for row in asked_rows):
        asked_rows, unknown = _rows_of_texts(model, where, asked_rows)
        if unknown:
            raise UsageError(str(Unknown(model._names.mode_text(where), unknown)))
    asked = _indices("rows", asked_rows, 1, "one dimension")
    ranked = Rankings._of(*engine.similar(given, where, asked, _count("n", n, 1)))
    found = _named(ranked, model, where, {where: asked})
    return found.to_frame() if frame else found


def _mode(mode: Any, order: int) -> int:
    if isinstance(mode, bool) or not isinstance(mode, (int, np.integer)) or not 0 <= mode < order:
        raise UsageError(f"mode {mode!r} of a tensor of order {order} (modes count from 0)")
    return int(mode)


def _time_mode(tensor: SparseTensor, mode: Any) -> int:
    """A mode of time by its number or name. If there is none, it may be a column that the reader left out."""
    try:
        return _mode(tensor._names.mode_number(mode, tensor.ndim), tensor.ndim)
    except UsageError as error:
        left_out = [name for name in tensor.found.get("left_out", ()) if name]
        if str(mode) in left_out:
            left_out = [str(mode)]
        if not left_out:
            raise
        columns = "column " + repr(left_out[0]) if len(left_out) == 1 else "columns " + ", ".join(map(repr, left_out))
        time = repr(left_out[0]) if len(left_out) == 1 else "..."
        raise UsageError(
            f"{error}; the table's {columns} {'was' if len(left_out) == 1 else 'were'} left out: "
            f"read(..., time={time}, time_unit='day') makes a mode that counts days"
        ) from None


@own_keywords
def mttkrp(
    X: Any,
    factors: Any,
    mode: int | str,
    *,
    out: Any = None,
    duplicates: str = "sum",
    threads: int | None = None,
) -> NDArray[Any]:
    """The matricized tensor times a Khatri-Rao product (MTTKRP).

    ``V[k, r]`` is the sum over the nonzeros of row k of `mode` of the value times the product of the other
    factors' entries r. Only the shape of the factor of `mode` matters.

    Parameters
    ----------
    X : Format, SparseTensor or what :func:`asarray` takes
        A format of a tensor is built only for this call: use :func:`any_format` for several calls.
    factors : CPModel or sequence of array_like, I_n x R
        The weights of a model are ignored. Row-major matrices of the tensor's type are read where they are. With a
        model that stores only the rows that occur, X is a tensor.
    mode : int or str
        Its number, from 0, or its name.
    out : array, optional
        I_mode x R, row-major, of the tensor's type; overwritten and returned.
    duplicates : {"sum", "last", "error"}
        Nonzeros at one place: sum them, take the last one, or make them an error.

    Returns
    -------
    numpy.ndarray, I_mode x R
        A view of the library's memory; for a tensor on the GPU, an array there.

    Examples
    --------
    >>> import numpy as np, polyad
    >>> X = polyad.SparseTensor([[0, 1], [1, 0]], [2.0, 3.0])
    >>> polyad.mttkrp(X, [np.ones((2, 1)), np.array([[10.0], [1.0]])], 0)
    array([[ 2.],
           [30.]])
    """
    engine = _backend.engine(threads)
    held = X if isinstance(X, Format) else without_repeats(X, duplicates, factors)
    _expect_same_rows("the model", factors, held)
    where = _mode(held._names.mode_number(mode, len(held.shape)), len(held.shape))
    held, given = _looked_up(held, factors, where)
    matrices = _matrices(given, held.dtype)
    if isinstance(held, Format):
        format = held._held  # noqa: A001
    else:
        rank = matrices[0].shape[1] if matrices else 1
        # One product of one mode: hardly worth a sorted copy.
        format = engine.build_format(held._held, rank, 1.0 / len(held.shape), "auto", False, False)  # noqa: A001
    product: NDArray[Any]
    if out is None:
        product = _device.as_package(engine.mttkrp(format, matrices, where), held._package)
        return product
    if not (isinstance(out, np.ndarray) or _device.is_on_device(out)) or _device.dtype_of(out) != held.dtype:
        raise UsageError(f"out is an array of {held.dtype}")
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        raise UsageError("out is read-only")
    engine.mttkrp_into(format, matrices, where, out)
    product = out
    return product


@own_keywords
def ttm(X: Any, matrix: Any, mode: int | str, *, threads: int | None = None) -> SparseTensor:
    """A sparse tensor times a matrix along one mode (SpTTM).

    Parameters
    ----------
    X : SparseTensor or what :func:`asarray` takes
    matrix : array_like, I_mode x R
    mode : int or str
        Its number, from 0, or its name.

    Returns
    -------
    SparseTensor
        R rows in `mode`. Every fiber that has a nonzero becomes R entries, zeros included. The other modes keep their
        names and labels.

    Examples
    --------
    >>> import numpy as np, polyad
    >>> X = polyad.SparseTensor([[0, 1], [1, 0]], [2.0, 3.0])
    >>> polyad.ttm(X, np.array([[1.0], [10.0]]), 0).to_dense()
    array([[30.,  2.]])
    """
    engine = _backend.engine(threads)
    tensor = without_repeats(X, "sum")
    where = _mode(tensor._names.mode_number(mode, tensor.ndim), tensor.ndim)
    (U,) = _matrices([matrix], tensor.dtype)
    return SparseTensor._of(engine.ttm(tensor._held, U, where), tensor._names.without(where), tensor._package)


@own_keywords
def ttmc(X: Any, matrices: Any, mode: int | str, *, threads: int | None = None) -> NDArray[Any]:
    """A sparse tensor times a matrix along each mode but one (SpTTMc).

    Parameters
    ----------
    X : SparseTensor or what :func:`asarray` takes
    matrices : TuckerModel or sequence of array_like, I_n x R_n
        The matrix of `mode` is ignored and may be None.
    mode : int or str
        Its number, from 0, or its name.

    Returns
    -------
    numpy.ndarray, I_mode x R_0 x ... without R_mode ... x R_{N-1}
        A view of the library's memory.

    Examples
    --------
    >>> import numpy as np, polyad
    >>> X = polyad.SparseTensor([[0, 1, 0]], [2.0], (1, 2, 3))
    >>> polyad.ttmc(X, [None, np.ones((2, 4)), np.ones((3, 5))], 0).shape
    (1, 4, 5)
    """
    engine = _backend.engine(threads)
    tensor = without_repeats(X, "sum", matrices)
    where = _mode(tensor._names.mode_number(mode, tensor.ndim), tensor.ndim)
    tensor, given = _looked_up(tensor, matrices, where)
    if len(given) != tensor.ndim:
        raise UsageError(f"{len(given)} matrices for a tensor of order {tensor.ndim}")
    U = _matrices([np.empty((0, 1)) if n == where else matrix for n, matrix in enumerate(given)], tensor.dtype)
    product = _device.as_package(engine.ttmc(tensor._held, U, where), tensor._package)
    split: NDArray[Any] = _device.split_columns(product, [U_n.shape[1] for n, U_n in enumerate(U) if n != where])
    return split


@own_keywords
def generate(
    kind: str,
    shape: Sequence[int],
    nnz: int | None = None,
    *,
    seed: int = 0,
    skew: float | Sequence[float] = 1.0,
    fiber_run: int = 1,
    run_mode: int = -1,
    rank: int = 4,
    block: int | None = None,
    dtype: Any = np.float64,
    threads: int | None = None,
) -> Any:
    """Make a synthetic tensor; the same seed gives the same bits everywhere.

    Parameters
    ----------
    kind : {"uniform", "power-law", "low-rank"}
    shape : sequence of int
    nnz : int
        For the first two kinds: the approximate number of nonzeros. Their places are distinct, their values in (0, 1].
    seed : int
    skew : float or sequence of float
        For a power law: the k-th most frequent row of a mode has nonzeros ~ k^-skew.
    fiber_run, run_mode : int
        For a power law: the mean length of runs along one mode; -1 is the longest.
    rank, block : int
        For the low-rank kind: component r is dense on `block` rows of each mode and zero elsewhere. Without
        `block` as many as fit.
    dtype : float32 or float64

    Returns
    -------
    SparseTensor, or (SparseTensor, CPModel) for the low-rank kind
        The model equals the tensor.

    Examples
    --------
    >>> import polyad
    >>> polyad.generate("uniform", (10, 20, 30), 100).shape
    (10, 20, 30)
    """
    sizes = list(_extents(shape))
    engine = _backend.engine(threads)
    single = np.dtype(dtype) == np.float32
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise UsageError(f"values are of float32 or float64, not {dtype!r}")
    seed = _count("seed", seed)
    if kind == "low-rank":
        rank = _count("rank", rank, 1)
        width = min(sizes) // rank if block is None else _count("block", block)
        held, weights, factors = engine.planted(sizes, rank, width, seed, single)
        return SparseTensor._of(held), CPModel(weights, factors)
    if kind not in ("uniform", "power-law"):
        raise UsageError(f"kind is uniform, power-law or low-rank, not {kind!r}")
    count = _count("nnz", nnz)
    if kind == "uniform":
        skews = [0.0] * len(sizes)
    else:
        of_modes: Any = [skew] * len(sizes) if np.ndim(skew) == 0 else skew
        skews = [_limit("skew", number) for number in of_modes]
    return SparseTensor._of(engine.power_law(sizes, count, skews, _count("fiber_run", fiber_run), run_mode, seed, single))


def _as_model(model: Any) -> CPModel | None:
    if isinstance(model, CPModel):
        return model
    if hasattr(model, "factor_matrices") and hasattr(model, "weights"):
        return CPModel.from_pyttb(model)
    if hasattr(model, "factors") and hasattr(model, "weights"):
        return CPModel(model.weights, model.factors)
    if isinstance(model, tuple) and len(model) == 2:
        return CPModel(*model)
    return None


@own_keywords
def compare(a: Any, b: Any, *, weighted: bool = False) -> float:
    """Measure how close two CP models are, or a CP or Tucker model and a tensor.

    Parameters
    ----------
    a, b : CPModel, pyttb.ktensor, tensorly CPTensor, (weights, factors), or one of them a tensor
        With a tensor the model may also be a TuckerModel.
    weighted : bool
        Multiply the score of each pair of components by 1 minus the relative difference of their norms.

    Returns
    -------
    float
        For two models the factor match score: 1 when they are the same up to the order and scale of components
        (Acar, Dunlavy and Kolda, J. Chemometrics 25(2), 2011). For a model and a tensor the fit
        1 - ||X - M|| / ||X||, to 1e-12.

    Examples
    --------
    >>> import polyad
    >>> X, planted = polyad.generate("low-rank", (30, 40, 50), rank=3, seed=1)
    >>> found = polyad.cp_als(X, 3, tolerance=1e-10, max_iterations=200)
    >>> polyad.compare(found, planted) > 0.99
    True
    >>> round(polyad.compare(X, planted), 6)
    1.0
    """
    if isinstance(b, TuckerModel):
        a, b = b, a
    if isinstance(a, TuckerModel):
        if isinstance(b, TuckerModel) or _as_model(b) is not None:
            raise UsageError("a Tucker model is compared with a tensor")
        here = a.to_host()
        return _backend.module().fit_of_tucker(
            without_repeats(b, "sum", a)._held,
            [int(rank) for rank in here.ranks],
            np.ascontiguousarray(here.core, dtype=np.float64).ravel(),
            [np.ascontiguousarray(factor, dtype=np.float64) for factor in here.factors],
            a._lists,
        )
    first, second = _as_model(a), _as_model(b)
    if first is None:
        first, second, b = second, first, a
    if first is None:
        raise UsageError(f"one of the two is a CP or Tucker model, not {type(a).__name__} and {type(b).__name__}")
    module = _backend.module()

    def arrays(model: CPModel) -> tuple[NDArray[Any], list[NDArray[Any]], Any]:
        return (
            np.ascontiguousarray(model.weights, dtype=np.float64),
            [np.ascontiguousarray(factor, dtype=np.float64) for factor in model.to_host().factors],
            model._lists,
        )

    if second is None:
        return float(module.fit_of_model(without_repeats(b, "sum", first)._held, *arrays(first)))
    if not same_numbering(first._names, second._names):
        raise UsageError("the two models have different numberings: their rows have other labels")
    score, with_weights, _ = module.match_score(*arrays(first), *arrays(second))
    return float(with_weights if weighted else score)


@own_keywords
def hold_out(X: Any, share: float, *, seed: int = 0) -> tuple[SparseTensor, SparseTensor]:
    """Split entries at random into those to learn from and those to test on.

    Parameters
    ----------
    X : SparseTensor or what :func:`asarray` takes
    share : float
        The share of the entries to hold out, 0 to 1.
    seed : int
        It selects the same entries as ``polyad fast-tucker --split-repeats apart --split``. Entries at the same place may be
        separated; :func:`split` keeps them together, and has other rules.

    Returns
    -------
    (SparseTensor, SparseTensor)
        The entries that stay, and those that are held out; copies.

    Examples
    --------
    >>> import polyad
    >>> X = polyad.generate("uniform", (20, 30, 10), 1000)
    >>> known, hidden = polyad.hold_out(X, 0.1)
    >>> known.nnz + hidden.nnz == X.nnz
    True
    """
    tensor = asarray(X).to_host()
    share = _limit("share", share)
    if not 0 <= share <= 1:
        raise UsageError(f"a share of {share}")
    parts = _backend.module().hold_out(tensor._held, share, _count("seed", seed))
    return tuple(  # type: ignore[return-value]
        _trusted(coords, values.astype(tensor.dtype, copy=False), tuple(shape), tensor._names)
        for coords, values, shape in parts
    )
