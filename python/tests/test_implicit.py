#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Implicit feedback, and rows without a new fit, against numpy."""

import numpy as np
import pytest

import polyad


def clicks(seed=0):
    """Users of three tastes, counts from 1 to 3; the last user and the last item have none."""
    rng = np.random.default_rng(seed)
    users, items = np.nonzero(rng.random((40, 30)) < np.where(np.add.outer(np.arange(40), np.arange(30)) % 3, 0.05, 0.6))
    values = rng.integers(1, 4, len(users)).astype(np.float64)
    return polyad.SparseTensor(np.stack([users, items], axis=1), values, (41, 31))


def scores(model):
    C = [factor @ core for factor, core in zip(model.factors, model.cores)]
    return C[0] @ C[1].T


def loss(X, model, alpha, ridge):
    weight, target = np.ones(X.shape), np.zeros(X.shape)
    users, items = np.asarray(X.coords).T
    weight[users, items] += alpha * np.asarray(X.values)
    target[users, items] = 1
    rows = sum(float((factor**2).sum()) for factor in model.factors)
    return float((weight * (target - scores(model)) ** 2).sum()) + ridge * rows


def test_the_objective_is_the_loss_over_all_cells():
    X = clicks()
    model = polyad.fast_tucker(X, implicit=7, ridge=2, rank=4, max_epochs=6)
    objectives = [epoch["objective"] for epoch in model.history]
    assert len(objectives) == 6
    assert all(b <= a * (1 + 1e-12) for a, b in zip(objectives, objectives[1:]))
    assert objectives[-1] == pytest.approx(loss(X, model, 7, 2), rel=1e-9)
    assert model.mean == 0 and model.biases == []
    assert not model.factors[0][40].any() and not model.factors[1][30].any()


def test_the_rows_solve_their_normal_equations():
    X = clicks(1)
    model = polyad.fast_tucker(X, implicit=True, ridge=3, rank=4, max_epochs=4)
    users, items = np.asarray(X.coords).T
    C = [factor @ core for factor, core in zip(model.factors, model.cores)]
    for item in (0, 7, 29):  # the mode that is solved last
        own = items == item
        P, x = C[0][users[own]], np.asarray(X.values)[own]
        matrix = C[0].T @ C[0] + (40 * x[:, None] * P).T @ P + 3 * np.eye(4)
        assert np.allclose(C[1][item], np.linalg.solve(matrix, ((1 + 40 * x)[:, None] * P).sum(0)), atol=1e-9)


def test_recommendations_leave_out_rows_without_clicks():
    X = clicks()
    model = polyad.fast_tucker(X, implicit=True, rank=4)
    rows, _ = polyad.recommend(model, 1, [[3]], 31, seen=X)[0]
    seen = {int(item) for user, item in np.asarray(X.coords) if user == 3}
    assert set(rows.tolist()) == set(range(30)) - seen


@pytest.mark.parametrize(
    "options",
    [
        {"implicit": -1},
        {"implicit": 0},
        {"implicit": float("nan")},
        {"implicit": True, "optimizer": "adam"},
        {"implicit": True, "optimizer": "sgd"},
        {"implicit": True, "range": (0, 1)},
        {"implicit": True, "shrinkage": 10},
        {"implicit": True, "time_mode": 1},
    ],
)
def test_what_excludes_each_other(options):
    with pytest.raises(polyad.UsageError):
        polyad.fast_tucker(clicks(), **options)


def test_negative_values_are_refused():
    X = clicks()
    with pytest.raises(polyad.UsageError, match="of at least 0"):
        polyad.fast_tucker(polyad.SparseTensor(X.coords, -np.asarray(X.values), X.shape), implicit=True)


def test_a_folded_user_is_that_of_an_epoch():
    X = clicks()
    model = polyad.fast_tucker(X, implicit=7, ridge=2, rank=4, max_epochs=40)
    items = np.array([2, 5, 8, 11])
    new = polyad.SparseTensor(np.stack([np.full(4, 41), items], axis=1), np.ones(4))
    folded = polyad.fold_in(model, new, implicit=7, ridge=2)
    assert folded.shape == (42, 31)
    assert all(np.array_equal(a[: len(b)], b) for a, b in zip(folded.factors, model.factors))
    C = model.factors[1] @ model.cores[1]
    P = C[items]
    row = np.linalg.solve(C.T @ C + 7 * P.T @ P + 2 * np.eye(4), 8 * P.sum(0))
    assert np.allclose(folded.factors[0][41] @ folded.cores[0], row, atol=1e-9)
    rows, _ = polyad.recommend(folded, 1, [[41]], 5, seen=new)[0]
    assert not set(rows.tolist()) & set(items.tolist())


def test_only_rows_with_new_entries_change():
    X = clicks()
    model = polyad.fast_tucker(X, implicit=7, ridge=2, rank=4)
    added = polyad.SparseTensor([[3, 30]], [1.0], X.shape)
    both = polyad.SparseTensor(
        np.concatenate([X.coords, added.coords]), np.concatenate([X.values, added.values]), X.shape
    )
    updated = polyad.update_rows(model, both, added, implicit=7, ridge=2)
    for n, row in enumerate((3, 30)):
        changed = (updated.factors[n] != model.factors[n]).any(axis=1)
        assert changed[row] and changed.sum() == 1
