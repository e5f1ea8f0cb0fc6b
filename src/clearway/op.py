"""`@op`: an operation is a plain function, declared once.

The declaration says what the door and the surfaces need to know and changes nothing about the function. Arguments,
their checks and the JSON Schema are drawn from the signature (arguments.py) only when a surface asks, so a hook never
pays for them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])


class Operation:
    """One thing a caller can ask of a room."""

    __slots__ = (
        *("cli", "core", "durable", "function", "group", "key_required", "keyed", "name", "rare", "tool", "writes"),
    )

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        writes: bool | tuple[str, ...],
        group: str,
        core: bool,
        keyed: str,
        durable: bool,
        cli: str,
        tool: bool,
        rare: tuple[str, ...],
        key_required: bool,
    ) -> None:
        self.function = function
        self.name: str = function.__name__
        self.writes = writes
        self.group = group
        self.core = core
        self.keyed = keyed
        self.durable = durable
        self.cli = cli
        self.tool = tool
        self.rare = rare
        self.key_required = key_required

    def writes_with(self, given: Mapping[str, Any]) -> bool:
        """Whether it changes the room when it is asked with these arguments."""
        by = self.writes
        return any(given.get(name) is not None for name in by) if isinstance(by, tuple) else by


def op(
    *,
    writes: bool | tuple[str, ...] = False,
    group: str = "work",
    core: bool = False,
    keyed: str = "",
    durable: bool = True,
    cli: str = "",
    tool: bool = True,
    rare: tuple[str, ...] = (),
    key_required: bool = False,
) -> Callable[[Function], Function]:
    """Declare an operation.

    writes: it changes the room, or the names of the arguments that make it do so. group: the tool group of the MCP
    profiles. core: it is in the default profile. keyed: it takes an idempotency key, valid for the caller's "agent" or
    only for its "session". durable: the reply promises something to another agent, so the commit reaches the disk
    first. cli: the words of its subcommand. tool: agents are offered it; what only a person may do is not for them.
    rare: arguments that are taken everywhere, and listed only where a client names a group of tools. key_required: what
    is done would hurt if it were done twice, so nobody may ask without a key.
    """

    def declare(function: Function) -> Function:
        function.operation = Operation(  # type: ignore[attr-defined]
            function,
            writes=writes,
            group=group,
            core=core,
            keyed=keyed,
            durable=durable,
            cli=cli,
            tool=tool,
            rare=rare,
            key_required=key_required,
        )
        return function

    return declare


def defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """What the arguments of an operation are that may be left out."""
    code = function.__code__  # type: ignore[attr-defined]
    given = function.__defaults__ or ()  # type: ignore[attr-defined]
    first = code.co_argcount - len(given)
    return dict(zip(code.co_varnames[first : code.co_argcount], given, strict=True))


def operation_of(function: Callable[..., Any]) -> Operation:
    """The declaration of a function decorated with `@op`."""
    declared: Operation = function.operation  # type: ignore[attr-defined]
    return declared
