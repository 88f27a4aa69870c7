# SPDX-License-Identifier: BSD-3-Clause
"""Builds a libFuzzer target with clang++ and runs it: run.py SOURCE BUILD_FOLDER [SECONDS].

The readers need no Kokkos, so that the library's own build is not involved. The corpus stays in the build folder and
grows from run to run; an input that fails stays there, too. Ends with 77 where there is no clang++ with libFuzzer."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FLAGS = ["-std=c++20", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined",
         f"-I{ROOT}/include", f"-I{ROOT}/src"]
LIBRARIES = {"POLYAD_HAVE_ZLIB": ("zlib.h", "z"), "POLYAD_HAVE_LZMA": ("lzma.h", "lzma"),
             "POLYAD_HAVE_ZSTD": ("zstd.h", "zstd")}
CORE = ["core/error.cpp", "core/host_memory.cpp"]  # what the readers need of it
WITH_KOKKOS = {"hold_out.cpp", "saved_models.cpp"}
SKIPPED = 77


def compiles(compiler, text, *flags):
    with tempfile.TemporaryDirectory() as folder:
        command = [compiler, "-x", "c++", "-", "-o", f"{folder}/out", *flags]
        return subprocess.run(command, input=text, text=True, capture_output=True, check=False).returncode == 0


def build(compiler, source, folder):
    """Compiles what is newer than its object; the objects serve all targets."""
    links = []
    defines = []
    for name, (header, library) in LIBRARIES.items():
        if compiles(compiler, f"#include <{header}>\nint main() {{}}\n", f"-l{library}"):
            defines.append(f"-D{name}")
            links.append(f"-l{library}")
    newest = max(p.stat().st_mtime for p in [*ROOT.glob("src/io/*.hpp"), *ROOT.glob("include/polyad/io/*.hpp"),
                                             *ROOT.glob("include/polyad/core/*.hpp"), *HERE.glob("*.hpp")])
    objects = []
    for path in [*(path for path in sorted(ROOT.glob("src/io/*.cpp")) if path.name not in WITH_KOKKOS), *(ROOT / "src" / name for name in CORE), source]:
        target = folder / (path.stem + ".o")
        objects.append(str(target))
        if target.exists() and target.stat().st_mtime > max(newest, path.stat().st_mtime):
            continue
        subprocess.run([compiler, *FLAGS, *defines, "-fsanitize=fuzzer-no-link", "-c", path, "-o", target], check=True)
    program = folder / source.stem
    subprocess.run([compiler, *FLAGS, "-fsanitize=fuzzer", *objects, "-o", program, *links, "-lpthread"], check=True)
    return program


def main():
    source, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    compiler = os.environ.get("CLANGXX") or shutil.which("clang++")
    entry = 'extern "C" int LLVMFuzzerTestOneInput(unsigned char const*, unsigned long) { return 0; }\n'
    if not compiler or not compiles(compiler, entry, "-fsanitize=fuzzer,address,undefined"):
        print("no clang++ with libFuzzer (Debian: clang, libclang-rt-dev)")
        return SKIPPED
    name = source.stem.removeprefix("fuzz_")
    folder.mkdir(parents=True, exist_ok=True)
    program = build(compiler, source, folder)
    corpus = folder / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    words = HERE / ("text.dict" if name in ("text", "ktensor") else "binary.dict")
    run = subprocess.run([program, f"-max_total_time={seconds}", "-max_len=4096", "-rss_limit_mb=4096", "-timeout=25",
                          f"-dict={words}", f"-artifact_prefix={folder}/{name}-", "-print_final_stats=1", corpus,
                          HERE / "seeds" / name], stderr=subprocess.PIPE, text=True, check=False)
    executions = re.search(r"stat::number_of_executed_units: (\d+)", run.stderr)
    print(f"{name}: {executions[1] if executions else 'no'} executions in {seconds} s, exit status {run.returncode}")
    if run.returncode != 0:
        print(run.stderr[-6000:])
    return 1 if run.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
