"""What statements of the register keep: lines, witnesses, digests, trees of holdings.

The application adds rows, and changes none but the end of a commitment.
"""

import hashlib
from datetime import datetime

from django.db import models
from django.db.models.functions import Now

from accounts.keys.models import Partner
from accounts.people.models import User
from issuers.models.tokens import Token
from issuers.register.models import LedgerAccount
from partnerapi.core.lengths import REASON_LENGTH


class StatementKey(models.Model):
    """A key that signs public statements. The key before it introduces it, signed."""

    id = models.CharField(primary_key=True, max_length=16)
    public_key = models.BinaryField(max_length=32)
    since = models.DateTimeField()
    introduced_by = models.ForeignKey(
        "self", models.PROTECT, null=True, related_name="+", db_index=False
    )
    signature = models.CharField(max_length=88, null=True)

    def __str__(self):
        return self.id


class Statement(models.Model):
    """A public statement of the register: a signed line, numbered from 1."""

    number = models.BigIntegerField(primary_key=True)
    at = models.DateTimeField()
    said = models.TextField(help_text="Canonical JSON.")
    details = models.TextField(
        null=True,
        help_text="Canonical JSON, whose SHA-256 the line names; null before this was "
        "a part of its own.",
    )
    signature = models.CharField(max_length=88, help_text="Ed25519, base64.")
    key = models.ForeignKey(
        StatementKey, models.PROTECT, related_name="+", db_index=False
    )

    def __str__(self):
        return f"Statement {self.number}"

    @property
    def digest(self) -> str:
        """The SHA-256 of the line, hexadecimal, which the next statement names."""
        return hashlib.sha256(self.said.encode()).hexdigest()


class RecordInstantQuerySet(models.QuerySet["RecordInstant"]):
    def due(self, at: datetime) -> "RecordInstantQuerySet":
        """Those that are over at an instant, and that no statement follows yet."""
        later = Statement.objects.filter(at__gte=models.OuterRef("at"))
        return self.filter(~models.Exists(later), at__lte=at)


class RecordInstant(models.Model):
    """An instant, such as a record date, that a statement of its own follows."""

    at = models.DateTimeField(primary_key=True)
    reason = models.CharField(max_length=REASON_LENGTH)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = RecordInstantQuerySet.as_manager()

    def __str__(self):
        return f"{self.at:%Y-%m-%d %H:%M:%S} UTC: {self.reason}"


class StatedToken(models.Model):
    """A token's record in a public statement, a leaf of its tree."""

    pk = models.CompositePrimaryKey("statement_id", "token_id")
    statement = models.ForeignKey(
        Statement, models.PROTECT, related_name="tokens", db_index=False
    )
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    record = models.TextField(help_text="Canonical JSON.")
    salt = models.BinaryField(max_length=16)

    def __str__(self):
        return f"{self.token} in statement {self.statement_id}"


class WitnessKey(models.Model):
    """A public key with which a partner signs statements of the register."""

    public_key = models.CharField(
        primary_key=True, max_length=44, help_text="Ed25519, base64."
    )
    partner = models.ForeignKey(
        Partner, models.PROTECT, related_name="witness_keys", db_index=False
    )
    since = models.DateTimeField()

    def __str__(self):
        return f"Key of {self.partner}"


class Witness(models.Model):
    """A partner's signature of a public statement."""

    pk = models.CompositePrimaryKey("statement_id", "key_id")
    statement = models.ForeignKey(
        Statement, models.PROTECT, related_name="witnesses", db_index=False
    )
    key = models.ForeignKey(
        WitnessKey, models.PROTECT, related_name="+", db_index=False
    )
    signature = models.CharField(max_length=88, help_text="Ed25519, base64.")
    at = models.DateTimeField()

    def __str__(self):
        return f"{self.key} on statement {self.statement_id}"


class StatedRows(models.Model):
    """What one statement says of the rows of a table that came since the one before.

    The digest is of the rows' commitments: `issuers/register/stated_rows.py`.
    """

    pk = models.CompositePrimaryKey("name", "statement_id")
    name = models.CharField(max_length=80, help_text="Of the table.")
    statement = models.ForeignKey(
        Statement, models.PROTECT, related_name="rows", db_index=False
    )
    columns = models.JSONField()
    since = models.DateTimeField(null=True, help_text="Null: all before.")
    until = models.DateTimeField()
    rows = models.BigIntegerField()
    seed = models.BinaryField(
        max_length=16,
        null=True,
        help_text="Of the salts of its rows; null since one of them was erased.",
    )
    digest = models.BinaryField(max_length=32)
    salts = models.JSONField(
        null=True, help_text="Instead of a seed: the salts of rows, by their keys."
    )
    erased = models.JSONField(
        null=True, help_text="The commitments of rows that were erased, by their keys."
    )

    def __str__(self):
        return f"{self.name} in statement {self.statement_id}"


class HolderSalt(models.Model):
    """The salt of a holder in a token's register, which opens its commitments."""

    pk = models.CompositePrimaryKey("user_id", "token_id")
    user = models.ForeignKey(
        User, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    salt = models.BinaryField(max_length=16)

    def __str__(self):
        return f"{self.user_id} in {self.token_id}"


class HolderCommitment(models.Model):
    """What stands for a holder and its name in a token's tree; kept for good.

    It is a leaf of the statements from `since` to before `until`, if the holder has
    units then.
    """

    pk = models.CompositePrimaryKey("token_id", "account_id", "since")
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    account = models.ForeignKey(
        LedgerAccount,
        models.PROTECT,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    since = models.BigIntegerField(help_text="Number of its first statement.")
    until = models.BigIntegerField(
        null=True, help_text="Number of the first statement with another name."
    )
    bucket = models.IntegerField(help_text="The first 16 bits of the commitment.")
    commitment = models.BinaryField(max_length=32)

    class Meta:
        indexes = [models.Index(fields=["token", "bucket"], name="commitment_bucket")]

    def __str__(self):
        return f"{self.account_id} in {self.token_id} from {self.since}"


class Erasure(models.Model):
    """The record of a person's erasure: a line, and the head of the chain after it."""

    number = models.BigIntegerField(primary_key=True)
    at = models.DateTimeField()
    person = models.ForeignKey(
        User, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    line = models.TextField(help_text="JSON.")
    digest = models.BinaryField(max_length=32)

    def __str__(self):
        return f"Erasure {self.number}"


class RedactedLine(models.Model):
    """A line of version 1 whose text was erased; its digests stay in the chain."""

    pk = models.CompositePrimaryKey("token_id", "number")
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    number = models.BigIntegerField(help_text="Of the entry.")
    erasure = models.ForeignKey(
        Erasure, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    digest_before = models.BinaryField(max_length=32)
    digest_after = models.BinaryField(max_length=32)

    def __str__(self):
        return f"{self.token_id} {self.number}, erasure {self.erasure_id}"


class HoldingTree(models.Model):
    """The key of the padding leaves of a token's tree of holdings."""

    token = models.OneToOneField(
        Token,
        models.PROTECT,
        primary_key=True,
        related_name="holding_tree",
        db_constraint=False,
    )
    padding_key = models.BinaryField(max_length=32)

    def __str__(self):
        return f"Holdings of {self.token_id}"


class HoldingPage(models.Model):
    """256 nodes of a token's tree of holdings, from a statement on.

    Pages 0 to 255 have the roots of buckets, page 256 has the roots of these pages.
    """

    pk = models.CompositePrimaryKey("token_id", "page", "statement_number")
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    page = models.SmallIntegerField()
    statement_number = models.BigIntegerField()
    nodes = models.BinaryField(
        help_text="Nodes that are not empty: 1 byte of place, 8 of units, 32 of hash."
    )

    def __str__(self):
        return f"{self.token_id} {self.page} of statement {self.statement_number}"
