"""Rows that are deleted only while nothing stands on them."""

from django.contrib import admin
from django.db import models
from django.db.models import PROTECT, Exists, OuterRef, Q


def is_referred_to(row, others):
    """Whether rows would keep it from being deleted; one query.

    They are those that protect it, and those of the relations named in `others`. A
    relation without a constraint is derived from one that has it, and not asked.
    """
    found = Q()
    for relation in row._meta.get_fields(include_hidden=True):
        if not (relation.one_to_many or relation.one_to_one) or relation.concrete:
            continue
        protects = relation.on_delete is PROTECT and relation.field.db_constraint
        if protects or relation.name in others:
            rows = relation.related_model._base_manager
            found |= Q(Exists(rows.filter(**{relation.field.name: OuterRef("pk")})))
    return type(row)._base_manager.filter(found, pk=row.pk).exists()


class KeptWhileReferredTo(admin.ModelAdmin):
    """Refuses at once what a page would read and print everything for.

    To say that a row can not be deleted, Django lists the rows that protect it: of an
    issuer, a million lines. So it is asked whether there is one; and rows are deleted
    one by one, each on its own page.
    """

    kept_by_too: tuple[str, ...] = ()
    """Relations whose rows would go with it, and are not to unnoticed."""
    kept: str
    """What its page says of it."""

    def has_delete_permission(self, request, obj=None):
        if not super().has_delete_permission(request, obj):
            return False
        return obj is None or not is_referred_to(obj, self.kept_by_too)

    def get_actions(self, request):
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    def get_fieldsets(self, request, obj=None):
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None:
            return fieldsets
        (name, options), *others = fieldsets
        return [(name, {**options, "description": self.kept}), *others]


# What staff type without a scheme is taken for HTTPS.
SECURE_ADDRESSES = {models.URLField: {"assume_scheme": "https"}}
