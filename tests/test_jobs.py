"""The answer does not depend on how it was worked out: processes, order, place, seed, cache."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from pathaudit.audit import Means, audit
from pathaudit.errors import PathAuditError
from pathaudit.index import Index, Outlines
from pathaudit.ruleset import AnyRule
from pathaudit.sources import SourceTree, from_text, open_source
from pathaudit.work import Stage, Work
from tests.labels import capture_rules
from tests.releases import release

ROOT = Path(__file__).parent.parent


def scan(folder: Path, *options: str, seed: str = "0", cache: Path | None = None) -> bytes:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
    environment["PATHAUDIT_CACHE_DIR"] = str(cache or folder / "none")
    words = ["scan", ".", "--format", "json", "--fail-on", "never", *options]
    command = [sys.executable, "-m", "pathaudit", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
    assert done.stderr == b""
    return done.stdout


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """A release in two folders, one of them a copy whose files were made in another order."""
    copy = tmp_path_factory.mktemp("elsewhere") / "deeper"
    original = release("0.5.6")
    files = [path for path in original.rglob("*") if path.is_file()]
    random.Random(1).shuffle(files)
    for path in files:
        target = copy / path.relative_to(original)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.link(path, target) if _same_device(path, copy) else shutil.copy(path, target)
    yield original, copy
    shutil.rmtree(copy)


def _same_device(path: Path, folder: Path) -> bool:
    folder.mkdir(parents=True, exist_ok=True)
    return path.stat().st_dev == folder.stat().st_dev


def test_the_same_bytes_however_they_are_made(places: tuple[Path, Path], tmp_path: Path) -> None:
    here, elsewhere = places
    first = scan(here, "--jobs", "1", "--no-cache")
    assert scan(here, "--jobs", "2", "--no-cache", seed="7") == first
    assert scan(elsewhere, "--jobs", "3", seed="99", cache=tmp_path) == first
    assert scan(elsewhere, "--jobs", "1", seed="5", cache=tmp_path) == first
    assert scan(here, "--jobs", "2", cache=tmp_path) == first


def test_files_listed_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = os.scandir

    class Shuffled:
        def __init__(self, folder: str) -> None:
            with listed(folder) as entries:
                self.entries = list(entries)
            random.Random(3).shuffle(self.entries)

        def __enter__(self) -> list[os.DirEntry[str]]:
            return self.entries

        def __exit__(self, *_: object) -> None: ...

    example = str(ROOT / "examples" / "two_batch_overlap")
    first = audit(open_source(example, "sglang"), capture_rules())
    monkeypatch.setattr("os.scandir", Shuffled)
    assert audit(open_source(example, "sglang"), capture_rules()) == first


# ---- the processes ----------------------------------------------------------------------------

TREE = from_text({f"sglang/{number}.py": f"x = {number}\n" for number in range(40)})
FILES = tuple(TREE.paths)


def _length(index: Index, _: AnyRule | None, file: str) -> int:
    outline = index.modules.outline(file)
    return len(outline.lines[0]) if outline else 0


def _fail(_: Index, __: AnyRule | None, file: str) -> int:
    raise ValueError(file)


def _end(_: Index, __: AnyRule | None, file: str) -> int:
    os._exit(len(file))


def _sleep(_: Index, __: AnyRule | None, file: str) -> int:
    time.sleep(60)
    return len(file)


LENGTH = Stage("length", _length, str, int, str)
FAIL = Stage("fail", _fail, str, int, str)
END = Stage("end", _end, str, int, str)


@pytest.fixture
def work() -> Iterator[Work]:
    made = Work(TREE, capture_rules().profile, jobs=3)
    yield made
    made.stop()


@pytest.mark.parametrize("items", [FILES, FILES[::-1], FILES * 2, FILES[:5], ()])
def test_answers_stand_where_their_questions_do(work: Work, items: Sequence[str]) -> None:
    alone = Work(TREE, capture_rules().profile)
    assert work.run(LENGTH, items) == alone.run(LENGTH, items)


def test_a_fault_of_ours_is_raised_where_the_answer_is_waited_for(work: Work) -> None:
    with pytest.raises(ValueError, match=r"sglang/\d+.py"):
        work.run(FAIL, FILES)


def test_a_process_that_ends_is_one_line(work: Work) -> None:
    with pytest.raises(PathAuditError, match="ended without an answer"):
        work.run(END, FILES)


def test_progress_is_told(work: Work) -> None:
    told: list[tuple[int, int]] = []
    work = Work(TREE, capture_rules().profile, progress=lambda *given: told.append(given))
    work.run(LENGTH, FILES[:3])
    work.run(LENGTH, FILES[1:5])  # two of them were asked before
    assert told == [(1, 3), (2, 3), (3, 3), (4, 5), (5, 5)]


def test_a_tree_crosses_to_a_process_that_shares_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    monkeypatch.setattr("pathaudit.work.crew.multiprocessing", context)
    example = open_source(str(ROOT / "examples" / "two_batch_overlap"), "sglang")
    work = Work(example, capture_rules().profile, jobs=2)
    monkeypatch.setattr("pathaudit.work.work._FEW", 0)
    from pathaudit.check.subjects import find_entries

    assert find_entries(work) == find_entries(Work(example, capture_rules().profile))
    work.stop()


def test_gaps_come_back_from_processes() -> None:
    broken = from_text({f"sglang/srt/models/{n}.py": "EntryClass = (" for n in range(20)})
    found = [_gaps(broken, jobs) for jobs in (1, 2)]
    assert found[0] == found[1]
    assert len(found[0]) == 20


def _gaps(tree: SourceTree, jobs: int) -> set[str]:
    work = Work(tree, capture_rules().profile, jobs=jobs)
    from pathaudit.check.subjects import find_entries

    assert find_entries(work) == ()
    work.stop()
    return {gap.file for gap in work.gaps}


def _wait_for_children(number: int) -> None:
    """Until the process is at work; where that cannot be seen, long enough."""
    file = Path(f"/proc/{number}/task/{number}/children")
    for _ in range(600):
        time.sleep(0.05)
        if not file.exists() or len(file.read_text().split()) >= 2:
            break
    time.sleep(0.3 if file.exists() else 3)


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_an_interrupt_ends_all_of_it(tmp_path: Path) -> None:
    words = ["scan", str(release("0.5.6")), "--jobs", "2", "--output", str(tmp_path / "report")]
    command = [sys.executable, "-m", "pathaudit", *words]
    environment = {**os.environ, "PATHAUDIT_CACHE_DIR": str(tmp_path / "cache")}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, start_new_session=True
    )
    _wait_for_children(process.pid)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (130, b"pathaudit: interrupted\n")
    assert sorted(path.name for path in tmp_path.iterdir()) in ([], ["cache"])


def test_outlines_are_shared_and_indexes_are_not() -> None:
    outlines = Outlines(TREE)
    profile = capture_rules().profile
    first, second = Index(outlines, profile), Index(outlines, profile)
    assert first.modules.outline(FILES[0]) is second.modules.outline(FILES[0])
    assert second.modules.reads.files == {FILES[0]}


def test_means_change_nothing() -> None:
    example = open_source(str(ROOT / "examples" / "two_batch_overlap"), "sglang")
    assert audit(example, capture_rules(), means=Means(jobs=4)) == audit(example, capture_rules())
