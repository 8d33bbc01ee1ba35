"""The ``headroom`` command. A subcommand with words of its own is a module here, imported when it runs; any other is
made from its question (`question_commands`).

Every command ends with a status of `planner.ground.exit_status`.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from copy import copy
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click

from planner.cli import control_character_filter, options_from_settings, pager, progress_line, usage_errors
from planner.ground import garbage_collector, parallel_parts
from planner.ground.errors import HeadroomError, NotKnownError
from planner.ground.exit_status import ExitStatus
from planner.ground.words import choice
from planner.questions import CAPACITY, HEALTH, INDEX, MONEY, NOW, OVER_TIME, ROLLOUTS, SETUP, QuestionEntry
from planner.serve.processes import fork_workers


def name_of(question_entry: QuestionEntry) -> str:
    """How the command is called: ``capacity --seats``."""
    return " ".join(question_entry.called.split(" ")[:2])


_NO_QUESTIONS: Final = {
    "prices": QuestionEntry("", MONEY, "Show prices of machines and GPUs, or read today's from the Billing Catalog.", "costs --price-list"),
    "store": QuestionEntry("", OVER_TIME, "Snapshots over time: keep them, query them with SQL, compact them, see trends."),
    "store_snapshot": QuestionEntry("", OVER_TIME, "Keep clusters, and what was answered about them, in a store: a folder, S3, Google Cloud Storage.",
            "store snapshot", named="snapshot"),
    "sweep": QuestionEntry("", OVER_TIME, "Every workload of many snapshots, on all cores or a Dask cluster, into a store.", "store sweep"),
    "app": QuestionEntry("", SETUP, "The dashboard, on that cluster."),
    "serve": QuestionEntry("", SETUP, "A warning at kubectl apply (validating webhook), metrics, the dashboard for a team, tools for agents."),
    "mcp": QuestionEntry("", SETUP, "The questions as tools for agents, by the Model Context Protocol.", "serve --mcp"),
    "anonymize": QuestionEntry("", OVER_TIME, "The cluster under other names as a file, to be shown to others.", "store anonymize"),
    "dump": QuestionEntry("", SETUP, "The cluster as one file, which every command reads: what the rights there are let one list."),
}  # fmt: skip
"""Commands that ask no question of the hall."""
_LISTS: Final = ("prices",)
"""Those of them that may print a long answer."""

_MODULES: Final = {
    question_entry.named or name.replace("_", "-"): name
    for name, question_entry in {**INDEX, **_NO_QUESTIONS}.items()
    if question_entry.room
}
_ENTRIES: Final = {command: {**INDEX, **_NO_QUESTIONS}[name] for command, name in _MODULES.items()}
ROOMS: Final = {
    room: {
        name: question_entry.line
        for name, question_entry in _ENTRIES.items()
        if question_entry.room == room and not question_entry.called
    }
    for room in (NOW, ROLLOUTS, CAPACITY, HEALTH, MONEY, OVER_TIME, SETUP)
}
"""Room → command → one line, as the help has them."""

WITHIN: Final = {
    home: {name: question_entry for name, question_entry in _ENTRIES.items() if question_entry.called.split(" ")[0] == home}
    for commands in ROOMS.values() for home in commands
}  # fmt: skip
"""Command → those that stand within it, by the names they had by themselves, which go on working."""

COMMANDS: Final = {
    name: line
    for commands in ROOMS.values() for home, first in commands.items()
    for name, line in {home: first, **{name_of(question_entry): question_entry.line for question_entry in WITHIN[home].values()}}.items()
}  # fmt: skip
"""How each command is called (``capacity --seats``) → one line."""

FIRST: Final = ("overview", "rollout", "gate", "capacity", "costs", "app")
"""What the help names before all others."""
_HIDDEN: Final = ("completion",)
"""Commands that no help names: a shell's start-up file calls them."""
_OLD: Final = {"anonymise": "anonymize", "savings": "spot"}
"""Commands by the names they had, which go on working."""
_ALIASES: Final = {"costs": {"--spot": "spot"}}
"""Options that asked a command for another one's answer, which go on doing so."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def is_on_terminal() -> bool:
    """Whether a person reads what goes to standard error."""
    return sys.stderr.isatty()


def _with_quiet(command: click.Command) -> click.Command:
    """The command with ``--quiet``, which every one has; of a group its commands."""
    if isinstance(command, click.Group):
        for below in command.commands.values():
            _with_quiet(below)
    elif all(param.name != "quiet" for param in command.params):
        command.params.append(
            options_from_settings.HeadedOption(
                ["--quiet", "-q"], heading="Output", is_flag=True, is_eager=True, expose_value=False, callback=_silenced,
                help="No warnings and no progress on standard error; only errors.",
            )
        )  # fmt: skip
    return command


def _with_pager(command: click.Command) -> click.Command:
    """The command with ``--no-pager``, and its answer through a pager where that is long."""
    if isinstance(command, click.Group):
        for below in command.commands.values():
            _with_pager(below)
    elif command.callback is not None and all(param.name != "no_pager" for param in command.params):
        command.callback = pager.paged(command.callback)
        command.params.append(
            options_from_settings.HeadedOption(
                ["--no-pager", "no_pager"], heading="Output", is_flag=True, is_eager=True, expose_value=False, callback=_unpaged,
                help="Print a long answer at once; else it goes through PAGER on a terminal.",
            )
        )  # fmt: skip
    return command


def _unpaged(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[pager.NO_PAGER] = True


def _silenced(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[progress_line.QUIET] = True
        progress_line.end()


def _say_new_name(ctx: click.Context, old: str, new: str, arguments: Collection[str]) -> None:
    """On a terminal: a script's log isn't the place to learn names."""
    if is_on_terminal() and not ctx.resilient_parsing and not {"-q", "--quiet"} & set(arguments):
        click.echo(f"headroom: {old} is called headroom {new} now", err=True)


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for commands in ROOMS.values() for name in commands]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant: one that stands within another by its option, or by the name it had by itself."""
        first, arguments = _OLD.get(args[0], args[0]), args[1:]
        if (question_entry := _ENTRIES.get(first)) is not None and question_entry.called:
            _say_new_name(ctx, first, name_of(question_entry), arguments)
            return name_of(question_entry), self.get_command(ctx, first), arguments
        for option, name in _ALIASES.get(first, {}).items():
            if option in arguments:
                _say_new_name(ctx, f"{first} {option}", name, arguments)
                return name, self.get_command(ctx, name), [word for word in arguments if word != option]
        if first != args[0]:
            _say_new_name(ctx, args[0], first, arguments)
            return first, self.get_command(ctx, first), arguments
        for name, question_entry in WITHIN.get(first, {}).items():
            asks = question_entry.called.split(" ")[1:]
            if asks[0].startswith("-") and any(word.partition("=")[0] in asks for word in arguments):
                command = self.get_command(ctx, name)
                assert command is not None
                is_its_own = any(asks[0] in param.opts for param in command.params)
                is_kept = is_its_own and not {"-h", "--help", "--help-all"} & set(arguments)
                return (
                    name_of(question_entry),
                    command,
                    arguments if is_kept else [word for word in arguments if word not in asks],
                )
        if not first.startswith("-") and self.get_command(ctx, first) is None:
            hint = usage_errors.command_hint(args[0])
            instead = choice(
                args[0], {*self.list_commands(ctx), *_ENTRIES}, hint or "headroom --help lists the commands"
            )
            if hint and not Path(args[0]).is_dir():  # `snapshot.json`, a file that is there, is near `snapshot`
                instead = hint
            raise click.UsageError(f"No such command {args[0]!r}. {instead}", ctx)
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        cmd_name = _OLD.get(cmd_name, cmd_name)
        name = next((name for name, subcommand in _ENTRIES.items() if cmd_name in (name, name_of(subcommand))), None)
        if name is None and cmd_name in _HIDDEN:
            name = cmd_name
        if name is None:
            return None
        module = _MODULES.get(name, name).replace("-", "_")
        with garbage_collector.resting(
            keeps=True
        ):  # what is loaded stays; a tenth of the time went into looking through it
            if find_spec(f"{__name__}.{module}") is not None:
                command = import_module(f"{__name__}.{module}").command
            else:
                from planner.cli.question_commands import command_of

                command = command_of(module)
        assert isinstance(command, click.Command)
        for within, question_entry in WITHIN.get(name, {}).items():
            self._add(command, within, question_entry)
        if module in INDEX or module in _LISTS:
            _with_pager(command)
        return _with_quiet(command)

    def _add(self, home: click.Command, name: str, question_entry: QuestionEntry) -> None:
        """Let the help of `home` name a command that stands within it."""
        word = question_entry.called.split(" ")[1]
        if isinstance(home, click.Group):
            below = self.get_command(click.Context(self), name)
            assert below is not None
            home.add_command(below, word)
            for old in (old for old, new in _OLD.items() if new == word):
                hidden = copy(below)
                hidden.hidden = True
                home.add_command(hidden, old)
        elif all(word not in param.opts for param in home.params):
            epilog = f"Instead: {question_entry.line} Its options: headroom {name_of(question_entry)} --help"
            home.params.append(
                options_from_settings.HeadedOption(
                    [word], is_flag=True, expose_value=False, is_everyday=True, help=epilog
                )
            )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(len(name) for commands in ROOMS.values() for name in commands)
        lines = {name: line for commands in ROOMS.values() for name, line in commands.items()}
        sections: dict[str, tuple[str, ...]] = {"Start with": FIRST}
        sections |= {room: tuple(name for name in commands if name not in FIRST) for room, commands in ROOMS.items()}
        for title, names in sections.items():
            if names:
                with formatter.section(title):
                    formatter.write_dl([(name.ljust(widest), lines[name]) for name in names])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Exit status"):
            formatter.write_dl([(str(status.value), status.meaning) for status in ExitStatus])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="headroom-planner", prog_name="headroom")
@click.option("--no-pager", is_flag=True, is_eager=True, expose_value=False, callback=_unpaged,
              help="Print a long answer at once; else it goes through PAGER on a terminal.")  # fmt: skip
@click.option("--unpacked-limit", metavar="SIZE", envvar="HEADROOM_UNPACKED_LIMIT",
              help="How much of files and archives is read and unpacked at most, such as 8Gi; else 4Gi. At most twice as "
              "much memory is needed.")  # fmt: skip
@click.option("--accelerators", metavar="FILE", envvar="HEADROOM_ACCELERATORS",
              help="Your own accelerator resources and node labels, YAML or JSON; they stand before the built-in ones.")  # fmt: skip
def headroom(unpacked_limit: str | None, accelerators: str | None) -> None:
    """Capacity planning for GPU clusters: know before you apply.

    CLUSTER is a file, a folder or an archive (the output of kubectl get … -A -o json or yaml or of kubectl cluster-info
    dump, a must-gather, a support bundle; gzip, tar, zip), several of them joined by commas, "-" for standard input,
    "demo" for the embedded demo, "context:NAME" for a live cluster, or "store:URL#cluster@time" for a moment that
    headroom store snapshot kept.
    """
    from planner.sources import bounded_reading

    bounded_reading.use(unpacked_limit)
    click.get_current_context().call_on_close(lambda: bounded_reading.use(None))
    if accelerators:
        from planner.sources import accelerator_file as source

        source.use(accelerators)


def main(argv: list[str] | None = None) -> None:
    """Run the command line; every known error is one sentence on standard error and a status that tells its kind."""
    arguments = sys.argv[1:] if argv is None else argv
    garbage_collector.seldom()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's own pool of threads costs 25 ms and has nothing to do
    if os.getpid() == 1:  # of a container: the kernel gives process 1 no signal that it doesn't wait for itself
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    if sys.stderr is None:  # 2>&-
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - as long as the process
    if sys.stdin is None:  # <&-: as an empty one
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 - as long as the process
    if sys.stdout is None:  # >&-
        click.echo("headroom: standard output is closed. Send it to /dev/null if you don't need it", err=True)
        sys.exit(ExitStatus.BAD_INPUT)
    try:
        with pager.below_printing(partial(_printing, arguments)), parallel_parts.by(fork_workers.way()):
            status = _run(argv)
    except BaseException as error:
        if not _is_interrupt(error):
            raise
        status = ExitStatus.INTERRUPTED
    sys.exit(
        status
    )  # after what was raised is forgotten: its frames hold DuckDB's objects, which tell that they are left


@contextmanager
def _printing(given: Collection[str]) -> Iterator[None]:
    """What is printed is printable, and a line of progress goes before it."""
    with progress_line.shown(is_wanted=not {"-q", "--quiet"} & set(given)), control_character_filter.printable():
        yield


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C is what ended it: Python wraps what comes up while a class is made (``__set_name__``, before 3.12)
    in a RuntimeError, and a library may wrap it in errors of its own.
    """
    seen_ids: set[int] = set()
    while error is not None and id(error) not in seen_ids and not isinstance(error, SystemExit):
        if isinstance(error, KeyboardInterrupt | click.Abort):
            return True
        seen_ids.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def kubectl_plugin() -> None:
    """``kubectl headroom …``, which kubectl runs as ``kubectl-headroom …``: the same, on the current context."""
    from planner.cli import kubectl_plugin_arguments as plugin

    with control_character_filter.printable():
        try:
            argv = plugin.arguments(sys.argv[1:], headroom)
        except HeadroomError as error:
            click.echo(f"headroom: {error}", err=True)
            sys.exit(ExitStatus.BAD_INPUT)
    main(argv)


def _run(argv: list[str] | None) -> int:
    """The status of the command; known errors are printed."""
    try:
        status = headroom.main(args=argv, prog_name="headroom", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        usage_errors.hinted(error).show()
        return ExitStatus.BAD_INPUT
    except HeadroomError as error:
        if _is_interrupt(error):
            raise
        click.echo(f"headroom: {error}", err=True)
        return ExitStatus.NOT_KNOWN if isinstance(error, NotKnownError) else ExitStatus.BAD_INPUT
    except BrokenPipeError:
        return ExitStatus.ANSWERED
    except ModuleNotFoundError as error:  # of an environment that holds little: deploy/requirements-gate.txt
        package = (error.name or "").partition(".")[0]
        if package in ("", "planner", "headroom_planner"):
            raise
        fix = "Install Headroom with all that it needs: deploy/requirements.lock"
        click.echo(f"headroom: the package {package} isn't installed, which this needs. {fix}", err=True)
        return ExitStatus.BAD_INPUT
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left of the output would be tried again at the end
        click.echo(f"headroom: the output can't be written: {error.strerror}. Make room where it goes", err=True)
        return ExitStatus.BAD_INPUT
    return status if isinstance(status, int) else ExitStatus.ANSWERED
