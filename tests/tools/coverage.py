#!/usr/bin/env python3
"""Statement, branch and condition coverage of generated verifiers and of the runtime that they include.

    coverage.py BF_AOT BUILD OUT [--verifiers] [--runtime] [--keep] [--least PERCENT]

Two sets of tests, compiled by clang 19 with its coverage map (statements, branches, MC/DC):

  verifiers  every function of generated verifiers, with good and with bad arguments (ENTRIES); with a context, and as
             they decide, by the tests of tests/embedded on this machine (MORE)
  runtime    the tests of tests/runtime that are programs of their own: see RUNTIME

OUT/coverage.md has the tables, OUT/uncovered.txt the lines that no test ran, OUT/coverage.json llvm-cov's own report.
BUILD has the planner's library, which some of the runtime's tests link. Exit code 1: a test failed, a statement of the
verifiers of ENTRIES was not run, or fewer of the runtime's than --least percent were.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests/embedded"))
import embedded_verifier_test  # noqa: E402
import machine  # noqa: E402
import run_embedded  # noqa: E402

VERSION = "19"
COVERAGE = ("-fprofile-instr-generate", "-fcoverage-mapping", "-fcoverage-mcdc")
# Network and options of verifiers; those of models/properties/ have a property.
ENTRIES = [*((network, method) for method in ("ibp", "crown-ibp", "crown")
             for network in ("collision_avoidance_6x50", "dense", "conv", "sigmoid", "quantised")),
           ("digits_64x2", "crown"), ("quantised_dense", "integer"), ("quantised_image", "integer")]
# Network, method, test of tests/embedded/embedded_verifier_test.py.
MORE = [("collision_avoidance_6x50", "ibp", "context"), ("collision_avoidance_6x50", "crown", "context"),
        ("collision_avoidance_6x50", "ibp", "decide"), ("digits_64x2", "crown", "neurons"),
        ("gated", "crown", "neurons")]
# Programs of tests/runtime: name, further sources; those that link the planner.
RUNTIME = [*((f"{name}_test.cpp",) for name in
             ("rows", "terms", "planes", "contraction", "log_softmax", "slopes", "windows", "live", "lines", "balls",
              "one_hot", "clip", "constants", "chains", "branch_and_bound")),
           ("relax_test.cpp", "lanes_test.cpp")]
PLANNED = [("c/*_test.cpp", "functions_oracle.cpp", "c/*.c")]
CONSTANTS = "-fconstexpr-steps=100000000"  # the planner computes tables while it is compiled
PLANNER = ("frontend/CMakeFiles/bf_no_source_state.dir/no_source_state.cpp.o", "planner/libbf_planner.a",
           "frontend/libbf_frontend.a", "onnx_schema/libbf_onnx_schema.a", "runtime/libbf_runtime.a")
KINDS = {"lines": "statements", "branches": "branches", "mcdc": "MC/DC"}


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **more)
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode}: {' '.join(map(str, command))}\n{done.stdout[-4000:]}")
    return done.stdout


class Programs:
    """What was built and run with coverage: the programs of a folder, and their profiles."""

    def __init__(self, out):
        self.out = out
        for folder in ("profiles", "programs", "cases"):
            (out / folder).mkdir(parents=True, exist_ok=True)

    def profile(self, name):
        return {"LLVM_PROFILE_FILE": str(self.out / "profiles" / f"{name}-%p.profraw")}

    def ran(self, name):
        return any((self.out / "profiles").glob(f"{name}-*.profraw"))

    def report(self):
        merged = self.out / "all.profdata"
        run(f"llvm-profdata-{VERSION}", "merge", *sorted((self.out / "profiles").glob("*.profraw")), "-o",
            merged)
        objects = [word for program in sorted((self.out / "programs").iterdir()) for word in ("-object", program)][1:]
        common = [*objects, f"-instr-profile={merged}", "-ignore-filename-regex=/(usr|tests|frontend|planner)/"]
        text = subprocess.run([f"llvm-cov-{VERSION}", "export", "-skip-functions", *common], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        (self.out / "coverage.json").write_text(text)
        lcov = subprocess.run([f"llvm-cov-{VERSION}", "export", "-format=lcov", "-skip-functions", *common], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        return json.loads(text)["data"][0]["files"], lcov


def run_entries(bf_aot, programs):
    for network, method in ENTRIES:
        name = f"{method}, {network}"
        if programs.ran(name):
            continue
        print(f"  {name}", flush=True)
        folder = programs.out / "cases" / name
        folder.mkdir()
        model, golden = embedded_verifier_test.find_network(network, folder)
        kinds = ("integer", "ibp") if method == "integer" else ("float", method)
        options = ["--arithmetic", kinds[0], "--method", kinds[1]]
        property_file = SOURCE / "models/properties" / f"{network}.vnnlib"
        flags = ["-DANY_FLOAT_MODE"] if method == "integer" else []
        if property_file.exists():
            options += ["--property", property_file]
            flags += ["-DHAS_PROPERTY", "-DHAS_SPEC"]
        run(bf_aot, model, "--name", "net", "--target", "generic", "--no-library", "-o", folder / "verifier.cpp",
            *options)
        boxes = run_embedded.boxes_header(run_embedded.read_boxes(golden, 6))
        (folder / "test_boxes.h").write_text(boxes)
        program = programs.out / "programs" / name
        run(f"clang++-{VERSION}", "-std=c++17", "-O1", *COVERAGE, f"-I{SOURCE / 'runtime'}", f"-I{folder}",
            '-DVERIFIER_HEADER="verifier.h"', "-DVERIFIER=net", "-DVERIFIER_UPPER=NET", *flags,
            SOURCE / "tests/embedded/every_entry.cpp", folder / "verifier.cpp", "-o", program)
        run(program, env=os.environ | programs.profile(name))


def run_more(bf_aot, programs):
    """By the tests of embedded targets, with this machine as the target."""
    machine.CPUS["coverage"] = dataclasses.replace(machine.CPUS["host"], compiler=f"clang++-{VERSION}", flags=COVERAGE)
    embedded_verifier_test.TARGETS["coverage"] = "generic"
    machine.PORT = ["-Os"]  # its other flag is GCC's
    link = machine.Machine.link
    for network, method, test in MORE:
        name = f"{method}, {test}, {network}"
        if programs.ran(name):
            continue
        print(f"  {name}", flush=True)

        def link_and_keep(self, objects, kept=programs.out / "programs" / name):
            program = link(self, objects)
            if self.cpu.flags == COVERAGE:
                shutil.copy(program, kept)
            return program

        machine.Machine.link = link_and_keep
        folder = programs.out / "cases" / name
        folder.mkdir()
        options = argparse.Namespace(bf_aot=bf_aot, network=network, cpu="coverage", method=method, limit=6, test=test)
        os.environ |= programs.profile(name)
        embedded_verifier_test.TESTS[test](embedded_verifier_test.Case(options, folder))
    machine.Machine.link = link


def run_runtime(build, programs):
    tests = SOURCE / "tests/runtime"
    for files in [*RUNTIME, *PLANNED]:
        sources = [path for pattern in files for path in sorted(tests.glob(pattern))]
        name = sources[0].stem
        if programs.ran(name):
            continue
        program = programs.out / "programs" / name
        print(f"  {name}", flush=True)
        more = [build / library for library in PLANNER] if files in PLANNED else []
        flags = ["-O1" if more else "-O0", "-ffp-contract=off", CONSTANTS, *COVERAGE, *(f"-I{folder}" for folder in (
            SOURCE, SOURCE / "runtime", tests, tests / "c", build / "generated"))]
        for at, source in enumerate(sources):
            if source.suffix == ".c":
                sources[at] = programs.out / "cases" / f"{source.stem}.o"
                run(f"clang-{VERSION}", "-std=c99", *flags, "-c", source, "-o", sources[at])
        libraries = ["-lfmt", "-lprotobuf-lite", "-lz", "-lnettle"] if more else []
        run(f"clang++-{VERSION}", "-std=c++20", *flags, *sources, *more, "-lgtest_main", "-lgtest", *libraries,
            "-lmpfr", "-lgmpxx", "-lgmp", "-o", program)
        run(program, "--gtest_brief=1", env=os.environ | programs.profile(name))


def subject(file, out):
    """The row that a file counts in: a folder of the runtime, or a generated verifier, of which MORE calls a part."""
    path = pathlib.Path(file)
    if path.is_relative_to(out / "cases"):
        name = path.relative_to(out / "cases").parts[0]
        return f"generated: {name}" if name.count(",") == 1 else f"in part: {name}"
    return str(path.relative_to(SOURCE).parent)


def table(files, out):
    rows = {}
    for file in files:
        if not file["summary"]["lines"]["count"]:
            continue
        row = rows.setdefault(subject(file["filename"], out), {kind: [0, 0] for kind in KINDS})
        for kind, sums in row.items():
            counts = file["summary"].get(kind, {"covered": 0, "count": 0})
            sums[0] += counts["covered"]
            sums[1] += counts["count"]
    return dict(sorted(rows.items()))


def share(covered, count):
    return f"{covered} of {count}, {100 * covered / count:.1f} %" if count else "none"


def page(rows):
    lines = ["| code | " + " | ".join(KINDS.values()) + " |", "|---|---|---|---|"]
    for name, row in rows.items():
        lines.append(f"| {name} | " + " | ".join(share(*row[kind]) for kind in KINDS) + " |")
    return "\n".join(lines) + "\n"


def uncovered(lcov):
    file, found = "", []
    for line in lcov.splitlines():
        if line.startswith("SF:"):
            file = line[3:]
        elif line.startswith("DA:") and line.endswith(",0"):
            found.append(f"{file}:{line[3:-2]}")
    return "\n".join(found) + "\n"


def totals(rows):
    both = {"runtime": {kind: [0, 0] for kind in KINDS}, "generated code": {kind: [0, 0] for kind in KINDS}}
    for name, row in rows.items():
        if name.startswith("in part"):
            continue
        total = both["generated code" if name.startswith("generated") else "runtime"]
        for kind, (covered, count) in row.items():
            total[kind][0] += covered
            total[kind][1] += count
    return {f"all: {name}": row for name, row in both.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bf_aot", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--verifiers", action="store_true", help="this set alone")
    parser.add_argument("--runtime", action="store_true", help="this set alone")
    parser.add_argument("--keep", action="store_true", help="add what is missing to what OUT has of a former run")
    parser.add_argument("--least", type=float, default=0)
    options = parser.parse_args()
    out = options.out.resolve()
    if not options.keep:
        shutil.rmtree(out, ignore_errors=True)
    programs = Programs(out)
    both = options.verifiers == options.runtime
    if options.verifiers or both:
        run_entries(options.bf_aot.resolve(), programs)
        run_more(options.bf_aot.resolve(), programs)
    if options.runtime or both:
        run_runtime(options.build.resolve(), programs)
    files, lcov = programs.report()
    rows = table(files, out)
    rows |= totals(rows)
    (out / "coverage.md").write_text(page(rows))
    (out / "uncovered.txt").write_text(uncovered(lcov))
    print(page(rows))
    covered, count = rows["all: generated code"]["lines"]
    if covered < count:
        sys.exit(f"{share(covered, count)} of generated statements were run, all of them wanted")
    covered, count = rows["all: runtime"]["lines"]
    if 100 * covered < options.least * count:
        sys.exit(f"{share(covered, count)} of the runtime's statements were run, at least {options.least} % wanted")


if __name__ == "__main__":
    main()
