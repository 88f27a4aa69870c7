# SPDX-License-Identifier: BSD-3-Clause
"""Text files of every dialect, well-formed and malformed, plain and packed: check_text_files.py READER_TOOL.

Every malformed file has the one exact message that it must be refused with; every well-formed one must give
the same tensor. The files are made here, dialect by dialect, out of a few lines."""
import gzip
import lzma
import pathlib
import shutil
import subprocess
import sys
import tempfile


class Dialect:
    """head: the header's lines, for extents and a count of nonzeros; None where the dialect has no such thing."""

    def __init__(self, name, head, order=3, base=-1):
        self.name, self.head, self.order, self.base = name, head, order, base

    def rows(self, base=1):
        rows = [(1, 1, 1, "1.5"), (2, 3, 2, "-2"), (4, 1, 1, "0.25")]
        return [" ".join([*(str(i - 1 + base) for i in row[:self.order]), row[3]]) for row in rows]

    @property
    def dims(self):
        return (4, 3, 2)[:self.order]


def numbers(values):
    return " ".join(map(str, values))


BANNER = "%%MatrixMarket matrix coordinate real general"
DIALECTS = [
    Dialect("frostt", lambda dims, nnz: []),
    Dialect("extended-frostt", lambda dims, nnz: [f"{len(dims)} {nnz}", numbers(dims)]),
    Dialect("tensor-toolbox",
            lambda dims, nnz: ["sptensor", str(len(dims)),
                               numbers(dims), str(nnz)]),
    Dialect("dims-header", lambda dims, nnz: [str(len(dims)), numbers(dims)]),
    Dialect("matrix-market", lambda dims, nnz: [BANNER, f"{numbers(dims)} {nnz}"], order=2),
]


def quoted(text):
    return "'" + text[:40] + ("...'" if len(text) > 40 else "'")


class Case:

    def __init__(self, name, content, message, base=-1):
        self.name, self.base = name, base
        self.content = content if isinstance(content, bytes) else content.encode()
        self.message = message


def count_message(order, found, line):
    return f"expected {order + 1} numbers ({order} indices and a value), found {found}: {quoted(line)}"


def bad_tokens(order):
    """(class, what replaces the second row's index 2 or value, the reason's words before the quoted token and after it)."""
    index, value = "index 2 is ", "the value is "
    yield "letter in an index", 1, "b", index + "not a number", ""
    yield "letters after an index", 1, "3x", index + "not a number", ""
    yield "negative index", 1, "-3", index + "negative", ""
    yield "fractional index", 1, "1.5", index + "not an integer", ""
    yield "index with an exponent", 1, "1e0", index + "not an integer", ""
    yield "index beyond 64 bits", 1, "18446744073709551616", "index 2 exceeds 2^64 - 1", ""
    yield "two signs", 1, "+-3", index + "not a number", ""
    yield "quotes around an index", 1, '"3"', index + "not a number", ""
    yield "commas instead of blanks", 1, "3,2", index + "not a number", ""
    yield "index that is NaN", 1, "nan", index + "not a number", ""
    yield "long garbage", 1, "y" * 60, index + "not a number", ""
    yield "minus of typography", 1, "\u22123", index + "not a number", ""
    yield "letters in a value", order, "abc", value + "not a number", ""
    yield "letter after a value", order, "-2x", value + "not a number", ""
    yield "hexadecimal value", order, "0x10", value + "not a number", ""
    yield "decimal comma", order, "0,5", value + "not a number", "; decimals have a point"
    yield "exponent without digits", order, "1e", value + "not a number", ""
    yield "lone minus", order, "-", value + "not a number", ""
    yield "NaN", order, "nan", value + "not finite", ""
    yield "infinity", order, "-inf", value + "not finite", ""
    yield "value beyond doubles", order, "1e999", "the value exceeds the range of a double", ""


def malformed(dialect):
    order = dialect.order
    head, rows = dialect.head(dialect.dims, 3), dialect.rows()
    line = len(head) + 2

    def text(row):
        return "\n".join([*head, rows[0], row, rows[2]]) + "\n"

    for name, position, token, reason, advice in bad_tokens(order):
        words = rows[1].split()
        words[position] = token
        column = len(" ".join([*words[:position], ""]).encode()) + 1
        shown = token.encode()[:40].decode(errors="ignore")
        yield Case(name, text(" ".join(words)),
                   f":{line}:{column}: {reason}: '{shown}{'...' if len(token) > 40 else ''}'{advice}")
    short = rows[1].rsplit(" ", 1)[0]
    yield Case("too few numbers", text(short),
               f":{line}:{len(short) + 1}: {count_message(order, order, short)}")
    long = rows[1] + " 7"
    yield Case("too many numbers", text(long),
               f":{line}:{len(rows[1]) + 2}: {count_message(order, order + 2, long)}")
    long = rows[1] + " # why"
    yield Case("comment after numbers", text(long),
               f":{line}:{len(rows[1]) + 2}: {count_message(order, order + 3, long)}")
    words = rows[1].split()
    words[1] = "0"
    yield Case("index 0 under base 1", text(" ".join(words)),
               f":{line}:3: index 2 is below 1, the index base: '0'", 1)
    words[1] = "\x01\x02"
    yield Case("control characters", text(" ".join(words)),
               f":{line}:3: index 2 is not a number: '\\x01\\x02'")
    words[1] = "\0"
    yield Case("zero byte", text(" ".join(words)), f":{line}:3: index 2 is not a number: '\\x00'")
    words[1] = "3\r1"
    yield Case("carriage return inside a line", text(" ".join(words)),
               f":{line}:3: index 2 is not a number: '3\\x0D1'")
    last = text(rows[1])[:-1].rsplit(" ", 1)[0]
    short = rows[2].rsplit(" ", 1)[0]
    yield Case("cut short", last, f":{line + 1}:{len(short) + 1}: {count_message(order, order, short)}")
    yield Case("UTF-16",
               text(rows[1]).encode("utf-16-le").join([b"\xff\xfe", b""]), ":1:1: is UTF-16 text, not UTF-8")
    yield Case("empty", "", ": holds no nonzeros")
    yield Case("comments alone", "# a\n\n  // b\n% c", ": holds no nonzeros")
    if head:
        yield from malformed_header(dialect, head, rows)


def malformed_header(dialect, head, rows):
    order, dims = dialect.order, dialect.dims

    def text(lines):
        return "\n".join([*lines, *rows]) + "\n"

    mm = dialect.name == "matrix-market"
    at = next(k for k, text_line in enumerate(head) if text_line.startswith(numbers(dims))) + 1
    line = len(head) + 2
    words = rows[1].split()
    words[1] = "4"
    body = "\n".join([*head, rows[0], " ".join(words), rows[2]])
    yield Case("index beyond the extent", body, f":{line}:3: index 2 is beyond the extent 3: '4'")
    words[1] = "3"
    body = "\n".join([*head, "0 " + rows[0][2:], " ".join(words), rows[2]])
    if not mm:
        yield Case("index beyond the extent, counted from 0", body,
                   f":{line}:3: index 2 counted from 0 is beyond the extent 3: '3'")
        yield Case("index beyond the extent, asked to count from 0", body,
                   f":{line}:3: index 2 counted from 0 is beyond the extent 3: '3'", 0)
    for name, size, reason in (("extent 0", "0", "extent 2 is less than 1: '0'"),
                               ("letter in an extent", "x", "extent 2 is not a number: 'x'"),
                               ("negative extent", "-3", "extent 2 is negative: '-3'"),
                               ("fractional extent", "2.5", "extent 2 is not an integer: '2.5'"),
                               ("extent beyond 64 bits", "99999999999999999999",
                                "extent 2 exceeds 2^64 - 1: '99999999999999999999'")):
        changed = [*head]
        changed[at - 1] = numbers([dims[0], size, *head[at - 1].split()[2:]])
        yield Case(name, text(changed), f":{at}:3: {reason}")
    what = "rows, columns and nonzeros" if mm else f"{order} extents"
    count = 3 if mm else order
    shorter, longer = [*head], [*head]
    shorter[at - 1] = head[at - 1].rsplit(" ", 1)[0]
    longer[at - 1] = head[at - 1] + " 9"
    yield Case(
        "too few extents", text(shorter),
        f":{at}:{len(shorter[at - 1]) + 1}: expected {what}, found {count - 1}: {quoted(shorter[at - 1])}")
    yield Case(
        "too many extents", text(longer),
        f":{at}:{len(head[at - 1]) + 2}: expected {what}, found {count + 1}: {quoted(longer[at - 1])}")
    lacking = {"extended-frostt": "holds no nonzeros"}
    end = "\n".join(head[:at - 1])
    follows = "the rows, columns and nonzeros" if mm else "the extents"
    if dialect.name not in lacking:
        yield Case("file ends inside the header", end,
                   f":{at - 1}:{len(head[at - 2]) + 1}: the file ends where {follows} should follow")
    declared = {
        "extended-frostt": (1, 3),
        "tensor-toolbox": (4, 1),
        "matrix-market": (2, 5)
    }.get(dialect.name)
    if declared:
        for nnz in (2, 4, 0):
            yield Case(f"{nnz} nonzeros declared", text(dialect.head(dims, nnz)),
                       f":{declared[0]}:{declared[1]}: declares {nnz} nonzeros, but the file holds 3")
        yield Case("nothing but a header", "\n".join(head),
                   f":{declared[0]}:{declared[1]}: declares 3 nonzeros, but the file holds 0")
    else:
        yield Case("nothing but a header", "\n".join(head), ": holds no nonzeros")
    if dialect.name in ("tensor-toolbox", "dims-header"):
        first = 2 if dialect.name == "tensor-toolbox" else 1
        for modes, reason in ((0, "less than 1"), (17, "more than 16")):
            changed = [*head]
            changed[first - 1] = str(modes)
            yield Case(f"{modes} modes", text(changed),
                       f":{first}:1: the number of modes is {reason}: '{modes}'")


def more_malformed():
    """What only one dialect can do wrong."""
    yield Case("dense tensor", "tensor\n2\n1 1\n5\n",
               ":1:1: holds a tensor of the Tensor Toolbox, not a sparse tensor ('sptensor')")
    yield Case("model", "ktensor\n2\n",
               ":1:1: holds a ktensor of the Tensor Toolbox, not a sparse tensor ('sptensor')")
    yield Case(
        "word after sptensor", "sptensor indices-start-anywhere\n",
        ":1:10: expected 'indices-start-at-zero', 'indices-start-at-one' or nothing, found 'indices-start-anywhere'"
    )
    yield Case("words after sptensor", "sptensor indices-start-at-one 3\n",
               ":1:31: expected the end of the line, found '3'")
    yield Case("count and more", "sptensor\n2 2\n",
               ":2:3: expected the number of modes alone, found 2: '2 2'")
    yield Case("letter in the count", "sptensor\n1\n5\nmany\n",
               ":4:1: the number of nonzeros is not a number: 'many'")
    yield Case("0 in a header of base 1", "sptensor indices-start-at-one\n2\n4 3\n1\n1 0 1\n",
               ":5:3: index 2 is below 1, the index base: '0'")
    yield Case("extent reached in a header of base 0", "sptensor indices-start-at-zero\n2\n4 3\n1\n1 3 1\n",
               ":5:3: index 2 counted from 0 is beyond the extent 3: '3'")
    size, row = "3 3 1\n", "3 2 1.5\n"
    for name, words, column, reason in (("dense matrix", "matrix array real general", 23,
                                         "a dense matrix ('array') is not a sparse tensor"),
                                        ("complex values", "matrix coordinate complex general", 34,
                                         "complex values are not supported"),
                                        ("hermitian", "matrix coordinate real hermitian", 39,
                                         "a hermitian matrix has complex values, which are not supported"),
                                        ("skew pattern", "matrix coordinate pattern skew-symmetric", 42,
                                         "a pattern has no signs and cannot be skew-symmetric")):
        yield Case(name, f"%%MatrixMarket {words}\n{size}{row}", f":1:{column}: {reason}")
    form = "'%%MatrixMarket matrix coordinate real|integer|pattern general|symmetric|skew-symmetric'"
    for words, column, found in (("vector coordinate real general", 16,
                                  "'vector'"), ("matrix coordinate real", 38, "the end of the line"),
                                 ("matrix coordinate float general", 34,
                                  "'float'"), ("matrix coordinate real lower", 39,
                                               "'lower'"), ("matrix list real general", 23, "'list'"),
                                 ("matrix coordinate real general 2", 47, "'2'")):
        yield Case(f"banner {words}", f"%%MatrixMarket {words}\n{size}{row}",
                   f":1:{column}: expected {form}, found {found}")
    yield Case("above the diagonal", "%%MatrixMarket matrix coordinate real symmetric\n3 3 1\n2 3 1.5\n",
               ":3:3: lies above the diagonal of a symmetric matrix, which lists what is below: '2 3 1.5'")
    yield Case("on a skew diagonal", "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 1\n2 2 1.5\n",
               ":3:3: lies on the diagonal of a skew-symmetric matrix, which lists what is below: '2 2 1.5'")
    yield Case("not square", "%%MatrixMarket matrix coordinate real symmetric\n3 4 1\n2 1 1.5\n",
               ":2:3: a symmetric matrix is square: '3 4 1'")
    yield Case("value in a pattern", "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n2 1 1.5\n",
               ":3:5: expected 2 numbers (2 indices), found 3: '2 1 1.5'")
    yield Case("fraction among integers",
               "%%MatrixMarket matrix coordinate integer general\n3 3 2\n2 1 7\n1 1 1.5\n",
               ":4:5: the value is not an integer, which the header promises: '1.5'")
    yield Case("0 in a matrix", f"{BANNER}\n3 3 1\n2 0 1\n", ":3:3: index 2 is below 1, the index base: '0'")


def well_formed(dialect):
    """The same tensor of order 2 in eight ways of writing it."""
    flat = Dialect(dialect.name, dialect.head, order=2, base=dialect.base)
    head, rows = flat.head(flat.dims, 3), flat.rows()
    text = "\n".join([*head, *rows]) + "\n"
    zero = "\n".join([*head, *flat.rows(0)]) + "\n"
    tagged = "sptensor indices-start-at-zero" + zero[8:] if head and head[0] == "sptensor" else zero
    yield "plain", text, -1
    yield "CRLF", text.replace("\n", "\r\n"), -1
    yield "no last line end", text[:-1], -1
    yield "byte order mark", "\ufeff" + text, -1
    yield "tabs and blanks", text.replace(" ", "\t  ").replace(
        "\n", " \t\n") if head[:1] != [BANNER] else text.replace("\n", " \n"), -1
    comments = ["# a", "  % b 1 2 3", "// c", "", " \t"]
    lines = text.split("\n")
    start = 1 if head[:1] == [BANNER] else 0
    yield "comments", "\n".join(
        [*lines[:start], *(part for line in lines[start:] for part in (*comments, line))]), -1
    yield "signs and exponents", "\n".join([*head, "+1 1 +15e-1", "0002 3 -2.000", "4 +1 25E-2"]), -1
    yield "counted from 0", tagged, 0


def packers():
    yield "plain", lambda content: content
    yield "gzip", gzip.compress
    yield "xz", lzma.compress
    if shutil.which("zstd"):
        yield "zstd", lambda content: subprocess.run(
            ["zstd", "-q", "-c"], input=content, stdout=subprocess.PIPE, check=True).stdout


def read_all(tool, files):
    """The outcomes of [(base, path)]."""
    run = subprocess.run([tool],
                         input="".join(f"{base} {path}\n" for base, path in files),
                         stdout=subprocess.PIPE,
                         encoding="utf-8",
                         errors="surrogateescape",
                         check=False)
    outcomes = run.stdout.split("\n")[:-1]
    if run.returncode != 0 or len(outcomes) != len(files):
        sys.exit(
            f"{tool} ended with {run.returncode} after {len(outcomes)} of {len(files)} files:\n{outcomes[-1:]}"
        )
    return outcomes


def main():
    tool = sys.argv[1]
    cases = [(dialect.name, case) for dialect in DIALECTS for case in malformed(dialect)]
    cases += [("one dialect", case) for case in more_malformed()]
    good = [(dialect.name, *form) for dialect in DIALECTS for form in well_formed(dialect)]
    wrong, count = 0, 0
    with tempfile.TemporaryDirectory(prefix="polyad_text_") as folder:
        for packing, pack in packers():
            files = []
            for number, (_, case) in enumerate(cases):
                path = pathlib.Path(folder, f"{packing}.bad{number}")
                path.write_bytes(pack(case.content))
                files.append((case.base, path))
            for number, (_, _, content, base) in enumerate(good):
                path = pathlib.Path(folder, f"{packing}.good{number}")
                path.write_bytes(pack(content.encode()))
                files.append((base, path))
            outcomes = read_all(tool, files)
            for (dialect, case), (_, path), outcome in zip(cases, files, outcomes):
                count += 1
                if outcome != str(path) + case.message:
                    wrong += 1
                    print(
                        f"{dialect}, {packing}, {case.name}:\n  got  {outcome[len(str(path)):]}\n  expected {case.message}"
                    )
            for (dialect, form, _, base), outcome in zip(good, outcomes[len(cases):]):
                want = f"{dialect} base {0 if base == 0 else 1} dims 4 3: 0 0 1.5, 1 2 -2, 3 0 0.25,"
                if outcome != want:
                    wrong += 1
                    print(f"{dialect}, {packing}, {form}:\n  got  {outcome}\n  expected {want}")
    classes = len({case.name for _, case in cases})
    print(
        f"{count} malformed files of {classes} classes, {len(good)} well-formed ones a packing: {wrong} wrong"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
