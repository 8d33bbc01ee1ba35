"""An S3 server for tests: moto's, in an environment of its own, since it brings thirty packages that nothing else needs.

``python -m tests.sources.s3_server`` makes the environment (``make test`` does); without it the tests that need it are
skipped, and say so.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

MOTO = "moto[server]==5.2.5"
HOME = Path(sys.prefix) / "s3-server"
SERVER = HOME / "bin" / "moto_server"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"}
MISSING = f"no S3 server: python -m tests.sources.s3_server installs {MOTO} into {HOME.name}"


def prepare() -> None:
    """Make the environment, once."""
    if not SERVER.exists():
        venv.create(HOME, with_pip=True)
        subprocess.run([HOME / "bin" / "python", "-m", "pip", "install", "--quiet", MOTO], check=False)


@contextmanager
def running(bucket: str) -> Iterator[str]:
    """The URL of an empty bucket on a server that runs as long as this."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [SERVER, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, **CREDENTIALS},
    )  # fmt: skip
    try:
        _make(f"http://127.0.0.1:{port}/{bucket}")
        yield f"s3://{bucket}/some/where?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
    finally:
        process.terminate()
        process.wait(20)


def _make(address: str) -> None:
    for _ in range(300):
        try:
            with urlopen(Request(address, method="PUT"), timeout=5):
                return
        except OSError:  # URLError, or a machine too busy to answer in time
            time.sleep(0.1)
    raise AssertionError("the S3 server doesn't answer")


if __name__ == "__main__":
    prepare()
    if not SERVER.exists():
        sys.stderr.write(f"{MISSING}\n")
        sys.exit(1 if os.environ.get("CI") == "true" else 0)
