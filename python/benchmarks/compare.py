#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares Polyad with pyttb, TensorLy and pygenten, as far as they are installed; prints the tables of docs/python.md.

    python3 python/benchmarks/compare.py [--tensor FILE] [--rank R] [--slow]

Every row is a process of its own. --slow lets TensorLy, and pyttb with the large tensor, do all iterations, not one or two.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

here = Path(__file__).resolve()

read = """
import json, sys, time, numpy as np, polyad
def made():
    # TensorLy's case: distinct places, values in (0, 1].
    return polyad.generate("uniform", (1000, 1001, 1002), 5044, seed=0)
def tensor():
    return made() if FILE == "made" else polyad.read(FILE)
def say(seconds, iterations, fit=None):
    print(json.dumps({"seconds": seconds, "iterations": iterations, "fit": fit}))
rng = np.random.default_rng(0)
"""

programs = {
    "polyad": """
X = tensor()
polyad.cp_als(X, R, max_iterations=1)
best = None
for _ in range(5):
    begin = time.perf_counter()
    model = polyad.cp_als(X, R, max_iterations=ITERATIONS, tolerance=0)
    took = time.perf_counter() - begin
    best = took if best is None else min(best, took)
say(best, ITERATIONS, model.fit)
""",
    "polyad, format built before": """
X = tensor()
F = polyad.any_format(X, rank=R, iterations=ITERATIONS)
polyad.cp_als(F, R, max_iterations=1)
best = None
for _ in range(5):
    begin = time.perf_counter()
    model = polyad.cp_als(F, R, max_iterations=ITERATIONS, tolerance=0)
    took = time.perf_counter() - begin
    best = took if best is None else min(best, took)
say(best, ITERATIONS, model.fit)
""",
    "pygenten": """
import pygenten as gt
X = tensor()
T = X.to_pyttb()  # which pygenten takes
begin = time.perf_counter()
gt.cp_als(T, rank=R, maxiters=ITERATIONS, tol=0.0, printitn=0)
say(time.perf_counter() - begin, ITERATIONS)
""",
    "pyttb": """
import pyttb as ttb
T = tensor().to_pyttb()
n = ITERATIONS if SLOW or FILE == "made" else 2
begin = time.perf_counter()
_, _, out = ttb.cp_als(T, R, init=ttb.ktensor([rng.uniform(size=(s, R)) for s in T.shape]), stoptol=0, maxiters=n, printitn=0)
say(time.perf_counter() - begin, n, out["fit"])
""",
    "TensorLy": """
import tensorly as tl
from tensorly.contrib.sparse.decomposition import parafac
T = tensor().to_sparse()
n = ITERATIONS if SLOW else 1
begin = time.perf_counter()
parafac(T, rank=R, n_iter_max=n, init="random", tol=0)
say(time.perf_counter() - begin, n)
""",
}


def run(program, **values):
    names = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    try:
        ended = subprocess.run(
            [sys.executable, "-c", names + read + program], capture_output=True, text=True, timeout=900
        )
    except subprocess.TimeoutExpired:
        return {"problem": "more than 900 s"}
    lines = [line for line in ended.stdout.splitlines() if line.startswith("{")]
    if ended.returncode != 0 or not lines:
        words = (ended.stderr.strip().splitlines() or ["no output"])[-1]
        return {"problem": words[:90]}
    return json.loads(lines[-1])


def table(title, **values):
    print(f"\n{title}\n\n| | iterations | seconds | ms an iteration | fit |\n| --- | --- | --- | --- | --- |")
    for name, program in programs.items():
        got = run(program, **values)
        if "problem" in got:
            print(f"| {name} | | {got['problem']} | | |", flush=True)
            continue
        fit = "" if got["fit"] is None else f"{got['fit']:.4f}"
        each = 1000 * got["seconds"] / got["iterations"]
        print(f"| {name} | {got['iterations']} | {got['seconds']:.4g} | {each:.3g} | {fit} |", flush=True)


def calls():
    program = """
X = polyad.SparseTensor([[0, 0, 0], [1, 1, 1]], [1.0, 2.0])
F = polyad.any_format(X, rank=4, format="coo-tiny-vec")
A = [rng.uniform(size=(2, 4)) for _ in range(3)]
out = np.zeros((2, 4))
def best(f, n=3000):
    for _ in range(200): f()
    times = []
    for _ in range(n):
        begin = time.perf_counter(); f(); times.append(time.perf_counter() - begin)
    return 1e6 * sorted(times)[n // 2]
c, v = np.array([[0, 0, 0], [1, 1, 1]], dtype=np.uint32), np.array([1.0, 2.0])
print(json.dumps({
    "mttkrp(F, A, 0, out=out)": best(lambda: polyad.mttkrp(F, A, 0, out=out)),
    "cp_als(F, 4, max_iterations=1)": best(lambda: polyad.cp_als(F, 4, max_iterations=1)),
    "cp_als(X, 4, max_iterations=1)": best(lambda: polyad.cp_als(X, 4, max_iterations=1)),
    "SparseTensor(coords, values, shape)": best(lambda: polyad.SparseTensor(c, v, (2, 2, 2))),
}))
"""
    got = run(program, FILE="made")
    print("\nWhole calls for a tensor of two nonzeros, all that the library does included\n\n| call | us (median) |\n| --- | --- |")
    for name, microseconds in got.items():
        print(f"| `{name}` | {microseconds if isinstance(microseconds, str) else round(microseconds, 1)} |")


def imports():
    def seconds(statement):
        program = f"import time; b = time.perf_counter(); {statement}; print(time.perf_counter() - b)"
        return min(
            float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
            for _ in range(7)
        )

    numpy, both = seconds("import numpy"), seconds("import numpy, polyad")
    print(f"\nimport: numpy {numpy:.3f} s, polyad {both - numpy:.3f} s more")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensor", default=str(here.parents[2] / "data" / "uber-apr14.tns.xz"))
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--slow", action="store_true")
    options = parser.parse_args()
    with open("/proc/cpuinfo") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    print(f"{names[0] if names else 'a CPU'}, {os.cpu_count()} cores")
    imports()
    calls()
    table(
        "CP-ALS of TensorLy's case: 1000 x 1001 x 1002, 5,044 nonzeros, rank 5",
        FILE="made", R=5, ITERATIONS=100, SLOW=options.slow,
    )
    table(
        f"CP-ALS of {Path(options.tensor).name}, rank {options.rank}",
        FILE=options.tensor, R=options.rank, ITERATIONS=20, SLOW=options.slow,
    )


if __name__ == "__main__":
    main()
