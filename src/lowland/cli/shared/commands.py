"""Commands of the ``lowland`` program: help in sections, and suggestions for misspelled names."""

from __future__ import annotations

from typing import Any

import click

from lowland.cli.shared.options import OTHER


class Command(click.Command):
    """A command whose help groups its options by section.

    ``python`` names the class or function whose parameters are its flags: messages then name the flags.
    """

    def __init__(self, *args: Any, python: str | None = None, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.python = python

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; a self-organizing map has --grid instead of -k."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name == "-k" and any(param.name == "grid" for param in self.params):
                raise click.UsageError(
                    f"{self.name} has no -k. Set the number of rows and columns of the map with --grid.", ctx
                ) from error
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help in sections, in the order of their first options."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = None if isinstance(param, click.Argument) else param.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(param, "section", OTHER), []).append(record)
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)


class CommandGroup(click.Group):
    """A group that suggests similar names for an unknown command."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command by name."""
        command = self.get_command(ctx, args[0])
        if command is not None:
            return args[0], command, args[1:]
        if not args[0].startswith("-"):
            raise click.UsageError(self.missing(ctx, args[0]), ctx)
        return super().resolve_command(ctx, args)

    def missing(self, ctx: click.Context, name: str, what: str = "command") -> str:
        """Return the message for an unknown name."""
        from lowland.suggestions import suggested

        known = self.list_commands(ctx)
        close = suggested(name, known)
        hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"Choose one of: {', '.join(known)}."
        return f"There is no {what} {name!r}. {hint}"
