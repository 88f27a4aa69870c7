#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How fast tables of text are read and numbered: scripts/perf_tables.py [PROGRAM] [--lines N] [--rows N] [--labels N] [--threads N]

PROGRAM is build/openmp/bin/polyad_perf_tables unless named. Its numbering is compared with pandas.factorize of the same
texts in the same run, if pandas is installed, and with polyad.asarray, if this package is. Prints a table, and what is
required: 200 MB/s of text on two cores, and 30 million rows in 8 s and 3 GB, no slower than pandas.factorize. The status
is 1 if one of these is missed. Other loads of the machine make all times worse: compare the processor times, too.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def pandas_times(rows, labels):
    """Seconds of pandas.factorize of three columns of texts, and of polyad.asarray; None for what is not installed."""
    try:
        import numpy as np
        import pandas as pd
    except ImportError:
        return None, None
    rng = np.random.default_rng(0)
    words = [pd.array([f"n{10000000 + k}" for k in range(labels // 3)], dtype="str") for _ in range(3)]
    columns = [pd.Series(words[c].take(rng.integers(0, len(words[c]), rows))) for c in range(3)]
    begin = time.monotonic()
    for column in columns:
        pd.factorize(column)
    factorize = time.monotonic() - begin
    try:
        import polyad
    except ImportError:
        return factorize, None
    frame = pd.DataFrame({"a": columns[0], "b": columns[1], "c": columns[2], "value": np.ones(rows)})
    begin = time.monotonic()
    polyad.asarray(frame, duplicates="keep")
    return factorize, time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", default=str(ROOT / "build" / "openmp" / "bin" / "polyad_perf_tables"))
    parser.add_argument("--lines", type=int, default=5_000_000)
    parser.add_argument("--rows", type=int, default=30_000_000)
    parser.add_argument("--labels", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    command = [given.program, given.lines, given.rows, given.labels, given.threads]
    found = json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)
    factorize, asarray = pandas_times(given.rows, given.labels)
    print(f"reading      {found['read_mb_per_s']:.0f} MB/s, {found['read_processor_s']:.2f} s of processor time for "
          f"{found['megabytes']:.0f} MB; counting its lines {found['count_lines_mb_per_s']:.0f} MB/s")
    print(f"numbering    {found['rows']} rows, {found['labels']} labels: {found['number_s']:.2f} s "
          f"({found['number_processor_s']:.2f} s of processor time), {found['number_bytes'] / 1e9:.2f} GB")
    print("pandas       " + ("is not installed" if factorize is None else f"factorize {factorize:.2f} s") +
          ("" if asarray is None else f", polyad.asarray {asarray:.2f} s"))
    missed = [text for text, is_met in (
        ("200 MB/s", found["read_mb_per_s"] >= 200),
        ("8 s", found["number_s"] <= 8),
        ("3 GB", found["number_bytes"] <= 3e9),
        ("pandas.factorize", factorize is None or found["number_s"] <= factorize)) if not is_met]
    print("missed       " + (", ".join(missed) or "nothing"))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
