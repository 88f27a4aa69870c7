#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares nonnegative CP of Polyad with TensorLy and pygenten; prints the tables of docs/python.md.

    python3 python/benchmarks/compare_nonnegative.py [--dense FILE] [--sparse FILE] [--pairs 5]

    pip install tensorly==0.10.0 pygenten==0.1.5 scipy

--dense is a small tensor such as aminoacid (R = 3), which TensorLy's `non_negative_parafac_hals` gets as a dense array. --sparse is
uber-apr14 of the repository unless it is given (R = 16), for pygenten's `cp_opt` with a lower bound of 0; "" leaves it out.
The programs start from the same factors, except where it says otherwise, and fits are recomputed from the models. Each run is
a process of its own, and those of a table alternate. Times are processor times (user and system, of all threads) of the calls
alone, without imports and reading.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

here = Path(__file__).resolve()

common = """
import json, os, time, numpy as np, polyad
X = polyad.read(FILE)
rng = np.random.default_rng(0)
start = [rng.uniform(size=(size, R)) for size in X.shape]
def model_of(weights, factors):
    return polyad.CPModel(np.asarray(weights, dtype=float), [np.array(factor, dtype=float) for factor in factors])
def products(model):
    # <X, M> and |M|^2, with the zeros.
    at = np.asarray(polyad.predict(model, X.coords)) if X.nnz else np.zeros(0)
    gram = np.outer(model.weights, model.weights)
    for factor in model.factors:
        gram = gram * (factor.T @ factor)
    return float(at @ np.asarray(X.values)), float(gram.sum())
def fit(model):
    inner, square = products(model)
    norm = float((np.asarray(X.values) ** 2).sum())
    return 1 - np.sqrt(max(norm - 2 * inner + square, 0) / norm)
# The scale of a random start that Polyad takes by default.
inner, square = products(model_of(np.ones(R), start))
start = [factor * (inner / square) ** (1 / len(start)) for factor in start]
def say(run):
    run(1)  # loads the code
    begin = time.process_time(), time.perf_counter()
    model = run(ITERATIONS)
    seconds = time.process_time() - begin[0], time.perf_counter() - begin[1]
    assert min(factor.min() for factor in model.factors) >= 0
    print(json.dumps({"seconds": seconds[0], "wall": seconds[1], "fit": fit(model)}), flush=True)
    os._exit(0)  # pygenten aborts if arrays of Kokkos are left at the end of the process
"""

polyad_program = """
def run(iterations):
    model = polyad.cp_als(X, R, nonnegative=True, inner=INNER, max_iterations=iterations, tolerance=0, start=start)
    return model_of(model.weights, model.factors)
say(run)
"""
tensorly_program = """
import tensorly as tl
from tensorly.cp_tensor import CPTensor
from tensorly.decomposition import non_negative_parafac_hals
dense = X.to_dense()
def run(iterations):
    begin = CPTensor((np.ones(R), [factor.copy() for factor in start]))
    weights, factors = non_negative_parafac_hals(dense, R, n_iter_max=iterations, init=begin, tol=0)
    return model_of(np.ones(R) if weights is None else weights, factors)
say(run)
"""
pygenten_program = """
import pygenten as gt
T = gt.Sptensor(X.shape, np.asarray(X.coords, dtype=np.uint64), np.asarray(X.values))
def run(iterations):
    begin = gt.Ktensor(np.ones(R), [factor.copy() for factor in start])
    model, _, _ = gt.cp_opt(T, rank=R, init=begin, lower=0.0, maxiters=iterations, printitn=0)
    return model_of(model.weights, model.factor_matrices)
say(run)
"""


def run(program, values):
    names = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    ended = subprocess.run(
        [sys.executable, "-c", names + common + program],
        capture_output=True,
        text=True,
        env={"OMP_WAIT_POLICY": "passive", "OMP_PROC_BIND": "false", **os.environ},
    )
    lines = [line for line in ended.stdout.splitlines() if line.startswith("{")]
    if ended.returncode != 0 or not lines:
        return {"problem": (ended.stderr.strip().splitlines() or ["no output"])[-1][:150]}
    return json.loads(lines[-1])


def table(title, programs, pairs, **values):
    found = [[] for _ in programs]
    for _ in range(pairs):
        for results, (_, program, own) in zip(found, programs):
            results.append(run(program, {**values, **own}))
    print(f"\n{title}\n\n| | processor time in s | fit |\n| --- | --- | --- |")
    for results, (name, _, _) in zip(found, programs):
        problem = next((result["problem"] for result in results if "problem" in result), None)
        if problem:
            print(f"| {name} | {problem} | |", flush=True)
            continue
        taken = sorted(result["seconds"] for result in results)
        print(f"| {name} | {taken[len(taken) // 2]:.3g} ({taken[0]:.3g} to {taken[-1]:.3g}) | {results[0]['fit']:.6f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dense")
    parser.add_argument("--sparse", default=str(here.parents[2] / "data" / "uber-apr14.tns.xz"))
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args()
    with open("/proc/cpuinfo") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    print(f"{names[0] if names else 'a CPU'}, {os.cpu_count()} cores")
    if options.dense:
        programs = []
        for iterations in (20, 100):
            programs += [
                (f"Polyad, {iterations} iterations", polyad_program, {"ITERATIONS": iterations, "INNER": 1}),
                (f"Polyad, inner=5, {iterations} iterations", polyad_program, {"ITERATIONS": iterations, "INNER": 5}),
                (f"TensorLy, {iterations} iterations", tensorly_program, {"ITERATIONS": iterations}),
            ]
        table(f"{Path(options.dense).name}, R = 3", programs, options.pairs, FILE=options.dense, R=3)
    if not options.sparse:
        return
    programs = []
    for iterations in (20, 100):
        own_start = pygenten_program.replace("init=begin", "seed=1")
        programs += [
            (f"Polyad, {iterations} iterations", polyad_program, {"ITERATIONS": iterations, "INNER": 1}),
            (f"pygenten, {iterations} iterations", pygenten_program, {"ITERATIONS": iterations}),
            (f"pygenten, own random start, {iterations} iterations", own_start, {"ITERATIONS": iterations}),
        ]
    table(f"{Path(options.sparse).name}, R = 16", programs, options.pairs, FILE=options.sparse, R=16)


if __name__ == "__main__":
    main()
