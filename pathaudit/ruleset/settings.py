"""Where a user's settings of the framework are declared, and how code reads them; data only."""

from msgspec import Struct

from pathaudit.ruleset.anchors import Anchor


class SettingClass(Struct, frozen=True, forbid_unknown_fields=True, rename={"class_name": "class"}):
    """Classes of ``files`` whose annotated attributes are settings.

    ``class_name`` is the class, or any; ``path`` is the class attribute that says under which
    dotted namespace the fields of the class are read.
    """

    files: tuple[str, ...]
    class_name: str = ""
    path: str = ""


class Environment(Struct, frozen=True, forbid_unknown_fields=True, rename={"class_name": "class"}):
    """Where environment variables are declared, and how they are read.

    Attributes of ``class_name`` in ``files`` are declarations, read as those of ``variable``;
    ``functions`` are given the name of a variable as their first argument.
    """

    files: tuple[str, ...] = ()
    class_name: str = ""
    variable: str = ""
    functions: tuple[str, ...] = ()


class ModelConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """``names`` are those under which code has the model's configuration, read from ``file``."""

    names: tuple[str, ...] = ()
    file: str = ""
    override: str = ""


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a user's settings are declared, and how code reads them.

    ``records`` and ``getters`` are names and functions that give an object with all settings,
    ``namespaces`` is what the name of a function starts with that gives one namespace.
    ``annotation`` marks a field that is a flag, described by a call of ``argument``; a call of
    ``marker`` names its namespace, ``derives`` is the code that makes its flag. ``runtime`` are
    attributes that differ from batch to batch. ``files`` are where a slice looks, ``checks`` where
    combinations of settings are refused.
    """

    files: tuple[str, ...] = ()
    classes: tuple[SettingClass, ...] = ()
    annotation: str = ""
    argument: str = ""
    marker: str = ""
    derives: Anchor | None = None
    records: tuple[str, ...] = ()
    getters: tuple[str, ...] = ()
    namespaces: str = ""
    runtime: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    environment: Environment = Environment()
    model: ModelConfig = ModelConfig()
