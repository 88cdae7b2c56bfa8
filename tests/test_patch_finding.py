"""Where a patch finds again what it changes and needs: in other files, under other names."""

import pytest

from tests.patches import MODEL, edited, faults, judged, noted
from tests.test_patches import ANCHOR, COUNT, LOOP, NOTE, OLD, TAP, UTILS


def test_what_cannot_be_told_is_said() -> None:
    _, points = judged(noted(OLD, NOTE), edited(OLD, (MODEL, "Tapped(Base)", "Tapped(Elsewhere)")))
    doubts = [point.how for point in points if point.doubtful]
    assert "`self.note` may be set from outside Tapped" in doubts


def test_a_module_that_moved_is_found() -> None:
    tree = {("sglang/srt/models/new/tapped.py" if x == MODEL else x): y for x, y in OLD.items()}
    standing, points = judged(noted(OLD, TAP), tree)
    assert standing == "unpatched"
    assert faults(points) == [
        (
            "warning",
            f"changes Tapped.forward of {MODEL}, which is in sglang/srt/models/new/tapped.py here",
        )
    ]


def test_a_name_that_moved_is_told() -> None:
    tree = edited(OLD, (UTILS, OLD[UTILS][OLD[UTILS].index("\ndef count") :], ""))
    tree["sglang/srt/metrics.py"] = OLD[UTILS][OLD[UTILS].index("\ndef count") :]
    _, points = judged(noted(OLD, COUNT), tree)
    assert [how for _, how in faults(points)] == [
        "imports `count`, which sglang.srt.utils does not have; it is in sglang/srt/metrics.py here"
    ]


def test_a_file_that_is_gone_is_told_once() -> None:
    standing, points = judged(noted(OLD, TAP), {UTILS: OLD[UTILS]})
    assert standing == "neither"
    assert faults(points) == [("error", "changes Tapped.forward, which is not there")]


def test_a_function_is_known_by_what_its_callers_call() -> None:
    """Its body is another, but the functions that called it call that, with the same keywords."""
    call = "        states = run(states=states, layers=self.layers, batch=batch)\n"
    run = (
        "def {}(states, layers, batch):\n    for layer in layers:\n        {}\n    return states\n"
    )
    old = edited(OLD, (MODEL, LOOP, f"{call}{LOOP}"))
    old[MODEL] = "from sglang.srt.utils import run\n" + old[MODEL]
    old[UTILS] += run.format("run", "states = layer(states)")
    new = edited(old, (UTILS, "    return states\n", "    print(states)\n    return states\n"))
    body = "raise NotImplementedError(repr((states, len(layers), batch.rows, id(batch))))"
    now = edited(
        old,
        (MODEL, "import run\n", "import execute\n"),
        (MODEL, "run(states", "execute(states"),
        (UTILS, run.format("run", "states = layer(states)"), run.format("execute", body)),
    )
    _, points = judged(noted(old, new), now)
    assert faults(points) == [
        (
            "error",
            "changes run, which is not there; execute seems to be what it is here: "
            "the function that called it calls that",
        )
    ]


MADE = [
    pytest.param([(MODEL, "class Tapped", "@registered\nclass Tapped")], id="a decorator"),
    pytest.param([(MODEL, "Tapped(Base)", "Tapped(Base, metaclass=Meta)")], id="a metaclass"),
    pytest.param([(MODEL, "", "\n\nTapped = registered(Tapped)\n")], id="its name is taken"),
    pytest.param([(UTILS, "TOTALS = {}", "def f(m):\n    m.note = f\n")], id="set from outside"),
    pytest.param([(UTILS, "TOTALS = {}", "setattr(x, 'note', 1)")], id="by its name"),
]


@pytest.mark.parametrize("edits", MADE)
def test_an_attribute_that_may_be_made_is_not_gone(edits: list[tuple[str, str, str]]) -> None:
    tree = {path.replace("srt/utils", "srt/models/utils"): text for path, text in OLD.items()}
    old = edited(tree, (MODEL, "srt.utils", "srt.models.utils"))
    new = edited(old, (MODEL, ANCHOR, f"{ANCHOR}        self.note(states, at=-1)\n"))
    later = edited(old, (MODEL, "def note(", "def mark("))
    assert len(faults(judged(noted(old, new), later)[1])) == 1
    for path, before, after in edits:
        place = path.replace("srt/utils", "srt/models/utils")
        later[place] = later[place].replace(before, after, 1) if before else later[place] + after
    _, points = judged(noted(old, new), later)
    assert faults(points) == []
    assert [point.how for point in points if point.doubtful][-1:] == [
        "`self.note` may be set from outside Tapped"
    ]


LAZY = [
    pytest.param("def __getattr__(name):\n    return name\n", id="a module that makes names"),
    pytest.param("globals().update({})\n", id="its globals"),
]


@pytest.mark.parametrize("text", LAZY)
def test_a_name_that_may_be_made_is_not_gone(text: str) -> None:
    tree = edited(OLD, (UTILS, "def count(", "def other("))
    tree[UTILS] += text
    _, points = judged(noted(OLD, COUNT), tree)
    assert faults(points) == []
    assert [point.how for point in points if point.doubtful] == [
        f"`from sglang.srt.utils import count` may be made in {UTILS} when it is imported"
    ]


def test_only_the_names_that_an_import_gets_are_needed() -> None:
    lines = "from sglang.srt.utils import (\n    Batch,\n{})\n"
    old = edited(OLD, (MODEL, "from sglang.srt.utils import Batch\n", lines.format("")))
    new = edited(old, (MODEL, lines.format(""), lines.format("    count,\n")))
    (needed,) = noted(old, new).files[0].functions[0].uses
    assert needed.code == "from sglang.srt.utils import count"


def test_what_stood_beside_it_is_not_it() -> None:
    """A function that is much like it, and was there all the time, is another one."""
    twin = OLD[UTILS][OLD[UTILS].index("def count") : OLD[UTILS].index("TOTALS = {}")]
    old = edited(OLD, (UTILS, "TOTALS = {}", f"{twin.replace('count(', 'tally(')}TOTALS = {{}}"))
    new = edited(COUNT, (UTILS, OLD[UTILS], old[UTILS]))
    gone = edited(old, (UTILS, twin, ""))
    _, points = judged(noted(old, new), gone)
    assert [how for _, how in faults(points)] == [
        "imports `count`, which sglang.srt.utils does not have"
    ]


def test_a_body_of_one_statement_is_like_many() -> None:
    short = "def {}(layer_id, rows):\n    return layer_id + rows\n"
    whole = OLD[UTILS][OLD[UTILS].index("def count") : OLD[UTILS].index("TOTALS = {}")]
    old = edited(OLD, (UTILS, whole, short.format("count")))
    new = edited(COUNT, (UTILS, OLD[UTILS], old[UTILS]))
    other = edited(old, (UTILS, short.format("count"), short.format("counts") + "    # 1\n"))
    like = "def counted(layer_id, rows, more):\n    return layer_id + rows + more\n"
    (same,) = faults(judged(noted(old, new), other)[1])
    assert same[1].endswith("counts seems to be what it is here: 100% alike")
    (unlike,) = faults(
        judged(noted(old, new), edited(old, (UTILS, short.format("count"), like)))[1]
    )
    assert unlike[1] == "imports `count`, which sglang.srt.utils does not have"


def test_some_callers_do_not_tell() -> None:
    """One of three calls something else in the same way: that tells nothing."""
    call = "def {}(x):\n    return run(layers=x, batch=x)\n"
    run = "def run(layers, batch):\n    return layers or batch\n"
    users = "".join(call.format(f"user_{number}") for number in range(3))
    old = {**OLD, UTILS: f"{run}{users}{OLD[UTILS]}"}
    new = edited(old, (UTILS, "    return layers or batch", "    pass\n    return layers or batch"))
    other = users.replace("return run(", "return other(", 1)
    gone = {**OLD, UTILS: f"def other(layers, batch): ...\n{other}{OLD[UTILS]}"}
    assert faults(judged(noted(old, new), gone)[1]) == [
        ("error", "changes run, which is not there")
    ]


def test_what_is_there_already_needs_nothing() -> None:
    """The line is in the tree, whatever it calls there is no matter of the patch."""
    tree = edited(NOTE, (MODEL, "def note(", "def mark("))
    assert faults(judged(noted(OLD, NOTE), tree)[1]) == [("note", "is in this tree already")]
    lost = faults(judged(noted(OLD, NOTE, patched=True), tree)[1])
    assert lost == [("error", "needs `self.note`, which Tapped does not have")]


def test_a_body_that_went_to_another_method_is_found() -> None:
    tree = edited(
        OLD,
        (MODEL, "    def forward(", "    def _old_forward("),
        (
            MODEL,
            "class Tapped(Base):\n",
            "class Tapped(Base):\n    def forward(self, *args):\n"
            "        return self._old_forward(*args)\n\n",
        ),
    )
    assert faults(judged(noted(OLD, TAP), tree)[1]) == [
        ("warning", "changes Tapped.forward, whose body is in Tapped._old_forward here: 100% alike")
    ]
