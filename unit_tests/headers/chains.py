#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the sources of the tests headers_alone: chains.py OUTPUT_FOLDER INCLUDE_FOLDER...

A header compiles alone if its own includes bring everything that it needs. Hence a compiler may read a header after
others that it includes anyway, directly or through others, and one source checks a whole chain of headers. This takes a
third of the time of a source for each header. Every header in the include folders, except for the tool's, is in exactly one
chain. Each is included twice.

Prints a line for each source: the layer of the chain's last header, a blank, and the source's path."""

import pathlib
import re
import sys

INCLUDE = re.compile(r'(?m)^\s*#\s*include\s*["<]([^">]+)[">]')


def headers_of(folders):
    """{name as sources include it: file}"""
    found = {}
    for folder in folders:
        for file in folder.rglob("*.hpp"):
            name = file.relative_to(folder).as_posix()
            if not name.startswith("cli/"):
                found[name] = file
    return found


def closures(headers):
    """{name: the headers that it includes, directly or through others}"""
    direct = {name: [include for include in INCLUDE.findall(file.read_text()) if include in headers]
              for name, file in headers.items()}
    known = {}

    def closure(name):
        if name not in known:
            known[name] = set()  # a cycle ends here; check_layers.py refuses it
            known[name] = set().union(*({include} | closure(include) for include in direct[name]))
        return known[name]

    return {name: closure(name) for name in sorted(headers)}


def chains(included):
    """Lists of headers in which each includes all that come before it. Every header is in one list."""
    left = sorted(included, key=lambda name: (-len(included[name]), name))
    found = []
    while left:
        chain = [left[0]]
        for name in left[1:]:
            if name in included[chain[-1]]:
                chain.append(name)
        left = [name for name in left if name not in chain]
        found.append(chain[::-1])
    return found


def layer_of(name):
    """The layer, and the folder within it, such as the family of a format."""
    folders = name.removeprefix("polyad/").split("/")[:-1]
    return "-".join(folders[:2]) or "all"


def main():
    output, *folders = map(pathlib.Path, sys.argv[1:])
    output.mkdir(parents=True, exist_ok=True)
    for chain in chains(closures(headers_of(folders))):
        source = output / (chain[-1].replace("/", "-") + ".cpp")
        text = "".join(f'#include "{name}"\n' * 2 for name in chain)
        if not source.exists() or source.read_text() != text:
            source.write_text(text)
        print(layer_of(chain[-1]), source)


if __name__ == "__main__":
    main()
