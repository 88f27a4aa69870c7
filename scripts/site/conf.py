# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx' settings. make_source.py lays out the pages: a mirror of the repository's Markdown, and what it generates."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

project = "Polyad"
author = "The Polyad authors"
copyright = "the Polyad authors, 3-clause BSD licence"  # noqa: A001
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
source_suffix = {".md": "markdown"}

myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block", "dollarmath"]
highlight_language = "none"
smartquotes_action = "qe"  # quotes and ellipses; no dash in place of --option
# Kokkos' macros in headers are unknown to the highlighter; several classes have an attribute of one name.
suppress_warnings = ["misc.highlighting_failure", "ref.python"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = "Polyad"
html_static_path = ["static"]
html_css_files = ["polyad.css"]
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
