# SPDX-License-Identifier: BSD-3-Clause
"""The unit tests under one of clang's sanitizers, a process for each source: sanitized.py threads|integers PROGRAM CLANG.
Each distinct report is a finding; the exit status is 1 where there is one, or where a test fails."""
import argparse
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
COUNTS = re.compile(r"All tests passed \(.* in (\d+) test cases?\)|test cases: +(\d+)")


def settings(part, clang, folder):
    """The environment of a run, and what its reports look like."""
    symbolizer = subprocess.run([clang, "-print-prog-name=llvm-symbolizer"], capture_output=True, text=True,
                                check=True).stdout.strip()
    environment = {**os.environ, "OMP_PROC_BIND": "false", "OMP_WAIT_POLICY": "passive"}
    if part == "integers":
        environment["UBSAN_OPTIONS"] = f"external_symbolizer_path={symbolizer}"
        return environment, re.compile(r"^(\S+:\d+:\d+: runtime error: .*)$", re.MULTILINE)
    resources = subprocess.run([clang, "-print-resource-dir"], capture_output=True, text=True, check=True).stdout.strip()
    archers = [p for folder in pathlib.Path(resources).parents for p in folder.glob("libarcher.so")]
    if not archers:
        sys.exit(f"no libarcher.so beside {resources}: ThreadSanitizer would not know OpenMP's barriers (Debian: libomp-N-dev)")
    environment["OMP_TOOL_LIBRARIES"] = str(archers[0])
    environment["TSAN_OPTIONS"] = (f"ignore_noninstrumented_modules=1 history_size=4 external_symbolizer_path={symbolizer} "
                                   f"suppressions={HERE / 'thread_sanitizer.txt'} log_path={folder}/report")
    return environment, re.compile(r"^SUMMARY: ThreadSanitizer: (.*)$", re.MULTILINE)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("threads", "integers"))
    parser.add_argument("program")
    parser.add_argument("clang")
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=3, help="of OpenMP")
    parser.add_argument("--only", default="", help="sources whose names have this in them")
    arguments = parser.parse_args()
    sources = sorted(path.stem for path in HERE.parent.glob("*/**/test_*.cpp") if "on_ranks" not in path.stem)
    sources = [source for source in sources if arguments.only in source]
    random.Random(arguments.seed).shuffle(sources)
    deadline = time.monotonic() + 60 * arguments.minutes
    ran = cases = 0
    late = []
    findings = {}
    for source in sources:
        if time.monotonic() > deadline:
            late.append(source)
            continue
        with tempfile.TemporaryDirectory(prefix="polyad_sanitized_") as folder:
            environment, pattern = settings(arguments.part, arguments.clang, folder)
            result = subprocess.run([arguments.program, "--filenames-as-tags", f"[#{source}]~[.]"],
                                    env={**environment, "OMP_NUM_THREADS": str(arguments.threads)}, check=False,
                                    capture_output=True, text=True, errors="replace")
            text = result.stderr + "".join(path.read_text(errors="replace")
                                           for path in pathlib.Path(folder).glob("report*"))
        for report in pattern.findall(text):
            findings.setdefault(report, source)
        counted = COUNTS.search(result.stdout)
        number = int(next(filter(None, counted.groups()))) if counted else 0
        if "failed" in result.stdout or (result.returncode != 0 and not pattern.search(text)):
            tail = " | ".join((result.stdout + result.stderr).strip().splitlines()[-6:])
            findings.setdefault(f"{source} ended with {result.returncode}: {tail}", source)
        cases += number
        ran += 1
        print(f"{source}: {number} test cases, {len(findings)} findings so far", flush=True)
    for report, source in findings.items():
        print(f"FINDING {arguments.part}: {report} (first in {source})", file=sys.stderr)
    print(f"{arguments.part}: {cases} test cases of {ran} sources on {arguments.threads} threads, {len(findings)} findings")
    if late:
        print(f"{arguments.part}: no time for {len(late)} sources: {' '.join(late)}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
