"""Begins an export: fixes what it is of, and the instant of its rows."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from accounts.access import Caller
from accounts.accounts.models import Account
from accounts.keys.models import Partner
from issuers.models import Issuer, Token
from issuers.register.captable import tokens_as_of
from partnerapi.core.errors import BadUserInput, NotFound, PartnerAPIError
from partnerapi.core.postgresql.timing import untimed
from partnerapi.exports.access import check_access
from partnerapi.exports.connections import CONNECTIONS
from partnerapi.exports.models import Export

MOST_KEPT = 100
"""Exports of one partner that wait, are written, or can be downloaded."""


class TooManyExports(PartnerAPIError):
    """The partner already has `maximum` exports waiting, being written or available for
    download.
    """

    code = "TOO_MANY_EXPORTS"
    example = "the 101st export of a day"
    remedy = "Wait until one expires; see `expiresAt`."


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a partner asks for.

    `named_by` is the member of the input that names what the connection is of, and
    `key` its uuid, None where it is malformed.
    """

    connection: str
    named_by: str | None = None
    key: str | None = None
    date: datetime | None = None


def check_members(
    connection: str, named: Collection[str], date: datetime | None
) -> None:
    """Refuse members of the input that do not go with the connection.

    `named` are those that name what it is of.

    Raises:
        BadUserInput
    """
    exported = CONNECTIONS[connection]
    for name in named:
        if name not in exported.paths:
            raise BadUserInput(
                f"An export of {connection} does not accept `{name}`.",
                argument=f"input.{name}",
            )
    if not named and None not in exported.paths:
        [name] = filter(None, exported.paths)
        raise BadUserInput(
            f"An export of {connection} needs `{name}`.", argument=f"input.{name}"
        )
    if date is not None and not exported.of_instant:
        raise BadUserInput(
            f"An export of {connection} does not accept `date`: its rows are as of "
            "the time of writing.",
            argument="input.date",
        )


def create_export(caller: Caller, wanted: Wanted, is_trial: bool = False) -> Export:
    """Begin an export; a worker writes it. A trial locks and writes nothing.

    Raises:
        NotFound: there is no such issuer, no such token that the caller may see, or no
            such account of the caller's.
        Forbidden: the caller has no grant for the issuer.
        RequestTimeout: a writer holds the ledger for too long.
        TooManyExports
    """
    export = Export(partner_id=caller.partner_id, connection=wanted.connection)
    keys = [] if wanted.key is None else [wanted.key]
    match wanted.named_by:
        case "issuerID":
            issuers = Issuer.objects.filter(pk__in=keys)
            export.issuer_id = issuers.values_list("pk", flat=True).first()
            if export.issuer_id is None:
                raise NotFound(
                    "There is no issuer with this id.", argument="input.issuerID"
                )
        case "tokenID":
            token = Token.objects.visible_to(caller).filter(pk__in=keys).first()
            if token is None:
                raise NotFound(
                    "There is no token with this id that you may see.",
                    argument="input.tokenID",
                )
            export.issuer_id, export.token_id = token.issuer_id, token.pk
        case "accountID":
            accounts = Account.objects.of_partner(caller).filter(pk__in=keys)
            export.account_id = accounts.values_list("pk", flat=True).first()
            if export.account_id is None:
                raise NotFound(
                    "You have no account with this id.", argument="input.accountID"
                )
    check_access(export, caller)
    if CONNECTIONS[wanted.connection].of_instant:
        # Once it is fixed, nothing is entered at or before the instant.
        date, [tokens] = tokens_as_of([str(export.issuer_id)], wanted.date)
        export.date = datetime.fromisoformat(date)
        if export.token_id is not None:
            seqs = {token.token_id: token.seq for token in tokens}
            export.last_sequence = seqs.get(str(export.token_id), 0)
    ended = [Export.Status.FAILED, Export.Status.EXPIRED]
    with transaction.atomic():
        if not is_trial:
            # Concurrent requests are counted, too.
            with untimed():
                Partner.objects.select_for_update(no_key=True).get(pk=caller.partner_id)
        kept = Export.objects.of_partner(caller).exclude(status__in=ended)
        if kept.count() >= MOST_KEPT:
            raise TooManyExports(
                f"You have {MOST_KEPT} exports that are waiting, being written or "
                "available for download; wait until one expires.",
                maximum=MOST_KEPT,
            )
        if not is_trial:
            export.save(force_insert=True)
    return export
