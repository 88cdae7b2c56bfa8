"""The command line: one module per command, which imports what it needs when it runs."""

import click

from pathaudit import __version__
from pathaudit.cli.bump import bump
from pathaudit.cli.cache import cache
from pathaudit.cli.completion import completion
from pathaudit.cli.config import config
from pathaudit.cli.diff import diff
from pathaudit.cli.explain import explain
from pathaudit.cli.gates import gates
from pathaudit.cli.graph import graph
from pathaudit.cli.group import Program
from pathaudit.cli.history import history
from pathaudit.cli.hooks import hooks
from pathaudit.cli.live import live
from pathaudit.cli.manual import FILES, FINDINGS_FAIL, VARIABLES, Manual, documented
from pathaudit.cli.matrix import matrix
from pathaudit.cli.patch import patch
from pathaudit.cli.reach import reach
from pathaudit.cli.rules import rules
from pathaudit.cli.scan import scan

MANUAL = Manual(
    text="""
    pathaudit reads the model forward functions of an LLM serving framework, follows every path
    through their branches and calls, and says which paths skip what must happen there. The code is
    read as text: it is never imported, built or run.

    Start with `pathaudit scan`, or `pathaudit scan path/to/sglang`.
    """,
    examples=(
        ("pathaudit scan", "the installed sglang"),
        ("pathaudit scan git:v0.5.6 --repo ~/src/sglang", ""),
        ("pathaudit diff sglang==0.5.20 sglang==0.5.23", "what an upgrade breaks"),
        ("pathaudit gates forward_batch.can_run_tbo", "which flag selects a path"),
        ("pathaudit live --log server.log", "what your server runs"),
        ("pathaudit explain skipped-aux-capture", "a rule"),
        ("pathaudit scan --help", "all of a command"),
    ),
    statuses=FINDINGS_FAIL,
    variables=VARIABLES,
    files=FILES,
)


@documented(MANUAL)
@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pathaudit", message="%(prog)s %(version)s")
def main() -> None:
    """Is my hook even running, on every path?"""


main.add_command(scan)
main.add_command(graph)
main.add_command(diff)
main.add_command(bump)
main.add_command(history)
main.add_command(gates)
main.add_command(live)
main.add_command(patch)
main.add_command(reach)
main.add_command(hooks)
main.add_command(matrix)
main.add_command(explain)
main.add_command(rules)
main.add_command(config)
main.add_command(completion)
main.add_command(cache)
