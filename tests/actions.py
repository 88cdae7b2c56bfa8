"""Runs the steps of a composite action as GitHub's runner does, as far as ours needs that.

A step with ``run`` is run by bash; one with ``uses`` is only noted. Expressions are those that the
action has: names in contexts, compared with a text.
"""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import yaml
from msgspec import Struct

ROOT = Path(__file__).parent.parent
_EXPRESSION = re.compile(r"\$\{\{\s*(.+?)\s*\}\}")
_TEST = re.compile(r"([\w.-]+) (==|!=) '(.*)'")


class Step(Struct, rename="kebab"):
    """A step as it is written; there are no others."""

    name: str
    id: str = ""
    condition: str = ""
    shell: str = ""
    run: str = ""
    uses: str = ""
    env: dict[str, str] = {}
    with_: dict[str, object] = {}
    working_directory: str = ""
    continue_on_error: bool = False


class Input(Struct):
    description: str
    default: str


class Action(Struct):
    """The part of an ``action.yml`` that is run: inputs with their defaults, outputs, steps."""

    inputs: dict[str, Input]
    outputs: dict[str, str]
    steps: list[Step]


def read_action() -> Action:
    """The action of this repository."""
    text = yaml.safe_load((ROOT / "action.yml").read_text())
    renamed = {"if": "condition", "with": "with_", "working-directory": "working_directory"}
    renamed |= {"continue-on-error": "continue_on_error"}
    steps = [
        Step(**{renamed.get(key, key): value for key, value in step.items()})
        for step in text["runs"]["steps"]
    ]
    inputs = {name: Input(**item) for name, item in text["inputs"].items()}
    return Action(inputs, {name: item["value"] for name, item in text["outputs"].items()}, steps)


class Done(Struct):
    """What came of a job: the exit status of each step that ran, and all that was printed."""

    statuses: dict[str, int]
    printed: str
    outputs: dict[str, str]
    summary: str
    used: list[str]


class Runner:
    """A runner with a workspace and a folder for temporary files.

    ``given`` are outputs of steps that are not run. What is on ``path`` comes before all else.
    """

    def __init__(self, workspace: Path, temporary: Path, path: Path, pull: str = "7") -> None:
        self.workspace = workspace
        self.temporary = temporary
        self.path = path
        self.contexts = {
            "github.action_path": str(ROOT),
            "github.repository": "someone/fork",
            "github.event.pull_request.number": pull,
            "github.token": "a-token",
        }

    def job(
        self,
        inputs: Mapping[str, str],
        given: Mapping[str, Mapping[str, str]] | None = None,
        failing: frozenset[str] = frozenset(),
    ) -> Done:
        """Run all steps with inputs; the ``failing`` ones among those that are only noted fail."""
        action = read_action()
        values = dict(self.contexts)
        for name, item in action.inputs.items():
            values[f"inputs.{name}"] = inputs.get(name, self._filled(item.default, values))
        done = Done({}, "", {}, "", [])
        for step in action.steps:
            if not _holds(step.condition, values):
                continue
            if step.id and given and step.id in given:
                _keep(values, step.id, given[step.id])
            elif step.uses:
                done.used.append(step.uses.partition("@")[0])
                values[f"steps.{step.id}.outcome"] = "failure" if step.id in failing else "success"
            elif not self._run(step, values, done):
                break
        for name, value in action.outputs.items():
            done.outputs[name] = self._filled(value, values)
        return done

    def _run(self, step: Step, values: dict[str, str], done: Done) -> bool:
        """Run a step in bash; does the job go on?"""
        assert step.shell == "bash"
        assert "${{" not in step.run, "an expression in a script is text of that script"
        files = {name: self.temporary / name.lower() for name in ("GITHUB_OUTPUT", "SUMMARY")}
        files["GITHUB_OUTPUT"].write_text("")
        script = self.temporary / "script.sh"
        script.write_text(step.run)
        process = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.workspace / self._filled(step.working_directory, values),
            env=self._environment(files)
            | {name: self._filled(value, values) for name, value in step.env.items()},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        done.statuses[step.name] = process.returncode
        done.printed += process.stdout
        lines = files["GITHUB_OUTPUT"].read_text().splitlines()
        _keep(values, step.id, dict(line.split("=", 1) for line in lines))
        if files["SUMMARY"].exists():
            done.summary = files["SUMMARY"].read_text()
        return process.returncode == 0

    def _environment(self, files: Mapping[str, Path]) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
        return kept | {
            "PATH": f"{self.path}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.temporary),
            "GITHUB_OUTPUT": str(files["GITHUB_OUTPUT"]),
            "GITHUB_STEP_SUMMARY": str(files["SUMMARY"]),
        }

    def _filled(self, text: str, values: Mapping[str, str]) -> str:
        return _EXPRESSION.sub(lambda match: values.get(match[1], ""), text)


def _holds(condition: str, values: Mapping[str, str]) -> bool:
    if not condition:
        return True
    test = _TEST.fullmatch(condition)
    assert test, f"the runner of the tests does not know {condition}"
    return (values.get(test[1], "") == test[3]) == (test[2] == "==")


def _keep(values: dict[str, str], step: str, outputs: Mapping[str, str]) -> None:
    values.update({f"steps.{step}.outputs.{name}": value for name, value in outputs.items()})
