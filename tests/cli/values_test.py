"""How values of options are written, and how exact numbers are printed. Run as cli_test.py is."""

import os
import pty
import re
import subprocess
import sys
import unittest
from fractions import Fraction

sys.dont_write_bytecode = True
from harness import BF_AOT, MODELS, TINY, Case  # noqa: E402
from small_models import model, node, tensor, write_model  # noqa: E402

PROPERTIES = MODELS / "properties"
HOLDS = PROPERTIES / "tiny_holds.vnnlib"


CAST = 'attribute { name: "to" type: INT i: 1 }'
KEEP = 'attribute { name: "keepdims" type: INT i: 1 }'


class Values(Case):
    def bounds(self, *more):
        return self.run_json("run", TINY, *more)["outputs"]

    def test_names_in_any_case(self):
        self.write("box.json", {"lower": [-1, -1], "upper": [1, 1]})
        for plain, others in (
                (("--method", "crown-ibp"), (("--method", "CROWN-IBP"), ("-m", "Crown_Ibp"))),
                (("--method", "alpha-crown"), (("--method", "CROWN-Optimized"),)),
                (("--norm", "l2"), (("--norm", "L2"),)),
                (("--semantics", "float32-exact"), (("--semantics", "FLOAT32_EXACT"),)),
                (("--lowering", "reference"), (("--lowering", "Reference"),))):
            expected = self.bounds("--box", "box.json", *plain)
            for other in others:
                self.assertEqual(self.bounds("--box", "box.json", *other), expected)
        self.run_tool("verify", TINY, HOLDS, "--method", "IBP", "--jit", "OFF", "--branch", "1",
                      code=None)
        self.write("x.csv", "a,b,label\n0.1,0.2,0\n")
        self.run_json("certify", TINY, "--data", "x.csv", "--eps", "0.1", "--method", "CROWN",
                      "--norm", "Linf", "--layout", "CHW", "--semantics", "Real")
        _, errors = self.run_tool("run", TINY, "--box", "box.json", "--method", "crwn", code=2)
        self.assertIn("did you mean crown", errors)
        self.write("c.json", {"method": "CROWN", "row-tile": 4})
        self.bounds("--box", "box.json", "--config", "c.json")

    def test_pairs_and_fractions(self):
        expected = self.bounds("--centre", "0.5", "--eps", "0.03125", "--clip", "0", "0.515625")
        for eps in ("1/32", "0.5/16", "3.125e-2", "+0.03125"):
            for clip in (("--clip", "0,33/64"), ("--clip", "0", "33/64"), ("--clip=0,0.515625",)):
                self.assertEqual(self.bounds("--centre", "1/2", "--eps", eps, *clip), expected)
        self.bounds("--centre", "0", "--eps", "1", "--clip", "-1/3,1/3")
        # A third is no double: the box encloses it.
        low = self.bounds("--centre", "1/3", "--eps", "0")
        self.assertEqual(self.bounds("--centre", "0.333333333333333333333333", "--eps", "0"), low)
        for eps in ("1/0", "1/", "/3", "1/2/3", "0x10", "inf", "nan", "1e", "-1/255", "1_0"):
            self.assert_refused("BF3013", "run", TINY, "--centre", "0", "--eps=" + eps,
                                says=("--eps",))

    def test_millions_of_inputs(self):
        """A network that takes no more of them than their number costs what they take to be read."""
        most_seconds = 2.5
        count = 3_000_000
        text = model("n", [node("Shape", ["x"], "s"), node("Cast", ["s"], "f", "", CAST),
                           node("ReduceSum", ["f"], "y", "", KEEP)], [], [2, count // 2], [1])
        path = write_model(self.work / "shape.onnx", text)
        before = os.times()
        bounds = self.run_json("run", path, "--centre", "1/3", "--eps", "0.1")["outputs"]
        after = os.times()
        total = 2 + count // 2
        self.assertLessEqual(bounds["lower"][0], total)
        self.assertGreaterEqual(bounds["upper"][0], total)
        self.assertLess(after.children_user - before.children_user, most_seconds)
        # The one number that cannot be read is named.
        for wrong, code in (("1e39", "BF3007"), ('"x"', "BF3004")):
            numbers = ",".join(["0"] * (count - 1) + [wrong])
            self.write("box.json", f'{{"lower": [{",".join(["0"] * count)}], "upper": [{numbers}]}}')
            self.assert_refused(code, "run", path, "--box", "box.json", says=[f"upper[{count - 1}]"])

    def test_lists(self):
        """With commas, spaces or both, as one word or several, in front of the model or behind it."""
        expected = self.bounds("--centre", "0.5", "--eps", "1", "--clip", "-0.5,1")
        for clip in (("--clip", "-0.5", "1"), ("--clip", "-0.5, 1"), ("--clip", "-0.5,", "1"),
                     ("--clip= -0.5 1",), ("--clip", "-0.5 1")):
            self.assertEqual(self.bounds("--centre", "0.5", "--eps", "1", *clip), expected)
            front = self.run_json("run", "--centre", "0.5", "--eps", "1", *clip, TINY)["outputs"]
            self.assertEqual(front, expected)
        for clip in (("0",), ("0,1,2",), ("0,,1",), ("",)):
            _, errors = self.run_tool("run", TINY, "--centre", "0", "--eps", "1", "--clip", *clip,
                                      code=2)
            self.assertIn("--clip", errors)
        self.write("x.csv", "a,b,label\n0.1,0.2,0\n0.3,0.4,1\n")
        radii = [self.run_json("certify", "--data", "x.csv", "--eps", *eps, TINY)["radii"]
                 for eps in (("1/512,1/8",), ("1/512", "1/8"), ("1/512, 1/8",), ("1/512 1/8",))]
        for each in radii:
            self.assertEqual(len(each), 2)
            self.assertEqual(each, radii[0])
        for passes in (("exact-centres,fold-constants",), ("exact-centres fold-constants",)):
            self.bounds("--centre", "0", "--eps", "1", "--disable-pass", *passes)
        self.assert_refused("BF2001", "run", TINY, "--centre", "0", "--eps", "1", "--disable-pass",
                            "exact-centres,no-such-pass", says=("no-such-pass",))
        output, _ = self.run_tool("bench", "--centre", "0", "--eps", "1", "--seconds", "0.01",
                                  "--compare", "prebuilt", "reference", TINY)
        self.assertIn("reference", output)

    def test_certify_takes_the_same(self):
        self.write("x.csv", "a,b,label\n0.1,0.2,0\n0.3,0.4,1\n")
        command = ("certify", TINY, "--data", "x.csv")
        found = [self.run_json(*command, "--eps", eps, *clip)["radii"][0]
                 for eps in ("1/512", "0.001953125")
                 for clip in (("--clip", "0,1"), ("--clip", "0", "1"), ("--clip", "0/1", "3/3"))]
        for each in found:
            each.pop("eps")
            self.assertEqual(each, found[0])
        self.run_tool(*command, "--eps", "8/255,1/512", "--html", "p.html", "--csv", "r.csv")
        self.assertIn("8/255", (self.work / "p.html").read_text())


class Numbers(Case):
    def test_whole_numbers(self):
        self.write("x.csv", "a,b,label\n0.1,0.2,0\n0.3,0.4,1\n")
        self.write("box.json", {"lower": [-1, -1], "upper": [1, 1]})
        certify = ("certify", TINY, "--data", "x.csv", "--eps", "0.1")
        run = ("run", TINY, "--box", "box.json")
        for command, option, values in (
                (certify, "--first", ("-1", "0x1", "1e0", "1.5", "", "18446744073709551616")),
                (certify, "--count", ("0", "-1", "1/1")),
                (certify, "--increasing", ("-1", "0,-1", "x")),
                (certify, "--jobs", ("0", "257", "-1", "1e2", "18446744073709551617")),
                (run, "--index", ("-1", "18446744073709551615")),
                (run, "--iterations", ("0", "1001", "4294967297")),
                (run, "--row-tile", ("1", "08x")),
                (run, "--repeat", ("0", "-3")),
                (run, "--memory-budget", ("-1", "1.5K", "99999999999G", "K", "1X")),
                (("tune", TINY), "--seed", ("-1",)),
                (("verify", TINY, HOLDS), "--jobs", ("0", "1000")),
                (("ablate", TINY, "--out", "o"), "--boxes", ("0", "-1"))):
            for value in values:
                _, errors = self.run_tool(*command, f"{option}={value}", code=2)
                self.assertIn(option, errors)
        _, errors = self.run_tool(*certify, "--first", "-1", code=2)
        self.assertIn("--first: -1 is no whole number", errors)
        # A leading zero does not make it octal.
        self.assertEqual(self.run_json(*run, "--repeat", "010")["seconds"]["repeats"], 10)
        self.assertEqual(self.run_json(*certify, "--first", "01")["samples"], 1)

    def test_ends_of_ranges_are_exact(self):
        verify = ("verify", TINY, HOLDS)
        for command, option, values in (
                (verify, "--timeout", ("1000000.00000000000000000001", "-1e-400", "nan", "inf")),
                (verify, "--search", ("-0.0000000000000000000001", "0x1p3")),
                (("run", TINY, "--centre", "0", "--eps", "1"), "--libm-ulps",
                 ("0.49999999999999999999999", "1/3"))):
            for value in values:
                _, errors = self.run_tool(*command, f"{option}={value}", code=2)
                self.assertIn(option, errors)
        self.run_tool(*verify, "--timeout", "1e6", "--search", "1/2")

    def test_the_gate_is_exact(self):
        self.write("x.csv", "a,b,label\n" + "0.1,0.2,1\n" * 3 + "0.1,0.2,0\n")
        command = ("certify", TINY, "--data", "x.csv", "--eps", "0")
        self.assertEqual(self.run_json(*command)["radii"][0]["certified_accuracy"], 0.75)
        for least, code in (("0.75", 0), ("3/4", 0), ("0.7499999999999999999", 0),
                            ("0.7500000000000000000001", 3), ("1", 3)):
            output, _ = self.run_tool(*command, "--min-certified", least, code=code)
            self.assertIn("passed" if code == 0 else f"at least {least} is asked for", output)
        for least in ("1.0000000000000000000001", "-1e-30", "90 %"):
            self.assert_refused("BF3013", *command, f"--min-certified={least}",
                                says=("--min-certified",))

    def test_a_tie_is_named(self):
        # Both outputs are -1 here.
        self.write("x.csv", "a,b,label\n2.125,0.3125,0\n0.1,0.2,1\n0.1,0.2,0\n")
        found = self.run_json("certify", TINY, "--data", "x.csv", "--eps", "0.01", "--csv",
                              "r.csv")["radii"][0]
        self.assertEqual((found["wrong"], found["ties"]), (2, 1))
        output, _ = self.run_tool("certify", TINY, "--data", "x.csv", "--eps", "0.01", "--junit",
                                  "j.xml")
        self.assertIn("1 of the wrong are ties", output)
        self.assertIn("sample 0: wrong (a tie), margin 0", (self.work / "j.xml").read_text())


def write_identity(path, count):
    ones = [1 if i == j else 0 for i in range(count) for j in range(count)]
    return write_model(path, model("identity", [node("MatMul", ["x", "w"], "y")],
                                   [tensor("w", [count, count], ones)], [1, count], [1, count]))


class Witnesses(Case):
    """Counterexamples are exact as they are printed: read back, they are in the box and violate."""

    def setUp(self):
        super().setUp()
        self.model = self.work / "identity.onnx"
        write_identity(self.model, 1)

    def property(self, box, conditions, inputs=1):
        names = [f"{kind}_{i}" for kind in "XY" for i in range(inputs)]
        text = "".join(f"(declare-const {name} Real)" for name in names)
        return self.write("p.vnnlib", text + "".join(f"(assert {each})" for each in
                                                      (*box, *conditions)))

    def witness(self, box, conditions, *more):
        property = self.property(box, conditions)
        found = self.run_json("verify", self.model, property, "--counterexample", "file", *more,
                              code=3)["counterexample"]
        text = found["x"][0]
        self.assertIn(f"((X_0 {text})\n", (self.work / "file").read_text())
        output, _ = self.run_tool("verify", self.model, property, *more, code=3)
        self.assertRegex(output, r"X_0 +" + re.escape(text) + "\n")
        output, _ = self.run_tool("verify", self.model, property, "--vnncomp", *more)
        self.assertIn(f"((X_0 {text})\n", output)
        return text

    def test_a_third(self):
        self.assertEqual(self.witness(("(= X_0 (/ 1 3))",), ("(>= Y_0 (/ 1 3))",)), "1/3")

    def test_the_end_of_subnormal_numbers(self):
        end = Fraction(1, 2**149)
        digits = str(5**149).rjust(149, "0")
        text = self.witness(("(>= X_0 0)", f"(<= X_0 0.{digits})"), (f"(>= Y_0 0.{digits})",))
        self.assertEqual(Fraction(text), end)
        self.assertTrue(text.endswith("e-45"))

    def test_between_two_doubles(self):
        low, high = "0." + "3" * 40, "0." + "3" * 39 + "5"
        text = self.witness((f"(>= X_0 {low})", f"(<= X_0 {high})"), (f"(>= Y_0 {low})",))
        self.assertEqual(text, "0." + "3" * 39 + "4")

    def test_short_where_there_is_room(self):
        for semantics in ("real", "float32", "float32-exact"):
            text = self.witness(("(>= X_0 (- 1))", "(<= X_0 1)"), ("(>= Y_0 0.1)",), "--semantics",
                                semantics)
            self.assertGreaterEqual(Fraction(text), Fraction(1, 10))
            self.assertLessEqual(Fraction(text), 1)
            self.assertLess(len(text), 16)

    def test_a_terminal_shows_the_first(self):
        count = 40
        write_identity(self.model, count)
        box = [f"(and (>= X_{i} 0) (<= X_{i} 1))" for i in range(count)]
        property = self.property(box, ("(>= Y_0 0.5)",), count)
        plain, _ = self.run_tool("verify", self.model, property, code=3)
        self.assertEqual(len(re.findall(r"^  X_", plain, re.MULTILINE)), count)
        for more, shown in (((), 15), (("--verbose",), count)):
            master, slave = pty.openpty()
            process = subprocess.Popen([BF_AOT, "verify", str(self.model), str(property), *more],
                                       stdout=slave, stderr=subprocess.DEVNULL, cwd=self.work,
                                       env=self.environment)
            os.close(slave)
            text = b""
            try:
                while part := os.read(master, 4096):
                    text += part
            except OSError:  # the other end is closed
                pass
            os.close(master)
            self.assertEqual(process.wait(), 3)
            text = text.decode().replace("\r", "")
            self.assertEqual(len(re.findall(r"^  X_", text, re.MULTILINE)), shown)
            if shown < count:
                self.assertIn(f"... {count - shown} more; --counterexample FILE", text)


if __name__ == "__main__":
    unittest.main()
