#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Do the tests find defects? Plants those of unit_tests/planted_defects.toml into a copy of the sources and runs
the tests with one of them switched on at a time:

    scripts/planted_defects.py [--only 3,17] [--output RESULT.json] [-DNAME=VALUE]...
    scripts/planted_defects.py --check      only looks whether every place to change is there once
    scripts/planted_defects.py --list       only prints what there is

All defects are in one build; the environment variable POLYAD_PLANTED says which one is on. Each defect names the
tests that are to find it: the unit tests, the tool's tests (cli), or pytest (python). It is found by the first
test that fails, crashes or takes longer than ten times its time and a minute. --source DIR plants the same list
into another tree. The status is 0 if all were found, 1 if not, and 2 if the list, the build or a test without a
defect is wrong. pytest needs an interpreter with the packages of python/tests/requirements.txt (--python)."""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "unit_tests" / "planted_defects.toml"
UNIT_TEST = re.compile(r"(unit|polyad_unit_tests)\.")
TOOL_TEST = re.compile(r"cli\.|npz_against_numpy|text_files")
# A defect in a Python file.
PYTHON_SWITCH = '(__import__("os").environ.get("POLYAD_PLANTED") == "{}")'
SWITCH = """#include <cstdlib>
inline int const polyad_planted = [] {
  char const* const text = std::getenv("POLYAD_PLANTED");
  return text ? std::atoi(text) : 0;
}();
"""
# Catch2 puts the name of a test case that failed between two rules, maybe with the names of its sections.
FAILED_CASE = re.compile(r"^-{79}\n(.+)\n(?:.+\n){0,5}?-{79}$", re.MULTILINE)


class PlantError(Exception):
    """The list, the build or the tests without a defect are wrong."""


@dataclass
class Test:
    name: str
    command: list
    environment: dict
    folder: str
    threads: int
    seconds: float = 0  # without a defect


def say(text):
    print(f"planted_defects.py: {text}", file=sys.stderr, flush=True)


def read_list():
    import tomllib  # new in Python 3.11

    defects = tomllib.loads(LIST.read_text())["defect"]
    if [d["id"] for d in defects] != list(range(1, len(defects) + 1)):
        raise PlantError(f"{LIST}: the defects are not numbered 1, 2, ...")
    for defect in defects:
        if "PLANTED" not in defect["replace"] or "PLANTED" in defect["find"]:
            raise PlantError(f"defect {defect['id']} has no switch")
    return defects


def planted(source, defects):
    """{file: its text with the defects}"""
    texts = {}
    for defect in defects:
        number, name, find = defect["id"], defect["file"], defect["find"]
        text = texts.get(name) or (source / name).read_text()
        if text.count(find) != 1:
            raise PlantError(f"defect {number}: not once but {text.count(find)} times in {name}:\n{find}")
        switch = PYTHON_SWITCH.format(number) if name.endswith(".py") else f"(polyad_planted == {number})"
        switched = defect["replace"].replace("PLANTED", switch)
        texts[name] = text.replace(find, switched)
    return texts


def copy_sources(source, target, changed):
    """Copies the files that git knows or would add. Files that are right already stay, so a build continues."""
    listing = ["git", "-C", source, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split("\0")
    names = {name for name in listed if name and (source / name).is_file()}
    target.mkdir(parents=True, exist_ok=True)
    for path in [p for p in target.rglob("*") if not p.is_dir()]:
        if str(path.relative_to(target)) not in names:
            path.unlink()
    for name in sorted(names):
        content = changed[name].encode() if name in changed else (source / name).read_bytes()
        path = target / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        path.chmod((source / name).stat().st_mode)


def build(options, defects):
    work = options.work.resolve()
    copy_sources(options.source, work / "source", planted(options.source, defects))
    switch = work / "planted.hpp"
    if not switch.is_file():
        switch.write_text(SWITCH)
    configure = [
        "cmake", "-S", work / "source", "-B", work / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_CXX_FLAGS_RELEASE=-O1", f"-DCMAKE_CXX_FLAGS=-include {switch}", "-DPOLYAD_BACKEND=openmp",
        "-DPOLYAD_ENABLE_PERF_TESTS=OFF", *[f"-D{d}" for d in options.define],
    ]  # fmt: skip
    commands = [configure, ["cmake", "--build", work / "build", "--parallel", str(options.jobs)]]
    if any(suite_of(defect) == "python" for defect in defects):
        # The folder of the package's sources has no compiled modules: pip puts both into one folder.
        install = [options.python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--upgrade",
                   "--target", work / "package", work / "source", "-C", f"cmake.define.Polyad_ROOT={work / 'build'}",
                   "-C", f"cmake.define.CMAKE_CXX_FLAGS=-include {switch}"]
        commands.append(install)
    with open(work / "build.log", "w") as log:
        for command in commands:
            if subprocess.run(command, stdout=log, stderr=subprocess.STDOUT).returncode != 0:
                raise PlantError(f"the sources with the defects do not build: {work / 'build.log'}")


def suite_of(defect):
    return defect.get("tests", "unit")


def tests_of_build(folder):
    """{suite: its tests as ctest knows them}"""
    show = ["ctest", "--test-dir", folder, "--show-only=json-v1"]
    tests = {"unit": [], "cli": []}
    for entry in json.loads(subprocess.run(show, capture_output=True, check=True).stdout)["tests"]:
        unit = UNIT_TEST.match(entry["name"])
        if unit or TOOL_TEST.match(entry["name"]):
            properties = {p["name"]: p["value"] for p in entry["properties"]}
            environment = dict(setting.split("=", 1) for setting in properties.get("ENVIRONMENT", []))
            command = [*entry["command"], "--abort"] if unit else entry["command"]
            tests["unit" if unit else "cli"].append(
                Test(entry["name"], command, environment, properties["WORKING_DIRECTORY"],
                     int(environment.get("OMP_NUM_THREADS", 1))))
    if not tests["unit"]:
        raise PlantError(f"{folder}: ctest knows no unit tests")
    return tests


def python_tests(options):
    """One test for each file of pytest's, with the package that build() has installed."""
    folder = options.work.resolve() / "source" / "python" / "tests"
    environment = {"PYTHONPATH": str(options.work.resolve() / "package"), "OMP_WAIT_POLICY": "passive"}
    command = [str(options.python), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    return [Test(f"python.{file.stem}", [*command, str(file)], environment, str(folder), 2)
            for file in sorted(folder.glob("test_*.py"))]


def likeliest(tests, defect):
    """The test that the defect names. Of the unit tests, each program with the test cases of one source alone, with as
    many threads as the defect takes."""
    if suite_of(defect) != "unit":
        return [test for test in tests if test.name == defect["first"]]
    programs = {}
    for test in sorted(tests, key=lambda t: (t.threads < defect.get("threads", 1), t.threads)):
        command = [test.command[0], "--filenames-as-tags", f"[#{defect['first']}]~[.]", "--abort"]
        name = f"{defect['first']} with OMP_NUM_THREADS={test.threads}"
        programs.setdefault(test.command[0], replace(test, name=name, command=command))
    return list(programs.values())


def run(test, number, limit, passive):
    """(what failed, or nothing; seconds)"""
    environment = {**os.environ, "POLYAD_PLANTED": str(number), **test.environment}
    if passive:
        environment["OMP_WAIT_POLICY"] = "passive"
    start = time.monotonic()
    try:
        result = subprocess.run(test.command, env=environment, cwd=test.folder, timeout=limit,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired:
        return f"no end within {limit:.0f} s", limit
    seconds = time.monotonic() - start
    output = result.stdout.decode(errors="replace")
    if result.returncode == 0 or "No test cases matched" in output:
        return "", seconds
    case = FAILED_CASE.search(output)
    crash = f"signal {-result.returncode}" if result.returncode < 0 else f"exit status {result.returncode}"
    return case[1] if case else crash, seconds


def hunt(defect, tests, passive):
    found, total = "", 0
    for test in tests:
        failed, seconds = run(test, defect["id"], 10 * test.seconds + 60, passive)
        total += seconds
        if failed:
            found = f"{test.name}: {failed}"
            break
    say(f"{defect['id']}: {found or 'NOT FOUND'}, {total:.1f} s")
    return {**{k: defect[k] for k in ("id", "area", "file", "what")}, "found_by": found, "seconds": total}


def hunt_all(options, defects):
    wanted = [d for d in defects if not options.only or d["id"] in options.only]
    say(f"building in {options.work}")
    build(options, defects)
    suites = tests_of_build(options.work / "build")
    if any(suite_of(d) == "python" for d in wanted):
        suites["python"] = python_tests(options)
    needed = {suite_of(d) for d in wanted}
    first = {d["id"]: likeliest(suites[suite_of(d)], d) for d in wanted}
    for d in wanted:
        if not first[d["id"]]:
            raise PlantError(f"defect {d['id']}: there is no test {d['first']}")
    every = [test for suite in sorted(needed) for test in suites[suite]]
    # Tests of one source are not registered with ctest, but they are timed as well.
    single = {test.name: test for tests in first.values() for test in tests if test not in every}
    every += single.values()
    passive = options.parallel > 1
    with ThreadPoolExecutor(options.parallel) as pool:
        say(f"running {len(every)} tests without a defect")
        for test, outcome in zip(every, pool.map(lambda t: run(t, 0, None, passive), every)):
            if outcome[0]:
                raise PlantError(f"{test.name} fails without a defect: {outcome[0]}")
            test.seconds = outcome[1]
        for suite in suites.values():
            suite.sort(key=lambda t: t.seconds)
        orders = [[single.get(t.name, t) for t in first[d["id"]]] + suites[suite_of(d)] for d in wanted]
        results = list(pool.map(lambda d, order: hunt(d, order, passive), wanted, orders))
    if options.output:
        options.output.write_text(json.dumps(results, indent=1) + "\n")
    for r in results:
        print(f"{r['id']:3}  {r['file']}: {r['what']}  {r['found_by'] or 'NOT FOUND'}  {r['seconds']:.1f} s")
    found = sum(bool(r["found_by"]) for r in results)
    print(f"{found} of {len(results)} found")
    return 0 if found == len(results) else 1


def numbers(text):
    return {int(number) for number in text.split(",")}


def main():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--source", type=Path, default=ROOT, help="the tree to plant into (default: this)")
    parser.add_argument("--work", type=Path, default=ROOT / "build/planted", help="default: build/planted")
    parser.add_argument("--only", type=numbers, help="some of them, by their numbers: 3,17")
    parser.add_argument("--output", type=Path, help="a JSON file for the results")
    parser.add_argument("--jobs", type=int, default=cores, help="of the build (default: all cores)")
    parser.add_argument("--parallel", type=int, default=cores, help="defects at a time (default: all cores)")
    parser.add_argument("--python", type=Path, default=sys.executable, help="the interpreter for pytest (default: this)")
    parser.add_argument("-D", dest="define", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--list", action="store_true", help="only print the list")
    parser.add_argument("--check", action="store_true", help="only look for the places")
    options = parser.parse_args()
    try:
        defects = read_list()
        for d in defects if options.list else []:
            print(f"{d['id']:3}  {d['area']:8} {d['file']}: {d['what']}")
        if options.check:
            planted(options.source, defects)
            print(f"{len(defects)} defects, each with its place")
        return 0 if options.list or options.check else hunt_all(options, defects)
    except (PlantError, OSError, subprocess.CalledProcessError) as error:
        say(error)
        return 2


if __name__ == "__main__":
    sys.exit(main())
