#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The modules of scripts/docs on small inputs. Usage: test_site.py SCRIPTS_FOLDER. Making the whole site is a step of
.ci/run."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree


class Links(unittest.TestCase):
    def check(self, first, second="<p id='here'></p>"):
        with tempfile.TemporaryDirectory() as folder:
            site = pathlib.Path(folder, "html")
            site.mkdir()
            (site / "index.html").write_text(first)
            (site / "other.html").write_text(second)
            listed = pathlib.Path(folder, "external.txt")
            done = subprocess.run([sys.executable, SITE / "check_links.py", site, listed], capture_output=True, text=True)
            return done.returncode, done.stderr, listed.read_text()

    def test_whole(self):
        status, text, listed = self.check("<a href='other.html#here'></a><a href='https://example.org/x'></a>")
        self.assertEqual((status, text, listed), (0, "", "https://example.org/x\n"))

    def test_no_file(self):
        status, text, _ = self.check("<a href='another.html'></a>")
        self.assertEqual((status, text), (1, "index.html: no file another.html\n"))

    def test_no_picture(self):
        self.assertEqual(self.check("<img src='picture.svg'>")[0], 1)

    def test_no_anchor(self):
        status, text, _ = self.check("<a href='other.html#there'></a>")
        self.assertEqual((status, text), (1, "index.html: no anchor other.html#there\n"))


    def test_sections_of_one_name(self):
        sign = "<a class='headerlink' href='#here'>#</a>"
        status, text, _ = self.check(f"<h1 id='here'>A {sign}</h1><h2>B</h2><h2><code>A</code>{sign}</h2>")
        self.assertEqual((status, text), (1, "index.html: 2 sections are called A\n"))
        self.assertEqual(self.check(f"<h1 id='here'>A{sign}</h1><h2>B{sign}</h2>", "<h1 id='here'>A</h1>")[0], 0)


class Pages(unittest.TestCase):
    def test_change_log(self):
        import make_source

        self.assertEqual(make_source.with_versions("# Changes\n\n## 0.2.0, soon\n### Added\nx\n## 0.1.0\n### Added\n"),
                         "# Changes\n\n## 0.2.0, soon\n### Added in 0.2.0\nx\n## 0.1.0\n### Added in 0.1.0\n")


class Gallery(unittest.TestCase):
    def test_pairs(self):
        import gallery

        names = {path.name for path in gallery.files(SITE.parent.parent)}
        for title, python, cpp in gallery.PAIRS:
            self.assertTrue({python, cpp} <= names and python.endswith(".py") and cpp.endswith(".cpp"), title)
            self.assertEqual({gallery.section_of(python), gallery.section_of(cpp)}, {title})
        self.assertEqual(gallery.section_of("ttm.cpp"), "ttm.cpp")

    def test_sources_without_their_comments(self):
        import gallery

        for path in gallery.files(SITE.parent.parent):
            said, code = gallery.Result(path, None, None, None).source()
            self.assertRegex(code, r"\A```(cpp\n#include|python\n(import|from)) ", path.name)
            self.assertNotIn(said.split(":")[0].split(",")[0].split(".")[0], code)

    def test_pictures_are_links(self):
        import gallery

        self.assertIn("[![Your own, data](gallery/a.png) Your own, data](#your-own-data)",
                      gallery.thumbnails([("Your own, data", "gallery/a.png")]))


class Widths(unittest.TestCase):
    """The columns of a page, computed from the style sheet and the numbers of the theme furo."""

    def test_no_page_scrolls_sideways(self):
        css = (SITE / "static" / "polyad.css").read_text()
        medium, rules = re.search(r"@media \(min-width: ([\d.]+)em\) \{(.*?)\n\}", css, re.DOTALL).groups()
        least, half = re.search(r"\.sidebar-drawer \{ width: max\((\d+)em, calc\(50% - (\d+)em\)\)", rules).groups()
        most, rest = re.search(r"\.content \{ width: min\((\d+)em, calc\(100vw - ([\d.]+)em\)\)", rules).groups()
        self.assertNotIn(".content { width", css.replace(rules, ""))
        # Below, the theme hides the table of contents.
        self.assertGreater(float(medium), 82)
        widest = 0
        for window in range(1313, 2600):
            em = 16 * (1.1 if window >= 97 * 16 else 1)
            visible = window - 17  # pixels of a scroll bar
            sidebar = max(float(least) * em, visible / 2 - float(half) * em)
            content = min(float(most) * em, window - float(rest) * em)
            self.assertLessEqual(sidebar + content + (2 * 3 + 15) * em, visible, window)
            self.assertGreaterEqual(content, 43 * em, window)
            widest = max(widest, content / em)
        self.assertEqual(widest, float(most))


class Drawings(unittest.TestCase):
    def test_every_format(self):
        import format_pictures

        with tempfile.TemporaryDirectory() as folder:
            format_pictures.draw_all(pathlib.Path(folder))
            names = {path.name for path in pathlib.Path(folder).iterdir()}
            for name in names:
                picture = xml.etree.ElementTree.parse(pathlib.Path(folder, name)).getroot()
                self.assertGreater(len(list(picture)), 20, name)
        page = (SITE.parent.parent / "docs" / "formats.md").read_text()
        for name in names:
            self.assertIn(f"(formats/{name})", page)

    def test_trees_and_bits(self):
        import format_pictures

        leaves, (slices, fibers) = format_pictures.tree_levels([(1, 0, 0, 5), (0, 2, 1, 1), (1, 0, 3, 2), (1, 2, 0, 4)])
        self.assertEqual([leaf[3] for leaf in leaves], [1, 5, 2, 4])
        self.assertEqual(slices, [[0, 1, 0], [1, 4, 1]])
        self.assertEqual(fibers, [[0, 1, 2], [1, 3, 0], [3, 4, 2]])
        # i = 3, j = 1, k = 2: bits k1 j1 i1 k0 j0 i0 = 1 0 1 0 1 1.
        self.assertEqual(format_pictures.alto_key((3, 1, 2)), 0b101011)


class Declarations(unittest.TestCase):
    def test_functions(self):
        import cpp_reference

        lines = ["/// Says so.", "template <class T>", "  requires(sizeof(T) <= 4)", "int f(T a = {},", "      int b = g(1));", ""]
        self.assertEqual(cpp_reference.declaration(lines, 4).count("\n"), 3)
        self.assertEqual(cpp_reference.declaration(["inline int f() {", "  return 1;", "}"], 1), "inline int f();")

    def test_sections(self):
        import cpp_reference

        entities = [cpp_reference.Entity(kind, name, line, "", "")
                    for line, (kind, name) in enumerate([("function", "f"), ("struct", "g"), ("function", "f"), ("function", "g")])]
        groups = cpp_reference.grouped(entities)
        self.assertEqual([cpp_reference.heading(group, groups) for group in groups], ["f", "g (struct)", "g (function)"])
        self.assertEqual([entity.line for entity in groups[0]], [0, 2])

    def test_summary(self):
        import cpp_reference

        for comment, expected in (
            (["// f: adds 0.5 to x.npz. Then more."], "f: adds 0.5 to x.npz."),
            (["// Adds (Li, SIAM J. Anal., 2022)", "// two numbers:", "//", "//   a + b"], "Adds two numbers."),
            (["// f adds (see h. and g.hpp) numbers by", "//   a + b"], "f adds (see h. and g.hpp) numbers."),
        ):
            self.assertEqual(cpp_reference.summary(["// SPDX", *comment, "#pragma once"]), expected)

    def test_private_parts(self):
        import cpp_reference

        lines = ["class A {", "public:", "  int f();", "", "private:", "  int m_x;", "};"]
        self.assertEqual(cpp_reference.public_part(lines, 1, 7), "class A {\npublic:\n  int f();\n};")


if __name__ == "__main__":
    SITE = pathlib.Path(sys.argv.pop(1)).resolve() / "site"
    sys.path.insert(0, str(SITE))
    unittest.main()
