"""Requests to issue an API key, or to replace one."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Model
from django.utils import timezone

from accounts.access import Scope
from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from accounts.keys.models import ApiKey, Partner


def key_content(
    partner: Partner,
    scopes: Iterable[str],
    expires_at: datetime | None,
    rotates: ApiKey | None = None,
    overlap_hours: int = 0,
) -> dict[str, Any]:
    """A key to issue; with `rotates`, how long the old key stays valid."""
    content: dict[str, Any] = {
        "partner": str(partner.pk),
        "scopes": sorted(scopes),
        "expiresAt": expires_at and int(expires_at.timestamp()),
    }
    if rotates:
        content["with"] = {"rotates": str(rotates.pk), "overlapHours": overlap_hours}
    return content


def key_title(
    partner: Partner, scopes: Iterable[str], expires_at: datetime | None
) -> str:
    """The end stands before the scopes: a title that is too long loses the last."""
    end = f"expires {expires_at:%Y-%m-%d}" if expires_at else "never expires"
    return f"API key for {partner}, {end}: {', '.join(sorted(scopes)) or 'no scopes'}"


class IssueKey:
    """Executed by the person who asked: the key is shown to that person, once."""

    def preview(self, request: ApprovalRequest) -> Preview:
        content = request.content
        partner, at = self.partner(content), expiry(content)
        old = self.key_to_rotate(content)
        end = f"{at:%Y-%m-%d %H:%M} UTC" if at else "NEVER EXPIRES: valid until revoked"
        live = ApiKey.objects.live(timezone.now()).filter(partner=partner).count()
        rows = [
            ("Partner", "", str(partner)),
            ("Scopes", ", ".join(old.scopes) if old else "", scopes_of(content)),
            ("Expiry", "", end),
            ("Active keys of the partner", f"{live:,}", f"{live + 1:,}"),
        ]
        links: dict[str, Model] = {"Partner": partner}
        warnings = []
        if at is None:
            warnings.append("This key never expires. A key with an expiry is safer.")
        if old:
            hours = content["with"]["overlapHours"]
            name = f"Replaced key …{old.last_four}"
            rows.append((name, "active", f"revoked {hours:,} hours after issue"))
            links[name] = old
        return Preview(rows, warnings, links)

    def execute(self, request: ApprovalRequest) -> tuple[ApiKey, str]:
        content = request.content
        partner, old = self.partner(content), self.key_to_rotate(content)
        issued = ApiKey.objects.issue(partner, content["scopes"], expiry(content))
        if old:
            overlap = timedelta(hours=content["with"]["overlapHours"])
            old.end_at(timezone.now() + overlap)
        return issued

    def partner(self, content: dict[str, Any]) -> Partner:
        partner = Partner.objects.get(pk=content["partner"])
        if not partner.is_active:
            raise Superseded(f"{partner} is switched off, so its keys are rejected.")
        unknown = set(content["scopes"]) - set(Scope.values)
        if unknown:
            raise Superseded(
                f"There is no scope {', '.join(sorted(unknown))} any more."
            )
        at = expiry(content)
        if at and at <= timezone.now():
            raise Superseded("The expiry of the requested key has passed.")
        return partner

    def key_to_rotate(self, content: dict[str, Any]) -> ApiKey | None:
        if "with" not in content:
            return None
        old = ApiKey.objects.get(pk=content["with"]["rotates"])
        if old.revoked_at:
            raise Superseded(f"Key …{old.last_four} has been revoked since.")
        return old


def expiry(content: dict[str, Any]) -> datetime | None:
    seconds = content["expiresAt"]
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def scopes_of(content: dict[str, Any]) -> str:
    return ", ".join(content["scopes"]) or "none"
