from issuers.management.register_command import (
    TREASURY,
    RegisterCommand,
    account_named,
    actor,
    add_reason,
    record_one,
    requested,
    token_named,
    units,
    whole,
    writing,
)
from issuers.register import ledger
from partnerapi.core.commands import DRY_RUN


class Command(RegisterCommand):
    help = """Destroy units of a token, from the issuer's treasury or from a holder.

examples:
  manage.py ledger burn ACME 5000 --staff ana@example.com --reason "Capital decrease"
  manage.py ledger burn ACME 250 --from holder@example.com --staff ana@example.com \\
      --reason "Court order 12/2026" --dry-run
"""

    def add_own_arguments(self, parser):
        parser.add_argument("units", type=whole, help="how many, 1 or more")
        parser.add_argument(
            "--from",
            dest="source",
            metavar="WHOM",
            default=TREASURY,
            help="treasury (the default), or a user's email or wallet address, LEI "
            "or id",
        )
        add_reason(parser)

    def handle(
        self, *, symbol, units: int, source, staff, reason, dry_run, request,
        approval, **options,
    ):  # fmt: skip
        who, token = actor(staff), token_named(symbol)
        with writing(dry_run or request, approval):
            account = account_named(source, token)
            recorded, supply = record_one(
                token, ledger.Kind.BURN, units, reason, who, source=account
            )
        if request and not dry_run:
            entry = ledger.Entry(
                token.pk, ledger.Kind.BURN, units, account, None, reason
            )
            return requested(entry, token_named(symbol), staff)
        return burnt(symbol, units, supply, recorded, dry_run)


def burnt(symbol, count, supply, recorded, dry_run):
    if dry_run:
        return (
            f"{units(count)} of {symbol} would be destroyed; supply {supply:,}{DRY_RUN}"
        )
    return (
        f"Destroyed {units(count)} of {symbol} (entry {recorded.number}); supply "
        f"{supply:,}."
    )
