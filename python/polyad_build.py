# SPDX-License-Identifier: BSD-3-Clause
"""The build backend: scikit-build-core's, and what a package of the cuda backend depends on.

pyproject.toml cannot say it, as it knows nothing of ``-C cmake.define.POLYAD_BACKEND=cuda``.
"""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

from scikit_build_core import build as _base
from scikit_build_core.build import *  # noqa: F403  (the other hooks)


def requirements(config_settings):
    """NVIDIA's wheels that the module opens at its first use (polyad/_nvidia.py): of the CUDA that compiles it."""
    settings = config_settings or {}
    if settings.get("cmake.define.POLYAD_BACKEND") != "cuda":
        return []
    nvcc = settings.get("cmake.define.CMAKE_CUDA_COMPILER") or os.environ.get("CUDACXX") or shutil.which("nvcc")
    said = subprocess.run([nvcc or "/usr/local/cuda/bin/nvcc", "--version"], capture_output=True, text=True, check=True)
    major = int(re.search(r"release (\d+)\.", said.stdout)[1])
    # Since CUDA 13 the names go without the number.
    return [f"nvidia-cublas>={major},<{major + 1}" if major >= 13 else f"nvidia-cublas-cu{major}"]


def with_requirements(metadata, wanted):
    """The text of a METADATA file with lines more at the end of its head."""
    head, body = re.fullmatch(r"(.*?\n)(\n.*)?", metadata, re.DOTALL).groups()
    return head + "".join(f"Requires-Dist: {line}\n" for line in wanted) + (body or "")


def rewrite_wheel(wheel, wanted):
    """Adds requirements to a wheel that is built."""
    changed = wheel.with_suffix(".part")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(changed, "w") as new:
        files = {info.filename: info for info in old.infolist()}
        name = next(name for name in files if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
        record = name.replace("METADATA", "RECORD")
        metadata = with_requirements(old.read(name).decode(), wanted).encode()
        digest = base64.urlsafe_b64encode(hashlib.sha256(metadata).digest()).rstrip(b"=").decode()
        lines = [
            f"{name},sha256={digest},{len(metadata)}" if line.startswith(name + ",") else line
            for line in old.read(record).decode().splitlines()
        ]
        for file, info in files.items():
            content = {name: metadata, record: ("\n".join(lines) + "\n").encode()}
            new.writestr(info, content.get(file) or old.read(file))
    os.replace(changed, wheel)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = _base.prepare_metadata_for_build_wheel(metadata_directory, config_settings)
    file = Path(metadata_directory) / folder / "METADATA"
    file.write_text(with_requirements(file.read_text(encoding="utf-8"), requirements(config_settings)), encoding="utf-8")
    return folder


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    wanted = requirements(config_settings)
    # The base compares the prepared METADATA with its own, to which nothing was added.
    name = _base.build_wheel(wheel_directory, config_settings, None if wanted else metadata_directory)
    if wanted:
        rewrite_wheel(Path(wheel_directory) / name, wanted)
    return name
