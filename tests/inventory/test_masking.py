"""Secrets in log lines, in every way that programs were seen to print them: rather too much is hidden than too little."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.health.restarts.log_line_templates import content, digest, last_words, template
from planner.inventory.log_secret_masking import (
    _FORM,
    _WORDS,
    HIDDEN,
    _may_tell,
    _plugins,
    masked,
    said,
    without_keys,
    without_login,
)
from planner.kubernetes.object_records import PodLog
from tests.quick import examples

LETTERS = string.ascii_letters + string.digits
S = "hunter2Zq"  # stands for the secret


@pytest.mark.parametrize(
    "line",
    [
        f"DB_PASS={S}", f"DBPASS={S}", f"dbPass: {S}", f"db.pass={S}", f"pwd={S}", f"Server=x;Uid=y;Pwd={S};", f"PGPASSWORD={S} psql",
        f"--db-password {S}", f"--db-password={S}", f"--password '{S} x'", f"-token {S}", f"--api-key {S}", f"--secret-key {S}",
        f"passwd {S}", f"passwd: {S}", f"password {S} accepted", f"pass {S}", f"token {S}", f"api key {S}", f"client_secret {S}",
        f"secret is {S}", f"the password was {S}", f"API key is: {S}", f"Password for bob: {S}", f"password -> {S}", f"password [{S}]",
        f"GET /b?sig={S}&x=1", f"https://x/y?se=1&sig={S}", f"?X-Amz-Signature={S}", f"/cb?code={S}", f"&access_token={S}", f"?api_key={S}",
        f"Authorization: Bearer {S}", f"Authorization: Digest username=bob, response={S}", f"authorization={S}", f"Proxy-Authorization: Basic {S}",
        f'"Authorization": "Token {S}"', f"Cookie: a=1; session={S}", f"Set-Cookie: sid={S}; Path=/", f"Bearer {S}1234",
        f"https://bob:{S}@x.y/z", f"amqp://a:{S}@mq", f"redis://:{S}@redis", f"mongodb+srv://u:{S}@c/x", f"curl -u bob:{S} http://x",
        f"mysql -u root -p{S} db", f"redis-cli -a {S} ping", f"CREATE USER x IDENTIFIED BY '{S}'", f"AccountKey={S}==;Endpoint=x",
        f'{{"password": "{S} two"}}', f'{{\\"password\\":\\"{S} two\\"}}', f"{{'secret': '{S}'}}", f'"passwd", "{S}"', f'password: "a \\" {S}"',
        f"X-Api-Key: {S}", f"api_key => {S}", f"aws_session_token := {S}", f"dsn={S}", f"connectionString: {S}", f"private_key={S}",
        f"AKIA{S.upper()}", f"hf_{S}", f"sk-proj-{S}", f"sk-ant-api03-{S}", f"xoxb-{S}", f"glpat-{S}", f"ghp_{S}{S}", f"github_pat_{S}",
        f"npm_{S}{S}", f"eyJ{S}.{S}.{S}", f"AIza{S}{S}", f"SG.{S}.{S}", f"sk_live_{S}", f"hvs.{S}", f"nvapi-{S}", f"dckr_pat_{S}", f"shpat_{S}",
        f"-----BEGIN RSA PRIVATE KEY-----\\nMII{S}\\n-----END RSA PRIVATE KEY-----", f"-----BEGIN PRIVATE KEY----- {S}",
        f"key={''.join(random.Random(1).choices(LETTERS, k=20))}{S}{S}aA1", f"blob {S * 4}",
        f"PGPASSWORD {S}", f"LICENSE_KEY={S}", f"docker login -u bob -p {S}", f"podman login -u {S} -p x1", f"curl --user bob:{S} x", f"jdbc:oracle:thin:scott/{S}@//db:1/x",
        f"dial bob:{S}@db failed", f"https://discord.com/api/webhooks/123/{S}", f"https://hooks.slack.com/services/T0/B0/{S}",
        f"https://outlook.office.com/webhook/1@2/IncomingWebhook/ab/{S}", f"https://x.webhook.office.com/webhookb2/{S}", f"the password for admin is {S}",
        f"A temporary password is generated for root@localhost: {S}", f"pass phrase: a {S}", f"passphrase is correct {S} staple", f"seed phrase: abandon {S}",
        f"mnemonic: abandon ability {S}", f"password: 'it''s {S}'", f'password: "a"" {S}"', f"Server=db;Password=Ab {S} 1;x=y", f"login failed using {S} as password",
        f"Passwort: {S}", f"contraseña: {S}", f"mot de passe: {S}", f"пароль: {S}", f"密码：{S}", f"パスワード={S}", f"pass\u200bword={S}", f"\ufeffpa\u00adssword={S}", f"ｐａｓｓｗｏｒｄ＝{S}",
        f"PASSWORD%3D{S}", f"password\\u003d{S}", f"<password>{S}</password>", f"requirepass {S}", f"logged in as admin:{S}", f"glptt-{S}", f"NRAK-{S}", f"sbp_{S}",
        f"GOCSPX-{S}", f"1//0{S}", f"abC8Q~{S}{S}", "join abcdef.hunter2zqabcdefg".replace("hunter2zq", S.lower()), f"root:$6$salt${S}:18000", f"$2b$12${S}{S}",
    ],
)  # fmt: skip
def test_the_secret_is_hidden(line: str) -> None:
    shown = template(f"ERROR {line}")
    assert S.lower() not in shown.lower()
    assert HIDDEN in shown


@pytest.mark.parametrize("name", ["AKIA", "ASIA", "xoxb-", "xoxp-", "glpat-", "hf_", "sk-proj-", "sk-", "ghp_", "npm_"])
def test_tokens_with_a_name_anywhere_in_a_line(name: str) -> None:
    drawn = random.Random(13)
    for _ in range(50):
        letters = string.ascii_uppercase + string.digits if name.endswith("IA") else LETTERS
        token = "".join(drawn.choices(letters, k=36 if not name.endswith("IA") else 16))
        for line in (f"failed with {name}{token}", f"[{name}{token}]", f"a={name}{token},b", f"'{name}{token}'"):
            assert token[4:] not in masked(line), line


def test_a_private_key_over_many_lines() -> None:
    body = ["".join(random.Random(n).choices(LETTERS + "+/", k=64)) for n in range(12)]
    lines = [
        "starting",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        *body,
        "short==",
        "-----END OPENSSH PRIVATE KEY-----",
        "error: bad",
    ]
    log = PodLog(namespace="a", pod="b", container="c", is_previous=False, lines=tuple(lines))
    kept = content(log)
    assert kept[0] == "starting"
    assert kept[-1] == "error: bad"
    assert set(kept[1:-1]) == {HIDDEN}
    shown = " ".join((*digest(kept).alarming, *last_words(kept)))
    assert not any(line in shown for line in [*body, "short=="])
    assert set(without_keys([*body, "short9=="])) == {HIDDEN}  # the beginning may be cut off


def test_a_key_as_putty_writes_it() -> None:
    lines = ["PuTTY-User-Key-File-3: ssh-rsa", "Private-Lines: 2", "AAAA", "BBBB=", "Private-MAC: 0aF", "started"]
    assert list(without_keys(lines)) == [lines[0], *[HIDDEN] * 4, "started"]


def test_a_key_that_never_ends_hides_no_more_than_a_key() -> None:
    lines = ["-----BEGIN PRIVATE KEY-----", *(f"error {n}" for n in range(2_000))]
    assert list(without_keys(lines))[-1] == "error 1999"


@pytest.mark.parametrize(
    "line",
    [
        "password authentication failed for user bob",
        "the secret is missing",
        "token expired",
        "invalid token received",
        "no space left on device",
        'secret "db" not found',
        "couldn't find key host in Secret dev/db",
        "Traceback (most recent call last)",
        "org.springframework.beans.factory.support.AbstractAutowireCapableBeanFactory.createBean",
        "helm upgrade --install failed: context deadline exceeded",
        "/usr/lib/python3.11/site-packages/numpy/core/getlimits.py UserWarning",
    ],
)
def test_what_tells_the_cause_stays(line: str) -> None:
    assert template(line) == line


@pytest.mark.parametrize(
    "line",
    [
        "at Object.<anonymous> (/app/node_modules/express@4.18.2/lib/index.js)",
        'failed calling webhook "a.b.c": Post "https://a.b.svc:443/mutate"',
        "error: port 8080:http is in use by web@node1",
        'Failed to pull image "registry.example.com/app:1@sha256:0123"',
        "pass 1 of 2 took 30s",
    ],
)
def test_what_is_no_secret_stays(line: str) -> None:
    assert masked(line) == line


@pytest.mark.parametrize(
    "evil",
    [
        "a",
        "pass",
        "secret",
        "password=",
        "a.b-",
        "://a",
        "\\",
        '"',
        "'a",
        "aA1",
        "?sig",
        "mysql ",
        "eyJ.",
        "--pass ",
        "-----BEGIN ",
    ],
)
def test_a_hostile_line_ends(evil: str) -> None:
    """No time is asserted: what backtracks without a bound would not come back from this."""
    for line in (evil * 50_000, f"{evil * 50_000}="):
        assert len(template(line)) <= 240


@pytest.mark.parametrize("line", next(mark.args[1] for mark in test_the_secret_is_hidden.pytestmark))  # type: ignore[attr-defined]
def test_what_a_cluster_says_is_hidden_as_a_log_line_is(line: str) -> None:
    """A quick look decides whether its forms are searched: it must pass over none of them."""
    assert said(line) == masked(line)
    assert S not in said(line)


@pytest.mark.parametrize(
    "message",
    [
        "Successfully assigned prod/web-7d9f8b6c5-x2x9k to gke-pool-1-abcd-5",
        "0/27 nodes are available: 3 Insufficient nvidia.com/gpu, 24 node(s) didn't match Pod's node affinity/selector.",
        'MountVolume.SetUp failed for volume "v" : secret "db-creds" not found',
        "Created pod: web-7d9f8b6c5-x2x9k",
    ],
)
def test_what_a_cluster_says_every_day_stays(message: str) -> None:
    assert said(message) == message


@pytest.mark.parametrize(
    ("image", "kept"),
    [
        ("u:pw@registry.example.com/team/app:2", f"{HIDDEN}@registry.example.com/team/app:2"),
        ("https://u:pw@registry.example.com/app", f"https://{HIDDEN}@registry.example.com/app"),
        ("registry.example.com/app@sha256:0123", "registry.example.com/app@sha256:0123"),
        ("app@sha256:0123", "app@sha256:0123"),
        ("app:2", "app:2"),
    ],
)
def test_an_images_address_has_no_login(image: str, kept: str) -> None:
    assert without_login(image) == kept


def test_a_line_is_looked_at_wherever_something_would_be_hidden() -> None:
    drawn = random.Random(5)
    names = [
        "pw",
        "pin",
        "dsn",
        "pwn",
        "db_pw",
        "pin_code",
        "pw-db",
        "x.dsn_2",
        "log in",
        "sign in",
        "az ",
        "oc x",
        "--user",
        "api",
        "nbdsn",
    ]
    pieces = [
        *_WORDS, *names, *names, *"a7 -_.:=@/$?&;", "=", ": ", " -> ", "=>", "x=1", "?q1=", "://h@", "u:p@x", "hunter2",
        "$6$", "akia", "sgpa", "abc123.0123456789abcdef", "sk-", "ghp_", "glpat-", "xoxb-", "lin_api_", "0123456789abcdefghij", "\u0142", "\u212a", "\x1c",
        "Created", "Pulled", "pod", "node", " to ", "\n",
    ]  # fmt: skip
    lines = ["".join(drawn.choices(pieces, k=drawn.randint(1, 6))) for _ in range(6_000)]
    lines += [f"{name}{drawn.choice(('=', ': ', ' = ', '->', ' => '))}hunter2" for name in names for _ in range(9)]
    lines += ["".join(drawn.choices(string.printable, k=drawn.randint(1, 30))) for _ in range(2_000)]
    lines = [line.upper() if drawn.random() < 0.2 else line for line in lines]
    hidden = [line for line in lines if HIDDEN in masked(line)]
    assert 500 < len(hidden) < len(lines)
    assert [line for line in hidden if not _may_tell(line)] == []
    assert sum(_may_tell(line) for line in lines) < len(lines)
    assert said("db_pw=hunter2") == f"db_pw={HIDDEN}"
    assert said("pin_code: 1234") == f"pin_code: {HIDDEN}"
    assert not _may_tell("Created pod: api-9cd6b4d87-nbdsn")
    assert not _may_tell("Created pod: a-name-of-more-than-thirty-letters-9cd6b4d87-nbdsn")


@pytest.mark.parametrize("secret", ["AKCabcdefghij0123", "APAbcdefghi0", "-".join(["Ab1"] * 9)])
def test_what_a_cluster_says_hides_what_a_log_hides(secret: str) -> None:
    message = f"the registry says no to {secret} today"
    assert secret not in masked(message)
    assert said(message) == masked(message)


@settings(max_examples=examples(1_000))
@given(st.data())
def test_the_detectors_are_asked_of_whatever_they_may_find(data: st.DataObject) -> None:
    pattern = data.draw(st.sampled_from([one for plugin in _plugins() for one in plugin.denylist]))
    assert _FORM.search(data.draw(st.from_regex(pattern)))
