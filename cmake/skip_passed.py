#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs nvcc -ptx, unless the same text has passed before: skip_passed.py NVCC ARGUMENT...

CMake calls it for every source of a build with POLYAD_CUDA_CHECK_ONLY, because ccache does not know -ptx. The source is
preprocessed first. If the same text, command and compiler have passed without a message, in this clone or in another
one, nvcc is not run, and the object file stays empty. Comments and empty lines make no difference.

What has passed is stored in ${POLYAD_CACHE:-${XDG_CACHE_HOME:-~/.cache}/polyad}/passed, one empty file for each text.
Files that nobody has needed for 90 days are removed. If POLYAD_PASSED_LOG names a file, a line "skipped" or "compiled" is
added to it for each source.
"""

import hashlib
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = str(pathlib.Path(__file__).resolve().parent.parent)
KEPT_SECONDS = 90 * 86400
LINE_MARKER = re.compile(rb'(?m)^# \d+ "([^"\n]*)"[^\n]*$')
EMPTY_LINES = re.compile(rb"\n[ \t\n]*\n")


def store():
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(os.environ.get("POLYAD_CACHE") or pathlib.Path(cache, "polyad"), "passed")


def preprocessing(command):
    """The command that prints the preprocessed source, and the names of the dependency file and of the object file."""
    words, named = [], {}
    rest = iter(command)
    for word in rest:
        if word in ("-MT", "-MF", "-o"):
            named[word] = next(rest)
        elif word != "-MD":
            words.append("-E" if word == "-ptx" else word)
    return words, named.get("-MF"), named["-o"]


def key_of(words, text):
    """A hash of the compilers, of the command, and of the text without comments, line numbers and empty lines."""
    compilers = [os.stat(word.removeprefix("-ccbin=")) for word in words if word == words[0] or word.startswith("-ccbin=")]
    identity = repr([(file.st_size, file.st_mtime_ns) for file in compilers]), *(word.replace(ROOT, ".") for word in words)
    code = EMPTY_LINES.sub(b"\n", LINE_MARKER.sub(b"", text)).replace(os.fsencode(ROOT), b".")
    return hashlib.sha256("\0".join(identity).encode() + b"\0" + code).hexdigest()


def write_dependencies(file, target, text):
    """The headers, in make's syntax, so that ninja knows when to run this again."""
    headers = sorted({name for name in LINE_MARKER.findall(text) if not name.startswith(b"<")})
    escaped = [name.replace(b" ", b"\\ ") for name in headers]
    pathlib.Path(file).write_bytes(b"%s: \\\n %s\n" % (os.fsencode(target), b" \\\n ".join(escaped)))


def log(word):
    file = os.environ.get("POLYAD_PASSED_LOG")
    if file:
        with open(file, "a") as lines:
            lines.write(word + "\n")


def remember(passed):
    passed.parent.mkdir(parents=True, exist_ok=True)
    passed.touch()
    oldest = time.time() - KEPT_SECONDS
    for file in passed.parent.iterdir():
        try:
            if file.stat().st_mtime < oldest:
                file.unlink()
        except FileNotFoundError:  # another process has removed it
            pass


def main():
    command = sys.argv[1:]
    if "-ptx" not in command:
        return subprocess.run(command).returncode
    words, dependencies, target = preprocessing(command)
    result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if result.returncode != 0:  # the compiler says what is wrong
        return subprocess.run(command).returncode
    text = result.stdout
    passed = store() / key_of(words, text)
    if passed.exists():
        passed.touch()
        pathlib.Path(target).write_bytes(b"")
        if dependencies:
            write_dependencies(dependencies, target, text)
        log("skipped")
        return 0
    result = subprocess.run(command, stderr=subprocess.PIPE)
    sys.stderr.buffer.write(result.stderr)
    if result.returncode == 0 and not result.stderr:
        remember(passed)
    log("compiled")
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
