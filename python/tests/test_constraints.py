# SPDX-License-Identifier: BSD-3-Clause
"""Bounds, penalties and fixed modes where scales differ, against dense arrays of numpy."""

import math
import warnings

import numpy as np
import pytest

import polyad


def low_rank(shape=(6, 7, 8), rank=3, noise=0.1):
    random = np.random.default_rng(0)
    factors = [random.standard_normal((n, rank)) for n in shape]
    return np.einsum("ir,jr,kr->ijk", *factors) + noise * random.standard_normal(shape)


def kkt_violation(dense, factors, bounds, fixed):
    """The largest change of the model by the update of one entry, over the tensor's norm."""
    worst = 0.0
    for n in range(3):
        if n in fixed:
            continue
        a, b = (factors[m] for m in range(3) if m != n)
        khatri_rao = np.einsum("ir,jr->ijr", a, b).reshape(-1, a.shape[1])
        V = np.moveaxis(dense, n, 0).reshape(dense.shape[n], -1) @ khatri_rao
        H, A = (a.T @ a) * (b.T @ b), factors[n]
        for r in range(A.shape[1]):
            if H[r, r] > 0:
                new = np.clip((V[:, r] - A @ H[:, r]) / H[r, r] + A[:, r], *bounds[n])
                worst = max(worst, float(np.abs(new - A[:, r]).max()) * math.sqrt(H[r, r]))
    return worst / float(np.linalg.norm(dense))


@pytest.mark.parametrize("ridge", [[0.1, 0.1, 0.1], {0: 0.4, 1: 0.01, 2: 0.1}])
def test_ridges_that_differ_share_the_weights(ridge):
    """At the minimum the penalties of all modes are equal: so transform, and a start of the model, share the weights."""
    X = polyad.asarray(low_rank())
    model = polyad.cp_als(X, 3, ridge=ridge, seed=1, tolerance=0, max_iterations=5000)
    assert model.weights.min() > 1
    for mode in range(3):
        np.testing.assert_allclose(model.transform(X, mode=mode), model.factors[mode], atol=1e-9)
    start = polyad.cp_als(X, start=model, ridge=ridge, max_iterations=0)
    assert start.objective == pytest.approx(model.objective, rel=1e-9)


def test_a_start_of_a_model_with_own_scales_and_ridges():
    """The weights go to the modes with a ridge alone: the others have their scale, and their bounds."""
    X = polyad.asarray(np.abs(low_rank()))
    options = {"ridge": 0.5, "lower": {0: 0.25}, "seed": 1}
    model = polyad.cp_als(X, 2, tolerance=0, max_iterations=3000, **options)
    assert np.asarray(model.factors[0]).min() >= 0.25
    start = polyad.cp_als(X, start=model, max_iterations=0, **options)
    assert start.objective == pytest.approx(model.objective, rel=1e-9)


@pytest.mark.parametrize("options, tolerance", [({"fix": [0, 2]}, 1e-7), ({"fix": [0]}, 1e-7), ({}, 1e-4)])
def test_the_kkt_violation_counts_modes_without_constraints(options, tolerance):
    """Least squares solves some of the modes, or all that are free; the violation is that of every free mode."""
    dense = np.abs(low_rank())
    random = np.random.default_rng(5)
    start = [0.5 + random.random((n, 2)) for n in dense.shape]
    bounds = [(0.5, 1.5), (-np.inf, np.inf), (-np.inf, np.inf)]
    run = {"start": start, "lower": {0: 0.5}, "upper": {0: 1.5}, "tolerance": 0, **options}
    X = polyad.asarray(dense)
    first = polyad.cp_als(X, 2, max_iterations=1, **run)
    assert first.kkt_violation > 0.01
    found = polyad.cp_als(X, 2, max_iterations=20000, kkt_tolerance=tolerance, **run)
    assert found.kkt_violation < tolerance and found.reason in ("converged", "stalled")
    factors = [np.array(factor) for factor in found.factors]
    factors[1] *= found.weights
    assert kkt_violation(dense, factors, bounds, options.get("fix", ())) < 3 * tolerance


@pytest.mark.parametrize("dtype, scales", [(np.float32, (1, 1e4, 1e5, 1e6)), (np.float64, (1, 1e20, 1e35, 1e-35))])
def test_fixed_modes_of_any_scale(dtype, scales):
    """A factor of least squares next to fixed ones is found in one update, whatever their norms."""
    random = np.random.default_rng(0)
    dense, drawn = random.random((4, 4, 3, 7)), [random.random((n, 1)) for n in (4, 4, 3, 7)]
    fits = []
    for scale in scales:
        start = [(matrix * scale).astype(dtype) for matrix in drawn]
        X = polyad.asarray((dense * scale).astype(dtype))
        for iterations in (1, 2, 3):
            model = polyad.cp_als(X, 1, start=start, fix=[0, 1, 3], max_iterations=iterations, tolerance=0)
            np.testing.assert_array_equal(model.factors[0], start[0])
            fits.append(model.fit)
    assert fits == pytest.approx([fits[0]] * len(fits), abs=2e-6 if dtype == np.float32 else 1e-9)
    assert fits[0] > 0.1


def test_bounded_modes_of_a_large_scale():
    dense = low_rank().astype(np.float32)
    random = np.random.default_rng(0)
    drawn = [random.random((n, 2)).astype(np.float32) for n in dense.shape]
    fits = []
    for scale in (1, 2.0**24):
        start = [matrix * np.float32(size) for matrix, size in zip(drawn, (scale, scale, scale**-2))]
        model = polyad.cp_als(polyad.asarray(dense), 2, start=start, lower={0: -scale, 1: -scale}, upper={0: scale, 1: scale},
                              max_iterations=4, tolerance=0)
        fits.append(model.fit)
    assert fits[1] == pytest.approx(fits[0], abs=1e-4)


@pytest.mark.parametrize("scale", [1.0, 1e12, 1e40])
def test_exact_rows_from_a_start_that_is_far_away(scale):
    """A ridge makes the rows much smaller than those of the start: the rounding error of the start's size must not stay."""
    dense = np.abs(low_rank()[:, :, 0])
    random = np.random.default_rng(3)
    start = [random.random((n, 3)) * size for n, size in zip(dense.shape, (scale, 1.0))]
    options = {"nonnegative": True, "ridge": [scale, 0.1], "inner": "exact", "max_iterations": 1, "tolerance": 0}
    model = polyad.cp_als(polyad.asarray(dense), 3, start=start, fix=1, **options)
    A, B = np.array(model.factors[0]), start[1]
    np.testing.assert_array_equal(model.factors[1], B)
    curvature = B.T @ B + scale * np.eye(3)
    slope = A @ curvature - dense @ B
    size = np.abs(dense @ B).max()
    assert np.abs(slope[A > 0]).max() < 1e-13 * size and slope[A == 0].min(initial=0) > -1e-13 * size


@pytest.mark.parametrize("scale", [1.0, 1e-160, 1e160])
def test_negative_values_are_warned_of(scale):
    X = polyad.SparseTensor([[0, 0], [1, 1]], [3 * scale, -scale], (2, 2))
    for run in (lambda: polyad.cp_als(X, 1, nonnegative=True, max_iterations=1), lambda: polyad.CP(1, lower=0, max_iterations=1).fit(X)):
        with pytest.warns(UserWarning, match="negative values have 10 % of the tensor's squared norm"):
            run()
        estimator = polyad.CP(1, lower=0, max_iterations=50)
        with pytest.warns(UserWarning):
            assert estimator.fit(X).reconstruction_err_ == pytest.approx(scale, rel=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        polyad.cp_als(X, 1, nonnegative=[0], max_iterations=1)


@pytest.mark.parametrize("name", ["smooth", "smoothness", "unimodal", "unimodality", "simplex", "monotonicity", "hard_sparsity"])
def test_constraints_of_tensorly_are_refused_by_name(name):
    X = polyad.asarray(low_rank())
    for given in ({name: True}, {"constraints": name}, {"constraints": {1: {name: 2}}}):
        with pytest.raises(TypeError, match=f"TensorLy's constraint '{name}'"):
            polyad.cp_als(X, 2, **given)


@pytest.mark.parametrize(
    "options, degrees",
    [
        ({"nonnegative": True, "ridge": 0.5}, {"ridge": 4 / 3}),
        ({"nonnegative": True, "l1": 0.5, "inner": "exact"}, {"l1": 5 / 3}),
        ({"nonnegative": [1, 2], "l1": 0.5}, {"l1": 5 / 3}),
    ],
    ids=["ridge", "exact l1", "l1"],
)
def test_penalties_do_not_depend_on_the_unit(options, degrees):
    """A random start is brought near the tensor in all modes alike: else the penalties make the model zero."""
    dense = np.abs(low_rank())
    fits = []
    for scale in (1.0, 1e-60, 1e-6, 1e6, 1e60):
        scaled = {name: value * scale ** degrees[name] if name in degrees else value for name, value in options.items()}
        model = polyad.cp_als(polyad.asarray(dense * scale), 3, seed=2, max_iterations=20, tolerance=0, **scaled)
        fits.append(model.fit)
    assert fits[0] > 0.7
    assert fits == pytest.approx([fits[0]] * len(fits), abs=1e-6)


@pytest.mark.parametrize("options", [{"lower": math.inf}, {"upper": {1: -math.inf}}, {"lower": [None, 2, None], "upper": 1}, {"constraints": {2: {"lower": math.inf}}}])
def test_empty_intervals_are_refused(options):
    with pytest.raises(polyad.UsageError, match="no number is between them"):
        polyad.cp_als(polyad.asarray(low_rank()), 2, **options)
