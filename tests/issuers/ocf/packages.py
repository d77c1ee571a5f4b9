"""Open Cap Table packages for tests, and what an import made of them."""

import io

import pytest
from django.core.management import CommandError, call_command

from accounts.people.models import User
from issuers.models import Issuer, Token
from issuers.register.models import HolderBalance, LedgerTransaction
from issuers.register.verification import verify


def stakeholder(id, name, kind="INDIVIDUAL", **more):
    names = {"legal_name": name, **more}
    return {
        "id": id,
        "object_type": "STAKEHOLDER",
        "name": names,
        "stakeholder_type": kind,
    }


def stock_class(id, name, prefix):
    return {
        "id": id,
        "object_type": "STOCK_CLASS",
        "name": name,
        "class_type": "COMMON",
        "default_id_prefix": prefix,
        "initial_shares_authorized": "1000000",
    }


PEOPLE = [
    stakeholder("ann", "Ann Lee Roy"),
    stakeholder("bob", "Bob Fox", first_name="Robert", last_name="Fox"),
    stakeholder("fund", "North Fund SA", "INSTITUTION"),
]
CLASSES = [stock_class("com", "Common", "CS-"), stock_class("pre", "Preferred", "P")]


def tx(id, kind, date, **fields):
    return {"id": id, "object_type": f"TX_STOCK_{kind}", "date": date, **fields}


def issue(security, holder, quantity, date="2021-01-01", of="com", **more):
    return tx(
        f"issue-{security}", "ISSUANCE", date, security_id=security,
        stakeholder_id=holder, stock_class_id=of, quantity=quantity, **more,
    )  # fmt: skip


def euro(amount):
    return {"amount": amount, "currency": "EUR"}


def files(*transactions, people=PEOPLE, classes=CLASSES, **issuer):
    def items(kind, objects):
        return {"file_type": kind, "items": objects}

    manifest = {
        "file_type": "OCF_MANIFEST_FILE",
        "issuer": {
            "id": "nova",
            "object_type": "ISSUER",
            "legal_name": "Nova SAS",
            "country_of_formation": "FR",
            **issuer,
        },
        "transactions_files": [{"filepath": "./Transactions.ocf.json"}],
        "stakeholders_files": [{"filepath": "./Stakeholders.ocf.json"}],
        "stock_classes_files": [{"filepath": "./StockClasses.ocf.json"}],
    }
    return {
        "Manifest.ocf.json": manifest,
        "Stakeholders.ocf.json": items("OCF_STAKEHOLDERS_FILE", people),
        "StockClasses.ocf.json": items("OCF_STOCK_CLASSES_FILE", classes),
        "Transactions.ocf.json": items("OCF_TRANSACTIONS_FILE", list(transactions)),
    }


ROOT = issue("s1", "ann", "100")


def run(path, **options):
    output = io.StringIO()
    call_command("import", "ocf", path, stdout=output, **options)
    return output.getvalue()


def refused(path, capsys):
    with pytest.raises(CommandError, match="Nothing was changed"):
        run(path)
    assert (Issuer.objects.count(), User.objects.count()) == (0, 0)
    assert Token.objects.count() == 0
    return capsys.readouterr().err.splitlines()


def balances():
    """By class and holder, of those who hold something."""
    rows = HolderBalance.objects.filter(balance__gt=0)
    return {
        (name, holder): units
        for name, holder, units in rows.values_list(
            "token__name", "account__holder__name", "balance"
        )
    }


def kinds():
    rows = LedgerTransaction.objects.order_by("effective_at", "token__name", "seq")
    return list(rows.values_list("kind", "amount"))


def sound():
    return [finding for finding in verify() if finding.breaches] == []


def counted(output, what):
    """The number in the summary's row."""
    [row] = [line for line in output.splitlines() if f"│ {what} " in line]
    return int(row.split("│")[2].replace(",", ""))
