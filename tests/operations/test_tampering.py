"""What someone who has only the application's role gains from SQL.

Each area lists tamperings and what refuses them. Those that succeed stand in POSSIBLE,
which is the list of the page /docs/register.
"""

import re
from typing import Any

import pytest
from django.conf import settings
from django.db import Error, connection, transaction

from accounts.approvals.four_eyes import file_request
from accounts.approvals.models import ApprovalKind
from accounts.cash.models import CashHead, CashTransaction
from accounts.cash.withdrawals import request_withdrawal
from accounts.cash.writer import account_of
from accounts.keys.models import Pepper
from accounts.people.models import User
from issuers.compliance import restrictions
from issuers.compliance.restrictions import Terms
from issuers.legacy.models import LegacyShareholder
from issuers.models import Token
from issuers.register import ledger
from partnerapi.sandbox.data.approvals import (
    ASKER,
    DECIDER,
    WHY,
    approved_key,
    colleague,
)
from tests.accounts.money import bank
from tests.issuers.register import people
from tests.marketdata.trading.test_tampering import Traded
from tests.marketdata.trading.trading import cash_of, new_clients
from tests.owner import appoint, as_committed, tamper
from tests.passkeys import counting, enrolled

pytestmark = pytest.mark.django_db


class House:
    """A market with a trade, cash, requests, keys and passkeys, all of days before.

    `:name` in a tampering stands for one of `words`.
    """

    def __init__(self) -> None:
        traded = Traded()
        token, buyer, seller = traded.token, traded.buyer, traded.seller
        issuer = token.issuer
        self.words: dict[str, Any] = {
            "token": token.pk, "issuer": issuer.pk, "login": buyer.partner.login,
            "partner": buyer.partner.pk, "buyer": buyer.pk, "seller": seller.pk,
            "ask": traded.ask.pk, "bid": traded.bid.pk,
            "a": traded.ask.ledger_account_id, "b": traded.bid.ledger_account_id,
            "own": ledger.treasury(issuer), "purse_a": cash_of(seller),
            "purse_b": cash_of(buyer),
        }  # fmt: skip
        [stranger] = new_clients(1)
        self.words |= {"stranger": stranger.pk, "other": stranger.partner.login}
        [frozen] = people(1)
        restriction = restrictions.restrict(frozen, Terms("FREEZE", WHY, token), ASKER)
        self.words |= {
            "frozen": restriction.ledger_account_id, "restriction": restriction.pk,
            "frozen_user": frozen.pk,
        }  # fmt: skip
        bank(("Hello", 300, "unknown"))
        receipt = CashTransaction.objects.get(reference="unknown")
        withdrawal = request_withdrawal(buyer, 400, "W", buyer.partner.login)
        heads = dict(CashHead.objects.exclude(kind="CLIENT").values_list("kind", "pk"))
        self.words |= {
            "receipt": receipt.pk, "withdrawal": withdrawal.pk, "bank": heads["BANK"],
            "suspense": heads["SUSPENSE"],
            "reference": account_of(buyer).deposit_reference,
            "payout": withdrawal.payment_reference,
        }  # fmt: skip
        asker, decider = colleague(ASKER), colleague(DECIDER)
        clerk = User.objects.create_user(
            "clerk@staff.example", first_name="Cleo", last_name="Desk",
            type="INDIVIDUAL", is_staff=True,
        )  # fmt: skip
        appoint(clerk)
        content = {"token": str(token.pk), "units": "7"}
        request = file_request(ApprovalKind.MINT, content, "Mint", WHY, asker)
        self.words |= {
            "asker": ASKER, "asker_id": asker.pk, "decider": DECIDER,
            "decider_id": decider.pk, "clerk": clerk.email, "clerk_id": clerk.pk,
            "request": request.pk,
        }  # fmt: skip
        key, _ = approved_key(buyer.partner, ["issuers:read"])
        _, counted = counting(decider)
        _, waiting = enrolled(clerk)
        self.words |= {
            "key": key.pk, "passkey": counted.pk, "waiting": waiting.pk,
            "pepper": Pepper.objects.latest("pk").pk,
        }  # fmt: skip
        line = LegacyShareholder.objects.create(
            issuer=issuer, user=frozen, token=token, number_of_shares=50, price_cents=1
        )
        fed = Token.objects.create(
            issuer=issuer, name="Fed", symbol="FED",
            market_type=Token.MarketType.SECONDARY_MARKET,
        )  # fmt: skip
        self.words |= {"line": line.pk, "fed": fed.pk}
        # What is made in the transaction of its issuer needs no request.
        tamper("UPDATE issuers_issuer SET recorded_in = 0")
        as_committed()

    def read(self, tampering: str) -> str:
        return re.sub(r"(?<![:\w]):([a-z_]+)", self.quoted, tampering)

    def quoted(self, found: re.Match[str]) -> str:
        value = self.words[found[1]]
        return str(value) if isinstance(value, int) else f"'{value}'"


def enter(
    kind: str, source: str, target: str, units: int = 5, actor: str = ":asker"
) -> str:
    return (
        f"SELECT register_write({actor}, ARRAY[:token]::uuid[], ARRAY['{kind}'],"
        f" ARRAY[{source}]::bigint[], ARRAY[{target}]::bigint[], ARRAY[{units}],"
        " ARRAY['why'], ARRAY[NULL]::uuid[], ARRAY[NULL]::bigint[], '{}', '{}', '{}',"
        " NULL);"
    )


def price(cents: int, source: str) -> str:
    return (
        "SELECT register_write(:asker, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',"
        f" ARRAY[:token]::uuid[], ARRAY[{cents}], ARRAY['{source}'], NULL);"
    )


def trade(*steps: str, new: str = "", at: str = "clock_timestamp()") -> str:
    """A call of the market's writer.

    A step is kind, order, units, limit, reason, actor; a new order is account, side,
    time in force, expiry.
    """
    columns = zip(*(step.split(", ") for step in steps), strict=True)
    kinds, orders, units, limits, reasons, actors = map(", ".join, columns)
    messages = ", ".join(["1"] * len(steps))
    news = "'{}', '{}', '{}', '{}', '{}', '{}'"
    if new:
        account, side, in_force, expiry = new.split(", ")
        news = (
            f"ARRAY[{NEW}]::uuid[], ARRAY[{account}]::uuid[],"
            f" ARRAY[{side}]::smallint[], ARRAY['{in_force}'],"
            f" ARRAY[{expiry}]::timestamptz[], ARRAY[NULL]::text[]"
        )
    return (
        f"SELECT trading_write(:token, {at}, ARRAY[{kinds}], ARRAY[{orders}]::uuid[],"
        f" ARRAY[{messages}], ARRAY[{units}]::bigint[], ARRAY[{limits}]::bigint[],"
        f" ARRAY[{reasons}]::text[], ARRAY[{actors}], TRUE, {news});"
    )


def status(
    becomes: str, actor: str, by_staff: bool, approver: str = "''", at: str = "NULL"
) -> str:
    """Move the stranger's account."""
    return (
        f"SELECT accounts_write(ARRAY[{NEW}]::uuid[], ARRAY[:stranger]::uuid[],"
        f" ARRAY[NULL]::uuid[], ARRAY[NULL]::uuid[], ARRAY['{becomes}'],"
        f" ARRAY[NULL]::text[], ARRAY[{actor}], ARRAY[{by_staff}], ARRAY[{approver}],"
        f" ARRAY[{at}]::timestamptz[])"
    )


def account(at: str) -> str:
    """Open an account of the stranger's partner for a clerk."""
    return (
        f"SELECT accounts_write(ARRAY[{NEW}]::uuid[], ARRAY[{NEW}]::uuid[],"
        " ARRAY[(SELECT id FROM accounts_partner WHERE login = :other)],"
        " ARRAY[:clerk_id]::uuid[], ARRAY['PENDING'], ARRAY[NULL]::text[],"
        f" ARRAY[:other], ARRAY[FALSE], ARRAY[''], ARRAY[{at}]::timestamptz[])"
    )


NEW = "'00000000-0000-0000-0000-0000000000aa'"
OTHER = "'00000000-0000-0000-0000-0000000000bb'"
RESTING = ":buyer, 0, GTD, clock_timestamp() + interval '1 day'"
RESTS = trade(f"'ORDER_ACCEPTED', {NEW}, 5, 96, NULL, :login", new=RESTING)
MINT = enter("MINT", "NULL", ":own")
ONE_STEP = "has one step"
LINE = (
    "INSERT INTO issuers_legacyshareholder (id, status, issuer_id, user_id, token_id,"
    f" number_of_shares, price_cents) SELECT {NEW}, 'PENDING', :issuer, user_id,"
    " :token, 5000000, 1 FROM issuers_ledgeraccount WHERE id = :b;"
)
TAKE = f"'ORDER_ACCEPTED', {NEW}"
KILL = f"'ORDER_CANCELLED', {NEW}, NULL, NULL, 'FILL_OR_KILL'"
AUTHOR = (
    "SELECT set_config('partnerapi.author',"
    """ '{"who": "compliance@sandbox.example", "from": "page x"}', TRUE);"""
)
DENIED = "permission denied"
NO_APPROVAL = "needs an approval by a second person"
REGISTER = {
    "an entry by INSERT": (
        "INSERT INTO issuers_ledgertransaction SELECT * FROM issuers_ledgertransaction",
        DENIED,
    ),
    "a posting by INSERT": (
        "INSERT INTO issuers_ledgerposting SELECT * FROM issuers_ledgerposting",
        DENIED,
    ),
    "a balance": ("UPDATE issuers_holderbalance SET balance = balance + 1", DENIED),
    "the supply": ("UPDATE issuers_tokenledgerhead SET supply = supply + 1", DENIED),
    "the chain": ("UPDATE issuers_tokenledgerhead SET entry_digest = ''", DENIED),
    "a kind of entry": ("UPDATE issuers_entrykind SET approval = NULL", DENIED),
    "the writer's core": (
        "SELECT register_post(now(), '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',"
        " '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')",
        DENIED,
    ),
    "a mint by no one": (enter("MINT", "NULL", ":own"), NO_APPROVAL),
    "a mint as a page of staff": (
        AUTHOR + enter("MINT", "NULL", ":own"),
        NO_APPROVAL,
    ),
    "a mint with a request that waits": (
        "SELECT set_config('partnerapi.approvals', :request, TRUE);"
        + enter("MINT", "NULL", ":own", 7),
        NO_APPROVAL,
    ),
    "a transfer by no one": (enter("TRANSFER", ":a", ":b"), NO_APPROVAL),
    "a return by no one": (enter("RETURN", ":a", ":own"), NO_APPROVAL),
    "a forced transfer": (enter("FORCED_TRANSFER", ":a", ":b"), NO_APPROVAL),
    "a burn": (enter("BURN", ":a", "NULL"), NO_APPROVAL),
    "a trade without a market": (enter("TRADE", ":a", ":b"), "Only a market"),
    "a price by hand": (price(1, "MANUAL"), NO_APPROVAL),
    "a price of a trade": (price(1, "TRADE"), "Only a market"),
    "a past": (
        "SELECT register_history('me', ARRAY[:token]::uuid[], ARRAY['MINT'],"
        " ARRAY[NULL]::bigint[], ARRAY[:a]::bigint[], ARRAY[1]::numeric[], ARRAY[''],"
        " ARRAY[NULL]::uuid[], ARRAY[now()], '{}', '{}', '{}', '{}')",
        "new in this transaction",
    ),
    "an issuer that seems new": (
        "UPDATE issuers_issuer SET recorded_in = pg_current_xact_id()::text::bigint;"
        + enter("MINT", "NULL", ":own"),
        NO_APPROVAL,
    ),
    "an own line delivered alone": (
        "INSERT INTO issuers_legacyshareholder (id, status, issuer_id, user_id,"
        " token_id, number_of_shares, price_cents)"
        f" VALUES ({NEW}, 'PENDING', :issuer, :frozen_user, :token, 9999, 1);"
        f"SELECT delivery_begin({NEW}, 'MINT', 'x', ARRAY[{NEW}]::uuid[], 1);"
        f"SELECT delivery_release({NEW})",
        NO_APPROVAL,
    ),
    "a line that is away while its delivery is released": (
        "SELECT set_config('partnerapi.author',"
        """ '{"who": "x", "from": "command"}', TRUE);"""
        f"{LINE}"
        f"SELECT delivery_begin({OTHER}, 'MINT', 'x', ARRAY[{NEW}]::uuid[], 1);"
        f"DELETE FROM issuers_legacyshareholder WHERE id = {NEW};"
        f"SELECT delivery_release({OTHER});{LINE}"
        + enter("LEGACY_DELIVERY", "NULL", ":b", 5_000_000)
        .replace("ARRAY[NULL]::uuid[]", f"ARRAY[{NEW}]::uuid[]")
        .replace(
            " NULL);",
            f" (SELECT id FROM issuers_deliverystep WHERE job_id = {OTHER}));",
        ),
        NO_APPROVAL,
    ),
    "a delivery released by UPDATE": (
        "UPDATE issuers_deliveryjob SET released_at = now()",
        DENIED,
    ),
    "a delivery of other lines": (
        "UPDATE issuers_deliverystep SET units = '{9999}'",
        DENIED,
    ),
    "a mint of no number": (MINT.replace("[5]", "['NaN'::numeric]"), "violates"),
    "a mint whose kinds count from five": (
        MINT.replace("ARRAY['MINT']", "'[5:5]={MINT}'"),
        NO_APPROVAL,
    ),
    "a mint whose kinds have two dimensions": (
        MINT.replace("ARRAY['MINT']", "'{{MINT}}'"),
        NO_APPROVAL,
    ),
    "a mint of a kind that there is not": (
        enter("MINT ", "NULL", ":own"),
        "of its kind",
    ),
    "a mint by a policy of one's own": (
        "CREATE TEMP TABLE accounts_approvalpolicy"
        " (LIKE public.accounts_approvalpolicy);"
        "SET LOCAL search_path = pg_temp, public;" + MINT,
        NO_APPROVAL,
    ),
    "a price below zero": (price(-1, "MANUAL"), "violates"),
    "a price of an offering": (price(1, "ISSUE"), NO_APPROVAL),
    "a token of the past": (
        "INSERT INTO issuers_token (id, issuer_id, name, symbol, market_type,"
        f" visibility, created_at) VALUES ({NEW}, :issuer, 'Ghost', 'GHOST',"
        " 'SECONDARY_MARKET', 'PUBLIC', '2020-01-01')",
        "it begins now",
    ),
    "a token that began before": (
        "UPDATE issuers_token SET created_at = '2020-01-01' WHERE id = :token",
        "its creation stay",
    ),
    "another symbol of a token that trades": (
        "UPDATE issuers_token SET symbol = 'GHOST' WHERE id = :token",
        NO_APPROVAL,
    ),
    "fewer units authorised than there are": (
        "UPDATE issuers_token SET authorized_units = 1 WHERE id = :token",
        "no fewer can be",
    ),
    "a line marked as delivered": (
        "UPDATE issuers_legacyshareholder SET status = 'DELIVERED', ledger_seq = 1,"
        " delivered_at = now(), delivered_by = 'me' WHERE id = :line",
        "not delivered by the ledger",
    ),
}
CASH = {
    "money by INSERT": (
        "INSERT INTO accounts_cashtransaction SELECT * FROM accounts_cashtransaction",
        DENIED,
    ),
    "a balance": ("UPDATE accounts_cashhead SET balance = balance + 1", DENIED),
    "a reservation": ("UPDATE accounts_cashhead SET reserved = 0", DENIED),
    "a bank line": ("INSERT INTO accounts_bankline TABLE accounts_bankline", DENIED),
    "a withdrawal as paid": ("UPDATE accounts_withdrawal SET status = 'PAID'", DENIED),
    "the writer's core": (
        "SELECT cash_post(clock_timestamp(), ARRAY['DEPOSIT'], ARRAY[:bank]::bigint[],"
        " ARRAY[:purse_b]::bigint[], ARRAY[1]::bigint[], ARRAY['me'], ARRAY[''],"
        " ARRAY[NULL], ARRAY[NULL]::bigint[], ARRAY[NULL]::bigint[],"
        " ARRAY[NULL]::uuid[], '{}', '{}')",
        DENIED,
    ),
    "an invented statement": (
        "SELECT cash_book_statement(:asker, 'x.csv', 'd', (SELECT -balance + 1000000"
        " FROM accounts_cashhead WHERE cash_account_id = :bank), ARRAY['r'],"
        " ARRAY[:reference], ARRAY[1000000], ARRAY['2026-01-31']::date[],"
        " ARRAY[:purse_b]::bigint[], ARRAY[NULL]::uuid[])",
        NO_APPROVAL,
    ),
    "a statement that does not add up": (
        "SELECT cash_book_statement(:asker, 'x.csv', 'd', 1, ARRAY['r'], ARRAY['t'],"
        " ARRAY[1000000], ARRAY['2026-01-31']::date[], ARRAY[:suspense]::bigint[],"
        " ARRAY[NULL]::uuid[])",
        "closing balance",
    ),
    "a payment to a withdrawal that no one asked for": (
        "SELECT cash_book_statement(:asker, 'x.csv', 'd', (SELECT -balance - 400"
        " FROM accounts_cashhead WHERE cash_account_id = :bank), ARRAY['r'],"
        " ARRAY[:payout], ARRAY[-400], ARRAY['2026-01-31']::date[],"
        " ARRAY[:purse_b]::bigint[], ARRAY[:withdrawal]::uuid[])",
        "A payment out|withdrawal|APPROVED",
    ),
    "a receipt for a friend": (
        "SELECT cash_move_receipt(:asker, :receipt, NULL, :purse_b, 'why')",
        NO_APPROVAL,
    ),
    "a withdrawal of a stranger": (
        f"SELECT cash_withdraw(:other, {NEW}, :buyer, 5, 'X')",
        "by the partner of its account",
    ),
    "a withdrawal by a partner that is none": (
        f"SELECT cash_withdraw('ghost', {NEW}, :buyer, 5, 'X')",
        "by the partner of its account",
    ),
    "a withdrawal beyond the cash": (
        f"SELECT cash_withdraw(:login, {NEW}, :buyer, 1000000, 'X')",
        "reserved_within_balance",
    ),
    "a withdrawal approved by one": (
        "SELECT cash_decide_withdrawal(:asker, :withdrawal, 'APPROVED', '')",
        NO_APPROVAL,
    ),
    "a withdrawal refused by a clerk": (
        "SELECT cash_decide_withdrawal(:clerk, :withdrawal, 'REFUSED', 'why')",
        "with the right to do it",
    ),
    "a withdrawal refused by no one": (
        "SELECT cash_decide_withdrawal('ghost', :withdrawal, 'REFUSED', 'why')",
        "with the right to do it",
    ),
    "a statement of a line at no date": (
        "SELECT cash_book_statement(:asker, 'x.csv', 'd', (SELECT -balance + 10"
        " FROM accounts_cashhead WHERE cash_account_id = :bank), ARRAY['r'],"
        " ARRAY['t'], ARRAY[10], ARRAY['infinity']::date[], ARRAY[:suspense]::bigint[],"
        " ARRAY[NULL]::uuid[])",
        "a date",
    ),
    "a payment of a withdrawal that waits": (
        "SELECT cash_order_payments(:asker, 'm', 'x', ARRAY[:withdrawal]::uuid[])",
        "that are APPROVED",
    ),
    "a withdrawal of less than nothing": (
        f"SELECT cash_withdraw(:login, {NEW}, :buyer, -5, 'X')",
        "violates",
    ),
    "a withdrawal with the payment reference of another": (
        "SELECT cash_withdraw(:login, ('11111111-0000-0000-0000-'"
        " || right(:withdrawal::text, 12))::uuid, :buyer, 5, 'X')",
        "payment_reference",
    ),
    "an account for clients' money by a clerk": (
        "SELECT cash_name_bank(:clerk, 'Ghost', 'FR7630006000011234567890189')",
        "with the right to do it",
    ),
    "the policy": ("UPDATE accounts_approvalpolicy SET is_required = FALSE", DENIED),
    "what was done alone today": ("DELETE FROM accounts_soleamount", DENIED),
}
MARKETS = {
    "an order by INSERT": ("INSERT INTO trading_order TABLE trading_order", DENIED),
    "an order's limit": ("UPDATE trading_order SET limit_price = 1", DENIED),
    "a market's collar": ("UPDATE trading_market SET collar_bps = 9999", DENIED),
    "an execution": ("UPDATE trading_execution SET price = 1", DENIED),
    "the log": ("UPDATE trading_orderevent SET actor = 'x'", DENIED),
    "the tape": ("INSERT INTO marketdata_trade TABLE marketdata_trade", DENIED),
    "a level": ("UPDATE marketdata_booklevel SET quantity = 1", DENIED),
    "an order of a stranger": (
        trade(
            f"{TAKE}, 1, 90, NULL, :other",
            new=":buyer, 0, GTC, clock_timestamp() + interval '2160 hours'",
        ),
        "the rule of (expiry|who asked)",
    ),
    "an order of the day before": (
        trade(
            "'ORDER_CANCELLED', :ask, NULL, NULL, 'BY_PARTNER', :login",
            at="now() - interval '1 day'",
        ),
        "judged in the transaction",
    ),
    "a cancel by another partner": (
        trade("'ORDER_CANCELLED', :ask, NULL, NULL, 'BY_PARTNER', :other"),
        "ends for a reason",
    ),
    "a cancel by staff that are none": (
        trade("'ORDER_CANCELLED', :ask, NULL, NULL, 'BY_STAFF', 'ghost@example.com'"),
        "needs an active member of staff",
    ),
    "a cancel by a clerk without the right": (
        trade("'ORDER_CANCELLED', :ask, NULL, NULL, 'BY_STAFF', :clerk"),
        "needs an active member of staff",
    ),
    "an end as frozen": (
        trade("'ORDER_CANCELLED', :ask, NULL, NULL, 'HOLDER_FROZEN', 'staff'"),
        "ends for a reason",
    ),
    "an end as expired": (
        trade("'ORDER_EXPIRED', :ask, NULL, NULL, 'TIME_IN_FORCE', 'market'"),
        "ends for a reason",
    ),
    "an order killed that could be filled": (
        trade(
            f"{TAKE}, 10, 105, NULL, :login",
            f"{KILL}, :login",
            new=":buyer, 0, FOK, NULL",
        ),
        "ends for a reason",
    ),
    "an order killed by another": (
        trade(
            f"{TAKE}, 11, 105, NULL, :login",
            f"{KILL}, :other",
            new=":buyer, 0, FOK, NULL",
        ),
        "ends for a reason",
    ),
    "an order for the cash of another account": (
        RESTS.replace(
            "ARRAY[:buyer]::uuid[]",
            "('[0:1]={' || :buyer || ',' || :stranger || '}')::uuid[]",
        ),
        ONE_STEP,
    ),
    "an order whose account has two dimensions": (
        RESTS.replace("ARRAY[:buyer]", "ARRAY[ARRAY[:buyer]]"),
        ONE_STEP,
    ),
    "an order that hides in the book": (
        trade(
            f"'ORDER_ACCEPTED', {NEW}, 5, 105, 'SELF_TRADE', :login",
            new=RESTING,
        ),
        ONE_STEP,
    ),
    "an order with a reason of its own": (
        trade(f"'ORDER_ACCEPTED', {NEW}, 5, 96, 'why', :login", new=RESTING),
        ONE_STEP,
    ),
    "an order that is taken twice": (
        trade(*[f"'ORDER_ACCEPTED', {NEW}, 5, 96, NULL, :login"] * 2, new=RESTING),
        ONE_STEP,
    ),
    "an order that is counted, and not taken": (
        trade("'ORDER_CANCELLED', :ask, NULL, NULL, 'BY_PARTNER', :login", new=RESTING),
        ONE_STEP,
    ),
    "an order that is never over": (
        trade(
            f"'ORDER_ACCEPTED', {NEW}, 5, 96, NULL, :login",
            new=":buyer, 0, GTD, 'infinity'",
        ),
        "the rule of expiry",
    ),
    "an order at once that rests": (
        trade(
            f"'ORDER_ACCEPTED', {NEW}, 5, 96, NULL, :login",
            new=":buyer, 0, IOC, NULL",
        ),
        "order_rests_until_it_expires",
    ),
    "an order of less than nothing": (
        trade(f"'ORDER_ACCEPTED', {NEW}, -5, 96, NULL, :login", new=RESTING),
        "violates",
    ),
    "an order beyond all numbers": (
        trade(
            f"'ORDER_ACCEPTED', {NEW}, 9223372036854775807, 96, NULL, :login",
            new=RESTING,
        ),
        "out of range|violates",
    ),
    "a fill without an order that came": (
        trade("'ORDER_TRADED', :ask, 5, NULL, NULL, :login"),
        "violates",
    ),
    "fees of one's own": ("SELECT trading_charge(:token, 0, now())", DENIED),
    "a market that opens at no time": (
        "SELECT trading_open(:fed, '22:00', '22:00', FALSE, 'infinity', 1, 1, 9999, 1,"
        " :asker)",
        "a time that comes",
    ),
    "a block of all partners by one": (
        "SELECT trading_block(NULL, NULL, NULL, 'x', :login)",
        "needs an active member of staff",
    ),
    "an order refused at no time": (
        f"SELECT trading_keep_refused(ARRAY[{NEW}]::uuid[], ARRAY[:partner]::uuid[],"
        " ARRAY['infinity']::timestamptz[], ARRAY['X'], ARRAY[1], ARRAY['m'],"
        " ARRAY[:buyer]::uuid[], ARRAY[:token]::uuid[], ARRAY[NULL]::uuid[],"
        " ARRAY[0]::smallint[], ARRAY[5], ARRAY[5], ARRAY['GTC'], ARRAY['x'])",
        "refused at a time",
    ),
    "refused orders of yesterday pruned": (
        "SELECT trading_prune_refused(1, 1000)",
        "30 days at least",
    ),
    "a halt by no one": (
        "SELECT trading_change_phase(:token, 'HALTED', NULL, NULL, NULL, 'why',"
        " 'ghost@example.com')",
        "needs an active member of staff|by the clock",
    ),
    "a halt by the clock": (
        "SELECT trading_change_phase(:token, 'HALTED', NULL, NULL, NULL, 'why',"
        " 'market')",
        "needs an active member of staff|by the clock",
    ),
    "an early close for five years": (
        "SELECT trading_change_phase(:token, 'CLOSED', 'CONTINUOUS', now()"
        " + interval '5 years', NULL, '', 'market')",
        "needs an active member of staff|by the clock",
    ),
    "a market opened by no one": (
        "SELECT trading_open(:fed, '22:00', '22:00', FALSE, now(), 1, 1, 9999, 1,"
        " 'ghost@example.com')",
        "needs an active member of staff",
    ),
    "a bust by no one": (
        "SELECT trading_undo(:token, 1, 'why', 'ghost', 'ghost')",
        NO_APPROVAL,
    ),
    "changes of a market's book": (
        "SELECT marketdata_record(:token, (SELECT last_sequence FROM"
        " marketdata_orderbookhead WHERE token_id = :token), ARRAY[0]::smallint[],"
        " ARRAY[96]::bigint[], ARRAY[5]::bigint[], ARRAY[TRUE], '{}', '{}', FALSE)",
        "open orders|is its orders|The book",
    ),
    "a price of a market's book": (
        "SELECT marketdata_price(:token, 'me')",
        "no trade of this transaction",
    ),
}
PEOPLE = {
    "an account's status": ("UPDATE accounts_account SET status = 'CLOSED'", DENIED),
    "a suspension by no one": (
        status("SUSPENDED", "'ghost@example.com'", by_staff=True),
        "needs an active member of staff",
    ),
    "a suspension by another partner": (
        status("SUSPENDED", ":login", by_staff=False),
        "of its own",
    ),
    "an account closed by one": (
        status("CLOSED", ":asker", by_staff=True),
        NO_APPROVAL,
    ),
    "a suspension of the past": (
        status(
            "SUSPENDED",
            ":asker",
            by_staff=True,
            at="(SELECT updated_at FROM accounts_account WHERE id = :stranger)",
        ),  # fmt: skip
        "goes on now",
    ),
    "a suspension of the next minute": (
        status(
            "SUSPENDED",
            ":other",
            by_staff=False,
            at="clock_timestamp() + interval '50 seconds'",
        ),  # fmt: skip
        "goes on now",
    ),
    "a suspension that a second person approved": (
        status("SUSPENDED", ":asker", by_staff=True, approver=":decider"),
        "an approver is of a closing",
    ),
    "an account opened before all times": (account("'-infinity'"), "has times"),
    "an account opened by INSERT": (
        "INSERT INTO accounts_account (id, partner_id, user_id, status, changes)"
        f" VALUES ({NEW}, :partner, :frozen_user, 'PENDING', 0)",
        DENIED,
    ),
    "an account given away": (
        "SELECT accounts_join(:buyer, :frozen_user)",
        "that is PENDING",
    ),
    "a superuser": ("UPDATE accounts_user SET is_superuser = TRUE", "Only the owner"),
    "a user of another id": (
        f"UPDATE accounts_user SET id = {NEW} WHERE id = :frozen_user",
        "keeps its id|and stays",
    ),
    "a profile of another user": (
        "UPDATE accounts_userholder SET user_id = :clerk_id"
        " WHERE user_id = :frozen_user",
        "has an account|READ COMMITTED",
    ),
    "a key that no one approved": (
        f"SELECT keys_issue({NEW}, :partner, sha256('x'), :pepper, 'abcd',"
        " '{issuers:read}', NULL)",
        NO_APPROVAL,
    ),
    "a key by INSERT": ("INSERT INTO accounts_apikey TABLE accounts_apikey", DENIED),
    "a key's further scope": (
        "SELECT keys_narrow(:key, '{issuers:read,captable:read}', NULL, NULL)",
        "gets no further scope",
    ),
    "a key revoked in a thousand years": (
        "SELECT keys_narrow(:key, NULL, NULL, '3000-01-01');"
        " SELECT 1 / (SELECT count(*) FROM accounts_apikey WHERE id = :key"
        " AND revoked_at > clock_timestamp())",
        "division by zero",
    ),
    "a key moved without its secret": (
        "SELECT 1 / accounts_move_keys(:pepper, ARRAY[:key]::uuid[], ARRAY(SELECT"
        " secret_digest FROM accounts_apikey WHERE id = :key), ARRAY[sha256('x')])",
        "division by zero",
    ),
    "a profile without a day": (
        f"SELECT binds_decide({NEW}, :asker, :frozen_user, NULL, 'VERIFIED',"
        " 'infinity', 'FR', 'PROFESSIONAL', 'x')",
        "until a day",
    ),
    "an attestation without a day": (
        f"SELECT binds_attest({NEW}, {OTHER}, :login, :buyer, 'VERIFIED', 'infinity',"
        " 'FR', 'PROFESSIONAL', 'x')",
        "until a day",
    ),
    "a lock of fewer than no units": (
        f"SELECT binds_restrict({NEW}, :asker, :b, 'LOCK_UP', :token, -5, NULL, '',"
        " 'why')",
        "violates",
    ),
    "a key's secret": (
        "UPDATE accounts_apikey SET secret_digest = sha256('x') WHERE id = :key",
        DENIED,
    ),
    "a key's partner": (
        "UPDATE accounts_apikey SET partner_id = (SELECT id FROM accounts_partner"
        " WHERE login = :other) WHERE id = :key",
        DENIED,
    ),
    "a key's scopes": (
        "UPDATE accounts_apikey SET scopes = '{issuers:read,captable:read}'"
        " WHERE id = :key",
        DENIED,
    ),
    "a grant by no one": (
        f"SELECT binds_grant({NEW}, 'ghost', :partner, :issuer)",
        NO_APPROVAL,
    ),
    "a freeze by no one": (
        f"SELECT binds_restrict({NEW}, 'ghost', :b, 'FREEZE', :token, NULL, NULL, '',"
        " 'why')",
        "needs an active member of staff",
    ),
    "a freeze by a clerk": (
        f"SELECT binds_restrict({NEW}, :clerk, :b, 'FREEZE', :token, NULL, NULL, '',"
        " 'why')",
        "needs an active member of staff",
    ),
    "a freeze lifted by one": (
        "SELECT binds_lift(:asker, :restriction)",
        NO_APPROVAL,
    ),
    "a holder approved by a clerk": (
        f"SELECT binds_approve_holder({NEW}, :clerk, :token, :b, NULL)",
        "needs an active member of staff",
    ),
    "a profile decided by no one": (
        f"SELECT binds_decide({NEW}, 'ghost', :frozen_user, NULL, 'VERIFIED',"
        " now() + interval '1 year', 'FR', 'PROFESSIONAL', 'x')",
        "needs an active member of staff",
    ),
    "an attestation by another partner": (
        f"SELECT binds_attest({NEW}, {NEW}, :other, :buyer, 'VERIFIED',"
        " now() + interval '1 year', 'FR', 'PROFESSIONAL', 'x')",
        "of an account of its own",
    ),
    "a rule by one": (
        f"SELECT binds_rule({NEW}, :asker, :token, 'MAX_HOLDERS',"
        """ '{"holders": 1}', 'why')""",
        NO_APPROVAL,
    ),
    "another person's second factor": (
        "INSERT INTO otp_totp_totpdevice (user_id, name, confirmed, key, step, t0,"
        " digits, tolerance, drift, last_t, throttling_failure_count)"
        " VALUES (:decider_id, 'x', TRUE, 'ab', 30, 0, 6, 1, 0, -1, 0)",
        "by its owner only",
    ),
}
APPROVALS = {
    "a request by INSERT": (
        "INSERT INTO accounts_approvalrequest TABLE accounts_approvalrequest",
        DENIED,
    ),
    "a decision by INSERT": (
        "INSERT INTO accounts_approvaldecision (request_id, is_approved, reason,"
        " decided_by_id) VALUES (:request, TRUE, '', :decider_id)",
        DENIED,
    ),
    "a request's content": (
        "UPDATE accounts_approvalrequest SET content = '{}'",
        DENIED,
    ),
    "an outcome taken away": ("DELETE FROM accounts_approvaloutcome", DENIED),
    "a decision by the requester": (
        "SELECT approvals_decide_requests(ARRAY[:request]::uuid[], :asker_id, TRUE,"
        " '')",
        "other than the one that filed it",
    ),
    "a decision by a clerk": (
        "SELECT approvals_decide_requests(ARRAY[:request]::uuid[], :clerk_id, TRUE,"
        " '')",
        "with the right to decide",
    ),
    "a decision without a passkey": (
        "SELECT approvals_decide_requests(ARRAY[:request]::uuid[], :decider_id, TRUE,"
        " '')",
        "signed with a passkey",
    ),
    "a decision with a passkey of another": (
        "SELECT approvals_decide_signed(ARRAY[:request]::uuid[], :decider_id, TRUE, '',"
        " :waiting, 'x', '{}', 'x')",
        "passkey",
    ),
    "a decision without a verdict": (
        "SELECT approvals_decide_requests(ARRAY[:request]::uuid[], :decider_id, NULL,"
        " '')",
        "signed with a passkey",
    ),
    "a decision by no one": (
        "SELECT approvals_decide_requests(ARRAY[:request]::uuid[], NULL, TRUE, '')",
        "with the right to decide",
    ),
    "a decision of one request twice": (
        "SELECT approvals_decide_requests(ARRAY[:request, :request]::uuid[],"
        " :asker_id, FALSE, '')",
        "each once",
    ),
    "a decision of a request that there is not": (
        "SELECT approvals_decide_requests(ARRAY[:request, NULL]::uuid[], :asker_id,"
        " FALSE, '')",
        "each once",
    ),
    "a request that never expires": (
        f"SELECT approvals_file_request({NEW}, 'MINT', '{{}}', 'x', 'x', :asker_id,"
        " NULL)",
        "violates",
    ),
    "a passkey vouched for by no one": (
        "SELECT passkeys_vouch(:waiting, :passkey, NULL, decode(repeat('ff', 37),"
        " 'hex'), convert_to(json_build_object('type', 'webauthn.get', 'challenge',"
        " translate(rtrim(encode(sha256(passkeys_digest(:waiting)), 'base64'), '='),"
        " '+/', '-_'))::text, 'UTF8'), 'x')",
        "Only a passkey of this person",
    ),
    "a passkey ended by no one": ("SELECT passkeys_revoke(:passkey, NULL)", "ends a"),
    "a request that expires in a year": (
        f"SELECT approvals_file_request({NEW}, 'MINT', '{{}}', 'x', 'x', :asker_id,"
        " now() + interval '1 year')",
        "within 31 days",
    ),
    "a request by a clerk": (
        f"SELECT approvals_file_request({NEW}, 'MINT', '{{}}', 'x', 'x', :clerk_id,"
        " now() + interval '1 day')",
        "with the right to file",
    ),
    "a passkey by INSERT": (
        "INSERT INTO accounts_passkey TABLE accounts_passkey",
        DENIED,
    ),
    "a passkey that counts": (
        "UPDATE accounts_passkey SET vouched_at = now(), listed_at = now()",
        DENIED,
    ),
    "a passkey listed before it is vouched for": (
        "SELECT passkeys_list(ARRAY[:waiting]::uuid[]);"
        "SELECT 1 / (SELECT count(*) FROM accounts_passkey WHERE id = :waiting"
        " AND listed_at IS NOT NULL)",
        "division by zero",
    ),
    "a passkey vouched for by itself": (
        "SELECT passkeys_vouch(:waiting, :waiting, :clerk_id, 'x', '{}', 'x')",
        "passkey",
    ),
    "a passkey of no one": (
        f"SELECT passkeys_enrol({NEW}, {NEW}, 'x', 'x', 'x', 'localhost')",
        "active member of staff",
    ),
    "a passkey ended by a clerk": (
        "SELECT passkeys_revoke(:passkey, :clerk_id)",
        "ends a passkey",
    ),
    "rest taken away": ("DELETE FROM accounts_staffchange", DENIED),
    "staff appointed": ("SELECT accounts_appoint(:clerk_id)", DENIED),
    "new staff that decide at once": (
        "INSERT INTO accounts_user_user_permissions (user_id, permission_id)"
        " SELECT :clerk_id, id FROM auth_permission WHERE codename = 'decide_transfer';"
        f"SELECT approvals_file_request({NEW}, 'TRANSFER', '{{}}', 'x', 'x', :asker_id,"
        " now() + interval '1 day');"
        f"SELECT approvals_decide_requests(ARRAY[{NEW}]::uuid[], :clerk_id, TRUE, '')",
        "less than 24 hours|passkey",
    ),
}
EVENTS = {
    "an event by INSERT": ("INSERT INTO issuers_event TABLE issuers_event", DENIED),
    "an event taken away": ("DELETE FROM issuers_event", DENIED),
    "a head of events": ("UPDATE issuers_eventhead SET last_sequence = 0", DENIED),
    "the writer of events": (
        "SELECT events_write(ARRAY['ALL'], NULL, ARRAY['ARTICLE_PUBLISHED'],"
        " ARRAY[:token]::uuid[], NULL, NULL, NULL)",
        DENIED,
    ),
    "events of yesterday pruned": ("SELECT events_prune(1, 1000)", "30 days at least"),
    "the history": ("DELETE FROM accounts_rowchange", DENIED),
    "a line of the history": (
        "SELECT history_note('UPDATE', 'issuers_token', :token, '{}')",
        "Triggers keep each",
    ),
    "a line of no operation": (
        "SELECT history_note(NULL, 'issuers_token', :token, '{}')",
        "violates",
    ),
    "the history of a table of one's own": (
        "CREATE TEMP TABLE accounts_user (id uuid);"
        " CREATE TRIGGER x AFTER INSERT ON pg_temp.accounts_user"
        " FOR EACH ROW EXECUTE FUNCTION history_record('', '')",
        DENIED,
    ),
    "fewer requests than there were": (
        "SELECT partnerapi_count_requests(ARRAY[:key]::uuid[], ARRAY[date_trunc("
        "'hour', now())], ARRAY['OK'], ARRAY[-5])",
        "violates",
    ),
    "requests of no hour": (
        "SELECT partnerapi_count_requests(ARRAY[:key]::uuid[],"
        " ARRAY['infinity']::timestamptz[], ARRAY['OK'], ARRAY[5])",
        "in an hour",
    ),
    "a line of the staff's log": (
        "UPDATE django_admin_log SET change_message = 'x'",
        DENIED,
    ),
    "the log of sign-ins": ("DELETE FROM partnerapi_failedsignin", DENIED),
    "a job that ran": ("UPDATE partnerapi_jobrun SET result = 'DONE'", DENIED),
    "an answer taken away": ("DELETE FROM partnerapi_idempotencyrecord", DENIED),
    "an answer that stays": (
        "INSERT INTO partnerapi_idempotencyrecord (key, fingerprint, body, created_at,"
        f" expires_at, partner_id) VALUES ({NEW}, 'x', 'x', now(), '9999-01-01',"
        " :partner)",
        "expires|violates",
    ),
    "the totals": ("UPDATE accounts_total SET number = 0", DENIED),
    "the migrations": ("DELETE FROM django_migrations", DENIED),
    "the log of a book": (
        "SELECT marketdata_prune(:token, 0, 0, 1)",
        "older than 24 hours",
    ),
}
TRICKS = {
    "another role": ("SET ROLE postgres", DENIED),
    "no triggers": ("SET session_replication_role = replica", DENIED),
    "triggers off": ("ALTER TABLE issuers_token DISABLE TRIGGER ALL", "must be owner"),
    "a rule instead": (
        "CREATE RULE x AS ON INSERT TO issuers_token DO INSTEAD NOTHING",
        "must be owner",
    ),
    "a function of one's own": (
        "CREATE FUNCTION public.x() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        DENIED,
    ),
    "rows from a file": (
        "COPY issuers_ledgertransaction FROM PROGRAM 'true'",
        "must be superuser|privileges",
    ),
    "rows from the client": ("COPY accounts_cashhead FROM STDIN", DENIED),
    "the numbers of accounts": (
        "SELECT setval('accounts_cashaccount_id_seq', 1)",
        DENIED,
    ),
    "a table emptied": ("TRUNCATE django_session", DENIED),
    "the ledgers locked": (
        "LOCK TABLE issuers_tokenledgerhead IN ACCESS EXCLUSIVE MODE",
        DENIED,
    ),
    "a snapshot of before": (
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "must be called before any query|subtransaction",
    ),
}
AREAS = {
    "register": REGISTER, "cash": CASH, "markets": MARKETS, "people": PEOPLE,
    "approvals": APPROVALS, "events": EVENTS, "tricks": TRICKS,
}  # fmt: skip
POSSIBLE = {
    "Act for a partner: place, amend and cancel orders, at an instant of the last ten "
    "minutes; open accounts, also with a past, and change their status; request "
    "withdrawals, attest, revoke keys and, for a member of its desk, set the passkey "
    "of an invitation and issue keys within the scopes that were approved.": [
        account("'2020-01-01'"),
        "SELECT keys_narrow(:key, NULL, NULL, now())",
        "SELECT trading_block(:partner, NULL, NULL, 'x', :login)",
        trade("'ORDER_CANCELLED', :ask, NULL, NULL, 'BY_PARTNER', :login"),
        f"SELECT cash_withdraw(:login, {NEW}, :buyer, 5, 'X')",
        f"SELECT binds_attest({NEW}, {NEW}, :login, :buyer, 'VERIFIED',"
        " now() + interval '1 year', 'FR', 'PROFESSIONAL', 'x')",
    ],
    "Act for a member of staff in what that person may do alone: restrict a holder, "
    "decide a profile, suspend an account, open or halt a market, cancel orders, name "
    "the bank account of clients' money, write a payment file, book receipts in "
    "suspense, and deliver, book or price below the limits of the policies.": [
        "SELECT trading_open(:fed, '22:00', '22:00', FALSE, now(), 1, 1, 9999, 1,"
        " :asker)",
        "SELECT cash_name_bank(:asker, 'Ghost', 'FR7630006000011234567890189')",
        "SELECT cash_book_statement(:asker, 'x.csv', 'd', (SELECT -balance - 300"
        " FROM accounts_cashhead WHERE cash_account_id = :bank), ARRAY['r'],"
        " ARRAY['t'], ARRAY[-300], ARRAY['2026-01-31']::date[],"
        " ARRAY[:suspense]::bigint[], ARRAY[NULL]::uuid[])",
        status("SUSPENDED", ":asker", by_staff=True),
        f"SELECT binds_restrict({NEW}, :asker, :b, 'FREEZE', :token, NULL, NULL, '',"
        " 'why')",
        f"SELECT binds_decide({NEW}, :asker, :frozen_user, NULL, 'VERIFIED',"
        " now() + interval '1 year', 'FR', 'PROFESSIONAL', 'x')",
        "SELECT cash_decide_withdrawal(:asker, :withdrawal, 'REFUSED', 'why')",
    ],
    "File a request for one member of staff, decide it for another, take any back, and "
    "end a passkey. "
    "Where a passkey decides, `verify approvals` names the decision, because its "
    "signature is not valid.": [
        f"SELECT approvals_file_request({NEW}, 'RULE', '{{}}', 'x', 'x', :asker_id,"
        " now() + interval '1 day');"
        f"SELECT approvals_decide_requests('{{{NEW[1:-1]}}}', :decider_id, TRUE, '')",
        "SELECT approvals_decide_signed(ARRAY[:request]::uuid[], :decider_id, TRUE, '',"
        " :passkey, decode(repeat('ff', 37), 'hex'), convert_to(json_build_object("
        "'type', 'webauthn.get', 'challenge', translate(rtrim(encode(sha256("
        "approvals_digest(:request, :decider_id, TRUE, '')), 'base64'), '='), '+/',"
        " '-_'))::text, 'UTF8'), 'x')",
        "SELECT approvals_overtake(:request, 'why')",
        "SELECT passkeys_revoke(:passkey, :asker_id)",
    ],
    "Sign anyone in, change passwords and second factors, make members of staff and "
    "give them rights. Such a person approves nothing for 24 hours, and the approvers "
    "get an e-mail.": [
        "UPDATE accounts_user SET password = 'x' WHERE id = :decider_id",
        "INSERT INTO accounts_user_user_permissions (user_id, permission_id)"
        " SELECT :clerk_id, id FROM auth_permission WHERE codename = 'decide_mint'",
        "INSERT INTO django_session VALUES ('x', 'x', now() + interval '1 day')",
        AUTHOR + "DELETE FROM otp_totp_totpdevice",
    ],
    "Edit what the back office edits: issuers, a new one with the past of its "
    "register, "
    "tokens with their authorised units, published data, users with the names of "
    "holders, partners, and lines of legacy shares before their delivery. The history "
    "keeps what was before.": [
        "INSERT INTO issuers_issuer (id, trading_name, slug, trading_location,"
        f" owner_id) SELECT {NEW}, 'Ghost', 'ghost', 'X', owner_id FROM issuers_issuer"
        " WHERE id = :issuer;"
        " INSERT INTO issuers_token (id, issuer_id, name, symbol, market_type,"
        f" visibility, created_at) VALUES ({NEW}, {NEW}, 'Ghost', 'GHOST',"
        " 'SECONDARY_MARKET', 'PUBLIC', now());"
        f" SELECT register_history('me', ARRAY[{NEW}]::uuid[], ARRAY['MINT'],"
        " ARRAY[NULL]::bigint[], ARRAY[:a]::bigint[], ARRAY[1]::numeric[], ARRAY[''],"
        " ARRAY[NULL]::uuid[], ARRAY[clock_timestamp()], '{}', '{}', '{}', '{}');",
        "UPDATE issuers_token SET authorized_units = 1000000 WHERE id = :token",
        "UPDATE accounts_userholder SET name = 'x' WHERE user_id = :frozen_user",
        "UPDATE accounts_partner SET may_attest = TRUE WHERE id = :partner",
        "UPDATE issuers_legacyshareholder SET number_of_shares = 51 WHERE id = :line",
    ],
    "Write the history and the log of staff under the name of another author.": [
        AUTHOR + "UPDATE issuers_token SET name = 'x' WHERE id = :token",
        "SELECT history_note('EXPORT', 'issuers_token', :token, '{}')",
        "INSERT INTO django_admin_log (action_time, object_repr, action_flag,"
        " change_message, user_id) VALUES (now(), 'x', 2, 'x', :decider_id)",
    ],
    "Feed an order book from outside, with trades, and so set the price of a token "
    "without an internal market; announce the indicative price of an auction, and keep "
    "the price of a trade from the token.": [
        "SELECT trading_change_phase(:token, 'CALL', NULL, NULL, NULL, '', :asker);"
        " SELECT 1 / trading_indicate(:token, (SELECT began FROM trading_auction), 1,"
        " 1, 1, 0)::integer",
        trade(
            f"{TAKE}, 5, 105, NULL, :login",
            "'ORDER_TRADED', :ask, 5, NULL, NULL, :login",
            new=":buyer, 0, IOC, NULL",
        ).replace("TRUE", "FALSE"),
        "SELECT marketdata_record(:fed, 0, '{}', '{}', '{}', '{}', ARRAY[1]::bigint[],"
        " ARRAY[5]::bigint[], FALSE); SELECT marketdata_price(:fed, 'me')",
    ],
    "Record work that was not done: jobs, e-mails, imports, exports, refused orders, "
    "counts of requests, contract notes and invoices, statements with a key of their "
    "own, and the stored answer to an Idempotency-Key.": [
        "SELECT trading_issue_document(convert_to(json_build_object('kind', 'INVOICE',"
        " 'partnerID', 'Partner|' || :partner, 'begins', '2026-09-01', 'ends',"
        " '2026-09-30', 'number', '1', 'id', 'Document|' || gen_random_uuid(), 'fees',"
        " json_build_object('net', 100000, 'vat', 0))::text, 'UTF8'), 'x')",
        f"SELECT trading_keep_refused(ARRAY[{NEW}]::uuid[], ARRAY[:partner]::uuid[],"
        " ARRAY[now()], ARRAY['X'], ARRAY[1], ARRAY['m'], ARRAY[:buyer]::uuid[],"
        " ARRAY[:token]::uuid[], ARRAY[NULL]::uuid[], ARRAY[0]::smallint[], ARRAY[5],"
        " ARRAY[5], ARRAY['GTC'], ARRAY['x'])",
        "SELECT partnerapi_count_requests(ARRAY[:key]::uuid[], ARRAY[date_trunc("
        "'hour', now())], ARRAY['OK'], ARRAY[5])",
        "INSERT INTO partnerapi_jobrun (job, started_at, seconds, result, detail)"
        " VALUES ('verify register', now(), 1, 'DONE', 'All rules hold')",
        "INSERT INTO issuers_legacyimport (id, file_name, checksum_sha256, imported_by,"
        f" issuer_id) VALUES ({NEW}, 'x', 'x', 'x', :issuer)",
        "INSERT INTO partnerapi_idempotencyrecord (key, fingerprint, body, created_at,"
        f" expires_at, partner_id) VALUES ({NEW}, 'x', 'x', now(),"
        " now() + interval '1 day', :partner)",
        "UPDATE accounts_staffnotice SET sent_at = now()",
    ],
}
"""What they can still do, as the page says it, and statements that do it."""


@pytest.fixture
def house() -> House:
    return House()


def said_to(house: House, tampering: str) -> str:
    """What refuses a tampering; empty: it is done. It leaves nothing behind."""
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(house.read(tampering))
            as_committed()
            transaction.set_rollback(True)
    except Error as error:
        return str(error).splitlines()[0]
    return ""


@pytest.mark.parametrize("area", AREAS)
def test_what_refuses_it(house: House, area: str):
    said = {name: said_to(house, sql) for name, (sql, _) in AREAS[area].items()}
    unlike = {
        name: said[name]
        for name, (_, saying) in AREAS[area].items()
        if not said[name] or not re.search(saying, said[name])
    }
    assert unlike == {}


def test_what_is_possible(house: House):
    """So that the page is not longer than the truth."""
    said = {sql: said_to(house, sql) for sqls in POSSIBLE.values() for sql in sqls}
    assert {sql: refusal for sql, refusal in said.items() if refusal} == {}


def test_the_page_lists_what_is_possible():
    page = (settings.BASE_DIR / "templates/docs/register.md").read_text()
    section = page.partition("\n## The server's role\n")[2].partition("\n## ")[0]
    listed = re.findall(r"^\d\. ((?:.|\n(?=   ))+)", section, re.MULTILINE)
    assert [" ".join(line.split()) for line in listed] == [*POSSIBLE]
    assert len(POSSIBLE) <= 8
