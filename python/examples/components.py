# SPDX-License-Identifier: BSD-3-Clause
"""Factors the pickups of Uber's cars in New York and draws the components."""

import polyad

X = polyad.read("data/uber-apr14.tns.xz")
model = polyad.cp_als(X, rank=4, tolerance=1e-6, max_iterations=200)
print(model)
model.plot(names=["day", "hour", "latitude", "longitude"]).savefig("components.png", dpi=60)
