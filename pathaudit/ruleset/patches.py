"""What users' patches rely on, as data: the file that is kept beside the code has this form."""

from typing import Literal

from msgspec import Struct


class Caller(Struct, frozen=True, forbid_unknown_fields=True):
    """A function that calls one which a patch changes, with the keywords of the call."""

    file: str
    symbol: str
    keywords: tuple[str, ...]


class Use(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Something of the tree that the lines of a patch need; ``code`` is how they name it.

    ``local`` is a name that the function binds itself, ``name`` one of the module, ``import`` an
    import that the patch adds, ``attribute`` one of an object, ``call`` a call that has to fit its
    callee, ``replaces`` a function that the patch puts another one in the place of.

    ``file`` and ``symbol`` are where it was defined: of an attribute its class, of a call the
    callee, whose ``signature`` the ``arguments`` fit. ``digest``, ``sketch``, ``callers`` and
    ``siblings`` are as for ``Function``.
    """

    kind: Literal["local", "name", "import", "attribute", "call", "replaces"]
    code: str
    file: str = ""
    symbol: str = ""
    signature: str = ""
    arguments: str = ""
    digest: str = ""
    sketch: str = ""
    callers: tuple[Caller, ...] = ()
    siblings: tuple[str, ...] = ()


class Path(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """On which paths a statement runs that a patch adds to a method.

    ``code`` is its first line, ``entries`` are methods of served classes of the same file, all of
    which run it on ``every`` path or on ``some``. ``missed`` tells what runs without it then.
    """

    code: str
    runs: Literal["every", "some"]
    entries: tuple[str, ...]
    missed: tuple[str, ...] = ()


class Function(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A function that a patch changes, as it is without the patch; no ``symbol`` for a module.

    ``digest`` is that of its body: comments, layout, docstrings and quotes do not count. A
    function that the patch adds has none. ``sketch`` tells how alike another function is, and by
    its ``callers`` it is known under another name. ``siblings`` are alike, and others.
    """

    symbol: str
    signature: str = ""
    digest: str = ""
    sketch: str = ""
    uses: tuple[Use, ...] = ()
    callers: tuple[Caller, ...] = ()
    siblings: tuple[str, ...] = ()
    paths: tuple[Path, ...] = ()


class Hunk(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Lines of a diff that stand together, each with its sign.

    ``old`` and ``new`` are the numbers of the first, without and with the patch; ``symbol`` is the
    function around them. ``own`` are the positions of added lines that stood nowhere in the file.
    """

    old: int
    new: int
    lines: tuple[str, ...]
    symbol: str = ""
    own: tuple[int, ...] = ()


class File(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A file that a patch changes; ``was`` is its path before, if that is another.

    One that is new has no ``was`` but ``added``, one that is deleted is ``deleted``.
    """

    path: str
    hunks: tuple[Hunk, ...]
    functions: tuple[Function, ...] = ()
    was: str = ""
    added: bool = False
    deleted: bool = False


class Reliance(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A patch with all that it relies on, as found in the tree of a ``version``.

    ``patched`` says that this tree had the patch in it: then every tree should have it.
    """

    name: str
    files: tuple[File, ...]
    reason: str = ""
    version: str = ""
    patched: bool = False


class PatchBook(Struct, frozen=True, forbid_unknown_fields=True):
    """The file: patches by name."""

    schema: int = 1
    patches: tuple[Reliance, ...] = ()
