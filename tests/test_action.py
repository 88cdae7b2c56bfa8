"""The steps of action.yml, run by a shell: what they say, post and write, and with which status."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from msgspec import Struct

from tests.actions import ROOT, Done, Runner, read_action
from tests.commands import obeyed

EXAMPLE = ROOT / "examples" / "two_batch_overlap"
RUN, FAIL = "Run pathaudit", "Fail if pathaudit does"
REPORT = "<!-- pathaudit -->\n### pathaudit: 2 errors\n"
MARKER = "<!-- pathaudit-action: scan pathaudit -->"

# Stands for the gh of a runner: notes what it is asked, and answers as the files beside it say.
GH = """#!/usr/bin/env python3
import json, os, pathlib, sys
here = pathlib.Path(__file__).parent
words = sys.argv[1:]
bodies = [pathlib.Path(word[6:]).read_text() for word in words if word.startswith("body=@")]
method = words[words.index("--method") + 1] if "--method" in words else "GET"
call = {"method": method, "words": words, "body": "".join(bodies), "token": os.environ["GH_TOKEN"]}
with open(here / "calls", "a") as file:
    file.write(json.dumps(call) + "\\n")
if method in (here / "refused").read_text().split():
    sys.exit("gh: Resource not accessible by integration (HTTP 403)")
if method == "GET":
    print((here / "comments").read_text(), end="")
"""


class Call(Struct):
    """A call of gh."""

    method: str
    words: list[str]
    body: str
    token: str


class Bench:
    """A runner with an example in its workspace, a gh that notes, and pathaudit installed."""

    def __init__(self, folder: Path, environment: Path, pull: str = "7") -> None:
        self.workspace, self.tools = folder / "workspace", folder / "tools"
        self.temporary, self.installed = folder / "temporary", folder / "temporary" / "installed"
        self.tools.mkdir()
        self.installed.mkdir(parents=True)
        (self.installed / "environment").symlink_to(environment)
        shutil.copytree(EXAMPLE, self.workspace / "python")
        (self.tools / "gh").write_text(GH)
        (self.tools / "gh").chmod(0o755)
        self.answer("")
        self.runner = Runner(self.workspace, self.temporary, self.tools, pull)

    def answer(self, comments: str, refused: str = "") -> None:
        """Say which comments are there, and which methods are refused."""
        (self.tools / "comments").write_text(comments)
        (self.tools / "refused").write_text(refused)

    def job(self, inputs: Mapping[str, str], failing: frozenset[str] = frozenset()) -> Done:
        return self.runner.job(inputs, {"install": {"folder": str(self.installed)}}, failing)

    def comment(self, status: int = 1, report: str = REPORT, **inputs: str) -> Done:
        """Run what follows a scan that ended with a status and wrote a report."""
        (self.installed / "report").write_text(report)
        outputs = {"status": str(status), "report": str(self.installed / "report")}
        outputs["news"] = str(status == 1).lower()
        given = {"install": {"folder": str(self.installed)}, "run": outputs}
        return self.runner.job({"comment": "true", **inputs}, given)

    def calls(self) -> list[Call]:
        file = self.tools / "calls"
        lines = file.read_text().splitlines() if file.exists() else []
        return [Call(**json.loads(line)) for line in lines]


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The environment that the action's own step makes, from a checkout with traps in it."""
    folder = tmp_path_factory.mktemp("action")
    traps(folder)
    (folder / "temporary").mkdir()
    done = Runner(folder, folder / "temporary", folder).job({"command": "none"})
    assert done.statuses["Install pathaudit"] == 0, done.printed
    assert not (folder / "pwned").exists()
    (installed,) = (folder / "temporary").glob("pathaudit.*")
    return installed / "environment"


def traps(folder: Path) -> None:
    """Modules that Python would import from the current folder, if it looked there."""
    for name in ("venv", "pip", "json", "sys", "site", "click", "msgspec", "sglang"):
        (folder / f"{name}.py").write_text("open('pwned', 'w')\n")


@pytest.fixture
def bench(tmp_path: Path, environment: Path) -> Bench:
    return Bench(tmp_path, environment)


def test_a_scan_that_fails(bench: Bench) -> None:
    done = bench.job({"tree": "python"})
    assert (done.statuses[RUN], done.statuses[FAIL]) == (0, 1)
    assert done.outputs["status"] == "1"
    assert done.outputs["findings"] == "2"
    report = Path(done.outputs["report"]).read_text()
    assert "run_overlapped" in report
    assert done.summary == report
    assert len(json.loads(Path(done.outputs["json"]).read_text())["findings"]) == 2
    assert json.loads(Path(done.outputs["sarif-file"]).read_text())["version"] == "2.1.0"
    assert re.search(r"^::error file=python/sglang/srt/models/overlapped.py,", done.printed, re.M)
    assert done.used == ["actions/setup-python"]
    assert bench.calls() == []


def test_what_is_accepted_passes(bench: Bench) -> None:
    done = bench.job({"tree": "python", "fail-on": "never", "python-version": ""})
    assert (done.statuses[FAIL], done.outputs["findings"], done.used) == (0, "2", [])
    arguments = "--rule=skipped-aux-capture\n\n--entry=OverlappedGuardedForCausalLM\n"
    done = bench.job({"tree": "python", "arguments": arguments, "strict": "true"})
    assert (done.statuses[FAIL], done.outputs["findings"]) == (0, "0")


def test_what_the_log_shows_is_no_command(bench: Bench) -> None:
    done = bench.job({"tree": "python"})
    stop = re.search(r"^::stop-commands::([0-9a-f]{32})$", done.printed, re.MULTILINE)
    assert stop
    inside = done.printed[stop.end() :].partition(f"\n::{stop[1]}::\n")
    assert "2 errors" in inside[0]
    assert inside[1]
    told = {command.name for line in inside[2].splitlines() if (command := obeyed(line))}
    assert told == {"error"}
    assert stop[1] not in bench.job({"tree": "python"}).printed


def test_a_diff(bench: Bench) -> None:
    old = bench.workspace / "old"
    shutil.copytree(EXAMPLE, old)
    (old / "sglang/srt/models/overlapped.py").unlink()
    done = bench.job({"command": "diff", "old": "old", "new": "python", "comment": "true"})
    assert (done.outputs["status"], done.outputs["findings"]) == ("1", "2")
    assert bench.calls()[-1].body.startswith("<!-- pathaudit-action: diff pathaudit -->\n")


WRONG = {
    "no command": ({"command": "scna"}, "The input command is scan, diff or bump."),
    "no trees": ({"command": "diff", "old": "a"}, "The command diff needs the inputs old and new."),
    "neither": ({"strict": "yes"}, "The input strict is true or false."),
    "no tree": ({"tree": "none"}, "none: no such directory"),
    "no severity": ({"fail-on": "fatal"}, "Invalid value for '--fail-on'"),
    "an option": ({"tree": "--version"}, "no such directory"),
}


@pytest.mark.parametrize(("inputs", "message"), WRONG.values(), ids=WRONG)
def test_a_mistake_in_an_input(inputs: dict[str, str], message: str, bench: Bench) -> None:
    done = bench.job({"comment": "true", **inputs})
    assert (done.statuses, done.outputs["status"]) == ({RUN: 2}, "2")
    assert message in done.printed


@pytest.mark.parametrize(
    ("name", "value"), [("sarif", "yes"), ("comment", ""), ("version", "1 2"), ("version", "-r x")]
)
def test_a_mistake_before_anything_is_installed(name: str, value: str, bench: Bench) -> None:
    done = bench.runner.job({name: value})
    assert done.statuses == {"Install pathaudit": 2}


# ---- the comment ------------------------------------------------------------------------------


def test_a_comment_is_posted(bench: Bench) -> None:
    done = bench.job({"tree": "python", "comment": "true"})
    listed, posted = bench.calls()
    assert listed.words[2] == "repos/someone/fork/issues/7/comments?per_page=100"
    assert (posted.method, posted.token) == ("POST", "a-token")
    assert "repos/someone/fork/issues/7/comments" in posted.words
    assert posted.body == f"{MARKER}\n{done.summary}"
    assert done.statuses[FAIL] == 1


def test_the_comment_that_is_there_is_updated(bench: Bench) -> None:
    bench.answer(f"11\tof somebody\n12\t{MARKER.replace('scan', 'bump')}\n13\t{MARKER}\n")
    bench.comment()
    assert (bench.calls()[-1].method, bench.calls()[-1].words[4]) == (
        "PATCH",
        "repos/someone/fork/issues/comments/13",
    )
    bench.comment(0)
    assert bench.calls()[-1].method == "PATCH"


def test_only_comments_of_programs_are_updated(bench: Bench) -> None:
    """The query is gh's own business: what it asks for is looked at, and run where jq is."""
    bench.comment()
    words = bench.calls()[0].words
    query = words[words.index("--jq") + 1]
    assert query.startswith('.[] | select(.user.type == "Bot")')
    bodies = [f"{MARKER}\r\nreport", "two\nlines", f"{MARKER}\ttab"]
    kinds = ["Bot", "Bot", "User"]
    comments = [
        {"id": number, "user": {"type": kind}, "body": body}
        for number, (kind, body) in enumerate(zip(kinds, bodies, strict=True))
    ]
    if (jq := shutil.which("jq")) is not None:
        done = subprocess.run(
            [jq, "-r", query], input=json.dumps(comments), text=True, capture_output=True
        )
        assert done.stdout == f"0\t{MARKER}\n1\ttwo\n"


def test_nothing_to_comment_on(bench: Bench) -> None:
    done = bench.comment(0)
    assert [call.method for call in bench.calls()] == ["GET"]
    assert "There is nothing to comment on." in done.printed


@pytest.mark.parametrize("refused", ["GET", "POST"])
def test_a_token_that_must_not_comment(refused: str, bench: Bench) -> None:
    bench.answer("", refused)
    done = bench.comment()
    assert "::notice title=pathaudit::The comment could not be posted" in done.printed
    assert done.statuses[FAIL] == 1


def test_no_pull_request(tmp_path: Path, environment: Path) -> None:
    bench = Bench(tmp_path, environment, pull="")
    done = bench.comment()
    assert (bench.calls(), done.statuses[FAIL]) == ([], 1)
    assert "There is no pull request to comment on." in done.printed


@pytest.mark.parametrize(("length", "expected"), [(65_400, 65_442), (65_500, 126)])
def test_a_report_that_is_too_long_for_a_comment(length: int, expected: int, bench: Bench) -> None:
    bench.comment(report="x" * length)
    assert len(bench.calls()[-1].body) == expected


# ---- code scanning ----------------------------------------------------------------------------


def test_findings_go_to_code_scanning(bench: Bench) -> None:
    done = bench.job({"tree": "python", "sarif": "true"})
    assert done.used[-1] == "github/codeql-action/upload-sarif"
    (step,) = (step for step in read_action().steps if step.id == "upload")
    assert step.with_["sarif_file"] == "${{ steps.run.outputs.sarif }}"
    assert "::warning" not in done.printed


def test_an_upload_that_fails_is_told_and_hides_nothing(bench: Bench) -> None:
    done = bench.job({"tree": "python", "sarif": "true"}, failing=frozenset({"upload"}))
    assert "::warning title=pathaudit::The findings could not be uploaded" in done.printed
    assert done.statuses[FAIL] == 1


# ---- what strangers may have written ----------------------------------------------------------

HOSTILE = (
    "$(touch pwned)`touch pwned`",
    "; touch pwned #",
    "' || touch pwned; \"; touch pwned; '",
    "x\nstatus=0\nreport=/etc/passwd",
    "a[$(touch pwned)]",
    "--output=pwned",
)
TAKEN = ("command", "tree", "old", "new", "base", "head", "fail-on", "strict", "rules", "name")


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("name", TAKEN)
def test_no_input_is_run(name: str, value: str, bench: Bench) -> None:
    command = {"old": "diff", "new": "diff", "base": "bump", "head": "bump"}.get(name, "scan")
    start = {"command": command, "tree": "python", "old": "python", "new": "python"}
    done = bench.job({**start, "comment": "true", name: value})
    assert not list(bench.workspace.parent.rglob("pwned"))
    assert done.outputs["status"] == ("1" if name == "name" else "2")
    assert not done.outputs["report"].startswith("/etc")


def test_a_hostile_name_is_no_mark_of_another(bench: Bench) -> None:
    bench.comment(name="x -->\n<!-- pathaudit")
    marker = "<!-- pathaudit-action: scan x----------pathaudit -->"
    assert bench.calls()[-1].body.splitlines()[0] == marker


def test_no_module_of_the_checkout_is_run(bench: Bench) -> None:
    traps(bench.workspace)
    done = bench.job({"tree": "python"})
    assert (done.outputs["findings"], (bench.workspace / "pwned").exists()) == ("2", False)


# ---- the file itself --------------------------------------------------------------------------


def test_actions_are_pinned() -> None:
    text = (ROOT / "action.yml").read_text()
    used = re.findall(r"uses: (.*)", text)
    assert used
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", item) for item in used)


def test_every_input_is_used_and_described() -> None:
    text = (ROOT / "action.yml").read_text()
    readme = (ROOT / "README.md").read_text()
    for name, item in read_action().inputs.items():
        assert f"inputs.{name}" in text
        assert item.description
        assert f"`{name}`" in readme


# ---- as the example workflows use it ----------------------------------------------------------


def given(workflow: str) -> dict[str, str]:
    """What an example gives to the action."""
    text = yaml.safe_load((ROOT / "examples/workflows" / workflow).read_text())
    (job,) = text["jobs"].values()
    found: dict[str, str] = job["steps"][-1]["with"]
    return found


def test_the_workflow_for_a_fork(bench: Bench) -> None:
    done = bench.job(given("scan.yml"))
    assert (done.outputs["status"], done.outputs["findings"]) == ("1", "2")
    assert done.used[-1] == "github/codeql-action/upload-sarif"


def commit(folder: Path, text: str) -> None:
    """Commit a pin, in a repository that is made if it is not there."""
    (folder / "requirements.txt").write_text(text)
    who = ["-c", "user.name=pathaudit", "-c", "user.email=pathaudit@localhost"]
    for words in (["init", "-q"], ["add", "--all"], ["commit", "-q", "-m", "change"]):
        subprocess.run(["git", *who, *words], cwd=folder, check=True)


def test_the_workflow_for_a_pin(bench: Bench) -> None:
    commit(bench.workspace, "sglang==0.5.10\n")
    commit(bench.workspace, "sglang==0.5.10\nrequests\n")
    done = bench.job(given("bump.yml"))
    assert (done.outputs["status"], done.outputs["findings"]) == ("0", "0")
    assert [call.method for call in bench.calls()] == ["GET"]
    commit(bench.workspace, "sglang[all]==0.5.10\nrequests\n")
    done = bench.job(given("bump.yml"))
    assert (done.outputs["status"], done.outputs["findings"]) == ("0", "0")
    assert "same version" in bench.calls()[-1].body
