#!/usr/bin/env python3
"""Builds the project that bf-aot --project writes for a target, runs it, and compares what its
README.md and its manifest state with what was built: flags, flash, variables, stack, calls.

With --link-time: the program does the same when the linker optimises it as a whole.

`cmake --build build --target run` must work without any edit, and so must the README's own
commands. Boards run under QEMU. Exit code 77: a tool or the network is missing.
"""

import argparse
import collections
import json
import pathlib
import re
import shutil
import sys
import tempfile

import embedded_verifier_test
import machine
from embedded_verifier_test import check

TOOLS = {"cortex-m": "arm-none-eabi", "cortex-r": "arm-none-eabi",
         "cortex-a53": "aarch64-linux-gnu", "cortex-a": "arm-linux-gnueabihf", "aarch64": "aarch64-linux-gnu",
         "riscv64": "riscv64-linux-gnu", "riscv32": "riscv64-unknown-elf"}


# More stack than its routines take.
MOST_OF_LIBGCC = 200


class Project:
    def __init__(self, options, folder):
        self.options = options
        self.folder = pathlib.Path(folder) / "project"
        self.board = options.target in machine.CPUS and bool(machine.CPUS[options.target].board)
        tools = next((tool for name, tool in TOOLS.items() if options.target.startswith(name)), "")
        self.prefix = tools + "-" if tools else ""
        emulator = machine.CPUS[options.target].emulator if tools else ""
        for tool in ["cmake", *([self.prefix + "g++", emulator] if tools else [])]:
            if not shutil.which(tool):
                raise machine.Unavailable(f"{tool} is not installed")
        if self.board:
            machine.Machine(options.target, folder)
        model, _ = embedded_verifier_test.find_network(options.network, pathlib.Path(folder))
        self.made_by = [options.bf_aot, model, "--name", "net", "--project", self.folder,
                        "--target", options.target, *options.option]
        machine.run(self.made_by)
        self.build_folder = self.folder / "build"
        self.readme = (self.folder / "README.md").read_text()
        self.manifest = json.loads((self.folder / "net.json").read_text())["build"]

    def tool(self, name, *arguments):
        return machine.run([self.prefix + name, *arguments])

    def target_flags(self):
        """That make code for the processor."""
        return [flag for flag in self.manifest["flags"] if flag.startswith("-m")]

    def build_and_run(self, *cmake):
        machine.run(["cmake", "-S", self.folder, "-B", self.build_folder, *cmake,
                     "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
                     *(["-DCMAKE_CXX_FLAGS=-fstack-usage", "-DCMAKE_C_FLAGS=-fstack-usage"]
                       if self.board else []), *self.options.cmake])
        machine.run(["cmake", "--build", self.build_folder])
        return machine.run(["cmake", "--build", self.build_folder, "--target", "run"])

    def stated(self, row):
        found = re.search(rf"^\| {re.escape(row)}[^|]* \| (\d+) \|$", self.readme, re.MULTILINE)
        check(found, f"README.md has no row '{row}':\n{self.readme}")
        return int(found[1])

    def sizes(self, archive):
        """Bytes of code and constants, data and zeroed data of the verifier's objects."""
        sums = [0, 0, 0]
        for line in self.tool("size", archive).splitlines()[1:]:
            if re.search(r"\s(bf\.|bf_runtime\.)", line):
                continue
            sums = [a + int(b) for a, b in zip(sums, line.split())]
        return sums


def check_output(project, text):
    for line in ["reading 0: ", "reading 9: ", "reading 7: falls back: NaN in the input box"]:
        check(line in text, f"the monitor does not print '{line}':\n{text}")
    check("falls back: unknown" in text, f"the monitor always proves:\n{text}")
    check(": proven" in text or "--spec" in project.options.option,
          f"the monitor never proves:\n{text}")


def check_flags(project):
    flags = project.manifest["flags"]
    check(f"flags `{' '.join(flags)}`" in project.readme, "README.md names other flags")
    built = json.loads((project.build_folder / "compile_commands.json").read_text())
    sources = {pathlib.Path(one["file"]).name: one["command"].split() for one in built}
    check({"net.cpp", "bf.cpp", "example.c"} <= set(sources), f"not compiled: {sources}")
    for name, command in sources.items():
        if not name.endswith(".cpp"):
            continue
        check(any(command[at:at + len(flags)] == flags for at in range(len(command))),
              f"{name} is compiled by other flags: {command}")


def check_sizes(project):
    built = project.sizes(project.build_folder / "libnet.a")
    shipped = project.sizes(project.folder / "libnet.a")
    check(built == shipped, f"sizes: built {built}, shipped {shipped}")
    flash, data, zeroed = built[0] + built[1], built[1], built[2]
    check(project.stated("flash: code and constants") == flash, f"flash: {flash}")
    check(project.stated("RAM: variables") == data + zeroed, f"variables: {data} + {zeroed}")
    record = project.manifest
    check((record["flash_bytes"], record["data_bytes"], record["zeroed_bytes"]) ==
          (flash, data, zeroed), f"the manifest: {record}, built {built}")
    code = 0
    for member in project.tool("size", "-A", project.build_folder / "libnet.a").split("\n\n"):
        if not re.match(r"\s*bf\.", member):
            texts = re.findall(r"^\.text\S*\s+(\d+)", member, re.MULTILINE)
            code += sum(map(int, texts))
    check(project.stated("of these: code") == record["code_bytes"] == code, f"code: {code}")
    check(project.stated("of these: constants") == flash - code, f"constants: {flash - code}")
    workspaces = [int(size) for size in
                  re.findall(r"^\| RAM: workspace[^|]*\| (\d+) \|$", project.readme, re.MULTILINE)]
    header = (project.folder / "net.h").read_text()
    check(project.stated("RAM: workspace, aligned") ==
          int(re.search(r"NET_WORKSPACE_BYTES (\d+)", header)[1]), f"workspaces: {workspaces}")
    ram = max(workspaces) + project.stated("RAM: variables") + project.stated("RAM: stack")
    if "NET_CONTEXT_BYTES" in header:
        ram += project.stated("RAM: context")
    check(project.stated("RAM: all") == ram, f"RAM: {ram}")
    print(f"  flash {flash}, variables {data + zeroed}, workspace "
          f"{project.stated('RAM: workspace')}, code {record['code_bytes']}")


def check_library(project, tail, calls):
    """The objects of the compiler's libraries that calls need are listed with their sizes, and what is
    linked into the program is among them."""
    listed = project.manifest["library"]
    if listed is None:
        check(not project.board, "the manifest of a board has no library")
        return
    # The linker for RISC-V makes calls shorter, in each program others.
    kept = 0.95 if project.options.target == "riscv32" else 1
    for each in listed:
        archive = project.tool("g++", *project.target_flags(),
                               f"-print-file-name={each['archive']}").strip()
        found = [line.split() for line in project.tool("size", archive).splitlines()
                 if line.split()[5:6] == [each["object"]]]
        sizes = [sum(map(int, words[:3])) for words in found]
        check(len(sizes) == 1 and kept * sizes[0] <= each["bytes"] <= sizes[0], f"{each}: {found}")
        shown = f"| {each['archive']}({each['object']}) | {each['bytes']} | "
        check(shown in tail, f"README.md: no {shown}")
    functions = [name for each in listed for name in each["functions"]]
    check(len(functions) == len(set(functions)) and set(functions) <= set(calls), f"{functions}")
    check(set(calls) - set(functions) <= {"memcpy", "memset"}, f"not found: {calls}, {functions}")
    program = project.tool("nm", "-S", "--defined-only", project.build_folder / "example.elf"
                           if (project.build_folder / "example.elf").exists()
                           else project.build_folder / "example")
    linked = {line.split()[-1]: int(line.split()[1], 16) for line in program.splitlines()
              if len(line.split()) == 4}
    for each in listed:
        for name in set(each["functions"]) & set(linked):
            check(kept * linked[name] <= each["bytes"], f"{name} has {linked[name]} bytes: {each}")


def check_work(project):
    """README.md and the manifest bound the work of a call alike."""
    manifest = json.loads((project.folder / "net.json").read_text())
    tail = project.readme[project.readme.index("## Time"):]
    if "work" not in manifest:  # of several levels
        check("dispatch" in manifest, "the manifest bounds no work")
        return
    for entry in manifest["work"]:
        words = "at most" if entry["operations_bounded"] else "about"
        section = tail[tail.index(f"`net_{entry['entry']}`: {words} {entry['operations']} "):]
        rows = dict(re.findall(r"^\| `?(.*?)`? \| (?:at most )?(\d+) \|$", section, re.MULTILINE))
        for call in entry["calls"]:
            check(call["function"] in rows, f"README.md lacks {call}")
        check(re.search(rf"\| `{re.escape(entry['calls'][0]['function'])}` \| (at most )?"
                        rf"{entry['calls'][0]['at_most']} \|", section), f"README.md: {section}")


def check_library_bytes(project):
    """The compiler's functions that come on top are those that a program of the whole verifier and
    nothing else links."""
    stated = project.manifest["library_bytes"]
    check(project.stated("flash: functions of the compiler's library") == stated, f"{stated}")
    linked = project.folder.parent / "whole.map"
    machine.run([project.prefix + "gcc", *project.target_flags(), "-nostdlib", "-Wl,-e,0",
                 "-Wl,--unresolved-symbols=ignore-all", "-Wl,--whole-archive",
                 project.build_folder / "libnet.a", "-Wl,--no-whole-archive", "-lgcc",
                 f"-Wl,-Map={linked}", "-o", linked.with_suffix(".elf")])
    text = linked.read_text()
    text = text[text.index("Linker script and memory map"):]
    rows = re.findall(r"^ \.(?:text|rodata|srodata|ARM\.ex)\S*\s+0x[0-9a-f]+\s+0x([0-9a-f]+)\s+"
                      r"\S*libgcc\.a\(", text, re.MULTILINE)
    counted = sum(int(size, 16) for size in rows)
    print(f"  of libgcc {counted}, stated {stated}")
    check(abs(counted - stated) <= 4 * len(rows), f"libgcc's functions: {counted}, stated {stated}")


def check_calls(project):
    used, held = set(), set()
    for line in project.tool("nm", "-g", project.build_folder / "libnet.a").splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == "U":
            used.add(words[1])
        elif len(words) == 3:
            held.add(words[2])
    calls = sorted(used - held - {"_GLOBAL_OFFSET_TABLE_"})
    check("bf_status_text" in held, "the library lacks bf_status_text")
    check(project.manifest["calls"] == calls, f"calls {calls}: {project.manifest}")
    tail = project.readme[project.readme.index("The library calls"):]
    tail = re.split("The stack above|## Time", tail)[0]
    check(re.findall(r"`([^`]+)`", tail) == calls, f"README.md: {tail}")
    check_library(project, tail, calls)
    return calls


def check_stack(project, text, calls):
    """No chain of calls is deeper than stated, nor is a call that was run."""
    stated = project.stated("RAM: stack of one call, at most")
    check(project.manifest["stack_bytes"] == stated, f"the manifest: {project.manifest}")
    frames = collections.defaultdict(int)  # of functions with one name: their sum
    for report in project.build_folder.rglob("*.su"):
        for line in report.read_text().splitlines():
            place, frame, kind = line.split("\t")
            check(kind in ("static", "dynamic,bounded"), f"a frame without a size: {line}")
            frames[place.split(":")[-1]] += int(frame)
    most = sum(frames.values()) + MOST_OF_LIBGCC * any(name.startswith("__") for name in calls)
    check(stated <= most, f"{stated} is more than all frames: {dict(frames)}")
    check(stated >= max(frame for name, frame in frames.items() if "net_" in name),
          f"{stated} is less than a frame: {dict(frames)}")
    uncounted = project.manifest["uncounted"]  # of them board.c holds what is needed
    check(set(uncounted) <= {"memcpy", "memset"} & set(calls), f"uncounted: {uncounted}")
    elsewhere = max([0] + [frames[name] for name in uncounted])
    used = int(re.search(r"^bytes of stack of a call: (\d+)$", text, re.MULTILINE)[1])
    check(0 < used <= stated + elsewhere, f"stated {stated} and {elsewhere}, used {used}")
    print(f"  stack {used}, stated {stated}, and {elsewhere} of what it calls elsewhere")


def check_texts(project):
    """A program that calls bf_status_text alone links nothing else of the library's."""
    source = project.folder.parent / "texts.c"
    source.write_text('#include "bf.h"\nint main(void) { return bf_status_text(BF_OK)[0]; }\n')
    program = source.with_suffix(".elf")
    more = []
    if project.board:
        start = [project.folder / "board.c", project.folder / "console.c"]
        more = [*project.target_flags(), "-Os", "-ffreestanding", "-nostdlib", "-T",
                project.folder / "board.ld", *start, "-fno-tree-loop-distribute-patterns"]
    machine.run([project.prefix + "gcc", "-std=c99", f"-I{project.folder}", "-Wl,--gc-sections",
                 *more, source, project.build_folder / "libnet.a",
                 *(["-lgcc"] if project.board else []), "-o", program])
    names = {line.split()[-1] for line in project.tool("nm", program).splitlines()}
    check("bf_status_text" in names and not any(name.startswith("net_") for name in names), names)
    if project.board:  # each function has a section of its own
        more = {"bf_verdict_text", "bf_version", *project.manifest["calls"]} - {"memcpy", "memset"}
        check(not names & more, f"bf_status_text brings {names & more}")


def check_commands(project, text):
    """The README's own commands, in a folder without what was built."""
    section = project.readme[project.readme.index("Without CMake"):]
    lines = re.findall(r"^    (.*)$", section[:section.index("## Use")], re.MULTILINE)
    copy = project.folder.parent / "copy"
    shutil.copytree(project.folder, copy, ignore=shutil.ignore_patterns("build", "*.a"))
    script = copy / "commands.sh"
    script.write_text("set -e\ncd " + str(copy) + "\n" + "\n".join(lines) + "\n")
    output = machine.run(["sh", script])
    shown = ("reading", "output", "row", "bytes")
    printed = [[line for line in one.splitlines() if line.startswith(shown)]
               for one in (text, output)]
    check(printed[0] == printed[1], f"CMake's program prints\n{text}\nthis one\n{output}")
    check(project.sizes(copy / "libnet.a") == project.sizes(project.folder / "libnet.a"),
          "other sizes")


def check_link_time(options, folder):
    """Optimised as a whole by the linker, the program prints the same."""
    project = Project(options, folder)
    texts = []
    for whole in ("OFF", "ON"):
        project.build_folder = project.folder / f"build_{whole}"
        text = project.build_and_run(f"-DCMAKE_INTERPROCEDURAL_OPTIMIZATION={whole}")
        check_output(project, text)
        texts.append([line for line in text.splitlines() if line.startswith(("reading", "output"))])
    check(texts[0] == texts[1], f"by the linker:\n{texts[1]}\nelse\n{texts[0]}")


def test(options, folder):
    if options.link_time:
        check_link_time(options, folder)
        return
    project = Project(options, folder)
    text = project.build_and_run()
    check_output(project, text)
    check_flags(project)
    check_sizes(project)
    check_work(project)
    calls = check_calls(project)
    if project.board:
        check_library_bytes(project)
        check_stack(project, text, calls)
    check_texts(project)
    check_commands(project, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bf-aot", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--network", default="collision_avoidance_6x50")
    parser.add_argument("--cmake", action="append", default=[], help="an argument of CMake's")
    parser.add_argument("--link-time", action="store_true", help="optimised by the linker, too")
    parser.add_argument("option", nargs="*", help="of bf-aot, after --")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as folder:
            test(options, folder)
    except machine.Unavailable as missing:
        print(f"skipped: {missing}")
        return machine.SKIP
    except machine.Failure as failure:
        print(f"failed: {failure}")
        return 1
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
