# SPDX-License-Identifier: BSD-3-Clause
"""Tables of pandas or polars: a column of names for each mode, and one of values."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import InputError, UsageError

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


def _has_missing(column: NDArray[Any]) -> bool:
    if column.dtype.kind == "O":
        return any(is_missing(entry) for entry in column)
    if column.dtype.kind in "fc":
        return bool(np.isnan(column).any())
    return column.dtype.kind in "mM" and bool(np.isnat(column).any())


def _kind(entry: Any) -> str:
    """Entries of different kinds have no order, or are equal though they differ, as 1 and True."""
    if isinstance(entry, (bool, np.bool_)):
        return "bool"
    if isinstance(entry, numbers.Real):
        return "number"
    return "str" if isinstance(entry, str) else type(entry).__name__


def _found(name: Any, column: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The names of a mode in their order, and the number of the name of each row of the table."""
    if _has_missing(column):
        raise InputError(f"column {name!r} has missing entries")
    if column.dtype.kind == "O":
        if any(type(entry).__hash__ is None for entry in column):
            raise InputError(f"column {name!r} has entries that cannot be names, such as lists or sets")
        kinds = sorted({_kind(entry) for entry in column})
        if len(kinds) > 1:
            raise InputError(
                f"column {name!r} mixes entries of {' and '.join(kinds)}: give all its entries one type, such as str"
            )
    try:
        found, codes = np.unique(column, return_inverse=True)
    except (TypeError, ValueError):
        raise InputError(f"column {name!r} has entries of {_kind(column[0])}, which have no order") from None
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
    for entry in array.reshape(-1):
        if is_missing(entry):
            raise InputError(f"{what} has missing entries")
        if _kind(entry) not in ("bool", "number", "Decimal"):
            raise InputError(f"{what} has the entry {entry!r}, which is not a real number")
    return array.astype(np.float64)


def columns_of(
    frame: Any, modes: Sequence[Any] | None, value: Any, allows_nan: bool
) -> tuple[NDArray[Any], NDArray[Any], list[NDArray[Any]]]:
    """Coordinates, values and the names of each mode's rows."""
    names = list(frame.columns)
    if not names:
        raise UsageError("the table has no columns")
    value = names[-1] if value is None else value
    modes = [name for name in names if name != value] if modes is None else list(modes)
    for name in (*modes, value):
        if name not in names:
            raise UsageError(f"the table has no column {name!r}")
        if names.count(name) > 1:
            raise UsageError(f"the table has {names.count(name)} columns {name!r}")
    if not modes:
        raise UsageError(f"the table has only the column {value!r}: a tensor has at least one column of indices")
    codes, labels = [], []
    for name in modes:
        found, numbers_of_rows = _found(name, frame[name].to_numpy())
        labels.append(found)
        codes.append(numbers_of_rows)
    coords = np.stack(codes, axis=1) if len(frame) else np.empty((0, len(modes)), dtype=np.int64)
    values = numbers_of(f"column {value!r}", frame[value].to_numpy())
    if not allows_nan and _has_missing(values):
        raise InputError(f"column {value!r} has missing entries")
    return coords, values, labels
