"""Documents from the register: an issuer's extract, a holder's statement."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from accounts.people.models import User
from issuers.exports.captable import DatedTable, holdings, lines
from issuers.exports.documents import (
    MOST_LINES,
    DocumentTable,
    TableColumn,
    document,
    euros,
)
from issuers.models import Issuer, Token
from issuers.register.captable import tokens_as_of
from issuers.register.captable_columns import TokenSummary
from issuers.register.chains import Chain, digest_after
from issuers.register.models import TokenLedgerHead
from issuers.register.names import names_of
from issuers.register.proofs import HoldingProof, holding_proof, stated_at
from issuers.register.publication import canonical
from partnerapi.core.database import rows_of
from partnerapi.core.times import to_rfc3339

TOKENS = (
    TableColumn("Token", 0.13),
    TableColumn("Name", 0.22),
    TableColumn("Held", 0.15, is_number=True),
    TableColumn("Supply", 0.15, is_number=True),
    TableColumn("Price, EUR", 0.15, is_number=True),
    TableColumn("Holders", 0.1, is_number=True),
    TableColumn("Entry", 0.1, is_number=True),
)
CHAINS = (
    TableColumn("Token", 0.13),
    TableColumn("Last entry", 0.12, is_number=True),
    TableColumn("Chain head (SHA-256)", 0.75),
)
HOLDERS = (
    TableColumn("Holder", 0.33),
    TableColumn("Country", 0.08),
    TableColumn("Token", 0.13),
    TableColumn("Units", 0.17, is_number=True),
    TableColumn("Value, EUR", 0.17, is_number=True),
    TableColumn("Share", 0.12, is_number=True),
)
POSITIONS = (
    TableColumn("Issuer", 0.3),
    TableColumn("Token", 0.15),
    TableColumn("Units", 0.2, is_number=True),
    TableColumn("Price, EUR", 0.15, is_number=True),
    TableColumn("Value, EUR", 0.2, is_number=True),
)
PROOFS = (
    TableColumn("Token", 0.2),
    TableColumn("Units proved", 0.2, is_number=True),
    TableColumn("Statement", 0.15, is_number=True),
    TableColumn("Of (UTC)", 0.25),
    TableColumn("Later entries", 0.2, is_number=True),
)
MOVEMENTS = (
    TableColumn("Time (UTC)", 0.17),
    TableColumn("Token", 0.12),
    TableColumn("Entry", 0.07, is_number=True),
    TableColumn("Kind", 0.16),
    TableColumn("Units", 0.14, is_number=True),
    TableColumn("Balance", 0.14, is_number=True),
    TableColumn("Reason", 0.2),
)


class TooManyLines(Exception):
    """A document has at most 10,000 lines; the message names what has them all."""


def register_extract(table: DatedTable) -> bytes:
    """An issuer's tokens and holders at an instant.

    Raises:
        TooManyLines
    """
    issuer = table.issuer
    if table.holding_count > MOST_LINES:
        raise TooManyLines(
            f"The table has {table.holding_count:,} lines, and a document at most "
            f"{MOST_LINES:,}. captable {issuer.slug} --format csv writes them all."
        )
    tokens = tokens_of(table.tokens)
    with holdings(table) as held:
        holders = [
            (name, country or "", symbol, f"{units:,}", euros(value), f"{share:.4%}")
            for _, name, _, country, _, _, _, symbol, units, _, value, share in lines(
                table, held
            )
        ]
    return document(
        f"Register of {issuer.trading_name}",
        [
            ("Issuer", issuer.owner.company_name or issuer.trading_name),
            ("At", to_rfc3339(table.date)),
            ("Value of units held", f"{euros(table.total_value)} EUR"),
        ],
        [
            DocumentTable("Tokens", TOKENS, token_rows(table.tokens, tokens)),
            DocumentTable("Ledgers", CHAINS, chain_rows(table.tokens, tokens)),
            DocumentTable("Holders", HOLDERS, holders),
        ],
    )


class HolderStatement(NamedTuple):
    """A document, and the proofs of its units: JSON texts by the token's symbol."""

    document: bytes
    proofs: dict[str, str]


def holder_statement(user: User, at: datetime | None) -> HolderStatement:
    """A user's holdings at an instant, the entries that led to them, and the proofs.

    Raises:
        TooManyLines
    """
    issuers: list[UUID] = [pk for (pk,) in rows_of(HELD, [user.pk])]
    date, summaries = "", []
    if issuers:
        date, tables = tokens_as_of([str(pk) for pk in issuers], at)
        summaries = [summary for table in tables for summary in table]
    tokens = tokens_of(summaries)
    with connection.cursor() as cursor:
        cursor.execute(
            POSTED,
            [[s.token_id for s in summaries], [s.seq for s in summaries], user.pk],
        )
        rows = cursor.fetchmany(MOST_LINES + 1)
    if len(rows) > MOST_LINES:
        raise TooManyLines(
            f"The statement has more than {MOST_LINES:,} entries. ledger SYMBOL "
            "--format csv writes them all."
        )
    balances = {str(token_id): int(after) for _, token_id, *_, after, _ in rows}
    held = [s for s in summaries if balances.get(s.token_id)]
    named = Issuer.objects.filter(pk__in=issuers)
    names = dict(named.values_list("pk", "trading_name"))
    positions = [
        (
            names[tokens[s.token_id].issuer_id], tokens[s.token_id].symbol,
            f"{balances[s.token_id]:,}", euros(s.price),
            euros(s.price * balances[s.token_id]),
        )
        for s in held
    ]  # fmt: skip
    movements = [
        (
            f"{when:%Y-%m-%d %H:%M:%S}", tokens[str(token_id)].symbol, f"{seq:,}", kind,
            f"{delta:+,}", f"{after:,}", reason,
        )
        for when, token_id, seq, kind, delta, after, reason in rows
    ]  # fmt: skip
    worth = sum(s.price * balances[s.token_id] for s in held)
    name = names_of([str(user.pk)], date or "infinity").get(str(user.pk), str(user))
    touched = [s for s in summaries if s.token_id in balances]
    proved: list[tuple[str, HoldingProof]] = []
    for summary in held:
        if stated := stated_at(UUID(summary.token_id), at):
            found = holding_proof(stated, user.pk, at)
            if found.proof:
                proved.append((tokens[summary.token_id].symbol, found))
    statements = {proof.stated.statement for _, proof in proved}
    written = document(
        f"Statement of {name}",
        [
            ("Holder", f"{name}, {user.pk}"),
            ("At", to_rfc3339(date) if date else "no entries"),
            ("Value", f"{euros(worth)} EUR"),
        ],
        [
            DocumentTable("Units held", POSITIONS, positions),
            DocumentTable("Entries", MOVEMENTS, movements),
            DocumentTable("Ledgers", CHAINS, chain_rows(touched, tokens)),
            DocumentTable(
                "Proofs, checked as /docs/proof explains",
                PROOFS,
                [
                    (
                        symbol,
                        f"{proof.units:,}",
                        str(proof.stated.statement_id),
                        to_rfc3339(proof.stated.statement.at),
                        str(len(proof.entries)),
                    )
                    for symbol, proof in proved
                ],
            ),
        ],
        [
            f"{settings.PARTNER_API_SITE}/statements/{one.number} SHA-256 {one.digest}"
            for one in sorted(statements, key=lambda one: one.number)
        ],
    )
    return HolderStatement(
        written,
        {
            symbol: canonical({"proof": p.proof, "entriesSince": p.entries}) + "\n"
            for symbol, p in proved
        },
    )


def tokens_of(summaries: Sequence[TokenSummary]) -> dict[str, Token]:
    found = Token.objects.filter(pk__in=[summary.token_id for summary in summaries])
    return {str(token.pk): token for token in found}


def token_rows(
    summaries: Sequence[TokenSummary], tokens: dict[str, Token]
) -> list[tuple[str, ...]]:
    return [
        (
            tokens[s.token_id].symbol, tokens[s.token_id].name, f"{s.held:,}",
            f"{s.supply:,}", euros(s.price), f"{s.holder_count:,}", f"{s.seq:,}",
        )
        for s in summaries
    ]  # fmt: skip


def chain_rows(
    summaries: Sequence[TokenSummary], tokens: dict[str, Token]
) -> list[tuple[str, ...]]:
    """The digest after the last entry that was read of a token.

    The head has the digest of the last entry; an earlier digest is recomputed.
    """
    heads = TokenLedgerHead.objects.in_bulk([s.token_id for s in summaries])
    ends = {str(pk): (h.last_seq, h.entry_digest.hex()) for pk, h in heads.items()}

    def digest(summary: TokenSummary) -> str:
        last, end = ends[summary.token_id]
        if summary.seq == last:
            return end
        return digest_after(Chain.ENTRIES, summary.token_id, summary.seq)[1]

    with transaction.atomic():
        return [
            (
                tokens[s.token_id].symbol,
                f"{s.seq:,}",
                digest(s),
            )
            for s in summaries
        ]


HELD = """
    SELECT DISTINCT t.issuer_id
    FROM issuers_holderbalance b JOIN issuers_token t ON t.id = b.token_id
    JOIN issuers_ledgeraccount a ON a.id = b.account_id
    WHERE a.user_id = %s
"""
POSTED = """
    SELECT x.effective_at, p.token_id, p.seq, x.kind, p.delta::numeric,
        p.balance_after, x.reason
    FROM unnest(%s::uuid[], %s::bigint[]) AS n (token_id, seq)
    JOIN issuers_ledgeraccount a ON a.user_id = %s
    JOIN issuers_ledgerposting p
        ON p.token_id = n.token_id AND p.account_id = a.id AND p.seq <= n.seq
    JOIN issuers_ledgertransaction x ON x.token_id = p.token_id AND x.seq = p.seq
    ORDER BY x.effective_at, p.token_id, p.seq
"""
