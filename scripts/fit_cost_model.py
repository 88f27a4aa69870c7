#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fits the cost model's weights to stored results, and holds its predictions against them.

    fit_cost_model.py TERMS RESULT.json ...            a table: predicted over measured, and what auto would lose
    fit_cost_model.py --fit TERMS RESULT.json ...      the weights, as they stand in src/formats/*/costs.cpp
    fit_cost_model.py --store DIR TERMS RESULT.json ...  the table as DIR/predictions.md, and a picture a device

TERMS is the program polyad_cost_terms of the build folder: the terms are the library's own. The tensors' facts come from
docs/cost-model/preset-surveys.json. A result counts only where its machine's ceilings are among the files. Ends with 1 when
--limit is given and less than so many of the predictions are within 30 %, or more than one choice in twenty-five costs more than
1.1 of the best.

Needs numpy for --fit, matplotlib for --store."""

import argparse
import collections
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

MODE_TERMS, BUILD_TERMS, DENSE_TERMS = 11, 6, 4
CROWDED = 9, 10  # the terms hot and ordered, which count twice where formats are compared
SCALARS = {"f32": 4, "f64": 8}
# No stored result has the time of an empty launch; the weights of the term are relative to this one.
LAUNCH_S = 5e-6
WITHIN = 1.3
# Formats whose rare slow modes, the hot rows, are what a choice must know of: outliers count in full.
ATOMIC = {"coo-scratch", "coo-tiny-vec"}
# What is chosen only where nothing else fits.
ON_HOST = {"streamed-blco"}
NAME = re.compile(r"(mttkrp|cp_als|build|first_use)<([^,]+),\w+,(f\d\d)>/([^/]+?)(?:/mode:(\w+))?(?:/R:(\d+))?$")
CEILING = re.compile(r"ceilings<\w+,(f\d\d)>/(gather|atomic_add)/row:\w+/(table|rows):([\d.]+)")


def machine_of(context):
    """One name for the files of one machine and thread count."""
    device = context.get("device", "")
    return (device or context["cpu"] + " " + context["concurrency"] + " threads").replace(" ", "_")


def load(paths):
    """{machine: (context, {benchmark: entry})}; where two files measured the same, the later one counts."""
    machines = collections.defaultdict(lambda: ({}, {}))
    files = [json.loads(Path(path).read_text()) for path in paths]
    for file in sorted(files, key=lambda file: file["context"]["date"]):
        name = machine_of(file["context"])
        machines[name][0].update(file["context"])
        machines[name][1].update({entry["name"]: entry for entry in file["benchmarks"]})
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


class Case:
    """One format of one tensor, scalar and rank on one machine: what was measured, and what is predicted."""

    def __init__(self, machine, tensor, name, scalar, rank):
        self.machine, self.tensor, self.format, self.scalar, self.rank = machine, tensor, name, scalar, rank
        self.modes, self.build, self.iteration, self.all_modes, self.bytes = {}, None, None, None, None
        self.load = 0.0

    @property
    def total(self):
        """Seconds of an iteration; where CP-ALS was not measured, its modes' and the predicted dense part."""
        if self.iteration:
            return self.iteration
        if len(self.modes) < len(self.predicted_modes):
            return None
        return sum(self.modes.values()) + self.predicted_iteration - sum(self.predicted_modes)

    def read(self, words, order):
        self.storage, self.build_bytes, self.run_bytes = (int(word) for word in words[:3])
        numbers = [float(word) for word in words[3:]]
        self.crowded, self.predicted_load, self.predicted_build, self.predicted_iteration = numbers[:4]
        self.predicted_modes, numbers = numbers[4 : 4 + order], numbers[4 + order :]
        self.build_terms, numbers = numbers[:BUILD_TERMS], numbers[BUILD_TERMS:]
        self.dense_terms, numbers = numbers[:DENSE_TERMS], numbers[DENSE_TERMS:]
        self.mode_terms = [numbers[n * MODE_TERMS : (n + 1) * MODE_TERMS] for n in range(order)]

    def predicted_total(self, count):
        return self.predicted_load + self.predicted_build + count * (self.predicted_iteration + self.crowded)

    def measured_total(self, count):
        return self.load + self.build + count * self.total


def collect(machines, surveys):
    cases = {}
    for machine, (_, entries) in machines.items():
        builds, loads = {}, collections.defaultdict(list)
        for name, entry in entries.items():
            match = NAME.match(name)
            if not match or match[4] not in surveys:
                continue
            group, form, scalar, tensor, mode, rank = match.groups()
            seconds = entry.get("min_ms", entry["real_time"]) * 1e-3  # what other processes took is no part of it
            if group == "first_use":
                loads[form, scalar].append(entry["real_time"] * 1e-3)
                continue
            if group == "build":
                builds[form, scalar, tensor] = (seconds, entry["bytes"])
                continue
            key = (machine, tensor, form, scalar, int(rank))
            case = cases.setdefault(key, Case(*key))
            if group == "cp_als":
                case.iteration = seconds
            elif mode == "all":
                case.all_modes = seconds
            else:
                case.modes[int(mode)] = seconds
        for (_, tensor, form, scalar, _), case in cases.items():
            if case.machine == machine and (form, scalar, tensor) in builds:
                case.build, case.bytes = builds[form, scalar, tensor]
            if case.machine == machine and loads[form, scalar]:
                case.load = statistics.median(loads[form, scalar])
    return [case for case in cases.values() if case.format != "alto-reference"]


def ask(program, machines, surveys, cases):
    lines = []
    for name, (context, entries) in machines.items():
        curves, copy = ceilings(entries)
        kind = "device" if context.get("device") else "host"
        lines.append(f"machine {name} {kind} {context['concurrency']} {LAUNCH_S} {copy}")
        for (scalar, curve), points in curves.items():
            flat = " ".join(f"{x} {rate}" for x, rate in points)
            lines.append(f"curve {name} {SCALARS[scalar]} {curve} {flat}")
    for name, survey in surveys.items():
        lines.append(f"tensor {name} {survey['nnz']}")
        for mode in survey["modes"]:
            bins = " ".join(f"{r} {k}" for r, k in zip(mode["rows"], mode["nonzeros"]))
            lines.append(f"mode {name} {mode['extent']} {mode['longest']} {mode['fibers']} {bins}")
    for case in cases:
        lines.append(f"case {case.machine} {case.tensor} {case.format} {SCALARS[case.scalar]} {case.rank}")
    answer = subprocess.run([program], input="\n".join(lines), text=True, capture_output=True, check=True).stdout
    for case, line in zip(cases, answer.splitlines()):
        case.read(line.split(), len(surveys[case.tensor]["modes"]))


def fitted(rows, measured, robust=True):
    """Weights >= 0 of least squares of predicted / measured - 1, four times over. From the second time on what is off by
    much counts less; or, not robust, what is predicted too low counts as much as what is too high by the same factor."""
    import numpy as np

    terms = np.array(rows) / np.array(measured)[:, None]
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
    return [float(f"{weight:.3g}") for weight in weights]


def samples(cases):
    """(case, mode, terms, measured, predicted) of each mode that was measured, or of all of them together."""
    for case in cases:
        if not case.modes and case.all_modes:
            terms = [sum(column) for column in zip(*case.mode_terms)]
            yield case, "all", terms, case.all_modes, sum(case.predicted_modes)
        for mode, seconds in case.modes.items():
            yield case, mode, case.mode_terms[mode], seconds, case.predicted_modes[mode]


def kind_of(machines, case):
    return ("device" if machines[case.machine][0].get("device") else "host") + " " + case.scalar


def fit(machines, cases):
    weights = {}
    by_kind = collections.defaultdict(list)
    for case in cases:
        by_kind[case.format, kind_of(machines, case)].append(case)
    print("// format, machine and scalar: weights of the terms of a mode; of a build")
    for (name, kind), group in sorted(by_kind.items()):
        modes = list(samples(group))
        if not modes:
            continue
        robust = name not in ATOMIC and not kind.startswith("host")
        mode_weights = fitted([s[2] for s in modes], [s[3] for s in modes], robust)
        built = [case for case in group if case.build]
        build_weights = fitted([c.build_terms for c in built], [c.build for c in built]) if built else [0] * BUILD_TERMS
        load = float(f"{statistics.median(case.load for case in group):.3g}")
        weights[name, kind] = mode_weights, build_weights, load
        text = ", ".join(map(str, mode_weights)), ", ".join(map(str, build_weights))
        print(f"{name}, {kind}: {{{{{text[0]}}}, {{{text[1]}}}, {load}}}")
        for case in group:
            case.predicted_load = load
            case.predicted_modes = [sum(w * t for w, t in zip(mode_weights, terms)) for terms in case.mode_terms]
            case.predicted_build = sum(w * t for w, t in zip(build_weights, case.build_terms))
            case.crowded = sum(mode_weights[k] * terms[k] for terms in case.mode_terms for k in CROWDED)
    for kind in sorted({kind_of(machines, case) for case in cases}):
        dense = [c for c in cases if kind_of(machines, c) == kind and c.iteration and c.all_modes
                 and c.iteration > 1.02 * c.all_modes]
        if not dense:
            continue
        found = fitted([c.dense_terms for c in dense], [c.iteration - c.all_modes for c in dense])
        print(f"dense, {kind}: {{{', '.join(map(str, found))}}}")
        for case in cases:
            if kind_of(machines, case) == kind:
                part = sum(w * t for w, t in zip(found, case.dense_terms))
                case.predicted_iteration = sum(case.predicted_modes) + part
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
            found[(*key, "bytes")].append(case.storage / case.bytes)
    return found


def choices(cases, iterations):
    """What auto would choose among the formats that were measured, and what it costs against the best one."""
    groups = collections.defaultdict(list)
    for case in cases:
        if case.build and case.total and case.format not in ON_HOST:
            groups[case.machine, case.tensor, case.scalar, case.rank].append(case)
    for key, group in sorted(groups.items()):
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
             "Made by `scripts/fit_cost_model.py --store`. Computed from the times of docs/results/ and docs/cost-model/, which "
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
    """A picture a device: what each format takes for 1, 10 and 50 iterations, as a multiple of the best (R = 32, f32)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    picks = {key[:5]: key[5] for key in chosen}
    for machine in sorted({c.machine for c in cases}):
        wanted = [c for c in cases if c.machine == machine and c.rank == 32 and c.scalar == "f32" and c.build and c.total]
        tensors = [t for t in ("uniform10m", "uber", "vast", "nell2", "delicious") if any(c.tensor == t for c in wanted)]
        names = sorted({c.format for c in wanted})
        if len(tensors) < 4 or len(names) < 4:
            continue
        figure, panels = pyplot.subplots(3, 1, figsize=(9, 8), sharex=True, layout="constrained")
        for panel, count in zip(panels, (1, 10, 50)):
            for x, tensor in enumerate(tensors):
                totals = {c.format: c.measured_total(count) for c in wanted if c.tensor == tensor}
                for k, name in enumerate(names):
                    if name not in totals:
                        continue
                    chosen_one = picks.get((machine, tensor, "f32", 32, count)) == name
                    panel.bar(x + (k - len(names) / 2) * 0.85 / len(names), totals[name] / min(totals.values()),
                              0.8 / len(names), align="edge", color=f"C{k}", edgecolor="black" if chosen_one else "none",
                              linewidth=1.6, label=name if x == 0 else None)
            panel.set_yscale("log")
            panel.set_ylabel(f"{count} iteration{'s' if count > 1 else ''}\ntime / best")
            panel.axhline(1.1, color="grey", linewidth=0.8, linestyle=":")
        panels[0].set_xticks(range(len(tensors)), tensors)
        panels[0].legend(ncols=5, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0))
        figure.suptitle(f"{machine.replace('_', ' ')}, R = 32, f32: build and iterations; framed: what auto chooses")
        figure.savefig(folder / f"which-format-{machine.lower().replace('_', '-')}.png", dpi=110)
        pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--store", type=Path, metavar="DIR")
    parser.add_argument("--limit", type=float, help="the share of predictions that must be within 30 %%")
    parser.add_argument("--details", action="store_true", help="each mode that is off by more than 20 %%")
    parser.add_argument("--surveys", type=Path,
                        default=Path(__file__).resolve().parent.parent / "docs/cost-model/preset-surveys.json")
    parser.add_argument("terms")
    parser.add_argument("results", nargs="+", type=Path)
    options = parser.parse_args()
    surveys = json.loads(options.surveys.read_text())["tensors"]
    results = [path for path in options.results if "benchmarks" in json.loads(path.read_text())]
    machines = load(results)
    cases = collect(machines, surveys)
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
        return 0 if share_within(ratios) >= options.limit and bad <= 0.04 * len(chosen) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
