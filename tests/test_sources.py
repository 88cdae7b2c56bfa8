"""Source trees: where the package is found, what is listed, read, decoded and left out."""

import codecs
import hashlib
import os
import pickle
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pathaudit import sources
from pathaudit.errors import SourceError
from pathaudit.sources import SourceTree, Span, from_text, open_source

MODEL = "sglang/srt/models/llama.py"

WHAT_ELSE = "name a directory that holds sglang/, a git:REVISION, or sglang==VERSION"

as_user = pytest.mark.skipif(
    getattr(os, "geteuid", lambda: 0)() == 0, reason="nothing is unreadable for root"
)


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def package(root: Path, *paths: str) -> SourceTree:
    """The tree of files that hold their own path."""
    return open_source(str(write(root, {path: f"# {path}\n" for path in paths})), "sglang")


def one(content: str | bytes) -> SourceTree:
    return from_text({MODEL: content})


# ---- finding the package ----------------------------------------------------------------------

LAYOUTS = [
    pytest.param([MODEL], "", MODEL, id="folder that holds it"),
    pytest.param(
        [MODEL, "sglang-0.5.6.dist-info/METADATA", "six.py"], "", MODEL, id="site-packages"
    ),
    pytest.param(["python/" + MODEL, "docs/conf.py"], "", "python/" + MODEL, id="checkout"),
    pytest.param(["src/" + MODEL], "", "src/" + MODEL, id="src checkout"),
    pytest.param([MODEL, "python/" + MODEL], "", MODEL, id="direct before python/"),
    pytest.param([MODEL], "sglang", MODEL, id="package itself"),
    pytest.param([MODEL, "sglang/__init__.py"], "sglang/", MODEL, id="package itself, slash"),
    pytest.param(
        ["sglang/python/" + MODEL, "sglang/docs/conf.py"],
        "sglang",
        "sglang/python/" + MODEL,
        id="checkout named like the package",
    ),
    pytest.param(
        ["sglang/" + MODEL, "sglang/setup.py"],
        "sglang",
        "sglang/" + MODEL,
        id="flat checkout named like the package",
    ),
    pytest.param(
        ["sglang/__init__.py", MODEL, "sglang/sglang/a.py"],
        "sglang",
        MODEL,
        id="package with a part of its own name",
    ),
    pytest.param(["release/" + MODEL, "tools/a.py"], "", "release/" + MODEL, id="one level down"),
    pytest.param(
        [".venv/" + MODEL, "b/" + MODEL], "", "b/" + MODEL, id="hidden holder passed over"
    ),
    pytest.param(
        ["sglang/README.md", "python/" + MODEL], "", "python/" + MODEL, id="folder without Python"
    ),
]


@pytest.mark.parametrize(("files", "target", "expected"), LAYOUTS)
def test_the_package_is_found_in_each_layout(
    tmp_path: Path, files: list[str], target: str, expected: str
) -> None:
    write(tmp_path, {name: name for name in files})
    tree = open_source(os.path.join(tmp_path, target), "sglang")
    assert tree.read(MODEL).decode() == expected


def test_label_is_what_the_user_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"rel/" + MODEL: ""})
    monkeypatch.chdir(tmp_path)
    assert (open_source("rel/", "sglang").label, open_source(".", "sglang").label) == ("rel/", ".")


def test_another_package_name(tmp_path: Path) -> None:
    write(tmp_path, {"vllm/model_executor/a.py": "", MODEL: ""})
    tree = open_source(str(tmp_path), "vllm")
    assert (tree.package, tree.paths) == ("vllm", ("vllm/model_executor/a.py",))


REFUSED = [
    pytest.param(
        "rel/0.5.7",
        "rel/0.5.7: no such directory",
        "did you mean rel/0.5.6?",
        id="missing with a neighbour",
    ),
    pytest.param(
        "nowhere/near",
        "nowhere/near: no such directory",
        WHAT_ELSE,
        id="missing without",
    ),
    pytest.param("", "'': no such directory", WHAT_ELSE, id="empty"),
    pytest.param("a\0b", "a\0b: no such directory", WHAT_ELSE, id="NUL"),
    pytest.param("setup.py", "setup.py: not a directory, wheel or archive", WHAT_ELSE, id="file"),
    pytest.param(
        "docs",
        "docs: no Python files of the package sglang; "
        "looked for sglang/, python/sglang/, src/sglang/, */sglang/",
        "name a checkout, a site-packages folder or the folder sglang itself",
        id="not there",
    ),
    pytest.param(
        "rel",
        "rel: several folders hold sglang: rel/0.5.12, rel/0.5.6",
        "name one of them",
        id="several",
    ),
]


@pytest.mark.parametrize(("target", "message", "hint"), REFUSED)
def test_a_target_without_the_package_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, message: str, hint: str
) -> None:
    names = ["rel/0.5.6/" + MODEL, "rel/0.5.12/" + MODEL, "setup.py", "docs/sglang/index.md"]
    write(tmp_path, dict.fromkeys(names, ""))
    (tmp_path / "rel" / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError) as caught:
        open_source(target, "sglang")
    assert (caught.value.message, caught.value.hint) == (message, hint)


# ---- the installed package --------------------------------------------------------------------


def direct_url(project: Path, editable: str = "true") -> str:
    return f'{{"url": "{project.as_uri()}", "dir_info": {{"editable": {editable}}}}}'


def test_the_installed_package_is_found_and_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "cwd", {"sglang/python/" + MODEL: ""})
    site = write(tmp_path / "site", {"sglang/__init__.py": "raise SystemExit", MODEL: ""})
    write(site, {"sglang-0.5.6.dist-info/METADATA": "Name: sglang\nVersion: 0.5.6\n"})
    monkeypatch.setattr(sys, "path", [str(tmp_path / "cwd"), str(tmp_path / "no"), str(site)])
    tree = open_source(None, "sglang")
    assert (tree.label, tree.version) == ("installed sglang", "0.5.6")
    assert MODEL in tree
    assert "sglang" not in sys.modules


def test_a_namespace_package_is_installed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(write(tmp_path, {MODEL: ""}))])
    assert open_source(None, "sglang").paths == (MODEL,)


def test_an_editable_install_leads_to_its_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = write(tmp_path / "my code" / "python", {MODEL: "edited"})
    noted = {"sglang-0.5.6.dist-info/direct_url.json": direct_url(project)}
    monkeypatch.setattr(sys, "path", [str(write(tmp_path / "site", noted))])
    assert open_source(None, "sglang").text(MODEL) == "edited"


@pytest.mark.parametrize(
    "noted",
    [
        pytest.param("", id="empty"),
        pytest.param("{", id="not JSON"),
        pytest.param('{"url": 1}', id="not a text"),
        pytest.param(b'{"url": "\xff"}', id="not UTF-8"),
        pytest.param('{"url": "http://[/"}', id="not a URL"),
        pytest.param('{"url": "git+https://x/y", "dir_info": {"editable": true}}', id="elsewhere"),
        pytest.param(direct_url(Path("/nowhere")), id="gone"),
        pytest.param(direct_url(Path("/"), "false"), id="not editable"),
    ],
)
def test_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noted: str | bytes) -> None:
    write(tmp_path, {"sglang-0.5.6.dist-info/direct_url.json": noted})
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(SourceError) as caught:
        open_source(None, "sglang")
    assert caught.value.message == f"sglang is not installed for {sys.executable}"
    assert caught.value.hint.startswith("name a checkout")


# ---- version ----------------------------------------------------------------------------------

DIST = "sglang-0.5.6.dist-info/METADATA"
FALLBACK = """\
try:
    from sglang._version import __version__
except ImportError:
    try:
        __version__ = importlib.metadata.version("sglang")
    except Exception:
        __version__ = "0.0.0.dev0"
"""
GENERATED = "version: str\n__version__: str\n__version__ = version = '0.5.12'\n"

VERSIONS = [
    pytest.param({}, None, id="none"),
    pytest.param(
        {DIST: "Metadata-Version: 2.4\nVersion: 0.5.6\n\nVersion: 9"}, "0.5.6", id="wheel"
    ),
    pytest.param({"sglang.egg-info/PKG-INFO": "Version: 0.5.6"}, "0.5.6", id="egg-info"),
    pytest.param({"SGLang-0.5.6.dist-info/METADATA": "Version: 0.5.6"}, "0.5.6", id="old spelling"),
    pytest.param(
        {DIST: "Version: 0.5.6", "sglang/version.py": "__version__ = '9'"}, "0.5.6", id="wheel wins"
    ),
    pytest.param({"sglang_router-0.1.dist-info/METADATA": "Version: 0.1"}, None, id="another one"),
    pytest.param(
        {
            DIST: "Version: 0.5.6",
            "sglang-0.5.12.dist-info/METADATA": "Version: 0.5.12",
            "sglang/_version.py": GENERATED,
        },
        "0.5.12",
        id="two wheels, the code decides",
    ),
    pytest.param({"sglang/version.py": '__version__ = "0.5.6"\n'}, "0.5.6", id="version.py"),
    pytest.param({"sglang/version.py": '__version__: str = "0.5.6"'}, "0.5.6", id="annotated"),
    pytest.param({"sglang/_version.py": "version = '0.5.6'"}, "0.5.6", id="_version.py"),
    pytest.param({"sglang/version.py": FALLBACK}, "0.0.0.dev0", id="fallback"),
    pytest.param(
        {"sglang/version.py": FALLBACK, "sglang/_version.py": GENERATED},
        "0.5.12",
        id="generated before fallback",
    ),
    pytest.param({"sglang/version.py": "__version__ = str(1)\nother = '1'"}, None, id="computed"),
    pytest.param({"sglang/version.py": "__version__ = (1, 2)"}, None, id="no text"),
    pytest.param({"sglang/version.py": "__version__ = '\\d'"}, "\\d", id="warning"),
    pytest.param({"sglang/version.py": "__version__ ="}, None, id="no Python"),
    pytest.param({"sglang/version.py": b"\xff"}, None, id="no text file"),
    pytest.param({"sglang/version.py": "(" * 100_000}, None, id="too deep"),
]


@pytest.mark.parametrize(("files", "expected"), VERSIONS)
def test_version(tmp_path: Path, files: dict[str, str | bytes], expected: str | None) -> None:
    write(tmp_path, {MODEL: "", **files})
    assert open_source(str(tmp_path), "sglang").version == expected


def test_metadata_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    write(tmp_path, {MODEL: "", "sglang-0.5.6.dist-info/RECORD": ""})
    os.mkfifo(tmp_path / DIST)
    assert open_source(str(tmp_path), "sglang").version is None


# ---- listing ----------------------------------------------------------------------------------


def test_paths_are_sorted_and_only_python(tmp_path: Path) -> None:
    tree = package(
        tmp_path,
        "sglang/srt/b.py",
        "sglang/srt/a/z.py",
        "sglang/srt/a.py",
        "sglang/srt/a.pyi",
        "sglang/srt/x.py/inner.py",
        "sglang/srt/__pycache__/a.py",
        "sglang/.claude/a.py",
        "sglang/._a.py",
        "other/a.py",
    )
    assert tree.paths == (
        "sglang/srt/a.py",
        "sglang/srt/a/z.py",
        "sglang/srt/b.py",
        "sglang/srt/x.py/inner.py",
    )
    assert tree.skipped == ()


def test_contains_only_listed_paths(tmp_path: Path) -> None:
    tree = package(tmp_path, MODEL, "setup.py")
    absent = ["setup.py", "sglang/srt", str(tmp_path / MODEL), "sglang/../setup.py"]
    assert [path in tree for path in (MODEL, *absent)] == [True, False, False, False, False]


def test_same_files_in_any_order_give_the_same_tree(tmp_path: Path) -> None:
    names = [f"sglang/{folder}/{name}.py" for folder in "cab" for name in "yxz"]
    first = package(tmp_path / "first", *names)
    second = package(tmp_path / "second", *reversed(names))
    assert first.paths == second.paths == tuple(sorted(names))


LINKS = [
    pytest.param("sglang/b.py", "a.py", ["sglang/b.py"], None, id="file in the tree"),
    pytest.param("sglang/alias", "srt", ["sglang/alias/c.py"], None, id="folder in the tree"),
    pytest.param("sglang/b.py", "../setup.py", [], "link leaves the tree", id="file outside"),
    pytest.param("sglang/b", "..", [], "link leaves the tree", id="folder outside"),
    pytest.param("sglang/b", "../sglang-extra", [], "link leaves the tree", id="similar name"),
    pytest.param("sglang/README", "../setup.py", [], None, id="file of another kind"),
    pytest.param("sglang/b", ".", [], "link runs in a circle", id="circle on itself"),
    pytest.param("sglang/srt/b", "../../sglang", [], "link runs in a circle", id="circle above"),
    pytest.param("sglang/b.py", "missing", [], "link cannot be followed: ", id="nowhere"),
    pytest.param("sglang/b.py", "b.py", [], "link cannot be followed: ", id="to itself"),
    pytest.param("sglang/b", "b", [], "link cannot be followed: ", id="folder to itself"),
    pytest.param("sglang/b.py", "/dev/zero", [], "link leaves the tree", id="device"),
]


@pytest.mark.parametrize(("link", "to", "added", "reason"), LINKS)
def test_links(tmp_path: Path, link: str, to: str, added: list[str], reason: str | None) -> None:
    real = ["sglang/a.py", "sglang/srt/c.py"]
    write(tmp_path, dict.fromkeys((*real, "setup.py", "sglang-extra/a.py"), ""))
    (tmp_path / link).symlink_to(to)
    tree = open_source(str(tmp_path), "sglang")
    assert tree.paths == tuple(sorted(real + added))
    assert [(path, why.startswith(reason or "?")) for path, why in tree.skipped] == (
        [(link, True)] if reason else []
    )


def test_folders_that_link_to_each_other_end(tmp_path: Path) -> None:
    names = [f"d{number}" for number in range(12)]
    write(tmp_path, {f"sglang/{name}/m.py": "" for name in names})
    for name in names:
        for other in names:
            (tmp_path / "sglang" / name / f"to_{other}").symlink_to(f"../{other}")
    tree = open_source(str(tmp_path), "sglang")
    assert len(tree.paths) == 12 + 12 * 11
    assert ("sglang/d0/to_d0", "link runs in a circle") in tree.skipped
    assert ("sglang/d0/to_d1/to_d0", "link inside a linked folder") in tree.skipped


def test_the_package_itself_may_be_a_link(tmp_path: Path) -> None:
    write(tmp_path, {"elsewhere/code/srt/a.py": "", "site/six.py": ""})
    (tmp_path / "site" / "sglang").symlink_to("../elsewhere/code")
    assert open_source(str(tmp_path / "site"), "sglang").paths == ("sglang/srt/a.py",)


def test_special_files_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, {MODEL: ""})
    os.mkfifo(tmp_path / "sglang" / "pipe.py")
    assert open_source(str(tmp_path), "sglang").skipped == (
        ("sglang/pipe.py", "not a regular file"),
    )


def test_names_that_are_no_unicode_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, {MODEL: "", "sglang/größe.py": ""})
    root = os.fsencode(tmp_path / "sglang")
    try:
        os.mkdir(root + b"/\xff")
        Path(os.fsdecode(root + b"/\xfe.py")).touch()
    except OSError:
        pytest.skip("this file system refuses such names")
    tree = open_source(str(tmp_path), "sglang")
    assert tree.paths == ("sglang/größe.py", MODEL)
    assert tree.skipped == (
        ("sglang/\\udcfe.py", "name is not valid Unicode"),
        ("sglang/\\udcff", "name is not valid Unicode"),
    )


def test_a_folder_too_deep_to_open_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {MODEL: ""})
    monkeypatch.chdir(tmp_path / "sglang")
    for _ in range(30):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    tree = open_source(str(tmp_path), "sglang")
    assert tree.paths == (MODEL,)
    assert [reason for _, reason in tree.skipped] == ["folder cannot be read: File name too long"]


@as_user
def test_an_unreadable_folder_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, {MODEL: "", "sglang/secret/a.py": ""})
    (tmp_path / "sglang" / "secret").chmod(0)
    tree = open_source(str(tmp_path), "sglang")
    (tmp_path / "sglang" / "secret").chmod(0o700)
    assert tree.skipped == (("sglang/secret", "folder cannot be read: Permission denied"),)


# ---- reading ----------------------------------------------------------------------------------

TEXTS = [
    pytest.param(b"", "", id="empty"),
    pytest.param("é = '层'\n".encode(), "é = '层'\n", id="utf-8"),
    pytest.param(codecs.BOM_UTF8 + b"x = 1\n", "x = 1\n", id="byte order mark"),
    pytest.param(b"a = 1\r\nb = 2\r\n", "a = 1\r\nb = 2\r\n", id="CRLF"),
    pytest.param(b"a = 1\rb\x0c = 2", "a = 1\rb\x0c = 2", id="CR and form feed"),
    pytest.param(
        b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
        "# -*- coding: latin-1 -*-\nx = 'é'\n",
        id="latin",
    ),
    pytest.param(
        b"#!python\n# coding=cp1252\n'\x80'", "#!python\n# coding=cp1252\n'€'", id="line 2"
    ),
    pytest.param(b"# coding: shift_jis\n'\x91\x77'", "# coding: shift_jis\n'層'", id="shift_jis"),
]


@pytest.mark.parametrize(("data", "expected"), TEXTS)
def test_text(data: bytes, expected: str) -> None:
    assert one(data).text(MODEL) == expected


BAD_TEXTS = [
    pytest.param(b"x = '\0'\n", "holds NUL bytes", id="NUL"),
    pytest.param("x".encode("utf-16"), "holds NUL bytes", id="utf-16"),
    pytest.param(b"a\nb\n'\xe9'\n", "cannot be decoded: 'utf-8' codec can't", id="undecodable"),
    pytest.param(b"'\xe9'", "cannot be decoded: invalid or missing encoding", id="undeclared"),
    pytest.param("'\ud800'", "cannot be decoded: invalid or missing encoding", id="surrogate"),
    pytest.param(
        b"# coding: klingon", "cannot be decoded: unknown encoding: klingon", id="unknown"
    ),
    pytest.param(
        codecs.BOM_UTF8 + b"# coding: latin-1",
        "cannot be decoded: encoding problem",
        id="two answers",
    ),
    pytest.param(b"# coding: rot13", "cannot be decoded: 'rot13' is not a text enc", id="rot13"),
    pytest.param(b"# coding: undefined", "cannot be decoded: ", id="undefined"),
    *(
        pytest.param(
            b"# coding: " + name.encode(), f"cannot be decoded: {name} is no encoding of", id=name
        )
        for name in ("idna", "raw_unicode_escape", "cp037")
    ),
]


@pytest.mark.parametrize(("data", "reason"), BAD_TEXTS)
def test_bad_text_is_an_error_with_its_file(data: str | bytes, reason: str) -> None:
    with pytest.raises(SourceError) as caught:
        one(data).text(MODEL)
    assert caught.value.message.startswith(f"{MODEL}: {reason}")
    assert "\n" not in caught.value.message


def test_an_encoding_that_takes_for_ever_is_refused() -> None:
    data = b"# coding: punycode\n" + b"x" * 1_000_000 + b"-" + b"9" * 1_000_000
    with pytest.raises(SourceError, match="cannot be decoded"):
        one(data).text(MODEL)


@pytest.mark.parametrize("opened", [True, False], ids=["folder", "text"])
def test_a_file_may_reach_the_limit_and_not_exceed_it(tmp_path: Path, opened: bool) -> None:
    limit = sources.MAX_FILE_BYTES
    files = {"sglang/a.py": b"#" * limit, "sglang/b.py": b"#" * (limit + 1)}
    tree = open_source(str(write(tmp_path, files)), "sglang") if opened else from_text(files)
    assert len(tree.read("sglang/a.py")) == limit
    for question in (tree.read, tree.text, tree.digest):
        with pytest.raises(
            SourceError, match=r"^sglang/b\.py: too large, more than 4,194,304 bytes"
        ):
            question("sglang/b.py")


def test_a_file_that_vanished_is_an_error(tmp_path: Path) -> None:
    tree = package(tmp_path, MODEL)
    (tmp_path / MODEL).unlink()
    with pytest.raises(SourceError, match="cannot be read: No such file or directory"):
        tree.read(MODEL)
    assert tree.find(b"needle", tree.paths) == (MODEL,)


@as_user
def test_an_unreadable_file_is_an_error(tmp_path: Path) -> None:
    tree = package(tmp_path, MODEL)
    (tmp_path / MODEL).chmod(0)
    with pytest.raises(SourceError, match="cannot be read: Permission denied"):
        tree.text(MODEL)


@pytest.mark.parametrize("path", ["sglang/none.py", "../secret.py", "/etc/passwd", ""])
def test_only_listed_files_are_read(tmp_path: Path, path: str) -> None:
    tree = package(tmp_path, MODEL)
    with pytest.raises(SourceError, match="no such file in the source tree"):
        tree.read(path)
    assert tree.find(b"", [path]) == ()


@pytest.mark.parametrize("data", [b"", b"hello\n", b"\xff\0\r\n"])
def test_digest_is_the_blob_id_of_git(data: bytes) -> None:
    blob = b"blob " + str(len(data)).encode() + b"\0" + data
    assert one(data).digest(MODEL) == hashlib.sha1(blob).hexdigest()


def test_digest_known_to_git() -> None:
    assert one(b"hello\n").digest(MODEL) == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_find_looks_at_bytes_of_the_given_paths_in_their_order() -> None:
    tree = from_text(
        {"sglang/a.py": "x capture", "sglang/b.py": "x", "sglang/c.py": b"\xff capture"}
    )
    assert tree.find(b"capture", tree.paths) == ("sglang/a.py", "sglang/c.py")
    assert tree.find(b"capture", reversed(tree.paths)) == ("sglang/c.py", "sglang/a.py")
    assert tree.find(b"capture", ["sglang/b.py"]) == ()
    assert tree.find(b"Capture", tree.paths) == ()


# ---- what is kept in memory -------------------------------------------------------------------


def test_a_file_is_read_once_in_a_row(tmp_path: Path) -> None:
    tree = package(tmp_path, MODEL)
    assert tree.find(b"llama", tree.paths) == (MODEL,)
    (tmp_path / MODEL).unlink()
    assert (tree.read(MODEL).decode(), len(tree.digest(MODEL))) == (tree.text(MODEL), 40)


def test_memory_is_bounded_and_the_oldest_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources.tree, "CACHE_BYTES", 20)
    a, b, c = paths = [f"sglang/{name}.py" for name in "abc"]
    write(tmp_path, dict.fromkeys(paths, "8 bytes\n"))
    tree = open_source(str(tmp_path), "sglang")
    for path in (a, b, a, c):
        tree.read(path)
    for path in paths:
        (tmp_path / path).unlink()
    assert (tree.read(a), tree.read(c)) == (b"8 bytes\n", b"8 bytes\n")
    with pytest.raises(SourceError):
        tree.read(b)


def test_find_drops_nothing_that_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources.tree, "CACHE_BYTES", 20)
    paths = [f"sglang/{name}.py" for name in "abcd"]
    write(tmp_path, dict.fromkeys(paths, "8 bytes\n"))
    tree = open_source(str(tmp_path), "sglang")
    tree.read(paths[3])
    assert tree.find(b"8", paths[:3]) == tuple(paths[:3])
    (tmp_path / paths[3]).unlink()
    assert tree.read(paths[3]) == b"8 bytes\n"


def test_a_file_larger_than_memory_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources.tree, "CACHE_BYTES", 5)
    tree = package(tmp_path, MODEL)
    assert tree.text(MODEL) == tree.text(MODEL) == f"# {MODEL}\n"


# ---- whole trees ------------------------------------------------------------------------------


def test_from_text_is_a_tree() -> None:
    tree = from_text({"sglang/b.py": "b = 'é'\r\n", "sglang/a.py": b"a"}, version="1", label="t")
    assert (tree.label, tree.version, tree.package) == ("t", "1", "sglang")
    assert (tree.paths, tree.skipped) == (("sglang/a.py", "sglang/b.py"), ())
    assert [tree.text(path) for path in tree.paths] == ["a", "b = 'é'\r\n"]


def test_from_text_equals_the_same_files_on_disk(tmp_path: Path) -> None:
    files = {"sglang/a.py": "x = 1\r\n", "sglang/srt/b.py": "# é\n"}
    disk, text = open_source(str(write(tmp_path, files)), "sglang"), from_text(files)
    assert disk.paths == text.paths
    assert [disk.digest(path) for path in disk.paths] == [text.digest(path) for path in text.paths]


@pytest.mark.parametrize("path", ["a.py", "srt/a.py", "sglang/a.txt", "sglang.py", "/sglang/a.py"])
def test_from_text_wants_full_paths(path: str) -> None:
    with pytest.raises(SourceError) as caught:
        from_text({path: ""})
    assert caught.value.message == f"text: {path!r} is not a path like sglang/models/a.py"


def test_from_text_of_another_package() -> None:
    assert from_text({"vllm/a.py": ""}, package="vllm").paths == ("vllm/a.py",)


@pytest.mark.parametrize("opened", [True, False], ids=["folder", "text"])
def test_a_tree_travels_to_another_process(tmp_path: Path, opened: bool) -> None:
    files = {MODEL: "x" * 100_000, "sglang/b.py": "b"}
    tree = open_source(str(write(tmp_path, files)), "sglang") if opened else from_text(files)
    tree.read(MODEL)
    data = pickle.dumps(tree)
    copy: SourceTree = pickle.loads(data)
    assert (copy.label, copy.version, copy.paths, copy.skipped) == (
        tree.label,
        tree.version,
        tree.paths,
        tree.skipped,
    )
    assert copy.text(MODEL) == files[MODEL]
    assert len(data) < (2_000 if opened else 102_000)


def test_spans_sort_by_file_and_place() -> None:
    spans = [Span("b.py", 1, 0, 1, 5), Span("a.py", 2, 0, 2, 1), Span("a.py", 1, 4, 1, 5)]
    assert sorted(spans) == [spans[2], spans[1], spans[0]]
