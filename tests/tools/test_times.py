"""Holds the times of CTest's labels to budgets: test_times.py LOG BUILD prints a table, and never fails.

LOG is what ctest printed, BUILD the folder that it ran in. Budgets are multiples of a loop that this machine runs first, so
that they mean the same on a slow one. What is over its budget is marked: it became slower, or has more to do; then
make it faster, or raise its budget here and say why.
"""
import json
import re
import subprocess
import sys
import time

# Times of a label, all processors together, in units of calibrate(): some 0.55 s where these were set.
BUDGETS = {
    "quick": 220, "unit": 260, "golden": 20, "errors": 20, "property": 60, "fuzz": 60, "tools": 80, "runtime": 420,
    "embedded": 500, "soundness": 1300, "conformance": 380, "python": 200, "cli": 900, "docs": 350, "package": 250,
    "integer": 100, "level": 350,
}


def calibrate():
    """Seconds of a loop of fixed length, the least of three."""
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        total = 0
        for i in range(6_000_000):
            total += i & 7
        best = min(best, time.perf_counter() - start)
    return best


def labels_of(build):
    listed = json.loads(subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"],
                                       capture_output=True, check=True, text=True).stdout)
    found = {}
    for test in listed["tests"]:
        for each in test.get("properties", []):
            if each["name"] == "LABELS":
                found[test["name"]] = each["value"]
    return found


def times_in(log):
    line = re.compile(r"Test +#\d+: (\S+) \.+.* ([0-9.]+) sec")
    return {match.group(1): float(match.group(2)) for match in map(line.search, log) if match}


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
        times = times_in(log)
    labels = labels_of(sys.argv[2])
    unit = calibrate()
    sums = {}
    for name, seconds in times.items():
        for label in labels.get(name, ["none"]):
            sums[label] = sums.get(label, 0) + seconds
    print(f"{'label':14}{'seconds':>9}{'budget':>9}   (a unit takes {unit:.2f} s here)")
    for label, seconds in sorted(sums.items(), key=lambda each: -each[1]):
        budget = BUDGETS.get(label)
        limit = f"{budget * unit:9.0f}" if budget else "        –"
        over = "   over its budget" if budget and seconds > budget * unit else ""
        print(f"{label:14}{seconds:9.0f}{limit}{over}")
    print("the longest:")
    for name, seconds in sorted(times.items(), key=lambda each: -each[1])[:15]:
        print(f"{seconds:9.1f} s  {name}")


if __name__ == "__main__":
    main()
