"""The answer to a question about hooks in a sentence."""

from collections import Counter
from collections.abc import Iterator, Sequence

from pathaudit.hooks.cells import FIRES, HOOK_ONLY, NO, NOT_RUN, PARTLY, PATCH_ONLY, REPLAY, UNKNOWN
from pathaudit.hooks.events import CALLED, RECIPE
from pathaudit.results.hooks import HookCell, HookGroup, HookPlace, HookVariant

_COUNTED = {
    FIRES: "fire",
    PARTLY: "fire in part",
    PATCH_ONLY: "run only a patched forward",
    HOOK_ONLY: "fire, but run no patched forward",
    NO: "do not fire",
    REPLAY: "are replayed",
    "raises": "are refused",
    NOT_RUN: "are not run",
    UNKNOWN: "are not known",
}


def answer_of(subject: str, groups: Sequence[HookGroup]) -> str:
    """What becomes of hooks on what was asked about, variant by variant."""
    variants: dict[str, HookVariant] = {}
    cells: dict[str, list[HookCell]] = {}
    for group in sorted(groups, key=lambda x: -len(x.variants)):
        variants.update({x.name: x for x in group.variants})
        for module in group.modules:
            for cell in module.cells:
                cells.setdefault(cell.variant, []).append(cell)
    alike: dict[str, list[HookVariant]] = {}
    single: list[str] = []
    for name, variant in variants.items():
        answers = {cell.answer for cell in cells.get(name, ())}
        if answers in ({FIRES}, {REPLAY}):
            alike.setdefault(answers.pop(), []).append(variant)
        else:
            single.append(_clause(variant, cells.get(name, [])))
    parts = [f"fire on {_titles(alike[FIRES])}"] if FIRES in alike else []
    parts += single
    if REPLAY in alike:
        parts.append(f"no Python runs in a {_titles(alike[REPLAY], 'or a')}")
    if parts and not parts[0].startswith("fire"):
        return f"Hooks on {subject}: {'; '.join(parts)}."
    return f"Hooks on {subject} {'; '.join(parts)}."


def _clause(variant: HookVariant, cells: Sequence[HookCell]) -> str:
    """One variant on which hooks do not simply fire."""
    answers = Counter(cell.answer for cell in cells)
    title = variant.title
    if len(answers) > 1:
        order = [answer for answer in _COUNTED if answers[answer]]
        told = ", ".join(f"{answers[x]} {_COUNTED[x]}" for x in order)
        return f"on {title} {told}"
    match next(iter(answers), NOT_RUN):
        case "no":
            return _nothing(title, cells)
        case "partly":
            return _partly(title, cells)
        case "patch only":
            return f"on {title} only a patched forward runs, by .forward(...)"
        case "hook only":
            return f"on {title} a registered hook fires, and a patched forward is replaced"
        case "replay":
            return f"no Python runs in a {title}"
        case "raises":
            return f"the {title} path refuses the class"
        case "not run":
            return f"not run on {title}"
        case _:
            return f"not known on {title}"


def _nothing(title: str, cells: Sequence[HookCell]) -> str:
    recipes = _recipes(cells)
    if recipes:
        return f"nothing fires on the {_hyphened(title)} path{_recipe(recipes)}"
    return f"nothing fires on {title}"


def _partly(title: str, cells: Sequence[HookCell]) -> str:
    """Some layers run by a recipe, others are called; or some arms pass the call by."""
    recipes = _recipes(cells)
    if not recipes:
        return f"fire in part on {title}"
    places = [x for cell in cells for x in cell.places]
    called = sorted({x.layers for x in places if x.how == CALLED} - {""})
    rest = f"; layers {' or '.join(called)} are called there, and they fire" if called else ""
    return f"nothing fires on the {_hyphened(title)} path{_recipe(recipes)}{rest}"


def _recipes(cells: Sequence[HookCell]) -> list[HookPlace]:
    """The recipes that run whole layers."""
    places = [x for cell in cells for x in cell.places]
    return [x for x in places if x.how == RECIPE and x.layers]


def _recipe(places: Sequence[HookPlace]) -> str:
    """Which layers run by a recipe, and where it stands."""
    layers = " or ".join(sorted({x.layers for x in places}))
    first = places[0]
    return f", where layers {layers} run as {first.text} ({first.file}:{first.line})"


def _hyphened(title: str) -> str:
    return title.replace(" ", "-")


def _titles(variants: Sequence[HookVariant], last: str = "and") -> str:
    *first, end = [variant.title for variant in variants]
    return f"{', '.join(first)} {last} {end}" if first else end


def subject_of(request: str, entries: Sequence[str]) -> str:
    """What the answer is about, in words."""
    if request:
        return request
    return entries[0] if len(entries) == 1 else f"{len(entries)} served classes"


def names_in(groups: Sequence[HookGroup]) -> Iterator[str]:
    for group in groups:
        yield from group.entries
