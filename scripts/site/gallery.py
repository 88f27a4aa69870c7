# SPDX-License-Identifier: BSD-3-Clause
"""The gallery: each example's source, its output when it is run here, and its picture."""

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


def notebook_section(notebook, interpreter, root, out):
    """Cells in turn: text, code, what the code prints, and its pictures."""
    page, pictures = [f"### {notebook.name}"], 0
    cells, was_run = executed(notebook, interpreter, root)
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            page.append(re.sub(r"^#+ (.*)$", r"**\1**", source, flags=re.M))
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
        page.append("It was not run where this page was made.")
    return page


def write(root, build, out):
    interpreter = root / "build" / "python-environment" / "bin" / "python"
    page = ["# Gallery", "Small programs, each with one idea. A test builds and runs every one of them. The outputs are "
            "those of the run that made this page.", "## C++"]
    python_begun = False
    for path in files(root):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py" and not python_begun:
            page.append("## Python")
            python_begun = True
        page += [f"### {path.name}", idea(text)]
        body = text.split("\n", 1)[1] if text.startswith(("//", "# SPDX")) else text
        page.append(f"```{'cpp' if path.suffix == '.cpp' else 'python'}\n{body.rstrip()}\n```")
        if path.suffix == ".cpp":
            program = build / "bin" / f"example_{path.stem}"
            command = [program, *ARGUMENTS.get(path.name, [])] if program.exists() else None
        else:
            command = [interpreter, path] if interpreter.exists() else None
        if command is None:
            page.append("It was not built where this page was made.")
            continue
        output, pictures = run(command, root)
        if output:
            page.append("Output:\n\n" + text_block(output))
        for name, picture in pictures.items():
            (out / "gallery").mkdir(parents=True, exist_ok=True)
            (out / "gallery" / f"{path.stem}-{name}").write_bytes(picture)
            page.append(f"![What {path.name} draws](gallery/{path.stem}-{name})")
    page += ["## Notebooks", "They lie in `python/examples`, without their outputs. `jupyter lab` or an editor opens them."]
    for notebook in sorted((root / "python" / "examples").glob("*.ipynb")):
        page += notebook_section(notebook, interpreter, root, out)
    (out / "gallery.md").write_text("\n\n".join(page) + "\n", encoding="utf-8")
