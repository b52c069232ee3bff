"""Builds the site from the documents: site_test.py SOURCE_FOLDER. A link that leads nowhere is an error."""

import pathlib
import shutil
import subprocess
import sys
import tempfile


def build(root, out):
    return subprocess.run([sys.executable, "-B", root / "docs/site/build.py", root, out], check=False,
                          capture_output=True, text=True)


def main():
    if not shutil.which("mkdocs"):
        print("skipped: no mkdocs")
        return 0
    root = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "site"
        ran = build(root, out)
        print(ran.stdout, ran.stderr)
        missing = [page for page in ("index.html", "docs/guide/faq.html", "docs/proofs/windows.html")
                   if not (out / page).exists()]
        if ran.returncode != 0 or missing:
            print(f"missing: {missing}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
