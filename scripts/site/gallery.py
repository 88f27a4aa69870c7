# SPDX-License-Identifier: BSD-3-Clause
"""The gallery: pictures first, then each example's source, its output when it is run here, and its picture. Examples of
the same idea in Python and C++ are next to each other."""

import base64
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

# What the tests give the examples; the others take no arguments. examples/CMakeLists.txt has the same.
ARGUMENTS = {
    "cp_als.cpp": ["data/uber-apr14.tns.xz", "8"],
    "completion.cpp": ["data/nycflights13-delay.tns.xz", "8", "8"],
}


# (section, Python example, C++ example): each pair is shown side by side.
PAIRS = [
    ("Factor a tensor", "components.py", "cp_als.cpp"),
    ("Compare starts and ranks", "choose_rank.py", "restarts.cpp"),
    ("Factors without negative entries", "nonnegative_components.py", "own_update.cpp"),
    ("Predict missing entries", "delays.py", "completion.cpp"),
    ("Factor your own data", "pandas_table.py", "own_data.cpp"),
    ("Write your own method", "own_method.py", "mttkrp.cpp"),
]


def section_of(name):
    """The heading under which an example is shown."""
    return next((title for title, *pair in PAIRS if name in pair), name)


def files(root):
    return sorted((root / "examples").glob("*.cpp")) + sorted((root / "python" / "examples").glob("*.py"))


def sources(root):
    return {path.name: path.read_text(encoding="utf-8") for path in files(root)}


def idea(text):
    """The comment at the top, without the line of the licence."""
    if text.startswith("//"):
        head = []
        for line in text.splitlines()[1:]:
            if not line.startswith("//"):
                break
            # An indented line shows the command.
            head.append(line[2:].strip() if not line.startswith("//   ") else ".")
        joined = re.sub(r":? \.", ".", " ".join(head))
        return joined if joined.endswith(".") else joined + "."
    return re.search(r'"""(.*?)"""', text, re.DOTALL).group(1).strip().replace("\n", " ")


def run(command, root, backend="Agg"):
    """What the program prints, and the bytes of the picture that it writes where it is started. The backend is
    matplotlib's."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "data").symlink_to(root / "data")
        done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, timeout=120,
                              env={"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "2", "OMP_PROC_BIND": "false",
                                   "PATH": "/usr/bin:/bin", "MPLBACKEND": backend, "HOME": folder})
        if done.returncode:
            raise SystemExit(f"{command[0]} ends with {done.returncode}: {done.stderr}")
        pictures = {path.name: path.read_bytes() for path in Path(folder).glob("*.png")}
        return done.stdout, pictures


def text_block(text):
    """Output as a block of code; of a long one the beginning and the end."""
    lines = text.splitlines()
    if len(lines) > 25:
        lines = lines[:12] + ["..."] + lines[-12:]
    return "```text\n" + "\n".join(lines) + "\n```"


def executed(notebook, interpreter, root):
    """The cells with their outputs, or without any where the notebook cannot be run."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    can_run = interpreter.exists() and subprocess.run([interpreter, "-c", "import nbconvert, ipykernel, polyad"],
                                                      cwd=root / "docs", capture_output=True).returncode == 0
    if not can_run:
        return cells, False
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "data").symlink_to(root / "data")
        shutil.copy(notebook, folder)
        # nbconvert runs a notebook where it lies.
        run([interpreter, "-m", "nbconvert", "--to", "notebook", "--execute", "--log-level", "ERROR", "--output", "done",
             Path(folder) / notebook.name], root, backend="module://matplotlib_inline.backend_inline")
        return json.loads((Path(folder) / "done.ipynb").read_text(encoding="utf-8"))["cells"], True


def title_of(notebook):
    """The heading at the top of a notebook."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return re.match(r"# (.*)", "".join(cells[0]["source"]))[1]


def notebook_section(notebook, interpreter, root, out):
    """Cells in turn: text, code, what the code prints, and its pictures."""
    page, pictures = [f"### {title_of(notebook)}", f"This is the notebook `python/examples/{notebook.name}`."], 0
    cells, was_run = executed(notebook, interpreter, root)
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            page.append(re.sub(r"^#+ (.*)$", r"**\1**", re.sub(r"\A# .*\n*", "", source), flags=re.M))
            continue
        page.append(f"```python\n{source}\n```")
        printed = "".join("".join(output["text"]) for output in cell["outputs"] if output.get("name") == "stdout")
        if printed:
            page.append(text_block(printed))
        for output in cell["outputs"]:
            data = output.get("data", {})
            if output.get("name") == "stdout":
                continue
            if "image/png" in data:
                pictures += 1
                (out / "gallery").mkdir(parents=True, exist_ok=True)
                name = f"gallery/{notebook.stem}-{pictures}.png"
                (out / name).write_bytes(base64.b64decode(data["image/png"]))
                page.append(f"![Picture {pictures} of {notebook.name}]({name})")
            elif "text/plain" in data:
                page.append(text_block("".join(data["text/plain"])))
    if not was_run:
        page.append("The notebook was not run when this page was built.")
    return page


class Result:
    """What an example printed, and the names of its pictures; None if it could not be run."""

    def __init__(self, path, command, root, out):
        self.path, self.printed, self.pictures = path, None, []
        if command is None:
            return
        self.printed, pictures = run(command, root)
        for name, picture in pictures.items():
            (out / "gallery").mkdir(parents=True, exist_ok=True)
            (out / "gallery" / f"{path.stem}-{name}").write_bytes(picture)
            self.pictures.append(f"gallery/{path.stem}-{name}")

    def source(self):
        """What the example shows, and its text without the comment that says so, as Markdown."""
        text = self.path.read_text(encoding="utf-8")
        if self.path.suffix == ".cpp":
            return [idea(text), "```cpp\n" + re.sub(r"\A(?://.*\n)+", "", text).strip() + "\n```"]
        return [idea(text), "```python\n" + re.sub(r'\A(?:#.*\n)*""".*?"""', "", text, flags=re.DOTALL).strip() + "\n```"]

    def output(self):
        """What it printed and drew, as Markdown."""
        if self.printed is None:
            return ["The program was not available when this page was built, so there is no output."]
        page = ["Output:\n\n" + text_block(self.printed)] if self.printed else []
        return page + [f"![What {self.path.name} draws]({name})" for name in self.pictures]


def thumbnails(pictures):
    """A grid of small pictures, each of which leads to the section where it is drawn; `pictures` is [(section, file)]."""
    cells = [f"[![{section}]({file}) {section}](#{anchor(section)})" for section, file in pictures]
    return '<div class="thumbnails">\n\n' + "\n\n".join(cells) + "\n\n</div>"


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def side_by_side(python, cpp):
    """A table with the Python example on the left and the C++ example on the right."""
    cells = ["\n\n".join([*result.source(), *result.output()]) for result in (python, cpp)]
    return (f'<table class="beside"><tr><th>Python: {python.path.name}</th><th>C++: {cpp.path.name}</th></tr><tr><td>\n\n'
            f"{cells[0]}\n\n</td><td>\n\n{cells[1]}\n\n</td></tr></table>")


def write(root, build, out):
    interpreter = root / "build" / "python-environment" / "bin" / "python"
    results = {}
    for path in files(root):
        if path.suffix == ".cpp":
            program = build / "bin" / f"example_{path.stem}"
            command = [program, *ARGUMENTS.get(path.name, [])] if program.exists() else None
        else:
            command = [interpreter, path] if interpreter.exists() else None
        results[path.name] = Result(path, command, root, out)
    paths = sorted((root / "python" / "examples").glob("*.ipynb"))
    notebooks = [notebook_section(notebook, interpreter, root, out) for notebook in paths]

    # One picture for each section, the last one that it draws.
    pictures = [(section_of(name), sorted(result.pictures)[-1]) for name, result in results.items() if result.pictures]
    for notebook in paths:
        drawn = sorted((out / "gallery").glob(f"{notebook.stem}-[0-9]*.png"))
        pictures += [(title_of(notebook), f"gallery/{picture.name}") for picture in drawn[-1:]]

    page = ["# Gallery", "Each of these small programs shows one idea, and a test builds and runs every one of them. The outputs and "
            "pictures come from the run that built this page. Select a picture to see the program that draws it."]
    if pictures:
        page.append(thumbnails(pictures))
    page.append("## The same in Python and C++")
    for title, python, cpp in PAIRS:
        page += [f"### {title}", side_by_side(results.pop(python), results.pop(cpp))]
    for title, suffix in (("Only in Python", ".py"), ("More in C++", ".cpp")):
        rest = [result for name, result in results.items() if name.endswith(suffix)]
        if rest:
            page.append(f"## {title}")
        for result in rest:
            page += [f"### {result.path.name}", *result.source(), *result.output()]
    page += ["## Notebooks", "The notebooks are in `python/examples`, without their outputs. Open them with `jupyter lab` or in an "
             "editor."]
    for section in notebooks:
        page += section
    (out / "gallery.md").write_text("\n\n".join(page) + "\n", encoding="utf-8")
