# SPDX-License-Identifier: BSD-3-Clause
"""Tables of pandas, polars or pyarrow: a column of names for each mode, and one of values."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import InputError, UsageError
from ._names import Names, Unknown, joined, matched

if TYPE_CHECKING:
    from numpy.typing import NDArray


def is_missing(entry: Any) -> bool:
    """Whether an entry is None, NaN, NaT or pandas' NA."""
    if entry is None:
        return True
    try:
        return bool(entry != entry)
    except TypeError:  # pandas' NA is neither equal to itself nor different
        return True
    except ValueError:  # an array
        return False


# Types whose entries are never missing.
_whole = frozenset((str, int, bool, bytes, np.str_, np.int64, np.int32, np.bool_))


def _first_missing(column: NDArray[Any]) -> int | None:
    """The row of the first missing entry."""
    if column.dtype.kind == "O":
        entries = column.tolist()
        if _whole.issuperset(map(type, entries)):
            return None
        return next((row for row, entry in enumerate(entries) if is_missing(entry)), None)
    if column.dtype.kind in "fc":
        missing = np.isnan(column)
    elif column.dtype.kind in "mM":
        missing = np.isnat(column)
    else:
        return None
    return int(np.argmax(missing)) if missing.any() else None


def _kind(entry: Any) -> str:
    """Entries of different kinds have no order, or are equal though they differ, as 1 and True."""
    if isinstance(entry, (bool, np.bool_)):
        return "bool"
    if isinstance(entry, numbers.Real):
        return "number"
    return "str" if isinstance(entry, str) else type(entry).__name__


def is_table(x: Any) -> bool:
    """Whether it is a table of one of the packages."""
    return hasattr(x, "columns") and hasattr(x, "__getitem__") and not isinstance(x, np.ndarray)


class _Table:
    """The columns of a table, whatever package it is of."""

    def __init__(self, frame: Any) -> None:
        self.package = type(frame).__module__.split(".")[0]
        if self.package == "pyarrow":
            self.names = list(frame.schema.names)
        else:
            self.names = list(frame.columns)
        self.frame = frame

    def expect(self, name: Any) -> None:
        if name not in self.names:
            raise UsageError(f"the table has no column {name!r}")
        if self.names.count(name) > 1:
            raise UsageError(f"the table has {self.names.count(name)} columns {name!r}")

    def column(self, name: Any) -> Any:
        return self.frame.column(name) if self.package == "pyarrow" else self.frame[name]

    def expect_whole(self, name: Any) -> None:
        """Refuses None, NaN, NaT and NA, with the row."""
        column = self.column(name)
        row: int | None = None
        if self.package == "pandas":
            missing = column.isna().to_numpy()
            row = int(np.argmax(missing)) if missing.any() else None
        else:
            if self.package in ("polars", "pyarrow") and (column.null_count() if self.package == "polars" else column.null_count) > 0:
                row = int(np.argmax(np.asarray(column.is_null().to_numpy())))
            row = _first_missing(self.array(name)) if row is None else row
        if row is not None:
            raise InputError(f"column {name!r} has missing entries, the first in row {row} (from 0)")

    def array(self, name: Any) -> NDArray[Any]:
        column = self.column(name)
        array = np.asarray(column.to_numpy())
        # pandas' integers that may be missing are objects, though none is.
        dtype = getattr(column.dtype, "numpy_dtype", None) if self.package == "pandas" else None
        if array.dtype.kind == "O" and dtype is not None and dtype.kind in "iub":
            array = array.astype(dtype)
        return array

    def __len__(self) -> int:
        return int(self.frame.num_rows) if self.package == "pyarrow" else len(self.frame)


def _ascending(found: NDArray[Any], codes: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The same labels in ascending order."""
    order = np.argsort(found, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return found[order], rank[codes]


def _number_objects(name: Any, column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Numbers text by first appearance, other entries in ascending order."""
    entries = column.tolist()  # lists are faster than arrays of objects
    types = set(map(type, entries))
    if any(kind.__hash__ is None for kind in types):
        raise InputError(f"column {name!r} has entries that cannot be names, such as lists or sets")
    examples = {kind: next(entry for entry in entries if type(entry) is kind) for kind in types}
    kinds = sorted({_kind(entry) for entry in examples.values()})
    if len(kinds) > 1:
        raise InputError(
            f"column {name!r} mixes entries of {' and '.join(kinds)}: give all its entries one type, such as str"
        )
    if kinds == ["str"]:
        order = dict.fromkeys(entries)
        rows = dict(zip(order, range(len(order))))
        codes = np.fromiter(map(rows.__getitem__, entries), dtype=np.int64, count=len(entries))
        found: NDArray[Any] = np.empty(len(order), dtype=object)
        found[:] = list(order)
        return found, codes
    try:
        found, codes = np.unique(column, return_inverse=True)
    except (TypeError, ValueError):
        raise InputError(f"column {name!r} has entries of {kinds[0]}, which have no order") from None
    return found, codes.reshape(-1)


def _numbered(table: _Table, name: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """The labels of a column, and for each of its rows the number of its label.

    Integers, dates and other ordered entries are numbered in ascending order, text by first appearance.
    """
    table.expect_whole(name)
    array = table.array(name)
    if table.package == "pandas":
        pandas = sys.modules["pandas"]
        column = table.column(name)
        is_text = isinstance(column.dtype, pandas.StringDtype)
        if column.dtype == object:
            is_text = {str}.issuperset(map(type, array.tolist()))
        if array.dtype.kind in "iu" or is_text:
            codes, found = pandas.factorize(column if is_text else array)
            found = np.asarray(found, dtype=object if is_text else array.dtype)
            return (found, codes) if is_text else _ascending(found, codes)
    if array.dtype.kind in "OU":
        return _number_objects(name, array.astype(object, copy=False))
    found, codes = np.unique(array, return_inverse=True)
    return found, codes.reshape(-1)


def numbers_of(what: str, column: Any) -> NDArray[Any]:
    """Real numbers. Those of Python, and those of a type that may have missing entries, become doubles.

    Raises
    ------
    InputError
        If an entry is missing or is not a number.
    """
    array = np.asarray(column)
    if array.dtype.kind != "O":
        return array
    for row, entry in enumerate(array.reshape(-1)):
        if is_missing(entry):
            raise InputError(f"{what} has missing entries, the first in row {row} (from 0)")
        if _kind(entry) not in ("bool", "number", "Decimal"):
            raise InputError(f"{what} has the entry {entry!r}, which is not a real number")
    return array.astype(np.float64)


def _modes_of(table: _Table, modes: Sequence[Any] | None, value: Any, like: Names | None, order: int) -> tuple[list[Any], Any]:
    """The columns of the modes and of the values; the latter is None if there is none."""
    names = table.names
    if not names:
        raise UsageError("the table has no columns")
    if modes is None and like is not None and like.mode_names is not None and all(name in names for name in like.mode_names):
        modes = list(like.mode_names)
        others = [name for name in names if name not in modes]
        if value is None and others:
            value = others[-1]
    elif modes is None and like is not None and value is None and len(names) == order:
        modes = names  # places without values
    else:
        value = names[-1] if value is None else value
        modes = [name for name in names if name != value] if modes is None else list(modes)
    for name in (*modes, *([] if value is None else [value])):
        table.expect(name)
    if not modes:
        raise UsageError(f"the table has only the column {value!r}: a tensor has at least one column of indices")
    return modes, value


class TableColumns:
    """Coordinates, values and names of a table."""

    def __init__(self, coords: NDArray[Any], values: NDArray[Any], names: Names, shape: list[int], unknown: list[Unknown]) -> None:
        self.coords = coords
        self.values = values
        self.names = names
        self.shape = shape
        self.unknown = unknown


def columns_of(
    frame: Any,
    modes: Sequence[Any] | None,
    value: Any,
    allows_nan: bool,
    like: Names | None = None,
    like_shape: Sequence[int] = (),
) -> TableColumns:
    """Numbers the rows of a table: on its own, or as a tensor or model of the names `like` has them.

    Labels that `like` does not have get the rows that follow its own.
    """
    table = _Table(frame)
    order = len(like_shape)
    modes, value = _modes_of(table, modes, value, like, order)
    if like is not None and len(modes) != order:
        raise UsageError(f"the table has {len(modes)} columns for modes, {modes}, but {order} modes are needed")
    columns, labels, shape, unknown = [], [], [], []
    for n, name in enumerate(modes):
        found, codes = _numbered(table, name)
        if like is not None:
            rows, new = matched(like, n, like_shape[n], found, f"column {name!r}")
            columns.append(rows[codes])
            known = like.of_mode(n)
            shape.append(max(like_shape[n], int(rows.max()) + 1 if len(rows) else 0))
            if new:
                unknown.append(Unknown(f"column {name!r}", new))
                if known is not None:
                    known = joined(known, new)
            labels.append(known)
        else:
            columns.append(codes)
            shape.append(len(found))
            labels.append(found)
    coords = np.stack(columns, axis=1) if len(table) else np.empty((0, len(modes)), dtype=np.int64)
    if value is None:
        values: NDArray[Any] = np.zeros(len(table))
    else:
        if not allows_nan:
            table.expect_whole(value)
        values = numbers_of(f"column {value!r}", table.array(value))
    if like is None:
        names = Names(labels, modes)
    else:
        names = Names(labels if any(found is not None for found in labels) else None, like.mode_names, like.index_base)
    return TableColumns(coords, values, names, shape, unknown)
