"""Gates: what the framework never does together with an armed feature, proved by its code."""

from msgspec import Struct

from pathaudit.index import Index
from pathaudit.results import Gap
from pathaudit.ruleset import Anchor, Gate


class GateProof(Struct, frozen=True):
    """Why a method is gated, with the place that says so; or the gap where the code is gone."""

    proof: str = ""
    gap: Gap | None = None


OPEN = GateProof()


def gate_of(index: Index, method: str) -> GateProof:
    """The proof that ``method`` does not run with a feature on; nothing where no gate is stated."""
    for gate in index.profile.gates:
        if gate.method == method:
            return _proved(index, gate)
    return OPEN


def _proved(index: Index, gate: Gate) -> GateProof:
    if gate.unless is not None and _place(index, gate.unless):
        return OPEN
    place = _place(index, gate.anchor)
    if place:
        return GateProof(proof=f"{gate.reason} ({place})")
    message = f"the profile's gate of {gate.method} is void: its anchor is not in this tree"
    return GateProof(gap=Gap(kind="profile", file=gate.anchor.files[0], line=1, message=message))


def _place(index: Index, anchor: Anchor) -> str:
    """``file:line`` of the first occurrence of an anchor."""
    found = index.modules.find(anchor.files, anchor.text)
    return f"{found[0]}:{found[1]}" if found else ""
