"""What many snapshots say that one doesn't: trends, and the commitments that past use would have paid for. No I/O."""
