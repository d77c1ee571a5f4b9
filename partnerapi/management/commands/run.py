from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Do a job of Celery's beat now."
    verbs = {
        "notices": "accounts.management.run_notices",
        "articles": "issuers.management.run_articles",
        "exports": "partnerapi.management.run_exports",
    }
