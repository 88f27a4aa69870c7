#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Did anything become slower? Compares two results of polyad_perf:

    scripts/perf_compare.py OLD.json NEW.json [--threshold 1.1] [--filter REGEX]

Prints new/old of the medians, worst first, with the range that the samples allow: from new's fastest over old's
slowest to new's slowest over old's fastest. A benchmark is slower when its ratio exceeds the threshold and the
samples do not overlap (the range lies above 1); faster likewise below 1/threshold. Ends with 1 when a benchmark
is slower or fails in NEW, with 2 when the files cannot be compared."""

import argparse
import re
import sys

from perf_results import ResultError, fail, load


def threshold(text):
    value = float(text)
    if not value >= 1:
        raise ValueError
    return value


def regex(text):
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}' is not a regular expression: {error}") from None


def named(benchmarks, heading):
    if benchmarks:
        print(f"\n{heading}:")
        for name in benchmarks:
            print(f"  {name}")


def safe_ratio(a, b):
    return a / b if b > 0 else (1.0 if a == 0 else float("inf"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", metavar="OLD")
    parser.add_argument("new", metavar="NEW")
    parser.add_argument("--threshold", type=threshold, default=1.1, help="slower means beyond this ratio (default 1.1)")
    parser.add_argument("--filter", type=regex, default=re.compile(""), help="only benchmarks that match")
    options = parser.parse_args()
    try:
        results = [load(options.old), load(options.new)]
    except ResultError as error:
        fail("perf_compare.py", error)
    if results[0].label != results[1].label:
        print(
            f"perf_compare.py: different machines: {results[0].label} and {results[1].label}; their backends' "
            "benchmarks are matched all the same",
            file=sys.stderr,
        )
    # The key leaves the backend out, so that a GPU can be set against a CPU.
    old, new = ({b.key: b for b in r.benchmarks if options.filter.search(b.name)} for r in results)
    common = [k for k in old if k in new]
    if not common:
        fail(
            "perf_compare.py",
            "the files have no benchmark in common" + (" that matches" if options.filter.pattern else ""),
        )

    rows, failed, mended = [], [], []
    for key in common:
        a, b = old[key], new[key]
        if b.error:
            failed.append(f"{b.name}: {b.error}")
        elif a.error:
            mended.append(b.name)
        else:
            low, ratio, high = (
                safe_ratio(b.fastest, a.slowest),
                safe_ratio(b.time, a.time),
                safe_ratio(b.slowest, a.fastest),
            )
            verdict = ""
            if ratio > options.threshold and low > 1:
                verdict = "slower"
            elif ratio < 1 / options.threshold and high < 1:
                verdict = "faster"
            rows.append((ratio, low, high, a.time, b.time, verdict, b.name))
    rows.sort(key=lambda row: (-row[0], row[-1]))
    print(f"{'new/old':>8} {'range':>15} {'old ms':>10} {'new ms':>10}  {'':6}  benchmark")
    for ratio, low, high, a, b, verdict, name in rows:
        print(f"{ratio:8.3f} {low:7.3f}-{high:<7.3f} {a:10.4g} {b:10.4g}  {verdict:6}  {name}")
    named([old[k].name for k in old if k not in new], "Only in the old result")
    named([new[k].name for k in new if k not in old], "Only in the new result")
    named(mended, "Failed in the old result, passed in the new one")
    named(failed, "Failed in the new result")
    slower = sum(row[5] == "slower" for row in rows)
    faster = sum(row[5] == "faster" for row in rows)
    print(
        f"\n{len(rows)} compared: {slower} slower, {faster} faster beyond {options.threshold:g} and the samples' spread; "
        f"{len(failed)} failed"
    )
    return 1 if slower or failed else 0


if __name__ == "__main__":
    sys.exit(main())
