"""Where things stand: three ways to answer, for the walk over the LibCST tree."""

from collections.abc import Iterator, Mapping
from typing import Protocol

import libcst as cst
from libcst.metadata import CodePosition, CodeRange, MetadataWrapper, PositionProvider

from pathaudit.ir import Region
from pathaudit.lower.positions import Positions
from pathaudit.lower.slices import Slice


class MismatchError(Exception):
    """The LibCST tree does not hold the same things as the ``ast`` tree."""


class Regions(Protocol):
    """Gives each statement, handler, case, call, comprehension, lambda and f-string its region.

    Nodes are asked for once each, in source order, outer before inner.
    """

    def take(self, node: cst.CSTNode, /) -> Region: ...


class FixedRegion:
    """The same region for everything, such as the parts of an f-string."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def take(self, _node: cst.CSTNode, /) -> Region:
        return self._region


class OrderedRegions:
    """Regions of the ``ast`` tree, dealt out in order."""

    def __init__(self, positions: Positions) -> None:
        self._queues: dict[str, Iterator[Region]] = {
            kind: iter(regions) for kind, regions in positions.items()
        }

    def take(self, node: cst.CSTNode, /) -> Region:
        """The next region of the node's kind.

        Raises:
            MismatchError: there is none left.
        """
        kind = type(node).__name__
        queue = self._queues.get(_SAME_KIND.get(kind, kind))
        region = next(queue, None) if queue else None
        if region is None:
            raise MismatchError(kind)
        return region

    def finish(self) -> None:
        """Check that all have been taken.

        Raises:
            MismatchError: some are left.
        """
        for kind, queue in self._queues.items():
            if next(queue, None) is not None:
                raise MismatchError(kind)


_SAME_KIND = {"ConcatenatedString": "FormattedString", "ExceptStarHandler": "ExceptHandler"}


class LocatedRegions:
    """Regions from LibCST's position provider; slow, for slices that ``ast`` sees differently."""

    def __init__(self, piece: Slice) -> None:
        wrapper = MetadataWrapper(piece.module, unsafe_skip_copy=True)
        self._ranges: Mapping[cst.CSTNode, CodeRange] = wrapper.resolve(PositionProvider)
        self._offset = piece.offset
        # A generator that is a call's only argument stands in the call's parentheses.
        self._callers: dict[cst.CSTNode, cst.Call] = {}

    def take(self, node: cst.CSTNode, /) -> Region:
        if isinstance(node, cst.Call):
            self._callers.update((each.value, node) for each in node.args if _is_bare(each.value))
        start = self._start(_first(node))
        keyword = _keyword(node)
        if keyword:
            end = CodePosition(start.line, start.column + len(keyword))
        else:
            end = self._end(_last(node))
        return Region(start.line + self._offset, start.column, end.line + self._offset, end.column)

    def _start(self, node: cst.CSTNode) -> CodePosition:
        if isinstance(node, _DELIMITED) and node.lpar:
            return self._ranges[node.lpar[-1]].start
        if node in self._callers:
            return self._ranges[self._callers[node].whitespace_after_func].end
        return self._ranges[node].start

    def _end(self, node: cst.CSTNode) -> CodePosition:
        if isinstance(node, _DELIMITED) and node.rpar:
            return self._ranges[node.rpar[0]].end
        return self._ranges[self._callers.get(node, node)].end


# Their own parentheses, which LibCST does not count, belong to the region.
_DELIMITED = (cst.GeneratorExp, cst.Tuple, cst.MatchTuple)


def _is_bare(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.GeneratorExp) and not node.lpar


def _keyword(node: cst.CSTNode) -> str:
    """The keyword that is the whole header of a node, if it is."""
    match node:
        case cst.Try() | cst.TryStar():
            return "try"
        case cst.ExceptHandler(type=None):
            return "except"
    return ""


def _first(node: cst.CSTNode) -> cst.CSTNode:
    """The part that starts the region of a node."""
    return _bare_pattern(node.pattern) if isinstance(node, cst.MatchCase) else node


def _bare_pattern(node: cst.MatchPattern) -> cst.CSTNode:
    """A pattern without parentheses around it."""
    return node.value if isinstance(node, cst.MatchValue | cst.MatchSingleton) else node


def _last(node: cst.CSTNode) -> cst.CSTNode:
    """The part that ends the region of a node."""
    match node:
        case cst.If(test=last) | cst.While(test=last) | cst.For(iter=last):
            return last
        case cst.Match(subject=last):
            return last
        case cst.With(items=items):
            asname = items[-1].asname
            return asname.name if asname else items[-1].item
        case cst.ExceptHandler(type=cst.BaseExpression() as last):
            return last
        case cst.ExceptStarHandler(type=last):
            return last
        case cst.MatchCase(pattern=pattern, guard=guard):
            return guard or _bare_pattern(pattern)
    return node
