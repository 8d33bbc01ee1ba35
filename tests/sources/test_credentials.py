"""Who we are to an API server: kubeconfigs and service accounts against a local HTTPS server, and what goes wrong with them."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kubernetes.config import incluster_config, kube_config

from planner.ground.errors import SourceError
from planner.inventory import input_report
from planner.sources import cluster_argument, kubeconfig, kubernetes_api
from planner.sources.api_server_connection import Connection
from planner.sources.kubernetes_api import Api
from tests.bench.webhook import certificate
from tests.builders.certificates import DAY
from tests.builders.certificates import certificate as dated
from tests.sources import kubeconfigs
from tests.sources.api_server import Answer, Asked, Play, Tls, api_server, as_recorded
from tests.sources.living import status

PODS = "/api/v1/pods"


@pytest.fixture
def tls(tmp_path: Path) -> Tls:
    return Tls(*certificate(tmp_path))


def only(token: str | Callable[[], str]) -> Play:
    """As recorded, for who sends this token."""

    def play(asked: Asked) -> Answer:
        wanted = token() if callable(token) else token
        known = (asked.authorization or "").lower() == f"bearer {wanted}".lower()
        return as_recorded(asked) if known else status(401, "Unauthorized")

    return play


def use(monkeypatch: pytest.MonkeyPatch, path: Path, host: str, user: dict[str, Any], tls: Tls | None = None) -> None:
    more: dict[str, Any] = {"certificate_authority": tls.certificate} if tls else {}
    monkeypatch.setenv("KUBECONFIG", str(kubeconfigs.write(path, host, user, **more)))


def plugin(folder: Path, body: str) -> dict[str, Any]:
    """A user whose credentials a program gives: `body` is its Python."""
    program = folder / "plugin"
    program.write_text(f"#!{sys.executable}\nimport json, os, sys, time\n{body}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": str(program), "interactiveMode": "Never",
            "env": [{"name": "GIVEN", "value": "yes"}], "args": ["get-token"],
        }
    }  # fmt: skip


CREDENTIAL = 'print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": %s}}))'


# ── kubeconfig ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_token_file(tmp_path: Path, tls: Tls, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "token"
    file.write_text("from-a-file")
    with api_server(only("from-a-file"), tls) as (configuration, _):
        use(monkeypatch, tmp_path / "config", configuration.host, {"tokenFile": str(file)}, tls)
        assert len(cluster_argument.read_cluster("context:edu").pods) == 133


def test_a_plugin_gives_the_token_with_its_environment_and_arguments(
    tmp_path: Path, tls: Tls, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = plugin(tmp_path, CREDENTIAL % 'os.environ["GIVEN"] + sys.argv[1]')
    with api_server(only("yesget-token"), tls) as (configuration, _):
        use(monkeypatch, tmp_path / "config", configuration.host, user, tls)
        assert len(cluster_argument.read_cluster("context:edu").pods) == 133


def test_a_token_that_expires_in_the_middle_is_asked_of_the_plugin_again_once(
    tmp_path: Path, tls: Tls, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    body = f"open({str(runs)!r}, 'a').write('x'); " + CREDENTIAL % f'"token-" + str(len(open({str(runs)!r}).read()))'
    asked_for = 0

    def valid() -> str:
        nonlocal asked_for
        asked_for += 1
        return "token-1" if asked_for < 5 else "token-2"

    with api_server(only(valid), tls) as (configuration, _):
        use(monkeypatch, tmp_path / "config", configuration.host, plugin(tmp_path, body), tls)
        assert len(cluster_argument.read_cluster("context:edu").pods) == 133
    assert runs.read_text() == "xx"


def test_credentials_that_are_new_and_still_refused_end_it(
    tmp_path: Path, tls: Tls, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    body = f"open({str(runs)!r}, 'a').write('x'); " + CREDENTIAL % '"never-right"'
    with api_server(only("another"), tls) as (configuration, asked):
        use(monkeypatch, tmp_path / "config", configuration.host, plugin(tmp_path, body), tls)
        with pytest.raises(SourceError, match=r"credentials aren't accepted: Unauthorized.*Log in again"):
            cluster_argument.read_cluster("context:edu")
    assert (runs.read_text(), len(asked)) == ("xx", 2)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param("sys.exit('gcloud: log in first')", "gcloud: log in first", id="fails"),
        pytest.param("print('no json')", "gave no credentials", id="says nonsense"),
        pytest.param("print(json.dumps({'kind': 'ExecCredential'}))", "gave no credentials", id="says too little"),
    ],
)
def test_a_plugin_that_fails_is_told_in_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, said: str
) -> None:
    use(monkeypatch, tmp_path / "config", "https://127.0.0.1:1", plugin(tmp_path, body))
    with pytest.raises(SourceError, match=f"exec plugin .*{said}"):
        kubernetes_api.read("edu")


def test_a_plugin_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "gke-gcloud-auth-plugin-not-here"}}
    use(monkeypatch, tmp_path / "config", "https://127.0.0.1:1", user)
    with pytest.raises(SourceError, match="gke-gcloud-auth-plugin-not-here gave no credentials"):
        kubernetes_api.read("edu")


def test_a_plugin_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubeconfig, "PLUGIN_SECONDS", 0.5)
    use(monkeypatch, tmp_path / "config", "https://127.0.0.1:1", plugin(tmp_path, "time.sleep(20)"))
    with pytest.raises(SourceError, match="gave no credentials within"):
        kubernetes_api.read("edu")


def test_a_client_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = tmp_path / "client"
    ours.mkdir()
    cert, key = certificate(ours)
    own, own_key = certificate(tmp_path)
    server = Tls(own, own_key, clients=cert)
    with api_server(as_recorded, server) as (configuration, _):
        use(
            monkeypatch, tmp_path / "config", configuration.host, {"client-certificate": str(cert), "client-key": str(key)}, server
        )  # fmt: skip
        assert len(cluster_argument.read_cluster("context:edu").pods) == 133
        use(monkeypatch, tmp_path / "config", configuration.host, {}, server)
        with pytest.raises(SourceError, match=r"refuses our certificate|broke the secure connection off"):
            cluster_argument.read_cluster("context:edu")


# ── in a pod ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def pod(tmp_path: Path, tls: Tls, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The token file of a pod whose service account it is."""
    token = tmp_path / "serviceaccount-token"
    token.write_text("of-the-pod")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tls.certificate))
    return token


def address(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    name, _, port = host.removeprefix("https://").partition(":")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", name)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)


def test_the_service_account_of_a_pod(pod: Path, tls: Tls, monkeypatch: pytest.MonkeyPatch) -> None:
    with api_server(only("of-the-pod"), tls) as (configuration, _):
        address(monkeypatch, configuration.host)
        found = cluster_argument.read_cluster("context:in-cluster")
    assert len(found.pods) == 133
    assert found.source == "in-cluster"


def test_a_token_that_the_kubelet_renews_is_read_again(pod: Path, tls: Tls, monkeypatch: pytest.MonkeyPatch) -> None:
    with api_server(only(pod.read_text), tls) as (configuration, asked):
        address(monkeypatch, configuration.host)
        connection = kubernetes_api.connected("in-cluster")
        assert Api(connection).snapshot().pods
        pod.write_text("renewed")  # within the minute for which the client keeps what it read
        assert Api(connection).snapshot().pods
    assert {one.authorization for one in asked} == {"bearer of-the-pod", "bearer renewed"}


def test_outside_a_pod_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(
        SourceError, match="context:in-cluster: the context can't be used: Service host/port is not set"
    ):
        kubernetes_api.read("in-cluster")


# ── the server's side ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("code", [301, 302, 307, 308])
def test_a_redirect_is_refused_and_gets_no_credentials(code: int) -> None:
    with api_server(as_recorded) as (other, at_other):

        def elsewhere(asked: Asked) -> Answer:
            return Answer(status=code, body="", headers={"Location": f"{other.host}{asked.path}?token=secret"})

        with api_server(elsewhere) as (configuration, asked):
            configuration.api_key = {"BearerToken": "Bearer made-up"}
            api = Api(Connection(configuration, name="edu"))
            with pytest.raises(SourceError, match=r"redirects to http://127.0.0.1:\d+: not followed") as told:
                api.snapshot()
    assert "secret" not in str(told.value)
    assert (len(asked), at_other) == (1, [])


def test_a_certificate_that_nobody_knows(tls: Tls, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    foreign, _ = certificate(tmp_path / "other")
    with api_server(as_recorded, tls) as (configuration, asked):
        configuration.ssl_ca_cert = str(foreign)
        with pytest.raises(SourceError, match="certificate isn't trusted: self-signed certificate"):
            Api(Connection(configuration, name="edu")).snapshot()
    assert asked == []


def test_a_certificate_that_expired(tmp_path: Path) -> None:
    cert, key = dated(tmp_path, 0.0, time.time() - DAY)
    with (
        api_server(as_recorded, Tls(cert, key)) as (configuration, _),
        pytest.raises(SourceError, match="certificate isn't trusted: certificate has expired"),
    ):
        Api(Connection(configuration, name="edu")).snapshot()


def test_certificates_that_end_soon_are_said_and_hold_nothing_up(tmp_path: Path) -> None:
    now = time.time()
    cert, key = dated(tmp_path, now - 350 * DAY, now + 5.5 * DAY)
    own, own_key = dated(tmp_path, now - 350 * DAY, now + 2.5 * DAY, "own")
    with api_server(as_recorded, Tls(cert, key, clients=own)) as (configuration, _):
        configuration.cert_file, configuration.key_file = str(own), str(own_key)
        found = Api(Connection(configuration, name="edu")).snapshot()
    said = [one.what for one in found.problems if one.code == input_report.EXPIRES]
    assert [one.partition(" (")[0] for one in said] == [
        "the API server's certificate expires in 5 days",
        "the client certificate of this context expires in 2 days",
    ]
    assert len(found.pods) == 133


def test_one_that_is_over_is_said_even_where_nobody_checks_it(tmp_path: Path) -> None:
    now = time.time()
    cert, key = dated(tmp_path, now - 350 * DAY, now - 3.5 * DAY)
    with api_server(as_recorded, Tls(cert, key)) as (configuration, _):
        configuration.verify_ssl = False
        found = Api(Connection(configuration, name="edu")).snapshot()
    assert "the API server's certificate expired 3 days ago" in " ".join(one.what for one in found.problems)


def test_a_client_certificate_that_is_over_is_named_where_it_is_refused(tmp_path: Path) -> None:
    """An API server takes such a client for nobody: 401, as kube-apiserver's x509 authenticator does."""
    now = time.time()
    own, own_key = dated(tmp_path, now - 350 * DAY, now - 3.5 * DAY, "own")
    with api_server(lambda _: status(401, "Unauthorized"), Tls(*certificate(tmp_path))) as (configuration, _):
        configuration.cert_file, configuration.key_file = str(own), str(own_key)
        with pytest.raises(SourceError, match=r"Unauthorized; the client certificate expired 3 days ago"):
            Api(Connection(configuration, name="edu")).snapshot()


def test_nothing_of_the_credentials_is_kept_or_said(tmp_path: Path, tls: Tls, monkeypatch: pytest.MonkeyPatch) -> None:
    with api_server(lambda _: status(500, "etcd is down"), tls) as (configuration, _):
        use(monkeypatch, tmp_path / "config", configuration.host, {"token": "very-secret"}, tls)
        before = (tmp_path / "config").read_bytes()
        monkeypatch.setattr(kubernetes_api, "FIRST_WAIT_SECONDS", 0.0)
        with pytest.raises(SourceError) as told:
            kubernetes_api.read("edu")
    assert "very-secret" not in json.dumps([told.value.what, told.value.where, told.value.fix])
    assert (tmp_path / "config").read_bytes() == before
    assert os.environ["KUBECONFIG"] == str(tmp_path / "config")
    assert kube_config.KUBE_CONFIG_DEFAULT_LOCATION
