"""Certificates for tests, signed by themselves, made by the program `openssl`."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

OPENSSL = shutil.which("openssl")


@dataclass(frozen=True)
class Made:
    """A certificate for `localhost` and 127.0.0.1, good for some days, and its key."""

    certificate: Path
    key: Path

    @property
    def trusted(self) -> ssl.SSLContext:
        """For a client that trusts this certificate alone."""
        return ssl.create_default_context(cafile=str(self.certificate))

    def copy_to(self, certificate: Path, key: Path) -> None:
        shutil.copy(self.certificate, certificate)
        shutil.copy(self.key, key)


def make(folder: Path, name: str, *, days: int = 30, passphrase: str | None = None) -> Made:
    assert OPENSSL, "the tests of TLS need the program `openssl`: install the package `openssl`"
    made = Made(folder / f"{name}.crt", folder / f"{name}.key")
    protected = ["-nodes"] if passphrase is None else ["-passout", f"pass:{passphrase}"]
    subprocess.run(
        [OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", *protected,
         "-keyout", str(made.key), "-out", str(made.certificate), "-days", str(days),
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    return made
