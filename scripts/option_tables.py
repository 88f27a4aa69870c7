# SPDX-License-Identifier: BSD-3-Clause
"""The tables of the drivers' options (include/polyad/core/option_row.hpp), for scripts/python_signatures and the test of
the interfaces."""

import json
import os
import shlex
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "python/src/print_options.cpp"


def tables():
    """The rows of each struct as dicts. A small program prints them, compiled again after a header has changed."""
    binary = ROOT / "build/print_options"
    sources = [PROGRAM, *(ROOT / "include/polyad").rglob("*.hpp")]
    if not binary.exists() or binary.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        binary.parent.mkdir(exist_ok=True)
        made = binary.with_suffix(f".{os.getpid()}")
        compiler = shlex.split(os.environ.get("CXX", "c++"))
        subprocess.run([*compiler, "-std=c++20", "-O0", f"-I{ROOT / 'include'}", PROGRAM, "-o", made], check=True)
        made.replace(binary)
    return json.loads(subprocess.run([binary], capture_output=True, text=True, check=True).stdout)
