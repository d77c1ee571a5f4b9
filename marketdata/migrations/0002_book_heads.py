from django.db import migrations

# A token gets its order book when it comes to the secondary market.
OPEN_BOOK = """
CREATE FUNCTION marketdata_open_book() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO marketdata_orderbookhead
        (token_id, last_sequence, last_trade, last_snapshot)
    VALUES (NEW.id, 0, 0, 0) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE TRIGGER marketdata_open_book AFTER INSERT OR UPDATE OF market_type
    ON issuers_token FOR EACH ROW WHEN (NEW.market_type = 'SECONDARY_MARKET')
    EXECUTE FUNCTION marketdata_open_book();

INSERT INTO marketdata_orderbookhead
    (token_id, last_sequence, last_trade, last_snapshot)
SELECT id, 0, 0, 0 FROM issuers_token WHERE market_type = 'SECONDARY_MARKET';
"""


class Migration(migrations.Migration):
    dependencies = [("marketdata", "0001_books"), ("issuers", "0003_register_guards")]

    operations = [
        migrations.RunSQL(
            OPEN_BOOK,
            "DROP TRIGGER marketdata_open_book ON issuers_token;"
            "DROP FUNCTION marketdata_open_book()",
        )
    ]
