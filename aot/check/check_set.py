#!/usr/bin/env python3
"""Checks certificates of many answers, by bf-check alone: check_set.py SET MODEL...

SET: what `bf-aot certify --proofs` or `bf-aot verify --instances --proofs` wrote, a folder or an archive. MODEL: the
models that it is about. Each answer is checked anew, and names that fail are printed, with what bf-check says.
Exit code: 0 all certificates are checked, 4 some are not, 1 the set cannot be read, 2 wrong usage.
BF_CHECK: the program, if it is not the bf-check of $PATH.
"""

import concurrent.futures
import gzip
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile
from typing import Any, Dict, Mapping

CODES = {"verified": 0, "falsified": 3}  # of bf-check


def digest(path: str) -> str:
    data = pathlib.Path(path).read_bytes()
    return hashlib.sha256(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).hexdigest()


def problem(folder: pathlib.Path, models: Mapping[str, str], answer: Dict[str, Any]) -> str:
    """Says what is wrong with the certificate of an answer, or nothing."""
    if answer["model"] not in models:
        return f"no model with SHA-256 {answer['model']} is given"
    files = [folder / pathlib.Path(answer[each]).name for each in ("property", "certificate")]
    command = [os.environ.get("BF_CHECK", "bf-check"), models[answer["model"]], *map(str, files)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return "" if done.returncode == CODES[answer["answer"]] else done.stdout.strip() or f"exit code {done.returncode}"


def check(folder: pathlib.Path, models: Mapping[str, str]) -> int:
    answers = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["answers"]
    proven = [answer for answer in answers if answer["certificate"] is not None]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = list(pool.map(lambda answer: problem(folder, models, answer), proven))
    for answer, said in zip(proven, problems):
        if said:
            print(f"{answer['certificate']}: {said}")
    checked = [answer["answer"] for answer, said in zip(proven, problems) if not said]
    print(f"checked {len(checked)} of {len(answers)} answers: " +
          ", ".join(f"{checked.count(word)} {word}" for word in CODES) +
          f"; {len(answers) - len(proven)} have no certificate, {len(proven) - len(checked)} fail")
    return 0 if len(checked) == len(proven) else 4


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        models = {digest(model): model for model in sys.argv[2:]}
        if not zipfile.is_zipfile(sys.argv[1]):
            return check(pathlib.Path(sys.argv[1]), models)
        with tempfile.TemporaryDirectory() as folder:
            zipfile.ZipFile(sys.argv[1]).extractall(folder)
            return check(pathlib.Path(folder), models)
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        print(f"{sys.argv[1]}: {error!r}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
