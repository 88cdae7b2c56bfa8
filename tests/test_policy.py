"""What settings make of an answer: severities, files left out, a few served classes."""

import msgspec
import pytest

from pathaudit.audit import audit
from pathaudit.policy import Told, apply_policy, excluded_by
from pathaudit.results import EntryReport, Finding, Gap, Reach, Report, Severity, Site, Verdict
from pathaudit.results.settings import LeftOut
from pathaudit.ruleset import Policy, Ruleset
from pathaudit.sources import SourceTree, from_text
from tests.labels import MODELS, SUPPORT, capture_rules, shipped_rules
from tests.test_reporters import finding

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

MODEL = """
from torch import nn

from sglang.srt.utils import make_layers


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layers, self.start_layer, self.end_layer = make_layers(4, lambda idx: Layer())
        self.layers_to_capture = []

    def forward(self, x, forward_batch):
        aux = []
        if forward_batch.other:
            for layer in self.layers:
                x = layer(x)
            return x, aux
        for i in range(self.start_layer, self.end_layer):
            if i in self.layers_to_capture:
                aux.append(x)
            x = self.layers[i](x)
        return x, aux


class Layer(nn.Module):
    def forward(self, x):
        return x


class NAME(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = Model(config)

    def forward(self, input_ids, positions, forward_batch):
        return self.model(input_ids, forward_batch)

    def set_eagle3_layers_to_capture(self, layer_ids):
        self.model.layers_to_capture = layer_ids


EntryClass = NAME
"""
FIRST, SECOND, THIRD = "FirstForCausalLM", "SecondForCausalLM", "ThirdForCausalLM"


def tree() -> SourceTree:
    models = {"first": FIRST, "second": SECOND, "third": THIRD}
    files = {f"{MODELS}/{x}.py": MODEL.replace("NAME", name) for x, name in models.items()}
    return from_text({**SUPPORT, **files})


def judged(policy: Policy, rules: Ruleset | None = None, entry: str | None = None) -> Report:
    rules = msgspec.structs.replace(rules or capture_rules(), policy=policy)
    return audit(tree(), rules, entry=entry)


def rated(item: Finding, rule: str, stated: Severity) -> Severity:
    policy = Policy(severities={rule: stated})
    rules = msgspec.structs.replace(shipped_rules(), policy=policy)
    (told,) = apply_policy(rules, (), Told((item,), (), ())).findings
    return told.severity


# ---- severities -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "own", "stated", "expected"),
    [
        pytest.param("skipped-aux-capture", ERROR, NOTE, NOTE, id="lowered"),
        pytest.param("unforwarded-hook", NOTE, ERROR, ERROR, id="raised"),
        pytest.param("skipped-aux-capture", ERROR, ERROR, ERROR, id="as it is"),
        pytest.param("skipped-aux-capture", NOTE, ERROR, NOTE, id="milder stays milder"),
        pytest.param("ungathered-aux", WARNING, ERROR, WARNING, id="milder, its own severity"),
        pytest.param("skipped-aux-capture", WARNING, NOTE, NOTE, id="milder is capped"),
        pytest.param("unforwarded-hook", WARNING, NOTE, NOTE, id="worse than its rule is capped"),
        pytest.param("unforwarded-hook", WARNING, ERROR, ERROR, id="worse than its rule is raised"),
        pytest.param("unused-allow", NOTE, ERROR, ERROR, id="a remark"),
    ],
)
def test_a_severity(rule: str, own: Severity, stated: Severity, expected: Severity) -> None:
    assert rated(finding(rule=rule, severity=own), rule, stated) is expected


@pytest.mark.parametrize("reach", [Reach.GATED, Reach.BLOCKED, Reach.DORMANT])
def test_what_cannot_be_reached_stays_a_note(reach: Reach) -> None:
    item = finding(rule="unforwarded-hook", severity=NOTE, reach=reach)
    assert rated(item, "unforwarded-hook", ERROR) is NOTE


def test_a_severity_is_that_of_one_rule() -> None:
    assert rated(finding(rule="dropped-aux", severity=ERROR), "skipped-aux-capture", NOTE) is ERROR


def test_severities_are_counted() -> None:
    usual = judged(Policy())
    report = judged(Policy(severities={"skipped-aux-capture": WARNING}))
    assert (usual.summary.errors, usual.summary.warnings) == (3, 0)
    assert (report.summary.errors, report.summary.warnings) == (0, 3)
    assert {x.fingerprint for x in report.findings} == {x.fingerprint for x in usual.findings}


def test_a_remark_is_switched_off() -> None:
    files = {f"{MODELS}/first.py": MODEL.replace("NAME", FIRST)}
    files[f"{MODELS}/first.py"] += "\n# pathaudit: allow[skipped-aux-capture] no reason\nx = 1\n"
    rules = capture_rules()
    found = audit(from_text({**SUPPORT, **files}), rules).findings
    silent = msgspec.structs.replace(rules, policy=Policy(off=("unused-allow",)))
    told = audit(from_text({**SUPPORT, **files}), silent).findings
    assert [x.rule for x in found if x not in told] == ["unused-allow"]


# ---- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("globs", "expected"),
    [
        pytest.param((), True, id="none"),
        pytest.param(("second.py",), False, id="a name at any depth"),
        pytest.param(("sglang/srt/models/second.py",), False, id="a path"),
        pytest.param(("models/second.py",), True, id="a path from elsewhere"),
        pytest.param(("**/models/*",), False, id="below any folder"),
        pytest.param(("sglang/srt/models/", "!second.py"), True, id="all but one"),
        pytest.param(("first.py",), True, id="another file"),
    ],
)
def test_an_excluded_file(globs: tuple[str, ...], expected: bool) -> None:
    excluded = excluded_by(Policy(exclude=globs))
    assert excluded(f"{MODELS}/second.py") is not expected


def test_what_is_left_out_is_counted() -> None:
    report = judged(Policy(exclude=("second.py",)))
    assert [x.file for x in report.findings] == [f"{MODELS}/first.py", f"{MODELS}/third.py"]
    assert {x.file for x in report.entries} == {f"{MODELS}/first.py", f"{MODELS}/third.py"}
    assert report.left_out == LeftOut(findings=1, entries=1, gaps=0)
    assert (report.summary.errors, report.summary.entries, report.summary.violated) == (2, 2, 2)


def test_nothing_left_out_is_said_only_where_files_are_excluded() -> None:
    assert judged(Policy()).left_out is None
    assert judged(Policy(severities={"skipped-aux-capture": NOTE})).left_out is None
    assert judged(Policy(exclude=("x.py",))).left_out == LeftOut(findings=0, entries=0, gaps=0)


def site(file: str, verdict: Verdict) -> Site:
    return Site(
        file=file,
        line=1,
        column=0,
        end_line=1,
        end_column=1,
        layers="",
        verdict=verdict,
        condition="",
        evidence=(),
    )


def entry_of(file: str, *sites: Site, verdict: Verdict) -> EntryReport:
    return EntryReport(
        rule="skipped-aux-capture",
        entry="Model.forward",
        file=file,
        line=1,
        verdict=verdict,
        reach=Reach.REACHABLE,
        receivers=(),
        architectures=(FIRST,),
        features=(),
        sites=sites,
    )


HELPER = site("helper.py", Verdict.UNKNOWN)
OWN = site("model.py", Verdict.HOLDS)
WRONG = site("model.py", Verdict.VIOLATED)


@pytest.mark.parametrize(
    ("sites", "before", "after"),
    [
        pytest.param((HELPER, OWN), Verdict.UNKNOWN, Verdict.HOLDS, id="its site was unknown"),
        pytest.param((HELPER, WRONG), Verdict.VIOLATED, Verdict.VIOLATED, id="another is wrong"),
        pytest.param((OWN,), Verdict.UNKNOWN, Verdict.UNKNOWN, id="unknown for another reason"),
        pytest.param((HELPER,), Verdict.UNKNOWN, None, id="nothing is left"),
        pytest.param((), Verdict.UNKNOWN, Verdict.UNKNOWN, id="never any site"),
    ],
)
def test_an_entry_with_sites_in_an_excluded_file(
    sites: tuple[Site, ...], before: Verdict, after: Verdict | None
) -> None:
    rules = msgspec.structs.replace(capture_rules(), policy=Policy(exclude=("helper.py",)))
    told = apply_policy(rules, (), Told((), (entry_of("model.py", *sites, verdict=before),), ()))
    assert [entry.verdict for entry in told.entries] == ([] if after is None else [after])
    assert all(site.file != "helper.py" for entry in told.entries for site in entry.sites)


def test_gaps_of_excluded_files_are_left_out() -> None:
    rules = msgspec.structs.replace(capture_rules(), policy=Policy(exclude=("helper.py",)))
    gaps = tuple(Gap(kind="file", file=x, line=1, message="") for x in ("helper.py", "model.py"))
    told = apply_policy(rules, (), Told((), (), gaps))
    assert [gap.file for gap in told.gaps] == ["model.py"]
    assert told.left_out == LeftOut(findings=0, entries=0, gaps=1)


# ---- classes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "entry", "expected"),
    [
        pytest.param((), None, [FIRST, SECOND, THIRD], id="all"),
        pytest.param((SECOND,), None, [SECOND], id="one"),
        pytest.param((FIRST, THIRD), None, [FIRST, THIRD], id="two"),
        pytest.param((FIRST, THIRD), SECOND, [SECOND], id="another one is asked for"),
    ],
)
def test_only_some_classes(
    entries: tuple[str, ...], entry: str | None, expected: list[str]
) -> None:
    report = judged(Policy(entries=entries), entry=entry)
    assert [name for x in report.findings for name in x.entries] == expected
    assert [name for x in report.entries for name in x.architectures] == expected
    assert report.inert == ()


def test_what_concerns_no_class_is_told_beside_some_but_no_comment_is_called_unused() -> None:
    items = (
        finding(rule="late-configuration", entries=()),
        finding(rule="unused-allow", entries=()),
    )
    told = apply_policy(
        msgspec.structs.replace(shipped_rules(), policy=Policy(entries=(FIRST, SECOND))),
        (FIRST, SECOND),
        Told(items, (), ()),
    )
    assert [x.rule for x in told.findings] == ["late-configuration"]
