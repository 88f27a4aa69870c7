# SPDX-License-Identifier: BSD-3-Clause
"""--format auto, polyad estimate and polyad tune."""
import json
import os
import pathlib
import tempfile
import unittest

from tool import ToolTest, random_tensor, tns

FORMATS = {"coo-scratch", "coo-tiny-vec", "coo-permuted", "sorted", "csf", "b-csf", "hb-csf", "f-coo", "blco",
           "streamed-blco", "streamed-sorted", "alto"}
STREAMED = {"streamed-blco", "streamed-sorted"}


def total_s(measured, iterations):
    return measured["load_s"] + measured["build_s"] + iterations * measured["iteration_s"]


class AutoTest(ToolTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="polyad_cache_")
        self.addCleanup(folder.cleanup)
        self.cache = pathlib.Path(folder.name) / "cache"
        before = os.environ.get("XDG_CACHE_HOME")
        os.environ["XDG_CACHE_HOME"] = str(self.cache)

        def restore():
            if before is None:
                del os.environ["XDG_CACHE_HOME"]
            else:
                os.environ["XDG_CACHE_HOME"] = before

        self.addCleanup(restore)

    def tensor(self, dims=(60, 50, 40), nnz=6000, name="x.tns"):
        return self.write(name, tns(random_tensor(dims, nnz)))

    def formats_of(self, *arguments):
        result = self.report_of(*arguments)["result"]
        return result, {c["name"]: c for c in result["candidates"]}


class Estimate(AutoTest):
    def test_all_formats(self):
        path = self.tensor()
        report = self.report_of("estimate", path, "-r", 8, "-i", 20)
        result, formats = report["result"], {c["name"]: c for c in report["result"]["candidates"]}
        self.assertEqual(set(formats), FORMATS)
        self.assertEqual(result["iterations"], 20)
        self.assertEqual(formats["sorted"]["bytes"], 3 * 6000 * (8 + 3 * 4))  # every row is used
        self.assertEqual(formats["coo-permuted"]["bytes"], 6000 * (8 + 2 * 3 * 4))
        self.assertEqual(formats["blco"]["bytes"], 6000 * 16)
        for name, c in formats.items():
            with self.subTest(format=name):
                self.assertTrue(c["fits"])
                self.assertGreaterEqual(c["need_bytes"], c["build_bytes"])
                self.assertIsNone(c["measured"])
                if name == "streamed-sorted":  # its times were not fitted
                    self.assertIsNone(c["predicted"])
                    continue
                self.assertEqual(len(c["predicted"]["mode_s"]), 3)
                self.assertGreater(c["predicted"]["iteration_s"], sum(c["predicted"]["mode_s"]))
        self.assertIn(result["best"], formats)
        # What is stored is what was said.
        for name in ("sorted", "coo-permuted", "blco", "csf", "b-csf", "hb-csf", "f-coo"):
            built = self.report_of("cpd", path, "-r", 2, "-i", 1, "--format", name)["format"]["bytes"]
            self.assertLess(abs(built / formats[name]["bytes"] - 1), 0.2, name)

    def test_memory(self):
        path = self.tensor()
        _, formats = self.formats_of("estimate", path, "-r", 8, "--device-memory", "1M")
        needs = sorted(c["need_bytes"] for c in formats.values())
        budget = (needs[3] + needs[-1]) // 2
        result, formats = self.formats_of("estimate", path, "-r", 8, "--device-memory", budget)
        for c in formats.values():
            self.assertEqual(c["fits"], c["need_bytes"] <= result["free_bytes"], c["name"])
        self.assertTrue(formats[result["best"]]["fits"])
        result, _ = self.formats_of("estimate", path, "-r", 8, "--device-memory", 70000)
        self.assertIsNone(result["best"])
        self.assertRegex(result["because"], r"[a-z-]+ needs the least.* free; a smaller rank .-r")

    def test_text(self):
        text = self.succeed("estimate", self.tensor(), "-r", 8).stdout
        for name in FORMATS:
            time = "-" if name == "streamed-sorted" else "~"  # its times were not fitted
            self.assertRegex(text, rf"(?m)^{name} +[\d.]+ kB +[\d.]+ kB +yes +{time}")

    def test_cache(self):
        path = self.tensor()
        if self.report_of("estimate", path, "-r", 8)["backend"]["name"] != "CUDA":
            self.skipTest("a host is not measured (test_same_choice.py)")
        (file,) = (self.cache / "polyad").iterdir()
        good = json.loads(file.read_text())
        self.assertEqual(good["scalar_bytes"], 8)
        for broken in (b"", b"{", b"[1]", b"\xff\xfe", json.dumps({**good, "copy": -1}).encode(),
                       json.dumps({**good, "copy": "fast"}).encode(), json.dumps({**good, "gather": []}).encode(),
                       json.dumps({**good, "gather": [[2, 1], [1, 1]]}).encode(),
                       json.dumps({**good, "version": "0.0.0"}).encode()):
            with self.subTest(broken=broken[:40]):
                file.write_bytes(broken)
                self.succeed("estimate", path, "-r", 8)
                again = json.loads(file.read_text())
                self.assertEqual({k: again[k] for k in ("schema", "version", "device")},
                                 {k: good[k] for k in ("schema", "version", "device")})
                self.assertGreater(again["copy"], 0)
        # A good file is taken as it is: a machine of another speed is predicted another time.
        file.write_text(json.dumps({**good, "copy": good["copy"] * 1e-5,
                                    "gather": [[x, rate * 1e-5] for x, rate in good["gather"]]}))
        before = file.read_text()
        _, slow = self.formats_of("estimate", path, "-r", 8)
        self.assertEqual(file.read_text(), before)
        file.write_text(json.dumps(good))
        _, fast = self.formats_of("estimate", path, "-r", 8)
        for name in ("sorted", "coo-permuted"):
            self.assertGreater(slow[name]["predicted"]["iteration_s"], 10 * fast[name]["predicted"]["iteration_s"])

    def test_a_cache_that_cannot_be_written(self):
        self.cache.write_text("a file, no folder")
        self.succeed("estimate", self.tensor(), "-r", 8)

    def test_usage(self):
        path = self.tensor()
        self.fail_with(2, "estimate", path, "-r", 0)
        self.fail_with(2, "estimate", path)
        self.fail_with(2, "estimate", path, "-r", 3, "-i", 0)
        self.fail_with(3, "estimate", self.folder / "none.tns", "-r", 3)


class Auto(AutoTest):
    def fits(self, report):
        return [it["fit"] for it in report["iterations"]]

    def test_says_why(self):
        report = self.report_of("cpd", self.tensor(), "-r", 4, "-i", 3, "--tol", 0)
        self.assertRegex(report["format"]["chosen_because"], r"^3 iterations including the build take .* \(predicted\)")
        self.assertEqual({c["name"] for c in report["format"]["candidates"]}, FORMATS)
        text = self.succeed("cpd", self.tensor(), "-r", 4, "-i", 3).stdout
        self.assertRegex(text, r"(?m)^format +\S+ because 3 iterations")

    def test_time_limit(self):
        arguments = ("cpd", self.tensor(), "-r", 4, "-i", 100000000, "--tol", 0, "--time-limit", 0.05)
        format = self.report_of(*arguments)["format"]
        self.assertRegex(format["chosen_because"], r"^\d+ iterations in the time limit including the build take .*")
        self.assertLess(int(format["chosen_because"].split()[0]), 100000000)

    def test_falls_back_by_memory(self):
        path = self.tensor((200, 150, 100), 60000)
        common = ("cpd", path, "-r", 3, "-i", 3, "--tol", 0)
        want = self.fits(self.report_of(*common, "--format", "sorted"))
        _, formats = self.formats_of("estimate", path, "-r", 3, "--device-memory", "1G")  # streams from other memory
        seen = []
        for budget in sorted({c["need_bytes"] + 150000 for c in formats.values()}, reverse=True):
            report = self.report_of(*common, "--device-memory", budget)
            name = report["format"]["name"]
            seen.append(name)
            with self.subTest(budget=budget, format=name):
                for a, b in zip(self.fits(report), want):
                    self.assertAlmostEqual(a, b, delta=1e-9)
                self.assertLessEqual(report["memory"]["device_peak_bytes"], budget)
                self.assertTrue(report["format"]["chosen_because"])
        self.assertEqual(seen[-1], "streamed-blco")
        self.assertGreater(len(set(seen)), 2)
        self.assertIn("no other in-memory format fits", report["format"]["chosen_because"])
        self.fail_with(4, *common, "--device-memory", 95000, says=("streamed-blco needs the least", "a smaller rank (-r)"))

    def test_duplicates_are_summed_where_the_device_cannot_sort_them(self):
        entries = list(random_tensor((200, 150, 100), 40000).items())
        lines = [" ".join(str(i + 1) for i in place) + f" {value / share}" for share in (2, 2)
                 for place, value in entries]
        path = self.write("twice.tns", "\n".join(lines) + "\n")
        common = ("cpd", path, "-r", 3, "-i", 3, "--tol", 0)
        want = self.report_of(*common, "--format", "coo-tiny-vec")
        # Room for the coordinates of 80,000 lines, but not for their keys and positions, twice.
        report = self.report_of(*common, "--format", "coo-tiny-vec", "--device-memory", 80000 * 20 + 300000)
        for r in (want, report):
            self.assertEqual((r["input"]["nnz"], r["input"]["duplicates"]), (40000, 40000))
        for a, b in zip(self.fits(report), self.fits(want)):
            self.assertAlmostEqual(a, b, delta=1e-9)

    def test_sorted_says_that_its_copies_do_not_fit(self):
        path = self.tensor((200, 150, 100), 60000)
        _, formats = self.formats_of("estimate", path, "-r", 3)
        # Between what the copies ask for and what one copy does.
        budget = (formats["sorted"]["build_bytes"] + formats["coo-permuted"]["need_bytes"]) // 2
        report = self.report_of("cpd", path, "-r", 3, "-i", 1, "--format", "sorted", "--device-memory", budget)
        self.assertIn("copies do not fit", report["format"]["chosen_because"])

    def test_small_tensors(self):
        for text in ("1 1 1 2.5\n", "5 7 9 1\n", "".join(f"3 {j} {k} {j + k}\n" for j in range(1, 9) for k in range(1, 9)),
                     "".join(f"2 3 {k} {k}\n" for k in range(1, 50)), "1 1 1\n", "1 1 1 1 1 1 1\n"):
            path = self.write("small.tns", text)
            for arguments in ((), ("--tune",), ("--precision", "f32")):
                with self.subTest(text=text[:20], arguments=arguments):
                    report = self.report_of("cpd", path, "-r", 2, "-i", 2, *arguments)
                    self.assertGreater(report["result"]["fit"], -1)

    def test_deterministic(self):
        report = self.report_of("cpd", self.tensor(), "-r", 4, "-i", 2, "--deterministic")
        self.assertEqual(report["format"]["name"], "sorted")
        # What does not fit is streamed in a fixed order, too.
        report = self.report_of("cpd", self.tensor(), "-r", 4, "-i", 2, "--deterministic", "--device-memory", 220000)
        self.assertEqual(report["format"]["name"], "streamed-sorted")

    def test_tune(self):
        report = self.report_of("cpd", self.tensor(), "-r", 4, "-i", 2, "--tol", 0, "--tune")
        measured = {c["name"]: c["measured"] for c in report["format"]["candidates"]}
        self.assertEqual({name for name, times in measured.items() if times}, FORMATS - STREAMED)
        self.assertRegex(report["format"]["chosen_because"], r"\(measured\)")
        best = min((m for m in measured.values() if m), key=lambda m: total_s(m, 2))
        self.assertEqual(measured[report["format"]["name"]], best)
        self.fail_with(2, "cpd", self.tensor(), "-r", 4, "--tune", "--format", "sorted", says="leave --format out")

    def test_goes_on_in_the_format_of_the_checkpoint(self):
        path = self.tensor()
        self.succeed("cpd", path, "-r", 4, "-i", 2, "--format", "csf", "--checkpoint", "c")
        report = self.report_of("cpd", path, "-r", 4, "-i", 4, "--tol", 0, "--resume", "c")
        self.assertEqual(report["format"]["name"], "csf")

    def test_fast_tucker(self):
        # A given shrinkage: where held-out entries choose, they may leave nothing to fit and no format to choose.
        shrunk = ("fast-tucker", self.tensor(), "-r", 4, "-j", 4, "-i", 2, "--shrink", 10)
        report = self.report_of(*shrunk)
        self.assertEqual({c["name"] for c in report["format"]["candidates"]}, {"sorted", "coo-permuted"})
        self.assertIn("sweeps of all modes", report["format"]["chosen_because"])
        report = self.report_of(*shrunk, "--format", "sorted")
        self.assertNotIn("candidates", report["format"])


class Tune(AutoTest):
    def test_table(self):
        result, formats = self.formats_of("tune", self.tensor(), "-r", 4, "-i", 5)
        self.assertEqual(set(formats), FORMATS)
        self.assertEqual({name for name, c in formats.items() if c["measured"]}, FORMATS - STREAMED)
        self.assertEqual(result["files"], [])
        totals = [total_s(c["measured"], 5) for c in result["candidates"] if c["measured"]]
        self.assertEqual(totals, sorted(totals))
        self.assertEqual(result["best"], result["candidates"][0]["name"])
        self.assertEqual(list(self.folder.glob("*.tune.json")), [])

    def test_one_format(self):
        result, formats = self.formats_of("tune", self.tensor(), "-r", 4, "--format", "csf")
        self.assertEqual(set(formats), {"csf"})
        self.assertEqual(result["best"], "csf")

    def test_stored_choice(self):
        path = self.tensor()
        self.succeed("tune", path, "-r", 4, "--format", "csf", "--store")
        file = self.folder / "x.tns.tune.json"
        stored = file.read_text()
        common = ("cpd", path, "-i", 1)
        says = "polyad tune stored it next to the tensor"

        def chosen(*arguments):
            format_ = self.report_of(*common, *arguments)["format"]
            return format_["name"], format_["chosen_because"] == says

        self.assertEqual(chosen("-r", 4), ("csf", True))
        # Another rank, precision or number of threads, and what csf cannot do.
        for arguments in (("-r", 5), ("-r", 4, "--precision", "f32"), ("-r", 4, "--deterministic"),
                          ("-r", 4, "--tune")):
            with self.subTest(arguments=arguments):
                self.assertFalse(chosen(*arguments)[1])
        # Broken or stale files are passed over.
        content = json.loads(stored)
        other = json.loads(stored)
        other["tensor"]["version"] = "0.0.0"
        wrong = json.loads(stored)
        wrong["choices"][0]["format"] = "no-such-format"
        for text in ("", "{", "[]", "{}", '{"schema": 1}', json.dumps(other), json.dumps(wrong),
                     json.dumps({**content, "choices": [1, {}]}), json.dumps({**content, "choices": 3})):
            with self.subTest(text=text[:60]):
                file.write_text(text)
                self.assertFalse(chosen("-r", 4)[1])
        file.write_text(stored)
        self.assertEqual(chosen("-r", 4), ("csf", True))
        # The choice for a second rank is kept too; another tensor of the same name is another tensor.
        self.succeed("tune", path, "-r", 5, "--format", "blco", "--store")
        self.assertEqual(chosen("-r", 4), ("csf", True))
        self.assertEqual(chosen("-r", 5), ("blco", True))
        self.write("x.tns", tns(random_tensor((60, 50, 40), 6000, seed=2)))
        self.assertFalse(chosen("-r", 4)[1])

    def test_f_coo(self):
        path = self.tensor()
        result, _ = self.formats_of("tune", path, "-r", 4, "--format", "f-coo", "--store")
        self.assertGreaterEqual(len(result["shapes"]), 4)
        seconds = [shape["seconds"] for shape in result["shapes"]]
        self.assertEqual(seconds, sorted(seconds))
        stored = json.loads((self.folder / "x.tns.tune.json").read_text())["choices"][0]
        best = result["shapes"][0]
        self.assertEqual(stored["f-coo"], {"threadlen": best["threadlen"], "team_threads": best["team_threads"]})
        for arguments in ((), ("--format", "f-coo")):
            self.assertEqual(self.report_of("cpd", path, "-r", 4, "-i", 1, *arguments)["format"]["name"], "f-coo")

    def test_usage(self):
        path = self.tensor()
        self.fail_with(2, "tune", path, "-r", 4, "--format", "auto")
        self.fail_with(2, "tune", path, "-r", 4, "--format", "streamed-blco")
        self.fail_with(2, "tune", path, "-r", 4, "--format", "none", says="known are")
        self.fail_with(2, "tune", "-", "-r", 4, "--store", says="must be a file", stdin=-3)
        self.fail_with(4, "tune", path, "-r", 4, "--device-memory", 70000)


if __name__ == "__main__":
    unittest.main()
