# SPDX-License-Identifier: BSD-3-Clause
"""Tables of text against Python's csv: what is read, how labels are numbered, and second tables."""
import csv
import datetime
import importlib.util
import io
import json
import lzma
import pathlib
import random
import re
import struct
import unittest
import zipfile

from tool import ToolTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
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

    def test_time_mode_of_a_column_that_was_left_out(self):
        lines = [f"u{n % 7},i{n % 5},{n % 4 + 1},{1260759144 + 86400 * n}" for n in range(35)]
        path = self.write("t.csv", "\n".join(["user,item,rating,timestamp", *lines, ""]))
        bare = self.write("bare.csv", "\n".join([*lines, ""]))
        with_notes = [line.replace(",12", ",x,12") for line in lines]
        notes = self.write("notes.csv", "\n".join(["user,item,rating,note,when", *with_notes, ""]))
        two = ("--columns", "user,item", "--value", "rating")
        says = "column {0} of the table was left out: {1}--time {0} --time-unit day makes its times a mode"
        named = says.format("timestamp", "")
        for expected, file, *arguments in (
            (named, path, "--time-mode", "timestamp"),
            (named, path, "--time-mode", 2),
            (named, path, "--split-time", 0.2, "--split-mode", "timestamp"),
            (says.format("3", ""), bare, "--time-mode", 2),
            (says.format("when", "add it to --columns, or "), notes, *two, "--time-mode", "when"),
            ("columns note, when of the table were left out: add one to --columns, or --time COLUMN", notes, *two,
             "--time-mode", 2),
        ):
            self.assertIn(expected, self.refuse(2, "fast-tucker", file, *arguments))
        # What it says works, and is not said again.
        timed = ("fast-tucker", path, "--time", "timestamp", "--time-unit", "day")
        self.assertIn("t.csv: 7 x 5 x 35,", self.succeed(*timed, "--time-mode", "timestamp").stdout)
        self.assertNotIn("left out", self.refuse(2, *timed, "--time-mode", "month"))
        all_columns = ("--columns", "user,item,timestamp", "--value", "rating")
        self.assertNotIn("of the table", self.refuse(2, "fast-tucker", path, *all_columns, "--time-mode", 3))

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
        self.assertIn("--header takes yes or no, not 'maybe'", self.refuse(2, "stats", path, "--header", "maybe"))
        self.assertIn("not 'minute'", self.refuse(2, "stats", path, "--time", "rating", "--time-unit", "minute"))
        self.refuse(2, "stats", path, "--time", "rating")

    def test_a_column_of_values_without_numbers(self):
        """It does not silently become a mode, whose lines count 1 each."""
        rows = "".join(f"u{k},i{k % 7},{{}}\n" for k in range(150))
        words = "user,item,rating\n" + rows.format(*["good", "bad"] * 75)
        late = "user,item,Rating\n" + rows.format(*["?"] * 120, *[4] * 30)  # the numbers come after the sample
        for text, word, column in ((words, "good", "rating"), (late, "?", "Rating")):
            path = self.write("t.csv", text)
            for command in (("stats", path), ("cpd", path, "-r", 1), ("fast-tucker", path)):
                self.assertIn(f"t.csv:2:7: the name of column '{column}' says that it holds the values, but the first lines have "
                              f"no number there: '{word}'. Say which column holds the values, or none if each line counts 1\n",
                              self.refuse(3, *command))
            self.assertIn(f"columns user, item, {column}; each line counts 1", self.succeed("stats", path, "--value", "none").stderr)
            self.assertIn(f"the value of column '{column}' is not a number", self.refuse(3, "stats", path, "--value", column))
        # A column of words before one of numbers, whose values they would be.
        path = self.write("t.csv", "user,rating,hours\nann,PG,2\nbob,R,3.5\n")
        self.assertIn("t.csv:2:5: the name of column 'rating'", self.refuse(3, "stats", path))
        self.assertIn("columns user, rating -> value hours", self.succeed("stats", path, "--value", "hours").stderr)
        # Numbers further down in the sample, an empty field before, and another column with such a name.
        path = self.write("t.csv", "user,item,rating\nann,tea,x\nbob,rice,2\n")
        self.assertIn("t.csv:2:9: the value of column 'rating' is not a number", self.refuse(3, "stats", path))
        path = self.write("t.csv", "user,item,rating\nann,tea,\nbob,rice,no\n")
        self.assertIn("t.csv:3:10: the name of column 'rating'", self.refuse(3, "stats", path))
        path = self.write("t.csv", "price,item,count\nlow,tea,2\nhigh,rice,3\n")
        self.assertIn("columns price, item -> value count", self.succeed("stats", path).stderr)

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

    def test_columns_whose_names_have_commas(self):
        path = self.write("t.csv", '"user, old",item,rating,"a ""b"""\nann,tea,1,7\nbob,rice,2,8\n')
        self.assertEqual(self.entries(path, "--columns", 'item,"user, old","a ""b"""', "--value", "rating"),
                         [(1, 1, 1, 1.0), (2, 2, 2, 2.0)])


def step_of(moment, unit):
    """The label of the step in which a moment in UTC lies."""
    year, week, _ = moment.isocalendar()
    return {"hour": f"{moment:%Y-%m-%dT%H}", "day": f"{moment:%Y-%m-%d}", "week": f"{year}-W{week:02d}", "month": f"{moment:%Y-%m}",
            "year": f"{moment:%Y}"}[unit]


class RandomTables(ToolTest):
    """Separators, quotes, gaps in ids, times and second tables, drawn at random, against Python's csv and datetime."""

    def written(self, draw, separator, rows, quotes):
        """The text of a table. Without a csv dialect of several characters, fields are quoted by hand."""
        end = draw.choice(["\n", "\r\n"])

        def field(x):
            text = str(x)
            must = any(part in text for part in (separator, '"', "\n", "\r")) or text != text.strip() or not text
            if quotes and (must or draw.random() < 0.1):
                return '"' + text.replace('"', '""') + '"'
            return text

        blanks = draw.random() < 0.2 and separator in ",;|"
        pad = (lambda: " " * draw.randint(0, 2)) if blanks else (lambda: "")
        return "".join(separator.join(pad() + field(x) + pad() for x in row) + end for row in rows)

    def test_separators_gaps_times_and_second_tables(self):
        draw = random.Random(7)
        for trial in range(60):
            separator = draw.choice([",", ";", "\t", "|", "::"])
            quotes = separator != "::"
            words = WORDS if quotes else ["alice", "bob", "O'Neil", "Ünal", "12a", "007", "*", "a:b"]
            ids = [draw.choice(words) if trial % 3 else str(draw.choice([-5, 0, 3, 10**12, 77, -(10**15)])) for _ in range(30)]
            unit = draw.choice(["hour", "day", "week", "month", "year"])
            form = draw.choice(["seconds", "milliseconds", "iso", "date"])
            begin = datetime.datetime(draw.randint(1990, 2030), draw.randint(1, 12), draw.randint(1, 28), tzinfo=datetime.timezone.utc)
            rows, expected = [], []
            for who in ids:
                moment = begin + datetime.timedelta(seconds=draw.randint(0, 40 * 86400))
                if form == "date":
                    moment = moment.replace(hour=0, minute=0, second=0)
                seconds = int(moment.timestamp())
                text = {"seconds": seconds, "milliseconds": 1000 * seconds + draw.randint(0, 999), "iso": f"{moment:%Y-%m-%dT%H:%M:%SZ}",
                        "date": f"{moment:%Y-%m-%d}"}[form]
                value = draw.randint(-40, 40) / 8
                rows.append([who, text, value, draw.randint(0, 9)])
                expected.append((who, step_of(moment, unit), value))
            header = [["who", "when", "much", "other"]] if draw.random() < 0.7 else []
            names = header[0] if header else ["0", "1", "2", "3"]
            text = self.written(draw, separator, header + rows, quotes)
            path = self.write("t.csv", text)
            with self.subTest(trial=trial, text=text):
                self.succeed("convert", path, "x.npz", "--columns", names[0], "--value", names[2], "--time", names[1], "--time-unit",
                             unit, "--delimiter", separator, "--header", "yes" if header else "no", "-t", draw.choice("12"))
                arrays = arrays_of(self.folder / "x.npz")
                labels = [labels_of(arrays, n) for n in range(2)]
                coords, order = arrays["coords"], len(expected)
                found = [(labels[0][coords[k]], labels[1][coords[order + k]], arrays["data"][k]) for k in range(order)]
                self.assertEqual(found, expected)
                self.assertEqual(labels[0], list(numbers_of([who for who, _, _ in expected])))
                self.assertEqual(labels[1], sorted(labels[1]))


def npy_of(content):
    """The elements of a vector or matrix, in the order of the file."""
    (length,) = struct.unpack("<H", content[8:10])
    kinds = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q", "<u4": "I", "<u8": "Q", "u1'": "B"}
    kind = next(code for descr, code in kinds.items() if descr.encode() in content[:60])
    data = content[10 + length:]
    return struct.unpack(f"<{len(data) // struct.calcsize(kind)}{kind}", data)


def arrays_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name.removesuffix(".npy"): npy_of(archive.read(name)) for name in archive.namelist()
                if name.startswith(("coords", "data", "label"))}


def labels_of(arrays, n):
    content, ends = bytes(arrays[f"labels_{n}"]), arrays[f"label_ends_{n}"]
    return [content[begin:end].decode() for begin, end in zip((0, *ends), ends)]


class MadeTables(ToolTest):
    """From a file to a named top ten in two commands, with the tables that README names."""

    @classmethod
    def setUpClass(cls):
        spec = importlib.util.spec_from_file_location("made_tables", ROOT / "scripts" / "made_tables.py")
        cls.made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(cls.made)

    def top(self, *arguments):
        """The names in the lines of a recommendation."""
        lines = self.succeed(*arguments).stdout.splitlines()
        return [next(csv.reader([line.rpartition(" ")[0]], delimiter=" "))[0] for line in lines]

    def test_the_tables_are_those_of_the_script(self):
        for name, text in self.made.tables().items():
            self.assertEqual(lzma.open(ROOT / "data" / f"{name}.xz", "rt", newline="").read(), text)

    def test_films(self):
        path = ROOT / "data" / "films.csv.xz"
        films = self.made.Films()
        seen = {row[1] for row in films.rows() if row[0] == 52}
        self.succeed("fast-tucker", path, "--clip", "0.5,5", "-o", "films.npz")
        top = self.top("recommend", "films.npz", "--mode", "film", "--for", 52, "--seen", path)
        best = sorted(set(films.films) - seen, key=lambda film: -films.expected_rating(52, film))
        self.assertEqual(len(set(top)), 10)
        self.assertLessEqual(set(top), set(best[:25]), top)
        # Film by film the order of the predictions is not that of the popularity alone.
        self.assertNotEqual(top, self.top("recommend", "films.npz", "--mode", "film", "--for", 19))

    def test_rides(self):
        path = ROOT / "data" / "rides.csv.xz"
        rides = self.made.Rides()
        self.succeed("fast-tucker", path, "--columns", "start,end", "--time", "started", "--time-unit", "month", "--duplicates", "sum",
                     "-o", "rides.npz")
        top = self.top("recommend", "rides.npz", "--mode", "end", "--for", "Harbour,2023-07")
        best = sorted(self.made.STATIONS, key=lambda end: -rides.expected_rides("Harbour", end, 6))
        self.assertEqual(set(top[:3]), set(best[:3]))
        self.assertLessEqual(set(top), set(best[:12]))
        report = self.report_of("stats", path, "--columns", "start,end", "--time", "started", "--time-unit", "month")
        self.assertEqual(report["input"]["dims"], [16, 16, 12])
        self.assertEqual(report["input"]["nnz"] + report["input"]["duplicates"], len(rides.rows()))


if __name__ == "__main__":
    unittest.main()
