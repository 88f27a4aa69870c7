# SPDX-License-Identifier: BSD-3-Clause
"""The exceptions of Polyad, one for each kind of error of the library."""

from __future__ import annotations

import builtins
import functools
import importlib
from typing import TYPE_CHECKING


class Error(Exception):
    """Base of every error of Polyad's own."""


class UsageError(Error, ValueError):
    """An argument is invalid: a wrong shape or type, a mode out of range, an unknown name."""


class KeywordError(UsageError, TypeError):
    """A function has no such keyword argument. The text names the one that is meant, if it is known."""


class InputError(Error, ValueError):
    """The content of a file or an array is not what it should be.

    Attributes
    ----------
    file : str
        The file; empty for arrays.
    line, column : int
        They count from 1; 0 if they do not apply.
    """

    file: str = ""
    line: int = 0
    column: int = 0


class MemoryError(Error, builtins.MemoryError):
    """An array does not fit.

    Attributes
    ----------
    array : str
        The array that was to be stored.
    bytes : int
        The bytes that it needs.
    """

    array: str = ""
    bytes: int = 0


class NumericalError(Error, ArithmeticError):
    """NaN or infinity appeared where the method cannot continue."""


class WriteError(Error, OSError):
    """A file cannot be written; the previous file, if any, is untouched."""


class BackendError(Error, RuntimeError):
    """The requested backend or device cannot be used."""


if TYPE_CHECKING:

    class NotFittedError(UsageError, AttributeError):
        """The estimator has no model yet: call ``fit`` first."""


@functools.cache
def not_fitted_error() -> type[UsageError]:
    """The class NotFittedError, made at its first use: it derives from scikit-learn's class if that is installed."""
    base: type = AttributeError
    try:
        base = importlib.import_module("sklearn.exceptions").NotFittedError
    except ImportError:
        pass
    text = "The estimator has no model yet: call ``fit`` first."
    return type("NotFittedError", (UsageError, base), {"__module__": "polyad", "__doc__": text})
