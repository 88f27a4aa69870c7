# SPDX-License-Identifier: BSD-3-Clause
"""Files of any bytes: a tensor, a model, or an exception of Polyad's. Small files that unpack to much."""

import gzip
import lzma
import random
import zipfile

import pytest
from conftest import data, random_tensor

import polyad

seeds = data.parent / "unit_tests" / "fuzz" / "seeds"
limit = 2**26


def mutated(content, rng):
    """A few changes: bits, bytes, numbers, stretches cut out, doubled or moved, the end cut off."""
    bytes_ = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(bytes_)) if bytes_ else 0
        size = rng.randrange(1, 9)
        kind = rng.randrange(7)
        if kind == 0 and bytes_:
            bytes_[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and bytes_:
            bytes_[at] = rng.choice((0, 1, 9, 10, 32, 45, 46, 48, 57, 127, 128, 255))
        elif kind == 2:
            bytes_[at : at + size] = rng.choice((b"\xff" * size, bytes(size), b"9" * size, b"\n" * size))
        elif kind == 3:
            del bytes_[at : at + size]
        elif kind == 4:
            bytes_[at:at] = bytes_[at : at + 10 * size]
        elif kind == 5:
            del bytes_[at:]
        else:
            bytes_[at:at] = rng.randbytes(size)
    return bytes(bytes_)


def models(folder):
    """Files of all kinds of models that Python writes."""
    X = random_tensor((5, 4, 3), 30, 1)
    made = [polyad.cp_als(X, 2, max_iterations=1), polyad.tucker(X, (2, 2, 2), max_iterations=1), polyad.fast_tucker(X, rank=2, max_epochs=1)]
    contents = []
    for model in made:
        model.save(folder / "m.npz")
        contents.append((folder / "m.npz").read_bytes())
        assert type(polyad.load(folder / "m.npz")) is type(model)
    return contents


@pytest.mark.parametrize("folder", ["text", "pten", "npz", "binary", "ktensor"])
def test_damaged_files(tmp_path, folder):
    rng = random.Random(folder)
    # A byte in front says how libFuzzer reads text.
    files = [(path.read_bytes()[1:] if folder == "text" else path.read_bytes()) for path in sorted((seeds / folder).iterdir())]
    assert files
    if folder == "npz":
        files += models(tmp_path)
    outcomes = {"tensor": 0, "model": 0, "refused": 0}
    path = tmp_path / "x"
    for number in range(3000):
        content = rng.choice(files)
        content = mutated(content, rng) if number >= 50 else content
        path.write_bytes(content)
        for name, read in (("tensor", lambda: polyad.read(path, max_memory=limit, threads=1)), ("model", lambda: polyad.load(path))):
            try:
                read()
                outcomes[name] += 1
            except polyad.Error as error:
                assert isinstance(error, (polyad.InputError, polyad.MemoryError)), (content, error)
                assert str(path) in str(error) or "needs" in str(error), (content, error)
                outcomes["refused"] += 1
    assert outcomes["refused"] > 200
    assert outcomes["model" if folder == "ktensor" else "tensor"] > 20


def test_the_text_of_an_error_may_hold_any_bytes(tmp_path):
    (tmp_path / "x.tns").write_bytes(b"1 1 1\n1 \xff\xc3\xa4 1\n")
    with pytest.raises(polyad.InputError, match=r"index 2 is not a number: '\\xFFä'") as caught:
        polyad.read(tmp_path / "x.tns")
    assert (caught.value.line, caught.value.column) == (2, 3)


def test_small_files_that_unpack_to_much(tmp_path):
    lines = b"1 2 3 4\n" * 2**18
    (tmp_path / "x.tns.gz").write_bytes(gzip.compress(lines) * 512)
    (tmp_path / "x.tns.xz").write_bytes(lzma.compress(lines) * 512)
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("shape.npy", bytes(2**26))
    for name in ("x.tns.gz", "x.tns.xz", "x.npz"):
        with pytest.raises(polyad.MemoryError) as caught:
            polyad.read(tmp_path / name, max_memory=2**25)
        assert caught.value.array and caught.value.bytes > 0
        assert isinstance(caught.value, MemoryError)
    for wrong in (-1, 2**64):
        with pytest.raises(polyad.UsageError):
            polyad.read(tmp_path / "x.npz", max_memory=wrong)
    (tmp_path / "x.tns").write_bytes(lines[:800])
    assert polyad.read(tmp_path / "x.tns", max_memory=2**25, duplicates="keep").nnz == 100
