"""What the options of decisions do in the library, by their names there; for its C interface and for Python."""

import pathlib
import re

CONTROLLER = ("collision_avoidance_6x50.onnx", "collision_avoidance_6x50_wide.vnnlib")
HOLDS = ("tiny.onnx", "tiny_holds.vnnlib")


class Answer:
    """verdict: of the call; error: in place of it. seconds: that it took. folder: where its files are."""

    def __init__(self, folder, seconds, verdict=None, error=""):
        self.folder, self.seconds, self.verdict, self.error = pathlib.Path(folder), seconds, verdict, error


def says(verdict):
    return lambda answer: answer.verdict == verdict


def writes(name):
    return lambda answer: answer.verdict == "verified" and (answer.folder / name).exists()


def refuses(*words):
    return lambda answer: all(word in answer.error for word in words)


# Option: model and property, options as texts, and what shows that the option was honoured.
HONOURED = {
    "timeout": (CONTROLLER, {"timeout": "1e-9"}, says("unknown")),
    # Without them it takes five seconds, and is verified.
    "search_seconds": (CONTROLLER, {"search_seconds": "0", "branch_seconds": "0"}, lambda answer: answer.seconds < 4),
    "branch_seconds": (CONTROLLER, {"search_seconds": "0", "branch_seconds": "0"}, says("unknown")),
    "jobs": (CONTROLLER, {"jobs": "257"}, refuses("BF3501", "jobs", "from 1 to 256")),
    "checkpoint": (CONTROLLER, {"checkpoint": "tree.json", "search_seconds": "0"}, writes("tree.json")),
    "proof": (HOLDS, {"proof": "answer.bfc"}, writes("answer.bfc")),
    "proof_seconds": (HOLDS, {"proof": "answer.bfc", "proof_seconds": "1e-9"},
                      lambda answer: answer.verdict == "verified" and not (answer.folder / "answer.bfc").exists()),
    "recheck": (HOLDS, {"recheck": "true"}, refuses("BF3024", "recheck")),
    "jit": (CONTROLLER, {"jit": "wait", "cxx": "no-compiler"}, refuses("BF3202")),
    "cxx": (CONTROLLER, {"jit": "wait", "cxx": "no-compiler"}, refuses("no-compiler")),
    "cxx_flags": (CONTROLLER, {"jit": "wait", "cxx_flags": "-fno-such-flag"}, refuses("no-such-flag")),
}


def of_the_table(source):
    """The names of docs/reference/options.md, which is the table: those of decisions that the library takes, and those of
    decisions that it does not."""
    taken, others = set(), set()
    page = (pathlib.Path(source) / "docs/reference/options.md").read_text(encoding="utf-8")
    for flag, by_name in re.findall(r"^\| `--([a-z-]+)` \| [^|]* \| [^|]* \| ([^|]*) \|", page, re.M):
        name = re.search("as `(.*)`", by_name)
        if by_name.startswith("`verify`"):
            taken.add(name.group(1) if name else flag.replace("-", "_"))
        if not by_name.strip() and flag in ("part", "save-part", "proofs"):
            others.add(flag)
    return taken, others
