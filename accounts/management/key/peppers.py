from django.db.models import Count, Max
from django.utils import timezone

from accounts.keys import peppers
from accounts.keys.models import ApiKey
from partnerapi.core.commands import CommandWithExamples


class Command(CommandWithExamples):
    help = """Count the active keys of each pepper in PARTNER_API_KEY_PEPPER.

A pepper without active keys can be removed from the setting. A key moves to the new
pepper when it is used; revoke keys that are no longer used. Digests without a pepper
come from the previous release; they are replaced when the key is used.

examples:
  manage.py key peppers
"""

    def handle(self, **options):
        now = timezone.now()
        keys = {
            row["pepper"]: row
            for row in ApiKey.objects.live(now)
            .order_by()
            .values("pepper")
            .annotate(count=Count("pk"), used=Max("last_used_at"))
        }
        rows = {row.digest: row for row in peppers.known_peppers()}
        ours = peppers.canaries()
        current = peppers.current()[0]
        lines = []
        for position, digest in enumerate(ours):
            row = rows.pop(digest, None)
            if row is None and not peppers.binds(position):
                continue
            of = "" if peppers.binds(position) else ", of secrets alone"
            since = f"since {row.first_used_at:%Y-%m-%d %H:%M} UTC" if row else "new"
            role = ", used for new digests" if position == current else ""
            count = summary(keys.pop(row and row.id, None)) if row else "no active keys"
            lines.append(f"{position // 2 + 1}. {since}{of}{role}: {count}")
        for row in rows.values():
            if row.id in keys:
                lines.append(
                    f"not in the setting, so rejected: {summary(keys.pop(row.id))}"
                )
        if None in keys:
            lines.append(f"from before peppers were recorded: {summary(keys[None])}")
        return "\n".join(lines)


def summary(row):
    if row is None:
        return "no active keys"
    used = f"{row['used']:%Y-%m-%d %H:%M} UTC" if row["used"] else "never"
    return f"{row['count']} active keys, last used {used}"
