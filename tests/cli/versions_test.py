"""The state of the sources and the versions of formats, wherever they are stated. Run as cli_test.py is."""

import json
import pathlib
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from harness import CONTROLLER, MODELS, SOURCE, TINY, Case  # noqa: E402
from schema import Schema  # noqa: E402

PROPERTY = MODELS / "properties" / "tiny_holds.vnnlib"
BATCHED = ["--batch", "3", "--parallel", "2"]


def run(*command, cwd=None):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True, cwd=cwd).stdout


class Versions(Case):
    def state_of(self, source):
        """What cmake/source_state.cmake says of a folder."""
        out = self.work / "state.cpp"
        out.unlink(missing_ok=True)
        run("cmake", f"-DSOURCE={source}", f"-DOUT={out}", "-P", SOURCE / "cmake/source_state.cmake")
        return re.search(r'return "(.*)";', out.read_text()).group(1)

    def git(self, folder, *words):
        return run("git", "-c", "user.name=a", "-c", "user.email=a@localhost", *words, cwd=folder).strip()

    def repository(self):
        folder = self.work / "sources"
        (folder / "cmake").mkdir(parents=True)
        for name in (".gitattributes", "cmake/source_state.txt"):
            (folder / name).write_text((SOURCE / name).read_text())
        (folder / "file.txt").write_text("1\n")
        self.git(folder, "init", "--quiet")
        self.git(folder, "add", ".")
        self.git(folder, "commit", "--quiet", "-m", "First")
        return folder

    def archive(self, folder, name):
        """The files that git archive gives, apart from their repository."""
        out = self.work / name
        out.mkdir()
        self.git(folder, "archive", "--format=tar", "-o", self.work / f"{name}.tar", "HEAD")
        run("tar", "xf", self.work / f"{name}.tar", "-C", out)
        return out

    def test_states(self):
        folder = self.repository()
        commit = self.git(folder, "rev-parse", "HEAD")[:8]
        self.assertEqual(self.state_of(folder), commit)
        self.assertEqual(self.state_of(self.archive(folder, "untagged")), commit)
        (folder / "file.txt").write_text("2\n")
        self.assertEqual(self.state_of(folder), commit + "-dirty")
        self.git(folder, "tag", "v7.1.0")
        self.git(folder, "commit", "--quiet", "-am", "Second")
        second = self.git(folder, "rev-parse", "HEAD")[:8]
        self.assertEqual(self.state_of(folder), f"v7.1.0-1-g{second}")
        self.assertIn(self.state_of(self.archive(folder, "tagged")), (f"v7.1.0-1-g{second}", second))

    def test_a_copy_within_another_repository_has_none(self):
        folder = self.repository()
        copy = folder / "vendored"
        (copy / "cmake").mkdir(parents=True)
        (copy / "cmake/source_state.txt").write_text((SOURCE / "cmake/source_state.txt").read_text())
        self.assertEqual(self.state_of(copy), "")

    def test_an_equal_state_is_not_written_again(self):
        folder = self.repository()
        self.state_of(folder)
        out = self.work / "state.cpp"
        before = out.stat().st_mtime_ns
        run("cmake", f"-DSOURCE={folder}", f"-DOUT={out}", "-P", SOURCE / "cmake/source_state.cmake")
        self.assertEqual(out.stat().st_mtime_ns, before)

    def test_one_state_in_all_places(self):
        said = self.run_tool("--version")[0].splitlines()[1]
        version, state = re.fullmatch(r"bf-aot (\S+)(?: \((\S+)\))?", said).groups()
        self.run_tool(TINY, "-o", "v.cpp", "--no-library", "--trace", "trace.json", "--sbom", "sbom.json")
        for name in ("v.cpp", "v.h"):
            text = (self.work / name).read_text()
            self.assertIn(f"made by    bf-aot {version} from", text)
            self.assertEqual(re.findall(r"sources    (\S+)", text), [state] if state else [])
        for name in ("v.json", "trace.json"):
            value = json.loads((self.work / name).read_text())
            self.assertEqual((value["format"], value["version"], value["sources"]), (1, version, state or ""))
        packages = json.loads((self.work / "sbom.json").read_text())["packages"]
        found = [each["versionInfo"] for each in packages if each["name"] == "bf-aot"]
        self.assertEqual(found, [said.removeprefix("bf-aot ")])
        self.run_tool("verify", TINY, PROPERTY, "--proof", "proof.bfc")
        self.assertIn(said.encode(), (self.work / "proof.bfc").read_bytes())
        self.run_tool("inspect", TINY, "--report", "page.html")
        self.assertIn('<meta name="bf-aot-report-format" content="1">', (self.work / "page.html").read_text())

    def test_headers_agree(self):
        version = re.search(r"VERSION (\d+)\.(\d+)\.(\d+)", (SOURCE / "CMakeLists.txt").read_text().split("project(")[1])
        parts = [int(part) for part in version.groups()]
        number = 10000 * parts[0] + 100 * parts[1] + parts[2]
        for name in ("aot/library/bf_aot.h", "aot/library/c/bf_aot.h"):
            text = (SOURCE / name).read_text()
            self.assertIn('#define BF_AOT_VERSION "{}.{}.{}"\n'.format(*parts), text)
            self.assertIn(f"#define BF_AOT_VERSION_NUMBER {number}\n", text)


class Schemas(Case):
    def setUp(self):
        super().setUp()
        self.manifest = Schema(SOURCE / "docs/reference/manifest-schema.json")
        self.trace = Schema(SOURCE / "docs/reference/trace-schema.json")

    def check(self, schema, name, path):
        value = json.loads(pathlib.Path(self.work / path).read_text())
        self.assertEqual(schema.problems(value, name), [], path)
        unknown = set(value) - set(schema.root["$defs"][name]["properties"])
        self.assertEqual(unknown, set(), path)
        return value

    def test_manifests_and_traces(self):
        property_ = MODELS / "properties" / CONTROLLER.with_suffix(".vnnlib").name
        for model, *options in ([TINY], [TINY, *BATCHED], [CONTROLLER, "--property", property_, "--decide"],
                                [CONTROLLER, "--method", "alpha-crown"], [TINY, "--cache", "reuse-ibp"],
                                [TINY, "--semantics", "float32", "--flush-to-zero"], [TINY, "--method", "auto"]):
            self.run_tool(model, "-o", "v.cpp", "--no-library", "--trace", "trace.json", *options)
            self.check(self.manifest, "manifest", "v.json")
            self.check(self.trace, "trace", "trace.json")
        self.run_tool(TINY, "-o", "built.cpp")
        self.assertIsInstance(self.check(self.manifest, "manifest", "built.json")["build"]["code_bytes"], int)

    def test_dispatch(self):
        self.run_tool(TINY, "-o", "d.cpp", "--dispatch", "--target", "x86-64-v3", "--no-library")
        self.check(self.manifest, "dispatch", "d.json")
        self.check(self.manifest, "manifest", "d_x86_64_v3.json")

    def test_the_schemas_can_fail(self):
        self.run_tool(TINY, "-o", "v.cpp", "--no-library", "--trace", "trace.json")
        for schema, name, path in ((self.manifest, "manifest", "v.json"), (self.trace, "trace", "trace.json")):
            value = json.loads((self.work / path).read_text())
            for key in schema.root["$defs"][name]["required"]:
                self.assertNotEqual(schema.problems({k: v for k, v in value.items() if k != key}, name), [], key)
            self.assertNotEqual(schema.problems(dict(value, format=2), name), [])
            self.assertNotEqual(schema.problems(dict(value, layers=[{}]), name), [])


if __name__ == "__main__":
    unittest.main()
