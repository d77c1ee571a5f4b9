"""Begins an export: fixes what it is of, and the instant of its rows."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from accounts.access import Caller
from accounts.keys.models import Partner
from issuers.models import Issuer, Token
from issuers.register.captable import tokens_as_of
from partnerapi.core.errors import BadUserInput, NotFound, PartnerAPIError
from partnerapi.core.postgresql.timing import untimed
from partnerapi.exports.access import check_access
from partnerapi.exports.models import Export, ExportedConnection

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
    """What a partner asks for: ids as uuids, None where none is given, or malformed."""

    connection: str
    issuer_id: str | None = None
    token_id: str | None = None
    date: datetime | None = None


OF_INSTANT = (ExportedConnection.HOLDERS, ExportedConnection.TRANSACTIONS)
"""Connections whose past is kept, so that any instant can be asked for."""
NAMED_BY: dict[str, str | None] = {
    ExportedConnection.HOLDERS: "issuerID",
    ExportedConnection.TRANSACTIONS: "tokenID",
    ExportedConnection.LEGACY_SHAREHOLDERS: "issuerID",
    ExportedConnection.ACCOUNTS: None,
    ExportedConnection.ORDERS: None,
    ExportedConnection.EXECUTIONS: None,
    ExportedConnection.POSITIONS: None,
}
"""The member of the input that names what the connection is of."""


def check_members(connection: str, given: set[str]) -> None:
    """Refuse members of the input that do not go with the connection.

    Raises:
        BadUserInput
    """
    wanted = NAMED_BY[connection]
    for name in ("issuerID", "tokenID"):
        if (name in given) != (name == wanted):
            rule = "needs" if name == wanted else "does not accept"
            raise BadUserInput(
                f"An export of {connection} {rule} `{name}`.", argument=f"input.{name}"
            )
    if "date" in given and connection not in OF_INSTANT:
        raise BadUserInput(
            f"An export of {connection} does not accept `date`: its rows are as of "
            "the time of writing.",
            argument="input.date",
        )


def create_export(caller: Caller, wanted: Wanted) -> Export:
    """Begin an export; a worker writes it.

    Raises:
        NotFound: there is no such issuer, or no such token that the caller may see.
        Forbidden: the caller has no grant for the issuer.
        RequestTimeout: a writer holds the ledger for too long.
        TooManyExports
    """
    export = Export(partner_id=caller.partner_id, connection=wanted.connection)
    match NAMED_BY[wanted.connection]:
        case "issuerID":
            issuers = Issuer.objects.filter(pk__in=present(wanted.issuer_id))
            export.issuer_id = issuers.values_list("pk", flat=True).first()
            if export.issuer_id is None:
                raise NotFound(
                    "There is no issuer with this id.", argument="input.issuerID"
                )
        case "tokenID":
            tokens = Token.objects.visible_to(caller)
            token = tokens.filter(pk__in=present(wanted.token_id)).first()
            if token is None:
                raise NotFound(
                    "There is no token with this id that you may see.",
                    argument="input.tokenID",
                )
            export.issuer_id, export.token_id = token.issuer_id, token.pk
    check_access(export, caller)
    if wanted.connection in OF_INSTANT:
        # Once it is fixed, nothing is entered at or before the instant.
        date, [tokens] = tokens_as_of([str(export.issuer_id)], wanted.date)
        export.date = datetime.fromisoformat(date)
        if export.token_id is not None:
            seqs = {token.token_id: token.seq for token in tokens}
            export.last_sequence = seqs.get(str(export.token_id), 0)
    ended = [Export.Status.FAILED, Export.Status.EXPIRED]
    with transaction.atomic():
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
        export.save(force_insert=True)
    return export


def present(key: str | None) -> list[str]:
    return [] if key is None else [key]
