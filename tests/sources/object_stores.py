"""Servers of S3 and of Google Cloud Storage for tests, each in an environment of its own: moto brings thirty packages that
nothing else needs.

``python -m tests.sources.object_stores`` makes the environments (``make test-all`` does); without one the tests that need it are
skipped, and say so.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import Request, urlopen

from tests.ports import reserved

BUCKET = "history"


@dataclass(frozen=True, kw_only=True)
class ObjectStore:
    """A kind of store. `command`, `url` and `ready` (method and path of what answers once there is a bucket) have a place for
    the port."""

    package: str
    folder: str
    command: tuple[str, ...]
    url: str
    ready: tuple[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def program(self) -> Path:
        return Path(sys.prefix) / self.folder / "bin" / self.command[0]

    @property
    def missing(self) -> str:
        return f"no server: python -m tests.sources.object_stores installs {self.package} into {self.folder}"

    def prepare(self) -> bool:
        """Make the environment, once; whether it is there."""
        if not self.program.exists():
            home = self.program.parents[1]
            venv.create(home, with_pip=True)
            subprocess.run([home / "bin" / "python", "-m", "pip", "install", "--quiet", self.package], check=False)
        return self.program.exists()

    @contextmanager
    def running(self) -> Iterator[str]:
        """The URL of a place in an empty bucket on a server that runs as long as this."""
        port = reserved()
        words = [str(self.program), *(one.format(port=port) for one in self.command[1:])]
        environment = {**os.environ, **self.environment}
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        try:
            self._wait(port)
            yield self.url.format(port=port)
        finally:
            process.terminate()
            process.wait(20)

    def _wait(self, port: int) -> None:
        method, path = self.ready
        for _ in range(300):
            try:
                with urlopen(Request(f"http://127.0.0.1:{port}/{path}", method=method), timeout=5):
                    return
            except OSError:  # URLError, or a machine too busy to answer in time
                time.sleep(0.1)
        raise AssertionError(f"{self.package} doesn't answer")


S3 = ObjectStore(
    package="moto[server]==5.2.5",
    folder="s3-server",
    command=("moto_server", "-H", "127.0.0.1", "-p", "{port}"),
    url=f"s3://{BUCKET}/some/where?endpoint_override=127.0.0.1:{{port}}&scheme=http&region=us-east-1",
    ready=("PUT", BUCKET),
    environment={"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"},
)
GCS = ObjectStore(
    package="gcp-storage-emulator==2026.7.19",
    folder="gcs-server",
    command=(
        "gcp-storage-emulator",
        "start",
        "--host",
        "127.0.0.1",
        "--port",
        "{port}",
        "--in-memory",
        "--default-bucket",
        BUCKET,
    ),
    url=f"gs://anonymous@{BUCKET}/some/where?endpoint_override=127.0.0.1:{{port}}&scheme=http&retry_limit_seconds=60",
    ready=("GET", f"storage/v1/b/{BUCKET}"),
)

if __name__ == "__main__":
    lacking = [one.missing for one in (S3, GCS) if not one.prepare()]
    if lacking:
        sys.stderr.write("".join(f"{one}\n" for one in lacking))
        sys.exit(1 if os.environ.get("CI") == "true" else 0)
