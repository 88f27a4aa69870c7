#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fits of nonnegative models by coordinate descent against golden ones. They were computed without Polyad, from the
random start of seed 0 with its own scale, which a model file gives here: cpd scales its own random starts.
Usage: check_nonnegative.py TOOL TENSOR GOLDEN [--threads N]... [--format NAME]... [--most ITERATIONS]"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

TOLERANCE = 1e-6  # the golden fits have six decimals
BITS = 2**64 - 1


def uniform(seed, n, row, column):
    """u(n, i, r) of data/README.md."""
    z = ((n + 1) * 0x9E3779B97F4A7C15 + (row + 1) * 0xBF58476D1CE4E5B9 + (column + 1) * 0x94D049BB133111EB
         + seed * 0xD6E8FEB86659FD93) & BITS
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & BITS
    return ((z ^ (z >> 31)) >> 11) * 2.0**-53


def write_start(path, dims, rank):
    """The random start of seed 0 as a model with weights of 1, in the text of the Tensor Toolbox."""
    lines = ["ktensor", str(len(dims)), " ".join(map(str, dims)), str(rank), " ".join(["1"] * rank)]
    for n, size in enumerate(dims):
        lines += ["matrix", "2", f"{size} {rank}"]
        lines += [" ".join(repr(uniform(0, n, i, r)) for r in range(rank)) for i in range(size)]
    path.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("tensor")
    parser.add_argument("golden", type=Path)
    parser.add_argument("--threads", action="append", type=int, help="none: the tool's own choice")
    parser.add_argument("--format", action="append", dest="formats", help="none: the tool's own choice")
    parser.add_argument("--most", type=int, default=20, help="leave fits out that take more iterations")
    arguments = parser.parse_args()
    golden = json.loads(arguments.golden.read_text())
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        start, report_file = Path(folder, "start.ktns"), Path(folder, "report.json")
        write_start(start, golden["dims"], golden["rank"])
        for sweeps, fits in golden["fits"].items():
            wanted = {int(k): fit for k, fit in fits.items() if int(k) <= arguments.most}
            for threads in arguments.threads or [None]:
                for form in arguments.formats or [None]:
                    command = [arguments.tool, "cpd", arguments.tensor, "-r", str(golden["rank"]), "--init", start,
                               "-i", str(max(wanted)), "--tol", "0", "--nonnegative", "--inner", sweeps,
                               "--report", report_file]
                    command += ["--threads", str(threads)] if threads else []
                    command += ["--format", form] if form else []
                    run = subprocess.run(command, capture_output=True, text=True)
                    if run.returncode != 0:
                        sys.exit(f"{command}\nended with {run.returncode}:\n{run.stderr}")
                    report = json.loads(report_file.read_text())
                    assert report["input"]["dims"] == golden["dims"], report["input"]
                    got = {step["iteration"]: step["fit"] for step in report["iterations"]}
                    worst = max(abs(got[k] - fit) for k, fit in wanted.items())
                    good = worst <= TOLERANCE
                    failures += not good
                    inner = sweeps if sweeps == "exact" else sweeps + " sweeps"
                    print(f"{'ok ' if good else 'BAD'} {golden['name']}, {inner}, {report['format']['name']}, "
                          f"{max(wanted)} iterations: off by {worst:.1e}", flush=True)
    sys.exit(1 if failures else 0)


main()
