from django.core.management.base import CommandError
from django.db import transaction

from accounts.management.help import CommandWithExamples
from accounts.management.people import active_staff
from accounts.management.progress import counting
from issuers.models import DeliveryJob, Issuer, LegacyShareholder


class Command(CommandWithExamples):
    help = """Turn an issuer's PENDING legacy shares into tokens.

From the treasury, or made for it; never from one because the other lacks units. Each
line is delivered whole, skipped because somebody delivered it meanwhile, or refused
with the reason. The lines are chosen when this begins and delivered 200 to a
transaction; ended early, it has delivered what it says, and can be run again.

examples:
  manage.py deliver_legacy_shares acme --source TREASURY --staff ana@example.com \\
      --dry-run
  manage.py deliver_legacy_shares acme --source MINT --staff ana@example.com
"""

    def add_arguments(self, parser):
        parser.add_argument("issuer", metavar="SLUG", help="the issuer's slug")
        parser.add_argument(
            "--source",
            required=True,
            choices=DeliveryJob.Source.values,
            help="where the tokens come from",
        )
        parser.add_argument(
            "--staff", metavar="EMAIL", required=True, help="who delivers"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="try every line, write nothing"
        )

    def handle(self, *, issuer, source, staff, dry_run, **options):
        actor = active_staff("--staff", staff).email
        if not Issuer.objects.filter(slug=issuer).exists():
            raise CommandError(f"There is no issuer {issuer}; give its slug.")
        pending = LegacyShareholder.objects.filter(
            issuer__slug=issuer, status=LegacyShareholder.Status.PENDING
        )
        ids = list(pending.order_by("pk").values_list("pk", flat=True))
        if not ids:
            return f"{issuer} has no PENDING legacy shares; nothing was written."
        if dry_run:
            with transaction.atomic():
                job = self.run(ids, source, actor)
                transaction.set_rollback(True)
        else:
            job = self.run(ids, source, actor)
        for line, reason in job.refusals.items():
            self.stderr.write(f"{line}: {reason}")
        done = f"{len(ids)} lines of {issuer}: {job.summary()}"
        return f"{done} (dry run: nothing was written)" if dry_run else f"{done}."

    def run(self, ids, source, actor):
        job = DeliveryJob.objects.create(
            source=source, shareholder_ids=ids, created_by=actor
        )
        with counting() as progress:
            task = progress.add_task("Delivering", total=len(ids))
            while job.remaining:
                progress.advance(task, job.step())
        return job
