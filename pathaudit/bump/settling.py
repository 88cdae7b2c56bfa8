"""Works out what is audited for a pin: a release, a commit that is here, or nothing, and why."""

import posixpath
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct
from packaging.specifiers import SpecifierSet

from pathaudit.bump.pins import PinsRead
from pathaudit.bump.pins.forms import ALTERNATIVE
from pathaudit.bump.pins.sought import Sought, version_of
from pathaudit.errors import SourceError
from pathaudit.results.bumps import Aim, Pin, PinSource, pin_place
from pathaudit.sources.repository import Submodule, holds_commit

# Returns the newest version that a specifier admits; SourceError if that cannot be told.
Newest = Callable[[str], str]

_SHORT = 12
_STRENGTH = ("lock", "override", "constraint", "requirement")


class State(Struct, frozen=True, eq=False):
    """The pins of one state of a repository, and its submodules."""

    read: PinsRead
    submodules: tuple[Submodule, ...]
    sought: Sought


class Target(Struct, frozen=True):
    """A tree to open: its name, and the repository if it is a revision."""

    tree: str
    repository: str | None = None


class Aimed(Struct, frozen=True):
    """What is audited for a pin, as it is told, and as it is opened."""

    aim: Aim
    target: Target | None


def settle(pin: Pin, state: State, newest: Newest | None) -> Aimed:
    """Work out what a pin stands for; without ``newest``, only what can be told without asking."""
    found = {
        PinSource.INDEX: _index,
        PinSource.GIT: _git,
        PinSource.SUBMODULE: _submodule,
        PinSource.IMAGE: _image,
        PinSource.URL: _wheel,
        PinSource.PATH: _wheel,
    }[pin.source]
    return found(pin, state, newest)


def _release(pin: Pin, state: State, version: str, remark: str = "") -> Aimed:
    tree = f"{state.sought.package}=={version}"
    return Aimed(Aim(pin=pin, tree=tree, version=version, remark=remark), Target(tree))


def _unknown(pin: Pin, remark: str) -> Aimed:
    return Aimed(Aim(pin=pin, tree="", version="", remark=remark), None)


# ---- releases ---------------------------------------------------------------------------------


def _index(pin: Pin, state: State, newest: Newest | None) -> Aimed:
    if pin.version:
        return _release(pin, state, pin.version)
    settling = settled_by(pin, state.read.pins)
    if settling is not None:
        return _release(pin, state, settling.version, f"as {pin_place(settling)} says")
    if newest is None:
        return _unknown(pin, "")
    asked = f"{state.sought.package}{pin.specifier}"
    try:
        version = newest(pin.specifier.rpartition(ALTERNATIVE)[2])
    except SourceError as error:
        return _unknown(pin, error.message)
    return _release(pin, state, version, f"{asked} resolves to {version} today")


def settled_by(pin: Pin, pins: Iterable[Pin]) -> Pin | None:
    """The exact pin that decides which version a requirement stands for, if there is one."""
    exact = [x for x in pins if x.source is PinSource.INDEX and x.version and _decides(x, pin)]
    exact.sort(key=lambda x: (_STRENGTH.index(x.role), -len(posixpath.dirname(x.file))))
    return next((x for x in exact if admits(pin.specifier, x.version)), None)


def admits(specifier: str, version: str) -> bool:
    """Does one of the alternatives of a specifier admit a version?"""
    parts = specifier.split(ALTERNATIVE)
    return any(SpecifierSet(part).contains(version, prereleases=True) for part in parts)


def _decides(exact: Pin, pin: Pin) -> bool:
    """Does an exact pin belong to the same project as another one?"""
    if exact.role in ("constraint", "override"):
        return True
    here, there = posixpath.dirname(exact.file), posixpath.dirname(pin.file)
    if exact.role == "lock":
        return pin.file.endswith(("pyproject.toml", "Pipfile")) and _is_above(here, there)
    return here == there and exact.file.endswith(".txt") and pin.file.endswith((".in", ".txt"))


def _is_above(folder: str, other: str) -> bool:
    return not folder or other == folder or other.startswith(f"{folder}/")


# ---- what stands for a release ----------------------------------------------------------------


def _image(pin: Pin, state: State, _: Newest | None) -> Aimed:
    if pin.version:
        return _release(pin, state, pin.version, _in_place(pin.version, "the image"))
    if "$" in pin.revision:
        return _unknown(pin, f"{pin.text}: an argument has no default")
    if pin.revision in ("", "latest"):
        return _unknown(pin, f"{pin.text} is whatever the newest image is")
    if version_of(pin.revision):
        return _unknown(pin, f"{pin.text} is not published with the releases")
    return _unknown(pin, f"the tag of {pin.text} names no version")


def _wheel(pin: Pin, state: State, _: Newest | None) -> Aimed:
    if pin.version:
        return _release(pin, state, pin.version, _in_place(pin.version, "the wheel"))
    return _unknown(pin, f"what is at {pin.address} is not looked at")


def _in_place(version: str, what: str) -> str:
    return f"the release {version} is audited in place of {what}"


# ---- commits ----------------------------------------------------------------------------------


def _git(pin: Pin, state: State, _: Newest | None) -> Aimed:
    if pin.version:
        return _release(pin, state, pin.version, _in_place(pin.version, f"tag {pin.revision}"))
    for module in state.submodules:
        same = pin.revision and state.sought.is_repository(module.address)
        if same and holds_commit(module, pin.revision):
            return _revision(pin, pin.revision, module, "")
    if not pin.revision:
        return _unknown(pin, f"{pin.address} is taken at whatever its newest commit is")
    return _unknown(pin, f"{shortened(pin.revision)} of {pin.address}: nothing is fetched by git")


def _submodule(pin: Pin, state: State, _: Newest | None) -> Aimed:
    for module in _modules(pin, state):
        if holds_commit(module, pin.revision):
            return _revision(pin, pin.revision, module, pin.version)
    if pin.version:
        return _release(pin, state, pin.version, _in_place(pin.version, "the submodule"))
    commit = shortened(pin.revision)
    hint = f"git submodule update --init {pin.part}"
    return _unknown(pin, f"commit {commit} of the submodule {pin.part} is not here: {hint}")


def _modules(pin: Pin, state: State) -> Iterator[Submodule]:
    yield from (module for module in state.submodules if module.path == pin.part)


def _revision(pin: Pin, revision: str, module: Submodule, version: str) -> Aimed:
    target = Target(f"git:{revision}", module.folder)
    remark = f"{shortened(revision)} of the submodule {module.path}"
    aim = Aim(pin=pin, tree=shown(target), version=version, remark=remark)
    return Aimed(aim, target)


def shown(target: Target) -> str:
    """A target's name for people."""
    return f"git:{shortened(target.tree[4:])}" if target.repository else target.tree


def shortened(revision: str) -> str:
    """A commit's id as people write it; a name of another kind as it is."""
    is_id = len(revision) == 40 and all(letter in "0123456789abcdef" for letter in revision)
    return revision[:_SHORT] if is_id else revision
