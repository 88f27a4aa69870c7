# SPDX-License-Identifier: BSD-3-Clause
"""Which tests of a build folder a changed file affects, and which of them are worth running first (scripts/check).

What is affected comes from ninja: the objects that depend on the file, the programs made of these objects, and the tests
that need these programs. What comes first are the tests of the file's own folder, and a quick test of the whole tool."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# The order in which tests are chosen while there is time.
OWN, WHOLE_TOOL, HEADERS, OTHER = range(4)

LIBRARY = r"(?:src|include/polyad)"
# A test of the tool, or of a program, that calls what is in a folder, and is quick.
QUICK = (
    (rf"{LIBRARY}/(?:core|tensor|kernel|dense|formats|cp)/", ["golden.every_format"]),
    (rf"{LIBRARY}/tucker/", ["golden.tucker"]),
    (rf"{LIBRARY}/fast_tucker/", ["golden.completion"]),
    (rf"{LIBRARY}/distributed/", ["mpi.ranks-3"]),
    (rf"{LIBRARY}/io/", ["text_files", "npz_against_numpy", "cli.files"]),
    (rf"{LIBRARY}/testing/", ["example.own_format"]),
    (r"src/cli/command_line/", ["cli.info", "cli.bad_input"]),
    # drivers.hpp declares what all commands need of these.
    (r"src/cli/drivers/products", ["cli.info", "cli.products"]),
    (r"src/cli/drivers/completion", ["cli.info", "cli.completion"]),
    (r"src/cli/drivers/apply_models", ["cli.info", "cli.predict", "cli.evaluate", "cli.folding"]),
    (r"src/cli/", ["cli.info", "cli.cpd"]),
    (r"(?:src/|include/)?CMake|cmake/", ["cli.info", "package.cuda_repairs"]),
    (r"README\.md", ["readme.cp_als"]),
    (r"docs/library\.md", ["readme.completion"]),
)
# If a file affects no more tests than this, all of them are candidates, whatever their folder is.
FEW = 8

# Files of python/tests for each module of the package. A module that is not here gets test_functions.py.
PYTHON_TESTS = {
    "_backend.py": ["test_functions.py", "test_openmp.py"],
    "_device.py": ["test_device.py"],
    "_errors.py": ["test_functions.py", "test_tensor.py"],
    "_evaluation.py": ["test_evaluate.py"],
    "_fold_in.py": ["test_implicit.py", "test_fold_in.py"],
    "_models.py": ["test_recommend.py", "test_functions.py"],
    "_nvidia.py": ["test_packaging.py"],
    "_openmp.py": ["test_openmp.py"],
    "_tensor.py": ["test_tensor.py"],
    "estimators.py": ["test_estimators.py"],
}


INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
INCLUDE_FOLDERS = ("src", "include", "unit_tests", "unit_tests/fuzz", "unit_tests/torture", "perf_tests")


def python_tests(file):
    """The files in python/tests that a changed file of the package needs."""
    path = Path(file)
    if file.startswith("python/tests/test_"):
        return [path.name]
    if file.startswith("python/polyad/"):
        return PYTHON_TESTS.get(path.name, ["test_functions.py"])
    if file.startswith("python/src/"):
        return ["test_functions.py", "test_tensor.py"]
    if file.startswith("python/examples/"):
        return ["test_examples.py"]
    return ["test_functions.py"] if file.startswith("python/") else []


def includes(path):
    return [name for name in INCLUDE.findall(path.read_text()) if name.startswith("cli/")]


def commands_of(file, source=ROOT / "src"):
    """The commands of the tool whose code includes this file of src/cli: ["cpd", "fast-tucker"]"""
    included = {str(path.relative_to(source)): includes(path) for path in sorted((source / "cli").rglob("*.[ch]pp"))}
    name = Path(file).relative_to("src")
    header = str(name.with_suffix(".hpp"))
    reached = {str(name), header}
    if name.suffix == ".cpp" and header not in included:
        # completion_f32.cpp is part of what completion.hpp declares.
        reached |= {each for each in included if Path(each).suffix == ".hpp" and Path(each).parent == name.parent
                    and name.stem.startswith(Path(each).stem)}
    while True:
        more = {each for each, others in included.items() if reached & set(others)} - reached
        # A source that includes the header uses it for what its own header declares.
        more |= {str(Path(each).with_suffix(".hpp")) for each in more} & set(included)
        if more <= reached:
            break
        reached |= more
    return sorted(Path(each).stem.replace("_", "-") for each in reached if re.fullmatch(r"cli/commands/\w+\.cpp", each)
                  and each in included)


class AffectedTests:
    def __init__(self, build, root=ROOT):
        self.build, self.root = build, root
        self._paths, self._includes, self._all_read = {}, {}, {}
        self.inputs = self._inputs()
        self.headers = self._headers()
        self.needs = {name: build.targets([name]) + [target for target in [test.built_target()] if target]
                      for name, test in build.tests.items()}
        made_of = {target: self._made_of(target) for targets in self.needs.values() for target in targets}
        self.made_of = {name: set().union(*(made_of[target] for target in targets)) for name, targets in self.needs.items()}

    def _path(self, path):
        """What ninja calls a file, relative to the project if it is in it."""
        if path not in self._paths:
            full = os.path.normpath(self.build.folder / path)
            self._paths[path] = os.path.relpath(full, self.root) if full.startswith(f"{self.root}/") else full
        return self._paths[path]

    def _inputs(self):
        """{output: what it is made of}, without what only has to be made before it"""
        inputs, output, in_inputs = {}, None, False
        for line in self.build.ninja("-t", "query", *self.build.outputs).splitlines():
            if not line.startswith(" "):
                output = line[:-1]
                inputs[output] = []
            elif line.startswith("    "):
                if in_inputs and not line.startswith("    || "):
                    inputs[output].append(line.strip().removeprefix("| "))
            else:
                in_inputs = line.startswith("  input:")
        return inputs

    def _headers(self):
        """{object: the files that its compiler read when it was last made}"""
        headers, read = {}, None
        for line in self.build.ninja("-t", "deps").splitlines():
            if line.startswith(" "):
                read.add(self._path(line.strip()))
            elif line:
                read = headers.setdefault(line.partition(": #deps ")[0], set())
        return headers

    def _made_of(self, target):
        found, waiting = set(), [target]
        while waiting:
            each = waiting.pop()
            if each not in found:
                found.add(each)
                waiting += self.inputs.get(each, [])
        return found

    def objects(self, file):
        """The objects that depend on a source or a header"""
        return {each for each in self.inputs if each.endswith(".o") and self._depends(each, file)}

    def _depends(self, made, file):
        sources = [self._path(each) for each in self.inputs[made] if each.endswith(".cpp")]
        if made in self.headers:
            # A generated source may be newer than its object, and join other sources.
            return (file in self.headers[made] or file in sources
                    or any(file in self._included(each) for each in sources if each.startswith("build/")))
        return any(file in self._read(each) for each in sources)

    def _included(self, source):
        """The project's files that a file includes, by their names alone"""
        if source not in self._includes:
            path = self.root / source
            names = INCLUDE.findall(path.read_text()) if path.is_file() else []
            places = [folder / name for name in names for folder in (path.parent, *(self.root / each for each in INCLUDE_FOLDERS))]
            self._includes[source] = {os.path.relpath(each, self.root) for each in places if each.is_file()}
        return self._includes[source]

    def _read(self, source):
        """The same with what these include, for an object that has never been made"""
        if source not in self._all_read:
            found, waiting = set(), [source]
            while waiting:
                each = waiting.pop()
                if each not in found:
                    found.add(each)
                    waiting += self._included(each)
            self._all_read[source] = found
        return self._all_read[source]

    def affected(self, file):
        """The tests whose programs depend on the file."""
        if not file.endswith((".cpp", ".hpp")):
            return set()
        objects = self.objects(file)
        return {name for name, parts in self.made_of.items() if parts & objects}

    def first(self, file):
        """[(OWN, name), ...]: the tests to choose from for this file, whether or not there is time for them."""
        path = Path(file)
        found = [(OWN, name) for name in self._unit_tests(path)]
        if file.startswith("src/cli/"):
            found += self._of_commands(file)
        if not any(rank == WHOLE_TOOL for rank, _ in found):
            quick = next((names for pattern, names in QUICK if re.match(pattern, file)), [])
            found += [(WHOLE_TOOL, name) for name in quick]
        if path.suffix == ".hpp":
            folders = re.sub(rf"^{LIBRARY}/", "", path.parent.as_posix()).split("/")
            layer = ".".join(folders[:2])  # as unit_tests/headers/chains.py names them
            found.append((HEADERS, f"headers_alone.{layer}"))
        found += self._by_name(file)
        if path.suffix in (".cpp", ".hpp"):
            affected = self.affected(file)
            found = [(rank, name) for rank, name in found if rank == HEADERS or name in affected]
            if len(affected) <= FEW:
                found += [(OTHER, name) for name in affected]
        return [(rank, name) for rank, name in found if name in self.build.tests]

    def _unit_tests(self, path):
        """The unit tests of the file's folder or of the nearest one above it, or else of the folders whose tests include the file"""
        found = re.match(rf"(?:{LIBRARY}|unit_tests)/(?!cli/)(.+)$", path.as_posix())
        if not found or path.suffix not in (".cpp", ".hpp"):
            return []
        folders = (each for each in Path(found[1]).parents if each.parts)
        own = next(filter(None, map(self._of_folder, folders)), [])
        if not own:
            sources = set().union(*(self.headers.get(each) or set().union(*map(self._read, map(self._path, self.inputs[each])))
                                    for each in self.objects(str(path))))
            folders = {Path(each).parent.relative_to("unit_tests") for each in sources
                       if re.match(r"unit_tests/.*/test_\w+\.cpp$", each)}
            own = [name for each in sorted(folders) for name in self._of_folder(each)]
        return own

    def _of_folder(self, folder):
        pattern = re.compile(rf"unit\.{re.escape('.'.join(folder.parts))}\.(?:openmp|serial|cuda)(?:-\d+)?")
        return [name for name in self.build.tests if pattern.fullmatch(name)]

    def _of_commands(self, file):
        """The tests of the tool for the commands that use the file: those that have its name, or run it most often."""
        found = []
        commands = commands_of(file, self.root / "src")
        if len(commands) > FEW:
            return []
        for command in commands:
            counts = {}
            for script in sorted((self.root / "unit_tests/cli").glob("test_*.py")):
                name = f"cli.{script.stem.removeprefix('test_')}"
                counts[name] = script.read_text().count(f'"{command}"') + 1000 * (name == f"cli.{command}")
            most = sorted((name for name in counts if counts[name] > 0 and name in self.build.tests),
                          key=lambda name: -counts[name])
            found += [(WHOLE_TOOL if position == 0 else OTHER, name) for position, name in enumerate(most)]
        return found

    def _by_name(self, file):
        """The tests whose command names the file, its folder or its stem, and those whose scripts name it."""
        path = Path(file)
        stem = path.name.partition(".")[0]
        # A module of scripts/site is named like its folder, too.
        either = "|".join(map(re.escape, [stem, *[part for part in path.parts[1:-1] if file.startswith("scripts/")]]))
        in_quotes = re.compile(rf"""["'](?:{either})(?:\.\w+)?["']|\b(?:import|from) (?:{either})\b""")
        found = []
        for name, test in self.build.tests.items():
            named = {os.path.relpath(word, self.root) for word in test.words() if word.startswith(f"{self.root}/")}
            folders = {str(Path(each).parent) for each in named if each.startswith("unit_tests/")}
            scripts = [self.root / each for each in named if each.startswith("unit_tests/") and each.endswith(".py")]
            if file in named:
                found.append((OWN, name))
            elif file.startswith("data/") and stem in test.words():
                found.append((OWN, name))
            elif file.startswith("scripts/") and test.folder == "unit_tests/tools":
                found += [(OWN, name)] * any(in_quotes.search(each.read_text()) for each in scripts)
            elif path.suffix not in (".cpp", ".hpp") and folders & {str(parent) for parent in path.parents}:
                mine = any(in_quotes.search(each.read_text()) for each in scripts)
                if mine or not path.name.startswith(("test_", "check_")):
                    found.append((OWN if mine else OTHER, name))
            elif path.name == "CMakeLists.txt" and test.folder == str(path.parent):
                found.append((OTHER, name))
        return found
