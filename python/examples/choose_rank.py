# SPDX-License-Identifier: BSD-3-Clause
"""Compares ranks by the fit, and by how alike the models of several starts are."""

import polyad

X, planted = polyad.generate("low-rank", (40, 50, 60), rank=4, seed=2)
for rank in range(2, 6):
    models = [polyad.cp_als(X, rank, seed=seed, tolerance=1e-8, max_iterations=200) for seed in range(6)]
    models.sort(key=lambda model: -model.fit)
    match = polyad.compare(models[0], models[1])
    print(f"rank {rank}: best fits {models[0].fit:.4f} and {models[1].fit:.4f}, their factor match {match:.3f}")
