"""The call graph of forward branches: functions, and inside each the arms, loops and handoffs."""

from pathaudit.callgraph.build import CallGraph

__all__ = ["CallGraph"]
