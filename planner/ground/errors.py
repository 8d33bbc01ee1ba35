"""The exceptions that reach a user: what is wrong, where, and how to fix it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial


class HeadroomError(Exception):
    """Base of every error a user may see.

    Parameters
    ----------
    what : str
        What is wrong, as a sentence without a full stop.
    where : str
        The file, object or field it was found in; empty when there is no such place.
    fix : str
        What the reader can do about it, as a sentence without a full stop; empty when nothing is known.
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        self.what, self.where, self.fix = what, where, fix
        super().__init__(what, where, fix)

    def __reduce__(self) -> tuple[Callable[[str], HeadroomError], tuple[str]]:
        """Errors go from process to process."""
        return partial(type(self), where=self.where, fix=self.fix), (self.what,)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        cure = f". {self.fix}" if self.fix else ""
        return f"{place}{self.what}{cure}"


class InputError(HeadroomError):
    """A file, a document or a value given by the user can't be read."""


class NotKnownError(InputError):
    """What was given is right, and lacks what the answer depends on."""


class QuantityError(InputError, ValueError):
    """A resource quantity the API server would refuse."""


class ChangeError(InputError):
    """A change (patch, manifest, what-if) that can't be applied to the snapshot."""


class SourceError(HeadroomError):
    """An outside source (API server, billing catalog, Prometheus) didn't give what was asked."""
