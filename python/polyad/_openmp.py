# SPDX-License-Identifier: BSD-3-Clause
"""One OpenMP runtime for all libraries of a process.

Wheels of torch, scikit-learn and others bring a libgomp each, under names of their own. Every one starts threads of its
own, which then spin against the others'. The linker binds a library's calls to the first runtime that it finds among
the names that all libraries see. So Polyad makes one visible to all: that of a library that came before, else its own.
torch does the same.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_here = Path(__file__).parent


def _needed() -> set[str]:
    """The functions of the runtime that the installed modules call (../module_needs.cmake)."""
    return {name for file in _here.glob("_polyad_*.omp") for name in file.read_text().split()}


def _lacks(library: ctypes.CDLL, needed: set[str]) -> list[str]:
    return sorted(name for name in needed if not hasattr(library, name))


def _mapped() -> list[str]:
    """The files of the runtimes that are in this process."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        paths = (line.split(maxsplit=5)[5].rstrip("\n") for line in file if "/libgomp" in line)
        return list(dict.fromkeys(path for path in paths if os.path.basename(path).startswith("libgomp")))


def _own() -> list[str]:
    """A repaired wheel's copy, else what the system calls so."""
    return [*(str(path) for path in sorted(_here.parent.glob("polyad.libs/libgomp*"))), "libgomp.so.1"]


def share() -> None:
    """Makes one runtime visible to all libraries, unless one is already. Starts no thread.

    ``POLYAD_SHARE_OPENMP=0`` in the environment leaves everything as it is.
    """
    if not sys.platform.startswith("linux") or os.environ.get("POLYAD_SHARE_OPENMP") == "0":
        return
    needed = _needed()
    if not needed or hasattr(ctypes.CDLL(None), "GOMP_parallel"):
        return
    try:
        candidates = [*_mapped(), *_own()]
    except OSError:  # no /proc
        candidates = _own()
    for path in candidates:
        try:
            if not _lacks(ctypes.CDLL(path), needed):
                ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
                return
        except OSError:
            continue


def end_threads_before_forks(file: str) -> None:
    """A fork's child has no threads, yet a libgomp that had some waits for them, in whatever library calls it.

    So the runtime ends them before a fork. The next loop starts new ones.
    """
    if not os.path.basename(file).startswith("libgomp"):
        return
    runtime = ctypes.CDLL(file)
    if hasattr(runtime, "omp_pause_resource_all"):  # that of gcc 9 or newer
        soft = 1
        os.register_at_fork(before=lambda: runtime.omp_pause_resource_all(soft))


def expect_whole() -> None:
    """An ImportError where the visible runtime lacks what the modules call.

    The linker would take the rest from another one, and threads of one know nothing of the other.
    """
    visible = ctypes.CDLL(None)
    missing = _lacks(visible, _needed()) if hasattr(visible, "GOMP_parallel") else []
    if missing:
        raise ImportError(
            f"the OpenMP runtime of this process ({', '.join(_mapped()) or 'not a libgomp'}) is too old for Polyad: "
            f"it lacks {', '.join(missing)}. Import polyad before the package that brings it"
        )
