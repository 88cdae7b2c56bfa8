"""``pathaudit cache``: what is kept between scans."""

import click

from pathaudit.cli.group import Program
from pathaudit.errors import UsageError

EXAMPLES = """
\b
Examples:
  pathaudit cache info
  pathaudit cache clear
"""


@click.group(cls=Program, epilog=EXAMPLES)
def cache() -> None:
    """Look at what is kept between scans, or delete it.

    A scan keeps its answers in the user's cache folder, or in the one that PATHAUDIT_CACHE_DIR
    names, with what each depends on. An answer is used again only where all of that is unchanged.
    """


@cache.command()
def info() -> None:
    """Print where answers are kept, and how much."""
    from pathaudit.cache import open_cache

    kept = open_cache()
    found = kept.info()
    kept.close()
    rows = (
        ("file", found.path),
        ("size", f"{found.size / 2**20:.1f} MiB"),
        ("trees", f"{found.states:,}"),
        ("answers", f"{found.answers:,}"),
    )
    for name, value in rows:
        click.echo(f"{name:8} {value}")
    if kept.fault:
        click.echo(f"fault    {kept.fault}")


@cache.command()
def clear() -> None:
    """Delete all that is kept; the next scan is a cold one."""
    from pathaudit.cache import open_cache

    kept = open_cache()
    try:
        size = kept.clear()
    except OSError as error:
        raise UsageError(f"{kept.path}: cannot be deleted: {error.strerror}") from error
    click.echo(f"deleted {size / 2**20:.1f} MiB")
