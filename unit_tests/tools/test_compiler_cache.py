#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A second clone at another path finds what the first one has compiled:

    test_compiler_cache.py SOURCE_FOLDER CXX KOKKOS_DIR BACKEND [NVCC]

Ends with 77 if there is no ccache."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77
# Sources with and without the precompiled header, a joined one, and one that is compiled with a definition.
OBJECTS = ["core/space_instances.cpp.o", "distributed/collectives/communicators.cpp.o", "joined/plain_sources_8.cpp.o"]
COPIED = ["CMakeLists.txt", "cmake", "include", "src"]
AT_LEAST = 0.95
CUDA = """#include "value.hpp"
__global__ void kernel(int* out) { out[threadIdx.x] = value; }
"""


def run(command, folder, **environment):
    result = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True,
                            env={**os.environ, **environment})
    if result.returncode != 0:
        raise AssertionError(f"{command} ended with {result.returncode}:\n{result.stdout}{result.stderr}")
    return result.stdout


class CompilerCache(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.log = self.folder / "statistics"

    def enterContext(self, manager):  # unittest has it from Python 3.11 on
        self.addCleanup(manager.__exit__, None, None, None)
        return manager.__enter__()

    def hits(self):
        """The numbers of hits and of calls since the last time."""
        lines = [line for line in self.log.read_text().splitlines() if not line.startswith("#")]
        self.log.unlink()
        found = sum(line in ("direct_cache_hit", "preprocessed_cache_hit") for line in lines)
        return found, found + sum(line == "cache_miss" for line in lines)

    def test_second_clone(self):
        environment = {"CCACHE_DIR": str(self.folder / "cache"), "CCACHE_STATSLOG": str(self.log)}

        def build(name):
            """Builds in a clone of that name, which is removed afterwards."""
            clone = self.folder / name / "polyad"
            clone.mkdir(parents=True)
            for part in COPIED:
                if (SOURCE / part).is_dir():
                    shutil.copytree(SOURCE / part, clone / part)
                else:
                    shutil.copy(SOURCE / part, clone / part)
            made = clone / "build" / BACKEND
            options = [f"-DCMAKE_CXX_COMPILER={CXX}", f"-DKokkos_DIR={KOKKOS_DIR}", f"-DPOLYAD_BACKEND={BACKEND}",
                       "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0 -g", "-DPOLYAD_ENABLE_TESTS=OFF",
                       "-DPOLYAD_ENABLE_PERF_TESTS=OFF", "-DPOLYAD_ENABLE_TOOL=OFF", "-DPOLYAD_CCACHE=ON"]
            run(["cmake", "-G", "Ninja", "-S", clone, "-B", made, *options], self.folder, **environment)
            run(["ninja", *(f"src/CMakeFiles/polyad.dir/{name}" for name in OBJECTS)], made, **environment)
            shutil.rmtree(clone)
            return self.hits()

        found, calls = build("first")
        self.assertEqual(found, 0)
        self.assertGreater(calls, len(OBJECTS))  # and the precompiled header
        found, again = build("at/another/path")
        self.assertEqual(again, calls)
        self.assertGreaterEqual(found, AT_LEAST * calls)

    def cuda_clone(self, name, value):
        clone = self.folder / name / "polyad"
        (clone / "build").mkdir(parents=True)
        shutil.copytree(SOURCE / "cmake", clone / "cmake")
        (clone / "kernel.cu").write_text(CUDA)
        (clone / "value.hpp").write_text(f"constexpr int value = {value};\n")
        return clone

    def test_nvcc(self):
        if not NVCC:
            self.skipTest("there is no nvcc")
        environment = {"CCACHE_DIR": str(self.folder / "cache"), "CCACHE_STATSLOG": str(self.log)}

        def compile(name, value=1):
            clone = self.cuda_clone(name, value)
            run([clone / "cmake" / "ccache_launcher", NVCC, f"-I{clone}", "-MD", "-MT", "kernel.o", "-MF", "kernel.d", "-x",
                 "cu", "-c", clone / "kernel.cu", "-o", "kernel.o"], clone / "build", **environment)
            self.assertGreater((clone / "build" / "kernel.o").stat().st_size, 0)
            shutil.rmtree(clone)
            return self.hits()

        self.assertEqual(compile("first"), (0, 1))
        self.assertEqual(compile("at/another/path"), (1, 1))
        self.assertEqual(compile("changed", value=2), (0, 1))

    def test_ptx(self):
        # Only what has passed is skipped: a changed header is compiled, and what has an error stays an error.
        if not NVCC:
            self.skipTest("there is no nvcc")
        environment = {"POLYAD_CACHE": str(self.folder / "cache"), "POLYAD_PASSED_LOG": str(self.log)}

        def check(name, value=1, more=()):
            clone = self.cuda_clone(name, value)
            command = [sys.executable, clone / "cmake" / "skip_passed.py", NVCC, f"-I{clone}", *more, "-MD", "-MT", "kernel.o",
                       "-MF", "kernel.d", "-x", "cu", "-ptx", clone / "kernel.cu", "-o", "kernel.o"]
            try:
                run(command, clone / "build", **environment)
                self.assertIn("value.hpp", (clone / "build" / "kernel.d").read_text())
                return self.log.read_text().split()
            finally:
                self.log.unlink(missing_ok=True)
                shutil.rmtree(clone)

        self.assertEqual(check("first"), ["compiled"])
        self.assertEqual(check("at/another/path"), ["skipped"])
        self.assertEqual(check("changed", value=2), ["compiled"])
        self.assertEqual(check("flags", more=["-DOTHER"]), ["compiled"])
        for name in "once", "twice":
            with self.assertRaises(AssertionError):
                check(name, value="missing")


if __name__ == "__main__":
    SOURCE, CXX, KOKKOS_DIR, BACKEND = pathlib.Path(sys.argv[1]), *sys.argv[2:5]
    NVCC = sys.argv[5] if len(sys.argv) > 5 else ""
    del sys.argv[1:]
    if not shutil.which("ccache"):
        print("there is no ccache")
        sys.exit(SKIPPED)
    unittest.main()
