"""Whether tests see what is changed in the code: ``python -m tests.mutation``, by hand, not in continuous integration."""
