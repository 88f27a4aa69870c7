# SPDX-License-Identifier: BSD-3-Clause
"""Reads and writes files of all kinds while the k-th allocation fails, for every k. Started by test_faults.py.

It prints a line for each case: its name and how many allocations failed. If nanobind ends the process,
another one continues after that allocation: the file "progress" says where.
"""

import ctypes
import gzip
import lzma
import os
import sys
from pathlib import Path

import numpy as np

import polyad

memory = ctypes.CDLL(os.environ["LD_PRELOAD"])
memory.polyad_arm.argtypes = [ctypes.c_ulonglong]
memory.polyad_live_blocks.restype = ctypes.c_longlong
progress = Path("progress")


def cases():
    coords = np.stack(np.unravel_index(np.arange(0, 6000, 4), (30, 20, 10)), axis=1)
    X = polyad.SparseTensor(coords, np.arange(1500) + 0.5, (30, 20, 10))
    for name in ("x.tns", "x.pten", "x.npz"):
        polyad.write(name, X)
    polyad.write("packed.pten", X, packed=True)
    text = Path("x.tns").read_bytes()
    Path("x.tns.gz").write_bytes(gzip.compress(text))
    Path("x.tns.xz").write_bytes(lzma.compress(text))
    models = {"cp.npz": polyad.cp_als(X, 2, max_iterations=1), "tucker.npz": polyad.tucker(X, (2, 2, 2), max_iterations=1)}
    models["cp.ktns"] = models["cp.npz"]
    models["fast.npz"] = polyad.fast_tucker(X, rank=2, max_epochs=1)
    Path("out").mkdir(exist_ok=True)
    for name, model in models.items():
        model.save(name)
    for name in ("x.tns", "x.pten", "packed.pten", "x.npz", "x.tns.gz", "x.tns.xz"):
        yield f"read {name}", lambda name=name: polyad.read(name, threads=1).nnz
    yield "read by threads", lambda: polyad.read("x.tns", threads=3).nnz
    for name in models:
        yield f"load {name}", lambda name=name: repr(polyad.load(name))
    for name in ("x.tns", "x.pten", "x.npz"):
        yield f"write {name}", lambda name=name: polyad.write(f"out/{name}", X)
    for name, model in models.items():
        yield f"save {name}", lambda name=name, model=model: model.save(f"out/{name}")


def outcome(run, number):
    memory.polyad_arm(number)
    try:
        return run()
    except MemoryError as error:
        return type(error).__name__
    finally:
        memory.polyad_disarm()


def main():
    memory.polyad_start()
    begin, number = progress.read_text().split("|") if progress.exists() else ("", "0")
    for name, run in cases():
        if begin and name != begin:
            continue
        failed = int(number) if begin else 0
        begin = ""
        expected = run()
        outcome(run, 1)  # what an exception keeps for the next one
        files = {path: path.stat().st_size for path in Path("out").iterdir()}
        blocks = memory.polyad_live_blocks()
        while True:
            failed += 1
            progress.write_text(f"{name}|{failed}")
            result = outcome(run, failed)
            if not (memory.polyad_failed() or memory.polyad_spared()):
                break
            assert result in (expected, "MemoryError"), (name, failed, result)
            assert memory.polyad_live_blocks() == blocks, (name, failed, memory.polyad_live_blocks() - blocks)
            assert {path: path.stat().st_size for path in Path("out").iterdir()} == files, (name, failed)
            assert run() == expected, (name, failed)
        print(f"{name}: {failed - 1}", flush=True)


sys.exit(main())
