"""Files that are written: devices and pipes in place, never an input, and errors of writing are exit codes."""

import os
import pathlib
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from harness import BF_AOT, BOX, MODELS, TINY, Case  # noqa: E402
from small_models import model, node, tensor, write_model  # noqa: E402

HOLDS = MODELS / "properties" / "tiny_holds.vnnlib"
VIOLATED = MODELS / "properties" / "tiny_violated.vnnlib"
FILES = ("--proof", "--junit", "--sarif", "--counterexample")


class Special(Case):
    def test_pipe(self):
        pipe = self.work / "pipe"
        for option in FILES:
            pipe.unlink(missing_ok=True)
            os.mkfifo(pipe)
            with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
                self.run_tool("verify", TINY, VIOLATED, option, pipe, "--timeout", "60", code=3)
                whole = reader.communicate(timeout=60)[0]
            self.assertTrue(stat.S_ISFIFO(pipe.lstat().st_mode))
            self.run_tool("verify", TINY, VIOLATED, option, "file", code=3)
            self.assertEqual(len(whole) > 60, len((self.work / "file").read_bytes()) > 60, option)
            self.assertEqual(self.names(), ["file", "pipe"])

    @unittest.skipUnless(os.geteuid() == 0, "root alone makes devices")
    def test_device(self):
        try:
            os.mknod(self.work / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
            os.mknod(self.work / "full", stat.S_IFCHR | 0o666, os.makedev(1, 7))
        except PermissionError:
            self.skipTest("no devices here")
        for option in FILES:
            self.run_tool("verify", TINY, VIOLATED, option, "null", code=3)
            _, errors = self.run_tool("verify", TINY, VIOLATED, option, "full", code=1)
            self.assertIn("error BF3102: full: cannot write: No space left", errors)
        self.run_tool("verify", TINY, HOLDS, *sum(((option, "null") for option in FILES), ()))
        for name in ("null", "full"):
            self.assertTrue(stat.S_ISCHR((self.work / name).lstat().st_mode))

    def test_standard_output(self):
        with open(self.work / "all", "wb") as file:
            subprocess.run([BF_AOT, "verify", TINY, HOLDS, "--junit", "/dev/stdout"], check=True, stdout=file,
                           env=self.environment)
        text = (self.work / "all").read_text()
        self.assertLess(text.index("<testsuite"), text.index("\nverified\n"))

    def test_link(self):
        (self.work / "far").mkdir()
        (self.work / "link").symlink_to("far/report.xml")
        for _ in range(2):
            self.run_tool("verify", TINY, HOLDS, "--junit", "link")
            self.assertTrue((self.work / "link").is_symlink())
            self.assertIn("testsuite", (self.work / "far" / "report.xml").read_text())


class Killed(Case):
    """SIGKILL leaves nothing where the program was writing, or nothing behind the next run."""

    def test_compile(self):
        started = self.folder / "started"
        compiler = self.folder / "compiler"
        compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && { echo slow 1.0; exit 0; }\n'
                            f"echo $$ > {started}.new\nmv {started}.new {started}\nexec sleep 300\n")
        compiler.chmod(0o755)
        process = self.start(TINY, "-o", "v.cpp", "--cxx", compiler)
        while not started.exists():
            self.assertIsNone(process.poll(), "ended before the compiler was started")
            time.sleep(0.01)
        try:
            self.assertEqual(len(list(self.work.glob(".bf-aot-*"))), 1)
            self.run_tool(TINY, "-o", "w.cpp", "--no-library")
            self.assertEqual(len(list(self.work.glob(".bf-aot-*"))), 1, "its process is alive")
            process.kill()
            process.communicate()
            self.run_tool(TINY, "-o", "w.cpp", "--no-library")
            self.assertEqual(sorted(self.work.glob(".*")), [])
        finally:
            os.kill(int(started.read_text()), signal.SIGKILL)

    def test_reports_replace_files_and_keep_their_rights(self):
        self.run_tool("verify", TINY, HOLDS, "--junit", "r.xml")
        path = self.work / "r.xml"
        whole, rights = path.read_text(), path.stat().st_mode & 0o777
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual(rights, 0o666 & ~mask)
        path.write_text("old")
        path.chmod(0o640)
        before = path.stat().st_ino
        self.run_tool("verify", TINY, HOLDS, "--junit", "r.xml")
        self.assertIn("testsuite", path.read_text())
        self.assertNotEqual(path.stat().st_ino, before)
        self.assertEqual(path.stat().st_mode & 0o777, 0o640)
        self.assertGreater(len(whole), 60)
        self.assertEqual(self.names(), ["r.xml"])


class Apart(Case):
    def setUp(self):
        super().setUp()
        shutil.copy(TINY, self.work / "m.onnx")
        shutil.copy(HOLDS, self.work / "p.vnnlib")
        os.link(self.work / "m.onnx", self.work / "hard")
        (self.work / "soft").symlink_to("p.vnnlib")

    def test_inputs(self):
        for option in (*FILES, "--checkpoint"):
            for name in ("m.onnx", "p.vnnlib", "hard", "soft", "./p.vnnlib"):
                self.assert_refused("BF3111", "verify", "m.onnx", "p.vnnlib", option, name, says=[option, "read as"])
        box = self.write("b.json", BOX)
        self.write("v.json", {"C": [[1, 0]]})
        self.assert_refused("BF3111", "m.onnx", "-o", "v.cpp", "--spec", "v.json", says=["v.json", "--spec"])
        for option in ("--trace", "--sbom", "--report"):
            self.assert_refused("BF3111", "m.onnx", "-o", "v.cpp", option, "m.onnx", says=[option, "MODEL"])
        self.assert_refused("BF3111", "inspect", "m.onnx", "--dot", "hard", says=["--dot"])
        self.languages()
        self.run_tool("run", "m.onnx", "--box", box)

    def languages(self):
        """A verifier's files, all that its language has, are no inputs, nor other outputs of the command."""
        for source, more, written in (
                ("w.cpp", [], ["w.cpp", "w.h", "w.json", "libw.a"]),
                ("w.cpp", ["--dispatch", "--target", "x86-64-v3"], ["w_x86_64_v3.cpp"]),
                ("w.c", ["--method", "ibp"], ["w.c", "w.h", "w.json", "libw.a"]),
                ("w.cl", ["--target", "opencl"],
                 ["w.cl", "w.c", "w.h", "w.json", "w_cl.inc", "w_weights.inc", "libw.a"]),
                ("w.cu", ["--target", "cuda"], ["w.cu", "w.h", "w.json"])):
            for name in written:
                with self.subTest(source=source, name=name):
                    call = (*more, "-o", source)
                    shutil.copy(TINY, self.work / name)
                    self.assert_refused("BF3111", name, *call, says=["would overwrite", "MODEL"])
                    self.assertEqual((self.work / name).read_bytes(), TINY.read_bytes())
                    (self.work / name).unlink()
                    if name != source:
                        self.assert_refused("BF3111", "m.onnx", *call, "--report", name, says=["same file"])
                    self.assertFalse((self.work / name).exists())

    def test_what_files_name(self):
        """Questions of --instances, a question of parts, a model's tensors in other files, samples in a folder."""
        self.write("i.csv", "m.onnx,p.vnnlib,60\n")
        for option in ("--results", "--junit", "--sarif"):
            for name in ("m.onnx", "p.vnnlib", "hard", "soft"):
                results = () if option == "--results" else ("--results", "r.csv")
                self.assert_refused("BF3111", "verify", "--instances", "i.csv", *results, option, name,
                                    says=[option, "--instances"])
        self.run_tool("verify", "m.onnx", "p.vnnlib", "--part", "0/1", "--save-part", "t.json", code=None)
        for option in ("--counterexample", "--proof"):
            more = ("--proof-part", "t.json") if option == "--proof" else ()
            self.assert_refused("BF3111", "merge", "t.json", option, "m.onnx", *more, says=[option, "PART"])
        (self.work / "deep").mkdir()
        for name in ("w.bin", "deep/w.bin", "deep/" + "long" * 40):
            outside = tensor("w", (2, 1), ()).replace(" }", "", 1).rstrip("} ") + (
                f' data_location: EXTERNAL external_data {{ key: "location" value: "{name}" }} }}')
            data = model("outside", [node("MatMul", ["x", "w"], "y")], [outside], (1, 2), (1, 1))
            write_model(self.work / "o.onnx", data)
            (self.work / name).write_bytes(struct.pack("<2f", 1, 2))
            (self.work / "other").unlink(missing_ok=True)
            os.link(self.work / name, self.work / "other")
            holds = self.write("o.vnnlib", "".join(f"(declare-const X_{i} Real)(assert (<= 0 X_{i} 1))" for i in range(2)) +
                               "(declare-const Y_0 Real)(assert (>= Y_0 9))")
            for path in (name, "other"):
                self.assert_refused("BF3111", "verify", "o.onnx", holds, "--junit", path, says=["--junit", "MODEL"])
            self.run_tool("verify", "o.onnx", holds, "--junit", "r.xml")
            self.run_tool("verify", "o.onnx", holds, "--junit", "r.xml")

    def test_samples_of_a_folder(self):
        for name in ("data/x.npy", "other/0/x.npy"):
            path = self.work / name
            path.parent.mkdir(parents=True)
            path.write_bytes(b"x")
            for option in ("--csv", "--junit", "--html"):
                self.assert_refused("BF3111", "certify", "m.onnx", "--data", name.split("/")[0], "--eps", "0.1", option,
                                    name, says=[option, "--data"])

    def test_outputs(self):
        for first, second in (("a", "a"), ("a", "./a"), ("a", str(self.work / "a"))):
            self.assert_refused("BF3111", "verify", "m.onnx", "p.vnnlib", "--junit", first, "--sarif", second,
                                says=["--junit", "--sarif"])
        self.assert_refused("BF3111", "m.onnx", "-o", "v.cpp", "--trace", "v.json", says=["--trace"])


class Broken(Case):
    """Standard output that cannot be written is an error, whatever the answer."""

    def fails(self, program, *arguments):
        with open("/dev/full", "wb") as full:
            process = subprocess.run([program, *map(str, arguments)], stdout=full, stderr=subprocess.PIPE,
                                     cwd=self.work, env=self.environment, text=True, check=False, timeout=300)
        self.assertEqual(process.returncode, 1, process.stderr)
        self.assertIn("standard output", process.stderr)
        self.assertIn("No space left", process.stderr)

    def test_commands(self):
        box = self.write("b.json", BOX)
        for arguments in (("--help",), ("--version",), (), ("help", "verify"), ("completion", "bash"),
                          ("verify", TINY, HOLDS), ("verify", TINY, VIOLATED, "--json"),
                          ("verify", TINY, HOLDS, "--vnncomp"), ("run", TINY, "--box", box),
                          ("run", TINY, "--box", box, "--json"), ("inspect", TINY), ("supports", "--onnx-operators"), ("doctor",),
                          (TINY, "-o", "v.cpp", "--no-library")):
            with self.subTest(arguments=arguments):
                self.fails(BF_AOT, *arguments)

    def test_checker(self):
        checker = pathlib.Path(os.environ.get("BF_CHECK", pathlib.Path(BF_AOT).with_name("bf-check")))
        self.run_tool("verify", TINY, HOLDS, "--proof", "c")
        self.fails(checker, TINY, HOLDS, self.work / "c")
        self.fails(checker, "--help")


if __name__ == "__main__":
    unittest.main()
