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


# Options that only some runs use: the command, the option, what else makes the run use it, what does not although it is
# near, and what the refusal says that the option is for.
USES = (
    ("fast-tucker", "--lr 0.1", "--optimizer adam", "--optimizer als", "adam and sgd"),
    ("fast-tucker", "--beta1 0.5", "--optimizer adam", "--optimizer sgd", "adam"),
    ("fast-tucker", "--beta2 0.5", "--optimizer adam", "--optimizer als", "adam"),
    ("fast-tucker", "--epsilon 0.5", "--optimizer adam", "", "adam"),
    ("fast-tucker", "--core-lr 0.5", "--optimizer sgd", "--optimizer adam", "sgd"),
    ("fast-tucker", "--lr-decay 0.5", "--optimizer sgd", "", "sgd"),
    ("fast-tucker", "--no-intermediates", "--optimizer sgd", "--optimizer als", "sgd"),
    ("fast-tucker", "--no-sharing", "--optimizer sgd", "--optimizer adam", "sgd"),
    ("fast-tucker", "--reg-per-entry", "--optimizer sgd", "--optimizer adam", "als and sgd"),
    ("fast-tucker", "--targets zero,one", "--optimizer als", "--optimizer sgd", "als"),
    ("fast-tucker", "--cg-steps 3", "--implicit=40", "", "--implicit"),
    ("fast-tucker", "--bias-sweeps 3", "", "--no-biases", "models with biases"),
    ("fast-tucker", "--bias-reg 3", "", "--no-biases", "models with biases"),
    ("fast-tucker", "--core-reg 3", "--reg 1", "--reg 1 --fixed-cores", "updates of the core matrices"),
    ("fast-tucker", "--core-reg 3", "-r 3 -j 2", "-r 3 -j 3", "updates of the core matrices"),
    ("fast-tucker", "--core-reg 3", "-j 2,3", "--shrink 5", "updates of the core matrices"),
    ("fast-tucker", "--core-reg 3", "--optimizer adam", "--implicit=40", "updates of the core matrices"),
    ("fast-tucker", "--cold-start refuse", "--test no.tns", "--split 0.1", "the entries of --test"),
    ("fast-tucker", "--split-rows 0", "--split 0.1", "--split-last 0", "--split"),
    ("fast-tucker", "--split-mode 1", "--split-last 0", "--split 0.1", "--split-time and --split-last"),
    ("fast-tucker", "--split-repeats apart", "--split 0.1", "--split-last 0", "--split and --validate"),
    ("fast-tucker", "--split-repeats together", "--validate 0.1 --patience 1", "--split 0.1 --split-rows 0", "--split and --validate"),
    ("fast-tucker", "--split-ties all", "--split-last 0", "--split-time 0.1 --split-mode 1", "--split-last"),
    ("fast-tucker", "--checkpoint-every 3", "--checkpoint c", "--resume c", "runs with --checkpoint"),
    ("check", "--force", "--fix no.pten", "", "--fix"),
    ("cpd -r 2", "--checkpoint-every 3", "--checkpoint c", "--resume c", "runs with --checkpoint"),
    ("tucker -r 2,2", "--checkpoint-every 3", "--checkpoint c", "", "runs with --checkpoint"),
    ("cpd -r 2", "--inner 1", "--l1 1", "--ridge 1", "runs with --nonnegative, --lower, --upper or --l1"),
    ("cpd -r 2", "--kkt-tol 0", "--nonnegative", "", "runs with --nonnegative, --lower, --upper or --l1"),
    ("cpd -r 2", "--phases", "--report r.json", "", "runs with --report"),
    ("cpd -r 2", "--seed 0", "--init nvecs", "--init m.npz", "starts that are drawn"),
    ("cpd -r 2", "--seed 0", "--init m.npz --fix 0 --restarts 2", "--init m.npz --fix 0", "starts that are drawn"),
)
KINDS = {"--rank 2": ("low-rank", "ratings"), "--nnz 9": ("uniform", "power-law", "ratings"), "--skew 1": ("power-law", "ratings"),
         "--noise 1": ("ratings",), "--model m.npz": ("low-rank",)}


class Uses(ToolTest):
    """An option that the run would ignore is refused, also with its default as the value."""

    def test_options_that_nothing_uses(self):
        for command, option, used, unused, says in USES:
            name, *rest = command.split()
            with self.subTest(command=command, option=option):
                # Without the file: whatever passes the check of the options ends with an input error.
                result = self.run_tool(name, "no.tns", *rest, *option.split(), *used.split())
                self.assertEqual(result.returncode, 3, result.stderr)
                result = self.run_tool(name, "no.tns", *rest, *option.split(), *unused.split())
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(f"polyad: {option.split()[0]} is for {says}", result.stderr)

    def test_counts_at_one_place_are_summed(self):
        for typed, status in (("keep", 2), ("sum", 3), ("last", 3)):
            result = self.run_tool("fast-tucker", "no.tns", "--implicit", "--duplicates", typed)
            self.assertEqual(result.returncode, status, result.stderr)
            self.assertEqual("--duplicates keep is not for --implicit" in result.stderr, typed == "keep")

    def test_options_of_some_kinds_of_tensors(self):
        for option, kinds in KINDS.items():
            for kind in ("uniform", "power-law", "low-rank", "ratings"):
                with self.subTest(kind=kind, option=option):
                    nnz = () if kind == "low-rank" or option.startswith("--nnz") else ("-n", 9)
                    result = self.run_tool("gen", kind, "-d", "9,8,7", *nnz, *option.split(), "-o", "x.tns")
                    self.assertEqual(result.returncode, 0 if kind in kinds else 2, result.stderr)
                    if kind not in kinds:
                        listed = " and ".join([", ".join(kinds[:-1]), kinds[-1]] if kinds[1:] else kinds)
                        self.assertIn(f"polyad: {option.split()[0]} is for gen {listed}\n", result.stderr)


if __name__ == "__main__":
    unittest.main()
