"""Bad input, failures and interrupts: clear diagnostics, nothing half-written."""

import fcntl
import gzip
import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import time
import unittest
import zlib

sys.dont_write_bytecode = True
from harness import BF_AOT, BOX, CONTROLLER, MODELS, TINY, Case  # noqa: E402


class BadInput(Case):
    def refuse_box(self, code, box, *says, options=()):
        self.assert_refused(code, "run", TINY, "--box", self.write("box.json", box), *options,
                            says=says)

    def test_boxes(self):
        self.refuse_box("BF3004", {"lower": [0, 0]}, "box.json: key 'upper' is missing")
        self.refuse_box("BF3004", {"lower": [0, 0], "upper": 1}, "box.json: upper: expected an array")
        self.refuse_box("BF3004", {"lower": [0, "inf"], "upper": [1, 1]},
                        "box.json: lower[1]: expected a number, found string")
        self.refuse_box("BF3004", [1, 2], "expected an object, found array")
        self.refuse_box("BF3005", dict(BOX, uper=[1, 1]), "unknown key 'uper'")
        self.refuse_box("BF3005", '{"lower": [0, 0], "upper": [1, 1], "lower": [0, 1]}',
                        "key 'lower' appears twice")
        self.refuse_box("BF3006", {"lower": [0, 0, 0], "upper": [1, 1, 1]},
                        "3 numbers, but the model has 2 inputs")
        self.refuse_box("BF3006", {"lower": [0], "upper": [1, 1]}, "lower has 1 numbers")
        self.refuse_box("BF3008", {"lower": [0, 2], "upper": [1, 1]},
                        "lower[1] is 2, greater than upper[1], 1")
        self.refuse_box("BF3009", BOX, "--index 3 in a file of one box", options=("--index", "3"))

    def test_what_expands_is_not_held_before_it_is_refused(self):
        """600 MiB from 600 KB, as one text, and as 40 members of which each says its own size."""
        zeros = bytes(15 << 20)
        packer = zlib.compressobj(1, zlib.DEFLATED, 31)
        one = b"".join(packer.compress(zeros) for _ in range(40)) + packer.flush()
        for data in (one, gzip.compress(zeros) * 40, one + b"tail"):
            path = self.work / "p.vnnlib.gz"
            path.write_bytes(data)
            ended = subprocess.run(["sh", "-c", 'ulimit -v 250000; exec "$0" "$@"', BF_AOT, "verify", TINY, path],
                                   capture_output=True, text=True, env=self.environment)
            self.assertEqual((ended.returncode, ended.stderr[:14]), (1, "error BF3402: "), ended.stderr)

    def test_a_sum_holds_its_variables_once(self):
        """2 million times the same variable: a term took 240 bytes."""
        text = "".join(f"(declare-const X_{i} Real)(assert (<= 0 X_{i} 1))" for i in range(2))
        text += "(declare-const Y_0 Real)(declare-const Y_1 Real)(assert (>= (+ " + "X_0 " * 2000000 + ") 3000000))"
        path = self.work / "p.vnnlib.gz"
        path.write_bytes(gzip.compress((text + "(assert (>= Y_0 1000))").encode()))
        ended = subprocess.run(["sh", "-c", 'ulimit -v 250000; exec "$0" "$@"', BF_AOT, "verify", TINY, path, "--jit", "off"],
                               capture_output=True, text=True, env=self.environment)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_lack_of_memory_is_an_error(self):
        """Also where exact numbers need it, which would abort by themselves."""
        text = "".join(f"(declare-const X_{i} Real)(assert (<= 0 X_{i} 1))(declare-const Y_{i} Real)" for i in range(2))
        text += "(assert (or" + "".join(f"(and (>= (* 1.{i} Y_0) (* 0.{i + 1} Y_1)) (<= X_0 0.{i + 1}))"
                                        for i in range(60000)) + "))"
        path, codes = self.write("p.vnnlib", text), []
        for kilobytes in range(40000, 120000, 20000):
            ended = subprocess.run(["sh", "-c", f'ulimit -v {kilobytes}; exec "$0" "$@"', BF_AOT, "verify", TINY, path, "--jit",
                                    "off", "--search", "0", "--branch", "0"], capture_output=True, text=True,
                                   env=self.environment)
            codes.append(ended.returncode)
            if ended.returncode == 1:
                self.assertEqual(ended.stderr, "error BF3000: not enough memory\n", kilobytes)
            else:
                self.assertEqual((ended.returncode, ended.stderr), (4, ""), kilobytes)
        self.assertIn(1, codes)

    def test_numbers(self):
        self.refuse_box("BF3003", '{"lower": [0, NaN],\n "upper": [1, 1]}', "box.json:1:", "NaN")
        self.refuse_box("BF3003", '{"lower": [0, 0],\n "upper": [1, -Infinity]}', "box.json:2:")
        self.refuse_box("BF3007", '{"lower": [0, 0], "upper": [1, 1e999]}', "1e999")
        self.refuse_box("BF3007", {"lower": [0, 0], "upper": [1, 3.5e38]}, "upper[1]: 3.5e+38")

    def test_no_json(self):
        for text in ("", "{", "lower: 1", '{"lower": [0, 0], "upper": [1, 1]} x', "\0\0", "[" * 99):
            self.refuse_box("BF3003", text, "box.json")
        self.assert_refused("BF3001", "run", TINY, "--box", "nothing.json", says=["nothing.json"])
        self.assert_refused("BF3001", "run", TINY, "--box", self.work)

    def test_devices_and_pipes(self):
        """What has no end, and pipes that nobody writes to where a file is looked for, are refused by name."""
        box = self.write("b.json", BOX)
        zero = self.work / "zero.npy"
        zero.symlink_to("/dev/zero")
        pipe = self.work / "pipe.npz"
        os.mkfifo(pipe)
        samples = self.work / "samples"
        samples.mkdir()
        os.mkfifo(samples / "a.npy")
        property_ = MODELS / "properties" / CONTROLLER.with_suffix(".vnnlib").name
        certify = ("certify", TINY, "--eps", "0.1", "--data")
        for code, name, arguments in (
                ("BF1001", "zero.npy", ("run", zero, "--box", box)),
                ("BF3001", "zero.npy", ("run", TINY, "--box", zero)),
                ("BF3401", "zero.npy", ("verify", TINY, zero)),
                ("BF3001", "zero.npy", ("run", TINY, "--box", box, "--spec", zero)),
                ("BF3001", "zero.npy", ("run", TINY, "--box", box, "--config", zero)),
                ("BF3001", "zero.npy", ("run", TINY, "--box", box, "--profile", zero)),
                ("BF3001", "pipe.npz", (TINY, "-o", "v.cpp", "--lowering", "tuned", "--tuning-log", pipe)),
                ("BF3001", "zero.npy", (*certify, zero)),
                ("BF3001", "pipe.npz", (*certify, pipe)),
                ("BF3001", "a.npy", (*certify, samples)),
                ("BF3001", "zero.npy", ("verify", CONTROLLER, property_, "--checkpoint", zero))):
            with self.subTest(arguments=arguments):
                self.assert_refused(code, *arguments, says=[name])

    def test_specs(self):
        box = self.write("box.json", BOX)
        for code, spec in (("BF3004", {}), ("BF3005", {"C": [[1, 0]], "E": 1}),
                           ("BF3006", {"C": []}), ("BF3006", {"C": [[1, 0], [1]]}),
                           ("BF3004", {"C": [1, 0]}), ("BF3006", {"C": [[1, 0]], "d": [1, 2]}),
                           ("BF2", {"C": [[1, 0, 0]]})):
            spec_file = self.write("spec.json", spec)
            process = self.start("run", TINY, "--box", box, "--spec", spec_file)
            _, errors = process.communicate()
            self.assertEqual(process.returncode, 1)
            self.assertIn(f"error {code}", errors)

    def test_golden_index(self):
        self.assert_refused("BF3009", "run", TINY, "--box", MODELS / "golden" / "tiny.json",
                            "--index", "6", says=["there is no box 6: the file has 6"])

    def test_models(self):
        self.assert_refused("BF1001", "nothing.onnx", "-o", "v.cpp")
        truncated = self.work / "cut.onnx"
        truncated.write_bytes(CONTROLLER.read_bytes()[:20000])
        _, errors = self.run_tool(truncated, "-o", "v.cpp", code=1)
        self.assertIn("error BF10", errors)
        self.assertEqual(self.names(), ["cut.onnx"])

    def test_options(self):
        _, errors = self.run_tool(TINY, "-o", "v.cpp", "--semantics", "magic", code=2)
        self.assertIn("--semantics", errors)
        self.assert_refused("BF3302", TINY, "-o", "v.cpp", "--name", "My Net", says=["my_net"])

    @unittest.skipUnless(shutil.which("gcc") and platform.machine() == "x86_64", "of x86-64, by gcc")
    def test_arithmetic_that_a_library_changed(self):
        """Libraries that are built with -ffast-math have flushed subnormal numbers when they are loaded."""
        self.write("mode.c", "#include <xmmintrin.h>\n__attribute__((constructor)) static void enter(void) {\n"
                             "  _mm_setcsr(_mm_getcsr() | MODE);\n}\n")
        box = self.write("box.json", BOX)
        for mode in ("0x8040", "0x2000"):
            library = self.work / f"mode_{mode}.so"
            subprocess.run(["gcc", "-shared", "-fPIC", f"-DMODE={mode}", "mode.c", "-o", library], cwd=self.work,
                           check=True)
            self.environment["LD_PRELOAD"] = str(library)
            for call in (["-o", "v.cpp", "--no-library"], ["--target", "opencl", "-o", "v.cl", "--no-library"]):
                self.assert_refused("BF3306", TINY, *call, says=["floating point"])
            for call in (["run", TINY, "--box", box], ["inspect", TINY, "--plan"],
                         ["verify", TINY, MODELS / "properties/tiny_holds.vnnlib"]):
                self.assert_refused("BF3306", *call, says=["floating point"])
            del self.environment["LD_PRELOAD"]
        self.assertFalse((self.work / "v.cpp").exists())

    def test_a_compiler_for_another_machine(self):
        # What tells GCC and clang of the target is left out, as of a compiler that takes any flag.
        self.write("host-cxx", """#!/bin/sh
for word do
  shift
  case $word in -m*|--target*) ;; *) set -- "$@" "$word" ;; esac
done
exec c++ "$@"
""")
        compiler = self.work / "host-cxx"
        compiler.chmod(0o755)
        made = ["the compiler makes code for", "the target is"]
        # The code for vectors knows its target by itself.
        for target, says in (("cortex-m4", made), ("cortex-m0plus", made), ("riscv32", made), ("riscv64", made),
                             ("cortex-a53", ["this verifier is for cortex-a53"])):
            self.assert_refused("BF3203", TINY, "-o", "v.cpp", "--target", target, "--cxx", compiler, says=says)
            self.assertFalse((self.work / "libv.a").exists())

    def test_flags_that_change_arithmetic(self):
        unsound = [
            "-ffast-math", "-Ofast", "-freciprocal-math", "-O2 -ffp-model=fast",
            "-funsafe-math-optimizations", "-fassociative-math", "-fno-signed-zeros",
            "-fno-trapping-math", "-fno-honor-nans", "-fno-honor-infinities", "-ffinite-math-only",
            "-fapprox-func", "-fsingle-precision-constant", "-ffp-model=aggressive",
            "-ffp-eval-method=source", "-mdaz-ftz", "-mfpmath=387", "-mfpmath=both", "-mrecip",
            "-mrecip=all", "-mno-sse2", "-mno-sse", "-fdenormal-fp-math=preserve-sign",
            "-fdenormal-fp-math=positive-zero", "-fexcess-precision=fast", "@flags.txt",
            "-Xclang -menable-unsafe-fp-math", "-mllvm -enable-unsafe-fp-math", "-include x.h",
            "-imacros x.h", "-Wp,-D__FAST_MATH__", "-Wa,-x", "-Dfloat=double", "-D__FAST_MATH__",
            "-U__FAST_MATH__", "-DBF_ABI_VERSION=2", "-D", "-fplugin=x.so", "-specs=x",
            "-fno-such-flag", "other.cpp",
            "-O2 crtfastmath.o", "-I @flags.txt", "-isystem -ffast-math", "-Wl,crtfastmath.o",
            "-lfast", "-mfpu=neon", "-DNAN=0", "-DFLT_MAX=1", "-UINFINITY"]
        for flag in unsound:
            self.assert_refused("BF3204", TINY, "-o", "v.cpp", f"--cxx-flags={flag}",
                                says=["--cxx-flags"])
        for flag in unsound:
            if flag == "other.cpp":
                continue  # names a program there, as in "ccache g++"
            self.assert_refused("BF3204", TINY, "-o", "v.cpp", "--cxx", f"c++ {flag}",
                                says=["--cxx"])
        self.environment["CXX"] = "c++ -fsingle-precision-constant"
        self.assert_refused("BF3204", TINY, "-o", "v.cpp",
                            says=["$CXX", "-fsingle-precision-constant"])
        self.write("planner.json", {"row-tile": 16})
        self.assert_refused("BF3204", TINY, "-o", "v.cpp", "--config", "planner.json",
                            says=["$CXX", "-fsingle-precision-constant"])
        self.environment["CXX"] = "c++"
        self.environment["CCC_OVERRIDE_OPTIONS"] = "+-ffast-math"
        self.assert_refused("BF3204", TINY, "-o", "v.cpp", says=["$CCC_OVERRIDE_OPTIONS"])

    def test_flags_that_are_known(self):
        self.environment["CXX"] = "c++ -Wall -DMY_MACRO=1 -isystem ."
        self.run_tool(TINY, "-o", "v.cpp", "--cxx-flags=-g -O1 -Wextra -ffp-contract=off -pipe")


class Failure(Case):
    """Nothing half-written, whatever fails."""

    def test_compiler_fails(self):
        self.write("v.cpp", "old")
        errors = self.assert_refused("BF3203", TINY, "-o", "v.cpp", "--cxx-flags=-march=nothing.h",
                                     says=["nothing.h"])
        self.assertIn("hint:", errors)
        self.assertEqual(self.names(), ["v.cpp"])
        self.assert_refused("BF3203", TINY, "-o", "v.cpp", "--cxx", "false")
        self.assert_refused("BF3203", "run", TINY, "--box", self.write("b.json", BOX), "--lowering", "vector",
                            "--cxx-flags=-march=nothing.h")
        self.assertEqual(self.names(self.cache / "bf-aot"), [])

    def test_no_compiler(self):
        self.assert_refused("BF3202", TINY, "-o", "v.cpp", "--cxx", "no-such-compiler")
        self.environment["CXX"] = "no-such-compiler"
        self.assert_refused("BF3202", TINY, "-o", "v.cpp", says=["$CXX"])
        del self.environment["CXX"]
        self.environment["PATH"] = "/nonexistent"
        self.assert_refused("BF3202", TINY, "-o", "v.cpp", says=["c++, g++, clang++"])

    def test_shell_text_is_not_run(self):
        self.assert_refused("BF3202", TINY, "-o", "v.cpp", "--cxx", "g++;touch${IFS}owned")
        self.assertEqual(self.names(), [])

    def test_destination(self):
        self.assert_refused("BF3101", TINY, "-o", "missing/v.cpp", says=["missing"])
        (self.work / "v.h").mkdir()
        self.assert_refused("BF3103", TINY, "-o", "v.cpp", says=["v.h"])
        self.write("file", "")
        self.assert_refused("BF3101", TINY, "--project", "file")

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_read_only_folder(self):
        (self.work / "locked").mkdir(mode=0o555)
        self.assert_refused("BF3101", TINY, "-o", "locked/v.cpp")

    def test_damaged_cache(self):
        run = ("run", TINY, "--box", self.write("b.json", BOX), "--lowering", "vector", "--repeat", "1",
               "--json")

        def outputs(warned):
            output, errors = self.run_tool(*run)
            self.assertEqual("is damaged: it is made again" in errors, warned, errors)
            return json.loads(output)["outputs"]

        expected = outputs(False)
        (library,) = self.cache.rglob("*.so")
        (digest,) = self.cache.rglob("*.sha256")
        whole = library.read_bytes()
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 1
        for file, damage in ((library, b"no library"), (library, bytes(flipped)), (library, b""),
                             (digest, b""), (digest, b"0" * 64)):
            file.write_bytes(damage)
            self.assertEqual(outputs(True), expected)
            self.assertEqual(outputs(False), expected)
            self.assertEqual(self.names(self.cache / "bf-aot"), [library.parent.name])
        digest.unlink()
        self.assertEqual(outputs(True), expected)
        self.assertEqual(outputs(False), expected)

    def test_exchanged_entries_of_the_cache(self):
        """A library is tied to its source: digests beside them are those of the libraries."""
        box = self.write("b.json", BOX)
        ways = [("--lowering", "vector", "--method", "ibp"), ("--lowering", "vector", "--method", "crown"),
                ("--jit", "wait", "--method", "ibp"), ("--jit", "wait", "--method", "crown")]

        def outputs(way):
            output, errors = self.run_tool("run", CONTROLLER, "--box", MODELS / "boxes" / CONTROLLER.with_suffix(".json").name,
                                           *way, "--json")
            return json.loads(output)["outputs"], errors

        expected = [outputs(way)[0] for way in ways]
        entries = sorted(path.parent for path in self.cache.rglob("*.so"))
        self.assertGreater(len(entries), 3)
        for name in ("verifier.so", "verifier.sha256"):
            held = [(entry / name).read_bytes() for entry in entries]
            for entry, bytes_ in zip(entries, held[1:] + held[:1]):
                (entry / name).write_bytes(bytes_)
        made = [outputs(way) for way in ways]
        self.assertEqual([found for found, _ in made], expected)
        self.assertTrue(any("is damaged: it is made again" in errors for _, errors in made))
        self.assertEqual(outputs(ways[0]), (expected[0], ""))

    def test_pipe_or_device_in_the_cache(self):
        run = ("run", TINY, "--box", self.write("b.json", BOX), "--lowering", "vector", "--repeat", "1", "--json")
        expected = json.loads(self.run_tool(*run)[0])["outputs"]
        for name in ("verifier.so", "verifier.sha256", "compile_seconds"):
            for kind in ("pipe", "device"):
                (file,) = self.cache.rglob(name)
                file.unlink()
                os.mkfifo(file) if kind == "pipe" else file.symlink_to("/dev/zero")
                output, errors = self.run_tool(*run)
                self.assertEqual(json.loads(output)["outputs"], expected)
                self.assertEqual(f"{file.parent} is damaged" in errors, name != "compile_seconds", errors)
                if name == "compile_seconds":
                    file.unlink()
                    file.write_text("1\n")

    def test_cache_of_others(self):
        run = ("run", TINY, "--box", self.write("b.json", BOX), "--lowering", "vector", "--repeat", "1")
        folder = self.cache / "bf-aot"
        folder.mkdir(parents=True)
        for mode in (0o777, 0o720, 0o702):
            folder.chmod(mode)
            self.assert_refused("BF3319", *run, says=[str(folder), f"mode {mode:o}"])
        folder.chmod(0o755)
        self.run_json(*run)
        if os.geteuid() == 0:
            os.chown(folder, 12345, 12345)
            self.assert_refused("BF3319", *run, says=[str(folder), "another user"])
            os.chown(folder, 0, 0)
        shutil.rmtree(folder)
        self.run_json(*run)
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        shutil.rmtree(folder)
        os.mkfifo(folder)
        self.assert_refused("BF3101", *run, says=[str(folder)])

    def test_leftovers_of_a_killed_process(self):
        """A folder that nobody holds goes; what is held or not ours stays, and what may not be held yet."""
        cache = self.cache / "bf-aot"
        names = (".bf-aot-killed", ".bf-aot+old000", ".bf-aot-in_use", ".bf-aot+young0", ".bf-aot-other-name")
        for name in names:
            (cache / name / "sub").mkdir(parents=True)
            (cache / name / "verifier.cpp").write_text("int x;")
            if "old" in name:  # one that has its last name is locked, or nobody's
                os.utime(cache / name, (time.time() - 100,) * 2)
        (cache / ".bf-aot-a_file").write_text("")
        held = os.open(cache / ".bf-aot-in_use", os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
        self.run_json("run", TINY, "--box", self.write("b.json", BOX), "--lowering", "vector", "--repeat", "1")
        os.close(held)
        left = [name for name in self.names(cache) if name.startswith(".")]
        self.assertEqual(left, sorted([*names[2:], ".bf-aot-a_file"]))

    def test_killed_while_compiling(self):
        """The folder is held by the process, not by the compiler that it leaves behind."""
        started = self.folder / "started"
        compiler = self.write("compiler", "#!/bin/sh\n[ $1 = --version ] && exit 0\n"
                                          f"echo $$ > {started}.new\nmv {started}.new {started}\n"
                                          "exec sleep 300\n")
        compiler.chmod(0o755)
        run = ("run", TINY, "--box", self.write("b.json", BOX), "--lowering", "vector", "--repeat", "1")
        process = self.start(*run, "--cxx", compiler)
        while not started.exists():
            self.assertIsNone(process.poll(), "ended before the compiler was started")
            time.sleep(0.01)
        try:
            (folder,) = (self.cache / "bf-aot").glob(".bf-aot-*")
            self.run_json(*run)
            self.assertTrue(folder.exists(), "its process is alive")
            process.kill()
            process.communicate()
            self.run_json(*run, "--method", "ibp")
            self.assertFalse(folder.exists())
        finally:
            os.kill(int(started.read_text()), signal.SIGKILL)


class Interrupt(Case):
    """A signal while the C++ compiler runs: no files, no compiler left."""

    def interrupted(self, number, *arguments):
        compiler = self.folder / "compiler"
        started = self.folder / "started"
        compiler.write_text(
            '#!/bin/sh\n[ "$1" = --version ] && { echo slow 1.0; exit 0; }\n'
            f"echo $$ > {started}.new\nmv {started}.new {started}\nexec sleep 300\n")
        compiler.chmod(0o755)
        process = self.start(*arguments, "--cxx", compiler)
        deadline = time.monotonic() + 250
        while not started.exists():
            self.assertIsNone(process.poll(), "ended before the compiler was started")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        process.send_signal(number)
        output, errors = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 128 + number)
        self.assertEqual(output + errors, "")
        child = int(started.read_text())
        while pathlib.Path(f"/proc/{child}").exists():
            self.assertLess(time.monotonic(), deadline, "the compiler is still running")
            time.sleep(0.01)
        started.unlink()

    def test_compile(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.interrupted(number, TINY, "-o", "v.cpp")
            self.assertEqual(self.names(), [])

    def test_project(self):
        self.interrupted(signal.SIGINT, TINY, "--project", "p")
        self.assertEqual([path for path in self.work.rglob("*") if path.is_file()], [])

    def test_run(self):
        self.interrupted(signal.SIGINT, "run", TINY, "--lowering", "vector", "--box", self.write("b.json", BOX))
        self.assertEqual(self.names(self.cache / "bf-aot"), [])


if __name__ == "__main__":
    unittest.main()
