# SPDX-License-Identifier: BSD-3-Clause
"""What rows are called: numbers count as in the training file, and labels are printed and read if there are some."""
import struct
import unittest
import zipfile

from tool import ToolTest


def npy(values, descr, shape=None):
    code = {"<f8": "d", "<i8": "q", "|u1": "B", "|b1": "?"}[descr]
    shape = (len(values),) if shape is None else shape
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape!r}, }}"
    header += " " * ((-len(header) - 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}{code}", *values)


def texts(words):
    """The bytes of words, and where each of them ends."""
    content, ends = b"", []
    for word in words:
        content += word.encode()
        ends.append(len(content))
    return npy(list(content), "|u1"), npy(ends, "<i8")


def named_arrays(entries, labels, names=None):
    """The arrays of an npz tensor whose rows have labels. `entries` are rows from 0 and a value."""
    order = len(labels)
    arrays = {"coords": npy([e[n] for n in range(order) for e in entries], "<i8", (order, len(entries))),
              "data": npy([e[-1] for e in entries], "<f8"), "shape": npy([len(words) for words in labels], "<i8")}
    for n, words in enumerate(labels):
        arrays[f"labels_{n}"], arrays[f"label_ends_{n}"] = texts(words)
    if names:
        arrays["mode_names"], arrays["mode_name_ends"] = texts(names)
    return arrays


class NamesTest(ToolTest):
    def write_npz(self, name, arrays):
        with zipfile.ZipFile(self.folder / name, "w") as archive:
            for array, content in arrays.items():
                archive.writestr(f"{array}.npy", content)

    def read_npz(self, name):
        """{name: elements} of vectors."""
        arrays = {}
        with zipfile.ZipFile(self.folder / name) as archive:
            for member in archive.namelist():
                content = archive.read(member)
                (length,) = struct.unpack("<H", content[8:10])
                kind = next(code for descr, code in (("f4", "f"), ("f8", "d"), ("i8", "q"), ("u8", "Q"), ("u4", "I"),
                                                     ("u1", "B"), ("b1", "?"), ("U3", "I")) if descr.encode() in content[:60])
                data = content[10 + length:]
                arrays[member.removesuffix(".npy")] = struct.unpack(f"<{len(data) // struct.calcsize(kind)}{kind}", data)
        return arrays

    def ratings(self, base):
        """Each of 12 users has rated 6 of 10 items; the value is 1 + item mod 5, whatever the user."""
        return "".join(f"{u + base} {(u + 3 * k) % 10 + base} {1 + (u + 3 * k) % 10 % 5}\n" for u in range(12) for k in range(6))

    def learn(self, file, model="m.npz", *more):
        self.succeed("fast-tucker", file, "-r", 1, "--reg", 0.01, "--bias-reg", 0.01, "-i", 30, "-o", model, *more)

    def predictions(self, *arguments):
        self.succeed("predict", *arguments, "-o", "p.tns")
        return [(*line.split()[:-1], round(float(line.split()[-1]))) for line in (self.folder / "p.tns").read_text().splitlines()]

    def test_numbers_count_as_in_the_training_file(self):
        for base in (0, 1):
            with self.subTest(base=base):
                self.write("x.tns", self.ratings(base))
                self.learn("x.tns")
                self.assertEqual(self.read_npz("m.npz")["index_base"], (base,))
                # No index is 0, so that the file alone seems to count from 1.
                self.write("wanted.tns", "5 1 0\n5 2 0\n5 3 0\n5 4 0\n")
                expected = [("5", str(i), 1 + (i - base) % 5) for i in range(1, 5)]
                self.assertEqual(self.predictions("m.npz", "wanted.tns"), expected)
                self.write("places.tns", "5 1\n5 2\n5 3\n5 4\n")
                self.assertEqual(self.predictions("m.npz", "places.tns"), expected)
                self.assertEqual(self.predictions("m.npz", "wanted.tns", "--index-base", 1),
                                 [("5", str(i), 1 + (i - 1) % 5) for i in range(1, 5)])
                best = self.succeed("recommend", "m.npz", "--mode", 1, "--for", 5, "-n", 2).stdout.split()
                self.assertEqual({int(best[0]) - base, int(best[2]) - base}, {4, 9})
                alike = self.succeed("similar", "m.npz", "--mode", 0, "--index", 11 + base, "-n", 20).stdout.splitlines()
                self.assertEqual({int(line.split()[0]) for line in alike}, {u + base for u in range(11)})

    def test_zero_is_refused_where_rows_count_from_one(self):
        self.write("x.tns", self.ratings(1))
        self.learn("x.tns")
        self.write("wanted.tns", "5 0 0\n")
        self.fail_with(3, "predict", "m.npz", "wanted.tns", "-o", "p.tns", says="wanted.tns:1:3: index 2 is below 1")

    def test_a_model_that_does_not_say_its_base_is_asked_for_it(self):
        self.write("x.tns", self.ratings(0))
        self.learn("x.tns")
        with zipfile.ZipFile(self.folder / "m.npz") as archive:
            arrays = {name: archive.read(name) for name in archive.namelist() if name != "index_base.npy"}
        with zipfile.ZipFile(self.folder / "old.npz", "w") as archive:
            for name, content in arrays.items():
                archive.writestr(name, content)
        self.write("wanted.tns", "5 1 0\n")
        self.fail_with(2, "predict", "old.npz", "wanted.tns", "-o", "p.tns", says="say it with --index-base")
        self.fail_with(2, "recommend", "old.npz", "--mode", 1, "--for", 5, says="say it with --index-base")
        self.assertEqual(self.predictions("old.npz", "wanted.tns", "--index-base", 0), [("5", "1", 2)])

    def test_a_test_set_counts_as_the_training_set(self):
        self.write("x.tns", self.ratings(0))
        self.write("test.tns", "5 1 2\n5 2 3\n5 3 4\n")
        report = self.report_of("fast-tucker", "x.tns", "--test", "test.tns", "-r", 1, "--reg", 0.01, "--bias-reg", 0.01)
        self.assertLess(report["result"]["rmse"]["test"], 0.1)
        self.succeed("convert", "x.tns", "x.npz")
        report = self.report_of("fast-tucker", "x.npz", "--test", "test.tns", "--index-base", 0, "-r", 1, "--reg", 0.01,
                                "--bias-reg", 0.01)
        self.assertLess(report["result"]["rmse"]["test"], 0.1)

    def test_seen_may_be_any_tensor_and_both_numbers_count_alike(self):
        for base in (0, 1):
            self.write("x.tns", self.ratings(base))
            self.learn("x.tns")
            self.succeed("convert", "x.tns", "x.npz")
            by_text = self.succeed("recommend", "m.npz", "--mode", 1, "--for", 5, "--seen", "x.tns").stdout
            self.assertEqual(self.succeed("recommend", "m.npz", "--mode", 1, "--for", 5, "--seen", "x.npz").stdout, by_text)
            self.assertEqual(len(by_text.splitlines()), 4)
            self.write("q.txt", "5\n6\n")
            self.succeed("recommend", "m.npz", "--mode", 1, "--for-file", "q.txt", "-n", 10, "-o", "r.npz")
            found = self.read_npz("r.npz")
            self.assertEqual((min(found["query"]), max(found["query"])), (base, base + 1))
            self.assertEqual((min(found["row"]), max(found["row"])), (base, base + 9))

    def test_compare_takes_the_base_of_the_model(self):
        lines = "".join(f"{i} {j} {k} {(i + 1) * (j + 1)}\n" for i in range(1, 4) for j in range(1, 4) for k in range(1, 3))
        self.write("x.tns", "0 1 1 0.001\n" + lines)
        self.write("from1.tns", lines)
        for model in ("m.npz", "m.ktns"):
            self.succeed("cpd", "x.tns", "-r", 1, "-o", model)
            self.succeed("compare", model, "x.tns")
            # The file alone seems to count from 1, and then has another shape than the model.
            fit = self.succeed("compare", model, "from1.tns").stdout
            self.assertIn("tensor   from1.tns: 4 x 4 x 3", fit)
            self.fail_with(3, "compare", model, "x.tns", "--index-base", 1, output=None, says="below 1")
        self.fail_with(2, "compare", "x.tns", "from1.tns", says="say with --index-base")

    def gaps(self):
        """Items are 10, 20, ..., 100 only."""
        return "".join(f"{u} {10 * ((u + 3 * k) % 10 + 1)} {1 + (u + 3 * k) % 10 % 5}\n" for u in range(1, 13) for k in range(6))

    def test_rows_without_entries_are_not_recommended(self):
        self.write("x.tns", self.gaps())
        self.learn("x.tns")
        rows = [int(line.split()[0]) for line in
                self.succeed("recommend", "m.npz", "--mode", 1, "--for", 1, "-n", 50).stdout.splitlines()]
        self.assertEqual(sorted(rows), list(range(10, 101, 10)))
        alike = [int(line.split()[0]) for line in
                 self.succeed("similar", "m.npz", "--mode", 1, "--index", 10, "-n", 50).stdout.splitlines()]
        self.assertEqual(sorted(alike), list(range(20, 101, 10)))
        self.fail_with(2, "similar", "m.npz", "--mode", 1, "--index", 15, says="15 is a row of mode 1 that has no entries")
        self.fail_with(2, "recommend", "m.npz", "--mode", 0, "--for", 15, "--cold-start", "refuse",
                       says="15 is a row of mode 1 that has no entries")
        self.assertIn("1 queries have an index", self.succeed("recommend", "m.npz", "--mode", 0, "--for", 15).stderr)
        self.write("wanted.tns", "1 15 0\n")
        self.fail_with(3, "predict", "m.npz", "wanted.tns", "--cold-start", "refuse", "-o", "p.tns",
                       says="entry 1 has row 15 of mode 1, of which the training set has no entries")
        self.fail_with(3, "fast-tucker", "x.tns", "--test", "wanted.tns", "--cold-start", "refuse",
                       says="entry 1 has row 15 of mode 1")

    def test_a_star_is_the_mean_over_rows_that_have_entries(self):
        self.write("x.tns", self.gaps())
        self.learn("x.tns", "m.npz", "--clip", "-99,99")
        best = self.succeed("recommend", "m.npz", "--mode", 0, "--for", "*", "-n", 1).stdout.split()
        self.write("places.tns", "".join(f"{best[0]} {item} 0\n" for item in range(10, 101, 10)))
        self.succeed("predict", "m.npz", "places.tns", "-o", "p.tns")
        values = [float(line.split()[-1]) for line in (self.folder / "p.tns").read_text().splitlines()]
        self.assertAlmostEqual(float(best[1]), sum(values) / len(values), places=3)

    users = ["alice", "bob, jr.", "*", 'say "x"', "élodie", "f"]
    items = [str(7 * i - 9) for i in range(10)]

    def named(self):
        entries = [(u, (u + 3 * k) % 10, float(1 + (u + 3 * k) % 10 % 5)) for u in range(6) for k in range(7)]
        self.write_npz("x.npz", named_arrays(entries, [self.users, self.items], ["user", "item"]))
        self.learn("x.npz")

    def test_labels_are_kept_printed_and_read(self):
        self.named()
        self.assertEqual(bytes(self.read_npz("m.npz")["mode_names"]), b"useritem")
        quoted = ["alice", '"bob, jr."', '"*"', '"say ""x"""', "élodie", "f"]
        for text in quoted:
            found = self.succeed("recommend", "m.npz", "--mode", "item", "--for", text, "-n", 2).stdout.split()
            self.assertEqual({self.items.index(found[0]) % 5, self.items.index(found[2]) % 5}, {4}, text)
        self.assertEqual(self.succeed("recommend", "m.npz", "--mode", 1, "--for", "*", "-n", 1).returncode, 0)
        alike = self.succeed("similar", "m.npz", "--mode", "user", "--index", "*", "-n", 9).stdout
        self.assertEqual({line.rsplit(" ", 1)[0] for line in alike.splitlines()}, set(quoted) - {'"*"'})
        self.write("q.txt", "# users\n" + "\n".join(quoted))
        lines = self.succeed("recommend", "m.npz", "--mode", "item", "--for-file", "q.txt", "-n", 1).stdout.splitlines()
        self.assertEqual([line.rsplit(" ", 2)[0] for line in lines], quoted)

    def test_unknown_labels_are_refused_or_counted_and_named(self):
        self.named()
        for cold, code in (("refuse", 2), ("bias", 0)):
            result = self.run_tool("recommend", "m.npz", "--mode", "item", "--for", "zoe", "--cold-start", cold)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn("'zoe'", result.stderr)
        for says, *arguments in (("one of the names user, item, not 'film'", "--mode", "film", "--for", "f"),
                                 ("not closed", "--mode", "item", "--for", '"f'),
                                 ("gives 2 indices", "--mode", "item", "--for", "f,f")):
            self.fail_with(2, "recommend", "m.npz", *arguments, says=says)

    def test_labels_may_have_quotes_and_places_no_values(self):
        self.named()
        plain, quoted = (self.succeed("similar", "m.npz", "--mode", "user", "--index", of, "-n", 2).stdout for of in ("*", '"*"'))
        self.assertEqual(plain, quoted)
        self.fail_with(2, "similar", "m.npz", "--mode", "user", "--index", '"*', says="not closed")
        self.write("q.csv", 'item,user\n5,"bob, jr."\n-9,*\n')
        result = self.succeed("predict", "m.npz", "q.csv", "-o", "p.csv")
        self.assertNotIn("RMSE", result.stdout)
        self.assertEqual([line.rsplit(",", 1)[0] for line in (self.folder / "p.csv").read_text().splitlines()],
                         ["user,item", '"bob, jr.",5', '"*",-9'])

    def test_entries_are_matched_by_labels(self):
        self.named()
        # Other numbers, the modes in another order, and a user that the model does not know.
        users, items = ["zoe", "f", "alice"], ["5", "-9"]
        arrays = named_arrays([(0, 1, 4.0), (1, 2, 1.0), (0, 0, 3.0)], [items, users], ["item", "user"])
        self.write_npz("wanted.npz", arrays)
        result = self.succeed("predict", "m.npz", "wanted.npz", "-o", "p.csv")
        self.assertIn("1 name in wanted.npz is unknown to the model, such as 'zoe' (user)", result.stderr)
        lines = (self.folder / "p.csv").read_text().splitlines()
        self.assertEqual([line.rsplit(",", 1)[0] for line in lines], ["user,item", "f,5", "alice,-9", "zoe,5"])
        self.assertEqual([round(float(line.rsplit(",", 1)[1])) for line in lines[1:3]], [3, 1])
        self.fail_with(3, "predict", "m.npz", "wanted.npz", "-o", "q.csv", "--cold-start", "refuse",
                       says="entry 3 has row zoe of mode 0 (user), which the training set does not have")
        report = self.report_of("fast-tucker", "x.npz", "--test", "wanted.npz", "-r", 1, "--reg", 0.01, "--bias-reg", 0.01)
        self.assertLess(report["result"]["rmse"]["test"], 1.5)

    def test_two_numberings_never_meet(self):
        self.named()
        self.write("numbers.tns", "1 2 3\n")
        self.fail_with(2, "predict", "m.npz", "numbers.tns", "-o", "p.tns",
                       says=("mode 0 (user) numbers its rows", "two different numberings"))
        self.write("plain.tns", self.ratings(1))
        self.learn("plain.tns", "plain.npz")
        self.fail_with(2, "predict", "plain.npz", "x.npz", "-o", "p.tns", says="two different numberings")

    def test_files_keep_and_say_names(self):
        self.named()
        for command in ("stats", "check"):
            self.assertIn("mode 0      user: 6 labels, 'alice', 'bob, jr.', '*', ...", self.run_tool(command, "x.npz").stdout)
            self.assertEqual(self.report_of(command, "x.npz")["input"]["modes"], [{"name": "user", "labels": 6}, {"name": "item", "labels": 10}])
        self.succeed("convert", "x.npz", "y.npz")
        arrays = self.read_npz("y.npz")
        self.assertEqual(bytes(arrays["labels_0"]).decode(), "".join(self.users))
        self.assertIn("no place for the names", self.succeed("convert", "x.npz", "y.tns").stderr)
        for model, array in (("cp.npz", "labels_1"), ("tucker.npz", "labels_1")):
            command = ("cpd", "x.npz", "-r", 1) if model == "cp.npz" else ("tucker", "x.npz", "-r", "1,1")
            self.succeed(*command, "-o", model)
            self.assertEqual(bytes(self.read_npz(model)[array]).decode(), "".join(self.items))
            self.succeed("compare", model, "y.npz")

    def test_damaged_names_are_refused(self):
        entries = [(0, 0, 1.0), (1, 1, 2.0)]
        good = named_arrays(entries, [["a", "b"], ["c", "d"]], ["user", "item"])
        for says, changes in (
                ("'label_ends_0' has 1 numbers, not 2", {"label_ends_0": npy([2], "<i8")}),
                ("'label_ends_0' does not increase", {"label_ends_0": npy([2, 1], "<i8")}),
                ("'label_ends_0' does not increase up to the 2 bytes", {"label_ends_0": npy([1, 3], "<i8")}),
                ("'label_ends_0' has a number below 0", {"label_ends_0": npy([-1, 2], "<i8")}),
                ("'labels_0' has a text that is not UTF-8", {"labels_0": npy([97, 255], "|u1")}),
                ("'labels_0' is not a vector of bytes", {"labels_0": npy([97, 98], "<i8")}),
                ("'labels_1' is there without 'label_ends_1'", {"label_ends_1": None}),
                ("'mode_name_ends' has 1 numbers", {"mode_name_ends": npy([8], "<i8")}),
                ("'index_base' is not 0 or 1", {"index_base": npy([2], "<i8")})):
            with self.subTest(says):
                arrays = {name: content for name, content in {**good, **changes}.items() if content is not None}
                self.write_npz("bad.npz", arrays)
                self.fail_with(3, "stats", "bad.npz", says=says)


class NamesOfModesAndProducts(ToolTest):
    """Modes of constraints by name, names of products, and new slices whose rows are numbered otherwise."""
    write_npz, read_npz = NamesTest.write_npz, NamesTest.read_npz

    def setUp(self):
        super().setUp()
        self.users, self.items, self.days = ["ann", "bob", "cy", "dee"], ["tea", "rice", "soup"], ["mon", "tue"]
        rows = [(u, i, d, 1 + (3 * a + 5 * b + 2 * c) % 7 / 2) for a, u in enumerate(self.users)
                for b, i in enumerate(self.items) for c, d in enumerate(self.days) if (a + b + c) % 4]
        table = lambda order, lines: "\n".join(",".join(str(line[k]) for k in order) for line in lines) + "\n"
        head = ("user", "item", "day", "rating")
        self.rows = rows
        self.write("a.csv", table((0, 1, 2, 3), [head, *rows]))
        self.write("b.csv", table((2, 0, 1, 3), [head, *(row for row in reversed(rows) if row[0] != "ann")]))
        self.write("new.csv", table((0, 1, 2, 3), [head, ("ann", "cake", "mon", 1), ("zoe", "tea", "tue", 2)]))

    def labels(self, name, mode):
        arrays = self.read_npz(name)
        content, ends = bytes(arrays[f"labels_{mode}"]).decode(), arrays[f"label_ends_{mode}"]
        return [content[begin:end] for begin, end in zip((0, *ends), ends)]

    def test_constraints_name_modes(self):
        by_name = ("--nonnegative=user,2", "--l1=item:0.1", "--ridge=user:0.1", "--ridge=day:0.2", "--upper=item:9", "--lower=item:-9")
        by_number = ("--nonnegative=0,2", "--l1=1:0.1", "--ridge=0:0.1", "--ridge=2:0.2", "--upper=1:9", "--lower=1:-9")
        fits = [self.report_of("cpd", "a.csv", "-r", 2, "-i", 5, *of, "-o", "m.npz")["result"]["fit"] for of in (by_name, by_number)]
        self.assertEqual(*fits)
        fits = [self.report_of("cpd", "a.csv", "-r", 2, "-i", 3, "--init", "m.npz", "--fix", of)["result"]["fit"] for of in ("user,day", "0,2")]
        self.assertEqual(*fits)
        self.assertNotEqual(fits[0], self.report_of("cpd", "a.csv", "-r", 2, "-i", 3, "--init", "m.npz", "--fix", "item")["result"]["fit"])
        for option in ("--nonnegative=usr", "--l1=usr:1", "--lower=usr:0", "--upper=usr:0", "--ridge=usr:0"):
            with self.subTest(option=option):
                self.fail_with(2, "cpd", "a.csv", "-r", 2, "-q", option, says="one of the names user, item, day, not 'usr'")

    def test_new_slices_are_matched_by_labels(self):
        self.succeed("cpd", "a.csv", "-r", 2, "-i", 9, "-o", "m.npz")
        self.succeed("project", "m.npz", "a.csv", "--mode", "user", "-o", "all.npz")
        self.succeed("project", "m.npz", "b.csv", "--mode", "user", "-o", "some.npz")
        self.assertEqual(self.labels("all.npz", 0), self.users)
        found = self.labels("some.npz", 0)
        self.assertEqual(found, [u for u in dict.fromkeys(row[0] for row in reversed(self.rows)) if u != "ann"])
        self.assertEqual(self.labels("some.npz", 1), self.labels("m.npz", 1))
        row_of = lambda name, user: self.read_npz(name)["factor_0"][2 * self.labels(name, 0).index(user):][:2]
        for user in found:
            for x, y in zip(row_of("all.npz", user), row_of("some.npz", user)):
                self.assertAlmostEqual(x, y, delta=1e-12)
        self.fail_with(3, "project", "m.npz", "new.csv", "--mode", "user", "-q", "-o", "x.npz",
                       says="has 1 rows of mode 1 (item) that m.npz does not have, such as 'cake'")
        self.write("plain.tns", "1 1 1 2\n2 2 2 1\n")
        self.fail_with(2, "project", "m.npz", "plain.tns", "--mode", "user", "-o", "x.npz", says="two different numberings")

    def test_too_short_steps_of_time_are_warned_of(self):
        entries = [(k % 9, k % 7, k, 1 + k % 5) for k in range(60)]
        learn = ("--time-mode", 2, "--time-bins", 2, "-r", 1, "-j", 1, "--shrink", 5, "-i", 1)
        for step, warns in ((1, True), (20, False)):
            self.write("t.tns", "".join(f"{u + 1} {i + 1} {t // step + 1} {x}\n" for u, i, t, x in entries))
            said = self.succeed("fast-tucker", "t.tns", *learn).stderr
            self.assertEqual("60 entries have 60 different times in mode 2" in said, warns)

    def test_products_have_names(self):
        self.succeed("cpd", "a.csv", "-r", 2, "-i", 3, "-o", "m.npz")
        for table in ("a.csv", "b.csv"):
            self.succeed("ttmc", table, "--mode", "item", "--matrices", "m.npz", "-o", f"ttmc-{table}.npz")
            self.succeed("mttkrp", table, "--mode", "item", "--factors", "m.npz", "-o", f"mttkrp-{table}.npz")
            for product in ("ttmc", "mttkrp"):
                self.assertEqual(self.labels(f"{product}-{table}.npz", 0), self.labels("m.npz", 1))
        self.write("c.csv", (self.folder / "a.csv").read_text().replace("ann", "zoe"))
        for command in (("ttmc", "--matrices"), ("mttkrp", "--factors")):
            self.fail_with(3, command[0], "c.csv", "--mode", "item", command[1], "m.npz", "-q", "-o", "x.npz", says="'zoe'")
        self.write_npz("u.npz", {"matrix": npy([1.0, 0.0, 0.0, 1.0, 1.0, 1.0], "<f8", (3, 2))})
        self.succeed("ttm", "a.csv", "--mode", "item", "--matrix", "u.npz", "-o", "y.npz")
        self.assertEqual((self.labels("y.npz", 0), self.labels("y.npz", 2)), (self.labels("m.npz", 0), self.labels("m.npz", 2)))
        self.assertNotIn("labels_1", self.read_npz("y.npz"))
        self.assertIn("no place for the names", self.succeed("ttm", "a.csv", "--mode", "item", "--matrix", "u.npz", "-o", "y.tns").stderr)

    def test_repeated_entries_are_treated_as_the_option_says(self):
        self.write("x.tns", "1 1 5\n2 2 3\n1 1 4\n")
        self.write("y.tns", "2 2 3\n1 1 4\n")
        self.write_npz("u.npz", {"matrix": npy([1.0, 0.0, 0.0, 1.0], "<f8", (2, 2))})
        self.write_npz("v.npz", {f"factor_{n}": npy([1.0, 0.0, 0.0, 1.0], "<f8", (2, 2)) for n in range(2)})
        commands = (("stats",), ("estimate", "-r", 2), ("tune", "-r", 2, "-i", 1), ("ttm", "--mode", 0, "--matrix", "u.npz", "-o", "o.npz"),
                    ("ttmc", "--mode", 0, "--matrices", "v.npz", "-o", "o.npz"))
        for command, *options in commands:
            with self.subTest(command=command):
                self.assertEqual(self.report_of(command, "x.tns", *options)["input"]["duplicates"], 1)
                last = self.report_of(command, "x.tns", *options, "--duplicates", "last")
                self.assertEqual((last["input"]["nnz"], last["input"]["duplicates"]), (2, 1))
                if command == "stats":
                    self.assertEqual(last["result"]["values"]["max"], 4)
                self.fail_with(3, command, "x.tns", *options, "--duplicates", "error", says="x.tns:3:1: repeats the indices of line 1")
        for how in ("sum", "last"):
            self.succeed("ttmc", "x.tns", "--mode", 0, "--matrices", "v.npz", "--duplicates", how, "-o", "o.npz")
            self.assertEqual(self.read_npz("o.npz")["matrix"], (9.0, 0.0, 0.0, 3.0) if how == "sum" else (4.0, 0.0, 0.0, 3.0))


if __name__ == "__main__":
    unittest.main()
