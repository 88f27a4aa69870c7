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
        (dict(weights=weights, factor_0=first.astype(int)), "is no vector or matrix of floats or doubles"),
        (dict(weights=weights, factor_0=first.astype(">f8")), "is no vector or matrix of floats or doubles"),
        (dict(weights=weights, factor_0=first[0]), "'factor_0' has 1 dimensions, not 2"),
        (dict(weights=weights, factor_0=first + numpy.inf), "holds values that are not finite"),
    ):
        numpy.savez(path, **arrays)
        result = subprocess.run([tool, "sum", path], capture_output=True, text=True)
        assert result.returncode == 3 and reason in result.stderr, (arrays, result)
print("npz: ours and numpy's agree")
