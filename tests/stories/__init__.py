"""RolloutBench: what users of GPU clusters asked in public, as cases that any tool can be put to."""
