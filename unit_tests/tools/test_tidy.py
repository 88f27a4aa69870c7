#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/tidy in small repositories, with a clang-tidy that finds the word FAULT:

    test_tidy.py SCRIPTS"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

NAMES = ["clang-tidy-19", "clang-tidy-18", "clang-tidy-17", "clang-tidy-16", "clang-tidy"]
# It looks at the source and at the headers that it includes, and reports in the files of the line filter.
TOOL = """#!/usr/bin/env python3
import json, pathlib, re, sys
if sys.argv[1] == "--version":
    print("LLVM version @VERSION@.0.1")
    sys.exit(0)
(reported,) = [json.loads(word.split("=", 1)[1]) for word in sys.argv if word.startswith("--line-filter=")]
source = next(pathlib.Path(word) for word in sys.argv if word.endswith(".cpp"))
root = pathlib.Path(__file__).parent.parent
if "CRASH" in source.read_text():
    sys.exit("it crashed")
if "ERROR" in source.read_text():
    print(f"{source}:1:1: error: no such type [clang-diagnostic-error]")
    sys.exit(1)
headers = [root / folder / name for name in re.findall('#include "(.+)"', source.read_text()) for folder in ("src", "include")]
found = 0
for path in [source, *filter(pathlib.Path.is_file, headers)]:
    if "FAULT" in path.read_text() and {"name": str(path)} in reported:
        print(f"{path}:1:1: warning: a fault [a-check]")
        found += 1
sys.exit(found > 0)
"""
SOURCES = {
    "src/core/a.hpp": "// good\n",
    "src/core/a.cpp": '#include "core/a.hpp"\n',
    "src/core/b.cpp": '#include "core/a.hpp"\n',
    "include/polyad/core/c.hpp": "// good\n",
    "src/core/d.cpp": '#include "polyad/core/c.hpp"\n',
    "src/core/joined_one.cpp": "// good\n",
    "src/core/alone.hpp": "// good\n",
    "unit_tests/core/test_a.cpp": "// good\n",
    "docs/page.md": "A page.\n",
    ".gitignore": "build/\n/bin/\n/scripts/\n",
}


class ScriptTidy(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name).resolve()
        for name, text in SOURCES.items():
            self.write(name, text)
        self.write("build/openmp/src/joined/some_0.cpp", '#include "core/joined_one.cpp"\n')
        self.write("build/openmp/unit_tests/core.cpp", '#include "core/test_a.cpp"\n')
        listed = [self.root / "src/core" / f"{name}.cpp" for name in ("a", "b", "d")]
        listed += [self.root / "build/openmp/src/joined/some_0.cpp", self.root / "build/openmp/unit_tests/core.cpp"]
        entries = [{"directory": str(self.root), "file": str(file), "command": f"g++ -c {file} -o x.o"} for file in listed]
        self.write("build/openmp/compile_commands.json", json.dumps(entries))
        for name in ("tidy", "check_clang.py", "jobs"):
            (self.root / "scripts").mkdir(exist_ok=True)
            shutil.copy(pathlib.Path(SCRIPTS, name), self.root / "scripts")
        self.use_version(19)
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def use_version(self, number):
        for name in NAMES:
            self.write(f"bin/{name}", TOOL.replace("@VERSION@", str(number)))
            (self.root / "bin" / name).chmod(0o755)

    def run_in(self, *command):
        surroundings = {k: v for k, v in os.environ.items() if not k.startswith(("POLYAD_", "GIT_"))}
        surroundings.update(POLYAD_JOBS="2", PATH=f"{self.root / 'bin'}:{os.environ['PATH']}")
        return subprocess.run(command, cwd=self.root, capture_output=True, text=True, env=surroundings)

    def git(self, *arguments):
        ended = self.run_in("git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments)
        self.assertEqual(ended.returncode, 0, ended.stderr)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", "x")

    def tidy(self, status, *arguments):
        ended = self.run_in("scripts/tidy", *arguments)
        self.assertEqual(ended.returncode, status, ended.stdout + ended.stderr)
        return ended.stdout + ended.stderr

    def test_no_sources(self):
        self.write("docs/page.md", "FAULT\n")
        self.assertIn("no C++ file has changed", self.tidy(0, "--base", "HEAD"))

    def test_changed_source(self):
        self.write("src/core/b.cpp", "// FAULT\n")
        self.assertIn("src/core/b.cpp:1:1: warning: a fault", self.tidy(1, "--base", "HEAD"))
        self.write("src/core/b.cpp", "// better\n")
        self.assertIn("0 findings in 1 sources", self.tidy(0, "--base", "HEAD"))

    def test_only_changed_files_are_reported(self):
        self.write("src/core/a.hpp", "// FAULT\n")
        self.commit()
        self.write("src/core/b.cpp", '#include "core/a.hpp"\n// changed\n')
        self.assertIn("0 findings in 1 sources", self.tidy(0, "--base", "HEAD"))

    def test_headers(self):
        # In the source of the same name, or in one that includes it. A header in two sources is reported once.
        self.write("src/core/a.hpp", "// FAULT\n")
        self.write("src/core/b.cpp", '#include "core/a.hpp"\n// changed\n')
        said = self.tidy(1, "--base", "HEAD")
        self.assertEqual(said.count("warning:"), 1, said)
        self.assertIn("1 findings in 2 sources", said)
        self.write("include/polyad/core/c.hpp", "// FAULT\n")
        self.assertIn("2 findings in 3 sources", self.tidy(1, "--base", "HEAD"))

    def test_joined_source(self):
        self.write("src/core/joined_one.cpp", "// FAULT\n")
        self.assertIn("src/core/joined_one.cpp:1:1: warning: a fault", self.tidy(1, "--base", "HEAD"))

    def test_what_is_not_checked(self):
        self.write("src/core/alone.hpp", "// FAULT\n")
        self.assertIn("src/core/alone.hpp belongs to no source", self.tidy(0, "--base", "HEAD"))
        self.write("src/core/b.cpp", "// FAULT\n")
        self.assertIn("src/core/b.cpp was left after 0 s", self.tidy(0, "--base", "HEAD", "--seconds", "0"))
        names = [f"src/core/many_{number}.cpp" for number in range(25)]
        for name in names:
            self.write(name, "// good\n")
        entries = [{"directory": str(self.root), "file": str(self.root / name), "command": "g++ -c x.cpp"} for name in names]
        self.write("build/openmp/compile_commands.json", json.dumps(entries))
        self.assertIn("tidy: 5 more sources were not checked either", self.tidy(0, "--base", "HEAD", "--seconds", "0"))

    def test_crash(self):
        self.write("src/core/b.cpp", "// CRASH\n")
        said = self.tidy(1, "--base", "HEAD")
        self.assertIn("it crashed", said)
        self.assertIn("clang-tidy ended with status 1", said)

    def test_errors(self):
        # A unit test may need what another file of its folder includes.
        self.write("unit_tests/core/test_a.cpp", "// ERROR\n")
        self.assertIn("unit_tests/core/test_a.cpp does not compile by itself: not checked", self.tidy(0, "--base", "HEAD"))
        self.write("src/core/b.cpp", "// ERROR\n")
        self.assertIn("1 findings in 1 sources", self.tidy(1, "--base", "HEAD"))

    def test_base(self):
        # On main: the last commit. On a branch: since it left main.
        self.write("src/core/b.cpp", "// FAULT\n")
        self.commit()
        self.assertIn("1 findings", self.tidy(1))
        self.git("checkout", "--quiet", "-b", "work")
        self.write("src/core/a.cpp", "// FAULT\n")
        self.commit()
        self.write("src/core/d.cpp", "// changed\n")
        self.commit()
        said = self.tidy(1)
        self.assertIn("src/core/a.cpp", said)
        self.assertNotIn("src/core/b.cpp", said)

    def test_nothing_to_check_with(self):
        self.write("src/core/b.cpp", "// FAULT\n")
        self.assertIn("NOTHING WAS CHECKED: git cannot compare", self.tidy(77, "--base", "no-such-commit"))
        self.assertIn("is not configured", self.tidy(77, "--base", "HEAD", "--build", "build/none"))
        self.use_version(14)
        self.assertIn("no clang-tidy 16 or newer", self.tidy(77, "--base", "HEAD"))


if __name__ == "__main__":
    SCRIPTS = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
