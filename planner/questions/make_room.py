"""The question *make room*: which pods must move so that pending pods can start, or so that a shape fits."""

from __future__ import annotations

from typing import Final

from planner.capacity.movable_pods import MoveObjective
from planner.ground.answer_layout import Column, Figure, Listing
from planner.ground.errors import InputError
from planner.ground.records import dataclass
from planner.ground.setting_declarations import setting
from planner.ground.work_budget import LIST_UNITS, allowed
from planner.kubernetes.object_records import Snapshot
from planner.kubernetes.workload_kinds import NODE, POD, ROLLING
from planner.pricing.price_book import PriceBook
from planner.questions.question import NOTHING, Inputs, Question, Want
from planner.questions.side_event_settings import DOUBTS
from planner.remedies.make_room import MadeRoom, RoomRequest, make_room, notes
from planner.rollout.prepared_change import Scenario, manifest_namespace, unread_files
from planner.rollout.resumable_scripts import script


def _until(text: str) -> str:
    if text and not text.startswith("shape="):
        raise InputError(f'"{text[:60]}" is no end', where="--until", fix="Write --until shape=gpu=8 --count 10")
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeRoomSettings:
    workload: str = setting(
        "",
        option="--for",
        short="-w",
        form="WORKLOAD",
        is_workload=True,
        is_everyday=True,
        help="The workload that has the pending pods to start; else all of them.",
    )
    shape: str = setting(
        "",
        form="TEXT",
        is_everyday=True,
        help="Places for pods of this shape, not for pending ones: gpu=8,cpu=64,memory=256Gi.",
    )
    until: str = setting(
        "",
        form="shape=TEXT",
        is_everyday=True,
        help="The same as --shape: places to free up by defragmenting.",
        parse=_until,
    )
    count: int = setting(1, least=1, most=500, is_everyday=True, help="How many places, with --shape or --until.")
    least: MoveObjective = setting(
        MoveObjective.MOVES, help="What is to be the least: evictions, minutes without the pods, or their cost."
    )
    checkpoint_minutes: int | None = setting(
        None, least=1, most=100_000, help="How much of a Job's work a move loses at most, with --least cost; else all."
    )
    manifest: str = setting(
        "", on_command=False, is_private=True, help="Places for the pods that kubectl apply -f would make."
    )
    namespace: str = manifest_namespace()
    unread: tuple[str, ...] = unread_files()

    def __post_init__(self) -> None:
        if sum(map(bool, (self.workload, self.shape, self.until, self.manifest))) > 1:
            raise InputError("room is made for one thing", fix="Give one of --for, --shape, --until and -f")

    def asked(self, book: PriceBook | None) -> RoomRequest:
        change = (
            Scenario(manifest=self.manifest, namespace=self.namespace, unread=self.unread) if self.manifest else None
        )
        shape = self.shape or self.until.removeprefix("shape=")
        return RoomRequest(
            workload=self.workload,
            shape=shape,
            number=self.count,
            change=change,
            least=self.least,
            book=book,
            checkpoint_minutes=self.checkpoint_minutes,
        )


@allowed(units=LIST_UNITS)
def answer(snapshot: Snapshot, asked: MakeRoomSettings, given: Inputs = NOTHING) -> MadeRoom:
    """The least moves, played."""
    return make_room(snapshot, asked.asked(given.book))


QUESTION: Final = Question(
    name="make_room",
    settings=MakeRoomSettings,
    answer=answer,
    figures=(
        Figure("room_moves", lambda room: len(room.moves), "moves"),
        Figure("room_moves_at_least", lambda room: int(room.at_least) if room.starts and room.least == "moves" else None, "moves"),
        Figure("room_pods_started", lambda room: len(room.starts), "pods"),
    ),
    listings=(
        Listing(name="moves", title="Moves", items=lambda room: room.moves, most=20, columns=(
            Column("stage"), Column("pod"), Column("workload"), Column("node", heading="from"),
            Column("to", heading="to, in one draw"), Column("gpus", heading="GPUs"))),
        Listing(name="starts", title="Then start", items=lambda room: room.starts, most=20, columns=(
            Column("stage"), Column("pod"), Column("workload"), Column("node", heading="on, in one draw"), Column("gpus", heading="GPUs"))),
        Listing(name="left", title="Stay pending", items=lambda room: room.left, columns=(
            Column("workload"), Column("pods"), Column("why", lambda waiting_workload: str(waiting_workload.why)))),
        Listing(name="queued", title="Kept back by Kueue", items=lambda room: room.queued, columns=(
            Column("workload"), Column("pods"), Column("why", lambda queued_workload: str(queued_workload.why)))),
        Listing(name="curve", title="Places and moves", items=lambda room: room.curve, most=20, columns=(Column("places"), Column("moves"))),
        Listing(name="doubts", columns=DOUBTS, is_shown=False),
    ),
    notes=notes,
    wants=(Want.MANIFEST, Want.PRICES),
    script=lambda room, source: script(str(room.sentence), room.steps, source=source),
    about="""Which pods must move so that pending pods can start: the fewest evictions, and whether fewer could do.

    Every stage is played, in several draws of what kube-scheduler may choose.""",
    hangs_on=(NODE.name, POD.name),
    lists=tuple(kind.name for kind in ROLLING),
)  # fmt: skip
