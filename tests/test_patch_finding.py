"""Where a patch finds again what it changes and needs: in other files, under other names."""

from tests.patches import MODEL, edited, faults, judged, noted
from tests.test_patches import COUNT, LOOP, NOTE, OLD, TAP, UTILS


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
