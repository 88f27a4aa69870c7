# SPDX-License-Identifier: BSD-3-Clause
"""Coordinates that are changed after the tensor was made: every function names the one that is outside."""

import pickle
import re

import numpy as np
import pytest
from conftest import on_host_only, random_tensor

import polyad

shape = (30, 40, 50)
model = polyad.CPModel([1.0], [np.ones((size, 1)) for size in shape])
completed = polyad.FastTuckerModel([np.ones((size, 1)) for size in shape], [np.ones((1, 1))] * 3)



def like(X):
    """Another tensor with coordinates of the same type."""
    other = random_tensor(shape, 300, 3)
    return polyad.SparseTensor(other.coords.astype(X.coords.dtype), other.values, shape)


functions = {
    "cp_als": lambda X: polyad.cp_als(X, 2),
    "cp_als of a named format": lambda X: polyad.cp_als(X, 2, format="sorted"),
    "tucker": lambda X: polyad.tucker(X, 2),
    "tucker from hosvd": lambda X: polyad.tucker(X, 2, start="hosvd"),
    "any_format": lambda X: polyad.any_format(X, rank=2),
    "estimate": lambda X: polyad.estimate(X, rank=2),
    "tune": lambda X: polyad.tune(X, rank=2),
    "mttkrp": lambda X: polyad.mttkrp(X, model, 1),
    "ttm": lambda X: polyad.ttm(X, np.ones((40, 2)), 1),
    "ttmc": lambda X: polyad.ttmc(X, [np.ones((size, 2)) for size in shape], 1),
    "fast_tucker": lambda X: polyad.fast_tucker(X),
    "fast_tucker with options": lambda X: polyad.fast_tucker(X, rank=2, shrinkage=5),
    "fast_tucker by adam": lambda X: polyad.fast_tucker(X, rank=2, optimizer="adam"),
    "validation": lambda X: polyad.fast_tucker(like(X), validation=X, rank=2, shrinkage=5),
    "test": lambda X: polyad.fast_tucker(like(X), test=X, rank=2, shrinkage=5),
    "predict": lambda X: polyad.predict(completed, X),
    "seen": lambda X: polyad.recommend(completed, 1, [[0, 0]], seen=X),
    "compare": lambda X: polyad.compare(model, X),
    "hold_out": lambda X: polyad.hold_out(X, 0.5),
    "CP": lambda X: polyad.CP(2).fit(X),
    "CP.transform": lambda X: polyad.CP(2).fit(random_tensor(shape, 300, 3)).transform(X),
}


@on_host_only
@pytest.mark.parametrize("name", functions)
def test_changed_coordinates_are_found(name):
    rng = np.random.default_rng(len(name))
    for dtype in (np.int32, np.int64, np.uint32, np.uint64):
        for wrong in ("extent", "large", "negative"):
            coords = np.stack([rng.integers(0, size, 200) for size in shape], axis=1).astype(dtype)
            X = polyad.SparseTensor(coords, rng.uniform(1, 2, 200), shape, duplicates="keep")
            p, n = int(rng.integers(200)), int(rng.integers(3))
            large = 2**40 if coords.itemsize == 8 else 2**30
            value = {"extent": shape[n], "large": large, "negative": -3}[wrong]
            coords[p, n] = np.array(value).astype(dtype)  # -3 of an unsigned type is a large number
            bits = int(coords[p : p + 1, n].view(f"u{coords.itemsize}")[0])
            with pytest.raises(polyad.UsageError) as error:
                functions[name](X)
            where = f"nonzero {p} is outside the tensor: it has index {bits}"
            known = rf"^{where}( \(-3 as a signed number\))? in mode {n} of {shape[n]} rows$"
            place = rf"^place {p}, .*, has row -?\d+ of mode {n}, which the model does not have"
            assert re.search(place if name == "predict" else known, str(error.value))


@on_host_only
@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
def test_a_test_set_of_another_type_or_shape(dtype):
    train = random_tensor(shape, 300, 3)
    train = polyad.SparseTensor(train.coords.astype(dtype), train.values, shape)
    for sizes in (shape, (20, 40, 50)):
        coords = random_tensor((20, 40, 50), 50, 4).coords.astype(np.int64)
        X = polyad.SparseTensor(coords, np.ones(50), sizes)
        coords[7, 1] = 2**40  # as a number of 32 bits it is 0
        with pytest.raises(polyad.Error, match=f"nonzero 7 .* index {2**40} in mode 1 of 40 rows"):
            polyad.fast_tucker(train, test=X, rank=2, shrinkage=5)


@on_host_only
@pytest.mark.parametrize("ending", ["tns", "pten", "npz"])
def test_changed_coordinates_are_not_written(tmp_path, ending):
    coords = np.array([[0, 1], [2, 3]], dtype=np.int64)
    X = polyad.SparseTensor(coords, [1.0, 2.0])
    coords[1, 0] = 2**40  # the lower half of the bits is 0
    with pytest.raises(polyad.UsageError, match=f"nonzero 1 .* index {2**40} in mode 0 of 3 rows"):
        polyad.write(tmp_path / f"x.{ending}", X)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("wrong", [5, 2**14, -1])
def test_the_constructor_names_the_place(dtype, wrong):
    if wrong < 0 and np.dtype(dtype).kind == "u":
        return
    with pytest.raises(polyad.InputError) as error:
        polyad.SparseTensor(np.array([[0, 0], [1, wrong]], dtype=dtype), [1.0, 2.0], (3, 5))
    if dtype != np.int16 or wrong >= 0:
        assert f"(1, {wrong}), outside 3 x 5: it has index {wrong} in mode 1 of 5 rows" in str(error.value)


@on_host_only
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64, np.int8])
def test_coords_are_a_read_only_view(dtype):
    own = np.array([[0, 1], [2, 0]], dtype=dtype)
    X = polyad.SparseTensor(own, [1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        X.coords[0, 0] = 1
    assert own.flags.writeable and np.shares_memory(own, X.coords) == (dtype != np.int8)
    own[0, 0] = 2
    for tensor in (X.astype("float32"), polyad.hold_out(X, 0.5)[0], pickle.loads(pickle.dumps(X)), polyad.ttm(X, np.ones((3, 1)), 0)):
        assert not tensor.coords.flags.writeable
    frozen = own.copy()
    frozen.flags.writeable = False
    assert polyad.SparseTensor(frozen, [1.0, 2.0]).nnz == 2 and not frozen.flags.writeable
