#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cmake/JoinedSources.cmake: sources with properties of their own are not joined, which would lose the properties.
Usage: test_joined_sources.py CMAKE PROJECT_FOLDER"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(joined LANGUAGES NONE)
include({module})
set(some a.cpp b.cpp with_include.cpp c.cpp with_definition.cpp d.cpp e.cpp)
set_property(SOURCE with_include.cpp APPEND PROPERTY INCLUDE_DIRECTORIES /somewhere)
set_property(SOURCE with_definition.cpp APPEND PROPERTY COMPILE_DEFINITIONS HAVE_IT)
polyad_join_sources(some 3)
set(alone only.cpp)
set_property(SOURCE only.cpp APPEND PROPERTY COMPILE_OPTIONS -O0)
polyad_join_sources(alone 3)
file(WRITE ${{CMAKE_BINARY_DIR}}/lists "${{some}}\\n${{alone}}\\n")
"""


class JoinedSources(unittest.TestCase):
    def test_properties_are_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            source, build = pathlib.Path(folder, "source"), pathlib.Path(folder, "build")
            source.mkdir()
            (source / "CMakeLists.txt").write_text(PROJECT.format(module=MODULE))
            subprocess.run([CMAKE, "-S", source, "-B", build], check=True, capture_output=True)
            some, alone = (line.split(";") for line in (build / "lists").read_text().splitlines())
            joined = [name for name in some if "joined/" in name]
            self.assertEqual(sorted(set(some) - set(joined)), ["with_definition.cpp", "with_include.cpp"])
            included = [line for name in joined for line in pathlib.Path(name).read_text().splitlines()
                        if line.startswith("#include")]
            self.assertEqual(included, [f'#include "{name}.cpp"' for name in "abcde"])
            self.assertEqual(len(joined), 2)
            self.assertEqual(alone, ["only.cpp"])


if __name__ == "__main__":
    CMAKE, MODULE = sys.argv[1], pathlib.Path(sys.argv[2], "cmake/JoinedSources.cmake")
    unittest.main(argv=sys.argv[:1])
