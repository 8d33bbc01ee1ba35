"""The ``headroom`` command: a module of this package for each subcommand that has words of its own, imported when it is asked
for; a question without one has a command that is made from it (`plain`).

Every command ends with a status of `planner.ground.exit_status`.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Final

import click

from planner.cli import stream, waiting
from planner.ground import collector, parts
from planner.ground.errors import HeadroomError, NotKnownError
from planner.ground.exit_status import MEANING, ExitStatus
from planner.processes import forked
from planner.questions import CAPACITY, COST, DECIDE, HEALTH, HISTORY, INDEX, MANY, SEE

_NO_QUESTIONS: Final[dict[str, dict[str, str]]] = {
    DECIDE: {"serve": "A warning at kubectl apply (validating webhook), and metrics; with the dashboard, for a team."},
    SEE: {
        "app": "The dashboard, on that cluster.",
        "mcp": "The questions as tools for agents, by the Model Context Protocol.",
        "anonymise": "The cluster under other names, to be shown to others.",
        "completion": "What bash, zsh or fish reads to complete commands and options.",
    },
    COST: {"prices": "Show prices of machines and GPUs, or read today's from the Billing Catalog."},
    MANY: {"sweep": "Every workload of many snapshots, on all cores or a Dask cluster, into a store."},
    HISTORY: {
        "snapshot": "Keep clusters, and what was answered about them, in a store: a folder, S3, Google Cloud Storage.",
        "store": "What is in a store, asked with SQL, and kept small.",
    },
}
"""Section of ``--help`` → command → one line, for commands that ask no question of the hall."""


def _sections() -> dict[str, dict[str, str]]:
    """Section → command → one line; the questions of the hall stand as in its index."""
    found: dict[str, dict[str, str]] = {section: {} for section in (DECIDE, CAPACITY, COST, HEALTH, MANY, HISTORY, SEE)}
    for name, entry in INDEX.items():
        if entry.section:
            found[entry.section][name.replace("_", "-")] = entry.line
    return {section: commands | _NO_QUESTIONS.get(section, {}) for section, commands in found.items()}


SECTIONS: Final = _sections()
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
COMMANDS: Final = {name: line for commands in SECTIONS.values() for name, line in commands.items()}


def _with_quiet(command: click.Command) -> click.Command:
    """The command with ``--quiet``, which every one has; of a group its commands."""
    if isinstance(command, click.Group):
        for below in command.commands.values():
            _with_quiet(below)
    elif all(one.name != "quiet" for one in command.params):
        command.params.append(
            click.Option(
                ["--quiet", "-q"], is_flag=True, is_eager=True, expose_value=False, callback=_silenced,
                help="No warnings and no progress on standard error; errors are told.",
            )
        )  # fmt: skip
    return command


def _silenced(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[waiting.QUIET] = True
        waiting.end()


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = cmd_name.replace("-", "_")
        with collector.resting(
            keeps=True
        ):  # what is loaded stays, and a tenth of the time went into looking through it
            if find_spec(f"{__name__}.{module}") is not None:
                command = import_module(f"{__name__}.{module}").command
            else:
                from planner.cli.plain import command_of

                command = command_of(module)
        assert isinstance(command, click.Command)
        return _with_quiet(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, COMMANDS))
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name.ljust(widest), line) for name, line in commands.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Exit status"):
            formatter.write_dl([(str(status.value), MEANING[status]) for status in ExitStatus])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headroom-planner", prog_name="headroom")
@click.option("--unpacked-limit", metavar="SIZE", envvar="HEADROOM_UNPACKED_LIMIT",
              help="The most of files and archives that is read and unpacked, such as 8Gi; else 4Gi. At most twice as "
              "much memory is needed.")  # fmt: skip
@click.option("--accelerators", metavar="FILE", envvar="HEADROOM_ACCELERATORS",
              help="Your own accelerator resources and node labels, YAML or JSON; they stand before the built-in ones.")  # fmt: skip
def headroom(unpacked_limit: str | None, accelerators: str | None) -> None:
    """Capacity planning for GPU clusters: told before you apply.

    CLUSTER is a file, a folder or an archive (the output of kubectl get … -A -o json or yaml or of kubectl cluster-info
    dump, a must-gather, a support bundle; gzip, tar, zip), several of them joined by commas, "-" for standard input,
    "demo" for the embedded demo, "context:NAME" for a live cluster, or "store:URL#cluster@time" for a moment that
    headroom snapshot kept.
    """
    from planner.sources import bounded

    bounded.use(unpacked_limit)
    click.get_current_context().call_on_close(lambda: bounded.use(None))
    if accelerators:
        from planner.sources import accelerators as source

        source.use(accelerators)


def main(argv: list[str] | None = None) -> None:
    """Run the command line; every known error is one sentence on standard error and a status that tells its kind."""
    given = sys.argv[1:] if argv is None else argv
    if os.getpid() == 1:  # of a container: the kernel gives process 1 no signal that it doesn't wait for itself
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        with waiting.shown(is_wanted=not {"-q", "--quiet"} & set(given)), stream.printable(), parts.by(forked.way()):
            _run(argv)
    except BaseException as error:
        if not _is_interrupt(error):
            raise
        sys.exit(ExitStatus.INTERRUPTED)


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C is what ended it: Python wraps what comes up while a class is made (``__set_name__``, before 3.12)
    in a RuntimeError, and a library may wrap it in errors of its own.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen and not isinstance(error, SystemExit):
        if isinstance(error, KeyboardInterrupt | click.Abort):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def kubectl_plugin() -> None:
    """``kubectl headroom …``, which kubectl runs as ``kubectl-headroom …``: the same, on the current context."""
    from planner.cli import plugin

    with stream.printable():
        try:
            argv = plugin.arguments(sys.argv[1:], headroom)
        except HeadroomError as error:
            click.echo(f"headroom: {error}", err=True)
            sys.exit(ExitStatus.BAD_INPUT)
    main(argv)


def _run(argv: list[str] | None) -> None:
    try:
        status = headroom.main(args=argv, prog_name="headroom", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        sys.exit(ExitStatus.BAD_INPUT)
    except HeadroomError as error:
        if _is_interrupt(error):
            raise
        click.echo(f"headroom: {error}", err=True)
        sys.exit(ExitStatus.NOT_KNOWN if isinstance(error, NotKnownError) else ExitStatus.BAD_INPUT)
    except BrokenPipeError:
        sys.exit(ExitStatus.ANSWERED)
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left of the output would be tried again at the end
        click.echo(f"headroom: the output can't be written: {error.strerror}. Make room where it goes", err=True)
        sys.exit(ExitStatus.BAD_INPUT)
    sys.exit(status if isinstance(status, int) else ExitStatus.ANSWERED)
