# SPDX-License-Identifier: BSD-3-Clause
"""project, recommend --ratings and update for completion models, against least squares in Python and a fit."""
import math
import random
import struct
import unittest
import zipfile

from tool import ToolTest

USERS, ITEMS, R = 30, 20, 3


def arrays(path):
    """The arrays of an npz: {name: (shape, numbers)}."""
    found = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            start = 10 + struct.unpack("<H", content[8:10])[0]
            header = eval(content[10:start])  # numpy's own form: a literal dict
            kinds = {"<f8": "d", "<f4": "f", "<b1": "?", "<i8": "q", "<u8": "Q", "|u1": "B", "<i4": "i"}
            if header["descr"] not in kinds:
                continue
            count = math.prod(header["shape"])
            found[name.removesuffix(".npy")] = (header["shape"], struct.unpack(f"<{count}{kinds[header['descr']]}", content[start:]))
    return found


def without_fit(path, copy):
    """A copy of a model's file that does not say how the rows were fitted, as older files."""
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(copy, "w") as other:
        for name in archive.namelist():
            if name.removesuffix(".npy") not in ("bias_damping", "implicit", "ridge", "shrinkage", "targets"):
                other.writestr(name, archive.read(name))


def rows_of(matrix):
    (_, columns), numbers = matrix
    return [numbers[i:i + columns] for i in range(0, len(numbers), columns)]


def product(factor, core):
    return [[sum(a * core[j][r] for j, a in enumerate(row)) for r in range(len(core[0]))] for row in factor]


def solve(matrix, right):
    """Gauss with pivots."""
    size = len(right)
    rows = [list(row) + [b] for row, b in zip(matrix, right)]
    for i in range(size):
        pivot = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(i + 1, size):
            factor = rows[k][i] / rows[i][i]
            rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    x = [0.0] * size
    for i in reversed(range(size)):
        x[i] = (rows[i][size] - sum(rows[i][j] * x[j] for j in range(i + 1, size))) / rows[i][i]
    return x


def made_entries(seed=5):
    rng = random.Random(seed)
    taste = [[rng.gauss(0, 1) for _ in range(2)] for _ in range(USERS + ITEMS)]
    entries = []
    for user in range(USERS):
        for item in rng.sample(range(ITEMS), 9):
            value = 3 + sum(a * b for a, b in zip(taste[user], taste[USERS + item]))
            entries.append((user, item, round(min(max(value, 0.5), 5), 2)))
    return entries


def text(entries, base=1):
    return "".join(" ".join(str(i + base) for i in at) + f" {value}\n" for *at, value in entries)


def table(entries):
    return "user,item,stars\n" + "".join(f"u{user},i{item},{value}\n" for user, item, value in entries)


class Folding(ToolTest):
    FIT = ("-r", R, "-j", R, "--reg", 2, "-i", 6, "--precision", "f64")
    FOLD = ("--reg", 2)

    def setUp(self):
        super().setUp()
        self.entries = made_entries()
        self.last = [entry for entry in self.entries if entry[0] == USERS - 1]
        self.others = [entry for entry in self.entries if entry[0] != USERS - 1]

    def fit(self, entries, *options, name="m.npz", write=text):
        path = self.write("t.csv" if write is table else "t.tns", write(entries))
        self.succeed("fast-tucker", path, *(options or self.FIT), "-o", name)
        return path

    def row_of(self, model, own, ridge=2.0, damping=5.0):
        """The bias and the row of C that new entries [(item, value)] give a user."""
        mean = model["mean"][1][0]
        bias_of_item = model["bias_1"][1]
        left = [value - mean - bias_of_item[item] for item, value in own]
        bias = sum(left) / (damping + len(left))
        C = product(rows_of(model["factor_1"]), rows_of(model["core_1"]))
        B = rows_of(model["core_0"])
        # The ridge is that of a row of A, with C = A B.
        P = [[sum(B[j][r] * C[item][r] for r in range(R)) for j in range(len(B))] for item, _ in own]
        matrix = [[sum(p[i] * p[j] for p in P) + (ridge if i == j else 0) for j in range(len(B))] for i in range(len(B))]
        right = [sum(p[i] * (x - bias) for p, x in zip(P, left)) for i in range(len(B))]
        return bias, solve(matrix, right)

    def expect_row(self, found, row, model, own):
        bias, factor = self.row_of(model, own)
        self.assertAlmostEqual(found["bias_0"][1][row], bias, delta=1e-9)
        for a, b in zip(rows_of(found["factor_0"])[row], factor):
            self.assertAlmostEqual(a, b, delta=1e-8)

    def test_project_replaces_the_rows_of_a_mode(self):
        self.fit(self.others)
        own = [(item, value) for _, item, value in self.last]
        # Row 2 has a gap before it, and repeated entries are two.
        new = [(0, *entry) for entry in own] + [(2, 4, 5.0), (2, 4, 2.0), (2, 7, 1.0)]
        self.succeed("project", "m.npz", self.write("n.tns", text(new)), "--mode", 0, *self.FOLD, "-o", "p.npz")
        model, found = arrays(self.folder / "m.npz"), arrays(self.folder / "p.npz")
        self.assertEqual(found["factor_0"][0], (3, R))
        self.assertEqual(found["factor_1"], model["factor_1"])
        self.assertEqual(found["bias_1"], model["bias_1"])
        self.expect_row(found, 0, model, own)
        self.expect_row(found, 2, model, [(4, 5.0), (4, 2.0), (7, 1.0)])
        self.assertEqual(rows_of(found["factor_0"])[1], (0.0,) * R)
        self.assertEqual(found["observed_0"][1], (True, False, True))
        # Items from their users, in f32.
        items = [(3, 0, 4.0), (7, 0, 1.0)]
        self.succeed("project", "m.npz", self.write("i.tns", text(items)), "--mode", 1, *self.FOLD, "--precision", "f32", "-o", "q.npz")
        found = arrays(self.folder / "q.npz")
        self.assertEqual(found["factor_1"][0], (1, R))
        self.assertEqual(found["factor_0"][0], model["factor_0"][0])

    def test_project_with_names(self):
        self.fit(self.others, write=table)
        new = [("new", item, value) for _, item, value in self.last] + [("u3", 2, 1.0)]
        path = self.write("n.csv", "item,user,stars\n" + "".join(f"i{item},{user},{value}\n" for user, item, value in new))
        self.succeed("project", "m.npz", path, "--mode", "user", *self.FOLD, "-o", "p.npz")
        found = self.succeed("recommend", "p.npz", "--mode", "item", "--for", "new", "-n", 3).stdout
        self.assertEqual(len(found.splitlines()), 3)
        self.fail_with(2, "recommend", "p.npz", "--mode", "item", "--for", "u4", "--cold-start", "refuse", says="not a row of mode 0 (user)")
        # An unknown item: it only counts for the bias, or is refused.
        self.write("n.csv", "user,item,stars\nnew,i2,4\nnew,nothing,1\n")
        said = self.succeed("project", "m.npz", "n.csv", "--mode", 0, *self.FOLD, "-o", "p.npz").stderr
        self.assertIn("such as 'nothing'", said)
        self.assertIn("1 entries have a row that the model does not have: they count for biases alone", said)
        self.assertEqual(arrays(self.folder / "p.npz")["factor_1"][0], (ITEMS, R))
        refused = self.run_tool("project", "m.npz", "n.csv", "--mode", 0, *self.FOLD, "--cold-start", "refuse", "-o", "r.npz")
        self.assertEqual(refused.returncode, 3, refused.stderr)
        self.assertIn("entry 2 has row nothing of mode 1 (item)", refused.stderr)
        self.assertFalse((self.folder / "r.npz").exists())

    def test_project_refuses(self):
        self.fit(self.others)
        new = self.write("n.tns", text([(0, 1, 4.0)]))
        for says, *options in (("mean and biases, so it was not fitted with --implicit", "--implicit"),
                               ("3 words for 2 modes", "--targets", "zero,zero,zero"),
                               ("--mode 2 of 2 modes", "--mode", 2),
                               ("--shrink 1 is given together with --reg", "--shrink", 1)):
            if "--mode" in options:
                arguments = ("project", "m.npz", new, *self.FOLD, *options, "-o", "p.npz")
            else:
                arguments = ("project", "m.npz", new, "--mode", 0, *self.FOLD, *options, "-o", "p.npz")
            if "--shrink" in options:
                self.assertEqual(self.run_tool(*arguments).returncode, 2)
            else:
                self.fail_with(2, *arguments, says=says)
        self.fail_with(2, "project", "m.npz", new, "--mode", 0, "-o", "p.ktns", says=".npz")
        self.fail_with(3, "project", "m.npz", self.write("three.tns", "1 1 1 2\n"), "--mode", 0, "-o", "p.npz", says="3 modes")
        # A model of cpd has none of these options.
        self.succeed("cpd", "t.tns", "-r", 2, "-i", 2, "-o", "cp.npz")
        for says, *options in (("are for models of fast-tucker", "--implicit"), ("has no biases", "--cold-start", "bias"),
                               ("keep is for models of fast-tucker", "--duplicates", "keep")):
            self.fail_with(2, "project", "cp.npz", new, "--mode", 0, *options, "-o", "p.npz", says=says)

    def test_recommend_new_users(self):
        self.fit(self.others, write=table)
        ratings = self.write("n.csv", table([("99", item, value) for _, item, value in self.last] + [("98", 3, 5.0), ("98", 19, 1.0)]))
        lines = self.succeed("recommend", "m.npz", "--mode", "item", "--ratings", ratings, *self.FOLD, "-n", ITEMS).stdout.splitlines()
        listed = {}
        for line in lines:
            user, item, score = line.split()
            listed.setdefault(user, []).append((item, float(score)))
        self.assertEqual(list(listed), ["u99", "u98"])  # in the order of the file
        had = {f"i{item}" for _, item, _ in self.last}
        self.assertEqual({item for item, _ in listed["u99"]}, {f"i{item}" for item in range(ITEMS)} - had)
        # The scores are those of a model that update writes.
        self.succeed("update", "m.npz", ratings, *self.FOLD, "-o", "new.npz")
        again = self.succeed("recommend", "new.npz", "--mode", "item", "--for", "u99", "-n", ITEMS, "--seen", ratings).stdout
        self.assertEqual([tuple(line.split()) for line in again.splitlines()],
                         [(item, f"{score:.6g}") for item, score in listed["u99"]])
        # One of them, with the items in the file, and next to a user of the model.
        one = self.succeed("recommend", "m.npz", "--mode", "item", "--ratings", ratings, *self.FOLD, "--for", "u98", "-n", ITEMS, "--rank-seen").stdout
        self.assertEqual(len(one.splitlines()), ITEMS)
        queries = self.write("q.txt", "u98\nu3\n")
        both = self.succeed("recommend", "m.npz", "--mode", "item", "--ratings", ratings, *self.FOLD, "--for-file", queries, "-n", 2).stdout
        self.assertEqual([line.split()[0] for line in both.splitlines()], ["u98"] * 2 + ["u3"] * 2)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["m.npz", "n.csv", "new.npz", "q.txt", "t.csv"])

    def test_recommend_refuses(self):
        self.fit(self.others)
        new = self.write("n.tns", text([(50, 1, 4.0), (50, 40, 2.0)]))
        base = ("recommend", "m.npz", "--mode", 1)
        self.fail_with(2, *base, "--for", 1, "--rank-seen", says="about the users of --ratings")
        self.fail_with(2, *base, "--for", 1, *self.FOLD, says="about the users of --ratings")
        self.fail_with(2, *base, "--ratings", new, "--user-mode", 1, says="both mode 1")
        self.fail_with(2, *base, says="either --for or --for-file")
        self.fail_with(3, *base, "--ratings", new, *self.FOLD, "--cold-start", "refuse", says=("entry 2", "41"))
        said = self.succeed(*base, "--ratings", new, *self.FOLD, "-n", ITEMS)
        self.assertNotIn(" 41 ", said.stdout)  # nothing is known of this item
        self.assertEqual(len(said.stdout.splitlines()), ITEMS - 1)
        self.fail_with(3, *base, "--ratings", "no.tns", says="no.tns")

    def test_update_adds_rows_and_solves_changed_ones(self):
        train = self.fit(self.others, write=table)
        model = arrays(self.folder / "m.npz")
        new = [(USERS - 1, item, value) for _, item, value in self.last] + [(4, 3, 1.5), (4, ITEMS, 5.0)]
        path = self.write("n.csv", table(new))
        run = self.run_tool("update", "m.npz", path, *self.FOLD, "-o", "kept.npz")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("1 of mode 0 (user)", run.stderr)
        kept = arrays(self.folder / "kept.npz")
        self.assertEqual(kept["factor_0"][0], (USERS, R))
        self.assertEqual(rows_of(kept["factor_0"])[:USERS - 1], rows_of(model["factor_0"]))  # the old ones stay
        self.assertEqual(rows_of(kept["factor_1"])[:ITEMS], rows_of(model["factor_1"]))
        order = {label: row for row, label in enumerate(dict.fromkeys(f"i{item}" for _, item, _ in self.others))}
        self.expect_row(kept, USERS - 1, model, [(order[f"i{item}"], value) for _, item, value in self.last])
        # With the old entries the user is solved again, from all of them.
        report = self.report_of("update", "m.npz", path, "--train", train, *self.FOLD, "-o", "solved.npz")["result"]
        self.assertEqual((report["added.0"], report["solved_again.0"], report["added.1"]), (1, 1, 1))
        solved = arrays(self.folder / "solved.npz")
        users = list(dict.fromkeys(user for user, _, _ in self.others))
        changed = [row for row, (a, b) in enumerate(zip(rows_of(model["factor_0"]), rows_of(solved["factor_0"]))) if a != b]
        self.assertEqual(changed, [users.index(4)])
        # The new item has no row yet when the user is solved: it counts for the bias alone.
        rows, columns = model["factor_1"][0]
        model["factor_1"] = ((rows + 1, columns), model["factor_1"][1] + (0.0,) * columns)
        model["bias_1"] = ((rows + 1,), model["bias_1"][1] + (0.0,))
        of_4 = [(order[f"i{item}"], value) for user, item, value in self.others if user == 4]
        self.expect_row(solved, users.index(4), model, of_4 + [(order["i3"], 1.5), (ITEMS, 5.0)])
        # The new rows have their labels.
        self.assertIn("\n", self.succeed("recommend", "solved.npz", "--mode", "item", "--for", f"u{USERS - 1}", "-n", 2).stdout)
        self.assertIn(f"i{ITEMS}", self.succeed("recommend", "solved.npz", "--mode", "item", "--for", "u4", "-n", 99).stdout)

    def test_sweeps_lower_the_error(self):
        train = self.fit(self.others, write=table)
        new = self.write("n.csv", table(self.last))
        self.succeed("update", "m.npz", new, "--train", train, *self.FOLD, "-o", "a.npz")
        self.succeed("update", "m.npz", new, "--train", train, "--sweeps", 5, *self.FOLD, "-o", "b.npz")
        whole = self.write("all.csv", table(self.entries))
        rmse = [self.report_of("predict", name, whole, "-o", "p.csv")["result"]["rmse"]["test"] for name in ("a.npz", "b.npz")]
        self.assertLess(rmse[1], rmse[0])
        self.fit(self.entries, name="whole.npz", write=table)
        fitted = self.report_of("predict", "whole.npz", whole, "-o", "p.csv")["result"]["rmse"]["test"]
        self.assertLess(abs(rmse[1] - fitted), 0.15 * fitted + 0.02)

    def test_update_refuses(self):
        train = self.fit(self.others)
        new = self.write("n.tns", text([(USERS + 2, 1, 4.0)]))
        self.fail_with(2, "update", "m.npz", new, "--sweeps", 1, *self.FOLD, "-o", "n.npz", says="name the old ones by --train")
        self.fail_with(2, "update", "m.npz", new, "--sweeps", -1, "--train", train, "-o", "n.npz", says="--sweeps takes")
        self.fail_with(2, "update", "m.npz", new, "-o", "o.tns", says=".npz")
        self.fail_with(2, "update", "m.npz", new, "-o", "m.npz", says="m.npz")
        self.fail_with(3, "update", "m.npz", new, "--train", new, *self.FOLD, "-o", "n.npz", says=("entry 1", "which the model does not have"))
        self.fail_with(3, "update", "m.npz", "no.tns", "-o", "n.npz", says="no.tns")
        far = self.run_tool("update", "m.npz", self.write("far.tns", f"{10 ** 15} 1 3\n"), *self.FOLD, "-o", "n.npz")
        self.assertEqual(far.returncode, 4, far.stderr)
        self.assertFalse((self.folder / "n.npz").exists())

    def test_gaps_in_ids(self):
        gapped = [(user if user < 10 else user + 5, item, value) for user, item, value in self.others]
        self.fit(gapped)
        model = arrays(self.folder / "m.npz")
        own = [(item, value) for _, item, value in self.last]
        new = self.write("n.tns", text([(12, item, value) for item, value in own]))
        self.succeed("update", "m.npz", new, *self.FOLD, "-o", "n.npz")
        found = arrays(self.folder / "n.npz")
        self.assertEqual(found["factor_0"][0], model["factor_0"][0])
        self.expect_row(found, 12, model, own)
        self.assertEqual([row for row, seen in enumerate(found["observed_0"][1]) if not seen], [10, 11, 13, 14])

    def test_clicks(self):
        clicks = [(user, item, 1) for user, item, value in self.others if value >= 3]
        fit = ("-r", R, "--implicit=8", "--reg", 2, "-i", 8, "--precision", "f64")
        self.fit(clicks, *fit)
        own = sorted({item for _, item, _ in self.last})[:4]
        # An item that is clicked twice counts as one click of 2.
        new = self.write("n.tns", text([(50, item, 1) for item in own + own[:1]]))
        self.succeed("project", "m.npz", new, "--mode", 0, "--implicit=8", "--reg", 2, "-o", "p.npz")
        model, found = arrays(self.folder / "m.npz"), arrays(self.folder / "p.npz")
        C, B = product(rows_of(model["factor_1"]), rows_of(model["core_1"])), rows_of(model["core_0"])
        size = len(B)
        P = [[sum(B[j][r] * c[r] for r in range(R)) for j in range(size)] for c in C]
        count = {item: 1 for item in own} | {own[0]: 2}
        matrix = [[sum((1 + 8 * count.get(k, 0)) * p[i] * p[j] for k, p in enumerate(P)) + (2 if i == j else 0)
                   for j in range(size)] for i in range(size)]
        right = [sum((1 + 8 * x) * P[item][i] for item, x in count.items()) for i in range(size)]
        for a, b in zip(rows_of(found["factor_0"])[50], solve(matrix, right)):
            self.assertAlmostEqual(a, b, delta=1e-8)
        # The file says so itself.
        self.succeed("project", "m.npz", new, "--mode", 0, "-o", "same.npz")
        self.assertEqual(arrays(self.folder / "same.npz"), found)
        without_fit(self.folder / "m.npz", self.folder / "old.npz")
        self.assertIn("if it was fitted with --implicit",
                      self.succeed("recommend", "old.npz", "--mode", 1, "--ratings", new, *self.FOLD).stderr)
        self.fail_with(2, "project", "m.npz", self.write("bad.tns", "1 1 -1\n"), "--mode", 0, "--implicit=8", "-o", "q.npz", says="of at least 0")

    def test_the_help_says_what_unset_options_are(self):
        for command in ("project", "update", "recommend"):
            texts = dict(part.split(maxsplit=1) for part in self.succeed(command, "--help").stdout.split("\n  -")[1:])
            for option in ("-implicit", "-reg", "-reg-per-entry", "-shrink", "-targets", "-bias-reg"):
                self.assertIn("unset: as the model's file says", " ".join(texts[option].split()), (command, option))

    def test_the_model_says_how_it_was_fitted(self):
        new = self.write("n.tns", text(self.last))
        project = ("project", "m.npz", new, "--mode", 0)
        for fit in (("--reg", 3, "--bias-reg", 7), ("--reg", 0.1, "--reg-per-entry"), ("--shrink", "4,0.1"),
                    ("--shrink", "4,0.1,50", "--targets", "zero,one"), ("--optimizer", "adam")):
            with self.subTest(fit):
                self.fit(self.others, "-r", R, "-i", 4, "--precision", "f64", *fit)
                given = [] if fit[0] == "--optimizer" else fit
                self.succeed(*project, *given, "-o", "given.npz")
                said = self.succeed(*project, "-o", "known.npz").stdout
                self.assertIn("(as the model's file says)", said)
                self.assertRegex(said, r"(?m)^time     [\d.]+ \w+ to read, [\d.]+ \w+ to solve$")
                self.assertEqual(arrays(self.folder / "known.npz"), arrays(self.folder / "given.npz"))
                # What is given wins, and the rest stays.
                other = self.succeed(*project, "--reg", 9, "-o", "other.npz").stdout
                self.assertIn("--reg 9 ", other)
                self.assertIn("(as given, and otherwise as the model's file says)", other)
                there, here = arrays(self.folder / "known.npz"), arrays(self.folder / "other.npz")
                self.assertNotEqual(here["factor_0"], there["factor_0"])
                self.assertEqual(here["bias_0"], there["bias_0"])
                self.assertEqual(here["ridge"][1], (9.0, 0.0))
        # The search's choice, too. Files of older versions say nothing.
        self.fit(self.others, "--precision", "f64", "--seed", 3)
        without_fit(self.folder / "m.npz", self.folder / "old.npz")
        self.assertIn("(as the model's file says)", self.succeed(*project, "-o", "p.npz").stdout)
        self.assertIn("bias_damping", arrays(self.folder / "p.npz"))
        said = self.succeed("project", "old.npz", new, "--mode", 0, "-o", "p.npz").stdout
        self.assertIn("--shrink 10,0.05,1000", said)
        self.assertIn("(the model's file does not say how rows were fitted)", said)
        self.assertNotIn("bias_damping", arrays(self.folder / "p.npz"))
        self.assertIn("as the model's file says", self.succeed("update", "m.npz", new, "-o", "u.npz").stdout)
        said = self.succeed("recommend", "m.npz", "--mode", 1, "--ratings", new, "-n", 2)
        self.assertIn("as the model's file says", said.stderr)
        self.assertEqual(len(said.stdout.splitlines()), 2)

    def test_time_and_contexts(self):
        rng = random.Random(2)
        entries = [(user, item, rng.randrange(6), value) for user, item, value in self.others]
        self.fit(entries, "-r", R, "--time-mode", 2, "--time-bins", "2,2,0", "--targets", "zero,zero,out", "--shrink", 5, "-i", 4,
                 "--precision", "f64")
        model = arrays(self.folder / "m.npz")
        new = self.write("n.tns", text([(40, item, rng.choice((3, 9)), value) for _, item, value in self.last]))
        said = self.succeed("recommend", "m.npz", "--mode", 1, "--ratings", new, "--shrink", 5, "-n", 3)
        self.assertIn("have a time that the model does not have", said.stderr)
        self.assertEqual([line.split()[:2] for line in said.stdout.splitlines()], [["41", "*"]] * 3)
        self.succeed("update", "m.npz", new, "--shrink", 5, "-o", "n.npz")
        found = arrays(self.folder / "n.npz")
        self.assertEqual((found["factor_0"][0], found["factor_2"]), ((41, R), model["factor_2"]))
        self.assertEqual(found["drift_0"][0], (41, 2))
        self.assertNotEqual(rows_of(found["factor_0"])[40], (0.0,) * R)
        self.fail_with(2, "project", "m.npz", new, "--mode", 2, "-o", "p.npz", says="mode of time")
        # A mode that the fit left out keeps its ones, though the command does not say so.
        self.fit([(u, i, c, x) for u, i, c, x in entries], "-r", R, "--targets", "zero,zero,out", "--shrink", 5, "-i", 4, "--precision", "f64",
                 name="c.npz")
        more = self.write("c.tns", text([(40, 2, 7, 4.0)]))
        self.succeed("update", "c.npz", more, "--shrink", 5, "-o", "d.npz")
        found = arrays(self.folder / "d.npz")
        C = product(rows_of(found["factor_2"]), rows_of(found["core_2"]))
        self.assertEqual(len(C), 8)
        for value in C[7]:
            self.assertAlmostEqual(value, 1, delta=1e-6)


if __name__ == "__main__":
    unittest.main()
