from planner.spot.sigterm_behavior import PROGRAMS, Signal, known


def test_every_program_has_what_it_does_and_where_that_is_written() -> None:
    for name, program in PROGRAMS.items():
        assert program.what, name
        assert program.source, name
        if program.signal in (Signal.CUTS, Signal.DROPS, Signal.NEEDS_HANDLER):
            assert program.cure, name


def test_versions_and_scripts_are_recognised_others_are_not() -> None:
    assert known("python3.12") is PROGRAMS["python3"]
    script = known("start.sh")
    assert script is not None
    assert script.signal is Signal.DROPS
    assert known("something") is None
    assert known("") is None
