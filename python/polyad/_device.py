# SPDX-License-Identifier: BSD-3-Clause
"""Arrays in a GPU's memory: those of cupy and torch, and whatever else has DLPack's methods."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_host = 1  # DLPack's number of it


def is_on_device(x: Any) -> bool:
    """Whether x is an array in another memory than the host's."""
    where = getattr(x, "__dlpack_device__", None)
    return where is not None and not isinstance(x, np.ndarray) and int(where()[0]) != _host


def package_of(x: Any) -> str:
    """Where x's class comes from: "cupy", "torch" ..."""
    return type(x).__module__.split(".")[0]


def dtype_of(x: Any) -> np.dtype[Any]:
    """numpy's name of the type of an array's elements."""
    return np.dtype(str(x.dtype).removeprefix("torch."))


def as_package(array: Any, package: str) -> Any:
    """The library's device array as cupy's or torch's, without a copy; itself for other packages."""
    if not is_on_device(array) or package not in ("cupy", "torch"):
        return array
    module = sys.modules.get(package)
    if module is None:  # its array came through another one
        return array
    return module.from_dlpack(array)


def typed(array: Any, dtype: np.dtype[Any]) -> Any:
    """The array with elements of that type, row-major: itself where it is so already, else one copy on the device."""
    package = package_of(array)
    if package == "torch":
        torch = import_module("torch")
        return array.detach().to(getattr(torch, dtype.name)).contiguous()
    if package == "cupy":
        cupy = import_module("cupy")
        return cupy.ascontiguousarray(array, dtype=dtype)
    if dtype_of(array) != dtype:
        raise UsageError(f"expected an array of {dtype}, not of {dtype_of(array)}")
    return array


def rows(matrix: Any, dtype: np.dtype[Any]) -> Any:
    """A row-major matrix of that type: itself, whatever the stride of its rows, else one copy on the device."""
    if dtype_of(matrix) == dtype and package_of(matrix) in ("torch", "cupy"):
        size = 1 if package_of(matrix) == "torch" else matrix.itemsize
        row, column = (matrix.stride() if package_of(matrix) == "torch" else matrix.strides)
        if (column == size or matrix.shape[1] <= 1) and row >= matrix.shape[1] * size and row % size == 0:
            return matrix.detach() if package_of(matrix) == "torch" else matrix
    return typed(matrix, dtype)


def to_host(array: Any) -> NDArray[Any]:
    """Returns the array in host memory as one of numpy's, without a copy if it is there already."""
    if not is_on_device(array):
        return np.asarray(array)
    here: NDArray[Any]
    if package_of(array) == "torch":
        here = array.detach().cpu().numpy()
    elif package_of(array) == "cupy":
        here = array.get()
    else:
        here = import_module("cupy").from_dlpack(array).get()
    return here


def extents_of(coords: Any) -> list[int]:
    """One more than the largest coordinate of each mode."""
    largest = coords.amax(dim=0) if package_of(coords) == "torch" else coords.max(axis=0)
    return [int(number) + 1 for number in to_host(largest)]


def norm(values: Any) -> float:
    """The square root of the sum of the squares, in double precision."""
    numbers = typed(values, np.dtype(np.float64))
    return float(numbers.norm()) if package_of(numbers) == "torch" else float((numbers * numbers).sum()) ** 0.5


def move_first_mode_last(core: Any) -> Any:
    """The same array, viewed with its first mode after the others."""
    if package_of(core) == "torch":
        return core.movedim(0, -1)
    if package_of(core) == "cupy":
        cupy = import_module("cupy")
        return cupy.moveaxis(core, 0, -1)
    return core if is_on_device(core) else np.moveaxis(core, 0, -1)


def split_columns(matrix: Any, sizes: list[int]) -> Any:
    """A matrix as an array of rows x sizes: a view, whatever the stride of its rows."""
    shape = [matrix.shape[0], *sizes]
    steps = [0] * len(shape)
    step = 1
    for k in reversed(range(1, len(shape))):
        steps[k] = step
        step *= shape[k]
    if package_of(matrix) == "torch":
        steps[0] = matrix.stride(0)
        return matrix.as_strided(shape, steps)
    if is_on_device(matrix) and package_of(matrix) != "cupy":
        return matrix  # a library that is not known splits the columns itself
    bytes_of = [matrix.strides[0]] + [count * matrix.itemsize for count in steps[1:]]
    if package_of(matrix) == "cupy":
        cupy = import_module("cupy")
        return cupy.lib.stride_tricks.as_strided(matrix, shape, bytes_of)
    return np.lib.stride_tricks.as_strided(matrix, shape, bytes_of)
