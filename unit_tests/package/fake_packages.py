# SPDX-License-Identifier: BSD-3-Clause
"""Prefixes for the tests of Polyad's CMake package: the package's own files with backends and a Kokkos that have no
libraries. A project without a language can configure with them, in a tenth of a second."""

import os
import pathlib
import re
import shutil
import subprocess

PROJECT = pathlib.Path(__file__).resolve().parents[2]
BACKENDS = ("serial", "openmp", "cuda")
DEVICES = {"serial": ["SERIAL"], "openmp": ["OPENMP", "SERIAL"], "cuda": ["CUDA", "SERIAL"]}
PACKAGE_FILES = ("PolyadConfig", "PolyadKokkosFacts", "PolyadKokkosSources", "FindZstd", "FindNCCL")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def add_kokkos(prefix, version, devices, kernels=True):
    """Adds a Kokkos that has nothing but a header with its facts, and Kokkos Kernels."""
    major, minor, patch = (int(number) for number in version.split("."))
    defines = "".join(f"#define KOKKOS_ENABLE_{device}\n" for device in devices)
    write(prefix / "include/KokkosCore_config.h",
          f"#define KOKKOS_VERSION {10000 * major + 100 * minor + patch}\n/* #undef KOKKOS_ENABLE_HIP */\n{defines}")
    packages = prefix / "lib/cmake"
    write(packages / "Kokkos/KokkosConfig.cmake", f"""
if(NOT DEFINED CMAKE_CXX_EXTENSIONS OR CMAKE_CXX_EXTENSIONS)
  message(WARNING "Forcing -DCMAKE_CXX_EXTENSIONS=Off")
endif()
if(NOT TARGET Kokkos::kokkos)
  add_library(Kokkos::kokkoscore INTERFACE IMPORTED)
  set_target_properties(Kokkos::kokkoscore PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "{prefix}/include")
  add_library(Kokkos::kokkos INTERFACE IMPORTED)
endif()
""")
    write(packages / "Kokkos/KokkosConfigVersion.cmake", f'set(PACKAGE_VERSION "{version}")\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n')
    if kernels:
        write(packages / "KokkosKernels/KokkosKernelsConfig.cmake", """
include(CMakeFindDependencyMacro)
find_dependency(Kokkos)
if(NOT TARGET Kokkos::kokkoskernels)
  add_library(Kokkos::kokkoskernels INTERFACE IMPORTED)
endif()
""")
    return packages / "Kokkos"


def add_backend(prefix, backend, version="0.2.0", kokkos_version="4.7.0", kokkos_folder=None):
    """Adds a backend of Polyad. Its Kokkos is in `kokkos_folder`, or one that is made for it."""
    package = prefix / "lib/cmake/Polyad"
    if kokkos_folder is None:
        kokkos_folder = add_kokkos(prefix / f"lib/polyad/kokkos-{backend}", kokkos_version, DEVICES[backend])
    values = {
        "POLYAD_BACKEND": backend, "PROJECT_VERSION": version, "POLYAD_KOKKOS_VERSION": kokkos_version,
        "POLYAD_KOKKOS_DEVICES": ";".join(DEVICES[backend]), "polyad_kokkos_folders": str(kokkos_folder),
        "POLYAD_NEEDS_KOKKOS_KERNELS": "ON" if backend == "cuda" else "OFF"}
    template = (PROJECT / "cmake/PolyadBackend.cmake.in").read_text()
    write(package / f"PolyadBackend-{backend}.cmake",
          re.sub("@([A-Za-z_]+)@", lambda name: values.get(name[1], ""), template))
    write(package / f"PolyadTargets-{backend}.cmake", """
if(NOT TARGET Polyad::polyad)
  add_library(Polyad::polyad INTERFACE IMPORTED)
endif()
""")
    for name in PACKAGE_FILES:
        shutil.copy(PROJECT / f"cmake/{name}.cmake", package)
    write(package / "PolyadConfigVersion.cmake", f"""
set(PACKAGE_VERSION "{version}")
set(PACKAGE_VERSION_COMPATIBLE TRUE)
""")


def configure(folder, lines, *definitions):
    """Configures a project that consists of `lines`; returns its exit status and all that it printed, unwrapped."""
    write(folder / "CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(Client LANGUAGES NONE)\n"
          # The backend cuda enables its language, which no fake needs.
          "set(CMAKE_CUDA_COMPILER_LOADED TRUE)\n" + lines)
    shutil.rmtree(folder / "build", ignore_errors=True)
    return configure_again(folder, *definitions)


def configure_again(folder, *definitions, build=None):
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_ROOT")}
    done = subprocess.run(["cmake", "-S", str(folder), "-B", str(build or folder / "build"), "-Wdev", *definitions],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    return done.returncode, " ".join(done.stdout.split())
