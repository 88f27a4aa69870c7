#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What does auto lose? Draws random cases (the shape random:SEED of polyad_perf, a rank, a precision, 10 or 50
iterations), measures every format that auto may pick, and compares the whole run with auto's format to that with the
best one. A run is one build and its iterations, each with an MTTKRP of every mode.

    scripts/perf_choices.py PROGRAM --seeds FIRST:LAST [--workers N --cores K] [--first-use FILE]
                            [--output FILE.json] [-- OPTIONS OF POLYAD_PERF]

Each of N workers is pinned to K cores of its own and runs its cases with K threads (default: one worker that is not
pinned). Prints a line a case, and at the end the share of cases within 1.15 of the best, and the worst; on hosts the
best format against alto-reference, too. --output keeps the times."""

import argparse
import collections
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from perf_results import mean_first_use, read_text

RANKS = [5, 8, 10, 12, 16, 20, 24, 25, 32, 40, 50, 64]
# Formats that auto takes only where nothing else fits or an option asks for them.
NOT_COMPARED = {"streamed-blco", "streamed-sorted"}
YARDSTICK = "alto-reference"
FORMATS = ["coo-scratch", "coo-tiny-vec", "coo-permuted", "sorted", "csf", "b-csf", "hb-csf", "f-coo", "blco", "alto"]


def case_of(seed):
    """The rank, the precision and the iterations of a seed's case."""
    draw = random.Random(seed)
    return draw.choice(RANKS), draw.choice(["f32", "f64"]), draw.choice([10, 50])


def measure(arguments, seed, cores):
    """The times of one case in ms, or a text that says why there are none."""
    rank, scalar, iterations = case_of(seed)
    environment = os.environ | ({"OMP_NUM_THREADS": str(len(cores)), "OMP_PROC_BIND": "true"} if cores else {})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "result.json")
        command = [arguments.program, "--tensor", f"random:{seed}", "--ranks", str(rank), "--scalar", scalar]
        command += ["--modes", "all", "--samples", str(arguments.samples), "--formats", arguments.formats]
        command += [f"--benchmark_filter=^(build|mttkrp)<|^choice<.*/run_of:{iterations}/", *arguments.options]
        command += [f"--benchmark_out={path}", "--benchmark_out_format=json"]
        if cores:
            command = ["taskset", "-c", ",".join(map(str, cores)), *command]
        try:
            subprocess.run(command, capture_output=True, text=True, env=environment, timeout=arguments.time_limit)
            entries = json.loads(path.read_text())["benchmarks"]
        except (subprocess.TimeoutExpired, OSError, ValueError) as error:
            return f"seed {seed}: {type(error).__name__}"
    case = {"seed": seed, "rank": rank, "scalar": scalar, "iterations": iterations, "build": {}, "mttkrp": {}}
    for entry in entries:
        if entry.get("error_occurred"):
            continue
        group, name = entry["name"].split("<")[0], entry["name"].split("<")[1].split(",")[0]
        if group == "choice":
            case["chosen"] = entry["label"].split(":")[0]
            case["lose_digits"] = sorted(key.split(":")[1] for key in entry if key.startswith("loses_digits:"))
        else:
            case[group][name] = entry["min_ms"]
    return case if "chosen" in case else f"seed {seed}: no choice"


def read_first_use(path):
    """{(format, precision): milliseconds}"""
    times = collections.defaultdict(list)
    for entry in json.loads(read_text(path))["benchmarks"]:
        if match := re.match(r"first_use<([^,]+),\w+,(f\d\d)>", entry["name"]):
            times[match[1], match[2]].append(entry["real_time"])
    return {key: mean_first_use(values) for key, values in times.items()}


def totals(case, first_use):
    """Milliseconds of a whole run by format."""
    return {name: first_use.get((name, case["scalar"]), 0) + case["build"][name] + case["iterations"] * time
            for name, time in case["mttkrp"].items() if name in case["build"] and name not in NOT_COMPARED}  # fmt: skip


def loss(case, first_use):
    """The run with auto's format over the run with the best one, and the name of the best. Formats that lose digits of long
    rows do not compete, since auto avoids them."""
    times = totals(case, first_use)
    exact = [name for name in times if name not in case.get("lose_digits", [])]
    best = min(exact or times, key=times.get)
    return times.get(case["chosen"], math.inf) / times[best], best


def of_yardstick(case):
    """The best format's MTTKRP over that of alto-reference."""
    own = [time for name, time in case["mttkrp"].items() if name != YARDSTICK and name not in NOT_COMPARED]
    return min(own) / case["mttkrp"][YARDSTICK] if YARDSTICK in case["mttkrp"] else None


def summary(cases, first_use):
    losses = sorted(loss(case, first_use)[0] for case in cases)
    within = sum(value <= 1.15 for value in losses)
    print(f"{len(losses)} cases: {100 * within / len(losses):.1f} % within 1.15 of the best, the worst {losses[-1]:.2f}")
    ratios = [ratio for case in cases if (ratio := of_yardstick(case)) is not None]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"best format / {YARDSTICK}: geometric mean {mean:.3f}, the worst {max(ratios):.2f} of {len(ratios)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seeds", default="0:199", help="FIRST:LAST")
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--yardstick", action="store_true", help="with alto-reference (hosts only)")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--cores", type=int, default=0, help="of each worker")
    parser.add_argument("--first-core", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=300, help="seconds of a case")
    parser.add_argument("--first-use", type=Path, metavar="FILE")
    parser.add_argument("--output")
    parser.add_argument("options", nargs="*", help="for polyad_perf")
    arguments = parser.parse_args()
    if arguments.yardstick:
        arguments.formats += "," + YARDSTICK
    first, last = map(int, arguments.seeds.split(":"))
    free = [list(range(arguments.first_core + w * arguments.cores, arguments.first_core + (w + 1) * arguments.cores))
            for w in range(arguments.workers)]  # fmt: skip
    first_use = read_first_use(arguments.first_use) if arguments.first_use else {}
    cases = []

    def one(seed):
        cores = free.pop()
        found = measure(arguments, seed, cores)
        free.append(cores)
        if isinstance(found, str):
            print(found, file=sys.stderr, flush=True)
            return
        cases.append(found)
        ratio, best = loss(found, first_use)
        print(f"seed {seed}: R {found['rank']} {found['scalar']} {found['iterations']} iterations: {found['chosen']} "
              f"{ratio:.2f} of {best}", flush=True)  # fmt: skip
        if arguments.output:
            Path(arguments.output).write_text(json.dumps(cases))

    with ThreadPoolExecutor(arguments.workers) as workers:
        list(workers.map(one, range(first, last + 1)))
    if not cases:
        sys.exit("no case was measured")
    summary(cases, first_use)


if __name__ == "__main__":
    main()
