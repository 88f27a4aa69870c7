#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sums up the JSON that gcovr writes, with the instances of a template merged: coverage_summary.py JSON [--missing]

gcov counts a line once for each instance of a template, with the instance's own branches. A line is reached if one
instance reaches it. The k-th branch of a line is taken if one instance takes its k-th. gcovr's own sum adds the
instances' branches. Where gcov never sees an instance run, its text does not say which branches are exceptions. So an
instance that does not reach a line counts only if none does. --missing lists the lines with branches that none takes,
the files with the most of them first.
"""
import argparse
import collections
import json


def merged(lines):
    """{line: (reached, [whether the k-th branch is taken])}"""
    instances = collections.defaultdict(list)
    for line in lines:
        if not line.get("gcovr/noncode") and not line.get("gcovr/excluded"):
            instances[line["line_number"]].append(line)
    result = {}
    for number, here in instances.items():
        taken = []
        executed = [line for line in here if line["count"] > 0]
        for line in executed or here:
            branches = [b["count"] > 0 for b in line["branches"] if not b.get("throw") and not b.get("gcovr/excluded")]
            taken += [False] * (len(branches) - len(taken))
            for k, one in enumerate(branches):
                taken[k] |= one
        result[number] = (bool(executed), taken)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json")
    parser.add_argument("--missing", action="store_true")
    arguments = parser.parse_args()
    with open(arguments.json) as file:
        files = {entry["file"]: merged(entry["lines"]) for entry in json.load(file)["files"]}
    lines = [reached for here in files.values() for reached, _ in here.values()]
    branches = [one for here in files.values() for _, taken in here.values() for one in taken]
    for name, flags in (("lines", lines), ("branches", branches)):
        print(f"{name}: {100 * sum(flags) / max(1, len(flags)):.1f} % ({sum(flags):,} of {len(flags):,})")
    if arguments.missing:
        missing = {name: {n: (taken.count(False), len(taken)) for n, (_, taken) in here.items() if not all(taken)}
                   for name, here in files.items()}
        for name, here in sorted(missing.items(), key=lambda item: -sum(n for n, _ in item[1].values())):
            if here:
                print(f"{name}: {sum(n for n, _ in here.values())}")
                print("   " + ", ".join(f"{line} ({n} of {all_of})" for line, (n, all_of) in sorted(here.items())))


if __name__ == "__main__":
    main()
