"""The connections that can be exported: what each is of, its rows and its rights."""

from dataclasses import dataclass, field

from django.db import models

from accounts.access import Scope
from issuers.models.events import NEEDED_SCOPES

TYPES_NAMED = {"issuerID": "Issuer", "tokenID": "Token", "accountID": "Account"}
"""By the member of the input that names what a connection is of: the type."""


class ExportedConnection(models.TextChoices):
    HOLDERS = "HOLDERS", "Holders"
    TRANSACTIONS = "TRANSACTIONS", "Transactions"
    PRICES = "PRICES", "Prices"
    TRADES = "TRADES", "Trades"
    TRADING_DAYS = "TRADING_DAYS", "Trading days"
    ISSUERS = "ISSUERS", "Issuers"
    TOKENS = "TOKENS", "Tokens"
    MARKETS = "MARKETS", "Markets"
    INDUSTRY_BENCHMARKS = "INDUSTRY_BENCHMARKS", "Industry benchmarks"
    ARTICLES = "ARTICLES", "Articles"
    FINANCIAL_DATA = "FINANCIAL_DATA", "Financial data"
    LEGACY_SHAREHOLDERS = "LEGACY_SHAREHOLDERS", "Legacy shareholders"
    ACCOUNTS = "ACCOUNTS", "Accounts"
    STATUS_CHANGES = "STATUS_CHANGES", "Status changes"
    ORDERS = "ORDERS", "Orders"
    REFUSED_ORDERS = "REFUSED_ORDERS", "Refused orders"
    EXECUTIONS = "EXECUTIONS", "Executions"
    POSITIONS = "POSITIONS", "Positions"
    CASH_ENTRIES = "CASH_ENTRIES", "Cash entries"
    WITHDRAWALS = "WITHDRAWALS", "Withdrawals"
    DOCUMENTS = "DOCUMENTS", "Documents"
    INVOICES = "INVOICES", "Invoices"
    EVENTS = "EVENTS", "Events"
    GRANTS = "GRANTS", "Grants"


@dataclass(frozen=True, slots=True)
class Exported:
    """A connection, as it is exported.

    `paths` are the fields that lead to it, by the member of the input that names what
    it is of; None is for all that the partner may see. `fields` are those of a row.
    """

    description: str
    paths: dict[str | None, tuple[str, ...]]
    fields: str
    scopes: tuple[Scope, ...] = ()
    needs_grant: bool = False
    shows_granted: bool = False
    """Which rows it has depends on the grants that the partner has meanwhile."""
    of_instant: bool = False
    """Its past is kept, so that any instant can be asked for."""
    page_rows: int = 8_000
    documents: dict[str | None, str] = field(init=False)

    def __post_init__(self) -> None:
        documents = {name: self.document(name) for name in self.paths}
        object.__setattr__(self, "documents", documents)

    def document(self, named_by: str | None) -> str:
        """The document that answers a page, as `page` below any number of `parent`."""
        variables = "$first: Int!, $after: String"
        *parents, connection = self.paths[named_by]
        if named_by is not None:
            # The specification gives `account` a String, all others an ID.
            variables += f", $id: {'String!' if named_by == 'accountID' else 'ID!'}"
        if any("$date" in parent for parent in parents):
            variables += ", $date: Time!"
        above = "".join(f"parent: {parent} {{ " for parent in parents)
        return (
            f"query ({variables}) {{ {above}"
            f"page: {connection}(first: $first, after: $after) {{ "
            f"nodes {{ {self.fields} }} pageInfo {{ hasNextPage endCursor }} }}"
            f"{' }' * len(parents)} }}"
        )


ISSUED = "id kind number begins ends fee { net vat } issuedAt json jsonDigest pdfDigest"
USER = "user { id displayName type lei country { code } }"
CONNECTIONS: dict[str, Exported] = {
    ExportedConnection.HOLDERS: Exported(
        "The holders of an issuer's capitalization table, `holdersConnection`, at an "
        "instant.",
        {
            "issuerID": (
                "issuer(id: $id)",
                "capitalizationTable(date: $date)",
                "holdersConnection",
            )
        },
        "userID holderName totalValue percentage "
        "tokenBalances { tokenID balanceSpecificToken currentPrice totalTokenValue }",
        (Scope.CAPTABLE_READ,),
        needs_grant=True,
        of_instant=True,
    ),
    ExportedConnection.TRANSACTIONS: Exported(
        "The entries of a token's ledger, `transactions`, effective at an instant.",
        {"tokenID": ("token(id: $id)", "transactions")},
        "id sequence kind amount effectiveAt supplyAfter heldAfter holdersAfter "
        "chainReference reverses sourceBefore targetBefore lineVersion privateDigest "
        "previousDigest reason token { id } source { id user { id } } "
        "target { id user { id } }",
        (Scope.CAPTABLE_READ,),
        needs_grant=True,
        of_instant=True,
    ),
    ExportedConnection.PRICES: Exported(
        "The prices of a token, `priceHistory`.",
        {"tokenID": ("token(id: $id)", "priceHistory")},
        "number price source effectiveAt lineVersion privateDigest previousDigest",
        (Scope.CAPTABLE_READ,),
        needs_grant=True,
    ),
    ExportedConnection.TRADES: Exported(
        "The tape of a token, `trades`.",
        {"tokenID": ("token(id: $id)", "trades")},
        "sequence price quantity at busted",
        (Scope.MARKETDATA_READ,),
    ),
    ExportedConnection.TRADING_DAYS: Exported(
        "The days on which a token traded, `days`.",
        {"tokenID": ("token(id: $id)", "days")},
        "date open high low close volume value vwap trades",
        (Scope.MARKETDATA_READ,),
    ),
    ExportedConnection.ISSUERS: Exported(
        "All issuers, `issuers`.",
        {None: ("issuers",)},
        "id slug tradingName tagLine description marketDescription website twitterUrl "
        "youtubeUrl linkedinUrl facebookUrl discordUrl instagramUrl tradingLocation "
        "country { code } lei companyName legalForm headquartersAddress "
        "initialNumberOfShares industryClassificationBenchmark { id } updatedAt "
        "viewerGrant",
        page_rows=1_000,
    ),
    ExportedConnection.TOKENS: Exported(
        "All tokens that you may see, `tokens`, or those of an issuer.",
        {None: ("tokens",), "issuerID": ("issuer(id: $id)", "tokens")},
        "id name symbol isin contractAddress network marketType visibility createdAt "
        "updatedAt issuer { id }",
        shows_granted=True,
    ),
    ExportedConnection.MARKETS: Exported(
        "The internal markets of all tokens that you may see, `markets`.",
        {None: ("markets",)},
        "token { id } phase phaseSince nextPhase nextPhaseAt tickSize lotSize "
        "referencePrice floorPrice capPrice",
        (Scope.MARKETDATA_READ,),
        shows_granted=True,
    ),
    ExportedConnection.INDUSTRY_BENCHMARKS: Exported(
        "The industry classification, `industryClassificationBenchmarks`.",
        {None: ("industryClassificationBenchmarks",)},
        "id industry supersector sector subsectorCode subsector description",
    ),
    ExportedConnection.ARTICLES: Exported(
        "The published articles of an issuer, `articles`.",
        {"issuerID": ("issuer(id: $id)", "articles")},
        "id title slug summary body url publishedAt",
        page_rows=100,
    ),
    ExportedConnection.FINANCIAL_DATA: Exported(
        "The key financial data of an issuer, `financialData`.",
        {"issuerID": ("issuer(id: $id)", "financialData")},
        "id createdAt periodType year revenueCents ebitdaCents ebitCents "
        "netIncomeCents",
        (Scope.ISSUERS_READ,),
    ),
    ExportedConnection.LEGACY_SHAREHOLDERS: Exported(
        "The legacy shareholders of an issuer, `legacyShareholders`.",
        {"issuerID": ("issuer(id: $id)", "legacyShareholders")},
        f"id status numberOfShares price createdAt issuer {{ id }} {USER}",
        (Scope.SHAREHOLDERS_READ,),
        needs_grant=True,
    ),
    ExportedConnection.ACCOUNTS: Exported(
        "Your accounts, `accounts`.",
        {None: ("accounts",)},
        f"id status statusReason allowedStatuses createdAt updatedAt {USER}",
        (Scope.ACCOUNTS_READ,),
    ),
    ExportedConnection.STATUS_CHANGES: Exported(
        "The changes of an account's status, `statusHistory`.",
        {"accountID": ("account(id: $id)", "statusHistory")},
        "id previousStatus status reason actor createdAt",
        (Scope.ACCOUNTS_READ,),
    ),
    ExportedConnection.ORDERS: Exported(
        "The orders of all your clients, `orders`, or of an account.",
        {None: ("orders",), "accountID": ("account(id: $id)", "orders")},
        "id clientOrderID side type limitPrice quantity filledQuantity filledValue "
        "timeInForce expiresAt status statusReason version createdAt updatedAt "
        "account { id } token { id }",
        (Scope.TRADING_READ,),
    ),
    ExportedConnection.REFUSED_ORDERS: Exported(
        "Your orders that were refused, `refusedOrders`.",
        {None: ("refusedOrders",)},
        "id at code message count side quantity limitPrice timeInForce clientOrderID "
        "account { id } token { id } order { id }",
        (Scope.TRADING_READ,),
        shows_granted=True,
    ),
    ExportedConnection.EXECUTIONS: Exported(
        "The executions of all your clients, `executions`, or of an account.",
        {None: ("executions",), "accountID": ("account(id: $id)", "executions")},
        "id side price quantity value liquidity tradeSequence ledgerSequence at "
        "bustedAt order { id clientOrderID } token { id }",
        (Scope.TRADING_READ,),
    ),
    ExportedConnection.POSITIONS: Exported(
        "What all your clients own, `positions`, or the user of an account.",
        {None: ("positions",), "accountID": ("account(id: $id)", "positions")},
        "account { id } token { id } quantity reserved locked available lockedUntil",
        (Scope.TRADING_READ,),
        shows_granted=True,
    ),
    ExportedConnection.CASH_ENTRIES: Exported(
        "The changes of an account's cash, `cashEntries`.",
        {"accountID": ("account(id: $id)", "cashEntries")},
        "id number kind amount balanceAfter reference at lineVersion privateDigest",
        (Scope.CASH_READ,),
    ),
    ExportedConnection.WITHDRAWALS: Exported(
        "The withdrawals from an account, `withdrawals`.",
        {"accountID": ("account(id: $id)", "withdrawals")},
        "id amount reference status statusReason at",
        (Scope.CASH_READ,),
    ),
    ExportedConnection.DOCUMENTS: Exported(
        "The contract notes and statements of an account, `documents`, with their "
        "JSON.",
        {"accountID": ("account(id: $id)", "documents")},
        ISSUED,
        (Scope.DOCUMENTS_READ,),
        page_rows=200,
    ),
    ExportedConnection.INVOICES: Exported(
        "Your monthly invoices of fees, `invoices`, with their JSON.",
        {None: ("invoices",)},
        ISSUED,
        (Scope.DOCUMENTS_READ,),
        page_rows=200,
    ),
    ExportedConnection.EVENTS: Exported(
        "The events of all your scopes and grants that are kept, `events`.",
        {None: ("events",)},
        "sequence type at issuer { id } token { id } account { id } ledgerSequence "
        "subject { id } order { id } execution { id } price quantity "
        "remainingQuantity reason",
        # The file is written and downloaded with any such key, so none sees less.
        tuple(sorted({scope for scope in NEEDED_SCOPES.values() if scope})),
        shows_granted=True,
    ),
    ExportedConnection.GRANTS: Exported(
        "Your grants for individual issuers, `grants`.",
        {None: ("viewer", "grants")},
        "issuer { id } createdAt",
    ),
}


def named(exported: Exported) -> str:
    """What the input must, or may, name for a connection, in words."""
    rule = "Accepts" if None in exported.paths else "Requires"
    return "".join(f" {rule} `{name}`." for name in exported.paths if name)


def rights() -> str:
    """Which scopes and grants each connection needs, in words."""
    connections: dict[str, list[str]] = {}
    for name, exported in CONNECTIONS.items():
        if len(exported.scopes) == 1:
            right = f"Needs the scope `{exported.scopes[0]}`"
            right += " and a grant for the issuer" * exported.needs_grant
            connections.setdefault(right, []).append(name)
    connections["Needs every scope that a type of event needs"] = ["EVENTS"]
    return " ".join(f"{', '.join(names)}: {r}." for r, names in connections.items())
