#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""RMSE against time of FastTucker's runs, from the reports that `polyad fast-tucker --report` wrote:

    scripts/completion_pictures.py RUN.json... -o PICTURE.png [--set test|validation|train] [--log]

PICTURE ends with .png or .svg. It has a line per run, named by optimizer, format, J and R, and a broken line for mean and biases.
Time is that of the epochs, without the errors that are computed after each; with --log its axis is logarithmic. Needs matplotlib.
Ends with 2 if a file is not such a report or has no errors of the set."""

import argparse
import json
import sys
from pathlib import Path


def series(report, of_set):
    """(name, seconds, RMSE) of one run. Raises ValueError when the report has none."""
    if "optimizer" not in report.get("options", {}) or not report.get("iterations"):
        raise ValueError("is not a report of fast-tucker with an epoch")
    seconds, errors, passed = [], [], 0.0
    for epoch in report["iterations"]:
        if of_set not in epoch.get("rmse", {}):
            raise ValueError(f"has no {of_set} errors")
        passed += epoch["seconds"]
        seconds.append(passed)
        errors.append(epoch["rmse"][of_set])
    result = report["result"]
    columns = ",".join(str(J) for J in result["columns"] if len(set(result["columns"])) > 1) or result["columns"][0]
    name = f"{report['options']['optimizer']}, {report['format']['name']}, J {columns}, R {result['rank']}"
    return name, seconds, errors


def biases(reports, of_set):
    """RMSE of mean and biases alone, where all runs had the same; else nothing."""
    found = {report["result"].get("biases", {}).get("rmse", {}).get(of_set) for report in reports}
    return found.pop() if len(found) == 1 else None


def draw(runs, of_set, level, logarithmic, target):
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.fonttype"] = "none"  # letters as letters, not as curves
    matplotlib.rcParams["svg.hashsalt"] = "polyad"  # the same bytes for the same runs
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6.4, 4))
    for name, seconds, errors in runs:
        axis.plot(seconds, errors, marker=".", markersize=4, linewidth=1, label=name)
    if level is not None:
        axis.axhline(level, linestyle="--", linewidth=1, color="gray", label="mean and biases")
    if logarithmic:
        axis.set_xscale("log")
    axis.set_xlabel("seconds in epochs")
    axis.set_ylabel(f"RMSE of the {of_set} entries")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    figure.savefig(target, dpi=110, bbox_inches="tight",
                   metadata={"Date": None} if target.suffix == ".svg" else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", metavar="RUN.json", nargs="+", type=Path)
    parser.add_argument("-o", "--output", metavar="PICTURE.png", required=True, type=Path)
    parser.add_argument("--set", choices=("test", "validation", "train"), default="test")
    parser.add_argument("--log", action="store_true", help="a logarithmic axis of time")
    arguments = parser.parse_args()
    runs, reports = [], []
    for path in arguments.runs:
        try:
            reports.append(json.loads(path.read_text(encoding="utf-8")))
            runs.append(series(reports[-1], arguments.set))
        except (OSError, ValueError, KeyError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 2
    try:
        draw(runs, arguments.set, biases(reports, arguments.set), arguments.log, arguments.output)
    except ImportError as error:
        print(f"a picture needs matplotlib (pip install matplotlib): {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
