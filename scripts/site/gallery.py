# SPDX-License-Identifier: BSD-3-Clause
"""The gallery: each example's source, its output when it is run here, and its picture."""

import re
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


def run(command, root):
    """What the program prints, and the bytes of the picture that it writes where it is started."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "data").symlink_to(root / "data")
        done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, timeout=120,
                              env={"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "2", "OMP_PROC_BIND": "false",
                                   "PATH": "/usr/bin:/bin", "MPLBACKEND": "Agg", "HOME": folder})
        if done.returncode:
            raise SystemExit(f"{command[0]} ends with {done.returncode}: {done.stderr}")
        pictures = {path.name: path.read_bytes() for path in Path(folder).glob("*.png")}
        return done.stdout, pictures


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
        lines = output.splitlines()
        if len(lines) > 25:
            lines = lines[:12] + ["..."] + lines[-12:]
        if lines:
            page.append("Output:\n\n```text\n" + "\n".join(lines) + "\n```")
        for name, picture in pictures.items():
            (out / "gallery").mkdir(parents=True, exist_ok=True)
            (out / "gallery" / f"{path.stem}-{name}").write_bytes(picture)
            page.append(f"![What {path.name} draws](gallery/{path.stem}-{name})")
    (out / "gallery.md").write_text("\n\n".join(page) + "\n", encoding="utf-8")
