"""What staff type, what it names, and the page of a row."""

from uuid import UUID

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.db.models import Exists, Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from accounts.people.models import User
from partnerapi.core.backoffice import OwnPage

MOST = 10
"""Rows that a text finds."""
LONGEST = 200


def link(row: Model) -> str:
    """The one page that shows a row."""
    page = admin.site.get_model_admin(type(row))
    if isinstance(page, OwnPage):
        return str(page.address_of(row))
    meta = row._meta
    return reverse(
        f"admin:{meta.app_label}_{meta.model_name}_change", args=[quote(row.pk)]
    )


def as_uuid(text: str) -> UUID | None:
    """The UUID that the text is, or that it ends with as an id of the API."""
    try:
        return UUID(text.rpartition("|")[2])
    except ValueError:
        return None


def typed_text(request: HttpRequest, name: str) -> str:
    """What someone typed into a box, as the database can be asked for it."""
    return request.GET.get(name, "").replace("\0", "").strip()[:LONGEST]


def people_called(text: str, *conditions: Exists) -> QuerySet[User]:
    """The first users whose email or name begins with the text, or whose LEI it is."""
    # Without accents nothing may be left of it, and each name begins with nothing.
    if not any(map(str.isalnum, text)):
        return User.objects.none()
    rows = User.objects.filter(*conditions)
    first, _, last = text.partition(" ")
    parts = [
        rows.filter(email__startswith=text.lower()),
        rows.filter(lei=text.upper()),
        rows.filter(company_name__folded__startswith=text),
        rows.filter(first_name__folded__startswith=text),
        rows.filter(last_name__folded__startswith=text),
    ]
    if last:
        parts.append(
            rows.filter(
                first_name__folded__startswith=first,
                last_name__folded__startswith=last,
            )
        )
    one, *others = (part[:MOST] for part in parts)
    return one.union(*others)[:MOST]
