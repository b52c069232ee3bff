"""Checksums of a release are joined and signed, and a changed file is found.

    python3 sign_test.py SOURCE_FOLDER
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SIGN = pathlib.Path(sys.argv[1]).resolve() / ".ci/sign"


class Sign(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.dist = pathlib.Path(self.folder.name) / "dist"
        self.dist.mkdir()
        for name in ("b.tar.gz", "a.whl"):
            (self.dist / name).write_text(name)
            digest = hashlib.sha256(name.encode()).hexdigest()
            (self.dist / f"{name}.sha256").write_text(f"{digest}  {name}\n")

    def run_here(self, *command, code=0, **variables):
        done = subprocess.run([str(word) for word in command], cwd=self.dist, env=os.environ | variables, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout

    def test_without_a_key(self):
        self.assertIn("not signed", self.run_here(SIGN, self.dist, "bf-aot", BF_MINISIGN_KEY=""))
        names = [line.split()[1] for line in (self.dist / "SHA256SUMS").read_text().splitlines()]
        self.assertEqual(names, ["a.whl", "b.tar.gz"])
        self.run_here("sha256sum", "--check", "--quiet", "SHA256SUMS")

    @unittest.skipUnless(shutil.which("minisign"), "minisign is not installed")
    def test_signature(self):
        key = pathlib.Path(self.folder.name) / "secret"
        self.run_here("minisign", "-G", "-W", "-p", f"{key}.pub", "-s", key)
        self.assertIn("is signed", self.run_here(SIGN, self.dist, "bf-aot 1.2.3", BF_MINISIGN_KEY=str(key)))
        check = ["minisign", "-V", "-p", "minisign.pub", "-m", "SHA256SUMS"]
        self.assertIn("bf-aot 1.2.3", self.run_here(*check))
        sums = self.dist / "SHA256SUMS"
        sums.write_text(sums.read_text().replace("a.whl", "c.whl"))
        self.run_here(*check, code=1)
        self.assertFalse((self.dist / "secret").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
