"""The command line: one module per command, which imports what it needs when it runs."""

import click

from pathaudit import __version__
from pathaudit.cli.bump import bump
from pathaudit.cli.cache import cache
from pathaudit.cli.diff import diff
from pathaudit.cli.explain import explain
from pathaudit.cli.gates import gates
from pathaudit.cli.graph import graph
from pathaudit.cli.group import Program
from pathaudit.cli.history import history
from pathaudit.cli.live import live
from pathaudit.cli.matrix import matrix
from pathaudit.cli.reach import reach
from pathaudit.cli.rules import rules
from pathaudit.cli.scan import scan

EXIT_STATUS = """
\b
Exit status:
  0    nothing that fails the run
  1    findings that fail it
  2    a mistake in the request, said in one line
  130  interrupted
"""


@click.group(
    cls=Program, epilog=EXIT_STATUS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="pathaudit", message="%(prog)s %(version)s")
def main() -> None:
    """Is my hook even running, on every path?

    pathaudit reads the model forward functions of an LLM serving framework, follows every path
    through their branches and calls, and says which paths skip what must happen there. The code is
    read as text: it is never imported, built or run.
    """


main.add_command(scan)
main.add_command(graph)
main.add_command(diff)
main.add_command(bump)
main.add_command(history)
main.add_command(gates)
main.add_command(live)
main.add_command(matrix)
main.add_command(reach)
main.add_command(explain)
main.add_command(rules)
main.add_command(cache)
