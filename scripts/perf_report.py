#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tables and pictures of polyad_perf's results:

    scripts/perf_report.py RESULT.json...                       tables in Markdown on stdout
    scripts/perf_report.py RESULT.json... --output DIR          DIR/tables.md and its pictures
    scripts/perf_report.py ... --peers perf_tests/results/peers.json   with other codes' times next to ours
    scripts/perf_report.py RESULT.json --store perf_tests/results/NAME.json.xz
                                                                a copy without host name and folders

One table a group, one column a machine (GPU, or CPU and threads). Several results of one machine share its
column; where two measured the same, the later one counts. Only the pictures are drawn whose data is there; they
need numpy and matplotlib, the tables need nothing."""

import argparse
import json
import math
import re
import sys
from pathlib import Path

from perf_results import ResultError, fail, load, merge, stored_text, write_text

GROUPS = {
    "ceilings": "Ceilings",
    "build": "Building a format",
    "mttkrp": "MTTKRP",
    "cp_als": "CP-ALS",
    "stream": "Tensors in host memory",
    "out_of_memory": "Tensors larger than the device",
}
LEGENDS = {
    "ceilings": "GB/s, read and written together; row: bytes per row, table: what is read from or added to, rows: how "
    "many distinct rows share the additions.",
    "build": "Milliseconds, median · bytes per nonzero · cost in MTTKRPs of all modes at R = 32.",
    "mttkrp": "Milliseconds for all modes, median (each mode) · share of the gather model · GB/s by GenTen's bandwidth "
    "model.",
    "cp_als": "Milliseconds an iteration, median · MTTKRP's share of it · fit at the end.",
    "stream": "`streamed-blco`, buffers for a share of the nonzeros: milliseconds for all modes, median · the same by `blco` in "
    "memory · GB/s of the copy from the host alone · what was sent, at that rate, as a share of the time · GB/s of nonzeros "
    "worked on, sent or still there.",
    "out_of_memory": "Milliseconds an iteration of CP-ALS, median · the copy of what it sends alone (of all nonzeros for all "
    "modes) · GB of the device at most · GB of the host · seconds of the build's stages.",
}
SOURCES = (
    ("date", "measured"), ("git", "commit"), ("backend", "backend"), ("kokkos_version", "Kokkos"),
    ("driver", "driver"), ("clocks", "clocks"), ("page_bytes", "page bytes"), ("huge_pages", "huge pages"),
    ("load_avg", "load before"), ("OMP_PROC_BIND", "OMP_PROC_BIND"), ("OMP_PLACES", "OMP_PLACES"),
)  # fmt: skip


def digits(value, count=3):
    """A number of three digits: 1230, not 1.23e+03."""
    if value == 0:
        return "0"
    text = f"{value:.{count}g}"
    return f"{value:.0f}" if "e" in text and abs(value) >= 1 else text


def percent(value):
    return f"{digits(100 * value, 2)} %"


def natural(text):
    """Sorts R:8 before R:16 and 0.1MB before 8MB."""
    parts = re.split(r"(\d+(?:\.\d+)?)", text)
    return [(float(p), "") if i % 2 else (0.0, p) for i, p in enumerate(parts)]


def table(header, rows):
    if not rows:
        return ""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def rows_over(machines, group, describe, cell, wanted=lambda bench: True):
    """One row for everything that `describe` distinguishes, one cell a machine."""
    found = {}
    for label, benchmarks in machines.items():
        for bench in benchmarks.values():
            if bench.group == group and wanted(bench):
                found.setdefault(describe(bench), {})[label] = bench
    rows = []
    for key, per_machine in found.items():
        cells = []
        for label in machines:
            bench = per_machine.get(label)
            cells.append("" if bench is None else "failed" if bench.error else cell(bench, machines[label]))
        rows.append([*key, *cells])
    return rows


def ceilings_table(machines):
    rows = rows_over(
        machines,
        "ceilings",
        lambda b: (b.rest.replace("/", " "), b.scalar),
        lambda b, _: digits(b.counters["GB_per_s"]),
    )
    return table(["", "scalar", *machines], rows)


def build_table(machines):
    rows = rows_over(
        machines,
        "build",
        lambda b: (b.tensor, b.scalar, b.format),
        lambda b, _: " · ".join(
            (
                digits(b.time),
                f"{digits(b.counters['bytes_per_nonzero'])} B",
                digits(b.counters["in_mttkrps"], 2),
            )
        ),
    )
    return table(["tensor", "scalar", "format", *machines], by_tensor(rows))


def by_tensor(rows):
    """Rows of one tensor together, in the order that the results first name them."""
    order = list(dict.fromkeys(row[0] for row in rows))
    return sorted(rows, key=lambda row: (order.index(row[0]), [natural(str(cell)) for cell in row[1:4]]))


def mode_times(bench, benchmarks):
    modes = {
        int(b.mode): b.time
        for b in benchmarks.values()
        if (b.group, b.format, b.scalar, b.tensor, b.rank)
        == (bench.group, bench.format, bench.scalar, bench.tensor, bench.rank)
        and b.mode.isdigit()
        and not b.error
    }
    return " ".join(digits(modes[m]) for m in sorted(modes))


def mttkrp_cell(bench, benchmarks):
    each = mode_times(bench, benchmarks) if bench.mode == "all" else ""
    return " · ".join(
        (
            digits(bench.time) + (f" ({each})" if each else ""),
            percent(bench.counters["model_share"]),
            digits(bench.counters["genten_GB_per_s"]),
        )
    )


def mttkrp_tables(machines):
    """A table per tensor. Modes are in the cell of all modes, or alone if those were not measured."""
    all_modes = {
        (b.tensor, b.format, b.scalar, b.rank)
        for benchmarks in machines.values()
        for b in benchmarks.values()
        if b.group == "mttkrp" and b.mode == "all"
    }
    rows = rows_over(
        machines,
        "mttkrp",
        lambda b: (b.tensor, b.scalar, b.rank, b.format + ("" if b.mode == "all" else f", mode {b.mode}")),
        mttkrp_cell,
        lambda b: b.mode == "all" or (b.tensor, b.format, b.scalar, b.rank) not in all_modes,
    )
    text = []
    for tensor in dict.fromkeys(row[0] for row in rows):
        mine = by_tensor([row for row in rows if row[0] == tensor])
        text.append(f"### {tensor}\n\n" + table(["scalar", "R", "format", *machines], [row[1:] for row in mine]))
    return "\n".join(text)


def cp_als_table(machines):
    def cell(bench, _):
        phases = bench.phases
        share = percent(phases["mttkrp"] / sum(phases.values())) if "mttkrp" in phases else "?"
        return f"{digits(bench.time)} · {share} · {bench.counters['fit']:.4f}"

    rows = rows_over(machines, "cp_als", lambda b: (b.tensor, b.scalar, b.rank, b.format), cell)
    return table(["tensor", "scalar", "R", "format", *machines], by_tensor(rows))


def buffers_of(bench):
    return next((part[8:] for part in bench.rest.split("/") if part.startswith("buffers:")), "")


def stream_table(machines):
    def cell(bench, _):
        count = bench.counters
        return (
            f"{digits(bench.time)} · {digits(count['in_memory_ms'])} · {digits(count['copy_GB_per_s'])} · "
            f"{percent(count['of_copy_rate'])} · {digits(count['nonzeros_GB_per_s'])}"
        )

    rows = rows_over(machines, "stream", lambda b: (b.tensor, b.scalar, b.rank, buffers_of(b)), cell)
    return table(["tensor", "scalar", "R", "buffers", *machines], by_tensor(rows))


def out_of_memory_table(machines):
    def cell(bench, _):
        count = bench.counters
        seconds = {stage: digits(count[f"build_{stage}_s"], 2) for stage in ("allocate", "sort", "headers", "encode")}
        stages = ", ".join(f"{stage} {time}" for stage, time in seconds.items())
        return (
            f"{digits(bench.time)} · {digits(count['floor_ms'])} ({digits(count['floor_all_ms'])}) · "
            f"{digits(count['peak_bytes'] * 1e-9)} · {digits(count['host_GB'])} · {stages}"
        )

    rows = rows_over(machines, "out_of_memory", lambda b: (b.tensor, b.scalar, b.rank), cell)
    return table(["tensor", "scalar", "R", *machines], by_tensor(rows))


def plain_table(group):
    def of(machines):
        rows = rows_over(machines, group, lambda b: (b.rest, b.scalar, b.format), lambda b, _: digits(b.time))
        return table(["", "scalar", "format", *machines], by_tensor(rows))

    return of


def fastest(benchmarks, group, tensor, scalar, rank):
    """The format with the least time, for all modes where modes count."""
    found = [
        b
        for b in benchmarks.values()
        if (b.group, b.tensor, b.scalar, b.rank) == (group, tensor, scalar, rank)
        and b.mode in ("", "all")
        and not b.error
    ]
    return min(found, key=lambda b: b.time, default=None)


def beside_peers(machines, peers):
    """Two tables for the machine that the peers' file names: MTTKRPs, and iterations of CP-ALS."""
    benchmarks = machines.get(peers["machine"])
    if not benchmarks:
        return ""
    names = list(dict.fromkeys(n for ranks in peers["mttkrp"].values() for tensors in ranks.values()
                               for times in tensors.values() for n in times))  # fmt: skip
    rows = []
    for scalar, ranks in peers["mttkrp"].items():
        for rank, tensors in ranks.items():
            gains = []
            for tensor, times in tensors.items():
                ours = fastest(benchmarks, "mttkrp", tensor, scalar, int(rank))
                if ours is None:
                    continue
                gains.append(min(times.values()) / ours.time)
                peer_cells = [digits(times[n]) if n in times else "" for n in names]
                rows.append([scalar, rank, tensor, *peer_cells, f"{digits(ours.time)} ({ours.format})", digits(gains[-1])])
            if gains:
                mean = math.prod(gains) ** (1 / len(gains))
                rows.append([scalar, rank, "geometric mean", *[""] * len(names), "", digits(mean)])
    text = "## Compared with other codes\n\n" + peers["about"] + " Times faster: than the fastest of the row.\n\n"
    text += table(["scalar", "R", "tensor", *names, "Polyad", "times faster"], rows)
    rows = []
    for scalar, ranks in peers["cp_als"].items():
        for rank, tensors in ranks.items():
            for tensor, time in tensors.items():
                ours = fastest(benchmarks, "cp_als", tensor, scalar, int(rank))
                if ours is None:
                    continue
                build = next((b.time for b in benchmarks.values() if (b.group, b.format, b.tensor, b.scalar)
                              == ("build", ours.format, tensor, scalar)), None)  # fmt: skip
                ten = "" if build is None else f"{digits(build + 10 * ours.time)} (build {digits(build)})"
                rows.append([scalar, rank, tensor, digits(time), f"{digits(ours.time)} ({ours.format})",
                             digits(time / ours.time), digits(10 * time), ten])  # fmt: skip
    header = ["scalar", "R", "tensor", "GenTen, an iteration", "Polyad", "times faster", "GenTen, ten without its sort",
              "Polyad, ten from COO, format built"]  # fmt: skip
    return text + "\n" + table(header, rows)


def order_of(benchmarks, tensor):
    """N, from the modes that were measured one by one; 0 when none were."""
    modes = [int(b.mode) for b in benchmarks.values() if b.tensor == tensor and b.mode.isdigit()]
    return max(modes) + 1 if modes else 0


def csf_tables(machines, rank=32):
    """The CSF family and COO, as in Nisa et al.: a table per machine on which all of it was measured."""
    family = ("coo-permuted", "csf", "b-csf", "hb-csf")
    text = []
    for label, benchmarks in machines.items():
        built = {(b.tensor, b.scalar, b.format): b for b in benchmarks.values() if b.group == "build" and not b.error}
        timed = {
            (b.tensor, b.scalar, b.format): b
            for b in benchmarks.values()
            if (b.group, b.mode, b.rank) == ("mttkrp", "all", rank) and not b.error
        }
        rows = []
        for tensor, scalar in dict.fromkeys(key[:2] for key in timed):
            order = order_of(benchmarks, tensor)
            keys = [(tensor, scalar, name) for name in family]
            if order == 0 or any(key not in built or key not in timed for key in keys):
                continue
            coo_built, coo_time = built[keys[0]].time, timed[keys[0]].time
            for key in keys:
                bench, trees = timed[key], order if key[2] in ("b-csf", "hb-csf") else 1
                flops = order * order * bench.counters["nnz"] * rank
                index_bytes = built[key].counters["bytes_per_nonzero"] - trees * (4 if scalar == "f32" else 8)
                gain = coo_time - bench.time
                worth = "" if key == keys[0] else "never" if gain <= 0 else digits(max(0, built[key].time - coo_built) / gain, 2)
                rows.append([*key, digits(flops / bench.time * 1e-6), digits(index_bytes), digits(built[key].time), worth])
        if rows:
            header = ["tensor", "scalar", "format", "GFLOP/s", "index bytes per nonzero", "built, ms", "worth it after"]
            text.append(f"### {label}\n\n" + table(header, rows))
    if not text:
        return ""
    return (
        f"## The CSF family, R = {rank}\n\nGFLOP/s count N R operations a nonzero and mode, as COO takes them, whatever the "
        "format takes. *Worth it after*: iterations of all modes until a format has earned what building it takes beyond "
        "`coo-permuted`.\n\n" + "\n".join(text)
    )


def sources_table(results):
    used = [(key, title) for key, title in SOURCES if any(r.context.get(key) for r in results)]

    def shown(key, value):
        if key == "date":
            return str(value)[:16].replace("T", " ")
        if key == "load_avg":
            return digits(value[0], 2) if value else ""
        return value

    rows = [[r.label, Path(r.path).name, *(shown(key, r.context.get(key, "")) for key, _ in used)] for r in results]
    return table(["machine", "result", *(title for _, title in used)], rows)


def tables(results, pictures=(), peers=None):
    """The whole page. Pictures are (file, caption, group) and are above the table of their group."""
    machines = merge(results)
    groups = list(dict.fromkeys(b.group for benchmarks in machines.values() for b in benchmarks.values()))
    groups.sort(key=lambda g: list(GROUPS).index(g) if g in GROUPS else len(GROUPS))
    make = {"ceilings": ceilings_table, "build": build_table, "mttkrp": mttkrp_tables, "cp_als": cp_als_table}
    make |= {"stream": stream_table, "out_of_memory": out_of_memory_table}
    text = [
        "<!-- Written by scripts/perf_report.py; do not edit. -->\n# Measured\n",
        "What the numbers mean: [performance](../performance.md). `polyad_perf` measured them all; every time is a median.\n",
        sources_table(results),
    ]
    for group in groups:
        text.append(f"## {GROUPS.get(group, group)}\n\n{LEGENDS.get(group, 'Milliseconds, median.')}\n")
        text += [f"![{caption}]({file})\n" for file, caption, of_group in pictures if of_group == group]
        text.append(make.get(group, plain_table(group))(machines))
    text.append(csf_tables(machines))
    if peers:
        text.append(beside_peers(machines, peers))
    return "\n".join(part for part in text if part)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", metavar="RESULT.json", nargs="+")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--output", metavar="DIR", type=Path, help="write tables.md and pictures there")
    parser.add_argument("--peers", metavar="FILE", type=Path, help="other codes' times: perf_tests/results/peers.json")
    where.add_argument("--store", metavar="FILE", type=Path, help="clean one result for keeping")
    options = parser.parse_args()
    try:
        if options.store:
            if len(options.results) != 1:
                fail("perf_report.py", "--store takes one result")
            write_text(options.store, stored_text(options.results[0]))
            return 0
        results = [load(path) for path in options.results]
        peers = json.loads(options.peers.read_text(encoding="utf-8")) if options.peers else None
        failed = [f"{r.path}: {b.name}: {b.error}" for r in results for b in r.benchmarks if b.error]
        for line in failed:
            print(f"perf_report.py: failed: {line}", file=sys.stderr)
        if not options.output:
            sys.stdout.write(tables(results, peers=peers))
        else:
            try:
                from perf_pictures import draw
            except ImportError as error:
                fail(
                    "perf_report.py",
                    f"pictures need numpy and matplotlib (pip install numpy matplotlib): {error}; without --output "
                    "the tables come alone",
                )
            options.output.mkdir(parents=True, exist_ok=True)
            pictures = draw(merge(results), results, options.output)
            (options.output / "tables.md").write_text(tables(results, pictures, peers), encoding="utf-8")
    except ResultError as error:
        fail("perf_report.py", error)
    except OSError as error:
        fail("perf_report.py", f"{error.filename}: {error.strerror}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
