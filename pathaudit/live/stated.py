"""What a user states of a server, whatever the text is that says it."""

from msgspec import Struct


class Stated(Struct, frozen=True, kw_only=True, eq=False):
    """The arguments that a text states.

    ``form`` is that of the text. ``complete`` tells that nothing is cut off or left open, and
    ``defaults`` that what is absent has its default, as in a command. ``values`` are by field
    name; what stands in the text but has no value, such as ``$PORT``, is in ``unresolved`` as it
    is written, and ``written`` tells how a value that was looked up stands there. ``stops`` says
    where and why it ends early.
    """

    form: str
    complete: bool
    defaults: bool = False
    values: dict[str, object] = {}
    unresolved: dict[str, str] = {}
    written: dict[str, str] = {}
    environment: dict[str, str] = {}
    version: str = ""
    prefix: str = ""
    line: int = 0
    stops: str = ""
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def find(self, name: str) -> tuple[bool, object]:
        """Whether a field, by its dotted name, has a value here, and which."""
        owner, *parts = name.split(".")
        if owner not in self.values:
            return False, None
        value = self.values[owner]
        for part in parts:
            if not isinstance(value, dict) or part not in value:
                return False, None
            value = value[part]
        return True, value
