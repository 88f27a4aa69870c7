#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The tool's fits against those of data/golden/, which were computed without Polyad.
Usage: check_golden.py TOOL DATA_FOLDER NAME [--threads N]... [--format NAME]..."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

TOLERANCE = 1e-9  # the golden fits themselves are good to 8e-13 (data/README.md)
CHECKED = (1, 5, 20)

parser = argparse.ArgumentParser()
parser.add_argument("tool")
parser.add_argument("data")
parser.add_argument("name")
parser.add_argument("--threads", action="append", type=int, help="none: the tool's own choice")
parser.add_argument("--format", action="append", dest="formats", help="none: the tool's own choice")
arguments = parser.parse_args()

with open(os.path.join(arguments.data, "golden", arguments.name + ".json")) as file:
    golden = json.load(file)
tensor = os.path.join(arguments.data, arguments.name + ".tns.xz")
failures = 0
with tempfile.TemporaryDirectory() as folder:
    report_file = os.path.join(folder, "report.json")
    for rank, fits in golden["fits"].items():
        for threads in arguments.threads or [None]:
            for form in arguments.formats or [None]:
                command = [arguments.tool, "cpd", tensor, "-r", rank, "-i", "20", "--tol", "0", "--seed", "0"]
                command += ["--report", report_file]
                command += ["--threads", str(threads)] if threads else []
                command += ["--format", form] if form else []
                run = subprocess.run(command, capture_output=True, text=True)
                if run.returncode != 0:
                    sys.exit(f"{' '.join(command)}\nended with {run.returncode}:\n{run.stderr}")
                with open(report_file) as file:
                    report = json.load(file)
                os.remove(report_file)
                assert report["input"]["dims"] == golden["dims"], report["input"]
                assert report["input"]["nnz"] == golden["nnz"], report["input"]
                assert form is None or report["format"]["name"] == form, report["format"]
                got = {step["iteration"]: step["fit"] for step in report["iterations"]}
                worst = max(abs(got[k] - fits[k - 1]) for k in CHECKED)
                good = worst <= TOLERANCE
                failures += not good
                print(
                    f"{'ok ' if good else 'BAD'} {arguments.name} R = {rank}, {report['backend']['name']}"
                    f" of {report['backend']['concurrency']}, {report['format']['name']}: off by {worst:.1e}",
                    flush=True,
                )
sys.exit(1 if failures else 0)
