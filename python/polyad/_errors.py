# SPDX-License-Identifier: BSD-3-Clause
"""The exceptions of Polyad, one for each kind of error of the library."""

from __future__ import annotations

import builtins


class Error(Exception):
    """Base of every error of Polyad's own."""


class UsageError(Error, ValueError):
    """An argument does not hold: a wrong shape or type, a mode out of range, an unknown name."""


class InputError(Error, ValueError):
    """The content of a file or an array is not what it should be.

    Attributes
    ----------
    file : str
        The file; empty for arrays.
    line, column : int
        They count from 1; 0 where they do not apply.
    """

    file: str = ""
    line: int = 0
    column: int = 0


class MemoryError(Error, builtins.MemoryError):  # noqa: A001
    """An array does not fit.

    Attributes
    ----------
    array : str
        What was to be stored.
    bytes : int
        What it takes.
    """

    array: str = ""
    bytes: int = 0


class NumericalError(Error, ArithmeticError):
    """NaN or infinity appeared where the method cannot go on."""


class WriteError(Error, OSError):
    """A file cannot be written; the previous file, if any, is untouched."""


class BackendError(Error, RuntimeError):
    """The backend or the device that was asked for cannot be used."""
