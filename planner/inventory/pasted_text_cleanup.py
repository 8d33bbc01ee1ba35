"""Cleans pasted text: removes terminal color codes, prompts and Markdown fences around documents.

What is taken away leaves its line breaks, so that lines are counted as in the file. JSON holds no control characters and begins no line of
its own with a prompt, nor does YAML at its left edge; so nothing of a document is lost.
"""

from __future__ import annotations

import re
from typing import Final

from planner.inventory.archives import Content

_HEAD_BYTES: Final = 65_536
_TAIL_BYTES: Final = 1_024
_ESCAPES: Final = re.compile(
    rb"\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)|\x1b[()][0-9A-B]|\x1b[=>]"
)  # ECMA-48 5.4 (CSI), and xterm's OSC
_COMMAND: Final = (
    rb"(?:sudo[ \t]+)?(?:\S*/)?(?:kubectl|kubecolor|oc|k|k3s|microk8s|minikube|helm|kustomize|cat)(?:\.exe)?[ \t]"
)
_ARROW: Final = rb"(?:\xe2\x9d\xaf|\xe2\x9e\x9c|\xce\xbb)"  # ❯ ➜ λ
_SIGN: Final = rb"(?:[$#%>]|" + _ARROW + rb")"
_PROMPT: Final = re.compile(
    rb"^(?:"
    rb"(?:[^\s{}\[\]\"':-][^\n{}\[\]\"':]{0,120}?)?" + _SIGN + rb"[ \t]+" + _COMMAND + rb"[^\n]*"  # with a command
    rb"|(?:\([\w.-]+\)[ \t]*)?\[?[\w.-]+@[\w.-]+[^\n{}\"']{0,120}?" + _SIGN + rb"[^\n{}\"']*"  # user@host:~$
    rb"|" + _ARROW + rb"[^\n{}\"']{0,120}?[ \t]" + _COMMAND + rb"[^\n]*"
    rb"|(?:PS )?[A-Za-z]:\\[^\n>]{0,200}>[^\n]*"  # PowerShell, cmd.exe
    rb"|\+ " + _COMMAND + rb"[^\n]*"  # set -x
    rb")$",
    re.MULTILINE,
)  # fmt: skip
_BEGINS: Final = re.compile(
    rb"\s*(?:[{\[]|---|%YAML|==== START|(?:- )?[\"']?(?:apiVersion|kind|items|metadata)[\"']?\s*:)"
)
_FENCE: Final = re.compile(rb"^[ ]{0,3}(?P<mark>```+|~~~+)[ \t]*[\w+.-]*[^\S\n]*$", re.MULTILINE)
_SEPARATOR: Final = b"---"


def without_terminal(data: Content) -> Content:
    """`data` without what a terminal or Markdown put around its documents; itself where nothing did."""
    if b"\x1b" in bytes(data[:_HEAD_BYTES]):
        data = _ESCAPES.sub(b"", data)
    if not _BEGINS.match(bytes(data[:_HEAD_BYTES])):
        data = _unfenced(data) if _FENCE.search(bytes(data[:_HEAD_BYTES])) else data
        return _PROMPT.sub(b"", data) if _PROMPT.search(bytes(data[:_HEAD_BYTES])) else data
    if _PROMPT.search(bytes(data[-_TAIL_BYTES:])):  # the next prompt, copied with the output
        return bytes(data[:-_TAIL_BYTES]) + _PROMPT.sub(b"", bytes(data[-_TAIL_BYTES:]))
    return data


def _unfenced(data: Content) -> Content:
    """What stands between fences, where that begins as a document does; of everything else the line breaks."""
    buffer = bytearray()
    done, opened = 0, None
    for fence in _FENCE.finditer(data):
        if opened is None:
            opened = fence
            continue
        if not fence["mark"].startswith(opened["mark"]):
            continue  # of the other sort, or shorter: it belongs to the block
        block = bytes(data[opened.end() : fence.start()])
        if _BEGINS.match(_PROMPT.sub(b"", block)):
            buffer += _line_breaks(data, done, opened.start()) + _SEPARATOR + block + _SEPARATOR
            done = fence.end()
        opened = None
    return bytes(buffer + _line_breaks(data, done, len(data))) if buffer else data


def _line_breaks(data: Content, start: int, end: int) -> bytes:
    return b"\n" * data.count(b"\n", start, end)
