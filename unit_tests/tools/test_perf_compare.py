#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/perf_compare.py on small stored results. Usage: test_perf_compare.py SCRIPTS_FOLDER"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

DATA = pathlib.Path(__file__).resolve().parent / "data"


def compare(*arguments):
    command = [sys.executable, pathlib.Path(SCRIPTS, "perf_compare.py"), *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


class Compare(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.old = json.loads((DATA / "device.json").read_text())

    def changed(self, change, kept=lambda entry: True):
        """A copy of the stored result whose benchmarks went through `change`."""
        new = json.loads(json.dumps(self.old))
        new["benchmarks"] = [entry for entry in new["benchmarks"] if kept(entry)]
        for entry in new["benchmarks"]:
            change(entry)
        path = self.folder / "new.json"
        path.write_text(json.dumps(new))
        return path

    def scale(self, factor, pattern):
        def change(entry):
            if re.search(pattern, entry["name"]):
                for key in ("real_time", "min_ms", "max_ms"):
                    entry[key] *= factor

        return self.changed(change)

    def test_same(self):
        result = compare(DATA / "device.json", DATA / "device.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        count = len(self.old["benchmarks"])
        self.assertIn(f"{count} compared: 0 slower, 0 faster", result.stdout)
        self.assertEqual(result.stdout.count(" 1.000 "), count)
        self.assertEqual(result.stderr, "")

    def test_one_is_slower(self):
        # The stored samples spread by -2 % and +4 %.
        new = self.scale(1.5, r"mttkrp<sorted,Cuda,f32>/uber/mode:all/R:16")
        result = compare(DATA / "device.json", new)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("1 slower, 0 faster", result.stdout)
        first = result.stdout.splitlines()[1]  # the worst comes first
        self.assertRegex(first, r"^ *1\.500 .* slower +mttkrp<sorted,Cuda,f32>/uber/mode:all/R:16$")
        self.assertIn(f"{1.5 * 0.98 / 1.04:.3f}-{1.5 * 1.04 / 0.98:.3f}", first)
        self.assertEqual(result.stdout.count(" slower "), 1)

    def test_threshold(self):
        new = self.scale(1.5, "mttkrp")
        self.assertEqual(compare(DATA / "device.json", new, "--threshold", "1.6").returncode, 0)
        self.assertEqual(compare(DATA / "device.json", new, "--threshold", "1.4").returncode, 1)
        self.assertEqual(compare(DATA / "device.json", new, "--threshold", "0.9").returncode, 2)
        # 1.08 is within the default, though beyond the spread.
        self.assertEqual(compare(DATA / "device.json", self.scale(1.08, "mttkrp")).returncode, 0)

    def test_within_the_spread(self):
        # Half as slow again, but one sample was as fast as before.
        def change(entry):
            entry["real_time"] *= 1.5
            entry["max_ms"] *= 1.5

        result = compare(DATA / "device.json", self.changed(change))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn(" 0 slower, 0 faster", result.stdout)

    def test_faster(self):
        result = compare(DATA / "device.json", self.scale(0.5, "build"))
        self.assertEqual(result.returncode, 0, result.stdout)
        builds = sum(entry["name"].startswith("build") for entry in self.old["benchmarks"])
        self.assertGreater(builds, 0)
        self.assertIn(f" 0 slower, {builds} faster", result.stdout)

    def test_filter(self):
        new = self.scale(1.5, "mttkrp")
        result = compare(DATA / "device.json", new, "--filter", "^(build|cp_als)")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertNotIn("mttkrp<", result.stdout)
        self.assertEqual(compare(DATA / "device.json", new, "--filter", "nothing like it").returncode, 2)
        result = compare(DATA / "device.json", new, "--filter", "mttkrp(")
        self.assertEqual(result.returncode, 2)
        self.assertIn("'mttkrp(' is not a regular expression", result.stderr)

    def test_missing_are_named(self):
        gone = "cp_als<sorted,Cuda,f32>/uber/R:16"
        fewer = self.changed(lambda entry: None, lambda entry: not entry["name"].startswith(gone))
        result = compare(DATA / "device.json", fewer)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"Only in the old result:\n  {gone}\n", result.stdout)
        self.assertNotIn("Only in the new", result.stdout)
        self.assertIn(f"Only in the new result:\n  {gone}\n", compare(fewer, DATA / "device.json").stdout)

    def test_failure_counts(self):
        def change(entry):
            if entry["name"].startswith("build<sorted"):
                entry.update(error_occurred=True, error_message="mode 1 is wrong")

        failed = self.changed(change)
        result = compare(DATA / "device.json", failed)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"Failed in the new result:\n  build<sorted,Cuda,f32>/uber: mode 1 is wrong")
        result = compare(failed, DATA / "device.json")
        self.assertEqual(result.returncode, 0)
        self.assertIn("Failed in the old result, passed in the new one:\n  build<sorted", result.stdout)

    def test_other_machine(self):
        # The names' backends differ; what is measured is the same.
        result = compare(DATA / "device.json", DATA / "host-2threads.json")
        self.assertIn("different machines: NVIDIA H200 and Some CPU @ 2 GHz, 2 threads", result.stderr)
        self.assertEqual(result.returncode, 1)
        self.assertIn("mttkrp<sorted,OpenMP,f32>/uber/mode:all/R:16", result.stdout)

    def test_bad_files(self):
        bad = self.folder / "bad.json"
        for text, said in (
            ("{", "is not JSON"),
            ("[]", "is not a result"),
            ('{"context": {}, "benchmarks": []}', "holds no"),
        ):
            with self.subTest(text):
                bad.write_text(text)
                result = compare(DATA / "device.json", bad)
                self.assertEqual(result.returncode, 2)
                self.assertIn(said, result.stderr)
                self.assertIn("bad.json", result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        result = compare(DATA / "device.json", self.folder / "none.json")
        self.assertEqual(result.returncode, 2)
        self.assertIn("No such file", result.stderr)


if __name__ == "__main__":
    SCRIPTS = sys.argv.pop(1)
    unittest.main()
