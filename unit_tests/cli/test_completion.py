# SPDX-License-Identifier: BSD-3-Clause
"""polyad fast-tucker and predict: models that are learned, saved, used and refused, against loops in Python."""
import ast
import importlib.util
import json
import math
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import time
import unittest
import zipfile

from tool import TOOL, ToolTest


def load_npz(path):
    """{name: (shape, elements)}"""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            (length,) = struct.unpack("<H", content[8:10])
            header = ast.literal_eval(content[10:10 + length].decode())
            kind = {"<f4": "f", "<f8": "d", "<i8": "q", "<u1": "B", "<b1": "?"}[header["descr"]]
            data = content[10 + length:]
            count = len(data) // struct.calcsize(kind)
            arrays[name.removesuffix(".npy")] = (header["shape"], struct.unpack(f"<{count}{kind}", data))
    return arrays


def drift(model, at):
    """What the biases have drifted by."""
    total = 0.0
    for n, i in enumerate(at):
        if f"drift_{n}" in model:
            time = int(model["time_mode"][1][0])
            times = model[f"factor_{time}"][0][0]
            bins = model[f"drift_{n}"][0][1]
            if at[time] < times:  # nothing is known of later times
                total += model[f"drift_{n}"][1][i * bins + at[time] * bins // times]
    return total


def predict(model, at):
    order = len(at)
    rank = model["core_0"][0][1]
    value = model["mean"][1][0] + sum(model[f"bias_{n}"][1][i] for n, i in enumerate(at) if f"bias_{n}" in model)
    value += drift(model, at)
    for r in range(rank):
        product = 1.0
        for n, i in enumerate(at):
            columns = model[f"factor_{n}"][0][1]
            product *= sum(model[f"factor_{n}"][1][i * columns + j] * model[f"core_{n}"][1][j * rank + r]
                           for j in range(columns))
        value += product
    if "range" in model:
        lowest, highest = model["range"][1]
        value = min(max(value, lowest), highest)
    return value


def ratings(dims, count, seed=1, noise=0.1):
    """Lines of indices from 1 and a value: a level, an effect of each row, and an interaction of two."""
    generator = random.Random(seed)
    effects = [[generator.gauss(0, 0.5) for _ in range(size)] for size in dims]
    tastes = [[generator.gauss(0, 1) for _ in range(size)] for size in dims[:2]]
    lines = []
    for _ in range(count):
        at = [generator.randrange(size) for size in dims]
        value = 3 + sum(effects[n][i] for n, i in enumerate(at)) + tastes[0][at[0]] * tastes[1][at[1]]
        lines.append((at, value + generator.gauss(0, noise)))
    return lines


def text(lines):
    return "".join(" ".join(str(i + 1) for i in at) + f" {value!r}\n" for at, value in lines)


class Completion(ToolTest):
    def setUp(self):
        super().setUp()
        self.lines = ratings((40, 30, 5), 4000)
        self.train = self.write("train.tns", text(self.lines[:3600]))
        self.test = self.write("test.tns", text(self.lines[3600:]))
        # Every mode's last row occurs, so that the training set has the extents of both.
        self.assertEqual({max(at[n] for at, _ in self.lines[:3600]) for n in range(3)}, {39, 29, 4})

    def test_learns_and_the_report_says_so(self):
        report = self.report_of("fast-tucker", self.train, "--test", self.test, "-j", 4, "-r", 4, "--reg", 1,
                                "-o", "m.npz")
        errors = report["result"]["rmse"]
        self.assertEqual(report["result"]["entries"], {"train": 3600, "test": 400})
        # The interaction has deviation 1, the noise 0.1: biases alone stay near 1.
        self.assertLess(errors["test"], 0.3)
        self.assertEqual(len(report["iterations"]), 20)
        self.assertEqual(report["iterations"][-1]["rmse"], errors)
        self.assertGreater(report["iterations"][0]["rmse"]["train"], errors["train"])
        # The model's file says the same.
        model = load_npz(self.folder / "m.npz")
        squares = [(value - predict(model, at))**2 for at, value in self.lines[3600:]]
        self.assertAlmostEqual(math.sqrt(sum(squares) / 400), errors["test"], places=4)

    def test_a_binary_training_set_says_what_its_text_counted_from(self):
        from_0 = self.write("from_0.tns", "".join(" ".join(str(int(i) - 1) for i in line.split()[:3]) + f" {line.split()[3]}\n"
                                                  for line in self.test.read_text().splitlines()))
        common = ("-j", 4, "-r", 4, "--shrink", 10, "-i", 3, "-t", 1)
        expected = self.report_of("fast-tucker", self.train, "--test", self.test, *common)["result"]["rmse"]
        for train in ("train.npz", "train.pten"):
            self.succeed("convert", self.train, train)
            self.assertIn("from 1", self.succeed("stats", train).stdout)
            for more in ((), ("--index-base", 1)):
                found = self.report_of("fast-tucker", train, "--test", self.test, *more, *common)
                self.assertEqual(found["result"]["rmse"], expected)
            self.fail_with(3, "fast-tucker", train, "--test", from_0, *common, says="below 1")
            self.fail_with(2, "fast-tucker", train, "--test", from_0, "--index-base", 0, *common,
                           says="says that it counts from 1")
        # An npz of other programs does not say it.
        with zipfile.ZipFile(self.folder / "train.npz") as archive:
            arrays = {name: archive.read(name) for name in archive.namelist() if name != "index_base.npy"}
        with zipfile.ZipFile(self.folder / "other.npz", "w") as archive:
            for name, content in arrays.items():
                archive.writestr(name, content)
        self.succeed("convert", "other.npz", "other.pten")
        for train in ("other.npz", "other.pten"):
            self.assertEqual(self.report_of("fast-tucker", train, "--test", from_0, *common)["result"]["rmse"], expected)
            # Nothing in this text says from which number it counts.
            self.fail_with(2, "fast-tucker", train, "--test", self.test, *common, says="--index-base")
            for base, test in ((1, self.test), (0, from_0)):
                found = self.report_of("fast-tucker", train, "--test", test, "--index-base", base, *common)
                self.assertEqual(found["result"]["rmse"], expected)

    def test_report_lists_the_options(self):
        options = self.report_of("fast-tucker", self.train, "-i", 1, "-j", "3,4,5", "--optimizer", "sgd", "--no-sharing",
                                 "--clip", "1,5")["options"]
        for name, value in (("columns", "3,4,5"), ("sharing", False), ("intermediates", True), ("biases", True),
                            ("clip_lowest", 1), ("clip_highest", 5), ("cold_start", "bias"), ("optimizer", "sgd")):
            self.assertEqual(options[name], value, name)

    def test_rows_are_shrunk_or_have_a_ridge(self):
        def run(*arguments):
            report = self.report_of("fast-tucker", self.train, "--test", self.test, "-i", 8, *arguments)
            return report["options"]["shrink"], report["options"]["reg"], report["result"]["rmse"]

        self.assertEqual(run()[:2], ("auto", 0))
        shrink, reg, errors = run("--shrink", "10")
        self.assertEqual((shrink, reg), ("10,0.05", 0))
        self.assertEqual(run("--shrink", "10,0.05")[2], errors)
        self.assertEqual(run("--shrink", "10,0.05", "--targets", "zero,zero,zero")[2], errors)
        shrink, reg, near_one = run("--shrink", "10,0.05,300", "--targets", "zero,zero,one")
        self.assertEqual((shrink, reg), ("10,0.05,300", 0))
        self.assertNotEqual(near_one, errors)
        self.assertNotEqual(run("--shrink", "10", "--targets", "zero,zero,out")[2], near_one)
        shrink, reg, strong = run("--shrink", "1000,0.5")
        self.assertEqual((shrink, reg), ("1000,0.5", 0))
        self.assertGreater(strong["train"], errors["train"])
        shrink, reg, ridge = run("--reg", 2)
        self.assertEqual((shrink, reg), ("", 2))
        self.assertNotEqual(ridge, errors)
        self.assertEqual(run("--reg-per-entry")[:2], ("", 5))
        self.assertEqual(run("--optimizer", "adam")[:2], ("", 5))

    def test_held_out_entries_choose(self):
        report = self.report_of("fast-tucker", self.train, "--test", self.test, "-o", "m.npz")
        result = report["result"]
        self.assertTrue(result["choice"]["learns"])
        self.assertLess(result["choice"]["rmse"]["model"], 0.3)
        self.assertGreater(result["choice"]["rmse"]["biases"], 0.7)
        self.assertGreater(result["biases"]["rmse"]["test"], 0.7)
        self.assertLess(result["rmse"]["test"], 0.3)
        self.assertNotIn("rank", report["options"])
        model = load_npz(self.folder / "m.npz")
        self.assertEqual([model[f"factor_{n}"][0][1] for n in range(3)], result["columns"])
        self.assertEqual(model["core_0"][0][1], result["rank"])
        out = self.succeed("fast-tucker", self.train, "--test", self.test).stdout
        self.assertIn(f"--targets {','.join(result['targets'])} {result['regularization']}", out)
        self.assertIn("biases   train RMSE", out)
        # A user with -r alone gets as many columns.
        self.assertEqual(self.report_of("fast-tucker", self.train, "-r", 3)["result"]["columns"], [3, 3, 3])

    def made_ratings(self, entries=80000, noise=0.1, seed=0):
        self.succeed("gen", "ratings", "-d", "1000,300", "-n", entries, "-r", 4, "--skew", 0.3, "--noise", noise, "--seed", seed,
                     "-o", "made.npz")

    def test_the_search_obeys_the_time_limit(self):
        self.made_ratings(400000)
        began = time.monotonic()
        report = self.report_of("fast-tucker", "made.npz", "--time-limit", 0.05, "-o", "m.npz")
        self.assertLess(time.monotonic() - began, 60)
        choice = report["result"]["choice"]
        self.assertEqual(choice["reason"], "time limit")
        self.assertEqual(report["result"]["reason"], "time limit" if choice["learns"] else "mean and biases")
        self.assertEqual(report["iterations"], [])
        self.assertIn("factor_0", load_npz(self.folder / "m.npz"))
        self.assertIn("ended by the time limit", self.succeed("fast-tucker", "made.npz", "--time-limit", 0.05).stdout)

    def test_a_signal_ends_the_search_and_keeps_the_best(self):
        self.made_ratings(400000)
        process = subprocess.Popen([TOOL, "fast-tucker", "made.npz", "-r", "32", "-t", "1", "-o", "m.npz", "--report", "r.json"],
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        self.addCleanup(process.kill)
        self.assertRegex(process.stderr.readline(), r"\Achoosing the options: ")
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130)
        self.assertIn("ended by a signal", stdout)
        self.assertIn("interrupted", stderr)
        report = json.loads((self.folder / "r.json").read_text())
        self.assertEqual(report["result"]["choice"]["reason"], "interrupted")
        self.assertIn("factor_0", load_npz(self.folder / "m.npz"))

    def test_why_a_run_ends(self):
        self.made_ratings()
        chosen = self.succeed("fast-tucker", "made.npz", "-i", 100).stdout
        self.assertIn("(the number that held-out entries chose)", chosen)
        self.assertIn("(iteration limit)", self.succeed("fast-tucker", "made.npz", "-i", 2).stdout)
        self.assertIn("(iteration limit)", self.succeed("fast-tucker", "made.npz", "-i", 3, "--shrink", 10).stdout)

    def test_sets_with_nothing_to_choose_by(self):
        ones = self.write("ones.tns", "".join(f"{i + 1} {j + 1} 1\n" for i in range(30) for j in range(24)))
        result = self.succeed("fast-tucker", ones)
        self.assertIn("polyad: warning: all values are equal: there is nothing to rank rows by\n", result.stderr)
        quiet = self.succeed("fast-tucker", ones, "-q").stderr
        self.assertEqual([line for line in quiet.splitlines() if "warning:" not in line], [])
        self.assertIn("they explain every entry", result.stdout)
        two = self.write("two.tns", "1 1 3\n2 2 4\n")
        result = self.succeed("fast-tucker", two)
        self.assertIn("held out nothing", result.stdout)
        self.assertIn("too few entries to hold any out", result.stdout)
        self.assertNotIn("held out 0", result.stdout)
        self.assertNotIn("all values are equal", result.stderr)

    def test_chosen_options_by_hand(self):
        generator = random.Random(9)
        left = [[generator.gauss(0, 1) for _ in range(2)] for _ in range(60)]
        right = [[generator.gauss(0, 0.5) for _ in range(2)] for _ in range(50)]
        for seed in range(3):
            lines = []
            for _ in range(3000):
                i, j = generator.randrange(60), generator.randrange(50)
                lines.append(([i, j], 3 + sum(a * b for a, b in zip(left[i], right[j])) + generator.gauss(0, 0.6)))
            ratings = self.write("by_hand.tns", text(lines))
            first = self.succeed("fast-tucker", ratings, "--split", 0.1, "--seed", seed, "--report", "r.json").stdout
            chosen = re.search(r"^chosen +(.*)$", first, re.M).group(1).split()
            # The search fixes the cores with a ridge. If they moved, they would learn the noise.
            self.assertEqual("--fixed-cores" in chosen, "--reg-per-entry" in chosen)
            rmse = json.loads((self.folder / "r.json").read_text())["result"]["rmse"]["test"]
            again = self.report_of("fast-tucker", ratings, "--split", 0.1, "--seed", seed, *chosen)["result"]
            self.assertLess(again["rmse"]["test"], 1.05 * rmse)

    def test_values_that_differ_by_a_few_units_of_a_large_number(self):
        generator = random.Random(3)
        left = [[generator.gauss(0, 1) for _ in range(2)] for _ in range(60)]
        right = [[generator.gauss(0, 1) for _ in range(2)] for _ in range(50)]
        lines = []
        for _ in range(2500):
            i, j = generator.randrange(60), generator.randrange(50)
            lines.append(((i, j), 3e7 + sum(a * b for a, b in zip(left[i], right[j])) + generator.gauss(0, 0.02)))
        path = self.write("far.tns", "".join(f"{i + 1} {j + 1} {x:.4f}\n" for (i, j), x in lines))
        rmse = {}
        for precision in ("f32", "f64"):  # floats near 3e7 are two apart
            result = self.report_of("fast-tucker", path, "--split", 0.1, "--precision", precision, "--clip", "29999900,30000100",
                                    "-o", f"{precision}.npz")["result"]
            self.assertTrue(result["choice"]["learns"])
            rmse[precision] = result["rmse"]["test"]
            self.assertLess(rmse[precision], 0.5 * result["biases"]["rmse"]["test"])
            model = load_npz(self.folder / f"{precision}.npz")
            self.assertEqual(model["range"][1], (29999900.0, 30000100.0))
            errors = [predict(model, at) - x for at, x in lines]
            self.assertLess(math.sqrt(sum(e * e for e in errors) / len(errors)), 0.3)
        self.assertAlmostEqual(rmse["f32"], rmse["f64"], delta=0.1)

    def test_ratings_larger_than_the_device(self):
        lines = ratings((60, 40, 5), 20000, seed=3)
        train = self.write("many.tns", text(lines))
        common = ("fast-tucker", train, "--test", self.test, "-r", 4, "-o", "m.npz")
        needed = 20000 * 16  # bytes of the set alone
        for arguments, budget in ((("--shrink", 10), 2 * needed), ((), 7 * needed // 2)):
            want = self.report_of(*common, *arguments, "--format", "sorted")
            self.assertNotIn("chosen_because", want["format"])
            kept = load_npz(self.folder / "m.npz")
            report = self.report_of(*common, *arguments, "--device-memory", budget)
            self.assertEqual(report["format"]["name"], "streamed-sorted")
            self.assertIn("does not fit", report["format"]["chosen_because"])
            self.assertEqual(report["options"]["device_memory"], budget)
            self.assertLessEqual(report["memory"]["device_peak_bytes"], budget)
            self.assertEqual(len(report["iterations"]), len(want["iterations"]))
            for key in ("targets", "regularization", "rank", "columns"):
                self.assertEqual(report["result"][key], want["result"][key], key)
            for sets in ("rmse", "mae"):
                for name in ("train", "test"):
                    self.assertAlmostEqual(report["result"][sets][name], want["result"][sets][name], places=4)
                    self.assertAlmostEqual(report["result"]["biases"][sets][name],
                                           want["result"]["biases"][sets][name], places=6)
            model = load_npz(self.folder / "m.npz")
            for at, _ in lines[:50]:
                self.assertAlmostEqual(predict(model, at), predict(kept, at), places=3)
        # With a fixed order of sums too: the same bits from run to run, whatever the threads.
        bits = []
        for threads in (1, 2):
            report = self.report_of(*common, "-j", 3, "--shrink", 10, "-i", 3, "--deterministic",
                                    "--device-memory", 8 * needed, "-t", threads,
                                    "--format", "streamed-sorted")
            self.assertEqual(report["format"]["name"], "streamed-sorted")
            bits.append((self.folder / "m.npz").read_bytes())
        self.assertEqual(bits[0], bits[1])
        # Named, it is taken where memory abounds.
        out = self.succeed(*common, "--format", "streamed-sorted", "--device-memory", "1G").stdout
        self.assertIn(", streamed-sorted, f32", out)
        self.assertNotIn("because", out)
        out = self.succeed(*common, "--format", "streamed-sorted", "--optimizer", "adam", "-i", 2).stdout
        self.assertIn("biases   train RMSE", out)
        out = self.succeed(*common, "--shrink", 10, "-i", 2, "--device-memory", 2 * needed).stdout
        self.assertIn("format   streamed-sorted because", out)
        for limit in (0, 1000, 30000, 100000, 300000):  # each says which array needs how many bytes
            result = self.fail_with(4, *common, "--device-memory", limit, says="needs")
            self.assertRegex(result.stderr, r"needs [0-9]+ bytes: only [0-9]+ bytes are (free|left)")
        for arguments, code, says in ((("--device-memory", needed, "--format", "sorted"), 4, "are free"),
                                      (("--device-memory", needed, "--optimizer", "sgd"), 4, "are free"),
                                      (("--device-memory", "many"), 2, "takes bytes"),
                                      (("--format", "streamed-blco"), 2, "als needs")):
            self.fail_with(code, *common, *arguments, says=says)

    def test_where_nothing_beats_the_biases_they_are_the_model(self):
        generator = random.Random(4)
        noise = [([generator.randrange(size) for size in (40, 30, 5)], generator.gauss(3, 1)) for _ in range(3000)]
        for lines in (noise, [(at, 4.0) for at, _ in noise], noise[:1]):
            path = self.write("noise.tns", text(lines))
            report = self.report_of("fast-tucker", path, "-o", "m.npz")
            self.assertFalse(report["result"]["choice"]["learns"])
            self.assertEqual(report["result"]["rmse"], report["result"]["biases"]["rmse"])
            self.assertIn("mean and biases alone", self.succeed("fast-tucker", path).stdout)
            model = load_npz(self.folder / "m.npz")
            for at, _ in lines[:20]:
                biases = model["mean"][1][0] + sum(model[f"bias_{n}"][1][i] for n, i in enumerate(at))
                self.assertAlmostEqual(predict(model, at), biases, places=12)

    def test_a_gain_within_its_own_error_is_none(self):
        # From these ratings a fit learns more noise than interaction. On its way it passes near the biases,
        # and the held-out error of that epoch is a hair below theirs.
        self.succeed("gen", "ratings", "-d", "1000,300", "-n", 80000, "-r", 4, "--skew", 0.5, "--noise", 0.25,
                     "--seed", 1, "-o", "made.npz")
        report = self.report_of("fast-tucker", "made.npz", "--split", 0.1, "--clip", "1,5", "-t", 1)
        result = report["result"]
        self.assertFalse(result["choice"]["learns"])
        self.assertLess(abs(result["choice"]["rmse"]["model"] / result["choice"]["rmse"]["biases"] - 1), 1e-3)
        self.assertEqual(result["rmse"], result["biases"]["rmse"])

    def test_matrices(self):
        lines = ratings((60, 40), 3000)
        train, test = self.write("a.tns", text(lines[:2700])), self.write("b.tns", text(lines[2700:]))
        for arguments in ((), ("--reg", 1), ("--optimizer", "adam", "--lr", 0.02, "-i", 100, "--reg", 0.01),
                          ("--optimizer", "sgd", "--lr", 0.02, "-i", 60, "--lr-decay", 0, "--reg", 0.01)):
            with self.subTest(arguments=arguments):
                report = self.report_of("fast-tucker", train, "--test", test, "-j", 4, *arguments, "-o", "m.npz")
                self.assertLess(report["result"]["rmse"]["test"], 0.6 * report["result"]["biases"]["rmse"]["test"])
        places = self.write("places.tns", "".join(f"{at[0] + 1} {at[1] + 1}\n" for at, _ in lines[2700:]))
        self.succeed("predict", "m.npz", places, "--index-base", 1, "-o", "p.tns")
        model = load_npz(self.folder / "m.npz")
        for line, (at, _) in zip((self.folder / "p.tns").read_text().splitlines(), lines[2700:]):
            self.assertAlmostEqual(float(line.split()[2]), predict(model, at), places=5)

    def test_adam_descends(self):
        report = self.report_of("fast-tucker", self.train, "--optimizer", "adam", "--lr", 0.02, "-i", 100, "--reg", 0.01,
                                "-j", 4, "-r", 4)
        first, last = report["iterations"][0]["rmse"]["train"], report["iterations"][-1]["rmse"]["train"]
        self.assertLess(last, 0.5 * first)

    def test_sgd_descends_by_each_method(self):
        for arguments in ((), ("--no-sharing",), ("--format", "coo-tiny-vec"),
                          ("--format", "coo-tiny-vec", "--no-intermediates"), ("--format", "sorted"),
                          ("--format", "coo-permuted")):
            with self.subTest(arguments=arguments):
                report = self.report_of("fast-tucker", self.train, "--optimizer", "sgd", "--lr", 0.02, "-i", 60,
                                        "--lr-decay", 0, "--reg", 0.01, "-j", 4, "-r", 4, *arguments)
                self.assertEqual(report["format"]["name"], arguments[1] if "--format" in arguments else "b-csf")
                first, last = report["iterations"][0]["rmse"]["train"], report["iterations"][-1]["rmse"]["train"]
                self.assertLess(last, 0.5 * first)

    def test_adam_takes_the_same_steps_on_every_format(self):
        runs = [self.report_of("fast-tucker", self.train, "--optimizer", "adam", "-i", 3, "--precision", "f64", "--format",
                               name)["result"]["rmse"]["train"] for name in ("sorted", "coo-permuted", "b-csf", "hb-csf",
                                                                                      "blco", "alto")]
        for run in runs[1:]:
            self.assertAlmostEqual(run, runs[0], places=9)

    def test_pictures(self):
        script = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "completion_pictures.py"
        for optimizer, name in (("als", "sorted"), ("sgd", "b-csf")):
            self.succeed("fast-tucker", self.train, "--test", self.test, "--optimizer", optimizer, "-i", 2, "-j", 8, "--format", name,
                         "--bias-reg", 6, "--report", f"{optimizer}.json")
        specification = importlib.util.spec_from_file_location("completion_pictures", script)
        pictures = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(pictures)
        report = json.loads((self.folder / "als.json").read_text())
        name, seconds, errors = pictures.series(report, "test")
        self.assertEqual(name, "als, sorted, J 8, R 8")
        self.assertEqual(errors, [epoch["rmse"]["test"] for epoch in report["iterations"]])
        self.assertAlmostEqual(seconds[1], sum(epoch["seconds"] for epoch in report["iterations"]))
        with self.assertRaisesRegex(ValueError, "validation"):
            pictures.series(report, "validation")
        other = self.write("other.json", "{}")
        command = [sys.executable, script, "als.json", "sgd.json", "-o", "p.png"]
        self.assertEqual(subprocess.run([*command, other], cwd=self.folder, capture_output=True).returncode, 2)
        self.assertEqual(pictures.biases([report, report], "test"), report["result"]["biases"]["rmse"]["test"])
        self.assertIsNone(pictures.biases([report, {"result": {}}], "test"))
        if importlib.util.find_spec("matplotlib"):
            subprocess.run(command, cwd=self.folder, check=True)
            self.assertEqual((self.folder / "p.png").read_bytes()[:4], b"\x89PNG")
            subprocess.run([*command[:-1], "p.svg", "--log"], cwd=self.folder, check=True)
            self.assertIn("mean and biases", (self.folder / "p.svg").read_text())

    def test_predict(self):
        self.succeed("fast-tucker", self.train, "-j", "3,2,1", "-r", 2, "--clip", "2,4", "-o", "m.npz", "--precision",
                     "f64")
        model = load_npz(self.folder / "m.npz")
        self.assertEqual([model[f"factor_{n}"][0][1] for n in range(3)], [3, 2, 1])
        result = self.succeed("predict", "m.npz", self.test, "-o", "p.tns")
        self.assertIn("RMSE", result.stdout)
        lines = [line.split() for line in (self.folder / "p.tns").read_text().splitlines() if line[0] != "#"]
        self.assertEqual(len(lines), 400)
        for line, (at, _) in zip(lines, self.lines[3600:]):
            self.assertEqual([int(i) - 1 for i in line[:3]], at)
            self.assertAlmostEqual(float(line[3]), predict(model, at), places=9)
        self.assertEqual({2.0, 4.0} & {float(line[3]) for line in lines}, {2.0, 4.0})  # the ends of the range
        # Lines without values.
        places = self.write("places.tns", "".join(" ".join(str(i + 1) for i in at) + "\n"
                                                  for at, _ in self.lines[3600:]))
        self.succeed("predict", "m.npz", places, "--index-base", 1, "-o", "q.tns")
        self.assertEqual((self.folder / "q.tns").read_text(), (self.folder / "p.tns").read_text())
        places = self.write("from_zero.tns", "".join(" ".join(map(str, at)) + "\n" for at, _ in self.lines[3600:]))
        self.succeed("predict", "m.npz", places, "--index-base", 0, "-o", "r.tns")
        lines_from_0 = [line.split() for line in (self.folder / "r.tns").read_text().splitlines()]
        self.assertEqual([[*(str(int(i) + 1) for i in line[:3]), line[3]] for line in lines_from_0],
                         [line.split() for line in (self.folder / "p.tns").read_text().splitlines()])

    def test_recommend_and_similar(self):
        self.succeed("fast-tucker", self.train, "-r", 4, "--clip", "0,6", "-o", "m.npz", "--precision", "f64")
        model = load_npz(self.folder / "m.npz")

        def rows(*arguments):
            out = self.succeed(*arguments).stdout
            return [(int(line.split()[0]) - 1, float(line.split()[1])) for line in out.splitlines()]

        def expect(found, values, count):
            self.assertEqual(len(found), count)
            best = sorted(values.items(), key=lambda item: -item[1])[:count]
            for (index, value), (_, wanted) in zip(found, best):
                self.assertAlmostEqual(value, wanted, delta=2e-5 * (1 + abs(wanted)))
                self.assertAlmostEqual(values[index], wanted, delta=2e-5 * (1 + abs(wanted)))

        unclipped = {name: array for name, array in model.items() if name != "range"}
        exact = {i: predict(unclipped, (6, i, 2)) for i in range(30)}
        expect(rows("recommend", "m.npz", "--mode", 1, "--for", "7,3", "-n", 5), exact, 5)
        mean = {i: sum(predict(unclipped, (6, i, t)) for t in range(5)) / 5 for i in range(30)}
        expect(rows("recommend", "m.npz", "--mode", 1, "--for", "7,*", "-n", 6, "--clip", "-99,99"), mean, 6)
        # What the user has seen is left out, in whatever month.
        seen = {at[1] for at, _ in self.lines[:3600] if at[0] == 6}
        rest = {i: value for i, value in mean.items() if i not in seen}
        expect(rows("recommend", "m.npz", "--mode", 1, "--for", "7,*", "-n", 40, "--clip", "-99,99", "--seen", self.train),
               rest, len(rest))
        # A user that is not known has no bias and no taste.
        result = self.succeed("recommend", "m.npz", "--mode", 1, "--for", "99,3", "-n", 30)
        self.assertIn("1 queries have an index", result.stderr)
        cold = {i: model["mean"][1][0] + model["bias_1"][1][i] + model["bias_2"][1][2] for i in range(30)}
        expect([(int(line.split()[0]) - 1, float(line.split()[1])) for line in result.stdout.splitlines()], cold, 30)

        def product_row(n, i):
            columns = model[f"factor_{n}"][0][1]
            return [sum(model[f"factor_{n}"][1][i * columns + j] * model[f"core_{n}"][1][j * 4 + r] for j in range(columns))
                    for r in range(4)]

        others = [[a * b for a, b in zip(product_row(0, user), product_row(2, month))]
                  for user in range(40) for month in range(5)]

        def product(i):  # what the row adds to the predictions for all users and months
            own = product_row(1, i)
            return [sum(a * b for a, b in zip(own, other)) for other in others]

        def cosine(a, b):
            dot = sum(x * y for x, y in zip(a, b))
            return dot / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))

        cosines = {i: cosine(product(i), product(8)) for i in range(30) if i != 8}
        expect(rows("similar", "m.npz", "--mode", 1, "--index", 9, "-n", 7), cosines, 7)
        self.succeed("similar", "m.npz", "--mode", 1, "--index", 9, "-o", "s.txt")
        self.assertEqual(len((self.folder / "s.txt").read_text().splitlines()), 10)
        for says, *arguments in (("--mode 3 of 3 modes", "recommend", "m.npz", "--mode", 3, "--for", "1,1"),
                                 ("1 indices for the 2", "recommend", "m.npz", "--mode", 1, "--for", "1"),
                                 ("not 'x'", "recommend", "m.npz", "--mode", 1, "--for", "1,x"),
                                 ("not '0'", "recommend", "m.npz", "--mode", 1, "--for", "1,0"),
                                 ("--index 31", "similar", "m.npz", "--mode", 1, "--index", 31),
                                 ("either --for or --for-file", "recommend", "m.npz", "--mode", 1),
                                 ("either --index or --for-file", "similar", "m.npz", "--mode", 1, "--index", 1,
                                  "--for-file", "q.txt"),
                                 ("99 is not a row of mode 0", "recommend", "m.npz", "--mode", 1, "--for", "99,1",
                                  "--cold-start", "refuse"),
                                 ("0 rows are requested", "recommend", "m.npz", "--mode", 1, "--for", "9,1", "-n", 0)):
            self.fail_with(2, *arguments, says=says)

    def test_many_queries_at_once(self):
        self.succeed("fast-tucker", self.train, "-r", 3, "-o", "m.npz", "--precision", "f64")
        queries = [(user, month) for user in (7, 1, 40, 7) for month in (3, "*")] + [(99, 2)]
        lines = "".join(f"{user}\t {month}\r\n" for user, month in queries)
        self.write("q.txt", "# user month\n\n" + lines)
        arguments = ("recommend", "m.npz", "--mode", 1, "-n", 4, "--seen", self.train)
        result = self.succeed(*arguments, "--for-file", "q.txt")
        self.assertIn("1 queries have an index", result.stderr)
        alone = ""
        for user, month in queries:
            rows = self.succeed(*arguments, "--for", f"{user},{month}").stdout
            alone += "".join(f"{user} {month} {row}\n" for row in rows.splitlines())
        self.assertEqual(result.stdout, alone)
        self.succeed(*arguments, "--for-file", "q.txt", "-o", "r.txt")
        self.assertEqual((self.folder / "r.txt").read_text(), alone)
        self.succeed(*arguments, "--for-file", "q.txt", "-o", "r.npz")
        arrays = load_npz(self.folder / "r.npz")
        found = [f"{' '.join(map(str, queries[int(q) - 1]))} {int(row)} {score:.6g}"
                 for q, row, score in zip(*(arrays[name][1] for name in ("query", "row", "score")))]
        self.assertEqual(found, alone.splitlines())

        self.write("rows.txt", "3\n9\n3\n")
        found = self.succeed("similar", "m.npz", "--mode", 1, "--for-file", "rows.txt", "-n", 5).stdout.splitlines()
        for i, row in enumerate((3, 9, 3)):
            alone = self.succeed("similar", "m.npz", "--mode", 1, "--index", row, "-n", 5).stdout.splitlines()
            self.assertEqual(found[5 * i:5 * i + 5], [f"{row} {line}" for line in alone])

        for content, says in (("7 3\n7 x\n", "bad.txt:2:3: takes indices of at least 1, or *, not 'x'"),
                              ("7 3 1\n", "bad.txt:1:5: gives 3 indices for the 2 other modes"),
                              ("7\n", "bad.txt:1: gives 1 indices for the 2 other modes"),
                              ("\n 0 1\n", "bad.txt:2:2: takes indices"), ("# 7 3\n", "bad.txt: holds no query"),
                              (b"\x00\xff\n", "bad.txt:1: gives 1"), ("18446744073709551616 1", "bad.txt:1:1: takes")):
            self.write("bad.txt", content)
            self.fail_with(3, "recommend", "m.npz", "--mode", 1, "--for-file", "bad.txt", says=says)
        self.fail_with(3, *arguments, "--for-file", "q.txt", "--cold-start", "refuse",
                       says="q.txt:11:1: 99 is not a row of mode 0: the model has 40")
        self.fail_with(3, *arguments, "--for-file", "none.txt", says="none.txt")
        self.fail_with(3, "similar", "m.npz", "--mode", 1, "--for-file", "q.txt", says="q.txt:3:4: gives 2")

    def test_values_far_from_one(self):
        def scaled(lines, factor):
            return text([(at, value * factor) for at, value in lines])

        options = ("-r", 2, "--shrink", 3, "--precision", "f64", "--clip")
        plain = self.report_of("fast-tucker", self.train, "--test", self.test, *options, "-9,9")["result"]
        for factor in (1e30, 1e-30):
            train = self.write("far.tns", scaled(self.lines[:3600], factor))
            test = self.write("far_test.tns", scaled(self.lines[3600:], factor))
            report = self.report_of("fast-tucker", train, "--test", test, *options, f"{-9 * factor},{9 * factor}", "-o", "m.npz")
            for kind in (report["result"]["rmse"], report["result"]["biases"]["rmse"], report["iterations"][-1]["rmse"]):
                wanted = plain["biases"] if kind is report["result"]["biases"]["rmse"] else plain
                self.assertAlmostEqual(kind["test"] / factor, wanted["rmse"]["test"], places=3)
            model = load_npz(self.folder / "m.npz")
            squares = [(value - predict(model, at) / factor)**2 for at, value in self.lines[3600:]]
            self.assertAlmostEqual(math.sqrt(sum(squares) / 400), report["result"]["rmse"]["test"] / factor, places=6)
            self.assertNotIn("RMSE 0.0000", self.succeed("predict", "m.npz", test, "-o", "p.tns").stdout)
        answer = self.run_tool("fast-tucker", self.write("huge.tns", scaled(self.lines[:3600], 1e38)))
        self.assertEqual(answer.returncode, 2, answer.stderr)
        self.assertIn("--precision f64", answer.stderr)

    def test_later_times_are_mentioned(self):
        generator = random.Random(5)
        moods = [[generator.gauss(0, 1) for _ in range(4)] for _ in range(40)]
        lines = []
        for _ in range(4000):
            at = [generator.randrange(size) for size in (40, 12, 30)]  # user, month, film
            lines.append((at, 3 + moods[at[0]][at[1] // 3] + generator.gauss(0, 0.3)))
        entries = self.write("moody.tns", text(lines))
        later = "later    times after the last one with entries are predicted by mean and biases alone, without drifts\n"
        for options in ((), ("-r", 2, "--shrink", 10)):
            said = self.succeed("fast-tucker", entries, "--time-mode", 1, "--split-time", 0.2, "--report", "r.json", *options)
            self.assertIn(later, said.stdout)
            result = json.loads((self.folder / "r.json").read_text())["result"]
            self.assertEqual(result["later_times"], "mean and biases alone, without drifts")
            fades = self.succeed("fast-tucker", entries, "--time-mode", 1, "--split-time", 0.2, "--time-bins", "4,0,0", "--time-reg", "10,0.3,0", *options)
            self.assertIn("by mean and biases alone, whose drifts fade out\n", fades.stdout)
            # There are none without a split by time, and none without a mode of time.
            self.assertNotIn("later ", self.succeed("fast-tucker", entries, "--time-mode", 1, "--split", 0.2, *options).stdout)
            self.assertNotIn("later ", self.succeed("fast-tucker", entries, "--split-time", 0.2, "--split-mode", 1, *options).stdout)

    def test_biases_drift_over_time(self):
        generator = random.Random(5)
        moods = [[generator.gauss(0, 1) for _ in range(4)] for _ in range(40)]
        effects = [generator.gauss(0, 1) for _ in range(30)]
        lines = []
        for _ in range(6000):
            at = [generator.randrange(size) for size in (40, 12, 30)]  # user, month, film
            lines.append((at, 3 + moods[at[0]][at[1] // 3] + effects[at[2]] + generator.gauss(0, 0.3)))
        train, test = self.write("moody.tns", text(lines[:5000])), self.write("moody_test.tns", text(lines[5000:]))
        steady = self.report_of("fast-tucker", train, "--test", test)["result"]
        self.assertEqual(steady["drift"], "")
        result = self.report_of("fast-tucker", train, "--test", test, "--time-mode", 1, "--precision", "f64", "-o",
                                "m.npz")["result"]
        self.assertLess(result["rmse"]["test"], 0.4)  # 0.3 is noise
        self.assertLess(result["biases"]["rmse"]["test"], 0.4)
        self.assertGreater(steady["biases"]["rmse"]["test"], 0.8)
        self.assertIn("--time-mode 1 --time-bins ", result["drift"])
        model = load_npz(self.folder / "m.npz")
        self.assertEqual(model["time_mode"][1], (1.0,))
        self.assertIn("drift_0", model)
        self.assertNotIn("drift_2", model)  # films stay as they are
        squares = [(value - predict(model, at))**2 for at, value in lines[5000:]]
        self.assertAlmostEqual(math.sqrt(sum(squares) / 1000), result["rmse"]["test"], places=9)
        # The options that the output names fit the same drifts.
        again = self.report_of("fast-tucker", train, "--test", test, "--precision", "f64", "--shrink", 10,
                               *result["drift"].split())["result"]
        self.assertAlmostEqual(again["biases"]["rmse"]["test"], result["biases"]["rmse"]["test"], places=5)

        # Entries at any time are predicted; a time after the last has no drift.
        places = self.write("places.tns", "".join(f"{i} {t} {f} 0\n" for i in (1, 7) for t in (1, 12, 40) for f in (1, 9)))
        self.assertIn("4 entries have an index", self.succeed("predict", "m.npz", places, "--index-base", 1, "-o",
                                                              "p.tns").stderr)
        for line in (self.folder / "p.tns").read_text().splitlines():
            *at, value = line.split()
            at = [int(i) - 1 for i in at]
            known = predict(model, at) if at[1] < 12 else (model["mean"][1][0] + model["bias_0"][1][at[0]] +
                                                           model["bias_2"][1][at[2]] + drift(model, at))
            self.assertAlmostEqual(float(value), known, places=9)

        def rows(at):
            out = self.succeed("recommend", "m.npz", "--mode", 2, "--for", at, "-n", 30).stdout
            return {int(line.split()[0]) - 1: float(line.split()[1]) for line in out.splitlines()}

        late = {f: model["mean"][1][0] + model["bias_0"][1][6] + model["bias_2"][1][f] + drift(model, (6, 99, f))
                for f in range(30)}
        for at, wanted in (("7,3", {f: predict(model, (6, 2, f)) for f in range(30)}),
                           ("7,*", {f: sum(predict(model, (6, t, f)) for t in range(12)) / 12 for f in range(30)}),
                           ("*,3", {f: sum(predict(model, (i, 2, f)) for i in range(40)) / 40 for f in range(30)}),
                           ("7,99", late)):
            for film, value in rows(at).items():
                self.assertAlmostEqual(value, wanted[film], delta=2e-5 * (1 + abs(value)))
        for says, *arguments in (("--time-mode 3 of 3 modes", "--time-mode", 3),
                                 ("take one number or 3, not 2", "--time-mode", 1, "--time-bins", "3,3"),
                                 ("require --time-mode", "--time-bins", 3),
                                 ("requires --time-bins", "--time-mode", 1, "--time-reg", 3),
                                 ("--time-reg takes", "--time-mode", 1, "--time-bins", 3, "--time-reg", -1),
                                 ("not with --no-biases", "--time-mode", 1, "--no-biases")):
            answer = self.run_tool("fast-tucker", train, *arguments)
            self.assertEqual(answer.returncode, 2, answer.stderr)
            self.assertIn(says, answer.stderr)

    def test_split_is_the_same_for_a_seed(self):
        runs = [self.report_of("fast-tucker", self.train, "--split", 0.25, "-i", 1, "--seed", seed)["result"]
                for seed in (3, 3, 4)]
        self.assertEqual(runs[0]["entries"], runs[1]["entries"])
        self.assertAlmostEqual(runs[0]["rmse"]["test"], runs[1]["rmse"]["test"], places=4)  # sums on a GPU have no order
        self.assertNotEqual(runs[0]["entries"], runs[2]["entries"])
        self.assertEqual(sum(runs[0]["entries"].values()), 3600)
        self.assertAlmostEqual(runs[0]["entries"]["test"], 900, delta=5 * math.sqrt(3600 * 0.25 * 0.75))

    def test_deterministic_at_any_number_of_threads(self):
        for threads in (1, 3):
            self.succeed("fast-tucker", self.train, "--deterministic", "-i", 3, "-t", threads, "-o", f"{threads}.npz")
        self.assertEqual(load_npz(self.folder / "1.npz"), load_npz(self.folder / "3.npz"))

    def test_deterministic_on_alto_where_it_is(self):
        arguments = ("fast-tucker", self.train, "--optimizer", "adam", "--format", "alto", "-i", 3)
        if self.report_of(*arguments)["backend"]["name"] not in ("Serial", "OpenMP"):
            result = self.run_tool(*arguments, "--deterministic")
            self.assertEqual(result.returncode, 2)
            self.assertIn("not deterministic", result.stderr)
            return
        for threads in (1, 3):
            self.succeed(*arguments, "--deterministic", "-t", threads, "-o", f"{threads}.npz")
        self.assertEqual(load_npz(self.folder / "1.npz"), load_npz(self.folder / "3.npz"))

    def test_early_stopping_keeps_the_best(self):
        noisy = self.write("noisy.tns", text(ratings((40, 30, 5), 2000, noise=0.7)))
        report = self.report_of("fast-tucker", noisy, "-j", 8, "-r", 8, "--reg", 0.01, "--patience", 2, "--validate",
                                0.2, "-i", 100)
        errors = [epoch["rmse"]["validation"] for epoch in report["iterations"]]
        self.assertLess(len(errors), 100)
        self.assertGreater(report["result"]["kept_iteration"], 0)
        self.assertEqual(report["result"]["kept_iteration"], errors.index(min(errors)) + 1)
        self.assertEqual(report["result"]["rmse"]["validation"], min(errors))

    def test_zeros_and_duplicates_are_observations(self):
        # Two observations of 1 and one of 4 at one place: their mean is 2, which a model without ridge meets.
        path = self.write("d.tns", "1 1 1\n1 1 1\n1 1 4\n2 2 0\n2 2 0\n2 2 0\n")
        self.succeed("fast-tucker", path, "--no-biases", "--reg", 0, "-j", 2, "-r", 2, "-i", 50, "--precision", "f64",
                     "-o", "m.npz")
        model = load_npz(self.folder / "m.npz")
        self.assertEqual(model["mean"][1], (0.0,))
        self.assertAlmostEqual(predict(model, (0, 0)), 2, places=6)
        self.assertAlmostEqual(predict(model, (1, 1)), 0, places=6)

    def test_cold_start(self):
        outside = self.write("outside.tns", "41 1 1 3.0\n1 1 1 3.0\n")
        self.fail_with(3, "fast-tucker", self.train, "--test", outside, "--cold-start", "refuse",
                       says=["entry 1 has row 41 of mode 0", "40 rows, which count from 1", "--cold-start"])
        report = self.report_of("fast-tucker", self.train, "--test", outside, "-o", "m.npz")
        self.assertEqual(report["result"]["cold"], 1)
        self.assertEqual(report["result"]["entries"]["test"], 2)
        self.fail_with(3, "predict", "m.npz", outside, "--cold-start", "refuse", "-o", "p.tns",
                       says="entry 1 has row 41 of mode 0")
        self.assertIn("1 entries have an index", self.succeed("predict", "m.npz", outside, "-o", "p.tns").stderr)
        model = load_npz(self.folder / "m.npz")
        first = float((self.folder / "p.tns").read_text().splitlines()[0].split()[3])
        self.assertAlmostEqual(first, model["mean"][1][0] + model["bias_1"][1][0] + model["bias_2"][1][0], places=6)

    def test_divergence(self):
        report = self.folder / "r.json"
        result = self.run_tool("fast-tucker", self.train, "--optimizer", "adam", "--lr", "1e6", "-o", "m.npz",
                               "--report", report)
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertIn("lower --lr", result.stderr)
        self.assertFalse((self.folder / "m.npz").exists())  # nothing was learned
        content = json.loads(report.read_text())
        self.assertEqual(content["exit"], 5)
        self.assertEqual(content["result"]["reason"], "diverged")
        result = self.run_tool("fast-tucker", self.train, "--optimizer", "sgd", "--lr", "1e3")
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertIn("lower --lr and --core-lr", result.stderr)
        self.assertNotIn("suit ratings", result.stderr)
        large = self.write("large.tns", "".join(f"{i} {j} {1000 * (i * j % 7)}\n" for i in range(1, 30) for j in range(1, 30)))
        result = self.run_tool("fast-tucker", large, "--optimizer", "sgd")
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertIn("suit ratings", result.stderr)

    def test_refused(self):
        empty = self.write("empty.tns", "")
        one_mode = self.write("one.tns", "1 1.0\n2 2.0\n")
        model = self.folder / "m.npz"
        self.succeed("fast-tucker", self.train, "-i", 1, "-o", model)
        flat = self.write("flat.tns", "1 1 1 1 2.0\n")
        for code, says, *arguments in (
                (2, "at least one column", "fast-tucker", self.train, "-j", 0),
                (2, "rank must be at least 1", "fast-tucker", self.train, "-r", 0),
                (2, "2 numbers for 3 modes", "fast-tucker", self.train, "-j", "2,2"),
                (2, "exclude each other", "fast-tucker", self.train, "--split", 0.1, "--test", self.test),
                (2, "--validate need each other", "fast-tucker", self.train, "--patience", 2),
                (2, "--lr and --core-lr take", "fast-tucker", self.train, "--optimizer", "adam", "--lr", -1),
                (2, "--lr-decay takes", "fast-tucker", self.train, "--lr-decay", -1),
                (2, "--no-sharing is for sgd", "fast-tucker", self.train, "--no-sharing"),
                (2, "--shrink takes", "fast-tucker", self.train, "--shrink", "1,-1"),
                (2, "--shrink is for als", "fast-tucker", self.train, "--shrink", 1, "--optimizer", "adam"),
                (2, "--shrink is for als", "fast-tucker", self.train, "--shrink", 1, "--reg-per-entry"),
                (2, "excludes", "fast-tucker", self.train, "--shrink", 1, "--reg", 1),
                (2, "not deterministic", "fast-tucker", self.train, "--deterministic", "--optimizer", "sgd"),
                (2, "not deterministic", "fast-tucker", self.train, "--deterministic", "--format", "hb-csf", "--optimizer",
                 "adam"),
                (2, "not deterministic", "fast-tucker", self.train, "--deterministic", "--format", "blco", "--optimizer",
                 "adam"),
                (2, "--optimizer als needs", "fast-tucker", self.train, "--format", "b-csf"),
                (2, "--optimizer als needs", "fast-tucker", self.train, "--format", "blco"),
                (2, "--optimizer sgd does not run on", "fast-tucker", self.train, "--format", "blco", "--optimizer", "sgd"),
                (2, "--targets is for als", "fast-tucker", self.train, "--targets", "zero,zero,one", "--optimizer", "adam"),
                (2, "--targets", "fast-tucker", self.train, "--targets", "zero,zero,two"),
                (2, "the rank 12000 is above 4096", "fast-tucker", self.train, "-r", 12000),
                (2, "the rank 4097 is above 4096", "fast-tucker", self.train, "-r", 4, "-j", "4,4097,4"),
                (2, "not deterministic", "fast-tucker", self.train, "--deterministic", "--format", "coo-permuted"),
                (2, "ends with .npz", "fast-tucker", self.train, "-o", "m.ktns"),
                (3, "one mode only", "fast-tucker", one_mode),
                (3, "", "fast-tucker", empty),
                (3, "has 4 modes, but the model has 3", "predict", model, flat, "-o", "p.tns"),
                (3, "", "predict", self.train, self.test, "-o", "p.tns")):
            with self.subTest(arguments=arguments):
                if "2 numbers" in says:  # known when the file has been read
                    result = self.run_tool(*arguments)
                    self.assertEqual(result.returncode, code)
                    self.assertIn(says, result.stderr)
                else:
                    self.fail_with(code, *arguments, says=says)


if __name__ == "__main__":
    unittest.main()
