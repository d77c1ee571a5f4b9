"""Passkeys of staff, and what they have signed.

A passkey is a WebAuthn credential: its private key never leaves the device of the
person. PostgreSQL cannot check its signatures: Python does so before it writes, and
`verify approvals` checks all of them again.
"""

from collections.abc import Sequence
from hashlib import sha256

import uuid_utils.compat as uuid
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from accounts.people.models import User
from partnerapi.core.database import execute

NAME_LENGTH = 100


class PasskeyQuerySet(models.QuerySet["Passkey"]):
    def note_listed(self, keys: Sequence[str]) -> None:
        """Count the passkeys that a statement of the register lists, by their ids."""
        execute("SELECT passkeys_list(%s::uuid[])", [[*keys]])

    def counting(self) -> "PasskeyQuerySet":
        return self.filter(listed_at__isnull=False, revoked_at=None)


class Passkey(models.Model):
    """It counts once it was vouched for and a statement of the register has listed it.

    An older passkey of the same person vouches for it, or the passkeys of two other
    deciders do, or the owner's command. The functions of this room write it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    person = models.ForeignKey(User, models.PROTECT, related_name="passkeys")
    name = models.CharField(max_length=NAME_LENGTH)
    credential = models.BinaryField(unique=True, help_text="The credential's id.")
    public_key = models.BinaryField(
        help_text="An uncompressed point of the curve P-256: 65 bytes."
    )
    domain = models.CharField(
        max_length=253, help_text="The RP ID: what the device binds the passkey to."
    )
    created_at = models.DateTimeField(db_default=Now())
    by_owner = models.BooleanField(
        db_default=False, help_text="The owner's command has vouched for it."
    )
    vouched_at = models.DateTimeField(null=True)
    listed_at = models.DateTimeField(
        null=True, help_text="When a statement of the register first listed it."
    )
    revoked_at = models.DateTimeField(null=True)
    sign_count = models.BigIntegerField(db_default=0)

    objects = PasskeyQuerySet.as_manager()

    def __str__(self):
        return f"{self.name} of {self.person}"

    @property
    def code(self) -> str:
        """What its person reads out to the owner of the tables."""
        digest = sha256(bytes(self.credential) + bytes(self.public_key)).hexdigest()
        return f"{digest[:4]}-{digest[4:8]}"

    @property
    def counts(self) -> bool:
        return bool(self.listed_at and not self.revoked_at)


class Assertion(models.Model):
    """A signature of a passkey; its challenge is the SHA-256 of the sorted digests."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    passkey = models.ForeignKey(Passkey, models.PROTECT, related_name="assertions")
    digests = ArrayField(models.BinaryField(), help_text="Of what it signs.")
    authenticator_data = models.BinaryField()
    client_data = models.BinaryField()
    signature = models.BinaryField()
    made_at = models.DateTimeField(db_default=Now())

    def __str__(self):
        return f"{self.passkey}, {self.made_at}"


class PasskeyVoucher(models.Model):
    """An older passkey, or one of another person, has signed a passkey."""

    passkey = models.ForeignKey(Passkey, models.PROTECT, related_name="vouchers")
    assertion = models.OneToOneField(Assertion, models.PROTECT, related_name="voucher")

    def __str__(self):
        return f"{self.passkey} by {self.assertion.passkey}"
