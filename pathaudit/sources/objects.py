"""The objects of a git repository, asked of one long-lived ``git cat-file`` in each process."""

import hashlib
import os
import subprocess
import weakref
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import git

from pathaudit.errors import StoreError
from pathaudit.sources.listing import printable
from pathaudit.sources.tree import MAX_FILE_BYTES

if TYPE_CHECKING:
    from git.cmd import Git

# What a repository's configuration and the user's environment must not change: nothing is fetched
# into a partial clone, which would run commands that the configuration names; nothing is replaced.
_ENVIRONMENT = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
_MAX_LINK = 4096


class Objects:
    """Reads the objects of the repository with a git folder; a copy for a process starts anew.

    Object names are written to the standard input of git, where none can be taken for an option.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        # By process: one that was forked must not read from the pipe of its parent.
        self._readers: dict[int, Git.AutoInterrupt] = {}
        weakref.finalize(self, _end, self._readers)

    def __reduce__(self) -> tuple[type["Objects"], tuple[str]]:
        return Objects, (self.folder,)

    def find(self, name: str) -> str | None:
        """Return the id of the object that a revision names, if there is one."""
        found = self._check([name])[0].split()
        return found[0].decode() if len(found) == 3 else None

    def expect(self, identities: Collection[str], label: str) -> None:
        """StoreError if one of these objects is missing."""
        wanted = sorted(set(identities))
        missing = [line for line in self._check(wanted) if line.endswith(b" missing")]
        if missing:
            count = f"{len(missing):,} of {len(wanted):,}"
            raise StoreError(f"{label}: {count} files are missing in {self.place}", self._partial)

    def listing(self, commit: str) -> Iterator[tuple[str, str, str]]:
        """Yield mode, id and path of all that is in a commit; StoreError if a tree is missing."""
        listed = self._run("ls-tree", "-r", "-z", "--full-tree", commit)
        for line in filter(None, listed.split(b"\0")):
            about, _, path = line.partition(b"\t")
            mode, _, identity = about.decode("ascii").split(" ")
            yield mode, identity, os.fsdecode(path)

    def names(self) -> tuple[str, ...]:
        """Return the short names of all branches and tags."""
        listed = self._run("for-each-ref", "--format=%(refname:short)")
        return tuple(os.fsdecode(listed).split())

    def tell(self, *words: str) -> str:
        """Return what a command of git says that only reads; StoreError if it fails."""
        return os.fsdecode(self._run(*words))

    def is_shallow(self) -> bool:
        """Is the history cut off somewhere?"""
        return self._run("rev-parse", "--is-shallow-repository").strip() == b"true"

    def link(self, identity: str, path: str) -> str:
        """Return what a symbolic link holds."""
        return os.fsdecode(self.blob(identity, path)[:_MAX_LINK])

    def blob(self, identity: str, path: str) -> bytes:
        """Return the bytes of a file, at most one more than a file may have.

        StoreError if the object is missing, damaged, or not what its id says.
        """
        reader = self._reader()
        assert reader.stdin is not None
        assert reader.stdout is not None
        try:
            reader.stdin.write(f"{identity}\n".encode("ascii"))
            reader.stdin.flush()
            header = reader.stdout.readline().split()
        except OSError:
            header = []
        if len(header) != 3 or header[1] != b"blob":
            raise self._damaged(path, f"object {identity} is missing or damaged")
        size = int(header[2])
        data: bytes = reader.stdout.read(min(size, MAX_FILE_BYTES) + 1)
        if size > MAX_FILE_BYTES:
            self.close()  # what is left of the file stands in the pipe
            return data
        data = data[:-1]
        if len(data) != size or _identity(data, identity) != identity:
            raise self._damaged(path, f"object {identity} is damaged")
        return data

    def close(self) -> None:
        """End what reads for this process."""
        _end(self._readers)

    @property
    def place(self) -> str:
        """The repository, as a person would name it."""
        folder, name = os.path.split(self.folder)
        return printable(folder if name == ".git" else self.folder)

    def _damaged(self, path: str, what: str) -> StoreError:
        self.close()
        return StoreError(
            f"{printable(path)}: {what} in {self.place}", f"try git -C {self.place} fsck"
        )

    def _command(self) -> "Git":
        command = git.Git(self.folder)
        command.update_environment(GIT_DIR=self.folder, **_ENVIRONMENT)
        return command

    def _reader(self) -> "Git.AutoInterrupt":
        process = os.getpid()
        if process not in self._readers:
            self._readers[process] = self._start("--batch")
        return self._readers[process]

    def _start(self, option: str) -> "Git.AutoInterrupt":
        return self._command().execute(
            [_git(), "cat-file", option], istream=subprocess.PIPE, as_process=True
        )

    def _check(self, names: Collection[str]) -> list[bytes]:
        """Return what git says of some objects, a line for each."""
        checker = self._start("--batch-check")
        told, fault = checker.communicate("".join(f"{name}\n" for name in names).encode())
        lines: list[bytes] = told.splitlines()
        if len(lines) != len(names):
            raise self._failed(fault)
        return lines

    def _run(self, *words: str) -> bytes:
        try:
            return self._command().execute([_git(), *words], stdout_as_string=False)
        except git.GitCommandError as error:
            raise self._failed(str(error.stderr).encode()) from None

    def _failed(self, fault: bytes) -> StoreError:
        lines = fault.decode("utf-8", "backslashreplace").replace("stderr: '", "").splitlines()
        told = next((line for line in lines if line.startswith(("fatal:", "error:"))), "git failed")
        if "promisor" in told:  # what it says is that nothing was fetched, which is as it should be
            return StoreError(f"{self.place}: objects of the revision are missing", self._partial)
        told = told.strip().removesuffix("'")
        return StoreError(f"{self.place}: {told}", f"try git -C {self.place} fsck")

    @property
    def _partial(self) -> str:
        command = f"git -C {self.place} fetch --refetch --no-filter"
        return f"nothing is fetched into a partial clone; {command}"


def _git() -> str:
    return git.Git.GIT_PYTHON_GIT_EXECUTABLE or "git"


def _end(readers: "dict[int, Git.AutoInterrupt]") -> None:
    """End the process that reads for this one; those of others are theirs."""
    reader = readers.pop(os.getpid(), None)
    if reader is not None:
        reader.__del__()  # who raises an error of it may hold it yet; GitPython ends it so, too


def _identity(data: bytes, like: str) -> str:
    """Return the id of a file, by the algorithm that another id is of."""
    algorithm = hashlib.sha1 if len(like) == 40 else hashlib.sha256
    return algorithm(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
