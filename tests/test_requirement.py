"""Releases: resolved by pip from an index that is made here, checked, kept, used offline."""

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from pathaudit.errors import PathAuditError, SourceError
from pathaudit.sources import Access, SourceTree, index, open_source

MODEL = "sglang/srt/models/llama.py"


def wheel(folder: Path, version: str, tag: str = "py3-none-any", name: str = "sglang") -> Path:
    """Make a wheel whose model file holds its version and tag."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-{tag}.whl"
    info = f"{name}-{version}.dist-info"
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Python: >=3.99\n"
    files = {
        MODEL: f"{version} {tag}",
        f"{info}/METADATA": about,
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as made:
        for member, text in files.items():
            made.writestr(member, text)
    return path


def publish(root: Path, *, wrong: bool = False) -> str:
    """Make an index of the wheels in a folder, with their hashes; return its address."""
    page = root / "simple" / "sglang"
    page.mkdir(parents=True, exist_ok=True)
    links = []
    for path in sorted(root.glob("*.whl")):
        digest = "0" * 64 if wrong else hashlib.sha256(path.read_bytes()).hexdigest()
        links.append(f'<a href="{path.as_uri()}#sha256={digest}">{path.name}</a>')
    (page / "index.html").write_text(f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>")
    return (root / "simple").as_uri()


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an index with three releases, which is the only one that pip knows."""
    root = tmp_path / "index"
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for version in ("0.5.6", "0.5.9", "0.6.0rc1"):
        wheel(root, version)
    monkeypatch.setenv("PIP_INDEX_URL", publish(root))
    monkeypatch.setattr(index, "_PYTHONS", ("3.12", "3.10"))
    return root


def opened(target: str, root: Path, *, offline: bool = False) -> SourceTree:
    access = Access(keep=root.parent / "kept", offline=offline)
    return open_source(target, "sglang", access)


def refusal(target: str, root: Path, *, offline: bool = False) -> str:
    with pytest.raises(PathAuditError) as caught:
        opened(target, root, offline=offline)
    assert "\n" not in caught.value.message + caught.value.hint
    return f"{caught.value.message} | {caught.value.hint}"


def no_pip(*_: str) -> subprocess.CompletedProcess[str]:
    raise AssertionError("pip was run")


def test_releases_are_resolved_kept_and_used_again(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    access = Access(keep=served.parent / "kept", tell=told.append)
    tree = open_source("sglang==0.5.6", "sglang", access)
    assert (tree.label, tree.version) == ("sglang==0.5.6", "0.5.6")
    assert tree.text(MODEL) == "0.5.6 py3-none-any"
    assert told == [
        "asking the package index for sglang==0.5.6",
        "downloading sglang-0.5.6-py3-none-any.whl",
    ]
    newest = opened("sglang>=0.5.6,<0.6", served)
    assert (newest.label, newest.version) == ("sglang>=0.5.6,<0.6", "0.5.9")

    monkeypatch.setattr(index, "_pip", no_pip)
    assert opened("sglang==0.5.6", served).version == "0.5.6"
    assert opened("sglang[all] == 0.5.6.0", served).version == "0.5.6"
    assert opened("sglang>=0.5", served, offline=True).version == "0.5.9"
    assert opened("SGLang<0.5.9", served, offline=True).version == "0.5.6"
    told_offline = refusal("sglang==0.5.5", served, offline=True)
    assert "is not kept, and --offline" in told_offline
    assert "did you mean 'sglang==0.5.6'?" in told_offline or "0.5.9" in told_offline
    assert "kept: sglang==0.5.6, sglang==0.5.9" in refusal("sglang>1", served, offline=True)
    with pytest.raises(AssertionError):
        opened("sglang==0.6.0rc1", served)


def test_nothing_is_left_of_a_download(served: Path) -> None:
    opened("sglang==0.5.6", served)
    left = {path.name for path in (served.parent / "kept").rglob("*")}
    assert not {name for name in left if name.startswith(".") or name.endswith(".whl")}


@pytest.mark.parametrize(
    "tag",
    ["cp310-cp310-manylinux_2_34_x86_64", "cp38-abi3-win_amd64"],
)
def test_a_wheel_of_any_platform_is_read(served: Path, tag: str) -> None:
    wheel(served, "0.5.10", tag)
    publish(served)
    assert opened("sglang==0.5.10", served).text(MODEL) == f"0.5.10 {tag}"


def test_the_newest_wheel_of_any_platform_is_the_newest(served: Path) -> None:
    wheel(served, "0.5.10", "cp310-cp310-manylinux_2_34_aarch64")
    publish(served)
    assert opened("sglang<0.6", served).version == "0.5.10"


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("sglang==0.5.99", "no wheel of such a version | did you mean 'sglang==0.5.9'?"),
        ("sglang>7", "no wheel of such a version | the newest is sglang==0.6.0rc1"),
        ("sgland==0.5.6", "has no wheel of sgland | did you mean 'sglang==0.5.6'?"),
        ("sglang=0.5.9", "is no requirement | did you mean sglang==0.5.9?"),
        ("sglang @ https://example.org/a.whl", "names an address"),
        ("sglang==0.5.*; extra == 'x", "is no requirement"),
    ],
)
def test_a_mistake_is_told(served: Path, target: str, told: str) -> None:
    assert told in refusal(target, served)


def test_a_wrong_hash_is_refused_and_nothing_kept(served: Path) -> None:
    publish(served, wrong=True)
    told = refusal("sglang==0.5.6", served)
    assert "has not the hash that the package index states" in told
    kept = served.parent / "kept"
    assert not list(kept.iterdir() if kept.exists() else [])


def test_a_source_archive_is_not_built(served: Path) -> None:
    for path in served.glob("*.whl"):
        path.unlink()
    sdist = served / "sglang-0.5.6.tar.gz"
    sdist.write_bytes(b"")
    page = served / "simple" / "sglang" / "index.html"
    page.write_text(f'<a href="{sdist.as_uri()}">{sdist.name}</a>')
    assert "the package index has no wheel of sglang" in refusal("sglang==0.5.6", served)


def test_what_pip_is_configured_with_does_not_matter(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"PIP_USER": "1", "PIP_NO_BINARY": ":all:", "PIP_QUIET": "3"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert opened("sglang==0.5.6", served).version == "0.5.6"
    assert "did you mean 'sglang==0.5.9'" in refusal("sglang==0.5.99", served)


def test_code_in_the_current_folder_is_not_run(
    served: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here = tmp_path / "audited"
    (here / "pip").mkdir(parents=True)
    (here / "pip" / "__init__.py").write_text("")
    (here / "pip" / "__main__.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')")
    monkeypatch.chdir(here)
    assert opened("sglang==0.5.6", served).version == "0.5.6"
    assert not (tmp_path / "sprung").exists()


def test_without_pip(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: str) -> subprocess.CompletedProcess[str]:
        told = f"{sys.executable}: No module named pip"
        return subprocess.CompletedProcess([], 1, "", told)

    monkeypatch.setattr(index, "_pip", missing)
    assert "pip is needed" in refusal("sglang==0.5.6", served)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("sglang==0.5.9", "0.5.9"),
        ("sglang===0.5.9", "0.5.9"),
        ("sglang==0.5.*", None),
        ("sglang>=0.5.9", None),
        ("sglang==0.5.9,>0.1", None),
        ("sglang", None),
    ],
)
def test_pinned(text: str, version: str | None) -> None:
    found = index.pinned(Requirement(text))
    assert (str(found) if found else None) == version


def test_the_same_archive_named_as_a_file_is_no_release(served: Path) -> None:
    open_source(
        str(served / "sglang-0.5.6-py3-none-any.whl"),
        "sglang",
        Access(keep=served.parent / "kept"),
    )
    with pytest.raises(SourceError, match="is not kept"):
        opened("sglang==0.5.6", served, offline=True)
