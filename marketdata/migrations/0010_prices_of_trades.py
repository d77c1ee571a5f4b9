"""A price that nobody approves is that of a trade of the same transaction."""

from django.db import migrations

from partnerapi.core.guards import drop, trigger_function

# As for prices that staff record: an import makes an issuer with its past.
PRICE = trigger_function(
    "approvals_of_trade_price",
    "issuers_tokenprice",
    """
    IF EXISTS (SELECT FROM issuers_token t JOIN issuers_issuer i ON i.id = t.issuer_id
        WHERE t.id = NEW.token_id
            AND i.recorded_in = (SELECT register_transaction(0))) THEN
        RETURN NULL;
    END IF;
    SELECT t.price_cents, t.at INTO price, traded_at FROM marketdata_trade t
        WHERE t.token_id = NEW.token_id ORDER BY t.sequence DESC LIMIT 1;
    IF price IS DISTINCT FROM NEW.price_cents
        OR traded_at < transaction_timestamp() THEN
        RAISE EXCEPTION 'A price of % cents of token % is of no trade of this '
            'transaction; one that staff record has another source, and needs an '
            'approval.', NEW.price_cents, NEW.token_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
    """,
    declare="price bigint;\n    traded_at timestamptz;",
) + """
CREATE TRIGGER approvals_of_trade_price AFTER INSERT ON issuers_tokenprice
    FOR EACH ROW WHEN (NEW.source = 'TRADE'
        AND NEW.effective_at > transaction_timestamp() - interval '1 day')
    EXECUTE FUNCTION approvals_of_trade_price();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0025_approvals"),
        ("marketdata", "0009_history"),
    ]

    operations = [
        migrations.RunSQL(
            PRICE,
            drop(
                "approvals_of_trade_price()",
                triggers={"approvals_of_trade_price": "issuers_tokenprice"},
            ),
        )
    ]
