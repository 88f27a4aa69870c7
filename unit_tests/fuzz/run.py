# SPDX-License-Identifier: BSD-3-Clause
"""Builds a libFuzzer target with clang++ and runs it: run.py SOURCE BUILD_FOLDER [SECONDS].

The readers need no Kokkos, so that the library's own build is not involved. The corpus stays in the build folder and
grows from run to run; an input that fails stays there, too. Ends with 77 if there is no clang++ with libFuzzer."""
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FLAGS = ["-std=c++20", "-O1", "-g"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
LIBRARIES = {"POLYAD_HAVE_ZLIB": ("zlib.h", "z"), "POLYAD_HAVE_LZMA": ("lzma.h", "lzma"),
             "POLYAD_HAVE_ZSTD": ("zstd.h", "zstd")}
CORE = ["core/error.cpp", "core/on_threads.cpp", "core/printable.cpp"]  # what the readers need of it
FORMATS = ["formats/capability.cpp", "formats/option_text.cpp"]
WITH_KOKKOS = {"hold_out.cpp", "saved_models.cpp"}
# What a target needs in addition to the readers, and the headers that this needs.
MORE = {"tune": ["cli/format_choice/stored_choice.cpp", *FORMATS],
        "ceilings": ["cli/format_choice/ceilings_file.cpp"],
        "command_line": ["cli/command_line/*.cpp", "cli/report/git_hash.cpp", *FORMATS]}
HEADERS = {"tune": ["nlohmann/json.hpp", "fmt/format.h"], "ceilings": ["nlohmann/json.hpp", "fmt/format.h"],
           "command_line": ["CLI/CLI.hpp", "fmt/format.h"]}
WORDS = {"text": "text", "delimited": "delimited", "ktensor": "text", "tune": "json", "ceilings": "json", "command_line": "command_line"}
# Coverage is counted in the project's functions: templates of other libraries would only take time.
COUNTED = "src:*\nfun:*6polyad*\nfun:LLVMFuzzerTestOneInput\n"
SKIPPED = 77


def compiles(compiler, text, *flags):
    with tempfile.TemporaryDirectory() as folder:
        command = [compiler, "-x", "c++", "-", "-o", f"{folder}/out", *flags]
        return subprocess.run(command, input=text, text=True, capture_output=True, check=False).returncode == 0


def generated_headers(folder):
    """The header that CMake writes."""
    version = re.search(r"VERSION (\d+)\.(\d+)\.(\d+)", (ROOT / "CMakeLists.txt").read_text())
    text = (ROOT / "cmake" / "version.hpp.in").read_text().replace("@PROJECT_VERSION@", ".".join(version.groups()))
    for part, number in zip(("MAJOR", "MINOR", "PATCH"), version.groups()):
        text = text.replace(f"@PROJECT_VERSION_{part}@", number)
    header = folder / "generated" / "polyad" / "version.hpp"
    header.parent.mkdir(parents=True, exist_ok=True)
    if not header.exists() or header.read_text() != text:
        header.write_text(text)
    return header.parent.parent


def objects_name(path):
    """Two folders may have a file of the same name."""
    return "-".join(path.relative_to(ROOT).with_suffix("").parts)


def build(compiler, source, folder, flags=(*FLAGS, *SANITIZERS), links=None):
    """Compiles what is newer than its object; the objects serve all targets. A target takes from their archive what it
    needs: edges that it can never reach would cost time at every input."""
    defines = ["-DFMT_HEADER_ONLY"]
    found = []
    for name, (header, library) in LIBRARIES.items():
        if compiles(compiler, f"#include <{header}>\nint main() {{}}\n", f"-l{library}"):
            defines.append(f"-D{name}")
            found.append(f"-l{library}")
    flags = [*flags, f"-I{ROOT}/include", f"-I{ROOT}/src", f"-I{generated_headers(folder)}"]
    counted = folder / "counted.txt"
    if not counted.exists() or counted.read_text() != COUNTED:
        counted.write_text(COUNTED)
    newest = max(p.stat().st_mtime for p in [*ROOT.glob("src/**/*.hpp"), *ROOT.glob("include/polyad/**/*.hpp"),
                                             *HERE.glob("*.hpp"), counted])
    name = source.stem.removeprefix("fuzz_")
    paths = [path for path in sorted(ROOT.glob("src/io/**/*.cpp")) if path.name not in WITH_KOKKOS]
    for pattern in [*CORE, *MORE.get(name, [])]:
        paths += sorted(ROOT.glob(f"src/{pattern}"))
    objects = []
    for path in [*paths, HERE / "free_memory.cpp", source]:
        target = folder / (objects_name(path) + ".o")
        objects.append(target)
        if target.exists() and target.stat().st_mtime > max(newest, path.stat().st_mtime):
            continue
        subprocess.run([compiler, *flags, *defines, "-fsanitize=fuzzer-no-link",
                        f"-fsanitize-coverage-allowlist={counted}", "-c", path, "-o", target], check=True)
    archive = folder / (source.stem + ".a")
    archive.unlink(missing_ok=True)
    subprocess.run(["ar", "qcs", archive, *objects[:-1]], check=True)
    program = folder / source.stem
    subprocess.run([compiler, *flags, "-fsanitize=fuzzer", objects[-1], archive, "-o", program,
                    *(found if links is None else links), "-lpthread"], check=True)
    return program


@functools.cache
def at_fixed_addresses():
    """What runs a program at the same addresses each time, where the system has it. UBSan caches types by theirs: other
    addresses collide, and reach edges of its code that say nothing of the input."""
    command = ["setarch", "-R"]
    if shutil.which(command[0]) and subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
        return command
    return []


def fuzz(program, name, seconds, folder, *options_and_corpora):
    """Runs a target; an input that fails stays in the folder."""
    words = HERE / (WORDS.get(name, "binary") + ".dict")
    memory = pathlib.Path("/dev/shm")  # some targets write files
    environment = {**os.environ, "TMPDIR": str(memory)} if memory.is_dir() else None
    options = [f"-max_total_time={seconds}", "-max_len=4096", "-rss_limit_mb=4096", "-timeout=25", f"-dict={words}",
               f"-artifact_prefix={folder}/{name}-", "-print_final_stats=1", *options_and_corpora]
    return subprocess.run([*at_fixed_addresses(), program, *options], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", check=False)


def executions(run):
    found = re.search(r"stat::number_of_executed_units: (\d+)", run.stderr)
    return int(found[1]) if found else 0


def fuzzing_compiler():
    """Returns the compiler, or None after printing that there is none."""
    compiler = os.environ.get("CLANGXX") or shutil.which("clang++")
    entry = 'extern "C" int LLVMFuzzerTestOneInput(unsigned char const*, unsigned long) { return 0; }\n'
    if not compiler or not compiles(compiler, entry, "-fsanitize=fuzzer,address,undefined"):
        print("no clang++ with libFuzzer (Debian: clang, libclang-rt-dev)")
        return None
    return compiler


def main():
    source, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    compiler = fuzzing_compiler()
    if compiler is None:
        return SKIPPED
    name = source.stem.removeprefix("fuzz_")
    for header in HEADERS.get(name, []):
        if not compiles(compiler, f"#include <{header}>\nint main() {{}}\n", "-std=c++20", "-DFMT_HEADER_ONLY"):
            print(f"no {header}")
            return SKIPPED
    folder.mkdir(parents=True, exist_ok=True)
    program = build(compiler, source, folder)
    corpus = folder / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    run = fuzz(program, name, seconds, folder, corpus, HERE / "seeds" / name)
    print(f"{name}: {executions(run) or 'no'} executions in {seconds} s, exit status {run.returncode}")
    if run.returncode != 0:
        print(run.stderr[-6000:])
    return 1 if run.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
