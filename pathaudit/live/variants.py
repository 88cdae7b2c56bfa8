"""Which variants of a forward the stated arguments let run, and why."""

from collections.abc import Callable

from msgspec import Struct

from pathaudit.live.flags import Declared, Unknown
from pathaudit.live.secrets import redacted
from pathaudit.live.stated import Stated
from pathaudit.results.live import Argument, Variant
from pathaudit.ruleset.serving import Anchored, Control, Exclusion, Reading, Serving

POSSIBLE, IMPOSSIBLE, UNKNOWN = "possible", "impossible", "unknown"

REFUSES = "the server refuses to start"

Anchors = Callable[[Anchored], bool]


class Held(Struct, frozen=True):
    """The value of a field: ``known`` with where it is from, or the reason why it is not."""

    known: bool
    value: object
    reason: str


class Arguments:
    """What is known of a server's arguments: stated, or the default of a known version."""

    def __init__(self, stated: Stated, declared: Declared, serving: Serving, version: str) -> None:
        self.stated = stated
        self.declared = declared
        self.version = version
        self._serving = serving

    def held(self, name: str) -> Held:
        """The value of a field by its dotted name, or why there is none."""
        known, value = self.stated.find(name)
        if known:
            return Held(True, value, f"{name}={self._shown(name, value)}")
        if name in self.stated.unresolved:
            written = redacted(name, self.stated.unresolved[name], self._serving.secrets)
            return Held(False, None, f"{name} is {written}")
        if self.declared.known and name.split(".")[0] not in self.declared.fields:
            return Held(False, None, f"{name} is no argument of {self.version or 'this version'}")
        return self._absent(name)

    def _absent(self, name: str) -> Held:
        default = self.default(name)
        if self.stated.defaults and default is not None:
            text = self._shown(name, default.value)
            reason = f"flag not given; default {text} in {self.version}"
            return Held(True, default.value, reason)
        if self.stated.defaults:
            return Held(False, None, f"{name} is not given, and the version is not known")
        if not self.stated.complete:
            return Held(False, None, self._cut(name))
        return Held(False, None, f"{name} is not stated")

    def _cut(self, name: str) -> str:
        if self.stated.form in ("dict", "ServerArgs-repr"):
            if "leaves" in self.stated.stops:
                return f"{name} is left out of the line"
            return f"line truncated before {name}"
        return f"{name} is not given, and {self.stated.stops}"

    def default(self, name: str) -> Held | None:
        """The default of a field in the version that runs, if that is known."""
        field = self.declared.fields.get(name)
        if field is None or not self.version or isinstance(field.default, Unknown):
            return None
        return Held(True, field.default, "")

    def _shown(self, name: str, value: object) -> str:
        text = value if isinstance(value, str) else repr(value)
        return redacted(name, text, self._serving.secrets)[:200]

    def listed(self) -> tuple[Argument, ...]:
        """What is stated, and of the arguments that decide what is not; secrets are hidden."""
        names = dict.fromkeys((*self._serving.shown, *self._deciding()))
        rows = [self._row(name) for name in (*names, *sorted(self._rest(set(names))))]
        return tuple(row for row in rows if row is not None)

    def environment(self) -> dict[str, str]:
        """The variables that matter, as they may be shown."""
        found = self.stated.environment
        return {name: redacted(name, x, self._serving.secrets) for name, x in found.items()}

    def _deciding(self) -> list[str]:
        needs = [x for item in self._serving.controls for x in item.needs]
        return [name for need in needs for name in need.fields]

    def _rest(self, told: set[str]) -> set[str]:
        return {x for x in (*self.stated.values, *self.stated.unresolved) if x not in told}

    def _row(self, name: str) -> Argument | None:
        held = self.held(name)
        known, value = self.stated.find(name)
        if known:
            return Argument(name=name, state="set", value=self._shown(name, value))
        if name in self.stated.unresolved:
            text = redacted(name, self.stated.unresolved[name], self._serving.secrets)
            return Argument(name=name, state="unresolved", value=text)
        if "no argument of" in held.reason or "." in name:
            return None
        default = self.default(name)
        shown = self._shown(name, default.value) if default is not None else ""
        return Argument(name=name, state="not stated", value="", default=shown)


def judge(control: Control, arguments: Arguments, exclusions: tuple[Exclusion, ...]) -> Variant:
    """Whether a variant can run with these arguments."""
    state, reason = _all(control.needs, arguments)
    if state == POSSIBLE:
        for item in exclusions:
            named = {name for need in item.needs for name in need.fields}
            own = {name for need in control.needs for name in need.fields}
            if own & named and _all(item.needs, arguments)[0] == POSSIBLE:
                state, reason = IMPOSSIBLE, f"{REFUSES}: {item.says}"
    return Variant(
        name=control.name,
        title=control.title,
        state=state,
        reason=reason,
        selects=control.selects,
        remark=" ".join(control.remark.split()),
    )


def _all(needs: tuple[Reading, ...], arguments: Arguments) -> tuple[str, str]:
    """All needs together: one that fails decides, then one that is not known."""
    answers = [_meets(need, arguments) for need in needs]
    for wanted in (IMPOSSIBLE, UNKNOWN):
        for state, reason in answers:
            if state == wanted:
                return state, reason
    return POSSIBLE, ", ".join(reason for _, reason in answers)


def _meets(need: Reading, arguments: Arguments) -> tuple[str, str]:
    helds = [arguments.held(name) for name in need.fields]
    held = next((x for x in helds if x.known), None)
    if held is None:
        missing = [x for x in helds if "no argument of" not in x.reason]
        if not missing:
            absent = IMPOSSIBLE if need.equals or need.above is not None else UNKNOWN
            return absent, helds[0].reason
        return UNKNOWN, missing[-1].reason
    return (POSSIBLE if _is_met(need, held.value) else IMPOSSIBLE), held.reason


def _is_met(need: Reading, value: object) -> bool:
    if need.above is not None:
        return isinstance(value, int) and value > need.above
    if need.equals:
        return any(value is x or (type(value) is type(x) and value == x) for x in need.equals)
    return not any(type(value) is type(x) and value == x for x in need.differs)


def controls_of(serving: Serving, anchored: Anchors) -> tuple[Control, ...]:
    """The controls of a tree: a fact whose code is gone is void."""
    return tuple(x for x in serving.controls if x.anchor is None or anchored(x.anchor))


def exclusions_of(serving: Serving, anchored: Anchors) -> tuple[Exclusion, ...]:
    return tuple(x for x in serving.exclusions if anchored(x.anchor))
