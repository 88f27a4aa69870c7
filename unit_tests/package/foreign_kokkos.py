#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Kokkos of a project that uses an installed Polyad: the one that Polyad was compiled with, or an error that says
what each of them is, whatever way the other one got into the project.

    foreign_kokkos.py FOLDER"""

import pathlib
import shutil
import sys
import unittest

from fake_packages import add_backend, add_kokkos, configure

WORK = pathlib.Path(sys.argv.pop(1)).resolve()
FIND = "find_package(Polyad 0.2 CONFIG REQUIRED)\n"
# A Kokkos of this machine does not count.
NO_SYSTEM = "set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)\nset(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)\n"
WHERE = ("get_target_property(headers Kokkos::kokkoscore INTERFACE_INCLUDE_DIRECTORIES)\n"
         'message(STATUS "Kokkos of ${headers}")\n')


class Kokkos(unittest.TestCase):
    def setUp(self):
        self.work = WORK / self.id().split(".")[-1]
        shutil.rmtree(self.work, ignore_errors=True)
        self.prefix = self.work / "prefix"
        self.root = f"-DPolyad_ROOT={self.prefix}"
        self.other = self.work / "other"

    def ways(self):
        """The lines before find_package(Polyad), and the definitions, that give the project the other Kokkos."""
        yield "", [f"-DKokkos_ROOT={self.other}"]
        yield "", [f"-DKokkos_DIR={self.other}/lib/cmake/Kokkos"]
        yield ("find_package(Kokkos CONFIG REQUIRED)\n",
               [f"-DCMAKE_PREFIX_PATH={self.other}", "-DCMAKE_CXX_EXTENSIONS=OFF"])
        # In the source tree: the headers are wrapped, and no variable says what it is.
        yield (f"""
add_library(kokkoscore INTERFACE)
target_include_directories(kokkoscore INTERFACE "$<BUILD_INTERFACE:{self.other}/include>")
add_library(Kokkos::kokkoscore ALIAS kokkoscore)
add_library(kokkos INTERFACE)
add_library(Kokkos::kokkos ALIAS kokkos)
add_library(kokkoskernels INTERFACE)
add_library(Kokkos::kokkoskernels ALIAS kokkoskernels)
""", [])

    def test_other_kokkos_is_refused(self):
        add_backend(self.prefix, "openmp")
        for version, devices in [("4.7.0", ["SERIAL"]), ("4.7.0", ["OPENMP"]),
                                 ("4.7.0", ["OPENMP", "SERIAL", "CUDA"]), ("4.7.1", ["OPENMP", "SERIAL"]),
                                 ("4.5.1", ["SERIAL", "OPENMP"]), ("5.0.0", ["THREADS"])]:
            add_kokkos(self.other, version, devices)
            for lines, definitions in self.ways():
                with self.subTest(version=version, devices=devices, lines=lines, definitions=definitions):
                    status, output = configure(self.work, lines + FIND, self.root, *definitions)
                    self.assertNotEqual(status, 0)
                    self.assertIn("compiled with Kokkos 4.7.0 and the devices OPENMP, SERIAL", output)
                    self.assertIn(f"is {version} with the devices {', '.join(sorted(devices))}", output)

    def test_the_same_kokkos_elsewhere_is_accepted(self):
        add_backend(self.prefix, "openmp")
        add_kokkos(self.other, "4.7.0", ["SERIAL", "OPENMP"])
        for lines, definitions in self.ways():
            with self.subTest(lines=lines, definitions=definitions):
                status, output = configure(self.work, lines + FIND + WHERE, self.root, *definitions)
                self.assertEqual(status, 0, output)
                self.assertIn(f"{self.other}/include", output)

    def test_a_kokkos_that_nobody_named_is_passed_over(self):
        add_backend(self.prefix, "openmp")
        add_kokkos(self.other, "4.5.1", ["SERIAL"])
        status, output = configure(self.work, FIND + WHERE, self.root, f"-DCMAKE_PREFIX_PATH={self.other}")
        self.assertEqual(status, 0, output)
        self.assertIn(f"Kokkos of {self.prefix}", output)

    def test_without_a_kokkos_it_says_what_to_set(self):
        add_backend(self.prefix, "openmp", kokkos_folder=self.work / "gone")
        status, output = configure(self.work, NO_SYSTEM + FIND, self.root)
        self.assertNotEqual(status, 0)
        self.assertIn("compiled with Kokkos 4.7.0 and the devices OPENMP, SERIAL, and no Kokkos was found", output)
        self.assertIn("Set -DKokkos_ROOT=PREFIX", output)

    def test_without_kokkos_kernels_it_says_what_to_set(self):
        folder = add_kokkos(self.other, "4.7.0", ["CUDA", "SERIAL"], kernels=False)
        add_backend(self.prefix, "cuda", kokkos_folder=folder)
        status, output = configure(self.work, NO_SYSTEM + FIND, self.root)
        self.assertNotEqual(status, 0)
        self.assertIn("no Kokkos Kernels", output)
        self.assertIn("Set -DKokkosKernels_ROOT=PREFIX", output)

    def test_a_host_needs_no_kokkos_kernels(self):
        for backend, devices in (("serial", ["SERIAL"]), ("openmp", ["OPENMP", "SERIAL"])):
            folder = add_kokkos(self.other, "4.7.0", devices, kernels=False)
            add_backend(self.prefix, backend, kokkos_folder=folder)
            status, output = configure(self.work, NO_SYSTEM + FIND, self.root, f"-DPOLYAD_BACKEND={backend}")
            self.assertEqual(status, 0, output)

    def test_in_the_same_prefix(self):
        """As it is with a Kokkos from the source tree, which is installed with the project."""
        add_kokkos(self.prefix, "4.7.0", ["OPENMP", "SERIAL"])
        add_backend(self.prefix, "openmp", kokkos_folder="")
        status, output = configure(self.work, FIND + WHERE, f"-DPolyad_DIR={self.prefix}/lib/cmake/Polyad")
        self.assertEqual(status, 0, output)
        self.assertIn(f"Kokkos of {self.prefix}/include", output)

    def test_no_warning_about_extensions(self):
        """Kokkos warns unless the project chose to compile without them; the project's own choice stays."""
        add_backend(self.prefix, "openmp")
        shown = 'message(STATUS "now ${CMAKE_CXX_EXTENSIONS}.")\n'
        for chosen, after in (("", "OFF"), ("set(CMAKE_CXX_EXTENSIONS ON)\n", "ON"),
                              ("set(CMAKE_CXX_EXTENSIONS OFF)\n", "OFF")):
            with self.subTest(chosen=chosen):
                status, output = configure(self.work, chosen + FIND + shown, self.root)
                self.assertEqual(status, 0, output)
                self.assertNotIn("Warning", output)
                self.assertIn(f"now {after}.", output)


if __name__ == "__main__":
    unittest.main()
