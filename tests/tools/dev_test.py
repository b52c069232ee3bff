"""What .ci/dev's hook refuses: dev_test.py SOURCE_FOLDER."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@localhost")


def git(folder, *arguments):
    return subprocess.run(["git", *IDENTITY, *arguments], cwd=folder, capture_output=True, text=True, check=False)


def refused(clone, subject):
    """The message with which a commit of all changes is refused; empty: it was made."""
    git(clone, "add", "--all")
    done = git(clone, "commit", "--quiet", "-m", subject)
    return "" if done.returncode == 0 else done.stdout + done.stderr or "without a word"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    if git(root, "rev-parse", "--git-dir").returncode != 0 or not shutil.which("clang-format-14"):
        print("skipped: this is no clone, or there is no clang-format 14")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        clone = pathlib.Path(folder, "clone")
        assert git(folder, "clone", "--quiet", "--shared", str(root), str(clone)).returncode == 0
        shutil.copy(root / ".ci/dev", clone / ".ci/dev")
        git(clone, "add", "--all")
        git(clone, "commit", "--quiet", "-m", "Take the script that is tried")
        subprocess.run([".ci/dev", "hook"], cwd=clone, check=True, capture_output=True)

        page = clone / "frontend/sha256.cpp"
        text = page.read_text(encoding="utf-8")
        page.write_text(text + "int   x ;\n", encoding="utf-8")
        assert "clang-format" in refused(clone, "Change the form")
        subprocess.run([".ci/dev", "format"], cwd=clone, check=True, capture_output=True)
        long = refused(clone, "Change a form " + "x" * 60)
        assert "the subject has 74 characters" in long, long
        assert refused(clone, "Change the form") == ""

        page.write_text('#include "planner/plan/plan.h"\n' + text, encoding="utf-8")
        assert "includes planner/plan/plan.h" in refused(clone, "Include upward")
        page.write_text(text, encoding="utf-8")
        assert refused(clone, "Change it back") == ""

        wrong = subprocess.run([".ci/dev", "test", "nowhere"], cwd=clone, capture_output=True, text=True, check=False)
        assert wrong.returncode == 2 and "no unit tests" in wrong.stderr, wrong.stderr
        none = subprocess.run([".ci/dev"], cwd=clone, capture_output=True, text=True, check=False)
        assert none.returncode == 2 and "test ROOM" in none.stderr
    return 0


if __name__ == "__main__":
    sys.exit(main())
