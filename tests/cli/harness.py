"""Runs bf-aot in a folder of its own."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

BF_AOT = os.environ["BF_AOT"]
SOURCE = pathlib.Path(os.environ["BF_SOURCE_DIR"])
MODELS = SOURCE / "models"
TINY = MODELS / "tiny.onnx"
CONTROLLER = MODELS / "collision_avoidance_6x50.onnx"
BOX = {"lower": [-1, -1], "upper": [1, 1]}
METHODS = ("ibp", "crown-ibp", "crown")
# Shells have what runs in the background ignore it, and programs that are started would, too.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Case(unittest.TestCase):
    """A temporary folder and cache for each test."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bf-aot-cli-"))
        self.cache = self.folder / "cache"
        self.work = self.folder / "work"
        self.work.mkdir()
        self.environment = dict(os.environ, XDG_CACHE_HOME=str(self.cache))

    def tearDown(self):
        shutil.rmtree(self.folder)

    def start(self, *arguments):
        return subprocess.Popen(
            [BF_AOT, *map(str, arguments)], cwd=self.work, env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_for(self, is_so, process=None):
        """For minutes, as the machine may be slow or busy. process: does not end before."""
        end = time.monotonic() + 250
        while not is_so():
            self.assertLess(time.monotonic(), end)
            if process is not None:
                self.assertIsNone(process.poll(), "it has ended")
            time.sleep(0.01)

    def wait_for_handler(self, process, number):
        """Until the process handles the signal."""
        status = pathlib.Path(f"/proc/{process.pid}/status")

        def caught():
            mask = re.search("^SigCgt:\t([0-9a-f]+)$", status.read_text(), re.MULTILINE)
            return mask is not None and int(mask.group(1), 16) >> (number - 1) & 1

        self.wait_for(caught, process)

    def run_tool(self, *arguments, code=0):
        """code: the exit code; None: any."""
        process = self.start(*arguments)
        try:
            output, errors = process.communicate(timeout=300)
        finally:
            process.kill()  # what takes longer would outlive the test
        if code is not None:
            self.assertEqual(process.returncode, code,
                             f"{arguments}\nstdout:\n{output}\nstderr:\n{errors}")
        return output, errors

    def run_json(self, *arguments, code=0):
        output, errors = self.run_tool(*arguments, "--json", code=code)
        self.assertEqual(errors, "", "quiet when it is not a terminal")
        return json.loads(output)

    def write(self, name, text):
        path = self.work / name
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        return path

    def names(self, folder=None):
        return sorted(path.name for path in (folder or self.work).iterdir())

    def assert_refused(self, code, *arguments, says=()):
        """Exit code 1, the diagnostic, nothing on stdout, no file left or changed."""
        before = {path: path.read_bytes() for path in self.work.rglob("*") if path.is_file()}
        output, errors = self.run_tool(*arguments, code=1)
        self.assertIn(f"error {code}: ", errors)
        for text in says:
            self.assertIn(text, errors)
        self.assertEqual(output, "")
        after = {path: path.read_bytes() for path in self.work.rglob("*") if path.is_file()}
        self.assertEqual(before, after)
        return errors
