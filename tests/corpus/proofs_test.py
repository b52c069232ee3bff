"""Certificates of the corpus's questions: proofs_test.py [--seconds S] [--csv FILE] [BENCHMARK...].

Each question that bf-aot decides in 20 s and whose operators the checker covers is decided with --proof, and what is
written must check with the same answer. A question without a certificate in S seconds is counted, not failed; a
certificate that does not check is a failure. BF_CHECK: the program bf-check.
"""

import argparse
import csv
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(os.environ["BF_SOURCE_DIR"])
SHARED = pathlib.Path(os.environ.get("BF_SHARED", SOURCE.parent / "shared"))
SAMPLE = ("acasxu", "mnist_fc", "cifar10_resnet", "oval21_2021", "rl_benchmarks", "reach_prob_density", "verivital",
          "marabou-cifar10", "test", "eran")


def expanded(path, folder):
    """The file itself, or what a compressed one expands to; null where neither is there."""
    if path.exists():
        return path
    packed = path.with_name(path.name + ".gz")
    if not packed.exists():
        return None
    plain = folder / path.name
    plain.write_bytes(gzip.decompress(packed.read_bytes()))
    return plain


def decide(question, proof, seconds):
    """The object that verify prints, with the time of the whole command; errors as they are."""
    begin = time.perf_counter()
    ended = subprocess.run([os.environ["BF_AOT"], "verify", *map(str, question), "--proof", str(proof), "--json",
                            "--jobs", "1", "--timeout", "20", "--proof-seconds", str(seconds)],
                           capture_output=True, text=True)
    found = json.loads(ended.stdout)
    return found | {"command_seconds": time.perf_counter() - begin}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--csv", type=pathlib.Path)
    parser.add_argument("benchmarks", nargs="*", default=SAMPLE)
    arguments = parser.parse_args()
    if not (SHARED / "corpus").is_dir():
        print("skipped: no corpus beside the sources")
        return 0
    rows, failures = [], 0
    for benchmark in arguments.benchmarks:
        folder = SHARED / "corpus" / benchmark
        with open(folder / "instances.csv", encoding="utf-8") as file:
            instances = [line[:2] for line in csv.reader(file)]
        for network, property_ in instances:
            with tempfile.TemporaryDirectory() as work:
                work = pathlib.Path(work)
                question = [expanded(folder / name, work) for name in (network, property_)]
                if None in question:
                    continue
                proof = work / "answer.bfc"
                found = decide(question, proof, arguments.seconds)
                row = {"benchmark": benchmark, "network": pathlib.Path(network).name,
                       "property": pathlib.Path(property_).name, "verdict": found.get("verdict", "error"),
                       "decide": found.get("decide_seconds", ""), "bytes": "", "leaves": "", "make": "", "check": ""}
                if "proof" in found:
                    begin = time.perf_counter()
                    code = subprocess.run([os.environ["BF_CHECK"], *map(str, question), str(proof)],
                                          capture_output=True).returncode
                    row |= {"bytes": found["proof"]["bytes"], "leaves": found["proof"].get("leaves", ""),
                            "make": found["proof"]["seconds"], "check": time.perf_counter() - begin}
                    if code != {"verified": 0, "falsified": 3}[found["verdict"]]:
                        print("FAILED:", benchmark, network, property_, "exit code", code)
                        failures += 1
                elif "errors" in found:
                    row["verdict"] = found["errors"][0]["code"]
                    if row["verdict"] not in ("BF3022", "BF3023"):
                        print("FAILED:", benchmark, network, property_, found["errors"][0])
                        failures += 1
                rows.append(row)
                print(",".join(f"{x:.3f}" if isinstance(x, float) else str(x) for x in row.values()), flush=True)
    if arguments.csv and rows:
        with open(arguments.csv, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
    print(f"{len(rows)} questions, {sum(row['bytes'] != '' for row in rows)} certificates, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
