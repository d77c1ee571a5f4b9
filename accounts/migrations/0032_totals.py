"""Keeps how many accounts each partner has, and makes room for other lists' totals."""

from django.db import migrations, models

from partnerapi.core.guards import drop, trigger_function

THIS = "pg_current_xact_id()::text::bigint"


def counts(name: str, table: str, lists: dict[str, str], moved: str = "") -> str:
    """Triggers that write down how many rows of a table lists gain and lose.

    `lists` names, for each list, the column that holds its key; `moved` is one that
    changes: the row then leaves one list for another. They count what is written past
    other triggers, too (`session_replication_role`).
    """

    def changes(rows: str, sign: str) -> str:
        return " UNION ALL ".join(
            f"SELECT '{listed}', {column}, {sign}count(*) FROM {rows} GROUP BY {column}"
            for listed, column in lists.items()
        )

    def noted(changes: str) -> str:
        return f"""
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT {THIS}, x.list, x.key, x.change
    FROM ({changes}) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;"""

    each = [
        f"SELECT '{listed}', {row}.{moved}, {sign}"
        for listed, column in lists.items()
        if column == moved
        for row, sign in (("OLD", "-1"), ("NEW", "1"))
    ]
    of_row = f"IF TG_OP = 'UPDATE' THEN{noted(' UNION ALL '.join(each))}\n    ELS"
    return trigger_function(
        name,
        table,
        f"""
    {of_row if moved else ""}IF TG_OP = 'INSERT' THEN{noted(changes("changed", ""))}
    ELSE{noted(changes("changed", "-"))}
    END IF;
    RETURN NULL;
        """,
    ) + "".join(
        f"""
CREATE TRIGGER {name}{suffix} AFTER {event} ON {table} {scope}
    EXECUTE FUNCTION {name}();
ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}{suffix};"""
        for suffix, event, scope in (
            ("", "INSERT", "REFERENCING NEW TABLE AS changed FOR EACH STATEMENT"),
            ("_less", "DELETE", "REFERENCING OLD TABLE AS changed FOR EACH STATEMENT"),
            *(
                [("_moved", f"UPDATE OF {moved}",
                  f"FOR EACH ROW WHEN (OLD.{moved} <> NEW.{moved})")]
                if moved
                else []
            ),
        )
    )  # fmt: skip


def uncounted(name: str, table: str, moved: bool = False) -> str:
    suffixes = ["", "_less", *(["_moved"] if moved else [])]
    return drop(f"{name}()", triggers={name + suffix: table for suffix in suffixes})


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
ACCOUNTS = ("accounts_count_accounts", "accounts_account")


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
            counts(*ACCOUNTS, {"accounts": "partner_id"}), uncounted(*ACCOUNTS)
        ),
    ]
