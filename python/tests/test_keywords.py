# SPDX-License-Identifier: BSD-3-Clause
"""Arguments by the names of other libraries, and values that cannot be meant."""

import inspect
import math

import numpy as np
import pytest
from conftest import random_tensor

import polyad

X = random_tensor((12, 13, 14), 300, 5)
places = np.stack([np.arange(200) % 20, np.arange(200) % 13], axis=1)
ratings = np.linspace(1, 5, 200)

foreign = [
    # TensorLy, pyttb, scikit-learn, implicit, Surprise, PyTorch
    (polyad.cp_als, (X, 3), {"n_iter_max": 5}, "max_iterations"),
    (polyad.cp_als, (X, 3), {"maxiters": 5}, "max_iterations"),
    (polyad.cp_als, (X, 3), {"max_iter": 5}, "max_iterations"),
    (polyad.cp_als, (X, 3), {"max_epochs": 5}, "max_iterations"),
    (polyad.cp_als, (X, 3), {"random_state": 5}, "seed"),
    (polyad.cp_als, (X, 3), {"tol": 1e-3}, "tolerance"),
    (polyad.cp_als, (X, 3), {"stoptol": 1e-3}, "tolerance"),
    (polyad.cp_als, (X, 3), {"toleranc": 1e-3}, "tolerance"),
    (polyad.cp_als, (X, 3), {"verbose": True}, "progress"),
    (polyad.cp_als, (X, 3), {"printitn": 1}, "progress"),
    (polyad.cp_als, (X, 3), {"init": "random"}, "start"),
    (polyad.cp_als, (X,), {"n_factors": 3}, "rank"),
    (polyad.cp_als, (X,), {"n_components": 3}, "rank"),
    (polyad.cp_als, (X, 3), {"n_jobs": 3}, "threads"),
    (polyad.tucker, (X,), {"rank": 3}, "ranks"),
    (polyad.tucker, (X, 2), {"n_iter_max": 3}, "max_iterations"),
    (polyad.fast_tucker, (X,), {"n_factors": 3}, "rank"),
    (polyad.fast_tucker, (X,), {"iterations": 3}, "max_epochs"),
    (polyad.fast_tucker, (X,), {"max_iterations": 3}, "max_epochs"),
    (polyad.fast_tucker, (X,), {"n_epochs": 3}, "max_epochs"),
    (polyad.fast_tucker, (X,), {"regularization": 3}, "shrinkage"),
    (polyad.fast_tucker, (X,), {"clip": (1, 5)}, "range"),
    (polyad.fast_tucker, (X,), {"verbose": True}, "progress"),
    (polyad.CP, (), {"n_components": 3}, "rank"),
    (polyad.CP, (), {"random_state": 3}, "seed"),
    (polyad.CP, (), {"tol": 3}, "tolerance"),
    (polyad.Tucker, (), {"rank": 3}, "ranks"),
    (polyad.TensorRecommender, (), {"factors": 3}, "rank"),
    (polyad.TensorRecommender, (), {"range": (1, 5)}, "clip"),
    (polyad.TensorRecommender, (), {"max_iter": 3}, "max_epochs"),
    (polyad.SparseTensor, (), {"indices": [[0]], "values": [1.0]}, "coords"),
    (polyad.generate, ("uniform",), {"size": (2, 3)}, "shape"),
    (polyad.hold_out, (X,), {"test_size": 0.1}, "share"),
    (polyad.hold_out, (X, 0.1), {"random_state": 1}, "seed"),
]


@pytest.mark.parametrize(("function", "given", "keywords", "ours"), foreign)
def test_the_error_names_the_right_argument(function, given, keywords, ours):
    with pytest.raises(polyad.KeywordError) as error:
        function(*given, **keywords)
    assert repr(ours) in str(error.value) or f"{ours}(" in str(error.value)
    assert isinstance(error.value, TypeError) and isinstance(error.value, polyad.UsageError)


def test_set_params_names_the_right_argument():
    with pytest.raises(polyad.KeywordError, match="'rank'"):
        polyad.CP().set_params(n_components=3)


def test_any_unknown_argument_is_refused():
    for name in polyad.__all__:
        function = getattr(polyad, name)
        if inspect.isclass(function) and issubclass(function, BaseException) or name in (
            "Format", "backends", "info", "set_backend", "set_device", "set_threads",
        ):
            continue
        with pytest.raises(polyad.KeywordError, match="has no argument 'zzz'"):
            function(zzz=1)
        assert "zzz" not in inspect.signature(function).parameters


def test_own_arguments_still_work():
    assert polyad.cp_als(X=X, rank=2, max_iterations=1, seed=3).rank == 2
    assert polyad.SparseTensor(coords=[[0, 1]], values=[1.0], shape=(2, 2)).nnz == 1
    with pytest.raises(TypeError):
        polyad.cp_als()


@pytest.mark.parametrize("wrong", [-1, -1e-300, math.nan, "much", None])
@pytest.mark.parametrize("name", ["tolerance", "time_limit_s"])
def test_limits(name, wrong):
    for run in (
        lambda: polyad.cp_als(X, 2, **{name: wrong}),
        lambda: polyad.tucker(X, 2, **{name: wrong}),
        lambda: polyad.fast_tucker(X, time_limit_s=wrong),
    ):
        with pytest.raises(polyad.UsageError, match="tolerance|time_limit_s"):
            run()
    if name == "tolerance":
        for estimator in (polyad.CP(2, tolerance=wrong), polyad.Tucker(2, tolerance=wrong)):
            with pytest.raises(polyad.UsageError, match="tolerance"):
                estimator.fit(X)


@pytest.mark.parametrize("wrong", [(5, 1), (1,), (1, 2, 3), 5, "15", (math.nan, 1), (1, math.nan), (None, 5), [5.0, -5.0]])
def test_ranges(wrong):
    with pytest.raises(polyad.UsageError, match="clip"):
        polyad.TensorRecommender(clip=wrong).fit(places, ratings)
    with pytest.raises(polyad.UsageError, match="range"):
        polyad.fast_tucker(X, range=wrong)
    model = polyad.fast_tucker(X, range=(1, 5), rank=1, shrinkage=5)
    with pytest.raises(polyad.UsageError, match="clip"):
        polyad.recommend(model, 1, [[0, 0]], clip=wrong)


def test_ranges_that_hold():
    for right in ((1, 5), (3, 3), (-math.inf, 2), [1.0, 2.0], np.array([1, 5])):
        assert polyad.TensorRecommender(clip=right).fit(places, ratings).model_.range == tuple(right)
    with pytest.raises(polyad.UsageError, match="range"):
        polyad.FastTuckerModel([np.ones((2, 1))] * 2, [np.ones((1, 1))] * 2, range=(5, 1))


def test_repeated_places_are_observations():
    coords = np.array([[0, 0], [1, 1], [0, 0]])
    with pytest.raises(polyad.InputError, match="polyad.asarray"):
        polyad.SparseTensor(coords, [5.0, 3.0, 4.0], duplicates="error")
    dense = polyad.SparseTensor(coords, [5.0, 3.0, 4.0])
    assert dense.nnz == 3
    assert polyad.fast_tucker(dense).shape == (2, 2)
