#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Is a new build slower than an old one? Runs two programs polyad_perf in turn, so that both meet the same
disturbances of the machine:

    scripts/perf_pairs.py OLD NEW [--pairs 10] [--time-limit SECONDS] [--output DIR] -- OPTIONS OF POLYAD_PERF

The first of a pair is the old program in one pair and the new one in the next. Each takes one sample. Prints, for
each group of benchmarks, the geometric mean of new/old over the medians, and the benchmarks beyond --most in both
the median and the minimum, worst first. --output stores the results as DIR/old.json and DIR/new.json for
perf_compare.py. Ends with 1 when a group's mean is beyond --mean or a benchmark beyond --most, with 2 when the
programs cannot be compared. Pin it to one core for a steady result: taskset -c 0 scripts/perf_pairs.py ..."""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from perf_results import ResultError, fail, parse_benchmark


def run(program, options):
    """(context, {name: benchmark's entry}) of one run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "result.json")
        command = [program, "--samples", "1", *options, f"--benchmark_out={path}", "--benchmark_out_format=json"]
        finished = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if not path.exists() or not path.read_text().strip():
            raise ResultError(f"{program} wrote no result: {finished.stderr.strip()[-300:]}")
        result = json.loads(path.read_text())
    return result["context"], {entry["name"]: entry for entry in result["benchmarks"]}


class Samples:
    """All runs of one program."""

    def __init__(self, program):
        self.program, self.context, self.runs = program, None, []

    def add(self, options):
        self.context, entries = run(self.program, options)
        self.runs.append(entries)

    def times(self):
        """{name: times in ms} of the benchmarks that no run failed."""
        failed = {name for entries in self.runs for name, entry in entries.items() if parse_benchmark(entry).error}
        times = {}
        for entries in self.runs:
            for name, entry in entries.items():
                if name not in failed:
                    times.setdefault(name, []).append(parse_benchmark(entry).time)
        return times

    def store(self, path):
        """As polyad_perf would have written it with as many samples."""
        last = self.runs[-1]
        for name, times in self.times().items():
            if name in last:
                last[name].update(
                    real_time=statistics.median(times), time_unit="ms", min_ms=min(times), max_ms=max(times)
                )
        path.write_text(json.dumps({"context": self.context, "benchmarks": list(last.values())}, indent=1) + "\n")


def geometric_mean(ratios):
    return math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))


def compare(old, new, options):
    """Prints the table. Returns whether all is within the limits."""
    groups = {}
    for name, before in old.items():
        after = new.get(name)
        if not after or min(before) <= 0 or min(after) <= 0:
            continue
        median, least = statistics.median(after) / statistics.median(before), min(after) / min(before)
        groups.setdefault(name.split("<")[0], []).append((median, least, statistics.median(before), name))
    if not groups:
        fail("perf_pairs.py", "the programs have no benchmark in common")
    good = True
    for group, rows in sorted(groups.items()):
        mean = geometric_mean([row[0] for row in rows])
        beyond = sorted((row for row in rows if min(row[:2]) > options.most), reverse=True)
        good = good and mean <= options.mean and not beyond
        print(f"{group}: {len(rows)} benchmarks, new/old {mean:.3f}, {len(beyond)} beyond {options.most:g}")
        for median, least, before, name in beyond:
            print(f"  {median:.3f} (of the minima {least:.3f})  {before:.4g} ms  {name}")
    return good


def main():
    own, theirs = sys.argv[1:], []
    if "--" in own:
        at = own.index("--")
        own, theirs = own[:at], own[at + 1 :]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", metavar="OLD")
    parser.add_argument("new", metavar="NEW")
    parser.add_argument("--pairs", type=int, default=10, help="runs of each program (default 10)")
    parser.add_argument("--time-limit", type=float, default=math.inf, help="seconds after which no pair begins")
    parser.add_argument("--mean", type=float, default=1.03, help="the most that a group's mean may be (default 1.03)")
    parser.add_argument("--most", type=float, default=1.05, help="the most that a ratio may be (default 1.05)")
    parser.add_argument("--output", type=Path, help="a folder for the merged results")
    options = parser.parse_args(own)
    if options.pairs < 1:
        parser.error("--pairs must be 1 or more")
    old, new = Samples(options.old), Samples(options.new)
    start = time.monotonic()
    try:
        for pair in range(options.pairs):
            if pair > 0 and time.monotonic() - start > options.time_limit:
                break
            for samples in (old, new) if pair % 2 == 0 else (new, old):
                samples.add(theirs)
            print(f"perf_pairs.py: {pair + 1} pairs, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    except (ResultError, OSError, ValueError, KeyError) as error:
        fail("perf_pairs.py", error)
    print(f"{len(old.runs)} runs of each program")
    good = compare(old.times(), new.times(), options)
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        old.store(options.output / "old.json")
        new.store(options.output / "new.json")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
