from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Write the files of the repository that are made from the code."
    verbs = {
        "docs": "partnerapi.management.write.docs",
        "schema": "partnerapi.management.write.schema",
        "guards": "partnerapi.management.write.guards",
        "sql": "partnerapi.management.write.sql",
    }
