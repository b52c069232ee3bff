"""Runs what the pages show of pipelines: the action and the hooks of the tree, by what pages give them."""

import hashlib
import os
import re
import shutil
import subprocess
import zipfile

try:
    import yaml
except ImportError:
    yaml = None

EXPRESSION = re.compile(r"\$\{\{ *inputs\.(\w+) *\}\}")
HOOKS = ".pre-commit-hooks.yaml"


def run(words, folder, environment):
    print(f"$ {' '.join(words)}", flush=True)
    return subprocess.run(words, cwd=folder, env=environment, check=False, timeout=500).returncode


def action_problems(text, source, folder, environment):
    """Of steps that use an action of the tree; it is run as a runner does, but for its installation."""
    for step in yaml.safe_load(text):
        found = re.search(r"/bf-aot/(.+)@", step["uses"])
        if found is None:
            continue  # somebody else's
        action = yaml.safe_load((source / found[1] / "action.yml").read_text(encoding="utf-8"))
        inputs = {name: each.get("default") for name, each in action["inputs"].items()}
        for name in set(step["with"]) - set(inputs):
            yield f"the action has no input {name}"
        inputs.update(step["with"], wheel="")  # bf-aot is in the path
        yield from (f"the action asks for {name}" for name, value in inputs.items() if value is None)
        code, said = run_action(action, inputs, folder, environment)
        if code != 0:
            yield f"the action ends with {code}"
        for file in (inputs["junit"], inputs["sarif"]):
            if not (folder / file).exists():
                yield f"the action does not write {file}"
        if "verified" not in (folder / "summary.md").read_text(encoding="utf-8"):
            yield "the action's summary does not say the verdict"
        bad = dict(inputs, run=inputs["run"].replace("tiny_holds", "tiny_violated"))
        code, said = run_action(action, bad, folder, environment)
        if bad == inputs or code != 3 or "::error title=bf-aot::ended with 3" not in said:
            yield "the action passes where the property is violated"
        yield from wheel_problems(action, inputs, folder, environment)


def wheel_problems(action, inputs, folder, environment):
    """A wheel is installed by its digest alone. This one has a program that says what it is asked."""
    wheel = folder / "bf_aot-0.2.0-py3-none-any.whl"
    files = {"bf_aot.py": "def main():\n    import sys\n    print('asked', *sys.argv[1:3])\n",
             "bf_aot-0.2.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: bf-aot\nVersion: 0.2.0\n",
             "bf_aot-0.2.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
             "bf_aot-0.2.0.dist-info/entry_points.txt": "[console_scripts]\nbf-aot = bf_aot:main\n"}
    record = "".join(f"{name},,\n" for name in [*files, "bf_aot-0.2.0.dist-info/RECORD"])
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in {**files, "bf_aot-0.2.0.dist-info/RECORD": record}.items():
            archive.writestr(name, text)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    for given, expected in (("", 1), ("0" * 64, 1), (digest, 0)):
        code, said = run_action(action, dict(inputs, wheel=str(wheel), sha256=given), folder, environment)
        if (code != 0) != (expected != 0) or (expected == 0 and "asked verify" not in said):
            yield f"the action ends with {code} for a wheel by digest '{given}': {said}"


def run_action(action, inputs, folder, environment):
    """The exit code of the first step that fails, else 0, and what the steps print."""
    def filled(value):
        return EXPRESSION.sub(lambda name: str(inputs[name[1]]), str(value))

    files = {"GITHUB_PATH": folder / "path.txt", "GITHUB_STEP_SUMMARY": folder / "summary.md"}
    for file in files.values():
        file.write_text("", encoding="utf-8")
    runner = {"RUNNER_TEMP": str(folder / "runner"), **{name: str(file) for name, file in files.items()}}
    said = ""
    for step in action["runs"]["steps"]:
        condition = step.get("if")
        if condition is not None:
            name, value = re.fullmatch(r"inputs\.(\w+) != '(.*)'", condition).groups()
            if inputs[name] == value:
                continue
        assert step["shell"] == "bash" and "${{" not in step["run"], "inputs go through env"
        more = {name: filled(value) for name, value in step.get("env", {}).items()}
        first = "".join(f"{line}:" for line in files["GITHUB_PATH"].read_text(encoding="utf-8").split())
        done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], cwd=folder,
                              env={**environment, **runner, **more, "PATH": first + environment["PATH"]},
                              capture_output=True, text=True, check=False, timeout=500)
        print(done.stdout, done.stderr, sep="", flush=True)
        said += done.stdout
        if done.returncode != 0:
            return done.returncode, said
    return 0, said


def hook_problems(text, source, folder, environment):
    """Of a configuration of pre-commit. It is run by pre-commit itself where that is installed."""
    hooks = {each["id"]: each for each in yaml.safe_load((source / HOOKS).read_text(encoding="utf-8"))}
    for repository in yaml.safe_load(text)["repos"]:
        for used in repository["hooks"]:
            hook = hooks.get(used["id"])
            if hook is None:
                yield f"there is no hook {used['id']}"
                continue
            args = [str(word) for word in used["args"]]
            for bad, expected in ((False, 0), (True, 3)):
                asked = [word.replace("tiny_holds", "tiny_violated") if bad else word for word in args]
                code = run([*hook["entry"].split(), *asked], folder, environment)
                if code != expected:
                    yield f"{used['id']} {' '.join(asked)}: ends with {code}"
            yield from by_pre_commit(hook, args, source, folder, environment)
    for name in ("models/a.onnx", "p.vnnlib.gz"):
        if not any(re.search(hook["files"], name) for hook in hooks.values()):
            yield f"no hook is for {name}"


def gitlab_problems(text, source, folder, environment):
    """Of jobs of GitLab: their scripts, and the reports that they name. before_script installs."""
    for name, job in yaml.safe_load(text).items():
        unknown = set(job) - {"image", "before_script", "script", "artifacts"}
        yield from (f"{name} has {each}" for each in unknown)
        yield from gate_problems(job["script"], job["artifacts"]["reports"]["junit"], folder, environment)


def jenkins_problems(text, source, folder, environment):
    """Of a declarative pipeline of Jenkins: its steps `sh` and its report. Braces must match."""
    if text.count("{") != text.count("}"):
        yield "braces do not match"
    yield from gate_problems(re.findall(r"\bsh '([^']*)'", text), re.search(r"\bjunit '([^']*)'", text)[1],
                             folder, environment)


def gate_problems(script, report, folder, environment):
    """Of lines for a shell that must pass, write a report, and fail where the property is violated."""
    if not any("tiny_holds" in line for line in script):
        yield "the script asks nothing about tiny_holds"
    for bad, expected in ((False, 0), (True, 3)):
        (folder / report).unlink(missing_ok=True)
        lines = [line.replace("tiny_holds", "tiny_violated") if bad else line for line in script]
        code = run(["bash", "-euo", "pipefail", "-c", "\n".join(lines)], folder, environment)
        if code != expected:
            yield f"{lines}: ends with {code}"
        if not (folder / report).exists():
            yield f"{lines}: no {report}"


def by_pre_commit(hook, args, source, folder, environment):
    program = environment.get("BF_PRE_COMMIT") or shutil.which("pre-commit")
    if not program:
        print("not run by pre-commit, which is not installed")
        return
    hooks, user = folder / "hooks", folder / "user"
    for each in (hooks, user):
        each.mkdir()
        run(["git", "init", "--quiet"], each, environment)
    shutil.copy(source / HOOKS, hooks)
    commit = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "x"]
    for words in (["git", "add", "-A"], commit):
        run(words, hooks, environment)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=hooks, check=True, capture_output=True,
                          text=True).stdout.strip()
    shutil.copytree(source / "models", user / "models", ignore=shutil.ignore_patterns("examples"))
    for bad in (False, True):
        asked = [word.replace("tiny_holds", "tiny_violated") if bad else word for word in args]
        config = {"repos": [{"repo": str(hooks), "rev": head, "hooks": [{"id": hook["id"], "args": asked}]}]}
        (user / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        run(["git", "add", "-A"], user, environment)
        code = run([program, "run", "--all-files"], user,
                   {**environment, "PRE_COMMIT_HOME": str(folder / "pre-commit"), "HOME": os.fspath(folder)})
        if (code != 0) != bad:
            yield f"pre-commit ends with {code} for {' '.join(asked)}"


KINDS = {"action": action_problems, "gitlab": gitlab_problems, "hooks": hook_problems, "jenkins": jenkins_problems}
