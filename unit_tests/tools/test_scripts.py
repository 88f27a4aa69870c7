#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What scripts/setup, build, polyad and test say when something is wrong, without building anything.
Usage: test_scripts.py SCRIPTS_FOLDER"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest


def run(*command, **environment):
    surroundings = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "POLYAD_", "Kokkos_", "KOKKOS_"))}
    surroundings.update(environment)
    return subprocess.run(
        [pathlib.Path(SCRIPTS, command[0]), *command[1:]], capture_output=True, text=True, env=surroundings
    )


class Scripts(unittest.TestCase):
    def test_unknown_backends(self):
        for command, status in (
            (("setup", "opencl"), 1),
            (("build", "--opencl"), 2),
            (("polyad", "--backend", "opencl", "info"), 2),
            (("polyad", "--backend=opencl", "info"), 2),
            (("test", "--backend", "opencl"), 2),
            (("torture", "--backend", "opencl"), 2),
        ):
            with self.subTest(command):
                result = run(*command)
                self.assertEqual(result.returncode, status, result.stderr)
                self.assertIn("opencl", result.stderr)
                self.assertEqual(result.stdout, "")

    def test_backend_without_a_name(self):
        for command in (("polyad", "--backend"), ("polyad", "--backend="), ("polyad", "--backend", ""),
                        ("test", "--backend"), ("torture", "--backend")):
            with self.subTest(command):
                result = run(*command)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
                self.assertIn("--backend needs a name", result.stderr)
                self.assertTrue(result.stderr.startswith(f"polyad{'' if command[0] == 'polyad' else ' ' + command[0]}:"))

    def test_format_takes_sources_of_cpp_alone(self):
        script = pathlib.Path(SCRIPTS, "test_python")
        before = script.read_bytes()
        result = run("format", script)
        self.assertEqual((result.returncode, script.read_bytes()), (2, before))
        self.assertIn(f"{script} is not a C++ source", result.stderr)

    def test_help(self):
        # Every script that is not a Python program prints the comment at its beginning, and does nothing else.
        for script in sorted(pathlib.Path(SCRIPTS).iterdir()):
            if not script.is_file() or not script.read_text().startswith("#!/usr/bin/env bash") or script.name in ("polyad", "jobs"):
                continue
            with self.subTest(script.name):
                result = run(script.name, "--help")
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertIn(f"scripts/{script.name}", result.stdout)
                self.assertGreater(len(result.stdout.splitlines()), 2)
                self.assertNotIn("#", result.stdout)
                self.assertNotIn("set -euo", result.stdout)

    def test_predicted_words(self):
        # 2 (4 / 4 - 1) 10^6 + 2 (4 / 1 - 1) 10 rows of two elements: next to nothing.
        result = run("predict_scaling.py", "-r", "2", "--ranks", "4", "--dims", "1000000,10")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("| 1000000,10 | 4 | 4 x 1 | 0.0 | 3.0 |", result.stdout)
        row = run("predict_scaling.py", "-r", "2", "--ranks", "4", "--dims", "9000000,8000000").stdout.splitlines()[-1]
        # 2 ((2 - 1) 9e6 + (2 - 1) 8e6) 2 / 4, against 2 (4 - 1) 17e6 2 / 4.
        self.assertEqual(row, "| 9000000,8000000 | 4 | 2 x 2 | 17.0 | 51.0 |")

    def test_predicted_times(self):
        # Times of one GPU predict those that two took (docs/distributed.md).
        result = run("predict_scaling.py", "--check")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), 6)
        # A slower network cannot help, and one rank does not use it.
        def milliseconds(network):
            lines = run("predict_scaling.py", "--times", "--ranks", "1,64", "--network", network).stdout.splitlines()
            return [float(line.split("|")[4].replace(",", "")) for line in lines if line.startswith("| amazon")]

        fast, slow = milliseconds("50"), milliseconds("5")
        self.assertEqual(fast[0], slow[0])
        self.assertLess(fast[1], slow[1])

    def test_jobs_follow_cores_and_memory(self):
        def jobs(*arguments, **environment):
            return int(run("jobs", *arguments, **environment).stdout)

        cores = len(os.sched_getaffinity(0))
        self.assertEqual(jobs("--free", str(cores * 2621440)), cores)
        self.assertEqual(jobs("--free", str(2621440)), 1)
        self.assertEqual(jobs("cuda", "--free", str(cores * 4194304 - 1)), max(1, cores - 1))
        self.assertEqual(jobs("--free", "0"), 1)
        self.assertIn(jobs(), range(1, cores + 1))
        self.assertEqual(jobs("--free", "0", POLYAD_JOBS="7"), 7)

    def test_cache_is_keyed(self):
        with tempfile.TemporaryDirectory() as cache:

            def prefix(*arguments, **environment):
                result = run("setup", "--print-prefix", *arguments, POLYAD_CACHE=cache, **environment)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(len(result.stdout.splitlines()), 1)
                self.assertTrue(result.stdout.startswith(os.path.realpath(cache)), result.stdout)
                return result.stdout

            found = {prefix(), prefix("serial"), prefix("serial-debug"), prefix("openmp-debug"),
                     prefix("serial", "--arch", "ZEN3")}
            self.assertEqual(len(found), 5)
            self.assertEqual(prefix(), prefix("openmp", "--arch", "native"))

    def test_wrong_archive(self):
        # Neither a spoiled archive in the cache nor an index that does not answer leads to a build.
        with tempfile.TemporaryDirectory() as cache:
            folder = pathlib.Path(cache, "downloads")
            folder.mkdir()
            archive = folder / "pygenten-0.1.5.tar.gz"
            archive.write_text("not what was asked for")
            # openmp-debug: no system has that one.
            result = run(
                "setup", "openmp-debug", POLYAD_CACHE=cache, PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="0"
            )
            self.assertEqual(result.returncode, 1, result.stderr)
            if "are missing" in result.stderr:
                self.skipTest("not all packages that setup needs are installed")
            self.assertIn("did not come, or not with the sha256", result.stderr)
            self.assertIn("-DKokkos_ROOT=", result.stderr)
            self.assertEqual([p.name for p in folder.iterdir()], [archive.name])
            self.assertEqual(list(pathlib.Path(cache).rglob("complete")), [])


if __name__ == "__main__":
    SCRIPTS = sys.argv.pop(1)
    unittest.main()
