#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/perf_report.py on small stored results, and the state of perf_tests/results/. Usage:
test_perf_report.py SCRIPTS_FOLDER [--pictures]. With --pictures only what needs numpy and matplotlib, 77 where
they are missing; else all the rest."""

import json
import lzma
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

DATA = pathlib.Path(__file__).resolve().parent / "data"
ALL = [DATA / "device.json", DATA / "host-1thread.json", DATA / "host-2threads.json"]
MACHINES = ["NVIDIA H200", "Some CPU @ 2 GHz, 1 thread", "Some CPU @ 2 GHz, 2 threads"]


def report(*arguments, python=()):
    command = [sys.executable, *python, pathlib.Path(SCRIPTS, "perf_report.py"), *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def altered(self, change, source="host-2threads.json", name="altered.json"):
        data = json.loads((DATA / source).read_text())
        change(data)
        path = self.folder / name
        path.write_text(json.dumps(data))
        return path


class Tables(WithFolder):
    def row(self, text, *starts):
        """The row whose first cells are these, looked for after the heading that the first of `starts` names."""
        section = text.split(f"\n{starts[0]}\n", 1)
        self.assertEqual(len(section), 2, f"no heading {starts[0]} in {text}")
        for line in section[1].splitlines():
            if line.startswith("|") and cells(line)[: len(starts) - 1] == list(starts[1:]):
                return cells(line)[len(starts) - 1 :]
        self.fail(f"no row {starts}")

    def test_one_column_a_machine(self):
        result = report(*ALL)
        self.assertEqual(result.returncode, 0, result.stderr)
        text = result.stdout
        self.assertEqual(
            re.findall(r"^## (.*)$", text, re.MULTILINE), ["Ceilings", "Building a format", "MTTKRP", "CP-ALS"]
        )
        for line in re.findall(r"^\|.*NVIDIA H200 \|.*$", text, re.MULTILINE):
            if "scalar" in line:
                self.assertEqual(cells(line)[-3:], MACHINES)
        # By hand from the stored files.
        self.assertEqual(self.row(text, "## Ceilings", "copy", ""), ["4000", "100", "187"])
        self.assertEqual(self.row(text, "## Building a format", "uber", "f32", "sorted")[0], "12 · 24 B · 12")
        device = self.row(text, "### uber", "f32", "16", "sorted")[0]
        self.assertEqual(device, "0.333 (0.0833 0.0917 0.1 0.108) · 150 % · 300")
        self.assertEqual(self.row(text, "### nell2", "f32", "32", "coo-permuted"), ["7.5 · 67 % · 13.3", "", ""])
        # MTTKRP 1, solve 1/4, fit 1/4.
        self.assertEqual(self.row(text, "## CP-ALS", "uber", "f32", "16", "coo-permuted")[0], "1.5 · 67 % · 0.1250")
        # Tables of one width each.
        for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            self.assertEqual(len({len(cells(line)) for line in block.splitlines()}), 1, block)

    def test_beside_peers(self):
        peers = self.folder / "peers.json"
        peers.write_text(json.dumps({
            "machine": "NVIDIA H200", "about": "Made up.",
            "mttkrp": {"f32": {"16": {"uber": {"one": 0.999, "two": 0.666}, "absent": {"one": 1}}}},
            "cp_als": {"f32": {"16": {"uber": 3.0, "absent": 1}}},
        }))  # fmt: skip
        text = report(*ALL, "--peers", peers).stdout
        self.assertIn("## Compared with other codes\n\nMade up.", text)
        # sorted takes 0.333; 12 ms to build and 1.5 an iteration, by hand from the stored files.
        row = self.row(text, "## Compared with other codes", "f32", "16", "uber")
        self.assertEqual(row[:4], ["0.999", "0.666", "0.333 (sorted)", "2"])
        self.assertEqual(self.row(text, "## Compared with other codes", "f32", "16", "geometric mean")[-1], "2")
        self.assertNotIn("absent", text)
        # No result of that machine, no table.
        self.assertNotIn("Compared with", report(ALL[1], "--peers", peers).stdout)

    def test_no_packages_needed(self):
        # -S: without site-packages.
        result = report(ALL[0], python=["-S"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, report(ALL[0]).stdout)
        result = report(ALL[0], "--output", self.folder / "out", python=["-S"])
        self.assertEqual(result.returncode, 2)
        self.assertIn("numpy and matplotlib", result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertFalse((self.folder / "out").exists())

    def test_modes_alone(self):
        def change(data):
            data["benchmarks"] = [b for b in data["benchmarks"] if "/mode:1/" in b["name"]]

        text = report(self.altered(change)).stdout
        self.assertEqual(len(self.row(text, "### uber", "f32", "16", "sorted, mode 1")), 1)
        self.assertNotIn("mode 0", text)

    def test_later_result_counts(self):
        def change(data):
            data["context"]["date"] = "2026-01-03T03:04:05+00:00"
            data["benchmarks"] = [b for b in data["benchmarks"] if b["name"].startswith("ceilings<OpenMP>/copy")]
            data["benchmarks"][0]["GB_per_s"] = 77.0

        later = self.altered(change)
        for order in ((ALL[2], later), (later, ALL[2])):
            text = report(*order).stdout
            self.assertEqual(self.row(text, "## Ceilings", "copy", ""), ["77"])
            self.assertEqual(self.row(text, "## Ceilings", "triad", ""), ["187"])

    def test_unknown_group(self):
        def change(data):
            bench = {"name": "spttm<f-coo,OpenMP,f64>/uber/mode:2/R:8", "real_time": 1500.0, "time_unit": "us"}
            data["benchmarks"] = [bench]

        text = report(self.altered(change)).stdout
        self.assertEqual(self.row(text, "## spttm", "uber/mode:2/R:8", "f64", "f-coo"), ["1.5"])

    def test_failure_is_seen(self):
        def change(data):
            data["benchmarks"][-1].update(error_occurred=True, error_message="mode 1 is wrong")

        failed = self.altered(change)
        result = report(failed)
        self.assertEqual(result.returncode, 1)
        self.assertIn("mode 1 is wrong", result.stderr)
        self.assertIn("failed", result.stdout)
        result = report(failed, "--store", self.folder / "stored.json")
        self.assertEqual(result.returncode, 2)
        self.assertFalse((self.folder / "stored.json").exists())

    def test_bad_files(self):
        def nameless(data):
            data["benchmarks"][0]["name"] = "BM_sort/8"

        def counterless(data):
            del data["benchmarks"][0]["GB_per_s"]

        for change, said in ((nameless, "BM_sort/8"), (counterless, "GB_per_s")):
            result = report(self.altered(change))
            self.assertEqual(result.returncode, 2)
            self.assertIn(said, result.stderr)
            self.assertIn("altered.json", result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_store(self):
        stored = self.folder / "stored.json"
        result = report(ALL[0], "--store", stored)
        self.assertEqual(result.returncode, 0, result.stderr)
        text = stored.read_text()
        self.assertNotIn("secret-host", text)
        self.assertNotIn("someone", text)
        # The same report, but for the name of the file; and nothing is left to clean.
        self.assertEqual(report(stored).stdout, report(ALL[0]).stdout.replace("device.json", "stored.json"))
        again = self.folder / "again.json"
        report(stored, "--store", again)
        self.assertEqual(again.read_text(), text)

        def change(data):
            data["context"]["OMP_PLACES"] = "/home/someone/places"

        result = report(self.altered(change), "--store", again)
        self.assertEqual(result.returncode, 2)
        self.assertIn("OMP_PLACES", result.stderr)

    def test_packed_results(self):
        packed = self.folder / "device.json.xz"
        packed.write_bytes(lzma.compress((DATA / "device.json").read_bytes()))
        self.assertEqual(report(packed).stdout, report(DATA / "device.json").stdout.replace("device.json", "device.json.xz"))
        packed.write_bytes(packed.read_bytes()[:-40])
        result = report(packed)
        self.assertEqual(result.returncode, 2)
        self.assertIn(f"{packed}: cannot be unpacked", result.stderr)

    def test_kept_results(self):
        # What perf_tests/results/ keeps is clean: storing it again changes nothing.
        kept = sorted(RESULTS.glob("*.json.xz"))
        self.assertGreater(len(kept), 10)
        for path in kept:
            with self.subTest(path.name):
                again = self.folder / path.name
                result = report(path, "--store", again)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(lzma.decompress(again.read_bytes()), lzma.decompress(path.read_bytes()))


class Pictures(WithFolder):
    def draw(self, *results, peers=()):
        out = self.folder / "out"
        result = report(*results, *peers, "--output", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        return out, {path.name for path in out.glob("*.png")}

    def test_all_kinds(self):
        out, names = self.draw(*ALL)
        self.assertEqual(
            names,
            {
                "gather-rates.png",
                "model-share-nvidia-h200.png",
                "model-share-some-cpu-2-ghz-2-threads.png",  # with the most threads only
                "time-against-rank-nvidia-h200.png",
                "time-against-nonzeros-nvidia-h200.png",
                "strong-scaling-some-cpu-2-ghz.png",
                "cp-als-phases-nvidia-h200.png",
                "cp-als-phases-some-cpu-2-ghz-2-threads.png",
            },
        )
        text = (out / "tables.md").read_text()
        self.assertEqual(set(re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)), names)
        # But for its pictures it is what stdout shows.
        self.assertEqual(re.sub(r"!\[.*\n\n", "", text), report(*ALL).stdout)
        import matplotlib.image

        for name in names:
            picture = matplotlib.image.imread(out / name)
            height, width = picture.shape[:2]
            self.assertTrue(250 <= width <= 2000 and 180 <= height <= 2000, f"{name}: {width} x {height}")
            self.assertGreater(len(set(picture[..., :3].reshape(-1, 3).round(2)[:, 0])), 3, f"{name} is blank")

    def test_only_where_there_is_data(self):
        def change(data):
            data["benchmarks"] = [b for b in data["benchmarks"] if b["name"].startswith("mttkrp")]

        _, names = self.draw(self.altered(change))
        self.assertEqual(names, {"model-share-some-cpu-2-ghz-2-threads.png"})

        def ceilings(data):
            data["benchmarks"] = data["benchmarks"][:2]

        self.folder = self.folder / "second"
        self.folder.mkdir()
        _, names = self.draw(self.altered(ceilings))
        self.assertEqual(names, set())

    def test_kept_results(self):
        # What scripts/docs makes of them, and the figure that the README gives.
        out, names = self.draw(*sorted(RESULTS.glob("*.json.xz")), peers=("--peers", RESULTS / "peers.json"))
        text = (out / "tables.md").read_text()
        self.assertEqual(set(re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)), names)
        beside = text[text.index("## Compared with other codes"):]
        mean = next(cells(line) for line in beside.splitlines() if cells(line)[:3] == ["f32", "32", "geometric mean"])
        readme = (SCRIPTS.parent / "README.md").read_text()
        self.assertIn(f"is {float(mean[-1]):.2g} times as fast as the best other program", " ".join(readme.split()))


def has_packages():
    try:
        import matplotlib  # noqa: F401
        import numpy  # noqa: F401
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    SCRIPTS = pathlib.Path(sys.argv.pop(1)).resolve()
    RESULTS = SCRIPTS.parent / "perf_tests" / "results"
    if "--pictures" in sys.argv:
        sys.argv.remove("--pictures")
        if not has_packages():
            print("numpy or matplotlib is missing")
            sys.exit(77)
        unittest.main(defaultTest="Pictures")
    else:
        unittest.main(defaultTest="Tables")
