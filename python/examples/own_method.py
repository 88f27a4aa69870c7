# SPDX-License-Identifier: BSD-3-Clause
"""Writes a new method around the library's MTTKRP: CP with nonnegative factors by multiplicative updates."""

import numpy as np
import polyad

random = np.random.default_rng(0)
truth = [random.random((size, 3)) for size in (20, 30, 40)]
X = polyad.asarray(np.einsum("ir,jr,kr->ijk", *truth))
F = polyad.any_format(X, rank=3)
A = [random.random((size, 3)) for size in X.shape]

for sweep in range(60):
    for n in range(3):
        V = polyad.mttkrp(F, A, n)
        gram = np.prod([A[m].T @ A[m] for m in range(3) if m != n], axis=0)
        A[n] = A[n] * V / np.maximum(A[n] @ gram, 1e-12)
    if sweep % 20 == 19:
        fit = polyad.compare(X, polyad.CPModel(np.ones(3), A))
        print(f"sweep {sweep + 1}: fit {fit:.4f}, smallest entry {min(a.min() for a in A):.1e}")
