"""Tests this machine's acceptor by a Logon like a partner's."""

import ssl

from django.conf import settings

from marketdata.fix.client.initiator import Initiator

ANYWHERE = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}


def prober(port: int, comp_id: str, key: str) -> Initiator:
    """A client for the acceptor on this port; entering and leaving it is the test.

    Raises:
        OSError: FIX_TLS_CERTIFICATE cannot be read, or holds no certificate.
    """
    certificate = settings.FIX_TLS_CERTIFICATE
    return Initiator(
        host=ANYWHERE.get(settings.FIX_HOST, settings.FIX_HOST),
        port=port,
        sender=comp_id,
        target=settings.FIX_COMP_ID,
        key=key,
        tls=own_certificate(certificate) if certificate else None,
    )


def own_certificate(certificate: str) -> ssl.SSLContext:
    """TLS that trusts only this file's certificate, for any name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(certificate)
    return context
