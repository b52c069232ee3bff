"""The engine's code for AArch64 by QEMU: aarch64_kernels_test.py FOLDER compiles it, with tests/unit's test of prebuilt kernels.

No other machine of the tests has it. Takes minutes. Exit code 77: skipped.
"""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
GTEST = pathlib.Path("/usr/src/googletest/googletest")
COMPILER, EMULATOR = "aarch64-linux-gnu-g++", "qemu-aarch64"
NAMES = {"aarch64": "fast", "exact_aarch64": "off"}  # with contraction, and without


def levels(macro, names):
    runs = " ".join(f'run({name}, "aarch64")' for name in names)
    return f"#pragma once\n#define {macro}(run) {runs}\n"


def main():
    if not all(map(shutil.which, (COMPILER, EMULATOR))) or not GTEST.is_dir():
        print(f"skipped: no {COMPILER}, {EMULATOR} or GoogleTest's sources")
        sys.exit(77)
    folder = pathlib.Path(sys.argv[1])
    generated = folder / "generated"
    for path, text in (("aot/engine/prebuilt/levels.h", levels("BF_FOR_EACH_PREBUILT", ["aarch64"])),
                       ("tests/exact_levels.h", levels("BF_FOR_EACH_EXACT", ["exact_aarch64"]))):
        (generated / path).parent.mkdir(parents=True, exist_ok=True)
        (generated / path).write_text(text)
    include = [f"-I{each}" for each in (generated, SOURCE, SOURCE / "runtime", GTEST / "include", GTEST)]
    common = [COMPILER, "-std=c++20", "-march=armv8-a", *include]
    jobs = []
    for name, contraction in NAMES.items():
        for source in sorted((SOURCE / "aot/engine/prebuilt").glob("*.cpp")):
            fused = "off" if source.name == "relax.cpp" else contraction
            jobs.append((source, folder / f"{name}_{source.stem}.o",
                         ["-O2", "-fno-exceptions", "-fno-rtti", "-fno-math-errno", f"-ffp-contract={fused}",
                          f"-Dbf=bf_{name}", f"-DBF_PREBUILT={name}"]))
    for source in (SOURCE / "tests/unit/aot/engine/prebuilt/prebuilt_kernels_test.cpp", GTEST / "src/gtest-all.cc",
                   GTEST / "src/gtest_main.cc"):
        jobs.append((source, folder / f"{source.stem}.o", ["-O1", "-ffp-contract=off"]))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda job: subprocess.run([*common, *job[2], "-c", job[0], "-o", job[1]], check=True), jobs))
    program = folder / "prebuilt_kernels"
    subprocess.run([COMPILER, "-static", "-o", program, *(job[1] for job in jobs)], check=True)
    subprocess.run([EMULATOR, program, "--gtest_brief=1"], check=True)


if __name__ == "__main__":
    main()
