"""Branch tests as literals: is a conjunction feasible, and for which integers.

``literals`` holds the types, ``feasibility`` decides conjunctions, ``merging`` combines
disjunctions of them, ``rendering`` prints them as Python.
"""

from pathaudit.conditions.feasibility import feasible, implied, witness
from pathaudit.conditions.literals import (
    ALWAYS,
    LIMIT,
    Bound,
    Conjunction,
    Literal,
    PathCondition,
    Test,
    negate,
)
from pathaudit.conditions.merging import both, conjoin, disjoin, simplify
from pathaudit.conditions.rendering import render

__all__ = [
    "ALWAYS",
    "LIMIT",
    "Bound",
    "Conjunction",
    "Literal",
    "PathCondition",
    "Test",
    "both",
    "conjoin",
    "disjoin",
    "feasible",
    "implied",
    "negate",
    "render",
    "simplify",
    "witness",
]
