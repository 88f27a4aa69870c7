# SPDX-License-Identifier: BSD-3-Clause
"""polyad cpd, fast-tucker, tucker and what uses their models under mpirun: rank 0 talks, results are those of one rank, faults
end all ranks with one message."""
import json
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import time
import unittest
import zipfile

from test_folding import arrays
from tool import TOOL, ToolTest, random_tensor, tns

MPIRUN = os.environ["POLYAD_MPIRUN"].split()
DATA = pathlib.Path(__file__).resolve().parents[2] / "data"


def ranks_of(launcher):
    """The processes that mpirun has started."""
    return [int(word) for word in pathlib.Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()]


class Ranks(ToolTest):

    def setUp(self):
        super().setUp()
        self.tensor = self.write("x.tns", tns(random_tensor((30, 20, 10), 900)))

    def mpirun(self, ranks, *arguments, **keywords):
        """ranks: a number, or [(number, arguments)] for ranks that differ."""
        parts = [(ranks, ())] if isinstance(ranks, int) else ranks
        command = [MPIRUN[0]]
        for number, more in parts:
            command += [":"] if len(command) > 1 else []
            command += [MPIRUN[1], str(number), TOOL, *map(str, arguments), *map(str, more)]
        begin = time.monotonic()
        result = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, timeout=120, **keywords)
        self.seconds = time.monotonic() - begin
        return result

    def report_on(self, ranks, *arguments):
        result = self.mpirun(ranks, *arguments, "--report", "ranks.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads((self.folder / "ranks.json").read_text()), result

    def expect_fits(self, ours, others, places=10):
        self.assertEqual(len(ours["iterations"]), len(others["iterations"]))
        for here, there in zip(ours["iterations"], others["iterations"]):
            self.assertAlmostEqual(here["fit"], there["fit"], delta=10**-places)

    def test_rank_0_talks(self):
        one = self.report_of("cpd", self.tensor, "-r", 4, "-i", 6, "--tol", 0)
        for ranks in (2, 3, 4):
            with self.subTest(ranks):
                report, result = self.report_on(ranks, "cpd", self.tensor, "-r", 4, "-i", 6, "--tol", 0, "-o", "m.npz")
                self.expect_fits(report, one)
                self.assertEqual(result.stdout.count("fit      "), 1)
                self.assertEqual(result.stderr.count("iteration 6 of 6"), 1)
                self.assertRegex(result.stdout, rf"ranks    {ranks} as [0-9x ]+, by (MPI|NCCL)[a-z ]*; largest over mean")
                self.assertEqual(report["ranks"]["count"], ranks)
                self.assertEqual(report["input"]["nnz"], 900)
        self.succeed("cpd", self.tensor, "-r", 4, "-i", 6, "--tol", 0, "-o", "one.npz")
        self.succeed("compare", "one.npz", "m.npz")

    def expect_expected(self, ranks, *arguments, searches=False):
        """Each rank's peak is near what it expected at the start. If the root searches for a model, the others' work
        depends on what it finds, and only the root's numbers are compared (docs/limits.md)."""
        with self.subTest(ranks=ranks, arguments=arguments):
            report, _ = self.report_on(ranks, *arguments)
            if report["memory"]["device_peak_bytes"] is not None:
                self.skipTest("the shares are in the memory of a device")
            found = report["ranks"]
            self.assertEqual(len(found["expected_peak_bytes"]), ranks)
            self.assertEqual(len(found["host_peak_bytes"]), ranks)
            self.assertEqual(report["memory"]["expected_peak_bytes"], found["expected_peak_bytes"][0])
            pairs = list(zip(found["expected_peak_bytes"], found["host_peak_bytes"]))
            for needs, peak in pairs[:1] if searches else pairs:
                self.assertLessEqual(abs(peak - needs), max(0.1 * needs, 20e6), found)

    def test_expected_memory(self):
        """The factors are the peak."""
        self.succeed("gen", "uniform", "-d", "300000,200000,40", "-n", 600000, "-o", "x.pten")
        for name in ("sorted", "coo-permuted"):
            for ranks in (2, 3):
                self.expect_expected(ranks, "cpd", "x.pten", "-r", 16, "-i", 1, "--format", name, "-o", "m.npz",
                                     "--checkpoint", "state.ckpt")
        self.expect_expected(2, "tucker", "x.pten", "-i", 1, "--ranks", "8,8,8", "-o", "m.npz")
        self.expect_expected(3, "tucker", "x.pten", "-i", 1, "--ranks", "12,12,12", "--precision", "f32", "-o", "m.npz")
        completion = ("fast-tucker", "x.pten", "-i", 1, "-o", "m.npz")
        self.expect_expected(2, *completion, "-r", 32, "--shrink", 5, "--precision", "f64")
        self.expect_expected(3, *completion, "-r", 16, "-j", 8, "--shrink", 5, "--split", 0.1, "--validate", 0.1, "--patience", 2)
        self.expect_expected(2, *completion, "-r", 8, searches=True)

    def test_expected_memory_of_nonzeros(self):
        """The nonzeros on their way are the peak, and the builds of formats."""
        self.succeed("gen", "uniform", "-d", "30000,20000,300,40", "-n", 2000000, "-o", "x.pten")
        self.expect_expected(2, "tucker", "x.pten", "-i", 1, "--ranks", "2,2,2,2", "-o", "m.npz")
        self.expect_expected(2, "fast-tucker", "x.pten", "-i", 1, "-r", 8, "--reg", 5, "-o", "m.npz")
        self.expect_expected(2, "fast-tucker", "x.pten", "-i", 1, "-r", 8, "--precision", "f32", "-o", "m.npz", searches=True)

    def test_refused_at_the_start(self):
        """What one rank has no memory for is refused on all, before anything is sent or built."""
        self.succeed("gen", "uniform", "-d", "60000,20000,300", "-n", 100000, "-o", "x.pten")
        runs = {
            "with a core of 60 x 60 x 60": ("tucker", "x.pten", "-i", 1, "--ranks", "60,60,60"),
            "": ("fast-tucker", "x.pten", "-i", 1, "-r", 512, "--shrink", 5),
        }
        limit = 600 << 20
        for what, command in runs.items():
            result = self.mpirun(2, *command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))
            self.assertEqual(result.returncode, 4, result.stderr)
            self.assertRegex(result.stderr, rf"polyad: [^\n]*the run of rank [01] ?{what}")
            self.assertNotIn("iteration", result.stderr)

    def test_rows_that_do_not_occur(self):
        """Ranks store the rows that one rank stores, and resume each other's checkpoints."""
        dims      = (2 * 10**6, 3, 10**12, 20)
        generator = random.Random(1)
        tensor    = {tuple(d - 1 for d in dims): 1.0}
        while len(tensor) < 300:
            tensor[tuple(generator.randrange(d) for d in dims)] = generator.uniform(0.5, 1)
        x   = self.write("s.tns", tns(tensor))
        cpd = ("cpd", x, "-r", 3, "--tol", 0, "--format", "sorted")
        one = self.report_of(*cpd, "-i", 6, "-o", "one.npz")
        self.succeed(*cpd, "-i", 3, "--checkpoint", "one.ckpt")
        for ranks in (2, 3):
            with self.subTest(ranks):
                report, _ = self.report_on(ranks, *cpd, "-i", 6, "-o", "m.npz")
                self.expect_fits(report, one)
                for key in ("dims", "stored_rows", "empty_slices"):
                    self.assertEqual(report["input"][key], one["input"][key])
                self.assertIn("factor match     1.000000", self.succeed("compare", "one.npz", "m.npz").stdout)
                report, _ = self.report_on(ranks, *cpd, "-i", 6, "--resume", "one.ckpt", "-o", "m.npz")
                self.assertEqual([it["iteration"] for it in report["iterations"]], [4, 5, 6])
                self.assertIn("factor match     1.000000", self.succeed("compare", "one.npz", "m.npz").stdout)
                self.report_on(ranks, *cpd, "-i", 3, "--checkpoint", "ranks.ckpt")
                self.assertEqual(len((self.folder / "ranks.ckpt").read_bytes()), len((self.folder / "one.ckpt").read_bytes()))
                self.succeed(*cpd, "-i", 6, "--resume", "ranks.ckpt", "-o", "m.npz")
                self.assertIn("factor match     1.000000", self.succeed("compare", "one.npz", "m.npz").stdout)
        tucker = ("tucker", x, "--ranks", "2,2,2,2", "-i", 3, "--tol", 0)
        alone  = self.report_of(*tucker)
        report, _ = self.report_on(2, *tucker, "-o", "t.npz")
        self.expect_fits(report, alone)
        self.assertEqual(report["input"]["stored_rows"], alone["input"]["stored_rows"])
        self.assertAlmostEqual(self.report_of("compare", "t.npz", x)["result"]["fit"], alone["result"]["fit"], delta=1e-9)

    def test_each_rank_reads_a_part(self):
        self.succeed("convert", self.tensor, "t.pten")
        self.succeed("convert", self.tensor, "t.npz")
        one = self.report_of("cpd", self.tensor, "-r", 4, "-i", 4, "--tol", 0)
        for name in (self.tensor, "t.pten", "t.npz"):
            report, _ = self.report_on(3, "cpd", name, "-r", 4, "-i", 4, "--tol", 0)
            self.expect_fits(report, one)
            for key in ("nnz", "dims", "empty_slices", "duplicates"):
                self.assertEqual(report["input"][key], one["input"][key])

    def test_restarts(self):
        arguments = ("cpd", self.tensor, "-r", 4, "-i", 6, "--tol", 0, "--restarts", 3)
        one = self.report_of(*arguments, "-o", "one.npz")
        report, result = self.report_on(3, *arguments, "-o", "m.npz")
        self.expect_fits(report, one)
        runs = report["result"]["restarts"]
        self.assertEqual([run["seed"] for run in runs], [run["seed"] for run in one["result"]["restarts"]])
        for here, there in zip(runs, one["result"]["restarts"]):
            self.assertAlmostEqual(here["fit"], there["fit"], delta=1e-10)
        self.assertIn("starts   3, fits from", result.stdout)
        self.succeed("compare", "one.npz", "m.npz")

    def test_given_starts_and_fixed_modes(self):
        """A given start, fixed modes and exact rows are those of one rank; a fixed factor keeps its bits."""
        self.succeed("cpd", self.tensor, "-r", 3, "-i", 2, "--nonnegative", "-o", "start.npz")
        given = zipfile.ZipFile(self.folder / "start.npz")
        for options in (("--nonnegative",), ("--fix", "0"), ("--fix", "2", "--nonnegative", "--inner", "exact"), ("--fix", "0,2"),
                        ("--nonnegative=1",), ("--fix", "0", "--nonnegative=0")):
            arguments = ("cpd", self.tensor, "-r", 3, "-i", 4, "--tol", 0, "--init", "start.npz", *options)
            one = self.report_of(*arguments)
            for ranks in (2, 3):
                with self.subTest(options=options, ranks=ranks):
                    report, _ = self.report_on(ranks, *arguments, "-o", "m.npz")
                    self.expect_fits(report, one, 9)
                    found, wanted = report["result"].get("kkt_violation"), one["result"].get("kkt_violation")
                    self.assertEqual(found is None, wanted is None)
                    self.assertAlmostEqual(found or 0, wanted or 0, places=9)
                    model = zipfile.ZipFile(self.folder / "m.npz")
                    for n in (0, 2):
                        if "--fix" in options and str(n) in options[1]:
                            self.assertEqual(model.read(f"factor_{n}.npy"), given.read(f"factor_{n}.npy"))

    def test_grids(self):
        one = self.report_of("cpd", self.tensor, "-r", 3, "-i", 4, "--tol", 0)
        for grid in ("6,1,1", "1,2,3"):
            report, _ = self.report_on(6, "cpd", self.tensor, "-r", 3, "-i", 4, "--tol", 0, "--grid", grid)
            self.assertEqual(report["ranks"]["grid"], [int(p) for p in grid.split(",")])
            self.expect_fits(report, one)
        result = self.mpirun(2, "cpd", self.tensor, "-r", 3, "--grid", "2,2,1")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(len(re.findall("polyad: rank [0-9]+: the grid has more than 2 ranks", result.stderr)), 1)
        result = self.run_tool("cpd", self.tensor, "-r", 3, "--grid", "2,1,1")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--grid 2,1,1 is for several ranks", result.stderr)

    def test_duplicates_and_empty_rows(self):
        text = "1 1 1 1\n1 1 1 2\n4 4 4 5\n4 2 1 1\n"
        self.write("d.tns", text)
        one = self.report_of("cpd", "d.tns", "-r", 2, "-i", 3, "--tol", 0)
        report, _ = self.report_on(3, "cpd", "d.tns", "-r", 2, "-i", 3, "--tol", 0)
        self.assertEqual(report["input"]["nnz"], 3)
        self.assertEqual(report["input"]["duplicates"], 1)
        self.assertEqual(report["input"]["empty_slices"], one["input"]["empty_slices"])
        for here, there in zip(report["iterations"], one["iterations"]):
            self.assertAlmostEqual(here["fit"], there["fit"], delta=1e-7)  # exact but for a root of rounding

    def test_constraints_name_modes(self):
        """Rank 0 alone knows the names."""
        entries = random_tensor((9, 6, 5), 120)
        self.write("t.csv", "user,item,day,rating\n" + "".join(f"u{i},i{j},d{k},{x}\n" for (i, j, k), x in entries.items()))
        of_names = ("cpd", "t.csv", "-r", 2, "-i", 4, "--tol", 0, "--nonnegative=user", "--l1=item:0.1", "--ridge=user:0.1", "--ridge=day:0.2")
        self.expect_fits(self.report_on(2, *of_names)[0], self.report_of(*of_names), 7)
        result = self.mpirun(2, "cpd", "t.csv", "-r", 2, "--nonnegative=usr")
        self.assertEqual(result.returncode, 2)
        self.assertIn("one of the names user, item, day, not 'usr'", result.stderr)

    def test_starts_of_other_names(self):
        """Refused as on one rank: rank 0 knows the names."""
        entries = random_tensor((9, 6, 5), 120)
        for name, prefix in (("t.csv", "u"), ("v.csv", "v")):
            lines = (f"{prefix}{i},i{j},d{k},{x}\n" for (i, j, k), x in entries.items())
            self.write(name, "user,item,day,rating\n" + "".join(lines))
        self.succeed("cpd", "t.csv", "-r", 2, "-i", 2, "-o", "start.npz")
        result = self.mpirun(2, "cpd", "v.csv", "-r", 2, "-i", 2, "--init", "start.npz")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("have different numberings", result.stderr)

    def test_negative_values_of_all_ranks(self):
        """The share of negative values is that of the whole tensor, and one rank says it."""
        arguments = ("cpd", self.tensor, "-r", 2, "-i", 2, "--nonnegative", "-o", "m.npz", "--quiet")
        warning = "all modes are nonnegative, and negative values have [0-9.]+ %"
        one = re.search(warning, self.succeed(*arguments).stderr)[0]
        for ranks in (2, 3):
            result = self.mpirun(ranks, *arguments)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(re.findall(warning, result.stderr), [one])

    def test_last_and_sum_see_all_parts(self):
        """Rank 0 reads everything, and the other ranks know what it found."""
        lines = tns(random_tensor((30, 20, 10), 300)).splitlines()
        again = [line.rsplit(" ", 1)[0] + " 2.5" for line in lines[:40]]
        self.write("d.tns", "\n".join(lines + again) + "\n")
        for how in ("sum", "last"):
            for command in (("fast-tucker", "-r", 2, "-j", 2, "--shrink", 5, "-i", 3, "--precision", "f64", "--split", 0.1),
                            ("cpd", "-r", 2, "-i", 3, "--tol", 0)):
                with self.subTest(how=how, command=command[0]):
                    one = self.report_of(command[0], "d.tns", *command[1:], "--duplicates", how)
                    report, _ = self.report_on(2, command[0], "d.tns", *command[1:], "--duplicates", how)
                    self.assertEqual((report["input"]["nnz"], report["input"]["duplicates"]), (one["input"]["nnz"], 40))
                    if command[0] == "cpd":
                        self.expect_fits(report, one)
                    else:
                        for part in ("train", "test"):
                            self.assertAlmostEqual(report["result"]["rmse"][part], one["result"]["rmse"][part], delta=1e-6)
        result = self.mpirun(2, "fast-tucker", "d.tns", "-r", 2, "--duplicates", "error")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("d.tns:301:1: repeats the indices of line 1", result.stderr)

    def test_real_tensors(self):
        for name in ("uber-apr14", "nycflights13-delay"):
            golden = json.loads((DATA / "golden" / f"{name}.json").read_text())["fits"]["8"]
            report, _ = self.report_on(4, "cpd", DATA / f"{name}.tns.xz", "-r", 8, "-i", 5, "--tol", 0)
            for iteration, fit in zip(report["iterations"], golden):
                self.assertAlmostEqual(iteration["fit"], fit, delta=1e-10)

    def test_checkpoint_of_4_resumed_by_3(self):
        whole = self.report_of("cpd", self.tensor, "-r", 4, "-i", 9, "--tol", 0)
        self.report_on(4, "cpd", self.tensor, "-r", 4, "-i", 5, "--tol", 0, "--checkpoint", "c")
        rest, _ = self.report_on(3, "cpd", self.tensor, "-r", 4, "-i", 9, "--tol", 0, "--resume", "c")
        self.assertEqual([step["iteration"] for step in rest["iterations"]], [6, 7, 8, 9])
        whole["iterations"] = whole["iterations"][5:]
        self.expect_fits(rest, whole)
        # One rank continues from it too, in the format that rank 0 had.
        alone = self.report_of("cpd", self.tensor, "-r", 4, "-i", 9, "--tol", 0, "--resume", "c")
        self.expect_fits(alone, whole)
        result = self.mpirun(3, "cpd", self.tensor, "-r", 5, "--resume", "c")
        self.assertEqual(result.returncode, 3)
        self.assertEqual(result.stderr.count("is a checkpoint of rank 4, not 5"), 1)

    def one_message(self, result, code, pattern):
        self.assertEqual(result.returncode, code, result.stderr)
        said = re.findall(r"^polyad: .*$", result.stderr, re.MULTILINE)
        said = [line for line in said if "warning" not in line and "this run keeps neither" not in line]
        self.assertEqual(len(said), 1, result.stderr)
        self.assertRegex(said[0], pattern)
        self.assertLess(self.seconds, 30)

    def test_faults(self):
        self.one_message(self.mpirun(3, "cpd", "nowhere.tns", "-r", 2), 3, r"rank 0: .*nowhere.tns")
        self.write("bad.tns", "1 1 1 1\n2 x 1 1\n")
        self.one_message(self.mpirun(2, "cpd", "bad.tns", "-r", 2), 3, r"rank 0: .*bad.tns:2:3")
        # A fault that another rank reads is reported with its line, and so is the first of two.
        lines = ["1 1 1 1"] * 300
        lines[200], lines[280] = "2 x 1 1", "3 1 1 1 1"
        self.write("late.tns", "\n".join(lines) + "\n")
        for ranks in (1, 2, 3, 4):
            self.one_message(self.mpirun(ranks, "cpd", "late.tns", "-r", 2), 3, r"late.tns:201:3")
        # The last rank alone has no memory.
        result = self.mpirun([(2, ()), (1, ("--device-memory", "70K"))], "cpd", self.tensor, "-r", 64, "-o", "m.npz")
        self.one_message(result, 4, r"rank [0-9]+: .*rank 2")
        self.assertFalse((self.folder / "m.npz").exists())
        # One rank alone may not read so much, whether it reads a part or everything.
        self.succeed("convert", self.tensor, "x.npz")
        for name, poor in ((self.tensor, 1), ("x.npz", 0)):
            parts = [(1, ("--max-memory", "1K") if k == poor else ()) for k in range(2)]
            result = self.mpirun(parts, "cpd", name, "-r", 2, "-o", "m.npz")
            self.one_message(result, 4, r"rank [01]: (the file .*|'(coords|data)\.npy' of x\.npz) needs [0-9]+ bytes: of the 1024 bytes that reading may take")
            self.assertFalse((self.folder / "m.npz").exists())
        # The last rank alone throws, in the midst of what the others wait for.
        result = self.mpirun([(2, ()), (1, ("--format", "nonsense"))], "cpd", self.tensor, "-r", 2)
        self.one_message(result, 2, r"rank 2: .*nonsense")

    def test_other_commands_are_refused(self):
        for command in (("stats", self.tensor), ("convert", self.tensor, "x.pten")):
            result = self.mpirun(2, *command)
            self.one_message(result, 2, "only cpd, fast-tucker, tucker, evaluate, project, recommend and update run on several ranks")
            self.assertFalse(result.stdout)
        self.one_message(self.mpirun(2, "cpd", self.tensor, "-r", 2, "--tune"), 2, "--tune works on one rank")
        self.one_message(self.mpirun(2, "cpd", self.tensor), 2, "--rank is required")
        self.one_message(self.mpirun(2, "cpd", self.tensor, "-r", 2, "--init", "nvecs"), 2,
                         "--init nvecs works on one rank")
        result = self.mpirun(2, "info")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count("ranks         2, 2 of them on this machine"), 1)
        self.assertEqual(re.findall(r"^ +rank (\d)  \S", result.stdout, re.MULTILINE), ["0", "1"])

    def test_tucker(self):
        with open(self.tensor, "a", encoding="ascii") as file:
            file.write("30 20 10 0.5\n30 20 10 0.25\n")  # duplicates, and on the last rank
        for precision, places in (("f32", 5), ("f64", 10)):
            arguments = ("tucker", self.tensor, "-r", "4,3,5", "-i", 6, "--tol", 0, "--precision", precision, "-o")
            one = self.report_of(*arguments, "one.npz")
            for ranks in (2, 3, 4):
                with self.subTest(f"{ranks} {precision}"):
                    report, result = self.report_on(ranks, *arguments, "m.npz")
                    self.expect_fits(report, one, places)
                    for key in ("nnz", "dims", "empty_slices", "duplicates"):
                        self.assertEqual(report["input"][key], one["input"][key])
                    self.assertEqual(report["ranks"]["count"], ranks)
                    self.assertEqual(report["format"]["name"], one["format"]["name"])
                    self.assertEqual(result.stdout.count("fit      "), 1)
                    self.assertEqual(result.stderr.count("iteration 6 of 6"), 1)
                    self.assertRegex(result.stdout, rf"ranks    {ranks}, each with its rows of every mode, by (MPI|NCCL)[a-z ]*; largest")
                    whole, model = (self.npz(name) for name in ("one.npz", "m.npz"))
                    self.assertEqual(model.keys(), whole.keys())
                    for name, array in whole.items():
                        self.assertEqual(model[name], array)

    def npz(self, name):
        """The arrays' shapes."""
        shapes = {}
        with zipfile.ZipFile(self.folder / name) as file:
            for member in file.namelist():
                shapes[member] = re.search(rb"'shape': \([0-9, ]*\)", file.read(member)).group()
        return shapes

    def test_tucker_refuses(self):
        result = self.mpirun(2, "tucker", self.tensor, "-r", "4,3,5", "--init", "hosvd", "-o", "m.npz")
        self.one_message(result, 2, "--init hosvd works on one rank only")
        self.assertFalse((self.folder / "m.npz").exists())
        self.one_message(self.mpirun(3, "tucker", self.tensor, "-r", "31,3,5"), 2, "rank 31 of mode 0")
        self.write("one.tns", "1 1\n2 1\n")
        self.one_message(self.mpirun(2, "tucker", "one.tns", "-r", 1), 3, "one mode only")
        self.write("zero.tns", "1 1 0\n2 2 0\n")
        self.one_message(self.mpirun(3, "tucker", "zero.tns", "-r", "1,1"), 5, "a tensor of zeros has no fit")
        self.one_message(self.mpirun(3, "cpd", "zero.tns", "-r", 1), 5, "a tensor of zeros has no fit")

    def test_a_signal_to_one_rank_stops_tucker_on_all(self):
        process = self.start(
            [*MPIRUN, "3", TOOL, "tucker",
             str(self.tensor), "-r", "4,3,5", "-i", "100000000", "--tol", "0", "-o", "m.npz"])
        os.kill(ranks_of(process)[-1], signal.SIGTERM)
        stderr = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 143, stderr[-2000:])
        self.assertTrue((self.folder / "m.npz").exists())
        self.assertEqual(len(re.findall("polyad: interrupted after iteration", stderr)), 1)

    def expect_errors(self, ours, others, places):
        self.assertEqual(len(ours["iterations"]), len(others["iterations"]))
        self.assertEqual(ours["result"]["entries"], others["result"]["entries"])
        pairs = [(ours["result"], others["result"]), *zip(ours["iterations"], others["iterations"])]
        for here, there in pairs:
            for key in ("rmse", "mae"):
                self.assertEqual(here[key].keys(), there[key].keys())
                for name, error in here[key].items():
                    self.assertAlmostEqual(error, there[key][name], delta=10**-places)

    def test_fast_tucker(self):
        test = self.write("test.tns", tns(random_tensor((30, 20, 10), 90, seed=2)))
        for precision, places in (("f32", 6), ("f64", 10)):
            arguments = ("fast-tucker", self.tensor, "-j", 4, "-r", 6, "--shrink", "5,0.05", "--test", test, "-i", 5,
                         "--precision", precision, "-o")
            one = self.report_of(*arguments, "one.npz")
            for ranks in (2, 3, 4):
                with self.subTest(f"{ranks} {precision}"):
                    report, result = self.report_on(ranks, *arguments, "m.npz")
                    self.expect_errors(report, one, places)
                    self.assertEqual(report["input"]["nnz"], 900)
                    self.assertEqual(report["ranks"]["count"], ranks)
                    self.assertEqual(result.stdout.count("errors   train RMSE"), 1)
                    self.assertEqual(result.stderr.count("iteration 5 of 5"), 1)
                    self.assertRegex(result.stdout, rf"ranks    {ranks}, each with its rows of every mode, by (MPI|NCCL)")
                    self.succeed("predict", "one.npz", test, "-o", "one.txt")
                    self.succeed("predict", "m.npz", test, "-o", "m.txt")
                    pairs = zip((self.folder / "one.txt").read_text().splitlines(),
                                (self.folder / "m.txt").read_text().splitlines())
                    for there, here in pairs:
                        if there[0] != "#":
                            self.assertAlmostEqual(float(here.split()[-1]), float(there.split()[-1]), places=4)

    def test_fast_tucker_holds_out_what_one_rank_does(self):
        entries = random_tensor((30, 20, 10), 900)
        learnable = {at: (at[0] % 3) * (at[1] % 2 - 0.5) + 0.1 * noise for at, noise in entries.items()}
        arguments = ("fast-tucker", self.write("y.tns", tns(learnable)), "-r", 3, "--reg", 2, "--split", 0.2, "--validate",
                     0.1, "--patience", 2, "--precision", "f64")
        one = self.report_of(*arguments)
        report, _ = self.report_on(3, *arguments)
        self.expect_errors(report, one, 10)
        self.assertEqual(report["result"]["kept_iteration"], one["result"]["kept_iteration"])
        self.assertGreater(report["result"]["kept_iteration"], 0)
        # Rank 0 chooses what the options leave open.
        arguments = ("fast-tucker", "y.tns", "--split", 0.2, "--precision", "f64", "--format", "sorted")
        one = self.report_of(*arguments)
        report, result = self.report_on(3, *arguments)
        self.expect_errors(report, one, 7)
        for key in ("rank", "columns", "targets", "regularization"):
            self.assertEqual(report["result"][key], one["result"][key])
        self.assertEqual(result.stdout.count("chosen   -r"), 1)
        # Test entries beyond the training set's rows, in one rank's part.
        self.write("cold.tns", "1 1 1 0.5\n" * 40 + "99 1 1 0.25\n1 99 1 0.25\n")
        arguments = ("fast-tucker", self.tensor, "-r", 3, "--reg", 2, "--test", "cold.tns", "-i", 2, "--precision", "f64")
        one = self.report_of(*arguments)
        report, result = self.report_on(3, *arguments)
        self.expect_errors(report, one, 10)
        self.assertEqual(report["result"]["cold"], 2)
        self.assertEqual(result.stderr.count("2 entries have an index"), 1)
        result = self.mpirun(3, *arguments, "--cold-start", "refuse")
        self.assertEqual(result.returncode, 3)
        self.assertIn("entry 41 has row 99", result.stderr)

    def test_fast_tucker_checkpoint_of_4_resumed_by_3(self):
        arguments = ("fast-tucker", self.tensor, "-j", 3, "-r", 4, "--shrink", "5,0.05", "--precision", "f64")
        whole, _ = self.report_on(4, *arguments, "-i", 5)
        _, result = self.report_on(4, *arguments, "-i", 2, "--checkpoint", "c")
        self.assertEqual(result.stdout.count("wrote    c"), 1)
        report, _ = self.report_on(3, *arguments, "-i", 5, "--resume", "c")
        self.assertEqual([epoch["iteration"] for epoch in report["iterations"]], [3, 4, 5])
        whole["iterations"] = whole["iterations"][2:]
        self.expect_errors(report, whole, 10)
        # One rank continues it, too, in the format that rank 0 had.
        self.expect_errors(self.report_of(*arguments, "-i", 5, "--resume", "c"), whole, 10)
        result = self.mpirun(3, *arguments[:4], "-r", 5, "--resume", "c")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("is of a run with other options", result.stderr)

    def test_fast_tucker_refuses(self):
        for more, says in ((("--optimizer", "adam"), "adam works on one rank only"),
                           (("--optimizer", "sgd"), "sgd works on one rank only")):
            result = self.mpirun(2, "fast-tucker", self.tensor, "-r", 2, *more, "-o", "m.npz")
            self.one_message(result, 2, says)
            self.assertFalse((self.folder / "m.npz").exists())
        self.write("one.tns", "1 1\n2 1\n")
        self.one_message(self.mpirun(2, "fast-tucker", "one.tns", "--reg", 1), 3, "one mode only")

    def clicks(self, users, items, count, seed):
        """Lines of clicks, where half of the users click on even items and the others on odd ones."""
        draw = random.Random(seed)
        lines = []
        for _ in range(count):
            user = draw.randrange(users)
            lines.append(f"{user + 1} {draw.randrange(items // 2) * 2 + user % 2 + 1} {draw.randrange(1, 6)}")
        return "\n".join(lines) + "\n"

    def expect_same_facts(self, ours, others):
        self.assertEqual(ours["result"].keys(), others["result"].keys())
        for key, there in others["result"].items():
            here = ours["result"][key]
            if isinstance(there, float) and isinstance(here, float):
                self.assertAlmostEqual(here, there, delta=1e-12 * max(1, abs(there)), msg=key)
            else:
                self.assertEqual(here, there, key)

    def test_evaluate(self):
        self.write("train.tns", self.clicks(60, 20, 700, 1))
        self.write("test.tns", self.clicks(63, 22, 200, 2))
        self.succeed("fast-tucker", "train.tns", "-r", 3, "--shrink", "5,0.05", "--precision", "f64", "-o", "m.npz")
        arguments = ("evaluate", "m.npz", "test.tns", "--seen", "train.tns", "-k", 5, "--relevant", 3, "-o", "users.csv")
        one = self.report_of(*arguments)
        table = (self.folder / "users.csv").read_text()
        printed = self.succeed(*arguments).stdout
        for ranks in (2, 3, 4):
            with self.subTest(ranks):
                (self.folder / "users.csv").unlink()
                report, result = self.report_on(ranks, *arguments)
                self.expect_same_facts(report, one)
                self.assertEqual(result.stdout, printed)
                self.assertEqual((self.folder / "users.csv").read_text(), table)
                self.assertEqual(result.stderr.count("queries have an index that the model does not know"), 1)
        self.one_message(self.mpirun(2, "evaluate", "m.npz", "nowhere.tns"), 3, r"rank 0: .*nowhere.tns")

    def test_evaluate_by_names(self):
        def table(text):
            rows = (line.split() for line in text.splitlines())
            return "user,item,stars\n" + "".join(f"u{user},i{item},{value}\n" for user, item, value in rows)

        self.write("train.csv", table(self.clicks(40, 12, 400, 3)))
        self.write("test.csv", table(self.clicks(42, 13, 90, 4)))
        self.succeed("fast-tucker", "train.csv", "-r", 3, "--shrink", "5,0.05", "-o", "m.npz")
        arguments = ("evaluate", "m.npz", "test.csv", "--seen", "train.csv", "--mode", "item", "-o", "users.csv")
        one = self.report_of(*arguments)
        table_of_one = (self.folder / "users.csv").read_text()
        report, result = self.report_on(3, *arguments)
        self.expect_same_facts(report, one)
        self.assertEqual((self.folder / "users.csv").read_text(), table_of_one)
        self.assertEqual(result.stderr.count("unknown to the model"), 2, result.stderr)  # names, and items that count as missed

    def test_implicit_auto(self):
        lines = self.clicks(50, 16, 400, 5)
        self.write("c.tns", lines + lines[: len(lines) // 3].rsplit("\n", 1)[0] + "\n")  # some are there twice
        arguments = ("fast-tucker", "c.tns", "--implicit=auto", "-i", 3, "--precision", "f64", "-o", "m.npz")
        one = self.report_of(*arguments)
        for ranks in (2, 3):
            with self.subTest(ranks):
                report, result = self.report_on(ranks, *arguments)
                here, there = report["result"], one["result"]
                self.assertEqual(result.stdout.count("chosen   --implicit="), 1)
                self.assertEqual(result.stderr.count("iteration 3 of 3"), 1)
                self.assertEqual(here["rank"], there["rank"])
                self.assertEqual(here["regularization"], there["regularization"])
                self.assertAlmostEqual(here["objective"], there["objective"], delta=1e-9 * there["objective"])

    def test_new_rows(self):
        self.write("train.tns", self.clicks(50, 16, 500, 6))
        self.write("new.tns", self.clicks(57, 16, 90, 7))
        shrink = ("--shrink", "5,0.05")
        self.succeed("fast-tucker", "train.tns", "-r", 3, *shrink, "--precision", "f64", "-o", "m.npz")

        for command in (("project", "m.npz", "new.tns", "--mode", 0), ("update", "m.npz", "new.tns"),
                        ("update", "m.npz", "new.tns", "--train", "train.tns", "--sweeps", 1)):
            self.succeed(*command, *shrink, "-o", "one.npz")
            there = arrays(self.folder / "one.npz")
            for ranks in (2, 3):
                with self.subTest(f"{command} on {ranks}"):
                    report, result = self.report_on(ranks, *command, *shrink, "-o", "many.npz")
                    self.assertEqual(result.stdout.count("wrote"), 1)
                    here = arrays(self.folder / "many.npz")
                    self.assertEqual(here.keys(), there.keys())
                    for name, (shape, numbers) in there.items():
                        self.assertEqual(here[name][0], shape)
                        self.assertLessEqual(max(abs(a - b) for a, b in zip(here[name][1], numbers)), 1e-9, name)
        command = ("recommend", "m.npz", "--mode", 1, "--ratings", "new.tns", "-n", 3, *shrink)
        result = self.mpirun(3, *command)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, self.succeed(*command).stdout)
        self.one_message(self.mpirun(2, "recommend", "m.npz", "--mode", 1, "--for", 1), 2, "only for --ratings")
        self.write("bad.tns", "1 1 1\n1 x 1\n")
        self.one_message(self.mpirun(2, "update", "m.npz", "bad.tns", "-o", "many.npz"), 3, r"rank 0: .*bad.tns:2:3")

    def test_a_signal_to_one_rank_stops_the_epochs_of_all(self):
        process = self.start([
            *MPIRUN, "3", TOOL, "fast-tucker", str(self.tensor), "-r", "4", "--reg", "1", "-i", "100000000", "-o", "m.npz"
        ])
        os.kill(ranks_of(process)[-1], signal.SIGTERM)
        stderr = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 143, stderr[-2000:])
        self.assertTrue((self.folder / "m.npz").exists())
        self.assertEqual(len(re.findall("polyad: interrupted after epoch", stderr)), 1)

    def named_tables(self):
        """a.csv and b.csv: a training and a test table with names, whose values are sums of numbers of their rows."""
        draw = random.Random(3)
        users, items, months = [f"u{k}" for k in range(25)], [f"film, {k}" for k in range(15)], [f"2024-{m:02d}" for m in range(1, 7)]
        rows = [(u, i, draw.choice(months)) for u in users for i in items if draw.random() < 0.7]
        value = {row: users.index(row[0]) / 9 + items.index(row[1]) / 5 + months.index(row[2]) / 8 for row in rows}
        held = set(draw.sample(rows, 40))
        self.write("a.csv", "user,item,month,rating\n" + "".join(f'{u},"{i}",{m},{value[u, i, m]:.3f}\n' for u, i, m in rows
                                                                if (u, i, m) not in held))
        self.write("b.csv", "item,month,rating,user\n" + "".join(f'"{i}",{m},{value[u, i, m]:.3f},{u}\n' for u, i, m in reversed(rows)
                                                                if (u, i, m) in held))
        return ("fast-tucker", "a.csv", "-r", 2, "--shrink", 5, "-i", 4, "--precision", "f64", "--bias-reg", 0.01, "-o", "m.npz")

    def test_names_on_ranks(self):
        plain = self.named_tables()
        train = (*plain, "--time-mode", "month", "--time-bins", 3)
        one = self.report_of(*train, "--test", "b.csv")
        self.assertLess(one["result"]["rmse"]["test"], 0.3)  # rows mixed up: about 1
        self.assertEqual(one["result"]["entries"]["test"], 40)
        top = self.succeed("recommend", "m.npz", "--mode", "item", "--for", "u3,2024-02", "-n", 5).stdout
        for ranks in (2, 3):
            with self.subTest(ranks):
                report, _ = self.report_on(ranks, *train, "--test", "b.csv")
                self.assertEqual(report["input"]["dims"], one["input"]["dims"])
                self.assertEqual(report["options"]["time_mode"], "month")
                for ours, theirs in zip(report["iterations"], one["iterations"]):
                    for kind in ("train", "test"):
                        self.assertAlmostEqual(ours["rmse"][kind], theirs["rmse"][kind], delta=1e-8)
                self.assertEqual(report["result"]["entries"], one["result"]["entries"])
                on_ranks = self.succeed("recommend", "m.npz", "--mode", "item", "--for", "u3,2024-02", "-n", 5).stdout
                self.assertEqual([line.rpartition(" ")[0] for line in on_ranks.splitlines()],
                                 [line.rpartition(" ")[0] for line in top.splitlines()])
        # Labels that the training table does not have: counted and named, or refused.
        with open(self.folder / "b.csv", "a") as table:
            table.write("tea,2024-01,1,zoe\n")
        result = self.mpirun(2, *train, "--test", "b.csv")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count("unknown to the model"), 1)
        result = self.mpirun(2, *train, "--test", "b.csv", "--cold-start", "refuse")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("zoe", result.stderr)
        # Two numberings that do not meet, and a mode that is not there.
        self.write("c.tns", "1 1 1 2\n2 2 2 3\n3 3 3 4\n")
        result = self.mpirun(2, *plain, "--test", "c.tns")
        self.assertEqual(result.returncode, 2, result.stderr)
        result = self.mpirun(2, *plain, "--time-mode", "year")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("or one of the names user, item, month", result.stderr)

    def test_labels_of_models_on_ranks(self):
        self.named_tables()
        for command in (("cpd", "a.csv", "-r", 2, "-i", 3, "--tol", 0), ("tucker", "a.csv", "-r", "2,2,2", "-i", 3)):
            with self.subTest(command[0]):
                self.succeed(*command, "-o", "one.npz")
                result = self.mpirun(2, *command, "-o", "two.npz")
                self.assertEqual(result.returncode, 0, result.stderr)
                with zipfile.ZipFile(self.folder / "one.npz") as one, zipfile.ZipFile(self.folder / "two.npz") as two:
                    named = [name for name in one.namelist() if name.startswith(("label", "mode_name", "index_base"))]
                    self.assertGreater(len(named), 6)
                    for name in named:
                        self.assertEqual(one.read(name), two.read(name))

    def test_a_killed_rank_is_named(self):
        for command in (("cpd", "-i", "100000000", "--tol", "0"), ("fast-tucker", "--reg", "1", "-i", "100000000")):
            process = self.start([*MPIRUN, "3", TOOL, command[0], str(self.tensor), "-r", "4", *command[1:], "-o", "m.npz"])
            os.kill(ranks_of(process)[1], signal.SIGKILL)
            stderr = process.communicate(timeout=30)[1]
            self.assertNotEqual(process.returncode, 0)
            # The launcher says so, since the rank cannot.
            self.assertRegex(stderr, r"(?i)rank 1\b.*(signal 9|killed)|EXIT CODE: 9")
            self.assertFalse((self.folder / "m.npz").exists())

    def test_a_signal_to_one_rank_stops_all(self):
        process = self.start([
            *MPIRUN, "3", TOOL, "cpd", str(self.tensor), "-r", "4", "-i", "100000000", "--tol", "0", "--checkpoint", "c",
            "--checkpoint-every", "1000000000"
        ])
        ranks = ranks_of(process)
        self.assertEqual(len(ranks), 3)
        os.kill(ranks[-1], signal.SIGTERM)
        stderr = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 143, stderr[-2000:])
        self.assertTrue((self.folder / "c").exists())
        self.assertEqual(len(re.findall("polyad: interrupted after iteration", stderr)), 1)


if __name__ == "__main__":
    unittest.main()
