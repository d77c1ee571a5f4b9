"""Tables of the parts of an OCF package that an import wrote, and left out."""

from collections.abc import Iterator

from rich.table import Table

from issuers.ocf.writing import NEVER_HELD, ImportedPackage

WHY = {
    NEVER_HELD: "only stakeholders who ever held a share become holders",
    "share prices other than issue prices": "a resulting security sets no new price",
    "issue prices in ": (
        "prices are in whole euro cents; record one with ledger set-price"
    ),
    "TX_STOCK_PLAN": "an option pool holds no shares",
    "TX_STOCK_CLASS_CONVERSION": "conversion rights are not kept, conversions are",
    "TX_STOCK_": "unknown to this import: compare the numbers of shares",
    "TX_EQUITY_COMPENSATION": "options and awards are not shares until issued as stock",
    "TX_PLAN_SECURITY": "options and awards are not shares until issued as stock",
    "TX_CONVERTIBLE": "a convertible is not shares until issued as stock",
    "TX_WARRANT": "a warrant is not shares until issued as stock",
    "TX_VESTING": "vesting changes neither holders nor numbers of shares",
    "VESTING": "vesting changes neither holders nor numbers of shares",
    "TX_ISSUER": "limits are kept per class, not per issuer",
    "VALUATION": "a valuation is not an issue or trade price",
    "STOCK_PLAN": "an option pool holds no shares",
    "STOCK_LEGEND": "certificate legends are not kept",
    "DOCUMENT": "documents are not imported",
    "FINANCING": "financing rounds are not kept, their issuances are",
    "CE_": "stakeholder relationships and statuses are not kept",
}
FIELD_WHY = {
    "STAKEHOLDER.contact_info": "only an individual's first e-mail address is kept",
    "STAKEHOLDER.addresses": "addresses are entered by staff",
}
KEPT_NOT = "the register has no such field"
UNKNOWN = "object type unknown to this import"
FRACTION = "units are indivisible; the whole units are in the ledger"


def summary(imported: ImportedPackage) -> Iterator[Table]:
    yield shares(imported)
    yield transactions(imported)
    left = without_place(imported)
    if left.row_count:
        yield left
    if imported.remarks:
        remarks = Table("Remarks", title="Please review")
        for remark in sorted(imported.remarks):
            remarks.add_row(escape(remark))
        yield remarks


def shares(imported: ImportedPackage) -> Table:
    balances = imported.replay.balances
    holders = {h for held in balances.values() for h, units in held.items() if units}
    table = Table(
        "Class", "Token", title=f"Register of {escape(imported.issuer.trading_name)}"
    )
    table.add_column("Shares", justify="right")
    table.add_column("Holders", justify="right")
    for class_id, token in imported.tokens.items():
        held = [units for units in balances[class_id].values() if units]
        table.add_row(
            escape(token.name), token.symbol, f"{sum(held):,}", f"{len(held):,}"
        )
    table.add_section()
    total = sum(units for held in balances.values() for units in held.values())
    classes = len(imported.tokens)
    table.add_row(f"{classes} classes", "all", f"{total:,}", f"{len(holders):,}")
    return table


def transactions(imported: ImportedPackage) -> Table:
    table = Table("Stock transactions", title="Transactions by kind")
    table.add_column("Count", justify="right")
    for kind, count in sorted(imported.replay.kinds.items()):
        table.add_row(kind, f"{count:,}")
    return table


def without_place(imported: ImportedPackage) -> Table:
    table = Table("What", title="Not imported")
    table.add_column("Count", justify="right")
    table.add_column("Why")
    for what, count in sorted(imported.replay.unplaced.items()):
        table.add_row(escape(what), f"{count:,}", why(what))
    for name, count in sorted(imported.fields.items()):
        table.add_row(escape(name), f"{count:,}", FIELD_WHY.get(name, KEPT_NOT))
    return table


def why(what: str) -> str:
    if " of a unit of " in what:
        return FRACTION
    return next((text for key, text in WHY.items() if what.startswith(key)), UNKNOWN)


def escape(text: str) -> str:
    return text.replace("[", r"\[")
