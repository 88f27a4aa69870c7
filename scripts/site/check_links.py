#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the links of a finished site:

    check_links.py HTML_FOLDER EXTERNAL_LINKS_FILE

Every link to a page, a file or an anchor of the site must have its target, and no two sections of a page may have the
same name. Links that lead outside are written to the file, one per line. The status is 1 if a target is missing or a name
occurs twice."""

import collections
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors of a page, the names of its sections, and what it links to."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.sections = set(), set(), []
        self.is_heading = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if re.fullmatch("h[1-6]", tag):
            self.is_heading = True
            self.sections.append("")
        elif tag == "a" and ("class", "headerlink") in attributes:
            self.is_heading = False  # the sign after a heading
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value and tag != "link":
                self.links.add(value)

    def handle_endtag(self, tag):
        if re.fullmatch("h[1-6]", tag):
            self.is_heading = False

    def handle_data(self, data):
        if self.is_heading:
            self.sections[-1] += data


def main():
    folder, external_file = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    external, broken, checked = set(), set(), 0
    for path, page in pages.items():
        for section, count in collections.Counter(section.strip() for section in page.sections).items():
            if count > 1:
                broken.add(f"{path.relative_to(folder)}: {count} sections are called {section}")
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if parts.scheme in ("http", "https"):
                    external.add(link)
                continue
            checked += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            name = path.relative_to(folder)
            if not target.exists():
                broken.add(f"{name}: no file {link}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                broken.add(f"{name}: no anchor {link}")
    external_file.write_text("".join(f"{link}\n" for link in sorted(external)))
    for line in sorted(broken):
        print(line, file=sys.stderr)
    print(f"{len(pages)} pages, {checked} internal links, {len(broken)} faults; {len(external)} external links")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
