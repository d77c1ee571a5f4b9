"""Packages that the register exports: they are OCF, and lose nothing of a table."""

import json
import zipfile
from collections import Counter
from datetime import UTC, datetime

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from accounts.people.models import User, UserHolder
from issuers.models import Issuer, Token
from issuers.register.models import HolderBalance, TokenPrice
from tests.issuers.ocf.packages import (
    PEOPLE,
    ROOT,
    euro,
    files,
    issue,
    run,
    sound,
    stakeholder,
    stock_class,
)
from tests.issuers.ocf.schemas import Schemas
from tests.issuers.ocf.test_whole_packages import replayed
from tests.issuers.register import new_issuer

pytestmark = pytest.mark.django_db
WALLET = "0x52908400098527886E0F7030069857D2E4169EE7"
LEI = "529900T8BM49AURSDO55"


def export(slug, file, **options):
    call_command("export", "captable", slug, format="ocf", output=file, **options)
    return file


def content(file, name):
    with zipfile.ZipFile(file) as archive:
        return json.loads(archive.read(f"{name}.ocf.json"))


def imported_and_exported(package, file):
    """What an import makes of a package, and its export; then all of it is undone."""
    with transaction.atomic():
        run(package)
        register = whole_register()
        export(Issuer.objects.get().slug, file)
        transaction.set_rollback(True)
    assert (Issuer.objects.count(), User.objects.count()) == (0, 0)
    return register


def whole_register():
    """A register of now, without ids: its issuer, classes, prices and holdings."""
    issuer = Issuer.objects.select_related("owner").get()
    tokens = Token.objects.order_by("created_at").values_list(
        "symbol", "name", "isin", "class_type", "votes_per_share", "seniority",
        "nominal_value", "nominal_currency", "authorized_units", "ledger_head__supply",
        "ledger_head__held", "ledger_head__holder_count",
    )  # fmt: skip
    prices = TokenPrice.objects.order_by("number")
    holdings = HolderBalance.objects.filter(balance__gt=0, user__isnull=False)
    return (
        (
            issuer.slug, issuer.trading_name, issuer.formation_date, issuer.country_id,
            issuer.trading_location, issuer.owner.company_name,
        ),
        list(tokens),
        dict(prices.values_list("token__symbol", "price_cents")),
        sorted(
            holdings.values_list(
                "token__symbol", "balance", "account__holder__name",
                "account__holder__wallet_address", "user__type", "user__first_name",
                "user__last_name", "user__company_name", "user__lei", "user__email",
            ),
            key=str,
        ),
    )  # fmt: skip


@pytest.fixture
def schemas(test_data):
    return Schemas(test_data / "ocf" / "schema")


def test_a_real_package_is_exported_as_ocf_and_comes_back(test_data, schemas, tmp_path):
    folder, file = test_data / "ocf" / "acme_holdings", tmp_path / "acme.zip"
    register = imported_and_exported(folder, file)
    assert schemas.errors(file) == []
    totals = Counter()
    for item in content(file, "Transactions")["items"]:
        totals[item["stock_class_id"], item["stakeholder_id"]] += int(item["quantity"])
    assert sorted(totals.values()) == sorted(n for n in replayed(folder).values() if n)
    assert content(file, "Manifest")["issuer"]["formation_date"] == "2022-01-01"
    run(file)
    assert whole_register() == register
    assert sound()


def company(id, name, *comments):
    return stakeholder(id, name, "INSTITUTION") | {"comments": [*comments]}


ODD = [
    PEOPLE[0] | {"comments": [f"Wallet: {WALLET}", "LEI: an individual has none"]},
    stakeholder("bob", '=HYPERLINK("http://x") O\u2019Neill \u202e\u738b\u5c0f\u660e'),
    company("fund", "North <b>Fund</b> SA", f"LEI: {LEI}", "E-mail: Fund@example.com"),
    company("own", "Nova SAS") | {"issuer_assigned_id": "TREASURY"},
]  # fmt: skip


def odd_package():
    """Odd names; a class of which little is known; prices that are 0, or not known."""
    common = stock_class("com", "Ordinary \U0001f642", "CS-") | {
        "comments": ["Symbol: ORACLE-7", "ISIN: FR0000131104", "Kept since 1998"],
        "votes_per_share": 3, "seniority": "2.5",
        "par_value": {"amount": "100", "currency": "EUR"},
    }  # fmt: skip
    free = stock_class("free", "Free", "F") | {"initial_shares_authorized": "UNLIMITED"}
    del free["class_type"]
    unknown = issue("s4", "fund", str(2**64 - 1), of="none", share_price=euro("0.001"))
    return files(
        issue("s1", "ann", "100", share_price=euro("1.25")),
        issue("s2", "own", "7", share_price=euro("1.25")),
        issue("s3", "bob", "5", of="free", share_price=euro("0")),
        unknown,
        people=ODD,
        classes=[common, free, stock_class("none", "Unpriced", "U")],
        formation_date="1998-04-30",
        dba="Nova",
    )


def test_odd_names_and_what_is_not_known_come_back(write, schemas, tmp_path):
    file = tmp_path / "nova.zip"
    register = imported_and_exported(write(odd_package()), file)
    assert schemas.errors(file) == []
    _, tokens, prices, holdings = register
    assert [token[:3] for token in tokens] == [
        ("ORACLE-7", "Ordinary \U0001f642", "FR0000131104"),
        ("NOVA-F", "Free", None),
        ("NOVA-U", "Unpriced", None),
    ]
    assert prices == {"ORACLE-7": 125, "NOVA-F": 0}
    kept = {(row[3], row[8], row[9]) for row in holdings}
    assert kept == {
        (WALLET, None, None), (None, None, None), (None, LEI, "fund@example.com")
    }  # fmt: skip
    run(file)
    assert whole_register() == register
    assert sound()


def test_what_others_have_already_is_left_out(write):
    other = User.objects.create_user(
        "fund@example.com", type="COMPANY", company_name="Another", lei=LEI
    )
    UserHolder.objects.create(user=other, name="Another", wallet_address=WALLET.lower())
    said = run(write(odd_package()))
    for remark in (
        "1 e-mail addresses omitted: they belong to companies",
        "1 LEIs omitted: shared by stakeholders, or taken by a user",
        "1 wallets omitted: shared by stakeholders, or taken by a holder",
    ):
        assert remark in said
    assert UserHolder.objects.filter(name="North <b>Fund</b> SA").count() == 1


def test_an_issuer_without_tokens_is_a_package(schemas, tmp_path):
    issuer = dated(new_issuer())
    file = export(issuer.slug, tmp_path / "empty.zip")
    assert schemas.errors(file) == []
    assert content(file, "Transactions")["items"] == []


def dated(issuer):
    Issuer.objects.filter(pk=issuer.pk).update(
        formation_date="1998-04-30", country_id="FR"
    )
    return Issuer.objects.get(pk=issuer.pk)


def test_an_issuer_that_lacks_what_ocf_requires_is_refused_and_told_what(tmp_path):
    issuer, file = new_issuer(), tmp_path / "none.zip"
    with pytest.raises(CommandError) as refused:
        export(issuer.slug, file)
    assert str(refused.value) == (
        f"{issuer.trading_name} has no formation date and no country, which OCF "
        "requires of an issuer. Enter what is missing on the issuer's page in the back "
        "office, and export again. Nothing was written."
    )
    Issuer.objects.update(country_id="FR")
    with pytest.raises(CommandError, match="has no formation date, which OCF"):
        export(issuer.slug, file)
    assert list(tmp_path.iterdir()) == []
    export(dated(issuer).slug, file)


REQUIRED = {
    "Manifest": {
        "ocf_version", "file_type", "issuer", "as_of", "generated_at",
        "stock_plans_files", "stock_legend_templates_files", "stock_classes_files",
        "vesting_terms_files", "valuations_files", "transactions_files",
        "stakeholders_files",
    },
    "Stakeholders": {"id", "object_type", "name", "stakeholder_type"},
    "StockClasses": {
        "id", "object_type", "name", "class_type", "default_id_prefix",
        "initial_shares_authorized", "votes_per_share", "seniority",
    },
    "Transactions": {
        "id", "object_type", "date", "security_id", "custom_id", "stakeholder_id",
        "security_law_exemptions", "stock_class_id", "share_price", "quantity",
        "stock_legend_ids",
    },
}  # fmt: skip


def test_each_object_has_the_fields_that_ocf_requires(write, tmp_path):
    file = tmp_path / "nova.zip"
    with transaction.atomic():
        run(write(odd_package()))
        export("nova", file, at=datetime(2024, 2, 29, 23, 59, 59, 5, tzinfo=UTC))
    manifest = content(file, "Manifest")
    assert manifest.keys() == REQUIRED["Manifest"]
    assert manifest["as_of"] == "2024-02-29"
    assert manifest["generated_at"] == "2024-02-29T23:59:59.000005Z"
    issuer = manifest["issuer"]
    assert issuer["formation_date"] == "1998-04-30"
    assert issuer["country_of_formation"] == "FR"
    for name in ("Stakeholders", "StockClasses", "Transactions"):
        items = content(file, name)["items"]
        assert items
        for item in items:
            assert item.keys() >= REQUIRED[name]
    classes = {item["name"]: item for item in content(file, "StockClasses")["items"]}
    assert classes["Free"]["votes_per_share"] == "1"
    assert classes["Free"]["comments"][-1] == (
        "Not known: class_type, votes_per_share, seniority"
    )
    contacts = [
        item["contact_info"]
        for item in content(file, "Stakeholders")["items"]
        if "contact_info" in item
    ]
    assert contacts == [
        {"emails": [{"email_type": "OTHER", "email_address": "fund@example.com"}]}
    ]


@pytest.mark.parametrize(
    ("said", "remark"),
    [
        (3, "3 is not a date such as 2026-01-31"),
        ("30.04.1998", "'30.04.1998' is not a date such as 2026-01-31"),
        ("2023-02-29", "2023-02-29 is not in the calendar"),
        ("9999-12-31", "9999-12-31 is in the future"),
    ],
)
def test_a_formation_date_that_is_none_is_a_remark(write, said, remark):
    output = run(write(files(ROOT, formation_date=said)))
    assert f"formation_date {remark}; it is left blank" in output
    assert Issuer.objects.get().formation_date is None
