#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tucker decompositions by HOOI with numpy alone, on the dense tensor: the golden fits of `polyad tucker`.
Usage: make_tucker_golden.py DATA_FOLDER NAME R1,R2,... [R1,R2,...]...; writes golden/NAME-tucker.json there.

An iteration (Kolda & Bader, SIAM Review 51(3), 2009, Figure 4.4): for n = 0 ... N - 1, Y = X times U^(m)' along every
mode m != n, U^(n) = the R_n leading left singular vectors of Y_(n); then the core G = Y times U^(N-1)'. The fit is
1 - sqrt(||X||^2 - ||G||^2) / ||X||. It starts from an orthonormal basis of the columns of Polyad's random numbers
u(n, i, r) of seed 0 ("random"), or from the leading left singular vectors of X_(n) ("hosvd")."""

import json
import lzma
import os
import sys

import numpy as np

ITERATIONS = 20


def read(path):
    with lzma.open(path, "rt") as file:
        table = np.loadtxt(file)
    indices = table[:, :-1].astype(np.int64) - 1
    X = np.zeros(indices.max(axis=0) + 1)
    np.add.at(X, tuple(indices.T), table[:, -1])
    return X, len(table)


def random_start(n, rows, columns):
    u64 = np.uint64
    i = np.arange(rows, dtype=u64)[:, None]
    r = np.arange(columns, dtype=u64)[None, :]
    with np.errstate(over="ignore"):
        z = u64(n + 1) * u64(0x9E3779B97F4A7C15) + (i + u64(1)) * u64(0xBF58476D1CE4E5B9)
        z = z + (r + u64(1)) * u64(0x94D049BB133111EB)
        z = (z ^ (z >> u64(30))) * u64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> u64(27))) * u64(0x94D049BB133111EB)
    return ((z ^ (z >> u64(31))) >> u64(11)).astype(np.float64) * 2.0**-53


def unfolded(Y, n):
    return np.moveaxis(Y, n, 0).reshape(Y.shape[n], -1)


def times(Y, U, m):
    """Y times U' along mode m."""
    return np.moveaxis(np.tensordot(Y, U, axes=(m, 0)), -1, m)


def leading(matrix, count):
    return np.linalg.svd(matrix, full_matrices=False)[0][:, :count]


def hosvd(X, n, count):
    A = unfolded(X, n)
    values, vectors = np.linalg.eigh(A @ A.T)
    return vectors[:, np.argsort(values)[::-1][:count]]


def hooi(X, U, ranks):
    norm = np.linalg.norm(X)
    fits = []
    for _ in range(ITERATIONS):
        for n in range(X.ndim):
            Y = X
            for m in sorted((m for m in range(X.ndim) if m != n), key=lambda m: ranks[m] / X.shape[m]):
                Y = times(Y, U[m], m)
            U[n] = leading(unfolded(Y, n), ranks[n])
        core = times(Y, U[-1], X.ndim - 1)
        fits.append(1 - np.sqrt(max(norm**2 - np.linalg.norm(core) ** 2, 0)) / norm)
    return fits


def main():
    folder, name = sys.argv[1:3]
    X, nnz = read(os.path.join(folder, name + ".tns.xz"))
    golden = {"name": name, "dims": list(X.shape), "nnz": nnz, "norm": float(np.linalg.norm(X)), "fits": {}}
    for text in sys.argv[3:]:
        ranks = [int(r) for r in text.split(",")]
        random = [np.linalg.qr(random_start(n, X.shape[n], r))[0] for n, r in enumerate(ranks)]
        first = [hosvd(X, n, r) for n, r in enumerate(ranks)]
        golden["fits"][text] = {"random": hooi(X, random, ranks), "hosvd": hooi(X, first, ranks)}
    with open(os.path.join(folder, "golden", name + "-tucker.json"), "w") as file:
        json.dump(golden, file, indent=1)
        file.write("\n")


main()
