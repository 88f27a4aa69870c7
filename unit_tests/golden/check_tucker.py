#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The fits of `polyad tucker` against those of data/golden/, which were computed without Polyad.
Usage: check_tucker.py TOOL DATA_FOLDER NAME"""

import json
import os
import subprocess
import sys
import tempfile

# The reference takes exact singular vectors; the tool's range finder stops when an iteration gains less than 1e-12 of
# the squares. Both walk the same path: what is left of one iteration is made up for by the next.
# The start by HOSVD is itself iterated until the sum of singular values gains less than 1e-11 of it.
TOLERANCE = {"random": 1e-8, "hosvd": 1e-6}
CHECKED = (1, 2, 5, 20)

tool, data, name = sys.argv[1:]
with open(os.path.join(data, "golden", name + "-tucker.json")) as file:
    golden = json.load(file)
failures = 0
with tempfile.TemporaryDirectory() as folder:
    for ranks, starts in golden["fits"].items():
        for start, fits in starts.items():
            report_file = os.path.join(folder, "report.json")
            command = [tool, "tucker", os.path.join(data, name + ".tns.xz"), "-r", ranks, "-i", "20", "--tol", "0"]
            command += ["--init", start, "--seed", "0", "--report", report_file]
            run = subprocess.run(command, capture_output=True, text=True)
            if run.returncode != 0:
                sys.exit(f"{' '.join(command)}\nended with {run.returncode}:\n{run.stderr}")
            with open(report_file) as file:
                report = json.load(file)
            assert report["input"]["dims"] == golden["dims"], report["input"]
            assert report["input"]["nnz"] == golden["nnz"], report["input"]
            got = {step["iteration"]: step["fit"] for step in report["iterations"]}
            worst = max(abs(got[k] - fits[k - 1]) for k in CHECKED)
            good = worst <= TOLERANCE[start]
            failures += not good
            print(f"{'ok ' if good else 'BAD'} {name} {ranks} {start}: off by {worst:.1e}", flush=True)
sys.exit(1 if failures else 0)
