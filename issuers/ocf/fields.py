"""The fields of objects that the import reads, and a count of the others."""

from collections import Counter
from dataclasses import replace

from issuers.ocf.comments import says_more
from issuers.ocf.objects import Item, Package
from issuers.ocf.steps import SAID

OBJECT = {"id", "object_type"}
USED = {
    "STAKEHOLDER": OBJECT | {"name", "stakeholder_type", "issuer_assigned_id"},
    "ISSUER": OBJECT
    | {"legal_name", "dba", "formation_date", "country_of_formation", "address"},
    "STOCK_CLASS": OBJECT
    | {
        "name",
        "default_id_prefix",
        "initial_shares_authorized",
        "board_approval_date",
        "class_type",
        "votes_per_share",
        "seniority",
        "par_value",
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
    return package.left + Counter(left_of(package.issuer))


def drop_unused(item: Item) -> Item:
    """The same, with the fields that are read, or of which something is."""
    names = USED[item.type] | {"contact_info", "comments"}
    values = {name: item.values[name] for name in item.values.keys() & names}
    return replace(item, values=values)


def left_of(item: Item) -> list[str]:
    used = USED.get(item.type, TRANSACTION)
    return [
        f"{item.type}.{name}"
        for name, value in item.values.items()
        if name not in used
        and value not in (None, "", [], {})
        and (name != "comments" or says_more(item.values))
    ]
