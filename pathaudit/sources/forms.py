"""Tells what a person means by the name of a tree."""

import os
import re
from enum import Enum, auto

GIT = "git:"
ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar")

# A name with a condition on its version, such as a path has not.
_REQUIREMENT = re.compile(r"\s*[\w.-]+\s*(\[[^]]*\]\s*)?([=<>~!]|@ )")


class Form(Enum):
    """The ways to name a tree."""

    INSTALLED = auto()
    FOLDER = auto()
    REVISION = auto()
    ARCHIVE = auto()
    REQUIREMENT = auto()


def form_of(target: str | None, package: str) -> Form:
    """Return how a tree is named; a folder that is there comes before all but a revision."""
    if target is None:
        return Form.INSTALLED
    if target.startswith(GIT):
        return Form.REVISION
    if os.path.isdir(target):
        return Form.FOLDER
    if _REQUIREMENT.match(target) and not os.path.exists(target):
        return Form.REQUIREMENT
    if target.lower().endswith(ARCHIVES):
        return Form.ARCHIVE
    return Form.INSTALLED if target == package else Form.FOLDER
