"""Decodes JSON, or plain values of JSON or YAML, into typed values. Only this module calls msgspec's decoders.

msgspec (0.22, `StructInfo_Convert`) works a type out at its first use, Python code runs meanwhile, and another thread that reads
the same type then finds fields that aren't there yet: the process ends. Here a type is worked out once, by one thread; others wait.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, TypeVar, overload

import msgspec

__all__ = ["convert", "decode", "decoder"]

T = TypeVar("T")
Hook = Callable[[Any, Any], Any]

_decoders: dict[Any, Callable[[Any], Any]] = {}
_one_at_a_time = RLock()


@overload
def decoder(type_: type[T]) -> Callable[[Any], T]: ...
@overload
def decoder(type_: Any) -> Callable[[Any], Any]: ...
def decoder(type_: Any) -> Callable[[Any], Any]:
    """What makes *type_* of JSON (str, bytes, `msgspec.Raw`); made once for a type. It raises what msgspec does."""
    cached_decoder = _decoders.get(type_)
    if cached_decoder is None:
        with _one_at_a_time:
            cached_decoder = _decoders[type_] = msgspec.json.Decoder(type_).decode
    return cached_decoder


@overload
def decode(data: Any, type_: type[T], dec_hook: Hook | None = None) -> T: ...
@overload
def decode(data: Any, type_: Any, dec_hook: Hook | None = None) -> Any: ...
def decode(data: Any, type_: Any, dec_hook: Hook | None = None) -> Any:
    """As ``msgspec.json.decode(data, type=type_, dec_hook=dec_hook)``."""
    typed_decoder = decoder(type_)
    return typed_decoder(data) if dec_hook is None else msgspec.json.decode(data, type=type_, dec_hook=dec_hook)


@overload
def convert(value: Any, type_: type[T], dec_hook: Hook | None = None) -> T: ...
@overload
def convert(value: Any, type_: Any, dec_hook: Hook | None = None) -> Any: ...
def convert(value: Any, type_: Any, dec_hook: Hook | None = None) -> Any:
    """As ``msgspec.convert(value, type_, dec_hook=dec_hook)``."""
    decoder(type_)
    return msgspec.convert(value, type_, dec_hook=dec_hook)
