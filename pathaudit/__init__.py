"""Static code-path auditor for the forward functions of LLM serving frameworks.

pathaudit answers one question about code that nobody can afford to run just to find out: is my
hook even running, on every path? Start reading at ``audit.py``: one page shows the pipeline.

A module imports only from the lines below its own. ``tests/test_architecture.py`` enforces it:

    cli
    config
    reporters
    bump
    graph | live
    labels
    history
    baseline
    diff
    audit
    relies
    reach | hooks | matrix
    variants
    gates
    summary
    policy
    suppress
    check
    callgraph
    paths
    work
    cache
    index
    lower
    conditions
    ruleset
    remarks
    decisions
    results
    ir
    sources
    errors
    hints

``results`` and ``decisions`` never format themselves; a reporter sees them and nothing else.
Audited code is read, never imported, built or executed.
"""

__version__ = "0.1.0"
