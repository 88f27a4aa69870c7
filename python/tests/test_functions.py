# SPDX-License-Identifier: BSD-3-Clause
"""The drivers and products against pyttb, TensorLy and numpy."""

import math
import pickle
import threading
import time

import numpy as np
import pytest
from conftest import data, random_tensor

import polyad

tensors = [
    ((12, 13, 14), 300),
    ((40, 3, 25), 600),
    ((9, 8, 7, 6), 400),
    ((20, 5, 30, 4), 900),
    ((5, 6, 4, 7, 3), 500),
]


@pytest.mark.parametrize("shape, nnz", tensors)
@pytest.mark.parametrize("iterations", [1, 5])
def test_cp_als_has_the_fits_of_pyttb(shape, nnz, iterations):
    ttb = pytest.importorskip("pyttb")
    X = random_tensor(shape, nnz, 5)
    rng = np.random.default_rng(11)
    start = [rng.uniform(size=(size, 3)) for size in shape]
    model = polyad.cp_als(X, 3, start=start, tolerance=0, max_iterations=iterations)
    _, _, output = ttb.cp_als(
        X.to_pyttb(), 3, init=ttb.ktensor([s.copy() for s in start]), stoptol=0, maxiters=iterations, printitn=0
    )
    assert model.fit == pytest.approx(output["fit"], abs=1e-9)
    assert len(model.history) == iterations
    # pyttb's own evaluation of our model.
    theirs = model.to_pyttb()
    residual = (X.to_pyttb().full() - theirs.full()).norm()
    assert 1 - residual / X.norm() == pytest.approx(model.fit, abs=1e-9)


def test_tensorly_reconstructs_our_fit():
    tl = pytest.importorskip("tensorly")
    X = random_tensor((12, 13, 14), 300, 5)
    model = polyad.cp_als(X, 4, seed=3)
    dense = X.to_dense()
    # The model itself, not a copy for TensorLy: it unpacks as they do.
    for theirs in (model, model.to_tensorly()):
        full = tl.cp_to_tensor(theirs)
        assert 1 - np.linalg.norm(dense - full) / np.linalg.norm(dense) == pytest.approx(model.fit, abs=1e-9)
    np.testing.assert_allclose(model.full(), tl.cp_to_tensor(model.to_tensorly()), atol=1e-12)


def test_golden_fit():
    model = polyad.cp_als(polyad.read(data / "uber-apr14.tns.xz"), 8, tolerance=0, max_iterations=20)
    assert model.fit == pytest.approx(0.136753587, abs=5e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_factors_are_views_of_packed_rows(dtype):
    X = random_tensor((12, 13, 14), 300, 5, dtype)
    model = polyad.cp_als(X, 3)
    for factor in model.factors:
        assert factor.dtype == dtype and factor.flags.writeable and not factor.flags.owndata
        assert factor.strides[0] % 16 == 0 and factor.strides[0] > 3 * factor.itemsize
        other = np.from_dlpack(factor)
        assert other.__array_interface__["data"][0] == factor.__array_interface__["data"][0]
    kept = model.factors[0]
    before = kept.copy()
    del model, factor, other
    polyad.cp_als(X, 5)
    np.testing.assert_array_equal(kept, before)


def test_a_format_serves_several_runs():
    X = random_tensor((12, 13, 14), 300, 5)
    F = polyad.any_format(X, rank=3, format="sorted", deterministic=True)
    assert F.chosen.startswith("sorted") and F.shape == (12, 13, 14) and F.nnz == 300
    a, b = polyad.cp_als(F, 3, seed=1), polyad.cp_als(F, 3, seed=1)
    np.testing.assert_array_equal(a.factors[0], b.factors[0])
    assert a.fit == pytest.approx(polyad.cp_als(X, 3, seed=1).fit, abs=1e-9)
    with pytest.raises(polyad.UsageError):
        polyad.cp_als(F, 3, format="coo-tiny-vec")


def test_a_format_keeps_the_arrays():
    X = random_tensor((12, 13, 14), 300, 5)
    fit = polyad.cp_als(X, 3, format="coo-tiny-vec").fit
    F = polyad.any_format(polyad.SparseTensor(X.coords.copy(), X.values.copy(), X.shape), rank=3, format="coo-tiny-vec")
    waste = [np.full(900, -1.0) for _ in range(50)]
    assert polyad.cp_als(F, 3).fit == pytest.approx(fit, abs=1e-12)
    assert len(waste) == 50


def ridge_of_numpy(dense, factors, penalties, iterations):
    """CP-ALS with ridges in dense arrays; the cells of its model."""
    factors = [np.array(factor) for factor in factors]
    for _ in range(iterations):
        for n in range(3):
            a, b = (factors[m] for m in range(3) if m != n)
            khatri_rao = np.einsum("ir,jr->ijr", a, b).reshape(-1, a.shape[1])
            unfolded = np.moveaxis(dense, n, 0).reshape(dense.shape[n], -1)
            hadamard = (a.T @ a) * (b.T @ b) + penalties[n] * np.eye(a.shape[1])
            factors[n] = np.linalg.solve(hadamard, (unfolded @ khatri_rao).T).T
    return np.einsum("ir,jr,kr->ijk", *factors)


@pytest.mark.parametrize("ridge", [2.0, (0.5, 2, 8), {0: 0.5, 1: 2, 2: 8}], ids=["number", "sequence", "dict"])
def test_ridge_is_that_of_numpy(ridge):
    random = np.random.default_rng(3)
    dense = random.random((6, 7, 8))
    start = [random.random((size, 3)) for size in dense.shape]
    penalties = [ridge[n] if not isinstance(ridge, float) else ridge for n in range(3)]
    for X in (polyad.asarray(dense), polyad.any_format(polyad.asarray(dense), rank=3)):
        model = polyad.cp_als(X, start=start, ridge=ridge, max_iterations=5, tolerance=0)
        cells = np.einsum("r,ir,jr,kr->ijk", model.weights, *model.factors)
        np.testing.assert_allclose(cells, ridge_of_numpy(dense, start, penalties, 5), atol=1e-11)
        assert np.abs(cells - ridge_of_numpy(dense, start, [0, 0, 0], 5)).max() > 0.01


def descended_by_numpy(dense, factors, bounds, l1, iterations, sweeps):
    """Coordinate descent over the columns of each row in dense arrays; the cells of its model."""
    factors = [np.array(factor) for factor in factors]
    for _ in range(iterations):
        for n in range(3):
            a, b = (factors[m] for m in range(3) if m != n)
            khatri_rao = np.einsum("ir,jr->ijr", a, b).reshape(-1, a.shape[1])
            V = np.moveaxis(dense, n, 0).reshape(dense.shape[n], -1) @ khatri_rao
            H, A = (a.T @ a) * (b.T @ b), factors[n]
            for _ in range(sweeps):
                for r in range(A.shape[1]):
                    if H[r, r] == 0:  # another mode's column is zero: the least of the penalty alone
                        A[:, r] = np.clip(np.zeros(len(A)), *bounds[n]) if l1[n] > 0 else A[:, r]
                        continue
                    z = V[:, r] - A @ H[:, r] + A[:, r] * H[r, r]
                    A[:, r] = np.clip(np.sign(z) * np.maximum(np.abs(z) - l1[n], 0) / H[r, r], *bounds[n])
    return np.einsum("ir,jr,kr->ijk", *factors)


@pytest.mark.parametrize(
    "options, bounds, l1",
    [
        ({"nonnegative": True}, [(0, np.inf)] * 3, [0, 0, 0]),
        ({"nonnegative": [0, 2], "inner": 3}, [(0, np.inf), (-np.inf, np.inf), (0, np.inf)], [0, 0, 0]),
        ({"nonnegative": True, "l1": 0.5}, [(0, np.inf)] * 3, [0.5] * 3),
        ({"lower": {0: 0.25}, "upper": [1, 2, 3], "nonnegative": {1: True, 2: True}}, [(0.25, 1), (0, 2), (0, 3)], [0, 0, 0]),
    ],
    ids=["nonnegative", "two modes", "l1", "bounds"],
)
def test_constraints_are_those_of_numpy(options, bounds, l1):
    random = np.random.default_rng(3)
    dense = random.random((6, 7, 8))
    start = [0.25 + 0.75 * random.random((size, 3)) for size in dense.shape]
    wanted = descended_by_numpy(dense, start, bounds, l1, 4, options.get("inner", 1))
    for X in (polyad.asarray(dense), polyad.any_format(polyad.asarray(dense), rank=3)):
        if options.get("nonnegative") == [0, 2]:  # mode 1 is least squares
            assert polyad.cp_als(X, start=start, max_iterations=4, tolerance=0, **options).zeros is not None
            continue
        model = polyad.cp_als(X, start=start, max_iterations=4, tolerance=0, **options)
        np.testing.assert_allclose(np.einsum("r,ir,jr,kr->ijk", model.weights, *model.factors), wanted, atol=1e-10)
        assert model.kkt_violation > 0
        assert model.zeros == [int((factor == 0).sum()) for factor in model.factors]
        if not any(l1):
            assert model.objective == pytest.approx(((dense - wanted) ** 2).sum() / 2, rel=1e-8)


def test_constraints_are_absent_from_plain_models():
    model = polyad.cp_als(random_tensor((12, 13, 14), 300, 5), 3, max_iterations=2)
    assert (model.kkt_violation, model.zeros, model.zero_components) == (None, None, None)
    assert model.objective > 0


@pytest.mark.parametrize(
    "options, says",
    [
        ({"nonnegative": [3]}, "modes 0 to 2"),
        ({"nonnegative": "all"}, "nonnegative is True"),
        ({"lower": 1, "upper": 0}, "no number is between them"),
        ({"upper": [1, 2]}, "upper has 2 numbers"),
        ({"l1": {0: 1}}, "mode 1 has no penalty"),
        ({"l1": -1}, "l1 is 0 or more"),
        ({"nonnegative": True, "inner": 0}, "inner is an int of 1 or more"),
        ({"non_negative": True}, "use 'nonnegative'"),
        ({"smoothness": 1}, "does not offer TensorLy's constraint 'smoothness'"),
    ],
)
def test_constraints_that_cannot_be(options, says):
    with pytest.raises((polyad.UsageError, TypeError), match=says):
        polyad.cp_als(random_tensor((12, 13, 14), 300, 5), 3, **options)


def test_ridge_continues_from_a_model():
    X = random_tensor((12, 13, 14), 300, 5)
    model = polyad.cp_als(X, 3, ridge=0.1, tolerance=0, max_iterations=2000)
    more = polyad.cp_als(X, start=model, ridge=0.1, tolerance=0, max_iterations=1)
    assert more.fit == pytest.approx(model.fit, abs=1e-9)


def test_a_ridge_of_zero_is_least_squares():
    X = random_tensor((12, 13, 14), 300, 5)
    plain = polyad.cp_als(X, 3, max_iterations=4, deterministic=True)
    for zero in (0, 0.0, [0, 0, 0], {}, {1: 0.0}):
        model = polyad.cp_als(X, 3, max_iterations=4, deterministic=True, ridge=zero)
        np.testing.assert_array_equal(model.weights, plain.weights)


@pytest.mark.parametrize(
    ("ridge", "word"),
    [
        (-1, "ridge is 0 or more"),
        ("much", "number"),
        (math.nan, "number"),
        (math.inf, "ridge"),
        (None, "number"),
        ([1, 1], "2 numbers"),
        ([1, 0, 1], "mode 1"),
        ({2: 0.5}, "mode 0"),
        ({3: 0.5}, "mode 3"),
        ({-1: 0.5}, "mode"),
        ({0: -1, 1: 1, 2: 1}, "mode 0"),
    ],
)
def test_a_ridge_that_cannot_be_is_refused(ridge, word):
    X = random_tensor((12, 13, 14), 300, 5)
    with pytest.raises(polyad.UsageError, match=word):
        polyad.cp_als(X, 3, ridge=ridge)


def test_starts():
    X = random_tensor((12, 13, 14), 300, 5)
    first = polyad.cp_als(X, 3, tolerance=0, max_iterations=4)
    before = [factor.copy() for factor in first.factors]
    on = polyad.cp_als(X, start=first, tolerance=0, max_iterations=4)
    assert on.rank == 3
    np.testing.assert_array_equal(first.factors[1], before[1])
    straight = polyad.cp_als(X, 3, tolerance=0, max_iterations=8)
    assert on.fit == pytest.approx(straight.fit, abs=1e-9)
    assert polyad.cp_als(X, start=first.to_pyttb(), max_iterations=1).rank == 3
    with pytest.raises(polyad.UsageError):
        polyad.cp_als(X, 3, start=before[:2])
    with pytest.raises(polyad.UsageError):
        polyad.cp_als(X, 3, start=[f[:-1] for f in before])


def test_callback_ends_the_run():
    X = random_tensor((12, 13, 14), 300, 5)
    seen = []
    model = polyad.cp_als(X, 3, tolerance=0, callback=lambda it: seen.append(it) or it["iteration"] < 3)
    assert len(seen) == 3 and model.reason == "stopped" and model.history == seen
    core = polyad.tucker(X, 2, tolerance=0, callback=lambda it: it["iteration"] < 2)
    assert len(core.history) == 2 and core.reason == "stopped"
    learned = polyad.fast_tucker(X, rank=1, shrinkage=5, callback=lambda epoch: np.bool_(False))
    assert len(learned.history) == 1 and learned.reason == "stopped"
    assert polyad.cp_als(X, 3, tolerance=0, max_iterations=4, callback=lambda it: None).reason == "iteration limit"

    def fails(it):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        polyad.cp_als(X, 3, callback=fails)
    # And the library is not left locked.
    nested = polyad.cp_als(X, 3, max_iterations=2, callback=lambda it: polyad.cp_als(X, 2, max_iterations=1) and None)
    assert nested.fit > 0
    with pytest.raises(polyad.UsageError):
        polyad.cp_als(X, 3, callback=3)


def test_progress(capfd):
    polyad.cp_als(random_tensor((5, 6, 7), 50, 1), 2, max_iterations=3, tolerance=0, progress=True)
    assert "fit" in capfd.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        {"rank": -1},
        {"rank": 2.5},
        {"rank": True},
        {"rank": 2**20},
        {"rank": 2, "max_iterations": -1},
        {"rank": 2, "tolerance": float("nan")},
        {"rank": 2, "tolerance": -1e-9},
        {"rank": 2, "time_limit_s": -1},
        {"rank": 2, "time_limit_s": float("nan")},
        {"rank": 2, "tolerance": "x"},
        {"rank": 2, "format": "none"},
        {"rank": 2, "seed": -1},
    ],
)
def test_cp_als_refuses(options):
    with pytest.raises(polyad.UsageError):
        polyad.cp_als(random_tensor((5, 6, 7), 50, 1), **options)


@pytest.mark.parametrize(
    "options", [{"max_iterations": -1}, {"tolerance": float("nan")}, {"tolerance": -1}, {"time_limit_s": -0.5}]
)
def test_tucker_refuses(options):
    with pytest.raises(polyad.UsageError):
        polyad.tucker(random_tensor((5, 6, 7), 50, 1), (2, 2, 2), **options)


def test_zero_iterations():
    X = random_tensor((5, 6, 7), 50, 1)
    dense = np.zeros(X.shape)
    dense[tuple(X.coords.T)] = X.values
    fitted = polyad.cp_als(X, 3, max_iterations=5)
    for start in (fitted, (fitted.weights, fitted.factors)):
        assert polyad.cp_als(X, 3, start=start, max_iterations=0).fit == pytest.approx(fitted.fit, abs=1e-12)
    model = polyad.cp_als(X, 3, max_iterations=0)
    weights, (A, B, C) = model
    left = np.linalg.norm(dense - np.einsum("r,ir,jr,kr->ijk", weights, A, B, C))
    assert abs(model.fit - (1 - left / np.linalg.norm(dense))) < 1e-12 and not model.history
    assert not polyad.tucker(X, (2, 2, 2), max_iterations=0).history


def test_nonzeros_at_one_place_are_summed_as_by_the_tool():
    coords, values, shape = [[0, 1, 2], [0, 1, 2], [3, 0, 1]], [1.0, 2.0, 3.0], (4, 5, 6)
    X = polyad.SparseTensor(coords, values, shape, duplicates="keep")
    start = [np.ones((size, 1)) for size in shape]
    calls = {
        "cp_als": lambda x, **options: polyad.cp_als(x, start=start, max_iterations=3, **options).fit,
        "tucker": lambda x, **options: polyad.tucker(x, 1, seed=1, max_iterations=3, **options).fit,
        "any_format": lambda x, **options: polyad.mttkrp(polyad.any_format(x, rank=1, **options), start, 0).tolist(),
        "mttkrp": lambda x, **options: polyad.mttkrp(x, start, 0, **options).tolist(),
    }
    for name, call in calls.items():
        of = {how: call(polyad.SparseTensor(coords, values, shape, duplicates=how)) for how in ("sum", "last")}
        assert call(X) == call(X, duplicates="sum") == of["sum"] != of["last"] == call(X, duplicates="last"), name
        with pytest.raises(polyad.InputError, match="1 nonzero is at the place of another one"):
            call(X, duplicates="error")
        with pytest.raises(polyad.UsageError, match="duplicates is sum, last or error"):
            call(X, duplicates="keep")
    assert X.norm() == pytest.approx(np.sqrt(18.0)) and X.nnz == 3


def test_more_errors():
    with pytest.raises(polyad.UsageError):
        polyad.cp_als(polyad.SparseTensor([[0], [1]], [1.0, 2.0]), 1)
    X = polyad.SparseTensor([[0, 0, 0]], [1.0], (2**40, 2**40, 2**40))
    with pytest.raises(polyad.UsageError, match="above 4096"):
        polyad.cp_als(X, 2**19)
    model = polyad.cp_als(X, 1)  # it has the rows that occur, and the product has all rows
    with pytest.raises(polyad.MemoryError) as caught:
        polyad.mttkrp(X, model, 0)
    assert caught.value.bytes > 0 and caught.value.array
    with pytest.raises(polyad.NumericalError):
        polyad.tucker(polyad.SparseTensor([[0, 0, 0]], [0.0], (2, 2, 2)), 1)


@pytest.mark.parametrize("option, number", [("rank", 2**70), ("seed", 2**64), ("max_iterations", 2**40), ("restarts", 2**31)])
def test_integers_beyond_their_range_are_refused(option, number):
    X = random_tensor((5, 6, 7), 50, 1)
    with pytest.raises(polyad.UsageError, match=option):
        polyad.cp_als(X, **{"rank": 2, option: number})


def test_rows_beyond_signed_integers():
    X = polyad.SparseTensor(np.array([[2**64 - 2, 0], [3, 1]], dtype=np.uint64), [1.0, 2.0])
    model = polyad.cp_als(X, 2, tolerance=0, max_iterations=30)
    assert [int(row) for row in model.rows[0]] == [3, 2**64 - 2]
    np.testing.assert_allclose(polyad.predict(model, X), [1.0, 2.0], atol=1e-6)
    fitted = polyad.fast_tucker(polyad.SparseTensor([[0, 0], [1, 1]], [1.0, 3.0]), columns=1, shrinkage=(1.0,))
    unknown = polyad.predict(fitted, np.array([[2**64 - 1, 0]], dtype=np.uint64), cold_start="bias")
    assert unknown == pytest.approx(fitted.mean + fitted.biases[1][0])


def test_only_an_iteration_measures_the_kkt_violation():
    X = random_tensor((5, 6, 7), 50, 1)
    model = polyad.cp_als(X, 2, nonnegative=True, max_iterations=0)
    assert model.kkt_violation is None and len(model.zeros) == 3
    assert polyad.cp_als(X, 2, nonnegative=True, max_iterations=1).kkt_violation > 0


def dense_mttkrp(dense, factors, mode):
    letters = "abcde"[: dense.ndim]
    others = [n for n in range(dense.ndim) if n != mode]
    terms = ",".join([letters] + [letters[n] + "r" for n in others])
    return np.einsum(f"{terms}->{letters[mode]}r", dense, *(factors[n] for n in others))


@pytest.mark.parametrize("shape, nnz", tensors)
def test_mttkrp(shape, nnz, rng):
    X = random_tensor(shape, nnz, 2)
    factors = [rng.uniform(size=(size, 5)) for size in shape]
    F = polyad.any_format(X, rank=5)
    for mode in range(len(shape)):
        want = dense_mttkrp(X.to_dense(), factors, mode)
        np.testing.assert_allclose(polyad.mttkrp(X, factors, mode), want, rtol=1e-12)
        np.testing.assert_allclose(polyad.mttkrp(F, factors, mode), want, rtol=1e-12)
        out = np.full(want.shape, 9.0)
        assert polyad.mttkrp(F, factors, mode, out=out) is out
        np.testing.assert_allclose(out, want, rtol=1e-12)


def test_mttkrp_refuses_an_output_that_is_read_only():
    X = polyad.SparseTensor([[0, 1], [1, 0]], [2.0, 3.0])
    with pytest.raises(polyad.UsageError, match="read-only"):
        polyad.mttkrp(X, [np.ones((2, 1))] * 2, 0, out=np.broadcast_to(0.0, (2, 1)))


def test_mttkrp_of_strided_and_other_factors(rng):
    X = random_tensor((6, 7, 8), 60, 2)
    wide = [rng.uniform(size=(size, 9)) for size in X.shape]
    strided = [matrix[:, 2:6] for matrix in wide]
    want = dense_mttkrp(X.to_dense(), strided, 1)
    np.testing.assert_allclose(polyad.mttkrp(X, strided, 1), want, rtol=1e-12)
    fortran = [np.asfortranarray(matrix) for matrix in strided]
    np.testing.assert_allclose(polyad.mttkrp(X, fortran, 1), want, rtol=1e-12)
    backwards = [matrix[:, ::-1] for matrix in strided]
    np.testing.assert_allclose(polyad.mttkrp(X, backwards, 1), want[:, ::-1], rtol=1e-12)
    upside_down = [matrix[::-1] for matrix in strided]
    np.testing.assert_allclose(
        polyad.mttkrp(X, upside_down, 1), dense_mttkrp(X.to_dense(), upside_down, 1), rtol=1e-12
    )
    for mode in (-1, 3, 1.0, True):
        with pytest.raises(polyad.UsageError):
            polyad.mttkrp(X, strided, mode)
    with pytest.raises(polyad.UsageError):
        polyad.mttkrp(X, strided[:2], 0)
    with pytest.raises(polyad.UsageError):
        polyad.mttkrp(X, [strided[0], strided[1], strided[1]], 0)
    with pytest.raises(polyad.UsageError):
        polyad.mttkrp(X, strided, 0, out=np.empty((6, 3)))
    with pytest.raises(polyad.UsageError):
        polyad.mttkrp(X, strided, 0, out=np.empty((6, 4), dtype=np.float32))


def test_ttm_and_ttmc(rng):
    X = random_tensor((6, 7, 8), 60, 2)
    dense = X.to_dense()
    U = [rng.uniform(size=(size, rank)) for size, rank in zip(X.shape, (2, 3, 5))]
    for mode in range(3):
        want = np.moveaxis(np.tensordot(dense, U[mode], axes=(mode, 0)), -1, mode)
        np.testing.assert_allclose(polyad.ttm(X, U[mode], mode).to_dense(), want, rtol=1e-12, atol=1e-14)
    want = np.einsum("abc,ar,ct->brt", dense, U[0], U[2])
    got = polyad.ttmc(X, [U[0], None, U[2]], 1)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    assert not got.flags.owndata
    with pytest.raises(polyad.UsageError):
        polyad.ttm(X, U[0], 1)
    with pytest.raises(polyad.UsageError):
        polyad.ttmc(X, U[:2], 1)


@pytest.mark.parametrize(
    ("matrix", "error", "says"),
    [
        (np.ones((3, 2)) * 1j, polyad.UsageError, "real numbers, not of complex128"),
        (np.array([["1", "2"]] * 3), polyad.UsageError, "real numbers, not of <U1"),
        (np.array([[1, None]] * 3), polyad.UsageError, "real numbers, not of object"),
        (np.ma.masked_equal([[0.0, 1.0]] * 3, 0), polyad.InputError, r"masked entries, the first at \(0, 0\)"),
    ],
)
def test_matrices_are_of_real_numbers(matrix, error, says):
    """numpy would cut the imaginary parts off, read the text and take None as NaN."""
    X = polyad.SparseTensor([[0, 1], [2, 0]], [2.0, 3.0])
    for run in (
        lambda: polyad.ttm(X, matrix, 0),
        lambda: polyad.mttkrp(X, [matrix, np.ones((2, 2))], 1),
        lambda: polyad.cp_als(X, start=[matrix, np.ones((2, 2))]),
    ):
        with pytest.raises(error, match=says):
            run()


def test_models_come_first():
    X = polyad.SparseTensor([[0, 1], [2, 0]], [2.0, 3.0])
    model = polyad.cp_als(X, 1, max_iterations=1)
    with pytest.raises(polyad.UsageError, match="the first argument is a model, not ndarray"):
        polyad.predict(X.coords, model)
    with pytest.raises(polyad.UsageError, match="the first argument is a model, not SparseTensor"):
        polyad.residuals(X, model)


def test_tucker():
    X, _ = polyad.generate("low-rank", (20, 21, 22), rank=3, seed=1)
    model = polyad.tucker(X, (3, 3, 3), start="hosvd")
    assert model.fit == pytest.approx(1, abs=1e-6)
    for factor in model.factors:
        np.testing.assert_allclose(factor.T @ factor, np.eye(3), atol=1e-10)
    # Ranks that differ: the modes of the core are in the right places.
    Y = random_tensor((6, 7, 8, 5), 200, 4)
    model = polyad.tucker(Y, (2, 3, 4, 2), seed=2)
    assert model.core.shape == (2, 3, 4, 2) and model.shape == Y.shape
    dense = Y.to_dense()
    residual = np.linalg.norm(dense - model.full()) / np.linalg.norm(dense)
    assert 1 - residual == pytest.approx(model.fit, abs=1e-9)
    on = polyad.tucker(Y, (2, 3, 4, 2), start=model, max_iterations=1)
    assert on.fit == pytest.approx(model.fit, abs=1e-4)
    with pytest.raises(polyad.UsageError):
        polyad.tucker(Y, (2, 3, 4))
    with pytest.raises(polyad.UsageError):
        polyad.tucker(Y, 2, start="svd")


def test_tucker_for_others():
    tl = pytest.importorskip("tensorly")
    pytest.importorskip("pyttb")
    model = polyad.tucker(random_tensor((6, 7, 8), 60, 2), (2, 3, 4))
    np.testing.assert_allclose(tl.tucker_to_tensor(model.to_tensorly()), model.full(), atol=1e-12)
    np.testing.assert_allclose(model.to_pyttb().full().double(), model.full(), atol=1e-12)


def ratings():
    from numpy.random import default_rng

    rng = default_rng(3)
    coords = np.stack([rng.integers(0, 40, 4000), rng.integers(0, 50, 4000)], axis=1)
    A, B = rng.normal(size=(40, 2)), rng.normal(size=(50, 2))
    values = 3 + (A[coords[:, 0]] * B[coords[:, 1]]).sum(axis=1) + 0.1 * rng.normal(size=4000)
    return coords, values


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fast_tucker_and_predict(dtype, tmp_path):
    coords, values = ratings()
    X = polyad.SparseTensor(coords[:3500], values[:3500].astype(dtype), (40, 50), duplicates="keep")
    Y = polyad.SparseTensor(coords[3500:], values[3500:], (40, 50), duplicates="keep")
    epochs = []
    model = polyad.fast_tucker(X, test=Y, callback=epochs.append)
    assert epochs == model.history and model.choice["learns"]
    # The options that were chosen lead to about the same model by hand.
    choice = model.choice
    assert choice["rank"] == model.rank and choice["columns"] == [model.rank] * 2 and choice["reason"] == "converged"
    assert 0.4 < choice["bias_damping"] < 51 and choice["max_epochs"] >= 6
    assert (choice["ridge"] is None) != (choice["shrinkage"] is None)
    by_hand = polyad.fast_tucker(
        X, rank=choice["rank"], targets=choice["targets"], shrinkage=choice["shrinkage"], ridge=choice["ridge"],
        ridge_per_entry=choice["ridge_per_entry"], bias={"damping": choice["bias_damping"]}, test=Y,
    )
    assert by_hand.history[-1]["test"]["rmse"] < 1.5 * model.history[-1]["test"]["rmse"]
    assert {rows["least"] for rows in choice["rows"]} <= {0, 4, 20} and all("learns" in rows for rows in choice["rows"])
    predicted = polyad.predict(model, Y)
    assert predicted.dtype == dtype
    rmse = np.sqrt(np.mean((predicted - values[3500:]) ** 2))
    assert rmse == pytest.approx(model.history[model.kept_epoch - 1]["test"]["rmse"], rel=1e-4)
    assert rmse < 0.3 < np.std(values)
    # What the class says in its own words.
    C = [np.asarray(a, float) @ np.asarray(b, float) for a, b in zip(model.factors, model.cores)]
    i, j = coords[3500:].T
    want = model.mean + model.biases[0][i] + model.biases[1][j] + (C[0][i] * C[1][j]).sum(axis=1)
    np.testing.assert_allclose(predicted, want, rtol=1e-4 if dtype == np.float32 else 1e-10)
    model.save(tmp_path / "m.npz")
    np.testing.assert_allclose(polyad.predict(polyad.load(tmp_path / "m.npz"), Y), predicted, rtol=1e-5)
    with pytest.raises(polyad.UsageError, match="has row 40 of mode 0, which the model does not have"):
        polyad.predict(model, [[40, 0]])
    with pytest.raises(polyad.UsageError):
        polyad.predict(model, [[0, 0, 0]])
    assert polyad.predict(model, np.empty((0, 2), dtype=int)).shape == (0,)


def test_fast_tucker_options():
    coords, values = ratings()
    X = polyad.SparseTensor(coords, values, (40, 50), duplicates="keep")
    model = polyad.fast_tucker(
        X, rank=4, columns=3, shrinkage={"observations": 5}, max_epochs=3, range=(1, 5), format="sorted", deterministic=True
    )
    assert model.rank == 4 and model.factors[0].shape == (40, 3) and model.choice is None and model.range == (1, 5)
    again = polyad.fast_tucker(
        X, rank=4, columns=3, shrinkage=(5,), max_epochs=3, range=(1, 5), format="sorted", deterministic=True
    )
    np.testing.assert_array_equal(model.factors[0], again.factors[0])
    assert polyad.predict(model, X).min() >= 1
    adam = polyad.fast_tucker(X, rank=2, optimizer="adam", adam={"step": 0.05}, ridge=0.1, biases=False, max_epochs=2)
    assert adam.biases == [] and adam.mean == 0
    assert polyad.fast_tucker(X, rank=2, optimizer="sgd", sgd=(0.001,), max_epochs=1).rank == 2
    for options in ({"optimizer": "x"}, {"shrinkage": {"none": 1}}, {"targets": ["two"]}, {"columns": 0}):
        with pytest.raises(polyad.UsageError):
            polyad.fast_tucker(X, **options)
    with pytest.raises(polyad.UsageError):
        polyad.fast_tucker(polyad.SparseTensor(np.empty((0, 2), dtype=int), [], (3, 3)))


def test_models_there_and_back(tmp_path):
    X = random_tensor((6, 7, 8), 60, 2)
    model = polyad.cp_als(X, 3)
    for name in ("m.npz", "m.ktns"):
        model.save(tmp_path / name)
        back = polyad.load(tmp_path / name)
        np.testing.assert_array_equal(back.weights, model.weights)
        np.testing.assert_array_equal(back.factors[2], model.factors[2])
    T = polyad.tucker(X, (2, 3, 4))
    T.save(tmp_path / "t.npz")
    np.testing.assert_array_equal(polyad.load(tmp_path / "t.npz").core, T.core)
    np.testing.assert_array_equal(np.load(tmp_path / "t.npz")["core"], T.core)
    for m in (model, T):
        copy = pickle.loads(pickle.dumps(m))
        np.testing.assert_array_equal(copy.factors[1], m.factors[1])
        assert copy.fit == m.fit and copy.history == m.history and type(m.fit) is float
    for unfitted in (polyad.CPModel(*model), polyad.TuckerModel(*T), polyad.load(tmp_path / "m.npz")):
        assert np.isnan(unfitted.fit) and unfitted.reason == "" and "fit" not in repr(unfitted)
    np.testing.assert_array_equal(polyad.CPModel.from_pyttb(model.to_pyttb()).factors[1], model.factors[1])
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 nonsense")
    for bad in ("bad.npz", "none.npz"):
        with pytest.raises(polyad.InputError):
            polyad.load(tmp_path / bad)
    with pytest.raises(polyad.UsageError):
        model.save(tmp_path / "m.xyz")
    with pytest.raises(polyad.WriteError):
        model.save(tmp_path / "none" / "m.npz")


def test_generate():
    X = polyad.generate("power-law", (50, 60, 70), 1000, seed=4, skew=(1, 0, 2), dtype=np.float32)
    Y = polyad.generate("power-law", (50, 60, 70), 1000, seed=4, skew=(1, 0, 2), dtype=np.float32)
    np.testing.assert_array_equal(X.coords, Y.coords)
    assert X.dtype == np.float32 and 900 <= X.nnz <= 1000
    X, model = polyad.generate("low-rank", (10, 11, 12), rank=2, seed=1)
    np.testing.assert_allclose(X.to_dense(), model.full(), atol=1e-12)
    with pytest.raises(polyad.UsageError):
        polyad.generate("none", (2, 2), 3)
    with pytest.raises(polyad.UsageError):
        polyad.generate("uniform", (2, 2))


def test_plot(tmp_path):
    pytest.importorskip("matplotlib")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": list("xyzx"), "b": [1, 2, 3, 3], "v": [1.0, 2, 3, 4]})
    model = polyad.cp_als(polyad.asarray(frame), 2)
    figure = model.plot(names=["a", "b"])
    assert len(figure.axes) == 4
    figure.savefig(tmp_path / "m.png")
    assert (tmp_path / "m.png").stat().st_size > 1000
    assert len(model.plot(1).axes) == 2


def test_the_lock_is_released():
    X = polyad.read(data / "uber-apr14.tns.xz")
    F = polyad.any_format(X, rank=16)
    polyad.cp_als(F, 16, max_iterations=1)
    computing, counted = threading.Event(), []

    def count():
        computing.wait()
        while computing.is_set():
            counted.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    computing.set()
    begin = time.perf_counter()
    polyad.cp_als(F, 16, tolerance=0, max_iterations=10**6, time_limit_s=0.5)
    end = time.perf_counter()
    computing.clear()
    thread.join()
    during = [t for t in counted if begin < t < end - 0.1]
    assert len(during) > 20


def test_two_threads_take_turns():
    X = random_tensor((30, 31, 32), 3000, 5)
    F = polyad.any_format(X, rank=3, format="sorted", deterministic=True)
    want = polyad.cp_als(F, 3, seed=1, tolerance=0, max_iterations=30)
    results = [[], []]

    def run(k):
        for _ in range(10):
            results[k].append(
                polyad.cp_als(F, 3, seed=1, tolerance=0, max_iterations=30, callback=lambda it: None)
            )

    threads = [threading.Thread(target=run, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for model in results[0] + results[1]:
        np.testing.assert_array_equal(model.factors[0], want.factors[0])
    assert len(results[0]) == len(results[1]) == 10


def test_compare():
    X, planted = polyad.generate("low-rank", (10, 11, 12), rank=2, seed=1)
    turned = polyad.CPModel(planted.weights[::-1], [3.0 * factor[:, ::-1] for factor in planted.factors])
    assert polyad.compare(planted, turned) == pytest.approx(1)
    assert polyad.compare(planted, turned, weighted=True) == pytest.approx(1 / 27)
    assert polyad.compare(X, planted) == polyad.compare(planted, X) == pytest.approx(1)
    assert polyad.compare(planted, (planted.weights, planted.factors)) == pytest.approx(1)
    model = polyad.cp_als(X, 2, max_iterations=3)
    assert polyad.compare(model, X) == pytest.approx(model.fit, abs=1e-9)
    for other in (model.to_pyttb(), model.to_tensorly()):
        assert polyad.compare(model, other) == pytest.approx(1)
    with pytest.raises(polyad.UsageError):
        polyad.compare(X, X)
    with pytest.raises(polyad.UsageError):
        polyad.compare(planted, polyad.CPModel([1.0], [np.ones((2, 1))] * 3))


def exact_fit(X, factors, core):
    """1 - ||X - M|| / ||X|| over all cells, in long double."""
    full = core.astype(np.longdouble)
    for factor in factors:  # the first mode goes to the end
        full = np.tensordot(full, factor.astype(np.longdouble), axes=(0, 1))
    dense = X.to_dense().astype(np.longdouble)
    return 1 - np.sqrt(np.sum((dense - full) ** 2)) / np.sqrt(np.sum(dense**2))


@pytest.mark.parametrize(
    "dtype, scale, error",
    [(np.float32, 1, 1e-6), (np.float32, 1e-30, 1e-6), (np.float32, 1e30, 1e-6)]
    + [(np.float64, scale, 1e-12) for scale in (1, 1e-300, 1e-170, 1e300)],
)
def test_the_fit_is_that_of_all_cells(dtype, scale, error):
    exact, _ = polyad.generate("low-rank", (7, 6, 5), rank=2, seed=2)
    for X in (exact, random_tensor((7, 6, 5), 60, 3, np.float64)):
        X = polyad.SparseTensor(X.coords, (X.values * scale).astype(dtype), X.shape)
        model = polyad.cp_als(X, 2, max_iterations=30, tolerance=0)
        diagonal = np.zeros((2, 2, 2))
        diagonal[range(2), range(2), range(2)] = model.weights
        assert abs(exact_fit(X, model.factors, diagonal) - model.fit) < error
        assert model.fit_error < error
        assert polyad.compare(model, X) == pytest.approx(model.fit, abs=error)
        model = polyad.tucker(X, 2, max_iterations=5, tolerance=0)
        assert abs(exact_fit(X, model.factors, model.core) - model.fit) < error
        assert model.fit_error < error
        assert polyad.compare(X, model) == pytest.approx(model.fit, abs=error)
    with pytest.raises(polyad.UsageError):
        polyad.compare(model, model)


def test_degenerate_and_rounding():
    coords = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0]])
    model = polyad.cp_als(polyad.SparseTensor(coords, np.ones(3), (2, 2, 2)), 2, max_iterations=2000)
    assert model.defect == "two components grow and cancel each other"
    exact, _ = polyad.generate("low-rank", (20, 20, 20), rank=2, seed=2)
    X = polyad.SparseTensor(exact.coords, exact.values.astype(np.float32), exact.shape)
    model = polyad.cp_als(X, 2, max_iterations=500, tolerance=1e-9)
    assert model.reason == "rounding hides the change"


def test_hold_out():
    X = random_tensor((12, 13, 14), 1000, 5, np.float32)
    known, hidden = polyad.hold_out(X, 0.2, seed=3)
    assert known.nnz + hidden.nnz == X.nnz and 100 < hidden.nnz < 300 and hidden.dtype == np.float32
    np.testing.assert_array_equal(known.to_dense() + hidden.to_dense(), X.to_dense())
    with pytest.raises(polyad.UsageError):
        polyad.hold_out(X, 2)


def test_cp_starts_by_singular_vectors():
    X, _ = polyad.generate("low-rank", (30, 20, 10), rank=3, seed=2)
    start = polyad.cp_als(X, 3, start="nvecs", max_iterations=0)
    random = polyad.cp_als(X, 3, max_iterations=0)
    assert start.fit > random.fit
    assert polyad.cp_als(X, 3, start="nvecs", nonnegative=True, max_iterations=2).factors[0].min() >= 0
    with pytest.raises(polyad.UsageError, match="needs the tensor"):
        polyad.cp_als(polyad.any_format(X, rank=3), 3, start="nvecs")
    with pytest.raises(polyad.UsageError, match="'nvecs' or matrices"):
        polyad.cp_als(X, 3, start="hosvd")


def test_cp_times_its_phases():
    X = polyad.generate("uniform", (20, 30, 10), 500)
    step = polyad.cp_als(X, 2, max_iterations=1, time_phases=True).history[0]
    assert 0 < step["phases"]["mttkrp"] <= step["seconds"] * 1.01
    assert "phases" not in polyad.cp_als(X, 2, max_iterations=1).history[0]


def test_fast_tucker_takes_the_options_of_its_optimizers():
    X = polyad.generate("uniform", (20, 30, 10), 500)
    shared = {"rank": 2, "max_epochs": 1}
    for form in ({"intermediates": False}, {"share_fibers": False}):
        assert polyad.fast_tucker(X, optimizer="sgd", sgd=form, **shared).rank == 2
    slow, usual = (polyad.fast_tucker(X, optimizer="adam", adam=adam, **shared) for adam in ({"step": 1e-9}, None))
    assert not np.array_equal(slow.factors[0], usual.factors[0])
    with pytest.raises(polyad.UsageError, match="moments of adam"):
        polyad.fast_tucker(X, optimizer="adam", adam={"first": 1.0}, **shared)
    with pytest.raises(polyad.UsageError, match="als, adam or sgd"):
        polyad.fast_tucker(X, optimizer="newton", **shared)
    with pytest.raises(polyad.UsageError, match="zero, one or left_out"):
        polyad.fast_tucker(X, targets=["zero", "two", "zero"], **shared)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"adam": {"step": 0.1}}, "adam is for optimizer='adam'"),
        ({"adam": {"step": 0.1}, "optimizer": "sgd"}, "adam is for optimizer='adam'"),
        ({"sgd": {"core_step": 0.1}, "optimizer": "adam"}, "sgd is for optimizer='sgd'"),
        ({"bias": {"damping": 3}, "biases": False}, "bias is for models with biases"),
        ({"bias": {"damping": 3}, "implicit": 40}, "bias is for models with biases"),
        ({"core_ridge": 3, "ridge": 1, "update_cores": False}, "core_ridge is for update_cores=True"),
        ({"targets": ["zero", "one", "zero"], "optimizer": "adam"}, "targets is for optimizer='als'"),
        ({"shrinkage": 5, "optimizer": "sgd"}, "shrinkage is for optimizer='als' without a ridge"),
        ({"shrinkage": 5, "ridge": 1}, "shrinkage is for optimizer='als' without a ridge"),
        ({"shrinkage": 5, "ridge_per_entry": True}, "shrinkage is for optimizer='als' without a ridge"),
        ({"patience": 2}, "patience is for runs with a validation set"),
        ({"cg_steps": 5}, "cg_steps is for implicit feedback"),
        ({"cg_steps": 0, "implicit": False}, "cg_steps is for implicit feedback"),
        ({"targets": ["zero"]}, "there are 1 targets for 3 modes"),
    ],
)
def test_fast_tucker_refuses_what_it_would_ignore(options, says):
    X = polyad.generate("uniform", (20, 30, 10), 500)
    with pytest.raises(polyad.UsageError, match=says):
        polyad.fast_tucker(X, rank=2, max_epochs=1, **options)
    used = {"optimizer": says.split("'")[1]} if "'" in says else {"biases": True, "update_cores": True, "implicit": None}
    if "patience" in options:
        used["validation"] = X
    if "cg_steps" in options:
        used["implicit"] = 40
    if "shrinkage" in options:
        used.update(ridge=None, ridge_per_entry=False)
    if options.get("targets") == ["zero"]:
        used["targets"] = ["zero"] * 3
    polyad.fast_tucker(X, rank=2, max_epochs=1, **{**options, **used})


@pytest.mark.parametrize("options", [{"inner": 2}, {"inner": "exact"}, {"kkt_tolerance": 0.1}])
def test_options_of_bounds_need_bounds(options):
    X = polyad.generate("uniform", (8, 9, 7), 200, seed=1)
    for without in ({}, {"ridge": 0.1}, {"l1": 0.0}):
        with pytest.raises(polyad.UsageError, match="with bounds or an l1 penalty, and no mode has one"):
            polyad.cp_als(X, 2, max_iterations=1, **options, **without)
    for given in ({"nonnegative": [0]}, {"upper": 10.0}, {"l1": 1e-3}):
        assert polyad.cp_als(X, 2, max_iterations=1, **options, **given).rank == 2



@pytest.mark.parametrize("coords", [[[0, 0, 0], [1, 2, 3]], np.empty((0, 3), dtype=np.int64)])
def test_a_tensor_of_zeros_has_no_fit(coords):
    X = polyad.SparseTensor(coords, np.zeros(len(coords)), (2, 3, 4))
    for run in (lambda: polyad.cp_als(X, 1), lambda: polyad.cp_als(X, 1, nonnegative=True), lambda: polyad.tucker(X, 1)):
        with pytest.raises(polyad.NumericalError, match="a tensor of zeros has no fit"):
            run()


def test_exact_rows_are_the_limit_of_many_sweeps():
    random = np.random.default_rng(3)
    X = polyad.asarray(random.random((6, 7, 8)))
    start = [random.random((size, 3)) for size in (6, 7, 8)]
    run = {"start": start, "max_iterations": 3, "tolerance": 0, "nonnegative": True}
    exact, many = polyad.cp_als(X, inner="exact", **run), polyad.cp_als(X, inner=3000, **run)
    assert exact.fit == pytest.approx(many.fit, abs=1e-8)
    for ours, others in zip(exact.factors, many.factors):
        np.testing.assert_allclose(ours, others, atol=1e-6)
    with pytest.raises(polyad.UsageError, match="'exact'"):
        polyad.cp_als(X, inner="exactly", **run)


def test_fixed_modes_stay_as_they_are():
    X = random_tensor((12, 13, 14), 300, 5)
    random = np.random.default_rng(3)
    start = [random.random((size, 3)) * [1, 100, 0.01] for size in X.shape]
    for options in ({}, {"nonnegative": True}, {"nonnegative": True, "inner": "exact"}, {"restarts": 3}):
        model = polyad.cp_als(X, 3, start=start, fix=[0, 2], max_iterations=4, **options)
        assert (model.factors[0] == start[0]).all() and (model.factors[2] == start[2]).all()
        assert not np.array_equal(model.factors[1], start[1])
    # A model's weights go to a free mode.
    given = polyad.CPModel([3.0, 2.0, 1.0], start)
    model = polyad.cp_als(X, 3, start=given, fix=0, max_iterations=0)
    direct = polyad.cp_als(X, 3, start=given, max_iterations=0)
    assert (model.factors[0] == start[0]).all() and model.fit == pytest.approx(direct.fit, abs=1e-9)
    for fix, says in (([0, 1, 2], "all 3 modes are fixed"), ([1, 1], "mode 1 twice"), (3, "modes 0 to 2"), ("a", "the name 'a'")):
        with pytest.raises(polyad.UsageError, match=says):
            polyad.cp_als(X, 3, start=start, fix=fix)
    with pytest.raises(polyad.UsageError, match="needs a start"):
        polyad.cp_als(X, 3, fix=0)
    with pytest.raises(TypeError, match="use 'fix'"):
        polyad.cp_als(X, 3, fixed_modes=[0])


@pytest.mark.parametrize("constraints", [{}, {"nonnegative": True}, {"lower": -0.5, "upper": 0.25}, {"nonnegative": True, "l1": 0.25}])
def test_transform_is_the_least_of_scipy(constraints, tmp_path):
    optimize = pytest.importorskip("scipy.optimize")
    X = random_tensor((12, 13, 14), 300, 5)
    model = polyad.cp_als(X, 3, max_iterations=5, **constraints)
    model.save(tmp_path / "m.npz")
    model = polyad.load(tmp_path / "m.npz")
    assert (model.constraints is None) == (not constraints)
    for mode in range(3):
        shape = tuple(20 if n == mode else size for n, size in enumerate(X.shape))
        new = random_tensor(shape, 300, 6)
        rows = model.transform(new, mode=mode)
        assert rows.shape == (20, 3)
        others = [factor for n, factor in enumerate(model.factors) if n != mode]
        K = np.einsum("jr,kr->jkr", *others).reshape(-1, 3) * model.weights
        dense = np.moveaxis(new.to_dense(), mode, 0).reshape(20, -1)
        limits = (model.constraints or [{"lower": -np.inf, "upper": np.inf, "l1": 0.0, "ridge": 0.0}] * 3)[mode]
        for x, row in zip(dense, rows):
            if limits["l1"]:
                gradient = K.T @ (K @ row - x) + limits["l1"]
                assert (gradient[row > 0] < 1e-9).all() and (gradient > -1e-9).all()
                continue
            best = optimize.lsq_linear(K, x, (limits["lower"], limits["upper"]), tol=1e-14).x
            if constraints == {"nonnegative": True}:
                best = optimize.nnls(K, x)[0]
            assert ((K @ row - x) ** 2).sum() <= ((K @ best - x) ** 2).sum() + 1e-9
            assert (row >= limits["lower"]).all() and (row <= limits["upper"]).all()
    with pytest.raises(polyad.UsageError, match="only mode 1 may differ"):
        model.transform(random_tensor((12, 13, 15), 10, 1), mode=1)
    with pytest.raises(polyad.UsageError, match="mode 3"):
        model.transform(X, mode=3)
