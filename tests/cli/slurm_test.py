"""Job arrays as docs/guide/cluster.md has them, on a Slurm of one node that is started for this.

Skipped where slurmctld, slurmd or munged is missing (Debian: slurmctld slurmd slurm-client munge),
or for users other than root.
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo")
MISSING = [name for name in PROGRAMS if not shutil.which(name)]
if MISSING or os.geteuid() != 0:
    print("skipped:", f"no {MISSING[0]}" if MISSING else "only root may start slurmd")
    sys.exit()

from harness import BF_AOT, CONTROLLER  # noqa: E402
from search_tree_test import TreeCase  # noqa: E402

CONFIG = """ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={slurmd_port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Slurm(TreeCase):
    def setUp(self):
        super().setUp()
        self.slurm = self.folder / "slurm"
        for name in ("munge", "state", "spool"):
            (self.slurm / name).mkdir(parents=True)
        self.folder.chmod(0o755)  # munged asks for folders that others cannot write to
        munge = self.slurm / "munge"
        (munge / "key").write_bytes(os.urandom(1024))
        (munge / "key").chmod(0o400)
        config = self.slurm / "slurm.conf"
        config.write_text(CONFIG.format(host=socket.gethostname().split(".")[0], port=free_port(),
                                        slurmd_port=free_port(), folder=self.slurm))
        self.environment["SLURM_CONF"] = str(config)
        self.call("munged", "--force", f"--key-file={munge}/key", f"--socket={munge}/socket",
                  f"--pid-file={self.slurm}/munged.pid", f"--log-file={munge}/log",
                  f"--seed-file={munge}/seed")
        self.call("slurmctld", "-c")
        self.call("slurmd", "-c")
        for _ in range(500):
            if "idle" in self.call("sinfo", "--noheader", check=False):
                return
            time.sleep(0.2)
        self.fail("the node does not come up")

    def tearDown(self):
        for name in ("slurmd", "slurmctld", "munged"):
            path = self.slurm / f"{name}.pid"
            if path.exists():
                self.end(int(path.read_text()))
        super().tearDown()

    def end(self, pid):
        os.kill(pid, signal.SIGTERM)
        for _ in range(50):
            if not pathlib.Path(f"/proc/{pid}").exists():
                return
            time.sleep(0.1)
        os.kill(pid, signal.SIGKILL)

    def call(self, *arguments, check=True):
        return subprocess.run(arguments, cwd=self.work, env=self.environment, check=check,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120).stdout

    def submit(self, array, command):
        script = self.write("job.sh", f"#!/bin/sh\n#SBATCH --array={array} --cpus-per-task=1 "
                                      f"--time=00:05:00\n{command}\n")
        self.call("sbatch", "--wait", str(script))

    def test_parts_as_an_array(self):
        self.submit("0-3", f"{BF_AOT} verify {CONTROLLER} {self.question(1)} --jobs 1 --part "
                           "$SLURM_ARRAY_TASK_ID/4 --save-part part-$SLURM_ARRAY_TASK_ID.json")
        merged = self.run_json("merge", *(self.work / f"part-{i}.json" for i in range(4)))
        self.assertEqual((merged["verdict"], merged["nodes"]),
                         ("verified", self.search(1)["boxes"]))

    def test_instances_as_an_array(self):
        for limit in (1, 0.7):
            self.question(limit)
        shutil.copy(CONTROLLER, self.work / "m.onnx")
        self.write("instances.csv", "m.onnx,p1.vnnlib,60\nm.onnx,p0.7.vnnlib,60\n")
        self.submit("0-1", f"{BF_AOT} verify --instances instances.csv --results "
                           "results-$SLURM_ARRAY_TASK_ID.csv --index $SLURM_ARRAY_TASK_ID "
                           "--jobs 1")
        answers = [(self.work / f"results-{i}.csv").read_text().split(",")[4] for i in range(2)]
        self.assertEqual(answers, ["unsat", "unsat"])


if __name__ == "__main__":
    unittest.main()
