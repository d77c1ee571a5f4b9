from uuid import UUID

from django.contrib.admin.models import CHANGE, LogEntry
from django.core.management.base import CommandError
from django.db import transaction

from accounts.approvals.four_eyes import NotApproved, carrying
from accounts.approvals.models import ApprovalKind
from accounts.management.people import active_staff, file_for_approval
from issuers.legacy import delivery
from issuers.legacy.approvals import delivery_content, delivery_title
from issuers.legacy.models import DeliveryJob, LegacyShareholder
from issuers.models import Issuer
from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting
from partnerapi.core.lock_waits import LockTimeout
from partnerapi.core.times import to_rfc3339


class Command(DryRunCommand):
    help = """Turn an issuer's PENDING legacy shares into tokens.

The tokens come from the treasury or are newly issued, as --source says; the two are
never mixed. Each line is delivered in full, skipped if it has been delivered in the
meantime, or refused with a reason. The command selects the lines at the start and
delivers 200 in each transaction. --list shows deliveries that ended early; --resume
delivers their remaining lines, and --close cancels them.

A delivery of many shares, or of lines created since the upgrade, needs a second person:
--request fixes its lines and files the request. Once it is approved in the admin, a
worker delivers them.

A dry run checks each line against the result of the lines before it, and takes no
locks. It reads a token's ledger at the token's first line, and does not see later
entries, such as a mint to the treasury.

examples:
  manage.py deliver_legacy_shares acme --source TREASURY --staff ana@example.com \\
      --dry-run
  manage.py deliver_legacy_shares acme --source MINT --staff ana@example.com
  manage.py deliver_legacy_shares --list
  manage.py deliver_legacy_shares --staff ana@example.com \\
      --resume 01890a5d-ac96-774b-bcce-b302099a8057
  manage.py deliver_legacy_shares --staff ana@example.com \\
      --close 01890a5d-ac96-774b-bcce-b302099a8057
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "issuer", metavar="SLUG", nargs="?", help="the issuer's slug"
        )
        parser.add_argument(
            "--source",
            choices=DeliveryJob.Source.values,
            help="source of the tokens",
        )
        parser.add_argument(
            "--staff",
            metavar="EMAIL",
            help="the member of staff responsible; required except with --list",
        )
        parser.add_argument(
            "--reason",
            metavar="TEXT",
            help=("reason, for --request; visible to the approver"),
        )
        others = parser.add_mutually_exclusive_group()
        others.add_argument(
            "--request",
            action="store_true",
            help="fix the lines and request approval, and deliver nothing yet",
        )
        others.add_argument(
            "--list",
            action="store_true",
            help=("list the deliveries that have not ended"),
        )
        others.add_argument(
            "--resume",
            metavar="JOB",
            type=UUID,
            help=("deliver the remaining lines of a delivery"),
        )
        others.add_argument(
            "--close",
            metavar="JOB",
            type=UUID,
            help=("cancel the remaining lines of a delivery"),
        )

    def handle(
        self, *, issuer, source, staff, resume, close, request, reason, dry_run,
        **options,
    ):  # fmt: skip
        if options["list"]:
            return self.list_jobs()
        if not staff:
            raise CommandError(
                "Name the member of staff responsible with --staff EMAIL."
            )
        person = active_staff("--staff", staff)
        if close:
            return close_delivery(job_named(close), person, dry_run)
        if resume:
            job = job_named(resume)
            ids, what = delivery.lines_left(job), f"remaining lines of {job.pk}"
        else:
            job, ids = None, pending_lines(issuer, source)
            what = f"lines of {issuer}"
        if not ids:
            return f"{issuer} has no PENDING legacy shares; nothing was written."
        if request and not (reason and reason.strip()):
            raise CommandError("Give a --reason; the approver sees it.")
        if request and not dry_run:
            return request_delivery(source, ids, person, reason.strip())
        for warning in delivery.unpriced_warnings(ids):
            self.stderr.write(warning)
        with counting() as begin:
            advance = begin("Delivering", len(ids))
            if dry_run:
                job, refusals = try_out(ids, job.source if job else source, advance)
            else:
                job = job or release_job(source, ids, person)
                deliver(job, person.email, advance)
                refusals = job.refusals()
        for line, reason in refusals:
            self.stderr.write(f"{line}: {reason}")
        done = f"{len(ids)} {what}: {job.summary()}"
        return f"{done}{DRY_RUN}" if dry_run else f"{done}."

    def list_jobs(self):
        jobs = DeliveryJob.objects.filter(finished_at=None).order_by("created_at")
        for job in jobs:
            self.stdout.write(
                f"{job.pk}: {job.source}, begun {to_rfc3339(job.created_at)} by "
                f"{job.created_by}; of {job.line_count:,} lines {job.summary()}, "
                f"{job.remaining:,} left"
            )
        count = len(jobs)
        return (
            f"{count} {'delivery has' if count == 1 else 'deliveries have'} not ended."
        )


def pending_lines(issuer, source):
    if not issuer or not source:
        raise CommandError(
            "Give the issuer's slug and --source; or name an open delivery with "
            "--resume or --close."
        )
    if not Issuer.objects.filter(slug=issuer).exists():
        raise CommandError(f"There is no issuer {issuer}; give an issuer's slug.")
    pending = LegacyShareholder.objects.filter(
        issuer__slug=issuer, status=LegacyShareholder.Status.PENDING
    )
    return list(pending.order_by("pk").values_list("pk", flat=True))


def job_named(pk):
    job = DeliveryJob.objects.filter(pk=pk).first()
    if job is None:
        raise CommandError(f"There is no delivery {pk}; --list lists those to resume.")
    if not job.released_at and not job.finished_at:
        raise CommandError(f"Delivery {pk} is waiting for approval.")
    if not job.is_open:
        raise CommandError(
            f"Delivery {pk} has ended: of {job.line_count:,} lines {job.summary()}."
        )
    return job


def request_delivery(source, ids, person, reason):
    with transaction.atomic():
        job = delivery.begin_job(source, ids, person.email)
        content = delivery_content(job)
        title = delivery_title(job)
        return file_for_approval(ApprovalKind.DELIVERY, content, title, reason, person)


def release_job(source, ids, person):
    try:
        with carrying([]):
            job = delivery.begin_job(source, ids, person.email)
            delivery.release(job)
    except NotApproved as error:
        raise CommandError(
            f"{error} Nothing was written; use --request to request approval."
        ) from None
    return job


def deliver(job, actor, advance):
    try:
        while job.is_open:
            advance(delivery.deliver_next(job, actor))
    except LockTimeout as error:
        raise CommandError(
            f"{error} Of {job.line_count} lines {job.summary()}. Deliver the rest with "
            f"--resume {job.pk}."
        ) from None
    except KeyboardInterrupt:
        raise CommandError(
            f"Stopped early. Of {job.line_count} lines, {job.summary()}. Deliver the "
            f"rest with --resume {job.pk}."
        ) from None


def try_out(ids, source, advance):
    job = DeliveryJob(source=source, line_count=len(ids))
    dry_run = delivery.DryRun(source)
    refusals = {}
    try:
        for lines in delivery.steps_of(ids):
            refusals |= delivery.count_outcomes(job, dry_run.deliver(lines))
            advance(len(lines))
    except LockTimeout as error:
        raise CommandError(
            f"{error} Nothing was written; run the command again."
        ) from None
    return job, refusals.items()


def close_delivery(job, person, dry_run):
    left = f"{job.remaining:,} of {job.line_count:,} lines"
    if dry_run:
        return (
            f"Delivery {job.pk} would be closed; {left} would not be delivered{DRY_RUN}"
        )
    try:
        delivery.close_job(job)
    except LockTimeout as error:
        raise CommandError(
            f"{error} Nothing was written; run the command again."
        ) from None
    LogEntry.objects.log_actions(
        person.pk, [job], CHANGE, f"Closed; {left} were not delivered."
    )
    return f"Delivery {job.pk} is closed: {job.summary()}; {left} are not delivered."
