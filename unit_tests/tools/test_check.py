#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/test with names of tests, and scripts/check: which tests a name means, what they need, and which tests a changed
file affects. They work on a small project whose compiler only writes which headers a source includes.
Usage: test_check.py SCRIPTS_FOLDER"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCES = {
    "src/formats/csf/storage/csf.hpp": "",
    "src/formats/csf/csf.cpp": '#include "formats/csf/storage/csf.hpp"\n',
    "src/kernel/launch.hpp": "",
    "src/cp/cp_als.cpp": '#include "kernel/launch.hpp"\n',
    "src/cli/main.cpp": "",
    "src/cli/drivers/completion_impl.hpp": "",
    "src/cli/commands/cpd.cpp": '#include "cli/drivers/factor.hpp"\n',
    "src/cli/commands/fast_tucker.cpp": '#include "cli/drivers/completion.hpp"\n',
    "src/cli/drivers/completion.hpp": "",
    "src/cli/drivers/completion_f32.cpp": '#include "cli/drivers/completion_impl.hpp"\n',
    "src/cli/drivers/factor.hpp": "",
    "src/cli/drivers/factor.cpp": '#include "cli/drivers/factor.hpp"\n',
    "unit_tests/cp/test_cp.cpp": '#include "kernel/launch.hpp"\n',
    "unit_tests/formats/csf/test_csf.cpp": '#include "formats/csf/storage/csf.hpp"\n',
    "unit_tests/cli/test_cpd.py": '"cpd" "cpd"',
    "unit_tests/cli/test_completion.py": '"fast-tucker"',
    "unit_tests/cli/test_files.py": '"cpd" "convert"',
    "unit_tests/cli/tool.py": "",
    "examples/small.cpp": "",
    "python/polyad/_tensor.py": "",
    "python/tests/test_tensor.py": "",
    "build/openmp/src/joined.cpp": '#include "cli/commands/cpd.cpp"\n#include "cli/drivers/factor.cpp"\n',
    ".gitignore": "build/\n__pycache__/\n",
    "scripts/compile_seconds.txt": "# none\n",
}

# "Compiles" by noting the headers that a source includes, as deep as this project needs.
COMPILER = """#!/usr/bin/env python3
import pathlib, re, sys
source, made = map(pathlib.Path, sys.argv[1:])
read = [source]
for path in read:
    read += [pathlib.Path("../../src", name) for name in re.findall('#include "(.*)"', path.read_text())]
made.parent.mkdir(parents=True, exist_ok=True)
made.write_text("")
pathlib.Path(f"{made}.d").write_text(f"{made}: {' '.join(map(str, read))}")
"""


BUILD = """
rule compile
  command = ./compiler $in $out
  deps = gcc
  depfile = $out.d
  description = Building CXX object $out
rule link
  command = mkdir -p bin && printf '#!/bin/sh\\n' > $out && chmod +x $out
rule again
  command = true
  generator = 1
build build.ninja: again
build src/x.dir/csf.o: compile ../../src/formats/csf/csf.cpp
build src/x.dir/cp_als.o: compile ../../src/cp/cp_als.cpp
build src/x.dir/joined.cpp.o: compile src/joined.cpp
build src/libpolyad.a: link src/x.dir/csf.o src/x.dir/cp_als.o
build polyad: phony src/libpolyad.a
build unit_tests/x.dir/test_cp.o: compile ../../unit_tests/cp/test_cp.cpp
build unit_tests/x.dir/test_csf.o: compile ../../unit_tests/formats/csf/test_csf.cpp
build bin/polyad_unit_tests: link unit_tests/x.dir/test_cp.o unit_tests/x.dir/test_csf.o | src/libpolyad.a || bin/other
build bin/polyad: link src/x.dir/joined.cpp.o | src/libpolyad.a
build examples/x.dir/small.o: compile ../../examples/small.cpp
build bin/small: link examples/x.dir/small.o
build bin/other: link
build bin/setup: link
build headers: phony src/x.dir/csf.o
build all: phony bin/polyad_unit_tests bin/polyad bin/small bin/setup
default all
"""

TESTS = """
add_test([=[unit.cp.openmp-1]=] "@/build/openmp/bin/polyad_unit_tests" "[#test_cp]")
add_test([=[unit.cp.openmp-2]=] "@/build/openmp/bin/polyad_unit_tests" "[#test_cp]")
add_test([=[unit.formats.csf.openmp-1]=] "@/build/openmp/bin/polyad_unit_tests" "[#test_csf]")
add_test([=[cli.cpd]=] "true" "@/unit_tests/cli/test_cpd.py")
set_tests_properties([=[cli.cpd]=] PROPERTIES ENVIRONMENT "X=1;POLYAD_TOOL=@/build/openmp/bin/polyad")
add_test([=[cli.completion]=] "true" "@/unit_tests/cli/test_completion.py" "@/build/openmp/bin/polyad")
add_test([=[cli.files]=] "true" "@/unit_tests/cli/test_files.py" "@/build/openmp/bin/polyad")
add_test([=[golden.every_format]=] "true" "@/build/openmp/bin/polyad" "uber")
add_test([=[golden.tucker]=] "true" "@/build/openmp/bin/polyad")
add_test([=[golden.completion]=] "true" "@/build/openmp/bin/polyad")
add_test([=[example.small]=] "@/build/openmp/bin/small")
add_test([=[package.installed]=] "true")
set_tests_properties([=[package.installed]=] PROPERTIES REQUIRED_FILES "@/build/openmp/src/libpolyad.a;@/README.md")
add_test([=[headers_alone.formats.csf]=] "cmake" "--build" "@/build/openmp" "--target" "headers")
add_test([=[layers]=] "true")
add_test([=[fixture.setup]=] "@/build/openmp/bin/setup")
set_tests_properties([=[fixture.setup]=] PROPERTIES FIXTURES_SETUP "f")
add_test([=[with.fixture]=] "true")
set_tests_properties([=[with.fixture]=] PROPERTIES FIXTURES_REQUIRED "f")
add_test([=[after]=] "true")
set_tests_properties([=[after]=] PROPERTIES DEPENDS "example.small")
"""

GOLDEN = {"golden.every_format", "golden.tucker", "golden.completion"}

STUBS = {
    "setup": 'if [ "$1" = --print-python ]; then echo python3; fi',
    "build": 'cd build/openmp; shift; while [ $# -gt 0 ] && [ "${1#-}" != "$1" ]; do shift; done; ninja "$@" >&2',
    "format": 'echo "formatting $*"',
    "check_functions": "exit 0",
    "prose": "exit $(cat prose_fails 2>/dev/null || echo 0)",
    "check_layers.py": "true",
    "tidy": 'echo "tidying $*"; exit $(cat tidy_fails 2>/dev/null || echo 0)',
    "test_python": 'echo "pytest $*"',
}


class Project(unittest.TestCase):
    """Each test has a project of its own, in which nothing has been built."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name).resolve()
        for name, text in SOURCES.items():
            self.write(name, text)
        self.write("build/openmp/build.ninja", BUILD)
        self.write("build/openmp/CTestTestfile.cmake", TESTS.replace("@", str(self.root)))
        self.write("build/openmp/CMakeCache.txt", f"Python3_EXECUTABLE:FILEPATH=python3\nCMAKE_GENERATOR:INTERNAL=Ninja\n"
                   "CMAKE_PROJECT_NAME:STATIC=Small\n"
                   f"CMAKE_MAKE_PROGRAM:FILEPATH={shutil.which('ninja')}\n")
        self.write("build/openmp/compiler", COMPILER, executable=True)
        for name, text in STUBS.items():
            self.write(f"scripts/{name}", f"#!/usr/bin/env bash\n{text}\n", executable=True)
        for name in ("test", "check", "jobs", "affected_tests.py", "ctest_targets.py"):
            shutil.copy(pathlib.Path(SCRIPTS, name), self.root / "scripts")
        self.build = self.root / "build/openmp"

    def write(self, name, text, executable=False):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if executable:
            path.chmod(0o755)

    def run_in(self, *command):
        surroundings = {k: v for k, v in os.environ.items() if not k.startswith(("POLYAD_", "GIT_"))}
        return subprocess.run(command, cwd=self.root, capture_output=True, text=True, env={**surroundings, "POLYAD_JOBS": "2"})

    def built(self):
        return {path.name for path in (self.build / "bin").glob("*")}


class NamesOfTests(Project):
    def setUp(self):
        super().setUp()
        self.tests = ctest_targets.Build(self.build)

    def test_names(self):
        for name, tests in (
            ("cp", ["unit.cp.openmp-1", "unit.cp.openmp-2"]),
            ("unit.cp", ["unit.cp.openmp-1", "unit.cp.openmp-2"]),
            ("cp.openmp-2", ["unit.cp.openmp-2"]),
            ("csf", ["unit.formats.csf.openmp-1"]),
            ("formats", ["unit.formats.csf.openmp-1"]),
            ("cli", ["cli.cpd", "cli.completion", "cli.files"]),
            ("headers_alone.formats.csf", ["headers_alone.formats.csf"]),
        ):
            with self.subTest(name):
                self.assertEqual(self.tests.matching(name), tests)

    def test_unknown_names(self):
        for name, similar in (("cfs", "csf"), ("cl", "cli.cpd"), ("golden.every", "golden.every_format"), ("c.", "")):
            with self.subTest(name), self.assertRaises(ctest_targets.UnknownTest) as raised:
                self.tests.matching(name)
            self.assertIn(similar, str(raised.exception))

    def test_selection_is_exact(self):
        pattern = ctest_targets.selection(["cli.cpd", "a+b"])
        self.assertTrue(re.search(pattern, "cli.cpd") and re.search(pattern, "a+b"))
        for other in ("cli.cpd2", "xcli.cpd", "cli-cpd", "aab"):
            self.assertIsNone(re.search(pattern, other), other)

    def test_targets(self):
        for test, targets in (
            ("unit.cp.openmp-1", ["bin/polyad_unit_tests"]),  # its command is not in ctest's list before it is built
            ("cli.cpd", ["bin/polyad"]),
            ("cli.files", ["bin/polyad"]),
            ("package.installed", ["src/libpolyad.a"]),
            ("with.fixture", ["bin/setup"]),
            ("after", ["bin/small"]),
            ("layers", []),
            ("headers_alone.formats.csf", []),
        ):
            with self.subTest(test):
                self.assertEqual(self.tests.targets([test]), targets)
        self.assertEqual(self.tests.tests["headers_alone.formats.csf"].built_target(), "headers")
        self.assertIsNone(self.tests.tests["layers"].built_target())


class ScriptTest(Project):
    def test_builds_only_what_it_runs(self):
        ended = self.run_in("scripts/test", "csf", "layers")
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertIn("100% tests passed, 0 tests failed out of 2", ended.stdout)
        # bin/other is only an order, which ninja follows.
        self.assertEqual(self.built(), {"polyad_unit_tests", "other"})

    def test_needs_nothing(self):
        ended = self.run_in("scripts/test", "layers")
        self.assertIn("out of 1", ended.stdout)
        self.assertEqual(self.built(), set())

    def test_arguments_of_ctest_build_everything(self):
        ended = self.run_in("scripts/test", "-R", "layers")
        self.assertIn("out of 1", ended.stdout)
        self.assertEqual(self.built(), {"polyad_unit_tests", "polyad", "small", "setup", "other"})

    def test_names_and_arguments_of_ctest(self):
        ended = self.run_in("scripts/test", "cp", "--build-only", "-E", "openmp-2")
        self.assertEqual(self.built(), {"polyad_unit_tests", "other"})
        self.assertIn("compiled, not run", ended.stdout)
        self.assertIn("out of 1", self.run_in("scripts/test", "cp", "-E", "openmp-2").stdout)

    def test_errors(self):
        for arguments, message in ((("cfs",), "csf"), (("cp", "-R", "x"), "-R"), (("cp", "csff", "--build-only"), "csf")):
            with self.subTest(arguments):
                ended = self.run_in("scripts/test", *arguments)
                self.assertEqual(ended.returncode, 2, ended.stdout)
                self.assertIn(message, ended.stderr)
        self.assertEqual(self.built(), set())

    def test_python(self):
        ended = self.run_in("scripts/test", "python")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("pytest", ended.stdout)
        self.assertTrue((self.build / "src/libpolyad.a").exists())
        self.assertEqual(self.built(), set())


class Affected(Project):
    def affected(self, built=True):
        if built:
            subprocess.run(["ninja", "all", "headers"], cwd=self.build, check=True, capture_output=True)
        return affected_tests.AffectedTests(ctest_targets.Build(self.build), self.root)

    def test_header(self):
        unit_tests = {"unit.cp.openmp-1", "unit.cp.openmp-2", "unit.formats.csf.openmp-1"}
        tool = {"cli.cpd", "cli.completion", "cli.files", *GOLDEN}
        tests = self.affected()
        self.assertEqual(tests.affected("src/formats/csf/storage/csf.hpp"),
                         unit_tests | tool | {"package.installed", "headers_alone.formats.csf"})
        self.assertEqual(tests.affected("src/cli/drivers/factor.hpp"), tool)
        self.assertEqual(tests.affected("src/unused.hpp"), set())

    def test_source(self):
        tests = self.affected()
        self.assertEqual(tests.affected("examples/small.cpp"), {"example.small", "after"})
        self.assertEqual(tests.affected("src/cli/commands/cpd.cpp"),
                         {"cli.cpd", "cli.completion", "cli.files", *GOLDEN})
        self.assertEqual(tests.affected("docs/tool.md"), set())

    def test_nothing_is_built(self):
        tests = self.affected(built=False)
        self.assertEqual(tests.affected("examples/small.cpp"), {"example.small", "after"})
        self.assertIn("cli.cpd", tests.affected("src/cli/commands/cpd.cpp"))
        self.assertNotIn("example.small", tests.affected("src/cli/commands/cpd.cpp"))
        self.assertIn("unit.formats.csf.openmp-1", tests.affected("src/formats/csf/storage/csf.hpp"))
        self.assertNotIn("example.small", tests.affected("src/formats/csf/storage/csf.hpp"))
        # cpd.cpp includes it, and is joined with others.
        self.assertIn("cli.cpd", tests.affected("src/cli/drivers/factor.hpp"))

    def test_first(self):
        tests = self.affected()
        for file, names in (
            ("src/formats/csf/storage/csf.hpp", ["unit.formats.csf.openmp-1", "golden.every_format", "headers_alone.formats.csf"]),
            ("src/cp/cp_als.cpp", ["unit.cp.openmp-1", "unit.cp.openmp-2", "golden.every_format"]),
            # No test has the name of this folder, but one includes the header.
            ("src/kernel/launch.hpp", ["unit.cp.openmp-1", "unit.cp.openmp-2", "golden.every_format"]),
            ("src/cli/commands/cpd.cpp", ["cli.cpd", "cli.files"]),
            ("unit_tests/cli/test_files.py", ["cli.files"]),
            ("unit_tests/cli/tool.py", ["cli.cpd", "cli.completion", "cli.files"]),
            ("docs/tool.md", []),
        ):
            with self.subTest(file):
                found = sorted(tests.first(file), key=lambda each: each[0])
                self.assertEqual(list(dict.fromkeys(name for _, name in found))[: len(names) or 1], names)

    def test_commands(self):
        for file, commands in (
            ("src/cli/commands/cpd.cpp", ["cpd"]),
            ("src/cli/drivers/factor.cpp", ["cpd"]),
            ("src/cli/drivers/completion_f32.cpp", ["fast-tucker"]),
            ("src/cli/main.cpp", []),
        ):
            self.assertEqual(affected_tests.commands_of(file, self.root / "src"), commands, file)

    def test_python(self):
        for file, names in (
            ("python/polyad/_tensor.py", ["test_tensor.py"]),
            ("python/polyad/_functions.py", ["test_functions.py"]),
            ("python/tests/test_device.py", ["test_device.py"]),
            ("src/cp/cp_als.cpp", []),
        ):
            self.assertEqual(affected_tests.python_tests(file), names, file)


class ScriptCheck(Project):
    def setUp(self):
        super().setUp()
        self.git("init", "--quiet")
        self.commit()
        subprocess.run(["ninja", "all", "headers"], cwd=self.build, check=True, capture_output=True)

    def git(self, *arguments):
        ended = self.run_in("git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments)
        self.assertEqual(ended.returncode, 0, ended.stderr)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", "x")

    def check_ended(self, status, *arguments):
        ended = self.run_in("scripts/check", *arguments)
        self.assertEqual(ended.returncode, status, ended.stdout + ended.stderr)
        return ended.stdout

    def test_nothing_changed(self):
        self.assertIn("nothing differs from HEAD", self.check_ended(0))

    def test_kernel(self):
        self.write("src/formats/csf/storage/csf.hpp", "// changed\n")
        said = self.check_ended(0)
        self.assertIn("formatting --check src/formats/csf/storage/csf.hpp", said)
        self.assertRegex(said, r"tests: unit.formats.csf.openmp-1, golden.every_format, headers_alone.formats.csf +\d+\.\d  ok")
        self.assertRegex(said, r"left to .ci/run:\n.*not a test of the same folder:\n.*unit.cp.openmp-1,2")
        self.assertIn("cuda: compiled", said)

    def test_time(self):
        self.write("src/formats/csf/storage/csf.hpp", "// changed\n")
        said = self.check_ended(0, "--seconds", "0")
        self.assertNotIn("tests:", said)
        self.assertRegex(said, r"would take more than the 0 s .*:\n +unit.formats.csf.openmp-1")

    def test_choice_only(self):
        self.write("src/cp/cp_als.cpp", "// changed\n")
        self.assertIn("chosen: unit.cp.openmp-1,2, golden.every_format\n", self.check_ended(0, "--dry-run"))

    def test_failures(self):
        self.write("prose_fails", "77")
        self.assertRegex(self.check_ended(0), r"prose +\d+\.\d  not checked")
        self.write("prose_fails", "1")
        self.assertRegex(self.check_ended(1), r"prose +\d+\.\d  FAILED")
        (self.root / "prose_fails").unlink()
        self.write("tidy_fails", "77")
        self.write("src/cp/cp_als.cpp", "// changed\n")
        said = self.check_ended(0)
        self.assertIn("tidying --base HEAD --seconds 40", said)
        self.assertRegex(said, r"clang-tidy +\d+\.\d  not checked")
        self.write("tidy_fails", "1")
        self.assertRegex(self.check_ended(1), r"clang-tidy +\d+\.\d  FAILED")
        (self.root / "tidy_fails").unlink()
        self.git("checkout", "--quiet", "src/cp/cp_als.cpp")
        self.write("examples/small.cpp", "#include \"missing.hpp\"\n")
        said = self.check_ended(1)
        self.assertRegex(said, r"built: bin/small +\d+\.\d  FAILED")
        self.assertRegex(said, r"could not be built:\n.*example.small")

    def test_base(self):
        self.write("python/polyad/_tensor.py", "# changed\n")
        self.commit()
        self.assertIn("nothing differs", self.check_ended(0))
        self.write("docs/new.md", "A new page.\n")
        said = self.check_ended(0, "HEAD~1")
        self.assertIn("pytest --built python/tests/test_tensor.py", said)
        self.assertIn("the site", said)
        self.assertEqual(self.run_in("scripts/check", "no-such-commit").returncode, 1)


if __name__ == "__main__":
    SCRIPTS = pathlib.Path(sys.argv.pop(1)).resolve()
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(SCRIPTS))
    import affected_tests
    import ctest_targets

    unittest.main()
