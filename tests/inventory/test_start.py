"""How a process is started, out of command and args."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.inventory.container_entrypoint import read_start, slept_seconds, start_of, written_start
from planner.kubernetes.object_records import CommandForm

IMAGE, EXEC, SHELL, SHELL_EXEC = CommandForm.IMAGE, CommandForm.EXEC, CommandForm.SHELL, CommandForm.SHELL_EXEC


@pytest.mark.parametrize(
    ("command", "args", "form", "program"),
    [
        ([], [], IMAGE, ""),
        ([], ["--port", "80"], IMAGE, ""),
        (["python", "worker.py"], [], EXEC, "python"),
        (["/usr/local/bin/gunicorn"], ["app:app"], EXEC, "gunicorn"),
        (["/bin/sh", "-c", "python worker.py"], [], SHELL, "python"),
        (["/bin/sh", "-c"], ["python worker.py"], SHELL, "python"),
        (["sh", "-c", "exec python worker.py"], [], SHELL_EXEC, "python"),
        (["bash", "-ec", "set -e; cd /app && exec ./serve --port 80"], [], SHELL_EXEC, "serve"),
        (["bash", "-lc", "export A=b\nmigrate\ngunicorn app"], [], SHELL, "gunicorn"),
        (["sh", "-c", "TOKEN=abc python worker.py"], [], SHELL, "python"),
        (["sh", "-c", "# start\npython \\\n worker.py"], [], SHELL, "python"),
        (["sh", "-c", "cd /app"], [], SHELL, ""),
        (["sh", "-c"], [], SHELL, ""),
        (["sh", "/entrypoint.sh"], [], SHELL, "entrypoint.sh"),
        (["sh"], [], SHELL, "sh"),
        (["tini", "--", "python", "worker.py"], [], EXEC, "tini"),
        (["env", "A=b", "python"], [], EXEC, "python"),
        (["python3.12", "-u", "-m", "torch.distributed.run", "train.py"], [], EXEC, "torchrun"),
        (["python", "-W", "ignore", "-m", "celery", "worker"], [], EXEC, "celery"),
        (["python", "-m", "worker"], [], EXEC, "python"),
        (["python", "serve.py", "-m", "gunicorn"], [], EXEC, "python"),
        (["python", "-m"], [], EXEC, "python"),
        (["sh", "-c", "cd /app && python3 -m vllm.entrypoints.openai.api_server --model x"], [], SHELL, "vllm"),
        (["sh", "-c", "exec python -m uvicorn app:app"], [], SHELL_EXEC, "uvicorn"),
        (["env", "A=b", "sh", "-c", "python"], [], SHELL, "python"),
        (["env"], [], EXEC, "env"),
        (["$(PROGRAM)"], [], EXEC, ""),
        (["sh", "-c", '"$PROGRAM" x'], [], SHELL, ""),
        (["tini", "--", "sh", "-c", "python worker.py"], [], CommandForm.INIT_SHELL, "python"),
        (["/sbin/tini", "--"], ["bash", "-c", "cd /app; python worker.py"], CommandForm.INIT_SHELL, "python"),
        (["tini", "-g", "--", "sh", "-c", "python worker.py"], [], EXEC, "tini"),
        (["tini", "--", "sh", "-c", "exec python worker.py"], [], EXEC, "tini"),
        (["dumb-init", "--", "sh", "-c", "python worker.py"], [], EXEC, "dumb-init"),
        (
            ["sh", "-c", "trap 'kill $PID' TERM; python worker.py & PID=$!; wait $PID"],
            [],
            CommandForm.SHELL_TRAP,
            "python",
        ),
        (["sh", "-c", "trap '' TERM; python worker.py & wait"], [], SHELL, "python"),
        (["sh", "-c", "python worker.py > /dev/null 2>&1"], [], SHELL, "python"),
        (["gosu", "app", "python", "worker.py"], [], EXEC, "python"),
        (["gosu", "app", "sh", "-c", "python worker.py"], [], SHELL, "python"),
        (["nice", "-n", "10", "celery", "worker"], [], EXEC, "celery"),
        (["timeout", "3600", "python", "worker.py"], [], EXEC, "timeout"),
        (["torchrun", "--nproc_per_node=4", "train.py"], [], EXEC, "torchrun"),
        (["uv", "run", "worker.py"], [], EXEC, "uv"),
        (["conda", "run", "-n", "ml", "python", "worker.py"], [], EXEC, "conda"),
    ],
)
def test_start_of(command: list[str], args: list[str], form: CommandForm, program: str) -> None:
    assert start_of(command, args) == (form, program)


@given(st.lists(st.text(max_size=20), max_size=5), st.lists(st.text(max_size=20), max_size=5))
def test_the_program_is_a_name_and_nothing_else(command: list[str], args: list[str]) -> None:
    _, program = start_of(command, args)
    assert program == "" or (len(program) <= 63 and not set(program) & set(" =/$\"'\n"))


@pytest.mark.parametrize("form", CommandForm)
@pytest.mark.parametrize("program", ["", "python", "entrypoint.sh"])
def test_a_start_is_written_and_read_back(form: CommandForm, program: str) -> None:
    assert read_start(written_start(form, program)) == (form, program)


@pytest.mark.parametrize("text", [None, "", "magic python", "exec python --password x", "exec  python", "exec a/b"])
def test_what_is_no_start_says_nothing(text: str | None) -> None:
    assert read_start(text) == (IMAGE, "")


@pytest.mark.parametrize(
    ("command", "seconds"),
    [
        (["sleep", "20"], 20),
        (["/bin/sh", "-c", "sleep 20"], 20),
        (["sh", "-c", "sleep 15s;"], 15),
        (["sh", "-c", "curl localhost/quit && sleep 20"], None),
        (["sh", "-c", "sleep 20 && nginx -s quit"], 20),
        (["sh", "-c", "curl localhost/quit; sleep 20"], 20),
        (["bash", "-c", "sleep 5\nsleep 0.25m && kill 1"], 20),
        (["sleep", "0.5m"], 30),
        (["sh", "-c", "sleep 5; exit; sleep 20"], 5),
        (["sh", "-c", "if test -e /busy; then echo; sleep 20; fi"], None),
        (["sh", "-c", "true || sleep 20"], None),
        (["sh", "-c", "echo 'a; sleep 20; b'"], None),
        (["sh", "-c", "(true; sleep 20; true) &"], None),
        (["/stop", "--say", "bye; sleep 20"], None),
        (["sh", "-c", "sleep 20 & nginx -s quit"], None),
        (["sh", "-c", "sleep $SECONDS"], None),
        (["sleep", "0.2"], None),
        (["sleep", "9999999999"], None),
        (["nginx", "-s", "quit"], None),
        ([], None),
    ],
)
def test_what_a_hook_sleeps(command: list[str], seconds: int | None) -> None:
    assert slept_seconds(command) == seconds
