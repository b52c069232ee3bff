#!/usr/bin/env python3
"""Makes the folder of a tool qualification kit, of what the repository and its tests have:

    qualification.py SOURCE BUILD OUT JUNIT...

JUNIT: what `ctest --output-junit` wrote, of as many runs as there were. docs/guide/qualification.md says what each file
is for. Exit code 1: a requirement has a test that failed, or none that passed; the folder is written and says so.
"""

import hashlib
import pathlib
import platform
import shutil
import subprocess
import sys

import requirements

PAGES = {"plan.md": "docs/guide/qualification.md", "requirements.json": "docs/reference/requirements.json",
         "known_problems.md": "docs/reference/errata.md"}
MADE = {"coverage.md": "coverage/coverage.md", "uncovered.txt": "coverage/uncovered.txt"}
TOOLS = ("c++", "clang++", "arm-none-eabi-g++", "riscv64-unknown-elf-g++", "powerpc-linux-gnu-g++", "qemu-system-arm",
         "cmake", "python3")


def first_line(*command):
    """Of what a command says; empty where there is none."""
    if shutil.which(command[0]) is None:
        return ""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.splitlines()[0] if done.stdout else ""


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def configuration(source, build):
    """What was qualified, and in what environment."""
    lines = ["# Configuration", "", "| item | identity |", "|---|---|"]
    commit = first_line("git", "-C", str(source), "describe", "--always", "--dirty", "--long")
    lines.append(f"| sources | {commit or 'no repository: the version below names them'} |")
    for program in ("aot/bf-aot", "aot/bf-check"):
        path = build / program
        if path.exists():
            said = first_line(str(path), "--version")
            lines.append(f"| {path.name} | {said}{', ' if said else ''}SHA-256 `{digest(path)}` |")
    lines.append(f"| system | {platform.platform()}, {platform.machine()} |")
    for tool in TOOLS:
        if said := first_line(tool, "--version"):
            lines.append(f"| {tool} | {said} |")
    return "\n".join(lines) + "\n"


def verification(source, ended, runs):
    """Cases and results; with the numbers of requirements that they do not show."""
    table, open_ones = requirements.results(source, ended)
    counts = {kind: sum(end == kind for end in ended.values()) for kind in ("passed", "failed", "skipped")}
    text = "# Verification cases and results\n\n"
    text += (f"Of {len(runs)} runs of ctest ({', '.join(f'`{run.name}`' for run in runs)}): {counts['passed']} tests "
             f"passed, {counts['failed']} failed, {counts['skipped']} were skipped. A case is a test whose name begins "
             "with an expression of the third column; `ctest -R EXPRESSION` runs it again.\n\n")
    text += f"Requirements that are not shown: {', '.join(open_ones) or 'none'}.\n\n"
    failed = sorted(name for name, end in ended.items() if end == "failed")
    text += "".join(f"- failed: `{name}`\n" for name in failed) + ("\n" if failed else "")
    return text + table, open_ones


def main():
    source, build, out = map(pathlib.Path, sys.argv[1:4])
    runs = [pathlib.Path(run) for run in sys.argv[4:]]
    out.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        shutil.copy(source / page, out / name)
    for name, made in MADE.items():
        if (build / made).exists():
            shutil.copy(build / made, out / name)
    if (build / "bf-aot.spdx.json").exists():
        shutil.copy(build / "bf-aot.spdx.json", out)
    ended = {}
    for number, run in enumerate(runs, 1):
        shutil.copy(run, out / f"results_{number}.xml")
        ended |= requirements.outcomes(run)
    text, open_ones = verification(source, ended, runs)
    (out / "verification.md").write_text(text)
    (out / "requirements.md").write_text(requirements.page(source))
    (out / "configuration.md").write_text(configuration(source, build))
    files = sorted(path for path in out.iterdir() if path.name != "SHA256SUMS")
    (out / "SHA256SUMS").write_text("".join(f"{digest(path)}  {path.name}\n" for path in files))
    print(f"{out}: {len(files)} files; requirements that are not shown: {', '.join(open_ones) or 'none'}")
    return 1 if open_ones else 0


if __name__ == "__main__":
    sys.exit(main())
