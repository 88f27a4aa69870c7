# SPDX-License-Identifier: BSD-3-Clause
"""The C++ reference as Markdown, a page for each public header. Doxygen's XML lists the entities, with their lines and
comments. The declarations are cut out of the headers, so that they look as they are written."""

import re
import subprocess
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

import gallery

DOXYFILE = """
INPUT = {include}/polyad
RECURSIVE = YES
FILE_PATTERNS = *.hpp
STRIP_FROM_PATH = {include}
OUTPUT_DIRECTORY = {out}
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
EXTRACT_ALL = YES
EXCLUDE_SYMBOLS = detail polyad::detail detail::*
MACRO_EXPANSION = YES
PREDEFINED = KOKKOS_FUNCTION= KOKKOS_INLINE_FUNCTION=inline KOKKOS_FORCEINLINE_FUNCTION=inline KOKKOS_DEFAULTED_FUNCTION=
AUTOLINK_SUPPORT = NO
QUIET = YES
WARNINGS = YES
WARN_IF_INCOMPLETE_DOC = NO
INPUT_FILTER = "sed -E '/^ *\\/\\//s/<([a-z_]+)>/\\&lt;\\1\\&gt;/g'"
"""
FOLDERS = {
    "": "Everything at once",
    "cp": "CP decomposition",
    "tucker": "Tucker decomposition",
    "fast_tucker": "Completion",
    "fit": "Values of models at given places",
    "distributed": "Many ranks",
    "tensor": "Tensors and models",
    "io": "Files",
    "formats": "Storage formats",
    "dense": "Starts by singular vectors",
    "core": "Errors, spaces, random numbers",
    "kernel": "For authors of formats: parts of kernels",
    "testing": "For authors of formats: checks",
}


def escape(text):
    """Text with Markdown's special characters escaped, except between backticks."""
    return "".join(part if k % 2 else re.sub(r"([\\*_<>\[\]|$`])", r"\\\1", part)
                   for k, part in enumerate(re.split(r"(`[^`]+`)", text)))


def inline(node):
    """Markdown of a paragraph without its lists."""
    text = escape(node.text or "")
    for child in node:
        if child.tag == "computeroutput":
            text += "`" + "".join(child.itertext()) + "`"
        elif child.tag in ("parameterlist", "simplesect", "itemizedlist", "orderedlist", "programlisting", "verbatim"):
            pass
        elif child.tag in ("bold", "emphasis"):
            mark = "**" if child.tag == "bold" else "*"
            text += mark + inline(child).strip() + mark
        elif child.tag == "sp":
            text += " "
        else:
            text += inline(child)
        text += escape(child.tail or "")
    return re.sub(r"\s+", " ", text)


def blocks(description):
    """Markdown of a whole description."""
    out = []
    for para in description.findall("para"):
        text = inline(para).strip()
        if text:
            out.append(text)
        for child in para:
            if child.tag == "itemizedlist" or child.tag == "orderedlist":
                out.append("\n".join("* " + " ".join(inline(p).strip() for p in item.findall("para")) for item in child))
            elif child.tag in ("programlisting", "verbatim"):
                out.append("```cpp\n" + "".join(child.itertext()).strip("\n") + "\n```")
            elif child.tag == "parameterlist":
                title = {"param": "Parameters", "exception": "Throws", "templateparam": "Template parameters"}
                lines = []
                for item in child.findall("parameteritem"):
                    # "\\throws as cp_als" names no error.
                    names = ", ".join(f"`{name.text}`" if child.get("kind") == "param" or name.text[:1].isupper() else name.text
                                      for name in item.iter("parametername") if name.text)
                    text = " ".join(inline(p).strip() for p in item.find("parameterdescription").findall("para"))
                    lines.append(f"* {names} {text}")
                out.append(f"**{title.get(child.get('kind'), 'Results')}**\n\n" + "\n".join(lines))
            elif child.tag == "simplesect":
                title = {"return": "Returns"}.get(child.get("kind"), child.get("kind").capitalize())
                out.append(f"**{title}** " + " ".join(inline(p).strip() for p in child.findall("para")))
    return "\n\n".join(out)


def description(node):
    return "\n\n".join(
        text for text in (blocks(node.find(kind)) for kind in ("briefdescription", "detaileddescription")
                          if node.find(kind) is not None) if text
    )


def head_comment(lines):
    """The comment at the top of a header, as Markdown."""
    comment = []
    for line in lines[1:]:
        if not line.startswith("//"):
            break
        comment.append(line[2:])
    return with_formulas(comment)


def comment_above(lines, first):
    """The `///` lines above line `first` where they hold formulas or a table, which Doxygen would run together."""
    comment, at = [], first - 2
    while at >= 0 and lines[at].strip().startswith("///"):
        comment.insert(0, lines[at].strip()[3:])
        at -= 1
    is_plain = any("\\" in line for line in comment) or not any(line.startswith("   ") for line in comment)
    return "" if is_plain else with_formulas(comment)


def with_formulas(comment):
    """Markdown of a comment's lines: indented ones are formulas."""
    paragraphs, formula = [], False
    for body in comment:
        body = body.rstrip()
        body = body[1:] if body.startswith(" ") else body
        is_formula = body.startswith(" ")
        if not body:
            paragraphs.append([])
            continue
        if not paragraphs or is_formula != formula:
            paragraphs.append([])
        formula = is_formula
        paragraphs[-1].append(body)
    out = []
    for paragraph in filter(None, paragraphs):
        if paragraph[0].startswith(" "):
            out.append("```text\n" + "\n".join(paragraph) + "\n```")
        else:
            out.append(escape(" ".join(paragraph)))
    return "\n\n".join(out)


def start_of(lines, at):
    """The first line of the declaration at line `at`, including its template and requires clauses."""
    first = at
    while first > 1:
        above = lines[first - 2].strip()
        if not above or above.startswith(("//", "#", "}")) or above.endswith((";", "{", "}", ":")):
            break
        first -= 1
    return first


def declaration(lines, at):
    """The text of a function, an alias, a variable or a concept, without a function's body."""
    first, text, depth = start_of(lines, at), "", 0
    for line in lines[first - 1:]:
        line = line.split("  // ")[0] if line.strip().startswith("//") else line
        for k, c in enumerate(line):
            depth += c in "(<[" and not line[k:].startswith("<=")
            if c == "{" and depth <= 0 or c == ";" and depth <= 0:
                text += line[:k]
                return text.rstrip().rstrip(":").rstrip() + ";"
            depth -= c in ")]" or c == ">" and line[k - 1] != "-"
        text += line + "\n"
        if len(text) > 3000:
            break
    return text.rstrip()


def public_part(lines, first, last):
    """A class or an enum as it is written, without what is private."""
    out, hidden = [], False
    for line in lines[first - 1:last]:
        if re.match(r"\s*(private|protected):", line):
            hidden = True
        elif re.match(r"\s*public:", line):
            hidden = False
        if not hidden:
            out.append(line)
    if hidden:
        out.append(lines[last - 1])
    while len(out) > 2 and not out[-2].strip():
        del out[-2]
    return "\n".join(out)


class Entity:
    def __init__(self, kind, name, line, code, text):
        self.kind, self.name, self.line, self.code, self.text = kind, name, line, code, text


def collect(xml, include):
    """{header: [Entity]}, each in the order of the source."""
    sources, found = {}, {}

    def lines_of(file):
        if file not in sources:
            sources[file] = (include / file).read_text(encoding="utf-8").splitlines()
        return sources[file]

    def add(file, entity):
        found.setdefault(file, []).append(entity)

    for path in sorted(xml.glob("*.xml")):
        if path.stem in ("index", "Doxyfile"):
            continue
        for compound in ET.parse(path).getroot().findall("compounddef"):
            kind, name = compound.get("kind"), compound.findtext("compoundname")
            if "detail" in name.split("::") or re.search(r"detail::", name):
                continue
            place = compound.find("location")
            if kind in ("class", "struct", "concept") and compound.get("prot", "public") == "public":
                file = place.get("file")
                if not file or not file.startswith("polyad/"):
                    continue
                if kind != "concept" and "::" in name and name.rsplit("::", 1)[0] not in ("polyad", "polyad::io", "polyad::testing"):
                    continue  # inside another class, which is shown whole
                lines = lines_of(file)
                line = int(place.get("line"))
                first = start_of(lines, line)
                if kind == "concept":
                    text = "\n".join(lines[first - 1:])
                    end = re.search(r"^[^\n{]*;$|^ *};?$", text, re.MULTILINE)
                    code = text[:end.end()]
                else:
                    code = public_part(lines, first, int(place.get("bodyend") or line))
                text = comment_above(lines, first) or description(compound)
                add(file, Entity(kind, name.split("::")[-1], line, code, text))
            if kind in ("namespace", "file"):
                for member in compound.iter("memberdef"):
                    place = member.find("location")
                    file, line = place.get("declfile") or place.get("file"), int(place.get("declline") or place.get("line"))
                    of, member_name = member.get("kind"), member.findtext("name")
                    if of == "define" or not file or not file.startswith("polyad/") or (kind == "file" and of != "define"):
                        continue
                    lines = lines_of(file)
                    if of == "enum":
                        code = public_part(lines, line, int(place.get("bodyend")))
                    else:
                        code = declaration(lines, line)
                    if any(e.line == line and e.name == member_name for e in found.get(file, ())):
                        continue
                    text = comment_above(lines, start_of(lines, line)) or description(member)
                    add(file, Entity(of, member_name, line, code, text))
    for file in found:
        found[file].sort(key=lambda e: e.line)
    return found


def grouped(entities):
    """The entities of a page by name. All overloads of a function share a heading, where the first of them is."""
    groups = {}
    for entity in entities:
        groups.setdefault((entity.name, entity.kind), []).append(entity)
    return list(groups.values())


def heading(group, groups):
    """The heading of a group. If a page has a function and a class of one name, the headings also say which is which."""
    name, kind = group[0].name, group[0].kind
    others = [other for other in groups if other[0].name == name]
    return name if len(others) == 1 else f"{name} ({kind})"


def summary(lines):
    """The first sentence of the comment at the top of a header, as Markdown, without references to papers."""
    first = head_comment(lines).split("\n\n")[0]
    inside = r"(?:[^()]|\([^()]*\))*"
    first = re.sub(rf"\s*\({inside}\b(?:19|20)\d\d\b{inside}\)", "", first)
    for end in re.finditer(r"(?<!\.)[.!?](?=\s|$)", first):
        sentence = first[:end.end()]
        if sentence.count("(") == sentence.count(")"):
            return sentence
    # A formula continues the sentence.
    return re.sub(r"(?: (?:as|by|is|of))?:?$", ".", first.rstrip(), count=1)


def slug(text):
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def write(include, out, examples):
    """Writes the pages to out/; `examples` is {file: text} of the gallery. Returns the pages' names by folder."""
    with tempfile.TemporaryDirectory() as folder:
        text = DOXYFILE.format(include=include, out=folder)
        made = subprocess.run(["doxygen", "-"], input=text, text=True, capture_output=True, check=True)
        # Doxygen does not know every Kokkos macro; what it says of comments counts.
        warnings = [line for line in made.stderr.splitlines()
                    if "warning:" in line and re.search(r"argument|param|command|tag", line)]
        if warnings:
            raise SystemExit("\n".join(warnings))
        found = collect(Path(folder) / "xml", include)

    headers = sorted(path.relative_to(include).as_posix() for path in (include / "polyad").rglob("*.hpp"))
    page_of = {header: header.removeprefix("polyad/").removesuffix(".hpp").replace("/", "-") for header in headers}
    anchors, names = {}, []
    for header, entities in found.items():
        used, groups = {}, grouped(entities)
        for group in groups:
            anchor = slug(heading(group, groups))
            used[anchor] = used.get(anchor, -1) + 1
            anchor += f"-{used[anchor]}" if used[anchor] else ""
            group[0].anchor = anchor
            names.append((group[0].name, group[0].kind, header, anchor))
            if group[0].kind in ("class", "struct", "enum", "concept", "typedef"):
                anchors.setdefault(group[0].name, f"{page_of[header]}.md#{anchor}")

    out.mkdir(parents=True, exist_ok=True)
    for header in headers:
        lines = (include / header).read_text(encoding="utf-8").splitlines()
        page = [f"# {header}", head_comment(lines), f"```cpp\n#include <{header}>\n```"]
        groups = grouped(found.get(header, []))
        for group in groups:
            page.append(f"## {escape(heading(group, groups))}")
            types = {}
            for entity in group:
                code = f"```cpp\n{entity.code}\n```"
                page += [code, entity.text] if entity.kind == "function" else [entity.text, code]
                for word in re.findall(r"\b[A-Z]\w+", entity.code):
                    if word in anchors and word not in (e.name for e in group):
                        types[word] = anchors[word]
            if types and group[0].kind in ("function", "typedef"):
                page.append("Types: " + ", ".join(f"[{escape(word)}]({target})" for word, target in sorted(types.items())))
            if group[0].kind == "function":
                used = [name for name, text in examples.items() if re.search(rf"\b{group[0].name}\b *[(<]", text)]
                if used:
                    page.append("Example: " + ", ".join(
                        f"[{name}](../../docs/gallery.md#{slug(gallery.section_of(name))})" for name in sorted(used)[:3]))
        (out / f"{page_of[header]}.md").write_text("\n\n".join(part for part in page if part) + "\n", encoding="utf-8")

    index = ["# C++ reference", "This page lists the public headers by folder. Everything is in namespace `polyad`, except for the functions of `io/`, "
             "which are in `polyad::io`, and those of `testing/`, which are in `polyad::testing`. [All names](names.md) are on one page."]
    for folder, title in FOLDERS.items():
        of_folder = [h for h in headers if h.count("/") == (2 if folder else 1) and h.startswith(f"polyad/{folder}")]
        of_folder = [h for h in of_folder if not folder or h.split("/")[1] == folder]
        if not of_folder:
            continue
        index.append(f"## {title}")
        index.append("\n".join(
            f"* **[{escape(h.removeprefix('polyad/'))}]({page_of[h]}.md)** "
            f"{summary((include / h).read_text(encoding='utf-8').splitlines())}" for h in of_folder))
        index.append("```{toctree}\n:hidden:\n\n" + "\n".join(
            f"{h.removeprefix('polyad/')} <{page_of[h]}>" for h in of_folder) + "\n```")
    index.append("```{toctree}\n:hidden:\n\nnames\n```")
    (out / "index.md").write_text("\n\n".join(index) + "\n", encoding="utf-8")
    rows = [f"| [{escape(name)}]({page_of[header]}.md#{anchor}) | {kind} | `{header}` |"
            for name, kind, header, anchor in sorted(names, key=lambda n: (n[0].lower(), n[2]))]
    (out / "names.md").write_text(
        "# All names\n\n| name | kind | header |\n| --- | --- | --- |\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return len(headers), len(names)
