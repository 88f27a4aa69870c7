# SPDX-License-Identifier: BSD-3-Clause
"""Rankings and biases that drift, against numpy's own sums and against the tool's file."""

import pickle
import threading
import time
import warnings

import numpy as np
import pytest

import polyad

shape = (30, 40, 12)


def drifting(count=6000):
    """Users and items with factors; the users' mood changes at time 6."""
    rng = np.random.default_rng(5)
    coords = np.stack([rng.integers(0, size, count) for size in shape], axis=1)
    A, B, mood = rng.normal(size=(30, 2)), rng.normal(size=(40, 2)), rng.normal(size=(30, 2))
    i, j, t = coords.T
    values = 3 + (A[i] * B[j]).sum(axis=1) + mood[i, t // 6] + 0.1 * rng.normal(size=count)
    return coords, values


def train(dtype=np.float64, **options):
    coords, values = drifting()
    X = polyad.SparseTensor(coords, values.astype(dtype), shape, duplicates="keep")
    options = {"rank": 3, "shrinkage": 5, "max_epochs": 5, "time_mode": 2, "drift": [(4, 10), (3, 10), 0], **options}
    return polyad.fast_tucker(X, **options)


def everything(model):
    """All predictions before they are clipped, as the class documents them."""
    C = [np.asarray(a, float) @ np.asarray(b, float) for a, b in zip(model.factors, model.cores)]
    full = model.mean + np.einsum("ir,jr,kr->ijk", *C)
    for n, bias in enumerate(model.biases):
        full = full + np.asarray(bias, float).reshape([-1 if m == n else 1 for m in range(3)])
    times = np.arange(model.shape[model.time_mode])
    for n, drift in enumerate(model.drifts):
        if drift.shape[1]:
            at = np.asarray(drift, float)[:, times * drift.shape[1] // len(times)]
            full = full + (at[:, None, :] if n == 0 else at[None, :, :])
    return full


def ranked(scores, n, without=()):
    order = [k for k in np.argsort(-scores, kind="stable") if k not in without]
    return np.array(order[:n])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_biases_drift(dtype, tmp_path):
    coords, values = drifting()
    model = train(dtype)
    assert model.time_mode == 2 and [drift.shape for drift in model.drifts] == [(30, 4), (40, 3), (12, 0)]
    assert model.drifts[0].dtype == dtype and np.abs(model.drifts[0]).max() > 0.3
    predicted = polyad.predict(model, coords)
    want = everything(model)[tuple(coords.T)]
    np.testing.assert_allclose(predicted, want, atol=1e-4 if dtype == np.float32 else 1e-10)
    # What drifts is learned: without it the mood is noise.
    stays = train(dtype, time_mode=-1, drift=None)
    assert stays.time_mode == -1 and stays.drifts == []
    rmse = [np.sqrt(np.mean((polyad.predict(m, coords) - values) ** 2)) for m in (model, stays)]
    assert rmse[0] < 0.6 * rmse[1]
    # There and back.
    model.save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as archive:
        assert archive["time_mode"].tolist() == [2] and "drift_2" not in archive.files
        np.testing.assert_array_equal(archive["drift_1"], model.drifts[1])
    for back in (polyad.load(tmp_path / "m.npz"), pickle.loads(pickle.dumps(model))):
        assert back.time_mode == 2
        for mine, theirs in zip(model.drifts, back.drifts):
            np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_allclose(polyad.predict(back, coords), predicted, atol=1e-5)


def test_held_out_entries_choose_the_drift():
    coords, values = drifting()
    X = polyad.SparseTensor(coords, values, shape, duplicates="keep")
    for options in ({}, {"format": "sorted", "deterministic": True}):
        model = polyad.fast_tucker(X, rank=2, time_mode=2, **options)
        bins = [drift.shape[1] for drift in model.drifts]
        assert [drift[0] for drift in model.choice["drift"]][:2] == bins[:2]
        assert bins[0] >= 2 and bins[2] == 0
        np.testing.assert_allclose(polyad.predict(model, coords), everything(model)[tuple(coords.T)], atol=1e-10)
    assert polyad.fast_tucker(X, rank=2, shrinkage=5, max_epochs=1).choice is None
    assert polyad.fast_tucker(X, rank=2, max_epochs=1).choice["drift"] == []


def test_drifts_of_all_modes_alike():
    model = train(drift={"bins": 4, "damping": 10})
    assert [drift.shape[1] for drift in model.drifts] == [4, 4, 0]
    np.testing.assert_array_equal(model.drifts[0], train(drift=[(4, 10), (4, 10), 0]).drifts[0])
    # The damping counts, and is 30 unless told.
    np.testing.assert_array_equal(train(drift=4).drifts[0], train(drift=[4, (4, 30), 0]).drifts[0])
    assert np.abs(train(drift=4).drifts[0]).max() < np.abs(model.drifts[0]).max()


@pytest.mark.parametrize(
    "options",
    [
        {"time_mode": 3},
        {"time_mode": -2},
        {"time_mode": 1.0},
        {"time_mode": -1},
        {"biases": False},
        {"drift": [4, 4]},
        {"drift": -1},
        {"drift": [(4, 10, 1), 0, 0]},
        {"drift": {"none": 1}},
        {"drift": {"damping": 1}},
        {"drift": [(4, -1.0), 0, 0]},
        {"drift": [(4, float("nan")), 0, 0]},
    ],
)
def test_drifts_that_make_no_sense(options):
    with pytest.raises(polyad.UsageError):
        train(**options)


def test_a_model_of_drifts_is_checked():
    factors, cores = [np.ones((2, 1)), np.ones((3, 1))], [np.ones((1, 1))] * 2
    for time_mode, drifts in ((2, []), (-1, [np.ones((2, 1)), np.ones((3, 0))]), (1, [np.ones((3, 1))] * 2), (1, [])):
        with pytest.raises(polyad.UsageError):
            polyad.FastTuckerModel(factors, cores, time_mode=time_mode, drifts=drifts)
    model = polyad.FastTuckerModel(factors, cores, time_mode=1, drifts=[[[0, 5], [1, 2]], np.ones((3, 0))])
    np.testing.assert_array_equal(polyad.predict(model, [[0, 0], [0, 1], [0, 2], [1, 2]]), [1, 1, 6, 3])


@pytest.mark.parametrize("scale", [2.0**100, 2.0**-100])
def test_values_far_from_one_in_a_format_of_the_caller(scale):
    coords, values = drifting()
    options = {"rank": 3, "shrinkage": 5, "max_epochs": 3, "format": "sorted", "deterministic": True}
    options["range"] = (-100, 100)
    near = polyad.fast_tucker(polyad.SparseTensor(coords, values, shape, duplicates="keep"), **options)
    options["range"] = (-100 * scale, 100 * scale)
    X = polyad.SparseTensor(coords, (values * scale).astype(np.float32), shape, duplicates="keep")
    far = polyad.fast_tucker(X, **options)
    assert far.range == (-100 * scale, 100 * scale)
    np.testing.assert_allclose(polyad.predict(far, coords) / scale, polyad.predict(near, coords), atol=1e-2)
    assert far.history[-1]["train"]["rmse"] / scale == pytest.approx(near.history[-1]["train"]["rmse"], rel=1e-2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("time_mode", [2, -1])
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_recommend(dtype, time_mode, mode):
    model = train(dtype, time_mode=time_mode, **({} if time_mode >= 0 else {"drift": None}))
    full = everything(model)
    others = [n for n in range(3) if n != mode]
    rng = np.random.default_rng(1)
    queries = np.stack([rng.integers(-1, shape[n], 50) for n in others], axis=1)
    found = polyad.recommend(model, mode, queries, 5)
    assert len(found) == 50 and found.unknown == 0 and found.starts[-1] == len(found.rows) == 250
    close = 1e-4 if dtype == np.float32 else 1e-10
    for query, (rows, scores) in zip(queries, found):
        expected = full
        for n, index in reversed(list(zip(others, query))):  # the last first: the numbers of the others stay
            expected = expected.mean(axis=n) if index < 0 else expected.take(index, axis=n)
        np.testing.assert_allclose(scores, np.sort(expected)[::-1][:5], atol=close)
        np.testing.assert_allclose(expected[rows], scores, atol=close)
        if dtype == np.float64:
            np.testing.assert_array_equal(rows, ranked(expected.round(10), 5))


def test_queries_in_other_forms():
    model = train()
    want = polyad.recommend(model, 1, [[3, -1], [4, 5]])
    assert len(want[0][0]) == 10
    forms = [
        [[3, None], [4, 5]],
        np.array([[3, -1], [4, 5]], dtype=np.int32),
        np.array([[3, -1], [4, 5]], dtype=np.int8),
        np.asfortranarray([[3, -1], [4, 5]]),
        np.array([[3, -1], [4, 5]]).astype(np.uint64),
    ]
    for queries in forms:
        found = polyad.recommend(model, 1, queries)
        np.testing.assert_array_equal(found.rows, want.rows)
        np.testing.assert_array_equal(found.scores, want.scores)
    nothing = polyad.recommend(model, 1, np.empty((0, 2), dtype=int))
    assert len(nothing) == 0 and list(nothing) == [] and nothing.starts.tolist() == [0]
    # A mode has no more.
    assert len(polyad.recommend(model, 2, [[0, 0]], 100)[0][0]) == 12
    rows, scores = want[-1]
    assert rows.dtype == np.int64 and scores.dtype == np.float64
    np.testing.assert_array_equal(rows, want[1][0])
    with pytest.raises(IndexError):
        want[2]


def test_what_was_seen_is_left_out():
    coords, values = (array[:1500] for array in drifting())
    model = train()
    full = everything(model)
    user, when = 7, 3
    own = coords[coords[:, 0] == user]
    at_that_time = own[own[:, 2] == when][:, 1]
    assert 0 < len(set(at_that_time)) < len(set(own[:, 1])) < 40
    X = polyad.SparseTensor(coords, values, shape, duplicates="keep")
    for seen in (coords, X, X.astype("float32"), polyad.SparseTensor(coords, values, (50, 60, 70), duplicates="keep")):
        found = polyad.recommend(model, 1, [[user, when], [user, None]], 40, seen)
        np.testing.assert_array_equal(found[0][0], ranked(full[user, :, when].round(10), 40, at_that_time))
        np.testing.assert_array_equal(found[1][0], ranked(full[user].mean(axis=1).round(10), 40, own[:, 1]))
    nothing = polyad.recommend(model, 1, [[user, when]], 40, np.empty((0, 3), dtype=int))
    assert len(nothing[0][0]) == 40


def test_scores_are_what_rows_are_ranked_by():
    model = train(range=(2, 2.5))
    full = everything(model)
    rows, scores = polyad.recommend(model, 1, [[7, 3]])[0]
    np.testing.assert_array_equal(rows, ranked(full[7, :, 3].round(10), 10))
    np.testing.assert_allclose(scores, full[7, rows, 3], atol=1e-10)
    rows, wider = polyad.recommend(model, 1, [[7, 3]], clip=(0, 2.2))[0]
    np.testing.assert_allclose(wider, np.clip(full[7, rows, 3], 0, 2.2), atol=1e-10)
    assert scores[0] > 2.5 and (np.diff(scores) <= 0).all() and wider[0] == 2.2
    assert model.range == (2, 2.5)
    for clip in ((4, 2), (float("nan"), 1), ("a", 1)):
        with pytest.raises(polyad.UsageError):
            polyad.recommend(model, 1, [[7, 3]], clip=clip)


def test_unknown_indices_are_counted():
    model = train()
    with pytest.warns(UserWarning, match="2 of 3 queries") as caught:
        found = polyad.recommend(model, 1, [[7, 3], [99, 3], [7, 99]], 40)
    assert found.unknown == 2 and caught[0].filename == __file__
    time_bin = 3 * 3 // 12
    want = model.mean + model.biases[1] + model.biases[2][3] + model.drifts[1][:, time_bin]
    np.testing.assert_array_equal(found[1][0], ranked(want.round(10), 40))
    np.testing.assert_allclose(found[1][1], np.sort(want)[::-1], atol=1e-10)
    # A time after the last has no factors and no drift.
    want = model.mean + model.biases[0][7] + model.biases[1]
    np.testing.assert_allclose(found[2][1], np.sort(want)[::-1], atol=1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        polyad.recommend(model, 1, [[7, 3], [-1, -1]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_similar(dtype):
    model = train(dtype)
    C = np.asarray(model.factors[1], float) @ np.asarray(model.cores[1], float)
    # What a row adds to the predictions for all rows of the other modes.
    A, T = (np.asarray(model.factors[n], float) @ np.asarray(model.cores[n], float) for n in (0, 2))
    added = np.einsum("jr,ir,kr->jik", C, A, T).reshape(len(C), -1)
    unit = added / np.linalg.norm(added, axis=1, keepdims=True)
    found = polyad.similar(model, 1, [7, 0, 39], 6)
    for row, (rows, cosines) in zip((7, 0, 39), found):
        want = unit @ unit[row]
        np.testing.assert_allclose(cosines, np.sort(np.delete(want, row))[::-1][:6], atol=1e-5)
        np.testing.assert_allclose(want[rows], cosines, atol=1e-5)
        assert row not in rows
    np.testing.assert_array_equal(polyad.similar(model, 1, np.uint32(7), 6)[0][0], found[0][0])
    assert len(polyad.similar(model, 1, 7, 100)[0][0]) == 39
    assert len(polyad.similar(model, 1, [])) == 0


def test_what_is_refused():
    model = train()
    wrong_queries = ([3, 4], [[3]], [[3, 4, 5]], [[3, 1.5]], [["a", "b"]], [[3, -2]], [[3], [4, 5]], None, [[3, "x"]])
    for queries in wrong_queries:
        with pytest.raises(polyad.Error):
            polyad.recommend(model, 1, queries)
    for mode in (-1, 3, 1.0, True):
        with pytest.raises(polyad.UsageError):
            polyad.recommend(model, mode, [[3, 4]])
        with pytest.raises(polyad.UsageError):
            polyad.similar(model, mode, 3)
    for n in (0, -1, 1.5, 2**31 + 1):
        with pytest.raises(polyad.UsageError):
            polyad.recommend(model, 1, [[3, 4]], n)
        with pytest.raises(polyad.UsageError):
            polyad.similar(model, 1, 3, n)
    for rows in (40, -1, None, 1.5, [[3]], "a"):
        with pytest.raises(polyad.Error):
            polyad.similar(model, 1, rows)
    for seen in ([[1, 2]], [1, 2, 3], [[1, 2, 0.5]], [[1, 2, -1]]):
        with pytest.raises(polyad.Error):
            polyad.recommend(model, 1, [[3, 4]], seen=seen)
    with pytest.raises(polyad.UsageError):
        polyad.recommend("model.npz", 1, [[3, 4]])
    huge = polyad.FastTuckerModel([np.full((2, 1), 1e200), np.full((3, 1), 1e200)], [np.ones((1, 1))] * 2)
    with pytest.raises(polyad.NumericalError):
        polyad.recommend(huge, 1, [[0]])


def test_the_lock_is_released():
    rng = np.random.default_rng(0)
    model = polyad.FastTuckerModel([rng.normal(size=(n, 16)) for n in (4000, 30000)], [np.eye(16)] * 2)
    polyad.recommend(model, 1, [[0]])
    queries = rng.integers(0, 4000, (4000, 1))
    begun, counted = threading.Event(), []

    def count():
        begun.wait()
        while begun.is_set():
            counted.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    begun.set()
    begin = time.perf_counter()
    polyad.recommend(model, 1, queries)
    end = time.perf_counter()
    begun.clear()
    thread.join()
    # One call: with the lock held nothing is counted but at its ends.
    assert len([t for t in counted if begin < t < end]) > 5


def test_recommender():
    coords, values = drifting()
    options = {"rank": 3, "shrinkage": 5.0, "max_epochs": 5, "time_mode": 2, "drift": [(4, 10), (3, 10), 0]}
    recommender = polyad.TensorRecommender(dtype="float64", **options).fit(coords, values)
    model = recommender.model_
    full = everything(model)
    np.testing.assert_allclose(full, everything(train()), atol=1e-6)
    items, scores = recommender.recommend(7, 5)
    want = full[7].mean(axis=1)
    np.testing.assert_array_equal(items, ranked(want.round(10), 5))
    np.testing.assert_allclose(scores, want[items], atol=1e-10)
    items, scores = recommender.recommend(7, 5, at={2: 3})
    np.testing.assert_array_equal(items, ranked(full[7, :, 3].round(10), 5))
    # All that the user has, whatever the time.
    seen = coords[:1500]
    own = seen[seen[:, 0] == 7][:, 1]
    assert 0 < len(set(own)) < 40
    items, _ = recommender.recommend(7, 40, at={2: 3}, seen=seen)
    np.testing.assert_array_equal(items, ranked(full[7, :, 3].round(10), 40, own))
    several = recommender.recommend([7, 8], 5)
    assert len(several) == 2
    np.testing.assert_array_equal(several[1][0], ranked(full[8].mean(axis=1).round(10), 5))
    # Users of an item, by the other mode.
    users, _ = recommender.recommend(4, 5, user_mode=1, item_mode=0)
    np.testing.assert_array_equal(users, ranked(full[:, 4].mean(axis=1).round(10), 5))
    with pytest.warns(UserWarning, match="1 of 1 queries") as caught:
        recommender.recommend(99)
    assert caught[0].filename == __file__
    alike, cosines = recommender.similar(4, 3)
    np.testing.assert_array_equal(alike, polyad.similar(model, 1, 4, 3).rows)
    assert len(recommender.similar([4, 5])) == 2 and cosines[0] >= cosines[1]
    for wrong in (
        lambda: recommender.recommend("a"),
        lambda: recommender.recommend(-1),
        lambda: recommender.recommend(7, user_mode=1),
        lambda: recommender.recommend(7, at={0: 1}),
        lambda: recommender.recommend(7, at={3: 1}),
        lambda: recommender.recommend(7, at={2: -1}),
        lambda: recommender.recommend(7, at={2: "May"}),
        lambda: recommender.recommend(7, seen=[[1, 2]]),
        lambda: recommender.similar(40),
        lambda: polyad.TensorRecommender().recommend(1),
        lambda: polyad.TensorRecommender().similar(1),
    ):
        with pytest.raises(polyad.Error):
            wrong()


def test_recommender_predicts_new_rows_with_drifts():
    coords, values = drifting()
    options = {"rank": 3, "shrinkage": 5.0, "max_epochs": 2, "time_mode": 2, "drift": [(4, 10), (3, 10), 0]}
    recommender = polyad.TensorRecommender(dtype="float64", **options).fit(coords, values)
    m = recommender.model_
    np.testing.assert_allclose(
        recommender.predict([[99, 5, 7], [5, 99, 11], [5, 6, 99], [99, 99, 99]]),
        [
            m.mean + m.biases[1][5] + m.biases[2][7] + m.drifts[1][5, 7 * 3 // 12],
            m.mean + m.biases[0][5] + m.biases[2][11] + m.drifts[0][5, 3],
            m.mean + m.biases[0][5] + m.biases[1][6] + m.drifts[0][5, 3] + m.drifts[1][6, 2],
            m.mean,
        ],
        atol=1e-12,
    )


def test_seen_may_be_a_sparse_matrix():
    sparse = pytest.importorskip("scipy.sparse")
    rows, columns = np.array([0, 0, 1, 2, 2]), np.array([0, 2, 1, 1, 2])
    X = polyad.SparseTensor(np.stack([rows, columns], axis=1), np.array([5.0, 1.0, 2.0, 4.0, 3.0]), (3, 3))
    model = polyad.fast_tucker(X, columns=1, shrinkage=(1.0,))
    wanted = polyad.recommend(model, 1, [[0], [2]], 3, seen=X)
    for kind in (sparse.coo_array, sparse.csr_matrix):
        found = polyad.recommend(model, 1, [[0], [2]], 3, seen=kind((X.values, (rows, columns)), shape=(3, 3)))
        np.testing.assert_array_equal(found.rows, wanted.rows)
        assert found.rows.tolist() == [1, 0]
