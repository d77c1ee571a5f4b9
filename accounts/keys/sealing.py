"""Encrypts what the database keeps and must not know: secrets of webhooks.

The key is derived from a pepper of PARTNER_API_KEY_PEPPER (HKDF, RFC 5869), so that
it rolls with the peppers: the first one encrypts, each one decrypts. AES-256-GCM.
"""

import hashlib
import os
from functools import cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from accounts.keys.peppers import peppers

MARK = b"\x01"
"""The first byte of what is sealed; JSON never begins with it."""
NAME_BYTES, NONCE_BYTES = 4, 12


class SealBroken(Exception):
    """No pepper of the settings opens it, or it was changed."""


@cache
def key_of(pepper: bytes) -> tuple[bytes, AESGCM]:
    """The name of the key that is derived from a pepper, and the key."""
    derived = HKDF(SHA256(), 32, salt=None, info=b"partnerapi sealed").derive(pepper)
    return hashlib.sha256(derived).digest()[:NAME_BYTES], AESGCM(derived)


def seal(plain: bytes, purpose: bytes) -> bytes:
    """Encrypt; only the same purpose opens it."""
    name, key = key_of(peppers()[0])
    nonce = os.urandom(NONCE_BYTES)
    return MARK + name + nonce + key.encrypt(nonce, plain, purpose)


def unseal(sealed: bytes, purpose: bytes) -> bytes:
    """
    Raises:
        SealBroken
    """
    name, rest = sealed[1 : 1 + NAME_BYTES], sealed[1 + NAME_BYTES :]
    for known, key in map(key_of, peppers()):
        if known == name and sealed[:1] == MARK:
            try:
                return key.decrypt(rest[:NONCE_BYTES], rest[NONCE_BYTES:], purpose)
            except InvalidTag:
                break
    raise SealBroken("No pepper of PARTNER_API_KEY_PEPPER opens this.")
