#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/prose against small files and small repositories: which words it finds, and in which lines.

    test_prose.py PROSE

Samples with habits are raw strings, which scripts/prose does not read."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

# name of a habit: (texts with one each, texts without)
SAMPLES = {
    r"of ...": ([r"// of all rows", r"/// Of the last epoch.", r"int rank;  // of the model", r"/// - of one mode"],
                [r"// The rank of the model", r"// It is the sum", r"x = y;  // offset of a row"]),
    r"a ... more": ([r"// A mode fewer wins.", r"// It takes one iteration more than its limit."],
                    [r"// One or more streams, a little more", r"// One more mode wins.", r"// One of fewer rows"]),
    r"a ... for per": ([r"// It takes 8 bytes a nonzero.", r"// Targets, one a mode"],
                       [r"// It takes 8 bytes per nonzero.", r"// One is a mode, once a run", r"// one aligned row"]),
    r"about so many": ([r"// a sample of about so many", r"// It stops after so many epochs."],
                       [r"// so many that it fails", r"// after so many more"]),
    r"behind": ([r"// the byte behind the number", r"// Behind it comes a zero."],
                [r"// It leaves the file behind.", r"// It is behind virtual functions", r"// algorithms behind it"]),
    r"beside": ([r"// The model is beside the tensor.", r"// Beside other codes"], [r"// Besides, it is fast."]),
    r"go on": ([r"// The run goes on.", r"// Going on from there", r"// It went on"],
              [r"// The run continues; ongoing"]),
    r"he, his": ([r"// what he needs", r"// The user may set his own rank."], [r"// the history of this, she"]),
    r"is no ...": ([r"// This is no error.", r"// Two of them are no numbers.", r"// It is no `csf` tensor."],
                   [r"// There is no error.", r"// It is no longer than that.", r"// It is not a number."]),
    r"lie": ([r"// The array lies in memory.", r"// It lies in `src/`.", r"// They lay there."],
             [r"// Numbers lie in [0, 1).", r"// It lies outside.", r"// It lies on the diagonal.",
              r"// A time lies in bin 3."]),
    r"mend": ([r"// The fault was mended.", r"// It mends a file."], [r"// It recommends a format."]),
    r"of one's own": ([r"// a format of one's own"], [r"// a thread of its own", r"// a format of your own"]),
    r"some N": ([r"// It takes some 13 minutes.", r"// some hundred rows"], [r"// some rows", r"// about 13 minutes"]),
    r"stand": ([r"// The name stands in the header.", r"// where it stood"],
               [r"// @T stands for the tensor.", r"// a standard", r"// It stands in for the first one."]),
    r"tells": ([r"// It tells the others.", r"// What it tells is right."],
              [r"// It tells both formats apart.", r"// to tell"]),
    r"told": ([r"// A fault is told with its line.", r"// the base, told by the file", r"// It was not told."],
              [r"// openmp unless it is told otherwise"]),
    r"want": ([r"// Adam wants more epochs.", r"// the wanted rank"], [r"// what you want", r"// unwanted"]),
    r"watch over": ([r"// A test watches over it."], [r"// A test watches it."]),
    r"where there is": ([r"// 0 where there is none", r"// where there are two"], [r"// if there is none"]),
}


def run(*arguments, script=None, folder=None):
    # A folder for temporary files may be in the project's own repository.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": tempfile.gettempdir(), "GIT_CONFIG_GLOBAL": os.devnull}
    result = subprocess.run([sys.executable, script or PROSE, *map(str, arguments)], capture_output=True, text=True,
                            env=environment, cwd=folder)
    assert "Traceback" not in result.stderr, result.stderr
    return result


def found(name, text):
    """[(line, words)] in a file of that name"""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, name)
        path.write_text(text)
        result = run(path)
        assert result.returncode == 0, result.stderr
        lines = [line.removeprefix(f"{path}:") for line in result.stdout.splitlines() if line.startswith(str(path))]
        return [(int(line.split(":")[0]), line.split(": ")[1].split(" -> ")[0]) for line in lines]


def counts(text):
    """{name of a habit: its number} in a C++ source"""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "a.cpp")
        path.write_text(text)
        *lines, total = run("--count", path).stdout.splitlines()
        table = {line.rsplit(maxsplit=1)[0]: int(line.split()[-1]) for line in lines}
        assert int(total.split()[1]) == sum(table.values())
        return table


class Habits(unittest.TestCase):
    def test_every_habit_is_found(self):
        # An empty line keeps one comment from continuing another.
        table = counts("\n\n".join(text for texts, _ in SAMPLES.values() for text in texts))
        self.assertEqual(table, {name: len(texts) for name, (texts, _) in SAMPLES.items()})

    def test_good_english_is_left_alone(self):
        self.assertEqual(found("a.cpp", "\n\n".join(text for _, texts in SAMPLES.values() for text in texts)), [])

    def test_a_finding_has_the_words_a_suggestion_and_the_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.cpp")
            path.write_text(r"   // The run goes  on.")
            finding, total = run(path).stdout.splitlines()
            self.assertEqual(finding, str(path) + r":1: goes on -> continue: // The run goes  on.")
            self.assertEqual(total, "1 findings")


class Reading(unittest.TestCase):
    def test_comments_of_cpp(self):
        text = r"""int x;  // of rows
int y;  // of columns
// The sum
// of rows
//
// of nothing
/* It is
   told. */
int z;  // a sum
        // of rows
"""
        self.assertEqual(found("a.hpp", text), [(1, "of"), (2, "of"), (6, "of"), (7, r"is told")])

    def test_words_across_lines(self):
        self.assertEqual(found("a.cpp", "// The run goes\n// on and\n// is\n\n// told\n"), [(1, r"goes on")])
        self.assertEqual(found("a.md", "The run\ngoes\n" r" on. It is" "\n\n" r"told."), [(2, r"goes on")])

    def test_messages(self):
        self.assertEqual(found("a.cpp", r'throw Error("it is " ' "\n" r'"told", x, "wants", y, "a \"b\" is told");'),
                         [(1, r"is told"), (2, r"is told")])
        self.assertEqual(found("a.cpp", r"""char c = '"'; f(1'000); // it "quotes" is told"""), [(1, r"is told")])

    def test_code_is_left_alone(self):
        self.assertEqual(found("a.cpp", r"""bool wants = is_told(x); // x.wants, `is told`, go_on(), Run::wants, wants=3
f("no $wants here", "${told by}");  // $wants
#include "told/wants.hpp"
f(R"(it is told)", R"x(it is "told)" )x");
"""), [])

    def test_python(self):
        text = r'''#!/usr/bin/env python3
"""It is told.

Of rows: `is told`.
"""
x = "# it is told", 'it wants "x"', f"it is {told} told"
pattern = r"is told" + r"""it wants"""  # It goes
# on
'''
        self.assertEqual(found("a.py", text), [(2, r"is told"), (4, "of"), (6, r"is told"), (6, "wants")])

        self.assertEqual(found("a.py", "# It is\n" r'"""told"""'), [])

    def test_shell(self):
        text = r"""#!/bin/bash
echo $# "${x#is told}" 'it wants it' \" # it is told
cat <<EOF
It's told: it wants it.
EOF
echo "it is \
told"
"""
        self.assertEqual(found("a.sh", text), [(2, "wants"), (2, r"is told"), (4, "wants"), (6, r"is told")])

    def test_a_script_is_known_by_its_first_line(self):
        self.assertEqual(found("a", "#!/usr/bin/env python3\n" r"'''It is told.'''"), [(2, r"is told")])
        self.assertEqual(found("a", "#!/bin/sh\n" r"echo 'it is told'"), [(2, r"is told")])
        self.assertEqual(found("a", r"# it is told"), [])
        self.assertEqual(found("a.json", r"# it is told"), [])

    def test_cmake_and_toml(self):
        self.assertEqual(found("CMakeLists.txt", r"""set(x "it wants it" it is told)  # it's told by x"""),
                         [(1, "wants"), (1, r"told by")])
        self.assertEqual(found("a.toml", r"x = 'it is told'  # it's told by x" "\n" r'y = "it wants it"'),
                         [(1, r"told by"), (2, "wants")])

    def test_pages(self):
        text = r"""# What goes on

It says "is told" and `is
told`, [is no link](is/told "goes on").

    polyad is told

```
polyad is told  # it wants it
    src/      what he needs
```

| a | wants |
| told by | b |

* It is
* told.
"""
        self.assertEqual(found("a.md", text), [(1, r"goes on"), (4, r"is no"), (9, "wants"), (10, "he"), (13, "wants"),
                                               (14, r"told by")])

    def test_prose_has_no_habits_itself(self):
        self.assertEqual(run(PROSE, __file__).stdout, "")


@unittest.skipUnless(shutil.which("git"), "there is no git")
class Check(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp()).resolve()
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "scripts").mkdir()
        self.script = pathlib.Path(shutil.copy(PROSE, self.folder / "scripts" / "prose"))

    def git(self, *arguments):
        identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", *identity, *arguments], cwd=self.folder, capture_output=True, text=True,
                              check=True).stdout.strip()

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "a commit")

    def start(self, **files):
        """A repository with these C++ sources in its first commit."""
        self.git("init", "--quiet")
        for name, text in files.items():
            self.write(name, text)
        self.commit()
        self.base = self.git("rev-parse", "HEAD")

    def write(self, name, text):
        (self.folder / f"{name}.cpp").write_text(text)

    def check(self, *arguments):
        """(status, [file:line] of the findings)"""
        result = run("--check", "--base", self.base, *arguments, script=self.script, folder=self.folder)
        lines = [line for line in result.stdout.splitlines() if " -> " in line]
        return result.returncode, [":".join(line.split(":")[:2]) for line in lines]

    def test_old_lines_are_left_alone(self):
        self.start(a=r"// It is told.")
        self.assertEqual(self.check(), (0, []))
        self.write("a", "int x;\n\n" r"// It is told.")
        self.assertEqual(self.check(), (0, []))
        # Without --check all lines are listed.
        self.assertIn(r"a.cpp:3: is told", run(script=self.script, folder=self.folder).stdout)

    def test_new_lines_are_refused_at_every_stage(self):
        self.start(a=r"// It is told." "\n")
        self.write("a", r"// It is told." "\n\n" r"// It is told." "\n")
        self.assertEqual(self.check(), (1, ["a.cpp:3"]))
        self.git("add", "--all")
        self.assertEqual(self.check(), (1, ["a.cpp:3"]))
        self.commit()
        self.commit()
        self.assertEqual(self.check(), (1, ["a.cpp:3"]))
        self.write("a", r"// It is told." "\n")
        self.assertEqual(self.check(), (0, []))

    def test_changed_lines_are_refused(self):
        self.start(a="int x;\n" r"// It is told." "\nint y;\n")
        self.write("a", "int z;\n" r"// It is not told." "\nint y;\n")
        self.assertEqual(self.check(), (1, ["a.cpp:2"]))

    def test_words_that_are_partly_in_a_changed_line_are_refused(self):
        self.start(a="// It goes\n// to them.\n")
        self.write("a", "// It goes\n// on with them.\n")
        self.assertEqual(self.check(), (1, ["a.cpp:1"]))

    def test_files_that_git_does_not_know_are_refused_unless_it_ignores_them(self):
        self.start()
        self.write("new name", r"// It is told.")
        self.assertEqual(self.check(), (1, ["new name.cpp:1"]))
        (self.folder / ".gitignore").write_text("*.cpp\n")
        self.assertEqual(self.check(), (0, []))

    def test_moved_and_removed_files_are_left_alone(self):
        self.start(a=r"// It is told." + "\nint x;" * 20, b=r"// It wants it.")
        self.git("mv", "a.cpp", "c.cpp")
        self.git("rm", "--quiet", "b.cpp")
        self.assertEqual(self.check(), (0, []))

    def test_only_the_named_files(self):
        self.start()
        self.write("a", r"// It is told.")
        self.write("b", r"// It is told.")
        self.assertEqual(self.check("b.cpp"), (1, ["b.cpp:1"]))

    def test_settings_of_git_change_nothing(self):
        self.start(a="int x;\n")
        for setting in "diff.noprefix", "diff.mnemonicPrefix", "color.ui":
            self.git("config", setting, "always" if setting == "color.ui" else "true")
        self.write("a", "int x;\n" r"// It is told.")
        self.write("Käse", r"// It is told.")
        self.git("add", "a.cpp", "Käse.cpp")
        self.assertEqual(self.check(), (1, ["Käse.cpp:1", "a.cpp:2"]))

    def test_the_base_of_the_project_is_the_default(self):
        # This repository does not have it, as a shallow clone does not.
        self.start(a=r"// It is told.")
        result = run("--check", script=self.script, folder=self.folder)
        self.assertEqual(result.returncode, 77)
        self.assertIn("NOTHING WAS CHECKED", result.stderr)

    def test_no_repository(self):
        self.write("a", r"// It is told.")
        for arguments in ["--check"], []:
            result = run(*arguments, script=self.script, folder=self.folder)
            self.assertEqual((result.returncode, result.stdout), (77, ""))
            self.assertIn("git cannot", result.stderr)
        self.assertIn(r"a.cpp:1: is told", run("a.cpp", script=self.script, folder=self.folder).stdout)


if __name__ == "__main__":
    PROSE = sys.argv.pop(1)
    unittest.main()
