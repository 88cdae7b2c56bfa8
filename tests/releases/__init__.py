"""Real releases to test on: downloaded once from the package index, verified, only read.

A release is kept as the folder of its ``.py`` members under ``PATHAUDIT_TEST_CACHE`` (default: the
user's cache folder). A test that needs one fails, and is not skipped, when it cannot be had.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

import platformdirs

# The wheel of each release that tests name, by its SHA-256.
WHEELS = {
    "0.5.7": "b77f9e5ca5a2ab19b3efba725958fc4de20ba97880e383738c695e8611b51100",
    "0.5.14": "4fe16056b45c8aca00f5f90ceb174dc3a62a3f5dccf159c791370795cd00fc99",
    "0.5.9": "8a936c4d25fea605f44254e533cff2144c73ceffbc1f8738aba393461bbb64d1",
    "0.5.10": "ac8855a5d57dac8831fee526bca5212f1ae451f378e2ab08b3baecbc4deb4076",
    "0.5.11": "fe0748beaff218d3e16c9018a5e19f018db06fc3c7ac4f90d2f93da1cf074b6f",
    "0.5.13": "9d26266ab7e99165098f9e173f4a5a0ef6a0b64a6f30ef0b5ee859eead37e75a",
    "0.5.16": "d5f345a18953dd35df568ac56bdcb7f5ee910ab39efea4469b714556d1070713",
    "0.5.17": "575e38f5683624ded3b4bb267f637a098e5ed37d13a1d1ff5ea09bd781a04d16",
    "0.5.21": "96c029f75dec99baa33a5db3d41b1bebefdd6bcfba3a2f7c807fe1cf49a87c20",
    "0.5.22": "cc9a0f15bd8f877a0584fdb7a1702240177a1f1cc8d17c978715161717b9037b",
    "0.4.9": "8c2a13c37bc505930675f907fadbd66eef0539c32e31343be1bd2c34a3cd4c80",
    "0.5.12": "4ed786a38655851fd055ef57380c34d29b87753b53f63457309f51e5bf48c2e6",
    "0.5.20": "1573527042f4f6b4ead838302818595fc77fdc611dbcc2e40cd150fbc8f8513c",
    "0.5.23": "00b3cd5b265ac76c64185fbb6b95424f324ddd9f428d0306b77bc9db9d859937",
    "0.5.6": "c32b6a5bafcda41c2f299ed4a1fbe8401946076b4e010fe8feb5b8a9712bf66b",
}


def cache_folder() -> Path:
    named = os.environ.get("PATHAUDIT_TEST_CACHE")
    return Path(named) if named else Path(platformdirs.user_cache_dir("pathaudit-tests"))


def release(version: str) -> Path:
    """The folder that holds ``sglang/`` of a release; downloads it where it is not cached."""
    folder = cache_folder() / f"sglang-{version}"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            wheel = _download(version, Path(scratch))
            unpacked = Path(scratch) / "unpacked"
            _unpack(wheel, unpacked)
            unpacked.rename(folder)
    return folder


def _download(version: str, folder: Path) -> Path:
    options = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--quiet"]
    # The wheel of one platform stands for all: only its Python files are read.
    options += ["--python-version", "3.11", "--platform", "manylinux_2_34_x86_64"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder)]
    subprocess.run([*command, f"sglang=={version}"], check=True)
    (wheel,) = folder.glob("*.whl")
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if found != WHEELS[version]:
        raise RuntimeError(f"{wheel.name} has the hash {found}, not the pinned one")
    return wheel


def _unpack(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            name = PurePosixPath(member.filename)
            wanted = name.suffix == ".py" or name.name == "METADATA"
            if not wanted or name.is_absolute() or ".." in name.parts:
                continue
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(member))
