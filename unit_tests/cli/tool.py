# SPDX-License-Identifier: BSD-3-Clause
"""Runs the tool in a folder of the test's own. POLYAD_TOOL names the executable."""
import json
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

TOOL = os.environ["POLYAD_TOOL"]


def random_tensor(dims, nnz, seed=1):
    """{coordinates counted from 0: value}, every row of every mode used."""
    generator = random.Random(seed)
    tensor = {}
    for i in range(max(dims)):
        tensor[tuple(i % d for d in dims)] = generator.uniform(-1, 1)
    while len(tensor) < nnz:
        tensor[tuple(generator.randrange(d) for d in dims)] = generator.uniform(-1, 1)
    return tensor


def tns(tensor, base=1):
    return "".join(" ".join(str(i + base) for i in at) + f" {value!r}\n" for at, value in tensor.items())


class ToolTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="polyad_cli_")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def run_tool(self, *arguments, **keywords):
        return subprocess.run([TOOL, *map(str, arguments)], stdout=keywords.pop("stdout", subprocess.PIPE),
                              stderr=subprocess.PIPE, text=True, cwd=self.folder, timeout=300, **keywords)

    def start(self, command):
        """A process that has said its first iteration, so that a signal meets it in the midst of them."""
        process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        while not process.stderr.readline().startswith("iteration ") and process.poll() is None:
            pass
        return process

    def make_inputs(self):
        """x.tns, and the other files that commands read: model.npz, u.npz, learned.npz, c.ckpt and l.ckpt."""
        self.succeed("gen", "ratings", "-d", "60,40,20", "-n", 2000, "-o", "x.tns")
        self.succeed("cpd", "x.tns", "-r", 2, "-i", 2, "-o", "model.npz", "--checkpoint", "c.ckpt", "--deterministic")
        self.succeed("ttmc", "x.tns", "--mode", 1, "--matrices", "model.npz", "-o", "u.npz")
        self.succeed("fast-tucker", "x.tns", "-r", 2, "--shrink", 5, "-i", 2, "-o", "learned.npz", "--checkpoint", "l.ckpt",
                     "--deterministic")

    def commands(self):
        """Every command: its arguments, the files that it writes, and its exit status. make_inputs() comes first."""
        cpd = ("cpd", "x.tns", "-r", 2, "-i", 3)
        train = ("fast-tucker", "x.tns", "-r", 2, "--shrink", 5, "-i", 3)
        return [
            ((*cpd, "-o", "o.npz"), ["o.npz"], 0),
            ((*cpd, "-o", "o.ktns", "--checkpoint", "o.ckpt", "--report", "o.json"), ["o.ktns", "o.ckpt", "o.json"], 0),
            ((*cpd, "--restarts", 2, "-o", "o.npz"), ["o.npz"], 0),
            (("tucker", "x.tns", "-r", "2,2,2", "-i", 3, "-o", "o.npz"), ["o.npz"], 0),
            ((*train, "-o", "o.npz", "--checkpoint", "o.ckpt"), ["o.npz", "o.ckpt"], 0),
            (("convert", "x.tns", "o.pten", "-v"), ["o.pten"], 0),
            (("gen", "low-rank", "-d", "20,10,9", "-r", 2, "-o", "o.tns", "--model", "o.ktns"), ["o.tns", "o.ktns"], 0),
            (("stats", "x.tns", "--report", "o.json"), ["o.json"], 0),
            (("info", "--report", "o.json"), ["o.json"], 0),
            (("compare", "x.tns", "x.tns"), [], 0),
            (("compare", "model.npz", "x.tns"), [], 0),
            (("check", "x.tns", "--fix", "o.tns"), ["o.tns"], 0),
            (("predict", "learned.npz", "x.tns", "-o", "o.tns"), ["o.tns"], 0),
            (("predict", "model.npz", "x.tns", "-o", "o.tns", "--residuals", "o.npz"), ["o.tns", "o.npz"], 0),
            (("recommend", "learned.npz", "--mode", 1, "--for", "1,*", "-o", "o.npz"), ["o.npz"], 0),
            (("similar", "learned.npz", "--mode", 0, "--index", 1, "-o", "o.txt"), ["o.txt"], 0),
            (("evaluate", "learned.npz", "x.tns", "--seen", "x.tns", "--rank-seen", "-o", "o.csv"), ["o.csv"], 0),
            (("mttkrp", "x.tns", "--mode", 0, "--factors", "model.npz", "-o", "o.npz"), ["o.npz"], 0),
            (("project", "model.npz", "x.tns", "--mode", 0, "-o", "o.npz"), ["o.npz"], 0),
            (("project", "learned.npz", "x.tns", "--mode", 0, "--shrink", 5, "-o", "o.npz"), ["o.npz"], 0),
            (("recommend", "learned.npz", "--mode", 1, "--ratings", "x.tns", "--shrink", 5, "-o", "o.txt"), ["o.txt"], 0),
            (("update", "learned.npz", "x.tns", "--train", "x.tns", "--shrink", 5, "--sweeps", 1, "-o", "o.npz"), ["o.npz"], 0),
            (("ttm", "x.tns", "--mode", 1, "--matrix", "u.npz", "-o", "o.tns"), ["o.tns"], 0),
            (("ttmc", "x.tns", "--mode", 0, "--matrices", "model.npz", "-o", "o.npz"), ["o.npz"], 0),
            (("estimate", "x.tns", "-r", 2), [], 0),
            (("tune", "x.tns", "-r", 2, "-i", 1, "--store"), ["x.tns.tune.json"], 0),
        ]

    def succeed(self, *arguments):
        result = self.run_tool(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def report_of(self, *arguments):
        """The report of a run that succeeds."""
        path = self.folder / "report_of.json"
        self.succeed(*arguments, "--report", path)
        report = json.loads(path.read_text())
        path.unlink()
        return report

    def fail_with(self, code, *arguments, says=(), output="model.ktns", **keywords):
        """One line on stderr, nothing on stdout, no model; a report but for usage errors."""
        before = set(self.folder.iterdir())
        report = self.folder / "report.json"
        if arguments and arguments[0] == "cpd" and output is not None:
            arguments += ("-o", output)
        result = self.run_tool(*arguments, "--report", report, **keywords)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertRegex(result.stderr, r"\Apolyad: [^\n]+\n\Z")
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, result.stderr)
        self.assertFalse(result.stdout)
        if code == 2:
            self.assertFalse(report.exists())
        else:
            content = json.loads(report.read_text())
            self.assertEqual(content["exit"], code)
            self.assertEqual(f"polyad: {content['error']}\n", result.stderr)
            self.assertIsNone(content["result"])
            report.unlink()
        self.assertEqual(set(self.folder.iterdir()), before)
        return result
