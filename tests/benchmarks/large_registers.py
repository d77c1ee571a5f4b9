"""Loads registers of any size, in SQL: millions of entries in minutes."""

from typing import Any

from rich.console import Console

SMALLER = 50_000
"""Holders of the token that is answered over HTTP, and of those of several lengths."""

PEOPLE = """
INSERT INTO accounts_user (id, password, is_superuser, type, first_name, last_name,
    address, postal_code, city, is_active, is_staff, created_at)
SELECT gen_random_uuid(), '!', FALSE, 'INDIVIDUAL', 'Holder', n::text, '', '', '', TRUE,
    FALSE, '2020-01-01Z' FROM generate_series(1, {holders}) n;
INSERT INTO accounts_userholder (id, user_id, name)
SELECT gen_random_uuid(), id, 'Holder ' || last_name FROM accounts_user
WHERE first_name = 'Holder';
INSERT INTO issuers_ledgeraccount (id, kind, holder_id, user_id)
SELECT u.last_name::bigint, 'HOLDER', h.id, u.id
FROM accounts_user u JOIN accounts_userholder h ON h.user_id = u.id
WHERE u.first_name = 'Holder' ORDER BY 1;
SELECT setval(pg_get_serial_sequence('issuers_ledgeraccount', 'id'), {holders});
"""
# A mint for each holder, then transfers, most of them from the first holders.
HISTORY = """
SELECT setseed(0.42);
CREATE TEMP TABLE raw AS
SELECT seq,
    CASE WHEN seq > {holders}
        THEN 1 + floor(power(random(), 2) * {holders})::bigint END AS f,
    CASE WHEN seq <= {holders} THEN seq
        ELSE 1 + floor(random() * {holders})::bigint END AS t,
    CASE WHEN seq <= {holders} THEN 10000000
        ELSE 1 + floor(random() * 100)::bigint END AS amount
FROM generate_series(1, {transactions}) seq;
UPDATE raw SET t = t % {holders} + 1 WHERE t = f;
INSERT INTO issuers_ledgertransaction (token_id, seq, kind, source_id, target_id,
    amount, effective_at, recorded_at, supply_after, held_after, holders_after, actor,
    reason)
SELECT '{token}', seq, CASE WHEN f IS NULL THEN 'MINT' ELSE 'TRANSFER' END, f, t,
    amount, '2020-01-01Z'::timestamptz + seq * interval '10 seconds',
    '2020-01-01Z'::timestamptz + seq * interval '10 seconds',
    least(seq, {holders})::numeric * 10000000,
    least(seq, {holders})::numeric * 10000000,
    least(seq, {holders}), 'benchmark', '' FROM raw ORDER BY seq;
INSERT INTO issuers_ledgerposting (token_id, seq, leg, account_id, delta, balance_after)
SELECT '{token}', seq, leg, account, delta,
    sum(delta) OVER (PARTITION BY account ORDER BY seq)
FROM (SELECT seq, 1 AS leg, f AS account, -amount AS delta FROM raw WHERE f IS NOT NULL
      UNION ALL SELECT seq, 2, t, amount FROM raw) x ORDER BY seq, leg;
DROP TABLE raw;
INSERT INTO issuers_tokenprice (token_id, number, price_cents, source, effective_at,
    recorded_at, recorded_by)
VALUES ('{token}', 1, 25, 'ISSUE', '2020-01-01Z', now(), 'benchmark');
UPDATE issuers_tokenledgerhead SET is_open = TRUE, last_price = 1, price_cents = 25,
    last_price_at = '2020-01-01Z', last_seq = {transactions},
    last_effective_at = '2020-01-01Z'::timestamptz
        + {transactions} * interval '10 seconds',
    supply = {holders}::numeric * 10000000, held = {holders}::numeric * 10000000,
    holder_count = {holders} WHERE token_id = '{token}';
"""


def load(holders: int, transactions: int, console: Console) -> dict[str, Any]:
    """Tokens by name; what the triggers would derive is written directly."""
    from django.db import connection

    from issuers.register.verification import HOLDING_PERIODS
    from tests.owner import as_owner

    tokens = {"large": token("large")}
    sizes = {"large": (holders, transactions)}
    smaller = min(SMALLER, holders, transactions // 200)
    for length in (transactions // 100, transactions // 10, transactions):
        name = f"{length}"
        tokens[name] = token(name)
        sizes[name] = (smaller, length)
    with as_owner(), connection.cursor() as cursor:
        cursor.execute("SET work_mem = '256MB'")
        cursor.execute("SET maintenance_work_mem = '512MB'")
        cursor.execute("SELECT pg_get_indexdef('ledger_balance_at'::regclass)")
        [(index,)] = cursor.fetchall()
        cursor.execute("DROP INDEX ledger_balance_at")
        cursor.execute(PEOPLE.format(holders=holders))
        for name, (held_by, length) in sizes.items():
            console.print(f"Writing {length:,} transactions …")
            cursor.execute(
                HISTORY.format(
                    token=tokens[name].pk, holders=held_by, transactions=length
                )
            )
        cursor.execute(index)
        cursor.execute(
            "INSERT INTO issuers_holderbalance"
            " (token_id, account_id, user_id, balance, last_seq)"
            " SELECT DISTINCT ON (token_id, account_id)"
            " token_id, account_id, a.user_id, balance_after, seq"
            " FROM issuers_ledgerposting p"
            " JOIN issuers_ledgeraccount a ON a.id = p.account_id"
            " ORDER BY token_id, account_id, seq DESC"
        )
        cursor.execute(
            "INSERT INTO issuers_holdingperiod (token_id, user_id, since, until)"
            f" {HOLDING_PERIODS}"
        )
        cursor.execute("VACUUM ANALYZE")
    return tokens


def token(name: str) -> Any:
    from django.db import transaction

    from accounts.people.models import User
    from issuers.models import Issuer, Token

    owner, _ = User.objects.get_or_create(
        type=User.Type.INDIVIDUAL, first_name="Ines", last_name="Roca"
    )
    # Only who makes an issuer may say that its tokens began before now.
    with transaction.atomic():
        issuer = Issuer.objects.create(
            trading_name=name,
            slug=name,
            trading_location="Lyon",
            owner=owner,
            country_id="FR",
            formation_date="2019-05-02",
        )
        return Token.objects.create(
            issuer=issuer,
            name=name,
            symbol=name.upper(),
            created_at="2020-01-01T00:00:00Z",
        )
