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
    help = """Make units of a token, in the issuer's treasury or with a holder.

At most 2^64-1 units can exist, at most the token's authorized units where it has such
a bound, and at most 2^63-1 cents' worth at its latest price.

examples:
  manage.py ledger mint ACME 1000000 --staff ana@example.com --reason "Capital increase"
  manage.py ledger mint ACME 250 --to holder@example.com --staff ana@example.com \\
      --reason "Founders' shares" --dry-run
  manage.py ledger mint ACME 1000000 --staff ana@example.com \\
      --reason "Capital increase" --request
"""

    def add_own_arguments(self, parser):
        parser.add_argument("units", type=whole, help="how many, 1 or more")
        parser.add_argument(
            "--to",
            metavar="WHOM",
            default=TREASURY,
            help="treasury (the default), or a user's email or wallet address, LEI "
            "or id",
        )
        add_reason(parser)

    def handle(
        self, *, symbol, units: int, to, staff, reason, dry_run, request, approval,
        **options,
    ):  # fmt: skip
        who, token = actor(staff), token_named(symbol)
        with writing(dry_run or request, approval):
            account = account_named(to, token)
            recorded, supply = record_one(
                token, ledger.Kind.MINT, units, reason, who, target=account
            )
        if request and not dry_run:
            account = account_named(to, token)
            entry = ledger.Entry(
                token.pk, ledger.Kind.MINT, units, None, account, reason
            )
            return requested(entry, token_named(symbol), staff)
        return minted(symbol, units, supply, recorded, dry_run)


def minted(symbol, count, supply, recorded, dry_run):
    if dry_run:
        return f"{units(count)} of {symbol} would be made; supply {supply:,}{DRY_RUN}"
    return (
        f"Made {units(count)} of {symbol} (entry {recorded.number}); supply {supply:,}."
    )
