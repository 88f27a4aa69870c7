# SPDX-License-Identifier: BSD-3-Clause
"""Tables of text against Python's csv: what is read, how labels are numbered, and second tables."""
import csv
import io
import json
import random
import re
import unittest

from tool import ToolTest

WORDS = ["alice", "bob", "O'Neil", "a,b", 'say "hi"', "two\nlines", "x;y", "Ünal", "12a", "007", "*", "a b"]
INTEGERS = ["5", "-3", "12345678901", "0", "99", "7"]


def numbers_of(column):
    """Integers in ascending order, texts as they come first."""
    if all(re.fullmatch(r"0|-?[1-9]\d*", text) for text in column):
        return {text: k for k, text in enumerate(sorted(set(column), key=int))}
    return {text: k for k, text in enumerate(dict.fromkeys(column))}


def oracle(text, delimiter, modes):
    """The coordinates and values of a table with a header, whose last column holds the values."""
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))[1:]
    numbers = [numbers_of([row[n] for row in rows]) for n in range(modes)]
    return [tuple(numbers[n][row[n]] + 1 for n in range(modes)) + (float(row[modes]),) for row in rows]


class Tables(ToolTest):
    def entries(self, path, *options):
        self.succeed("convert", path, "x.tns", *options)
        lines = (self.folder / "x.tns").read_text().splitlines()
        return [tuple(int(word) for word in line.split()[:-1]) + (float(line.split()[-1]),) for line in lines]

    def test_random_tables(self):
        draw = random.Random(1)
        for trial in range(40):
            delimiter = draw.choice(",;|\t")
            modes = draw.randint(2, 4)
            kinds = [draw.choice([WORDS, INTEGERS, WORDS + INTEGERS]) for _ in range(modes)]
            out = io.StringIO(newline="")
            writer = csv.writer(out, delimiter=delimiter, lineterminator=draw.choice(["\n", "\r\n"]))
            writer.writerow([f"column{n}" for n in range(modes)] + ["rating"])
            for _ in range(draw.randint(2, 60)):
                writer.writerow([draw.choice(kind) for kind in kinds] + [draw.randint(-50, 50) / 4])
            text = out.getvalue()
            with self.subTest(trial=trial, text=text):
                path = self.write("t.csv", text)
                for threads in ("1", "2"):
                    self.assertEqual(self.entries(path, "-t", threads), oracle(text, delimiter, modes))

    def test_says_what_it_found(self):
        path = self.write("t.csv", "user,item,rating,timestamp\n1,31,2.5,1260759144\n1,40,3,1260759179\n")
        self.assertIn("t.csv: comma-separated with a header: columns user, item -> value rating; left out: timestamp",
                      self.succeed("stats", path).stderr)
        report = self.report_of("stats", path, "--time", "timestamp", "--time-unit", "day")
        self.assertEqual(report["input"]["dims"], [1, 2, 1])
        self.assertEqual(report["input"]["table"]["time"], {"column": "timestamp", "unit": "day"})
        path = self.write("u.data", "196\t242\t3\t881250949\n186\t302\t3\t891717742\n")
        self.assertIn("--columns 0,1,2 takes the third one as the values", self.succeed("stats", path).stderr)
        self.assertEqual(self.entries(path, "--columns", "0,1,2"), [(2, 1, 3.0), (1, 2, 3.0)])

    def refuse(self, status, *arguments):
        result = self.run_tool(*arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stderr

    def test_refusals(self):
        path = self.write("t.csv", "1;31;2,5\n")
        self.assertIn("t.csv:1:6: the value of column '2' is not a number: '2,5'; decimals have a point",
                      self.refuse(3, "stats", path))
        path = self.write("t.csv", "user,item,rating\na,b,1\n")
        self.assertIn("there is no column 'city'", self.refuse(2, "stats", path, "--columns", "city"))
        self.refuse(2, "stats", path, "--index-base", "1")
        self.refuse(2, "stats", path, "--time", "rating")

    def test_second_table(self):
        """Two modes whose biases alone explain the values; the test table has other columns and an unknown user."""
        names = [f"u{k}" for k in range(20)]
        rows = [(u, i, names.index(u) + 3 * i) for u in names for i in range(10)]
        first = "user,item,rating\n" + "".join(f"{u},{i * 7},{x}\n" for u, i, x in rows if (names.index(u) + i) % 4)
        second = "item,rating,user\n" + "".join(f"{i * 7},{x},{u}\n" for u, i, x in reversed(rows)
                                               if not (names.index(u) + i) % 4)
        train = ("fast-tucker", self.write("a.csv", first), "--test", self.write("b.csv", second), "-r", 2,
                 "--shrink", 5, "--bias-reg", 0.001, "-i", 2, "--precision", "f64", "--report", "r.json")
        self.succeed(*train)
        report = json.loads((self.folder / "r.json").read_text())
        self.assertLess(report["result"]["biases"]["rmse"]["test"], 0.3)  # shuffled labels: about 10
        self.write("b.csv", second + "7,1,zoe\n")
        self.assertIn("unknown to the model, such as 'zoe' (user)", self.succeed(*train).stderr)
        self.assertIn("such as 'zoe'", self.refuse(3, *train, "--cold-start", "refuse"))
        self.write("b.csv", "1 1 3\n")
        self.assertIn("two different numberings cannot be matched", self.refuse(2, *train))


if __name__ == "__main__":
    unittest.main()
