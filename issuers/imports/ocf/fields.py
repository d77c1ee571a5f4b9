"""The fields of objects that the import reads, and a count of the others."""

from collections import Counter

from issuers.imports.ocf.reading import Package
from issuers.imports.ocf.steps import READ, SAID

OBJECT = {"id", "object_type"}
USED = {
    "STAKEHOLDER": OBJECT | {"name", "stakeholder_type"},
    "ISSUER": OBJECT | {"legal_name", "dba", "country_of_formation", "address"},
    "STOCK_CLASS": OBJECT
    | {
        "name",
        "default_id_prefix",
        "initial_shares_authorized",
        "board_approval_date",
    },
}
TRANSACTION = {
    "id",
    "object_type",
    "date",
    "security_id",
    "security_ids",
    "balance_security_id",
    "resulting_security_id",
    "resulting_security_ids",
    "split_transaction_id",
    "stakeholder_id",
    "stock_class_id",
    "quantity",
    "quantity_converted",
    "share_price",
    "split_ratio",
    "new_shares_authorized",
    *SAID,
}


def fields_left(package: Package) -> Counter[str]:
    """How many objects of which type have a field that is not kept."""
    transactions = [item for item in package.transactions if item.type in READ]
    owned = [package.issuer, *package.stakeholders.values(), *package.classes.values()]
    return Counter(
        f"{item.type}.{name}"
        for item in owned + transactions
        for name, value in item.values.items()
        if name not in USED.get(item.type, TRANSACTION)
        and value not in (None, "", [], {})
    )
