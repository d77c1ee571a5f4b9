from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Write capitalization tables, statements and records to files."
    verbs = {
        "captable": "issuers.management.exports.captable.Command",
        "register-extract": "issuers.management.exports.register_extract.Command",
        "holder-statement": "issuers.management.exports.holder_statement.Command",
        "register-statement": "issuers.management.exports.register_statement.Command",
        "market-records": "marketdata.trading.management.export_records.Command",
    }
