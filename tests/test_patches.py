"""Patches are read as git, diff and mail write them, and laid on a tree in memory."""

from pathlib import Path

import pytest

from pathaudit.errors import UsageError
from pathaudit.sources import SourceTree, from_text
from pathaudit.sources.fitting import Place, Standing, fit_patch
from pathaudit.sources.patches import LineKind, Patch, open_patch, read_patch

FILE = "sglang/srt/models/a.py"
OLD = "".join(f"line{number}\n" for number in range(1, 11))
NEW = OLD.replace("line5\n", "line5\nmore\n").replace("line8\n", "")

HUNK = """\
@@ -3,8 +3,8 @@ def f():
 line3
 line4
 line5
+more
 line6
 line7
-line8
 line9
 line10
"""
PLAIN = f"--- a/python/{FILE}\n+++ b/python/{FILE}\n{HUNK}"
GIT = f"diff --git a/python/{FILE} b/python/{FILE}\nindex 1..2 100644\n{PLAIN}"


def patch(text: str) -> Patch:
    return read_patch(text.encode(), "fix.diff")


def tree(text: str | bytes = OLD, **more: str) -> SourceTree:
    return from_text({FILE: text} | {f"sglang/srt/{name}.py": body for name, body in more.items()})


def test_lines_are_numbered_on_both_sides() -> None:
    (file,) = patch(GIT).files
    (hunk,) = file.hunks
    assert (hunk.at, hunk.section, hunk.old_start, hunk.new_start) == (5, "def f():", 3, 3)
    (added,), (removed,) = hunk.added, hunk.removed
    assert (added.text, added.old, added.new, added.at) == ("more", None, 6, 9)
    assert (removed.text, removed.old, removed.new, removed.at) == ("line8", 8, None, 12)
    assert [line.kind for line in hunk.before] == [" ", " ", " ", " ", " ", "-", " ", " "]
    assert len(hunk.after) == 8
    assert LineKind.REMOVED not in {line.kind for line in hunk.after}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PLAIN, id="plain"),
        pytest.param(GIT, id="git"),
        pytest.param(GIT.replace("\n", "\r\n"), id="crlf"),
        pytest.param("\ufeff" + GIT, id="byte-order-mark"),
        pytest.param(GIT.replace("a/python/", "").replace("b/python/", ""), id="no-prefix"),
        pytest.param(GIT.replace("a/", "i/").replace("b/", "w/"), id="mnemonic-prefix"),
        pytest.param(PLAIN.replace("python/sglang/", ""), id="made-inside-the-package"),
        pytest.param(
            PLAIN.replace("--- a/", "--- old/").replace("+++ b/", "+++ new/"), id="folders"
        ),
        pytest.param(PLAIN.replace(".py\n+++", ".py.orig\t2026-01-01\n+++"), id="backup"),
        pytest.param(GIT.removesuffix("\n"), id="cut-at-the-end"),
        pytest.param(GIT + "\\ No newline at end of file\n", id="no-newline"),
        pytest.param(
            f"From 12 Mon\nSubject: x\n\n---\n a.py | 3 +-\n\n{GIT}-- \n2.43.0\n\n", id="mail"
        ),
        pytest.param(
            GIT.replace(f"a/python/{FILE}", f'"a/python/{FILE}"').replace(
                f"b/python/{FILE}", f'"b/python/{FILE[:-4]}\\141.py"'
            ),
            id="quoted",
        ),
        pytest.param(
            f"{GIT}diff --git a/x.bin b/x.bin\nBinary files a/x.bin and b/x.bin differ\n",
            id="binary",
        ),
    ],
)
def test_every_form_of_a_diff_says_the_same(text: str) -> None:
    fitted = fit_patch(tree(), patch(text))
    assert fitted.standing == Standing.UNPATCHED
    assert fitted.new.text(FILE) == NEW
    assert fitted.added == (Place(FILE, 6),)
    assert fitted.removed == (Place(FILE, 8),)


def test_utf_16_as_powershell_writes_it() -> None:
    made = read_patch(GIT.encode("utf-16"), "fix.diff")
    assert fit_patch(tree(), made).standing == Standing.UNPATCHED


def test_a_tree_that_has_the_patch_is_told_what_it_was_before() -> None:
    fitted = fit_patch(tree(NEW), patch(GIT))
    assert fitted.standing == Standing.PATCHED
    assert fitted.old.text(FILE) == OLD
    assert fitted.new.text(FILE) == NEW
    assert fitted.added == (Place(FILE, 6),)
    assert fitted.removed == (Place(FILE, 8),)


def test_lines_may_have_moved() -> None:
    fitted = fit_patch(tree("# one\n" * 30 + OLD), patch(GIT))
    assert fitted.standing == Standing.UNPATCHED
    assert fitted.added == (Place(FILE, 36),)


def test_far_away_a_hunk_fits_only_where_it_fits_once() -> None:
    far = "# one\n" * 300
    assert fit_patch(tree(far + OLD), patch(GIT)).standing == Standing.UNPATCHED
    assert fit_patch(tree(far + OLD + OLD), patch(GIT)).standing == Standing.NEITHER


def test_line_ends_of_the_file_are_kept() -> None:
    fitted = fit_patch(tree(OLD.replace("\n", "\r\n").encode()), patch(GIT))
    assert fitted.new.text(FILE) == NEW.replace("\n", "\r\n")


def test_a_hunk_that_does_not_fit_is_named() -> None:
    fitted = fit_patch(tree(OLD.replace("line7", "other")), patch(GIT))
    assert fitted.standing == Standing.NEITHER
    (misfit,) = fitted.misfits
    assert (misfit.at, misfit.path, misfit.reason) == (5, FILE, "there is no line 'line7'")


def test_half_of_a_patch_is_neither() -> None:
    more = HUNK.replace("line", "other").replace("more", "less")
    two = OLD.replace("line", "other")
    both = patch(GIT + more.replace("-3,8 +3,8", "-13,8 +13,8"))
    assert fit_patch(tree(OLD + two), both).standing == Standing.UNPATCHED
    half = fit_patch(tree(NEW + two), both)
    assert half.standing == Standing.NEITHER
    assert [misfit.at for misfit in half.misfits] == [5]


def test_a_series_changes_a_file_twice() -> None:
    second = PLAIN.replace(HUNK, "@@ -6 +6,2 @@\n-more\n+most\n+least\n")
    fitted = fit_patch(tree(), patch(GIT + second))
    new = NEW.replace("more\n", "most\nleast\n")
    assert fitted.new.text(FILE) == new
    assert fitted.added == (Place(FILE, 6), Place(FILE, 7))
    again = fit_patch(tree(new), patch(GIT + second))
    assert (again.standing, again.old.text(FILE)) == (Standing.PATCHED, OLD)
    assert again.added == fitted.added


def test_a_new_file_joins_the_tree_and_leaves_it() -> None:
    text = (
        "diff --git a/python/sglang/srt/b.py b/python/sglang/srt/b.py\nnew file mode 100644\n"
        "--- /dev/null\n+++ b/python/sglang/srt/b.py\n@@ -0,0 +1,2 @@\n+x = 1\n+y = 2\n"
    )
    fitted = fit_patch(tree(), patch(text))
    assert fitted.standing == Standing.UNPATCHED
    assert "sglang/srt/b.py" in fitted.new
    assert fitted.new.paths == ("sglang/srt/b.py", FILE)
    assert fitted.new.text("sglang/srt/b.py").splitlines() == ["x = 1", "y = 2"]
    back = fit_patch(fitted.new, patch(text))
    assert back.standing == Standing.PATCHED
    assert back.old.paths == (FILE,)


def test_a_renamed_file_takes_its_lines_along() -> None:
    other = FILE.replace("a.py", "b.py")
    head = f"diff --git a/{FILE} b/{other}\nrename from {FILE}\nrename to {other}\n"
    fitted = fit_patch(tree(), patch(f"{head}--- a/{FILE}\n+++ b/{other}\n{HUNK}"))
    assert fitted.new.paths == (other,)
    assert fitted.new.text(other) == NEW
    assert fit_patch(fitted.new, patch(head)).standing == Standing.PATCHED


def test_a_deleted_file_is_gone() -> None:
    body = "".join(f"-line{number}\n" for number in range(1, 11))
    text = f"--- a/{FILE}\n+++ /dev/null\n@@ -1,10 +0,0 @@\n{body}"
    fitted = fit_patch(tree(b="x = 1"), patch(text))
    assert fitted.new.paths == ("sglang/srt/b.py",)
    assert len(fitted.removed) == 10


def test_a_new_file_that_is_there_already_does_not_fit() -> None:
    text = f"--- /dev/null\n+++ b/{FILE}\n@@ -0,0 +1 @@\n+x = 1\n"
    fitted = fit_patch(tree(), patch(text))
    assert fitted.standing == Standing.NEITHER
    assert fitted.misfits[0].reason == "is there already"


def test_a_file_that_the_tree_lacks_is_named() -> None:
    fitted = fit_patch(tree(), patch(GIT.replace("a.py", "gone.py")))
    assert fitted.misfits[0].reason == "there is no such file in the tree"


def test_files_of_no_package_are_told() -> None:
    more = GIT.replace(f"python/{FILE}", "test/srt/test_a.py")
    notes = GIT.replace(f"python/{FILE}", "docs/a.md")
    fitted = fit_patch(tree(), patch(GIT + more + notes))
    assert fitted.standing == Standing.UNPATCHED
    assert fitted.others == ("docs/a.md", "test/srt/test_a.py")


def test_bytes_that_are_no_text_fit_nothing() -> None:
    bad = read_patch(GIT.encode().replace(b"more", b"m\xffre"), "fix.diff")
    assert fit_patch(tree(), bad).standing == Standing.NEITHER


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "fix.diff: holds no unified diff", id="empty"),
        pytest.param("hello\nworld\n", "fix.diff: holds no unified diff", id="prose"),
        pytest.param(HUNK, "fix.diff:1: is no unified diff: unexpected hunk found", id="no-file"),
        pytest.param(
            GIT.replace(" line7\n", "line7\n"),
            "fix.diff:11: is no unified diff: hunk diff line expected",
            id="no-mark",
        ),
        pytest.param(
            "\n".join(GIT.splitlines()[:-2]) + "\n",
            "fix.diff:12: is no unified diff: hunk is shorter than expected",
            id="cut",
        ),
    ],
)
def test_what_is_no_diff_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        patch(text)
    assert caught.value.message == message


def test_a_patch_of_other_files_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="changes no Python file of sglang"):
        fit_patch(tree(), patch(GIT.replace(f"python/{FILE}", "test/test_a.py")))


def test_a_patch_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "fix.diff").write_text(GIT)
    assert open_patch(str(tmp_path / "fix.diff")).files == patch(GIT).files
    with pytest.raises(UsageError, match="no such file"):
        open_patch(str(tmp_path / "none.diff"))
    with pytest.raises(UsageError, match="is a folder"):
        open_patch(str(tmp_path))
