#!/usr/bin/env python3
"""Measures how good the planner's searches are. Writes CSV to stdout and a summary to stderr.

  search_report.py regret BF_AOT MODEL [BOXES.json] ...
      greedy and beam against exhaustive search, for several goals: the metric that the goal
      minimises, divided by exhaustive search's. Exit code 1 when the median is above 1.02 or the
      90th percentile above 1.2.
  search_report.py dominance BF_AOT MODEL BOXES.json ...
      auto's pick against single methods under the same time budget: predicted, and measured on
      every box. Exit code 1 when some method is both faster and tighter by more than the noise.
"""

import csv
import json
import statistics
import subprocess
import sys

METHODS = ("ibp", "crown-ibp", "crown", "alpha-crown")
BUDGETS = (None, 0.5, 0.2)  # of crown's predicted time
NOISE = 1.1  # of measured times: less proves nothing
ROUNDING = 1.002  # of widths: plans that differ less count as equally tight


def call(arguments):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=600)


def plan(tool, model, boxes, *options):
    samples = ["--sample-box", boxes] if boxes else []
    done = call([tool, "inspect", model, "--plan", *samples, *options])
    return json.loads(done.stdout) if done.returncode == 0 else None


def seconds(made):
    entry = "spec_bounds" if made["spec_heads"] else "bounds"
    return sum(task["predicted_seconds"] for task in made["tasks"] if task["entry"] == entry)


def crown_plan(tool, model, boxes):
    return plan(tool, model, boxes, "--method", "crown", "--disable-pass", "tighten-selectively")


# ---- regret


def goals(crown_seconds):
    yield "time + looseness", ["--objective", "time=1,looseness=1"]
    yield "time + looseness / 10", ["--objective", "time=1,looseness=0.1"]
    for target in (1.05, 2, 10):
        yield f"looseness {target}", ["--looseness-target", str(target)]
    for share in (0.8, 0.5, 0.2):
        yield f"time {share}", ["--time-budget", f"{crown_seconds * share:.6g}"]
    yield "tightest, fastest", []


def value(goal, search, crown_seconds):
    if goal == "time + looseness":
        return search["seconds"] / crown_seconds + search["looseness"]
    if goal == "time + looseness / 10":
        return search["seconds"] / crown_seconds + search["looseness"] / 10
    return search["looseness" if goal.startswith("time") else "seconds"]


def subjects(arguments):
    """Models, each with the box file after it, if there is one."""
    for i, name in enumerate(arguments):
        if name.endswith(".json"):
            continue
        after = arguments[i + 1] if i + 1 < len(arguments) else ""
        yield name, after if after.endswith(".json") else None


def regret(tool, arguments):
    table = csv.writer(sys.stdout)
    table.writerow(["model", "goal", "search", "candidates", "measured", "value", "best", "regret"])
    all_regrets = {"greedy": [], "beam": []}
    for model, boxes in subjects(arguments):
        crown = seconds(crown_plan(tool, model, boxes))
        for goal, options in goals(crown):
            found = {}
            for kind in ("exhaustive", "greedy", "beam"):
                made = plan(tool, model, boxes, "--method", "auto", "--search", kind, *options)
                if made is None or made["search"] is None:
                    break
                found[kind] = made["search"]
                if kind == "exhaustive":
                    continue
                ours = value(goal, found[kind], crown)
                best = value(goal, found["exhaustive"], crown)
                ratio = ours / best if best > 0 else 1
                all_regrets[kind].append(ratio)
                table.writerow([model.rsplit("/", 1)[-1], goal, kind, found[kind]["candidates"],
                                found[kind]["measured"], ours, best, f"{ratio:.4f}"])
    good = True
    for kind, ratios in all_regrets.items():
        ratios.sort()
        median = statistics.median(ratios)
        p90 = ratios[int(0.9 * (len(ratios) - 1))]
        good = good and median <= 1.02 and p90 <= 1.2
        print(f"{kind}: {len(ratios)} searches, regret median {median:.4f}, p90 {p90:.4f}, "
              f"most {ratios[-1]:.4f}", file=sys.stderr)
    return 0 if good else 1


# ---- dominance


def mean_width(run):
    side = run["outputs"]
    widths = [u - l for l, u in zip(side["lower"], side["upper"])]
    return sum(widths) / len(widths)


def measure(tool, model, boxes, options):
    """(median seconds, mean width) on every box."""
    with open(boxes, encoding="utf-8") as file:
        count = len(json.load(file)["boxes"])
    results = []
    for index in range(count):
        done = call([tool, "run", model, "--box", boxes, "--index", str(index), "--json",
                     *options])
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        run = json.loads(done.stdout)
        results.append((run["seconds"]["min"], mean_width(run)))
    return results


def summary(results, reference):
    """Total time, and widths relative to another's."""
    ratios = [w / r if r > 0 else 1 for (_, w), (_, r) in zip(results, reference)]
    return sum(t for t, _ in results), sum(ratios) / len(ratios)


def dominance(tool, arguments):
    table = csv.writer(sys.stdout)
    table.writerow(["model", "budget", "method", "predicted_seconds", "measured_seconds",
                    "looseness", "dominates"])
    bad = 0
    for model, boxes in subjects(arguments):
        plain = ["--sample-box", boxes, "--disable-pass", "tighten-selectively"]
        singles = {}
        for method in METHODS:
            made = plan(tool, model, boxes, "--method", method, *plain[2:])
            singles[method] = (seconds(made),
                               measure(tool, model, boxes, ["--method", method, *plain]))
        crown_seconds, crown = singles["crown"]
        for share in BUDGETS:
            options = ["--sample-box", boxes, "--method", "auto"]
            if share is not None:
                options += ["--time-budget", f"{crown_seconds * share:.6g}"]
            made = plan(tool, model, None, *options)
            if made is None:
                continue  # no plan is so fast
            ours, width = summary(measure(tool, model, boxes, options), crown)
            predicted = seconds(made)
            name = model.rsplit("/", 1)[-1]
            table.writerow([name, share, "auto", predicted, ours, f"{width:.6g}", ""])
            for method, (guess, results) in singles.items():
                theirs, other = summary(results, crown)
                tighter = other * ROUNDING < width
                faster = theirs * NOISE < ours or guess * 1.001 < predicted
                within = share is None or guess <= crown_seconds * share
                bad += tighter and faster and within
                table.writerow([name, share, method, guess, theirs, f"{other:.6g}",
                                "yes" if tighter and faster and within else "no"])
            sys.stdout.flush()
    print(f"{bad} cases of a method faster and tighter than auto", file=sys.stderr)
    return 0 if bad == 0 else 1


def main():
    commands = {"regret": regret, "dominance": dominance}
    if len(sys.argv) < 4 or sys.argv[1] not in commands:
        print(__doc__, file=sys.stderr)
        return 2
    return commands[sys.argv[1]](sys.argv[2], sys.argv[3:])


if __name__ == "__main__":
    sys.exit(main())
