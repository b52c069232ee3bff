"""Help texts, usage errors, boxes and pipes. Run by CTest, or as cli_test.py."""

import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from harness import BF_AOT, BOX, SOURCE, TINY, Case  # noqa: E402

COLUMNS = 80
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def npy(values, shape, kind="<f4", order="False", version=1):
    """A file as numpy.save() writes it."""
    header = f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    data = struct.pack(f"{kind[0]}{len(values)}{ {'4': 'f', '8': 'd'}[kind[-1]] }", *values)
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


class Help(Case):
    def commands(self):
        screen, _ = self.run_tool(code=2)
        return re.findall(r"^  ([a-z]+)  ", screen.split("Commands:")[1].split("Examples:")[0],
                          re.MULTILINE)

    def helps(self):
        return {name: self.run_tool("help", name, "--all")[0] for name in self.commands()}

    def test_first_screen(self):
        screen, errors = self.run_tool(code=2)
        self.assertEqual(errors, "")
        self.assertEqual(screen.split("Examples:")[1].split("\n\n")[0].count("bf-aot "), 4)
        self.assertIn("docs/", screen)
        self.assertEqual(self.run_tool("help")[0], screen)

    def test_help_without_a_command(self):
        screen, _ = self.run_tool(code=2)
        for option in ("--help", "-h", "--help-all"):
            text, errors = self.run_tool(option)
            self.assertTrue(text.startswith(screen))
            self.assertEqual(errors, "")
            self.assertIn("--output", text)  # of the command that needs no name

    def test_no_long_line(self):
        self.assertGreaterEqual(len(self.commands()), 12)
        for name, text in [("", self.run_tool(code=2)[0]), *self.helps().items()]:
            for line in text.splitlines():
                if str(SOURCE) not in line:  # a page's place, where nothing is installed
                    self.assertLessEqual(len(line), COLUMNS, f"{name}: {line}")
            if name:
                self.assertLess(text.index("Examples:"), text.index("--help"), name)

    def test_options_of_the_page(self):
        """What docs/reference/cli.md names exists."""
        everything = {option for text in self.helps().values() for option in OPTION.findall(text)}
        page = (SOURCE / "docs/reference/cli.md").read_text()
        for option in OPTION.findall(page):
            self.assertIn(option, everything)

    def test_planner_options(self):
        short, _ = self.run_tool("run", "--help")
        long, _ = self.run_tool("run", "--help-all")
        self.assertNotIn("--row-tile", OPTION.findall(short.split("General:")[0]))
        self.assertIn("--row-tile", long.split("General:")[0])
        for text in (short, long):
            for option in ("--method", "--box", "--json", "--quiet"):
                self.assertIn(option, text)

    def test_manual_pages(self):
        for name in self.commands():
            page, _ = self.run_tool("help", name, "--man")
            self.assertTrue(page.startswith(".TH BF-AOT"), page[:40])
            self.assertIn(".SH EXAMPLES", page)
            for line in page.splitlines():
                self.assertRegex(line, r"^(\.(TH|SH|B|PP|TP|nf|fi)\b|[^.'])|^$")

    def test_completion(self):
        script = self.write("bash", self.run_tool("completion", "bash")[0])

        def complete(*words):
            line = " ".join(f"'{word}'" for word in words)
            ran = subprocess.run(
                ["bash", "-c", f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1};"
                 " _bf_aot; printf '%s\\n' \"${COMPREPLY[@]}\""],
                cwd=self.work, check=True, capture_output=True, text=True)
            return ran.stdout.split()

        self.assertEqual(complete("bf-aot", "ver"), ["verify"])
        self.assertEqual(complete("bf-aot", "run", "--row-t"), ["--row-tile"])
        self.assertEqual(complete("bf-aot", "run", "--method", "crown-"), ["crown-ibp"])
        self.assertIn("--project", complete("bf-aot", "m.onnx", "--pro"))
        self.write("box.json", "{}")
        self.assertEqual(complete("bf-aot", "run", "--box", "bo"), ["box.json"])
        if shutil.which("fish"):
            self.write("c.fish", self.run_tool("completion", "fish")[0])
            for line, found in (("ver", "verify"), ("run --row-t", "--row-tile"), ("run --method crown-", "crown-ibp"),
                                ("m.onnx --pro", "--project")):
                ran = subprocess.run(["fish", "--no-config", "-c", f"source c.fish; complete -C 'bf-aot {line}'"],
                                     cwd=self.work, check=True, capture_output=True, text=True)
                self.assertIn(found, [each.split("\t")[0] for each in ran.stdout.splitlines()], line)
        zsh, _ = self.run_tool("completion", "zsh")
        self.assertTrue(zsh.startswith("#compdef bf-aot"))

    def test_colour_on_terminals_alone(self):
        def on_terminal(**environment):
            main, end = pty.openpty()
            with subprocess.Popen([BF_AOT, "run", "--help"], stdout=end, stderr=end,
                                  stdin=subprocess.DEVNULL,
                                  env=dict(self.environment, **environment)) as process:
                os.close(end)
                text = b""
                try:
                    while block := os.read(main, 4096):
                        text += block
                except OSError:  # the other end is closed
                    pass
                process.wait()
            os.close(main)
            return text

        self.environment.pop("NO_COLOR", None)
        self.assertIn(b"\x1b[1m", on_terminal(TERM="xterm"))
        self.assertNotIn(b"\x1b", on_terminal(TERM="xterm", NO_COLOR="1"))
        self.assertNotIn(b"\x1b", on_terminal(TERM="dumb"))
        self.assertNotIn("\x1b", self.run_tool("run", "--help")[0])


class Usage(Case):
    def refused(self, *arguments):
        output, errors = self.run_tool(*arguments, code=2)
        self.assertEqual(output, "")
        return errors

    def test_suggestions(self):
        for arguments, meant in (
                (("verfy", TINY, "p.vnnlib"), "verify"), (("inspct",), "inspect"),
                (("run", TINY, "--metod", "crown"), "--method"),
                (("run", TINY, "--bx=b.json"), "--box"),
                (("run", TINY, "--method", "crwn"), "crown"),
                ((TINY, "-o", "v.cpp", "--target=cortex-m44"), "cortex-m4"),
                (("bench", TINY, "--comapre", "vector"), "--compare")):
            self.assertIn(f"did you mean {meant}?", self.refused(*arguments))
        self.assertNotIn("did you mean", self.refused("run", TINY, "--zzzzzzzz"))
        self.assertIn("there is no command 'dump'; bf-aot --help names them", self.refused("dump", TINY))

    def test_points_to_the_help(self):
        self.assertIn("bf-aot run --help", self.refused("run", TINY))

    def test_quiet_and_verbose(self):
        box = self.write("b.json", BOX)
        self.assertEqual(self.run_tool("run", TINY, "--box", box, "-q")[1], "")
        _, errors = self.run_tool(TINY, "-o", "v.cpp", "--no-library", "--verbose")
        self.assertRegex(errors, r"generate +\d+\.\d\d s")
        self.refused(TINY, "-o", "v.cpp", "--verbose", "--quiet")

    def test_errors_name_pages_that_are_there(self):
        self.write("m.textproto", "")
        errors = self.run_tool("run", "m.textproto", "--centre", "0", "--eps", "1", code=1)[1]
        self.assertRegex(errors, r"^error BF10\d\d: ")


class Boxes(Case):
    def bounds(self, *arguments):
        result = self.run_json("run", TINY, *arguments, "--repeat", "1")
        return result["outputs"]

    def binary(self, name, data):
        (self.work / name).write_bytes(data)
        return name

    def test_centre_and_radius(self):
        whole = self.bounds("--box", self.write("b.json", BOX))
        self.assertEqual(self.bounds("--centre", "0", "--eps", "1"), whole)
        for text in ("[0, 0]", {"centre": [0, 0]}, {"centre": [0.0, 0], "dtype": "float64"}):
            self.assertEqual(
                self.bounds("--centre", self.write("c.json", text), "--radius", "1"), whole)
        for kind in ("<f4", "<f8", ">f4", ">f8"):
            self.binary("c.npy", npy([0, 0], "(1, 2)", kind))
            self.assertEqual(self.bounds("--centre", "c.npy", "--eps", "1"), whole)
        self.assertEqual(self.bounds("--centre", "0", "--eps", "5", "--clip", "-1", "1"), whole)

    def test_numpy_box(self):
        self.binary("b.npy", npy([-1, -1, 1, 1], "(2, 1, 2)", "<f8", version=2))
        self.assertEqual(self.bounds("--box", "b.npy"),
                         self.bounds("--box", self.write("b.json", BOX)))

    def test_fortran_order(self):
        expected = self.bounds("--box", self.write("b.json", {"lower": [-1, 0], "upper": [1, 2]}))
        self.binary("b.npy", npy([-1, 1, 0, 2], "(2, 2)", order="True"))
        self.assertEqual(self.bounds("--box", "b.npy"), expected)

    def test_ends_are_exact(self):
        """0.1 + 0.2 is more than 0.3, and the box holds every point at that distance."""
        self.assertEqual(
            self.bounds("--centre", "0.1", "--eps", "0.2"),
            self.bounds("--box", self.write(
                "b.json", {"lower": [-0.1, -0.1], "upper": [0.3, 0.3]})))

    def test_refusals(self):
        run = ("run", TINY)
        for name, data, code in (
                ("short.npy", npy([0, 0], "(2,)")[:-1], "BF3011"),
                ("type.npy", npy([0, 0], "(2,)").replace(b"<f4", b"<c4"), "BF3012"),
                ("twice.npy", npy([0, 0], "(2,)").replace(b"'shape'", b"'descr'"), "BF3011"),
                ("nan.npy", npy([0, float("nan")], "(2,)"), "BF3007"),
                ("count.npy", npy([0, 0, 0], "(3,)"), "BF3006")):
            self.binary(name, data)
            self.assert_refused(code, *run, "--centre", name, "--eps", "1")
        self.binary("shape.npy", npy([0, 0, 0], "(3,)"))
        self.assert_refused("BF3006", *run, "--box", "shape.npy")
        self.binary("order.npy", npy([1, 1, 0, 0], "(2, 2)"))
        self.assert_refused("BF3008", *run, "--box", "order.npy")
        for eps in ("x", "-1", "nan"):
            self.assert_refused("BF3013", *run, "--centre", "0", f"--eps={eps}")
        self.assert_refused("BF3013", *run, "--centre", "0", "--eps", "1", "--clip", "2", "3")
        for usage in (("--centre", "0"), ("--eps", "1"), ()):
            self.run_tool(*run, *usage, code=2)


class Pipes(Case):
    def piped(self, text, *arguments):
        ran = subprocess.run([BF_AOT, *map(str, arguments)], input=text, cwd=self.work,
                             env=self.environment, capture_output=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr.decode())
        return json.loads(ran.stdout)

    def test_box_model_and_property(self):
        box = json.dumps(BOX).encode()
        file = self.write("b.json", BOX)
        expected = self.run_json("run", TINY, "--box", file)["outputs"]
        for name in ("-", "/dev/stdin"):
            self.assertEqual(
                self.piped(box, "run", TINY, "--box", name, "--json")["outputs"], expected)
            self.assertEqual(self.piped(TINY.read_bytes(), "run", name, "--box", file,
                                        "--json")["outputs"], expected)
        controller = SOURCE / "models/collision_avoidance_6x50.onnx"
        text = (SOURCE / "models/properties/collision_avoidance_6x50.vnnlib").read_bytes()
        self.assertEqual(self.piped(text, "verify", controller, "-", "--json")["verdict"],
                         "verified")

    def test_named_pipe(self):
        os.mkfifo(self.work / "pipe")
        process = self.start("run", TINY, "--box", "pipe", "--json")
        (self.work / "pipe").write_text(json.dumps(BOX))
        output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, errors)
        self.assertIn("outputs", json.loads(output))

    def test_process_substitution(self):
        self.write("b.json", BOX)
        text = f'"{BF_AOT}" run <(cat "{TINY}") --box <(cat b.json) --json'
        ran = subprocess.run(["bash", "-c", text], cwd=self.work, env=self.environment, capture_output=True,
                             stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr.decode())
        self.assertIn("outputs", json.loads(ran.stdout))


class Doctor(Case):
    def findings(self, *arguments, code=0):
        result = self.run_json("doctor", *arguments, code=code)
        self.assertEqual(result["ok"], code == 0)
        return {each["name"]: each for each in result["findings"]}

    def test_all_is_there(self):
        found = self.findings()
        for name in ("floating point", "cache folder", "C++ compiler", "runtime headers"):
            self.assertTrue(found[name]["ok"], found[name])
        output, _ = self.run_tool("doctor")
        self.assertLessEqual(max(map(len, output.splitlines())), COLUMNS + len(str(self.folder)))

    def test_names_packages(self):
        self.environment.update(PATH="/nonexistent")
        self.environment.pop("CXX", None)
        compiler = self.findings(code=1)["C++ compiler"]
        self.assertEqual((compiler["ok"], compiler["package"]), (False, "g++"))
        arm = self.findings(code=1)["arm-none-eabi-g++"]
        self.assertEqual((arm["ok"], arm["needed"]), (False, False))
        self.assertIn("gcc-arm-none-eabi", arm["package"])
        self.assertTrue(self.findings("--target", "cortex-m4", code=1)["qemu-system-arm"]["needed"])

    def test_cache_that_cannot_be_made(self):
        self.environment["XDG_CACHE_HOME"] = str(self.write("file", ""))
        self.assertFalse(self.findings(code=1)["cache folder"]["ok"])


if __name__ == "__main__":
    unittest.main()
