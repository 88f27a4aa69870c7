# SPDX-License-Identifier: BSD-3-Clause
"""The options of the drivers in C++, the tool and Python against the tables in include/polyad."""
import ast
import re
import subprocess
import sys
import unittest
from pathlib import Path

from tool import ToolTest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from option_tables import tables  # noqa: E402

COMMANDS = {"CpAlsOptions": "cpd", "TuckerOptions": "tucker", "FastTuckerOptions": "fast-tucker"}
FUNCTIONS = {"CpAlsOptions": "cp_als", "TuckerOptions": "tucker", "FastTuckerOptions": "fast_tucker"}
# Not members of a driver's options, but the input, the output and the process.
OF_THE_TOOL = {
    "help", "report", "threads", "verbose", "quiet", "index-base", "max-memory", "precision", "device-memory", "output",
    "format", "deterministic", "duplicates", "drop-zeros", "init", "tune", "grid", "test", "split", "split-last", "split-mode", "split-repeats", "split-rows", "split-ties", "split-time", "validate", "cold-start",
    "lr"
}
OF_PYTHON = {
    "X", "train", "validation", "test", "start", "format", "deterministic", "duplicates", "callback", "progress", "threads",
    "device", "constraints"
}


def functions():
    """The arguments of each Python driver with their defaults; None without one."""
    found = {}
    for node in ast.parse((ROOT / "python/polyad/_drivers.py").read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        positional = node.args.args
        defaults = [None] * (len(positional) - len(node.args.defaults)) + node.args.defaults
        pairs = [*zip(positional, defaults), *zip(node.args.kwonlyargs, node.args.kw_defaults)]
        found[node.name] = {argument.arg: ast.unparse(default) if default else None for argument, default in pairs}
    return found


class Interfaces(ToolTest):

    def helped(self, command):
        """Names and texts of a command's options."""
        text = self.succeed(command, "--help").stdout
        entries = re.split(r"(?m)^  (?=-)", text)[1:]
        options = {}
        for entry in entries:
            words = entry.split()
            options[words[0]] = " ".join(words[1:])
        return options

    def test_python_is_up_to_date(self):
        ended = subprocess.run([sys.executable, ROOT / "scripts/python_signatures", "--check"], capture_output=True, text=True)
        self.assertEqual(ended.returncode, 0, ended.stderr)

    def test_each_row_is_in_the_tool(self):
        for table, command in COMMANDS.items():
            shown = self.helped(command)
            for row in tables()[table]:
                with self.subTest(table=table, row=row["name"]):
                    if not row["tool"]:
                        self.assertNotEqual(row["differs"], "")
                        continue
                    names, _, placeholder = row["tool"].lstrip("!").partition(" ")
                    self.assertIn(names, shown)
                    text = shown[names]
                    self.assertIn(row["help"], text)
                    self.assertTrue(text.startswith(placeholder))
                    if row["type"] in ("int", "float") and row["default"] != "inf" and "(required)" not in text:
                        self.assertEqual(float(re.search(r"\[([^\]]*)\]\Z", text)[1]), row["default"])

    def test_formats_are_chosen_alike(self):
        names = {row["tool"].split()[0]: row["name"] for row in tables()["AnyFormatOptions"] if row["tool"]}
        self.assertEqual(set(names), {"--format", "--deterministic"})
        found = functions()
        for command, function in (("cpd", "cp_als"), ("fast-tucker", "fast_tucker")):
            self.assertLessEqual(set(names), set(self.helped(command)))
            self.assertLessEqual(set(names.values()), set(found[function]))

    def test_each_row_is_in_python(self):
        found = functions()
        for table, function in FUNCTIONS.items():
            arguments = found[function]
            for row in tables()[table]:
                with self.subTest(table=table, row=row["name"]):
                    if not row["python"]:
                        self.assertNotEqual(row["differs"], "")
                        continue
                    argument = row["name"].split(".")[0]
                    self.assertIn(argument, arguments)
                    if row["type"] in ("int", "float", "bool") and "." not in row["name"]:
                        default = arguments[argument].replace("math.inf", "float('inf')")
                        self.assertEqual(eval(default), float("inf") if row["default"] == "inf" else row["default"])

    def test_each_option_of_the_tool_has_a_row(self):
        for table, command in COMMANDS.items():
            rows = tables()[table]
            known = {name for row in rows for name in re.findall(r"--([\w-]+)", row["tool"] + " " + row["differs"])}
            given = {name for names in self.helped(command) for name in re.findall(r"--([\w-]+)", names)}
            self.assertEqual(given - known - OF_THE_TOOL, set(), command)

    def test_each_argument_of_python_has_a_row(self):
        found = functions()
        for table, function in FUNCTIONS.items():
            rows = tables()[table]
            words = {word for row in rows for word in re.findall(r"\w+", row["differs"].replace("--", ""))}
            known = {row["name"].split(".")[0] for row in rows} | {row["name"].split(".")[-1] for row in rows} | words
            self.assertEqual(set(found[function]) - known - OF_PYTHON, set(), function)

    def test_what_differs_names_options_of_the_tool(self):
        known = {name for command in (*COMMANDS.values(), "estimate", "tune") for names in self.helped(command)
                 for name in re.findall(r"--([\w-]+)", names)}
        for table, rows in tables().items():
            for row in rows:
                for name in re.findall(r"--([\w-]+)", row["differs"]):
                    self.assertIn(name, known, f"{table}.{row['name']}")

    def test_values_below_the_least_are_refused(self):
        path = self.write("x.tns", "1 1 1 1.5\n2 2 2 2.5\n")
        needed = {"cpd": ("-r", 1), "tucker": ("-r", "1,1,1"), "fast-tucker": ()}
        for table, command in COMMANDS.items():
            for row in tables()[table]:
                if row["least"] is None or not row["tool"] or row["name"] == "rank":
                    continue
                name = re.search(r"--[\w-]+", row["tool"])[0]
                with self.subTest(command=command, option=name):
                    result = self.run_tool(command, path, *needed[command], name, row["least"] - 1)
                    self.assertEqual(result.returncode, 2)


if __name__ == "__main__":
    unittest.main()
