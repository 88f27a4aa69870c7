#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Lays out what Sphinx reads:

    make_source.py SOURCE_FOLDER BUILD_FOLDER

A mirror of the repository's pages, so that their links hold, and what is generated: the start page, the C++ and the
Python reference, the tool's options, the gallery, the drawings of the formats, tables and pictures of measurements."""

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import cpp_reference
import format_pictures
import gallery
import tool_reference

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = ["CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "SUPPORT.md", "GOVERNANCE.md", "CODE_OF_CONDUCT.md", "data/README.md"]
# Section: its pages, in the order of the menu.
MENU = {
    "Start": ["docs/install.md", "docs/troubleshooting.md", "docs/slurm.md"],
    "Tutorial": ["docs/tutorial/uber.md", "docs/tutorial/ratings.md", "docs/tutorial/larger-than-gpu.md"],
    "How-to": ["docs/which-command.md", "docs/how-to.md", "docs/python.md", "docs/library.md", "docs/fast-tucker.md", "docs/evaluation.md", "docs/fast-tucker-method.md",
               "docs/which-format.md", "docs/distributed.md", "docs/gallery.md"],
    "Formats explained": ["docs/formats.md"],
    "Coming from": ["docs/coming-from.md"],
    "Performance": ["docs/performance.md", "docs/performance/fast-tucker.md", "docs/performance/tables.md",
                    "docs/cost-model/predictions.md"],
    "API reference": ["reference/cpp/index.md", "reference/python.md"],
    "Tool reference": ["docs/tool.md", "reference/tool-reference.md", "docs/file-formats.md"],
    "Project": ["docs/compatibility.md", "docs/reliability.md", "docs/limits.md", "CHANGELOG.md", "SUPPORT.md", "SECURITY.md", "data/README.md"],
    "Contributing": ["CONTRIBUTING.md", "docs/developer/architecture.md", "docs/developer/extending.md", "docs/developer/strategies.md",
                     "docs/developer/instantiation.md", "docs/developer/testing.md", "docs/developer/style.md", "docs/developer/glossary.md",
                     "docs/developer/decisions.md", "docs/developer/campaigns.md", "GOVERNANCE.md", "CODE_OF_CONDUCT.md"],
}
# What a link of a page means on the site.
FOLDERS = {"data": "data/README.md", "examples": "docs/gallery.md", "python/examples": "docs/gallery.md",
           "README.md": "index.md"}

# Pages that are only on the site: the repository's text names them in italics.
GENERATED = {"*All measurements*": "docs/performance/tables.md", "*The cost model*": "docs/cost-model/predictions.md",
             "*All commands and options*": "reference/tool-reference.md", "*C++ reference*": "reference/cpp/index.md",
             "*Python reference*": "reference/python.md", "*Gallery*": "docs/gallery.md"}

PYTHON = {
    "Tensors": ["SparseTensor", "asarray", "read", "write", "generate", "hold_out", "split"],
    "Decompositions": ["cp_als", "tucker", "CPModel", "TuckerModel", "load", "compare"],
    "Completion": ["fast_tucker", "predict", "recommend", "similar", "evaluate", "FastTuckerModel", "Rankings", "Evaluation"],
    "Formats and products": ["any_format", "Format", "estimate", "tune", "mttkrp", "ttm", "ttmc"],
    "Estimators": ["CP", "Tucker", "TensorRecommender"],
    "Backends": ["backends", "set_backend", "set_threads", "set_device", "info"],
    "Errors": ["Error", "InputError", "UsageError", "MemoryError", "NumericalError", "WriteError", "BackendError"],
}


def python_reference(out):
    page = ["# Python reference", "All names are available after `import polyad`. Shapes are those of numpy arrays; N is the order and R the rank."]
    for title, names in PYTHON.items():
        page.append(f"## {title}")
        for name in names:
            kind = "class" if name[0].isupper() else "function"
            kind = "exception" if title == "Errors" else kind
            options = "\n:members:\n:inherited-members: object" if kind == "class" else ""
            page.append(f"```{{eval-rst}}\n.. auto{kind}:: polyad.{name}"
                        + options.replace("\n", "\n   ") + "\n```")
    (out / "python.md").write_text("\n\n".join(page) + "\n", encoding="utf-8")


def with_versions(text):
    """The change log with the version in every heading below it, as no two sections of a page have the same name."""
    version = ""
    lines = text.split("\n")
    for k, line in enumerate(lines):
        if line.startswith("## "):
            version = re.split("[ ,]", line[3:])[0]
        elif line.startswith("### "):
            lines[k] = f"{line} in {version}"
    return "\n".join(lines)


def mirror(source):
    """Copies the pages. Links to folders lead to their page; links to other files of the repository to a copy."""
    pages = PAGES + sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
    for name in pages:
        text = (ROOT / name).read_text(encoding="utf-8")
        write(source, name, with_versions(text) if name == "CHANGELOG.md" else text)
    for path in (ROOT / "docs").rglob("*"):
        if path.suffix in (".png", ".svg"):
            to = source / path.relative_to(ROOT)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to)
    return pages


def write(source, name, text):
    folder = Path(name).parent

    def relink(match):
        label, target = match.groups()
        path, _, anchor = target.partition("#")
        if not path or "://" in path or path.startswith("mailto:"):
            return match.group(0)
        absolute = Path(re.sub(r"[^/]+/\.\./", "", (folder / path).as_posix()))
        while ".." in absolute.parts:
            absolute = Path(re.sub(r"[^/]+/\.\./", "", absolute.as_posix(), count=1))
        absolute = absolute.as_posix().rstrip("/")
        absolute = FOLDERS.get(absolute, absolute)
        if absolute.endswith(".md") or (source / absolute).suffix in (".png", ".svg"):
            if (source / absolute).suffix in (".png", ".svg") and (ROOT / absolute).is_file():
                to = source / absolute
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / absolute, to)
            return f"{label}({up}{absolute}{'#' + anchor if anchor else ''})"
        if (ROOT / absolute).is_file():
            to = source / absolute
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / absolute, to)
            return f"{label}({up}{absolute})"
        return match.group(0)

    up = "../" * (len(Path(name).parts) - 1)
    for words, page in GENERATED.items():
        text = text.replace(words, f"[{words.strip('*')}]({up}{page})")
    text = re.sub(r"(!?\[[^\]]*\])\(([^()\s]+)\)", relink, text)
    to = source / name
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(text, encoding="utf-8")


def start_page(source):
    write(source, "index.md", (ROOT / "README.md").read_text(encoding="utf-8"))
    menu = ""
    for title, pages in MENU.items():
        lines = "\n".join("/" + page for page in pages if (source / page).is_file())
        menu += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n:maxdepth: 1\n\n{lines}\n```\n"
    with (source / "index.md").open("a", encoding="utf-8") as page:
        page.write(menu)


def measurements(source, build):
    """Tables and pictures of the results that are kept, by the scripts that a developer uses."""
    results = ROOT / "perf_tests" / "results"
    to = source / "docs" / "performance"
    subprocess.run([sys.executable, ROOT / "scripts/perf_report.py", *sorted(results.glob("*.json.xz")), "--peers",
                    results / "peers.json", "--output", to], check=True)
    page = to / "tables.md"
    page.write_text(re.sub(r"^# .*", "# All measurements", page.read_text(encoding="utf-8"), count=1, flags=re.M),
                    encoding="utf-8")
    to = source / "docs" / "cost-model"
    to.mkdir(parents=True, exist_ok=True)
    terms = build / "bin" / "polyad_cost_terms"
    if terms.exists():
        subprocess.run([sys.executable, ROOT / "scripts/fit_cost_model.py", "--store", to, terms,
                        *sorted(results.glob("*.json.xz")), *sorted((results / "cost-model").glob("*.json.xz"))],
                       check=True, stdout=subprocess.DEVNULL)
        with (to / "predictions.md").open("a", encoding="utf-8") as page:
            page.write("\n## Pictures\n\nThe pictures show the time of each format for 1, 10 and 50 iterations, as a multiple of the best "
                       "time. A frame marks the choice of `auto`.\n\n")
            for picture in sorted(to.glob("*.png")):
                page.write(f"![{picture.stem.replace('-', ' ')}]({picture.name})\n\n")
    else:
        (to / "predictions.md").write_text("# The cost model against stored times\n\nThis site was built without "
                                           "`polyad_cost_terms`, which `scripts/build openmp` builds.\n")


def main():
    source, build = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    begin = time.monotonic()

    def step(name, call, *arguments):
        start = time.monotonic()
        call(*arguments)
        print(f"{name:24} {time.monotonic() - start:5.1f} s")

    source.mkdir(parents=True, exist_ok=True)
    reference = source / "reference"
    reference.mkdir(exist_ok=True)
    examples = gallery.sources(ROOT)
    step("measurements", measurements, source, build)
    step("drawings of formats", format_pictures.draw_all, source / "docs" / "formats")
    step("pages", mirror, source)
    step("gallery", gallery.write, ROOT, build, source / "docs")
    step("C++ reference", cpp_reference.write, ROOT / "include", reference / "cpp", examples)
    step("Python reference", python_reference, reference)
    step("tool reference", tool_reference.write, build / "bin" / "polyad", reference)
    start_page(source)
    print(f"{'source of the site':24} {time.monotonic() - begin:5.1f} s")


if __name__ == "__main__":
    main()
