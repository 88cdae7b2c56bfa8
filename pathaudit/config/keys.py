"""The keys that a settings file may have, and what each holds; data only."""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

Rating: TypeAlias = Literal["off", "error", "warning", "note"]
Count = Annotated[int, Meta(ge=1)]


class Settings(Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """What a project states once instead of on each command line; all of it may be left out.

    Paths are as seen from the current folder.

    Attributes:
        rules: by the id of a rule, its severity or ``off``.
        select: the only rules to check.
        own_rules: folders with rules of one's own.
        profile: a folder with another profile and its rules.
        tree: what is audited where no tree is named.
        overlay: a folder that is laid over the tree; the key is ``with``.
        entries: the only served classes to tell of.
        exclude: globs of files whose findings are left out.
        baseline: the file of known findings.
        patches: the file that lists the patches of the tree.
        fail_on: the mildest severity that fails a run.
        strict: whether what could not be judged fails a run.
        format: the form of reports.
        jobs: processes to work in.
        offline: whether nothing is downloaded.
    """

    rules: dict[str, Rating] = {}
    select: tuple[str, ...] = ()
    own_rules: tuple[str, ...] = ()
    profile: str | None = None
    tree: str | None = None
    overlay: str | None = msgspec.field(default=None, name="with")
    entries: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    baseline: str | None = None
    patches: str | None = None
    fail_on: Literal["error", "warning", "note", "never"] = "error"
    strict: bool = False
    format: Literal["text", "json", "sarif", "github", "junit", "markdown"] = "text"
    jobs: Count | None = None
    offline: bool = False


# The keys as they are written, with the names of their fields, in the order above.
KEYS: dict[str, str] = dict(
    zip(Settings.__struct_encode_fields__, Settings.__struct_fields__, strict=True)
)
# Keys that name files or folders, which are found from the folder of the settings file.
PATHS = frozenset({"own-rules", "profile", "with", "baseline", "patches"})
