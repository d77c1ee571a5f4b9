"""Keeps how many accounts each partner has, and makes room for other lists' totals."""

from django.db import migrations, models

from partnerapi.core.guards import drop, trigger_function

THIS = "pg_current_xact_id()::text::bigint"
COUNT_ACCOUNTS = """
CREATE OR REPLACE FUNCTION accounts_count_accounts() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp  AS $$
BEGIN
    IF TG_RELID <> 'accounts_account'::regclass THEN
        RAISE EXCEPTION 'accounts_count_accounts guards accounts_account, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' THEN
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'accounts', partner_id, count(*) FROM changed GROUP BY partner_id) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    ELSE
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'accounts', partner_id, -count(*) FROM changed GROUP BY partner_id) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION accounts_count_accounts() FROM PUBLIC;

CREATE TRIGGER accounts_count_accounts AFTER INSERT ON accounts_account REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
    EXECUTE FUNCTION accounts_count_accounts();
ALTER TABLE accounts_account ENABLE ALWAYS TRIGGER accounts_count_accounts;
CREATE TRIGGER accounts_count_accounts_less AFTER DELETE ON accounts_account REFERENCING OLD TABLE AS changed FOR EACH STATEMENT
    EXECUTE FUNCTION accounts_count_accounts();
ALTER TABLE accounts_account ENABLE ALWAYS TRIGGER accounts_count_accounts_less;
"""

# The first one called adds up all that the transaction did, in the order of the keys;
# the others find their row gone. Numbering events comes behind it, and locks the heads
# of partners: a transaction that holds a total waits for them alone.
FOLD = trigger_function(
    "accounts_fold_totals",
    "accounts_totalchange",
    f"""
    IF NOT EXISTS (SELECT FROM accounts_totalchange WHERE id = NEW.id) THEN
        RETURN NULL;
    END IF;
    FOR noted IN SELECT list, key, change FROM accounts_totalchange
        WHERE transaction = {THIS} ORDER BY list, key
    LOOP
        IF noted.change > 0 THEN
            INSERT INTO accounts_total AS t (list, key, number)
            VALUES (noted.list, noted.key, noted.change)
            ON CONFLICT (list, key) DO UPDATE SET number = t.number + noted.change;
        ELSE
            UPDATE accounts_total SET number = number + noted.change
            WHERE list = noted.list AND key = noted.key AND noted.change < 0;
        END IF;
    END LOOP;
    DELETE FROM accounts_totalchange WHERE transaction = {THIS};
    RETURN NULL;
    """,
    declare="noted record;",
    settings="SET enable_seqscan = off",
) + """
CREATE CONSTRAINT TRIGGER accounts_fold_totals AFTER INSERT ON accounts_totalchange
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION accounts_fold_totals();
ALTER TABLE accounts_totalchange ENABLE ALWAYS TRIGGER accounts_fold_totals;
ALTER TABLE accounts_totalchange SET UNLOGGED;
"""
UNFOLD = drop(
    "accounts_fold_totals()", triggers={"accounts_fold_totals": "accounts_totalchange"}
)
LISTS = [
    ("accounts", "Accounts of a partner"),
    ("orders", "Orders of a partner"),
    ("accountOrders", "Orders of an account"),
    ("legacyShareholders", "Legacy lines of an issuer"),
]


class Migration(migrations.Migration):
    dependencies = [("accounts", "0031_sole_amounts")]

    operations = [
        migrations.CreateModel(
            name="Total",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("list", models.CharField(choices=LISTS, max_length=20)),
                ("key", models.UUIDField()),
                ("number", models.BigIntegerField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("list", "key"), name="total_of_a_list_is_one"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(number__gte=0), name="total_is_not_negative"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TotalChange",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("transaction", models.BigIntegerField()),
                ("list", models.CharField(choices=LISTS, max_length=20)),
                ("key", models.UUIDField()),
                ("change", models.BigIntegerField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("transaction", "list", "key"),
                        name="one_change_of_a_total_per_commit",
                    )
                ],
            },
        ),
        migrations.RunSQL(FOLD, UNFOLD),
        migrations.RunSQL(
            COUNT_ACCOUNTS,
            drop(
                "accounts_count_accounts()",
                triggers={
                    "accounts_count_accounts": "accounts_account",
                    "accounts_count_accounts_less": "accounts_account",
                },
            ),
        ),
    ]
