from django.core.management.base import CommandError

from accounts.management.people import active_staff
from accounts.management.progress import counting
from issuers.legacy import delivery
from issuers.legacy.models import DeliveryJob, LegacyShareholder
from issuers.models import Issuer
from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.lock_waits import LockTimeout


class Command(CommandWithExamples):
    help = """Turn an issuer's PENDING legacy shares into tokens.

From the treasury, or made for it; never from one because the other lacks units. Each
line is delivered whole, skipped because somebody delivered it meanwhile, or refused
with the reason. The lines are chosen when this begins and delivered 200 to a
transaction; ended early, it has delivered what it says, and can be run again.

A dry run judges each line by what those before it would leave, and holds up nobody: a
token's ledger is read when its first line comes, and what others then write to it, a
mint to the treasury perhaps, is not seen.

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
        run = self.try_out if dry_run else self.deliver
        with counting() as progress:
            task = progress.add_task("Delivering", total=len(ids))
            job, refusals = run(
                ids, source, actor, lambda done: progress.advance(task, done)
            )
        for line, reason in refusals:
            self.stderr.write(f"{line}: {reason}")
        done = f"{len(ids)} lines of {issuer}: {job.summary()}"
        return f"{done} (dry run: nothing was written)" if dry_run else f"{done}."

    def deliver(self, ids, source, actor, advance):
        job = delivery.begin_job(source, ids, actor)
        try:
            while job.remaining:
                advance(delivery.deliver_next(job))
        except LockTimeout as error:
            raise CommandError(
                f"{error} Of {len(ids)} lines {job.summary()}, until then. Run this "
                "again for the rest."
            ) from None
        return job, job.refusals()

    def try_out(self, ids, source, actor, advance):
        job = DeliveryJob(source=source, line_count=len(ids), created_by=actor)
        dry_run = delivery.DryRun(source)
        refusals = {}
        try:
            for _, lines in delivery.steps_of(ids):
                refusals |= delivery.count_outcomes(job, dry_run.deliver(lines))
                advance(len(lines))
        except LockTimeout as error:
            raise CommandError(
                f"{error} Nothing was written; run this again."
            ) from None
        return job, refusals.items()
