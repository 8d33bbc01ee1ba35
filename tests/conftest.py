"""Settings every test runs under."""

from hypothesis import HealthCheck, settings

# The same examples on every machine and in every run; a slow machine is not a failing test.
settings.register_profile(
    "house", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("house")
