"""Measures how long bf-aot and the C++ compiler take, and how much code comes out.

    python3 bench/compile_report.py [--bf-aot PROGRAM] [--method crown] [--target host] [--most 60]
        [--most-code 1048576] [--worst 10] [--out FILE.json] NETWORK_OR_FOLDER...

Compiles every network (folders are searched for *.onnx and *.onnx.gz), one after the other, into a
temporary folder. Prints the slowest and the largest as a Markdown table: seconds of the clock and of
processors for everything, seconds for reading, planning and printing alone (--no-library), bytes of
machine code and of the largest function, lines of source. Exit code 1 where a network fails or is over
a limit (--most, seconds of the clock; --most-code, bytes), and says which.
"""

import argparse
import json
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time


def networks_in(paths):
    found = []
    for path in map(pathlib.Path, paths):
        names = sorted(path.rglob("*.onnx*")) if path.is_dir() else [path]
        found += [name for name in names if name.name.endswith((".onnx", ".onnx.gz"))]
    return found


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def timed(command, folder):
    before, start = children_seconds(), time.monotonic()
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return process, time.monotonic() - start, children_seconds() - before


def code_bytes(archive):
    """The bytes of the sections .text* of all objects."""
    text = subprocess.run(["size", "-A", "-d", archive], capture_output=True, text=True,
                          check=True).stdout
    return sum(int(size) for size in re.findall(r"^\.text\S*\s+(\d+)", text, re.MULTILINE))


def largest_function(archive):
    text = subprocess.run(["nm", "-S", "-C", "--size-sort", archive], capture_output=True, text=True,
                          check=True).stdout
    sizes = re.findall(r"^[0-9a-f]+ ([0-9a-f]+) [tTwW] (.*)$", text, re.MULTILINE)
    size, name = max(((int(size, 16), name) for size, name in sizes), default=(0, ""))
    return size, re.sub(r"\(.*", "", name.replace("(anonymous namespace)::", ""))


def tokens_of(network):
    """What a network of token ids is read with: the file of sets beside it."""
    sets = network.parent / "sentence.json"
    return ["--tokens", str(sets)] if sets.exists() else []


def measure(program, options, network):
    with tempfile.TemporaryDirectory() as folder:
        command = [program, str(network.resolve()), *options, *tokens_of(network.resolve()),
                   "-o", "verifier.cpp"]
        process, seconds, processor = timed(command, folder)
        row = {"network": "/".join(network.parts[-3:]), "seconds": seconds, "processor": processor}
        if process.returncode != 0:
            row["error"] = process.stderr.strip().splitlines()[0] if process.stderr else "killed"
            return row
        archive = pathlib.Path(folder) / "libverifier.a"
        row["code"] = code_bytes(archive)
        row["largest"], row["function"] = largest_function(archive)
        row["lines"] = (pathlib.Path(folder) / "verifier.cpp").read_bytes().count(b"\n")
        row["generate"] = timed([*command, "--no-library"], folder)[1]
        return row


def table(rows):
    lines = ["| network | seconds | of processors | reading, planning, printing | code, bytes | "
             "largest function | lines |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        lines.append(f"| {row['network']} | {row['seconds']:.1f} | {row['processor']:.1f} | "
                     f"{row['generate']:.1f} | {row['code']:,} | {row['largest']:,} "
                     f"`{row['function'][:40]}` | {row['lines']:,} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--bf-aot", default="bf-aot")
    parser.add_argument("--method", default="crown")
    parser.add_argument("--target", default="host")
    parser.add_argument("--most", type=float, default=60)
    parser.add_argument("--most-code", type=int, default=1 << 20)
    parser.add_argument("--worst", type=int, default=10)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    program = shutil.which(arguments.bf_aot)
    if program is None:
        sys.exit(f"no such program: {arguments.bf_aot}")
    program = str(pathlib.Path(program).resolve())  # it runs in folders of its own
    options = ["--method", arguments.method, "--target", arguments.target]
    rows, problems = [], []
    for network in networks_in(arguments.networks):
        row = measure(program, options, network)
        rows.append(row)
        if "error" in row:
            problems.append(f"{row['network']}: {row['error']}")
            continue
        print(f"{row['network']}: {row['seconds']:.1f} s, {row['code']} bytes", file=sys.stderr,
              flush=True)
        if row["seconds"] > arguments.most:
            problems.append(f"{row['network']}: {row['seconds']:.1f} s")
        if row["code"] > arguments.most_code:
            problems.append(f"{row['network']}: {row['code']} bytes of code")
    if arguments.out:
        pathlib.Path(arguments.out).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    made = [row for row in rows if "error" not in row]
    by_time = sorted(made, key=lambda row: -row["seconds"])[:arguments.worst]
    by_code = sorted(made, key=lambda row: -row["code"])[:arguments.worst]
    print(table(by_time + [row for row in by_code if row not in by_time]))
    total = sum(row["seconds"] for row in made)
    print(f"\n{len(made)} of {len(rows)} networks in {total:.0f} s")
    for problem in problems:
        print(f"over the limit or failed: {problem}")
    return 1 if problems or not made else 0


if __name__ == "__main__":
    sys.exit(main())
