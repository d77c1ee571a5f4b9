from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Write the repository's generated files."
    verbs = {
        "docs": "partnerapi.management.write.docs.Command",
        "schema": "partnerapi.management.write.schema.Command",
        "sql": "partnerapi.management.write.sql.Command",
    }
