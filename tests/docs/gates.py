"""Runs what the pages show of pipelines: the action and the hooks of the tree, by what pages give them."""

import os
import re
import shutil
import subprocess

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
        inputs.update(step["with"], install="")
        yield from (f"the action asks for {name}" for name, value in inputs.items() if value is None)
        code = run_action(action, inputs, folder, environment)
        if code != 0:
            yield f"the action ends with {code}"
        for file in (inputs["junit"], inputs["sarif"]):
            if not (folder / file).exists():
                yield f"the action does not write {file}"
        bad = dict(inputs, run=inputs["run"].replace("tiny_holds", "tiny_violated"))
        if bad == inputs or run_action(action, bad, folder, environment) != 3:
            yield "the action passes where the property is violated"


def run_action(action, inputs, folder, environment):
    """The exit code of the first step that fails, else 0."""
    def filled(value):
        return EXPRESSION.sub(lambda name: str(inputs[name[1]]), str(value))

    for step in action["runs"]["steps"]:
        condition = step.get("if")
        if condition is not None:
            name, value = re.fullmatch(r"inputs\.(\w+) != '(.*)'", condition).groups()
            if inputs[name] == value:
                continue
        assert step["shell"] == "bash" and "${{" not in step["run"], "inputs go through env"
        more = {name: filled(value) for name, value in step.get("env", {}).items()}
        code = run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], folder,
                   {**environment, **more})
        if code != 0:
            return code
    return 0


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
