# SPDX-License-Identifier: BSD-3-Clause
"""The package of the cuda backend depends on NVIDIA's wheels, and opens what they bring."""

import base64
import hashlib
import importlib
import os
import shutil
import subprocess
import sys
import types
import zipfile
from pathlib import Path

import pytest

metadata = "Metadata-Version: 2.2\nName: polyad\nRequires-Dist: numpy>=1.24\n\n# Polyad\n\nText.\n"
module = bytes(range(256)) * 10


@pytest.fixture
def build(monkeypatch, tmp_path):
    """polyad_build on top of a scikit-build-core that packs a wheel at once."""
    base = types.ModuleType("scikit_build_core.build")

    def build_wheel(directory, config_settings=None, metadata_directory=None):
        if metadata_directory:
            assert (Path(metadata_directory) / "METADATA").read_text() == metadata, "Metadata mismatch"
        record = f"polyad/_m.so,sha256=x,{len(module)}\npolyad-0.2.0.dist-info/METADATA,sha256=y,7\npolyad-0.2.0.dist-info/RECORD,,\n"
        with zipfile.ZipFile(Path(directory) / "polyad-0.2.0.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
            wheel.writestr("polyad/_m.so", module)
            wheel.writestr("polyad-0.2.0.dist-info/METADATA", metadata)
            wheel.writestr("polyad-0.2.0.dist-info/RECORD", record)
        return "polyad-0.2.0.whl"

    def prepare_metadata_for_build_wheel(directory, config_settings=None):
        folder = Path(directory) / "polyad-0.2.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(metadata)
        return folder.name

    base.build_wheel = build_wheel
    base.prepare_metadata_for_build_wheel = prepare_metadata_for_build_wheel
    package = types.ModuleType("scikit_build_core")
    package.build = base
    monkeypatch.setitem(sys.modules, "scikit_build_core", package)
    monkeypatch.setitem(sys.modules, "scikit_build_core.build", base)
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[1])
    monkeypatch.delitem(sys.modules, "polyad_build", raising=False)
    yield importlib.import_module("polyad_build")
    sys.modules.pop("polyad_build", None)


def nvcc_of(release, folder):
    file = folder / "nvcc"
    file.write_text(f'#!/bin/sh\necho "Cuda compilation tools, release {release}, V{release}.88"\n')
    file.chmod(0o755)
    return {"cmake.define.POLYAD_BACKEND": "cuda", "cmake.define.CMAKE_CUDA_COMPILER": str(file)}


@pytest.mark.parametrize("release, expected", [("13.0", "nvidia-cublas>=13,<14"), ("12.8", "nvidia-cublas-cu12")])
def test_the_cuda_package_depends_on_nvidias_wheels(build, tmp_path, release, expected):
    settings = nvcc_of(release, tmp_path)
    with_nvidia = metadata.replace("1.24\n", f"1.24\nRequires-Dist: {expected}\n")
    folder = build.prepare_metadata_for_build_wheel(tmp_path, settings)
    assert (tmp_path / folder / "METADATA").read_text() == with_nvidia

    name = build.build_wheel(tmp_path, settings, tmp_path / folder)
    with zipfile.ZipFile(tmp_path / name) as wheel:
        assert wheel.testzip() is None and len(wheel.namelist()) == 3
        assert wheel.read("polyad/_m.so") == module
        assert wheel.getinfo("polyad/_m.so").compress_type == zipfile.ZIP_DEFLATED
        content = wheel.read("polyad-0.2.0.dist-info/METADATA")
        assert content.decode() == with_nvidia
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        assert wheel.read("polyad-0.2.0.dist-info/RECORD").decode().splitlines() == [
            f"polyad/_m.so,sha256=x,{len(module)}",
            f"polyad-0.2.0.dist-info/METADATA,sha256={digest},{len(content)}",
            "polyad-0.2.0.dist-info/RECORD,,",
        ]


def test_other_packages_do_not(build, tmp_path):
    for settings in (None, {}, {"cmake.define.POLYAD_BACKEND": "openmp"}):
        with zipfile.ZipFile(tmp_path / build.build_wheel(tmp_path, settings)) as wheel:
            assert wheel.read("polyad-0.2.0.dist-info/METADATA").decode() == metadata
    assert build.prepare_metadata_for_build_wheel(tmp_path) == "polyad-0.2.0.dist-info"


@pytest.mark.parametrize("place", ["cu13", "example"])
def test_libraries_of_nvidias_wheels_are_opened_where_they_lie(in_process, tmp_path, place):
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    folder = tmp_path / "nvidia" / place / "lib"
    folder.mkdir(parents=True)
    (tmp_path / "a.c").write_text("int answer(void) { return 42; }")
    shared = ["gcc", "-shared", "-fPIC", "-x", "c", tmp_path / "a.c", "-Wl,-soname,libpolyad-example.so.13"]
    subprocess.run([*shared, "-o", folder / "libpolyad-example.so.13"], check=True)
    (tmp_path / "names").write_text("libpolyad-example.so.13\nlibpolyad-of-nobody.so.7\n")
    program = f"""
    import ctypes, os, pathlib
    from polyad import _nvidia
    _nvidia.open_libraries(pathlib.Path("{tmp_path}/names"))
    _nvidia.open_libraries(pathlib.Path("{tmp_path}/no such file"))
    # What is open is found by its name alone, as the linker does it for the module.
    print(ctypes.CDLL("libpolyad-example.so.13", mode=os.RTLD_NOLOAD).answer())
    """
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    assert in_process(program, environment={"PYTHONPATH": path}).strip() == "42"
