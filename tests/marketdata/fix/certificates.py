"""Certificates that an acceptor of tests shows."""

import subprocess
from pathlib import Path


def new_certificate(directory: Path) -> tuple[Path, Path]:
    """Write a self-signed certificate for localhost, and its key: two PEM files."""
    certificate, key = directory / "certificate.pem", directory / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"),
            *("-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key
