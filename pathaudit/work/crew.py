"""Other processes that do units of work.

Units with the same home go to the same process, which then parses what they share but once, unless
another has nothing left to do. The order in which answers arrive does not matter: each is put where
its unit stands.
"""

import gc
import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic

from msgspec import Struct

from pathaudit.cache import Record
from pathaudit.errors import PathAuditError
from pathaudit.index import Outlines
from pathaudit.ruleset import AnyRule, Profile
from pathaudit.sources import SourceTree
from pathaudit.work.stage import Item, Result, Run, Stage, compute

_BATCH = 8  # units that a process is given at once, at most
_BATCHES = 8  # in how many it gets them, at least, so that none waits long for the last


class _Batch(Struct, Generic[Item, Result], frozen=True):
    """Units of one stage; ``positions`` are theirs among all that are asked for."""

    run: Run[Item, Result]
    rule: AnyRule | None
    items: tuple[Item, ...]
    positions: tuple[int, ...]


class Crew:
    """Processes that wait for work; made when there first is some."""

    def __init__(self, tree: SourceTree, profile: Profile, size: int) -> None:
        self.size = size
        self._given = (tree, profile)
        self._members: list[tuple[BaseProcess, Connection]] = []
        self._aside: list[tuple[BaseProcess, Connection]] = []
        self._homes: dict[str, int] = {}
        self._begun = 0
        self._found: dict[int, Record] = {}

    @property
    def started(self) -> bool:
        return bool(self._members)

    def begin(
        self, stage: Stage[Item, Result], item: Item, rule: AnyRule | None
    ) -> Callable[[], Record]:
        """Give one unit to a process beside the others; what is returned waits for its record."""
        link = self._aside[0][1] if self._aside else self._start(self._aside)
        number = self._begun
        self._begun += 1
        link.send(_Batch(stage.run, rule, (item,), (number,)))

        def finish() -> Record:
            while number not in self._found:
                self._found.update(self._receive(link))
            return self._found.pop(number)

        return finish

    def run(
        self,
        stage: Stage[Item, Result],
        items: Sequence[Item],
        rule: AnyRule | None,
        done: Callable[[int], None],
    ) -> list[Record]:
        """The records of some units, in their order; ``done`` is told how many came in."""
        while len(self._members) < self.size:
            self._start(self._members)
        links = [link for _, link in self._members]
        queues = dict(zip(links, self._shared_out(stage, items, rule), strict=True))
        busy = [link for link in links if _send_next(link, queues)]
        found: dict[int, Record] = {}
        while busy:
            ready = wait(busy)
            for link in [link for link in busy if link in ready]:
                answers = self._receive(link)
                found.update(answers)
                done(len(answers))
                if not _send_next(link, queues):
                    busy.remove(link)
        return [found[position] for position in range(len(items))]

    def stop(self) -> None:
        """End the processes, whatever they are doing."""
        everyone = [*self._members, *self._aside]
        for process, link in everyone:
            link.close()
            process.terminate()
        for process, _ in everyone:
            process.join()
        self._members, self._aside = [], []

    def _start(self, members: list[tuple[BaseProcess, Connection]]) -> Connection:
        """Start a process, one more of ``members``; the link to it."""
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.Process(target=_serve, args=(theirs, *self._given), daemon=True)
        with _interrupts_held():
            process.start()
            members.append((process, ours))
        theirs.close()
        return ours

    def _shared_out(
        self, stage: Stage[Item, Result], items: Sequence[Item], rule: AnyRule | None
    ) -> list[deque[_Batch[Item, Result]]]:
        """The units of each process: homes in turn, as they first come."""
        shares: list[list[int]] = [[] for _ in range(self.size)]
        for position, item in enumerate(items):
            number = self._homes.setdefault(stage.home(item), len(self._homes))
            shares[number % self.size].append(position)
        return [deque(_batches(stage, items, rule, share)) for share in shares]

    def _receive(self, link: Connection) -> dict[int, Record]:
        try:
            answers: dict[int, Record] | BaseException = link.recv()
        except EOFError:
            hint = "memory may have run out; try --jobs 1"
            raise PathAuditError("a process that analyses ended without an answer", hint) from None
        if isinstance(answers, BaseException):
            raise answers
        return answers


def _send_next(link: Connection, queues: dict[Connection, deque[_Batch[Item, Result]]]) -> bool:
    """Send a process the next of its units, else the last of another's; was there one?"""
    own = queues[link]
    longest = max(queues.values(), key=len)
    if not longest:
        return False
    link.send(own.popleft() if own else longest.pop())
    return True


def _batches(
    stage: Stage[Item, Result],
    items: Sequence[Item],
    rule: AnyRule | None,
    positions: Sequence[int],
) -> Iterator[_Batch[Item, Result]]:
    size = max(1, min(_BATCH, len(positions) // _BATCHES))
    for start in range(0, len(positions), size):
        part = tuple(positions[start : start + size])
        yield _Batch(stage.run, rule, tuple(items[number] for number in part), part)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """An interrupt between a start and its being noted would leave a process that nobody ends."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(link: Connection, tree: SourceTree, profile: Profile) -> None:
    """What a process does: answer batches until the other end of the link is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; one answers
    gc.disable()  # syntax trees hold no cycles
    outlines = Outlines(tree)
    while True:
        try:
            batch: _Batch[object, object] = link.recv()
        except (EOFError, OSError):
            return
        try:
            link.send(_answers(batch, outlines, profile))
        except (BrokenPipeError, ConnectionResetError):
            return


def _answers(
    batch: _Batch[Item, Result], outlines: Outlines, profile: Profile
) -> dict[int, Record] | BaseException:
    try:
        records = [compute(outlines, profile, batch.run, batch.rule, item) for item in batch.items]
    except Exception as error:  # noqa: BLE001 - raised again where the answer is waited for
        return error
    return dict(zip(batch.positions, records, strict=True))
