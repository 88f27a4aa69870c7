# SPDX-License-Identifier: BSD-3-Clause
"""Libraries of NVIDIA's wheels, such as nvidia-cublas: opened where they lie, for the module of the cuda backend."""

from __future__ import annotations

import ctypes
import importlib.util
import os
from pathlib import Path


def _file_of(library: str) -> Path | None:
    """Where the wheels keep it: nvidia/cu13/lib/libcublas.so.13, or nvidia/cublas/lib/libcublas.so.12."""
    package = importlib.util.find_spec("nvidia")
    for folder in (package.submodule_search_locations or []) if package else []:
        for file in sorted(Path(folder).glob(f"*/lib/{library}")):
            return file
    return None


def open_libraries(names: Path) -> None:
    """Opens the libraries that a file names, one per line, so that the linker need not look for them.

    A library that the process has loaded already is used, torch's for instance. The linker finds what no wheel has.
    """
    for library in names.read_text().split() if names.exists() else []:
        try:
            ctypes.CDLL(library, mode=os.RTLD_NOLOAD)
            continue
        except OSError:
            pass
        if file := _file_of(library):
            ctypes.CDLL(str(file))
