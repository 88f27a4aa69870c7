#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fits the cost model's weights to stored results, and holds its predictions against them.

    fit_cost_model.py TERMS RESULT.json ...            a table: predicted over measured, and what auto would lose
    fit_cost_model.py --fit TERMS RESULT.json ...      the weights, as in src/formats/*/costs/weights.hpp
    fit_cost_model.py --store DIR TERMS RESULT.json ...  the table as DIR/predictions.md, and a picture per device

TERMS is the program polyad_cost_terms of the build folder: the terms are the library's own. The tensors' facts come from
perf_tests/results/cost-model/preset-surveys.json.xz. A result counts only where its machine's ceilings are among the files. Ends with 1 when
--limit is given and less than so many of the predictions are within 30 %, or more than seven choices in a hundred cost more than
1.1 of the best.

Needs numpy and scipy for --fit, matplotlib for --store."""

import argparse
import collections
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

from perf_results import mean_first_use, plain_name, read_text

CROWDED, CAUTION = ("hot", "ordered"), 0.2  # terms of a mode that count so much more where formats are compared
LOADED = 0.7  # the part of a load that counts there: Cost::total_s of formats/cost_model.hpp
SCALARS = {"f32": 4, "f64": 8}
# No stored result has the time of an empty launch; the weights of the term are relative to this one.
LAUNCH_S = 5e-6
WITHIN = 1.3
# Formats whose rare slow modes, the hot rows, are what a choice must know of: outliers count in full.
ATOMIC = {"coo-scratch", "coo-tiny-vec", "alto"}
PRESETS = {"uniform10m", "uber", "vast", "nell2", "delicious"}  # the pictures show these and real tensors
OTHER_PRESETS = {"fr_m", "darpa", "brainq", "even10m", "skewed10m"}
# What a host chooses from where it runs more than a few iterations. The terms of these formats are a host's own (HostWalk).
TOGETHER = {"coo-permuted", "sorted", "b-csf", "hb-csf", "f-coo", "blco", "alto"}
YARDSTICK = "alto-reference"
# Chosen only where nothing else fits; its weights on devices are set by hand, since the measured tensors fit.
STREAMED = "streamed-blco"
NAME = re.compile(r"(mttkrp|cp_als|build|first_use)<([^,]+),\w+,(f\d\d)>/([^/]+?)(?:/mode:(\w+))?(?:/R:(\d+))?$")
CEILING = re.compile(r"ceilings<\w+,(f\d\d)>/(gather|atomic_add)/row:\w+/(table|rows):([\d.]+)")


def machine_of(context):
    """One name for the files of one machine and thread count. Processors of one name differ by their nearest cache."""
    device = context.get("device", "")
    near = [cache["size"] // 1024 for cache in context.get("caches", []) if (cache["level"], cache["type"]) == (1, "Data")]
    host = f"{context['cpu']}{f' L1 {near[0]} KiB' if near else ''} {context['concurrency']} threads"
    return (device or host).replace(" ", "_")


def load(paths):
    """{machine: (context, {benchmark: entry})}; where two files measured the same, the later one counts."""
    machines = collections.defaultdict(lambda: ({}, {}))
    files = [json.loads(read_text(path)) for path in paths]
    for file in sorted(files, key=lambda file: file["context"]["date"]):
        name = machine_of(file["context"])
        machines[name][0].update(file["context"])
        machines[name][1].update({plain_name(entry["name"]): entry | {"date": file["context"]["date"]} for entry in file["benchmarks"]})
    return {name: found for name, found in machines.items() if any("/gather/" in entry for entry in found[1])}


def ceilings(entries):
    """{(scalar, curve): [(x, bytes a second)]}, and the copy."""
    curves, copy = collections.defaultdict(list), 0
    for name, entry in entries.items():
        if re.match(r"ceilings<\w+>/copy$", name):
            copy = entry["GB_per_s"] * 1e9
        elif match := CEILING.match(name):
            scalar, kind, axis, x = match.groups()
            kind += "_rows" if axis == "rows" else ""
            curves[scalar, kind].append((float(x), entry["GB_per_s"] * 1e9))
    return {key: sorted(curve) for key, curve in curves.items()}, copy


def speeds(program, machines):
    """By how much the times of each host count less: its copies over the usual ones, which the program knows. Short runs use the
    usual ceilings on every host, and a choice depends on ratios only. So hosts are fitted as if they were equally fast."""
    hosts = [name for name, (context, _) in machines.items() if not context.get("device")]
    lines = "\n".join(f"copy {machines[name][0]['concurrency']}" for name in hosts)
    answer = subprocess.run([program], input=lines, text=True, capture_output=True, check=True).stdout.split()
    usual = dict(zip(hosts, map(float, answer)))
    return {name: ceilings(entries)[1] / usual[name] if name in usual else 1.0 for name, (_, entries) in machines.items()}


class Case:
    """One format of one tensor, scalar and rank on one machine: what was measured, and what is predicted."""

    def __init__(self, machine, tensor, name, scalar, rank):
        self.machine, self.tensor, self.format, self.scalar, self.rank = machine, tensor, name, scalar, rank
        self.modes, self.build, self.iteration, self.all_modes, self.bytes = {}, None, None, None, None
        self.load = 0.0
        self.modes_on = self.iteration_on = ""  # when they were measured last
        self.compare_iterations = False  # CP-ALS was measured with as many formats of this tensor, scalar and rank as modes

    @property
    def total(self):
        """Seconds of an iteration to compare formats by, for all of them CP-ALS's or the modes' and the predicted dense part;
        None where that was not measured."""
        if self.compare_iterations:
            return self.iteration
        if len(self.modes) < len(self.predicted_modes) and (self.modes or not self.all_modes):
            return None
        modes = sum(self.modes.values()) or self.all_modes
        return modes + max(0, self.predicted_iteration - sum(self.predicted_modes))

    def read(self, words, order, names):
        self.storage, self.build_bytes, self.run_bytes = (int(word) for word in words[:3])
        numbers = [float(word) for word in words[3:]]
        self.crowded, self.predicted_load, self.predicted_build, self.predicted_iteration = numbers[:4]
        self.predicted_modes, numbers = numbers[4 : 4 + order], numbers[4 + order :]
        numbers = iter(numbers)
        self.build_terms = {name: next(numbers) for name in names["build"]}
        self.dense_terms = {name: next(numbers) for name in names["dense"]}
        self.mode_terms = [{name: next(numbers) for name in names["mode"]} for _ in range(order)]

    def predicted_total(self, count):
        return LOADED * self.predicted_load + self.predicted_build + count * (self.predicted_iteration + CAUTION * self.crowded)

    def measured_total(self, count):
        return self.load + self.build + count * self.total


def collect(program, machines, surveys):
    cases = {}
    speed = speeds(program, machines)
    for machine, (_, entries) in machines.items():
        scale = 1e-3 * speed[machine]
        builds, loads = {}, collections.defaultdict(list)
        for name, entry in entries.items():
            match = NAME.match(name)
            if not match or match[4] not in surveys:
                continue
            group, form, scalar, tensor, mode, rank = match.groups()
            seconds = entry.get("min_ms", entry["real_time"]) * scale  # the least: without what other processes took
            if group == "first_use":
                loads[form, scalar].append(entry["real_time"] * 1e-3)
                continue
            if group == "build":
                builds[form, scalar, tensor] = (seconds, entry.get("bytes"))
                continue
            key = (machine, tensor, form, scalar, int(rank))
            case = cases.setdefault(key, Case(*key))
            if group == "cp_als":
                case.iteration, case.iteration_on = seconds, entry["date"]
            elif mode == "all":
                case.all_modes = seconds
            else:
                case.modes[int(mode)] = seconds
                case.modes_on = max(case.modes_on, entry["date"])
        for (_, tensor, form, scalar, _), case in cases.items():
            if case.machine == machine and (form, scalar, tensor) in builds:
                case.build, case.bytes = builds[form, scalar, tensor]
            if case.machine == machine and loads[form, scalar]:
                case.load = mean_first_use(loads[form, scalar])
    cases = [case for case in cases.values() if case.format != YARDSTICK and
             not (case.format == STREAMED and machines[case.machine][0].get("device"))]
    for case in cases:
        if case.iteration_on < case.modes_on:
            case.iteration = None  # it was measured with kernels that have changed since
    for group in by_problem(cases).values():
        iterations = sum(bool(case.iteration) for case in group)
        modes = sum(len(case.modes) == len(surveys[case.tensor]["modes"]) for case in group)
        for case in group:
            case.compare_iterations = 0 < iterations >= modes
    return cases


def by_problem(cases):
    """{(machine, tensor, scalar, rank): the formats' cases}"""
    groups = collections.defaultdict(list)
    for case in cases:
        groups[case.machine, case.tensor, case.scalar, case.rank].append(case)
    return groups


def fibers_along(survey):
    """The fibers along each mode. Surveys that do not know all of them know those along the longest mode, the leaf of every tree but its own, and
    along the next longest one; the others count as if no two nonzeros shared a fiber."""
    modes = survey["modes"]
    along = [mode.get("along", survey["nnz"]) for mode in modes]
    if all("along" in mode for mode in modes) or len(modes) < 2:
        return along
    *_, second, longest = sorted(range(len(modes)), key=lambda n: (modes[n]["extent"], n))
    along[longest], along[second] = modes[second]["fibers"], modes[longest]["fibers"]
    return along


def ask(program, machines, surveys, cases):
    lines = ["terms"]
    for name, (context, entries) in machines.items():
        curves, copy = ceilings(entries)
        if not context.get("device"):
            lines.append(f"machine {name} host {context['concurrency']} {LAUNCH_S}")
            continue
        lines.append(f"machine {name} device {context['concurrency']} {LAUNCH_S} {copy}")
        for (scalar, curve), points in curves.items():
            flat = " ".join(f"{x} {rate}" for x, rate in points)
            lines.append(f"curve {name} {SCALARS[scalar]} {curve} {flat}")
    for name, survey in surveys.items():
        lines.append(f"tensor {name} {survey['nnz']}")
        for mode, along in zip(survey["modes"], fibers_along(survey)):
            bins = " ".join(f"{r} {k}" for r, k in zip(mode["rows"], mode["nonzeros"]))
            lines.append(f"mode {name} {mode['extent']} {mode['longest']} {mode['fibers']} {along} {bins}")
    for case in cases:
        lines.append(f"case {case.machine} {case.tensor} {case.format} {SCALARS[case.scalar]} {case.rank}")
    answer = subprocess.run([program], input="\n".join(lines), text=True, capture_output=True, check=True).stdout
    answers = [line.split() for line in answer.splitlines()]
    names = dict(zip(("mode", "build", "dense"), answers))
    for case, words in zip(cases, answers[3:]):
        case.read(words, len(surveys[case.tensor]["modes"]), names)


def fitted(rows, measured, robust=True):
    """Weights >= 0, by the names of the terms, of least squares of predicted / measured - 1, four times over. From the second
    time on what is off by much counts less; or, not robust, what is predicted too low counts as much as what is too high by
    the same factor."""
    import numpy as np

    names = list(rows[0])
    terms = np.array([[row[name] for name in names] for row in rows]) / np.array(measured)[:, None]
    weights = np.zeros(terms.shape[1])
    factor = np.ones(len(terms))
    for _ in range(4 if robust else 12):
        scaled = terms * factor[:, None]
        normal, right = scaled.T @ scaled, scaled.T @ factor
        for _ in range(3000):
            for j in range(len(weights)):
                if normal[j, j] > 0:
                    weights[j] = max(0.0, weights[j] + (right[j] - normal[j] @ weights) / normal[j, j])
        ratio = np.maximum(terms @ weights, 0.05)
        if robust:
            factor = 1 / np.sqrt(1 + ((ratio - 1) / 0.3) ** 2)
        else:
            factor = np.sqrt(factor / np.sqrt(ratio) ** 1.5)
    return {name: float(f"{weight:.3g}") for name, weight in zip(names, weights)}


def weighted(weights, terms):
    return sum(weight * terms[name] for name, weight in weights.items())


def braced(members):
    """{.name = value, ...} as C++ reads it: the members that are not zero, or what they hold."""
    def text(value):
        return braced(value) if isinstance(value, dict) else f"{value:g}"

    return "{" + ", ".join(f".{name} = {text(value)}" for name, value in members.items() if value) + "}"


def samples(cases):
    """(case, mode, terms, measured, predicted) of each mode that was measured, or of all of them together."""
    for case in cases:
        if not case.modes and case.all_modes:
            terms = {name: sum(terms[name] for terms in case.mode_terms) for name in case.mode_terms[0]}
            yield case, "all", terms, case.all_modes, sum(case.predicted_modes)
        for mode, seconds in case.modes.items():
            yield case, mode, case.mode_terms[mode], seconds, case.predicted_modes[mode]


def kind_of(machines, case):
    """Which member of ByMachine."""
    return ("device" if machines[case.machine][0].get("device") else "host") + "_" + case.scalar


def iteration(weights, case, modes, beside):
    """Seconds of an iteration whose MTTKRPs take so many: DensePart::iteration_s of formats/cost_model.hpp."""
    algebra = weights["cubes"] * case.dense_terms["cubes"] / len(modes)
    rest = weighted(weights | {"cubes": 0}, case.dense_terms)
    return rest + sum(max(mode, algebra) if beside else mode + algebra for mode in modes)


def fit_dense(cases, beside):
    """The weights of DenseTerms. What overlaps an MTTKRP is not a linear term: its weight is found by trying."""
    modes = {case: [case.modes[n] for n in sorted(case.modes)] for case in cases
             if len(case.modes) == len(case.predicted_modes)}
    cases = [case for case in modes if case.iteration > 1.02 * sum(modes[case])]
    if not cases:
        return None
    best = None
    for weight in [x / 20 for x in range(61)] if beside else [x / 2 for x in range(61)]:
        alone = {"cubes": weight}
        left = [case.iteration - iteration(alone, case, modes[case], beside) for case in cases]
        usable = [(case, seconds) for case, seconds in zip(cases, left) if seconds > 0.02 * case.iteration]
        if not usable:
            continue
        terms = [case.dense_terms | {"cubes": 0} for case, _ in usable]
        found = fitted(terms, [seconds for _, seconds in usable])
        found["cubes"] = weight
        ratios = [iteration(found, case, modes[case], beside) / case.iteration for case in cases]
        error = sum(min(abs(ratio - 1), 0.5) for ratio in ratios)
        if best is None or error < best[0]:
            best = error, found
    return best[1]


def fit_hosts_together(machines, cases, weights):
    """Fits the formats of hosts together (joint_fit.py), on the hosts that measured most of them."""
    hosts = [case for case in cases if not machines[case.machine][0].get("device")]
    known = [case for case in hosts if case.build and len(case.modes) == len(case.predicted_modes) and case.format in TOGETHER]
    groups = [group for group in by_problem(known).values() if len(group) > len(TOGETHER) / 2]
    if not groups:
        return
    from joint_fit import joint_fit

    together = {name: [case for group in groups for case in group if case.format == name] for name in {c.format for group in groups for c in group}}
    start = {}
    for name, group in together.items():
        modes = list(samples(group))
        start[name] = (fitted([s[2] for s in modes], [s[3] for s in modes], False),
                       fitted([c.build_terms for c in group], [c.build for c in group], False))  # fmt: skip
    print(f"// the formats of hosts, fitted together to {len(groups)} problems")
    for name, (mode_weights, build_weights) in joint_fit(groups, start).items():
        for scalar in SCALARS:
            weights[name, f"host_{scalar}"] = mode_weights, build_weights, 0.0
        print(f"{name}: .host_f32 and .host_f64 = {braced({'mttkrp': mode_weights, 'build': build_weights})},")
        apply([case for case in hosts if case.format == name], mode_weights, build_weights, 0.0)


def apply(cases, mode_weights, build_weights, load):
    for case in cases:
        case.predicted_load = load
        before = sum(case.predicted_modes)
        case.predicted_modes = [weighted(mode_weights, terms) for terms in case.mode_terms]
        case.predicted_iteration += sum(case.predicted_modes) - before
        case.predicted_build = weighted(build_weights, case.build_terms)
        case.crowded = sum(mode_weights[term] * terms[term] for terms in case.mode_terms for term in CROWDED)


def fit(machines, cases):
    weights = {}
    by_kind, formats = collections.defaultdict(list), collections.defaultdict(set)
    for case in cases:
        by_kind[case.format, kind_of(machines, case)].append(case)
        formats[kind_of(machines, case), case.machine].add(case.format)
    # Machines of a kind that measured most formats decide, so that formats are weighed on the same ones.
    whole = collections.defaultdict(set)
    for (kind, machine), names in formats.items():
        if len(names) >= 8:
            whole[kind].add(machine)
    print("// format, and a member of its CostWeights")
    for (name, kind), group in sorted(by_kind.items()):
        deciding = [case for case in group if case.machine in whole[kind]] or group
        modes = list(samples(deciding))
        if not modes:
            continue
        robust = name not in ATOMIC and not kind.startswith("host")
        mode_weights = fitted([s[2] for s in modes], [s[3] for s in modes], robust)
        built = [case for case in deciding if case.build]
        build_weights = fitted([c.build_terms for c in built], [c.build for c in built], False) if built else {}
        load = float(f"{statistics.median(case.load for case in group):.3g}")
        weights[name, kind] = mode_weights, build_weights, load
        print(f"{name}: .{kind} = {braced({'mttkrp': mode_weights, 'build': build_weights, 'load_s': load})},")
        apply(group, mode_weights, build_weights, load)
    fit_hosts_together(machines, cases, weights)
    for kind in sorted({kind_of(machines, case) for case in cases}):
        of_kind = [case for case in cases if kind_of(machines, case) == kind]
        found = fit_dense([case for case in of_kind if case.iteration], kind.startswith("device"))
        if found is None:
            continue
        print(f"dense: .{kind} = {braced(found)},")
        for case in of_kind:
            case.predicted_iteration = iteration(found, case, case.predicted_modes, kind.startswith("device"))
    return weights


def share_within(ratios):
    return sum(1 / WITHIN <= ratio <= WITHIN for ratio in ratios) / max(len(ratios), 1)


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def predictions(machines, cases):
    """Rows of what is predicted over what was measured: a mode, an iteration, a build, bytes."""
    found = collections.defaultdict(list)
    for case, _, _, measured, predicted in samples(cases):
        found[case.machine, case.format, case.scalar, "mode"].append(predicted / measured)
    seen = set()
    for case in cases:
        key = case.machine, case.format, case.scalar
        if case.iteration:
            found[(*key, "iteration")].append(case.predicted_iteration / case.iteration)
        if case.build and (*key, case.tensor) not in seen:
            seen.add((*key, case.tensor))
            found[(*key, "build")].append(case.predicted_build / case.build)
            if case.bytes:
                found[(*key, "bytes")].append(case.storage / case.bytes)
    return found


def choices(cases, iterations):
    """What auto would choose among the formats that were measured, and what it costs against the best one."""
    comparable = [case for case in cases if case.build and case.total and case.format != STREAMED]
    for key, group in sorted(by_problem(comparable).items()):
        if len(group) < 2:
            continue
        for count in iterations:
            chosen = min(group, key=lambda c: c.predicted_total(count))
            best = min(group, key=lambda c: c.measured_total(count))
            loss = chosen.measured_total(count) / best.measured_total(count)
            yield (*key, count, chosen.format, best.format, loss)


def markdown(found, chosen):
    """What is kept of a check."""
    lines = ["# The cost model against stored times", "",
             "Made by `scripts/fit_cost_model.py --store`. Computed from the times of perf_tests/results/, which "
             "are also what the weights were fitted to; nothing was run for this page. Predicted over measured: the number of "
             "cases, the share of them within 30 %, the tenth, the middle and the ninetieth of a hundred.", "",
             "| machine | format | scalar | what | cases | within 30 % | 10 % | median | 90 % |",
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for (machine, name, scalar, what), ratios in sorted(found.items()):
        lines.append(f"| {machine.replace('_', ' ')} | {name} | {scalar} | {what} | {len(ratios)} | {share_within(ratios):.2f} "
                     f"| {percentile(ratios, .1):.2f} | {percentile(ratios, .5):.2f} | {percentile(ratios, .9):.2f} |")
    lines += ["", "## What the choice costs", "",
              "For each tensor, rank and scalar that several formats were measured on: the first use in a process, build and "
              "iterations of the format that the model chooses, over those of the best one.", "",
              "| machine | iterations | cases | within 1.1 of the best | worst |", "| --- | --- | --- | --- | --- |"]
    groups = collections.defaultdict(list)
    for machine, *_, count, _, _, loss in chosen:
        groups[machine, count].append(loss)
    for (machine, count), losses in sorted(groups.items()):
        lines.append(f"| {machine.replace('_', ' ')} | {count} | {len(losses)} | {sum(x <= 1.1 for x in losses)} | {max(losses):.2f} |")
    lines += ["", "Those beyond 1.1:", "", "| machine | tensor | scalar | R | iterations | chosen | best | ratio |",
              "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for machine, tensor, scalar, rank, count, name, best, loss in chosen:
        if loss > 1.1:
            lines.append(f"| {machine.replace('_', ' ')} | {tensor} | {scalar} | {rank} | {count} | {name} | {best} | {loss:.2f} |")
    return "\n".join(lines) + "\n"


def draw(cases, chosen, folder):
    """Two pictures per device, of presets and of real tensors: the time of each format for 1, 10 and 50 iterations, as a multiple of
    the best (R = 32, f32)."""
    picks = {key[:5]: key[5] for key in chosen}
    for machine in sorted({c.machine for c in cases}):
        wanted = [c for c in cases if c.machine == machine and c.rank == 32 and c.scalar == "f32" and c.build and c.total
                  and c.format != STREAMED]
        tensors = sorted({c.tensor for c in wanted}, key=lambda name: min(c.storage for c in wanted if c.tensor == name))
        presets = [t for t in tensors if t.split("*")[0] in PRESETS]
        real = [t for t in tensors if t not in presets and t not in OTHER_PRESETS]
        for kind, names in (("presets", presets), ("real-tensors", real)):
            of_kind = [c for c in wanted if c.tensor in names]
            formats = sorted({c.format for c in of_kind})
            if len(names) >= 4 and len(formats) >= 4:
                draw_one(machine, kind, names, formats, of_kind, picks, folder)


def draw_one(machine, kind, tensors, formats, cases, picks, folder):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(3, 1, figsize=(9, 8), sharex=True, layout="constrained")
    colors = pyplot.get_cmap("tab20").colors
    for panel, count in zip(panels, (1, 10, 50)):
        for x, tensor in enumerate(tensors):
            totals = {c.format: c.measured_total(count) for c in cases if c.tensor == tensor}
            for k, name in enumerate(formats):
                if name not in totals:
                    continue
                chosen_one = picks.get((machine, tensor, "f32", 32, count)) == name
                panel.bar(x + (k - len(formats) / 2) * 0.85 / len(formats), totals[name] / min(totals.values()),
                          0.8 / len(formats), align="edge", color=colors[k], edgecolor="black" if chosen_one else "none",
                          linewidth=1.6)
        panel.set_yscale("log")
        panel.set_ylabel(f"{count} iteration{'s' if count > 1 else ''}\ntime / best")
        panel.axhline(1.1, color="grey", linewidth=0.8, linestyle=":")
    panels[0].set_xticks(range(len(tensors)), [name.replace("-", "-\n", 1) for name in tensors], fontsize="small")
    bars = [pyplot.Rectangle((0, 0), 1, 1, color=colors[k]) for k in range(len(formats))]
    panels[0].legend(bars, formats, ncols=5, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0))
    figure.suptitle(f"{machine.replace('_', ' ')}, R = 32, f32: first use, build and iterations; framed: what auto chooses")
    figure.savefig(folder / f"which-format-{machine.lower().replace('_', '-')}-{kind}.png", dpi=110)
    pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--store", type=Path, metavar="DIR")
    parser.add_argument("--limit", type=float, help="the share of predictions that must be within 30 %%")
    parser.add_argument("--details", action="store_true", help="each mode that is off by more than 20 %%")
    parser.add_argument("--surveys", type=Path,
                        default=Path(__file__).resolve().parent.parent / "perf_tests/results/cost-model/preset-surveys.json.xz")
    parser.add_argument("terms")
    parser.add_argument("results", nargs="+", type=Path)
    options = parser.parse_args()
    surveys = json.loads(read_text(options.surveys))["tensors"]
    results = [path for path in options.results if "benchmarks" in json.loads(read_text(path))]
    machines = load(results)
    cases = collect(options.terms, machines, surveys)
    ask(options.terms, machines, surveys, cases)
    if options.fit:
        fit(machines, cases)
    found = predictions(machines, cases)
    print("machine, format, scalar, what: cases, share within 30 %, tenth, median, ninetieth of predicted / measured")
    for key, ratios in sorted(found.items()):
        print(f"{' '.join(key)}: {len(ratios)}, {share_within(ratios):.2f}, "
              f"{percentile(ratios, .1):.2f}, {percentile(ratios, .5):.2f}, {percentile(ratios, .9):.2f}")
    if options.details:
        for case, mode, _, measured, predicted in samples(cases):
            if not 1 / 1.2 < predicted / measured < 1.2:
                print(f"  {case.machine} {case.format} {case.scalar} {case.tensor} R={case.rank} mode {mode}: "
                      f"{measured * 1e3:.3f} ms, predicted {predicted / measured:.2f} of it")
    chosen = list(choices(cases, (1, 10, 50)))
    if options.store:
        (options.store / "predictions.md").write_text(markdown(found, chosen))
        draw(cases, chosen, options.store)
    worst = collections.defaultdict(list)
    for machine, *_, count, _, _, loss in chosen:
        worst[machine, count].append(loss)
    for (machine, count), losses in sorted(worst.items()):
        print(f"choice {machine} {count} iterations: {len(losses)} cases, {sum(x <= 1.1 for x in losses)} within 1.1, "
              f"worst {max(losses):.2f}")
    for machine, tensor, scalar, rank, count, name, best, loss in chosen:
        if loss > 1.1:
            print(f"  {machine} {tensor} {scalar} R={rank} k={count}: {name} instead of {best}, {loss:.2f}")
    if options.limit is not None:
        ratios = [ratio for key, list_ in found.items() if key[3] in ("mode", "iteration") for ratio in list_]
        bad = sum(row[-1] > 1.1 for row in chosen)
        print(f"all modes and iterations: {len(ratios)}, {share_within(ratios):.3f} within 30 %; {bad} of {len(chosen)} "
              "choices beyond 1.1")
        return 0 if share_within(ratios) >= options.limit and bad <= 0.07 * len(chosen) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
