"""Results → what a page or a report draws, one form a module, each with its words for who doesn't see it."""
