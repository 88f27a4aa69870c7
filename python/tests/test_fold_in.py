#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rows of new users and items with labels, and the estimator that gets more observations."""

import numpy as np
import pytest

import polyad

pandas = pytest.importorskip("pandas")


def ratings(seed=0, users=25, items=15):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(users, 2)), rng.normal(size=(items, 2))
    where = np.argwhere(rng.random((users, items)) < 0.5)
    values = 3 + (a @ b.T)[tuple(where.T)]
    return pandas.DataFrame(
        {"user": [f"u{k}" for k in where[:, 0]], "item": [f"i{k}" for k in where[:, 1]], "stars": values}
    )


def row_of(model, mode, label):
    return list(model.labels[mode]).index(label)


def test_labels_of_new_rows():
    frame = ratings()
    new = frame.user == "u24"
    model = polyad.fast_tucker(polyad.asarray(frame[~new]), rank=3, ridge=1)
    fresh = pandas.DataFrame([("u24", "fresh", 2.0)], columns=["user", "item", "stars"])
    joined = pandas.concat([frame[new], fresh])
    # The columns are matched by their names, in any order.
    folded = polyad.fold_in(model, joined[["item", "user", "stars"]], ridge=1)
    assert folded.shape == (model.shape[0] + 1, model.shape[1] + 1)
    assert folded.labels[0][-1] == "u24" and folded.labels[1][-1] == "fresh"
    assert folded.mode_names == model.mode_names
    assert np.array_equal(folded.factors[0][:-1], model.factors[0])
    assert folded.factors[0][-1].any() and folded.factors[1][-1].any()
    found = polyad.recommend(folded, "item", [["u24"]], 20, seen=joined).to_frame()
    assert len(found) and not set(found["item"]) & set(joined["item"])


def test_labels_are_the_rows_of_numbers():
    frame = ratings()
    known, new = frame[frame.user != "u24"], frame[frame.user == "u24"]
    model = polyad.fast_tucker(polyad.asarray(known), rank=3, ridge=1)
    by_labels = polyad.fold_in(model, new, ridge=1)
    items = [row_of(model, 1, item) for item in new["item"]]
    plain = polyad.FastTuckerModel(model.factors, model.cores, model.biases, model.mean)
    by_numbers = polyad.fold_in(plain, polyad.SparseTensor([[model.shape[0], i] for i in items], new["stars"].to_numpy()), ridge=1)
    assert np.allclose(by_labels.factors[0], by_numbers.factors[0], atol=1e-12)


def test_update_with_labels():
    frame = ratings()
    model = polyad.fast_tucker(polyad.asarray(frame), rank=3, ridge=1)
    added = pandas.DataFrame([("u3", "i2", 5.0), ("newcomer", "i4", 1.0)], columns=["user", "item", "stars"])
    everything = pandas.concat([frame, added])
    updated = polyad.update_rows(model, everything, added, ridge=1)
    changed = (updated.factors[0][:-1] != model.factors[0]).any(axis=1)
    assert changed.sum() == 1 and changed[row_of(model, 0, "u3")]
    assert updated.labels[0][-1] == "newcomer"
    assert (updated.factors[1] != model.factors[1]).any(axis=1).sum() == 2
    with pytest.raises(polyad.UsageError):
        polyad.update_rows(model, everything, polyad.SparseTensor([[3, 2]], [5.0]), ridge=1)  # numbers for labels


def test_gaps_and_what_was_chosen():
    frame = ratings(users=60, items=30)
    users = frame.user.str[1:].astype(int).to_numpy()
    items = frame.item.str[1:].astype(int).to_numpy()
    users = np.where(users < 20, users, users + 3)  # nobody is 20, 21 or 22
    X = polyad.SparseTensor(np.stack([users, items], axis=1), frame.stars.to_numpy(), (63, 30))
    model = polyad.fast_tucker(X)
    assert not model.observed[0][20:23].any()
    folded = polyad.fold_in(model, polyad.SparseTensor([[21, 3], [21, 7]], [5.0, 1.0]))
    assert folded.observed[0][21] and not folded.observed[0][20]
    assert np.array_equal(folded.factors[0][20], model.factors[0][20])
    assert model.biases[0][21] == 0 and folded.biases[0][21] != 0
    choice = model.choice
    same = polyad.fold_in(
        model,
        polyad.SparseTensor([[21, 3], [21, 7]], [5.0, 1.0]),
        shrinkage=choice["shrinkage"],
        ridge=choice["ridge"],
        ridge_per_entry=choice["ridge_per_entry"],
        targets=choice["targets"] or None,
        bias_damping=choice["bias_damping"],
    )
    assert np.array_equal(folded.factors[0], same.factors[0]) and np.array_equal(folded.biases[0], same.biases[0])


@pytest.mark.parametrize(
    "options",
    [
        {"ridge": 2.0},
        {"ridge": 0.1, "ridge_per_entry": True},
        {"shrinkage": (3, 0.1, 50), "targets": ["zero", "one"]},
        {"implicit": 7.0},
    ],
)
def test_a_file_says_how_the_model_was_fitted(tmp_path, options):
    frame = ratings()
    new = frame.user == "u24"
    if "implicit" in options:
        frame["stars"] = 1.0
    model = polyad.fast_tucker(polyad.asarray(frame[~new]), rank=3, max_epochs=3, **options)
    for name, given in options.items():
        assert model.row_fit[name] == (tuple(given) if name == "shrinkage" else given)
    model.save(tmp_path / "m.npz")
    loaded = polyad.load(tmp_path / "m.npz")
    assert loaded.row_fit == model.row_fit
    expected = polyad.fold_in(model, frame[new], **options)
    for of in (model, loaded):
        folded = polyad.fold_in(of, frame[new])
        assert np.array_equal(folded.factors[0], expected.factors[0])
        folded.save(tmp_path / "f.npz")
        assert polyad.load(tmp_path / "f.npz").row_fit == model.row_fit
    # What is given wins.
    other = polyad.fold_in(loaded, frame[new], ridge=50.0)
    assert not np.array_equal(other.factors[0], expected.factors[0])
    assert other.row_fit["ridge"] == 50.0 and other.row_fit["shrinkage"] is None
    plain = polyad.FastTuckerModel(model.factors, model.cores, model.biases, model.mean)
    assert plain.row_fit is None
    plain.save(tmp_path / "p.npz")
    assert polyad.load(tmp_path / "p.npz").row_fit is None


def places_and_values(seed=0):
    frame = ratings(seed)
    return np.stack([frame.user.str[1:].astype(int), frame.item.str[1:].astype(int)], axis=1), frame.stars.to_numpy()


def test_partial_fit_solves_the_rows_of_new_observations():
    places, values = places_and_values()
    new = (places[:, 0] == 24) | (np.arange(len(places)) % 50 == 7)
    recommender = polyad.TensorRecommender(3, ridge=1, dtype="float64").partial_fit(places[~new], values[~new])
    before = recommender.model_
    recommender.partial_fit(places[new], values[new])
    touched = {n: set(places[new][:, n].tolist()) for n in (0, 1)}
    for n in (0, 1):
        size = before.shape[n]
        changed = np.flatnonzero((recommender.model_.factors[n][:size] != before.factors[n]).any(axis=1))
        assert set(changed.tolist()) <= touched[n]
    X = polyad.SparseTensor(np.concatenate([places[~new], places[new]]), np.concatenate([values[~new], values[new]]))
    expected = polyad.update_rows(before, X, polyad.SparseTensor(places[new], values[new], X.shape), ridge=1)
    assert np.allclose(recommender.model_.factors[0], expected.factors[0], atol=1e-12)
    assert recommender.shape_ == (25, 15)
    # After fit the observations are not kept: rows that it had stay.
    fitted = polyad.TensorRecommender(3, ridge=1).fit(places[~new], values[~new])
    factor = fitted.model_.factors[0]
    fitted.partial_fit(places[new], values[new])
    assert np.array_equal(fitted.model_.factors[0][: len(factor)], factor)
    assert fitted.predict([[24, 0]]).shape == (1,)
    with pytest.raises(polyad.UsageError):
        fitted.partial_fit([[1, 2, 3]], [1.0])


def test_evaluate_is_that_of_the_model():
    places, values = places_and_values()
    test = np.arange(len(places)) % 5 == 0
    recommender = polyad.TensorRecommender(3, ridge=1).fit(places[~test], values[~test])
    found = recommender.evaluate(places[test], values[test], 4, seen=places[~test], relevant=3)
    expected = polyad.evaluate(
        recommender.model_,
        polyad.SparseTensor(places[test], values[test]),
        polyad.SparseTensor(places[~test], values[~test]),
        4,
        relevant=3,
    )
    assert found["ndcg"] == expected["ndcg"] and found.get("ndcg", "popular") == expected.get("ndcg", "popular")
    with pytest.raises(polyad.NotFittedError):
        polyad.TensorRecommender().evaluate(places, values)
    with pytest.raises(polyad.UsageError):
        recommender.evaluate([[1, 2, 3]], [1.0])
