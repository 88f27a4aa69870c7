#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/perf_pairs.py on programs that only write results. Usage: test_perf_pairs.py SCRIPTS_FOLDER"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

# Multiplies a benchmark's times of the runs, one factor a run, and notes how it was called.
PROGRAM = """#!{python}
import json, pathlib, sys
folder = pathlib.Path({folder!r})
calls = folder / "calls"
calls.write_text((calls.read_text() if calls.exists() else "") + {name!r} + " " + " ".join(sys.argv[1:3]) + "\\n")
number = sum(line.startswith({name!r}) for line in calls.read_text().splitlines()) - 1
factors = {factors!r}
path = next(a for a in sys.argv if a.startswith("--benchmark_out=")).split("=", 1)[1]
entries = [{{"name": name, "run_type": "iteration", "iterations": 1, "time_unit": "ms",
            "real_time": 8.0 * factors[number % len(factors)] if name in {changed!r} else 8.0}}
           for name in ("mttkrp<sorted,OpenMP,f32>/uber/mode:all/R:16", "mttkrp<csf,OpenMP,f32>/uber/mode:all/R:16",
                        "gram<OpenMP,f32>/rows:10")]
for entry in entries:
    if entry["name"].startswith("mttkrp"):
        entry.update(nnz=1, model_ms=1, model_share=1, genten_GB_per_s=1)
pathlib.Path(path).write_text(json.dumps({{"context": {{"backend": "OpenMP", "cpu": "a", "concurrency": 2}},
                                         "benchmarks": entries}}))
"""
SORTED = "mttkrp<sorted,OpenMP,f32>/uber/mode:all/R:16"


class Pairs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def program(self, name, factors=(1.0,), changed=(SORTED,)):
        path = self.folder / name
        path.write_text(PROGRAM.format(python=sys.executable, folder=str(self.folder), name=name,
                                       factors=list(factors), changed=list(changed)))
        path.chmod(0o755)
        return path

    def compare(self, old, new, *arguments):
        command = [sys.executable, pathlib.Path(SCRIPTS, "perf_pairs.py"), old, new, *map(str, arguments)]
        return subprocess.run(command, check=False, capture_output=True, text=True)

    def test_same(self):
        result = self.compare(self.program("old"), self.program("new"), "--pairs", 3, "--", "--ranks", "16")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("3 runs of each program", result.stdout)
        self.assertIn("mttkrp: 2 benchmarks, new/old 1.000, 0 beyond 1.05", result.stdout)
        calls = (self.folder / "calls").read_text().split("\n")[:-1]
        self.assertEqual([call.split()[0] for call in calls], ["old", "new", "new", "old", "old", "new"])
        self.assertEqual(set(call.split(" ", 1)[1] for call in calls), {"--samples 1"})

    def test_slower(self):
        result = self.compare(self.program("old"), self.program("new", [1.2, 1.1, 1.3]), "--pairs", 3)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("1 beyond 1.05", result.stdout)
        self.assertIn(f"1.200 (of the minima 1.100)  8 ms  {SORTED}", result.stdout)

    def test_one_slow_run_is_noise(self):
        result = self.compare(self.program("old"), self.program("new", [1.0, 3.0, 1.0]), "--pairs", 3)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_mean(self):
        both = (SORTED, SORTED.replace("sorted", "csf"))
        slower = self.program("new", [1.04], both)
        self.assertEqual(self.compare(self.program("old"), slower, "--pairs", 2).returncode, 1)
        self.assertEqual(self.compare(self.program("old"), slower, "--pairs", 2, "--mean", 1.05).returncode, 0)

    def test_stored_results_are_those_of_a_run(self):
        out = self.folder / "out"
        self.compare(self.program("old"), self.program("new", [1.5, 1.6]), "--pairs", 2, "--output", out)
        command = [sys.executable, pathlib.Path(SCRIPTS, "perf_compare.py"), out / "old.json", out / "new.json"]
        compared = subprocess.run(command, check=False, capture_output=True, text=True)
        self.assertEqual(compared.returncode, 1, compared.stderr)
        self.assertIn("1 slower, 0 faster", compared.stdout)
        entry = next(e for e in json.loads((out / "new.json").read_text())["benchmarks"] if e["name"] == SORTED)
        self.assertEqual((entry["min_ms"], entry["max_ms"]), (12.0, 12.8))

    def test_faults(self):
        silent = self.folder / "silent"
        silent.write_text("#!/bin/sh\necho no such tensor >&2\nexit 2\n")
        silent.chmod(0o755)
        result = self.compare(self.program("old"), silent)
        self.assertEqual(result.returncode, 2)
        self.assertIn("no such tensor", result.stderr)
        self.assertEqual(self.compare(self.program("old"), self.folder / "none").returncode, 2)
        self.assertEqual(self.compare(self.program("old"), self.program("new"), "--pairs", 0).returncode, 2)


if __name__ == "__main__":
    SCRIPTS = sys.argv.pop(1)
    unittest.main()
