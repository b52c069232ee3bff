"""Makes the pictures of the guides from pages that bf-aot writes: pictures.py BF_AOT SOURCE_FOLDER.

Run it again when the pages' drawings change. A picture has the pages' two colour schemes.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROBUSTNESS = "models/examples/robustness"


def colours_of(rules):
    return dict(re.findall(r"(--[\w-]+):([^;}]+)", rules))


def drawing(page, kind):
    """The page's drawing of a class, with the style sheet that it needs, as a file of its own."""
    start = page.index(f'<svg class="{kind}"')
    svg = page[start:page.index("</svg>", start) + len("</svg>")]
    sheet = page[page.index("<style>") + len("<style>"):page.index("</style>")]
    media = r"@media[^{]*dark[^{]*\{((?:[^{}]*\{[^{}]*\})*)[^{}]*\}"
    dark = colours_of("".join(re.findall(media, sheet)))
    light = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", sheet)
    used = {word for names in re.findall(r'class="([^"]+)"', svg) for word in names.split()}
    rules = [f"{selector.strip()}{{{body.strip()}}}"
             for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", light)
             if set(re.findall(r"\.([\w-]+)", selector)) and set(re.findall(r"\.([\w-]+)", selector)) <= used
             and ":hover" not in selector]
    needed = {"--card", *re.findall(r"var\((--[\w-]+)\)", svg + "".join(rules))}

    def root(colours):
        return "svg{" + ";".join(f"{name}:{colours[name].strip()}" for name in sorted(needed & set(colours))) + "}"

    style = "\n".join([root(colours_of(light)), f"@media(prefers-color-scheme:dark){{{root(dark)}}}", *rules,
                       "svg{background:var(--card)}"])
    head = svg.index(">")
    return (svg[:head] + ' xmlns="http://www.w3.org/2000/svg">\n<style>\n' + style + "\n</style>" +
            svg[head + 1:] + "\n")


def main(bf_aot, root):
    root = pathlib.Path(root)
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.html"

        def take(name, kind, *arguments):
            subprocess.run([bf_aot, *arguments], cwd=root, check=True, stdout=subprocess.DEVNULL)
            (root / "docs/pictures" / name).write_text(drawing(page.read_text(encoding="utf-8"), kind),
                                                       encoding="utf-8")

        take("certified_accuracy.svg", "curve", "certify", f"{ROBUSTNESS}/digits_cnn.onnx", "--data",
             f"{ROBUSTNESS}/digits_test.npz", "--scale", "16", "--clip", "0,1", "--eps",
             "0.005,0.01,0.02,0.03,0.04,0.06,0.08,0.1", "--html", str(page))
        take("memory.svg", "map", "models/collision_avoidance_6x50.onnx", "-o", f"{folder}/avoid.cpp",
             "--report", str(page))
        subprocess.run([bf_aot, "reach", "models/examples/loops/reach.json", "--plot", "docs/pictures/pendulum.svg"],
                       cwd=root, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main(*sys.argv[1:])
