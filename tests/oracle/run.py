"""Runs released methods with stand-ins: reads requests as JSON, writes what was seen as JSON.

It shares no code with the analyser, imports nothing of the release, and is started with ``-I``.
"""

import ast
import copy
import json
import re
import sys
from collections import Counter
from pathlib import Path
from types import CodeType
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.oracle.released import Found, Function, Release, module
from tests.oracle.rewriting import rewrite, rewrite_expression
from tests.oracle.stand_ins import Collector, Layer, Run, Stand, World, str_of

# What released code raises, or what it does when a stand-in cannot stand in: the run says nothing.
FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RuntimeError,
          TypeError, ValueError)  # fmt: skip
SAFE = (
    abs, all, any, bool, dict, divmod, enumerate, float, frozenset, getattr, int, iter, len, list,
    map, max, min, next, range, repr, reversed, round, set, setattr, delattr, slice, sorted, str,
    sum, tuple, zip, AssertionError, AttributeError, Exception, IndexError, KeyError,
    NotImplementedError, RuntimeError, TypeError, ValueError,
)  # fmt: skip
Case = dict[str, Any]
MAX_TRIES = 600


class Machine:
    """Compiles functions of a release and runs them in a world."""

    def __init__(self, release: Release, classes: list[Found]) -> None:
        self.release, self.classes = release, classes
        self.codes: dict[int, CodeType] = {}

    def function(self, world: World, file: str, node: Function) -> Any:
        """A callable for a function of a file, in a namespace of stand-ins."""
        if id(node) not in self.codes:
            self.codes[id(node)] = compile(rewrite([copy.deepcopy(node)]), file, "exec")
        namespace = Namespace(self, world, file)
        exec(self.codes[id(node)], namespace)
        return dict.__getitem__(namespace, node.name)

    def execute(self, world: World, file: str, text: str, arguments: Any, keywords: Any) -> object:
        """Run a callee that is handed layers, as far as its text can be found."""
        owner, _, name = text.rpartition(".")
        found = self.release.find(file, owner or name)
        node = found.node if found else None
        if isinstance(node, ast.ClassDef) and found is not None:
            method = self.release.method([found], name)
            node = method[1] if method else None
        if found is None or not isinstance(node, Function) or world.depth > 4:
            return world.stand(f"{text}()")
        return self.function(world, found.file, node)(*arguments, **keywords)

    def is_collector(self, file: str, text: str) -> bool:
        """Does a text name a class that collects what is appended to its objects?"""
        found = self.release.find(file, text) if file and text.isidentifier() else None
        if found is None or not isinstance(found.node, ast.ClassDef):
            return False
        return self.release.method([found], "append") is not None

    def is_instance(self, world: World, file: str, value: object, kind: object) -> bool:
        if isinstance(kind, type):
            return type(value) is kind
        if type(value) is not Layer:
            return world.truth(f"isinstance({str_of(value)}, {str_of(kind)})")
        found = self.release.find(file, str_of(kind)) if file else None
        # Something else than a class lists the classes of layers.
        known = found is not None and isinstance(found.node, ast.ClassDef)
        return not known or str_of(kind) in world.layer_names


class Namespace(dict[str, object]):
    """The globals of a file: each name that is no safe built-in is a stand-in."""

    def __init__(self, machine: Machine, world: World, file: str) -> None:
        super().__init__({known.__name__: known for known in SAFE})
        self.world = world
        self.update(
            __builtins__={},
            _is_none=lambda value: is_none(world, value),
            _is_in=lambda item, items: item in items,
            _unpack=lambda value, count: unpack(value, count),
            _collector=lambda: Collector(world),
            _loop=world.loop,
            _super=lambda self: self._super(file),
            _imported=lambda _, name: world.stand(name),
            hasattr=lambda value, name: world.truth(f"hasattr({str_of(value)}, {name!r})"),
            isinstance=lambda value, kind: machine.is_instance(world, file, value, kind),
            type=lambda value: world.stand(f"type({str_of(value)})"),
        )

    def __missing__(self, name: str) -> object:
        return self.world.stand(name)


def is_none(world: World, value: object) -> bool:
    return world.truth(f"is_none({str_of(value)})") if isinstance(value, Stand) else value is None


def unpack(value: object, count: int) -> object:
    if isinstance(value, Stand):
        return tuple(value[index] for index in range(count))
    return value


class Model(Stand):
    """The object whose method runs; its own methods that touch layers run too."""

    def __init__(self, world: World, machine: Machine) -> None:
        super().__init__(world, "self")
        self.__dict__.update(_machine=machine)

    def __getattr__(self, name: str) -> object:
        machine: Machine = self.__dict__["_machine"]
        found = machine.release.method(machine.classes, name)
        if found is None or f"self.{name}" in self._world.known or name in self._world.armed:
            return super().__getattr__(name)
        owner, node = found
        text = ast.unparse(node)
        if "self.layers" not in text and "aux" not in text:
            return super().__getattr__(name)
        bound = self._bound(owner, node)
        if any(ast.unparse(x) == "property" for x in node.decorator_list):
            assert callable(bound)
            return bound()
        return bound

    def _bound(self, owner: Found, node: Function) -> object:
        machine: Machine = self.__dict__["_machine"]
        function = machine.function(self._world, owner.file, node)

        def call(*arguments: object, **keywords: object) -> object:
            return function(self, *arguments, **keywords)

        return call

    def _super(self, file: str) -> "Above":
        del file
        return Above(self)


class Above:
    """``super()``: the methods of the classes above the one whose method is running."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def __getattr__(self, name: str) -> object:
        machine: Machine = self.model.__dict__["_machine"]
        line = sys._getframe(1)
        above = [
            found
            for at, found in enumerate(machine.classes)
            if any(_contains(x, line) for x in machine.classes[:at])
        ]
        method = machine.release.method(above, name)
        if method is None:
            raise AttributeError(name)
        return self.model._bound(*method)


def _contains(found: Found, frame: Any) -> bool:
    node = found.node
    assert isinstance(node, ast.ClassDef)
    same = frame.f_code.co_filename == found.file
    return bool(same and node.lineno <= frame.f_lineno <= (node.end_lineno or 0))


# ---- one case ---------------------------------------------------------------------------------


def observe(release: Release, case: Case) -> Case:
    """Run one method under many assignments and replay the paths that were found in it."""
    owner = release.find(case["file"], case["class"])
    assert owner is not None, case
    machine = Machine(release, release.bases(owner))
    seen: Counter[str] = Counter()
    raised: Counter[str] = Counter()
    for seed in range(case["worlds"]):
        feature = case["features"][seed % len(case["features"])]
        runs = run_once(machine, case, feature, seed, {}, raised)
        for text in {summary(machine, case, run, feature) for run in runs}:
            seen[text] += 1
    replays = [replay(machine, case, path) for path in case["paths"]]
    return {"seen": [json.loads(x) for x in seen], "raised": raised, "replays": replays}


def run_once(
    machine: Machine,
    case: Case,
    feature: str,
    seed: int,
    fixed: dict[str, int],
    raised: Counter[str],
) -> list[Run]:
    """The runs in one world, none where the method raises."""
    world = make_world(machine, case, feature, seed, fixed)
    model = Model(world, machine)
    found = machine.release.method(machine.classes, case["method"])
    assert found is not None, case
    owner, node = found
    names = [x.arg for x in (*node.args.args[1:], *node.args.kwonlyargs)]
    try:
        function = machine.function(world, owner.file, node)
        function(model, **{name: world.stand(name) for name in names})
    except FAULTS as fault:
        raised[f"{type(fault).__name__}: {fault}"[:160]] += 1
        return []
    raised["completed"] += 1
    for run in world.runs:
        run.captured = world.was_captured(run)
        run.names.update({name: world.stand(name) for name in names})
        run.names["self"] = model
    return world.runs


def make_world(
    machine: Machine, case: Case, feature: str, seed: int, fixed: dict[str, int]
) -> World:
    world = World(seed, case["armed"][feature], fixed)
    world.swallowed = frozenset(case["swallowed"])
    world.layer_names = case["layer"]
    world.execute = lambda *call: machine.execute(world, *call)
    world.is_collector = machine.is_collector
    return world


def summary(machine: Machine, case: Case, run: Run, feature: str) -> str:
    """A run as text: where, whether captured, and which paths found there are true of it."""
    true = [
        index
        for index, path in enumerate(case["paths"])
        if feature in path["features"] and is_at(run, path) and holds(machine, path, run)
    ]
    noted = {
        "places": sorted(set(run.places)),
        "captured": run.captured,
        "first": run.first,
        "feature": feature,
        "paths": true,
    }
    return json.dumps(noted, sort_keys=True)


def is_at(run: Run, path: Case) -> bool:
    lines = range(path["line"], path["end_line"] + 1)
    return any(file == path["file"] and line in lines for file, line in run.places)


def holds(machine: Machine, path: Case, run: Run) -> bool:
    """Is the condition of a path true in the world of a run?"""
    if path["condition"] == "always":
        return True
    model = run.names["self"]
    assert isinstance(model, Model)
    names = Scope(machine, model, run.names)
    code = compile(rewrite_expression(path["condition"]), "condition", "eval")
    helpers = Namespace(machine, model._world, "")
    return bool(eval(code, {"__builtins__": {}}, Chain(names, helpers)))


class Scope:
    """What a name in a condition means: an argument, an attribute of the object, a local."""

    def __init__(self, machine: Machine, model: Model, names: dict[str, object]) -> None:
        self.texts = [ast.unparse(found.node) for found in machine.classes]
        self.model, self.names = model, names

    def get(self, name: str) -> object:
        local = self.names.get(name)
        if isinstance(local, Stand) and local._text == name:
            return local
        if any(re.search(rf"self\.{name}\b", text) for text in self.texts):
            return getattr(self.model, name)
        return local


class Chain(dict[str, object]):
    """Looks a name up in a scope, then in a namespace."""

    def __init__(self, scope: Scope, namespace: Namespace) -> None:
        super().__init__()
        self.scope, self.namespace = scope, namespace

    def __missing__(self, name: str) -> object:
        if name.startswith("_") and dict.__contains__(self.namespace, name):
            return self.namespace[name]
        found = self.scope.get(name)
        return self.namespace[name] if found is None else found


def replay(machine: Machine, case: Case, path: Case) -> Case:
    """Look for worlds with the witness of a path in which its condition is true."""
    fixed = {item["name"]: item["value"] for item in path["witness"]}
    feature = path["features"][0]
    shown = refuted = 0
    seed = 0
    for seed in range(MAX_TRIES):
        runs = run_once(machine, case, feature, 10_000 + seed, fixed, Counter())
        here = [run for run in runs if is_at(run, path) and holds(machine, path, run)]
        shown += any(not run.captured for run in here)
        refuted += any(run.captured for run in here) and all(run.captured for run in here)
        if shown >= 5:
            break
    return {"shown": shown, "refuted": refuted, "tries": seed + 1}


def prepare(release: Release, case: Case) -> None:
    """Add to a case what can be read from the text: what setters store, the layer's class."""
    entries = [x for name in case["entries"] if (x := release.find(case["entry_file"], name))]
    files = sorted({case["file"], case["entry_file"]})
    owner = release.find(case["file"], case["class"])
    assert owner is not None, case
    texts = [ast.unparse(found.node) for found in release.bases(owner)]
    switches = {name: "list" for text in texts for name in _switches(text)}
    case["armed"] = {
        setter: release.armed(files, entries, setter) if setter else switches
        for setter in case["features"]
    }
    case["layer"], case["swallowed"] = _layer(release, owner, texts)


def _switches(text: str) -> list[str]:
    names = {node.attr for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)}
    return [name for name in names if "layers_to_capture" in name]


def _layer(release: Release, owner: Found, texts: list[str]) -> tuple[list[str], list[str]]:
    """The class of the layers with its bases, and arguments that its file drops."""
    classes = [x for text in (*texts, _class_names(release, owner)) for x in _layer_names(text)]
    found = [x for name in classes if (x := release.find(owner.file, name))]
    layers = [x for x in found if isinstance(x.node, ast.ClassDef)]
    if not layers:
        return ["Layer"], []
    line = release.bases(layers[0])
    forward = release.method(line, "forward")
    source = module(release.root, forward[0].file if forward else layers[0].file)
    taken = {x.arg for x in ast.walk(source) if isinstance(x, ast.arg)}
    given = {x.arg for x in ast.walk(source) if isinstance(x, ast.keyword) if x.arg}
    names = [x.node.name for x in line if isinstance(x.node, ast.ClassDef)]
    return names, sorted(x for x in given - taken if "captur" in x)


def _layer_names(text: str) -> list[str]:
    names = [x.id for x in ast.walk(ast.parse(text)) if isinstance(x, ast.Name)]
    return [name for name in names if name.endswith("Layer") and "Missing" not in name]


def _class_names(release: Release, owner: Found) -> str:
    classes = [x for x in module(release.root, owner.file).body if isinstance(x, ast.ClassDef)]
    return "\n".join(x.name for x in classes if "Decoder" in x.name)


def main() -> None:
    request = json.load(sys.stdin)
    release = Release(request["root"])
    for case in request["cases"]:
        prepare(release, case)
        json.dump(observe(release, case), sys.stdout)
        sys.stdout.write("\n")


if __name__ == "__main__":
    main()
