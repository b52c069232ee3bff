"""Builds the documents as a site: build.py SOURCE_FOLDER OUTPUT_FOLDER [BF_AOT], with mkdocs and its theme Material,
strictly.

Pages keep their places, so that a link means the same in the repository and on the site. theme/ beside this file has
what is other than in Material; the site needs no server and nothing from elsewhere. The API of the headers is added
where doxygen is installed, and a gallery of reports, which the program BF_AOT writes, where that is given.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
SECTIONS = [("Start", "docs/start"), ("Guide", "docs/guide"), ("Reference", "docs/reference"),
            ("Proofs", "docs/proofs"), ("Measurements", "docs/measurements")]
PROJECT = ["DESIGN.md", "CONTRIBUTING.md", "CHANGELOG.md", "models/README.md", "bench/README.md"]
ROBUSTNESS = "models/examples/robustness"
# Reports of the program: a name, what it shows, the picture of a page that is drawn alike, and the arguments.
REPORTS = [
    ("plan.html", "A plan: tasks, memory over time, kernels, bounds by layer", "docs/pictures/memory.svg",
     ["inspect", "models/collision_avoidance_6x50.onnx", "--report", "plan.html"]),
    ("certify.html", "The certified share of a data set by radius", "docs/pictures/certified_accuracy.svg",
     ["certify", f"{ROBUSTNESS}/digits_cnn.onnx", "--data", f"{ROBUSTNESS}/digits_test.npz", "--scale", "16",
      "--clip", "0,1", "--eps", "0.005,0.01,0.02,0.04,0.08", "--count", "50", "--html", "certify.html"]),
    ("reach.html", "All trajectories of a controlled plant", "docs/pictures/pendulum.svg",
     ["reach", "models/examples/loops/reach.json", "--plot", "reach.html"]),
]
API = """# The interfaces, function by function

| language | header or package |
|---|---|
| C, of a generated verifier | <a href="api/bf_8h.html">bf.h</a> |
| C++, the library | <a href="api/files.html">bf_aot.h</a> |
| Python | [the package](docs/reference/python.md); `help(bf_aot.Model)` has each call |

<a href="api/index.html">All pages of the headers</a>.
"""
PALETTE = [{"media": "(prefers-color-scheme: light)", "scheme": "default", "primary": "indigo", "accent": "indigo",
            "toggle": {"icon": "material/weather-night", "name": "dark"}},
           {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "primary": "indigo", "accent": "indigo",
            "toggle": {"icon": "material/weather-sunny", "name": "light"}}]
THEME = {"name": "material", "font": False, "palette": PALETTE,
         "features": ["navigation.tabs", "navigation.sections", "navigation.top", "toc.follow"]}
EXTENSIONS = ["tables", {"toc": {"permalink": True, "permalink_title": "link to this section"}},
              {"pymdownx.highlight": {"guess_lang": False}}, "pymdownx.superfences"]
DOXYGEN = """
PROJECT_NAME = "bf-aot"
INPUT = {root}/runtime/bf.h {root}/aot/library/bf_aot.h {root}/aot/library/c/bf_aot.h
OUTPUT_DIRECTORY = {out}
HTML_OUTPUT = api
GENERATE_LATEX = NO
EXTRACT_ALL = YES
OPTIMIZE_OUTPUT_FOR_C = YES
QUIET = YES
WARN_IF_UNDOCUMENTED = NO
HAVE_DOT = NO
CLASS_GRAPH = NO
"""


def pages_of(root):
    names = ["README.md", *PROJECT]
    for _, folder in SECTIONS:
        names += sorted(path.relative_to(root).as_posix() for path in (root / folder).glob("*.md"))
    return names


def title_of(path):
    return path.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ")


def stage(root, pages, folder):
    """Copies pages, and files that they link to; links to folders become text."""
    for name in pages:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        text = (root / name).read_text(encoding="utf-8")
        for link in set(LINK.findall(text)):
            file = (root / name).parent / link
            relative = file.resolve().relative_to(root.resolve()).as_posix()
            if file.is_dir():
                text = re.sub(rf"\[([^\]]*)\]\({re.escape(link)}\)", r"\1", text)
            elif relative not in pages:
                (folder / relative).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, folder / relative)
        target.write_text(text, encoding="utf-8")


def folder_of_search():
    """Where mkdocs has its search, which knows lunr; asked of the Python that mkdocs runs in."""
    python = pathlib.Path(shutil.which("mkdocs")).read_text(encoding="utf-8").split("\n", 1)[0].lstrip("#! ")
    asked = subprocess.run([*python.split(), "-c", "import mkdocs.contrib.search as s; print(s.__file__)"],
                           check=True, capture_output=True, text=True)
    return pathlib.Path(asked.stdout.strip()).parent


def write_search(out):
    """What search.js searches: lunr, which mkdocs brings, and its index of sections as a script.

    mkdocs' own search asks a server for the index; a script loads from a file, too.
    """
    made = out / "search"
    sections = json.loads((made / "search_index.json").read_text(encoding="utf-8"))["docs"]
    pages = {each["location"]: each["title"] for each in sections if "#" not in each["location"]}
    entries = [[each["location"], pages[each["location"].split("#")[0]], each["title"],
                re.sub(r" ([.,:;)])(?=\s|$)", r"\1", each["text"])] for each in sections if "#" in each["location"]]
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":"))
    (out / "index.js").write_text(f"const kSections = {text};\n", encoding="utf-8")
    shutil.copyfile(folder_of_search() / "templates/search/lunr.js", out / "lunr.js")
    shutil.rmtree(made)


def remove_unused(out):
    """What the theme brings for its own search, and for who debugs it."""
    shutil.rmtree(out / "assets/javascripts/lunr")
    shutil.rmtree(out / "assets/javascripts/workers")
    for each in (out / "assets").rglob("*.map"):
        each.unlink()
    for each in [*(out / "assets").rglob("*.css"), *(out / "assets").rglob("*.js")]:
        text = each.read_text(encoding="utf-8")
        each.write_text(re.sub(r"(/\*|//)# sourceMappingURL=\S+( \*/)?", "", text), encoding="utf-8")


def add_api(root, out, staged):
    """The pages of doxygen, and a page that leads to them; where it is installed. Returns the page's name."""
    if not shutil.which("doxygen"):
        return []
    subprocess.run(["doxygen", "-"], input=DOXYGEN.format(root=root, out=out), text=True, check=True,
                   stdout=subprocess.DEVNULL)
    (staged / "api.md").write_text(API, encoding="utf-8")
    return ["api.md"]


def add_gallery(root, out, staged, program):
    """Reports, and a page that leads to them, where there is a program. Returns the page's name."""
    if program is None:
        return []
    (out / "reports").mkdir(parents=True)
    text = "# Reports\n\nThe program writes them as single files, which ask no server.\n"
    for name, says, picture, words in REPORTS:
        words = [str(out / "reports" / name) if word == name else word for word in words]
        subprocess.run([program, *words], cwd=root, check=True, stdout=subprocess.DEVNULL)
        text += (f"\n## {says}\n\n<a href=\"reports/{name}\">{name}</a>, by `bf-aot {' '.join(words[:2])}`\n\n"
                 f"![{says}]({picture})\n")
    (staged / "gallery.md").write_text(text, encoding="utf-8")
    return ["gallery.md"]


def version_of(root):
    return re.search(r"project\(bf_aot VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text())[1]


def built(root, staged, out, more):
    """Whether mkdocs could build the staged pages."""
    pages = pages_of(root)
    entries = [{title: [{title_of(root / name): name} for name in pages if name.startswith(folder + "/")]}
               for title, folder in SECTIONS]
    entries.append({"Project": [{title_of(staged / name): name} for name in [*more, *PROJECT]]})
    theme = dict(THEME, custom_dir=str(root / "docs/site/theme"))
    config = staged.parent / "mkdocs.yml"
    config.write_text(json.dumps({
        "site_name": f"bf-aot {version_of(root)}", "docs_dir": str(staged), "site_dir": str(out),
        "use_directory_urls": False, "theme": theme, "plugins": ["search"], "markdown_extensions": EXTENSIONS,
        "site_description": "Compiles neural networks into verifiers: bounds and verdicts that are proven.",
        "nav": [{"bf-aot": "README.md"}, *entries]}))
    done = subprocess.run(["mkdocs", "build", "--quiet", "--strict", "--config-file", str(config)],
                          check=False)
    return done.returncode == 0


def main():
    root, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    program = pathlib.Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else None
    with tempfile.TemporaryDirectory() as work:
        staged, beside = pathlib.Path(work) / "pages", pathlib.Path(work) / "beside"
        beside.mkdir()
        stage(root, pages_of(root), staged)
        more = add_gallery(root, beside, staged, program) + add_api(root, beside, staged)
        if not built(root, staged, out, more):
            return 1
        shutil.copytree(beside, out, dirs_exist_ok=True)
    write_search(out)
    remove_unused(out)
    print(f"{len(pages_of(root)) + len(more)} pages in {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
