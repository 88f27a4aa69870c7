# SPDX-License-Identifier: BSD-3-Clause
"""Functions with an error for unknown keyword arguments that names the right ones."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def own_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with an error for unknown keyword arguments that names the right ones."""
    code = getattr(function, "__wrapped__", function).__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    known = frozenset(names)
    what = function.__qualname__.removesuffix(".__init__")

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if not known.issuperset(kwargs):
            unknown = next(name for name in kwargs if name not in known)
            from ._foreign_names import unknown_keyword

            raise unknown_keyword(what, unknown, [name for name in names if name != "self"])
        return function(*args, **kwargs)

    return checked
