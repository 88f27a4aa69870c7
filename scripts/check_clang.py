#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Lets clang look for errors and warnings in the library and the tool, with the flags of a build by g++:

  check_clang.py BUILD_FOLDER [PART_OF_A_PATH]

Takes clang++-16 and clang++-19 where there are any, else clang++. Makes nothing. Ends with 77 where there is no
clang++, or no omp.h of clang's for a build with OpenMP (libomp-19-dev).
"""

import concurrent.futures
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
# The oldest and the newest that are tested.
COMPILERS = ["clang++-16", "clang++-19"]
SOURCE = pathlib.Path(__file__).resolve().parent.parent / "src"
WANTED = re.compile(r"/src/.*\.cpp$")
# Of g++ alone, or of a precompiled header that g++ made.
DROPPED = re.compile(r"-Winvalid-pch|-Wno-restrict|-fsanitize.*|-fno-sanitize.*|-c|-MD")
DROPPED_WITH_NEXT = {"-o", "-include", "--param", "-MT", "-MF", "-x"}
# What the library's build reads Kokkos from.
PRECOMPILED = "polyad.dir/cmake_pch.hxx"


def clang_command(clang, entry, *more):
    words = shlex.split(entry["command"])
    command = [clang]
    skip = False
    for word in words[1:]:
        if not skip and word not in DROPPED_WITH_NEXT and not DROPPED.fullmatch(word):
            command.append(word)
        skip = not skip and word in DROPPED_WITH_NEXT
    # As cmake/CompileOptions.cmake has them for clang.
    return [*command, "-Wno-sign-conversion", "-Wno-deprecated-declarations", *more]


def precompile(clang, entries, folder, more):
    """Kokkos, read once for the library's sources, which a fifth of the time went into. Gives the file."""
    entry = next(entry for entry in entries if entry["file"].endswith(f"/{PRECOMPILED}.cxx"))
    header = folder / "kokkos.hpp"
    header.write_text("#include <Kokkos_Core.hpp>\n")
    made = folder / "kokkos.pch"
    entry = {**entry, "command": entry["command"].replace(entry["file"], f"-xc++-header {header}")}
    subprocess.run(clang_command(clang, entry, *more, "-o", made), cwd=entry["directory"], check=True)
    return made


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


def check(clang, entries, built, more, jobs):
    """Prints what it finds, and gives the number of sources with errors or warnings."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        kokkos = precompile(clang, built, pathlib.Path(folder), more)

        def look(entry):
            read_before = ["-include-pch", kokkos] if PRECOMPILED in entry["command"] else []
            command = clang_command(clang, entry, "-fsyntax-only", *more, *read_before)
            return subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True)

        for entry, result in zip(entries, pool.map(look, entries)):
            if result.returncode != 0:
                failed += 1
                print(f"{entry['file']}:\n{result.stderr}")
    print(f"{clang}: {len(entries) - failed} of {len(entries)} sources are without errors and warnings", flush=True)
    return failed


def main():
    compilers = list(filter(shutil.which, COMPILERS)) or list(filter(shutil.which, ["clang++"]))
    if not compilers:
        print("there is no clang++")
        return SKIPPED
    build = pathlib.Path(sys.argv[1])
    part = sys.argv[2] if len(sys.argv) > 2 else ""
    built = json.loads((build / "compile_commands.json").read_text())
    entries = [entry for joined in built for entry in alone(joined)]
    entries = [entry for entry in entries if WANTED.search(entry["file"]) and part in entry["file"]]
    if not entries:
        print(f"no source of the library in {build}")
        return 1
    jobs = int(subprocess.run([pathlib.Path(__file__).with_name("jobs")], capture_output=True, text=True, check=True).stdout)
    with tempfile.TemporaryDirectory() as folder:
        more = []
        if any("-fopenmp" in entry["command"] for entry in entries):
            header = omp_header(compilers)
            if header is None:
                print("clang has no omp.h: install libomp-19-dev")
                return SKIPPED
            shutil.copy(header, folder)
            more = ["-isystem", folder]
        failed = [check(clang, entries, built, more, jobs) for clang in compilers]
    return 1 if any(failed) else 0


if __name__ == "__main__":
    sys.exit(main())
