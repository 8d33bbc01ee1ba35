"""Records of the drift answer, and the rule by which workloads are recognized as one service."""

from __future__ import annotations

from enum import StrEnum

from planner.ground import well_known_names
from planner.ground.errors import InputError
from planner.ground.records import Record
from planner.ground.setting_declarations import setting
from planner.ground.words import Text
from planner.health.memory.request_suggestions import Suggestion

APP_COMPONENT = "app.kubernetes.io/component"
APP = "app"
ENVIRONMENT_WORDS = (
    "dev", "develop", "development", "test", "testing", "qa", "uat", "int", "stage", "staging", "stg", "preprod", "pre",
    "sandbox", "prod", "production", "prd", "live", "canary",
)  # fmt: skip
PRODUCTION_WORDS = ("production", "prod", "prd", "live")


class MatchBy(StrEnum):
    """What says which service a workload is."""

    AUTO = "auto"  # the first of these that the workload has: app.kubernetes.io/name, app, its name
    NAME = "name"
    APP_NAME = well_known_names.APP_NAME
    APP = "app"
    IMAGE = "image"  # the last part of the first container's image
    LABEL = "label"  # the label given in `Rule.label`


def parse_words(text: str) -> tuple[str, ...]:
    """``"dev, prod"`` → words."""
    return tuple(word for word in (part.strip() for part in text.replace(" ", ",").split(",")) if word)


def parse_between(text: str) -> tuple[str, ...]:
    """``"dev,prod"`` → environments; ``all`` names none, which means each."""
    return () if text.strip() == "all" else parse_words(text)


def parse_same_as(text: str) -> tuple[tuple[str, str], ...]:
    """``"backend=api, shop-web=web"`` → pairs.

    Raises
    ------
    InputError
        Where a part has no ``=`` or an empty side.
    """
    pairs = []
    for part in filter(None, (equality.strip() for equality in text.replace("\n", ",").split(","))):
        name, _, service = (side.strip() for side in part.partition("="))
        if not name or not service:
            raise InputError(f'"{part[:60]}" is not a pair', where="same service", fix="Write it like backend=api")
        pairs.append((name, service))
    return tuple(pairs)


class Rule(Record):
    """How services are recognised. Checked where it is made, hashable so that answers can be cached by it.

    `environment_words` are taken off names at the ends (``api-dev``, ``dev_api``); `same_as` says by hand which
    names mean one service: pairs (name, service).
    """

    match_by: MatchBy = setting(
        MatchBy.AUTO, name="match", label="Recognised by",
        is_everyday=True, help="What says which service a workload is. auto: app.kubernetes.io/name, else app, else its name.",
    )  # fmt: skip
    label: str = setting(
        "",
        name="match_label",
        label="Label",
        form="L",
        is_everyday=True,
        help="The label to match by, where that is chosen: team.example/service.",
    )
    environment_words: tuple[str, ...] = setting(
        ENVIRONMENT_WORDS, label="Words that say where something runs", form="W,W", parse=parse_words,
        help="Taken off the ends of names: api-dev and api-prod are both api.",
    )  # fmt: skip
    same_as: tuple[tuple[str, str], ...] = setting(
        (), name="same", label="The same by hand", form="A=B,C=D", parse=parse_same_as,
        help="Names that mean a service, for what no rule can know: backend=api.",
    )  # fmt: skip
    reference: str = setting(
        "",
        label="Compared with",
        form="E",
        is_everyday=True,
        help="The environment others are compared with; else the most production-like.",
    )
    between: tuple[str, ...] = setting(
        (), label="Between", form="E,E", parse=parse_between, is_everyday=True,
        help="Only these environments, such as dev,prod; all for all of them.",
    )  # fmt: skip
    with_system: bool = setting(False, name="system", label="kube-system too", help="kube-system and the like too.")

    def __post_init__(self) -> None:
        if self.match_by is MatchBy.LABEL and not self.label:
            raise InputError("no label is named", fix="Name the label that holds the service's name")
        if any("" in pair for pair in self.same_as):
            raise InputError("an empty name can't mean a service", fix="Write pairs like backend=api")


class Aspect(StrEnum):
    """Rows of the matrix, in order."""

    KIND = "kind"
    REPLICAS = "replicas"
    READY = "ready"
    RESTARTS = "restarts"
    MEMORY_REQUEST = "memory request"
    MEMORY_LIMIT = "memory limit"
    WORKING_SET = "working set (largest seen)"
    CPU_REQUEST = "CPU request"
    CPU_LIMIT = "CPU limit"
    CPU_USED = "CPU used"
    GPUS = "GPUs"
    STRATEGY = "strategy"
    STARTUP_PROBE = "startup probe"
    READINESS_PROBE = "readiness probe"
    LIVENESS_PROBE = "liveness probe"
    GRACE = "grace period"
    IMAGE = "image"
    VERSION = "image version"
    START = "started as"
    NODE_POOL = "node pool"
    PRIORITY = "priority class"


SHOWN_ALWAYS = frozenset({Aspect.RESTARTS})  # beside any difference: what it is all about
MEASURED = frozenset({Aspect.WORKING_SET, Aspect.CPU_USED, Aspect.READY, Aspect.RESTARTS})


class Cell(Record, kw_only=False):
    """`amount` where the value is a number (bytes, millicores, count); `ratio` against the reference environment."""

    text: str
    amount: int | None = None
    ratio: str = ""
    is_unseen: bool = False  # nodes or pods tell it, and weren't seen


class Row(Record):
    """One aspect across environments; `cells` in the order of `ServiceDrift.environments`, None where absent."""

    aspect: Aspect
    container: str  # for aspects of a container, else empty
    cells: tuple[Cell | None, ...]
    differs: bool


class Explanation(Record):
    """Trouble in one environment that a difference to the reference explains."""

    environment: str
    workload: str
    difference: Text  # what explains it
    sentence: Text


class EnvironmentSuggestion(Record):
    environment: str
    workload: str
    suggestion: Suggestion
    today: str  # what stands there now


class ServiceDrift(Record):
    """One service in all its environments."""

    service: str
    environments: tuple[str, ...]  # "dev", or "cluster-b/dev" where there are several clusters
    workloads: tuple[str, ...]  # keys, in the same order
    reference: str
    rows: tuple[Row, ...]
    explanations: tuple[Explanation, ...]
    suggestions: tuple[EnvironmentSuggestion, ...]
    restarts: tuple[int | None, ...]  # in the same order as environments
    sentence: Text

    @property
    def differences(self) -> tuple[Row, ...]:
        """The rows worth showing by default: what is set differently, and restarts beside it."""
        differing = [row for row in self.rows if row.differs and row.aspect not in MEASURED]
        shown = [row for row in self.rows if row.differs or row.aspect in SHOWN_ALWAYS]
        return tuple(shown) if differing or any(self.restarts) else ()


class DriftReport(Record):
    services: tuple[ServiceDrift, ...]  # most telling first
    environments: tuple[str, ...]
    unmatched: int  # workloads that live in one environment only
    ambiguous: tuple[str, ...]  # sentences about workloads the rule could not tell apart
    sentence: Text
