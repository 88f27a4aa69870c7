# SPDX-License-Identifier: BSD-3-Clause
"""Values of models at places, and residuals, against dense arrays of numpy."""

import numpy as np
import pytest

import polyad

SHAPE = (6, 7, 8)


def drawn(kind, dtype=np.float64, shape=SHAPE, rank=5):
    random = np.random.default_rng(1)
    if kind == "cp":
        return polyad.CPModel(random.standard_normal(rank), [random.standard_normal((n, rank)).astype(dtype) for n in shape])
    ranks = [2 + n % 3 for n in range(len(shape))]
    factors = [random.standard_normal((n, r)).astype(dtype) for n, r in zip(shape, ranks)]
    return polyad.TuckerModel(random.standard_normal(ranks).astype(dtype), factors)


def entries(shape=SHAPE, count=50, dtype=np.float64):
    random = np.random.default_rng(2)
    places = np.stack([random.integers(0, n, count) for n in shape], axis=1)
    return polyad.SparseTensor(places, random.standard_normal(count).astype(dtype), shape, duplicates="keep")


@pytest.mark.parametrize("kind", ["cp", "tucker"])
@pytest.mark.parametrize("shape", [(6, 7), SHAPE, (3, 4, 2, 5), (3, 2, 4, 2, 3), (2, 3, 2, 3, 2, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_and_residuals(kind, shape, dtype):
    model, X = drawn(kind, dtype, shape), entries(shape, dtype=dtype)
    at = np.asarray(X.coords).astype(np.int64)
    expected = model.full()[tuple(at.T)]
    error = 1e-5 if dtype == np.float32 else 1e-12
    for places in (at, at.astype(np.uint32), at.tolist(), X):
        values = polyad.predict(model, places)
        assert values.dtype == dtype
        np.testing.assert_allclose(values, expected, rtol=error, atol=error)
        np.testing.assert_array_equal(model.predict(places), values)
    left = polyad.residuals(model, X)
    assert left.dtype == dtype
    np.testing.assert_allclose(left, np.asarray(X.values) - expected, rtol=error, atol=error)
    assert polyad.predict(model, np.empty((0, len(shape)), dtype=int)).shape == (0,)


def test_residuals_are_rounded_once():
    """A model of floats and values of doubles: the difference is not that of two floats."""
    model = polyad.CPModel([1.0], [np.float32([[1]]), np.float32([[0.1]])])
    X = polyad.SparseTensor([[0, 0]], [float(np.float32(0.1)) + 1e-12], (1, 1))
    assert polyad.residuals(model, X)[0] == pytest.approx(1e-12, rel=1e-3)


def test_residuals_of_completion():
    X = entries(count=200)
    model = polyad.fast_tucker(X, max_epochs=2)
    np.testing.assert_allclose(polyad.residuals(model, X), np.asarray(X.values) - polyad.predict(model, X))
    np.testing.assert_array_equal(model.predict(X), polyad.predict(model, X))


@pytest.mark.parametrize("kind", ["cp", "tucker"])
def test_rows_that_the_model_lacks(kind):
    model = drawn(kind)
    places = [[0, 0, 0], [5, 7, 0], [5, 6, 7]]
    for wrong, says in ((places, r"place 1, \(5, 7, 0\), has row 7 of mode 1"), ([[0, 0, -1]], r"has row -1 of mode 2")):
        with pytest.raises(polyad.UsageError, match=says):
            polyad.predict(model, wrong)
    values = polyad.predict(model, places, cold_start="zero")
    np.testing.assert_allclose(values, [model.full()[0, 0, 0], 0, model.full()[5, 6, 7]])
    X = polyad.SparseTensor(places, [1.0, 2.0, 3.0], (6, 9, 8))
    with pytest.raises(polyad.UsageError, match="row 7 of mode 1"):
        polyad.residuals(model, X)
    np.testing.assert_allclose(polyad.residuals(model, X, cold_start="zero"), [1, 2, 3] - values)
    for how in ("bias", "none"):
        with pytest.raises(polyad.UsageError, match="refuse or zero"):
            polyad.predict(model, places, cold_start=how)
    with pytest.raises(polyad.UsageError, match="places of 2 numbers"):
        polyad.predict(model, [[0, 0]])


def test_numbers_that_are_none():
    model = polyad.CPModel([1.0], [np.array([[1.0], [np.nan]]), np.ones((2, 1))])
    assert polyad.predict(model, [[0, 1]]) == [1]
    with pytest.raises(polyad.NumericalError, match=r"the model's value at \(1, 1\)"):
        polyad.predict(model, [[0, 0], [1, 1]])


def test_names():
    X = polyad.SparseTensor([[0, 0], [1, 1], [0, 1]], [1.0, 2.0, 3.0], labels=[["ann", "bob"], ["pen", "cup"]], mode_names=["user", "item"])
    model = polyad.cp_als(X, 2, max_iterations=50, tolerance=0)
    Y = polyad.SparseTensor([[0, 0]], [5.0], labels=[["bob"], ["cup"]], mode_names=["user", "item"])
    assert polyad.predict(model, Y) == pytest.approx([2], abs=1e-6)
    assert polyad.residuals(model, Y) == pytest.approx([3], abs=1e-6)
    Z = polyad.SparseTensor([[0, 0]], [5.0], labels=[["dan"], ["cup"]], mode_names=["user", "item"])
    with pytest.raises(polyad.UsageError, match="which the model does not have"):
        polyad.residuals(model, Z)
    assert polyad.residuals(model, Z, cold_start="zero") == [5]


def test_compact_models():
    model = polyad.CPModel([2.0], [np.array([[3.0], [4.0]]), np.ones((2, 1))], rows=[[5, 900], None], shape=(1000, 2))
    np.testing.assert_array_equal(polyad.predict(model, [[5, 0], [6, 0], [900, 1], [999, 1]]), [6, 0, 8, 0])


FORMS = [
    ("nonnegative", [(0, None, 0, 0)] * 3),
    ({"nonnegative": True, "l1": 0.25}, [(0, None, 0.25, 0)] * 3),
    (["nonnegative", None, {"lower": -1, "upper": 2}], [(0, None, 0, 0), (None, None, 0, 0), (-1, 2, 0, 0)]),
    ({0: "nonnegative", 2: {"upper": 1.5}}, [(0, None, 0, 0), (None, None, 0, 0), (None, 1.5, 0, 0)]),
    ({"ridge": 0.5}, [(None, None, 0, 0.5)] * 3),
]


@pytest.mark.parametrize("constraints, expected", FORMS)
def test_constraints_in_one_argument(constraints, expected):
    X = entries(count=100)
    X = polyad.SparseTensor(X.coords, X.values, X.shape, duplicates="sum")
    model = polyad.cp_als(X, 2, max_iterations=3, constraints=constraints)
    assert [tuple(c.values()) for c in model.constraints] == [
        (-np.inf if low is None else low, np.inf if high is None else high, l1, ridge) for low, high, l1, ridge in expected
    ]
    again = polyad.cp_als(X, 2, max_iterations=3, constraints=model.constraints)
    assert again.constraints == model.constraints and again.fit == pytest.approx(model.fit, abs=1e-9)
    assert polyad.CP(2, constraints=constraints, max_iterations=3).fit(X).model_.constraints == model.constraints


def test_nonnegative_of_each_mode():
    X = entries(count=100)
    X = polyad.SparseTensor(X.coords, X.values, X.shape, duplicates="sum")
    for given in ([True, False, True], np.array([True, False, True]), [0, 2], {0: True, 2: True}, {0: True, 1: False, 2: True}):
        model = polyad.cp_als(X, 2, max_iterations=2, nonnegative=given)
        assert [c["lower"] for c in model.constraints] == [0, -np.inf, 0]


@pytest.mark.parametrize(
    "options, says",
    [
        ({"constraints": "simplex"}, "TensorLy's constraint 'simplex'"),
        ({"constraints": {0: {"smoothness": 1}}}, "TensorLy's constraint 'smoothness'"),
        ({"constraints": {"non_negative": True}}, "use 'nonnegative'"),
        ({"constraints": [None]}, "of 1 modes"),
        ({"constraints": {3: "nonnegative"}}, "modes 0 to 2"),
        ({"constraints": 3}, "a dict of modes"),
        ({"constraints": {0: 3}}, "'nonnegative' or a dict"),
        ({"constraints": {"l1": True}}, "a number for 'l1'"),
        ({"constraints": "nonnegative", "l1": 0.5}, "not both"),
        ({"constraints": {"lower": 2, "upper": 1}}, "no number is between"),
        ({"nonnegative": [True, False]}, "2 bools"),
    ],
)
def test_constraints_that_cannot_be(options, says):
    with pytest.raises((polyad.UsageError, TypeError), match=says):
        polyad.cp_als(entries(), 2, **options)
