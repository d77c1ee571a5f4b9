from django.core.management.base import CommandError

from issuers.management.register_command import (
    TREASURY,
    RegisterCommand,
    account_named,
    actor,
    add_reason,
    requested,
    token_named,
    units,
    whole,
    writing,
)
from issuers.register import ledger
from issuers.register.ledger import Kind
from partnerapi.core.commands import DRY_RUN


class Command(RegisterCommand):
    help = """Move units of a token between holders, or out of and into the treasury.

From the treasury it is an allocation, into it a return; --forced marks a transfer that
a holder did not ask for, such as a court's. Each needs a second person: request it, and
carry it out with the id of the request once a colleague has approved it.

examples:
  manage.py ledger transfer ACME 100 --from treasury --to ana@example.com \\
      --staff bo@example.com --reason "Subscription 17" --request
  manage.py ledger transfer ACME 40 --from ana@example.com --to 529900T8BM49AURSDO55 \\
      --staff bo@example.com --reason "Deed of 3 March" --dry-run
"""

    def add_own_arguments(self, parser):
        parser.add_argument("units", type=whole, help="how many, 1 or more")
        for option, dest in (("--from", "source"), ("--to", "target")):
            parser.add_argument(
                option,
                dest=dest,
                metavar="WHOM",
                required=True,
                help="treasury, or a user's email or wallet address, LEI or id",
            )
        parser.add_argument(
            "--forced", action="store_true", help="the holder did not ask for it"
        )
        add_reason(parser)

    def handle(
        self, *, symbol, units: int, source, target, forced, staff, reason, dry_run,
        request, approval, **options,
    ):  # fmt: skip
        who, token = actor(staff), token_named(symbol)
        kind = kind_of(source, target, forced)

        def entry() -> ledger.Entry:
            ends = account_named(source, token), account_named(target, token)
            return ledger.Entry(token.pk, kind, units, *ends, reason=reason)

        with writing(dry_run or request, approval):
            [recorded] = ledger.record([entry()], who)
        if request and not dry_run:
            return requested(entry(), token, staff)
        return moved(symbol, units, kind, recorded, dry_run)


def kind_of(source, target, forced):
    ends = (source.lower() == TREASURY, target.lower() == TREASURY)
    if forced and any(ends):
        raise CommandError(
            "--forced is for transfers between two holders; leave it out, or name a "
            "holder instead of the treasury."
        )
    if forced:
        return Kind.FORCED_TRANSFER
    return {
        (True, False): Kind.ALLOCATE,
        (False, True): Kind.RETURN,
    }.get(ends, Kind.TRANSFER)


def moved(symbol, count, kind, recorded, dry_run):
    if dry_run:
        return f"{kind} of {units(count)} of {symbol} is possible{DRY_RUN}"
    return f"{kind} of {units(count)} of {symbol}: entry {recorded.number}."
