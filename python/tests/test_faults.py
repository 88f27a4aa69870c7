# SPDX-License-Identifier: BSD-3-Clause
"""Memory and disks that fail under the functions that read and write files."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import data, on_host_only

torture = data.parent / "unit_tests" / "torture"
compiler = os.environ.get("CXX") or shutil.which("c++")

pytestmark = [
    on_host_only,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="LD_PRELOAD"),
    pytest.mark.skipif(not compiler or not torture.exists(), reason="requires the repository and a C++ compiler"),
]


@pytest.fixture(scope="module")
def preload(tmp_path_factory):
    """Compiles sources to a library that a process loads first."""
    folder = tmp_path_factory.mktemp("preload")

    def build(*sources):
        library = folder / f"{sources[-1].stem}.so"
        if library.exists():
            return library
        subprocess.run(
            [compiler, "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{torture.parent}", *sources, "-o", library, "-ldl"],
            check=True,
        )
        return library

    return build


def test_failing_allocations(tmp_path, preload):
    library = preload(torture / "failing_memory.cpp", Path(__file__).parent / "failing_memory_preload.cpp")
    folder = tmp_path / "files"
    folder.mkdir()
    environment = {**os.environ, "LD_PRELOAD": str(library), "POLYAD_SPARED": str(tmp_path / "spared"), "OMP_NUM_THREADS": "1"}
    said = []
    for _ in range(40):
        run = subprocess.run(
            [sys.executable, Path(__file__).parent / "failing_memory.py"],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        said += run.stdout.splitlines()
        if run.returncode != 77:
            break
    assert run.returncode == 0, run.stdout + run.stderr
    counts = {line.rpartition(": ")[0]: int(line.rpartition(": ")[2]) for line in said}
    assert len(counts) == 18 and min(counts.values()) > 10, counts
    # Few places end the process, and all of them are in what converts arguments and results.
    assert len((tmp_path / "spared").read_text().splitlines()) < 15


@pytest.mark.parametrize(
    "fault",
    [
        *(f"write:{code}:{room}" for code in (errno.ENOSPC, errno.EIO) for room in (0, 4096, 20000)),
        f"fsync:{errno.EIO}:0",
        f"close:{errno.EIO}:0",
        f"rename:{errno.EIO}:0",
        f"open:{errno.EROFS}:0",
        "short:0:0",
    ],
)
def test_failing_disks(tmp_path, preload, in_process, fault):
    program = f"""
    import numpy as np, pathlib, polyad
    X = polyad.generate("uniform", (60, 50, 40), 3000)
    model = polyad.CPModel(np.ones(50), [np.ones((60, 50)), np.ones((40, 50))])
    tucker = polyad.TuckerModel(np.ones((20, 20, 20)), [np.ones((60, 20))] * 3)
    writers = {{"x.tns": lambda path: polyad.write(path, X), "x.pten": lambda path: polyad.write(path, X)}}
    writers["x.npz"] = lambda path: polyad.write(path, X)
    writers["m.npz"] = writers["m.ktns"] = model.save
    writers["t.npz"] = tucker.save
    folder = pathlib.Path({str(tmp_path / "disk")!r})
    for name, write in writers.items():
        try:
            write(folder / name)
            print("written", name)
        except polyad.WriteError as error:
            assert name in str(error), error
            print("refused", name)
    """
    disk = tmp_path / "disk"
    disk.mkdir()
    names = ["x.tns", "x.pten", "x.npz", "m.npz", "m.ktns", "t.npz"]
    for name in names:
        (disk / name).write_text("old")
    environment = {"LD_PRELOAD": str(preload(torture / "failing_disk.cpp")), "POLYAD_DISK": fault, "OMP_NUM_THREADS": "1"}
    said = in_process(program, environment=environment).split("\n")
    assert sorted(path.name for path in disk.iterdir()) == sorted(names)
    for name in names:
        assert ((disk / name).read_text(errors="replace") == "old") == (f"refused {name}" in said), said
    assert (f"refused {names[0]}" in said) == (fault != "short:0:0")
    assert len(said) == len(names) + 1
