# SPDX-License-Identifier: BSD-3-Clause
"""The tool's options as a page, made of the man page that the tool prints of its own options."""

import re
import subprocess


def plain(text):
    return re.sub(r"\\(.)", r"\1", text).strip()


def cell(text):
    return re.sub(r"([|<>*_\[\]$])", r"\\\1", text)


def write(tool, out):
    man = subprocess.run([tool, "--man"], capture_output=True, text=True, check=True).stdout
    lines = iter(man.splitlines())
    page = ["# All commands and options", "This page is generated from `polyad --man`. `polyad COMMAND --help` prints the same text.", ""]
    section, table = "", False
    for line in lines:
        if line.startswith((".SH ", ".SS ")):
            title = plain(line[4:]).strip('"')
            level = "##"
            if line.startswith(".SH "):
                section = title
                if title in ("NAME", "SYNOPSIS", "COMMANDS"):
                    continue
                title = title.capitalize()
            page += ["", f"{level} {title}", ""]
            table = False
        elif section in ("NAME", "SYNOPSIS"):
            continue
        elif line == ".TP":
            name, text = plain(next(lines).removeprefix(".B")), plain(next(lines))
            if not table:
                page += ["", "| option | meaning |", "| --- | --- |"]
                table = True
            page.append(f"| `{name.replace('|', chr(92) + '|')}` | {cell(text)} |")
        elif line.startswith("."):
            continue
        else:
            page.append(cell(plain(line)))
    (out / "tool-reference.md").write_text("\n".join(page) + "\n", encoding="utf-8")
    (out / "polyad.1").write_text(man, encoding="utf-8")
