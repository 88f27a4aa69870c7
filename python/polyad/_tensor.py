# SPDX-License-Identifier: BSD-3-Clause
"""Sparse tensors, made from arrays, from the data types of other packages, and from files."""

from __future__ import annotations

import builtins
import math
import os
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _backend, _device
from ._errors import InputError, MemoryError, UsageError
from ._keywords import own_keywords
from ._names import Names, Unknown, joined, matched, same_numbering
from ._table import columns_of, is_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

_max_order = 16


def _extents(shape: Any) -> tuple[int, ...]:
    try:
        sizes = tuple(int(size) for size in shape)
    except (TypeError, ValueError):
        raise UsageError(f"a shape is a sequence of ints, not {shape!r}") from None
    if not 1 <= len(sizes) <= _max_order:
        raise UsageError(f"a tensor has 1 to {_max_order} modes, not {len(sizes)}")
    if any(size < 0 for size in sizes):
        raise UsageError(f"a mode of negative size in {sizes}")
    if max(sizes) >= 2**64:
        raise UsageError(f"a mode of {max(sizes)} rows: it has at most {2**64 - 1}")
    return sizes


def _expect_unmasked(array: Any, what: str) -> None:
    """Refuses masked entries: the numbers below a mask are not values."""
    if np.ma.is_masked(array):
        place = tuple(int(i) for i in np.argwhere(np.ma.getmaskarray(array))[0])
        raise InputError(f"{what} have masked entries, the first at {place}")


def _zeros(shape: Sequence[int], dtype: Any, name: str, text: str) -> NDArray[Any]:
    """numpy.zeros. `name` and `text` are for the MemoryError of an array that does not fit."""
    try:
        return np.zeros(shape, dtype=dtype)
    except (builtins.MemoryError, ValueError):  # numpy's
        size = math.prod(shape) * np.dtype(dtype).itemsize
        error = MemoryError(f"{text} needs {size} bytes")
        error.array, error.bytes = name, size
        raise error from None


def _coordinates(coords: Any) -> Any:
    """uint32 or uint64, C order, two dimensions; the same memory where it can be. On a device also int32 or int64."""
    if _device.is_on_device(coords):
        if len(coords.shape) != 2:
            raise UsageError(f"coordinates are nonzeros x modes, not an array of {len(coords.shape)} dimensions")
        dtype = _device.dtype_of(coords)
        if dtype.kind not in "iu":
            raise UsageError(f"coordinates are integers, not {dtype}")
        return _device.typed(coords, dtype if dtype.itemsize >= 4 else np.dtype(np.int64))
    _expect_unmasked(coords, "coordinates")
    array = np.asarray(coords)
    if array.ndim != 2:
        raise UsageError(f"coordinates are nonzeros x modes, not an array of {array.ndim} dimensions")
    if array.dtype.kind not in "iu" and array.size > 0:
        labels = "; labels come in a table, such as a pandas.DataFrame" if array.dtype.kind in "USO" else ""
        raise UsageError(f"coordinates are integers, not {array.dtype}{labels}")
    if array.dtype in (np.uint32, np.uint64) and array.dtype.isnative:
        return np.require(array, requirements=["C", "A"])
    if array.dtype in (np.int32, np.int64) and array.dtype.isnative:
        # The same bits: what is negative becomes too large, which is found with what lies outside.
        return np.require(array, requirements=["C", "A"]).view(np.uint32 if array.dtype == np.int32 else np.uint64)
    if array.dtype.kind == "i" and array.size > 0 and array.min() < 0:
        raise InputError(f"coordinates count from 0; the smallest is {array.min()}")
    return np.ascontiguousarray(array, dtype=np.uint64)


def _doubles(array: NDArray[Any]) -> NDArray[np.float64]:
    """float64; refuses numbers that would become other integers, infinite or zero."""
    with np.errstate(over="ignore", invalid="ignore"):
        doubles = np.ascontiguousarray(array, dtype=np.float64)
        if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
            end = 2.0**63 if array.dtype.kind == "i" else 2.0**64
            inside = np.where(doubles < end, doubles, 0.0)
            wrong = (doubles >= end) | (inside.astype(array.dtype) != array)
            reason = "an integer beyond 2^53 that no double equals"
        else:
            wrong = (np.isinf(doubles) & np.isfinite(array)) | ((doubles == 0) & (array != 0))
            reason = "beyond the range of a double"
    if wrong.any():
        first = int(np.argmax(wrong))
        raise InputError(f"the value of nonzero {first}, {array[first]}, is {reason}")
    return doubles


def _numbers(values: Any) -> Any:
    """float32 or float64, one dimension, without gaps; the same memory where it can be."""
    if _device.is_on_device(values):
        if len(values.shape) != 1:
            raise UsageError(f"values are one number for each nonzero, not an array of {len(values.shape)} dimensions")
        dtype = _device.dtype_of(values)
        return _device.typed(values, dtype if dtype in (np.float32, np.float64) else np.dtype(np.float64))
    _expect_unmasked(values, "values")
    array = np.asarray(values)
    if array.ndim != 1:
        raise UsageError(f"values are one number for each nonzero, not an array of {array.ndim} dimensions")
    if array.dtype in (np.float32, np.float64) and array.dtype.isnative:
        return np.require(array, requirements=["C", "A"])
    if array.dtype.kind in "iufb" or array.size == 0:
        return _doubles(array)
    raise UsageError(f"values are real numbers, not {array.dtype}")


class SparseTensor:
    """A sparse tensor: the coordinates of its nonzeros and their values.

    Arrays of the right type are used without a copy: values of float32 or float64 without gaps, coordinates of
    uint32, uint64, int32 or int64 in C order. Others are copied once. ``coords`` is a read-only view; your own
    array stays writable. If you change it afterwards, each function checks the coordinates again before it uses
    them, but does not sum duplicates.

    With the cuda backend, arrays of cupy or torch on the GPU stay there. What is computed from them is also
    there, as arrays of the same package. Arrays in host memory are copied to the GPU once.

    Parameters
    ----------
    coords : array_like of int, nonzeros x modes
        Coordinates, which count from 0.
    values : array_like of float
        One for each nonzero. float32 computes in single precision.
    shape : sequence of int, optional
        The sizes of the modes; without it one more than the largest coordinate.
    duplicates : {"keep", "sum", "last", "error"}
        Nonzeros at one place: keep them all, as every reader does, sum them, take the last one, or make them an error.
        Functions that use the tensor have an option of the same name. "last" is for arrays in host memory.
    allow_non_finite : bool
        Accept NaN and infinite values.
    labels : sequence, optional
        For each mode the names of its rows, or None.
    mode_names : sequence of str, optional
        The names of the modes.

    Attributes
    ----------
    coords, values : numpy.ndarray, or an array on the GPU
        Numpy's coordinates are read-only.
    shape : tuple of int
    labels, mode_names : list or None
    index_base : int or None
        The number of the first row of each mode in the file, 0 or 1; None for a tensor of arrays. In memory all rows
        count from 0.
    found : dict
        What :func:`read` found in the file: ``dialect``, ``index_base``, the number of ``duplicates`` that were
        removed, and for a table of text, in ``table``, the use of its columns, and in ``left_out`` those without a use.

    Raises
    ------
    UsageError
        If types or shapes do not fit.
    InputError
        If a coordinate lies outside, a value is not finite or several nonzeros have the same coordinates.

    Examples
    --------
    >>> import polyad
    >>> X = polyad.SparseTensor([[0, 0, 1], [2, 1, 0]], [3.0, 4.0], (3, 2, 2))
    >>> X
    SparseTensor(3 x 2 x 2, 2 nonzeros, float64)
    >>> X.norm()
    5.0
    """

    @own_keywords
    def __init__(
        self,
        coords: Any,
        values: Any,
        shape: Sequence[int] | None = None,
        *,
        duplicates: str = "keep",
        allow_non_finite: bool = False,
        labels: Sequence[Any] | None = None,
        mode_names: Sequence[Any] | None = None,
    ) -> None:
        if duplicates not in ("error", "sum", "last", "keep"):
            raise UsageError(f"duplicates is error, sum, last or keep, not {duplicates!r}")
        if _device.is_on_device(coords) != _device.is_on_device(values):
            raise UsageError("coordinates and values are in different memory: one is a GPU's, the other the host's")
        index = _coordinates(coords)
        number = _numbers(values)
        on_device = _device.is_on_device(number)
        if index.shape[0] != number.shape[0]:
            raise UsageError(f"{index.shape[0]} coordinates but {number.shape[0]} values")
        if shape is None:
            if index.shape[0] == 0:
                raise UsageError("a tensor without nonzeros requires a shape")
        if shape is None and on_device:
            shape = _device.extents_of(index)
        elif shape is None:
            signed = index.view(np.int32 if index.itemsize == 4 else np.int64)
            if np.asarray(coords).dtype.kind == "i" and signed.min() < 0:
                raise InputError(f"coordinates count from 0; the smallest is {signed.min()}")
            shape = [int(largest) + 1 for largest in index.max(axis=0)]
        sizes = _extents(shape)
        if len(sizes) != index.shape[1] and not (index.shape[0] == 0 and index.shape[1] == 0):
            raise UsageError(f"coordinates of {index.shape[1]} numbers for a tensor of {len(sizes)} modes")
        if index.shape[1] != len(sizes):
            index = np.empty((0, len(sizes)), dtype=np.uint32)
        if _device.dtype_of(index).itemsize == 4 and max(sizes) > 2**32:
            index = _device.typed(index, np.dtype(np.int64)) if on_device else index.astype(np.uint64)
        engine = _backend.engine()
        held = engine.wrap(list(sizes), index, number)
        outside, not_finite = engine.find_faults(held)
        if outside is not None:
            place = _device.to_host(index[outside] if on_device else np.asarray(coords)[outside]).tolist()
            mode = next(n for n, (i, size) in enumerate(zip(place, sizes)) if not 0 <= i < size)
            raise InputError(
                f"nonzero {outside} lies at {tuple(place)}, outside {' x '.join(map(str, sizes))}: it has index "
                f"{place[mode]} in mode {mode} of {sizes[mode]} rows"
            )
        if not_finite is not None and not allow_non_finite:
            raise InputError(f"nonzero {not_finite} is {number[not_finite]}: not a finite number")
        if duplicates == "last":
            if on_device:
                raise UsageError("duplicates='last' is for arrays in host memory")
            index, number = _last_at_each_place(index, number)
            held = engine.wrap(list(sizes), index, number)
        elif duplicates != "keep":
            summed, count = engine.sum_duplicates(held)
            if count and duplicates == "error":
                raise InputError(_repeats_text(count))
            if count:
                package = _device.package_of(number)
                held = summed
                index, number = (_device.as_package(array, package) for array in (summed.coords, summed.values))
        self._set(held, index, number, sizes, Names(labels, mode_names))
        self._may_repeat = duplicates == "keep"

    def _without_repeats(self, duplicates: str = "sum") -> SparseTensor:
        """The tensor with one nonzero at each place; `duplicates` is sum, last or error. Itself if it has none."""
        if duplicates not in ("sum", "last", "error"):
            raise UsageError(f"duplicates is sum, last or error, not {duplicates!r}")
        if not self._may_repeat:
            return self
        if not self._held.on_device:
            self._expect_inside()
        if duplicates == "last":
            if self._held.on_device:
                raise UsageError("duplicates='last' is for arrays in host memory")
            coords, values = _last_at_each_place(self.coords, self.values)
            count = self.nnz - len(values)
            one = _trusted(coords, values, self.shape, self._names, may_repeat=False) if count else self
        else:
            summed, count = _backend.engine().sum_duplicates(self._held)
            if count and duplicates == "error":
                raise InputError(_repeats_text(count))
            one = SparseTensor._of(summed, self._names, self._package) if count else self
        one.found = self.found
        one._may_repeat = False
        return one

    def _expect_inside(self) -> None:
        """UsageError if coordinates were changed after the tensor was made, and one is outside now."""
        outside, _ = _backend.engine().find_faults(self._held)
        if outside is None:
            return
        place = self.coords[outside].tolist()
        n = next(n for n, (row, size) in enumerate(zip(place, self.shape)) if row >= size)
        bits = 8 * self.coords.itemsize
        signed = f" ({place[n] - 2**bits} as a signed number)" if place[n] >= 2 ** (bits - 1) else ""
        raise UsageError(
            f"nonzero {outside} is outside the tensor: it has index {place[n]}{signed} in mode {n} of {self.shape[n]} rows"
        )

    def _set(self, held: Any, coords: Any, values: Any, shape: tuple[int, ...], names: Names | None = None) -> None:
        self._held = held
        if isinstance(coords, np.ndarray):
            coords = coords.view()
            coords.flags.writeable = False
        self.coords = coords
        self.values = values
        self.shape = shape
        names = (names or Names()).checked(shape)
        self.labels = names.labels
        self.mode_names = names.mode_names
        self.index_base = names.index_base
        self.found: dict[str, Any] = {}
        self._may_repeat = True

    @property
    def _shows_base(self) -> bool:
        """Whether it was read from text that only shows by its indices what it counts from."""
        return self.found.get("dialect") in _without_base

    @property
    def _names(self) -> Names:
        return Names(self.labels, self.mode_names, self.index_base)

    @classmethod
    def _of(cls, held: Any, names: Names | None = None, package: str = "numpy") -> SparseTensor:
        """A tensor that the library made. On a device it takes arrays of `package`."""
        self = cls.__new__(cls)
        coords, values = (_device.as_package(array, package) for array in (held.coords, held.values))
        self._set(held, coords, values, tuple(held.extents), names)
        self._may_repeat = False
        return self

    @property
    def _package(self) -> str:
        return _device.package_of(self.values)

    def to_host(self) -> SparseTensor:
        """The tensor with numpy arrays: a copy if it is on the GPU, otherwise itself."""
        if not self._held.on_device:
            return self
        coords, values = _backend.engine().arrays_on_host(self._held)
        return _trusted(coords, values, self.shape, self._names, self._may_repeat)

    @property
    def ndim(self) -> int:
        """The number of modes."""
        return len(self.shape)

    @property
    def nnz(self) -> int:
        """The number of nonzeros, including stored zeros."""
        return int(self.values.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64, the type in which results are computed."""
        return _device.dtype_of(self.values)

    def norm(self) -> float:
        """The square root of the sum of the squares of the values; values at one place are added first."""
        whole = self._without_repeats()
        if whole._held.on_device:
            return _device.norm(whole.values)
        values = whole.values.astype(np.float64, copy=False)
        largest = float(np.abs(values).max(initial=0.0))
        if largest == 0 or not math.isfinite(largest):
            return float(np.linalg.norm(values))
        power = math.frexp(largest)[1]  # the squares of the scaled values neither overflow nor vanish together
        try:
            return math.ldexp(float(np.linalg.norm(np.ldexp(values, -power))), power)
        except OverflowError:
            return math.inf

    def astype(self, dtype: Any) -> SparseTensor:
        """The tensor with values of float32 or float64; the coordinates are shared.

        Raises
        ------
        UsageError
            For a value that would be infinite or zero as float32. Values on a GPU are not checked.

        Examples
        --------
        >>> import polyad
        >>> polyad.SparseTensor([[0, 1]], [1.0]).astype("float32").dtype
        dtype('float32')
        """
        wanted = np.dtype(dtype)
        if wanted not in (np.float32, np.float64):
            raise UsageError(f"values are of float32 or float64, not {wanted}")
        if wanted == self.dtype:
            return self
        on_device = self._held.on_device
        values = _device.typed(self.values, wanted) if on_device else _cast(self.values, wanted)
        return _trusted(self.coords, values, self.shape, self._names, self._may_repeat)

    def to_dense(self) -> NDArray[Any]:
        """A numpy array of all entries."""
        here = self.to_host()
        dense = _zeros(self.shape, self.dtype, "the dense array", f"a dense array of {' x '.join(map(str, self.shape))}")
        np.add.at(dense, tuple(here.coords.T), here.values)
        return dense

    def to_frame(self) -> Any:
        """A ``pandas.DataFrame`` with a row for each nonzero: a column of labels for each mode, and one of values.

        Modes without labels have the numbers of rows, from the index base of the file on. Modes without a name are
        called mode_0, mode_1, ...

        Examples
        --------
        >>> import polyad
        >>> polyad.SparseTensor([[0, 1]], [4.5], labels=[["ann"], ["tea", "rice"]], mode_names=["user", "item"]).to_frame()
          user  item  value
        0  ann  rice    4.5
        """
        here = self.to_host()
        return frame_of(here.coords, here.values, "value", self._names)

    def to_scipy(self) -> Any:
        """A ``scipy.sparse.coo_array``; more than two modes require scipy 1.13 or newer."""
        here = self.to_host()
        return import_module("scipy.sparse").coo_array((here.values, tuple(here.coords.T.astype(np.int64))), shape=self.shape)

    def to_sparse(self) -> Any:
        """A ``sparse.COO`` of pydata/sparse."""
        here = self.to_host()
        return import_module("sparse").COO(here.coords.T.astype(np.int64), here.values, shape=self.shape)

    def to_pyttb(self) -> Any:
        """A ``pyttb.sptensor``."""
        here = self.to_host()
        pyttb = import_module("pyttb")
        return pyttb.sptensor(here.coords.astype(np.int64), here.values.reshape(-1, 1).astype(np.float64), self.shape)

    def to_torch(self) -> Any:
        """A sparse ``torch`` tensor in the same memory; the coordinates are copied once."""
        torch = import_module("torch")
        if self._package == "torch":
            coords = self.coords
        elif self._held.on_device:
            coords = torch.from_dlpack(self._signed())
        else:  # DLPack does not take read-only arrays
            coords = torch.from_numpy(self.coords.astype(np.int64))
        values = self.values if self._package == "torch" else torch.from_dlpack(self.values)
        return torch.sparse_coo_tensor(coords.to(torch.int64).T, values, self.shape, check_invariants=False)

    def _signed(self) -> Any:
        """Coordinates of signed integers, which torch takes; the same bits."""
        return self.coords.view(np.int32 if _device.dtype_of(self.coords).itemsize == 4 else np.int64)

    def __reduce__(self) -> tuple[Any, ...]:
        here = self.to_host()
        kept = (np.asarray(here.coords), np.asarray(here.values), self.shape, self.labels)
        return _trusted_with_names, (*kept, self.mode_names, self.index_base)

    def __repr__(self) -> str:
        return f"SparseTensor({' x '.join(map(str, self.shape))}, {self.nnz} nonzeros, {self.dtype})"


def _cast(values: NDArray[Any], wanted: np.dtype[Any]) -> NDArray[Any]:
    """Rounded to floats; refuses those that would become infinite or zero."""
    with np.errstate(over="ignore", under="ignore"):
        cast = values.astype(wanted)
    wrong = (np.isinf(cast) & np.isfinite(values)) | ((cast == 0) & (values != 0))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise UsageError(f"the value of nonzero {first}, {values[first]}, does not fit a {wanted}")
    return cast


def _free_name(name: str, columns: dict[str, Any]) -> str:
    """The name of a column that is not there yet."""
    while name in columns:
        name += "_"
    return name


def frame_of(coords: NDArray[Any], numbers: Any, name: str, names: Names) -> Any:
    """A ``pandas.DataFrame`` of places and their numbers: a column for each mode, and one called `name`.

    A row beyond the labels of its mode is None.
    """
    columns: dict[str, Any] = {}
    for n in range(coords.shape[1]):
        rows = coords[:, n].astype(np.int64)
        labels = names.of_mode(n)
        named = names.mode_names is not None and names.mode_names[n] is not None
        if labels is None:
            column: Any = rows + (names.index_base or 0)
        elif len(rows) and rows.max() >= len(labels):
            column = np.array([labels[row] if row < len(labels) else None for row in rows], dtype=object)
        else:
            column = labels[rows]
        columns[_free_name(str(names.mode_names[n]) if named and names.mode_names is not None else f"mode_{n}", columns)] = column
    columns[_free_name(name, columns)] = np.asarray(numbers)
    return import_module("pandas").DataFrame(columns)


def _repeats_text(count: int) -> str:
    """The message for nonzeros that are at the places of others."""
    return (
        f"{count} {'nonzero is' if count == 1 else 'nonzeros are'} at the place of another one: duplicates='sum' adds them, "
        "'last' takes the last one, and polyad.asarray and SparseTensor also take duplicates='keep'"
    )


def _last_at_each_place(coords: NDArray[Any], values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The last one of the nonzeros at each place, in the order of the nonzeros."""
    order = np.lexsort(coords.T[::-1])  # stable
    ordered = coords[order]
    is_last = np.ones(len(order), dtype=bool)
    is_last[:-1] = (ordered[1:] != ordered[:-1]).any(axis=1)
    kept = np.sort(order[is_last])
    return np.ascontiguousarray(coords[kept]), np.ascontiguousarray(values[kept])


def _trusted_with_names(
    coords: NDArray[Any], values: NDArray[Any], shape: tuple[int, ...], labels: Any, mode_names: Any, index_base: Any
) -> SparseTensor:
    """What was pickled."""
    return _trusted(coords, values, shape, Names(labels, mode_names, index_base))


def _trusted(
    coords: NDArray[Any], values: NDArray[Any], shape: tuple[int, ...], names: Any, may_repeat: bool = True
) -> SparseTensor:
    """What was checked before. Pickles of earlier versions give labels for names."""
    names = names if isinstance(names, Names) else Names(names)
    self = SparseTensor.__new__(SparseTensor)
    if not _device.is_on_device(values):
        coords, values = np.ascontiguousarray(coords), np.ascontiguousarray(values)
    self._set(_backend.engine().wrap(list(shape), coords, values), coords, values, tuple(shape), names)
    self._may_repeat = may_repeat
    return self


def without_repeats(x: Any, duplicates: str, model: Any = None) -> SparseTensor:
    """What :func:`asarray` makes of `x`, with one nonzero at each place; `duplicates` is sum, last or error.

    Rows with labels get the numbers that they have in `model`, if that is a model with labels.
    """
    if duplicates not in ("sum", "last", "error"):
        raise UsageError(f"duplicates is sum, last or error, not {duplicates!r}")
    names: Names | None = getattr(model, "_names", None)
    like = model if names is not None and names.labels is not None else None
    if isinstance(x, SparseTensor):
        tensor: SparseTensor = x
        if names is not None and like is not None and not same_numbering(names, tensor._names):
            tensor = _like(tensor, like, "error", "keep")
        return tensor._without_repeats(duplicates)
    is_named = isinstance(x, (str, os.PathLike)) or (is_table(x) and not isinstance(x, np.ndarray))
    return asarray(x, duplicates=duplicates, like=like if is_named else None)


def _of_frame(
    frame: Any, modes: Sequence[Any] | None, value: Any, like: Any, unknown: str, options: dict[str, Any]
) -> SparseTensor:
    given = () if like is None else (like._names, like.shape)
    found = columns_of(frame, modes, value, options["allow_non_finite"], *given)
    if found.unknown:
        text = "; ".join(map(str, found.unknown))
        if unknown == "error":
            raise InputError(f"{text} (unknown='new' gives them new rows)")
        warnings.warn(f"{text}: they get new rows", stacklevel=4)  # through asarray and own_keywords
    tensor = SparseTensor(
        found.coords, found.values, found.shape, labels=found.names.labels, mode_names=found.names.mode_names, **options
    )
    tensor.index_base = found.names.index_base
    return tensor


def _like(x: SparseTensor, like: Any, unknown: str, duplicates: str) -> SparseTensor:
    """A tensor whose rows are called as those of another one."""
    names: Names = like._names
    if x.ndim != len(like.shape):
        raise UsageError(f"a tensor of {x.ndim} modes, but {len(like.shape)} are needed")
    if x.labels is None and names.labels is None:
        if x._shows_base and names.index_base is not None and x.index_base != names.index_base:
            raise UsageError(
                f"one text counts from {x.index_base}, the other one from {names.index_base}: two different numberings; "
                "pass index_base to polyad.read"
            )
        return x
    coords = np.array(x.to_host().coords, dtype=np.int64)
    labels: list[Any] = []
    missing: list[Unknown] = []
    shape = []
    for n, size in enumerate(like.shape):
        own, known = x._names.of_mode(n), names.of_mode(n)
        if own is None and known is not None:
            raise UsageError(
                f"{names.mode_text(n)} has labels, but the rows of the tensor are numbers: two different numberings"
            )
        if own is not None:
            rows, new = matched(names, n, size, own, names.mode_text(n))
            used = np.zeros(len(own), dtype=bool)
            used[coords[:, n]] = True
            new = [label for label, row, is_used in zip(own.tolist(), rows, used) if row >= size and is_used]
            rows[(rows >= size) & used] = np.arange(size, size + len(new)) if known is not None else rows[(rows >= size) & used]
            coords[:, n] = rows[coords[:, n]]
            if new:
                missing.append(Unknown(names.mode_text(n), new))
                known = None if known is None else joined(known, new)
        labels.append(known)
        shape.append(max(size, int(coords[:, n].max()) + 1 if len(coords) else 0))
    if missing and unknown == "error":
        raise InputError("; ".join(map(str, missing)) + " (unknown='new' gives them new rows)")
    if missing:
        warnings.warn("; ".join(map(str, missing)) + ": they get new rows", stacklevel=4)
    result = SparseTensor(coords, np.asarray(x.to_host().values), shape, duplicates=duplicates, allow_non_finite=True)
    result._set(result._held, result.coords, result.values, result.shape, Names(labels, names.mode_names, names.index_base))
    return result


@own_keywords
def asarray(
    x: Any,
    *,
    modes: Sequence[Any] | None = None,
    value: Any = None,
    duplicates: str = "keep",
    allow_non_finite: bool = False,
    like: Any = None,
    unknown: str = "error",
) -> SparseTensor:
    """Make a sparse tensor from an object of another package.

    Parameters
    ----------
    x : object
        A :class:`SparseTensor` (returned as it is), a dense numpy array (its zeros are left out), a scipy sparse
        array of any number of dimensions, a ``sparse.COO``, a ``pyttb.sptensor`` or ``pyttb.tensor``, a sparse or
        dense tensor of torch, a sparse or dense array of cupy, a table of pandas, polars or pyarrow, or the name of a
        file (:func:`read`).
    modes : sequence, optional
        For a table, or a file that holds one: the columns that are modes. Without it all but `value`.
    value : optional
        For a table: the column of the values. Without it the last one. For a file as in :func:`read`.
    duplicates, allow_non_finite
        As for :class:`SparseTensor`.
    like : SparseTensor or model, optional
        Rows with the same labels get the same numbers as there, and columns of a table the order of its modes. Numbers
        in a file count as in the file that `like` came from.
    unknown : {"error", "new"}
        Labels that `like` does not have are an error, or get new rows after its own, with a warning. Both count and
        name them.

    Returns
    -------
    SparseTensor
        Values are shared if their type allows it. Coordinates are copied once: the others hold modes x
        nonzeros, or int64 in Fortran order. For a table the rows' names are `labels`, and the columns' names
        `mode_names`. Integers and dates are numbered in ascending order, text by first appearance.

    Raises
    ------
    InputError
        If an entry of a table is missing (None, NaN, NaT, NA), with its column and row, or a label is unknown.
    UsageError
        If the rows of `x` and `like` cannot be matched.

    Examples
    --------
    >>> import numpy as np, polyad
    >>> polyad.asarray(np.eye(3))
    SparseTensor(3 x 3, 3 nonzeros, float64)
    """
    options: dict[str, Any] = {"duplicates": duplicates, "allow_non_finite": allow_non_finite}
    if unknown not in ("error", "new"):
        raise UsageError(f"unknown is error or new, not {unknown!r}")
    if like is not None and not hasattr(like, "_names"):
        raise UsageError(f"like is a tensor or a model, not {type(like).__name__}")
    if isinstance(x, SparseTensor):
        return x if like is None else _like(x, like, unknown, "keep")
    if isinstance(x, (str, os.PathLike)):
        base = -1 if like is None or like.index_base is None else like.index_base
        table = _table_options(columns=modes, value=value)
        found = _read(x, -1, base, allow_non_finite, False, duplicates, 0, None, table)
        return found if like is None else _like(found, like, unknown, duplicates)
    if isinstance(x, np.ndarray):
        if x.dtype.kind not in "iufb":
            raise UsageError(f"expected an array of real numbers, not of {x.dtype}")
        _extents(x.shape)
        _expect_unmasked(x, "the entries of the array")
        x = np.asarray(x)  # also of a numpy.matrix, whose entries at some places are a matrix again
        places = np.nonzero(x)
        coords = np.stack(places, axis=1)
        return SparseTensor(coords, x[places], x.shape, **options)
    if is_table(x):
        return _of_frame(x, modes, value, like, unknown, options)
    package = type(x).__module__.split(".")[0]
    if package == "torch":
        x = x.detach()
        if x.is_sparse:  # COO alone, of torch's layouts
            x = x.coalesce()
            return SparseTensor(x.indices().T.contiguous(), x.values(), tuple(x.shape), **options)
        dense = x.to_dense()
        places = dense.nonzero()
        return SparseTensor(places, dense[tuple(places.T)], tuple(x.shape), **options)
    if package == "cupyx" and hasattr(x, "tocoo"):
        cupy = import_module("cupy")
        coo = x.tocoo()
        return SparseTensor(cupy.stack((coo.row, coo.col), axis=1), coo.data, coo.shape, **options)
    if package == "cupy":
        cupy = import_module("cupy")
        places = cupy.nonzero(x)
        return SparseTensor(cupy.stack(places, axis=1), x[places], x.shape, **options)
    if package == "pyttb":
        if hasattr(x, "subs"):
            subs = x.subs if x.subs.size else np.empty((0, len(x.shape)), dtype=np.int64)
            return SparseTensor(subs, np.asarray(x.vals).reshape(-1), x.shape, **options)
        if isinstance(getattr(x, "data", None), np.ndarray):
            return asarray(np.asarray(x.data), **options)
    if package == "scipy" and hasattr(x, "tocoo"):
        coo = x.tocoo()
        places = coo.coords if hasattr(coo, "coords") else (coo.row, coo.col)
        return SparseTensor(np.stack(places, axis=1), coo.data, coo.shape, **options)
    if package == "sparse" and hasattr(x, "coords") and hasattr(x, "data"):
        if x.fill_value != 0:
            raise UsageError(f"what is not stored has the value {x.fill_value}, not 0")
        return SparseTensor(x.coords.T, x.data, x.shape, **options)
    raise UsageError(f"no tensor can be made of {type(x).__module__}.{type(x).__qualname__}")


@own_keywords
def read(
    path: str | os.PathLike[str],
    *,
    index_base: int = -1,
    allow_non_finite: bool = False,
    drop_zeros: bool = False,
    duplicates: str = "keep",
    threads: int = 0,
    max_memory: int | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    columns: Sequence[str | int] | None = None,
    value: str | int | None = None,
    time: str | int | None = None,
    time_unit: str | None = None,
) -> SparseTensor:
    """Read a tensor from a file of any kind that Polyad knows.

    Parameters
    ----------
    path : path-like
        Coordinate text of any dialect (.tns, Tensor Toolbox, Matrix Market ...), a table of text such as CSV, npz,
        .pten, plain or compressed. The content decides.
    index_base : {-1, 0, 1}
        The number of the first row of a mode in the file; -1: found by the reader.
    allow_non_finite, drop_zeros : bool
    duplicates : {"keep", "sum", "last", "error"}
        Nonzeros at one place: keep them all, sum them, take the last one, or make them an error. Functions that need
        one nonzero at each place, such as :func:`cp_als`, have this option, too.
    threads : int
        The number of threads that parse; 0: all cores.
    max_memory : int, optional
        The most bytes that reading may use; unset: all free memory.
    delimiter : str, optional
        For a table of text: "comma", "tab", "semicolon", "pipe", "colons", "blanks", or the characters themselves. What
        is not given here and below follows from the first lines.
    header : bool, optional
        Whether the first line of a table names the columns.
    columns : sequence of str or int, optional
        The columns of a table that become modes, in this order, by name or by number, counted from 0.
    value : str or int, optional
        The column of a table that holds the values; "none": each line counts 1.
    time : str or int, optional
        A column of a table with times: seconds or milliseconds since 1970, or ISO dates. Needs `time_unit`.
    time_unit : {"hour", "day", "week", "month", "year"}, optional
        The steps of `time`, in UTC.

    Returns
    -------
    SparseTensor
        A tensor of float64. The arrays are the reader's own, without a copy. ``index_base`` and ``found`` say what was found,
        ``labels`` and ``mode_names`` have the names of the rows and modes.

    Raises
    ------
    InputError
        With file, line and column.
    UsageError
        For columns that a table does not have, or a file that is not a table.
    MemoryError
        If the tensor or the unpacked text needs more memory.

    Warns
    -----
    UserWarning
        If the values of coordinate text look like times.

    Examples
    --------
    >>> import pathlib, polyad, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "trips.csv"
    ...     text = path.write_text("from,to,start\\nPark,Port,2024-01-31\\nPark,Zoo,2024-03-01\\n")
    ...     X = polyad.read(path, time="start", time_unit="month")
    >>> X.mode_names, X.labels[2].tolist()
    (['from', 'to', 'start'], ['2024-01', '2024-02', '2024-03'])
    """
    table = _table_options(delimiter, header, columns, value, time, time_unit)
    return _read(path, index_base, -1, allow_non_finite, drop_zeros, duplicates, threads, max_memory, table)


def _column(what: str, column: Any) -> str:
    """A column by its name or number, as the reader takes it."""
    if isinstance(column, (str, int, np.integer)) and not isinstance(column, bool):
        return str(column)
    raise UsageError(f"{what} is the name or the number of a column, not {column!r}")


def _table_options(
    delimiter: str | None = None,
    header: bool | None = None,
    columns: Any = None,
    value: Any = None,
    time: Any = None,
    time_unit: str | None = None,
) -> tuple[Any, ...]:
    """How a table of text is read, as the compiled module takes it."""
    if isinstance(columns, str):
        raise UsageError(f"columns is a sequence of names or numbers, not {columns!r}")
    return (
        delimiter or "",
        None if header is None else bool(header),
        [] if columns is None else [_column("each of columns", column) for column in columns],
        "" if value is None else _column("value", value),
        "" if time is None else _column("time", time),
        time_unit or "",
    )


# Dialects of text that do not say what they count from.
_without_base = ("frostt", "extended-frostt", "dims-header")


def _read(
    path: Any, index_base: int, base_of_text: int, allow_non_finite: bool, drop_zeros: bool, duplicates: str, threads: int,
    max_memory: int | None, table: tuple[Any, ...],
) -> SparseTensor:
    if duplicates not in ("keep", "sum", "last", "error"):
        raise UsageError(f"duplicates is keep, sum, last or error, not {duplicates!r}")
    if max_memory is not None and not 0 <= max_memory < 2**64:
        raise UsageError(f"max_memory is a number of bytes, not {max_memory!r}")
    (coords, values, extents), dialect, merged, names, columns, left_out, is_like_times = _backend.module().read_tensor(
        os.fspath(path), index_base, base_of_text, allow_non_finite, drop_zeros, threads, duplicates, max_memory, *table
    )
    if not extents:
        raise InputError(f"{os.fspath(path)}: no tensor")
    tensor = _trusted(coords, values, tuple(extents), Names.from_file(names), duplicates == "keep")
    tensor.found = {"dialect": dialect, "index_base": tensor.index_base, "duplicates": merged}
    if columns:
        tensor.found["table"] = columns
        tensor.found["left_out"] = left_out
    if is_like_times:
        warnings.warn(
            f"{os.fspath(path)}: the last column looks like times, but was read as the values; columns=[0, 1], value=2 "
            "takes the third one",
            stacklevel=4,  # through read or asarray, and own_keywords
        )
    return tensor


@own_keywords
def write(
    path: str | os.PathLike[str],
    tensor: Any,
    *,
    dialect: str | None = None,
    single_precision: bool = False,
    packed: bool = False,
) -> None:
    """Write a tensor to a file, completely or not at all.

    Parameters
    ----------
    path : path-like
    tensor : SparseTensor or what :func:`asarray` takes
    dialect : str, optional
        Without it the ending decides: .tns, .mtx, .pten or .npz. An npz keeps the names of rows and modes. Text counts
        from 1, or from 0 if the tensor was read from a file that does.
    single_precision : bool
        Values as floats, in .pten and npz.
    packed : bool
        .pten compressed.

    Raises
    ------
    WriteError
        The previous file then stays.

    Examples
    --------
    >>> import os, polyad, tempfile
    >>> X = polyad.SparseTensor([[0, 1], [2, 0]], [1.5, -2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     polyad.write(os.path.join(folder, "x.tns"), X)
    ...     polyad.read(os.path.join(folder, "x.tns"))
    SparseTensor(3 x 2, 2 nonzeros, float64)
    """
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(f"the path comes first, then the tensor: {type(path).__name__} is not a path")
    X = asarray(tensor)
    names = X._names
    _backend.module().write_tensor(os.fspath(path), X._held, dialect or "", single_precision, packed, names.to_file())
