"""Tests of certificates: bf-aot verify --proof, bf-check and its twin in Python. Run as cli_test.py is.

BF_CHECK: the program bf-check.
"""

import ast
import csv
import gzip
import hashlib
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest
import zipfile
from xml.etree import ElementTree

sys.dont_write_bytecode = True
from harness import BF_AOT, MODELS, SOURCE, TINY, Case  # noqa: E402
from small_models import ints, model, node, tensor, write_model  # noqa: E402

BF_CHECK = os.environ["BF_CHECK"]
sys.path.insert(0, str(SOURCE / "aot" / "check"))
import bf_check as twin  # noqa: E402

CHECK_SET = SOURCE / "aot" / "check" / "check_set.py"

LEAF, LEAF_CHOICES, EMPTY, HALVE, CUT, NEURON, DERIVE, EACH = range(8)
CHECKED = {0: "checked: verified\n", 3: "checked: falsified\n"}


def numbers(rng, count):
    return [round(rng.uniform(-1, 1), 3) for _ in range(count)]


def asserts(inputs, outputs, last, low=-1, high=1):
    text = "".join(f"(declare-const X_{i} Real)(assert (<= {low} X_{i} {high}))" for i in range(inputs))
    return text + "".join(f"(declare-const Y_{i} Real)" for i in range(outputs)) + f"(assert {last})"


def check(files, statement=None):
    """The exit code of bf-check, which says nothing but that; the twin is asked, too, where its answer is given."""
    ended = subprocess.run([BF_CHECK, *map(str, files)], capture_output=True, text=True, timeout=120)
    if ended.returncode in CHECKED:
        assert ended.stdout == CHECKED[ended.returncode], ended.stdout
    elif ended.returncode == 4:
        assert ended.stdout.startswith("not proven: "), ended.stdout
    else:
        assert ended.returncode in (1, 2) and ended.stdout == "" and ended.stderr, (files, ended)
    if statement is not None:
        found = subprocess.run([sys.executable, "-B", twin.__file__, *map(str, files)], capture_output=True, text=True)
        assert found.returncode == statement, (found.returncode, statement, found.stdout, found.stderr)
    return ended.returncode


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


# Messages of ONNX: fields that are messages of a kind, and fields that repeat.
PARTS = {"file": {7: "graph", 8: "set"}, "graph": {1: "node", 5: "tensor", 11: "value", 12: "value"},
         "node": {5: "attribute"}, "attribute": {5: "tensor"}, "value": {2: "type"}, "type": {1: "kind"},
         "kind": {2: "shape"}, "shape": {1: "extent"}}
REPEATED = {"file": {8}, "graph": {1, 5, 11, 12}, "node": {1, 2, 5}, "attribute": {8}, "tensor": {1, 4}, "shape": {1}}


def varint(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def doubled(data, kind="file"):
    """The message with each of its fields twice, also of those within; whether the field may stand there twice."""
    at, fields = 0, []
    while at < len(data):
        start, (key, at) = at, twin.varint(data, at)
        size = {1: 8, 5: 4}.get(key & 7, 0)
        number, at = twin.varint(data, at) if key & 7 in (0, 2) else (0, at)
        size = number if key & 7 == 2 else size
        at += size
        fields.append((key, data[start:at], data[at - size:at]))
    for i, (key, whole, inner) in enumerate(fields):
        before, behind = (b"".join(raw for _, raw, _ in part) for part in (fields[:i], fields[i + 1:]))
        packed = key & 7 == 2 and key >> 3 in {"attribute": (8,), "tensor": (1, 4)}.get(kind, ())
        yield before + whole + behind + whole, key >> 3 in REPEATED.get(kind, ()) and not packed
        if key >> 3 in PARTS.get(kind, {}):
            for changed, repeats in doubled(inner, PARTS[kind][key >> 3]):
                yield before + varint(key) + varint(len(changed)) + changed + behind, repeats


def curved_network(case):
    """Products of functions of sums of 20 inputs, and a property that takes splits of what they read."""
    rng = random.Random(4)
    nodes = [node("MatMul", ["x", "w"], "a"), node("Tanh", ["a"], "b"), node("MatMul", ["x", "v"], "c"),
             node("Sigmoid", ["c"], "d"), node("Mul", ["b", "d"], "e"), node("Mul", ["e", "a"], "f"),
             node("MatMul", ["f", "u"], "y")]
    constants = [tensor("w", (20, 5), numbers(rng, 100)), tensor("v", (20, 5), numbers(rng, 100)),
                 tensor("u", (5, 1), numbers(rng, 5))]
    network = write_model(case.work / "curved.onnx", model("curved", nodes, constants, (1, 20), (1, 1)))
    return network, case.write("curved.vnnlib", asserts(20, 1, "(>= Y_0 1)", low=-0.1, high=0.1))


class Certificates(Case):
    def proven(self, network, question, code, *more):
        """Decides with a certificate, and checks that by both checkers."""
        proof = self.work / "answer.bfc"
        proof.unlink(missing_ok=True)
        output, _ = self.run_tool("verify", network, question, "--proof", proof, "--jit", "off", *more, code=code)
        self.assertIn("\nproof    ", output)
        # The twin takes a microsecond for each product: certificates of a few leaves.
        small = proof.stat().st_size < 500
        self.assertEqual(check((network, question, proof), code if small else None), code)
        return proof.read_bytes()

    def test_answers_of_the_models_that_are_shipped(self):
        for name, code in (("tiny_holds", 0), ("tiny_violated", 3), ("tiny_query", 3)):
            self.proven(TINY, MODELS / "properties" / f"{name}.vnnlib", code)
        self.proven(MODELS / "collision_avoidance_6x50.onnx",
                    MODELS / "properties" / "collision_avoidance_6x50.vnnlib", 0)

    def test_boxes_are_split(self):
        network = MODELS / "collision_avoidance_6x50.onnx"
        question = MODELS / "properties" / "collision_avoidance_6x50_wide.vnnlib"
        proof = self.work / "wide.bfc"
        found = self.run_json("verify", network, question, "--proof", proof)
        self.assertEqual(check((network, question, proof)), 0)
        self.assertEqual(found["proof"]["bytes"], proof.stat().st_size)
        self.assertGreater(found["proof"]["leaves"], 50)

    def test_neurons_are_split(self):
        network, question = MODELS / "digits_64x2.onnx", MODELS / "properties" / "digits_64x2.vnnlib"
        proof = self.proven(network, question, 0)
        self.assertIn(NEURON, proof[100:])

    def test_layers_of_every_kind(self):
        rng = random.Random(5)
        nodes = [node("Conv", ["x", "k", "b"], "c", "", ints("pads", [1, 1, 1, 1]) + ints("strides", [2, 1])),
                 node("Relu", ["c"], "r"),
                 node("AveragePool", ["r"], "a", "", ints("kernel_shape", [2, 3]) + ints("strides", [1, 1])),
                 node("AveragePool", ["c"], "m", "", ints("kernel_shape", [2, 3])),
                 node("Sub", ["a", "m"], "s"),
                 node("Transpose", ["s"], "t", "", ints("perm", [0, 1, 3, 2])),
                 node("Flatten", ["t"], "f"), node("Relu", ["f"], "g"),
                 node("MatMul", ["g", "w"], "h"), node("Mul", ["h", "w3"], "i"), node("Div", ["i", "w4"], "j"),
                 node("Add", ["j", "w5"], "y")]
        initializers = [tensor("k", (4, 1, 2, 3), numbers(rng, 24)), tensor("b", (4,), numbers(rng, 4)),
                        tensor("w", (16, 2), numbers(rng, 32)),
                        tensor("w3", (2,), (0.5, -3)), tensor("w4", (), (7,)), tensor("w5", (1, 2), (0.25, -1))]
        network = write_model(self.work / "layers.onnx", model("layers", nodes, initializers, (1, 1, 4, 4), (1, 2)))
        verdicts = set()
        for limit in (2, 0.9, 0.1):
            question = self.write("p.vnnlib", asserts(16, 2, f"(or (>= Y_0 {limit}) (<= (+ Y_1 Y_0) -{limit * 3}))"))
            code = self.run_json("verify", network, question, code=None)["verdict"]
            verdicts.add(code)
            self.proven(network, question, {"verified": 0, "falsified": 3}[code])
        self.assertEqual(verdicts, {"verified", "falsified"})

    def test_maxima_of_windows_and_padding(self):
        rng = random.Random(8)
        kernel = ints("kernel_shape", [3, 2])
        nodes = [node("Pad", ["x", "pads", "five"], "p"), node("Identity", ["p"], "i"),
                 node("Conv", ["i", "k"], "c"), node("MaxPool", ["c"], "m", "", kernel + ints("pads", [1, 0, 1, 1])),
                 node("Flatten", ["m"], "f"), node("MatMul", ["f", "w"], "y")]
        size = 2 * 3 * 4
        pads = ('initializer { name: "pads" dims: 8 data_type: 7 ' +
                " ".join(f"int64_data: {n}" for n in (0, 0, 1, 0, 0, 0, 0, 2)) + " }")
        initializers = [tensor("k", (2, 1, 2, 3), numbers(rng, 12)), tensor("five", (), (0.5,)), pads,
                        tensor("w", (size, 1), numbers(rng, size))]
        network = write_model(self.work / "maxima.onnx", model("maxima", nodes, initializers, (1, 1, 3, 4), (1, 1)))
        verdicts = set()
        for limit in (12, 1.5, 0.5):
            question = self.write("p.vnnlib", asserts(12, 1, f"(>= Y_0 {limit})"))
            code = self.run_json("verify", network, question, code=None)["verdict"]
            verdicts.add(code)
            proof = self.proven(network, question, {"verified": 0, "falsified": 3}[code])
            self.assertEqual(check((network, question, self.work / "answer.bfc"), {"verified": 0, "falsified": 3}[code]),
                             {"verified": 0, "falsified": 3}[code], len(proof))
        self.assertEqual(verdicts, {"verified", "falsified"})

    def test_groups_and_residual_sums(self):
        rng = random.Random(6)
        nodes = [node("Conv", ["x", "k"], "c", "", 'attribute { name: "group" type: INT i: 2 }' +
                      ints("pads", [1, 1, 1, 1])),
                 node("Relu", ["c"], "r"), node("Add", ["r", "x"], "s"), node("Relu", ["s"], "q"),
                 node("Add", ["q", "c"], "t"), node("Flatten", ["t"], "f"), node("Gemm", ["f", "w", "b"], "y", "",
                 'attribute { name: "transB" type: INT i: 1 } attribute { name: "alpha" type: FLOAT f: 0.5 }')]
        initializers = [tensor("k", (2, 1, 3, 3), numbers(rng, 18)), tensor("w", (2, 18), numbers(rng, 36)),
                        tensor("b", (2,), numbers(rng, 2))]
        network = write_model(self.work / "sums.onnx", model("sums", nodes, initializers, (1, 2, 3, 3), (1, 2)))
        for limit, code in ((5, 3), (9, 0)):
            question = self.write("p.vnnlib", asserts(18, 2, f"(and (>= Y_0 {limit}) (<= Y_1 (* 3 Y_0)))"))
            self.proven(network, question, code)

    def test_functions(self):
        rng = random.Random(9)
        nodes = [node("MatMul", ["x", "w"], "a"), node("Tanh", ["a"], "b"), node("MatMul", ["b", "v"], "c"),
                 node("Add", ["c", "d"], "e"), node("Sigmoid", ["e"], "f"), node("Relu", ["e"], "g"),
                 node("Sub", ["f", "g"], "h"), node("MatMul", ["h", "u"], "y")]
        initializers = [tensor("w", (2, 5), numbers(rng, 10)), tensor("v", (5, 4), numbers(rng, 20)),
                        tensor("d", (4,), numbers(rng, 4)), tensor("u", (4, 1), numbers(rng, 4))]
        network = write_model(self.work / "f.onnx", model("f", nodes, initializers, (1, 2), (1, 1)))
        verdicts = []
        for limit in (-2, -0.5, 0, 0.2, 0.5, 2):
            question = self.write("p.vnnlib", asserts(2, 1, f"(or (>= Y_0 {limit}) (<= (+ Y_0 X_0) -3))"))
            verdicts.append(self.run_json("verify", network, question, code=None)["verdict"])
            self.proven(network, question, {"verified": 0, "falsified": 3}[verdicts[-1]])
        self.assertEqual(set(verdicts), {"verified", "falsified"}, verdicts)

    def test_what_functions_and_products_read_is_cut(self):
        self.assertGreater(len(self.proven(*curved_network(self), 0)), 300)

    def test_points_behind_irrational_numbers(self):
        nodes = [node("Conv", ["x", "k"], "c"),
                 node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], "b", "",
                      'attribute { name: "epsilon" type: FLOAT f: 0.001 }'),
                 node("Relu", ["b"], "r"), node("Flatten", ["r"], "f"), node("MatMul", ["f", "w"], "y")]
        initializers = [tensor("k", (2, 1, 1, 1), (1, -2)), tensor("scale", (2,), (0.5, 3)),
                        tensor("shift", (2,), (0.1, -0.3)), tensor("mean", (2,), (0.2, 0.1)),
                        tensor("variance", (2,), (2, 3)), tensor("w", (8, 1), [1, -1] * 4)]
        network = write_model(self.work / "b.onnx", model("b", nodes, initializers, (1, 1, 2, 2), (1, 1)))
        question, proof = self.write("p.vnnlib", asserts(4, 1, "(>= Y_0 0.4)")), self.work / "b.bfc"
        self.run_tool("verify", network, question, "--proof", proof, "--jit", "off", code=3)
        self.assertEqual(check((network, question, proof)), 3)  # the twin has no BatchNormalization

    def test_what_the_checker_does_not_take_is_refused_at_once(self):
        nodes = [node("Sinh", ["x"], "s"), node("MatMul", ["s", "w"], "y")]
        network = write_model(self.work / "s.onnx", model("s", nodes, [tensor("w", (2, 1), (1, 1))], (1, 2), (1, 1)))
        question = self.write("p.vnnlib", asserts(2, 1, "(>= Y_0 5)"))
        self.assert_refused("BF3022", "verify", network, question, "--proof", "x.bfc",
                            says=("operator Sinh is not in the checker's table",))
        self.assert_refused("BF3022", "verify", TINY, MODELS / "properties" / "tiny_energy.vnnlib", "--proof", "x.bfc")
        for options in (("float32-exact",), ("float32", "--flush-to-zero"), ("float32", "--libm-ulps", "256")):
            self.assert_refused("BF3024", "verify", TINY, MODELS / "properties" / "tiny_holds.vnnlib", "--proof", "x.bfc",
                                "--semantics", *options)

    def test_quantised_networks(self):
        rng = random.Random(3)
        whole = lambda name, dims, values: (  # noqa: E731
            f'initializer {{{"".join(f" dims: {d}" for d in dims)} data_type: 3 name: "{name}"' +
            "".join(f" int32_data: {v}" for v in values) + " }")
        codes = lambda count: [rng.randint(-127, 127) for _ in range(count)]  # noqa: E731
        nodes = [node("QuantizeLinear", ["x", "s", "z"], "q"), node("DequantizeLinear", ["q", "s", "z"], "a"),
                 node("DequantizeLinear", ["w", "t", "z"], "wd"), node("MatMul", ["a", "wd"], "b"),
                 node("Relu", ["b"], "r"), node("QuantizeLinear", ["r", "u", "z"], "q2"),
                 node("DequantizeLinear", ["q2", "u", "z"], "c"), node("DequantizeLinear", ["v", "t", "z"], "vd"),
                 node("MatMul", ["c", "vd"], "y")]
        network = write_model(self.work / "codes.onnx", model("codes", nodes, [
            tensor("s", (), (1 / 64,)), whole("z", (), (0,)), whole("w", (4, 8), codes(32)), tensor("t", (), (1 / 128,)),
            tensor("u", (), (1 / 40,)), whole("v", (8, 1), codes(8))], (1, 4), (1, 1)))
        verdicts = set()
        for limit in (-3, 0.3, 3):
            question, proof = self.write("p.vnnlib", asserts(4, 1, f"(>= Y_0 {limit})", 0.1, 0.6)), self.work / "p.bfc"
            found = self.run_json("verify", network, question, "--proof", proof, "--jit", "off", code=None)
            verdicts.add(found["verdict"])
            self.assertEqual(check((network, question, proof)), {"verified": 0, "falsified": 3}[found["verdict"]])
        self.assertEqual(verdicts, {"verified", "falsified"})

    def test_answers_about_float32(self):
        """The grid of an answer about float32 follows another byte, of units in the last place."""
        float32 = ("--semantics", "float32", "--libm-ulps", "2.5")
        for name, code in (("tiny_holds", 0), ("tiny_violated", 3)):
            question, proof = MODELS / "properties" / f"{name}.vnnlib", self.work / "answer.bfc"
            self.run_tool("verify", TINY, question, "--proof", proof, "--jit", "off", *float32, code=code)
            self.assertEqual(check((TINY, question, proof)), code)
            self.assertEqual(proof.read_bytes()[5:8], b"\x01\x03\x2c")
        network, question = MODELS / "digits_64x2.onnx", MODELS / "properties" / "digits_64x2.vnnlib"
        proof = self.work / "digits.bfc"
        self.run_tool("verify", network, question, "--proof", proof, *float32)
        self.assertEqual(check((network, question, proof)), 0)

    def test_a_certificate_that_takes_too_long_is_not_written(self):
        self.assert_refused("BF3023", "verify", MODELS / "collision_avoidance_6x50.onnx",
                            MODELS / "properties" / "collision_avoidance_6x50_wide.vnnlib", "--proof", "x.bfc",
                            "--proof-seconds", "0.01", says=("the answer is 'verified'",))

    def wide_network(self):
        """A network whose bounds take the checker several seconds, and a property that any bounds decide."""
        rng, nodes, constants, x = random.Random(2), [], [], "x"
        for k, (rows, columns) in enumerate(((64, 600), (600, 600), (600, 600), (600, 600), (600, 1))):
            small = lambda count: [x / 16 for x in numbers(rng, count)]  # noqa: E731
            constants += [tensor(f"p{k}", (rows, 1), small(rows)), tensor(f"q{k}", (1, columns), small(columns))]
            nodes += [node("Add", [f"p{k}", f"q{k}"], f"w{k}"), node("MatMul", [x, f"w{k}"], f"z{k}")]
            x = f"r{k}"
            nodes.append(node("Identity" if columns == 1 else "Relu", [f"z{k}"], x))
        network = write_model(self.work / "wide.onnx", model("wide", nodes, constants, (1, 64), (1, 1))
                              .replace('output { name: "y"', f'output {{ name: "{x}"'))
        return network, self.write("wide.vnnlib", asserts(64, 1, "(>= Y_0 1e6)", low=-0.1, high=0.1))

    def test_time_and_signals_end_the_making_within_a_bound(self):
        files = self.wide_network()
        self.assert_refused("BF3023", "verify", *files, "--jit", "off", "--proof", "x.bfc", "--proof-seconds", "0.1",
                            says=("the answer is 'verified'", "within its time"))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            process = self.start("verify", "-v", *files, "--jit", "off", "--proof", "x.bfc")
            while not process.stderr.readline().startswith("decide: verified"):
                self.assertIsNone(process.poll())
            time.sleep(0.2)  # of a second or more that remains
            process.send_signal(number)
            start = time.monotonic()
            output, errors = process.communicate(timeout=60)
            self.assertLess(time.monotonic() - start, 10)
            killed = number == signal.SIGKILL
            self.assertEqual((process.returncode, output), (-number if killed else 128 + number, ""), errors)
            said = "the answer is 'verified'; a signal ended the making of its certificate\n"
            self.assertEqual(errors, "" if killed else said)
            self.assertEqual(self.names(), ["wide.onnx", "wide.vnnlib"])


class RandomProofs(Case):
    """Random small networks: what is answered has a certificate, which both checkers take."""

    def random_network(self, rng, path, function=lambda: "Relu"):
        size = (1, rng.randint(1, 2), 4, 4)
        nodes, initializers, last, channels = [], [], "x", size[1]
        side = 4
        for k in range(rng.randint(1, 3)):
            kind = rng.choice(("Conv", "MaxPool", "AveragePool", "Residual"))
            if kind == "Conv":
                outs = rng.randint(1, 2)
                initializers += [tensor(f"k{k}", (outs, channels, 3, 3), numbers(rng, outs * channels * 9)),
                                 tensor(f"b{k}", (outs,), numbers(rng, outs))]
                nodes += [node("Conv", [last, f"k{k}", f"b{k}"], f"c{k}", "", ints("pads", [1] * 4)),
                          node(function(), [f"c{k}"], f"t{k}")]
                channels = outs
            elif kind == "Residual":
                initializers.append(tensor(f"k{k}", (channels, channels, 1, 1), numbers(rng, channels ** 2)))
                nodes += [node("Conv", [last, f"k{k}"], f"c{k}"), node(function(), [f"c{k}"], f"r{k}"),
                          node("Sub" if rng.random() < 0.5 else "Add", [f"r{k}", last], f"t{k}")]
            else:
                nodes.append(node(kind, [last], f"t{k}", "", ints("kernel_shape", [2, 2])))
                side -= 1
            last = f"t{k}"
        flat = channels * side * side
        initializers.append(tensor("w", (flat, 2), numbers(rng, flat * 2)))
        nodes += [node("Flatten", [last], "f"), node("MatMul", ["f", "w"], "y")]
        return write_model(path, model("random", nodes, initializers, size, (1, 2))), size[1] * 16

    def test_questions_of_random_networks(self):
        answers = self.answers(random.Random(11), 8)
        self.assertGreaterEqual(answers.count(0), 5, answers)
        self.assertGreaterEqual(answers.count(3), 1, answers)
        self.assertLessEqual(len([a for a in answers if a not in (0, 3)]), 3, answers)

    def test_questions_of_random_networks_of_functions(self):
        rng = random.Random(12)
        answers = self.answers(rng, 8, lambda: rng.choice(("Sigmoid", "Tanh", "Relu")))
        self.assertGreaterEqual(answers.count(0), 5, answers)
        self.assertGreaterEqual(answers.count(3), 1, answers)
        self.assertLessEqual(len([a for a in answers if a not in (0, 3)]), 3, answers)

    def answers(self, rng, count, *function):
        """Exit codes of the checkers for random questions; what else verify says of those without a certificate."""
        answers = []
        for k in range(count):
            network, inputs = self.random_network(rng, self.work / f"{k}.onnx", *function)
            middle = rng.uniform(-0.5, 0.5)
            for limit in (rng.uniform(0, 1), rng.uniform(2, 4)):
                parts = [f"(>= Y_0 {limit:.3f})", f"(<= (+ Y_1 (* 2 Y_0)) -{2 * limit:.3f})"]
                question = self.write("p.vnnlib", asserts(
                    inputs, 2, f"({rng.choice(('or', 'and'))} {' '.join(parts)})", f"{middle - 0.06:.3f}",
                    f"{middle + 0.06:.3f}"))
                proof = self.work / "p.bfc"
                output, errors = self.run_tool("verify", network, question, "--proof", proof, "--proof-seconds", "10",
                                               "--search", "2", "--branch", "2", "--json", code=None)
                found = json.loads(output)
                if "proof" not in found:
                    answers.append(found.get("verdict", "none"))
                    continue
                code = {"verified": 0, "falsified": 3}[found["verdict"]]
                small = proof.stat().st_size < 400
                self.assertEqual(check((network, question, proof), code if small else None), code, (k, limit))
                answers.append(code)
        return answers


class Fronts(Case):
    """Whatever decides writes certificates, too."""

    def test_many_questions(self):
        folder = self.work / "set"
        folder.mkdir()
        (folder / "tiny.onnx").symlink_to(TINY)
        nodes = [node("Sinh", ["x"], "s"), node("MatMul", ["s", "w"], "y")]
        write_model(folder / "sine.onnx", model("s", nodes, [tensor("w", (2, 1), (1, 1))], (1, 2), (1, 1)))
        for name in ("holds", "violated"):
            (folder / f"{name}.vnnlib").symlink_to(MODELS / "properties" / f"tiny_{name}.vnnlib")
        (folder / "below.vnnlib").write_text(asserts(2, 1, "(>= Y_0 5)"))
        self.write("set/instances.csv", "tiny.onnx,holds.vnnlib,60\ntiny.onnx,violated.vnnlib,60\n"
                                        "sine.onnx,below.vnnlib,60\n")
        command = ("verify", "--instances", "set/instances.csv", "--results", "results.csv", "--proofs", "proofs")
        output, errors = self.run_tool(*command, "--json")
        found = json.loads(output)
        self.assertEqual((found["unsat"], found["sat"], found["error"], found["proofs"]), (2, 1, 0, 2))
        self.assertIn("sine.onnx below.vnnlib: no certificate: the checker of certificates does not take", errors)
        for name, code in (("holds", 0), ("violated", 3)):
            self.assertEqual(check((folder / "tiny.onnx", folder / f"{name}.vnnlib",
                                    self.work / "proofs" / f"tiny_{name}.bfc"), code), code)
        self.run_tool(*command[:-3], "again.csv", "--proofs", "proofs.zip")
        for proofs in ("proofs", "proofs.zip"):
            self.assertEqual(self.check_set(proofs, folder / "tiny.onnx"), (
                0, "checked 2 of 3 answers: 1 verified, 1 falsified; 1 have no certificate, 0 fail\n"))
        output, errors = self.run_tool("verify", "--instances", "set/instances.csv", "--results", "late.csv",
                                       "--proofs", "late", "--proof-seconds", "1e-9", "--index", "0")
        self.assertIn("\nproofs   0\n", output)
        self.assertIn("no certificate: the certificate could not be made within its time", errors)

    def test_what_has_a_certificate_is_not_decided_anew(self):
        """By a copy of the model, of which a byte is changed later. The bounds of 1e-9 s decide nothing."""
        net, holds = self.work / "net.onnx", MODELS / "properties/tiny_holds.vnnlib"
        net.write_bytes(TINY.read_bytes())
        asked = ("verify", net, holds, "--proof", "a.bfc.gz", "--recheck")
        made = self.run_json(*asked)
        self.assertNotIn("rechecked", made["proof"])
        again = self.run_json(*asked)
        self.assertTrue(again["proof"]["rechecked"])
        self.assertEqual((again["verdict"], again["methods"], again["verified_cases"]), ("verified", [], 1))
        self.assertIn("bytes, checked in", self.run_tool(*asked)[0])
        for other in (("--semantics", "float32"), ()):
            decided = self.run_json(*asked, *other)
            self.assertEqual("rechecked" in decided["proof"], False, "the certificate is about real arithmetic")
        whole = (self.work / "a.bfc.gz").read_bytes()
        (self.work / "a.bfc.gz").write_bytes(whole[:-9])
        self.assertNotIn("rechecked", self.run_json(*asked)["proof"], "a damaged certificate is made anew")
        self.assertEqual((self.work / "a.bfc.gz").read_bytes(), whole)
        net.write_bytes(TINY.read_bytes() + b"\x32\x01x")  # domain "x" of the model
        self.assertNotIn("rechecked", self.run_json(*asked)["proof"], "of another model")
        violated = (*asked[:2], MODELS / "properties/tiny_violated.vnnlib", *asked[3:])
        for _ in range(2):  # An answer with a counterexample is found anew.
            self.assertNotIn("rechecked", self.run_json(*violated, code=3)["proof"])
        self.assert_refused("BF3024", "verify", net, holds, "--recheck", says=("recheck",))

    def test_a_folder_of_certificates_is_a_lock(self):
        folder = self.work / "set"
        folder.mkdir()
        (folder / "net.onnx").write_bytes(TINY.read_bytes())
        for name in ("holds", "violated"):
            (folder / f"{name}.vnnlib").symlink_to(MODELS / "properties" / f"tiny_{name}.vnnlib")
        self.write("set/i.csv", "net.onnx,holds.vnnlib,60\nnet.onnx,violated.vnnlib,60\n")

        def ask(results):
            return self.run_json("verify", "--instances", "set/i.csv", "--results", results, "--proofs", "lock",
                                 "--recheck")

        self.assertNotIn("rechecked", ask("1.csv"))
        files = {path.name: path.read_bytes() for path in (self.work / "lock").iterdir()}
        found = ask("2.csv")
        self.assertEqual((found["unsat"], found["sat"], found["proofs"], found["rechecked"]), (1, 1, 2, 1))
        self.assertEqual(files, {path.name: path.read_bytes() for path in (self.work / "lock").iterdir()})
        (folder / "net.onnx").write_bytes(TINY.read_bytes() + b"\x32\x01x")
        output, _ = self.run_tool("verify", "--instances", "set/i.csv", "--results", "3.csv", "--proofs", "lock",
                                  "--recheck", "--proof-seconds", "1e-9", "--json")
        found = json.loads(output)
        self.assertEqual((found["unsat"], found["proofs"]), (1, 1), "of the point alone")
        answers = json.loads((self.work / "lock/manifest.json").read_text())["answers"]
        self.assertEqual(answers[0]["certificate"], None, "the old one is of another model")
        exact = ("verify", "--instances", "set/i.csv", "--results", "5.csv", "--proofs", "lock", "--recheck",
                 "--semantics", "float32-exact", "--index", "0", "--json")
        self.assertEqual(json.loads(self.run_tool(*exact)[0])["unsat"], 1, "what has no certificate is decided")
        output, errors = self.run_tool("verify", "--instances", "set/i.csv", "--results", "4.csv", "--proofs", "l.zip",
                                       "--recheck", code=2)
        self.assertIn("--recheck needs --proofs with a folder", errors)

    def test_instances_of_the_same_names_have_files_of_their_own(self):
        for folder in ("a", "b"):
            (self.work / folder).mkdir()
            (self.work / folder / "net.onnx").write_bytes(TINY.read_bytes() + b"\x32\x01" + folder.encode())
            (self.work / folder / "p.vnnlib").symlink_to(MODELS / "properties" / "tiny_holds.vnnlib")
        self.write("i.csv", "a/net.onnx,a/p.vnnlib,60\nb/net.onnx,b/p.vnnlib,60\n")
        for results, rechecked in (("1.csv", None), ("2.csv", 2)):
            found = self.run_json("verify", "--instances", "i.csv", "--results", results, "--proofs", "lock",
                                  "--recheck")
            self.assertEqual((found["proofs"], found.get("rechecked")), (2, rechecked))
        self.assertEqual(self.names(self.work / "lock"),
                         ["manifest.json", "net_p.bfc", "net_p.vnnlib", "net_p_2.bfc", "net_p_2.vnnlib"])
        self.assertEqual(self.check_set("lock", self.work / "a/net.onnx", self.work / "b/net.onnx")[0], 0)

    def check_set(self, *files):
        done = subprocess.run([sys.executable, "-B", CHECK_SET, *files], cwd=self.work, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, env=dict(os.environ, BF_CHECK=BF_CHECK))
        return done.returncode, done.stdout

    def test_a_set_is_checked_as_a_whole(self):
        folder = MODELS / "examples" / "robustness"
        network = folder / "digits_cnn.onnx"
        asked = ("certify", network, "--data", folder / "digits_test.npz", "--scale", "16", "--clip", "0,1", "--eps",
                 "0.01,0.3", "--count", "3", "--proofs")
        self.run_tool(*asked, "digits.zip")
        whole = (self.work / "digits.zip").read_bytes()
        self.run_tool(*asked, "digits.zip")
        self.assertEqual((self.work / "digits.zip").read_bytes(), whole)
        code, said = self.check_set("digits.zip", network)
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"^checked 3 of 6 answers: 3 verified, 0 falsified; 3 have no certificate, 0 fail\n$")
        with zipfile.ZipFile(self.work / "digits.zip") as archive:
            archive.extractall(self.work / "set")
        manifest = json.loads((self.work / "set/manifest.json").read_text())
        self.assertEqual(manifest["models"], [{"file": "digits_cnn.onnx", "sha256": sha256(network)}])
        self.assertEqual(manifest["data"]["sha256"], sha256(folder / "digits_test.npz"))
        self.assertEqual(manifest["inputs"], {"scale": "16", "clip": ["0", "1"]})
        self.assertEqual([answer["answer"] for answer in manifest["answers"]], 3 * ["verified"] + 3 * ["unknown"])
        self.assertEqual(self.check_set("set", TINY)[0], 4)
        self.assertEqual(self.check_set("set"), (2, self.check_set("set")[1]))
        # What was changed since fails by its name.
        for name, change in (("sample_1_eps_0.01.bfc", lambda data: data[:-1]),
                             ("sample_1_eps_0.01.vnnlib", lambda data: data + b"\n"),
                             ("manifest.json", lambda data: data.replace(b"verified", b"falsified", 1))):
            path = self.work / "set" / name
            data = path.read_bytes()
            path.write_bytes(change(data))
            code, said = self.check_set("set", network)
            self.assertEqual(code, 4)
            self.assertRegex(said, r"^sample_[01]_eps_0.01.bfc: .*\nchecked 2 of 6 answers: .*, 1 fail\n$")
            path.write_bytes(data)
        (self.work / "set/manifest.json").write_text("{}")
        self.assertEqual(self.check_set("set", network)[0], 1)

    def test_trees_are_shown(self):
        def shown(name, *more):
            done = subprocess.run([sys.executable, "-B", CHECK_SET.parent / "show_tree.py", question, name, *more],
                                  cwd=self.work, stdout=subprocess.PIPE, check=True)
            return json.loads(done.stdout)

        network, question = MODELS / "digits_64x2.onnx", MODELS / "properties" / "digits_64x2.vnnlib"
        made = self.run_json("verify", network, question, "--proof", "answer.bfc")["proof"]
        found = shown("answer.bfc", "tree.svg")
        self.assertEqual((found["statement"], found["bytes"], found["leaves"]), ("verified", made["bytes"], made["leaves"]))
        self.assertEqual((found["models"], found["property"]), ([sha256(network)], sha256(question)))
        self.assertEqual(found["leaves"], sum(found["records"].get(kind, 0) for kind in
                                              ("leaf", "leaf with choices", "empty")))
        picture = (self.work / "tree.svg").read_text(encoding="utf-8")
        bars = [int(re.search(r"(\d+) leaves", each.text).group(1)) for each in ElementTree.fromstring(picture).iter()
                if each.tag.endswith("title")]
        self.assertEqual(max(bars), found["leaves"])
        network, question = TINY, MODELS / "properties" / "tiny_violated.vnnlib"
        self.run_tool("verify", network, question, "--proof", "point.bfc.gz", code=3)
        self.assertEqual(shown("point.bfc.gz")["statement"], "falsified")
        (self.work / "cut.bfc").write_bytes((self.work / "answer.bfc").read_bytes()[:-1])
        done = subprocess.run([sys.executable, "-B", CHECK_SET.parent / "show_tree.py", question, "cut.bfc"],
                              cwd=self.work, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, b""))

    def test_loops_are_written_out(self):
        """A cart, x' = x + v / 10 and v' = v + u / 10, under the controller of the example."""
        loops = MODELS / "examples" / "loops"
        tensors = [tensor("a", (2, 2), (1, 0, 0.1, 1)), tensor("b", (1, 2), (0, 0.1))]
        nodes = [node("MatMul", ["x", "a"], "free"), node("MatMul", ["u", "b"], "pushed"), node("Add", ["free", "pushed"], "y")]
        pushed = "dim { dim_value: 1 } dim { dim_value: 1 }"
        write_model(self.work / "cart.onnx", model("cart", nodes, tensors, (1, 2), (1, 2))[:-1] +
                    f'input {{ name: "u" type {{ tensor_type {{ elem_type: 1 shape {{ {pushed} }} }} }} }} }}')
        subprocess.run([sys.executable, loops / "unroll.py", loops / "controller.onnx", "cart.onnx", "10", "1", "loop.onnx"],
                       cwd=self.work, check=True)
        for limit, code in (("0.5", 0), ("0.41", 3)):
            reached = " ".join(f"(>= Y_{2 * k} {limit})" for k in range(10))
            question = self.write("loop.vnnlib", asserts(2, 20, f"(or {reached})", 0.2, 0.4))
            self.run_tool("verify", "loop.onnx", question, "--proof", "loop.bfc", code=code)
            self.assertEqual(check((self.work / "loop.onnx", question, self.work / "loop.bfc")), code)

    def test_certificates_are_compressed(self):
        for name, code in (("holds", 0), ("violated", 3)):
            files = TINY, MODELS / "properties" / f"tiny_{name}.vnnlib"
            self.run_tool("verify", *files, "--proof", "plain.bfc", code=code)
            found = self.run_json("verify", *files, "--proof", "packed.bfc.gz", code=code)
            packed = (self.work / "packed.bfc.gz").read_bytes()
            self.assertEqual(gzip.decompress(packed), (self.work / "plain.bfc").read_bytes())
            self.assertEqual(found["proof"]["bytes"], len(gzip.decompress(packed)))
            self.assertEqual(check((*files, self.work / "packed.bfc.gz")), code)
        self.run_tool("verify", TINY, MODELS / "properties" / "tiny_holds.vnnlib", "--proof", "-", code=2)

    def test_parts_make_the_certificate_of_one_process(self):
        shipped = [(MODELS / f"{network}.onnx", MODELS / "properties" / f"{question}.vnnlib") for network, question in
                   (("collision_avoidance_6x50", "collision_avoidance_6x50_wide"), ("digits_64x2", "digits_64x2"))]
        for files in (*shipped, curved_network(self)):
            question = files[1].stem
            self.run_tool("verify", *files, "--proof", "whole.bfc", "--jobs", "1")
            trees, parts = [], []
            for i in range(3):
                trees.append(self.work / f"{question}-{i}.json")
                parts.append(self.work / f"{question}-{i}.bfp")
                found = self.run_json("verify", *files, "--part", f"{i}/3", "--save-part", trees[i], "--proof",
                                      parts[i], "--search", "0", "--jobs", "2")
                self.assertEqual((found["verdict"], found["proof"]["bytes"]), ("closed", parts[i].stat().st_size))
            given = [word for part in parts for word in ("--proof-part", part)]
            found = self.run_json("merge", *trees, *given, "--proof", "joined.bfc")
            self.assertEqual(found["proof"]["bytes"], (self.work / "joined.bfc").stat().st_size)
            self.assertEqual((self.work / "joined.bfc").read_bytes(), (self.work / "whole.bfc").read_bytes())
            self.assertEqual(check((*files, self.work / "joined.bfc")), 0)
            for wrong in (given[:4], given[:4] + given[2:4]):
                self.assert_refused("BF3023", "merge", *trees, *wrong, "--proof", "none.bfc", says=("all parts",))
            for cut in (b"BFP1", parts[0].read_bytes()[:-3], parts[1].read_bytes()[:5] + b"\x09"):
                parts[0].write_bytes(cut)
                self.assert_refused("BF3023", "merge", *trees, *given, "--proof", "none.bfc")

    def test_samples(self):
        folder = MODELS / "examples" / "robustness"
        asked = ("certify", folder / "digits_cnn.onnx", "--data", folder / "digits_test.npz", "--scale", "16",
                 "--clip", "0,1")
        found = self.run_json(*asked, "--eps", "0.01,0.1", "--count", "4", "--first", "3", "--decide", "--proofs",
                              "proofs", "--proof-seconds", "20", "--csv", "all.csv")
        self.assertGreater(found["proofs"], 3)
        names = sorted(path.stem for path in (self.work / "proofs").glob("*.bfc"))
        self.assertEqual(names, sorted(path.stem for path in (self.work / "proofs").glob("*.vnnlib")))
        self.assertEqual(len(names), found["proofs"])
        answers = set()
        with open(self.work / "all.csv", encoding="utf-8") as file:
            status = {(row["sample"], row["eps"]): row["status"] for row in csv.DictReader(file)}
        for name in names:
            files = [self.work / "proofs" / (name + end) for end in (".vnnlib", ".bfc")]
            _, sample, _, eps = name.split("_")
            code = {"certified": 0, "falsified": 3}[status[sample, eps]]
            answers.add(code)
            self.assertEqual(check((folder / "digits_cnn.onnx", *files)), code)
        self.assertEqual(answers, {0, 3})
        for more in (("--norm", "l2", "--eps", "0.1"), ("--eps", "0.1", "--within", "1"),
                     ("--eps", "0.1", "--semantics", "float32-exact")):
            self.assert_refused("BF3024", *asked, *more, "--proofs", "none", says=("certificates",))
        self.run_tool(*asked, "--eps", "0.001", "--count", "1", "--semantics", "float32", "--proofs", "float32")
        files = [self.work / "float32" / f"sample_0_eps_0.001{end}" for end in (".vnnlib", ".bfc")]
        self.assertEqual(files[1].read_bytes()[5], 1)  # the semantics that it is about
        self.assertEqual(check((folder / "digits_cnn.onnx", *files)), 0)


class Records(Case):
    """Certificates that are written by hand, of y = relu(x0 + x1) + relu(x0 - x1)."""

    def setUp(self):
        super().setUp()
        nodes = [node("MatMul", ["x", "w"], "z"), node("Relu", ["z"], "r"), node("MatMul", ["r", "v"], "y")]
        self.network = write_model(self.work / "three.onnx", model(
            "three", nodes, [tensor("w", (2, 2), (1, 1, 1, -1)), tensor("v", (2, 1), (1, 1))], (1, 2), (1, 1)))

    def question(self, last):
        return self.write("p.vnnlib", asserts(2, 1, last))

    def header(self, question, statement=1, grid=(44, 36, 40)):
        digests = [hashlib.sha256(pathlib.Path(path).read_bytes()).digest() for path in (self.network, question)]
        return b"BFC2" + bytes([statement, 0, *grid, 1]) + b"".join(digests) + b"\x04hand"

    def checked(self, question, records, code, **header):
        path = self.work / "hand.bfc"
        path.write_bytes(self.header(question, **header) + bytes(records))
        self.assertEqual(check((self.network, question, path), code), code, records)

    def test_shapes_of_a_property_are_checked_before_their_elements_are_named(self):
        records = [HALVE, 0, DERIVE, LEAF, 0, DERIVE, LEAF, 0]
        for shape, code in (("[1,2]", 0), ("[1,2,]", 1), ("[1 2]", 1), ("[1,-2]", 1), ("[1,4096,4096]", 1),
                            ("[1,99999999999999999999]", 1)):
            with self.subTest(shape=shape):
                self.checked(self.write("p.vnnlib", f"""(vnnlib-version <2.0>)
                    (declare-network f (declare-input X Real {shape}) (declare-output Y Real [1,1]))
                    (assert (and (<= -1 X[0,0] 1) (<= -1 X[0,1] 1) (>= Y[0,0] 2.75)))"""), records, code)

    def test_what_is_not_the_network_of_the_table_is_refused(self):
        """Operators that train by default, operands beyond an operator's, names of an input and an output."""
        question = self.question("(>= Y_0 2.75)")
        records = [HALVE, 0, DERIVE, LEAF, 0, DERIVE, LEAF, 0]
        constants = [tensor("w", (2, 2), (1, 1, 1, -1)), tensor("v", (2, 1), (1, 1)),
                     tensor("one", (2,), (1, 1)), tensor("zero", (2,), (0, 0))]
        scale = node("BatchNormalization", ["r", "one", "zero", "zero", "one"], "d",
                     attributes='attribute { name: "epsilon" type: FLOAT f: 0 }')
        relu = node("Relu", ["z"], "r")
        for opset, drop, right in ((13, node("Dropout", ["r"], "d"), True), (6, node("Dropout", ["r"], "d"), False),
                                   (13, scale, True), (6, scale, False),
                                   (13, node("Identity", ["r"], "d"), True), (13, node("Identity", ["r", "r"], "d"), False),
                                   (13, node("Identity", ["r"], "x"), False)):
            nodes = [node("MatMul", ["x", "w"], "z"), relu, drop, node("MatMul", ["d", "v"], "y")]
            text = model("three", nodes, constants, (1, 2), (1, 1)).replace("version: 13", f"version: {opset}")
            self.network = write_model(self.work / "other.onnx", text)
            path = self.work / "other.bfc"
            path.write_bytes(self.header(question) + bytes(records))
            with self.subTest(opset=opset, node=drop):
                self.assertIn(check((self.network, question, path)), (0,) if right else (1, 2))

    def bound_to_files(self, data, question, records=(HALVE, 0, DERIVE, LEAF, 0, DERIVE, LEAF, 0)):
        """The answers of both checkers for a model's bytes; the twin is asked in this process."""
        self.network = self.work / "bytes.onnx"
        self.network.write_bytes(data)
        files = self.network, question, self.work / "bytes.bfc"
        files[2].write_bytes(self.header(question) + bytes(records))
        try:
            model, *others = (path.read_bytes() for path in files)
            other = {1: 0, 2: 3}[twin.check([model], *others)]
        except twin.NotProven:
            other = 4
        except Exception:  # whatever goes wrong is a refusal
            other = 1
        return check(files), other

    def test_fields_that_stand_twice(self):
        """Protobuf merges them, or takes the last: both checkers refuse them. What repeats both read alike."""
        weights = tensor("w", (2, 2), (1, 1, 1, -1))
        constant = node("Constant", [], "w", "", "attribute { name: 'value' type: TENSOR " +
                        weights.replace("initializer", "t") + " }")
        text = model("three", [constant, node("Gemm", ["x", "w"], "z", "", 'attribute { name: "alpha" type: FLOAT f: 1 }'
                     + 'attribute { name: "transA" type: INT i: 0 }'), node("Relu", ["z"], "r"),
                     node("Transpose", ["r"], "t", "", ints("perm", [0, 1])), node("MatMul", ["t", "v"], "y")],
                     [tensor("v", (2, 1), (1, 1))], (1, 2), (1, 1))
        data = write_model(self.work / "whole.onnx", text).read_bytes()
        question = self.question("(>= Y_0 2.75)")
        self.assertEqual(self.bound_to_files(data, question), (0, 0))
        count = 0
        for changed, repeats in doubled(data):
            found = self.bound_to_files(changed, question)
            self.assertEqual(found[0], found[1], changed)
            self.assertTrue(repeats or found == (1, 1), changed)
            count += not repeats
        self.assertGreater(count, 40)

    def test_what_is_ambiguous_in_a_model_is_refused(self):
        question = self.question("(>= Y_0 2.75)")
        right = pathlib.Path(self.network).read_bytes()
        self.assertEqual(self.bound_to_files(right, question), (0, 0))
        for more in (b"\x0b\x0c", b"\xf8\x01\x01", b"\x10\x81\x00", b"\x28\x81\x00", b"\x28\x80", b"\x12\x05ab", b"\x15abcd",
                     b"\x28" + b"\xff" * 9 + b"\x02", b"\xca\x01\x00", b"\x42\x02\x10\x0d"):
            self.assertEqual(self.bound_to_files(right + more, question), (1, 1), more)
        text = model("three", [node("MatMul", ["x", "w"], "z"), node("Relu", ["z"], "r"), node("MatMul", ["r", "v"], "y")],
                     [tensor("w", (2, 2), (1, 1, 1, -1)), tensor("v", (2, 1), (1, 1))], (1, 2), (1, 1))
        w, v = tensor("w", (2, 2), (1, 1, 1, -1)), tensor("v", (2, 1), (1, 1))
        v_input = 'input { name: "v" type { tensor_type { elem_type: 1 shape { dim { dim_value: %s } dim { dim_value: 1 } } } } }'
        as_input = lambda rows: text.replace("input { name: \"x\"", v_input % rows + " input { name: \"x\"", 1)
        last = node("MatMul", ["r", "v"], "y")
        for changed, code in ((as_input(2), 0), (as_input(3), 1),
                              (text.replace('dim_value: 2', 'dim_param: "n"', 1), 1),  # one input
                              (text.replace('output { name: "y"', 'output { name: "y" doc_string: "y"'), 0),
                              (text.replace("version: 13", "version: 0"), 1), (text.replace("version: 13", "version: 29"), 1),
                              (text.replace(last, last + node("Identity", ["r"], "r")), 1),
                              (text.replace(w, w + w), 1),
                              (text.replace(v, v.replace("float_data: 1 ", "float_data: 1 int32_data: 1 ")), 1),
                              (text.replace(v, v.replace("float_data: 1 }", "float_data: 1 raw_data: '12345678' }")), 1),
                              (text.replace(v, v.replace("float_data: 1", "", 2).replace(" }", " raw_data: '1234567' }")), 1),
                              (text.replace(last, node("Gemm", ["r", "v", "c"], "y")).replace(v, v + tensor("c", (1, 1), (0,))), 0),
                              (text.replace(last, node("Gemm", ["r", "v", "c"], "y")).replace(v, v + tensor("c", (1, 1, 1), (0,))), 1),
                              (text.replace('input: "z"', 'input: "z" input: "z"'), 1),
                              (text.replace(last, node("MatMul", ["r", "v"], "y", "", ints("a b", [1]))), 1)):
            data = write_model(self.work / "text.onnx", changed).read_bytes()
            self.assertEqual(self.bound_to_files(data, question), (code, code), changed)

    def test_models_that_multiply_sizes_are_refused_at_once(self):
        question = self.question("(>= Y_0 2.75)")
        kernel, pads = ints("kernel_shape", [4096, 4096]), ints("pads", [4095] * 4)
        big = [tensor(n, dims, [0] * 8192) for n, dims in (("p", (8192, 1)), ("q", (1, 8192)))]
        for nodes, initializers, shape in (
                ([node("MaxPool", ["x"], "y", "", kernel + pads)], [], (1, 1, 1, 1)),
                ([node("Add", ["p", "q"], "s"), node("MatMul", ["s", "s"], "u"), node("Identity", ["x"], "y")], big, (1, 1)),
                ([node("MatMul", ["p", "q"], "s"), node("Identity", ["x"], "y")], big, (1, 1)),
                ([node("Identity", ["x"], "y")], [], (8192, 8192)), ([node("Identity", ["x"], "y")], [], (0, 1 << 26, 1 << 26))):
            data = write_model(self.work / "big.onnx", model("big", nodes, initializers, shape, shape)).read_bytes()
            self.assertEqual(self.bound_to_files(data, question), (1, 1))

    def test_lack_of_memory_is_an_error(self):
        """4 million parameters: what the certificate and its checker hold of one takes less than 48 bytes."""
        nodes = [node("MatMul", ["x", "w"], "z"), node("Relu", ["z"], "r"), node("MatMul", ["r", "v"], "y")]
        text = model("wide", nodes, [tensor("v", (4096, 1), [0.01] * 4096)], (1, 1024), (1, 1))
        data = write_model(self.work / "small.onnx", text).read_bytes()
        size = 1 << 22  # initializer w: dims, type, name and raw_data
        big = b"\x08" + varint(1024) + b"\x08" + varint(4096) + b"\x10\x01\x42\x01w\x4a" + varint(4 * size)
        big += struct.pack("<f", 0.01) * size
        at = data.index(b"\x3a") + 1
        inner, at = twin.varint(data, at)
        graph = data[at:at + inner] + b"\x2a" + varint(len(big)) + big
        self.network, proof = self.work / "wide.onnx", self.work / "wide.bfc"
        self.network.write_bytes(data[:data.index(b"\x3a") + 1] + varint(len(graph)) + graph + data[at + inner:])
        question = self.write("p.vnnlib", asserts(1024, 1, "(>= Y_0 1e6)"))
        proof.write_bytes(self.header(question) + bytes([DERIVE, LEAF, 0]))

        def limited(kilobytes, *words):
            command = f'ulimit -v {kilobytes}; exec "$0" "$@"'
            ended = subprocess.run(["sh", "-c", command, *words], capture_output=True, text=True, env=self.environment)
            return ended.returncode, ended.stdout + ended.stderr

        files = (self.network, question)
        self.assertEqual(limited(200000, BF_CHECK, *files, proof), (0, "checked: verified\n"))
        self.assertEqual(limited(80000, BF_CHECK, *files, proof), (1, "bf-check: out of memory\n"))
        verify = (BF_AOT, "verify", *files, "--jit", "off", "--jobs", "1")
        self.assertEqual(limited(160000, *verify)[0], 0)
        code, said = limited(160000, *verify, "--proof", self.work / "none.bfc")
        self.assertEqual(code, 1)
        self.assertIn("error BF3023: ", said)
        self.assertIn("the answer is 'verified', but there is no certificate: out of memory", said)
        self.assertFalse((self.work / "none.bfc").exists())
        # 64 MB are the addresses that the C library keeps for a thread, or does not.
        self.assertEqual(limited(320000 + 64000, *verify, "--proof", self.work / "some.bfc")[0], 0)

    def test_what_is_ambiguous_in_a_property_is_refused(self):
        data, records = pathlib.Path(self.network).read_bytes(), (HALVE, 0, DERIVE, LEAF, 0, DERIVE, LEAF, 0)
        old = asserts(2, 1, "(>= Y_0 2.75)")
        new = """(declare-network f (declare-input X Real [1,2]) (declare-output Y Real [1,1]))
            (assert (and (<= -1 X[0,0] 1) (<= -1 X[0,1] 1) (>= Y[0,0] 2.75)))"""
        self.assertEqual(self.bound_to_files(data, self.write("p.vnnlib", old + "(check-sat)(exit)"), records), (0, 0))
        for text in (new, new.replace("X[0,0]", "X[ 0 , 0 ]")):
            self.assertEqual(self.bound_to_files(data, self.write("p.vnnlib", text), records), (0, 0), text)
        for text in (old.replace("(assert (>= Y_0 2.75))", "(assert (>= Y_0 2.75) (<= Y_0 9))"),
                     old + "(check-sat)(assert true)", old + "(exit)(check-sat)", old + "(assert (or))",
                     old + "(assert (not (and)))", old + "(assert false)", old + "(assert (<= X_0 -2))", old + "(assert)",
                     "(assert (<= X_0 1))" + old, old.replace("X_0", "X_9").replace("X_1", "X_0").replace("X_9", "X_1"),
                     old + "(declare-const X_2 Int)", old + "(declare-const X_2)", old + "(assert (not true false))",
                     new.replace("[1,2]", "[2,1]").replace("X[0,1]", "X[1,0]"), new.replace("[1,1]", "[1]").replace("Y[0,0]", "Y[0]"),
                     new.replace("Y[0,0]", "Y[0,0 0]"), new.replace("[1,1]", "[1 1]").replace("Y[0,0]", "Y[0]")):
            self.assertEqual(self.bound_to_files(data, self.write("p.vnnlib", text), records), (1, 1), text)
        for records in ((), (EMPTY,), (LEAF, 0)):
            self.assertEqual(self.bound_to_files(data, self.write("p.vnnlib", old + "(assert false)"), records), (1, 1))

    def test_large_properties(self):
        """Reading takes time by lines: 100,000 lines of each kind, and what multiplies is refused."""
        count = 100000
        old = asserts(2, 1, "(>= Y_0 2.75)")
        more = {"asserts": "(assert (<= X_0 1))\n" * count, "conditions": "(assert (and\n" + "(<= X_0 1)\n" * count + "))",
                "sum": "(assert (<= (+\n" + "0\n" * count + ") 1))", "product": "(assert (<= (* Y_0\n" + "1\n" * count + ") 9))",
                "chain": "(assert (<= 0\n" + "1\n" * count + "))", "digits": "(assert (<= (* Y_0\n" + "1.1\n" * count + ") 9))",
                "alternatives": "(assert (or" + "(<= Y_0 9)\n" * count + "))"}
        path = self.work / "large.bfc"
        for name, text in more.items():
            question = self.write("p.vnnlib", old + text)
            path.write_bytes(self.header(question) + bytes([HALVE, 0, DERIVE, LEAF, 0, DERIVE, LEAF, 0]))
            with self.subTest(kind=name):
                refused = name in ("digits", "alternatives")
                ended = subprocess.run([BF_CHECK, self.network, question, path], capture_output=True, text=True, timeout=100)
                self.assertEqual(ended.returncode, 1 if refused else 0, ended)
                self.assertIn("too many" if refused else "", ended.stderr)
        many = "".join(f"(declare-const X_{i} Real)(assert (<= 0 X_{i} 1))" for i in range(5000)) + "(declare-const Y_0 Real)"
        question = self.write("p.vnnlib", many + "(assert (or" + "(<= Y_0 9)\n" * 20000 + "))")
        path.write_bytes(self.header(question))
        ended = subprocess.run([BF_CHECK, self.network, question, path], capture_output=True, text=True, timeout=100)
        self.assertIn("too many alternatives", ended.stderr)

    def test_the_worked_example(self):
        question = self.question("(>= Y_0 2.75)")
        self.checked(question, [HALVE, 0, DERIVE, LEAF, 0, DERIVE, LEAF, 0], 0)
        self.checked(question, [HALVE, 1, DERIVE, LEAF, 0, DERIVE, LEAF, 0], 0)
        self.checked(question, [CUT, 0, 0, DERIVE, LEAF, 0, DERIVE, LEAF, 0], 0)
        self.checked(question, [HALVE, 0, DERIVE, LEAF, 0, DERIVE, LEAF, 0], 0, grid=(20, 20, 20))
        for records in ([DERIVE, LEAF, 0],                                          # the bound is 3
                        [HALVE, 2, DERIVE, LEAF, 0, DERIVE, LEAF, 0],               # none
                        [CUT, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, DERIVE, LEAF, 0, DERIVE, LEAF, 0],  # outside
                        [HALVE, 0, LEAF, 0, DERIVE, LEAF, 0],                       # nothing is derived
                        [HALVE, 0, DERIVE, LEAF, 1, DERIVE, LEAF, 0],               # no such condition
                        [HALVE, 0, DERIVE, LEAF, 0, EMPTY],                         # it is not
                        [HALVE, 0, DERIVE, LEAF, 0],                                # a half is missing
                        [HALVE, 0, DERIVE, LEAF, 0, DERIVE, LEAF, 0, LEAF],         # more than the tree
                        [EACH, DERIVE, LEAF, 0], [8], [0xff] * 12, [DERIVE] * 50, [HALVE, 0] * 5000,
                        [DERIVE, NEURON, 0] * 2000, []):
            self.checked(question, records, 4)

    def test_neurons(self):
        question = self.question("(>= Y_0 2.25)")
        # z0 >= 0 and z1 <= 0 make y = x0 + x1 and x0 <= x1, so y <= 2; both >= 0: y = 2 x0.
        chosen = [LEAF_CHOICES, 1, 0, 1]
        half = 1 << 39  # of 2^-40
        varint = [128 | half >> shift & 127 for shift in range(0, 35, 7)] + [half >> 35]
        zero = chosen + [2, 0, 0]
        both = [NEURON, 1] + [LEAF, 0] * 2
        self.checked(question, [DERIVE, NEURON, 0] + both + both, 0)
        self.checked(question, [DERIVE, NEURON, 0, NEURON, 1] + zero * 2 + both, 0)
        self.checked(question, [DERIVE, NEURON, 0, NEURON, 1] + zero + chosen + [2, 0] + varint + both, 0)
        self.checked(question, [DERIVE, NEURON, 0, NEURON, 0, LEAF, 0, LEAF, 0, LEAF, 0], 4)   # twice
        self.checked(question, [DERIVE, NEURON, 2] + both + both, 4)                           # none
        self.checked(question, [NEURON, 0] + both + both, 4)                                   # nothing is derived
        self.checked(question, [DERIVE, NEURON, 0, LEAF, 0, LEAF, 0], 4)                       # the bound is 2.5
        self.checked(question, [DERIVE, NEURON, 0, NEURON, 1] + zero * 2 + both[:-2], 4)
        self.checked(question, [DERIVE, NEURON, 0, NEURON, 1] + chosen + [4, 0, 0] + zero + both, 4)
        self.checked(question, [DERIVE, NEURON, 0, NEURON, 1] + chosen + [2, 0] + [0xff] * 8 + [0x7f] + zero + both, 4)

    def test_slopes_and_combinations(self):
        # y <= -0.5 is refuted by slopes of 0 and y >= 0; with slopes of 1, y >= 2 x0 >= -2.
        question = self.question("(<= Y_0 -0.5)")
        self.checked(question, [DERIVE, LEAF_CHOICES, 1, 0, 1, 1, 2, 0, 0, 0, 0], 0)
        self.checked(question, [DERIVE, LEAF_CHOICES, 1, 0, 1, 1, 2, 0, 128, 0, 128], 4)
        self.checked(question, [DERIVE, LEAF_CHOICES, 1, 0, 1, 1, 2, 0, 0, 0, 129], 4)
        self.checked(question, [DERIVE, LEAF_CHOICES, 1, 0, 1, 1, 2, 0, 0, 1, 0], 4)    # no such neuron
        self.checked(question, [DERIVE, LEAF_CHOICES, 0, 0], 4)                         # 0 > 0
        self.checked(question, [DERIVE, LEAF_CHOICES, 2, 0, 1, 0, 1, 0], 4)             # more than there are
        # x0 >= 0.5 + x1 and x1 >= 0.5 + x0 exclude each other: their sum does.
        question = self.question("(and (>= X_0 (+ 0.5 X_1)) (>= X_1 (+ 0.5 X_0)) (<= Y_0 9))")
        self.checked(question, [DERIVE, LEAF_CHOICES, 2, 0, 1, 1, 1, 0], 0)
        self.checked(question, [DERIVE, LEAF_CHOICES, 2, 0, 1, 1, 2, 0], 4)
        self.checked(question, [DERIVE, LEAF, 0], 4)

    def test_each_clause_and_strict_conditions(self):
        question = self.question("(or (>= Y_0 3.5) (< Y_0 -2))")
        self.checked(question, [DERIVE, LEAF, 0, 0], 0)
        self.checked(question, [DERIVE, EACH, LEAF, 0, LEAF, 0], 0)
        self.checked(question, [DERIVE, EACH, LEAF, 0], 4)
        self.checked(question, [DERIVE, EACH, EACH, LEAF, 0, LEAF, 0, LEAF, 0], 4)
        # relu >= 0 is met exactly: < 0 never holds, <= 0 does.
        zeros = [DERIVE, LEAF_CHOICES, 1, 0, 1, 1, 2, 0, 0, 0, 0]
        self.checked(self.question("(< Y_0 0)"), zeros, 0)
        self.checked(self.question("(<= Y_0 0)"), zeros, 4)

    def test_points(self):
        question = self.question("(>= Y_0 2)")
        point = lambda *words: [x for word in words for x in (len(word), *word.encode())]  # noqa: E731
        self.checked(question, point("1", "1/3"), 3, statement=2)
        self.checked(question, point("1", "-1"), 3, statement=2)
        self.checked(question, point("1/2", "1/3"), 4, statement=2)
        self.checked(question, point("3", "0"), 4, statement=2)  # outside of the box
        self.checked(question, point("1"), 4, statement=2)
        self.checked(question, point("1", "0", "0"), 4, statement=2)
        for word in ("1/0", "", "1e3", "-", "1/-2", "0x1"):
            path = self.work / "hand.bfc"
            path.write_bytes(self.header(question, statement=2) + bytes(point(word, "0")))
            self.assertIn(check((self.network, question, path)), (1, 4))

    def function(self, op, limit, comparison=">="):
        """The question whether y = f(x0 + x1) + f(x0 - x1) goes beyond a limit, f being in the ReLU's place."""
        nodes = [node("MatMul", ["x", "w"], "z"), node(op, ["z"], "r"), node("MatMul", ["r", "v"], "y")]
        self.network = write_model(self.work / f"{op}.onnx", model(
            op, nodes, [tensor("w", (2, 2), (1, 1, 1, -1)), tensor("v", (2, 1), (1, 1))], (1, 2), (1, 1)))
        return self.question(f"({comparison} Y_0 {limit})")

    def test_functions(self):
        # The greatest y is 2 f(1), at x = (1, 0), and the least its negation, about 2 f(0).
        halves = [HALVE, 0, DERIVE, LEAF, 0, DERIVE, LEAF, 0]
        for op, most, middle in (("Sigmoid", 2 / (1 + math.exp(-1)), 1), ("Tanh", 2 * math.tanh(1), 0)):
            self.checked(self.function(op, most + 0.1), [DERIVE, LEAF, 0], 0)
            self.checked(self.function(op, 2 * middle - most - 0.1, "<="), [DERIVE, LEAF, 0], 0)
            self.checked(self.function(op, most + 0.2), halves, 0)
            self.checked(self.function(op, most + 0.1), [DERIVE, LEAF, 0], 0, grid=(20, 20, 20))
            for records in ([DERIVE, LEAF, 0], halves, [NEURON, 0] + halves, [DERIVE, NEURON, 0] + halves,
                            [DERIVE, EMPTY], [LEAF, 0]):
                self.checked(self.function(op, most - 1e-6), records, 4)
            point = lambda *words: [x for word in words for x in (len(word), *word.encode())]  # noqa: E731
            self.checked(self.function(op, f"{most - 1e-9:.12f}"), point("1", "0"), 3, statement=2)
            self.checked(self.function(op, f"{most + 1e-9:.12f}"), point("1", "0"), 4, statement=2)
            self.checked(self.function(op, f"{most - 1e-9:.12f}", ">"), point("1", "0"), 3, statement=2)
            self.checked(self.function(op, f"{most - 1e-9:.12f}"), point("1", "0"), 4, statement=2, grid=(44, 20, 40))
            self.checked(self.function(op, f"{most - 1e-9:.12f}"), point("1", "1/100"), 4, statement=2)
            self.checked(self.function(op, middle), point("1", "1"), 3, statement=2)
            # f(0) is known but for rounding, which is upwards here.
            self.checked(self.function(op, middle, "<="), point("0", "0"), 4, statement=2)
            self.checked(self.function(op, middle + 1e-9, "<"), point("0", "0"), 3, statement=2)

    def test_false_properties_of_functions_have_no_certificate(self):
        rng, path = random.Random(8), self.work / "hand.bfc"
        for op, most in (("Sigmoid", 2 / (1 + math.exp(-1))), ("Tanh", 2 * math.tanh(1))):
            question = self.function(op, f"{most - 1e-7:.9f}")
            for _ in range(100):
                parts = [DERIVE, LEAF, 0]
                for _ in range(rng.randrange(5)):
                    parts = [HALVE, rng.randrange(2)] + rng.choice([parts, [DERIVE, LEAF, 0]]) + parts
                path.write_bytes(self.header(question) + bytes(parts))
                self.assertEqual(check((self.network, question, path)), 4)

    def test_steps_are_limited(self):
        """Bounds may be derived anew at each byte: what that takes is counted, and refused beyond a number."""
        question, path = self.question("(>= Y_0 2.75)"), self.work / "hand.bfc"
        for records, code in (([DERIVE] * 2000 + [HALVE, 0, LEAF, 0, LEAF, 0], 4), ([HALVE, 0] * 500, 4),
                              ([HALVE, 0, DERIVE, LEAF, 0, DERIVE, LEAF, 0], 0)):
            path.write_bytes(self.header(question) + bytes(records))
            files = [str(file) for file in (self.network, question, path)]
            for program in ([BF_CHECK, "--steps"], [sys.executable, "-B", twin.__file__]):
                run = lambda steps: subprocess.run(  # noqa: E731
                    [*program, steps, *files] if program[0] == BF_CHECK else [*program, *files, steps],
                    capture_output=True, text=True)
                ended = run("3000")
                self.assertEqual((ended.returncode, "3000 steps" in ended.stdout), (code, code == 4), ended)
                self.assertEqual((run("-1").returncode, run("").returncode), (2, 2))

    def test_numbers_that_operators_make_are_counted(self):
        nodes = [node("Add", ["p", "q"], "s"), node("Identity", ["x"], "y")]
        sides = [tensor("p", (64, 1), range(64)), tensor("q", (1, 64), range(64))]
        self.network = write_model(self.work / "m.onnx", model("m", nodes, sides, (1, 2), (1, 2)))
        question, path = self.write("p.vnnlib", asserts(2, 2, "(>= Y_0 2)")), self.work / "hand.bfc"
        path.write_bytes(self.header(question) + bytes([DERIVE, LEAF, 0]))
        for steps, code in (("4000000", 0), ("1000000", 4)):
            ended = subprocess.run([BF_CHECK, "--steps", steps, self.network, question, path], capture_output=True, text=True)
            self.assertEqual((ended.returncode, f"{steps} steps" in ended.stdout), (code, code == 4), ended)

    def test_headers(self):
        question = self.question("(>= Y_0 3.5)")
        for grid in ((44, 36, 49), (51, 36, 40), (44, 49, 40), (7, 36, 40), (44, 0, 40)):
            self.checked(question, [DERIVE, LEAF, 0], 4, grid=grid)
        self.checked(question, [DERIVE, LEAF, 0], 4, statement=3)
        self.checked(question, [DERIVE, LEAF, 0], 0)
        path, body = self.work / "hand.bfc", bytes([DERIVE, LEAF, 0])
        right = self.header(question)
        for at in range(len(right)):
            for change in (1, 2, 128):
                header = bytearray(right)
                header[at] ^= change
                path.write_bytes(bytes(header) + body)
                # Statement 2 reads a point, a grid may be another one, and so may the tool's name.
                twin_too = 4 if at in (3, 9, 10) and change == 1 else None
                self.assertIn(check((self.network, question, path), twin_too), (0, 1, 4) if at in (4, 6, 7, 8) or at > 74 else (4,),
                              (at, change))
        path.write_bytes(b"BFC1" + right[4:] + body)
        ended = subprocess.run([BF_CHECK, self.network, question, path], capture_output=True, text=True)
        self.assertIn("a certificate of version 1: make it anew", ended.stdout)

    def test_compressed_files(self):
        question, path = self.question("(>= Y_0 3.5)"), self.work / "packed.bfc"
        whole = self.header(question) + bytes([DERIVE, LEAF, 0])
        packed = gzip.compress(whole)
        self.network = pathlib.Path(shutil.copy(self.network, self.work / "packed.onnx"))
        for data, code in ((packed, 0), (gzip.compress(whole[:50]) + gzip.compress(whole[50:]), 0), (packed[:-9], 1),
                           (packed + b"x", 1), (packed[:40] + b"~~~~" + packed[44:], 1), (gzip.compress(packed), 4)):
            path.write_bytes(data)
            self.assertEqual(check((self.network, question, path)), code, data)
        path.write_bytes(packed)
        for file in (self.network, question):
            file.write_bytes(gzip.compress(file.read_bytes()))
        self.assertEqual(check((self.network, question, path)), 0)

    def test_other_files_are_no_part_of_the_statement(self):
        holds, other = self.question("(>= Y_0 3.5)"), self.work / "other.vnnlib"
        other.write_text(holds.read_text().replace("3.5", "1.5"))  # false
        path = self.work / "hand.bfc"
        path.write_bytes(self.header(holds) + bytes([DERIVE, LEAF, 0]))
        self.assertEqual(check((self.network, other, path), 4), 4)
        self.assertEqual(check((TINY, holds, path), 4), 4)

    def test_false_properties_have_no_certificate(self):
        """Trees of every shape, at random, of a property that is false by little."""
        question = self.question("(or (>= Y_0 2) (and (>= Y_0 1) (>= X_0 0.75)))")
        rng = random.Random(7)

        def tree(depth):
            kind = rng.choice([DERIVE, LEAF, LEAF_CHOICES, EMPTY, HALVE, CUT, NEURON, EACH]) if depth < 5 else LEAF
            below = lambda: tree(depth + 1)  # noqa: E731
            if kind == DERIVE or depth == 0:
                return [DERIVE] + below()
            if kind == HALVE:
                return [HALVE, rng.randrange(2)] + below() + below()
            if kind == CUT:
                return [CUT, rng.randrange(2), rng.randrange(128)] + below() + below()
            if kind == NEURON:
                return [NEURON, rng.randrange(2)] + below() + below()
            if kind == EACH:
                return [EACH] + below() + below()
            if kind == LEAF_CHOICES:
                return [LEAF_CHOICES] + [1, 0, rng.randrange(9), 1, 1, rng.randrange(2), rng.randrange(129)] * 2
            return [kind] + ([0, rng.randrange(2)] if kind == LEAF else [])

        path = self.work / "hand.bfc"
        for _ in range(400):
            path.write_bytes(self.header(question) + bytes(tree(0)))
            self.assertEqual(check((self.network, question, path)), 4)


class Mutations(Case):
    def functions(self):
        nodes = [node("MatMul", ["x", "w"], "z"), node("Tanh", ["z"], "t"), node("Sigmoid", ["z"], "s"),
                 node("Sub", ["t", "s"], "d"), node("MatMul", ["d", "v"], "y")]
        initializers = [tensor("w", (2, 3), (1, 1, -0.5, 1, -1, 0.5)), tensor("v", (3, 1), (1, -1, 0.5))]
        return write_model(self.work / "functions.onnx", model("functions", nodes, initializers, (1, 2), (1, 1)))

    def mutate(self, network, question, proof, statement, count, seed):
        rng, path, accepted = random.Random(seed), self.work / "mutated.bfc", 0
        for k in range(count):
            data = bytearray(proof)
            at = rng.randrange(len(data))
            data[at] ^= rng.randrange(1, 256)
            if k % 5 == 4:
                del data[rng.randrange(len(data)):]
            path.write_bytes(data)
            code = check((network, question, path))
            self.assertIn(code, (statement, 1, 4))
            # What names the statement is read: magic, statement, semantics and digests.
            if at < 6 or 9 <= at < 74:
                self.assertEqual(code, 4)
            if code == statement:
                accepted += 1
                if accepted <= 10 and len(proof) < 500:  # the twin is slow
                    self.assertEqual(check((network, question, path), statement), statement)
        return accepted

    def test_bytes_of_certificates(self):
        questions = [(TINY, "tiny_holds", 0, 1200), (TINY, "tiny_violated", 3, 800),
                     (MODELS / "digits_64x2.onnx", "digits_64x2", 0, 1000), (self.functions(), "holds", 0, 500),
                     (self.functions(), "fails", 3, 500)]
        self.write("holds.vnnlib", asserts(2, 1, "(>= Y_0 1)"))
        self.write("fails.vnnlib", asserts(2, 1, "(>= Y_0 0.98)"))
        for network, name, code, count in questions:
            folder = self.work if (self.work / f"{name}.vnnlib").exists() else MODELS / "properties"
            question, proof = folder / f"{name}.vnnlib", self.work / f"{name}.bfc"
            self.run_tool("verify", network, question, "--proof", proof, "--jit", "off", code=code)
            accepted = self.mutate(network, question, proof.read_bytes(), code, count, 3)
            self.assertLess(accepted, count // 2)  # a byte of the tool's name, say

    def test_bytes_of_the_model_and_of_the_property(self):
        """With their digests, as one would who writes certificates: errors, never an end by a signal."""
        question = MODELS / "properties" / "tiny_holds.vnnlib"
        rng, proof = random.Random(4), self.work / "p.bfc"
        self.run_tool("verify", TINY, question, "--proof", proof, "--jit", "off")
        records = proof.read_bytes()[74:]
        for k in range(1200):
            files = [bytearray(TINY.read_bytes()), bytearray(question.read_bytes())]
            data = files[k % 2]
            for _ in range(rng.randrange(1, 4)):
                data[rng.randrange(len(data))] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
            paths = [self.work / "m.onnx", self.work / "p.vnnlib", self.work / "m.bfc"]
            for path, each in zip(paths, files):
                path.write_bytes(each)
            paths[2].write_bytes(b"BFC2\x01\x00\x2c\x24\x28\x01" + b"".join(hashlib.sha256(x).digest() for x in files) + records)
            self.assertIn(check(paths), (0, 1, 4))


class Independence(unittest.TestCase):
    def test_no_instruction_is_of_floating_point(self):
        objdump = shutil.which("objdump")
        if objdump is None or os.uname().machine not in ("x86_64", "aarch64"):
            self.skipTest("skipped: no objdump, or another machine")
        code = subprocess.run([objdump, "-d", "--no-show-raw-insn", BF_CHECK], capture_output=True, text=True,
                              check=True).stdout
        lines = [line for line in code.splitlines() if ":\t" in line]
        self.assertGreater(len(lines), 10000)
        floats = ("%xmm", "%ymm", "%zmm", "%st", "\tfld", "\tfst") if os.uname().machine == "x86_64" else \
            ("\tfmov", "\tfadd", "\tfmul", "\tfdiv", "\tscvtf", "\tfcvt")
        self.assertEqual([line for line in lines if any(each in line for each in floats)], [])

    def test_the_twin_has_no_float(self):
        known = list(ast.walk(ast.parse(pathlib.Path(twin.__file__).read_text())))
        self.assertEqual([x.value for x in known if isinstance(x, ast.Constant) and isinstance(x.value, (float, complex))], [])
        self.assertEqual([x.lineno for x in known if isinstance(x, ast.Name) and x.id == "float"], [])
        used = {x.attr for x in known if isinstance(x, ast.Attribute) and isinstance(x.value, ast.Name) and x.value.id == "math"}
        self.assertLessEqual(used, {"ceil", "floor", "gcd", "isqrt", "lcm", "prod"})

    def test_sizes(self):
        """What an assessor reads: lines that are neither empty nor comments alone."""
        folder = SOURCE / "aot" / "check"
        count = lambda path, mark: sum(1 for line in path.read_text().splitlines()  # noqa: E731
                                       if line.strip() and not line.strip().startswith(mark))
        self.assertLessEqual(sum(count(path, "//") for path in folder.rglob("*.[ch]*")
                                 if path.parent.name != "show"), 5400)
        self.assertLessEqual(count(folder / "bf_check.py", "#"), 1000)

    def test_usage(self):
        ended = subprocess.run([BF_CHECK, "--help"], capture_output=True, text=True)
        self.assertEqual((ended.returncode, ended.stdout[:16]), (0, "Usage: bf-check "))
        self.assertEqual(subprocess.run([BF_CHECK], capture_output=True).returncode, 2)
        self.assertEqual(subprocess.run([BF_CHECK, "a", "b", "c"], capture_output=True).returncode, 1)
        for words in (("--jobs", "0"), ("--jobs", "x"), ("--jobs",), ("--steps",), ("--verbose",), ("--jobs", "9999")):
            self.assertEqual(subprocess.run([BF_CHECK, "a", "b", "c", *words], capture_output=True).returncode, 2)


if __name__ == "__main__":
    unittest.main()
