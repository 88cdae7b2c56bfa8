"""What happens to modules on one variant of the forward, and where; data only."""

from msgspec import Struct

from pathaudit.hooks.values import Module

# How a module is run or used.
CALLED = "called"  # module(...): hooks fire
FORWARD = "forward"  # module.forward(...): no registered hook fires
METHOD = "method"  # another method that does the work of its forward, or a step of it
RECIPE = "recipe"  # methods that a recipe lists, and something runs later
FUSED = "fused"  # its weights are read, or what it holds computes with it
HANDED = "handed"  # given to something that cannot be followed
RAISES = "raises"  # given to something that refuses its class


class Event(Struct, frozen=True):
    """Something that happens to a module at a place.

    ``within`` is the function around it, ``text`` the code, ``when`` the tests around it there,
    ``layers`` the range of layers, where a stack of them is run, and ``via`` the place of the call
    that leads there, if it is another one.
    """

    module: Module
    how: str
    file: str
    line: int
    end_line: int
    within: str
    text: str
    when: tuple[str, ...] = ()
    layers: str = ""
    via: str = ""
