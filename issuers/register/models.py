"""The register: the holders of a token's units, and the price of a unit.

Only functions of the tables' owner write it, which `writer` calls: `register_write` and
`register_history`, and `trading_write` for markets. They derive numbers, postings, the
holders' balances and the token's head, and nothing changes or removes an entry.
"""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import ExpressionWrapper, F, Func, Q
from django.db.models.functions import Now
from django.db.models.lookups import LessThanOrEqual

from accounts.access import Caller, Scope
from accounts.people.models import User, UserHolder
from issuers.models.issuers import Issuer
from issuers.models.tokens import MAX_UNITS, MAX_VALUE, Token, Units
from issuers.register.kinds import EntryKind
from issuers.register.reasons import CHOICES, ReasonCode
from partnerapi.core.constraints import check
from partnerapi.core.lengths import ACTOR_LENGTH, REASON_LENGTH

CLASS = "floor(%(to_a_doubling)s * ln(%(expressions)s::float8) / ln(2::float8))::int2"


def salt() -> models.BinaryField:
    """16 random bytes, without which a digest tells nothing; null in version 1."""
    return models.BinaryField(max_length=16, null=True)


def digest(meaning: str) -> models.BinaryField:
    return models.BinaryField(max_length=32, null=True, help_text=meaning)


class TokenPrice(models.Model):
    """The price of a token's unit from an instant on; numbered per token from 1."""

    class Source(models.TextChoices):
        ISSUE = "ISSUE", "Issue price"
        TRADE = "TRADE", "Trade"
        NAV = "NAV", "Net asset value"
        MANUAL = "MANUAL", "Set by staff"

    STAFF_SOURCES = (Source.MANUAL, Source.NAV, Source.ISSUE)
    """Of prices that staff record; the others come of trades."""

    pk = models.CompositePrimaryKey("token_id", "number")
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="prices", db_index=False
    )
    number = models.BigIntegerField()
    price_cents = models.BigIntegerField(help_text="Price of a unit, euro cents.")
    source = models.CharField(max_length=6, choices=Source)
    effective_at = models.DateTimeField()
    recorded_at = models.DateTimeField(db_default=Now(), editable=False)
    recorded_by = models.CharField(max_length=ACTOR_LENGTH)
    salt = salt()
    private_digest = digest("SHA-256 of salt and private part; null in version 1.")
    previous_digest = digest("In the first line of version 2: the digest before it.")

    class Meta:
        constraints = [
            check("token_price_is_not_negative", Q(price_cents__gte=0)),
            check(
                "token_price_source_is_known",
                Q(source__in=["ISSUE", "TRADE", "NAV", "MANUAL"]),
            ),
        ]
        indexes = [
            models.Index(
                fields=["token", "-effective_at", "-number"],
                include=["price_cents"],
                name="token_price_at",
            ),
            BrinIndex(fields=["recorded_at"], name="token_price_recorded"),
            # For the log, which leaves out the prices of trades.
            models.Index(
                fields=["token", "recorded_at"],
                condition=~Q(source="TRADE"),
                name="token_price_recorded_by_hand",
            ),
        ]

    def __str__(self):
        return f"{self.token} {self.price_cents} cents from {self.effective_at}"


class LedgerAccount(models.Model):
    """An account for units: a holder's, or an issuer's treasury."""

    class Kind(models.TextChoices):
        HOLDER = "HOLDER", "Holder"
        TREASURY = "TREASURY", "Treasury"

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=8, choices=Kind)
    holder = models.OneToOneField(
        UserHolder, models.PROTECT, null=True, related_name="ledger_account"
    )
    # The holder's.
    user = models.OneToOneField(
        User, models.PROTECT, null=True, related_name="ledger_account"
    )
    issuer = models.OneToOneField(
        Issuer, models.PROTECT, null=True, related_name="treasury"
    )

    class Meta:
        constraints = [
            check(
                "ledger_account_is_a_holder_or_a_treasury",
                Q(
                    kind="HOLDER",
                    holder__isnull=False,
                    user__isnull=False,
                    issuer__isnull=True,
                )
                | Q(
                    kind="TREASURY",
                    holder__isnull=True,
                    user__isnull=True,
                    issuer__isnull=False,
                ),
            )
        ]

    def __str__(self):
        if self.kind == self.Kind.TREASURY:
            return f"Treasury of {self.issuer}"
        return str(self.holder)


class TokenLedgerHead(models.Model):
    """The state of a token's ledger; a writer must lock its row.

    Every token has one from its creation. `held` and `holder_count` leave the
    treasury out. Before `is_open`, a history with times of its own may be imported, and
    its entries and prices need not come in the order of their times.
    """

    token = models.OneToOneField(
        Token, models.CASCADE, primary_key=True, related_name="ledger_head"
    )
    last_seq = models.BigIntegerField(default=0)
    last_price = models.BigIntegerField(default=0)
    last_effective_at = models.DateTimeField(null=True)
    last_price_at = models.DateTimeField(null=True)
    supply = Units(default=0)
    held = Units(default=0)
    holder_count = models.BigIntegerField(default=0)
    price_cents = models.BigIntegerField(null=True)
    entry_digest = models.BinaryField(
        max_length=32,
        db_default=bytes(32),
        help_text="End of the SHA-256 chain of all entries.",
    )
    price_digest = models.BinaryField(
        max_length=32,
        db_default=bytes(32),
        help_text="End of the SHA-256 chain of all prices.",
    )
    version_1_entries = models.BigIntegerField(
        null=True,
        help_text="How many entries came before the first line of version 2; null: "
        "there is no line of version 2.",
    )
    version_1_prices = models.BigIntegerField(null=True)
    hold_transaction = models.BigIntegerField(
        null=True, help_text="The database transaction that last held it."
    )
    hold_at = models.DateTimeField(
        null=True, help_text="The time taken under the lock."
    )
    is_open = models.BooleanField(default=False)

    class Meta:
        constraints = [
            check(
                "ledger_held_within_supply_within_uint64",
                Q(held__gte=0)
                & Q(held__lte=models.F("supply"))
                & Q(supply__lte=MAX_UNITS),
            ),
            check(
                "ledger_value_of_supply_within_bounds",
                Q(is_open=False)
                | Q(price_cents__isnull=True)
                | Q(
                    LessThanOrEqual(
                        ExpressionWrapper(
                            models.F("supply") * models.F("price_cents"),
                            models.DecimalField(),
                        ),
                        MAX_VALUE,
                    )
                ),
            ),
        ]

    def __str__(self):
        return f"{self.token} at {self.last_seq}"


class EntryKindRow(models.Model):
    """A kind of entries as the database judges it; `migrate` writes the rows.

    An entry moves units from one of the `sources` to one of the `targets`, kinds of
    accounts; NULL among them: units are made, or destroyed. `approval` is the kind of
    request under which a policy may ask for a second person.
    """

    name = models.CharField(max_length=15, primary_key=True)
    sources = ArrayField(models.CharField(max_length=8, null=True))
    targets = ArrayField(models.CharField(max_length=8, null=True))
    is_paused = models.BooleanField(help_text="A pause of the token stops it.")
    is_taken = models.BooleanField(help_text="It needs the sender's free units.")
    is_given = models.BooleanField(help_text="Its receiver must be allowed to hold.")
    is_forced = models.BooleanField(
        help_text="Its receiver must be verified and not frozen."
    )
    approval = models.CharField(max_length=20, null=True)

    class Meta:
        db_table = "issuers_entrykind"

    def __str__(self):
        return self.name


class LedgerTransaction(models.Model):
    """A movement of units: made, moved or destroyed; and the token's state after it."""

    pk = models.CompositePrimaryKey("token_id", "seq")
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="transactions", db_index=False
    )
    seq = models.BigIntegerField(help_text="From 1, without gaps, per token.")
    kind = models.CharField(
        max_length=15, choices=[(kind.value, kind.label) for kind in EntryKind]
    )
    source = models.ForeignKey(
        LedgerAccount, models.PROTECT, null=True, related_name="+", db_index=False
    )
    target = models.ForeignKey(
        LedgerAccount, models.PROTECT, null=True, related_name="+", db_index=False
    )
    amount = Units()
    effective_at = models.DateTimeField()
    recorded_at = models.DateTimeField(db_default=Now(), editable=False)
    supply_after = Units()
    held_after = Units()
    holders_after = models.BigIntegerField()
    actor = models.CharField(max_length=ACTOR_LENGTH)
    reason = models.CharField(max_length=REASON_LENGTH, blank=True)
    reason_code = models.CharField(
        max_length=14,
        choices=CHOICES,
        null=True,
        help_text="Null before version 3 of lines, and where no person entered it.",
    )
    chain_reference = models.CharField(max_length=100, null=True)
    legacy_shareholder = models.ForeignKey(
        "issuers.LegacyShareholder",
        models.PROTECT,
        null=True,
        related_name="transactions",
        db_index=False,
    )
    reverses = models.BigIntegerField(
        null=True, help_text="The seq of the entry that it reverses."
    )
    source_before = models.BigIntegerField(
        null=True, help_text="The source's entry before; 0: none. Null in version 1."
    )
    target_before = models.BigIntegerField(
        null=True, help_text="The target's entry before; 0: none. Null in version 1."
    )
    salt = salt()
    private_digest = digest("SHA-256 of salt and private part; null in version 1.")
    previous_digest = digest("In the first line of version 2: the digest before it.")

    class Meta:
        constraints = [
            check("ledger_amount_is_positive", Q(amount__gt=0)),
            check("ledger_reason_is_known", Q(reason_code__in=[*ReasonCode])),
            check(
                "ledger_units_come_or_go",
                ~Q(source__isnull=True, target__isnull=True)
                & ~Q(source=models.F("target")),
            ),
            check(
                "ledger_reversal_names_what_it_reverses",
                Q(("kind", "REVERSAL"), ("reverses__isnull", False))
                | ~Q(kind="REVERSAL") & Q(reverses__isnull=True),
            ),
            check(
                "ledger_delivery_names_its_legacy_shareholder",
                Q(kind="LEGACY_DELIVERY", legacy_shareholder__isnull=False)
                | ~Q(kind="LEGACY_DELIVERY") & Q(legacy_shareholder__isnull=True),
            ),
            models.UniqueConstraint(
                fields=["legacy_shareholder"],
                condition=Q(legacy_shareholder__isnull=False),
                name="legacy_shares_are_delivered_once",
            ),
            models.UniqueConstraint(
                fields=["token", "reverses"],
                condition=Q(reverses__isnull=False),
                name="ledger_entry_is_reversed_once",
            ),
        ]
        indexes = [
            models.Index(
                fields=["token", "-effective_at", "-seq"],
                include=["supply_after", "held_after", "holders_after"],
                name="ledger_state_at",
            ),
            BrinIndex(fields=["recorded_at"], name="ledger_recorded"),
            models.Index(
                fields=["token", "recorded_at"], name="ledger_recorded_of_token"
            ),
            # For the log, which leaves out what markets and deliveries record.
            models.Index(
                fields=["recorded_at"],
                condition=~Q(kind__in=["LEGACY_DELIVERY", "TRADE"]),
                name="ledger_recorded_singly",
            ),
            models.Index(
                fields=["token", "recorded_at"],
                condition=~Q(kind__in=["LEGACY_DELIVERY", "TRADE"]),
                name="ledger_singly_of_token",
            ),
        ]

    def __str__(self):
        return f"{self.token} {self.seq}: {self.kind} {self.amount}"


class LedgerPosting(models.Model):
    """One side of a transaction, and the account's balance after it.

    It is written with its transaction, which has the foreign keys.
    """

    pk = models.CompositePrimaryKey("token_id", "seq", "leg")
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    seq = models.BigIntegerField()
    leg = models.SmallIntegerField(help_text="1: units leave. 2: units arrive.")
    account = models.ForeignKey(
        LedgerAccount,
        models.PROTECT,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    delta = models.DecimalField(max_digits=21, decimal_places=0)
    balance_after = Units()

    class Meta:
        constraints = [
            check(
                "ledger_first_leg_takes_second_gives",
                Q(leg=1, delta__lt=0) | Q(leg=2, delta__gt=0),
            ),
            check("ledger_balance_after_is_not_negative", Q(balance_after__gte=0)),
        ]
        indexes = [
            models.Index(
                fields=["token", "account", "-seq"],
                include=["balance_after"],
                name="ledger_balance_at",
            )
        ]

    def __str__(self):
        return f"{self.token} {self.seq}.{self.leg}: {self.delta}"


class HolderBalanceQuerySet(models.QuerySet):
    def visible_to(self, caller: Caller | None):
        """Balances of granted issuers' tokens; none without the scope."""
        if caller is None or Scope.CAPTABLE_READ not in caller.scopes:
            return self.none()
        if caller.granted_issuers is None:
            return self
        return self.filter(token__issuer__in=caller.granted_issuers)


class HolderBalance(models.Model):
    """An account's balance of a token as its last posting left it; derived."""

    pk = models.CompositePrimaryKey("token_id", "account_id")
    token = models.ForeignKey(
        Token,
        models.PROTECT,
        related_name="balances",
        db_index=False,
        db_constraint=False,
    )
    account = models.ForeignKey(
        LedgerAccount, models.PROTECT, related_name="balances", db_constraint=False
    )
    # The account's, here so that holders are listed without a look at their accounts.
    user = models.ForeignKey(
        User,
        models.PROTECT,
        null=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    balance = Units()
    last_seq = models.BigIntegerField()
    reserved = Units(db_default=0, help_text="Units held for open sell orders.")

    objects = HolderBalanceQuerySet.as_manager()

    class Meta:
        constraints = [
            check("holder_balance_is_not_negative", Q(balance__gte=0)),
            check(
                "holder_balance_reserved_within_balance",
                Q(reserved__gte=0) & Q(reserved__lte=models.F("balance")),
            ),
        ]

    def __str__(self):
        return f"{self.account}: {self.balance} {self.token}"


class HoldingPeriod(models.Model):
    """From which entry to which a user had units of a token; derived from entries.

    Whoever holds at entry n has a period with since ≤ n, and until > n or none. So
    the holders of any instant are listed by user without a look at their balances.
    """

    pk = models.CompositePrimaryKey("token_id", "user_id", "since")
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    user = models.ForeignKey(
        User, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    since = models.BigIntegerField(help_text="The entry that gave the first unit.")
    until = models.BigIntegerField(
        null=True, help_text="The entry that took the last unit."
    )
    # Classes by the logarithm: a reader of entry n passes over the periods that begin
    # or end in a class that cannot have n.
    since_class = models.GeneratedField(
        expression=Func(F("since"), template=CLASS, to_a_doubling=8),
        output_field=models.SmallIntegerField(),
        db_persist=True,
    )
    until_class = models.GeneratedField(
        expression=Func(
            F("until"), template=f"coalesce({CLASS}, 32767)", to_a_doubling=32
        ),
        output_field=models.SmallIntegerField(),
        db_persist=True,
    )

    class Meta:
        constraints = [
            check(
                "holding_ends_after_it_begins",
                Q(until__isnull=True) | Q(until__gt=F("since")),
            ),
            models.UniqueConstraint(
                fields=["token", "user"],
                condition=Q(until__isnull=True),
                include=["since"],
                name="holding_now",
            ),
        ]
        indexes = [
            models.Index(
                fields=["token", "since_class", "until_class", "user"],
                include=["since", "until"],
                name="holding_then",
            )
        ]

    def __str__(self):
        return f"{self.user}: {self.token} from {self.since}"
