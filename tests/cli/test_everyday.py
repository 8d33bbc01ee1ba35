"""What every command has: quiet, a line while it waits, Ctrl-C, completion; doctor and the kubectl plugin."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.shell_completion import ShellComplete

from planner.cli import COMMANDS, headroom, kubectl_plugin, main
from planner.cli import kubectl_plugin_arguments as plugin
from planner.cli.output import write_file
from planner.ground.errors import InputError
from planner.ground.records import replace
from planner.kubernetes.object_records import FrozenMap, Presence, Snapshot
from planner.questions.doctor import DoctorSettings, Weight, answer
from planner.sources import cluster_argument, demo
from planner.sources.source_limits import LIMITS
from tests.builders.objects import node
from tests.sources import kubeconfigs
from tests.sources.api_server import api_server, as_recorded

PROGRAM = [sys.executable, "-c", "from planner.cli import main; main()"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    out, err = capsys.readouterr()
    return int(str(stopped.value.code or 0)), out, err


# ── quiet, waiting, Ctrl-C ───────────────────────────────────────────────────────────────────────────────────────────
def test_quiet_says_no_warnings(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps(node("a")))
    assert "not in the input" in run(capsys, "capacity", str(path))[2]
    assert run(capsys, "capacity", str(path), "--quiet")[2] == ""
    status, out, err = run(capsys, "capacity", str(tmp_path / "none.json"), "-q")
    assert (status, out) == (1, "")
    assert err.startswith("headroom: "), "an error is told all the same"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_may_be_quiet(name: str) -> None:
    command = headroom.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None
    flags = [
        flag
        for one in getattr(command, "commands", {"": command}).values()
        for flag in one.params
        if flag.name == "quiet"
    ]
    assert flags


def test_no_help_names_an_option_that_its_command_lacks() -> None:
    flags: dict[str, set[str]] = {}
    named: dict[str, set[str]] = {}
    for name in COMMANDS:
        command = headroom.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        for word, one in getattr(command, "commands", {"": command}).items():
            key = f"{name} {word}"
            flags[key] = {flag for option in one.params for flag in option.opts + option.secondary_opts}
            helps = [getattr(option, "help", None) or "" for option in one.params]
            named[key] = {flag for said in helps for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]+(?![\w-]*=)", said)}
            wrong = [said for said in helps if re.search("Else from (assumed|nobody|follows)", said)]
            assert not wrong, (key, wrong)
    ours = set().union(*flags.values())
    assert {key: sorted(found) for key in flags if (found := (named[key] & ours) - flags[key])} == {}
    assert sum(map(len, named.values())) > 20


def on_a_terminal(*arguments: str) -> str:
    """What a command writes where standard error is a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "120"}
    process = subprocess.Popen(
        [*PROGRAM, *arguments], stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL, env=environment
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 65_536)
        except OSError:
            break
        if not part:
            break
        said += part
    process.wait()
    os.close(ours)
    return said.decode()


def test_a_line_while_it_takes_long_and_none_afterwards(tmp_path: Path) -> None:
    slow = tmp_path / "slow.py"
    slow.write_text(
        "import sys, time\nfrom planner.cli import headroom, main\nimport planner.cli.cluster_argument as c\n"
        "read = c.source.read_cluster\n"
        "def slowly(*a, **k):\n    time.sleep(1.8)\n    return read(*a, **k)\n"
        "c.source.read_cluster = slowly\nmain()\n"
    )
    program = PROGRAM.copy()
    PROGRAM[:] = [sys.executable, str(slow)]
    try:
        said, quiet = on_a_terminal("overview", "demo"), on_a_terminal("overview", "demo", "--quiet")
    finally:
        PROGRAM[:] = program
    assert re.search(r"reading demo … \d+ s", said)
    assert "\x1b[2K5 of 20 workloads" in said, "the line goes before anything is printed"
    assert "…" not in quiet.split("5 of 20")[0]


def test_ctrl_c_is_130_and_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    there = tmp_path / "gate.json"
    there.write_text("before")
    command = [sys.executable, "-c", "from planner.cli import main; main()", "gate", "demo", "-f", "-"]
    command += ["--write", f"json={there}"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(b"\n" * 500_000)  # a pipe holds 64 KiB: this comes back once it is read on the other side
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert (out, b"Traceback" in err) == (b"", False)
    assert there.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["gate.json"]


@pytest.mark.parametrize("wrapped", ["RuntimeError()", "InputError('unreadable')"])
def test_ctrl_c_is_130_whatever_it_is_wrapped_in(wrapped: str) -> None:
    """Before Python 3.12 a class that is being made says RuntimeError when Ctrl-C comes in ``__set_name__``, as
    dataclasses of an import do.
    """
    program = (
        "import planner.cli as cli; from planner.ground.errors import InputError\n"
        "def interrupted(**_):\n"
        "    try:\n        raise KeyboardInterrupt\n"
        f"    except KeyboardInterrupt as error:\n        raise {wrapped} from error\n"
        "cli.headroom.main = interrupted\ncli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_file(path, "one")
    write_file(path, b"two")
    assert path.read_text() == "two"
    with pytest.raises(InputError, match="can't be written"):
        write_file(tmp_path / "none" / "a", "three")
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


def test_what_is_no_file_is_written_into_and_never_put_away(tmp_path: Path) -> None:
    pipe, unread, link, secret = (tmp_path / name for name in ("pipe", "unread", "link", "secret"))
    os.mkfifo(pipe)
    os.mkfifo(unread)
    secret.write_text("before")
    secret.chmod(0o600)
    link.symlink_to(secret)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_file(pipe, "one")
    assert os.read(reader, 10) == b"one"
    os.close(reader)
    write_file(link, "two")
    assert (link.is_symlink(), secret.read_text(), stat.S_IMODE(secret.stat().st_mode)) == (True, "two", 0o600)
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    write_file(Path(os.devnull), "nowhere")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
    for bad in (unread, tmp_path, Path(), tmp_path / "circle", tmp_path / "a\0b", tmp_path / ("a" * 300)):
        with pytest.raises(InputError, match="can't be written"):
            write_file(bad, "three")


# ── completion ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_of_that_shell(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    status, script, _ = run(capsys, "completion", shell)
    assert status == 0
    assert f"_HEADROOM_COMPLETE={shell}_complete" in script
    program = shutil.which(shell)
    if program is not None:
        subprocess.run([program, "-n"], input=script, text=True, check=True)


def test_bash_completes_commands_and_options() -> None:
    def completed(*words: str) -> list[str]:
        environment = {**os.environ, "_HEADROOM_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}  # fmt: skip
        told = subprocess.run(PROGRAM, env=environment, capture_output=True, text=True, check=False)
        return [line.partition(",")[2] for line in told.stdout.splitlines()]

    assert completed("headroom", "ga") == ["gate"]
    assert "--policy" in completed("headroom", "gate", "--pol")
    assert completed("headroom", "overview", "demo", "-o", "ya") == ["yaml"]


def completions(*words: str) -> list[str]:
    complete = ShellComplete(headroom, {}, "headroom", "_HEADROOM_COMPLETE")
    return [one.value for one in complete.get_completions(list(words[:-1]), words[-1])]


def test_completion_names_what_the_cluster_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert completions("rollout", "demo", "-w", "llm") == ["llm-canary", "llm-lab/llm-canary", "llm-serve"]
    assert "prod/llm-serve" in completions("rollout", "demo", "-w", "")
    assert completions("rollout", "demo", "-w", "prod/llm") == ["prod/llm-serve"]
    assert completions("rollout", "demo", "-w", "Deployment/prod/llm") == ["deployment/prod/llm-serve"]
    assert completions("overview", "demo", "-n", "pr") == ["prod"]
    assert completions("overview", "demo", "--pool", "gpu-a") == ["gpu-a100"]
    assert completions("rollout", "-w", "llm") == []  # of no cluster
    assert completions("rollout", "context:nowhere", "-w", "llm") == []  # no key asks a server
    assert completions("rollout", str(tmp_path / "none.json"), "-w", "llm") == []


def a_deployment(name: str) -> dict[str, object]:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": "x"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
    metadata = {"name": name, "namespace": "ml", "uid": name}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def test_completion_reads_a_file_once_and_anew_where_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file, reads = tmp_path / "cluster.json", list[str]()
    read = cluster_argument.read_cluster

    def counted(spec: str) -> Snapshot:
        reads.append(spec)
        return read(spec)

    monkeypatch.setattr(cluster_argument, "read_cluster", counted)
    for names in (["worker"], ["worker", "writer"]):
        file.write_text(json.dumps({"kind": "List", "items": [node("gpu-0"), *map(a_deployment, names)]}))
        for _ in range(2):
            assert completions("rollout", str(file), "-w", "w") == names
    assert reads == [str(file)] * 2
    kept = list((tmp_path / "cache").rglob("*.json"))
    assert [one.stat().st_mode & 0o077 for one in kept] == [0, 0]


# ── doctor ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_what_was_refused_gets_the_exact_rights() -> None:
    known = demo.read()
    refused = FrozenMap({**known.presence, "ResourceQuota": Presence.REFUSED, "Deployment": Presence.REFUSED})
    found = answer(replace(known, presence=refused), DoctorSettings())
    role = yaml.safe_load(found.rbac)
    assert role["kind"] == "ClusterRole"
    assert {(rule["apiGroups"][0], *rule["resources"]) for rule in role["rules"]} == {
        ("apps", "deployments"),
        ("", "resourcequotas"),
    }
    assert all(rule["verbs"] == ["list"] for rule in role["rules"])
    by_kind = {one.kind: one for one in found.kinds}
    assert by_kind["Deployment"].objects is None
    assert by_kind["Pod"].objects == 133
    assert "refused: " in str(found.sentence)


def test_doctor_of_nodes_alone_is_4_and_says_what_fetches_the_rest(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps(node("a")))
    status, out, err = run(capsys, "doctor", str(path))
    assert status == 4
    assert "kubectl get " in out
    assert "pods" in out.split("kubectl get ")[1]
    assert err == "", "told once, in the answer"
    assert run(capsys, "doctor", "demo")[0] == 0


def test_doctor_of_a_live_cluster_says_what_it_cost_the_api_server(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with api_server(as_recorded) as (configuration, asked):
        monkeypatch.setenv("KUBECONFIG", str(kubeconfigs.write(tmp_path / "config", configuration.host)))
        out = run(capsys, "doctor", "context:edu")[1]
        asked_once = len(asked)
        load = json.loads(run(capsys, "doctor", "context:edu", "-o", "json")[1])["result"]["load"]
    assert load["requests_last_minute"] >= len(asked)
    assert load["most_per_minute"] == LIMITS.requests_per_minute
    (told,) = (line for line in out.splitlines() if line.startswith("Load: "))
    assert int(told.split()[1].replace(",", "")) >= asked_once > 10
    assert f"never more than {LIMITS.requests_per_minute} in any" in told
    assert "Load:" not in run(capsys, "doctor", "demo")[1]
    assert json.loads(run(capsys, "doctor", "demo", "-o", "json")[1])["result"]["load"] is None


def test_weights_are_known_for_all() -> None:
    assert {one.weight for one in answer(demo.read(), DoctorSettings()).kinds} <= set(Weight)


# ── kubectl headroom ─────────────────────────────────────────────────────────────────────────────────────────────────
CONFIG = {
    "apiVersion": "v1", "kind": "Config", "current-context": "here",
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}], "users": [{"name": "u", "user": {}}],
    "contexts": [
        {"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "team"}},
        {"name": "there", "context": {"cluster": "c", "user": "u"}},
    ],
}  # fmt: skip


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config"
    path.write_text(json.dumps(CONFIG))
    monkeypatch.setenv("KUBECONFIG", str(path))
    return path


def words(line: str) -> str:
    return " ".join(plugin.arguments(line.split(), headroom))


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("overview", "overview context:here"),
        ("overview --context there", "overview context:there"),
        ("--context=there overview -o json", "overview context:there -o json"),
        ("overview demo", "overview demo"),
        ("overview -n prod", "overview context:here --namespace prod"),
        ("-n prod findings", "findings context:here --namespace prod"),
        ("rollout -w deployment/api", "rollout context:here -w deployment/team/api"),
        ("rollout -w deployment/api -n prod", "rollout context:here --namespace prod -w deployment/prod/api"),
        (
            "rollout --context there --workload=deployment/api",
            "rollout context:there --workload=deployment/default/api",
        ),
        ("rollout -w deployment/prod/api -n x", "rollout context:here --namespace x -w deployment/prod/api"),
        ("gate -f m.yaml", "gate context:here --namespace team -f m.yaml"),
        ("gate -f m.yaml -n prod", "gate context:here --namespace prod -f m.yaml"),
        ("prices show", "prices show"),
        ("drift", "drift context:here"),
        ("overview --help", "overview --help"),
        ("--help", "--help"),
    ],
)
def test_plugin_takes_kubectls_options(kubeconfig: Path, given: str, meant: str) -> None:
    assert words(given) == meant


def test_plugin_without_a_context_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(InputError, match="there is no context"):
        words("overview")
    with pytest.raises(InputError, match="has no value"):
        words("overview --context")


def test_plugin_reads_another_kubeconfig(kubeconfig: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text(json.dumps({**CONFIG, "current-context": "there"}))
    assert words(f"overview --kubeconfig {other}") == "overview context:there"


def test_kubectl_finds_and_runs_it(tmp_path: Path) -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("no kubectl")
    script = tmp_path / "kubectl-headroom"
    script.write_text(f"#!{sys.executable}\nfrom planner.cli import kubectl_plugin\nkubectl_plugin()\n")
    script.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    told = subprocess.run(
        ["kubectl", "headroom", "overview", "demo"], env=environment, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("5 of 20 workloads would get stuck if changed now.")


def test_the_entry_point_ends_like_a_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["kubectl-headroom", "overview", "--context"])
    with pytest.raises(SystemExit) as stopped:
        kubectl_plugin()
    assert stopped.value.code == 1
    assert "headroom: --context: has no value" in capsys.readouterr().err
