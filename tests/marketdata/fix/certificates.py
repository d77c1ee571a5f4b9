"""Certificates that an acceptor of tests shows."""

import subprocess
from pathlib import Path

ELLIPTIC = ("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
RSA = ("rsa:2048",)


def new_certificate(
    directory: Path, key_type: tuple[str, ...] = ELLIPTIC
) -> tuple[Path, Path]:
    """Write a self-signed certificate for localhost, and its key: two PEM files."""
    certificate, key = directory / "certificate.pem", directory / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-nodes", "-days", "2"),
            *("-newkey", *key_type, "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key
