#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/prose against small files: it tells long sentences by their line, and leaves code and formulas alone.
Usage: test_prose.py PROSE"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SHORT = "It adds the rows."
LONG = "one two three four five six seven"


def told(name, text, words=5):
    """(the lines that are told, how many sentences there are)"""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, name)
        path.write_text(text)
        result = subprocess.run([sys.executable, PROSE, "--words", str(words), str(path)], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        *lines, summary = result.stdout.splitlines()
        return [int(line.split(":")[1]) for line in lines], int(summary.split()[2])


class Prose(unittest.TestCase):
    def test_comments_of_cpp(self):
        self.assertEqual(told("a.cpp", f"// {SHORT}\n\n// {LONG}.\nint x;  // {LONG}\n"), ([3, 4], 3))

    def test_a_sentence_goes_on_over_lines(self):
        self.assertEqual(told("a.hpp", f"/// {SHORT} One two three\n/// four five six. {SHORT}\n"), ([1], 3))

    def test_an_empty_line_ends_a_sentence(self):
        self.assertEqual(told("a.hpp", "// one two three\n//\n// four five six\n"), ([], 2))

    def test_messages(self):
        self.assertEqual(told("a.cpp", f'throw Error("{LONG}");\nint y = f("one two");\n'), ([1], 1))

    def test_formulas_and_code_are_no_words(self):
        self.assertEqual(told("a.cpp", "// V(k, :) = x_i * A_ij + B_jk, see `a b c d e f g h`.\n"), ([], 1))

    def test_pages(self):
        page = f"# {LONG} and more\n\n{SHORT}\n{LONG}\n\n    {LONG}\n\n| {LONG} |\n\n* {LONG}\n"
        self.assertEqual(told("a.md", page), ([3, 10], 2))

    def test_scripts(self):
        self.assertEqual(told("a.sh", f"#!/bin/sh\n# {LONG}\n# SPDX-License-Identifier: {LONG}\n"), ([2], 1))

    def test_check(self):
        def status(text):
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder, "a.md")
                path.write_text(text)
                return subprocess.run([sys.executable, PROSE, "--check", str(path)], capture_output=True).returncode

        def of(words):
            return "It " + "goes " * (words - 1) + ". "

        self.assertEqual(status(of(14) * 95 + of(25) * 3 + of(35)), 0)
        self.assertEqual(status(of(14) * 99 + of(36)), 1)
        self.assertEqual(status(of(15) * 60 + of(5) * 40), 1)
        self.assertEqual(status(of(8) * 90 + of(26) * 10), 1)


if __name__ == "__main__":
    PROSE = sys.argv.pop(1)
    unittest.main()
