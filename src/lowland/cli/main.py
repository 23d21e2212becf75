"""``lowland``: the commands, and how errors are reported in one line."""

from __future__ import annotations

import _thread
import atexit
import contextlib
import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import click

from lowland.cli.messages import on_command_line
from lowland.cli.options import DEBUG, Command, CommandGroup, Option
from lowland.cli.show import one_line, print_json
from lowland.cli.verbs.apply import inverse, predict, transform
from lowland.cli.verbs.compare import compare
from lowland.cli.verbs.components import components
from lowland.cli.verbs.describe import describe
from lowland.cli.verbs.dimension import dimension
from lowland.cli.verbs.evaluate import evaluate
from lowland.cli.verbs.explore import explore
from lowland.cli.verbs.fit import fit
from lowland.cli.verbs.inspect import inspect, look, methods
from lowland.cli.verbs.plan import plan
from lowland.cli.verbs.reliability import reliability
from lowland.cli.verbs.sample import sample
from lowland.errors import LowlandError, file_error, was_interrupted

Translation = Callable[[BaseException | str], str]
COMPLETE = "_LOWLAND_COMPLETE"  # in the environment, while a shell asks for completions
GOOD, FAILED, MISUSED, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143


class Lowland(CommandGroup):
    """The group of commands; every error ends in one line and an exit code instead of a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of their use."""
        return list(self.commands)

    def main(
        self, args: Sequence[str] | None = None, prog_name: str | None = None, complete_var: str | None = None,
        standalone_mode: bool = True, **extra: Any,
    ) -> Any:  # fmt: skip
        """Run a command and exit with its exit code."""
        words = list(sys.argv[1:] if args is None else args)
        if not standalone_mode or COMPLETE in os.environ:
            return super().main(words, prog_name, complete_var, standalone_mode, **extra)
        flags = words[: words.index("--")] if "--" in words else words

        def call() -> None:
            with self.make_context("lowland", list(words), **extra) as ctx:
                ctx.meta["lowland.words"] = tuple(words)  # so that a report can show the command
                self.invoke(ctx)

        def translate(message: BaseException | str) -> str:
            return on_command_line(message, self.named(words))

        sys.exit(exit_code_of(call, as_json="--json" in flags, debug="--debug" in flags, translate=translate))

    def named(self, words: Sequence[str]) -> click.Command:
        """Return the command named by the arguments."""
        command: click.Command = self
        for word in words:
            if isinstance(command, click.Group) and not word.startswith("-"):
                command = command.get_command(click.Context(command), word) or command
        return command


def exit_code_of(call: Callable[[], None], *, as_json: bool, debug: bool, translate: Translation = str) -> int:
    """Run a command, report its error, if any, and return the exit code.

    ``translate`` turns the marks of messages into flags.
    """
    try:
        with warnings_in_one_line(translate), no_interrupt_lost():
            call()
        sys.stdout.flush()
        return GOOD
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.exceptions.NoArgsIsHelpError as nothing:
        nothing.show()
        return MISUSED
    except (KeyboardInterrupt, click.Abort) as error:
        return report_error(error, "Interrupted. No incomplete file was written.", INTERRUPTED, as_json, debug)
    except BrokenPipeError as error:
        with contextlib.suppress(OSError, ValueError):  # Python must not write the rest of the buffer at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return report_error(error, "The program that reads the output closed the pipe early.", FAILED, False, debug)
    except click.UsageError as error:
        hint = f" (See {error.ctx.command_path} --help.)" if error.ctx is not None else ""
        return report_error(error, f"{error.format_message()}{hint}", MISUSED, as_json, debug)
    except click.ClickException as error:
        return report_error(error, error.format_message(), FAILED, as_json, debug)
    except LowlandError as error:
        text = " ".join([translate(error), *getattr(error, "__notes__", ())])  # a note is a command
        return report_error(error, text, FAILED, as_json, debug)
    except MemoryError as error:
        text = f"Out of memory ({error}). Use fewer rows or columns, or a method that reads files in chunks."
        return report_error(error, text, FAILED, as_json, debug)
    except OSError as error:
        found = LowlandError(f"{error.filename or 'A file'}: {error.strerror or error}.")
        text = str(file_error(error.filename or "a file", error, found))
        return report_error(error, text, FAILED, as_json, debug)
    except Exception as error:
        if was_interrupted(error):
            return report_error(error, "Interrupted. No incomplete file was written.", INTERRUPTED, as_json, debug)
        text = f"Unexpected error: {type(error).__name__}: {error}. Please report it with the output of --debug."
        return report_error(error, text, FAILED, as_json, debug)


def report_error(error: BaseException, text: str, code: int, as_json: bool, debug: bool) -> int:
    """Report an error in one line, as text on stderr or as JSON on stdout, and return the exit code."""
    if debug:
        import traceback

        traceback.print_exception(error)
    line = one_line(text)
    if as_json:
        print_json({"error": {"type": type(error).__name__, "message": line}})
    else:
        click.echo(f"lowland: {line}", err=True)
    return code


@contextlib.contextmanager
def warnings_in_one_line(translate: Translation) -> Iterator[None]:
    """Show every warning once, as one line on stderr."""
    seen: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        line = one_line(translate(message))
        if line not in seen:
            seen.add(line)
            click.echo(f"lowland: warning: {line}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


@contextlib.contextmanager
def no_interrupt_lost() -> Iterator[None]:
    """Raise Ctrl-C again that came during a callback of the interpreter, such as that of a weak reference.

    Python cannot raise an error there, and would print that it ignores it. A thread raises it a moment later.
    """
    before = sys.unraisablehook

    def again(ignored: Any) -> None:
        if ignored.exc_type is not None and issubclass(ignored.exc_type, KeyboardInterrupt):
            threading.Timer(0.01, _thread.interrupt_main).start()
        else:
            before(ignored)

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = before


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from lowland import __version__

        click.echo(f"lowland {__version__}")
        ctx.exit()


def _print_completion(shell: str) -> None:
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None  # the argument allows no other
    try:
        click.echo(made(cli, {}, "lowland", COMPLETE).source())
    except RuntimeError as error:  # a version of bash that is too old
        raise LowlandError(str(error)) from None


completion = Command(
    "completion",
    callback=_print_completion,
    params=[click.Argument(["shell"], type=click.Choice(("bash", "zsh", "fish")))],
    help="Print the script that completes commands, options and files with the Tab key.\n\n\b\n"
    'bash   eval "$(lowland completion bash)"      in ~/.bashrc\n'
    'zsh    eval "$(lowland completion zsh)"       in ~/.zshrc\n'
    "fish   lowland completion fish | source       in ~/.config/fish/config.fish",
    short_help="Print the completion script of a shell.",
)


cli = Lowland(
    "lowland",
    commands=[
        look, explore, plan, fit, transform, inverse, predict, evaluate, reliability, describe, compare, dimension,
        inspect, components, methods, sample, completion,
    ],
    params=[
        Option("--version", "Print the version.", is_flag=True, is_eager=True, expose_value=False,
               callback=_print_version),
        DEBUG,
    ],
    help="Dimensionality reduction: fit, apply, evaluate and compare methods on data files.\n\n\b\n"
    "lowland sample iris --to iris.csv\n"
    "lowland fit pca iris.csv -k 0.95 --to z.parquet --model m.lowland\n"
    "lowland transform m.lowland iris.csv --to z2.parquet",
    no_args_is_help=True,
)  # fmt: skip


def main() -> NoReturn:
    """Run the command line."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell, as in: lowland methods >&-
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  open until the program ends
        getattr(sys, name).reconfigure(errors="replace")  # a terminal without × prints ? and does not fail
    with contextlib.suppress(ValueError):  # not in the main thread
        # SIGTERM, as from a scheduler, leaves no unfinished file either
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    atexit.register(gc.freeze)  # or Python searches all objects for garbage when it ends, which takes up to a second
    cli.main(prog_name="lowland")
    raise SystemExit(GOOD)  # not reached: cli.main exits


if __name__ == "__main__":
    main()
