"""Contract: indexes that no statement reads go.

Beside each unique index Django has another one for LIKE. No statement looks for what
these columns begin with, and the unique one answers all others.
Postings are read by their account; `verify` reads all of them at once.
"""

from django.db import migrations, models

from partnerapi.core.migrating import DropIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("accounts", "0050_signed_kinds")]

    operations = [
        DropIndexBeside(
            "accounts_approvalpolicy_kind_eb00094e_like",
            "accounts_approvalpolicy (kind varchar_pattern_ops)",
        ),
        DropIndexBeside(
            "accounts_bankline_reference_839357ce_like",
            "accounts_bankline (reference varchar_pattern_ops)",
        ),
        DropIndexBeside(
            "accounts_cashaccount_deposit_reference_15392ed8_like",
            "accounts_cashaccount (deposit_reference varchar_pattern_ops)",
        ),
        DropIndexBeside(
            "accounts_cashtransaction_reference_334b89f8_like",
            "accounts_cashtransaction (reference varchar_pattern_ops)",
        ),
        DropIndexBeside(
            "accounts_country_alpha3_11116f35_like",
            "accounts_country (alpha3 varchar_pattern_ops)",
        ),
        DropIndexBeside(
            "accounts_country_code_05b8c271_like",
            "accounts_country (code varchar_pattern_ops)",
        ),
        DropIndexBeside(
            "accounts_holderimport_checksum_sha256_2be07242_like",
            "accounts_holderimport (checksum_sha256 varchar_pattern_ops)",
        ),
        DropIndexBeside(
            "accounts_keyscope_name_15ba837b_like",
            "accounts_keyscope (name varchar_pattern_ops)",
        ),
        DropIndexBeside(
            "accounts_partner_login_33fc56a7_like",
            "accounts_partner (login varchar_pattern_ops)",
        ),
        DropIndexBeside(
            "accounts_user_country_id_307f9591_like",
            "accounts_user (country_id varchar_pattern_ops)",
        ),
        DropIndexBeside(
            "accounts_user_lei_bff5ab24_like", "accounts_user (lei varchar_pattern_ops)"
        ),
        DropIndexBeside(
            "accounts_userholder_wallet_address_a165db63_like",
            "accounts_userholder (wallet_address varchar_pattern_ops)",
        ),
        DropIndexBeside(
            "accounts_withdrawal_payment_reference_21948e87_like",
            "accounts_withdrawal (payment_reference varchar_pattern_ops)",
        ),
        DropIndexBeside(
            "accounts_cashposting_transaction_id_69d0106d",
            "accounts_cashposting (transaction_id)",
            [
                migrations.AlterField(
                    "cashposting",
                    "transaction",
                    models.ForeignKey(
                        "accounts.cashtransaction",
                        models.PROTECT,
                        related_name="postings",
                        db_index=False,
                        db_constraint=False,
                    ),
                )
            ],
        ),
    ]
