#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Lets clang look for errors and warnings in the library and the tool, with the flags of a build by g++:

  check_clang.py [--compiled OTHER_BUILD_FOLDER] BUILD_FOLDER [PART_OF_A_PATH]

It uses clang++-16 and clang++-19 if they are installed, otherwise clang++. With --compiled, the compiler that made the
other build folder looks only at sources that are not in that build, or that depend on OpenMP or MPI. No object files are
made, but ccache remembers what was without errors. The status is 77 if there is no clang++, or if a build with OpenMP
finds no omp.h for clang (libomp-19-dev).
"""

import argparse
import concurrent.futures
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

SKIPPED = 77
# The oldest and the newest that are tested.
COMPILERS = ["clang++-16", "clang++-19"]
PROJECT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = PROJECT / "src"
# ccache, if it is installed, with the settings of all builds.
LAUNCHER = [str(PROJECT / "cmake" / "ccache_launcher")] if shutil.which("ccache") else []
WANTED = re.compile(r"/src/.*\.cpp$")
# Another backend, or a build without MPI, compiles other code of these sources.
OF_THIS_BUILD = re.compile(r"OPENMP|POLYAD_(HAVE|ENABLE)_MPI")
# Options that only g++ knows, or that belong to a precompiled header made by g++.
DROPPED = re.compile(r"-Winvalid-pch|-Wno-restrict|-fsanitize.*|-fno-sanitize.*|-c|-MD")
DROPPED_WITH_NEXT = {"-o", "-include", "--param", "-MT", "-MF", "-x"}
# What the library's build reads Kokkos from.
PRECOMPILED = "polyad.dir/cmake_pch.hxx"


def clang_command(clang, entry, *more):
    words = shlex.split(entry["command"])
    command = [*LAUNCHER, clang]
    skip = False
    for word in words[1:]:
        if not skip and word not in DROPPED_WITH_NEXT and not DROPPED.fullmatch(word):
            command.append(word)
        skip = not skip and word in DROPPED_WITH_NEXT
    # As cmake/CompileOptions.cmake has them for clang.
    return [*command, "-Wno-sign-conversion", "-Wno-deprecated-declarations", *map(str, more)]


def precompile(clang, entries, folder, more):
    """Reads Kokkos once for all sources of the library, which saves a fifth of the time. Returns the file's path."""
    entry = next(entry for entry in entries if entry["file"].endswith(f"/{PRECOMPILED}.cxx"))
    header = folder / "kokkos.hpp"
    header.write_text("#include <Kokkos_Core.hpp>\n")
    made = folder / f"{clang}.pch"
    source = shlex.quote(entry["file"])
    entry = {**entry, "command": entry["command"].replace(entry["file"], "")}
    # Without the time stamp and with the text of all headers in it, another clone can use the file, too.
    portable = ["-Xclang", "-fno-pch-timestamp", "-Xclang", "-fmodules-embed-all-files", "-fpch-instantiate-templates"]
    command = clang_command(clang, entry, *more, *portable, *written(made), "-c", "-x", "c++-header", header)
    subprocess.run([word for word in command if word != source], cwd=entry["directory"], check=True)
    return made


def written(output):
    """What ccache needs: an output, and the list of the headers that the compiler reads."""
    return ["-MD", "-MF", f"{output}.d", "-o", output]


def alone(entry):
    """The sources that a joined one (cmake/JoinedSources.cmake) includes, each with its command; any other itself."""
    file = pathlib.Path(entry["file"])
    if file.parent.name != "joined":
        return [entry]
    sources = re.findall(r'(?m)^#include "(.+)"$', file.read_text())
    paths = [str(SOURCE / source) for source in sources]
    return [{**entry, "file": path, "command": entry["command"].replace(str(file), path)} for path in paths]


def omp_header(compilers):
    """The omp.h of the first that has one. Debian installs one clang's only, and they are all alike to a source."""
    for clang in compilers:
        own = subprocess.run([clang, "-print-resource-dir"], capture_output=True, text=True, check=True)
        header = pathlib.Path(own.stdout.strip()) / "include" / "omp.h"
        if header.is_file():
            return header
    return None


def check(clang, entries, built, folder, more, jobs):
    """Prints what it finds, and returns the number of sources with errors or warnings."""
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        kokkos = precompile(clang, built, folder, more)

        def look(numbered):
            number, entry = numbered
            read_before = ["-include-pch", kokkos] if PRECOMPILED in entry["command"] else []
            output = written(folder / f"{clang}-{number}.o")
            command = clang_command(clang, entry, "-fsyntax-only", "-c", *more, *read_before, *output)
            return subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True)

        for entry, result in zip(entries, pool.map(look, enumerate(entries))):
            if result.returncode != 0:
                failed += 1
                print(f"{entry['file']}:\n{result.stderr}")
    print(f"{clang}: {len(entries) - failed} of {len(entries)} sources are without errors and warnings", flush=True)
    return failed


def not_compiled(clang, entries, other):
    """The sources that this clang has not compiled in the other build folder, or that have other code there."""
    if other is None:
        return entries
    compiled = json.loads((other / "compile_commands.json").read_text())
    if not all(pathlib.Path(shlex.split(entry["command"])[0]).name == clang for entry in compiled):
        return entries
    files = {entry["file"] for joined in compiled for entry in alone(joined)}
    return [entry for entry in entries
            if entry["file"] not in files or OF_THIS_BUILD.search(pathlib.Path(entry["file"]).read_text())]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiled", type=pathlib.Path, metavar="OTHER_BUILD_FOLDER")
    parser.add_argument("build", type=pathlib.Path, metavar="BUILD_FOLDER")
    parser.add_argument("part", nargs="?", default="", metavar="PART_OF_A_PATH")
    options = parser.parse_args()
    compilers = list(filter(shutil.which, COMPILERS)) or list(filter(shutil.which, ["clang++"]))
    if not compilers:
        print("there is no clang++")
        return SKIPPED
    build, part = options.build.resolve(), options.part
    built = json.loads((build / "compile_commands.json").read_text())
    entries = [entry for joined in built for entry in alone(joined)]
    entries = [entry for entry in entries if WANTED.search(entry["file"]) and part in entry["file"]]
    if not entries:
        print(f"no source of the library in {build}")
        return 1
    jobs = int(subprocess.run([pathlib.Path(__file__).with_name("jobs")], capture_output=True, text=True, check=True).stdout)
    # In the build folder, because ccache compares the paths of what is read, relative to the clone.
    folder = build / "clang"
    folder.mkdir(exist_ok=True)
    more = []
    if any("-fopenmp" in entry["command"] for entry in entries):
        header = omp_header(compilers)
        if header is None:
            print("clang has no omp.h: install libomp-19-dev")
            return SKIPPED
        (folder / "openmp").mkdir(exist_ok=True)
        shutil.copy(header, folder / "openmp")
        more = ["-isystem", folder / "openmp"]
    failed = [check(clang, not_compiled(clang, entries, options.compiled), built, folder, more, jobs) for clang in compilers]
    return 1 if any(failed) else 0


if __name__ == "__main__":
    sys.exit(main())
