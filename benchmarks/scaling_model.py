#!/usr/bin/env python3
"""Predicts conjugate gradients on islands of GPUs that a network joins, from what the benchmark scaling measured on one machine.

usage: scaling_model.py [--json FILE] [--island GPUS] [--network-bandwidth B] [--network-latency S] [--check]

The model of an iteration on P GPUs, each with a block of m = n / P unknowns of a cube:

  kernels    what one GPU takes for m unknowns, interpolated between the sizes that were measured on one; below the smallest it
             takes as long as for that
  sums       within an island they take no time that shows (see "checked"). Beyond it each doubling of the islands is one put with a
             signal: log2(islands) network latencies
  halo       within an island 16 bytes a ghost and vector at what NVLink carries of words, slabs as the benchmark has them, beside the
             end of one kernel and the start of the next, half of what the smallest system takes; beyond it blocks, whose faces of 8 bytes a ghost and vector cross the network beside the product of the
             interior rows. pipelined-cg exchanges two vectors
  loops      "cg" waits for its sums; "pipelined-cg" hides them behind the next products, as its halos; "nccl-host" is cg launched by the host:
             what that takes beyond one GPU's kernels on a small system, as measured, is added

The latencies and bandwidths of a network are assumptions, named in the options. --check compares the model with the runs on 2 and 4
GPUs, of which it takes no figure, though the half above was chosen with them in sight, and fails where one is further off than TOLERANCE, but for CACHED.
"""

import argparse
import importlib.machinery
import importlib.util
import json
import math
import os

WORDS_BANDWIDTH = 180e9  # bytes a second of tagged words over NVLink, one way: docs/several-gpus.md, "What crosses"
PRODUCT_SHARE = 0.4  # of an iteration's kernels, beyond launches: the product, which hides a halo
TOLERANCE = 0.15
CACHED = ("csr", 10**6, 4)  # a GPU's part of the matrix fits its cache, that of one GPU does not
RANKS = (8, 64, 256, 1024)


def figures():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "figures")
    loader = importlib.machinery.SourceFileLoader("figures", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("figures", loader))
    loader.exec_module(module)
    return module


def interpolated(points, m):
    """Piecewise linear; flat below the first point, and in proportion above the last."""
    points = sorted(points)
    if m <= points[0][0]:
        return points[0][1]
    for (a, at_a), (b, at_b) in zip(points, points[1:]):
        if m <= b:
            return at_a + (at_b - at_a) * (m - a) / (b - a)
    return points[-1][1] * m / points[-1][0]


class Model:
    """Of one result file of the benchmark scaling. Times in microseconds."""

    def __init__(self, runs, island=8, network_bandwidth=50e9, network_latency=5e-6):
        self.island, self.network_bandwidth, self.network_latency = island, network_bandwidth, network_latency
        self.runs = [run for run in runs if run["scaling"] in ("strong", "weak") and "transport_asked" not in run]

    def points(self, operator, method):
        return [(run["unknowns"], run["microseconds_an_iteration"]) for run in self.runs
                if run["ranks"] == 1 and run["loop"] == "whilst" and (run["operator"], run["method"]) == (operator, method)]

    def kernels(self, operator, method, m):
        return interpolated(self.points(operator, method), m)

    def launches(self, operator, method):
        return min(self.points(operator, method))[1]

    def in_island(self, operator, method, unknowns, ranks, plane):
        """Slabs with a plane of so many points, of which each rank gets two."""
        ghosts = 0 if ranks == 1 else plane * (2 if ranks > 2 else 1)
        halo = 1e6 * 16 * self.vectors(method) * ghosts / WORDS_BANDWIDTH
        return self.kernels(operator, method, unknowns / ranks) + max(halo - self.launches(operator, method) / 2, 0)

    @staticmethod
    def vectors(method):
        return 2 if method == "pipelined-cg" else 1

    def predicted(self, operator, method, unknowns, ranks):
        """method: one of those measured, or "nccl-host"."""
        own = "cg" if method == "nccl-host" else method
        m = unknowns / ranks
        islands = math.ceil(ranks / self.island)
        if islands == 1:
            time = self.in_island(operator, own, unknowns, ranks, unknowns ** (2 / 3))
            return time + (self.launched_by_host(operator, ranks) if method == "nccl-host" else 0)
        kernels, launches = self.kernels(operator, own, m), self.launches(operator, own)
        product = PRODUCT_SHARE * max(kernels - launches, 0)
        sums = math.log2(islands) * 1e6 * self.network_latency
        halo = 1e6 * self.network_latency + 1e6 * 8 * self.vectors(own) * 6 * m ** (2 / 3) / self.network_bandwidth
        exposed_halo = max(halo - product, 0)
        if own == "pipelined-cg":  # both are under way at once
            return kernels + max(sums - product, exposed_halo, 0)
        return kernels + sums + exposed_halo + (self.launched_by_host(operator, ranks) if method == "nccl-host" else 0)

    def launched_by_host(self, operator, ranks):
        """What the loop by NCCL takes beyond one GPU's kernels, where these are smallest."""
        found = [(run["unknowns"], run["microseconds_an_iteration"] - self.kernels(operator, "cg", run["unknowns"] / run["ranks"]))
                 for run in self.runs if run["loop"] == "nccl-host" and run["operator"] == operator]
        return min(found)[1] if found and ranks > 1 else 0

    def checked(self):
        """(run, predicted) of the runs on several GPUs."""
        for run in self.runs:
            if run["ranks"] > 1 and run["loop"] == "whilst" and self.points(run["operator"], run["method"]):
                edge = run["unknowns"] ** (1 / 3) if run["scaling"] == "strong" else (run["unknowns"] / run["ranks"]) ** (1 / 3)
                yield run, self.in_island(run["operator"], run["method"], run["unknowns"], run["ranks"], edge**2)

    def far_off(self):
        """Those of checked() that are further off than TOLERANCE."""
        return [(run, predicted) for run, predicted in self.checked()
                if abs(predicted / run["microseconds_an_iteration"] - 1) > TOLERANCE
                and (run["operator"], run["unknowns"], run["ranks"]) != CACHED]

    def table(self, operator="matrix-free"):
        """(problem, {ranks: {method: microseconds}})."""
        problems = {"1e8 unknowns": lambda P: 10**8, "1e9 unknowns": lambda P: 10**9,
                    "1e6 unknowns a GPU": lambda P: 10**6 * P, "1e7 unknowns a GPU": lambda P: 10**7 * P}
        for name, unknowns in problems.items():
            yield name, {P: {method: self.predicted(operator, method, unknowns(P), P)
                             for method in ("cg", "pipelined-cg", "nccl-host")} for P in RANKS}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="results of the benchmark scaling (default: the newest in benchmarks/results)")
    parser.add_argument("--island", type=int, default=8, help="GPUs that reach one another's memory (8)")
    parser.add_argument("--network-bandwidth", type=float, default=50e9, help="bytes a second of a GPU (50e9, 400 Gb/s)")
    parser.add_argument("--network-latency", type=float, default=5e-6, help="seconds of a put with a signal (5e-6)")
    parser.add_argument("--check", action="store_true", help="compare with what was measured; exit status 1 if that is far off")
    options = parser.parse_args()
    if options.island < 1 or options.network_bandwidth <= 0 or options.network_latency < 0:
        parser.error("an island has a GPU, a bandwidth is positive, and a latency is not negative")
    with open(options.json or figures().file_of("scaling"), encoding="utf-8") as file:
        runs = json.load(file)["runs"]
    if not all(Model(runs).points("matrix-free", method) for method in ("cg", "pipelined-cg")):
        raise SystemExit("scaling_model.py: the file has no runs of the matrix-free operator on one GPU by cg and pipelined-cg")
    model = Model(runs, options.island, options.network_bandwidth, options.network_latency)
    print(f"{'operator':<12} {'method':<13} {'scaling':<8} {'unknowns':>12} {'GPUs':>5} {'measured':>9} {'model':>9} {'off':>7}")
    for run, predicted in model.checked():
        measured = run["microseconds_an_iteration"]
        print(f"{run['operator']:<12} {run['method']:<13} {run['scaling']:<8} {run['unknowns']:>12} {run['ranks']:>5} "
              f"{measured:>9.1f} {predicted:>9.1f} {100 * (predicted / measured - 1):>6.0f}%")
    print(f"\n{'matrix-free':<20} {'GPUs':>5}  microseconds an iteration")
    for problem, of_ranks in model.table():
        for P, times in of_ranks.items():
            best = min(times, key=times.get)
            print(f"{problem:<20} {P:>5}  " + ", ".join(f"{name} {time:.1f}" for name, time in times.items()) + f": {best}")
    for run, predicted in model.far_off() if options.check else ():
        raise SystemExit(f"scaling_model.py: {run['operator']}, {run['method']}, {run['unknowns']} unknowns on {run['ranks']} GPUs: "
                         f"{predicted:.1f} us predicted, {run['microseconds_an_iteration']:.1f} measured")


if __name__ == "__main__":
    main()
