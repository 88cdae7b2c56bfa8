"""Small versions of one model, each an edit of the bundled example."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from pathaudit.audit import survey
from pathaudit.diff import Version
from pathaudit.sources import SourceTree, from_text
from tests.labels import capture_rules

EXAMPLE = Path(__file__).parent.parent / "examples" / "two_batch_overlap"
MODEL = "sglang/srt/models/overlapped.py"
RUNNER = "sglang/srt/batch_overlap/two_batch_overlap.py"

Files = dict[str, str]
Edit = Callable[[Files], Files]


@cache
def _example() -> tuple[tuple[str, str], ...]:
    files = (MODEL, RUNNER, "sglang/srt/utils.py", "sglang/version.py")
    return tuple((file, (EXAMPLE / file).read_text(encoding="utf-8")) for file in files)


def files_of(*edits: Edit) -> Files:
    """The files of the faulty model after some edits."""
    files = dict(_example())
    for edit in edits:
        files = edit(files)
    return files


def tree_of(*edits: Edit) -> SourceTree:
    return from_text(files_of(*edits))


def version(*edits: Edit) -> Version:
    """The faulty model after some edits, judged."""
    tree = tree_of(*edits)
    return Version(tree, survey(tree, capture_rules()))


def replaced(old: str, new: str, file: str = "") -> Edit:
    """Text replaced in all files, or in one; it must be there."""

    def edit(files: Files) -> Files:
        assert any(old in text for name, text in files.items() if file in ("", name))
        return {
            name: text.replace(old, new) if file in ("", name) else text
            for name, text in files.items()
        }

    return edit


def moved(file: str) -> Edit:
    """The model in another file."""
    return lambda files: {file if name == MODEL else name: files[name] for name in files}


def copied(file: str) -> Edit:
    """The same model in a second file."""
    return lambda files: files | {file: files[MODEL]}


GUARD = replaced(
    "if forward_batch.can_run_tbo:", "if forward_batch.can_run_tbo and not self.layers_to_capture:"
)
RENAMED_CALLEE = replaced("run_overlapped", "run_stages")
RENAMED_CLASS = replaced("OverlappedModel", "OverlapModel")
LOWER = replaced("class OverlappedModel", "\n\n\nclass OverlappedModel", MODEL)
NO_CLASS = replaced("class OverlappedModel(nn.Module)", "class Unlike(nn.Sequential)", MODEL)
CAPTURE = """            if i in self.layers_to_capture:
                aux_hidden_states.append(hidden_states + residual)
"""
NO_CAPTURE = replaced(CAPTURE, "")
OTHER_FORM = replaced(
    "aux_hidden_states.append(hidden_states + residual)",
    "aux_hidden_states.extend([hidden_states + residual])",
)
NO_SETTER = replaced("set_eagle3_layers_to_capture", "set_nothing")
UNKNOWN_RUNNER = replaced("sglang.srt.batch_overlap.", "elsewhere.", MODEL)
SECOND_LOOP = replaced(
    "        if dense_end != self.end_layer:",
    """        if forward_batch.is_short:
            for i in range(self.start_layer, self.end_layer):
                if i in self.layers_to_capture:
                    aux_hidden_states.append(hidden_states + residual)
                hidden_states, residual = self.layers[i](hidden_states, residual, forward_batch)

        if dense_end != self.end_layer:""",
)
