# SPDX-License-Identifier: BSD-3-Clause
"""What the drivers return: models with their history, and their files."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _backend, _device
from ._errors import InputError, UsageError
from ._keywords import own_keywords
from ._names import Names

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _doubles(array: Any) -> NDArray[Any]:
    return np.ascontiguousarray(_device.to_host(array), dtype=np.float64)


def _is_single(arrays: Sequence[Any]) -> bool:
    return all(_device.dtype_of(array) == np.float32 for array in arrays)


def _kept(array: Any) -> Any:
    """numpy's array; one on a GPU stays."""
    return array if _device.is_on_device(array) else np.asarray(array)


class _Fitted:
    """How the run went: empty if the model was not fitted here."""

    history: list[dict[str, Any]]
    reason: str = ""
    # Also of models that an earlier version pickled.
    labels: list[Any] | None = None
    mode_names: list[Any] | None = None
    index_base: int | None = None

    def _record(self, result: dict[str, Any] | None) -> None:
        result = result or {}
        self.history = result.get("history", [])
        self.reason = result.get("reason", "")

    @property
    def _names(self) -> Names:
        return Names(self.labels, self.mode_names, self.index_base)

    def _set_names(self, names: Names) -> None:
        checked = names.checked(self.shape)  # type: ignore[attr-defined]
        self.labels, self.mode_names, self.index_base = checked.labels, checked.mode_names, checked.index_base

    def _mode_number(self, mode: Any) -> Any:
        """The number of a mode that may be given by its name."""
        return self._names.mode_number(mode, len(self.shape))  # type: ignore[attr-defined]

    def predict(self, places: Any, *, cold_start: str | None = None, threads: int | None = None) -> NDArray[Any]:
        """The model's values at some places: :func:`polyad.predict`.

        Examples
        --------
        >>> import numpy as np, polyad
        >>> model = polyad.TuckerModel(np.array([[2.0]]), [np.array([[1.0], [3.0]]), np.ones((2, 1))])
        >>> model.predict([[0, 0], [1, 1]])
        array([2., 6.])
        """
        from ._functions import predict

        return predict(self, places, cold_start=cold_start, threads=threads)  # type: ignore[arg-type]

    def factor_frame(self, mode: int | str) -> Any:
        """A factor as a ``pandas.DataFrame``: a column for each column of the factor, indexed by the labels of its rows.

        Without labels the index has the numbers of the rows, from the index base of the file on. A model that stores
        only the rows that occur returns only these.

        Parameters
        ----------
        mode : int or str
            Its number, from 0, or its name.

        Raises
        ------
        UsageError
            If there is no such mode.

        Examples
        --------
        >>> import polyad
        >>> X = polyad.SparseTensor([[0, 0], [1, 1]], [1.0, 2.0], labels=[["ann", "bob"], None], mode_names=["user", "item"])
        >>> polyad.cp_als(X, 1, max_iterations=1).factor_frame("user").index.tolist()
        ['ann', 'bob']
        """
        factors = self.factors  # type: ignore[attr-defined]
        n = self._mode_number(mode)
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 0 <= n < len(factors):
            raise UsageError(f"mode {mode!r} of a model of {len(factors)} modes (modes count from 0)")
        n = int(n)
        factor = np.asarray(_device.to_host(factors[n]))
        listed = None if getattr(self, "rows", None) is None else self.rows[n]  # type: ignore[attr-defined]
        rows = np.arange(factor.shape[0]) if listed is None else np.asarray(listed)
        labels = self._names.of_mode(n)
        pandas = import_module("pandas")
        name = None if self.mode_names is None else self.mode_names[n]
        index = pandas.Index(rows + (self.index_base or 0) if labels is None else labels[rows], name=name)
        return pandas.DataFrame(factor, index=index)


def _kept_rows(rows: Any, shape: Sequence[int] | None, factors: Sequence[Any]) -> tuple[list[Any] | None, tuple[int, ...]]:
    """Lists of stored rows, checked, and the sizes of the modes."""
    sizes = tuple(int(factor.shape[0]) for factor in factors)
    if rows is None and shape is None:
        return None, sizes
    if rows is None or shape is None or len(rows) != len(factors) or len(shape) != len(factors):
        raise UsageError("rows and shape come together, with one entry for each mode")
    sizes = tuple(int(size) for size in shape)
    lists: list[Any] = []
    for n, (numbers, size, factor) in enumerate(zip(rows, sizes, factors)):
        if numbers is None:
            if factor.shape[0] != size:
                raise UsageError(f"factor {n} has {factor.shape[0]} rows, not {size}, and no list says which")
            lists.append(None)
            continue
        given = np.asarray(numbers)
        if given.ndim != 1 or given.dtype.kind not in "iu" or len(given) != factor.shape[0]:
            raise UsageError(f"rows[{n}] are the numbers of the {factor.shape[0]} rows of factor {n}")
        if len(given) > 0 and (int(given[0]) < 0 or int(given[-1]) >= size or (given[1:] <= given[:-1]).any()):
            raise UsageError(f"rows[{n}] do not increase strictly from 0 to below {size}")
        kept = given.astype(np.int64 if len(given) == 0 or int(given[-1]) < 2**63 else np.uint64)
        lists.append(kept)
    return (None if all(numbers is None for numbers in lists) else lists), sizes


class _Decomposition(_Fitted):
    """A model that has a fit."""

    fit: float = math.nan
    fit_error: float = math.nan
    factors: list[Any]
    rows: list[Any] | None = None  # also of models that an earlier version pickled
    _shape: tuple[int, ...] | None = None

    def _set_rows(self, rows: Any, shape: Sequence[int] | None) -> None:
        self.rows, self._shape = _kept_rows(rows, shape, self.factors)

    def _set_found_rows(self, found: Any) -> None:
        """Those that the library returns: None, or (size, None or numbers) of each mode."""
        if found is not None:
            self._set_rows([numbers for _, numbers in found], [size for size, _ in found])

    @property
    def _lists(self) -> list[tuple[int, Any]] | None:
        """The rows as the library takes them."""
        if self.rows is None:
            return None
        return [
            (size, None if numbers is None else np.ascontiguousarray(numbers, dtype=np.uint64))
            for size, numbers in zip(self.shape, self.rows)
        ]

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the modes."""
        return tuple(factor.shape[0] for factor in self.factors) if self._shape is None else self._shape

    def factor_rows(self, mode: int, numbers: Any) -> NDArray[Any]:
        """Rows of a factor by their numbers in the tensor.

        Parameters
        ----------
        mode : int
            From 0.
        numbers : int or sequence of int
            From 0. A row that does not occur in the tensor is zero.

        Returns
        -------
        numpy.ndarray, the columns of one row, or rows x columns
            A copy.

        Raises
        ------
        UsageError
            If the mode has no such row.

        Examples
        --------
        >>> import numpy as np, polyad
        >>> model = polyad.CPModel([1.0], [np.array([[3.0], [4.0]]), np.ones((2, 1))], rows=[[5, 900], None], shape=(1000, 2))
        >>> model.factor_rows(0, [5, 6, 900])
        array([[3.],
               [0.],
               [4.]])
        """
        if not -len(self.factors) <= mode < len(self.factors):
            raise UsageError(f"mode {mode} of a model of {len(self.factors)} modes")
        mode %= len(self.factors)
        wanted = np.asarray(numbers)
        if wanted.dtype.kind not in "iu" and wanted.size > 0:
            raise UsageError(f"rows have integer numbers, not {wanted.dtype}")
        flat = np.atleast_1d(wanted).astype(np.int64)
        outside = (flat < 0) | (flat >= self.shape[mode])
        if outside.any():
            raise UsageError(f"row {flat[outside][0]} of mode {mode}, which has {self.shape[mode]} rows")
        factor = np.asarray(_device.to_host(self.factors[mode]))
        at, stored = self._positions(mode, flat)
        result: NDArray[Any] = np.zeros((len(flat), factor.shape[1]), dtype=factor.dtype)
        result[stored] = factor[at[stored]]
        return result[0] if wanted.ndim == 0 else result

    def _positions(self, mode: int, numbers: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Where the factor has these rows, and which of them it has."""
        listed = None if self.rows is None else self.rows[mode]
        if listed is None:
            return numbers, np.ones(len(numbers), dtype=bool)
        if len(listed) == 0:
            return np.zeros(len(numbers), dtype=np.int64), np.zeros(len(numbers), dtype=bool)
        at = np.minimum(np.searchsorted(listed, numbers), len(listed) - 1)
        return at, listed[at] == numbers

    def _at_their_places(self, entries: NDArray[Any]) -> NDArray[Any]:
        """The entries of the stored rows in an array of all rows, whose other entries are zero."""
        if self.rows is None:
            return entries
        full: NDArray[Any] = np.zeros(self.shape)
        full[np.ix_(*(range(size) if rows is None else rows for size, rows in zip(self.shape, self.rows)))] = entries
        return full

    def _expect_all_rows(self, package: str) -> None:
        if self.rows is not None:
            raise UsageError(
                f"the model stores only the rows that occur, and {package} has no lists of rows: use factors and rows, or factor_rows"
            )

    def _record(self, result: dict[str, Any] | None) -> None:
        super()._record(result)
        self.fit = math.nan if result is None else float(result["fit"])
        self.fit_error = math.nan if result is None else float(result["fit_error"])

    def _how(self) -> str:
        # The numbers of a resumed run begin after those before its checkpoint.
        count = f" after {self.history[-1]['iteration']} iterations" if self.history else ""
        return f", fit {self.fit:.6f}{count}: {self.reason}" if self.reason else ""


def _picture_class() -> Any:
    """matplotlib's Figure, which a notebook shows though no pyplot knows of it."""
    import io

    from matplotlib.figure import Figure

    class Picture(Figure):
        def _repr_png_(self) -> bytes:
            buffer = io.BytesIO()
            self.savefig(buffer, format="png", dpi=100)
            return buffer.getvalue()

    return Picture


class CPModel(_Decomposition):
    """A CP model, the sum over r of weights[r] times the outer product of the columns r of the factors.

    It unpacks as ``weights, factors``, so functions of TensorLy accept it.

    Parameters
    ----------
    weights : array_like, R
    factors : sequence of array_like, I_n x R
    rows, shape : sequence, optional
        If a factor has only some rows of its mode: for each mode their increasing numbers, or None for all rows;
        and the sizes of the modes.

    Attributes
    ----------
    weights : numpy.ndarray
        lambda, R numbers, the largest first.
    factors : list of numpy.ndarray
        Normalised columns. Those that a driver returned are views of the library's own memory without a copy:
        the rows are padded to 16 bytes, so the strides may exceed the columns. The factors of a tensor on the
        GPU are there too. If `rows` has a list for mode n, factor n has only these rows.
    rows : list or None
        Which rows of the tensor the factors have: for each mode an array of int64, or None for all rows. None if
        the factors have all rows. The drivers store only the rows that occur if a mode has 10^6 rows or more of which
        over half are empty; all others are zero. :meth:`factor_rows` looks rows up.
    fit : float
        1 - ||X - M|| / ||X|| of this model, in its precision. The last number of `history` is close to it. NaN if the
        model was not fitted here.
    fit_error : float
        A bound for the rounding error of `fit`. NaN if the model was not fitted here.
    history : list of dict
        ``iteration``, ``fit``, ``delta`` and ``seconds`` of each iteration.
    reason : str
        Why the run ended: "converged", "iteration limit", "time limit", "stopped" (by the callback), "interrupted"
        (by Ctrl-C), "stalled", or "rounding hides the change" (the tolerance requires smaller changes than the
        precision shows). Empty if the model was not fitted here.
    gram_fallbacks : int
        The number of updates that needed the pseudo-inverse.
    defect : str
        Why the model is meaningless; empty if it is not. "two components grow and cancel each other": the tensor has no
        best model of this rank.
    objective : float
        ||X - M||^2 / 2 and the penalties. NaN if the model was not fitted here, infinity if the number is beyond the
        range of doubles, as with values of 1e300.
    kkt_violation : float or None
        The largest norm, over ||X||, of a change of the model by the update of one entry in the last iteration. None
        without bounds and l1, as are the next two, and without an iteration.
    zeros : list of int or None
        How many stored entries of each factor are exactly 0.
    zero_components : list of int or None
        The components that are 0.
    restarts : list of dict
        ``seed``, ``fit``, ``iterations``, ``reason``, ``seconds`` and ``error`` of each of several starts. The model is
        that of ``restarts[best_restart]``. Empty for a single start.
    constraints : list of dict or None
        ``lower``, ``upper``, ``l1`` and ``ridge`` of each mode, under which the factors were computed; None without any.
        Files keep them, and :meth:`transform` computes new rows under them.
    labels, mode_names : list or None
        The names of the tensor's rows and modes. They are saved in an npz.
    index_base : int or None
        The number of the first row of each mode in the tensor's file; here rows count from 0.

    Examples
    --------
    >>> import numpy as np, polyad
    >>> model = polyad.CPModel([2.0], [np.ones((2, 1)), np.ones((3, 1))])
    >>> weights, factors = model
    >>> model.full()
    array([[2., 2., 2.],
           [2., 2., 2.]])
    """

    constraints: list[dict[str, float]] | None = None  # also of models that an earlier version pickled

    @own_keywords
    def __init__(self, weights: Any, factors: Sequence[Any], rows: Any = None, shape: Sequence[int] | None = None) -> None:
        self.weights = np.asarray(weights, dtype=np.float64)
        self.factors = [_kept(factor) for factor in factors]
        if self.weights.ndim != 1 or not self.factors:
            raise UsageError("a CP model has R weights and a factor for each mode")
        for n, factor in enumerate(self.factors):
            if len(factor.shape) != 2 or factor.shape[1] != len(self.weights):
                raise UsageError(f"factor {n} is {factor.shape}, not I_{n} x {len(self.weights)}")
        self._set_rows(rows, shape)
        self.gram_fallbacks = 0
        self.defect = ""
        self.objective = math.nan
        self.kkt_violation: float | None = None
        self.zeros: list[int] | None = None
        self.zero_components: list[int] | None = None
        self.constraints = None
        self.restarts: list[dict[str, Any]] = []
        self.best_restart = 0
        self._record(None)

    @classmethod
    def _of(cls, result: dict[str, Any], names: Names | None = None, package: str = "numpy") -> CPModel:
        self = cls(result["weights"], [_device.as_package(factor, package) for factor in result["factors"]])
        self._record(result)
        self._set_found_rows(result["rows"])
        self.gram_fallbacks = result["gram_fallbacks"]
        self.defect = result["defect"]
        self.objective = result["objective"]
        violation = result.get("kkt_violation")
        if violation is not None:
            self.kkt_violation = None if math.isnan(violation) else violation
            self.zeros = [int(count) for count in result["zeros"]]
            self.zero_components = [int(r) for r in result["zero_components"]]
        self._set_constraints(result["constraints"])
        self.restarts, self.best_restart = result["restarts"], result["best_restart"]
        self._set_names(names or Names())
        return self

    def _set_constraints(self, found: Any) -> None:
        """Four numbers for each mode, or nothing."""
        names = ("lower", "upper", "l1", "ridge")
        self.constraints = [dict(zip(names, map(float, numbers))) for numbers in found] or None

    def transform(self, X: Any, *, mode: int | str = 0, threads: int | None = None) -> NDArray[Any]:
        """Rows of one mode for new slices, while the other modes stay as they are.

        Each row is the exact minimum of ||X - M||^2 / 2 and the mode's penalties, under its bounds (`constraints`). It takes
        one MTTKRP and one solve.

        Parameters
        ----------
        X : SparseTensor, Format, or what :func:`asarray` takes
            Duplicates are summed. It has any number of slices in `mode`; its other modes are those of the model, and their
            rows are matched by labels.
        mode : int or str
            Its number, from 0, or its name.
        threads : int, optional
            As for :func:`set_threads`.

        Returns
        -------
        numpy.ndarray, slices x R
            To be used with the model's weights, as the rows of ``factors[mode]`` are.

        Raises
        ------
        UsageError
            If the tensor does not fit the model.
        InputError
            If its other modes have labels that the model does not have.
        MemoryError, NumericalError

        Examples
        --------
        >>> import polyad
        >>> X, _ = polyad.generate("low-rank", (30, 40, 50), rank=3, seed=1)
        >>> model = polyad.cp_als(X, 3, nonnegative=True)
        >>> model.transform(X).shape
        (30, 3)
        """
        from ._functions import _mode, _new_slices, _project

        where = _mode(self._mode_number(mode), len(self.factors))
        return _project(self, _new_slices(self, X, where), where, threads)  # type: ignore[no-any-return]

    @classmethod
    def from_pyttb(cls, model: Any) -> CPModel:
        """Makes a model of a ``pyttb.ktensor``."""
        return cls(model.weights, model.factor_matrices)

    @property
    def rank(self) -> int:
        """R"""
        return len(self.weights)

    def to_host(self) -> CPModel:
        """The model with numpy arrays: what is on the GPU is copied; the run's history is shared."""
        here = copy.copy(self)
        here.factors = [_device.to_host(factor) for factor in self.factors]
        return here

    def __iter__(self) -> Iterator[Any]:
        yield self.weights
        yield self.factors

    def __len__(self) -> int:
        return 2

    def __getitem__(self, k: int) -> Any:
        return (self.weights, self.factors)[k]

    def full(self) -> NDArray[Any]:
        """All entries, as a dense array."""
        first, *others = self.to_host().factors
        product = self.weights * np.asarray(first, dtype=np.float64)
        for factor in others:
            product = (product[:, None, :] * factor[None, :, :]).reshape(-1, self.rank)
        return self._at_their_places(product.sum(axis=1).reshape([factor.shape[0] for factor in self.factors]))

    def to_pyttb(self) -> Any:
        """A ``pyttb.ktensor``; copies."""
        self._expect_all_rows("pyttb")
        return import_module("pyttb").ktensor(
            [np.array(f, dtype=np.float64, order="F") for f in self.to_host().factors], self.weights.copy()
        )

    def to_tensorly(self) -> Any:
        """A ``tensorly.cp_tensor.CPTensor``; copies."""
        self._expect_all_rows("TensorLy")
        factors = [np.array(factor, dtype=np.float64) for factor in self.to_host().factors]
        return import_module("tensorly.cp_tensor").CPTensor((self.weights.copy(), factors))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model, completely or not at all: .npz, or .ktns and .txt for text.

        Raises
        ------
        WriteError
            The previous file then stays.
        """
        _backend.module().write_model(
            os.fspath(path),
            _doubles(self.weights),
            [_doubles(f) for f in self.factors],
            self._lists,
            _is_single(self.factors),
            self._names.to_file(),
            [[c["lower"], c["upper"], c["l1"], c["ridge"]] for c in self.constraints or []],
        )

    def plot(self, components: int | None = None, *, names: Sequence[str] | None = None) -> Any:
        """Draw the factors: a row for each component, a column for each mode.

        As the Tensor Toolbox's ``viz`` does, with bars for modes of few rows and lines for modes of many.

        Parameters
        ----------
        components : int, optional
            How many to draw, from the first one on; without it all.
        names : sequence of str, optional
            The names of the modes.

        Returns
        -------
        matplotlib.figure.Figure
        """
        picture = _picture_class()
        rows = self.rank if components is None else min(components, self.rank)
        if rows < 1:
            raise UsageError(f"{components} components")
        modes = len(self.factors)
        figure = picture(figsize=(3.2 * modes, 1.1 * rows + 0.8), layout="constrained")
        axes = figure.subplots(rows, modes, squeeze=False, sharex="col")
        for n, factor in enumerate(self.to_host().factors):
            few = factor.shape[0] <= 60
            largest = float(np.abs(factor[:, :rows]).max(initial=0.0)) or 1.0
            for r in range(rows):
                axis = axes[r, n]
                if few:
                    axis.bar(np.arange(factor.shape[0]), factor[:, r], width=0.9)
                else:
                    axis.plot(factor[:, r], linewidth=0.7)
                axis.axhline(0, color="0.6", linewidth=0.5)
                axis.set_ylim(min(0.0, float(factor[:, r].min(initial=0.0))) - 0.05 * largest, 1.05 * largest)
                axis.set_yticks([])
                if n == 0:
                    axis.set_ylabel(f"{self.weights[r]:.3g}", rotation=0, ha="right", va="center")
            of_modes = names if names is not None else self.mode_names
            axes[0, n].set_title(f"mode {n}" if of_modes is None or of_modes[n] is None else str(of_modes[n]))
            labels = self._names.of_mode(n)
            if labels is not None and factor.shape[0] <= 31:
                listed = None if self.rows is None else self.rows[n]
                shown = labels if listed is None else labels[listed]
                axes[-1, n].set_xticks(np.arange(factor.shape[0]), [str(x) for x in shown], rotation=90)
        return figure

    def __repr__(self) -> str:
        return f"CPModel({' x '.join(map(str, self.shape))}, rank {self.rank}{self._how()})"


class TuckerModel(_Decomposition):
    """A Tucker model: a core times a factor along each mode. It unpacks as ``core, factors``.

    Attributes
    ----------
    core : numpy.ndarray, R_0 x ... x R_{N-1}
        A view of the library's memory, without a copy.
    factors : list of numpy.ndarray, I_n x R_n
        They have orthonormal columns. If `rows` has a list for mode n, factor n has only these rows.
    rows : list or None
        As in :class:`CPModel`.
    fit, fit_error, history, reason
        As in :class:`CPModel`.
    """

    @own_keywords
    def __init__(self, core: Any, factors: Sequence[Any], rows: Any = None, shape: Sequence[int] | None = None) -> None:
        self.core = _kept(core)
        self.factors = [_kept(factor) for factor in factors]
        if len(self.core.shape) != len(self.factors):
            raise UsageError(f"a core of {len(self.core.shape)} modes, but {len(self.factors)} factors")
        for n, factor in enumerate(self.factors):
            if len(factor.shape) != 2 or factor.shape[1] != self.core.shape[n]:
                raise UsageError(f"factor {n} is {factor.shape}, not I_{n} x {self.core.shape[n]}")
        self._set_rows(rows, shape)
        self._record(None)

    @classmethod
    def _of(cls, result: dict[str, Any], names: Names | None = None, package: str = "numpy") -> TuckerModel:
        # The library unfolds by the last mode: it comes first there.
        core = _device.move_first_mode_last(_device.as_package(result["core"], package))
        self = cls(core, [_device.as_package(factor, package) for factor in result["factors"]])
        self._record(result)
        self._set_found_rows(result["rows"])
        self._set_names(names or Names())
        return self

    def to_host(self) -> TuckerModel:
        """The model with numpy arrays: what is on the GPU is copied; the run's history is shared."""
        here = copy.copy(self)
        here.core = _device.to_host(self.core)
        here.factors = [_device.to_host(factor) for factor in self.factors]
        return here

    @property
    def ranks(self) -> tuple[int, ...]:
        """R_n"""
        return tuple(self.core.shape)

    def __iter__(self) -> Iterator[Any]:
        yield self.core
        yield self.factors

    def __len__(self) -> int:
        return 2

    def __getitem__(self, k: int) -> Any:
        return (self.core, self.factors)[k]

    def full(self) -> NDArray[Any]:
        """All entries, as a dense array."""
        here = self.to_host()
        full = np.asarray(here.core, dtype=np.float64)
        for n, factor in enumerate(here.factors):
            full = np.moveaxis(np.tensordot(factor, full, axes=(1, n)), 0, n)
        return self._at_their_places(full)

    def to_pyttb(self) -> Any:
        """A ``pyttb.ttensor``; copies."""
        self._expect_all_rows("pyttb")
        pyttb = import_module("pyttb")
        here = self.to_host()
        core = pyttb.tensor(np.array(here.core, dtype=np.float64, order="F"))
        return pyttb.ttensor(core, [np.array(factor, dtype=np.float64, order="F") for factor in here.factors])

    def to_tensorly(self) -> Any:
        """A ``tensorly.tucker_tensor.TuckerTensor``; copies."""
        self._expect_all_rows("TensorLy")
        here = self.to_host()
        return import_module("tensorly.tucker_tensor").TuckerTensor((np.array(here.core), [np.array(factor) for factor in here.factors]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as .npz, completely or not at all."""
        if not os.fspath(path).endswith(".npz"):
            raise UsageError(f"{os.fspath(path)}: a Tucker model is written as .npz")
        arrays = {f"factor_{n}": _doubles(factor) for n, factor in enumerate(self.factors)}
        arrays["core"] = _doubles(self.core)
        self._set_names(self._names)  # refuses labels of other rows
        _backend.module().write_arrays(os.fspath(path), arrays, self._lists, _is_single(self.factors), self._names.to_file())

    def __repr__(self) -> str:
        return f"TuckerModel({' x '.join(map(str, self.shape))}, ranks {' x '.join(map(str, self.ranks))}{self._how()})"


class FastTuckerModel(_Fitted):
    """A model of what was not observed: a mean, biases, and a Tucker model whose core is a Kruskal tensor.

    ``mean + sum_n bias_n[i_n] + sum_r prod_n (factor_n @ core_n)[i_n, r]``, clipped to `range`. If biases drift,
    ``sum_n drift_n[i_n, i_T * bins_n // I_T]`` is added before, with T the mode of time.

    Attributes
    ----------
    factors, cores : list of numpy.ndarray
        I_n x J_n and J_n x R.
    biases : list of numpy.ndarray
        I_n numbers per mode; empty if the model has none.
    mean : float
    range : tuple of float
        Predictions are clipped to it.
    time_mode : int
        The mode of time, over which the biases of the others drift; -1: there is no drift.
    drifts : list of numpy.ndarray
        I_n x bins per mode, without columns if its biases do not drift; empty without a mode of time.
    history : list of dict
        ``epoch``, ``train``, ``validation``, ``test`` (each ``entries``, ``rmse``, ``mae`` or None), ``seconds``.
    reason : str
    kept_epoch : int
        The epoch that the model comes from; 0 is the start.
    choice : dict or None
        What held-out entries chose: ``learns``, ``biases``, ``model`` (their errors), ``candidates``, ``seconds``,
        ``reason`` (why the search ended), and the options ``rank``, ``columns``, ``targets``, ``shrinkage``, ``ridge``,
        ``ridge_per_entry``, ``max_epochs``, ``bias_damping``, with a mode of time ``drift``: the bins and the damping of
        each mode. ``rows``: for each mode and class of rows, those with at least ``least`` entries (0, 4, 20), the errors
        and ``learns``; where that is false, ``factor_n @ core_n`` has zeros in these rows. With ``implicit=True``,
        there are also ``implicit``, the alpha, and the NDCG of the last entries, ``ndcg``, with its standard error
        ``ndcg_error`` over ``users``, and those of the most popular items, ``popular_ndcg`` and ``popular_ndcg_error``;
        ``biases`` and ``model`` are None.
    row_fit : dict or None
        How the rows were fitted, which the file keeps: ``implicit``, ``ridge``, ``ridge_per_entry``, ``shrinkage``, ``targets``
        and ``bias_damping``. :func:`fold_in` computes rows by it. None: not known, as for models of older files.
    observed : list or None
        For each mode, which rows have entries in the training set, as booleans, or None if every row has some. None if
        that holds for all modes. Rows without entries are never recommended.
    labels, mode_names, index_base
        As in :class:`CPModel`.
    """

    observed: list[Any] | None = None
    row_fit: dict[str, Any] | None = None

    @own_keywords
    def __init__(
        self,
        factors: Sequence[Any],
        cores: Sequence[Any],
        biases: Sequence[Any] = (),
        mean: float = 0.0,
        range: tuple[float, float] = (-np.inf, np.inf),  # noqa: A002
        time_mode: int = -1,
        drifts: Sequence[Any] = (),
    ) -> None:
        self.factors = [np.asarray(factor) for factor in factors]
        self.cores = [np.asarray(core) for core in cores]
        self.biases = [np.asarray(bias) for bias in biases]
        self.mean = float(mean)
        self.range = (float(range[0]), float(range[1]))
        if not self.range[0] <= self.range[1]:
            raise UsageError(f"range is (lowest, highest), not {range!r}")
        if len(self.cores) != len(self.factors) or len(self.biases) not in (0, len(self.factors)):
            raise UsageError("a model has a factor, a core and perhaps biases for each mode")
        for n, (factor, core) in enumerate(zip(self.factors, self.cores)):
            if factor.ndim != 2 or core.ndim != 2 or factor.shape[1] != core.shape[0]:
                raise UsageError(f"the factor and the core of mode {n} do not fit: {factor.shape}, {core.shape}")
        self.time_mode = int(time_mode)
        self.drifts = [np.asarray(drift) for drift in drifts]
        order = len(self.factors)
        if not -1 <= self.time_mode < order or len(self.drifts) != (0 if self.time_mode < 0 else order):
            raise UsageError(
                f"mode {self.time_mode} cannot be time: there are {order} modes, from 0, and {len(self.drifts)} drifts"
            )
        for n, (factor, drift) in enumerate(zip(self.factors, self.drifts)):
            if drift.ndim != 2 or drift.shape[0] != factor.shape[0]:
                raise UsageError(f"the drift of mode {n} is {drift.shape}, not {factor.shape[0]} x bins")
            if n == self.time_mode and drift.shape[1] > 0:
                raise UsageError(f"mode {n} is time: it has no drift of its own")
        self.kept_epoch = 0
        self.choice: dict[str, Any] | None = None
        self._record(None)

    @classmethod
    def _of_arrays(cls, result: dict[str, Any], names: Names | None) -> FastTuckerModel:
        """The model in a result of the compiled module, which may say nothing of a run."""
        self = cls(
            result["factors"],
            result["cores"],
            result["biases"],
            result["mean"],
            (result["lowest"], result["highest"]),
            result["time_mode"],
            result["drifts"],
        )
        self._set_names(names or Names())
        return self

    @classmethod
    def _of(cls, result: dict[str, Any], names: Names | None = None) -> FastTuckerModel:
        self = cls._of_arrays(result, names)
        self._record(result)
        self.kept_epoch = result["kept_epoch"]
        self.choice = result["choice"]
        self.row_fit = result["row_fit"]
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the modes."""
        return tuple(factor.shape[0] for factor in self.factors)

    @property
    def rank(self) -> int:
        """R"""
        return int(self.cores[0].shape[1])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as .npz, completely or not at all."""
        _backend.module().write_fast_tucker(
            os.fspath(path),
            [_doubles(x) for x in self.factors],
            [_doubles(x) for x in self.cores],
            [_doubles(x) for x in self.biases],
            self.time_mode,
            [_doubles(x) for x in self.drifts],
            self.mean,
            self.range[0],
            self.range[1],
            _is_single(self.factors),
            [None if rows is None else np.ascontiguousarray(rows, dtype=np.uint8) for rows in self.observed or ()],
            self._names.to_file(0),  # rows of arrays count from 0
            self.row_fit,
        )

    def __repr__(self) -> str:
        epochs = self.history[-1]["epoch"] if self.history else self.kept_epoch
        how = f", {epochs} epochs: {self.reason}" if self.reason else ""
        return f"FastTuckerModel({' x '.join(map(str, self.shape))}, rank {self.rank}{how})"


class Rankings:
    """Rows of a mode for each query, best first; if scores are equal, the lower row comes first.

    ``rankings[q]`` is ``(rows, scores)`` of query q, views of the arrays below; iterating gives these pairs.

    Attributes
    ----------
    starts : numpy.ndarray of int64, Q + 1
        Query q has ``rows[starts[q]:starts[q + 1]]``.
    rows : numpy.ndarray of int64
        The rows of all queries, from 0. A query has fewer than requested if the mode has no more.
    scores : numpy.ndarray of float64
        Predictions, which are clipped only if ``clip`` is given, or cosines.
    unknown : int
        Queries with an index that the model does not have, or that has no entries in the training set.
    labels : numpy.ndarray or None
        The labels of all rows of the mode, if the model knows them: ``labels[rows]``.

    Examples
    --------
    >>> import polyad
    >>> rankings = polyad.Rankings([0, 2, 3], [7, 4, 1], [5.0, 4.5, 3.0])
    >>> [rows.tolist() for rows, scores in rankings]
    [[7, 4], [1]]
    """

    @own_keywords
    def __init__(self, starts: Any, rows: Any, scores: Any, unknown: int = 0) -> None:
        self.starts = np.asarray(starts, dtype=np.int64)
        self.rows = np.asarray(rows, dtype=np.int64)
        self.scores = np.asarray(scores, dtype=np.float64)
        self.unknown = int(unknown)
        self.labels: NDArray[Any] | None = None
        self._name: str = "row"
        self._queries: dict[str, Any] = {}

    def to_frame(self) -> Any:
        """The rows as a ``pandas.DataFrame``: the number of the query, its rows, the row that was found, and the score.

        Columns have the names of the modes, or mode_0, mode_1, ... for queries and row for what was found; what
        :func:`similar` found is in the column similar. Rows are labels if the model has some.

        Examples
        --------
        >>> import polyad
        >>> polyad.Rankings([0, 2, 3], [7, 4, 1], [5.0, 4.5, 3.0]).to_frame()
           query  row  score
        0      0    7    5.0
        1      0    4    4.5
        2      1    1    3.0
        """
        query = np.repeat(np.arange(len(self)), np.diff(self.starts))
        columns: dict[str, Any] = {"query": query}
        columns.update((name, given[query]) for name, given in self._queries.items())
        columns[self._name] = self.rows if self.labels is None else self.labels[self.rows]
        columns["score"] = self.scores
        return import_module("pandas").DataFrame(columns)

    @classmethod
    def _of(cls, starts: NDArray[Any], rows: NDArray[Any], scores: NDArray[Any], unknown: int) -> Rankings:
        # The library's own arrays; signed numbers add to other integers without becoming floats.
        return cls(starts.view(np.int64), rows.view(np.int64), scores, unknown)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, q: int) -> tuple[NDArray[Any], NDArray[Any]]:
        if not -len(self) <= q < len(self):
            raise IndexError(f"query {q} of {len(self)}")
        k = q % len(self)
        own = slice(self.starts[k], self.starts[k + 1])
        return self.rows[own], self.scores[own]

    def __iter__(self) -> Iterator[Any]:
        for q in range(len(self)):
            yield self[q]

    def __repr__(self) -> str:
        return f"Rankings({len(self)} queries, {len(self.rows)} rows)"


@own_keywords
def load(path: str | os.PathLike[str]) -> CPModel | TuckerModel | FastTuckerModel:
    """Read a model that :meth:`CPModel.save` or the tool wrote; the content says which kind it is.

    Raises
    ------
    InputError
        If the file is damaged or not a model.

    Examples
    --------
    >>> import numpy as np, os, polyad, tempfile
    >>> model = polyad.CPModel([2.0], [np.ones((2, 1)), np.ones((3, 1))])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "m.ktns"))
    ...     polyad.load(os.path.join(folder, "m.ktns"))
    CPModel(2 x 3, rank 1)
    """
    name = os.fspath(path)
    kind, content = _backend.module().load_model(name)
    if kind == "fast_tucker":
        factors, cores, biases, time_mode, drifts, mean, lowest, highest, observed, names, row_fit = content
        completion = FastTuckerModel(factors, cores, biases, mean, (lowest, highest), time_mode, drifts)
        if observed:
            completion.observed = [np.frombuffer(rows, dtype=bool) if rows else None for rows in observed]
        completion.row_fit = row_fit
        completion._set_names(Names.from_file(names))
        return completion
    if kind == "tucker":
        core, factors, found, names = content
        try:
            tucker = TuckerModel(core, factors)
        except UsageError as error:
            raise InputError(f"{name}: {error}") from None
        tucker._set_found_rows(found)
        tucker._set_names(Names.from_file(names))
        return tucker
    weights, factors, found, names, limits = content
    model = CPModel(weights, factors)
    model._set_found_rows(found)
    model._set_constraints(limits)
    model._set_names(Names.from_file(names))
    return model
