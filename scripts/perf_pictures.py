# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of perf_report.py. Each function draws one kind for the machines whose data is there and yields
(file, caption, group)."""

import re

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

# Okabe and Ito's colours, which the colour-blind tell apart; the yellow comes last, pale as it is on white. Beyond
# eight names: darker and greyer ones.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#F0E442"]
COLOURS += ["#882255", "#44AA99", "#332288", "#661100", "#999933", "#AA4499"]
LINES = {"f32": "-", "f64": "--"}
MARKERS = {"f32": "o", "f64": "s"}
SHARE_RANKS = (16, 32)  # whose shares are drawn, where they were measured
PHASE_RANK = 32  # and whose phases
DPI = 110


def colours(names):
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(sorted(names))}


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def in_order(items):
    return list(dict.fromkeys(items))


def all_modes(benchmarks):
    return [b for b in benchmarks.values() if b.group == "mttkrp" and b.mode == "all" and not b.error]


def short(value):
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def number_axis(axis, ticks=None, labels=str):
    """Plain numbers on a logarithmic axis, at `ticks` or where matplotlib puts them."""
    if ticks is not None:
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_major_formatter(FuncFormatter(lambda value, _: labels(value)))
    else:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else ""))
    axis.set_tick_params(which="both", labelsize=8)
    if ticks is not None:
        axis.set_minor_locator(NullLocator())


def panels(count, columns, width, height, **options):
    columns = min(columns, count)
    rows = -(-count // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False, **options)
    axes = list(axes.flat)
    for spare in axes[count:]:
        spare.set_axis_off()
    return figure, axes[:count]


def save(figure, folder, name):
    # Without the version of matplotlib in the file, the same data give the same bytes everywhere they can.
    figure.savefig(folder / name, dpi=DPI, metadata={"Software": None})
    plt.close(figure)


def one_legend(figure, entries, inches_each=1.5):
    """Below all panels, so that it hides no data. `entries` maps a name to an artist."""
    figure.tight_layout()
    columns = min(len(entries), max(1, int(figure.get_figwidth() / inches_each)))
    rows = -(-len(entries) // columns)
    inches = 0.2 * rows + 0.1
    height = figure.get_figheight()
    figure.set_figheight(height + inches)
    figure.subplots_adjust(
        bottom=(figure.subplotpars.bottom * height + inches) / (height + inches),
        top=(figure.subplotpars.top * height + inches) / (height + inches),
    )
    figure.legend(entries.values(), entries.keys(), loc="lower center", ncols=columns, fontsize=8, frameon=False)


def share_of_model(machines, colour, folder):
    for label, benchmarks in machines.items():
        found = [b for b in all_modes(benchmarks) if "*" not in b.tensor]
        ranks = sorted({b.rank for b in found if b.rank in SHARE_RANKS}) or sorted({b.rank for b in found})[:2]
        found = [b for b in found if b.rank in ranks]
        if not found:
            continue
        tensors, formats = in_order(b.tensor for b in found), sorted({b.format for b in found})
        scalars = sorted({b.scalar for b in found})
        width = 0.8 / len(formats)
        columns = len(ranks)
        panel_width = max(3.2, 0.9 + 0.24 * len(tensors) * (len(formats) + 1))
        figure, axes = panels(len(scalars) * columns, columns, panel_width, 2.5, sharey=True)
        entries = {}
        for place, axis in enumerate(axes):
            scalar, rank = scalars[place // columns], ranks[place % columns]
            for i, name in enumerate(formats):
                shares = {
                    b.tensor: 100 * b.counters["model_share"]
                    for b in found
                    if (b.format, b.scalar, b.rank) == (name, scalar, rank)
                }
                at = np.array([tensors.index(t) for t in shares]) + (i - (len(formats) - 1) / 2) * width
                heights = np.array(list(shares.values()))
                bars = axis.bar(at, heights, width, color=colour[name])
                entries.setdefault(name, bars)
                for x, height in zip(at, heights):
                    axis.annotate(
                        f"{height:.0f}" if height >= 1 else "<1", (x, height), xytext=(0, 1),
                        textcoords="offset points", ha="center", va="bottom", fontsize=6.5,
                    )  # fmt: skip
            axis.axhline(100, color="grey", linewidth=0.8, linestyle=":")
            axis.set_xticks(range(len(tensors)), tensors, fontsize=8)
            axis.tick_params(axis="y", labelsize=8)
            axis.set_title(f"{scalar}, R = {rank}", fontsize=9)
            axis.margins(y=0.1)
            for side in ("top", "right"):
                axis.spines[side].set_visible(False)
            if place % columns == 0:
                axis.set_ylabel("% of the gather model", fontsize=8)
        figure.suptitle(f"MTTKRP of all modes against the gather model: {label}", fontsize=10)
        one_legend(figure, entries)
        name = f"model-share-{slug(label)}.png"
        save(figure, folder, name)
        yield name, f"Share of the gather model, {label}", "mttkrp"


def lines_by(machines, colour, folder, kind, choose, x_of, title, x_label, ticks, x_name=str, model=True):
    """Time against something: a panel a tensor, a line a format and scalar. At least three points make a line,
    or two where `choose` asks for no more."""
    for label, benchmarks in machines.items():
        series = choose(all_modes(benchmarks))
        if not series:
            continue
        tensors = in_order(t for t, _, _ in series)
        figure, axes = panels(len(tensors), 3, 3.3, 2.8)
        entries = {}
        for axis, tensor in zip(axes, tensors):
            positions = set()
            for (of_tensor, name, scalar), points in sorted(series.items()):
                if of_tensor != tensor:
                    continue
                points = sorted(points, key=x_of)
                x = np.array([x_of(b) for b in points])
                positions.update(x)
                (line,) = axis.loglog(
                    x, [b.time for b in points], LINES.get(scalar, ":"), marker=MARKERS.get(scalar, "d"),
                    markersize=3, linewidth=1.2, color=colour[name],
                )  # fmt: skip
                entries[f"{name} {scalar}"] = line
                if model:
                    (line,) = axis.loglog(
                        x, [b.counters["model_ms"] for b in points], LINES.get(scalar, ":"), linewidth=0.9, color="grey"
                    )
                    entries[f"gather model {scalar}"] = line
                else:
                    first = points[0]
                    (line,) = axis.loglog(x, first.time * x / x_of(first), ":", linewidth=0.9, color="grey")
                    entries["linear"] = line
            number_axis(axis.xaxis, ticks(sorted(positions)), x_name)
            number_axis(axis.yaxis)
            axis.grid(which="major", linewidth=0.4, color="0.85")
            axis.set_title(tensor, fontsize=9)
            axis.set_xlabel(x_label, fontsize=8)
        axes[0].set_ylabel("ms, all modes", fontsize=8)
        figure.suptitle(f"{title}: {label}", fontsize=10)
        one_legend(figure, dict(sorted(entries.items())))
        name = f"{kind}-{slug(label)}.png"
        save(figure, folder, name)
        yield name, f"{title}, {label}", "mttkrp"


def grouped(found, key):
    series = {}
    for b in found:
        series.setdefault(key(b), []).append(b)
    return series


def against_rank(machines, colour, folder):
    def choose(found):
        series = grouped((b for b in found if "*" not in b.tensor), lambda b: (b.tensor, b.format, b.scalar))
        return {k: v for k, v in series.items() if len({b.rank for b in v}) >= 3}

    def ticks(ranks):
        # Only powers of two if there are many.
        few = [r for r in ranks if r & (r - 1) == 0] if len(ranks) > 6 else ranks
        return few or ranks

    yield from lines_by(
        machines, colour, folder, "time-against-rank", choose, lambda b: b.rank, "MTTKRP against R", "R", ticks,
        lambda r: f"{r:.0f}",
    )  # fmt: skip


def against_nonzeros(machines, colour, folder):
    def choose(found):
        ranks = {b.rank for b in found if "*" in b.tensor}
        if not ranks:
            return {}
        rank = PHASE_RANK if PHASE_RANK in ranks else min(ranks)
        series = grouped((b for b in found if b.rank == rank), lambda b: (b.base_tensor, b.format, b.scalar))
        return {k: v for k, v in series.items() if len({b.counters["nnz"] for b in v}) >= 2}

    yield from lines_by(
        machines, colour, folder, "time-against-nonzeros", choose, lambda b: b.counters["nnz"], "MTTKRP against nonzeros",
        "nonzeros, million", lambda counts: counts, lambda n: short(n * 1e-6), model=False,
    )  # fmt: skip


def strong_scaling(results, colour, folder):
    """Speed-up over the fewest threads, one picture a CPU."""
    cpus = {}
    for result in results:
        if result.backend == "OpenMP":
            cpus.setdefault(result.cpu, {}).setdefault(result.threads, {}).update({b.key: b for b in result.benchmarks})
    for cpu, by_threads in cpus.items():
        if len(by_threads) < 2:
            continue
        times = {}
        for threads, benchmarks in sorted(by_threads.items()):
            for b in all_modes(benchmarks):
                times.setdefault((b.tensor, b.format, b.scalar, b.rank), {})[threads] = b.time
        times = {k: v for k, v in times.items() if len(v) >= 2 and "*" not in k[0]}
        if not times:
            continue
        ranks = {k[3] for k in times}
        rank = PHASE_RANK if PHASE_RANK in ranks else min(ranks)
        times = {k: v for k, v in times.items() if k[3] == rank}
        tensors = in_order(k[0] for k in times)
        figure, axes = panels(len(tensors), 3, 3.3, 2.8, sharey=True)
        entries = {}
        for axis, tensor in zip(axes, tensors):
            seen = set()
            for (of_tensor, name, scalar, _), points in sorted(times.items()):
                if of_tensor != tensor:
                    continue
                threads = np.array(sorted(points))
                seen.update(threads.tolist())
                speed_up = points[threads[0]] * threads[0] / np.array([points[t] for t in threads])
                (line,) = axis.loglog(
                    threads, speed_up, LINES.get(scalar, ":"), marker=MARKERS.get(scalar, "d"), markersize=4,
                    linewidth=1.2, color=colour[name],
                )  # fmt: skip
                entries[f"{name} {scalar}"] = line
            ideal = np.array(sorted(seen))
            (entries["ideal"],) = axis.loglog(ideal, ideal, ":", color="grey", linewidth=0.9)
            number_axis(axis.xaxis, ideal.tolist(), lambda t: f"{t:.0f}")
            number_axis(axis.yaxis, ideal.tolist(), lambda t: f"{t:.0f}")
            axis.grid(which="major", linewidth=0.4, color="0.85")
            axis.set_title(tensor, fontsize=9)
            axis.set_xlabel("threads", fontsize=8)
        axes[0].set_ylabel("speed-up", fontsize=8)
        figure.suptitle(f"MTTKRP of all modes, R = {rank}, against threads: {cpu}", fontsize=10)
        one_legend(figure, entries)
        name = f"strong-scaling-{slug(cpu)}.png"
        save(figure, folder, name)
        yield name, f"Strong scaling, {cpu}", "mttkrp"


def phases(machines, folder):
    """A panel a tensor, a stacked bar a format and scalar; the longest phases first, the same on all machines."""
    total = {}
    for benchmarks in machines.values():
        for b in benchmarks.values():
            for phase, ms in b.phases.items():
                total[phase] = total.get(phase, 0) + ms
    names = sorted(total, key=lambda phase: -total[phase])
    colour = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    for label, benchmarks in machines.items():
        found = [
            b for b in benchmarks.values() if b.group == "cp_als" and b.phases and not b.error and "*" not in b.tensor
        ]
        if not found:
            continue
        ranks = {b.rank for b in found}
        rank = PHASE_RANK if PHASE_RANK in ranks else min(ranks)
        found = [b for b in found if b.rank == rank]
        tensors = in_order(b.tensor for b in found)
        most = max(sum(b.tensor == t for b in found) for t in tensors)
        figure, axes = panels(len(tensors), 2, 4.6, 1.1 + 0.2 * most)
        entries = {}
        for axis, tensor in zip(axes, tensors):
            mine = sorted((b for b in found if b.tensor == tensor), key=lambda b: (b.format, b.scalar))
            left = np.zeros(len(mine))
            for phase in names:
                ms = np.array([b.phases.get(phase, 0.0) for b in mine])
                bars = axis.barh(range(len(mine)), ms, left=left, height=0.7, color=colour[phase])
                entries.setdefault(phase.replace("_", " "), bars)
                left += ms
            for y, ms in enumerate(left):
                axis.annotate(short(ms), (ms, y), xytext=(2, 0), textcoords="offset points", va="center", fontsize=7)
            axis.set_yticks(range(len(mine)), [f"{b.format} {b.scalar}" for b in mine], fontsize=7.5)
            axis.invert_yaxis()
            axis.margins(x=0.12)
            axis.set_xlim(left=0)
            axis.tick_params(axis="x", labelsize=8)
            axis.set_title(tensor, fontsize=9)
            axis.set_xlabel("ms", fontsize=8)
            for side in ("top", "right"):
                axis.spines[side].set_visible(False)
        figure.suptitle(f"One CP-ALS iteration by phase, R = {rank}: {label}", fontsize=10)
        one_legend(figure, entries)
        name = f"cp-als-phases-{slug(label)}.png"
        save(figure, folder, name)
        yield name, f"Phases of a CP-ALS iteration, {label}", "cp_als"


def gather_rates(machines, folder):
    """The ceiling that matters most: random rows against the size of their table."""
    series = {}
    for label, benchmarks in machines.items():
        for b in benchmarks.values():
            table = re.fullmatch(r"gather/row:[\d.]+B/table:([\d.]+)MB", b.rest)
            if b.group == "ceilings" and table and not b.error:
                series.setdefault((label, b.scalar), []).append((float(table[1]), b.counters["GB_per_s"]))
    series = {k: sorted(v) for k, v in series.items() if len(v) >= 3}
    if not series:
        return
    colour = colours({label for label, _ in series})
    figure, (axis,) = panels(1, 1, 6.4, 3.2)
    entries = {}
    for (label, scalar), points in series.items():
        (line,) = axis.loglog(
            *zip(*points), LINES.get(scalar, ":"), marker=MARKERS.get(scalar, "d"), markersize=4, linewidth=1.2,
            color=colour[label],
        )  # fmt: skip
        entries[f"{label}, {scalar}"] = line
    sizes = sorted({size for points in series.values() for size, _ in points})
    number_axis(axis.xaxis, sizes, short)
    number_axis(axis.yaxis)
    axis.grid(which="major", linewidth=0.4, color="0.85")
    axis.set_xlabel("table, MB", fontsize=8)
    axis.set_ylabel("GB/s", fontsize=8)
    axis.set_title("Gather of random rows, R = 32", fontsize=10)
    one_legend(figure, entries, 2.8)
    save(figure, folder, "gather-rates.png")
    yield "gather-rates.png", "Gather of random rows against the size of the table", "ceilings"


def with_most_threads(machines, results):
    """The machines without those that are only another one's CPU with fewer threads."""
    most = {}
    for r in results:
        if r.backend == "OpenMP":
            most[r.cpu] = max(most.get(r.cpu, 0), r.threads)
    fewer = {r.label for r in results if r.backend == "OpenMP" and r.threads < most[r.cpu]}
    return {label: benchmarks for label, benchmarks in machines.items() if label not in fewer}


def draw(machines, results, folder):
    """Draws what can be drawn into `folder`; (file, caption, group) of each picture."""
    colour = colours({b.format for benchmarks in machines.values() for b in benchmarks.values() if b.format})
    whole = with_most_threads(machines, results)
    return [
        *gather_rates(whole, folder),
        *share_of_model(whole, colour, folder),
        *against_rank(whole, colour, folder),
        *against_nonzeros(whole, colour, folder),
        *strong_scaling(results, colour, folder),
        *phases(whole, folder),
    ]
