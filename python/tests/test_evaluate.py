# SPDX-License-Identifier: BSD-3-Clause
"""polyad.evaluate against plain loops, and polyad.split."""

import math
import pickle

import numpy as np
import pytest

import polyad

USERS, ITEMS = 30, 25


def data(seed=4, count=400):
    rng = np.random.default_rng(seed)
    coords = np.unique(rng.integers(0, (USERS, ITEMS), (count, 2)), axis=0)
    rng.shuffle(coords)
    values = rng.integers(1, 11, len(coords)) / 2
    cut = len(coords) * 2 // 3
    return [polyad.SparseTensor(coords[part], values[part], (USERS, ITEMS)) for part in (slice(cut), slice(cut, None))]


def model_of(dtype=np.float64, biases=True):
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(USERS, 2)).astype(dtype), rng.normal(size=(ITEMS, 2)).astype(dtype)
    bias = [rng.normal(size=USERS).astype(dtype), rng.normal(size=ITEMS).astype(dtype)] if biases else None
    return polyad.FastTuckerModel([A, B], [np.eye(2, dtype=dtype)] * 2, biases=bias or (), mean=3.0, range=(0.5, 5))


def scores_of(model):
    A, B = (np.asarray(factor, dtype=np.float64) for factor in model.factors)
    scores = model.mean + A @ B.T
    if model.biases:
        scores = scores + np.asarray(model.biases[0], float)[:, None] + np.asarray(model.biases[1], float)[None, :]
    return scores


def metrics_of(order, relevant, k):
    hits = [item in relevant for item in order[:k]]
    dcg = sum(relevant[item] / math.log2(2 + r) for r, item in enumerate(order[:k]) if item in relevant)
    ideal = sum(value / math.log2(2 + r) for r, value in enumerate(sorted(relevant.values(), reverse=True)[:k]))
    good = [item in relevant for item in order]
    pairs = sum(good) * (len(good) - sum(good))
    right = sum(not later for r, found in enumerate(good) if found for later in good[r + 1 :])
    return [
        sum(hits) / k,
        sum(hits) / len(relevant),
        dcg / ideal,
        sum(sum(hits[: r + 1]) / (r + 1) for r, hit in enumerate(hits) if hit) / len(relevant),
        next((1 / (r + 1) for r, hit in enumerate(hits) if hit), 0),
        float(any(hits)),
        right / pairs if pairs else math.nan,
    ]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k, relevant, with_seen", [(5, 0.0, True), (10, 4.0, True), (3, 3.5, False)])
def test_metrics(dtype, k, relevant, with_seen):
    train, test = data()
    model = model_of(dtype)
    found = polyad.evaluate(model, test, train if with_seen else None, k, relevant=relevant, per_user=True)
    scores = scores_of(model)
    seen = {tuple(at) for at in train.coords.tolist()} if with_seen else set()
    wanted = {}
    for user in range(USERS):
        good = {int(i): v for (u, i), v in zip(test.coords.tolist(), test.values.tolist()) if u == user and v >= relevant}
        if good:
            order = [i for i in np.argsort(-scores[user], kind="stable").tolist() if (user, i) not in seen]
            wanted[user] = metrics_of(order, good, k)
    assert found.users == len(wanted)
    table = np.array(list(wanted.values()))
    for n, metric in enumerate(found.metrics[:7]):
        column = table[~np.isnan(table[:, n]), n]
        value, error = found.get(metric)
        assert value == pytest.approx(column.mean(), abs=1e-12) == found[metric]
        assert error == pytest.approx(column.std(ddof=1) / math.sqrt(len(column)), abs=1e-12)
    frame = found.users_frame()
    of_model = frame[frame.method == "model"]
    assert of_model.user.tolist() == list(wanted)
    np.testing.assert_allclose(of_model.ndcg, table[:, 2], atol=1e-12)
    errors = np.clip(scores[tuple(test.coords.astype(int).T)], 0.5, 5) - test.values
    assert found["rmse"] == pytest.approx(np.sqrt((errors**2).mean()), rel=1e-5)
    assert found["mae"] == pytest.approx(np.abs(errors).mean(), rel=1e-5)
    assert [row["method"] for row in found.scores if row["activity"] == "all"] == ["model", "biases"] + ["popular"] * with_seen


def test_table_and_frame():
    train, test = data()
    found = polyad.evaluate(model_of(), test, train)
    text = str(found)
    assert "model               biases              popular" in text and "users with 4 to 19 training entries" in text
    frame = found.to_frame()
    assert frame.loc[0, "ndcg"] == found["ndcg"] and frame.loc[0, "ndcg_error"] == found.get("ndcg")[1]
    assert str(pickle.loads(pickle.dumps(found))) == text
    with pytest.raises(polyad.UsageError, match="no metric 'hits'"):
        found["hits"]
    with pytest.raises(polyad.UsageError, match="per_user"):
        found.users_frame()
    with pytest.raises(polyad.UsageError, match="'popular'"):
        polyad.evaluate(model_of(), test).get("ndcg", "popular")


def test_a_model_without_biases_has_no_such_baseline():
    train, test = data()
    found = polyad.evaluate(model_of(biases=False), test, train, baselines=True)
    assert {row["method"] for row in found.scores} == {"model", "popular"}
    assert {row["method"] for row in polyad.evaluate(model_of(), test, train, baselines=False).scores} == {"model"}


def test_scores_of_implicit_feedback_are_compared_with_1():
    coords = np.argwhere(np.random.default_rng(3).random((20, 15)) < 0.4)
    counts = polyad.SparseTensor(coords, 2.0 + np.arange(len(coords)) % 3, (20, 15))
    model = polyad.fast_tucker(counts, implicit=1, ridge=1, rank=3, max_epochs=4)
    errors = polyad.predict(model, coords) - 1
    found = polyad.evaluate(model, counts)
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-6)
    assert found["mae"] == pytest.approx(np.mean(np.abs(errors)), rel=1e-6)
    model.row_fit = None  # not known: a model of values
    errors = polyad.predict(model, coords) - counts.values
    assert polyad.evaluate(model, counts)["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-6)


def test_names_and_coordinates_of_any_type():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    rows = pandas.DataFrame({"user": rng.integers(0, 20, 300).astype(str), "item": rng.integers(100, 130, 300)})
    rows = rows.drop_duplicates().assign(stars=3.0)
    train, test = rows[:150], rows[150:]
    model = polyad.fast_tucker(train, rank=2, shrinkage=5, max_epochs=2)
    extra = pandas.DataFrame({"user": ["new"], "item": [model.labels[1][0]], "stars": [5.0]})
    found = polyad.evaluate(model, pandas.concat([test, extra]), train, k=30, mode="item", user_mode="user", per_user=True)
    frame = found.users_frame()
    assert frame[(frame.user == "new") & (frame.method == "model")].recall.tolist() == [1.0]
    plain = polyad.SparseTensor(np.array([[0, 1]], dtype=np.uint64), [1.0], (3, 4))
    narrow = polyad.SparseTensor(np.array([[0, 2]], dtype=np.uint32), [1.0], (3, 4))
    unnamed = polyad.FastTuckerModel([np.ones((3, 1)), np.arange(4.0)[:, None]], [np.eye(1)] * 2)
    assert polyad.evaluate(unnamed, plain, narrow, k=3)["mrr"] == 0.5


@pytest.mark.parametrize(
    "options, says",
    [
        ({"k": 0}, "k"),
        ({"mode": 0}, "both the users and the items"),
        ({"mode": 2}, "mode"),
        ({"contexts": "some"}, "contexts"),
        ({"relevant": math.nan}, "relevant"),
        ({"seen": polyad.SparseTensor([[0, 0, 0]], [1.0])}, "seen has 3 modes"),
    ],
)
def test_refused(options, says):
    with pytest.raises(polyad.UsageError, match=says):
        polyad.evaluate(model_of(), data()[1], **options)
    with pytest.raises(polyad.UsageError, match="'k'"):
        polyad.evaluate(model_of(), data()[1], top_k=3)


def test_a_rule_of_splits_is_known():
    X = polyad.generate("uniform", (5, 4), 10)
    for by in ("quarters", 3):
        with pytest.raises(polyad.UsageError, match=f"by entries, coordinates, rows, time, last or last_and_share, not '{by}'"):
            polyad.split(X, by=by)


def test_splits():
    rng = np.random.default_rng(0)
    coords = np.stack([rng.integers(0, 9, 300), rng.integers(0, 8, 300), rng.integers(0, 30, 300)], axis=1)
    coords = np.concatenate([coords, coords[:40]])
    X = polyad.SparseTensor(coords, np.arange(340.0), duplicates="keep", mode_names=["user", "item", "day"], shape=(9, 8, 30))
    known, hidden = polyad.split(X, 0.2, "time", time_mode="day")
    assert known.nnz + hidden.nnz == 340 and known.coords[:, 2].max() < hidden.coords[:, 2].min()
    assert abs(hidden.nnz - 68) < 20 and hidden.mode_names == X.mode_names
    known, hidden = polyad.split(X, by="last", mode="user", time_mode="day", ties="all")
    for user in range(9):
        days = X.coords[X.coords[:, 0] == user, 2]
        assert set(hidden.coords[hidden.coords[:, 0] == user, 2].tolist()) == {days.max()}
        assert known.coords[known.coords[:, 0] == user, 2].max() < days.max()
    last = {tuple(at) for at in hidden.coords.tolist()}
    known, hidden = polyad.split(X, 0.5, "last_and_share", mode="user", time_mode="day", ties="all")
    held = {tuple(at) for at in hidden.coords.tolist()}
    assert last < held and 100 < hidden.nnz < 220 and held.isdisjoint(tuple(at) for at in known.coords.tolist())
    for user in range(9):
        assert known.coords[known.coords[:, 0] == user, 2].min() == X.coords[X.coords[:, 0] == user, 2].min()
    known, hidden = polyad.split(X, 0.3, "rows", mode=0, seed=5)
    assert set(known.coords[:, 0].tolist()).isdisjoint(hidden.coords[:, 0].tolist()) and len(set(hidden.coords[:, 0].tolist())) == 3
    known, hidden = polyad.split(X, 0.3, seed=5)
    assert {tuple(at) for at in known.coords.tolist()}.isdisjoint(tuple(at) for at in hidden.coords.tolist())
    apart = polyad.split(X, 0.3, "entries", seed=5)[1]
    np.testing.assert_array_equal(apart.values, polyad.hold_out(X, 0.3, seed=5)[1].values)
    for arguments in ({"by": "now"}, {"by": "time"}, {"by": "last"}, {"by": "last_and_share"}, {"by": "rows"}, {"share": 2}, {"by": "time", "time_mode": 7}):
        with pytest.raises(polyad.UsageError):
            polyad.split(X, **arguments)


def test_rankings_are_measured_as_by_ranx():
    ranx = pytest.importorskip("ranx")
    names = {"precision": "precision@7", "recall": "recall@7", "ndcg": "ndcg@7", "map": "map@7", "mrr": "mrr@7", "hit_rate": "hit_rate@7"}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        scores = rng.permutation(USERS * ITEMS).reshape(USERS, ITEMS) / 64.0  # without ties
        model = polyad.FastTuckerModel([np.eye(USERS), scores.T.copy()], [np.eye(USERS)] * 2)
        coords = np.argwhere(rng.random((USERS, ITEMS)) < 0.3)
        values = rng.integers(1, 6, len(coords)).astype(float)
        coords, values = coords[coords[:, 0] != 3], values[coords[:, 0] != 3]  # a user without relevant entries
        part = rng.random(len(coords)) < 0.5
        seen, test = (polyad.SparseTensor(coords[of], values[of], (USERS, ITEMS)) for of in (part, ~part))
        found = polyad.evaluate(model, test, seen, 7, baselines=False, per_user=True)
        known = {tuple(at) for at in seen.coords.tolist()}
        qrels = {}
        for (user, item), value in zip(test.coords.tolist(), test.values.tolist()):
            qrels.setdefault(str(user), {})[str(item)] = int(value)
        run = {u: {str(i): scores[int(u), i] for i in range(ITEMS) if (int(u), i) not in known} for u in qrels}
        wanted = ranx.Run(run)
        theirs = ranx.evaluate(ranx.Qrels(qrels), wanted, list(names.values()))
        assert found.users == len(qrels)
        for ours, name in names.items():
            assert found[ours] == pytest.approx(theirs[name], abs=1e-12), (seed, ours)
        frame = found.users_frame().set_index("user")
        for user in qrels:
            for ours, name in names.items():
                assert frame.loc[int(user), ours] == pytest.approx(wanted.scores[name][user], abs=1e-12)
