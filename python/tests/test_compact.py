# SPDX-License-Identifier: BSD-3-Clause
"""Modes of which most rows are empty: models store the rows that occur, and everything looks rows up."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import polyad

SHAPE = (10**9, 4, 3 * 10**6)


def scattered(seed: int = 1, shape: tuple[int, ...] = SHAPE, nnz: int = 60) -> polyad.SparseTensor:
    rng = np.random.default_rng(seed)
    coords = np.unique(np.stack([rng.integers(0, size, nnz) for size in shape], axis=1), axis=0)
    return polyad.SparseTensor(coords, rng.uniform(0.5, 1, len(coords)), shape)


def compacted(X: polyad.SparseTensor) -> tuple[polyad.SparseTensor, list[np.ndarray]]:
    """The tensor without its empty rows, and their numbers."""
    coords = np.asarray(X.coords)
    pairs = [np.unique(coords[:, n], return_inverse=True) for n in range(coords.shape[1])]
    small = np.stack([np.ravel(inverse) for _, inverse in pairs], axis=1)
    return polyad.SparseTensor(small, np.asarray(X.values), tuple(len(rows) for rows, _ in pairs)), [rows for rows, _ in pairs]


def test_a_model_stores_the_rows_that_occur() -> None:
    X = scattered()
    small, rows = compacted(X)
    model = polyad.cp_als(X, 2, max_iterations=10)
    assert model.shape == SHAPE
    assert model.rows is not None and model.rows[1] is None
    for n in (0, 2):
        assert (model.rows[n] == rows[n]).all()
        assert model.factors[n].shape == (len(rows[n]), 2)
    assert polyad.compare(model, X) == pytest.approx(model.fit, abs=1e-12)
    assert polyad.compare(model, model) == pytest.approx(1)
    # From the same start the small tensor has the same model.
    again = polyad.cp_als(small, 2, start=model.factors, max_iterations=5, tolerance=0)
    here = polyad.cp_als(X, 2, start=model, max_iterations=5, tolerance=0)
    assert here.fit == pytest.approx(again.fit, abs=1e-12)
    for n in range(3):
        assert np.allclose(here.factors[n], again.factors[n], atol=1e-9)


def test_rows_are_looked_up() -> None:
    model = polyad.cp_als(scattered(), 2, max_iterations=2)
    assert model.rows is not None
    stored = int(model.rows[0][3])
    absent = next(row for row in range(10) if row not in model.rows[0])
    assert (model.factor_rows(0, stored) == model.factors[0][3]).all()
    assert (model.factor_rows(0, [absent, stored]) == [[0, 0], model.factors[0][3]]).all()
    assert (model.factor_rows(1, 2) == model.factors[1][2]).all()
    for mode, number in ((0, 10**9), (0, -1), (1, 4), (3, 0)):
        with pytest.raises(polyad.UsageError):
            model.factor_rows(mode, number)
    with pytest.raises(polyad.UsageError):
        model.factor_rows(0, 1.5)
    with pytest.raises(polyad.UsageError, match="only the rows that occur"):
        model.to_tensorly()


def test_files_and_pickles(tmp_path) -> None:  # type: ignore[no-untyped-def]
    X = scattered()
    model = polyad.cp_als(X, 2, max_iterations=3)
    tucker = polyad.tucker(X, 2, max_iterations=3)
    assert tucker.shape == SHAPE and polyad.compare(tucker, X) == pytest.approx(tucker.fit, abs=1e-9)
    for found, names in ((model, ("m.npz", "m.ktns")), (tucker, ("t.npz",))):
        copies = [pickle.loads(pickle.dumps(found))]
        for name in names:
            found.save(tmp_path / name)
            copies.append(polyad.load(tmp_path / name))
        for same in copies:
            assert same.shape == found.shape
            for n in range(3):
                assert (same.factors[n] == found.factors[n]).all()
                assert (same.rows[n] is None) == (found.rows[n] is None)
                assert found.rows[n] is None or (same.rows[n] == found.rows[n]).all()
    # Read by numpy alone.
    arrays = np.load(tmp_path / "m.npz")
    assert (arrays["extents"] == SHAPE).all() and (arrays["rows_0"] == model.rows[0]).all()


def test_products_and_transform() -> None:
    X = scattered(shape=(5, 10**9, 2 * 10**6))
    small, rows = compacted(X)
    model = polyad.cp_als(X, 2, max_iterations=3)
    inner = [model.factors[0], model.factors[1], model.factors[2]]
    assert np.allclose(polyad.mttkrp(X, model, 0), polyad.mttkrp(small, inner, 0))
    # Nonzeros in rows that the model does not store contribute nothing.
    coords = np.vstack([np.asarray(X.coords).astype(np.int64), [[2, 17, 4]]])
    assert 17 not in rows[1]
    more = polyad.SparseTensor(coords, np.append(np.asarray(X.values), 5.0), X.shape)
    assert np.allclose(polyad.mttkrp(more, model, 0), polyad.mttkrp(small, inner, 0))
    with pytest.raises(polyad.UsageError, match="not a Format"):
        polyad.mttkrp(polyad.any_format(scattered(shape=(5, 6, 7))), model, 0)
    tucker = polyad.tucker(X, 2, max_iterations=3)
    assert np.allclose(polyad.ttmc(more, tucker, 0), polyad.ttmc(small, [None, *tucker.factors[1:]], 0))
    assert polyad.CP(2, max_iterations=3).fit_transform(X).shape == (5, 2)
    assert polyad.Tucker(2, max_iterations=3).fit(X).transform(more).shape == (5, 4)


def test_starts_of_other_rows() -> None:
    model = polyad.cp_als(scattered(), 2, max_iterations=2)
    other = scattered(seed=2)
    assert polyad.cp_als(other, 2, start=model, max_iterations=3).shape == SHAPE
    tucker = polyad.tucker(scattered(), 2, max_iterations=2)
    assert polyad.tucker(scattered(), 2, start=tucker, max_iterations=2).fit >= tucker.fit - 1e-9
    # All rows, of a mode that is renumbered.
    X = scattered(shape=(10**6, 3))
    whole = [np.random.default_rng(0).random((size, 2)) for size in X.shape]
    small, rows = compacted(X)
    found = polyad.cp_als(X, 2, start=whole, max_iterations=2, tolerance=0)
    same = polyad.cp_als(small, 2, start=[whole[0][rows[0]], whole[1]], max_iterations=2, tolerance=0)
    assert found.fit == pytest.approx(same.fit, abs=1e-12)


def test_full_and_wrong_lists() -> None:
    model = polyad.CPModel([2.0], [np.array([[1.0], [3.0]]), np.ones((2, 1))], rows=[[1, 3], None], shape=(4, 2))
    assert (model.full() == [[0, 0], [2, 2], [0, 0], [6, 6]]).all()
    assert "4 x 2" in repr(model)
    tucker = polyad.TuckerModel(np.ones((1, 1)), [np.array([[1.0], [3.0]]), np.ones((2, 1))], [[0, 1], None], (3, 2))
    assert (tucker.full() == [[1, 1], [3, 3], [0, 0]]).all()
    factors = [np.ones((2, 1)), np.ones((2, 1))]
    for rows, shape in (
        ([[3, 1], None], (4, 2)),
        ([[1, 4], None], (4, 2)),
        ([[-1, 1], None], (4, 2)),
        ([[1], None], (4, 2)),
        ([[0.5, 1.5], None], (4, 2)),
        ([[1, 3]], (4, 2)),
        ([[1, 3], None], (4, 3)),
        ([[1, 3], None], None),
    ):
        with pytest.raises(polyad.UsageError):
            polyad.CPModel([1.0], factors, rows, shape)


def test_a_mode_that_stays() -> None:
    assert polyad.cp_als(scattered(shape=(999_999, 3), nnz=5), 1, max_iterations=2).rows is None
