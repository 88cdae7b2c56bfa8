"""Where a framework is published beside the package index, as data."""

from msgspec import Struct


class Published(Struct, frozen=True, forbid_unknown_fields=True):
    """Addresses whose tags carry the versions of releases: ``v0.5.6`` is that of release 0.5.6.

    ``repositories`` are ``host/owner/name``, ``images`` ``owner/name`` in whatever registry.
    """

    repositories: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
