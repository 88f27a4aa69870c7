#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Does every rank run at full speed? Times an MTTKRP of all modes at R = 5 ... 128, and compares each R with the value
that is interpolated, linearly in R, between R = 8, 16, 32, 64 and 128.

    scripts/perf_ranks.py PROGRAM [--formats A,B] [--tensors T,U] [--scalar f32,f64] [--runs N] [-- OPTIONS OF POLYAD_PERF]

Each run is a process of its own that measures all ranks; the least time of a rank counts. Prints a table with the ratio
for each format, scalar and tensor, and at the end the ratios beyond 1.2."""

import argparse
import collections
import subprocess
import tempfile
from pathlib import Path

from perf_results import ResultError, fail, load

ANCHORS = [8, 16, 32, 64, 128]
RANKS = [5, 10, 12, 20, 24, 25, 40, 50, 100]
LIMIT = 1.2


def interpolated(times, rank):
    """Milliseconds at a rank, by the line between its neighbours among ANCHORS, or through the first two."""
    upper = next(k for k in range(1, len(ANCHORS)) if rank <= ANCHORS[k])
    below, above = ANCHORS[upper - 1], ANCHORS[upper]
    return times[below] + (times[above] - times[below]) * (rank - below) / (above - below)


def measure(arguments):
    """{(format, scalar, tensor): {rank: the least milliseconds}}"""
    least = collections.defaultdict(dict)
    ranks = ",".join(map(str, sorted(ANCHORS + RANKS)))
    for _ in range(arguments.runs):
        for tensor in arguments.tensors.split(","):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "result.json")
                subprocess.run(
                    [arguments.program, "--tensor", tensor, "--formats", arguments.formats, "--ranks", ranks, "--modes", "all"]
                    + ["--scalar", arguments.scalar, "--samples", str(arguments.samples), "--benchmark_filter=^mttkrp<"]
                    + [f"--benchmark_out={path}", "--benchmark_out_format=json", *arguments.options],
                    capture_output=True, check=True,
                )  # fmt: skip
                for bench in load(path).benchmarks:
                    if bench.error:
                        raise ResultError(f"{bench.name}: {bench.error}")
                    times = least[bench.format, bench.scalar, bench.tensor]
                    times[bench.rank] = min(times.get(bench.rank, bench.fastest), bench.fastest)
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--formats", default="coo-permuted,sorted,csf,b-csf,hb-csf,f-coo,blco,alto")
    parser.add_argument("--tensors", default="data/uber-apr14.tns.xz", help="files, or presets such as random:7")
    parser.add_argument("--scalar", default="f32,f64")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("options", nargs="*", help="for polyad_perf")
    arguments = parser.parse_args()
    try:
        least = measure(arguments)
    except (ResultError, subprocess.CalledProcessError) as error:
        fail("perf_ranks.py", error)
    print("format scalar tensor, ms at " + ", ".join(f"R = {rank}" for rank in ANCHORS) + "; time / interpolated")
    beyond = total = 0
    for (name, scalar, tensor), times in sorted(least.items()):
        ratios = {rank: times[rank] / interpolated(times, rank) for rank in RANKS}
        total += len(ratios)
        beyond += sum(ratio > LIMIT for ratio in ratios.values())
        print(f"{name} {scalar} {tensor}, " + ", ".join(f"{times[rank]:.3g}" for rank in ANCHORS) + "; "
              + " ".join(f"{rank}:{ratio:.2f}{'*' if ratio > LIMIT else ''}" for rank, ratio in ratios.items()))  # fmt: skip
    print(f"{beyond} of {total} ratios are beyond {LIMIT}")


if __name__ == "__main__":
    main()
