"""Rules of one's own: a directory on top of the shipped rules, a rule to start from, its pages."""

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pathaudit.audit import audit
from pathaudit.cli import main
from pathaudit.errors import RuleError, UsageError
from pathaudit.results import Report
from pathaudit.ruleset import PROFILE_FILE, load_own_rules, load_ruleset, rules_directory
from pathaudit.sources import from_text
from tests.labels import MODELS, SUPPORT

ROOT = Path(__file__).parent.parent
SHIPPED = rules_directory() / "sglang"
OWN = ROOT / "examples" / "own_rule" / "rules"
BYPASS = ROOT / "examples" / "two_batch_overlap"


def run(*arguments: object) -> Result:
    words = [str(argument) for argument in arguments]
    return CliRunner().invoke(main, words, prog_name="pathaudit", catch_exceptions=False)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A copy of the example's rules that a test may change."""
    return Path(shutil.copytree(OWN, tmp_path / "own"))


# ---- directories ------------------------------------------------------------------------------


def test_the_example_is_short_and_passes() -> None:
    lines = (OWN / "skipped-tap.yaml").read_text().splitlines()
    assert len([line for line in lines if not line.startswith("#")]) < 15
    result = run("rules", "test", OWN)
    assert (result.exit_code, result.stdout) == (0, "ok      skipped-tap\n")


def test_own_rules_come_on_top() -> None:
    shipped = {rule.id for rule in load_ruleset(SHIPPED).rules}
    both = load_ruleset(SHIPPED, extra=(OWN,))
    assert {rule.id for rule in both.rules} == shipped | {"skipped-tap"}
    assert [rule.id for rule in both.rules] == sorted(shipped | {"skipped-tap"})
    only = load_ruleset(SHIPPED, only=("skipped-tap",), extra=(OWN,))
    assert [rule.id for rule in only.rules] == ["skipped-tap"]


def test_scan_checks_them() -> None:
    result = run("scan", BYPASS, "--rules", OWN)
    assert result.exit_code == 1
    assert "error[skipped-tap]: " in result.stdout
    assert "error[skipped-aux-capture]: " in result.stdout


def test_an_id_exists_once(own: Path, tmp_path: Path) -> None:
    shutil.copytree(own, tmp_path / "more")
    with pytest.raises(RuleError) as caught:
        load_ruleset(SHIPPED, extra=(own, tmp_path / "more"))
    assert caught.value.message == (
        f"{tmp_path}/more/skipped-tap.yaml: "
        f"there is a rule 'skipped-tap' already: {own}/skipped-tap.yaml"
    )


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such directory"):
        load_ruleset(SHIPPED, extra=(tmp_path / "nowhere",))
    with pytest.raises(UsageError, match="there is no such directory"):
        load_own_rules(tmp_path / "nowhere", SHIPPED)


ADDED = """
events:
  taps: [{pattern: our_tap(...)}]
  captures: [{pattern: $AUX.keep(...), where: {AUX: accumulator}}]
assumptions:
  calm: [{expression: $X.is_storm(), value: false}]
"""


def test_a_profile_may_add_events_and_assumptions(own: Path) -> None:
    (own / PROFILE_FILE).write_text(ADDED)
    rule = own / "skipped-tap.yaml"
    rule.write_text(rule.read_text().replace("tap(...)", "taps") + "assume: [calm, rows]\n")
    rules = load_ruleset(SHIPPED, extra=(own,))
    shipped = load_ruleset(SHIPPED).profile
    assert len(rules.profile.events["captures"]) == len(shipped.events["captures"]) + 1
    assert rules.profile.events["taps"][0].pattern == "our_tap(...)"
    assert set(rules.profile.assumptions) == {*shipped.assumptions, "calm"}
    assert load_own_rules(own, SHIPPED).profile == rules.profile


def test_a_profile_of_ones_own_may_add_nothing_else(own: Path) -> None:
    (own / PROFILE_FILE).write_text("integers: [$X.n]\n")
    with pytest.raises(RuleError, match="unknown field `integers`"):
        load_ruleset(SHIPPED, extra=(own,))


def test_a_whole_profile_replaces_and_does_not_add(own: Path) -> None:
    shutil.copy(SHIPPED / PROFILE_FILE, own)
    assert [rule.id for rule in load_own_rules(own, SHIPPED).rules] == ["skipped-tap"]
    with pytest.raises(UsageError, match="is a whole profile") as caught:
        load_ruleset(SHIPPED, extra=(own,))
    assert caught.value.hint == "keep only the events and assumptions that it adds"


@pytest.mark.parametrize(
    ("require", "problem"),
    [
        pytest.param("taps", "the profile has no event 'taps'", id="no-event"),
        pytest.param("tap(", "the profile has no event 'tap('", id="no-pattern"),
        pytest.param("tap(...) + 1", "the profile has no event 'tap(...) + 1'", id="no-call"),
    ],
)
def test_what_is_required_is_an_event_or_a_call(own: Path, require: str, problem: str) -> None:
    rule = own / "skipped-tap.yaml"
    rule.write_text(rule.read_text().replace("tap(...)", require, 1))
    with pytest.raises(RuleError, match=re.escape(f"require: {problem}")):
        load_ruleset(SHIPPED, extra=(own,))


def test_prose_may_be_left_out(own: Path) -> None:
    result = run("scan", BYPASS, "--rules", own, "--rule", "skipped-tap")
    assert "= why:" not in result.stdout
    assert "= fix:" not in result.stdout


# ---- the subject of layers --------------------------------------------------------------------

MODEL = """
from torch import nn

from sglang.srt.utils import make_layers


class Layer(nn.Module):
    def forward(self, hidden):
        return hidden


class {name}(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers = make_layers(config.num_hidden_layers, lambda idx, prefix: Layer())

    def forward(self, hidden, {batch}):
        for i, layer in enumerate(self.layers):
            {body}
        return hidden


EntryClass = {name}
"""
RUN = "hidden = layer(hidden)"


def tapped(body: str, name: str = "Served", batch: str = "forward_batch") -> Report:
    source = MODEL.format(body="\n            ".join(body.splitlines()), name=name, batch=batch)
    rules = load_ruleset(SHIPPED, only=("skipped-tap",), extra=(OWN,))
    return audit(from_text({**SUPPORT, f"{MODELS}/demo.py": source}), rules)


TAPPED = {
    "without": (RUN, ["violated reachable"]),
    "after": (f"{RUN}\ntap(i, hidden)", ["holds reachable"]),
    "before": (f"tap(i, hidden)\n{RUN}", ["holds reachable"]),
    "with the layer": (f"{RUN}\ntap(layer, hidden)", ["holds reachable"]),
    "as a method": (f"{RUN}\nself.tap(i, hidden)", ["holds reachable"]),
    "in an arm": (f"{RUN}\nif i % 2:\n    tap(i, hidden)", ["violated reachable"]),
    "another call": (f"{RUN}\nuntap(i, hidden)", ["violated reachable"]),
}


@pytest.mark.parametrize("name", TAPPED)
def test_layers_of_every_served_class(name: str) -> None:
    body, expected = TAPPED[name]
    assert [f"{x.verdict} {x.reach}" for x in tapped(body).entries] == expected


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"name": "ServedEagle"}, id="a draft"),
        pytest.param({"batch": "pixel_values"}, id="not given the batch"),
    ],
)
def test_what_is_no_subject(changes: dict[str, str]) -> None:
    assert tapped(RUN, **changes).entries == ()


# ---- rules new --------------------------------------------------------------------------------


def test_a_new_rule_passes_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    result = run("rules", "new", "lost-probe", "--dir", folder)
    assert result.exit_code == 0
    assert result.stdout == f"wrote {folder}/lost-probe.yaml\nwrote {folder}/lost-probe.py\n"
    assert run("rules", "test", folder).stdout == "ok      lost-probe\n"
    assert run("scan", BYPASS, "--rules", folder, "--rule", "lost-probe").exit_code == 1


def test_a_new_rule_in_this_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("rules", "new", "lost-probe").exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"lost-probe.yaml", "lost-probe.py"}


@pytest.mark.parametrize("kind", ["yaml", "py"])
def test_nothing_is_overwritten(kind: str, tmp_path: Path) -> None:
    (tmp_path / f"lost-probe.{kind}").write_text("mine")
    result = run("rules", "new", "lost-probe", "--dir", tmp_path)
    assert result.exit_code == 2
    assert f"lost-probe.{kind}: exists, and is not overwritten" in result.stderr
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("name", ["Lost", "lost_probe", "-x", "../x", "lost-", "", "profile"])
def test_ids_that_are_none(name: str, tmp_path: Path) -> None:
    result = run("rules", "new", "--dir", tmp_path, "--", name)
    assert result.exit_code == 2
    assert f"{name!r} is no id of a rule" in result.stderr


def test_the_id_of_a_shipped_rule_is_taken(tmp_path: Path) -> None:
    result = run("rules", "new", "skipped-aux-capture", "--dir", tmp_path)
    assert result.exit_code == 2
    assert "there is a rule 'skipped-aux-capture' already" in result.stderr


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("rules", "new", "lost-probe", "--dir", tmp_path / "file")
    assert (result.exit_code, "is no directory" in result.stderr) == (2, True)


# ---- pages ------------------------------------------------------------------------------------


def test_pages_of_ones_own(tmp_path: Path) -> None:
    result = run("rules", "docs", OWN, "--output", tmp_path / "docs")
    assert (result.exit_code, result.stdout) == (0, f"wrote 1 page to {tmp_path}/docs\n")
    page = (tmp_path / "docs" / "skipped-tap.md").read_text()
    assert page.startswith("# skipped-tap\n\nLayers run without a tap.\n\nSeverity: error.\n")
    assert "# expect: skipped-tap" in page
    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        "## Example",
        "## Accept a finding",
    ]
    assert "[skipped-tap](skipped-tap.md)" in (tmp_path / "docs" / "README.md").read_text()


def test_pages_need_a_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("rules", "docs", "--output", tmp_path / "file")
    assert (result.exit_code, "cannot be written" in result.stderr) == (2, True)


def test_the_readme_shows_the_rule_of_the_example() -> None:
    lines = (OWN / "skipped-tap.yaml").read_text().splitlines(keepends=True)
    rule = "".join(line for line in lines if not line.startswith("#"))
    assert f"```yaml\n{rule}```\n" in (ROOT / "README.md").read_text()
