# SPDX-License-Identifier: BSD-3-Clause
"""Completes a tensor of flights' delays, and draws the errors of each epoch and those of mean and biases."""

import matplotlib.pyplot as plt
import polyad

X = polyad.read("data/nycflights13-delay.tns.xz", duplicates="keep").astype("float32")
known, hidden = polyad.hold_out(X, 0.1)
model = polyad.fast_tucker(known, rank=8, shrinkage=(30, 0.0), test=hidden, max_epochs=10)
biases = polyad.fast_tucker(known, rank=1, shrinkage=(1e9, 0.0), test=hidden, max_epochs=1)

errors = [epoch["test"]["rmse"] for epoch in model.history]
print(f"RMSE on hidden entries: {errors[-1]:.1f} minutes, by biases alone {biases.history[-1]['test']['rmse']:.1f}")
figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
axis.plot(range(1, len(errors) + 1), errors, marker="o", label="FastTucker")
axis.axhline(biases.history[-1]["test"]["rmse"], color="0.5", label="mean and biases")
axis.set_xlabel("epoch")
axis.set_ylabel("RMSE in minutes")
axis.legend()
figure.savefig("delays.png", dpi=70)
