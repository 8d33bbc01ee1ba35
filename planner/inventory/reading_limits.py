"""Limits of input sizes: input beyond them is refused, or omitted with a notice."""

from __future__ import annotations

from typing import Final

from planner.ground.records import Record


class ReadingLimits(Record):
    """How many, at most."""

    # api server
    problems_shown: int = 5  # of one object
    # field validation
    problems: int = 20  # of one object that are looked for
    # archives
    files: int = 200_000  # of one reading: a must-gather of a large cluster has some 30,000
    yaml_values: int = (
        50_000_000  # of one reading, some five minutes of a processor; 300,000 objects have some 37 million
    )
    # json text
    objects: int = 750_000  # of one reading: 5,000 nodes have some 300,000, Events among them; an empty one takes 1 KB
    workloads: int = 200_000  # of them: each is played, and what is said of it kept; ReplicaSets aren't counted
    # autoscaling
    delay_seconds: int = 86_400  # of an autoscaler's setting
    # last applied
    annotation_letters: int = 2**20  # etcd takes no more
    # masking
    key_lines: int = 400  # of a private key: RSA of 16,384 bits has some 200; an end that never comes hides no more
    # parse
    versions_remembered: int = 1_024  # texts of which it is known what they are
    # shared
    texts_shared: int = 65_536  # that records share; then it begins anew
    # unplayed
    unplayed_bytes: int = (
        2**18
    )  # of an object that is kept though its kind isn't played; larger ones of these kinds are reports
    unknown_objects: int = 5_000  # that are kept of unknown kinds
    # live lists
    watched_changes: int = 20_000  # that are kept until they are asked for
    # succession
    snapshots_kept: int = 64  # who has none of the last so many is sent the whole
    # yaml text
    unfolded_values: int = 100_000  # that come from aliases; a long text counts as one for each 64 letters
    values_of_an_object: int = 1_000_000  # or of an array of objects
    repeated_keys: int = 100  # keys given twice that are named
    directives: int = 100  # lines that begin with %: libyaml compares each with all before it, and a dump has none


LIMITS: Final = ReadingLimits()
