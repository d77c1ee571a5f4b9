from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Run a job of Celery's beat now."
    verbs = {
        "notices": "accounts.management.run_notices.Command",
        "articles": "issuers.management.run_articles.Command",
        "documents": "marketdata.documents.management.run_documents.Command",
        "exports": "partnerapi.management.run_exports.Command",
    }
