#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which backend find_package(Polyad) takes: for all sets of installed backends, all values of POLYAD_BACKEND and all
COMPONENTS, compared with the rule that docs/library.md states. And what a project cannot have.

    choose_backend.py FOLDER"""

import itertools
import pathlib
import shutil
import sys
import unittest

from fake_packages import (BACKENDS, DEVICES, PROJECT, add_backend, add_kokkos, configure, configure_again,
                           write)

WORK = pathlib.Path(sys.argv.pop(1)).resolve()

# A folder each, which has imported targets of its own and begins like a new project.
CASE = """
set_property(GLOBAL PROPERTY POLYAD_BACKEND "")
set_property(GLOBAL PROPERTY POLYAD_FOLDER "")
set(POLYAD_BACKEND "{named}")
find_package(Polyad QUIET CONFIG COMPONENTS {required} OPTIONAL_COMPONENTS {optional})
message(STATUS "case <${{Polyad_FOUND}}|${{Polyad_BACKEND}}|${{Polyad_NOT_FOUND_MESSAGE}}>")
"""


def expected(installed, named, required, optional):
    """The backend, or None, and words of the message."""
    known = [component for component in required if component in BACKENDS]
    if len(known) < len(required):
        return None, ["no component 'hip'", *installed]
    if len(set(required)) > 1:
        return None, ["more than one backend", *required]
    if named:
        return (named, []) if named in installed else (None, [f"POLYAD_BACKEND={named}", "not installed", *installed])
    if required:
        wanted = required[0]
        return (wanted, []) if wanted in installed else (None, [f"COMPONENTS {wanted}", "not installed", *installed])
    for component in optional:
        if component in installed:
            return component, []
    if len(installed) == 1:
        return installed[0], []
    return None, ["Several backends", "-DPOLYAD_BACKEND=", *installed]


class Choice(unittest.TestCase):
    def setUp(self):
        self.work = WORK / self.id().split(".")[-1]
        shutil.rmtree(self.work, ignore_errors=True)
        self.prefix = self.work / "prefix"
        self.root = f"-DPolyad_ROOT={self.prefix}"

    def test_all_cases(self):
        components = [(required, optional)
                      for required in [(), *((name,) for name in (*BACKENDS, "hip")), ("serial", "openmp"),
                                       ("cuda", "hip"), ("cuda", "cuda")]
                      for optional in [(), ("cuda",), ("hip", "openmp", "serial")]
                      # CMake itself refuses a component that is both.
                      if not set(required) & set(optional)]
        cases = [(named, *both) for named in ("", *BACKENDS, "hip") for both in components]
        calls = ""
        for number, (named, required, optional) in enumerate(cases):
            write(self.work / f"{number}/CMakeLists.txt",
                  CASE.format(named=named, required=" ".join(required), optional=" ".join(optional)))
            calls += f"add_subdirectory({number})\n"
        for count in (1, 2, 3):
            for installed in itertools.combinations(BACKENDS, count):
                shutil.rmtree(self.prefix, ignore_errors=True)
                for backend in installed:
                    add_backend(self.prefix, backend)
                status, output = configure(self.work, calls, self.root)
                self.assertEqual(status, 0, output)
                lines = [line.split(">")[0].split("|") for line in output.split("-- case <")[1:]]
                self.assertEqual(len(lines), len(cases))
                for (named, required, optional), (found, backend, message) in zip(cases, lines):
                    with self.subTest(installed=installed, named=named, required=required, optional=optional):
                        wanted, words = expected(installed, named, required, optional)
                        self.assertEqual(backend or None, wanted, message)
                        self.assertEqual(found, "0" if wanted is None else "1")
                        for word in words:
                            self.assertIn(word, message)

    def test_several_and_none_named_stops(self):
        add_backend(self.prefix, "openmp")
        add_backend(self.prefix, "cuda")
        status, output = configure(self.work, "find_package(Polyad 0.2 CONFIG REQUIRED)\n", self.root)
        self.assertNotEqual(status, 0)
        self.assertIn("openmp 0.2.0, cuda 0.2.0", output)

    def test_a_backend_that_is_not_installed_stops(self):
        add_backend(self.prefix, "openmp")
        status, output = configure(self.work, "find_package(Polyad 0.2 CONFIG REQUIRED)\n", self.root,
                                   "-DPOLYAD_BACKEND=cuda")
        self.assertNotEqual(status, 0)
        self.assertIn("POLYAD_BACKEND=cuda asks for a backend of Polyad that is not installed", output)

    def test_a_build_folder_changes_its_backend(self):
        """Each backend has a Kokkos of its own, and CMake remembers the first one."""
        for backend in BACKENDS:
            add_backend(self.prefix, backend)
        project = ("find_package(Polyad 0.2 CONFIG REQUIRED)\n"
                   "get_target_property(headers Kokkos::kokkoscore INTERFACE_INCLUDE_DIRECTORIES)\n"
                   'message(STATUS "with ${Polyad_BACKEND} ${headers}")\n')
        status, output = configure(self.work, project, self.root, "-DPOLYAD_BACKEND=serial")
        self.assertEqual(status, 0, output)
        for backend in ("cuda", "openmp", "serial"):
            status, output = configure_again(self.work, f"-DPOLYAD_BACKEND={backend}")
            self.assertEqual(status, 0, output)
            self.assertIn(f"with {backend} {self.prefix}/lib/polyad/kokkos-{backend}/include", output)
            self.assertNotIn("Warning", output)

    def test_a_build_folder_of_polyad_changes_its_backend(self):
        """What the first one left there would make two."""
        build = self.work / "build"
        for backend in ("serial", "openmp"):
            kokkos = add_kokkos(self.work / backend, "4.7.0", DEVICES[backend])
            status, output = configure_again(
                PROJECT, f"-DPOLYAD_BACKEND={backend}", f"-DKokkos_DIR={kokkos}",
                f"-DKokkosKernels_DIR={kokkos}/../KokkosKernels", "-DPOLYAD_ENABLE_TESTS=OFF",
                "-DPOLYAD_ENABLE_PERF_TESTS=OFF", "-DPOLYAD_ENABLE_TOOL=OFF", build=build)
            self.assertEqual(status, 0, output)
            self.assertNotIn("Warning", output)
            self.assertEqual([file.name for file in build.glob("PolyadBackend-*")], [f"PolyadBackend-{backend}.cmake"])
            self.assertEqual([file.name for file in build.glob("PolyadTargets*")], [f"PolyadTargets-{backend}.cmake"])

    def test_two_backends_in_one_project(self):
        for backend in BACKENDS:
            add_backend(self.prefix, backend)
        first = "find_package(Polyad CONFIG REQUIRED COMPONENTS serial)\n"
        for second in ("find_package(Polyad CONFIG REQUIRED COMPONENTS cuda)\n",
                       "set(POLYAD_BACKEND cuda)\nfind_package(Polyad CONFIG REQUIRED)\n"):
            for where in ("same", "sibling"):
                with self.subTest(second=second, where=where):
                    if where == "sibling":
                        write(self.work / "first/CMakeLists.txt", first)
                        status, output = configure(self.work, "add_subdirectory(first)\n" + second, self.root)
                    else:
                        status, output = configure(self.work, first + second, self.root)
                    self.assertNotEqual(status, 0)
                    self.assertIn("uses the backend serial of Polyad already", output)
                    self.assertIn("cuda asks for a second one", output)

    def test_one_backend_several_times(self):
        for backend in BACKENDS:
            add_backend(self.prefix, backend)
        again = ("find_package(Polyad CONFIG REQUIRED)\n"
                 "find_package(Polyad CONFIG REQUIRED COMPONENTS serial)\n"
                 'message(STATUS "again ${Polyad_BACKEND}")\n')
        write(self.work / "first/CMakeLists.txt",
              "find_package(Polyad CONFIG REQUIRED COMPONENTS serial)\n" + again)
        status, output = configure(self.work, "add_subdirectory(first)\n" + again, self.root)
        self.assertEqual(status, 0, output)
        self.assertEqual(output.count("again serial"), 2)
        self.assertNotIn("Warning", output)

    def test_two_prefixes_in_one_project(self):
        add_backend(self.prefix, "serial")
        add_backend(self.work / "other", "serial")
        status, output = configure(
            self.work, f"find_package(Polyad CONFIG REQUIRED PATHS {self.prefix} NO_DEFAULT_PATH)\n"
            "unset(Polyad_DIR CACHE)\n"
            f"find_package(Polyad CONFIG REQUIRED PATHS {self.work}/other NO_DEFAULT_PATH)\n")
        self.assertNotEqual(status, 0)
        self.assertIn(f"uses the Polyad of {self.prefix}/lib/cmake/Polyad already", output)

    def test_two_versions_in_one_prefix(self):
        add_backend(self.prefix, "openmp", "0.2.0")
        add_backend(self.prefix, "cuda", "0.2.1")
        for definitions in ([], ["-DPOLYAD_BACKEND=openmp"], ["-DPOLYAD_BACKEND=cuda"]):
            status, output = configure(self.work, "find_package(Polyad CONFIG REQUIRED)\n", self.root, *definitions)
            self.assertNotEqual(status, 0)
            self.assertIn("different versions of Polyad: openmp 0.2.0, cuda 0.2.1", output)


if __name__ == "__main__":
    unittest.main()
