# SPDX-License-Identifier: BSD-3-Clause
"""Draws command lines from what a tool's help lists: draw_lines.py TOOL FOLDER [--count N] [--seed S].

Writes an input of fuzz_command_line into FOLDER for each. Mutations seldom give several options that a command has, with
values that it takes. What reaches something new joins a corpus: fuzz_command_line -merge=1 CORPUS FOLDER"""
import argparse
import pathlib
import random
import re
import subprocess

FORMATS = ["auto", "coo", "csf", "coo:number=3", "csf:number=2", "coo:number=x", "coo:other=1", "coo:", "sorted", "no-such-format"]
FOLDERS = ["", "d/", "./", "a/../", "/tmp/", "some/folder/with/a/name/that/is/longer/than/any/short/string/"]
NAMES = ["a", "x", "out", "a-name-longer-than-sixteen-letters", "nothing here", "é", "-", ".", ""]
ENDS = ["", ".tns", ".npz", ".pten", ".mtx", ".ktns", ".txt", ".json", ".tns.gz", ".mtx.xz", ".tns.zst", ".ckpt"]
COUNTS = ["1", "2", "2", "3", "10", "10", "0", "0.5"]
USUAL_NUMBERS = COUNTS + ["0.1", "1.5", "0.3"]
NUMBERS = USUAL_NUMBERS + ["-1", "17", "1.5", "1e-3", "1e400", "nan", "inf", "-inf", "-0", "4294967296", "18446744073709551616",
                           "9223372036854775807", "8G", "8T", "1k", "0x10", " 1", "x", ""]
WORDS = ["als", "adam", "sgd", "random", "nvecs", "zero", "one", "out", "frostt", "low-rank", "ratings", "a-word-longer-than-sixteen",
         "*", "1,*", "*,2", "1:2"]
LETTERS = "abc,:=/.-*1 9é"
MOST_BYTES = 4000


class Lines:

    def __init__(self, tool, seed):
        self.random = random.Random(seed)
        text = help_of(tool)
        self.commands = {}
        for command in re.findall(r"^  ([a-z-]+)  +\S", text[text.index("Subcommands:"):], re.MULTILINE):
            lines = help_of(tool, command)
            arguments = re.findall(r"^  ([A-Z][A-Z_0-9.]*)  ", lines, re.MULTILINE)
            options = re.findall(r"^  (-[^ ]+)(?: ([^ ]+))?  +(.*)$", lines, re.MULTILINE)
            self.commands[command] = arguments, [(names.split(","), kind, text) for names, kind, text in options]

    def happens(self, probability):
        return self.random.random() < probability

    def path(self):
        return self.random.choice(FOLDERS) + self.random.choice(NAMES) + self.random.choice(ENDS)

    def list_of(self, items, longest):
        return ",".join(self.random.choice(items) for _ in range(self.random.randint(1, longest)))

    def fitting(self, names, kind, text):
        """A value of the kind that the help names."""
        if "|" in kind:
            kind = self.random.choice(kind.split("|"))
            if kind != "FILE":
                return kind
        if "--format" in names:
            return self.random.choice(FORMATS)
        if "FILE" in kind:
            return self.path()
        if kind in ("NAME", "HOW"):
            return self.random.choice(re.findall(r"[a-z][a-z0-9-]+", text) + WORDS)
        if "," in kind:
            return self.list_of(["zero", "one", "out"] if kind[0] == "T" else COUNTS, 4)
        return self.random.choice(USUAL_NUMBERS if kind in ("X", "S", "SHARE") else COUNTS)

    def anything(self):
        return self.random.choice([
            lambda: self.path(), lambda: self.random.choice(NUMBERS), lambda: self.random.choice(WORDS),
            lambda: self.list_of(NUMBERS, 5), lambda: self.list_of(WORDS, 17),
            lambda: "".join(self.random.choices(LETTERS, k=self.random.choice([1, 15, 16, 40, 200])))
        ])()

    def any_option(self, tame):
        command = self.command if tame or self.happens(0.97) else self.random.choice(list(self.commands))
        return self.random.choice(self.commands[command][1])

    def words_of(self, option, tame, path):
        """The words of an option: NAME VALUE, --NAME=VALUE or -NVALUE. Several options may name the same path."""
        names, kind, text = option
        name = self.random.choice(names)
        if not kind:
            return [name]
        value = self.fitting(names, kind, text) if self.happens(0.97 if tame else 0.6) else self.anything()
        if self.happens(0.3 if "FILE" in kind else 0.03):
            value = path
        if not self.happens(0.3):
            return [name, value]
        return [f"{name}={value}" if name.startswith("--") else name + value]

    def draw(self):
        # Pairs of options count, so a command of many options comes more often.
        self.command = self.random.choices(list(self.commands), [len(options) for _, options in self.commands.values()])[0]
        tame = self.happens(0.7)
        path = self.path()
        parts = [[path if self.happens(0.2) else self.path()] for _ in self.commands[self.command][0] if tame or self.happens(0.9)]
        # What is checked last sees few options, and none that is wrong by itself.
        few = tame and self.happens(0.5)
        options = [option for option in self.commands[self.command][1] if few and "(required)" in option[2]]
        options += [self.any_option(tame) for _ in range(self.random.choice([1, 2, 2, 3] if few else [0, 1, 2, 3, 4, 6, 9, 14, 25]))]
        parts += [self.words_of(option, tame, path) for option in options]
        if self.happens(0.7):
            self.random.shuffle(parts)
        words = [word for part in parts for word in part]
        if words and self.happens(0.05):
            words.pop(self.random.randrange(len(words)))
        if self.happens(0.03):
            words.insert(self.random.randrange(len(words) + 1), "--")
        first = [self.command] if self.happens(0.97) else self.random.choice([[], ["--version"], ["--man"], ["--completion", "bash"]])
        return "\n".join(first + words).encode()


def help_of(*command):
    """The text, an option a line."""
    text = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout
    return re.sub(r"\n {20,}(?=\S)", "  ", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    lines = Lines(arguments.tool, arguments.seed)
    for number in range(arguments.count):
        (arguments.folder / f"drawn-{arguments.seed}-{number}").write_bytes(lines.draw()[:MOST_BYTES])


if __name__ == "__main__":
    main()
