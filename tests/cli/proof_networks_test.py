"""Tests of certificates of several networks and of conditions that are not linear. Run as cli_test.py is.

BF_CHECK: the program bf-check.
"""

import hashlib
import os
import pty
import random
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from harness import MODELS, TINY, Case  # noqa: E402
from proof_test import BF_CHECK, CUT, DERIVE, EACH, HALVE, LEAF, LEAF_CHOICES, NEURON, check  # noqa: E402
import bf_check as twin  # noqa: E402  (proof_test has the path)
from small_models import model, node, tensor, write_model  # noqa: E402


class Hand(Case):
    """Certificates that are written by hand."""

    def network(self, name, first, second, function="Relu"):
        """y = second f(first x), of matrices that are given by rows."""
        nodes = [node("MatMul", ["x", "w"], "z"), node(function, ["z"], "r"), node("MatMul", ["r", "v"], "y")]
        weights = [tensor(letter, (len(rows), len(rows[0])), sum(rows, ())) for letter, rows in
                   (("w", first), ("v", second))]
        return write_model(self.work / f"{name}.onnx", model(name, nodes, weights, (1, len(first)),
                                                             (1, len(second[0]))))

    def certificate(self, networks, question, records, statement=1):
        digests = [hashlib.sha256(path.read_bytes()).digest() for path in (*networks, question)]
        path = self.work / "hand.bfc"
        path.write_bytes(b"BFC2" + bytes([statement, 0, 44, 36, 40, len(networks)]) + b"".join(digests) + b"\x04hand" +
                         bytes(records))
        return path

    def checked(self, networks, question, records, code, statement=1):
        path = self.certificate(networks, question, records, statement)
        self.assertEqual(check((*networks, question, path)), code, (question.read_text(), records))
        # The twin in Python refuses some of what is asked here; else it agrees.
        found = subprocess.run([sys.executable, "-B", twin.__file__, *map(str, (*networks, question, path))],
                               capture_output=True, text=True)
        self.assertIn(found.returncode, (code, 1), (question.read_text(), records, found))

    def point(self, *words):
        return [x for word in words for x in (len(word), *word.encode())]


class ProofNetworks(Hand):
    """f: y = relu(x) - relu(-x) = x, and g: v = relu(u)."""

    def setUp(self):
        super().setUp()
        self.f = self.network("f", ((1, -1),), ((1,), (-1,)))
        self.g = self.network("g", ((1,),), ((1,),))

    def question(self, last, between="(= X[0,0] U[0,0])", relation=""):
        return self.write("p.vnnlib", f"""(vnnlib-version <2.0>)
            (declare-network f (declare-input X Real [1,1]) (declare-output Y Real [1,1]))
            (declare-network g {relation} (declare-input U Real [1,1]) (declare-output V Real [1,1]))
            (assert (<= -1 X[0,0] 1)) (assert {between}) (assert {last})""")

    def test_equal_inputs_are_one(self):
        networks = self.f, self.g
        # v >= y everywhere, met exactly where x >= 0; v > y + 1 never is.
        self.checked(networks, self.question("(> Y[0,0] V[0,0])"), [CUT, 0, 0, DERIVE, LEAF, 2, DERIVE, LEAF, 2], 0)
        self.checked(networks, self.question("(>= Y[0,0] V[0,0])"), [CUT, 0, 0, DERIVE, LEAF, 2, DERIVE, LEAF, 2], 4)
        self.checked(networks, self.question("(>= V[0,0] (+ Y[0,0] 1.001))"),
                     [HALVE, 0, DERIVE, LEAF, 2, DERIVE, LEAF, 2], 0)
        self.checked(networks, self.question("(>= V[0,0] (+ Y[0,0] 0.999))"),
                     [HALVE, 0, DERIVE, LEAF, 2, DERIVE, LEAF, 2], 4)
        # The equation itself is 0 <= 0 twice, which excludes nothing; there is one input.
        self.checked(networks, self.question("(> Y[0,0] V[0,0])"), [CUT, 0, 0, DERIVE, LEAF, 0, DERIVE, LEAF, 2], 4)
        self.checked(networks, self.question("(> Y[0,0] V[0,0])"), [CUT, 1, 0, DERIVE, LEAF, 2, DERIVE, LEAF, 2], 4)

    def test_ways_to_write_equations(self):
        records = [CUT, 0, 0, DERIVE, LEAF, 2, DERIVE, LEAF, 2]
        for equation in ("(and (<= X[0,0] U[0,0]) (<= U[0,0] X[0,0]))", "(not (or (< X[0,0] U[0,0]) (> X[0,0] U[0,0])))",
                         "(= (* 2 f.X[0,0]) (+ g.U[0,0] U[0,0]))", "(or (= 0 (- X[0,0] U[0,0])))"):
            self.checked((self.f, self.g), self.question("(> Y[0,0] V[0,0])", equation), records, 0)
        # Without a bound of U there is no box.
        for equation in ("(<= X[0,0] U[0,0])", "(or (= X[0,0] U[0,0]) (= X[0,0] U[0,0]))", "(= X[0,0] (- U[0,0]))",
                         "(= X[0,0] (+ U[0,0] 1))", "(and (<= X[0,0] U[0,0]) (< U[0,0] X[0,0]))"):
            self.checked((self.f, self.g), self.question("(> Y[0,0] V[0,0])", equation), records, 1)

    def test_conditions_between_inputs(self):
        between = "(and (<= -1 U[0,0] 1) (>= X[0,0] (+ U[0,0] 0.5)))"
        networks = self.f, self.g
        # y - v = x - relu(u) >= x - 1; with x >= u + 0.5 also y - v >= u + 0.5 - relu(u), at least -0.5.
        question = self.question("(<= Y[0,0] (- V[0,0] 0.75))", between)
        halves = lambda records: [CUT, 1, 0] + ([CUT, 0, 0] + records * 2) * 2  # noqa: E731
        self.checked(networks, question, halves([DERIVE, LEAF_CHOICES, 2, 0, 1, 1, 1, 0]), 0)
        self.checked(networks, question, halves([DERIVE, LEAF, 1]), 4)
        self.checked(networks, self.question("(<= Y[0,0] (- V[0,0] 0.49))", between),
                     halves([DERIVE, LEAF_CHOICES, 2, 0, 1, 1, 1, 0]), 4)

    def test_one_behind_the_other(self):
        # u = y = x: v = relu(x).
        behind = "(= U[0,0] Y[0,0])"
        networks = self.f, self.g
        for last, code in (("(>= V[0,0] 1.001)", 0), ("(>= V[0,0] 1)", 4), ("(< V[0,0] 0)", 0), ("(<= V[0,0] 0)", 4),
                           ("(>= (* 2 V[0,0]) (+ 1.001 X[0,0]))", 0), ("(>= (* 2 V[0,0]) (+ 0.999 X[0,0]))", 4)):
            self.checked(networks, self.question(last, behind), [CUT, 0, 0, DERIVE, LEAF, 2, DERIVE, LEAF, 2], code)
        self.checked(networks, self.question("(>= V[0,0] 1)", behind), self.point("1"), 3, statement=2)
        self.checked(networks, self.question("(>= V[0,0] 1)", behind), self.point("1/2"), 4, statement=2)
        self.checked(networks, self.question("(>= V[0,0] 1)", behind), self.point("1", "1"), 4, statement=2)
        # An earlier network does not read a later one's output.
        self.checked(networks, self.question("(>= V[0,0] 1)", "(and (<= 0 U[0,0] 1) (= X[0,0] V[0,0]))"),
                     self.point("1", "1"), 3, statement=2)
        self.checked(networks, self.question("(>= V[0,0] 1)", "(and (<= 0 U[0,0] 1) (= X[0,0] V[0,0]))"),
                     self.point("1/2", "1"), 4, statement=2)

    def test_points(self):
        networks, question = (self.f, self.g), self.question("(>= V[0,0] (+ Y[0,0] 1))")
        self.checked(networks, question, self.point("-1"), 3, statement=2)
        self.checked(networks, question, self.point("-99/100"), 4, statement=2)
        self.checked(networks, question, self.point("-1", "-1"), 4, statement=2)
        between = "(and (<= -1 U[0,0] 1) (<= X[0,0] U[0,0]))"
        question = self.question("(>= V[0,0] (+ Y[0,0] 2))", between)
        self.checked(networks, question, self.point("-1", "1"), 3, statement=2)
        self.checked(networks, question, self.point("-1", "-1"), 4, statement=2)

    def test_models_in_their_order(self):
        question, records = self.question("(> Y[0,0] V[0,0])"), [CUT, 0, 0, DERIVE, LEAF, 2, DERIVE, LEAF, 2]
        self.checked((self.f, self.g), question, records, 0)
        path = self.certificate((self.f, self.g), question, records)
        for networks, code in (((self.g, self.f), 4), ((self.f, self.f), 4), ((self.f,), 4), ((self.f, self.g, self.g), 4),
                               ((self.f, self.g), 0)):
            self.assertEqual(check((*networks, question, path)), code)
        self.checked((self.g, self.f), question, records, 4)  # relu(x) > x is possible
        for networks in ((self.f,), (self.f, self.g, self.g)):
            self.checked(networks, question, records, 1)

    def test_relations(self):
        records, last = [CUT, 0, 0, DERIVE, LEAF, 2, DERIVE, LEAF, 2], "(> Y[0,0] V[0,0])"
        other = self.network("other", ((1, -2),), ((1,), (-1,)))
        for relation, networks, code in (("(isomorphic-to f)", (self.f, other), 4), ("(isomorphic-to f)", (self.f, self.g), 0),
                                         ("(equal-to f)", (self.f, self.f), 0), ("(equal-to f)", (self.f, other), 1),
                                         ("(equal-to g)", (self.f, self.f), 1), ("(equal-to f) (equal-to f)", (self.f, self.f), 1),
                                         ("(isomorphic-to f)", (self.f, TINY), 1)):
            self.checked(networks, self.question(last, relation=relation), records, code)
        sigmoid = self.network("sigmoid", ((1, -1),), ((1,), (-1,)), "Sigmoid")
        self.checked((self.f, sigmoid), self.question(last, relation="(isomorphic-to f)"), records, 1)

    def test_names_of_tensors(self):
        text = """(declare-network f (declare-input X Real [1,1]) (declare-output Y Real [1,1]))
            (declare-network g (declare-input X Real [1,1]) (declare-output V Real [1,1]))
            (assert (<= -1 f.X[0,0] 1)) (assert (= f.X[0,0] g.X[0,0])) (assert (> Y[0,0] V[0,0]))"""
        records = [CUT, 0, 0, DERIVE, LEAF, 2, DERIVE, LEAF, 2]
        for changed, code in ((text, 0), (text.replace("f.X[0,0]", "X[0,0]"), 1), (text.replace("g.X[0,0]", "h.X[0,0]"), 1),
                              (text.replace("network g", "network f"), 1), (text.replace("> Y[0,0]", "> f.Y[0,0]"), 0),
                              (text.replace("> Y[0,0]", "> Y[00,0]"), 1), (text.replace("> Y[0,0]", "> Y[0,1]"), 1),
                              (text.replace("> Y[0,0]", "> Y[0]"), 1), (text.replace("> Y[0,0]", "> Y"), 1),
                              ("(assert true)" + text, 1), ("(declare-const X_0 Real)" + text, 1)):
            self.checked((self.f, self.g), self.write("p.vnnlib", changed), records, code)


class ProofConditions(Hand):
    """Of y = relu(x0 + x1) + relu(x0 - x1), with x in [-1, 1]^2."""

    def setUp(self):
        super().setUp()
        self.y = self.network("three", ((1, 1), (1, -1)), ((1,), (1,)))

    def question(self, last):
        return self.write("p.vnnlib", "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)" +
                          f"(assert (and (<= -1 X_0 1) (<= -1 X_1 1)))(assert {last})")

    def test_maxima_are_cases(self):
        halves = [HALVE, 0, DERIVE, LEAF, 1, 1, DERIVE, LEAF, 1, 1]
        for last, code in (("(>= (max Y_0 (* -3 Y_0)) 2.75)", 0), ("(>= (max Y_0 X_0) 1.9)", 4),
                           ("(not (< (abs Y_0) 2.75))", 0), ("(not (< (abs Y_0) 1.9))", 4),
                           ("(<= (min (- Y_0) Y_0) -2.75)", 0), ("(<= (min (- Y_0) Y_0) -1.9)", 4)):
            self.checked((self.y,), self.question(last), halves, code)
        for last, point, code in (("(>= (abs (- X_0 X_1)) 2)", ("1", "-1"), 3), ("(>= (abs (- X_0 X_1)) 2)", ("-1", "1"), 3),
                                  ("(>= (abs (- X_0 X_1)) 2)", ("1", "-99/100"), 4), ("(<= (max X_0 X_1 Y_0) 0)", ("-1", "0"), 3),
                                  ("(<= (max X_0 X_1 Y_0) 0)", ("-1", "1/9"), 4), ("(= (min X_0 X_1) -1)", ("0", "-1"), 3),
                                  ("(= (min X_0 X_1) -1)", ("0", "-1/2"), 4), ("(< (+ (abs X_0) (abs X_1)) 1)", ("-1/2", "1/3"), 3),
                                  ("(< (+ (abs X_0) (abs X_1)) 1)", ("-1/2", "1/2"), 4)):
            self.checked((self.y,), self.question(last), self.point(*point), code, statement=2)
        self.checked((self.y,), self.question("(>= (abs X_0 X_1) 2)"), [], 1)
        many = "(+ " + "(abs X_0) " * 11 + ")"
        self.checked((self.y,), self.question(f"(>= {many} 2)"), [], 1)

    def test_what_multiplies_is_refused(self):
        """Texts of up to a megabyte whose alternatives or products would take gigabytes."""
        many = " ".join(f"X_{i % 2}" for i in range(20000))
        tens = "(abs X_0) " * 10
        sums = "(+ " + " ".join(f"(* X_0 {i})" for i in range(20000)) + ")"
        squares = "(* " + "(+ X_0 X_1 Y_0) " * 40 + ")"
        for last in (f"(>= (max {many}) 2)", f"(>= (+ {tens} {'0 ' * 200000}) 2)", f"(>= (+ {tens} {sums} {many}) 2)",
                     f"(>= {squares} 2)", f"(>= (* {tens} {squares}) 2)", f"(>= (max {many}) (min {many}))"):
            question = self.question(last)
            path, start = self.certificate((self.y,), question, []), time.monotonic()
            ended = subprocess.run(["sh", "-c", 'ulimit -v 400000; exec "$0" "$@"', BF_CHECK, self.y, question, path],
                                   capture_output=True, text=True, timeout=60)
            self.assertIn("too many ", ended.stderr, last[:60])
            self.assertLess(time.monotonic() - start, 50)

    def test_products_at_points(self):
        for last, point, code in (("(>= (* X_0 X_1) 1)", ("1", "1"), 3), ("(>= (* X_0 X_1) 1)", ("1", "99/100"), 4),
                                  ("(= (* X_0 Y_0 Y_0) 4)", ("1", "0"), 3), ("(= (* X_0 Y_0 Y_0) 4)", ("1/2", "0"), 4),
                                  ("(<= (* (- X_0 1) (- X_0 1)) 0)", ("1", "0"), 3),
                                  ("(<= (* (- X_0 1) (- X_0 1)) 0)", ("999/1000", "0"), 4),
                                  ("(= (- (* X_0 X_1) (* X_1 X_0)) 0)", ("1/3", "1/7"), 3)):
            self.checked((self.y,), self.question(last), self.point(*point), code, statement=2)


class ProofLies(Hand):
    """Trees of every shape, at random, of claims that are false by little."""

    def tree(self, rng, elements, clauses, depth=0):
        kind = rng.choice([DERIVE, LEAF, LEAF_CHOICES, HALVE, CUT, NEURON, EACH]) if depth < 5 else LEAF
        below = lambda count=2, left=clauses: sum((self.tree(rng, elements, left, depth + 1) for _ in range(count)), [])  # noqa: E731
        if kind == DERIVE or depth == 0:
            return [DERIVE] + below(1)
        if kind == EACH and clauses > 1:
            return [EACH] + below(clauses, 1)
        if kind in (HALVE, NEURON):
            return [kind, rng.randrange(elements if kind == HALVE else 3)] + below()
        if kind == CUT:
            return [CUT, rng.randrange(elements), rng.randrange(128)] + below()
        if kind == LEAF_CHOICES:
            weights = [rng.randrange(4), rng.randrange(9), rng.randrange(4), rng.randrange(9)]
            return [LEAF_CHOICES] + [2, *weights, 1, 1, rng.randrange(3), rng.randrange(129)] * clauses
        return [LEAF] + [rng.randrange(4) for _ in range(clauses)]

    def lie(self, networks, text, clauses, count=150):
        question, rng, reasons = self.write("p.vnnlib", text), random.Random(7), set()
        for _ in range(count):
            path = self.certificate(networks, question, self.tree(rng, 8, clauses))
            ended = subprocess.run([BF_CHECK, "--jobs", rng.choice("12"), *networks, question, path], capture_output=True, text=True)
            self.assertEqual(ended.returncode, 4, (text, path.read_bytes()))
            reasons.add(ended.stdout.split(": ")[-1])
        self.assertGreater(len(reasons), 2, reasons)

    def test_of_several_networks(self):
        f, g = self.network("f", ((1, -1),), ((1,), (-1,))), self.network("g", ((1,),), ((1,),))
        for between, last in (("(= X[0,0] U[0,0])", "(>= V[0,0] (+ Y[0,0] 0.999999))"), ("(= X[0,0] U[0,0])", "(>= Y[0,0] V[0,0])"),
                              ("(= U[0,0] Y[0,0])", "(>= V[0,0] 0.999999)"), ("(= U[0,0] Y[0,0])", "(<= V[0,0] (* 0.999999 X[0,0]))")):
            self.lie((f, g), f"""(declare-network f (declare-input X Real [1,1]) (declare-output Y Real [1,1]))
                (declare-network g (declare-input U Real [1,1]) (declare-output V Real [1,1]))
                (assert (<= -1 X[0,0] 1)) (assert {between}) (assert {last})""", 1)

    def test_of_products_and_maxima(self):
        y = self.network("three", ((1, 1), (1, -1)), ((1,), (1,)))
        for last, clauses in (("(>= (* Y_0 Y_0) 3.999999)", 1), ("(<= (* X_1 Y_0) -0.999999)", 1), ("(>= (abs (* X_0 X_1)) 0.999999)", 2)):
            self.lie((y,), "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)" +
                     f"(assert (and (<= -1 X_0 1) (<= -1 X_1 1)))(assert {last})", clauses)


class ProofJobs(Hand):
    def said(self, files, *options):
        ended = subprocess.run([BF_CHECK, *map(str, files), *map(str, options)], capture_output=True, text=True)
        return ended.returncode, ended.stdout, ended.stderr

    def test_answers_do_not_depend_on_threads(self):
        network = MODELS / "collision_avoidance_6x50.onnx"
        question, proof = MODELS / "properties" / "collision_avoidance_6x50_wide.vnnlib", self.work / "p.bfc"
        self.run_tool("verify", network, question, "--proof", proof)
        files = network, question, proof
        for jobs in (1, 2, 4):
            self.assertEqual(self.said(files, "--jobs", jobs), (0, "checked: verified\n", ""))
        self.assertEqual(self.said(files, "--jobs", 4, "--quiet"), (0, "", ""))
        # The steps that it takes, by bisection with one thread; more threads take as many.
        least, most = 1, 1 << 33
        while least < most:
            middle = (least + most) // 2
            least, most = (least, middle) if self.said(files, "--steps", middle)[0] == 0 else (middle + 1, most)
        for jobs in (2, 4):
            self.assertEqual(self.said(files, "--jobs", jobs, "--steps", least)[0], 0)
            self.assertEqual(self.said(files, "--jobs", jobs, "--steps", least - 1),
                             (4, f"not proven: checking takes more than {least - 1} steps\n", ""))
        rng, data, reasons = random.Random(9), proof.read_bytes(), set()
        for _ in range(60):
            changed = bytearray(data)
            for _ in range(rng.randrange(1, 4)):
                changed[rng.randrange(80, len(data))] ^= rng.randrange(1, 256)
            proof.write_bytes(changed[:rng.choice((len(data), len(data), rng.randrange(len(data))))])
            steps = "--steps", rng.choice((1 << 33, least, least // 2))
            said = self.said(files, *steps)
            self.assertEqual(self.said(files, "--jobs", 4, *steps), said)
            reasons.add(said[1].split(": ")[-1])
        self.assertGreater(len(reasons), 4, reasons)


    def test_progress_is_told_on_a_terminal(self):
        network = MODELS / "collision_avoidance_6x50.onnx"
        question, proof = MODELS / "properties" / "collision_avoidance_6x50.vnnlib", self.work / "p.bfc"
        self.run_tool("verify", network, question, "--proof", proof)
        data = proof.read_bytes()
        body = 10 + 64 + 1 + data[74]
        proof.write_bytes(data[:body] + bytes([DERIVE] * 3000) + data[body:])  # bounds may be derived anew

        def told(*options):
            ours, theirs = pty.openpty()
            with subprocess.Popen([BF_CHECK, *options, network, question, proof], stdout=subprocess.PIPE, stderr=theirs) as run:
                os.close(theirs)
                with open(ours, "rb", buffering=0) as terminal:
                    text = b""
                    try:
                        while block := terminal.read(4096):
                            text += block
                    except OSError:  # the other end is closed
                        pass
                return run.stdout.read(), text

        answer, text = told("--jobs", "2")
        self.assertEqual(answer, b"checked: verified\n")
        self.assertRegex(text, rb"^(\rbf-check: \d+ %, \d+ s left\x1b\[K)+\r\x1b\[K$")
        self.assertEqual(told("--quiet"), (b"", b""))


class ProofShow(Hand):
    """What bf-check says of files without checking them."""

    def shown(self, *words, code=0):
        ended = subprocess.run([BF_CHECK, *map(str, words)], capture_output=True, text=True)
        self.assertEqual(ended.returncode, code, ended)
        return ended.stdout

    def test_what_is_understood(self):
        networks = self.network("f", ((1, -1),), ((0.5,), (-1,))), self.network("g", ((1,),), ((1,),))
        question = self.write("p.vnnlib", """(declare-network f (declare-input X Real [1,1]) (declare-output Y Real [1,1]))
            (declare-network g (declare-input U Real [1,1]) (declare-output V Real [1,1]))
            (assert (and (<= -0.25 X[0,0] 1) (= U[0,0] X[0,0])))
            (assert (or (< (* 3 V[0,0]) (+ (* 2 (* Y[0,0] U[0,0])) 0.1)) (>= Y[0,0] 5)))""")
        proof = self.certificate(networks, question, [DERIVE, LEAF, 2, 2])
        digest = lambda data: hashlib.sha256(data).hexdigest()  # noqa: E731
        files = [digest(path.read_bytes()) for path in (*networks, question)]
        model = lambda k, wide, w, v: f"""model {files[k]}
  operator-set 13
  input x float [1,1]
  output y float [1,1]
  operator MatMul 2
  operator Relu 1
  constant v float [{wide},1] {digest(v)}
  constant w float [1,{wide}] {digest(w)}
"""  # noqa: E731
        self.assertEqual(self.shown("--print", *networks, question, proof), f"""certificate BFC2
  statement verified
  semantics real
  grid 44 36 40
  model {files[0]}
  model {files[1]}
  property {files[2]}
  tool hand
""" + model(0, 2, b"1\n-1\n", b"1/2\n-1\n") + model(1, 1, b"1\n", b"1\n") + f"""network
  elements 10
  inputs 1
  sums 5
  terms 6
  relus 3
  functions 0
  products 1
property {files[2]}
  network f 1 1 [1,1] [1,1]
  network g 1 1 [1,1] [1,1]
  reads X_0
  reads X_0
  product P_0 X_0 Y_0
  case
    X_0 -1/4 1
    clause
      0 <= 0
      0 <= 0
      3 Y_1 + -2 P_0 + -1/10 < 0
    clause
      0 <= 0
      0 <= 0
      -1 Y_0 + 5 <= 0
""")

    def test_records(self):
        network = self.network("f", ((1, -1),), ((1,), (-1,)))
        question = self.write("p.vnnlib", "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (<= -1 X_0 1))"
                              "(assert (or (> Y_0 1) (< Y_0 -1)))")
        records = [CUT, 0, 1, DERIVE, LEAF, 0, 0, DERIVE, EACH, NEURON, 1, LEAF, 0, LEAF_CHOICES, 1, 0, 2, 3, 1, 1, 7, 9, LEAF, 0]
        proof = self.certificate((network,), question, records)
        self.assertEqual(self.shown("--tree", network, question, proof), """case 0
  cut 0 -1
    derive
    leaf 0
    leaf 0
    derive
    each
      neuron 1
        leaf 0
        choices 0*2 slope 1=7 multiplier 9
      leaf 0
""")
        found = dict(line.split() for line in self.shown("--statistics", network, question, proof).splitlines())
        self.assertEqual({name: int(count) for name, count in found.items()}, {
            "bytes": proof.stat().st_size, "nodes": 7, "leaves": 4, "depth": 4, "most-children": 2, "most-split-neurons": 1,
            "halve": 0, "cut": 1, "neuron": 1, "each": 1, "derive": 2, "leaf": 3, "leaf-with-choices": 1, "empty": 0,
            "factors": 1, "slopes": 1, "multipliers": 1})
        point = self.certificate((network,), question, self.point("-5/4"), statement=2)
        self.assertEqual(self.shown("--tree", network, question, point), "input 0 -5/4\n")
        proof.write_bytes(proof.read_bytes()[:-1])
        for option in ("--tree", "--statistics"):
            self.assertIn("ends too early", self.shown(option, network, question, proof, code=4))
        self.shown("--print", "--tree", network, question, proof, code=2)


class ProofVerify(Hand):
    """Questions about several networks, and of products, that bf-aot decides."""

    def decided(self, networks, text, code, *more):
        question, proof = self.write("q.vnnlib", text), self.work / "q.bfc"
        proof.unlink(missing_ok=True)
        names = [word for name, path in zip("fgh", networks) for word in ("--network", f"{name}={path}")]
        files = (question, *names) if "declare-network" in text else (networks[0], question)
        found = self.run_json("verify", *files, "--proof", proof, "--jit", "off", *more, code=None)
        self.assertEqual(found["verdict"], {0: "verified", 3: "falsified"}[code], text)
        self.assertEqual(check((*networks, question, proof)), code, text)
        return proof

    def test_of_the_models_that_are_shipped(self):
        text = (MODELS / "properties" / "tiny_twice.vnnlib").read_text()
        whole = self.decided((TINY, TINY), text, 0).read_bytes()
        self.decided((TINY, TINY), text.replace("isomorphic-to", "equal-to"), 0)
        self.decided((TINY, TINY), text.replace("(= x[0,1] u[0,1])", "(<= -1 u[0,1] 1)"), 3)
        for part in range(2):
            self.run_tool("verify", MODELS / "properties" / "tiny_twice.vnnlib", "--network", f"f={TINY}", "--network",
                          f"g={TINY}", "--part", f"{part}/2", "--save-part", f"{part}.json", "--proof", f"{part}.bfp",
                          "--search", "0", "--jit", "off")
        self.run_tool("merge", "0.json", "1.json", "--proof-part", "0.bfp", "--proof-part", "1.bfp", "--proof", "joined.bfc")
        question = MODELS / "properties" / "tiny_twice.vnnlib"
        self.assertEqual(check((TINY, TINY, question, self.work / "joined.bfc")), 0)
        self.assertEqual((self.work / "joined.bfc").read_bytes()[-100:], whole[-100:])

    def test_a_student_and_its_teacher(self):
        rng = random.Random(4)
        first, second = ([tuple(rng.randint(-8, 8) / 8 for _ in range(columns)) for _ in range(rows)]
                         for rows, columns in ((2, 6), (6, 1)))
        teacher = self.network("teacher", first, second)
        near = [tuple(w + rng.choice((-1, 0, 1)) / 64 for w in row) for row in second]
        student = self.network("student", first, near)
        for limit, code in ((0.2, 0), (0.001, 3)):
            self.decided((teacher, student), f"""(declare-network f (declare-input X Real [1,2]) (declare-output Y Real [1,1]))
                (declare-network g (declare-input U Real [1,2]) (declare-output V Real [1,1]))
                (assert (and (<= -1 X[0,0] 1) (<= -1 X[0,1] 1) (= X[0,0] U[0,0]) (= X[0,1] U[0,1])))
                (assert (>= (abs (- Y[0,0] V[0,0])) {limit}))""", code)

    def test_one_behind_the_other(self):
        f, g = self.network("f", ((1, -1), (1, 1)), ((1, 1), (0, -1))), self.network("g", ((1, 0.5), (0, 1)), ((1,), (1,)))
        text = """(declare-network f (declare-input X Real [1,2]) (declare-output Y Real [1,2]))
            (declare-network g (declare-input U Real [1,2]) (declare-output V Real [1,1]))
            (assert (and (<= -1 X[0,0] 1) (<= -1 X[0,1] 1) (= U[0,0] Y[0,1]) (= U[0,1] Y[0,0])))
            (assert (>= V[0,0] %s))"""
        self.decided((f, g), text % 9, 0)
        self.decided((f, g), text % 4.9, 3)

    def test_conditions_that_multiply(self):
        old = """(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)
            (assert (and (<= -1 X_0 1) (<= -1 X_1 1)))(assert %s)"""
        y = self.network("three", ((1, 1), (1, -1)), ((1,), (1,)))  # y = 2 max(x0, |x1|) - |x1| or 0, at most 2
        for condition, code in (("(>= (* Y_0 Y_0) 4.001)", 0), ("(>= (* Y_0 Y_0) 3.999)", 3),
                                ("(<= (* X_0 Y_0) -1.001)", 0), ("(<= (* X_0 X_1 Y_0) -2.001)", 0),
                                ("(>= (* X_0 Y_0) 1.999)", 3), ("(<= (* (- Y_0 X_0) (- Y_0 X_0)) -0.3)", 0)):
            self.decided((y,), old % condition, code)


if __name__ == "__main__":
    unittest.main()
