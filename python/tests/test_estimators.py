# SPDX-License-Identifier: BSD-3-Clause
"""Estimators, with scikit-learn's own tools."""

import os
import pickle
import time

import numpy as np
import pytest
from conftest import data, on_host_only, random_tensor

import polyad


def observations(count=3000):
    rng = np.random.default_rng(3)
    X = np.stack([rng.integers(0, 40, count), rng.integers(0, 50, count)], axis=1)
    A, B = rng.normal(size=(40, 2)), rng.normal(size=(50, 2))
    return X, 3 + (A[X[:, 0]] * B[X[:, 1]]).sum(axis=1) + 0.1 * rng.normal(size=count)


def test_cp():
    X, _ = polyad.generate("low-rank", (30, 40, 50), rank=3, seed=1)
    cp = polyad.CP(rank=3, tolerance=1e-9, max_iterations=300)
    scores = cp.fit_transform(X)
    # The last update of the first factor came before the others' last, so that at the end they are close.
    weights, factors = cp.model_
    np.testing.assert_allclose(scores, factors[0] * weights, atol=1e-3 * np.abs(scores).max())
    # New samples: half of those that were fitted.
    half = polyad.asarray(X.to_dense()[:15])
    np.testing.assert_allclose(cp.transform(half), scores[:15], atol=1e-10 * np.abs(scores).max())
    assert cp.fit_ == cp.model_.fit and cp.n_iter_ == len(cp.model_.history)
    with pytest.raises(polyad.UsageError):
        cp.transform(random_tensor((30, 40, 49), 10, 1))
    with pytest.raises(polyad.UsageError):
        polyad.CP().transform(X)


def test_cp_scores_are_least_squares():
    # The components of the generated tensor above are orthogonal, and those of this one are not.
    X = random_tensor((12, 13, 14), 800, 4)
    cp = polyad.CP(rank=3, max_iterations=20)
    scores = cp.fit_transform(X)
    columns = np.einsum("jr,kr->jkr", *cp.model_.factors[1:]).reshape(-1, 3)
    wanted = np.linalg.lstsq(columns, X.to_dense().reshape(12, -1).T, rcond=None)[0].T
    np.testing.assert_allclose(scores, wanted, atol=1e-8 * np.abs(wanted).max())


def test_tucker():
    X = random_tensor((12, 7, 8), 200, 2)
    tucker = polyad.Tucker(ranks=(2, 3, 4))
    scores = tucker.fit_transform(X)
    core, factors = tucker.model_
    want = np.einsum("abc,br,cs->ars", X.to_dense(), factors[1], factors[2]).reshape(12, -1)
    np.testing.assert_allclose(scores, want, atol=1e-12)


def test_parameters():
    cp = polyad.CP(rank=3)
    assert cp.get_params()["rank"] == 3 and repr(cp) == "CP(rank=3)"
    assert cp.set_params(rank=5, seed=2) is cp and cp.rank == 5
    with pytest.raises(polyad.UsageError):
        cp.set_params(none=1)


def test_unfitted_estimators():
    X = random_tensor((12, 7, 8), 200, 2)
    calls = [
        lambda: polyad.CP().transform(X),
        lambda: polyad.Tucker().transform(X),
        lambda: polyad.TensorRecommender().predict([[0, 0]]),
        lambda: polyad.TensorRecommender().score([[0, 0]], [1.0]),
        lambda: polyad.TensorRecommender().recommend(0),
        lambda: polyad.TensorRecommender().similar(0),
    ]
    for call in calls:
        with pytest.raises(polyad.NotFittedError, match="call fit first") as error:
            call()
        assert isinstance(error.value, (ValueError, AttributeError)) and isinstance(error.value, polyad.UsageError)
        assert issubclass(error.type, ValueError) and issubclass(error.type, AttributeError)
    error = pickle.loads(pickle.dumps(polyad.NotFittedError("not yet")))
    assert type(error) is polyad.NotFittedError and str(error) == "not yet"


def test_unfitted_estimators_for_scikit_learn():
    exceptions = pytest.importorskip("sklearn.exceptions")
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_is_fitted

    for estimator in (polyad.CP(), polyad.Tucker(), polyad.TensorRecommender()):
        assert isinstance(estimator, BaseEstimator)
        with pytest.raises(exceptions.NotFittedError):
            check_is_fitted(estimator)
    with pytest.raises(exceptions.NotFittedError):
        polyad.TensorRecommender().predict([[0, 0]])


def test_estimators_without_scikit_learn(in_process):
    program = """
    import sys
    sys.modules["sklearn"] = None  # as if it was not installed
    import numpy as np, polyad
    recommender = polyad.TensorRecommender(1, shrinkage=5.0)
    assert recommender.get_params()["shrinkage"] == 5.0 and recommender.set_params(seed=2).seed == 2
    try:
        recommender.predict([[0, 0]])
    except polyad.NotFittedError as error:
        assert isinstance(error, ValueError) and isinstance(error, AttributeError)
        print(error)
    try:
        recommender.set_params(n_factors=2)
    except polyad.KeywordError as error:
        print(error)
    print(recommender.fit([[0, 0], [1, 1], [0, 1]], [1.0, 2.0, 3.0]).predict([[0, 0]]).shape, recommender)
    """
    assert in_process(program).splitlines() == [
        "this TensorRecommender is not fitted yet: call fit first",
        "TensorRecommender has no argument 'n_factors': use 'rank'",
        "(1,) TensorRecommender(rank=1, shrinkage=5.0, seed=2)",
    ]


def test_estimators_are_pickled():
    X = random_tensor((12, 7, 8), 200, 2)
    cp = polyad.CP(rank=2).fit(X)
    copy = pickle.loads(pickle.dumps(cp))
    assert repr(copy) == "CP(rank=2)" and copy.fit_ == cp.fit_ and isinstance(copy, polyad.CP)


def test_recommender():
    X, y = observations()
    recommender = polyad.TensorRecommender(clip=(-20, 20), dtype="float64").fit(X[:2500], y[:2500])
    assert recommender.score(X[2500:], y[2500:]) > 0.95
    predicted = recommender.predict(X[2500:])
    np.testing.assert_array_equal(predicted, polyad.predict(recommender.model_, X[2500:]))
    # Rows that were not there: mean and what biases are known.
    new = recommender.predict([[99, 7], [99, 99]])
    model = recommender.model_
    np.testing.assert_allclose(new, [model.mean + model.biases[1][7], model.mean])
    # Whole numbers as floats, as a pipeline hands them over.
    np.testing.assert_array_equal(recommender.predict(X[2500:].astype(float)), predicted)
    for wrong in (X[2500:] + 0.5, [[0, 0, 0]], [[-1, 0]], [0, 1]):
        with pytest.raises(polyad.Error):
            recommender.predict(wrong)
    with pytest.raises(polyad.UsageError):
        polyad.TensorRecommender().predict(X)


def test_recommender_has_the_errors_of_fast_tucker():
    X = polyad.read(data / "nycflights13-delay.tns.xz", duplicates="keep")
    known, hidden = polyad.hold_out(X, 0.1)
    options = {"rank": 4, "shrinkage": 10.0, "format": "sorted", "deterministic": True, "max_epochs": 5}
    model = polyad.fast_tucker(known.astype("float32"), test=hidden, **options)
    recommender = polyad.TensorRecommender(shape=X.shape, **options).fit(known.coords, known.values)
    for mine, theirs in zip(recommender.model_.factors, model.factors):
        np.testing.assert_array_equal(mine, theirs)
    rmse = np.sqrt(np.mean((recommender.predict(hidden.coords) - hidden.values) ** 2))
    assert rmse == pytest.approx(model.history[-1]["test"]["rmse"], rel=1e-6)


def test_the_tools_of_scikit_learn():
    pytest.importorskip("sklearn")
    from sklearn.base import clone, is_regressor
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    X, y = observations()
    recommender = polyad.TensorRecommender(rank=2, shrinkage=5.0)
    copy = clone(recommender)
    assert copy.get_params() == recommender.get_params() and copy is not recommender
    assert is_regressor(recommender)
    scores = cross_val_score(recommender, X, y, cv=3)
    assert len(scores) == 3 and scores.min() > 0.7
    search = GridSearchCV(recommender, {"rank": [1, 2]}, cv=3).fit(X, y)
    assert search.best_params_ == {"rank": 2}
    pipeline = make_pipeline(FunctionTransformer(), recommender).fit(X, y)
    assert pipeline.score(X, y) > 0.9
    T = random_tensor((12, 7, 8), 200, 2)
    assert clone(polyad.CP(rank=2)).fit(T).model_.rank == 2
    assert make_pipeline(polyad.CP(rank=2)).fit_transform(T).shape == (12, 2)


def test_labels_are_numbered_by_an_encoder():
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    pipeline = pytest.importorskip("sklearn.pipeline")
    X, y = observations()
    labels = np.array([[f"user {u:02d}", f"item {i:02d}"] for u, i in X])
    for given in (labels, labels.astype(object), np.array([["user 01", 1], ["user 02", 2]], dtype=object)):
        with pytest.raises(polyad.UsageError, match="X holds integers, not labels: number them"):
            polyad.TensorRecommender().fit(given, y[: len(given)])
    options = {"rank": 2, "max_epochs": 3, "deterministic": True}
    numbered = pipeline.make_pipeline(preprocessing.OrdinalEncoder(), polyad.TensorRecommender(**options)).fit(labels, y)
    assert np.array_equal(numbered.predict(labels[:9]), polyad.TensorRecommender(**options).fit(X, y).predict(X[:9]))


def test_several_processes():
    joblib = pytest.importorskip("joblib")
    T = random_tensor((12, 7, 8), 200, 2)
    want = [polyad.cp_als(T, 2, seed=seed).fit for seed in range(4)]
    got = joblib.Parallel(n_jobs=2)(joblib.delayed(polyad.cp_als)(T, 2, seed=seed) for seed in range(4))
    assert [model.fit for model in got] == pytest.approx(want, abs=1e-9)


def _threads_of_a_fit(seed):
    polyad.cp_als(random_tensor((40, 30, 20), 2000, 2), 8, seed=seed, tolerance=0, max_iterations=50)
    return polyad.info()["threads"]


@on_host_only
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core")
def test_two_processes_do_not_wait_for_each_other():
    joblib = pytest.importorskip("joblib")
    with joblib.Parallel(n_jobs=2) as pool:
        threads = pool(joblib.delayed(_threads_of_a_fit)(seed) for seed in range(4))
        if "OMP_NUM_THREADS" not in os.environ:
            assert set(threads) == {max(1, joblib.cpu_count() // 2)}
        factors = []
        # While other work is running, the first measurement may mislead.
        while len(factors) < 3 and min(factors, default=3) >= 3:
            begin = time.perf_counter()
            for seed in range(4):
                _threads_of_a_fit(seed)
            one = time.perf_counter() - begin
            begin = time.perf_counter()
            pool(joblib.delayed(_threads_of_a_fit)(seed) for seed in range(4))
            factors.append((time.perf_counter() - begin) / one)
    assert min(factors) < 3, factors


def test_nonnegative_cp_transforms_and_back():
    X, _ = polyad.generate("low-rank", (15, 12, 10), rank=3, seed=1)
    cp = polyad.CP(3, nonnegative=True, tolerance=1e-9, max_iterations=500)
    scores = cp.fit_transform(X)
    assert scores.shape == (15, 3) and (scores >= 0).all()
    assert all((factor >= 0).all() for factor in cp.model_.factors)
    dense = X.to_dense()
    back = cp.inverse_transform(scores)
    assert back.shape == dense.shape
    assert np.linalg.norm(back - dense) <= cp.reconstruction_err_ + 1e-6 * np.linalg.norm(dense)
    assert cp.reconstruction_err_ == pytest.approx(np.linalg.norm(cp.model_.full() - dense), abs=1e-6 * np.linalg.norm(dense))
    with pytest.raises(polyad.UsageError, match="samples x 3"):
        cp.inverse_transform(scores[:, :2])
    with pytest.raises(polyad.NotFittedError):
        polyad.CP().inverse_transform(scores)
