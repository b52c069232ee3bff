#!/usr/bin/env python3
"""Uses the installed CMake package to cross compile: cross_test.py BUILD SOURCE MACHINE, one of
cross/MACHINE.cmake.

The host's architecture does not matter, the target follows from the toolchain file, options of the
command line go through, and what a verifier depends on makes it again. Programs run under QEMU.
Exit code 77: a tool is missing.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

TOOLS = {"cortex-m4": ["arm-none-eabi-g++", "qemu-system-arm"],
         "cortex-m55": ["arm-none-eabi-g++", "qemu-system-arm"],
         "riscv32": ["riscv64-unknown-elf-g++", "qemu-system-riscv32"],
         "aarch64": ["aarch64-linux-gnu-g++", "qemu-aarch64"]}
MADE = "Compiling the verifier tiny"


def run(*command, good=True):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=300)
    if (done.returncode == 0) != good:
        sys.exit(f"exit code {done.returncode}: {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def check(condition, text):
    if not condition:
        sys.exit(f"failed: {text}")


class Consumer:
    def __init__(self, source, work, machine, board):
        self.source, self.machine = source, machine
        self.build = work / "build"
        self.configure = ["cmake", "-S", source / "tests/package/cross",
                          f"-DCMAKE_PREFIX_PATH={work / 'prefix'}",
                          f"-DCMAKE_TOOLCHAIN_FILE={source}/tests/package/cross/{machine}.cmake",
                          f"-DMODEL={source}/models/tiny.onnx", f"-DBOARD={board}"]

    def make(self, *more, folder=None, good=True):
        return run(*self.configure, "-B", folder or self.build, *more, good=good)

    def compiled(self):
        return MADE in run("cmake", "--build", self.build)

    def manifest(self):
        return json.loads((self.build / "tiny.verifier/tiny.json").read_text())


def touch(path):
    """Later than anything that was made before."""
    later = time.time() + 2
    os.utime(path, (later, later))
    time.sleep(2.1)


def test(build, source, machine, work):
    prefix = work / "prefix"
    run("cmake", "--install", build, "--prefix", prefix)
    # For CMAKE_SYSTEM_NAME Generic, CMake looks into no folder of one processor.
    check((prefix / "share/cmake/bf_aot/bf_aot-config.cmake").exists(), "the CMake package lies elsewhere")
    board = ""
    if machine != "aarch64":
        board = work / "board"
        run(prefix / "bin/bf-aot", source / "models/tiny.onnx", "--project", board, "--target",
            machine, "--no-library")
    consumer = Consumer(source, work, machine, board)
    consumer.make()
    check(consumer.compiled(), "the first build compiled no verifier")
    output = run("cmake", "--build", consumer.build, "--target", "run")
    check("lower bound greater than upper bound, then bounded" in output, output)
    check(consumer.manifest()["options"]["target"]["name"] == machine, "another target")
    if board:  # the toolchain's flags overrule the target's
        flags = consumer.manifest()["build"]["flags"]
    if machine == "cortex-m55":
        check("-mcpu=cortex-m55" not in flags, flags)  # which has Helium
    if machine in ("cortex-m55", "riscv32"):
        return
    if board:
        check([flag for flag in flags if "float-abi" in flag][-1] == "-mfloat-abi=softfp", flags)
    else:
        check(run("qemu-aarch64", consumer.build / "texts") ==
              "lower bound greater than upper bound", "the runtime alone")

    check(not consumer.compiled(), "the second build compiled the verifier again")
    for path in (consumer.build / "model.onnx", prefix / "bin/bf-aot"):
        touch(path)
        check(consumer.compiled(), f"{path.name} changed, and the verifier was not made again")
        check(not consumer.compiled(), f"{path.name} did not change any more")

    config = work / "options.json"
    config.write_text('{"batch": 3}')
    consumer.make(f"-DMORE=ARGS;--config;{config};--cache=reuse-ibp")
    check(consumer.compiled(), "other options compiled no verifier")
    header = (consumer.build / "tiny.verifier/tiny.h").read_text()
    check("#define TINY_BATCH 3" in header and "tiny_bounds_cached" in header, header)
    config.write_text('{"batch": 5}')
    touch(config)
    check(consumer.compiled(), "a file of ARGS changed, and the verifier was not made again")

    for more, text in [("-DMORE=ARGS;--no-library", "is no option for ARGS"),
                       ("-DMORE=ARGS;-o;a.cpp", "is no option for ARGS"),
                       ("-DMORE=BATCHES;2", "unknown arguments")]:
        output = consumer.make(more, folder=work / "refused", good=False)
        check(text in " ".join(output.split()), f"{more}: {output}")


def main():
    build, source = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    machine = sys.argv[3]
    for tool in TOOLS[machine]:
        if not shutil.which(tool):
            print(f"skipped: {tool} is not installed")
            return 77
    with tempfile.TemporaryDirectory() as work:
        test(build, source, machine, pathlib.Path(work))
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
