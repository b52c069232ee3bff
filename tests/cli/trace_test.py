"""--trace: each node of a residual network is followed to lines and memory, and back.

    BF_AOT=.. BF_SOURCE_DIR=.. python3 trace_test.py -v Trace
"""

import hashlib
import json
import sys
import unittest

sys.dont_write_bytecode = True
from harness import CONTROLLER, MODELS, SOURCE, TINY, Case  # noqa: E402
from small_models import residual_model, write_model  # noqa: E402

sys.path.insert(0, str(SOURCE / "tests/embedded"))
try:
    import quantised_networks  # noqa: E402
except ImportError:
    quantised_networks = None


class Trace(Case):
    def model(self):
        return write_model(self.work / "residual.onnx", residual_model())

    def trace(self, model, *options, name="v.cpp"):
        self.run_tool(model, "-o", name, "--no-library", "--trace", "trace.json", *options)
        return json.loads((self.work / "trace.json").read_text())

    def check_lines(self, trace, lines, text):
        """The ranges are in files of the trace, whose bytes are those of the digest."""
        digests = {each["file"]: each["sha256"] for each in trace["files"]}
        for each in lines:
            content = (self.work / each["file"]).read_bytes()
            self.assertEqual(hashlib.sha256(content).hexdigest(), digests[each["file"]])
            found = content.decode().splitlines()[each["first"] - 1:each["last"]]
            self.assertEqual(len(found), each["last"] - each["first"] + 1)
            self.assertTrue(found[0].strip() and found[-1].strip())
            self.assertIn(text, "\n".join(found))

    def check_both_ways(self, trace):
        layers = {each["layer"]: each for each in trace["layers"]}
        steps = {each["step"]: each for each in trace["steps"]}
        kernels = {each["kernel"]: each for each in trace["kernels"]}
        tables = {each["table"]: each for each in trace["tables"]}
        buffers = {(each["entry"], each["name"]): each for each in trace["buffers"]}
        self.assertTrue(trace["complete"])

        # Down: from nodes to layers, tables, steps, kernels, lines, buffers.
        for i, each in enumerate(trace["nodes"]):
            self.assertEqual(each["node"], i)
            for name in each["layers"]:
                self.assertEqual(i in layers[name]["nodes"], each["through"] == "origin")
        for name, layer in layers.items():
            self.assertTrue(layer["steps"], name)
            for table in layer["tables"]:
                if "lines" in tables[table]:
                    self.assertEqual(len(tables[table]["lines"]), 1)
                    end = "[" if trace["kernels"] else ""  # of integers: a prefix of several
                    self.check_lines(trace, tables[table]["lines"], f" {table}{end}")
            for step in layer["steps"]:
                self.assertEqual(steps[step]["layer"], name)
            for step in layer["passed_by"]:
                self.assertIn(name, steps[step]["through"])
        for name, step in steps.items():
            self.assertTrue(step["lines"], name)
            for kernel in step["kernels"]:
                self.assertIn(name, kernels[kernel]["steps"])
                if kernels[kernel]["function"] is not None:
                    self.assertIn(kernels[kernel]["function"], step["calls"])
            for called in step["calls"]:
                self.check_lines(trace, step["lines"], called)
            for key, other in (("reads", "read_by"), ("writes", "written_by")):
                for buffer in filter(None, step[key]):
                    self.assertIn(name, buffers[name.split("/")[0], buffer][other])

        # Up: from buffers, lines and kernels to nodes.
        for (entry, name), buffer in buffers.items():
            self.assertTrue(buffer["written_by"], name)
            for step in buffer["written_by"]:
                self.assertIn(name, steps[step]["writes"])
            for step in buffer["read_by"]:
                self.assertIn(name, steps[step]["reads"])
        for key, kernel in kernels.items():
            self.assertTrue(kernel["steps"], key)
            if kernel["function"] is not None:
                self.check_lines(trace, kernel["lines"], kernel["function"] + "(")
            for step in kernel["steps"]:
                self.assertIn(key, steps[step]["kernels"])
        for function in trace["functions"]:
            self.check_lines(trace, function["lines"], function["function"] + "(")
        for name, layer in layers.items():
            self.assertEqual(layer["nodes"], sorted(set(layer["nodes"])))
            for i in layer["nodes"]:
                self.assertIn(name, trace["nodes"][i]["layers"])
        for step in steps.values():
            if step["layer"] is not None:
                self.assertIn(step["step"], layers[step["layer"]]["steps"])

    def check_passes(self, trace):
        """The log's changes, one after the other, make the graph that the layers are made from."""
        graph = {}
        for row, record in enumerate(trace["passes"]):
            for each in record["removed"]:
                self.assertEqual(graph.pop(each["value"]), each, record["pass"])
            for each in record["changed"]:
                self.assertEqual(graph[each["before"]["value"]], each["before"], record["pass"])
                graph[each["after"]["value"]] = each["after"]
            for each in record["added"]:
                self.assertNotIn(each["value"], graph)
                graph[each["value"]] = each
            self.assertEqual(len(graph), record["graph_nodes"], record["pass"])
            touched = [each for kind in ("removed", "added") for each in record[kind]]
            touched += [side for each in record["changed"] for side in each.values()]
            for i in {i for each in touched for i in each["nodes"]}:
                self.assertIn(row, trace["nodes"][i]["passes"])
        self.assertEqual(sorted(graph), sorted(each["value"] for each in trace["graph"]))
        for each in trace["graph"]:
            self.assertEqual(graph[each["value"]], each)

    def test_follows_every_node_both_ways(self):
        trace = self.trace(self.model())
        self.check_both_ways(trace)
        self.check_passes(trace)
        self.assertEqual(trace["model"]["sha256"],
                         hashlib.sha256((self.work / "residual.onnx").read_bytes()).hexdigest())
        found = {}
        for each in trace["nodes"]:
            found.setdefault(each["name"], []).append(each)
        self.assertEqual(len(trace["nodes"]), 24)
        self.assertEqual([each["through"] for each in found["unread"]], ["nothing"])
        self.assertEqual(found["unread"][0]["layers"], [])
        # Computed from constants: it is in the layers of the product that reads it.
        self.assertEqual(found["four"][0]["through"], "readers")
        self.assertEqual(found["four"][0]["layers"], found["scale"][0]["layers"])
        for name, nodes in found.items():
            for each in nodes:
                if name in ("same", "last"):  # they move nothing, and nobody reads them
                    self.assertEqual((each["through"], each["layers"]),
                                     ("makers", found["head"][0]["layers"]))
                elif name not in ("unread", "four"):
                    self.assertEqual(each["through"], "origin", name)
                    self.assertTrue(each["layers"], name)
        # Two nodes of one name are told apart.
        self.assertEqual(len(found["again"]), 3)
        self.assertEqual(len({json.dumps(each["layers"]) for each in found["again"]}), 3)
        # Of equal branches one is computed, for both.
        self.assertEqual(found["left"][0]["layers"], found["right"][0]["layers"])
        passes = [each["pass"] for each in trace["passes"]]
        self.assertEqual(passes[0], "import")
        self.assertIn("remove-duplicates", [passes[i] for i in found["right"][0]["passes"]])

    def test_all_methods_and_functions(self):
        for options in (["--method", "ibp"], ["--method", "crown-ibp", "--batch", "4"],
                        ["--method", "alpha-crown", "--parallel", "2"],
                        ["--cache", "reuse-ibp,cache-bounds", "--granularity", "entry"],
                        ["--target", "cortex-m4", "--method", "crown"]):
            with self.subTest(options=options):
                trace = self.trace(self.model(), *options)
                self.check_both_ways(trace)
                self.check_passes(trace)

    def test_forward_lines(self):
        self.check_both_ways(self.trace(CONTROLLER, "--method", "forward"))

    def test_large_tables_lie_elsewhere(self):
        trace = self.trace(MODELS / "digits_64x2.onnx", "--target", "x86-64")
        self.check_both_ways(trace)
        self.assertIn("v_weights.inc", [each["file"] for each in trace["files"]])

    def test_single_file(self):
        trace = self.trace(self.model(), "--single-file")
        self.check_both_ways(trace)
        self.assertEqual([each["file"] for each in trace["files"]], ["v.cpp"])

    def test_changes_no_file(self):
        model = self.model()
        self.trace(model)
        for name in ("v.cpp", "v.h", "v.json"):
            (self.work / name).rename(self.work / f"traced_{name}")
        self.run_tool(model, "-o", "v.cpp", "--no-library")
        for name in ("v.cpp", "v.h", "v.json"):
            self.assertEqual((self.work / name).read_bytes(),
                             (self.work / f"traced_{name}").read_bytes())

    def test_same_bytes_twice(self):
        self.trace(CONTROLLER)
        first = (self.work / "trace.json").read_bytes()
        self.trace(CONTROLLER)
        self.assertEqual((self.work / "trace.json").read_bytes(), first)

    @unittest.skipIf(quantised_networks is None, "no numpy")
    def test_integers(self):
        for name in ("quantised_dense", "quantised_image"):
            model = quantised_networks.write(name, self.work)[0]
            options = ["--method", "ibp", "--arithmetic", "integer"]
            trace = self.trace(model, *options)
            self.check_both_ways(trace)
            self.check_passes(trace)
            # Every tensor of codes is a layer, and so are the outputs.
            manifest = json.loads((self.work / "v.json").read_text())["integer"]
            self.assertEqual(len(trace["layers"]), len(manifest["steps"]))
            for node in trace["nodes"]:
                self.assertTrue(node["layers"], node)
            inputs = manifest["tensors"][0]["count"]
            bounds = "".join(f"(declare-const X_{i} Real)(assert (>= X_{i} 0))(assert (<= X_{i} 1))"
                             for i in range(inputs))
            outputs = "".join(f"(declare-const Y_{i} Real)" for i in range(3 if "image" in name else 10))
            claim = self.write("claim.vnnlib", bounds + outputs + "(assert (>= Y_0 Y_1))")
            trace = self.trace(model, *options, "--property", claim)
            self.check_both_ways(trace)
            rows = [step for step in trace["steps"] if step["kind"] == "rows"]
            self.assertEqual([row["calls"] for row in rows], [["bf::integer::add_rows"]])

    def test_refuses(self):
        _, errors = self.run_tool(TINY, "-o", "v.cpp", "--dispatch", "--trace", "t.json", code=2)
        self.assertIn("--trace excludes --dispatch", errors)
        _, errors = self.run_tool(TINY, "-o", "v.cpp", "--no-library", "--trace", "no/t.json", code=1)
        self.assertIn("error BF3101", errors)


if __name__ == "__main__":
    unittest.main()
