"""The changelog as an Atom feed (RFC 4287), an entry for each date."""

import re
from datetime import UTC, datetime
from functools import cache

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.feedgenerator import Atom1Feed
from django.views.decorators.http import require_safe

from partnerapi.site import docs, pages

DATED = re.compile(
    r"^## (?P<date>\d{4}-\d\d-\d\d)$(?P<text>.*?)(?=^## |\Z)", re.M | re.S
)
"""A part of the changelog that has its date."""


@require_safe
def changes(request: HttpRequest) -> HttpResponse:
    return pages.cacheable(request, feed(), "application/atom+xml; charset=utf-8")


@cache
def feed() -> str:
    page = f"{settings.PARTNER_API_SITE}/docs/changelog"
    changelog = docs.path_of("changelog").read_text()
    made = Atom1Feed(
        title="Partner API: changelog",
        link=page,
        description="What changes for partners.",
        feed_url=f"{page}.atom",
        author_name="Partner API",
    )
    for found in DATED.finditer(changelog):
        date = found["date"]
        made.add_item(
            title=date,
            link=f"{page}#{date}",
            unique_id=f"{page}#{date}",
            # A reader shows the text elsewhere, where an address needs its host.
            description=docs.markdown.render(found["text"]).replace(
                'href="/', f'href="{settings.PARTNER_API_SITE}/'
            ),
            updateddate=datetime.fromisoformat(date).replace(tzinfo=UTC),
        )
    return made.writeString("utf-8")
