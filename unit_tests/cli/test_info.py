# SPDX-License-Identifier: BSD-3-Clause
"""polyad info, --version and --help."""
import json
import unittest

from tool import ToolTest


class Info(ToolTest):
    def test_info(self):
        result = self.run_tool("info", "--report", "report.json")
        report = json.loads((self.folder / "report.json").read_text())
        if result.returncode == 7:  # a machine without the device that this was built for
            self.assertRegex(result.stderr, r"\Apolyad: [^\n]+\n\Z")
            self.assertIn("usable        no", result.stdout)
            self.assertFalse(report["result"]["usable"])
            self.assertEqual(report["exit"], 7)
            return
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertFalse(result.stderr)
        self.assertTrue(report["result"]["usable"])
        self.assertIn(f"polyad        {report['version']} ({report['git']})", result.stdout)
        self.assertIn(f"backend       {report['backend']['name']}", result.stdout)
        self.assertIn(f"Kokkos Version: {report['result']['kokkos']}", result.stdout)

    def backend(self, *options):
        self.run_tool("info", *options, "--report", "report.json")
        return json.loads((self.folder / "report.json").read_text())["backend"]

    def test_threads(self):
        one = self.backend("-t", 1)
        if one is None or one["name"] != "OpenMP":
            self.skipTest("the host's threads are not the backend's")
        self.assertEqual(one["concurrency"], 1)
        self.assertEqual(self.backend("-t", 3)["concurrency"], 3)

    def test_version_and_help(self):
        self.assertRegex(self.succeed("--version").stdout, r"\Apolyad \d+\.\d+\.\d+ \(\w+(-dirty)?\)\n\Z")
        for command in ((), ("cpd",), ("stats",), ("info",), ("tucker",), ("ttm",), ("ttmc",)):
            result = self.succeed(*command, "--help")
            self.assertIn("Usage: polyad", result.stdout)
            self.assertFalse(result.stderr)
        # Lines are broken where the names of the formats let them end.
        self.assertIn("or auto, the fastest that fits by what is known", " ".join(self.succeed("cpd", "--help").stdout.split()))


if __name__ == "__main__":
    unittest.main()
