# SPDX-License-Identifier: BSD-3-Clause
"""Factors Uber's pickups with and without negative entries, and draws the components of both models."""

import numpy as np

import polyad

X = polyad.read("data/uber-apr14.tns.xz")
modes = ["day", "hour", "latitude", "longitude"]
for name, constraints in (("free", {}), ("nonnegative", {"nonnegative": True})):
    model = polyad.cp_als(X, 8, tolerance=1e-6, max_iterations=200, **constraints)
    negative = [float((np.minimum(factor, 0) ** 2).sum() / (factor**2).sum()) for factor in model.factors]
    print(name, f"fit {model.fit:.4f}, negative shares of the squared norms:", [round(share, 3) for share in negative])
    model.plot(5, names=modes).savefig(f"uber-{name}.png")
