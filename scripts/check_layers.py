#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the rules of the house that a compiler does not: check_layers.py [ROOT].

- Includes go down only: core <- tensor <- kernel <- dense <- formats <- fit <- run <- distributed <- cp, tucker,
  fast_tucker; io takes core, tensor and fit, and the drivers take io; the tool (src/cli) and polyad.hpp take all. Families of formats do not include each other, only the registry
  includes families, only the sources of any_format include the registry, and a driver includes the formats'
  contracts alone (CONTRACTS). There are no include cycles.
- Drivers do not branch on ranks: they have a RowDistribution, whose form of one rank does nothing (RANK_BRANCH).
- A format's name is used only in its family: the tool, the drivers and what serves all formats name none.
- The border: what include/polyad holds is public, and includes nothing of src/; neither do the examples, and the
  tool takes the choice of a format and a checksum alone (OF_THE_TOOL). No include is relative. polyad.hpp includes no kernel. There are at most MOST_PUBLIC headers of MOST_PUBLIC_LINES lines together; the
  ceilings sink, and rise only with a reason in docs/developer/architecture.md.
- Kernels are written once: what belongs to one backend stays inside core/ and kernel/, and in the BINDINGS of
  other libraries, in files that docs/developer/extending.md lists, MOST_BACKEND_FILES at most. Outside core/ and the shapes of launches (LAUNCH_SHAPES) at most
  MOST_SPACE_FILES files ask whether a space is a device's. A kernel's template has at most MOST_PARAMETERS parameters.
- Atomics have one instruction each: no file that calls them names a type for which Kokkos loops (SLOW_ATOMICS).
- Labels of Views and kernels begin with polyad::, and a kernel launched on an instance has one.
- Every header and source is in its CMakeLists.txt, and what they list exists.
- Sources in a list that CMakeLists.txt calls plain reach no header of Kokkos, not even indirectly: a device's build
  compiles them without nvcc.
- There are at most MOST_CASTS casts to numbers for each 1,000 lines of include/ and src/ (CAST).
- A folder of the tool, or of io, holds at most MOST_FOLDER_FILES files.
- SPDX lines with nothing else in them; headers of at most 400 lines; no folder called utils, misc or impl.

Prints FILE:LINE: what is wrong, and ends with 1 when there was something."""

import re
import sys
from collections import Counter
from pathlib import Path

LAYERS = {
    "core": {"core"},
    "tensor": {"core", "tensor"},
    "kernel": {"core", "tensor", "kernel"},
    "dense": {"core", "tensor", "kernel", "dense"},
    "formats": {"core", "tensor", "kernel", "dense", "formats"},
    "fit": {"core", "tensor", "kernel", "dense", "formats", "fit"},
    "run": {"core", "tensor", "kernel", "dense", "formats", "fit", "run"},
    "distributed": {"core", "tensor", "kernel", "dense", "formats", "fit", "run", "distributed"},
    "cp": {"core", "tensor", "kernel", "dense", "formats", "fit", "io", "run", "distributed", "cp"},
    "fast_tucker": {"core", "tensor", "kernel", "dense", "formats", "fit", "io", "run", "distributed", "fast_tucker"},
    "tucker": {"core", "tensor", "kernel", "dense", "formats", "fit", "io", "run", "distributed", "tucker"},
    "io": {"core", "tensor", "fit", "io"},
    "testing": {"core", "tensor", "kernel", "formats", "testing"},
}
DRIVERS = {"cp", "fast_tucker", "tucker"}
CONTRACTS = {"formats/any_format.hpp", "formats/capability.hpp", "formats/format.hpp", "formats/format_bytes.hpp",
             "formats/plan_owned_formats.hpp", "formats/tensor_by_rank.hpp"}
# The tool recognises the file of a stored choice by the checksum that tensor files carry. It plans the memory of ranks.
OF_THE_TOOL = {"formats/choose_format.hpp", "formats/cost_model.hpp", "formats/plan_owned_formats.hpp", "io/streams/crc32c.hpp"}
CODE = {".hpp", ".cpp"}
FORBIDDEN_FOLDERS = {"utils", "misc", "impl"}
PORT_LIST = "docs/developer/extending.md"
MOST_LINES = 400
MOST_FOLDER_FILES = 20
MOST_PUBLIC = 97
MOST_PUBLIC_LINES = 9500

# A condition on the number of ranks, on who is the first, or on a pointer to ranks or rows that may be null. A plan of
# memory (plan_*.cpp) asks what rank it is for.
RANK_BRANCH = re.compile(
    r"\b(?:if|while|for)\s*\([^;{]*\b(?:is_root\(\)|(?:m_)?ranks(?:\(\))?(?:\.|->)(?:size|rank|count)\(\))|"
    r"(?:\bis_root\(\)|\b(?:m_)?ranks(?:\(\))?(?:\.|->)(?:size|rank|count)\(\)(?:\s*[<>=!]=?\s*\d+)?|"
    r"\b(?:m_)?(?:ranks|owners)(?:\s*[!=]=\s*nullptr)?)\s*(?:\?|&&|\|\|)|"
    r"\bif\s*\(!?\s*(?:m_)?(?:ranks|owners|rows)\s*(?:[!=]=\s*nullptr\s*)?\)")
# static_cast, functional and C-style casts to types of numbers. A constant such as count_t(0) is none, and neither is
# a function's type such as bool(int).
NUMBER = (r"(?:(?:std::)?(?:size_t|ptrdiff_t|u?int(?:8|16|32|64)_t)|count_t|unsigned(?: char| int| long| long long)?|"
          r"signed char|char|short|int|long(?: long| double)?|float|double|bool|Scalar|Index)")
CAST = re.compile(
    rf"\bstatic_cast<(?!void\b|__m)[^<>*&]*(?:<[^<>]*(?:<[^<>]*>[^<>*&]*)*>[^<>*&]*)?>|"
    rf"(?<![\w<:.>]){NUMBER}\((?!\s*\)|\s*(?:-?\d[\w.']*|true|false)\s*\)|[\w:]+ (?:const)?[&*])|"
    rf"(?<![\w<:.>]){NUMBER}\{{(?!\s*\}}|\s*(?:[-~]?\d[\w.']*|true|false)\s*\}})|"
    rf"(?<![\w>)\]])\({NUMBER}\)\s*[\w(~-]")
# A function or a lambda whose body is one cast: each call of it counts, in its own file.
CAST_HELPER = re.compile(
    rf"\b(\w+)\s*(?:=\s*\[[&=]?\])?\([^(){{}};]*\)[^(){{}};]*"
    rf"\{{\s*return (?:static_cast<[^;{{}}]*>|{NUMBER})\([\w.]+(?:\[\w+\])?\);\s*\}}")
MOST_CASTS = 15  # for each 1,000 lines
CALLS_ATOMICS = re.compile(r"\bKokkos::atomic_")
SLOW_ATOMICS = re.compile(
    r"\bunsigned long(?: long)?\b|\blong (?:long|double)\b|\bKokkos::complex\b|\bshort\b|\bstd::u?int(?:8|16)_t\b")
BACKEND_ONLY = re.compile(
    r"KOKKOS_ENABLE_(?:CUDA|HIP|SYCL)\w*|KOKKOS_IF_ON_\w+|__CUDA_ARCH__|__CUDACC__|__NVCC__|__HIP\w*|"
    r"__(?:global|device|host|shared|launch_bounds)__|__(?:sync\w+|shfl\w*|ballot\w*|activemask|ldg|ldcs|ldcg|popc\w*|"
    r"ffs\w*|clz\w*|nanosleep|f[am][du]\w*_r[nzud])\s*\(|\basm\b|<<<|"
    r"\b(?:threadIdx|blockIdx|blockDim|gridDim|warpSize)\b|\batomic(?:Add|CAS|Exch|Min|Max|Or|And)\s*\(|"
    r"\bcu(?:da|blas|sparse|solver|rand)[A-Z]\w*|\bcub::|\bthrust::|\bcuda_stream\b|\bnccl[A-Z]\w*|"
    r"\b(?:CUBLAS|NCCL)_[A-Z]\w*|#\s*include\s*<(?:cuda|cub|thrust|cooperative|nccl)\w*"
)
# They bind another library to the interface of their folder, and hold no kernels.
BINDINGS = {"src/dense/blas.cpp", "src/distributed/collectives/nccl_collectives.cpp"}
MOST_BACKEND_FILES = 12
OF_A_DEVICE = re.compile(r"\bis_device_space\b")
LAUNCH_SHAPES = {"kernel/chunk_walk.hpp", "kernel/launch.hpp", "kernel/launch_shape.hpp", "kernel/machine.hpp"}
MOST_SPACE_FILES = 9
MOST_PARAMETERS = 5
TEMPLATE = re.compile(r"\btemplate <")
CLASS = re.compile(r"\s*(?:requires[^\n]*\n\s*)?(?:struct|class)\s+(\w+)")
LAUNCH = re.compile(r"\bparallel_(for|reduce|scan)\s*\(")
NESTED_RANGE = re.compile(r"(?:Team(?:Thread|Vector)|ThreadVector)(?:MD)?Range")
ALLOCATION = re.compile(r"\b(?:view_alloc|uninitialized)\s*\((?!Space const)")
LABELLED_VIEW = re.compile(r"\bView<[^;{}]*>\s*\w*\s*[({]\s*\"([^\"]*)\"")
INCLUDE = re.compile(r"^\s*#\s*include\s*([<\"])([^>\"]+)[>\"]", re.MULTILINE)
LITERAL = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"")


def without_comments(text):
    """Comments and the insides of raw strings become spaces, so that every position keeps its line."""

    def blank(match):
        found = match.group(0)
        return found if found[0] == '"' else re.sub(r"[^\n]", " ", found)

    return re.sub(r'R"(\w*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', blank, text, flags=re.DOTALL)


def arguments_after(text, start):
    """The top-level arguments of the call whose opening parenthesis ends at start."""
    depth, argument, arguments, inside = 0, start, [], False
    k = start
    while k < len(text):
        c = text[k]
        if inside:
            if c == "\\":
                k += 1
            elif c == '"':
                inside = False
        elif c == '"':
            inside = True
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            if depth == 0:
                break
            depth -= 1
        elif c == "," and depth == 0:
            arguments.append(text[argument:k].strip())
            argument = k + 1
        k += 1
    arguments.append(text[argument:k].strip())
    return arguments


def family_of(parts):
    """The family of formats of formats/FAMILY/..., or None; formats/walks serves all families."""
    return parts[1] if parts[0] == "formats" and len(parts) > 2 and parts[1] != "walks" else None


class Checker:
    def __init__(self, root):
        self.root = Path(root)
        self.problems = []

    def report(self, path, line, problem):
        self.problems.append(f"{path.relative_to(self.root)}:{line}: {problem}")

    def files(self, *folders):
        for folder in folders:
            for path in sorted((self.root / folder).rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    yield path

    def layer_of(self, path):
        """(layer, family of formats or None) of a file of ours; the layer "" belongs to no layer."""
        parts = path.relative_to(self.root).parts
        parts = parts[2:] if parts[:2] == ("include", "polyad") else parts[1:]
        if len(parts) < 2:
            return "", None
        return parts[0], family_of(parts)

    def check_includes(self, path, text):
        layer, family = self.layer_of(path)
        for match in INCLUDE.finditer(text):
            if match.group(2).startswith("."):
                line = text.count("\n", 0, match.start(2)) + 1
                self.report(path, line, f'"{match.group(2)}" is relative: name it from src/ or include/')
        if layer in ("", "cli"):
            return
        if layer not in LAYERS:
            self.report(path, 1, f"'{layer}' is not a layer; there are {', '.join(LAYERS)}")
            return
        registry = path.name == "registry.hpp" and layer == "formats" and family is None
        chooser = path.name.startswith("any_format") and path.suffix == ".cpp" and layer == "formats" and family is None
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start(2)) + 1
            name = match.group(2)
            target = name.split("/")
            if target[0] == "polyad" and match.group(1) == "<":
                self.report(path, line, f"<{name}> is ours and requires quotes")
            if target[0] == "polyad":
                target = target[1:]
            elif match.group(1) == '"' and len(target) > 1 and target[0] in LAYERS:
                if self.is_public(path):
                    self.report(path, line, f"a public header includes {name}, which is private")
                    continue
            else:
                if match.group(1) == '"' and len(target) > 1:
                    self.report(path, line, f'"{name}" is neither polyad/..., a layer\'s nor a file next to this one')
                continue
            if target == ["version.hpp"]:
                continue
            if len(target) < 2:
                self.report(path, line, f"a part of the library includes {name}")
                continue
            if target[0] not in LAYERS[layer]:
                self.report(path, line, f"includes go down only: {layer} may not include {name}")
                continue
            if target[0] == "formats":
                target_family = family_of(target)
                if layer in DRIVERS | {"distributed", "testing"} and "/".join(target) not in CONTRACTS:
                    self.report(path, line, f"a driver knows the contracts of formats alone, not {name}")
                elif layer == "formats" and target_family not in (None, family) and not registry:
                    self.report(path, line, f"{family or 'a file for all formats'} may not include the family {name}")
                elif layer == "formats" and target[1] == "registry.hpp" and not chooser:
                    self.report(path, line, "a format does not know the registry")

    def is_public(self, path):
        return path.relative_to(self.root).parts[0] == "include"

    def check_outside(self, path, text):
        """The examples use the library as anybody does; so does the tool, but for what `auto` shares with it."""
        allowed = OF_THE_TOOL if self.layer_of(path)[0] == "cli" else set()
        for match in INCLUDE.finditer(text):
            target = match.group(2).split("/")
            if match.group(1) == '"' and len(target) > 1 and target[0] in LAYERS and match.group(2) not in allowed:
                line = text.count("\n", 0, match.start(2)) + 1
                self.report(path, line, f"{match.group(2)} is private to the library")

    def format_names(self, texts):
        """The names that the classes of formats have: `static constexpr char const* name = "sorted";`."""
        names = set()
        for path, text in texts.items():
            layer, family = self.layer_of(path)
            if layer == "formats" and family is not None:
                names.update(re.findall(r'static constexpr char const\* name\s*= "([^"]+)"', text))
        return names

    def check_format_names(self, path, text, names):
        layer, family = self.layer_of(path)
        if layer not in DRIVERS | {"cli"} and not (layer == "formats" and family is None):
            return
        for match in LITERAL.finditer(text):
            if match.group(1).split(":")[0] in names:
                line = text.count("\n", 0, match.start()) + 1
                self.report(path, line, f'"{match.group(1)}" is a format: its name may be used only in its family')

    def check_umbrella(self, path, text):
        for match in INCLUDE.finditer(text):
            if match.group(2).startswith("polyad/kernel/"):
                line = text.count("\n", 0, match.start(2)) + 1
                self.report(path, line, f"polyad.hpp is for users: it does not include {match.group(2)}")

    def check_cycles(self, texts):
        """texts: {path: text without comments} of all headers and sources."""
        names = {}
        for path in texts:
            parts = path.relative_to(self.root).parts
            names["/".join(parts[1:])] = path
        includes = {
            path: [names[m.group(2)] for m in INCLUDE.finditer(text) if m.group(2) in names]
            for path, text in texts.items()
        }
        done, way = set(), []

        def visit(path):
            if path in done:
                return
            if path in way:
                ring = [*way[way.index(path) :], path]
                self.report(path, 1, "a cycle: " + " includes ".join(p.name for p in ring))
                return
            way.append(path)
            for target in includes[path]:
                visit(target)
            way.pop()
            done.add(path)

        for path in sorted(texts):
            visit(path)

    def check_plain_sources(self):
        """A build without a device cannot see a mistake here, since there Kokkos compiles everywhere."""
        reached = {}

        def way_to_kokkos(path):
            """The includes from this file to a header of Kokkos, or None."""
            if path not in reached:
                reached[path] = None
                for match in INCLUDE.finditer(without_comments(path.read_text())):
                    name = match.group(2)
                    if name.startswith("Kokkos"):
                        reached[path] = [name]
                        break
                    places = (self.root / folder / name for folder in ("src", "include", "unit_tests", "perf_tests"))
                    target = next((place for place in (*places, path.parent / name) if place.is_file()), None)
                    way = target and way_to_kokkos(target)
                    if way:
                        reached[path] = [name, *way]
                        break
            return reached[path]

        for folder in ("src", "unit_tests", "perf_tests"):
            listed = self.root / folder / "CMakeLists.txt"
            if not listed.exists():
                continue
            for names in re.findall(r"set\(\w*plain_sources\s([^)]*)\)", re.sub(r"#[^\n]*", "", listed.read_text())):
                for name in re.findall(r"[\w./]+\.cpp", names):
                    path = self.root / folder / name
                    way = way_to_kokkos(path) if path.is_file() else None
                    if way:
                        self.report(path, 1, f"is a plain source of {folder}, and includes {', '.join(way)}")

    def check_counts(self, headers):
        """headers: {path: lines} of what is public."""
        place = self.root / "include/polyad"
        if len(headers) > MOST_PUBLIC:
            self.report(place, 1, f"{len(headers)} public headers, more than {MOST_PUBLIC}")
        if sum(headers.values()) > MOST_PUBLIC_LINES:
            self.report(place, 1, f"{sum(headers.values())} public lines, more than {MOST_PUBLIC_LINES}")

    def check_casts(self, codes):
        """codes: {path: text without comments}. A type that fits its uses needs no casts (docs/developer/architecture.md)."""
        casts = sum(len(CAST.findall(code)) for code in codes.values())
        for code in codes.values():
            for helper in set(CAST_HELPER.findall(code)):
                casts += len(re.findall(rf"(?<![.>:])\b{helper}\(", code))
        lines = sum(code.count("\n") for code in codes.values())
        if 1000 * casts > MOST_CASTS * lines:
            self.report(self.root / "src", 1, f"{casts} casts to numbers in {lines} lines, more than {MOST_CASTS} in 1,000")

    def check_rooms(self):
        """What a file does is found by the name of its folder, as long as each has few files."""
        files = Counter(path.parent for path in self.files("src", "include"))
        for folder, count in sorted(files.items()):
            if count > MOST_FOLDER_FILES:
                self.report(folder, 1, f"{count} files in a folder, more than {MOST_FOLDER_FILES}")

    def check_atomics(self, path, text):
        if not CALLS_ATOMICS.search(text):
            return
        for match in SLOW_ATOMICS.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            self.report(path, line, f"atomics on '{match.group(0)}' loop until they succeed: take a type of <cstdint>")

    def check_ranks(self, path, text):
        if self.layer_of(path)[0] not in DRIVERS or path.name.startswith("plan_"):
            return
        for match in RANK_BRANCH.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            self.report(path, line, f"'{match.group(0).strip()}' is a branch on ranks: it belongs to the distribution of rows")

    def check_backend(self, path, text):
        if self.layer_of(path)[0] in ("core", "kernel") or str(path.relative_to(self.root)) in BINDINGS:
            return
        for match in BACKEND_ONLY.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            self.report(path, line, f"'{match.group(0).strip()}' belongs into core/ or kernel/: kernels are written once")

    def check_port_list(self, codes):
        """Files with a backend's words are what a port to another one edits: a page lists them."""
        page = self.root / PORT_LIST
        if not page.exists():
            return
        listed = page.read_text()
        users = [path for path, code in codes.items() if BACKEND_ONLY.search(code)]
        for path in users:
            if f"`{path.relative_to(self.root)}`" not in listed:
                self.report(path, 1, f"has a backend's words, and {PORT_LIST} does not list it for a port")
        if len(users) > MOST_BACKEND_FILES:
            self.report(page, 1, f"{len(users)} files with a backend's words, more than {MOST_BACKEND_FILES}")

    def check_spaces(self, codes):
        """Files that go different ways on a device and on a host."""
        def is_free(path):
            return self.layer_of(path)[0] == "core" or any(path.as_posix().endswith("/" + shape) for shape in LAUNCH_SHAPES)

        users = [path for path, code in codes.items() if OF_A_DEVICE.search(code) and not is_free(path)]
        if len(users) > MOST_SPACE_FILES:
            self.report(self.root / "src", 1, f"{len(users)} files ask is_device_space, more than {MOST_SPACE_FILES}")

    def check_templates(self, path, text):
        """Checks the templates of all classes: a kernel is a class like others."""
        for match in TEMPLATE.finditer(text):
            depth, parameters, end = 1, 1, match.end()
            while depth and end < len(text):
                depth += (text[end] in "<(") - (text[end] in ">)")
                parameters += text[end] == "," and depth == 1
                end += 1
            name = CLASS.match(text, end)
            if name and parameters > MOST_PARAMETERS:
                line = text.count("\n", 0, match.start()) + 1
                self.report(path, line, f"{name[1]} has {parameters} template parameters, more than {MOST_PARAMETERS}")

    def check_labels(self, path, text):
        def wrong(match, what):
            self.report(path, text.count("\n", 0, match.start()) + 1, what)

        for match in LAUNCH.finditer(text):
            first = arguments_after(text, match.end())[0]
            literal = LITERAL.match(first)
            if literal:
                if not literal.group(1).startswith("polyad::"):
                    wrong(match, f"the label \"{literal.group(1)}\" does not begin with polyad::")
            elif not NESTED_RANGE.search(first) and first != "label":
                # A nested range may have a name: auto const columns = Kokkos::ThreadVectorRange(...).
                made = re.search(rf"\b{re.escape(first)}\s*[=({{][^;]*", text) if re.fullmatch(r"\w+", first) else None
                if not (made and NESTED_RANGE.search(made.group(0))):
                    wrong(match, f"a parallel_{match.group(1)} without a label")
        for match in ALLOCATION.finditer(text):
            arguments = arguments_after(text, match.end())
            literals = [LITERAL.match(a) for a in arguments if LITERAL.match(a)]
            if not literals and not {"label", "std::string(label)"}.intersection(arguments):
                wrong(match, "an allocation without a label")
            for literal in literals:
                if not literal.group(1).startswith("polyad::"):
                    wrong(match, f"the label \"{literal.group(1)}\" does not begin with polyad::")
        for match in LABELLED_VIEW.finditer(text):
            if not match.group(1).startswith("polyad::"):
                wrong(match, f"the label \"{match.group(1)}\" does not begin with polyad::")

    def check_lists(self, list_file, present):
        """present: {name as the list would have it: path}"""
        path = self.root / list_file
        if not path.exists():
            if present:
                self.problems.append(f"{list_file}:1: missing")
            return
        text = re.sub(r"#[^\n]*", "", path.read_text())
        listed = {}
        for number, line in enumerate(text.splitlines(), 1):
            for name in re.findall(r"(?<![\w./$}])[\w./]+\.[ch]pp(?![\w.])", line):
                listed.setdefault(name, number)
        for name, file in present.items():
            if name not in listed:
                self.report(file, 1, f"is not in {list_file}")
        for name, number in listed.items():
            places = (path.parent / name, self.root / name, self.root / "include" / name)
            if name not in present and not any(place.exists() for place in places):
                self.report(path, number, f"there is no {name}")

    def check_listed(self):
        headers = {str(p.relative_to(self.root / "include/polyad")): p for p in self.files("include/polyad")}
        sources = {str(p.relative_to(self.root / "src")): p for p in self.files("src") if p.suffix == ".cpp"}
        self.check_lists("src/CMakeLists.txt", {**headers, **sources})
        for folder in ("unit_tests", "perf_tests", "examples"):
            # The outside projects in unit_tests/package have lists of their own.
            tests = {
                str(p.relative_to(self.root / folder)): p
                for p in self.files(folder)
                if p.suffix == ".cpp" and "package" not in p.relative_to(self.root / folder).parts
            }
            self.check_lists(f"{folder}/CMakeLists.txt", tests)

    def check_everywhere(self):
        top = [p for p in sorted(self.root.iterdir()) if p.is_file()]
        folders = ("include", "src", "unit_tests", "perf_tests", "examples", "scripts", "cmake", ".ci")
        for path in [*top, *self.files(*folders)]:
            inner = path.relative_to(self.root).parts[:-1]
            for part in FORBIDDEN_FOLDERS.intersection(inner):
                self.report(path, 1, f"no folder is called {part}")
            script = path.suffix == "" and inner and inner[0] in ("scripts", ".ci")
            if path.name == "CMakeLists.txt" or path.suffix in CODE | {".py", ".cmake", ".sh", ".in"} or script:
                head = path.read_text(errors="replace").splitlines()[:2]
                if not any(line[line.find(" ") + 1:] == "SPDX-License-Identifier: BSD-3-Clause" for line in head):
                    self.report(path, 1, "no SPDX line at its top, without other words")

    def run(self):
        codes, headers = {}, {}
        for path in self.files("include", "src"):
            if path.suffix not in CODE:
                continue
            text = path.read_text()
            code = without_comments(text)
            codes[path] = code
            self.check_includes(path, code)
            self.check_backend(path, code)
            self.check_atomics(path, code)
            self.check_ranks(path, code)
            self.check_labels(path, code)
            self.check_templates(path, code)
            if self.layer_of(path)[0] == "cli":
                self.check_outside(path, code)
            elif path.name == "polyad.hpp":
                self.check_outside(path, code)
                self.check_umbrella(path, code)
            lines = text.count("\n")
            if self.is_public(path):
                headers[path] = lines
            if path.suffix == ".hpp" and lines > MOST_LINES:
                self.report(path, lines, f"a header of more than {MOST_LINES} lines")
        names = self.format_names(codes)
        for path, code in codes.items():
            self.check_format_names(path, code, names)
        self.check_cycles(codes)
        self.check_plain_sources()
        self.check_port_list(codes)
        self.check_spaces(codes)
        self.check_counts(headers)
        self.check_casts(codes)
        for path in self.files("examples"):
            if path.suffix in CODE:
                self.check_outside(path, without_comments(path.read_text()))
        for path in self.files("unit_tests", "perf_tests", "examples"):
            # The outside projects in unit_tests/package are users' code, which may ask for what it likes.
            if path.suffix in CODE and "package" not in path.relative_to(self.root).parts:
                code = without_comments(path.read_text())
                self.check_backend(path, code)
        self.check_rooms()
        self.check_listed()
        self.check_everywhere()
        return self.problems


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    problems = Checker(root.resolve()).run()
    for problem in problems:
        print(problem)
    print(f"{len(problems)} faults" if problems else "the layers hold")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
