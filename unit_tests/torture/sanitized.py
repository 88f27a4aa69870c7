# SPDX-License-Identifier: BSD-3-Clause
"""The unit tests under one of clang's sanitizers, a process for each test case: sanitized.py threads|integers PROGRAM CLANG.
Each distinct report is a finding; the exit status is 1 if there is any, or if a test fails."""
import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


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
        sys.exit(f"no libarcher.so near {resources}: ThreadSanitizer would not know OpenMP's barriers (Debian: libomp-N-dev)")
    environment["OMP_TOOL_LIBRARIES"] = str(archers[0])
    environment["TSAN_OPTIONS"] = (f"ignore_noninstrumented_modules=1 history_size=4 external_symbolizer_path={symbolizer} "
                                   f"suppressions={HERE / 'thread_sanitizer.txt'} log_path={folder}/report")
    return environment, re.compile(r"^SUMMARY: ThreadSanitizer: (.*)$", re.MULTILINE)


def test_cases(program):
    """The names of the test cases that are not hidden, by their sources."""
    cases = {}
    for path in sorted(HERE.parent.glob("*/**/test_*.cpp")):
        if "on_ranks" in path.stem:
            continue
        listed = subprocess.run([program, "--filenames-as-tags", "--list-test-names-only", f"[#{path.stem}]~[.]"],
                                capture_output=True, text=True, check=False).stdout
        cases[path.stem] = [line.strip() for line in listed.splitlines() if line.strip()]
    return cases


def run_case(arguments, name):
    """Its reports, and the reason why it failed, if it did; None where the time is over."""
    left = arguments.deadline - time.monotonic()
    if left <= 0:
        return None
    with tempfile.TemporaryDirectory(prefix="polyad_sanitized_") as folder:
        environment, pattern = settings(arguments.part, arguments.clang, folder)
        environment["OMP_NUM_THREADS"] = str(arguments.threads)
        # A comma or a bracket means something in a specification of Catch2's.
        command = [arguments.program, re.sub(r"([][,])", r"\\\1", name)]
        try:
            result = subprocess.run(command, env=environment, check=False, capture_output=True, text=True,
                                    errors="replace", timeout=left + arguments.grace)
        except subprocess.TimeoutExpired:
            return None
        text = result.stderr + "".join(path.read_text(errors="replace")
                                       for path in pathlib.Path(folder).glob("report*"))
    reports = pattern.findall(text)
    if re.search("failed|No test cases matched", result.stdout) or (result.returncode != 0 and not reports):
        tail = " | ".join((result.stdout + result.stderr).strip().splitlines()[-6:])
        reports.append(f"ended with {result.returncode}: {tail}")
    return reports


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("threads", "integers"))
    parser.add_argument("program")
    parser.add_argument("clang")
    parser.add_argument("--minutes", type=float, default=3, help="after which no test case starts")
    parser.add_argument("--grace", type=float, default=600, help="seconds that a test case may continue after that")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=3, help="of OpenMP")
    parser.add_argument("--jobs", type=int, default=1, help="test cases at once")
    parser.add_argument("--only", default="", help="sources whose names have this in them")
    arguments = parser.parse_args()
    arguments.deadline = time.monotonic() + 60 * arguments.minutes
    cases = [(source, name) for source, names in test_cases(arguments.program).items() if arguments.only in source
             for name in names]
    random.Random(arguments.seed).shuffle(cases)
    late = []
    findings = set()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        runs = {pool.submit(run_case, arguments, name): (source, name) for source, name in cases}
        for number, run in enumerate(concurrent.futures.as_completed(runs), 1):
            source, name = runs[run]
            if run.result() is None:
                late.append(f"{source}: {name}")
                continue
            for report in run.result():
                if report not in findings:
                    print(f"FINDING {arguments.part}: {report} (first in {source}: {name})", file=sys.stderr, flush=True)
                findings.add(report)
            print(f"{number} of {len(cases)}, {source}: {name}, {len(findings)} findings so far", flush=True)
    print(f"{arguments.part}: {len(cases) - len(late)} of {len(cases)} test cases on {arguments.threads} threads, "
          f"{len(findings)} findings")
    for case in late:
        print(f"{arguments.part}: no time for {case}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
