from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Write capitalization tables, statements and records to files."
    verbs = {
        "captable": "issuers.management.exports.captable",
        "register-extract": "issuers.management.exports.register_extract",
        "holder-statement": "issuers.management.exports.holder_statement",
        "register-statement": "issuers.management.exports.register_statement",
        "market-records": "marketdata.trading.management.export_records",
    }
