from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Import a file: a CSV, or an Open Cap Table package."
    verbs = {
        "holders": "accounts.management.imports.holders",
        "issuers": "issuers.management.imports.issuers",
        "financial-data": "issuers.management.imports.financial_data",
        "industry-classification": "issuers.management.imports.industry_classification",
        "legacy-shareholders": "issuers.management.imports.legacy_shareholders",
        "ocf": "issuers.management.imports.ocf",
    }
