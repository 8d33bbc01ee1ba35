"""Why a CEL selector gives no answer. Apart from `device_selectors`: its library takes longer to load than a verdict."""

from __future__ import annotations


class CelError(Exception):
    """The expression fails on a device: kube-scheduler gives the attempt up, whatever other devices there are."""


class NotEvaluated(Exception):
    """The expression uses CEL that is not known here."""
