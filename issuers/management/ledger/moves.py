"""Commands for entries that make, move and destroy units."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from django.core.management.base import CommandError

from issuers.management.register_command import (
    TREASURY,
    RegisterCommand,
    account_named,
    actor,
    add_code,
    add_reason,
    enter,
    request_entry,
    token_named,
    units,
    whole,
    writing,
)
from issuers.models import Token
from issuers.register import ledger
from issuers.register.ledger import Kind
from issuers.register.reasons import ReasonCode
from partnerapi.core.commands import DRY_RUN


class MoveCommand(RegisterCommand, ABC):
    """Enters a movement between two ledger accounts, or to or from none."""

    ends: ClassVar[dict[str, str]]
    """The options that name ledger accounts, with what they are of an entry."""
    default: ClassVar[str | None] = TREASURY
    did: ClassVar[str]
    would: ClassVar[str]
    """What is said of an entry, and of one that a dry run tried."""

    def add_own_arguments(self, parser):
        parser.add_argument("units", type=whole, help="number of units, at least 1")
        treasury = "treasury (the default)" if self.default else "treasury"
        for option, end in self.ends.items():
            parser.add_argument(
                option,
                dest=end,
                metavar="WHOM",
                default=self.default,
                required=self.default is None,
                help=f"{treasury}, or a user's email or wallet address, LEI or id",
            )
        add_reason(parser)
        add_code(parser)

    @abstractmethod
    def kind(self, options: dict[str, Any]) -> str:
        """
        Raises:
            CommandError: no kind of entry fits these two ends.
        """

    def handle(self, *, symbol, staff, dry_run, request, approval, **options):
        who, token, kind = actor(staff), token_named(symbol), self.kind(options)
        tries = dry_run or request
        with writing(tries, approval):
            recorded, supply = enter(self.entry(token, kind, options), who, tries)
        if request and not dry_run:
            # The ledger accounts that the trial opened are gone.
            entry = self.entry(token, kind, options)
            return request_entry(entry, token_named(symbol), staff)
        said = self.would + DRY_RUN if dry_run else self.did
        return said.format(
            kind=kind,
            units=f"{units(options['units'])} of {symbol}",
            number=recorded.number,
            supply=supply,
        )

    def entry(self, token: Token, kind: str, options: dict[str, Any]) -> ledger.Entry:
        ends = {end: account_named(options[end], token) for end in self.ends.values()}
        return ledger.Entry(
            token.pk, kind, options["units"], ends.get("source"), ends.get("target"),
            reason=options["reason"],
            code=options["code"] and ReasonCode(options["code"]),
        )  # fmt: skip


class Mint(MoveCommand):
    help = """Create units of a token, in the issuer's treasury or with a holder.

At most 2^64-1 units can exist, and no more than the token's authorized units, if set.
Their value at the latest price can be at most 2^63-1 cents.

examples:
  manage.py ledger mint ACME 1000000 --staff ana@example.com --code ISSUE \\
      --reason "Capital increase"
  manage.py ledger mint ACME 250 --to holder@example.com --staff ana@example.com \\
      --reason "Founders' shares" --dry-run
  manage.py ledger mint ACME 1000000 --staff ana@example.com \\
      --reason "Capital increase" --request
"""
    ends: ClassVar = {"--to": "target"}
    did = "Created {units} (entry {number}); supply {supply:,}."
    would = "{units} would be created; supply {supply:,}"

    def kind(self, options):
        return Kind.MINT


class Burn(MoveCommand):
    help = """Destroy units of a token, from the issuer's treasury or from a holder.

examples:
  manage.py ledger burn ACME 5000 --staff ana@example.com --reason "Capital decrease"
  manage.py ledger burn ACME 250 --from holder@example.com --staff ana@example.com \\
      --reason "Court order 12/2026" --dry-run
"""
    ends: ClassVar = {"--from": "source"}
    did = "Destroyed {units} (entry {number}); supply {supply:,}."
    would = "{units} would be destroyed; supply {supply:,}"

    def kind(self, options):
        return Kind.BURN


class Transfer(MoveCommand):
    help = """Move units of a token between holders, or out of and into the treasury.

A movement from the treasury is an allocation, and one into it a return; --forced marks
a transfer without the holder's consent, for example by court order. Each needs a second
person: request it, and run the command with the id of the request once a colleague has
approved it.

examples:
  manage.py ledger transfer ACME 100 --from treasury --to ana@example.com \\
      --staff bo@example.com --reason "Subscription 17" --request
  manage.py ledger transfer ACME 40 --from ana@example.com --to 529900T8BM49AURSDO55 \\
      --staff bo@example.com --reason "Deed of 3 March" --dry-run
"""
    ends: ClassVar = {"--from": "source", "--to": "target"}
    default = None
    did = "{kind} of {units}: entry {number}."
    would = "{kind} of {units} is possible"

    def add_own_arguments(self, parser):
        super().add_own_arguments(parser)
        parser.add_argument(
            "--forced", action="store_true", help="without the holder's consent"
        )

    def kind(self, options):
        from_and_to = tuple(
            options[end].lower() == TREASURY for end in ("source", "target")
        )
        if options["forced"] and any(from_and_to):
            raise CommandError(
                "--forced is for transfers between two holders; omit it, or name a "
                "holder instead of the treasury."
            )
        if options["forced"]:
            return Kind.FORCED_TRANSFER
        return {
            (True, False): Kind.ALLOCATE,
            (False, True): Kind.RETURN,
        }.get(from_and_to, Kind.TRANSFER)
