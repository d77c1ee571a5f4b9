"""Tables of the parts of an OCF package that an import wrote, and left out."""

from collections.abc import Iterator

from rich.table import Table

from issuers.ocf.writing import NEVER_HELD, ImportedPackage

WHY = {
    NEVER_HELD: "holders are those who ever held a share",
    "share prices not of an issue": "what a security becomes sets no new price",
    "issue prices in ": "a price is whole euro cents; ledger set-price records one",
    "TX_STOCK_PLAN": "a pool of options is no shares",
    "TX_STOCK_CLASS_CONVERSION": "rights to convert are not kept, conversions are",
    "TX_STOCK_": "unknown to this import: compare the numbers of shares",
    "TX_EQUITY_COMPENSATION": "options and awards are no shares until issued as stock",
    "TX_PLAN_SECURITY": "options and awards are no shares until issued as stock",
    "TX_CONVERTIBLE": "a convertible is no shares until issued as stock",
    "TX_WARRANT": "a warrant is no shares until issued as stock",
    "TX_VESTING": "vesting changes no holder and no number of shares",
    "VESTING": "vesting changes no holder and no number of shares",
    "TX_ISSUER": "bounds are kept per class, not per issuer",
    "VALUATION": "a valuation is no price of an issue or trade",
    "STOCK_PLAN": "a pool of options is no shares",
    "STOCK_LEGEND": "texts on certificates are not kept",
    "DOCUMENT": "documents are not imported",
    "FINANCING": "financing rounds are not kept, their issuances are",
    "CE_": "relations and states of stakeholders are not kept",
}
FIELD_WHY = {
    "STAKEHOLDER.contact_info": "of it, an individual's first e-mail address is kept",
    "STAKEHOLDER.addresses": "staff enter addresses",
}
KEPT_NOT = "the register keeps no such field"
UNKNOWN = "an object type that this import does not know"
FRACTION = "units are indivisible; the whole units are in the ledger"


def summary(imported: ImportedPackage) -> Iterator[Table]:
    yield shares(imported)
    yield transactions(imported)
    left = without_place(imported)
    if left.row_count:
        yield left
    if imported.remarks:
        remarks = Table("Remarks", title="Worth a look")
        for remark in sorted(imported.remarks):
            remarks.add_row(escaped(remark))
        yield remarks


def shares(imported: ImportedPackage) -> Table:
    balances = imported.replay.balances
    holders = {h for held in balances.values() for h, units in held.items() if units}
    table = Table(
        "Class", "Token", title=f"Register of {escaped(imported.issuer.trading_name)}"
    )
    table.add_column("Shares", justify="right")
    table.add_column("Holders", justify="right")
    for class_id, token in imported.tokens.items():
        held = [units for units in balances[class_id].values() if units]
        table.add_row(
            escaped(token.name), token.symbol, f"{sum(held):,}", f"{len(held):,}"
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
    table = Table("What", title="What has no place in the register")
    table.add_column("Count", justify="right")
    table.add_column("Why")
    for what, count in sorted(imported.replay.unplaced.items()):
        table.add_row(escaped(what), f"{count:,}", why(what))
    for name, count in sorted(imported.fields.items()):
        table.add_row(escaped(name), f"{count:,}", FIELD_WHY.get(name, KEPT_NOT))
    return table


def why(what: str) -> str:
    if " of a unit of " in what:
        return FRACTION
    return next((text for key, text in WHY.items() if what.startswith(key)), UNKNOWN)


def escaped(text: str) -> str:
    return text.replace("[", r"\[")
