# SPDX-License-Identifier: BSD-3-Clause
"""Polyad factors sparse tensors, on many CPU cores or on a GPU.

>>> import polyad
>>> X = polyad.generate("uniform", (30, 40, 50), 2000)
>>> model = polyad.cp_als(X, rank=4)
>>> model.rank
4

Tensors: :class:`SparseTensor`, :func:`asarray`, :func:`read`, :func:`write`, :func:`generate`.
Decompositions: :func:`cp_als`, :func:`tucker`; completion: :func:`fast_tucker`, :func:`predict`,
:func:`recommend`, :func:`similar`, :func:`fold_in`, :func:`update_rows`, :func:`choose_implicit`;
evaluation: :func:`evaluate`, :func:`split`.
Values of any model: :func:`predict`, :func:`residuals`.
Products: :func:`mttkrp`, :func:`ttm`, :func:`ttmc`. Formats: :func:`any_format`, :func:`estimate`, :func:`tune`. Estimators in scikit-learn's manner: :class:`CP`,
:class:`Tucker`, :class:`TensorRecommender`.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from ._backend import backends, info, set_backend, set_device, set_threads
from ._errors import BackendError, Error, InputError, KeywordError, MemoryError, NumericalError, UsageError, WriteError
from ._drivers import cp_als, fast_tucker, tucker
from ._evaluation import Evaluation, evaluate, split
from ._fold_in import fold_in, update_rows
from ._functions import (
    Format,
    any_format,
    compare,
    estimate,
    generate,
    hold_out,
    mttkrp,
    predict,
    recommend,
    residuals,
    similar,
    ttm,
    ttmc,
    tune,
)
from ._implicit import choose_implicit
from ._models import CPModel, FastTuckerModel, Rankings, TuckerModel, load
from ._tensor import SparseTensor, asarray, read, write
from ._openmp import share as _share_openmp

if _TYPE_CHECKING:
    from ._errors import NotFittedError
    from .estimators import CP, TensorRecommender, Tucker

# After numpy, whose own runtime, where it has one, comes first.
_share_openmp()

__version__ = "0.2.0"

# Without polyad.MemoryError, which has the name of a builtin exception.
__all__ = [
    "BackendError",
    "CP",
    "CPModel",
    "Error",
    "Evaluation",
    "FastTuckerModel",
    "Format",
    "InputError",
    "KeywordError",
    "NotFittedError",
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
    "choose_implicit",
    "compare",
    "cp_als",
    "estimate",
    "evaluate",
    "fast_tucker",
    "fold_in",
    "generate",
    "hold_out",
    "info",
    "load",
    "mttkrp",
    "predict",
    "read",
    "recommend",
    "residuals",
    "set_backend",
    "set_device",
    "set_threads",
    "similar",
    "split",
    "ttm",
    "ttmc",
    "tucker",
    "tune",
    "update_rows",
    "write",
]


if not _TYPE_CHECKING:  # type checkers know the names above, and no others

    def __getattr__(name: str) -> _Any:
        """The estimators and NotFittedError, made at their first use: they derive from classes of scikit-learn."""
        if name in ("CP", "TensorRecommender", "Tucker", "estimators"):
            from importlib import import_module

            estimators = import_module("polyad.estimators")
            for found in ("CP", "TensorRecommender", "Tucker"):
                globals()[found] = getattr(estimators, found)
            return globals()[name]
        if name == "NotFittedError":
            from ._errors import not_fitted_error

            return not_fitted_error()
        raise AttributeError(f"module 'polyad' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "estimators"})
