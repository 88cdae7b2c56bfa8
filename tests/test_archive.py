"""Wheels and source archives: read as data, unpacked once; hostile ones are refused in one line."""

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from pathaudit.cache import take_manifest
from pathaudit.errors import PathAuditError, SourceError, StoreError
from pathaudit.reporters.escaping import visible
from pathaudit.sources import Access, SourceTree, archive, open_source, releases
from pathaudit.sources.tree import MAX_FILE_BYTES

MODEL = "sglang/srt/models/llama.py"
WHEEL = "sglang-0.5.9-py3-none-any.whl"
METADATA = ("sglang-0.5.9.dist-info/METADATA", b"Name: sglang\nVersion: 0.5.9\n")

Files = Iterable[tuple[str, bytes]]


def make_zip(path: Path, files: Files) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # duplicate names
        for name, data in files:
            made.writestr(name, data)
    return path


def make_tar(path: Path, files: Files, wrap: Callable[[bytes], bytes] = gzip.compress) -> Path:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    path.write_bytes(wrap(buffer.getvalue()))
    return path


def special(kind: bytes, link: str = "") -> Callable[[Path], Path]:
    """Makes a tar file with a member that is no regular file."""

    def make(path: Path) -> Path:
        with tarfile.open(path, "w:gz") as made:
            made.addfile(tarfile.TarInfo(MODEL))
            info = tarfile.TarInfo("sglang/odd.py")
            info.type, info.linkname = kind, link
            made.addfile(info)
        return path

    return make


def zip_mode(mode: int, data: bytes) -> Callable[[Path], Path]:
    """Makes a zip file with a member that is no regular file."""

    def make(path: Path) -> Path:
        path = path.with_suffix(".zip")
        with zipfile.ZipFile(path, "w") as made:
            made.writestr(MODEL, b"")
            info = zipfile.ZipInfo("sglang/odd.py")
            info.external_attr = (mode | 0o777) << 16
            made.writestr(info, data)
        return path

    return make


def opened(path: Path) -> SourceTree:
    return open_source(str(path), "sglang", Access(keep=path.parent / "kept"))


def kept(path: Path) -> list[str]:
    """What is below the folder that archives are unpacked to."""
    root = path.parent / "kept"
    return sorted(str(x.relative_to(root)) for x in root.rglob("*")) if root.exists() else []


# ---- archives that are sound ------------------------------------------------------------------

SOUND = [(MODEL, b"one\r\n"), ("sglang/__init__.py", b"\xff"), METADATA]


def below(top: str, files: Files) -> list[tuple[str, bytes]]:
    return [(f"{top}/{name}", data) for name, data in files]


@pytest.mark.parametrize(
    ("name", "make"),
    [
        (WHEEL, make_zip),
        ("x.zip", make_zip),
        ("X.ZIP", make_zip),
        ("x.tar.gz", make_tar),
        ("x.tgz", make_tar),
        ("x.tar.bz2", lambda path, files: make_tar(path, files, bz2.compress)),
        ("x.tar.xz", lambda path, files: make_tar(path, files, lzma.compress)),
        ("x.tar", lambda path, files: make_tar(path, files, bytes)),
    ],
)
def test_an_archive_is_a_tree(
    tmp_path: Path, name: str, make: Callable[[Path, Files], Path]
) -> None:
    tree = opened(make(tmp_path / name, SOUND))
    assert (tree.label, tree.version) == (str(tmp_path / name), "0.5.9")
    assert tree.paths == ("sglang/__init__.py", MODEL)
    assert (tree.read(MODEL), tree.read("sglang/__init__.py")) == (b"one\r\n", b"\xff")


@pytest.mark.parametrize("place", ["", "python", "src", "sglang-0.5.9", "sglang-0.5.9/python"])
def test_the_package_is_found(tmp_path: Path, place: str) -> None:
    files = [*below(place, [(MODEL, b"")]), (f"{place.split('/')[0]}/setup.py", b"")]
    assert opened(
        make_tar(tmp_path / "x.tar.gz", [(x.lstrip("/"), y) for x, y in files])
    ).paths == (MODEL,)


def test_a_checkout_named_like_the_package(tmp_path: Path) -> None:
    files = below("sglang/python", [(MODEL, b""), ("sglang/__init__.py", b"")])
    assert MODEL in opened(make_zip(tmp_path / "x.zip", [*files, ("sglang/setup.py", b"")])).paths


def test_without_the_package(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"x\.zip: no Python files of the package sglang"):
        opened(make_zip(tmp_path / "x.zip", [("other/a.py", b"")]))
    assert kept(tmp_path / "x.zip") == []


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ([("sglang-0.5.9/PKG-INFO", b"Version: 0.5.9\n")], "0.5.9"),
        ([("sglang-0.5.9/sglang/version.py", b"__version__ = '0.5.8'")], "0.5.8"),
        ([("sglang-0.5.9/a.py", b"")], None),
    ],
)
def test_version(tmp_path: Path, files: Files, version: str | None) -> None:
    files = [*below("sglang-0.5.9", [(MODEL, b"")]), *files]
    assert opened(make_tar(tmp_path / "x.tar.gz", files)).version == version


def test_an_archive_equals_the_folder(tmp_path: Path) -> None:
    with zipfile.ZipFile(make_zip(tmp_path / WHEEL, SOUND)) as made:
        made.extractall(tmp_path / "folder")
    folder, tree = open_source(str(tmp_path / "folder"), "sglang"), opened(tmp_path / WHEEL)
    assert (tree.paths, tree.version) == (folder.paths, folder.version)
    assert take_manifest(tree).digest == take_manifest(folder).digest


def test_only_python_files_of_the_package_are_unpacked(tmp_path: Path) -> None:
    files = [*SOUND, ("sglang/a.so", b"x"), ("other/a.py", b""), ("sglang/.x/a.py", b"")]
    opened(make_zip(tmp_path / WHEEL, files))
    names = {name.partition("/")[2] for name in kept(tmp_path / WHEEL)}
    assert {name for name in names if "." in name} == {
        "about.json",
        "files/sglang/__init__.py",
        f"files/{MODEL}",
    }


def test_an_archive_is_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(make_zip(tmp_path / WHEEL, SOUND))
    monkeypatch.setattr(releases, "reading", None)
    assert opened(tmp_path / WHEEL).text(MODEL) == "one\r\n"


def test_what_is_kept_damaged_is_unpacked_again(tmp_path: Path) -> None:
    opened(make_zip(tmp_path / WHEEL, SOUND))
    for path in (tmp_path / "kept").rglob("about.json"):
        path.write_text("{")
    assert opened(tmp_path / WHEEL).text(MODEL) == "one\r\n"


def test_what_vanishes_from_the_cache_is_told(tmp_path: Path) -> None:
    tree = opened(make_zip(tmp_path / WHEEL, SOUND))
    releases.Releases(tmp_path / "kept").clear()
    with pytest.raises(StoreError, match="cannot be read"):
        tree.read(MODEL)


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file")
    with pytest.raises(StoreError, match="cannot be written: File exists") as caught:
        opened(make_zip(tmp_path / WHEEL, SOUND))
    assert "PATHAUDIT_CACHE_DIR" in caught.value.hint


def test_a_file_too_large_is_left_out(tmp_path: Path) -> None:
    files = [*SOUND, ("sglang/big.py", b"#" * (MAX_FILE_BYTES + 1))]
    for path in (make_zip(tmp_path / WHEEL, files), make_tar(tmp_path / "x.tar.gz", files)):
        assert dict(opened(path).skipped).keys() == {"sglang/big.py"}


def test_links_inside_are_followed_as_in_a_folder(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as made:
        for name, kind, target in [
            ("top/sglang/srt/a.py", tarfile.REGTYPE, ""),
            ("top/sglang/b.py", tarfile.SYMTYPE, "srt/a.py"),
            ("top/sglang/c", tarfile.SYMTYPE, "srt"),
            ("top/sglang/d.py", tarfile.LNKTYPE, "top/sglang/srt/a.py"),
            ("top/sglang/e.py", tarfile.SYMTYPE, "../setup.py"),
            ("top/AGENTS.md", tarfile.SYMTYPE, "README.md"),
        ]:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            made.addfile(info)
    tree = opened(tmp_path / "x.tar.gz")
    assert tree.paths == tuple(f"sglang/{x}.py" for x in ("b", "c/a", "d", "srt/a"))
    assert tree.skipped == (("sglang/e.py", "link leaves the tree"),)


# ---- archives that are not --------------------------------------------------------------------


def with_name(name: str) -> Callable[[Path], Path]:
    return lambda path: make_tar(path, [(MODEL, b""), (name, b"")])


def zip_with_name(name: str) -> Callable[[Path], Path]:
    return lambda path: make_zip(path.with_suffix(".zip"), [(MODEL, b""), (name, b"")])


def cut(make: Callable[[Path, Files], Path], name: str, keep: float) -> Callable[[Path], Path]:
    """Makes an archive and cuts it off."""

    def made(path: Path) -> Path:
        path = make(path.with_name(name), [(MODEL, os.urandom(50_000)), METADATA])
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * keep)])
        return path

    return made


def changed(path: Path) -> Path:
    """A zip file of which a stored byte was changed."""
    path = path.with_suffix(".zip")
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(MODEL, b"original")
    path.write_bytes(path.read_bytes().replace(b"original", b"0riginal", 1))
    return path


def encrypted(path: Path) -> Path:
    path = make_zip(path.with_suffix(".zip"), [(MODEL, b"")])
    data = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(mark) + offset] |= 1
    path.write_bytes(data)
    return path


def many(path: Path) -> Path:
    """A zip file that says it has more members than a short number can say."""
    path = make_zip(path.with_suffix(".zip"), [(MODEL, b"")])
    data = path.read_bytes()
    end = data.rindex(b"PK\5\6")
    path.write_bytes(data[:end] + b"PK\6\7" + bytes(16) + data[end:])
    return path


def rubbish(name: str) -> Callable[[Path], Path]:
    def make(path: Path) -> Path:
        path = path.with_name(name)
        path.write_bytes(b"<html>404</html>" * 50)
        return path

    return make


HOSTILE = [
    pytest.param(with_name("../evil.py"), "outside of itself", id="dots"),
    pytest.param(with_name("sglang/../../evil.py"), "outside of itself", id="inner dots"),
    pytest.param(with_name("/tmp/evil.py"), "an absolute name", id="absolute"),
    pytest.param(with_name("C:/evil.py"), "an absolute name", id="drive"),
    pytest.param(with_name("sglang\\..\\evil.py"), "an absolute name", id="backslash"),
    pytest.param(with_name("sglang/\x1b[2Jevil.py"), "an unsafe name", id="control"),
    pytest.param(with_name("sglang/" + "x" * 2000 + ".py"), "an unsafe name", id="long"),
    pytest.param(with_name(MODEL), "twice", id="duplicate"),
    pytest.param(with_name(f"./{MODEL}"), "twice", id="duplicate in other words"),
    pytest.param(zip_with_name("../evil.py"), "outside of itself", id="zip dots"),
    pytest.param(zip_with_name("/tmp/evil.py"), "an absolute name", id="zip absolute"),
    pytest.param(zip_with_name(MODEL), "twice", id="zip duplicate"),
    pytest.param(special(tarfile.SYMTYPE, "../../evil"), "leads out of it", id="link out"),
    pytest.param(special(tarfile.SYMTYPE, "/etc/passwd"), "leads out of it", id="absolute link"),
    pytest.param(special(tarfile.LNKTYPE, "../../etc/passwd"), "outside of", id="hard link out"),
    pytest.param(special(tarfile.LNKTYPE, "/etc/passwd"), "absolute", id="absolute hard link"),
    pytest.param(special(tarfile.CHRTYPE), "a device or a pipe", id="device"),
    pytest.param(special(tarfile.FIFOTYPE), "a device or a pipe", id="pipe"),
    pytest.param(zip_mode(stat.S_IFLNK, b"/etc/passwd"), "leads out of it", id="zip link out"),
    pytest.param(zip_mode(stat.S_IFIFO, b""), "a device or a pipe", id="zip pipe"),
    pytest.param(cut(make_tar, "x.tar.gz", 0.5), "cannot be read", id="tar cut"),
    pytest.param(cut(make_zip, "x.zip", 0.5), "cut off", id="zip cut"),
    pytest.param(cut(make_zip, "x.zip", 0.0), "cut off", id="empty"),
    pytest.param(changed, "cannot be read: Bad CRC-32", id="changed"),
    pytest.param(encrypted, "is encrypted", id="encrypted"),
    pytest.param(many, "more than 60,000 files", id="many by their number"),
    pytest.param(rubbish("x.whl"), "no zip file", id="no zip"),
    pytest.param(rubbish("x.tar.gz"), "cannot be read", id="no tar"),
]


@pytest.mark.parametrize(("make", "told"), HOSTILE)
def test_a_hostile_archive_is_refused(
    tmp_path: Path, make: Callable[[Path], Path], told: str
) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    path = make(folder / "x.tar.gz")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(PathAuditError) as caught:
        opened(path)
    assert told in caught.value.message
    assert caught.value.message.startswith(f"{path}: ")
    assert "\n" not in visible(caught.value.message + caught.value.hint)
    assert kept(path) == []
    assert sorted(x for x in tmp_path.rglob("*") if x.name != "kept") == before


@pytest.mark.parametrize("make", [make_zip, make_tar])
def test_a_bomb_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path, Files], Path]
) -> None:
    monkeypatch.setattr(archive, "MAX_UNPACKED", 100_000)
    monkeypatch.setattr(releases, "MAX_UNPACKED", 100_000)
    path = make(tmp_path / "x.zip", [(f"sglang/{x}.py", bytes(30_000)) for x in range(4)])
    path = path if make is make_zip else path.rename(tmp_path / "x.tar.gz")
    with pytest.raises(SourceError, match="unpacks to more than 100,000 bytes"):
        opened(path)
    assert kept(path) == []


def test_a_bomb_beside_the_code_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_UNPACKED", 100_000)
    path = make_tar(tmp_path / "x.tar.gz", [(MODEL, b""), ("data.bin", bytes(10**7))])
    with pytest.raises(SourceError, match="unpacks to more than 100,000 bytes"):
        opened(path)


@pytest.mark.parametrize("make", [make_zip, make_tar])
def test_too_many_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path, Files], Path]
) -> None:
    monkeypatch.setattr(archive, "MAX_MEMBERS", 3)
    path = make(tmp_path / "x.zip", [(f"sglang/{x}.py", b"") for x in range(9)])
    path = path if make is make_zip else path.rename(tmp_path / "x.tar.gz")
    with pytest.raises(SourceError, match="more than 3 files"):
        opened(path)


def test_linked_folders_do_not_multiply_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releases, "MAX_UNPACKED", 100_000)
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as made:
        info = tarfile.TarInfo("sglang/a/a.py")
        info.size = 30_000
        made.addfile(info, io.BytesIO(bytes(30_000)))
        for number in range(9):
            info = tarfile.TarInfo(f"sglang/l{number}")
            info.type, info.linkname = tarfile.SYMTYPE, "a"
            made.addfile(info)
    with pytest.raises(SourceError, match="unpacks to more than"):
        opened(tmp_path / "x.tar.gz")


def test_a_file_inside_a_file_is_refused(tmp_path: Path) -> None:
    files = [(MODEL, b""), ("sglang/a.py", b""), ("sglang/a.py/b.py", b"")]
    with pytest.raises(PathAuditError, match="cannot be written"):
        opened(make_zip(tmp_path / "x.zip", files))
    assert kept(tmp_path / "x.zip") == []


@pytest.mark.parametrize(
    ("name", "hint"),
    [("sglang-0.5.8-py3-none-any.whl", f"did you mean .*{WHEEL}?"), ("q.zip", "")],
)
def test_an_archive_that_is_not_there(tmp_path: Path, name: str, hint: str) -> None:
    make_zip(tmp_path / WHEEL, SOUND)
    with pytest.raises(SourceError, match="cannot be read: No such file") as caught:
        opened(tmp_path / name)
    assert hint.split(".*")[-1] in caught.value.hint
