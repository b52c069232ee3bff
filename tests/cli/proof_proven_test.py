"""Tests of the checker that is extracted from a proof (aot/check/proven/). Run as proof_test.py is; nightly.

BF_CHECK: the program bf-check. BF_PROVEN: a folder to build in, which stays.
"""

import collections
import csv
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
import proof_test  # noqa: E402
from harness import CONTROLLER, MODELS, SOURCE, TINY, Case  # noqa: E402

PROVEN, FOLDER = SOURCE / "aot" / "check" / "proven", pathlib.Path(os.environ["BF_PROVEN"])
PROGRAM = FOLDER / "bf-check-proven"
ACCEPTED = {0: "checked: verified\n", 3: "checked: falsified\n"}
MOST_LINES = 1046  # of OCaml
# Of Rocq's real numbers, and of classical logic, which its library of analysis uses.
AXIOMS = {"ClassicalDedekindReals.sig_forall_dec", "ClassicalDedekindReals.sig_not_dec",
          "FunctionalExtensionality.functional_extensionality_dep", "Classical_Prop.classic"}
asked = {"same": 0, "finer": 0, "refused": 0, "why": collections.Counter(), "seconds": [0.0, 0.0]}
check_by_two = proof_test.check
FUNCTIONS = re.compile(b"Sigmoid|Tanh|Softplus|Exp|Sqrt|Log")


def setUpModule():
    if not all(map(shutil.which, ("coqc", "ocamlfind"))) or subprocess.run(["ocamlfind", "query", "zarith"],
                                                                          capture_output=True).returncode != 0:
        raise unittest.SkipTest("skipped: no Rocq, or no OCaml with Zarith")
    FOLDER.mkdir(parents=True, exist_ok=True)
    sources, stamp = hashlib.sha256(), FOLDER / "built"
    for path in sorted(PROVEN.iterdir()):
        sources.update(path.read_bytes())
    with open(FOLDER / "lock", "w", encoding="utf-8") as lock:  # other tests build it, too
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != sources.hexdigest():
            subprocess.run([PROVEN / "build.sh", FOLDER], check=True)
            stamp.write_text(sources.hexdigest())


def tearDownModule():
    assert asked["finer"] <= 4 + asked["same"] / 100, asked
    print(f"{asked['same']} answers as bf-check's, {asked['refused']} files refused that bf-check takes; "
          f"{asked['seconds'][1]:.1f} s, bf-check {asked['seconds'][0]:.1f} s")
    for why, count in asked["why"].most_common():
        print(count, why)


def check(files, statement=None):
    """Asks bf-check and the proven checker, which may refuse what bf-check takes, and never the other way."""
    begin = time.perf_counter()
    first = code = check_by_two(files)
    middle = time.perf_counter()
    ended = subprocess.run([PROGRAM, *map(str, files)], capture_output=True, text=True, timeout=600)
    if ended.returncode in ACCEPTED:
        if code == 4 and FUNCTIONS.search(pathlib.Path(files[0]).read_bytes()):
            asked["finer"] += 1  # functions are bounded in 2^-96, not by the certificate's grid
            code = ended.returncode
            decided = subprocess.run([os.environ["BF_AOT"], "verify", *map(str, files[:2]), "--timeout", "20"],
                                     capture_output=True).returncode
            assert decided in (code, 4), (files, code, decided)  # 4: unknown, as where a claim holds by equality
        assert ended.stdout == ACCEPTED[ended.returncode] and ended.returncode == code, (files, code, ended)
    else:
        assert ended.returncode in (1, 4), ended
        assert ended.stdout.startswith("not proven: ") == (ended.returncode == 4), ended
        assert (ended.stderr != "") == (ended.returncode == 1), ended
    refused = code in ACCEPTED and ended.returncode not in ACCEPTED
    assert not refused or re.search("checker's|expand it first", ended.stdout + ended.stderr), (files, code, ended)
    asked["refused" if refused else "same"] += 1
    if refused:
        asked["why"][re.sub("byte [0-9]+|/[^ ]*", "", (ended.stdout + ended.stderr).strip())] += 1
    asked["seconds"][0] += middle - begin
    asked["seconds"][1] += time.perf_counter() - middle
    return first


proof_test.check = check


class ProvenRecords(proof_test.Records):
    """Certificates, models and properties by hand, and each spoiled."""


class ProvenNetworks(proof_test.RandomProofs):
    """Random networks."""


class ProvenMutations(proof_test.Mutations):
    """Bytes of certificates, models and properties that are changed."""


class Proven(Case):
    def test_answers_of_the_models_that_are_shipped(self):
        for network, name, code in ((TINY, "tiny_holds", 0), (TINY, "tiny_violated", 3), (TINY, "tiny_query", 3),
                                    (CONTROLLER, "collision_avoidance_6x50", 0),
                                    (CONTROLLER, "collision_avoidance_6x50_wide", 0),
                                    (MODELS / "digits_64x2.onnx", "digits_64x2", 0)):
            question, proof = MODELS / "properties" / f"{name}.vnnlib", self.work / "p.bfc"
            self.run_tool("verify", network, question, "--proof", proof, "--jit", "off", code=code)
            before, refused = asked["seconds"][:], asked["refused"]
            self.assertEqual(check((network, question, proof)), code)
            self.assertEqual(asked["refused"], refused)
            own, other = (after - first for after, first in zip(asked["seconds"], before))
            print(f"{name}: {other:.2f} s, bf-check {own:.2f} s, {other / own:.1f} times")

    def test_questions_of_the_corpus(self):
        """The first questions of some benchmarks that have a certificate within 20 s."""
        corpus = pathlib.Path(os.environ.get("BF_SHARED", SOURCE.parent / "shared")) / "corpus"
        if not corpus.is_dir():
            self.skipTest("no corpus beside the sources")
        for benchmark in ("acasxu", "mnist_fc", "test", "reach_prob_density", "rl_benchmarks", "verivital"):
            with open(corpus / benchmark / "instances.csv", encoding="utf-8") as file:
                lines = [line[:2] for line in csv.reader(file)]
            found = 0
            for names in lines[:20]:
                question, proof = [corpus / benchmark / name for name in names], self.work / "p.bfc"
                proof.unlink(missing_ok=True)
                if not all(path.exists() for path in question) or found == 3:
                    continue
                self.run_tool("verify", *question, "--proof", proof, "--jit", "off", "--timeout", "20",
                              "--proof-seconds", "20", code=None)
                if not proof.exists() or proof.stat().st_size > 2000:
                    continue
                before, found = asked["seconds"][:], found + 1
                code = check(question + [proof])
                self.assertIn(code, ACCEPTED)
                own, other = (after - first for after, first in zip(asked["seconds"], before))
                print(f"{benchmark} {names[1]}: {other:.2f} s, bf-check {own:.2f} s, {other / own:.1f} times")

    def test_axioms(self):
        for theorem in ("check_sound", "violates_sound"):
            text = self.write("Axioms.v", f"Require Import Check Point.\nPrint Assumptions {theorem}.\n")
            printed = subprocess.run(["coqc", "-q", "-R", FOLDER, "", text], capture_output=True, text=True, check=True)
            axioms = set(re.findall(r"^([\w.]+)(?: :|$)", printed.stdout, re.MULTILINE)) - {"Axioms"}
            self.assertTrue(axioms, printed.stdout)
            self.assertLessEqual(axioms, AXIOMS)

    def test_size(self):
        """What nobody proved: lines of OCaml that are neither empty nor comments alone."""
        lines = [line.strip() for path in PROVEN.glob("*.ml") for line in path.read_text().splitlines()]
        code = "\n".join(lines)
        while "(*" in code:
            code = re.sub(r"\(\*(?:(?!\(\*|\*\)).)*\*\)", "", code, flags=re.DOTALL)
        self.assertLessEqual(sum(1 for line in code.splitlines() if line.strip()), MOST_LINES)

    def test_usage(self):
        self.assertEqual(subprocess.run([PROGRAM], capture_output=True).returncode, 2)
        self.assertEqual(subprocess.run([PROGRAM, "a", "b", "c"], capture_output=True).returncode, 1)

    def test_time_is_limited(self):
        """Each byte of a certificate derives all bounds anew."""
        question, proof = MODELS / "properties" / "digits_64x2.vnnlib", self.work / "p.bfc"
        network = MODELS / "digits_64x2.onnx"
        self.run_tool("verify", network, question, "--proof", proof, "--jit", "off")
        data = proof.read_bytes()
        head = 74 + 1 + data[74]  # 4 of magic, 6 of statement and grid, digests; the tool's name
        proof.write_bytes(data[:head] + bytes([proof_test.DERIVE]) * 100000 + data[head:])
        ended = subprocess.run([PROGRAM, network, question, proof, "2"], capture_output=True, text=True, timeout=60)
        self.assertEqual((ended.returncode, ended.stdout), (4, "not proven: checking takes more than 2 s\n"))


if __name__ == "__main__":
    unittest.main()
