"""bench/report.py and compare.py on the kept baseline: report_test.py SOURCE_FOLDER SCRATCH_FOLDER."""

import json
import pathlib
import subprocess
import sys


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    bench = source / "bench"
    sys.path.insert(0, str(bench))
    import report  # pylint: disable=import-outside-toplevel

    kept = json.loads((bench / "baseline.json").read_text(encoding="utf-8"))
    machine, figures = kept["machine"], kept["figures"]
    rows = list(report.rows_of(machine, figures))
    goals = {(name, goal) for name, _, _, goal, _, _ in rows if goal is not None}
    kernels = {name.split("/", 1)[1].replace("_live", "") for name in figures if "kernel/" in name}

    def unused_of(table, names):
        """Rows that are the first to fit none of the names."""
        found = {next((g for g in table if name.startswith(g[0])), None) for name in names}
        return [g for g in table if g not in found]

    convolutions = [name.split("/", 1)[1] for name in figures if name.startswith("conv/")]
    priced = [name.split("/", 1)[1].replace("_live", "") for name in figures
              if "soundness_percent" in figures[name]]
    verifiers = [name.split("/")[1:3] for name in figures if name.startswith("verifier/")]
    unused = [g for g in unused_of(report.KERNEL_GOALS, kernels)
              + unused_of(report.CONV_GOALS, convolutions) if g[2] is not None]
    unused += unused_of(report.SOUNDNESS_GOALS, priced)
    unused += [g for g in report.PEER_GOALS
               if not any(n.startswith(g[0]) and m.startswith(g[1]) for n, m in verifiers)]
    unused += [name for name in report.LINES_GOALS if f"batch/{name}/forward/64" not in figures]
    unused += [g for g in report.BUILD_MODELS if f"build/{g[0]}" not in figures]
    name = "kernel/backward_affine_live_256x256_rows32"
    broken = json.loads(json.dumps(figures))
    broken[name]["peak_percent"] = 10
    missed = [row[0] for row in report.rows_of(machine, broken) if not row[5]]
    narrow = {row[0:4:3] for row in report.rows_of({"vector_bytes": "32"}, figures)}

    def compare(new):
        path = pathlib.Path(sys.argv[2]) / "report_test_new.json"
        path.write_text(json.dumps({"machine": {}, "figures": new}), encoding="utf-8")
        return subprocess.run([sys.executable, bench / "compare.py", bench / "baseline.json", path],
                              capture_output=True, text=True, check=False)

    same, worse = compare(figures), compare(broken)
    checks = {
        "every goal is one of something that is measured": not unused,
        "kernels through lists have the goals of those without": (name, 93) in goals,
        "shorter vectors have goals of their own": (name, 88) in narrow,
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
