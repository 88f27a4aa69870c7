# SPDX-License-Identifier: BSD-3-Clause
"""Polyad factors sparse tensors, on many CPU cores or on a GPU.

>>> import polyad
>>> X = polyad.generate("uniform", (30, 40, 50), 2000)
>>> model = polyad.cp_als(X, rank=4)
>>> model.rank
4

Tensors: :class:`SparseTensor`, :func:`asarray`, :func:`read`, :func:`write`, :func:`generate`.
Decompositions: :func:`cp_als`, :func:`tucker`; completion: :func:`fast_tucker`, :func:`predict`,
:func:`recommend`, :func:`similar`.
Products: :func:`mttkrp`, :func:`ttm`, :func:`ttmc`. Formats: :func:`any_format`, :func:`estimate`, :func:`tune`. Estimators in scikit-learn's manner: :class:`CP`,
:class:`Tucker`, :class:`TensorRecommender`.
"""

from ._backend import backends, info, set_backend, set_device, set_threads
from ._errors import BackendError, Error, InputError, MemoryError, NumericalError, UsageError, WriteError
from ._functions import (
    Format,
    any_format,
    compare,
    cp_als,
    estimate,
    fast_tucker,
    generate,
    hold_out,
    mttkrp,
    predict,
    recommend,
    similar,
    ttm,
    ttmc,
    tucker,
    tune,
)
from ._models import CPModel, FastTuckerModel, Rankings, TuckerModel, load
from ._tensor import SparseTensor, asarray, read, write
from .estimators import CP, TensorRecommender, Tucker
from ._openmp import share as _share_openmp

# After numpy, whose own runtime, where it has one, comes first.
_share_openmp()

__version__ = "0.2.0"

__all__ = [
    "BackendError",
    "CP",
    "CPModel",
    "Error",
    "FastTuckerModel",
    "Format",
    "InputError",
    "MemoryError",
    "NumericalError",
    "Rankings",
    "SparseTensor",
    "TensorRecommender",
    "Tucker",
    "TuckerModel",
    "UsageError",
    "WriteError",
    "any_format",
    "asarray",
    "backends",
    "compare",
    "cp_als",
    "estimate",
    "fast_tucker",
    "generate",
    "hold_out",
    "info",
    "load",
    "mttkrp",
    "predict",
    "read",
    "recommend",
    "set_backend",
    "set_device",
    "set_threads",
    "similar",
    "ttm",
    "ttmc",
    "tucker",
    "tune",
    "write",
]
