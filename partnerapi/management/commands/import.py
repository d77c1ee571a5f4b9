from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Import a file: a CSV, or an Open Cap Table package."
    verbs = {
        "holders": "accounts.management.imports.holders.Command",
        "issuers": "issuers.management.imports.issuers.Command",
        "financial-data": "issuers.management.imports.financial_data.Command",
        "industry-classification": "issuers.management.imports.classification.Command",
        "legacy-shareholders": "issuers.management.imports.legacy_shareholders.Command",
        "ocf": "issuers.management.imports.ocf.Command",
    }
