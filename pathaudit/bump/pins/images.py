"""Reads pins from YAML: images of Compose, Kubernetes, Helm and Kustomize, and pip in Conda."""

from collections.abc import Iterator, Sequence

import yaml
from packaging.requirements import InvalidRequirement

from pathaudit.bump.pins.forms import Place, pin_of_image, pin_of_text
from pathaudit.bump.pins.sought import Sought
from pathaudit.errors import SourceError
from pathaudit.results import Gap
from pathaudit.results.bumps import Pin

Found = Iterator[Pin | Gap]

# The parser that is written in C takes a tenth of the time, and is not there everywhere.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# A name beside which another key holds the tag.
_NAMES = ("newName", "repository", "name")
_TAGS = ("newTag", "tag")
_IMAGES = ("image", "container")


def read_yaml(data: bytes, file: str, sought: Sought) -> Found:
    """The pins of a YAML file; SourceError, with the line, if it is none."""
    if not sought.may_be_pinned_in(data):
        return  # most of what names the package in YAML says nothing of its version
    try:
        documents = list(yaml.compose_all(data, Loader=_LOADER))
    except yaml.YAMLError as error:
        raise SourceError(f"is no YAML: {' '.join(str(error).split())}") from None
    except (RecursionError, ValueError):
        raise SourceError("is no YAML that can be read") from None
    for node in _mappings(documents):
        yield from _images(node, file, sought)
        yield from _installed(node, file, sought)


def _mappings(documents: Sequence[yaml.Node | None]) -> Iterator[yaml.MappingNode]:
    """Each mapping once, however often it is referred to, in the order of the file."""
    pending = [node for node in reversed(documents) if node is not None]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            yield node
            pending += [value for _, value in reversed(node.value)]
        elif isinstance(node, yaml.SequenceNode):
            pending += reversed(node.value)


def _images(node: yaml.MappingNode, file: str, sought: Sought) -> Found:
    texts = {
        key.value: value
        for key, value in node.value
        if isinstance(key, yaml.ScalarNode) and isinstance(value, yaml.ScalarNode)
    }
    tag = next((texts[key] for key in _TAGS if key in texts), None)
    named = [texts[key] for key in _NAMES if key in texts and sought.is_image(texts[key].value)]
    if tag is not None and named:
        yield from _image(f"{named[0].value}:{tag.value}", tag, file, sought)
        return
    for key in _IMAGES:
        if key in texts:
            yield from _image(texts[key].value, texts[key], file, sought)


def _image(reference: str, node: yaml.ScalarNode, file: str, sought: Sought) -> Found:
    place = Place(file, node.start_mark.line + 1, "image")
    pin = pin_of_image(reference, place, sought)
    if pin is not None:
        yield pin


def _installed(node: yaml.MappingNode, file: str, sought: Sought) -> Found:
    """The requirements under ``pip`` in an environment of Conda."""
    for key, value in node.value:
        if not isinstance(value, yaml.SequenceNode) or key.value != "pip":
            continue
        for item in value.value:
            text = item.value if isinstance(item, yaml.ScalarNode) else ""
            if not sought.begins(text):
                continue
            place = Place(file, item.start_mark.line + 1, "pip")
            try:
                pin = pin_of_text(text, place, sought)
            except InvalidRequirement:
                message = f"no requirement: {text}"
                yield Gap(kind="file", file=file, line=place.line, message=message)
                continue
            if pin is not None:
                yield pin
