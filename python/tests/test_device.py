# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of cupy and torch on the GPU: taken and given back there. The other tests run on every backend."""

import os
import pickle
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import computes_on_device, random_tensor

import polyad

on_device = pytest.mark.skipif(not computes_on_device, reason="the backend computes on the host")
packages = pytest.mark.parametrize("package", ["cupy", "torch"])


def to_device(package, array):
    module = pytest.importorskip(package)
    if package == "cupy":
        return module.asarray(array)
    signed = {np.dtype(np.uint32): np.int32, np.dtype(np.uint64): np.int64}.get(array.dtype, array.dtype)
    return module.from_numpy(np.array(array.view(signed))).cuda()


def on_host(array):
    return array.get() if type(array).__module__.startswith("cupy") else array.cpu().numpy()


def pointer(array):
    return array.data.ptr if type(array).__module__.startswith("cupy") else array.data_ptr()


def is_of(package, *arrays):
    return all(type(array).__module__.split(".")[0] == package for array in arrays)


def there_and_here(package, shape=(30, 40, 50), nnz=2000, seed=3, dtype=np.float64):
    here = random_tensor(shape, nnz, seed, dtype)
    coords, values = to_device(package, here.coords), to_device(package, here.values)
    return polyad.SparseTensor(coords, values, shape), here, coords, values


class FakeDeviceArray:
    shape = (1,)
    dtype = np.dtype(np.float64)

    def __dlpack_device__(self):
        return 2, 0


def test_memory_must_be_the_same():
    with pytest.raises(polyad.UsageError, match="different memory"):
        polyad.SparseTensor([[0, 0]], FakeDeviceArray(), (2, 2))


@pytest.mark.skipif(computes_on_device, reason="the backend computes on a device")
def test_hosts_have_no_device():
    with pytest.raises(polyad.UsageError, match="computes on the host"):
        polyad.set_device(0)
    with pytest.raises(polyad.UsageError, match="computes on the host"):
        polyad.cp_als(random_tensor((3, 4, 5), 10, 0), 2, device=0)
    assert polyad.info()["device"] is None
    with pytest.raises(polyad.UsageError):
        polyad.set_device(-1)


def test_torch_on_the_host():
    torch = pytest.importorskip("torch")
    X = random_tensor((5, 6, 7), 40, 1)
    again = polyad.asarray(X.to_torch())
    assert np.array_equal(again.to_dense(), X.to_dense())
    assert np.array_equal(polyad.asarray(torch.from_numpy(X.to_dense())).to_dense(), X.to_dense())
    values = torch.rand(40, dtype=torch.float64)
    Y = polyad.SparseTensor(torch.from_numpy(X.coords.view(np.int64)), values, (5, 6, 7))
    assert Y.values.__array_interface__["data"][0] == values.data_ptr()


@on_device
@packages
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_stay_where_they_are(package, dtype):
    X, here, coords, values = there_and_here(package, dtype=dtype)
    assert X.dtype == dtype and X.nnz == here.nnz and X.shape == here.shape
    assert pointer(X.coords) == pointer(coords) and pointer(X.values) == pointer(values)
    # What the library holds, not only what the class keeps.
    module = pytest.importorskip(package)
    assert pointer(module.from_dlpack(X._held.values)) == pointer(values)
    assert X.norm() == pytest.approx(here.norm(), rel=1e-6)
    back = X.to_host()
    assert np.array_equal(back.coords, here.coords) and np.array_equal(back.values, here.values)
    assert np.array_equal(pickle.loads(pickle.dumps(X)).values, here.values)
    assert is_of(package, X.astype(np.float32).values)
    assert np.array_equal(X.to_dense(), here.to_dense())


@on_device
@packages
def test_cp_als_has_the_same_fits(package):
    X, here, _, _ = there_and_here(package)
    options = {"tolerance": 0, "max_iterations": 8, "deterministic": True}
    ours, expected = polyad.cp_als(X, 4, **options), polyad.cp_als(here, 4, **options)
    assert [step["fit"] for step in ours.history] == pytest.approx([step["fit"] for step in expected.history], rel=1e-12)
    assert is_of(package, *ours.factors) and all(isinstance(factor, np.ndarray) for factor in expected.factors)
    for factor, other in zip(ours.factors, expected.factors):
        assert on_host(factor) == pytest.approx(other, abs=1e-10)
    assert polyad.compare(ours, expected) == pytest.approx(1)
    assert ours.full() == pytest.approx(expected.full())
    # A start on the device, which is copied; and a format.
    again = polyad.cp_als(polyad.any_format(X, rank=4), start=ours, max_iterations=2)
    assert again.fit >= ours.fit - 1e-9 and is_of(package, *again.factors)
    started_here = polyad.cp_als(X, start=expected, max_iterations=1, deterministic=True)
    assert started_here.fit == pytest.approx(polyad.cp_als(X, start=ours, max_iterations=1, deterministic=True).fit)


@on_device
@packages
def test_products(package, rng):
    X, here, _, _ = there_and_here(package)
    factors = [rng.uniform(size=(size, 5)) for size in X.shape]
    there = [to_device(package, factor) for factor in factors]
    for mode in range(3):
        V = polyad.mttkrp(X, there, mode)
        assert is_of(package, V)
        assert on_host(V) == pytest.approx(polyad.mttkrp(here, factors, mode))
        out = to_device(package, np.full((X.shape[mode], 5), np.nan))
        assert polyad.mttkrp(X, factors, mode, out=out) is out
        assert on_host(out) == pytest.approx(on_host(V))
        Y = polyad.ttm(X, there[mode], mode)
        assert is_of(package, Y.values)
        assert Y.to_dense() == pytest.approx(polyad.ttm(here, factors[mode], mode).to_dense())
        Z = polyad.ttmc(X, there, mode)
        assert is_of(package, Z)
        assert on_host(Z) == pytest.approx(polyad.ttmc(here, factors, mode))


@on_device
@packages
def test_tucker(package):
    X, here, _, _ = there_and_here(package)
    ours, expected = polyad.tucker(X, (2, 3, 4), max_iterations=3), polyad.tucker(here, (2, 3, 4), max_iterations=3)
    assert is_of(package, ours.core, *ours.factors) and ours.ranks == (2, 3, 4)
    assert ours.fit == pytest.approx(expected.fit, rel=1e-9)
    assert ours.full() == pytest.approx(expected.full(), abs=1e-8)


@on_device
@packages
def test_completion(package):
    X, here, coords, _ = there_and_here(package)
    options = {"rank": 3, "columns": 3, "max_epochs": 3, "ridge": 0.1, "format": "sorted"}
    ours, expected = polyad.fast_tucker(X, **options), polyad.fast_tucker(here, **options)
    assert ours.history[-1]["train"]["rmse"] == pytest.approx(expected.history[-1]["train"]["rmse"], rel=1e-9)
    assert polyad.predict(ours, coords) == pytest.approx(polyad.predict(expected, here))


@on_device
def test_sparse_arrays_of_torch_and_cupy(tmp_path):
    torch, cupy = pytest.importorskip("torch"), pytest.importorskip("cupy")
    here = random_tensor((20, 30, 10), 500, 2)
    theirs = torch.sparse_coo_tensor(
        torch.from_numpy(here.coords.astype(np.int64).T.copy()), torch.from_numpy(here.values), here.shape
    ).cuda()
    X = polyad.asarray(theirs)
    assert is_of("torch", X.values) and np.array_equal(X.to_dense(), here.to_dense())
    assert torch.equal(X.to_torch().to_dense(), theirs.to_dense())
    assert np.array_equal(polyad.asarray(theirs.to_dense()).to_dense(), here.to_dense())
    polyad.write(tmp_path / "x.pten", X)
    assert np.array_equal(polyad.read(tmp_path / "x.pten").to_dense(), here.to_dense())
    from cupyx.scipy import sparse

    matrix = sparse.random(40, 50, density=0.1, dtype=np.float64, random_state=1)
    Y = polyad.asarray(matrix)
    assert is_of("cupy", Y.values) and np.array_equal(Y.to_dense(), matrix.toarray().get())
    assert np.array_equal(polyad.asarray(cupy.asarray(here.to_dense())).to_dense(), here.to_dense())


@on_device
@packages
def test_what_is_refused(package):
    def make(coords, values, shape=(3, 2), **options):
        return polyad.SparseTensor(to_device(package, np.array(coords)), to_device(package, np.array(values)), shape, **options)

    assert make([[0, 0], [2, 1]], [1.0, 2.0], None).shape == (3, 2)
    with pytest.raises(polyad.InputError, match=r"lies at \(3, 0\)"):
        make([[0, 0], [3, 0]], [1.0, 2.0])
    with pytest.raises(polyad.InputError, match="outside"):
        make([[0, 0], [-1, 0]], [1.0, 2.0])
    with pytest.raises(polyad.InputError, match="not a finite number"):
        make([[0, 0], [1, 0]], [1.0, np.nan])
    with pytest.raises(polyad.InputError, match="another one does"):
        make([[0, 0], [0, 0]], [1.0, 2.0])
    summed = make([[0, 0], [0, 0]], [1.0, 2.0], duplicates="sum")
    assert is_of(package, summed.values) and on_host(summed.values).tolist() == [3.0]
    with pytest.raises(polyad.UsageError, match="integers"):
        make([[0.5, 0]], [1.0])
    with pytest.raises(polyad.UsageError, match="different memory"):
        polyad.SparseTensor([[0, 0]], to_device(package, np.array([1.0])), (2, 2))


@on_device
@packages
def test_nothing_goes_through_the_host(package, in_process, tmp_path):
    """Kokkos' profiling hooks count what is copied between the host and the device."""
    pytest.importorskip(package)
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no compiler for the hook")
    hook = tmp_path / "copies.so"
    source = Path(__file__).with_name("count_copies.cpp")
    subprocess.run([compiler, "-std=c++17", "-shared", "-fPIC", "-o", hook, source], check=True)
    program = f"""
    import numpy as np, polyad
    from test_device import to_device
    rng = np.random.default_rng(0)
    nnz, shape, rank = 200_000, (5000, 6000, 7000), 16
    coords = to_device("{package}", np.stack([rng.integers(0, size, nnz) for size in shape], axis=1).astype(np.uint32))
    values = to_device("{package}", rng.uniform(size=nnz).astype(np.float32))
    X = polyad.SparseTensor(coords, values, shape, duplicates="sum")
    model = polyad.cp_als(X, rank, max_iterations=3, tolerance=0, format="sorted")
    polyad.mttkrp(polyad.any_format(X, rank=rank, format="sorted"), model, 0)
    """
    environment = {
        "KOKKOS_TOOLS_LIBS": str(hook),
        "POLYAD_COPIES": str(tmp_path / "copied"),
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]),
    }
    in_process(program, environment=environment)
    crossed = [int(line) for line in (tmp_path / "copied").read_text().split()]
    # Numbers of the fit, R x R matrices and the like; a factor is 320 kB at least, the tensor 3.2 MB.
    assert crossed and max(crossed) < 100_000 and sum(crossed) < 1_000_000
