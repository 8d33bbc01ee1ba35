"""Masks secrets in log lines and event messages: a detector finds them by their form, and a placeholder replaces them.

Rather too much is hidden than too little: a word lost costs a look into the log, a password shown costs a password.
Nothing here tells whether something *is* a secret.

Sources: the plugins of detect-secrets (Yelp), with forms of our own for what they leave out; RFC 7468 (PEM), RFC 3986
(userinfo), RFC 9110 11.6.2 (Authorization).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Final

from planner.inventory.reading_limits import LIMITS

HIDDEN: Final = "<hidden>"
_FORMATS: Final = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]"
)  # no ink

# Every repetition is bounded: a hostile line costs its length, not the square of it.
_PART = r"[\w.-]{0,40}"
_KEY = (
    rf"(?<![\w-])-{{0,2}}(?:{_PART}(?:passw(?:or)?d|pass[ _-]?phrase|passcode|secret|token|api[_-]?key|apikey|access[_-]?key|"
    r"account[_-]?key|private[_-]?key|encryption[_-]?key|signing[_-]?key|shared[_-]?key|master[_-]?key|ssh[_-]?key|licen[cs]e[_-]?key|"
    r"requirepass|masterauth|passwort|kennwort|mot de passe|contrase\S{1,3}a|senha|wachtwoord|has\u0142o|\u043f\u0430\u0440\u043e\u043b\u044c|"
    r"\u5bc6\u7801|\u5bc6\u78bc|\u30d1\u30b9\u30ef\u30fc\u30c9|\ube44\ubc00\ubc88\ud638|"
    r"credential|authorization|authentication|cookie|session[_-]?id|connection[_-]?string|conn[_-]?str|dsn|signature)"
    rf"{_PART}|{_PART}(?:pass|pwd|psw|pw|auth|creds?|salt|otp|pin)(?:[_.-]{_PART})?)"
)
_QUOTE = r"(?:\\{0,4}[\"'`])"
_EQUALS = r"(?:[-=]>|:=|==?|:|[(\[>]|%3[AaDd]|\\{1,4}u003[AaDd]|&#(?:58|61);)"  # also as links, JSON and XML write them
_VALUE = r"(?:\\{1,4}\".{0,2000}?(?:\\{1,4}\"|$)|\"(?:[^\"\\]|\\.|\"\"){0,2000}(?:\"|$)|'(?:[^'\\]|\\.|''){0,2000}(?:'|$)|`[^`]{0,2000}(?:`|$)|[^\s]{1,2000})"
# After "password", "token" and the like without a sign between: what people write there that isn't one.
_SAID = (
    r"(?:a|again|against|an|and|are|as|at|auth\w*|based|but|by|can\S*|could\S*|check\w*|does\S*|due|error\w*|expir\w*|fail\w*|field|file|for|"
    r"format|found|from|generat\w*|grant\w*|had|has|have|if|in|incorrect|into|invalid|is|length|limit\w*|mismatch\w*|"
    r"missing|must|needs?|not|null|None|of|on|or|out|prompt\w*|provider|received|refresh\w*|reject\w*|requests?|required|reset|"
    r"revoked|service|set|should|store|stream|that|the|to|too|type|unset|unknown|used?|validat\w*|was|were|when|will|with\w*|wrong|you\w*)"
)
_STATE = (
    r"(?:a|absent|an|already|being|created|deprecated|empty|expired|generated|ignored|in|incorrect|invalid|mandatory|missing|nil|no|not|null|None|"
    r"of|on|required|revoked|set|stored|the|to|too|unavailable|undefined|unknown|unset|used|valid|weak|wrong)"
)
_MISSED = (
    r"\"?[a-z0-9./-]{1,253}\"? (?:not found|not registered|is forbidden|already exists)"  # a Secret, by the kubelet
)
_ARGUMENT: Final = re.compile(rf"(\s-[pauwW]\s{{0,2}}){_VALUE}")  # a password's option, of commands that have one
_Hidden = str | Callable[[re.Match[str]], str]
_OURS: Final[tuple[tuple[str, _Hidden, bool], ...]] = (  # pattern, what stands in its place, whether it ignores case
    (r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY.{0,4000}?(?:-----END [A-Z0-9 ]{0,40}-----|$)", HIDDEN, False),
    (r"((?:proxy-)?authorization\\{0,4}[\"']?\s{0,4}(?:=>|[=:])\s{0,4}).{1,4000}", rf"\1{HIDDEN}", True),
    (r"((?:set-)?cookie2?\\{0,4}[\"']?\s{0,4}(?:=>|[=:])\s{0,4}).{1,4000}", rf"\1{HIDDEN}", True),
    (r"\b(Bearer|Token|Digest|Negotiate|NTLM|ApiKey)\s{1,4}(?=\S{0,200}[\d._~+/=])[^\s\"',;]{1,4000}", rf"\1 {HIDDEN}", True),
    (r"\b(Bearer|Basic|Negotiate)\s{1,4}[A-Za-z0-9._~+/=-]{6,4000}", rf"\1 {HIDDEN}", True),
    (r"([A-Za-z][A-Za-z0-9+.-]{0,31}://)[^\s]{1,2000}@", rf"\1{HIDDEN}@", False),
    (r"(\boracle:\w{1,12}:@?|\bsqlplus\s{1,4}(?:-\w\s)?)[^\s/]{1,200}/[^\s]{1,200}@", rf"\1{HIDDEN}@", True),
    (r"(?<![\w/@.-])[\w.$+-]{1,200}:(?!//)[^\s:/@,;]{1,200}@(?=[\w(\[])(?!sha\d)", f"{HIDDEN}@", False),
    (r"((?:\b(?:hooks|webhook)\.[\w.-]{1,200}/|/(?:\w{0,20}webhooks?(?:b2)?|hooks|services/hooks)/))[^\s\"'<>]{4,2000}", rf"\1{HIDDEN}", True),
    (r"([?&;](?:[\w.%-]{0,40}(?:sig|sign|key|token|secret|code|auth|cred|pass|pwd|session|jwt|assertion|sas)[\w.%-]{0,40}|se|sv|sp|st|sr)=)[^&\s\"'<>]{1,2000}",
     rf"\1{HIDDEN}", True),
    (r"(\b(?:password|pwd)\s{0,4}=\s{0,4})(?![\"'])[^;\"']{1,400}(?=;)", rf"\1{HIDDEN}", True),  # a connection string
    (rf"(\b(?:pass[ _-]?phrase|mnemonic|seed phrase|seed words|recovery (?:phrase|words))\W{{1,8}}(?:(?:is|was)\W{{1,4}})?)(?!{_STATE}(?:\W|$)).{{1,2000}}", rf"\1{HIDDEN}", True),
    (rf"({_KEY}(?:{_QUOTE}?\s{{0,4}}{_EQUALS}|{_QUOTE}\s{{0,4}},)\s{{0,4}}){_VALUE}", rf"\1{HIDDEN}", True),
    (rf"((?<![\w-])--?{_PART}(?:pass|passw(?:or)?d|pwd|passphrase|secret|token|key|auth|credentials?){_PART}\s{{1,4}})(?!-){_VALUE}", rf"\1{HIDDEN}", True),
    (rf"(\b{_PART}(?:passw(?:or)?d|passphrase|passcode|secret|token|credentials?|(?:api|access|private|secret)[ _-]?key)\b[^=:\n]{{0,60}}?[=:]\s{{0,4}}){_VALUE}",
     rf"\1{HIDDEN}", True),
    ((rf"(\b{_PART}(?:passw(?:or)?d|pwd|passphrase|passcode|secret|token|credentials?|(?:api|access|private|secret)[ _-]?key)s?\s{{1,4}}(?:(?:for|of|to) \S{{1,80}}(?: \S{{1,80}})?\s{{1,4}})?(?:is|was|are|were|will be|set to|now|to)\s{{1,4}})"
     rf"(?!{_STATE}(?:\W|$)){_VALUE}"), rf"\1{HIDDEN}", True),
    (rf"(\bpasswd\s{{1,4}})(?!(?:is|was|for)\s){_VALUE}", rf"\1{HIDDEN}", True),
    (rf"(\b(?<!in )(?:\w{{1,20}}[_.-]){{0,3}}(?:passw(?:or)?d|passphrase|passcode|secret|token|(?:api|access|private|secret)[ _-]?key)\s{{1,4}})(?!{_SAID}(?:\W|$))(?!<hidden>)(?!keys?\s)(?!{_MISSED}){_VALUE}",
     rf"\1{HIDDEN}", True),
    (rf"(\b[A-Z0-9_]{{0,40}}(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|(?:API|ACCESS|PRIVATE|SECRET|ENCRYPTION|LICENSE)_?KEY)\s{{1,4}})(?!(?i:{_SAID})(?:\W|$))(?!<hidden>){_VALUE}", rf"\1{HIDDEN}", False),
    (rf"(\b(?:requirepass|masterauth)\s{{1,4}}){_VALUE}", rf"\1{HIDDEN}", True),
    (rf"(\b[A-Z0-9_]{{1,40}}_KEY(?:{_QUOTE}?\s{{0,4}}{_EQUALS}\s{{0,4}})){_VALUE}", rf"\1{HIDDEN}", False),
    (r"(\busing\s{1,4})\S{1,400}(?=\s{1,4}as (?:the )?(?:password|passphrase|token|secret|key)\b)", rf"\1{HIDDEN}", True),
    (r"(\b(?:log(?:ged)? ?in|sign(?:ed)? ?in|authenticat\w{1,4}|connect\w{0,4})\s{1,4}(?:with|as|using)\s{1,4})\S{1,200}:\S{1,200}", rf"\1{HIDDEN}", True),
    (r"(\b(?:pass|pw|auth)\s{1,4})(?=\S{0,80}\d)(?=\S{0,80}[A-Za-z])(?!\d+(?:ms|s|m|h)?\b)\S{4,400}", rf"\1{HIDDEN}", True),
    (rf"(\bidentified by\s{{1,4}}){_VALUE}", rf"\1{HIDDEN}", True),  # SQL
    (rf"(\b(?:mysql|maria|mongo)\w{{0,12}}\b.{{0,200}}?\s-p\s?){_VALUE}", rf"\1{HIDDEN}", False),
    (r"\b(?:redis-cli|sshpass|psql|curl|wget|ldap\w{1,10}|docker|podman|skopeo|helm|az|oc)\s.{1,2000}", lambda match: _ARGUMENT.sub(rf"\1{HIDDEN}", match.group()), False),
    (r"(\s--(?:proxy-)?user(?:name|pwd)?[ =]\s{0,3}[\"']?)[^\s:]{0,200}:[^\s]{1,400}", rf"\1{HIDDEN}", False),
    (r"\b(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ABIA|ACCA)[A-Z0-9]{4,40}", HIDDEN, False),
    (r"(?<![\w-])(?:sk|pk|rk)[-_](?:[a-z]{2,10}[-_]){0,3}[A-Za-z0-9_-]{8,400}", HIDDEN, False),
    ((r"\b(?:hf|gh[pousr]|github_pat|glpat|gl[a-z]{2,5}|npm|pypi|xox[a-z]|xapp|AIza|ya29|dop_v1|shp[a-z]{2}|whsec|dckr_pat|nvapi|gsk|r8|"
     r"hvs|hvb|AGE-SECRET-KEY|SG|lin_api|pat|tfp|EAAC|ntn|secret|ATATT|dapi|key)(?:[-_.]|(?<=AIza)|(?<=ATATT)|(?<=EAAC)|(?<=dapi))"
     r"(?=[\w.-]{0,200}[\dA-Z])[A-Za-z0-9_.=-]{8,400}"), HIDDEN, False),
    (r"\b(?:hf|glpat|xox[a-z]|glptt|gloas|gldt|glrt|glcbt|glft|glimt|glsoat|glffct|GOCSPX|NRAK|sbp)[-_][A-Za-z0-9_-]{6,400}", HIDDEN, False),
    (r"(?<![\w/])1//0[A-Za-z0-9_-]{8,400}", HIDDEN, False),  # Google's refresh tokens
    (r"[A-Za-z0-9_.~-]{3}\dQ~[A-Za-z0-9_.~-]{8,400}", HIDDEN, False),  # Microsoft Entra's client secrets
    (r"(?<![\w.-])[a-z0-9]{6}\.[a-z0-9]{16}(?![\w.-])", HIDDEN, False),  # kubeadm's
    (r"\$(?:1|2[abxy]?|5|6|7|y|gy|apr1|argon2\w{0,4}|scrypt|pbkdf2[\w-]{0,20})\$[^\s:\"']{4,400}", HIDDEN, False),  # crypt(5)
    (r"\beyJ[A-Za-z0-9_-]{4,4000}(?:\.[A-Za-z0-9_-]{1,4000}){0,4}", HIDDEN, False),  # a JSON Web Token
    # Letters of both cases and digits without a break: what is drawn at random looks so, and few words do.
    (r"(?<![\w+/=])(?=[A-Za-z0-9+/_=-]{0,200}\d)(?=[A-Za-z0-9+/_=-]{0,200}[a-z])(?=[A-Za-z0-9+_=-]{0,200}[A-Z])[A-Za-z0-9+_=-][A-Za-z0-9+/_=-]{31,4000}",
     HIDDEN, False),
)  # fmt: skip
_BEGIN: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY|^(?:.{0,80}\s)?Private-Lines: "
)  # PuTTY has the latter
_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,40}-----|Private-MAC: ")
_BASE64_LINE: Final = re.compile(r"(?:.{0,80}\s)?[A-Za-z0-9+/]{60,80}={0,2}\s*")
_BASE64_END: Final = re.compile(r"(?:.{0,80}\s)?(?=[A-Za-z]{0,80}[\d+/=])[A-Za-z0-9+/]{1,80}={0,2}\s*")

# What is in whatever `masked` changes, so that what a cluster says thousands of times isn't searched for each of its forms: a word for
# a secret, a sign between a name and a value, letters and digits without a break. Of small letters; what isn't ASCII is always looked at.
_WORDS: Final = (
    "pass", "pwd", "psw", "secret", "token", "key", "auth", "cred", "cookie", "session", "signature", "conn", "salt", "otp",
    "wacht", "kenn", "senha", "contras", "bearer", "basic ", "digest ", "negotiate", "ntlm", "phrase", "mnemonic", "seed", "recovery",
    "identified", "master", "license", "licence", "hook", "private", "begin ", "mysql", "maria", "mongo", "using ", "-user", "oracle",
    "sqlplus", "redis-cli", "psql", "curl", "wget", "ldap", "docker ", "podman", "skopeo", "helm", " -p", " -a", " -w", "eyj", "1//0", "q~",
)  # fmt: skip
_HINT: Final = re.compile(
    r"p(?:w|in)(?![a-z\d])|dsn[\w.-]{0,40}\s{0,4}[\"'`\\=:(\[>%&-]|log\w* ?in|sign\w* ?in|\b(?:az|oc) |"
    r"[?&;]\w{1,40}=|://[^\s]{0,2000}@|[\w.$+-]:[^\s@]{1,200}@|\$\w{1,9}\$|[as][kgi][ipr]a|\b[a-z0-9]{6}\.[a-z0-9]{16}|"
    r"\b(?:sk|pk|rk|hf|gh[pousr]|gl[a-z]{2,5}|npm|pypi|xox[a-z]|xapp|aiza|ya29|sg|hv[sb]|r8|gsk|nvapi|pat|tfp|eaac|ntn|atatt|dapi|sbp|nrak|gocspx|shp[a-z]{2}|dop_v1|dckr_pat|whsec|lin_api)[-_.]|"
    r"[a-z0-9+/_=]{20}|\bakc[a-z0-9]{10}|\bap[\da-f][a-z0-9]{8}"
)  # fmt: skip
_UNBROKEN: Final = re.compile(r"[A-Za-z0-9+/_=-]{32,}")  # with a capital: names of the cluster have none

_LOGIN: Final = re.compile(r"^(?P<scheme>(?:[a-z]{1,20}://)?)[^/]*@(?=[^/]*/)", re.IGNORECASE)

# Those that know a secret by its form. Left out: public addresses; entropy, and what stands after "password" and the like,
# which ours has too (the keyword detector takes seconds for one hostile line).
_PLUGINS: Final = (
    ("artifactory", "ArtifactoryDetector"), ("aws", "AWSKeyDetector"), ("azure_storage_key", "AzureStorageKeyDetector"),
    ("basic_auth", "BasicAuthDetector"), ("cloudant", "CloudantDetector"), ("discord", "DiscordBotTokenDetector"),
    ("github_token", "GitHubTokenDetector"), ("gitlab_token", "GitLabTokenDetector"), ("ibm_cloud_iam", "IbmCloudIamDetector"),
    ("ibm_cos_hmac", "IbmCosHmacDetector"), ("mailchimp", "MailchimpDetector"),
    ("npm", "NpmDetector"), ("openai", "OpenAIDetector"), ("private_key", "PrivateKeyDetector"),
    ("pypi_token", "PypiTokenDetector"), ("sendgrid", "SendGridDetector"), ("slack", "SlackDetector"),
    ("softlayer", "SoftlayerDetector"), ("square_oauth", "SquareOAuthDetector"), ("stripe", "StripeDetector"),
    ("telegram_token", "TelegramBotTokenDetector"), ("twilio", "TwilioKeyDetector"),
)  # fmt: skip
# What is in whatever one of the plugins finds: they come with an HTTP client, which takes longer to load than a log to be read.
_FORM: Final = re.compile(
    r"[\w\\-]{20}|[\w+/=-]{40}|A(?:KC|P[\dA-F])[a-zA-Z0-9]{8}|://[^\s/?#]+@|(?i:xox|hooks\.slack)|:_authToken=|PRIVATE KEY"
)


def masked(line: str) -> str:
    """`line` with `HIDDEN` in the place of whatever may be a secret."""
    text = _FORMATS.sub("", unicodedata.normalize("NFKC", line))
    for pattern, hidden in _ours():
        text = pattern.sub(hidden, text)
    for plugin in _plugins() if _FORM.search(text) else ():
        for secret in plugin.analyze_string(text):
            if len(secret) > 1 and secret not in HIDDEN:
                text = text.replace(secret, HIDDEN)
    return text


@lru_cache(maxsize=65_536)  # a cluster says the same thousands of times
def said(message: str) -> str:
    """What a cluster says of its objects (an event, why a container waits), as it may be kept: `masked`."""
    return masked(message) if _may_tell(message) else message


def _may_tell(message: str) -> bool:
    """Whether there is anything in it that `masked` might change."""
    text = message.lower()
    if not text.isascii() or any(word in text for word in _WORDS) or _HINT.search(text) is not None:
        return True
    return any(match[0] != match[0].lower() for match in _UNBROKEN.finditer(message))


def without_login(image: str) -> str:
    """An image's address without a user and a password before its host; no registry takes them, and people write them."""
    return _LOGIN.sub(rf"\g<scheme>{HIDDEN}@", image) if "@" in image else image


def without_keys(lines: Iterable[str]) -> Iterator[str]:
    """`lines` with those of a private key hidden: by themselves they look like anything."""
    remaining_lines = 0
    is_inside = False  # after a line of base64: what ends it is shorter
    for line in lines:
        if _BEGIN.search(line[:4_000]) and not _END.search(line[:4_000]):
            remaining_lines = LIMITS.key_lines
            yield HIDDEN
        elif remaining_lines:
            remaining_lines = 0 if _END.search(line[:4_000]) else remaining_lines - 1
            yield HIDDEN
        elif _BASE64_LINE.fullmatch(line[:200]):
            is_inside = True
            yield HIDDEN
        else:
            yield HIDDEN if is_inside and _BASE64_END.fullmatch(line[:200]) else line
            is_inside = False


@cache
def _ours() -> tuple[tuple[re.Pattern[str], _Hidden], ...]:
    return tuple(
        (re.compile(pattern, re.IGNORECASE if ignores_case else 0), text) for pattern, text, ignores_case in _OURS
    )


@cache
def _plugins() -> tuple[Any, ...]:
    """detect-secrets' own, loaded when the first line is looked at."""
    return tuple(getattr(import_module(f"detect_secrets.plugins.{module}"), name)() for module, name in _PLUGINS)
