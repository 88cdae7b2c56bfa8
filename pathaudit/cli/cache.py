"""``pathaudit cache``: what is kept between scans."""

import click

from pathaudit.cli.group import Program
from pathaudit.cli.manual import CACHE_FILES, CACHE_VARIABLE, Command, Manual, documented
from pathaudit.cli.options import RELEASES
from pathaudit.errors import UsageError

MANUAL = Manual(
    text="""
    A scan keeps its answers in the user's cache folder, or in the one that PATHAUDIT_CACHE_DIR
    names, with what each depends on. An answer is used again only where all of that is unchanged.
    Releases and archives are kept there too, unpacked.
    """,
    examples=(
        ("pathaudit cache info", "where, and how much"),
        ("pathaudit cache clear", "the next scan is a cold one"),
    ),
    variables=(CACHE_VARIABLE,),
    files=(CACHE_FILES,),
)
INFO = Manual(examples=(("pathaudit cache info", ""),), variables=(CACHE_VARIABLE,))
CLEAR = Manual(examples=(("pathaudit cache clear", ""),), variables=(CACHE_VARIABLE,))


@documented(MANUAL)
@click.group(cls=Program)
def cache() -> None:
    """Look at what is kept between scans, or delete it."""


@documented(INFO)
@click.command(cls=Command)
def info() -> None:
    """Print where answers are kept, and how much."""
    from pathaudit.cache import open_cache
    from pathaudit.sources.releases import Releases

    kept = open_cache()
    found = kept.info()
    kept.close()
    archives, size = Releases(kept.path.parent / RELEASES).size()
    rows = (
        ("file", found.path),
        ("size", f"{found.size / 2**20:.1f} MiB"),
        ("trees", f"{found.states:,}"),
        ("answers", f"{found.answers:,}"),
        ("releases", f"{archives:,} in {size / 2**20:.1f} MiB"),
    )
    for name, value in rows:
        click.echo(f"{name:8} {value}")
    if kept.fault:
        click.echo(f"fault    {kept.fault}")


@documented(CLEAR)
@click.command(cls=Command)
def clear() -> None:
    """Delete all that is kept; the next scan is a cold one."""
    from pathaudit.cache import open_cache
    from pathaudit.sources.releases import Releases

    kept = open_cache()
    releases = Releases(kept.path.parent / RELEASES)
    try:
        size = kept.clear() + releases.size()[1]
        releases.clear()
    except OSError as error:
        raise UsageError(
            f"{error.filename or kept.path}: cannot be deleted: {error.strerror}"
        ) from error
    click.echo(f"deleted {size / 2**20:.1f} MiB")


cache.add_command(info)
cache.add_command(clear)
