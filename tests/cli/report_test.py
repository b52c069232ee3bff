"""The page of --report: what it holds, and how a browser lays it out."""

import html.parser
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import unittest
import zlib

sys.dont_write_bytecode = True
from harness import CONTROLLER, MODELS, TINY, Case  # noqa: E402

PROPERTY = MODELS / "properties" / "collision_avoidance_6x50.vnnlib"
SHARED = pathlib.Path(os.environ.get("BF_SHARED", MODELS.parent.parent / "shared"))
VOID = {"meta", "br"}


class Page(html.parser.HTMLParser):
    """Elements, their attributes and the text; complains about what is not closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.text = [], [], []
        self.feed(text)
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)

    def count(self, tag, css_class):
        return sum(1 for name, attributes in self.elements
                   if name == tag and css_class in (attributes.get("class") or "").split())


class ReportCase(Case):
    def report(self, *arguments, name="report.html"):
        self.run_tool("inspect", *arguments, "--report", name)
        return (self.work / name).read_text(encoding="utf-8")


class Report(ReportCase):
    def test_self_contained(self):
        text = self.report(CONTROLLER, "--property", PROPERTY)
        for part in ("http:", "https:", "<script", "<link", "<img", "@import", "url(", "src="):
            self.assertNotIn(part, text)
        self.assertTrue(text.startswith("<!doctype html>"))

    def test_everything_of_the_plan(self):
        arguments = (CONTROLLER, "--property", PROPERTY)
        page = Page(self.report(*arguments))
        output, _ = self.run_tool("inspect", *arguments, "--plan")
        plan = json.loads(output)
        in_workspace = [buffer for buffer in plan["buffers"] if buffer["scope"] == "run"]
        self.assertEqual(page.count("rect", "b"), len(in_workspace), "a rectangle per buffer")
        everything = "".join(page.text) + " ".join(
            value or "" for _, attributes in page.elements for value in attributes.values())
        wanted = [one["name"] for part in ("layers", "tasks") for one in plan[part]]
        wanted += [f"{buffer['name']}: " for buffer in in_workspace]
        wanted += [kernel["key"] for kernel in plan["kernels"]]
        wanted += [one["reason"] for part in ("domains", "rejected") for one in plan[part]]
        wanted.append(plan["model"]["sha256"])
        self.assertEqual([text for text in wanted if text not in everything], [])

    def test_context(self):
        help_text, _ = self.run_tool("inspect", "--help")
        if "--cache" not in help_text:
            self.skipTest("skipped: no verifier keeps anything between calls")
        arguments = (CONTROLLER, "--cache", "reuse-ibp")
        text = self.report(*arguments)
        Page(text)
        output, _ = self.run_tool("inspect", *arguments, "--plan")
        for entry in json.loads(output)["cache"]:
            self.assertIn(entry["name"], text)
        self.assertIn("Kept between calls", text)
        self.assertNotIn("Kept between calls", self.report(CONTROLLER))

    def test_counts_of_unstable_neurons(self):
        """Those that `run` counts on the same box; without boxes there are none."""
        text = self.report(TINY, "--property", MODELS / "properties" / "tiny_holds.vnnlib")
        box = self.write("box.json", {"lower": [-1, -1], "upper": [1, 1]})
        counts = [int(n) for n in re.findall(r"(\d+) unstable\"", text)]
        plain = self.report(TINY)
        self.assertNotIn(" unstable\"", plain)
        run = self.run_json("run", TINY, "--box", box, "--repeat", 1)
        self.assertEqual(len(counts), len(run["unstable"]))
        for count, (active, inactive) in zip(
                counts, re.findall(r"(\d+) active, (\d+) inactive", text)):
            self.assertEqual(count + int(active) + int(inactive), 2)

    def test_names_are_escaped(self):
        model = self.work / "evil.onnx"
        data = TINY.read_bytes()
        self.assertIn(b"fc1", data)
        model.write_bytes(data.replace(b"fc1", b"<b>").replace(b"relu1", b"\"'&<i"))
        text = self.report(model)
        Page(text)
        self.assertNotIn("<b>'", text)
        self.assertIn("&lt;b&gt;", text)

    def test_same_bytes_twice(self):
        arguments = (CONTROLLER, "--property", PROPERTY, "--target", "x86-64")
        self.assertEqual(self.report(*arguments), self.report(*arguments, name="again.html"))

    def test_of_a_compiled_verifier(self):
        self.run_tool(TINY, "-o", "v.cpp", "--method", "ibp", "--report", "r.html")
        text = (self.work / "r.html").read_text(encoding="utf-8")
        self.assertIn("library, code and constants", text)
        self.assertIn("<b>method</b> ibp", text)
        self.assertIn("r.html", self.names())

    def test_times_beside_predictions(self):
        """Of a verifier that runs here, on a box: of every task, predicted and measured."""
        self.run_tool(CONTROLLER, "--property", PROPERTY, "-o", "v.cpp", "--report", "r.html")
        text = (self.work / "r.html").read_text(encoding="utf-8")
        tasks = re.search(r'id="plan".*?</section>', text, re.DOTALL).group(0)
        self.assertRegex(tasks, r"[0-9.]+ [nµm]?s predicted, [0-9.]+ [nµm]?s measured")
        self.assertEqual(tasks.count('<th class="r">measured</th>'), 1, "one entry is called")
        kernels = re.search(r'id="kernels".*?</section>', text, re.DOTALL).group(0)
        self.assertIn('<th class="r">measured</th>', kernels)
        Page(text)
        self.run_tool(CONTROLLER, "-o", "w.cpp", "--report", "without.html")
        without = (self.work / "without.html").read_text(encoding="utf-8")
        self.assertNotIn("measured</th>", without, "there is no box")
        self.run_tool(CONTROLLER, "--property", PROPERTY, "-o", "g.cpp", "--no-library",
                      "--target", "generic", "--report", "generic.html")
        generic = (self.work / "generic.html").read_text(encoding="utf-8")
        self.assertNotIn("measured</th>", generic, "the engine has no such code")

    def test_unwritable(self):
        self.assert_refused("BF3101", "inspect", TINY, "--report", "no/such/folder/r.html")


MEASURE = """
<script>
addEventListener("load", () => {
  const problems = [];
  const say = (what, element) => problems.push(
      what + ": " + (element.textContent || element.className).trim().slice(0, 60));
  for (const element of document.querySelectorAll("details")) element.open = true;
  if (document.documentElement.scrollWidth > innerWidth) say("the page is wider than the window", document.body);
  for (const element of document.querySelectorAll("h1,h2,p,li,th,td,summary,.card,.card span,.card b,.box,.tag")) {
    // What is cut on purpose has an ellipsis and its whole text as title.
    const style = getComputedStyle(element);
    if (style.textOverflow === "ellipsis" && (element.title || element.closest("[title]"))) continue;
    if (element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0) say("overflows its box", element);
  }
  for (const row of document.querySelectorAll("tr")) {
    const rail = row.querySelector(".rail");
    if (rail && Math.abs(rail.getBoundingClientRect().height - row.getBoundingClientRect().height) > 0.6)
      say("rails are cut between rows", row);
  }
  for (const map of document.querySelectorAll(".map")) {
    const outer = map.getBoundingClientRect();
    const texts = [...map.querySelectorAll("text")].map(t => [t, t.getBoundingClientRect()]);
    texts.forEach(([t, a], i) => {
      if (a.left < outer.left - 1 || a.right > outer.right + 1 || a.top < outer.top - 1 || a.bottom > outer.bottom + 1)
        say("leaves the drawing", t);
      if (t.classList.contains("in")) {
        const box = t.previousElementSibling.getBoundingClientRect();
        if (a.left < box.left - 1 || a.right > box.right + 1) say("leaves its rectangle", t);
      }
      for (const [u, b] of texts.slice(i + 1))
        if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2)
          say("lies on another text", t);
    });
  }
  document.title = "measured " + problems.length + " " + JSON.stringify(problems.slice(0, 20));
});
</script>
"""


def png_rows(data):
    """Width, height and the distinct rows of an 8-bit PNG, still filtered: enough to see a blank."""
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert depth == 8
    packed, at = b"", 8
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at:at + 8])
        if name == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += 12 + length
    stride = 1 + width * {2: 3, 6: 4}[kind]
    raw = zlib.decompress(packed)
    return width, height, {raw[i:i + stride] for i in range(0, len(raw), stride)}


CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome")
                 if (path := shutil.which(name))), None)


@unittest.skipUnless(CHROMIUM, "skipped: no chromium here")
class Browser(ReportCase):
    """Headless Chromium loads the page; a script in a copy measures it."""

    def chromium(self, *arguments):
        """On a busy machine a headless start may hang: one more try, with another profile."""
        for attempt in (1, 2):
            try:
                result = subprocess.run(
                    [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                     f"--user-data-dir={self.folder}/profile{attempt}",
                     "--virtual-time-budget=5000", *arguments],
                    cwd=self.work, capture_output=True, text=True, timeout=120)
            except subprocess.TimeoutExpired:
                if attempt == 2:
                    raise
                continue
            self.assertEqual(result.returncode, 0, result.stderr)
            return result.stdout

    def measure(self, text, width):
        copy = self.write("copy.html", text.replace("</head>", MEASURE + "</head>"))
        dom = self.chromium(f"--window-size={width},900", "--dump-dom", copy.as_uri())
        found = re.search(r"<title>measured (\d+) (.*?)</title>", dom, re.DOTALL)
        self.assertIsNotNone(found, "the script did not run")
        return int(found[1]), found[2]

    def check(self, text):
        for width in (1440, 1000, 500):
            count, problems = self.measure(text, width)
            self.assertEqual(count, 0, f"at {width} pixels: {problems}")
        self.chromium("--window-size=1200,1600", "--screenshot=page.png",
                      (self.work / "copy.html").as_uri())
        width, height, rows = png_rows((self.work / "page.png").read_bytes())
        self.assertEqual((width, height), (1200, 1600))
        self.assertGreater(len(rows), 300, "next to nothing is drawn")

    def test_six_layers(self):
        self.check(self.report(CONTROLLER, "--property", PROPERTY))

    def test_attention(self):
        nets = sorted(SHARED.glob("corpus/vit/onnx/*.onnx*"))
        if not nets:
            self.skipTest("skipped: no shared corpus here")
        properties = sorted(SHARED.glob("corpus/vit/vnnlib/*"))
        self.check(self.report(nets[0], "--property", properties[0]))

    def test_measuring_finds_what_overflows(self):
        text = self.report(TINY)
        bad = text.replace("<h2>Tasks</h2>",
                           '<h2 style="width:20px;white-space:nowrap">Tasks of all</h2>')
        self.assertNotEqual(bad, text)
        self.assertGreater(self.measure(bad, 1000)[0], 0)
        wide = text.replace("<h2>Tasks</h2>", '<div style="width:3000px">x</div>')
        self.assertGreater(self.measure(wide, 1000)[0], 0)


if __name__ == "__main__":
    unittest.main()
