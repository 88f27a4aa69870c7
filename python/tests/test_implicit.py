#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Implicit feedback, and rows without a new fit, against numpy."""

import warnings

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
    model = polyad.fast_tucker(X, implicit=40, ridge=3, rank=4, max_epochs=4)
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


def last_clicks(X):
    """The clicks without the last one of each user who has others, and these."""
    return polyad.split(X, by="last", mode=0)


def ndcg(kept, held, options, epochs, k=10):
    model = polyad.fast_tucker(kept, max_epochs=epochs, **options)
    return polyad.evaluate(model, held, kept, k, baselines=False)["ndcg"]


def test_the_options_with_the_best_rankings_are_chosen():
    kept, held = last_clicks(clicks(2))
    found = polyad.choose_implicit(kept, held, max_epochs=3, k=5)
    candidates = found["candidates"]
    assert 6 <= len(candidates) <= 16 and found["reason"] == "converged" and found["seconds"] > 0
    for candidate in candidates:
        options = {name: candidate[name] for name in ("implicit", "ridge", "rank")}
        assert candidate["ndcg"] == pytest.approx(ndcg(kept, held, options, 3, 5), abs=1e-9)
        assert candidate["users"] == held.nnz and candidate["ndcg_error"] > 0
    best = candidates[found["best"]]
    assert best["ndcg"] == max(candidate["ndcg"] for candidate in candidates)
    assert found["options"] == {name: best[name] for name in ("implicit", "ridge", "rank")}
    compared = polyad.evaluate(polyad.fast_tucker(kept, max_epochs=3, **found["options"]), held, kept, 5)
    assert (found["popular_ndcg"], found["popular_ndcg_error"]) == compared.get("ndcg", "popular")
    assert best["ndcg"] > found["popular_ndcg"] > 0


def test_a_search_warns_if_the_most_popular_items_rank_better():
    rng = np.random.default_rng(8)
    places = np.unique(np.stack([rng.integers(0, 300, 1500), (60 * rng.random(1500) ** 3).astype(int)], axis=1), axis=0)
    noise = polyad.SparseTensor(rng.permutation(places), np.ones(len(places)), (300, 60))  # the last one of a user is held out
    options = {"ridge": 0.01, "rank": 16}
    says = "the most popular items rank better than the chosen options"
    with pytest.warns(UserWarning, match=says) as warned:
        found = polyad.choose_implicit(noise, **options)
    assert [str(warning.filename) for warning in warned] == [__file__]
    assert found["popular_ndcg"] > found["candidates"][found["best"]]["ndcg"]
    with pytest.warns(UserWarning, match=says) as warned:
        choice = polyad.fast_tucker(noise, implicit=True, **options).choice
    assert [str(warning.filename) for warning in warned] == [__file__]
    assert choice["popular_ndcg"] > choice["ndcg"] and choice["popular_ndcg_error"] > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ended = polyad.choose_implicit(noise, **options, time_limit_s=1e-9)
    assert np.isnan(ended["popular_ndcg"])


def test_without_held_out_entries_the_last_ones_and_a_tenth_are_used():
    X = clicks(3)
    parts = polyad.split(X, 0.1, by="last_and_share", mode=0)
    assert parts[1].nnz > last_clicks(X)[1].nnz
    assert polyad.choose_implicit(X, max_epochs=2)["candidates"] == (
        polyad.choose_implicit(*parts, max_epochs=2)["candidates"]
    )


def test_a_search_keeps_what_it_is_given():
    kept, held = last_clicks(clicks(4))
    found = polyad.choose_implicit(kept, held, implicit=7, ridge=2, rank=4, max_epochs=2)
    assert found["options"] == {"implicit": 7, "ridge": 2, "rank": 4} and len(found["candidates"]) == 1
    found = polyad.choose_implicit(kept, held, columns=3, max_epochs=2)
    assert found["options"]["columns"] == [3] and "rank" not in found["options"] and 5 <= len(found["candidates"]) <= 14
    found = polyad.choose_implicit(kept, held, implicit=40, rank=4, max_epochs=2)
    # One ridge, a smaller and a larger one, and up to eight further steps.
    assert found["options"]["implicit"] == 40 and 3 <= len(found["candidates"]) <= 11
    assert polyad.choose_implicit(kept, held, implicit=True, rank=4, max_epochs=2)["candidates"][1]["implicit"] == 3


def test_a_search_can_be_ended():
    kept, held = last_clicks(clicks(5))
    seen = []
    found = polyad.choose_implicit(kept, held, max_epochs=2, callback=lambda candidate: seen.append(candidate) or len(seen) < 2)
    assert found["reason"] == "stopped" and found["candidates"] == seen and len(seen) == 2
    found = polyad.choose_implicit(kept, held, max_epochs=2, time_limit_s=1e-9)
    assert found["reason"] == "time limit" and len(found["candidates"]) == 1

    def interrupt(candidate):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        polyad.choose_implicit(kept, held, max_epochs=2, callback=interrupt)
    choice = caught.value.choice
    assert choice["reason"] == "interrupted" and choice["candidates"] == seen[:1]
    assert choice["options"] == {name: seen[0][name] for name in ("implicit", "ridge", "rank")}


def test_held_out_entries_have_the_rows_of_the_others():
    kept, held = last_clicks(clicks(6))
    other = polyad.SparseTensor(np.asarray(held.coords, dtype=np.uint64), held.values.astype(np.float32), (40, 31))
    options = {"rank": 2, "implicit": 5, "ridge": 1, "max_epochs": 2}
    assert polyad.choose_implicit(kept, other, **options)["candidates"] == polyad.choose_implicit(kept, held, **options)["candidates"]
    frame = pytest.importorskip("pandas").DataFrame
    names = np.array([f"i{n}" for n in range(31)])
    tables = [frame({"user": of.coords[:, 0].astype(int), "item": names[of.coords[:, 1]], "n": of.values}) for of in (kept, held)]
    tables[1] = tables[1][tables[1].item.isin(tables[0].item) & tables[1].user.isin(tables[0].user)]
    assert len(tables[1]) > 9 and tables[1].item.iloc[0] != tables[0].item.iloc[0]  # would be the first rows if not matched
    by_name = polyad.choose_implicit(*tables, mode="item", user_mode="user", **options)
    assert by_name["candidates"][0]["ndcg"] == pytest.approx(ndcg(*tables, {"rank": 2, "implicit": 5, "ridge": 1}, 2), abs=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {"implicit": -1},
        {"ridge": -1},
        {"rank": -1},
        {"max_epochs": -1},
        {"seed": -1},
        {"time_limit_s": float("nan")},
        {"k": 0},
        {"mode": 2},
        {"mode": 0},
        {"contexts": "some"},
        {"callback": 3},
        {"held": polyad.SparseTensor([[0, 0, 0]], [1.0])},
        {"held": polyad.SparseTensor([[0, 31]], [1.0])},
        {"held": polyad.SparseTensor([[0, 1]], [0.0], (41, 31))},
    ],
)
def test_a_search_refuses(options):
    with pytest.raises(polyad.UsageError):
        polyad.choose_implicit(clicks(), **options)


def test_auto_chooses_and_fits_all_entries():
    X = clicks(7)
    model = polyad.fast_tucker(X, implicit=True, max_epochs=4)
    found = polyad.choose_implicit(X, max_epochs=4)
    choice = model.choice
    assert {name: choice[name] for name in ("implicit", "ridge", "rank")} == found["options"]
    assert choice["candidates"] == len(found["candidates"]) and choice["ndcg"] == found["candidates"][found["best"]]["ndcg"]
    again = polyad.fast_tucker(X, max_epochs=4, **found["options"])
    assert all(np.array_equal(a, b) for a, b in zip(model.factors, again.factors))
    assert len(model.history) == 4
    for implicit, resume in (("automatic", ""), ("auto", "run.ckpt")):
        with pytest.raises(polyad.UsageError):
            polyad.fast_tucker(X, implicit=implicit, **({"resume": resume} if resume else {}))


def test_rows_are_folded_in_with_what_was_chosen():
    X = clicks(8)
    model = polyad.fast_tucker(X, implicit="auto", max_epochs=2)
    new = polyad.SparseTensor([[41, 2], [41, 5]], [1.0, 2.0])
    chosen = {name: model.choice[name] for name in ("implicit", "ridge")}
    rows = [polyad.fold_in(model, new, **options).factors[0][41] for options in ({}, chosen)]
    assert np.array_equal(*rows) and rows[0].any()
    recommender = polyad.TensorRecommender(implicit="auto", ridge=3, max_epochs=2, dtype="float64", shape=X.shape)
    recommender.fit(X.coords, X.values)
    assert recommender.model_.choice["ridge"] == 3
    folded = polyad.fold_in(recommender.model_, new, implicit=recommender.model_.choice["implicit"], ridge=3)
    recommender.partial_fit(new.coords, new.values)
    assert np.array_equal(recommender.model_.factors[0][41], folded.factors[0][41])
