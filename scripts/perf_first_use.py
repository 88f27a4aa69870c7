#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a process pays when it first uses a format: a device's kernels are loaded then. One process of polyad_perf a case, since
formats share kernels:

    scripts/perf_first_use.py POLYAD_PERF TENSOR... -o RESULT.json      times as polyad_perf writes them

Each entry first_use<format,backend,scalar>/TENSOR is the first build and the first iteration of CP-ALS, less what repeated
ones take. Small tensors show it best. The weights `load_s` of src/formats/*/costs/weights.hpp come from it (fit_cost_model.py)."""

import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path

FORMATS = "coo-scratch,coo-tiny-vec,coo-permuted,sorted,csf,b-csf,hb-csf,f-coo,blco,alto"
RANK = 32


def first_time(program, tensor, name, scalar, group, context):
    """The one benchmark of a group: its first time and the repeated ones, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "result.json"
        subprocess.run([program, "--tensor", tensor, "--formats", name, "--scalar", scalar, "--ranks", str(RANK), "--samples", "3",
                        f"--benchmark_filter=^{group}<", f"--benchmark_out={out}", "--benchmark_out_format=json"],
                       check=True, capture_output=True)
        result = json.loads(out.read_text())
    context.update(result["context"])
    (entry,) = result["benchmarks"]
    return entry["name"], entry["first_ms"], entry["min_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("tensors", nargs="+")
    parser.add_argument("--formats", default=FORMATS)
    parser.add_argument("--scalars", default="f32,f64")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    context, entries = {}, []
    for tensor in options.tensors:
        for scalar in options.scalars.split(","):
            for name in options.formats.split(","):
                build, first_build, one_build = first_time(options.program, tensor, name, scalar, "build", context)
                _, first_iteration, iteration = first_time(options.program, tensor, name, scalar, "cp_als", context)
                entries.append({
                    "name": re.sub("^build", "first_use", build), "time_unit": "ms",
                    "real_time": max(first_build - one_build, 0) + max(first_iteration - iteration, 0),
                    "first_build_ms": first_build, "build_ms": one_build,
                    "first_iteration_ms": first_iteration, "iteration_ms": iteration,
                })  # fmt: skip
    options.output.write_text(json.dumps({"context": context, "benchmarks": entries}, indent=1))


if __name__ == "__main__":
    main()
