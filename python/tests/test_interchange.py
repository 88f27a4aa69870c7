# SPDX-License-Identifier: BSD-3-Clause
"""npz files of scipy and of sparse are read, and sparse reads ours."""

import numpy as np
import pytest
from conftest import random_tensor

import polyad


def dense(shape, seed, dtype=np.float64):
    rng = np.random.default_rng(seed)
    full = np.where(rng.random(shape) < 0.3, rng.integers(1, 9, shape), 0).astype(dtype)
    full[(-1,) * len(shape)] = 1
    return full


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("container", ["array", "matrix"])
@pytest.mark.parametrize("compressed", [True, False])
def test_matrices_of_scipy(tmp_path, kind, container, compressed):
    sparse = pytest.importorskip("scipy.sparse")
    for seed, (shape, dtype) in enumerate([((7, 5), np.float64), ((1, 9), np.float32), ((30, 1), np.int32), ((4, 4), bool)]):
        full = dense(shape, seed, dtype)
        full[0] = full[0] & False if dtype is bool else 0  # an empty row
        full[-1, -1] = 1
        sparse.save_npz(tmp_path / "x.npz", getattr(sparse, f"{kind}_{container}")(full), compressed=compressed)
        X = polyad.read(tmp_path / "x.npz")
        assert X.shape == shape
        np.testing.assert_array_equal(X.to_dense(), full.astype(float))


def test_tensors_of_scipy(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    full = dense((3, 4, 5), 1)
    try:
        sparse.save_npz(tmp_path / "x.npz", sparse.coo_array(full))
    except (ValueError, TypeError, AttributeError):
        pytest.skip("this scipy has no tensors")
    np.testing.assert_array_equal(polyad.read(tmp_path / "x.npz").to_dense(), full)


@pytest.mark.parametrize("kind", ["bsr", "dia"])
def test_other_matrices_of_scipy_are_named(tmp_path, kind):
    sparse = pytest.importorskip("scipy.sparse")
    sparse.save_npz(tmp_path / "x.npz", getattr(sparse, f"{kind}_array")(dense((6, 4), 1)))
    with pytest.raises(polyad.InputError, match=f"format '{kind}'; coo, csr, csc and gcxs are read"):
        polyad.read(tmp_path / "x.npz")


@pytest.mark.parametrize("shape", [(9,), (7, 5), (3, 4, 5), (3, 1, 4, 2)])
@pytest.mark.parametrize("compressed", [True, False])
def test_arrays_of_sparse(tmp_path, shape, compressed):
    sparse = pytest.importorskip("sparse")
    full = dense(shape, len(shape))
    arrays = [sparse.COO.from_numpy(full), sparse.GCXS.from_numpy(full)]
    for axis in range(len(shape) if len(shape) > 1 else 0):
        arrays.append(sparse.GCXS.from_numpy(full, compressed_axes=(axis,)))
        if len(shape) > 2 and axis > 0:
            arrays.append(sparse.GCXS.from_numpy(full, compressed_axes=(axis - 1, axis)))
    for array in arrays:
        sparse.save_npz(tmp_path / "x.npz", array, compressed=compressed)
        np.testing.assert_array_equal(polyad.read(tmp_path / "x.npz").to_dense(), full)


def test_a_fill_value_is_refused(tmp_path):
    sparse = pytest.importorskip("sparse")
    for array in (sparse.COO.from_numpy(dense((3, 4), 1), fill_value=1), sparse.GCXS.from_numpy(dense((3, 4), 1), fill_value=1)):
        sparse.save_npz(tmp_path / "x.npz", array)
        with pytest.raises(polyad.InputError, match="fill_value"):
            polyad.read(tmp_path / "x.npz")


@pytest.mark.parametrize("single", [True, False])
def test_sparse_reads_ours(tmp_path, single):
    sparse = pytest.importorskip("sparse")
    for shape in ((9,), (7, 5), (3, 4, 5), (3, 1, 4, 2)):
        X = random_tensor(shape, 5, 1)
        polyad.write(tmp_path / "x.npz", X, single_precision=single)
        found = sparse.load_npz(tmp_path / "x.npz")
        assert isinstance(found, sparse.COO) and found.shape == shape
        np.testing.assert_allclose(found.todense(), X.to_dense(), rtol=1e-7 if single else 0)
        np.testing.assert_allclose(polyad.read(tmp_path / "x.npz").to_dense(), X.to_dense(), rtol=1e-7 if single else 0)


def test_damaged_arrays_are_named(tmp_path):
    right = {
        "format": np.array(b"csr"), "shape": np.array([3, 4]), "data": np.ones(3), "indices": np.array([0, 3, 1]),
        "indptr": np.array([0, 2, 2, 3]),
    }
    np.savez(tmp_path / "x.npz", **right)
    assert polyad.read(tmp_path / "x.npz").coords.tolist() == [[0, 0], [0, 3], [2, 1]]
    for name, wrong in [
        ("indptr", [0, 2, 1, 3]), ("indptr", [0, 2, 3]), ("indptr", [1, 2, 2, 3]), ("indptr", [0, 2, 2, 9]),
        ("indptr", [0, -1, 2, 3]), ("indptr", [0.0, 2, 2, 3]), ("indices", [0, 4, 1]), ("indices", [0, -1, 1]),
        ("indices", [0]), ("data", [1.0]), ("shape", [3]), ("shape", [2**63 - 1, 4]), ("shape", [3, 4, 5]),
        ("format", b"lil"), ("format", b"x" * 300), ("format", "gcxs"), ("format", 3.0), ("format", [b"csr", b"csr"]),
    ]:
        np.savez(tmp_path / "x.npz", **{**right, name: np.array(wrong)})
        with pytest.raises(polyad.InputError):
            polyad.read(tmp_path / "x.npz")
    for name in ("indptr", "indices", "data", "shape"):
        np.savez(tmp_path / "x.npz", **{key: array for key, array in right.items() if key != name})
        with pytest.raises(polyad.InputError, match=name):
            polyad.read(tmp_path / "x.npz")
    # Without compressed_axes all modes are columns: one row.
    np.savez(tmp_path / "x.npz", **{**right, "format": "gcxs", "compressed_axes": np.array([], dtype=int), "indptr": [0, 3], "indices": [0, 11, 5]})
    assert polyad.read(tmp_path / "x.npz").coords.tolist() == [[0, 0], [2, 3], [1, 1]]
    for axes in ([0, 0], [2], [-1]):
        np.savez(tmp_path / "x.npz", **{**right, "format": "gcxs", "compressed_axes": np.array(axes)})
        with pytest.raises(polyad.InputError, match="compressed_axes"):
            polyad.read(tmp_path / "x.npz")
    coo = {"format": "coo", "shape": [3, 4], "row": [0, 1], "col": [3, 2], "data": [1.0, 2.0]}
    np.savez(tmp_path / "x.npz", **coo)
    assert polyad.read(tmp_path / "x.npz").coords.tolist() == [[0, 3], [1, 2]]
    for name, wrong in [("row", [0, 3]), ("col", [0, 4]), ("row", [0, -1]), ("row", [0]), ("data", [1.0])]:
        np.savez(tmp_path / "x.npz", **{**coo, name: wrong})
        with pytest.raises(polyad.InputError):
            polyad.read(tmp_path / "x.npz")
