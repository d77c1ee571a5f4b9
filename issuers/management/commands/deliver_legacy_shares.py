from django.core.management.base import CommandError

from accounts.management.people import active_staff, add_staff
from issuers.legacy import delivery
from issuers.legacy.models import DeliveryJob, LegacyShareholder
from issuers.models import Issuer
from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting
from partnerapi.core.lock_waits import LockTimeout


class Command(DryRunCommand):
    help = """Turn an issuer's PENDING legacy shares into tokens.

The tokens come from the treasury, or are made for it; the other source never fills in.
Each line is delivered whole, skipped because somebody delivered it meanwhile, or
refused with the reason. The command chooses the lines when it begins, and delivers 200
in a transaction. Ended early, it has delivered what it says; run it again.

A dry run judges each line by what those before it would leave, and nobody waits for it.
It reads a token's ledger at its first line, and does not see what others write later,
such as a mint to the treasury.

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
        add_staff(parser)

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
        with counting() as begin:
            job, refusals = run(ids, source, actor, begin("Delivering", len(ids)))
        for line, reason in refusals:
            self.stderr.write(f"{line}: {reason}")
        done = f"{len(ids)} lines of {issuer}: {job.summary()}"
        return f"{done}{DRY_RUN}" if dry_run else f"{done}."

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
