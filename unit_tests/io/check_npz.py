#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""npz files against numpy, both ways: numpy reads ours, we read numpy's. Usage: check_npz.py NPZ_TOOL.
Without numpy the archive is still checked with the standard library; exit 77 then says "skipped"."""

import os
import subprocess
import sys
import tempfile
import zipfile

tool = sys.argv[1]


def run(*arguments):
    return subprocess.run([tool, *arguments], check=True, capture_output=True, text=True).stdout


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "m.npz")
    for options in ([], ["zip64"]):
        run("write", path, *options)
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            assert archive.namelist() == ["weights.npy", "factor_0.npy", "factor_1.npy"], archive.namelist()
    try:
        import numpy
    except ImportError:
        print("SKIPPED: numpy is not installed; only the archive was checked")
        sys.exit(77)

    first = numpy.array([0.1 * k for k in range(8)]).reshape(4, 2)
    second = numpy.array([-1e10 / (k + 3) for k in range(6)]).reshape(3, 2)
    for kind in (numpy.float64, numpy.float32):
        for options in ([], ["zip64"]):
            run("write", path, *options, *(["f32"] if kind == numpy.float32 else []))
            with numpy.load(path) as model:
                assert sorted(model.files) == ["factor_0", "factor_1", "weights"]
                for name, expected in (("weights", numpy.array([1, 0.5])), ("factor_0", first), ("factor_1", second)):
                    assert model[name].dtype == kind, (name, model[name].dtype)
                    assert numpy.array_equal(model[name], expected.astype(kind)), name

    def expected_line(weights, *factors):
        total = 0.0
        for weight in weights:
            total += float(weight)
        for factor in factors:
            for k, element in enumerate(factor.ravel(order="C")):
                total += float(element) * (k + 1)
        return " ".join([*(str(f.shape[0]) for f in factors), str(len(weights)), "%.17g" % total]) + "\n"

    weights = numpy.array([2.0, 3.0])
    for save in (numpy.savez, numpy.savez_compressed):
        for a, b in ((first, second), (numpy.asfortranarray(first), second.astype(numpy.float32))):
            save(path, weights=weights, factor_0=a, factor_1=b, something_else=numpy.arange(3))
            try:
                line = run("sum", path)
            except subprocess.CalledProcessError as error:
                if save is numpy.savez_compressed and "no zlib" in error.stderr:
                    continue
                raise
            assert line == expected_line(weights, a, b), (line, expected_line(weights, a, b))
    for arrays, reason in (
        (dict(weights=weights), "holds no array 'factor_0'"),
        (dict(factor_0=first), "holds no array 'weights'"),
        (dict(weights=weights, factor_0=first[:, :1]), "factor_0 has 1 columns, but there are 2 weights"),
        (dict(weights=weights, factor_0=first.astype(int)), "is not an array of floats or doubles"),
        (dict(weights=weights, factor_0=first.astype(">f8")), "in this machine's byte order"),
        (dict(weights=weights, factor_0=first[0]), "'factor_0' has 1 dimensions, not 2"),
        (dict(weights=weights, factor_0=first + numpy.inf), "holds values that are not finite"),
    ):
        numpy.savez(path, **arrays)
        result = subprocess.run([tool, "sum", path], capture_output=True, text=True)
        assert result.returncode == 3 and reason in result.stderr, (arrays, result)

    # Arrays of three indices, in either order.
    core = numpy.arange(24.0).reshape(2, 3, 4)
    for order in (numpy.ascontiguousarray, numpy.asfortranarray):
        numpy.savez(path, core=order(core))
        line = run("array", path, "core")
        assert line == "".join("%d " % x for x in core.ravel()) + "\n", line

    # Tensors: every type of coordinates and of values, either order, stored and deflated.
    coords = numpy.array([[0, 4, 2], [1, 0, 6]])
    zero = numpy.float64(0)
    deflates = True
    for save in (numpy.savez, numpy.savez_compressed):
        for integer in "i1 i2 i4 i8 u1 u2 u4 u8".split():
            for values in (numpy.array([1.5, -2, 0.1]), numpy.array([1.5, -2, 3], dtype="f4"), numpy.array([1, -2, 3]),
                           numpy.array([1, 2, 3], dtype="u2"), numpy.array([True, False, True]), numpy.array([-1, 2, 3], dtype="i1")):
                for order in (numpy.ascontiguousarray, numpy.asfortranarray):
                    if not deflates:
                        continue
                    save(path, coords=order(coords.astype(integer)), data=values, shape=numpy.array([5, 7]),
                         fill_value=values.dtype.type(0))
                    try:
                        line = run("tensor", path)
                    except subprocess.CalledProcessError as error:
                        if save is numpy.savez_compressed and "no zlib" in error.stderr:
                            deflates = False
                            continue
                        raise
                    want = "5 7 " + "".join(": %d %d %.17g " % (*at, value) for at, value in zip(coords.T, values)) + "\n"
                    assert line == want, (line, want)
    copy = os.path.join(folder, "copy.npz")
    for kind in ("f8", "f4"):
        numpy.savez(path, coords=coords, data=numpy.array([1.5, -2, 0.1]), shape=numpy.array([5, 7]))
        run("copy", path, copy, *(["f32"] if kind == "f4" else []))
        with numpy.load(copy) as tensor:
            assert sorted(tensor.files) == ["coords", "data", "fill_value", "format", "shape"]
            assert numpy.array_equal(tensor["coords"], coords)
            assert numpy.array_equal(tensor["data"], numpy.array([1.5, -2, 0.1]).astype(kind)) and tensor["data"].dtype == kind
            assert tuple(tensor["shape"]) == (5, 7)
            assert tensor["fill_value"].shape == () and tensor["fill_value"] == 0
    exact = numpy.array([-2**63, 2**62 + 2**10, 2**53 + 2])
    numpy.savez(path, coords=coords, data=exact, shape=numpy.array([5, 7]))
    run("copy", path, copy)
    with numpy.load(copy) as tensor:
        assert [int(value) for value in tensor["data"]] == [int(value) for value in exact]
    good = dict(coords=coords, data=numpy.array([1.5, -2, 0.1]), shape=numpy.array([5, 7]), fill_value=zero)
    for change, reason in (
        (dict(shape=None), "holds no array 'shape'"),
        (dict(coords=None), "holds no array 'coords'"),
        (dict(data=None), "holds no array 'data'"),
        (dict(shape=numpy.array([5, 0])), "extent 2 in 'shape' is not from 1 to 2^63 - 1"),
        (dict(shape=numpy.array([5, -7])), "extent 2 in 'shape' is not from 1 to 2^63 - 1"),
        (dict(shape=numpy.array([5, 6])), "index 2 of nonzero 3 is 6, beyond the extent 6 counted from 0"),
        (dict(shape=numpy.ones(17, int)), "'shape' has 17 extents; 1 to 16 are possible"),
        (dict(shape=numpy.array([5., 7])), "'shape' holds elements of the wrong kind ('f')"),
        (dict(coords=-coords), "index 1 of nonzero 2 is -4, beyond the extent 5 counted from 0"),
        (dict(coords=coords.T), "'coords' is 3 x 2, not 2 x 3"),
        (dict(coords=coords[0]), "'coords' has 1 dimensions, not 2"),
        (dict(data=numpy.array([1, numpy.nan, 2])), "the value of nonzero 2 is not finite: nan"),
        (dict(data=numpy.array([1, 2**53 + 1, 2])),
         "the value of nonzero 2 is an integer beyond 2^53 that no double equals: 9007199254740993"),
        (dict(data=numpy.array([-2**63 + 1, 1, 2])), "no double equals: -9223372036854775807"),
        (dict(data=numpy.array([1, 2, 2**63 - 1])), "no double equals: 9223372036854775807"),
        (dict(data=numpy.array([1, 2, 2**64 - 1], dtype="u8")), "no double equals: 18446744073709551615"),
        (dict(data=numpy.zeros(0), coords=numpy.zeros((2, 0), int)), "holds no nonzeros"),
        (dict(data=numpy.array([1j, 2, 3])), "'data.npy' is not an array of integers, floats or doubles"),
        (dict(fill_value=numpy.float64(2)), "'fill_value' is not 0: the tensor is not sparse"),
    ):
        numpy.savez(path, **{name: array for name, array in {**good, **change}.items() if array is not None})
        result = subprocess.run([tool, "tensor", path], capture_output=True, text=True)
        assert result.returncode == 3 and reason in result.stderr, (change, result)
print("npz: ours and numpy's agree")
