#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Test RMSE of the tool's completions of nycflights13-delay against those of data/golden/, by each optimizer.
Usage: check_completion.py TOOL DATA_FOLDER [--threads N]... [--store]

--store writes what the first run of each gave in place of the golden errors."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

SET = "nycflights13-delay"
# Sums of doubles in another order, and fused or plain multiplications, differ by about 1e-13. Steps of als
# and adam carry that on. SGD makes a step for every entry, in an order that is fixed only on one thread of a
# host.
TOLERANCE = 1e-7  # relative to the error
TOLERANCE_OF_ANY_ORDER = 5e-3
HOSTS = ("Serial", "OpenMP")

parser = argparse.ArgumentParser()
parser.add_argument("tool")
parser.add_argument("data")
parser.add_argument("--threads", action="append", type=int, help="none: the tool's own choice")
parser.add_argument("--store", action="store_true")
arguments = parser.parse_args()

golden_file = os.path.join(arguments.data, "golden", SET + "-completion.json")
with open(golden_file, encoding="utf-8") as file:
    golden = json.load(file)
failures = 0
with tempfile.TemporaryDirectory() as folder:
    report_file = os.path.join(folder, "report.json")
    for name, wanted in golden["runs"].items():
        sgd = name == "sgd"
        for threads in [1] if sgd else arguments.threads or [None]:
            command = [arguments.tool, "fast-tucker", os.path.join(arguments.data, SET + ".tns.xz")]
            command += golden["common"] + wanted["options"] + ["--report", report_file]
            command += ["--threads", str(threads)] if threads else []
            run = subprocess.run(command, capture_output=True, text=True)
            if run.returncode != 0:
                sys.exit(f"{' '.join(command)}\nended with {run.returncode}:\n{run.stderr}")
            with open(report_file, encoding="utf-8") as file:
                report = json.load(file)
            os.remove(report_file)
            got = {"biases": report["result"]["biases"]["rmse"]["test"],
                   "epochs": [epoch["rmse"]["test"] for epoch in report["iterations"]]}
            if arguments.store and threads == ([1] if sgd else arguments.threads or [None])[0]:
                wanted.update(got)
            assert len(got["epochs"]) == len(wanted["epochs"]), f"{name}: {len(got['epochs'])} epochs"
            pairs = list(zip([got["biases"], *got["epochs"]], [wanted["biases"], *wanted["epochs"]]))
            worst = max(abs(a / b - 1) for a, b in pairs)
            ordered = not sgd or report["backend"]["name"] in HOSTS
            good = worst <= (TOLERANCE if ordered else TOLERANCE_OF_ANY_ORDER)
            failures += not good
            print(f"{'ok ' if good else 'BAD'} {name}, {report['backend']['name']} of {report['backend']['concurrency']}, "
                  f"{report['format']['name']}: test RMSE {got['epochs'][-1]:.6f}, off by {worst:.1e}", flush=True)
if arguments.store:
    with open(golden_file, "w", encoding="utf-8") as file:
        json.dump(golden, file, indent=1)
        file.write("\n")
sys.exit(1 if failures else 0)
