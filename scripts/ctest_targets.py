#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The tests of a build folder by name, and what ninja has to build for them:

    scripts/ctest_targets.py BUILD_FOLDER [--build-config NAME] NAME...

Prints a regular expression for ctest -R, which selects the tests with these names, and then the targets that they need,
one per line. A NAME is the beginning of a test's name up to a dot or a dash; unit. and unit.formats. may be left out. The
status is 2 if no test has a NAME; the message then lists similar names. scripts/test and scripts/check use this module.

The targets come from ctest's list of tests: from the command, the environment and REQUIRED_FILES of each test, and from
the tests that it depends on. A test that needs a target without naming it there must list it in REQUIRED_FILES."""

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PREFIX = r"(?:unit\.|unit\.formats\.)?"


class UnknownTest(Exception):
    """No test of the build folder has this name."""


@dataclass
class Test:
    name: str
    command: list
    properties: dict
    folder: str  # where its CMakeLists.txt is, relative to the project

    def words(self):
        """Everything that may be the path of a file that the test needs."""
        values = [variable.partition("=")[2] for variable in self.properties.get("ENVIRONMENT", [])]
        paths = [part for value in values for part in re.split(r"[:\s]+", value)]
        return [*self.command, *paths, *self.properties.get("REQUIRED_FILES", [])]

    def built_target(self):
        """The target of a test that runs `cmake --build`, otherwise None: the test itself builds it."""
        if "--build" in self.command and "--target" in self.command:
            return self.command[self.command.index("--target") + 1]
        return None


class Build:
    """A build folder that is configured."""

    def __init__(self, folder, configuration=""):
        self.folder = Path(folder).resolve()
        self.outputs = dict(line.rsplit(": ", 1) for line in self.ninja("-t", "targets", "all").splitlines())
        more = ["--build-config", configuration] if configuration else []
        listed = subprocess.run(["ctest", "--show-only=json-v1", *more], cwd=self.folder, capture_output=True, text=True,
                                check=True).stdout
        self.tests = {entry["name"]: self._test(entry) for entry in json.loads(listed)["tests"]}

    def ninja(self, *arguments):
        return subprocess.run(["ninja", *arguments], cwd=self.folder, capture_output=True, text=True, check=True).stdout

    def _test(self, entry):
        properties = {each["name"]: each["value"] for each in entry.get("properties", [])}
        working = properties.get("WORKING_DIRECTORY", str(self.folder))
        # ctest does not give the command if its program is not built.
        command = entry.get("command") or [self._program(entry["name"], working)]
        return Test(entry["name"], command, properties, os.path.relpath(working, self.folder))

    def _program(self, name, folder):
        text = Path(folder, "CTestTestfile.cmake").read_text()
        found = re.search(rf'^\s*add_test\((?:\[=*\[)?"?{re.escape(name)}(?:\]=*\])?"? "([^"]*)"', text, re.MULTILINE)
        return found[1] if found else ""

    def matching(self, name):
        """The names of the tests that NAME means."""
        pattern = re.compile(rf"{PREFIX}{re.escape(name)}(?:\.|-|$)")
        found = [test for test in self.tests if pattern.match(test)]
        if not found:
            similar = ", ".join(self._similar(name)) or "none; ctest -N lists all"
            raise UnknownTest(f"no test '{name}' in {self.folder}; similar names: {similar}")
        return found

    def _similar(self, name):
        short = {re.sub(rf"^{PREFIX}", "", re.sub(r"\.(openmp|serial|cuda)(-\d+)?$", "", test)) for test in self.tests}

        def likeness(test):
            parts = [test, *test.split(".")]
            return 1 if name in test else max(difflib.SequenceMatcher(None, name, part).ratio() for part in parts)

        return [test for test in sorted(short, key=lambda test: (-likeness(test), test)) if likeness(test) >= 0.5][:8]

    def with_dependencies(self, names):
        """These tests, and those that ctest has to run before or after them."""
        found, waiting = {}, list(names)
        while waiting:
            name = waiting.pop()
            if name in found or name not in self.tests:
                continue
            properties = found[name] = self.tests[name].properties
            waiting += properties.get("DEPENDS", [])
            fixtures = set(properties.get("FIXTURES_REQUIRED", []))
            for other, test in self.tests.items():
                if fixtures & {*test.properties.get("FIXTURES_SETUP", []), *test.properties.get("FIXTURES_CLEANUP", [])}:
                    waiting.append(other)
        return [name for name in self.tests if name in found]

    def targets(self, names):
        """What ninja has to build before ctest can run these tests, as paths in the build folder."""
        needed = set()
        for name in self.with_dependencies(names):
            test = self.tests[name]
            for word in test.words():
                path = os.path.relpath(os.path.join(self.folder, test.folder, word), self.folder)
                if self.outputs.get(path, "phony") != "phony":
                    needed.add(path)
        return sorted(needed)


def selection(names):
    """A regular expression of ctest that matches these tests and no others."""
    return f"^({'|'.join(re.sub(r'[^A-Za-z0-9_-]', lambda found: f'[{found[0]}]', name) for name in names)})$"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, metavar="BUILD_FOLDER")
    parser.add_argument("--build-config", default="", metavar="NAME")
    parser.add_argument("names", nargs="+", metavar="NAME")
    options = parser.parse_args()
    build = Build(options.build, options.build_config)
    try:
        tests = build.with_dependencies([test for name in options.names for test in build.matching(name)])
    except UnknownTest as error:
        print(f"polyad test: {error}", file=sys.stderr)
        return 2
    print(selection(tests), *build.targets(tests), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
