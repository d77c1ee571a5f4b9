import json
from argparse import ArgumentTypeError

from django.conf import settings
from django.core.management.base import CommandError
from django.db import IntegrityError

from partnerapi.core.commands import CommandWithExamples, counting

MOST = 10_000_000


def fix_sessions(text):
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a number of sessions, 0 or more")
    return int(text)


def register_size(text):
    slug, _, total = text.partition("=")
    if not slug or not total.isdecimal() or not 1 <= int(total) <= MOST:
        raise ArgumentTypeError(f"{text!r} is not SLUG=NUMBER with 1 to {MOST}")
    return slug, int(total)


class Command(CommandWithExamples):
    help = """Fill an empty sandbox with invented companies; a second run changes
nothing.

It writes 25 issuers with profiles, logos, figures, articles, tokens and legacy
shareholders, and two partners with 200 accounts each: `demo`, which may see
everything and has two CompIDs for the FIX feed, and `observer`, with some grants and
two scopes. Keys are shown once. Rows and ids are the same in every sandbox. Runs only
where PARTNER_API_SANDBOX=true.

examples:
  manage.py sandbox seed
  manage.py sandbox seed --json
  manage.py sandbox seed --shareholders lumarelle-optics=1000000
  manage.py sandbox seed --fix-sessions 50 --json
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "--shareholders",
            metavar="SLUG=NUMBER",
            type=register_size,
            action="append",
            default=[],
            help="add legacy shareholders to a company up to this number, for load "
            "tests; can be repeated",
        )
        parser.add_argument(
            "--fix-sessions",
            metavar="NUMBER",
            type=fix_sessions,
            default=0,
            help="number of partners with a CompID and a key for the FIX feed, for "
            "load tests; missing ones are added, and their keys shown once",
        )
        parser.add_argument(
            "--json",
            action="store_true",
            help="print new keys and counts as one line of JSON",
        )

    def handle(self, *, shareholders, fix_sessions, **options):
        if not settings.PARTNER_API_SANDBOX:
            raise CommandError(
                "This installation is not a sandbox; nothing was written. Set "
                "PARTNER_API_SANDBOX=true if its database may hold invented "
                "companies."
            )
        try:
            from partnerapi.sandbox.data.seed import SeedRefused, counts, seed
        except ModuleNotFoundError as error:
            raise CommandError(
                f"{error}. The sandbox's pictures need the extra: "
                "pip install -e '.[sandbox]'"
            ) from None

        with counting() as begin:
            try:
                seeded = seed(dict(shareholders), begin, fix_sessions)
            except SeedRefused as error:
                raise CommandError(str(error)) from None
            except IntegrityError as error:
                raise CommandError(
                    "The sandbox's rows were changed, so new ones do not fit: "
                    f"{str(error).splitlines()[0]}. Nothing was written; start with "
                    "an empty database."
                ) from None

        numbers = counts()
        summary = "Seeded: " if seeded.changed else "Nothing to do: "
        summary += ", ".join(f"{number} {name}" for name, number in numbers.items())
        if options["json"]:
            self.stderr.write(summary, self.style.SUCCESS)
            fix = [
                {"compID": each.comp_id, "login": each.login, "key": each.key}
                for each in seeded.fix
            ]
            self.stdout.write(json.dumps({"keys": seeded.keys, "fix": fix, **numbers}))
            return
        self.stdout.write(summary)
        for login, token in seeded.keys.items():
            self.stdout.write(f"Key of {login}, shown only now: {token}")
        for access in seeded.fix:
            self.stdout.write(f"{access.comp_id} of {access.login}: {access.key}")
        if seeded.keys:
            self.stdout.write("Send a key in the header X-Token-Auth.")
