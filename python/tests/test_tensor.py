# SPDX-License-Identifier: BSD-3-Clause
"""Tensors: without copies, there and back, and what is refused."""

import pickle

import numpy as np
import pytest
from conftest import data, on_host_only, random_tensor

import polyad

coords = [[0, 0, 1], [2, 1, 0], [1, 1, 1]]
values = [3.0, 4.0, -1.0]


def address(array):
    return array.__array_interface__["data"][0]


@on_host_only
@pytest.mark.parametrize("index", [np.uint32, np.uint64, np.int32, np.int64])
@pytest.mark.parametrize("scalar", [np.float32, np.float64])
def test_arrays_are_taken_without_a_copy(index, scalar):
    c, v = np.array(coords, dtype=index), np.array(values, dtype=scalar)
    X = polyad.SparseTensor(c, v, (3, 2, 2))
    # What the library holds, not only what the class keeps.
    assert address(X._held.coords) == address(c)
    assert address(X._held.values) == address(v)
    assert X.dtype == scalar


def test_a_wrapped_array_outlives_its_name():
    c, v = np.array(coords, dtype=np.uint32), np.array(values)
    X = polyad.SparseTensor(c, v, (3, 2, 2))
    held = X._held
    del c, v, X
    assert held.values.tolist() == values
    assert held.coords.tolist() == coords


def test_read_only_arrays_are_taken():
    v = np.array(values)
    v.flags.writeable = False
    assert polyad.SparseTensor(np.array(coords), v, (3, 2, 2)).nnz == 3


def test_other_types_are_copied():
    X = polyad.SparseTensor(np.array(coords, dtype=np.int16), np.array([1, 2, 3]), (3, 2, 2))
    assert X.coords.dtype == np.uint64 and X.dtype == np.float64
    fortran = np.asfortranarray(np.array(coords, dtype=np.uint32))
    strided = np.array([1.0, 0, 2, 0, 3, 0])[::2]
    X = polyad.SparseTensor(fortran, strided, (3, 2, 2))
    assert X.values.tolist() == [1, 2, 3] and X.coords.tolist() == coords


def test_unaligned_arrays_are_copied():
    raw = np.zeros(1 + 3 * 8, dtype=np.uint8)
    v = raw[1:].view(np.float64)
    v[:] = values
    assert not v.flags.aligned
    X = polyad.SparseTensor(coords, v, (3, 2, 2))
    assert X.values.flags.aligned and X.values.tolist() == values


def test_shape_is_found():
    assert polyad.SparseTensor(coords, values).shape == (3, 2, 2)


@pytest.mark.parametrize(
    "c, v, shape, error",
    [
        ([[0, 0, 1], [3, 1, 0], [1, 1, 1]], values, (3, 2, 2), polyad.InputError),
        ([[0, 0, 1], [-1, 1, 0], [1, 1, 1]], values, (3, 2, 2), polyad.InputError),
        ([[0, 0, 1], [-1, 1, 0], [1, 1, 1]], values, None, polyad.InputError),
        (coords, [1.0, np.nan, 2.0], (3, 2, 2), polyad.InputError),
        (coords, [1.0, np.inf, 2.0], (3, 2, 2), polyad.InputError),
        (coords, [1.0, 2.0], (3, 2, 2), polyad.UsageError),
        (coords, [1j, 2j, 3j], (3, 2, 2), polyad.UsageError),
        (coords, [values], (3, 2, 2), polyad.UsageError),
        (np.array(coords) * 1.0, values, (3, 2, 2), polyad.UsageError),
        (coords, values, (3, 2), polyad.UsageError),
        (coords, values, (3, 2, -2), polyad.UsageError),
        (coords, values, "abc", polyad.UsageError),
        ([0, 1, 2], values, (3,), polyad.UsageError),
        ([[0] * 17], [1.0], [1] * 17, polyad.UsageError),
        (np.empty((0, 2), dtype=int), [], None, polyad.UsageError),
    ],
)
def test_what_is_refused(c, v, shape, error):
    with pytest.raises(error):
        polyad.SparseTensor(c, v, shape)


def test_errors_are_pythons_too():
    with pytest.raises(ValueError, match="nonzero 1 lies at"):
        polyad.SparseTensor([[0, 0], [9, 0]], [1.0, 2.0], (3, 2))
    assert issubclass(polyad.MemoryError, MemoryError) and issubclass(polyad.WriteError, OSError)
    assert issubclass(polyad.InputError, polyad.Error)


def test_duplicates():
    twice = [[0, 1], [2, 0], [0, 1]]
    summed = polyad.SparseTensor(twice, values, (3, 2), duplicates="sum")
    assert summed.nnz == 2 and summed.to_dense()[0, 1] == 2.0
    with pytest.raises(polyad.InputError, match="at the place of another one"):
        polyad.SparseTensor(twice, values, (3, 2), duplicates="error")
    kept = polyad.SparseTensor(twice, values, (3, 2))
    assert kept.nnz == 3
    expected = np.zeros((3, 2))
    for place, value in zip(twice, values):
        expected[tuple(place)] += value
    np.testing.assert_array_equal(kept.to_dense(), expected)


def test_empty_tensor():
    X = polyad.SparseTensor(np.empty((0, 3), dtype=np.uint32), [], (3, 4, 5))
    assert X.nnz == 0 and X.norm() == 0 and X.to_dense().sum() == 0


def test_wide_modes():
    X = polyad.SparseTensor([[2**33, 0], [1, 1]], [1.0, 2.0], (2**33 + 1, 2))
    assert X.coords.dtype == np.uint64 and X.coords[0, 0] == 2**33
    X = polyad.SparseTensor(np.array([[1, 0]], dtype=np.uint32), [1.0], (2**33, 2))
    assert X.coords.dtype == np.uint64


def same(a, b):
    assert a.shape == b.shape
    np.testing.assert_array_equal(a.to_dense(), b.to_dense())


def test_dense_there_and_back(rng):
    dense = rng.uniform(size=(4, 5, 6)) * (rng.uniform(size=(4, 5, 6)) > 0.7)
    np.testing.assert_array_equal(polyad.asarray(dense).to_dense(), dense)
    assert polyad.asarray(dense.astype(np.float32)).dtype == np.float32


def test_scipy_there_and_back():
    pytest.importorskip("scipy")
    from scipy.sparse import csr_array

    X = random_tensor((8, 9), 20, 1)
    same(X, polyad.asarray(X.to_scipy()))
    same(X, polyad.asarray(csr_array(X.to_scipy())))
    assert np.shares_memory(polyad.asarray(X.to_scipy()).values, X.values)


def test_scipy_of_three_modes():
    scipy = pytest.importorskip("scipy")
    if tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 13):
        pytest.skip("scipy's coo_array has two modes")
    X = random_tensor((4, 5, 6), 20, 1)
    same(X, polyad.asarray(X.to_scipy()))


def test_pydata_sparse_there_and_back():
    pytest.importorskip("sparse")
    X = random_tensor((4, 5, 6), 20, 1)
    same(X, polyad.asarray(X.to_sparse()))


def test_pyttb_there_and_back():
    pyttb = pytest.importorskip("pyttb")
    X = random_tensor((4, 5, 6), 20, 1)
    same(X, polyad.asarray(X.to_pyttb()))
    same(X, polyad.asarray(pyttb.tensor(X.to_dense())))


def test_pandas_keeps_the_labels():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"who": ["b", "a", "b"], "when": [2020, 2021, 2021], "much": [1.0, 2.0, 4.0]})
    X = polyad.asarray(frame)
    assert X.labels[0].tolist() == ["b", "a"] and X.labels[1].tolist() == [2020, 2021]
    np.testing.assert_array_equal(X.to_dense(), [[1, 4], [0, 2]])
    turned = polyad.asarray(frame, modes=["when", "who"], value="much")
    np.testing.assert_array_equal(turned.to_dense(), X.to_dense().T)
    with pytest.raises(polyad.UsageError):
        polyad.asarray(frame, value="none")
    with pytest.raises(polyad.InputError):
        polyad.asarray(pandas.DataFrame({"a": [1.0, np.nan], "v": [1.0, 2.0]}))


def test_polars_keeps_the_labels():
    polars = pytest.importorskip("polars")
    X = polyad.asarray(polars.DataFrame({"who": ["b", "a", "b"], "when": [2020, 2021, 2021], "much": [1.0, 2.0, 4.0]}))
    assert X.labels[0].tolist() == ["b", "a"] and X.labels[1].tolist() == [2020, 2021]
    np.testing.assert_array_equal(X.to_dense(), [[1, 4], [0, 2]])


@pytest.mark.parametrize("other", [3, None, [1, 2], np.array(["a"]), {"a": 1}])
def test_no_tensor(other):
    with pytest.raises(polyad.UsageError):
        polyad.asarray(other)


@pytest.mark.parametrize("ending", ["tns", "pten", "npz"])
def test_files_there_and_back(tmp_path, ending):
    X = random_tensor((4, 5, 6), 60, 3)
    polyad.write(tmp_path / f"x.{ending}", X)
    same(X, polyad.read(tmp_path / f"x.{ending}"))
    same(X, polyad.asarray(str(tmp_path / f"x.{ending}")))


def test_a_bad_file_says_where(tmp_path):
    (tmp_path / "x.tns").write_text("1 1 2.0\n1 x 3.0\n")
    with pytest.raises(polyad.InputError) as caught:
        polyad.read(tmp_path / "x.tns")
    assert caught.value.line == 2 and caught.value.column == 3 and caught.value.file.endswith("x.tns")
    with pytest.raises(polyad.InputError):
        polyad.read(tmp_path / "none.tns")
    with pytest.raises(polyad.WriteError):
        polyad.write(tmp_path / "no folder" / "x.tns", random_tensor((2, 2), 2, 1))
    with pytest.raises(polyad.UsageError):
        polyad.write(tmp_path / "x.abc", random_tensor((2, 2), 2, 1))


def test_duplicates_in_files(tmp_path):
    (tmp_path / "x.tns").write_text("1 1 2.0\n1 1 3.0\n")
    assert polyad.read(tmp_path / "x.tns").values.tolist() == [2.0, 3.0]
    assert polyad.read(tmp_path / "x.tns", duplicates="sum").values.tolist() == [5.0]
    assert polyad.read(tmp_path / "x.tns", duplicates="last").values.tolist() == [3.0]
    assert polyad.read(tmp_path / "x.tns", duplicates="keep").nnz == 2
    with pytest.raises(polyad.InputError, match="nonzero 2 repeats"):
        polyad.read(tmp_path / "x.tns", duplicates="error")


def test_reads_what_the_tool_reads():
    X = polyad.read(data / "uber-apr14.tns.xz")
    assert X.nnz == 415898 and X.ndim == 4


def test_pickles():
    X = random_tensor((4, 5, 6), 20, 1)
    same(X, pickle.loads(pickle.dumps(X)))


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63) + 1, np.uint64(2**64 - 1)])
def test_integers_are_exact_or_refused(value):
    values = np.asarray([1, value, 2], dtype=np.asarray(value).dtype)
    with pytest.raises(polyad.InputError, match=f"nonzero 1, {value}, is an integer"):
        polyad.SparseTensor([[0], [1], [2]], values)
    exact = np.asarray([2**53 + 2, -(2**63), 2**62 + 2**10])
    assert polyad.SparseTensor([[0], [1], [2]], exact).values.astype(np.int64).tolist() == exact.tolist()


@pytest.mark.parametrize("value", [1e200, -3.5e38, 1e-60])
def test_floats_do_not_become_infinite_or_zero(tmp_path, value):
    X = polyad.SparseTensor([[0], [1], [2]], [1.0, value, 0.0])
    with pytest.raises(polyad.UsageError, match="nonzero 1"):
        X.astype("float32")
    with pytest.raises(polyad.UsageError, match="nonzero 2 has the value"):
        polyad.write(tmp_path / "x.pten", X, single_precision=True)
    assert polyad.SparseTensor([[0], [1]], [0.1, 3.0]).astype("float32").dtype == np.float32


@pytest.mark.skipif(np.finfo(np.longdouble).maxexp <= 1024, reason="long doubles are doubles")
def test_long_doubles_fit_or_are_refused():
    for text in ("1e400", "1e-400"):
        with pytest.raises(polyad.InputError, match="beyond the range of a double"):
            polyad.SparseTensor([[0]], np.asarray([np.longdouble(text)]))


@pytest.mark.parametrize("value", [1e200, 1e-200, 1e308])
def test_the_norm_neither_overflows_nor_vanishes(value):
    X = polyad.SparseTensor([[0, 1], [1, 0]], [0.6 * value, -0.8 * value], (2, 2))
    assert X.norm() == pytest.approx(value, rel=1e-14)


def test_masked_entries_are_refused():
    """A number below a mask is not a value."""
    mask = [False, True]
    with pytest.raises(polyad.InputError, match="values have masked entries, the first at \\(1,\\)"):
        polyad.SparseTensor([[0, 0], [1, 1]], np.ma.array([1.0, 2.0], mask=mask))
    with pytest.raises(polyad.InputError, match="coordinates have masked entries"):
        polyad.SparseTensor(np.ma.array([[0, 0], [1, 1]], mask=[mask, mask]), [1.0, 2.0])
    with pytest.raises(polyad.InputError, match="masked entries, the first at \\(0, 1\\)"):
        polyad.asarray(np.ma.array([[1.0, 2.0]], mask=[mask]))
    assert polyad.asarray(np.ma.array([[1.0, 2.0]], mask=False)).nnz == 2


def test_arrays_that_are_no_tensor_or_too_large():
    with pytest.raises(polyad.UsageError, match="1 to 16 modes, not 0"):
        polyad.asarray(np.array(3.0))
    with pytest.warns(PendingDeprecationWarning):
        same(polyad.asarray(np.matrix([[1.0, 0.0], [0.0, 2.0]])), polyad.asarray(np.diag([1.0, 2.0])))
    with pytest.raises(polyad.UsageError, match="at most 18446744073709551615"):
        polyad.SparseTensor(np.array([[2**64 - 1, 0]], dtype=np.uint64), [1.0])
    with pytest.raises(polyad.MemoryError) as caught:
        polyad.SparseTensor([[2**40, 2**30]], [1.0]).to_dense()
    assert caught.value.bytes == 8 * (2**40 + 1) * (2**30 + 1)


def test_other_classes_of_pyttb_are_refused():
    pyttb = pytest.importorskip("pyttb")
    with pytest.raises(polyad.UsageError, match="no tensor can be made of pyttb"):
        polyad.asarray(pyttb.ktensor([np.ones((2, 1))] * 3))
