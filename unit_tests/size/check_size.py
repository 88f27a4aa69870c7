#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Holds what decides the time of a build and no noise disturbs: the machine code of the library and of the tool, how
many kernels are instantiated, and how many lines a user's source has once it is preprocessed.

  check_size.py BUILD_FOLDER           fails where a figure is more than a tenth above the stored one
  check_size.py BUILD_FOLDER --store   takes what it measures into figures.json

Machine code and the standard library's lines depend on the compiler and the processor: they are held where figures
for these are stored. Seconds are for scripts/perf_first_use.py to print; nothing judges them.
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys

FIGURES = pathlib.Path(__file__).with_name("figures.json")
SKIPPED = 77
MORE = 1.1  # times what is stored


def output_of(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def text_bytes(file):
    """The bytes of all sections of a program or an archive whose names begin with .text."""
    return sum(int(size) for size in re.findall(r"(?m)^\.text\S*\s+(\d+)", output_of("size", "-A", file)))


def kernels(archive):
    """Those whose address detail::launch takes; and g++ makes one function of every OpenMP region, a region of every
    other kernel."""
    return len(set(re.findall(r"\S*\._omp_fn\.\d+|\S*6detail6launchI\S*_FUN\S*", output_of("nm", archive))))


def compile_command(build, source):
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if entry["file"].endswith(source):
            return shlex.split(entry["command"]), entry["directory"]
    raise SystemExit(f"{source} is not among the compiled sources of {build}")


def preprocessed_lines(build, source):
    """Lines that are not empty: those of Polyad's own headers, and all."""
    command, directory = compile_command(build, source)
    command[command.index("-o") : command.index("-o") + 2] = []
    command[command.index("-c")] = "-E"
    own, everything, file = 0, 0, ""
    for line in output_of(*command, cwd=directory).splitlines():
        marker = re.match(r'# \d+ "(.*?)"', line)
        if marker:
            file = marker[1]
        elif line.strip():
            everything += 1
            own += "/include/polyad/" in file
    return own, everything


def measured(build):
    command, _ = compile_command(build, "examples/cp_als.cpp")
    compiler = "g++ " + output_of(command[0], "-dumpversion").strip().split(".")[0]
    macros = output_of(command[0], *[flag for flag in command if flag.startswith("-m")], "-dM", "-E", "-x", "c++", "/dev/null")
    width = "AVX-512" if "__AVX512F__" in macros else "AVX2" if "__AVX2__" in macros else "other"
    own, everything = preprocessed_lines(build, "examples/cp_als.cpp")
    library = build / "src/libpolyad-openmp.a"
    return {
        "everywhere": {"kernels": kernels(library), "lines of Polyad's headers": own},
        compiler: {"lines of a user's source": everything},
        f"{compiler}, {width}": {
            "text of the library": text_bytes(library),
            "text of the tool": text_bytes(build / "bin/polyad"),
        },
    }


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    stored = json.loads(FIGURES.read_text())
    found = measured(build)
    if "--store" in sys.argv:
        FIGURES.write_text(json.dumps(stored | found, indent=2) + "\n")
        return 0
    held, over = 0, 0
    for where, figures in found.items():
        for name, figure in figures.items():
            limit = stored.get(where, {}).get(name)
            if limit is None:
                print(f"{name}: {figure}, not held: nothing is stored for {where}")
                continue
            held += 1
            too_much = figure > MORE * limit
            over += too_much
            print(f"{name}: {figure}, stored {limit} ({where}){': TOO MUCH' if too_much else ''}")
    if over:
        print("More is built than before. Build less, or say in the commit why, and store it: check_size.py BUILD --store")
    return 1 if over else 0 if held else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
