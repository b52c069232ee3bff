"""bench/report.py and compare.py on the kept baseline: report_test.py SOURCE_FOLDER."""

import json
import pathlib
import subprocess
import sys


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    bench = source / "bench"
    sys.path.insert(0, str(bench))
    import report  # pylint: disable=import-outside-toplevel

    figures = json.loads((bench / "baseline.json").read_text(encoding="utf-8"))["figures"]
    rows = list(report.rows_of(figures))
    goals = {(name, goal) for name, _, _, goal, _, _ in rows if goal is not None}
    kernels = {name.split("/", 1)[1].replace("_live", "") for name in figures if "kernel/" in name}

    def first(goal, name):
        return next(g for g in report.KERNEL_GOALS if name.startswith(g[0])) == goal

    unused = [g[0] for g in report.KERNEL_GOALS if not any(first(g, name) for name in kernels)
              if g[2] is not None]
    unused += [g[0] for g in report.CONV_GOALS
               if g[2] is not None and not any(n.startswith("conv/" + g[0]) for n in figures)]
    unused += [g[:2] for g in report.PEER_GOALS
               if not any(n.startswith("verifier/" + g[0]) and n.split("/")[2].startswith(g[1])
                          for n in figures if n.count("/") > 2)]
    name = "kernel/backward_affine_live_256x256_rows32"
    broken = json.loads(json.dumps(figures))
    broken[name]["peak_percent"] = 10
    missed = [row[0] for row in report.rows_of(broken) if not row[5]]

    def compare(new):
        path = pathlib.Path(sys.argv[2]) / "report_test_new.json"
        path.write_text(json.dumps({"machine": {}, "figures": new}), encoding="utf-8")
        return subprocess.run([sys.executable, bench / "compare.py", bench / "baseline.json", path],
                              capture_output=True, text=True, check=False)

    same, worse = compare(figures), compare(broken)
    checks = {
        "every goal is one of something that is measured": not unused,
        "kernels through lists have the goals of those without": (name, 93) in goals,
        "what falls below its goal is missed": name in missed,
        "nothing is worse than itself": same.returncode == 0 and " 0 worse" in same.stdout,
        "what is worse is named": worse.returncode == 1 and f"worse   {name}" in worse.stdout,
    }
    for text, holds in checks.items():
        print("ok" if holds else "FAILED", text)
    print(*unused)
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
