# SPDX-License-Identifier: BSD-3-Clause
"""What perf_report.py and perf_compare.py share: reading polyad_perf's JSON (Google Benchmark's), taking its
names apart, naming a machine, and cleaning a result for perf_tests/results/."""

import json
import lzma
import math
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

# Google Benchmark's own fields of a benchmark; every other number is a counter of ours.
BOOKKEEPING = {
    "name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions", "repetition_index",
    "threads", "iterations", "real_time", "cpu_time", "time_unit", "label", "error_occurred", "error_message",
}  # fmt: skip
# What the report reads in addition to the times.
COUNTERS = {
    "ceilings": ["GB_per_s"],
    "build": ["bytes_per_nonzero", "in_mttkrps"],
    "mttkrp": ["nnz", "model_ms", "model_share", "genten_GB_per_s"],
    "cp_als": ["fit"],
    "stream": ["in_memory_ms", "copy_GB_per_s", "of_copy_rate", "nonzeros_GB_per_s"],
    "out_of_memory": ["floor_ms", "floor_all_ms", "peak_bytes", "host_GB"],
}
MILLISECONDS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
NAME = re.compile(r"(?P<group>\w+)<(?P<arguments>[^<>]*)>/(?P<rest>.+)")


class ResultError(Exception):
    """A file that is not a result of polyad_perf, or one that cannot be stored."""


@dataclass
class Benchmark:
    """One line of a result. Times in milliseconds: the median of the samples, the fastest and the slowest."""

    name: str  # without Google Benchmark's /iterations:1/manual_time
    group: str
    backend: str = ""
    format: str = ""
    scalar: str = ""
    tensor: str = ""  # with its scale: uniform10m*2
    mode: str = ""
    rank: int = 0
    rest: str = ""  # what follows group<...>/
    time: float = math.nan
    fastest: float = math.nan
    slowest: float = math.nan
    counters: dict = field(default_factory=dict)
    error: str = ""

    @property
    def key(self):
        """What it measures, on whatever machine."""
        return (self.group, self.format, self.scalar, self.rest)

    @property
    def base_tensor(self):
        return self.tensor.split("*")[0]

    @property
    def phases(self):
        return {k[6:-3]: v for k, v in self.counters.items() if k.startswith("phase_") and k.endswith("_ms")}


@dataclass
class Result:
    path: str
    context: dict
    benchmarks: list

    @property
    def label(self):
        """The machine: the GPU's name, or the CPU's with the threads that ran."""
        if self.context.get("device"):
            return self.context["device"]
        if self.backend == "Serial":
            return f"{self.cpu}, Serial"
        return f"{self.cpu}, {self.threads} thread{'' if self.threads == 1 else 's'}"

    @property
    def backend(self):
        return self.context.get("backend", "")

    @property
    def cpu(self):
        return re.sub(r"\((?:R|TM)\)", "", self.context.get("cpu", "unknown CPU")).strip()

    @property
    def threads(self):
        return int(self.context.get("concurrency", 1))


def plain_name(name):
    """The name without Google Benchmark's /iterations:1/manual_time."""
    return re.sub(r"/(?:iterations:\d+|repeats:\d+|manual_time|real_time)(?=/|$)", "", name)


def mean_first_use(times):
    """What the first use of a format takes by its times on several tensors: their geometric mean, so that no tensor decides alone."""
    return math.prod(times) ** (1 / len(times))


def parse_name(name):
    """group<format,Backend,scalar>/tensor/mode:M/R:r; groups without a format or a scalar leave them out."""
    name = plain_name(name)
    match = NAME.fullmatch(name)
    if not match:
        raise ResultError(f"'{name}' is not a benchmark of polyad_perf")
    bench = Benchmark(name=name, group=match["group"], rest=match["rest"])
    for argument in filter(None, match["arguments"].split(",")):
        if re.fullmatch(r"f(32|64)", argument):
            bench.scalar = argument
        elif argument[0].isupper():
            bench.backend = argument
        else:
            bench.format = argument
    for position, part in enumerate(bench.rest.split("/")):
        if position == 0 and bench.group != "ceilings":
            bench.tensor = part
        elif part.startswith("mode:"):
            bench.mode = part[5:]
        elif re.fullmatch(r"R:\d+", part):
            bench.rank = int(part[2:])
    return bench


def parse_benchmark(entry):
    bench = parse_name(entry["name"])
    if entry.get("error_occurred"):
        bench.error = entry.get("error_message", "failed")
        return bench
    bench.time = float(entry["real_time"]) * MILLISECONDS[entry.get("time_unit", "ns")]
    if not bench.time >= 0 or math.isinf(bench.time):
        raise ResultError(f"'{bench.name}' has the time {entry['real_time']}")
    bench.counters = {k: v for k, v in entry.items() if k not in BOOKKEEPING and isinstance(v, (int, float))}
    for name in COUNTERS.get(bench.group, []):
        if name not in bench.counters:
            raise ResultError(f"'{bench.name}' lacks the counter {name}")
    bench.fastest = bench.counters.get("min_ms", bench.time)
    bench.slowest = bench.counters.get("max_ms", bench.time)
    return bench


def read_text(path):
    """The text of a file. The results that are kept are packed: NAME.json.xz."""
    data = Path(path).read_bytes()
    return (lzma.decompress(data) if Path(path).suffix == ".xz" else data).decode("utf-8")


def write_text(path, text):
    """Packed where the name ends with .xz, to the same bytes everywhere that xz is of one version."""
    data = text.encode("utf-8")
    Path(path).write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME) if Path(path).suffix == ".xz" else data)


def load_json(path):
    try:
        data = json.loads(read_text(path))
    except lzma.LZMAError as error:
        raise ResultError(f"{path}: cannot be unpacked: {error}") from None
    except OSError as error:
        raise ResultError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise ResultError(f"{path}: is not JSON: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("context"), dict) or "benchmarks" not in data:
        raise ResultError(f"{path}: is not a result of polyad_perf (--benchmark_out=FILE --benchmark_out_format=json)")
    return data


def load(path):
    data = load_json(path)
    try:
        # Aggregates (with --benchmark_repetitions) summarise lines that are there as well.
        benchmarks = [parse_benchmark(e) for e in data["benchmarks"] if e.get("run_type") != "aggregate"]
    except (ResultError, KeyError, TypeError, ValueError) as error:
        raise ResultError(f"{path}: {error}") from None
    if not benchmarks:
        raise ResultError(f"{path}: holds no benchmark")
    return Result(str(path), data["context"], benchmarks)


def merge(results):
    """One result a machine. Where two of them measured the same, the later date counts."""
    merged = {}
    for result in sorted(results, key=lambda r: r.context.get("date", "")):
        machine = merged.setdefault(result.label, {})
        for bench in result.benchmarks:
            machine[bench.key] = bench
    return {label: merged[label] for label in dict.fromkeys(r.label for r in results)}


def stored_text(path):
    """The text of a result as perf_tests/results/ keeps it: no names of hosts or folders, six digits."""
    data = load_json(path)
    result = load(path)
    failed = [bench.name for bench in result.benchmarks if bench.error]
    if failed:
        raise ResultError(f"{path}: {len(failed)} benchmarks failed, the first is {failed[0]}; not stored")
    # What says how to read the numbers stays; what names this machine or its folders goes.
    context = {
        key: value.strip() if isinstance(value, str) else value
        for key, value in data["context"].items()
        if key not in ("host_name", "executable", "library_build_type")
    }
    drop = BOOKKEEPING - {"name", "real_time", "time_unit"}
    lines = []
    for entry in data["benchmarks"]:
        kept = {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in entry.items() if k not in drop}
        kept["name"] = parse_name(entry["name"]).name
        lines.append("  " + json.dumps(kept))
    for key, value in context.items():
        if isinstance(value, str) and re.search(r"(?:^|[\s=:])/\w", value):
            raise ResultError(f"{path}: the context's {key} holds a path: {value}")
    return '{"context": ' + json.dumps(context, indent=1) + ',\n"benchmarks": [\n' + ",\n".join(lines) + "\n]}\n"


def fail(program, error, status=2):
    print(f"{program}: {error}", file=sys.stderr)
    sys.exit(status)
