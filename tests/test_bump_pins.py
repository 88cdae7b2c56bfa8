"""Pins: small files in, what they pin out."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pathaudit.bump import Sought
from pathaudit.bump.pins import read_pins
from pathaudit.bump.pins.sought import repository_of, split_git, version_of
from pathaudit.results.bumps import Pin
from pathaudit.sources.repository import files_of_texts

SGLANG = Sought("sglang", ("github.com/sgl-project/sglang",), ("lmsysorg/sglang",))
OFFICIAL = "https://github.com/sgl-project/sglang.git"
GIT = f"git+{OFFICIAL}"
SHA = "0123456789abcdef0123456789abcdef01234567"


def pins(files: Mapping[str, str | bytes]) -> tuple[Pin, ...]:
    return read_pins(files_of_texts(files), SGLANG).pins


def gaps(files: Mapping[str, str | bytes]) -> list[str]:
    found = read_pins(files_of_texts(files), SGLANG).gaps
    return [f"{gap.file}:{gap.line}: {gap.message}" for gap in found]


def told(pin: Pin) -> str:
    """A pin in one line: where, as what, from where, which version, and the rest."""
    version = pin.version or pin.specifier or "any"
    rest = [f"[{','.join(pin.extras)}]" if pin.extras else "", f"; {pin.marker}" * bool(pin.marker)]
    at = f" at {pin.revision}" if pin.revision else ""
    address = f" {pin.address}{at}" if pin.address else ""
    where = f"{pin.file}:{pin.line}"
    part = f" ({pin.part})" if pin.part else ""
    return f"{where}{part} {pin.role} {pin.source} {version}{''.join(rest)}{address}"


REQUIREMENTS = [
    pytest.param("sglang==0.5.6", ["1 index 0.5.6"], id="exact"),
    pytest.param("# sglang==9\n\nSGLang == 0.5.6", ["3 index 0.5.6"], id="comments and spelling"),
    pytest.param("torch\nsglang[all,srt]==0.5.6", ["2 index 0.5.6[all,srt]"], id="extras"),
    pytest.param("sglang>=0.5,<0.6  # why", ["1 index <0.6,>=0.5"], id="a range"),
    pytest.param("sglang==0.5.*", ["1 index ==0.5.*"], id="a wildcard"),
    pytest.param("sglang ~= 0.5.2", ["1 index ~=0.5.2"], id="compatible"),
    pytest.param("sglang", ["1 index any"], id="any"),
    pytest.param("sglang (==0.5.6)", ["1 index 0.5.6"], id="in parentheses"),
    pytest.param("sglang===0.5.6", ["1 index 0.5.6"], id="arbitrary equality"),
    pytest.param(
        'sglang==0.5.6; python_version<"3.13"',
        ['1 index 0.5.6; python_version < "3.13"'],
        id="a marker",
    ),
    pytest.param("sglang-router==0.1\nnot-sglang==1\nmysglang==2", [], id="other packages"),
    pytest.param("sglang==0.5.6 \\\n  --hash=sha256:" + "a" * 64, ["1 index 0.5.6"], id="a hash"),
    pytest.param(
        "torch \\\n --hash=sha256:aa\nsglang==1", ["3 index 1"], id="after a continuation"
    ),
    pytest.param(
        f"sglang[all] @ {GIT}@v0.5.6#subdirectory=python",
        [f"1 git 0.5.6[all] {OFFICIAL} at v0.5.6"],
        id="git by name",
    ),
    pytest.param(
        f"-e {GIT}@v0.5.6.post1#egg=sglang&subdirectory=python",
        [f"1 git 0.5.6.post1 {OFFICIAL} at v0.5.6.post1"],
        id="git, editable",
    ),
    pytest.param(f"{GIT}@{SHA}", [f"1 git any {OFFICIAL} at {SHA}"], id="git, a commit"),
    pytest.param(GIT, [f"1 git any {OFFICIAL}"], id="git, whatever is newest"),
    pytest.param(
        "git+ssh://git@github.com/sgl-project/sglang@main",
        ["1 git any ssh://git@github.com/sgl-project/sglang at main"],
        id="git, a branch, by ssh",
    ),
    pytest.param(
        "sglang @ git+https://github.com/corp/sglang@v0.5.6",
        ["1 git any https://github.com/corp/sglang at v0.5.6"],
        id="the tag of a copy is no release",
    ),
    pytest.param(f"{GIT}-docs@v1", [], id="another repository"),
    pytest.param(
        "sglang @ https://files.example/sglang-0.5.6-py3-none-any.whl",
        ["1 url 0.5.6 https://files.example/sglang-0.5.6-py3-none-any.whl"],
        id="a wheel",
    ),
    pytest.param(
        "./wheels/sglang-0.5.6-py3-none-any.whl",
        ["1 path 0.5.6 ./wheels/sglang-0.5.6-py3-none-any.whl"],
        id="a local wheel",
    ),
    pytest.param(
        "-e ./vendored/sglang/python[all]",
        ["1 path any[all] ./vendored/sglang/python"],
        id="a local folder",
    ),
]


@pytest.mark.parametrize(("text", "expected"), REQUIREMENTS)
def test_requirements(text: str, expected: list[str]) -> None:
    found = [
        told(pin).removeprefix("requirements.txt:") for pin in pins({"requirements.txt": text})
    ]
    assert [line.replace(" requirement ", " ", 1) for line in found] == expected


def test_hashes_are_kept_apart_from_the_text() -> None:
    (pin,) = pins({"requirements.txt": f"sglang==0.5.6 --hash=sha256:{'b' * 64}"})
    assert (pin.text, pin.hashes) == ("sglang==0.5.6", (f"sha256:{'b' * 64}",))


INCLUDES: Mapping[str, str] = {
    "requirements.txt": "-r deps/gpu.lst\n-c constraints.txt\n--requirement=none.txt",
    "deps/gpu.lst": "sglang\n-c ../limits.lst\n-r ../requirements.txt",
    "constraints.txt": "sglang<0.6",
    "limits.lst": "sglang!=0.5.4\n-r more.lst",
    "more.lst": "sglang!=0.5.3",
}


def test_what_a_file_includes_is_read_too() -> None:
    assert [told(pin) for pin in pins(INCLUDES)] == [
        "constraints.txt:1 constraint index <0.6",
        "deps/gpu.lst:1 requirement index any",
        "limits.lst:1 constraint index !=0.5.4",
        "more.lst:1 constraint index !=0.5.3",
    ]
    assert gaps(INCLUDES) == [
        "requirements.txt:3: includes none.txt, which is not in the repository"
    ]


PYPROJECT = f"""\
[build-system]
requires = ["hatchling"]

[project]
name = "service"  # "sglang==0.5.6" is what we serve with
dependencies = [
    # "sglang==0.5.6",
    "torch",
    "sglang==0.5.6",
]
[project.optional-dependencies]
gpu = ['sglang[all]>=0.5.6 ; sys_platform == "linux"']

[dependency-groups]
test = ["pytest", {{include-group = "serve"}}]
serve = ["sglang==0.5.6"]

[tool.poetry.dependencies]
python = "^3.11"
sglang = {{ version = "^0.5.6", extras = ["all"], markers = "sys_platform == 'linux'" }}
[tool.poetry.group.dev.dependencies]
sglang = [ {{ git = "{OFFICIAL}", tag = "v0.5.6" }}, "~0.5.2 || ^0.7" ]
[tool.poetry.group.other.dependencies.sglang]
path = "../sglang"

[tool.uv]
constraint-dependencies = ["sglang<0.7"]
override-dependencies = ["sglang==0.5.6"]
"""


def test_pyproject() -> None:
    assert [
        told(pin).removeprefix("pyproject.toml:") for pin in pins({"pyproject.toml": PYPROJECT})
    ] == [
        "9 (project.dependencies) requirement index 0.5.6",
        '12 (extra gpu) requirement index >=0.5.6[all]; sys_platform == "linux"',
        "16 (group serve) requirement index 0.5.6",
        "20 (tool.poetry.dependencies) requirement index <0.6.0,>=0.5.6[all];"
        " sys_platform == 'linux'",
        f"22 (tool.poetry.group.dev.dependencies) requirement git 0.5.6 {OFFICIAL} at v0.5.6",
        "22 (tool.poetry.group.dev.dependencies) requirement index <0.6.0,>=0.5.2 || <0.8,>=0.7",
        "23 (tool.poetry.group.other.dependencies) requirement path any ../sglang",
        "27 (tool.uv.constraint-dependencies) constraint index <0.7",
        "28 (tool.uv.override-dependencies) override index 0.5.6",
    ]


UV_SOURCES = f"""\
[project]
dependencies = ["sglang[all]>=0.5"]
[tool.uv.sources]
sglang = {{ git = "{OFFICIAL}", tag = "v0.5.6", subdirectory = "python" }}
"""


def test_a_source_of_uv_comes_before_the_index() -> None:
    assert [told(pin) for pin in pins({"pyproject.toml": UV_SOURCES})] == [
        f"pyproject.toml:4 (project.dependencies) requirement git 0.5.6[all] {OFFICIAL} at v0.5.6"
    ]


LOCKS = [
    pytest.param(
        "uv.lock",
        """version = 1
[[package]]
name = "sglang-router"
version = "0.1"
[[package]]
name = "sglang"
version = "0.5.6"
source = { registry = "https://pypi.org/simple" }
wheels = [{ url = "https://x/sglang-0.5.6-py3-none-any.whl", hash = "sha256:aa" }]
""",
        "7 (package) lock index 0.5.6",
        id="uv",
    ),
    pytest.param(
        "uv.lock",
        f"""[[package]]
name = "sglang"
version = "0.5.6"
source = {{ git = "{OFFICIAL}?subdirectory=python&tag=v0.5.6#{SHA}" }}
""",
        f"3 (package) lock git 0.5.6 {OFFICIAL} at v0.5.6",
        id="uv from git",
    ),
    pytest.param(
        "poetry.lock",
        """[[package]]
name = "sglang"
version = "0.5.6"
description = ""
[package.source]
type = "legacy"
url = "https://index.example/simple"
reference = "private"
""",
        "3 (package) lock index 0.5.6",
        id="Poetry from an index of its own",
    ),
    pytest.param(
        "poetry.lock",
        f"""[[package]]
name = "sglang"
version = "0.5.6"
[package.source]
type = "git"
url = "{OFFICIAL}"
reference = "main"
resolved_reference = "{SHA}"
""",
        f"3 (package) lock git any {OFFICIAL} at main",
        id="Poetry from git",
    ),
    pytest.param(
        "poetry.lock",
        """[[package]]
name = "sglang"
version = "0.5.6"
[package.source]
type = "url"
url = "https://x.example/sglang-0.5.6-py3-none-any.whl"
""",
        "3 (package) lock url 0.5.6 https://x.example/sglang-0.5.6-py3-none-any.whl",
        id="Poetry from a wheel",
    ),
    pytest.param(
        "pdm.lock",
        '[[package]]\nname = "sglang"\nversion = "0.5.6"\nextras = ["all"]\nfiles = []\n',
        "3 (package) lock index 0.5.6[all]",
        id="PDM",
    ),
    pytest.param(
        "pylock.gpu.toml",
        'lock-version = "1.0"\n[[packages]]\nname = "sglang"\nversion = "0.5.6"\n',
        "4 (packages) lock index 0.5.6",
        id="pylock.toml",
    ),
    pytest.param(
        "Pipfile.lock",
        json.dumps(
            {"_meta": {}, "default": {"sglang": {"version": "==0.5.6", "hashes": ["sha256:aa"]}}},
            indent=1,
        ),
        "4 (default) lock index 0.5.6",
        id="Pipenv",
    ),
    pytest.param(
        "Pipfile",
        '[packages]\ntorch = "*"\nsglang = {version = ">=0.5", extras = ["all"]}\n',
        "3 (packages) requirement index >=0.5[all]",
        id="Pipfile",
    ),
]


@pytest.mark.parametrize(("file", "text", "expected"), LOCKS)
def test_lock_files(file: str, text: str, expected: str) -> None:
    (pin,) = pins({f"service/{file}": text})
    assert told(pin).removeprefix(f"service/{file}:") == expected


DOCKERFILE = """\
# syntax=docker/dockerfile:1
ARG TAG=v0.5.6
ARG CUDA=cu126
FROM --platform=linux/amd64 lmsysorg/sglang:${TAG}-$CUDA AS base
FROM registry.example:5000/lmsysorg/sglang:${OTHER:-v0.5.7}
ARG TAG
ARG V=0.5.8
ENV W=0.5.9
RUN --mount=type=cache,target=/root/.cache \\
    # sglang==0.1
    pip install --no-cache-dir --no-binary sglang "sglang[all]==${V}" \\
    torch && echo sglang==0.2
RUN ["python3", "-m", "pip", "install", "sglang==$W"]
RUN git clone -b ${TAG} https://github.com/sgl-project/sglang.git && pip install -e python
COPY --from=lmsysorg/sglang:v0.5.5 /x /x
FROM lmsysorg/sglang:$NOTHING
FROM lmsysorg/sglang@sha256:00
FROM other/sglang:v0.5.6
ARG TAG=v0.5.0
FROM lmsysorg/sglang:${TAG:-v0.1}
FROM lmsysorg/sglang:v0.5.4${TAG:+.post1}${NOTHING:+.post2}
RUN <<EOF
uv pip install -U sglang==0.5.3
EOF
"""


def test_dockerfile() -> None:
    assert [told(pin).removeprefix("Dockerfile:") for pin in pins({"Dockerfile": DOCKERFILE})] == [
        "4 (FROM) image image 0.5.6 lmsysorg/sglang at v0.5.6-cu126",
        "5 (FROM) image image 0.5.7 registry.example:5000/lmsysorg/sglang at v0.5.7",
        "9 (RUN) requirement index 0.5.8[all]",
        "13 (RUN) requirement index 0.5.9",
        "14 (RUN) requirement git 0.5.6 https://github.com/sgl-project/sglang.git at v0.5.6",
        "15 (COPY) image image 0.5.5 lmsysorg/sglang at v0.5.5",
        "16 (FROM) image image any lmsysorg/sglang at $NOTHING",
        "17 (FROM) image image any lmsysorg/sglang",
        "18 (FROM) image image any other/sglang at v0.5.6",
        "20 (FROM) image image 0.5.6 lmsysorg/sglang at v0.5.6",
        "21 (FROM) image image 0.5.4.post1 lmsysorg/sglang at v0.5.4.post1",
        "23 (RUN) requirement index 0.5.3",
    ]


YAML = """\
services:
  draft: &draft
    image: lmsysorg/sglang:v0.5.6-cu126
    environment: [A=1]
  target: {<<: *draft, image: "docker.io/lmsysorg/sglang:latest"}
---
image: {repository: lmsysorg/sglang, pullPolicy: Always, tag: v0.5.7}
images:
  - name: lmsysorg/sglang
    newTag: v0.5.8
  - name: other
    newTag: v0.5.9
dependencies: [python, {pip: ["torch", "sglang==0.5.5"]}]
loop: &loop [*loop, {image: nginx}]
"""


def test_yaml() -> None:
    assert [told(pin).removeprefix("deploy.yaml:") for pin in pins({"deploy.yaml": YAML})] == [
        "3 (image) image image 0.5.6 lmsysorg/sglang at v0.5.6-cu126",
        "5 (image) image image any docker.io/lmsysorg/sglang at latest",
        "7 (image) image image 0.5.7 lmsysorg/sglang at v0.5.7",
        "10 (image) image image 0.5.8 lmsysorg/sglang at v0.5.8",
        "13 (pip) requirement index 0.5.5",
    ]


SCRIPT = """\
#!/bin/sh
# pip install sglang==0.1
if true; then sudo git clone -b v0.5.6 \\
    https://github.com/sgl-project/sglang; fi
    # sglang==0.2
pip install -q \\
  "sglang[all]==0.5.7" 'unfinished
uv pip install sglang==0.5.8 && pip install sglang==$V
"""


def test_scripts() -> None:
    assert [told(pin).removeprefix("install.sh:") for pin in pins({"install.sh": SCRIPT})] == [
        "3 (script) requirement git 0.5.6 https://github.com/sgl-project/sglang at v0.5.6",
        "8 (script) requirement index 0.5.8",
    ]
    assert gaps({"install.sh": SCRIPT}) == []


SETUP = """\
from setuptools import setup
SGLANG = ["torch", "sglang[srt]==0.5.6"]
setup(name="x", extras_require={"sglang": SGLANG, "all": ("sglang>=0.5",)}, x=f"sglang=={1}")
"""


def test_setup() -> None:
    assert [told(pin).removeprefix("setup.py:") for pin in pins({"setup.py": SETUP})] == [
        "2 (setup) requirement index 0.5.6[srt]",
        "3 (setup) requirement index >=0.5",
    ]


def test_the_package_does_not_pin_itself() -> None:
    text = '[project]\nname = "sglang"\n[project.optional-dependencies]\na = ["sglang[b]"]\n'
    assert pins({"pyproject.toml": text}) == ()


NAMES = [
    pytest.param("requirements-gpu.in", True, id="requirements by another name"),
    pytest.param("requirements/base.txt", True, id="a folder of requirements"),
    pytest.param("a/b/dev-requirements.txt", True, id="a prefix"),
    pytest.param("notes.txt", False, id="any text"),
    pytest.param("third_party/x/requirements.txt", False, id="what others wrote"),
    pytest.param(".venv/lib/x/requirements.txt", False, id="what is installed"),
]


@pytest.mark.parametrize(("path", "read"), NAMES)
def test_which_files_are_read(path: str, read: bool) -> None:
    assert bool(pins({path: "sglang==0.5.6"})) is read


VERSIONS = {
    "v0.5.6": "0.5.6",
    "0.5.6": "0.5.6",
    "v0.5.6-cu126": "0.5.6",
    "v0.5.6.post1-rocm700-mi35x": "0.5.6.post1",
    "v0.5.6rc1": "0.5.6rc1",
    "v0.5.6-rc1": "0.5.6rc1",
    "latest": "",
    "dev": "",
    "nightly-dev-20251201": "",
    "20251201": "",
    "cu126": "",
    "": "",
}


@pytest.mark.parametrize(("tag", "version"), VERSIONS.items())
def test_versions_of_tags(tag: str, version: str) -> None:
    assert version_of(tag) == version


ADDRESSES = [
    "https://github.com/sgl-project/sglang",
    "https://github.com/SGL-Project/sglang.git/",
    "git+https://user:word@github.com/sgl-project/sglang.git",
    "git@github.com:sgl-project/sglang.git",
    "ssh://git@github.com/sgl-project/sglang",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_addresses_of_one_repository(address: str) -> None:
    assert repository_of(address) == "github.com/sgl-project/sglang"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("git+https://h/o/n.git@v1#egg=a", ("https://h/o/n.git", "v1", "a")),
        ("git+ssh://git@h/o/n", ("ssh://git@h/o/n", "", "")),
        ("git+https://u@h/o/n@feature/x", ("https://u@h/o/n", "feature/x", "")),
    ],
)
def test_git_addresses(address: str, expected: tuple[str, str, str]) -> None:
    assert split_git(address) == expected


# ---- what cannot be read ------------------------------------------------------------------------

BROKEN = [
    pytest.param(
        "requirements.txt", "torch\nsglang == ${V}", ":2: no requirement", id="a variable"
    ),
    pytest.param("requirements.txt", "sglang !! 3", ":1: no requirement", id="no requirement"),
    pytest.param("pyproject.toml", "sglang = [", ":1: is no TOML", id="no TOML"),
    pytest.param(
        "pyproject.toml",
        '[project]\ndependencies = [\n "sglang==="]',
        ":3: no requirement",
        id="a requirement in TOML",
    ),
    pytest.param(
        "pyproject.toml",
        '[tool.poetry.dependencies]\nsglang = "^^1"',
        ":2: no requirement",
        id="a constraint",
    ),
    pytest.param("uv.lock", b"# sglang \xff", ":1: is no TOML", id="no text"),
    pytest.param("uv.lock", "sglang" + ".a" * 9999, ":1: is no TOML that is read", id="long keys"),
    pytest.param(
        "uv.lock", '[[package]]\nname = "sglang"', ":2: names no version", id="no version"
    ),
    pytest.param("Pipfile.lock", '{"sglang"', ":1: is no JSON", id="no JSON"),
    pytest.param("Dockerfile", "RUN pip install 'sglang==1", ":1: shell: No closing", id="a quote"),
    pytest.param("Dockerfile", "RUN pip install sglang==$V", ":1: no requirement", id="no value"),
    pytest.param("k8s.yaml", "image: [lmsysorg/sglang:v1", ":1: is no YAML", id="no YAML"),
    pytest.param("k8s.yaml", "lmsysorg/sglang: \x07", ":1: is no YAML", id="a control character"),
    pytest.param("setup.py", "sglang = (", ":1: is no Python", id="no Python"),
]


@pytest.mark.parametrize(("file", "text", "expected"), BROKEN)
def test_what_cannot_be_read_is_a_gap(file: str, text: str | bytes, expected: str) -> None:
    found = gaps({file: text})
    assert len(found) == 1
    assert found[0].startswith(file + expected)


def test_a_file_of_too_many_pins_is_not_read_to_its_end() -> None:
    files = {
        "install.sh": "pip install sglang==1\n" * 1000,
        "x.sh": "pip install sglang==1\n" * 200,
    }
    assert [pin.file for pin in pins(files)] == ["install.sh"] * 200 + ["x.sh"] * 200
    assert gaps(files) == ["install.sh:1: has more than 200 pins, and was not read to its end"]
    many = {f"{n}.sh": files["x.sh"] for n in range(6)}
    assert len(pins(many)) == 1000
    assert gaps(many) == ["5.sh:0: only 1,000 of 1,200 pins are looked at"]


def test_a_gap_is_told_in_short() -> None:
    (gap,) = gaps({"requirements.txt": "sglang" + "[" * 5000})
    assert len(gap) < 250


def test_a_broken_file_that_is_about_something_else_is_none() -> None:
    assert gaps({"pyproject.toml": "[", "Dockerfile": "RUN 'x", "x.yaml": "["}) == []
    assert gaps({"Dockerfile": "RUN pip install sglang-kernel==${V}"}) == []


WORDS = st.sampled_from(
    [
        "sglang",
        "==0.5.6",
        "lmsysorg/sglang:v0.5.6",
        "FROM",
        "RUN",
        "ARG",
        "ENV",
        "pip",
        "install",
        "git+",
        "git",
        "clone",
        "-e",
        "-r",
        "-c",
        "https://github.com/sgl-project/sglang",
        "@v0.5.6",
        "[[package]]",
        "name",
        "version",
        "=",
        '"',
        "'",
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        ":",
        ";",
        "$V",
        "${",
        "}",
        "#",
        "==",
        "^",
        "*",
        "[project]",
        "dependencies",
        "[tool.poetry.dependencies]",
        "image:",
        "-",
        "&",
        "*a",
        "&a",
        "<<:",
        "sglang=",
        "--hash=sha256:aa",
        "||",
        "&&",
        "<<EOF",
        ",",
        "\\",
        "\x00",
        "\ufeff",
        "\u2028",
        "\n",
        "\r\n",
        " ",
        "\t",
        "\ud800",
    ]
)


SAMPLES = [
    ("requirements.txt", "".join(f"{case.values[0]}\n" for case in REQUIREMENTS)),
    ("pyproject.toml", PYPROJECT + UV_SOURCES.partition("]\n")[2]),
    ("Dockerfile", DOCKERFILE),
    ("deploy.yaml", YAML),
    ("install.sh", SCRIPT),
    ("setup.py", SETUP),
    *((str(case.values[0]), str(case.values[1])) for case in LOCKS),
]
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 20), WORDS), max_size=4)


@given(sample=st.sampled_from(SAMPLES), edits=EDITS, raw=st.binary(max_size=3))
def test_nothing_that_is_written_stops_it(
    sample: tuple[str, str], edits: list[tuple[float, int, str]], raw: bytes
) -> None:
    """A file in which some text is replaced is read, or what cannot be read is told with a line."""
    file, text = sample
    for where, length, word in edits:
        start = int(where * len(text))
        text = text[:start] + word + text[start + length :]
    data = text.encode("utf-8", "surrogatepass") + raw
    read = read_pins(files_of_texts({file: data}), SGLANG)
    places = [(pin.file, pin.line) for pin in read.pins]
    places += [(gap.file, gap.line) for gap in read.gaps]
    assert all(name == file and line >= 1 for name, line in places)
