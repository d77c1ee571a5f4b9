"""What pages of the back office share."""

from collections.abc import Callable, Mapping
from functools import cached_property
from operator import attrgetter
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ORDER_VAR, ChangeList
from django.contrib.auth import get_user_model
from django.core.paginator import Paginator
from django.db import models
from django.db.models import PROTECT, Exists, F, Func, OuterRef, Q, Value
from django.http import HttpResponseRedirect
from django.urls import reverse
from django.utils.text import capfirst

from partnerapi.core.database import planned_by_index, rows_of
from partnerapi.core.form_fields import EurosField
from partnerapi.core.money import euros

# What staff type without a scheme is taken for HTTPS.
SECURE_ADDRESSES = {models.URLField: {"assume_scheme": "https"}}


MOST_COUNTED = 10_000
"""Rows that a page about one thing counts."""
MOST_LISTED = 2_000
"""Rows of a list that are counted, and that its pages lead to."""


MOST_PEOPLE = 20_000
"""Users by whose ids a list is searched: of more, nearly each row is someone's."""


MOST_AT_ONCE = 100
"""Rows that a page asks about before it changes them all."""


def money(name: str, description: str) -> Callable[[Any, Any], str | None]:
    """A column of a list that shows the euro cents of the field `name`."""

    @admin.display(description=description, ordering=name)
    def shown(page: admin.ModelAdmin, row: Any) -> str | None:
        cents = getattr(row, name)
        return None if cents is None else euros(cents)

    return shown


def rate(name: str, description: str) -> Callable[[Any, Any], str]:
    """A column of a list that shows the basis points of the field `name` in percent."""

    @admin.display(description=description, ordering=name)
    def shown(page: admin.ModelAdmin, row: Any) -> str:
        return f"{getattr(row, name) / 100:g} %"

    return shown


class BoundedPaginator(Paginator):
    """Counts a list's rows only as far as someone would turn its pages."""

    @cached_property
    def counted(self) -> int:
        rows: Any = self.object_list
        return int(rows.order_by()[: MOST_LISTED + 1].count())

    @property
    def count(self) -> int:
        return min(self.counted, MOST_LISTED)

    @property
    def has_more(self) -> bool:
        return self.counted > MOST_LISTED


class ReadOnly:
    """A page, or a table on another row's page, that staff only read."""

    def has_add_permission(self, request, obj=None):
        return False

    def has_change_permission(self, request, obj=None):
        return False

    def has_delete_permission(self, request, obj=None):
        return False


class ListWithActions(ReadOnly):
    """Staff change rows by the list's actions; the page of one is for reading."""

    def has_change_permission(self, request, obj=None):
        if obj is not None:
            return False
        return admin.ModelAdmin.has_change_permission(self, request)


class OneOrder(ChangeList):
    """A list whose address cannot ask for another order than the list's own."""

    def get_ordering(self, request, queryset):
        for params in (self.params, self.filter_params):
            params.pop(ORDER_VAR, None)
        return super().get_ordering(request, queryset)


class LongListAdmin(admin.ModelAdmin):
    """Of what there may be millions of rows: in the one order that an index serves."""

    sortable_by = ()

    def get_changelist(self, request, **options):
        return OneOrder


class ReadOnlyAdmin(ReadOnly, LongListAdmin):
    pass


class OwnPage(admin.ModelAdmin):
    """Rows whose one page is a page of the house; Django's form edits their parts.

    The form leads users who may not edit a row to that page.
    """

    own_page: str
    """The name of the page's address, which takes the id of `shown_row`."""
    part_of_page = ""
    """Of a row that a section of the page shows: the section's id."""
    shown_row = "pk"
    """The column with the id of the row that has the page."""
    preserve_filters = False
    change_form_template = "admin/edit.html"
    object_history_template = "admin/history.html"

    def address_of(self, row):
        shown = attrgetter(self.shown_row)(row)
        address = reverse(f"admin:{self.own_page}", args=[shown])
        return f"{address}#{self.part_of_page}" if self.part_of_page else address

    def get_changelist_instance(self, request):
        rows = super().get_changelist_instance(request)
        rows.url_for_result = self.address_of
        return rows

    def render_change_form(self, request, context, change=False, obj=None, **options):
        if obj is not None and not self.has_change_permission(request, obj):
            return HttpResponseRedirect(self.address_of(obj))
        if obj is not None:
            context |= {"own_page": self.address_of(obj), "title": f"Edit {obj}"}
            context["subtitle"] = None
        context["show_save_and_continue"] = False
        return super().render_change_form(
            request, context, change=change, obj=obj, **options
        )

    def history_view(self, request, object_id, extra_context=None):
        row = self.get_object(request, unquote(object_id))
        address = {"own_page": self.address_of(row)} if row else {}
        return super().history_view(request, object_id, address | (extra_context or {}))

    def response_post_save_add(self, request, obj):
        return HttpResponseRedirect(self.address_of(obj))

    def response_post_save_change(self, request, obj):
        return HttpResponseRedirect(self.address_of(obj))


class InEuros(admin.ModelAdmin):
    """Its forms show and read columns with cents in euros."""

    in_euros: Mapping[str, str]
    """The column that shows it to readers, by the column with cents."""

    def get_fields(self, request, obj=None):
        fields = super().get_fields(request, obj)
        if obj is None or self.has_change_permission(request, obj):
            return fields
        return [self.in_euros.get(name, name) for name in fields]

    def formfield_for_dbfield(self, db_field, request, **options):
        if db_field.name not in self.in_euros:
            return super().formfield_for_dbfield(db_field, request, **options)
        name = capfirst(db_field.verbose_name).removesuffix(" cents")
        return EurosField(
            label=f"{name}, €",
            max_digits=20,
            required=not db_field.blank,
            help_text=db_field.help_text.replace(", euro cents", ""),
        )


class KnownLater(admin.ModelAdmin):
    """The form of a new row leaves out what the database fills in."""

    def get_fieldsets(self, request, obj=None):
        fieldsets = super().get_fieldsets(request, obj)
        if obj is not None:
            return fieldsets
        later = set(self.get_readonly_fields(request))
        return [
            (
                name,
                {**options, "fields": [f for f in options["fields"] if f not in later]},
            )
            for name, options in fieldsets
        ]


class ProtectedAdmin(KnownLater):
    """Offers to delete only rows to which no other row refers.

    Django lists every row that protects another: of an issuer, a million lines. So
    this asks whether there is one, and has rows deleted one by one, each on its page.
    """

    also_protected_by: tuple[str, ...] = ()
    """Relations whose rows would be deleted with the row, and no one would be notified.
    """
    protection: str
    """What the row's page says of it."""

    def has_delete_permission(self, request, obj=None):
        if not super().has_delete_permission(request, obj):
            return False
        return obj is None or not is_referred_to(obj, self.also_protected_by)

    def get_actions(self, request):
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    def get_fieldsets(self, request, obj=None):
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None:
            return fieldsets
        (name, options), *others = fieldsets
        return [(name, {**options, "description": self.protection}), *others]


def is_referred_to(row, others):
    """Whether another row protects this one from being deleted; one query.

    Rows of the relations named in `others` protect it, too. A relation without a
    constraint repeats one that has it, and is not asked.
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


class PrefixSearchAdmin(LongListAdmin):
    """Finds rows by how columns begin, in any case and without accents.

    There may be millions of rows.

    Each of the `search_fields` has an index for it; an email address is stored in
    small letters. Django compares word by word, and the second word of a name begins
    no column: so `phrase_fields` are compared with the whole term, too.
    """

    phrase_fields: tuple[str, ...] = ()
    person: str | None = None
    """The column with the id of the user whose columns these are."""
    show_full_result_count = False

    def get_search_results(self, request, queryset, search_term):
        term = search_term.lower().strip()
        people = self.people_found(request, term)
        if people is not None:
            found = queryset.filter(IsOneOf(F(self.person), Value(people)))
            keys = self.first_keys(found)
            return queryset.filter(IsOneOf(F("pk"), Value(keys))), False
        return self.rows_called(request, queryset, term)

    def rows_called(self, request, queryset, term):
        """Rows by what their own columns begin with, whatever number they are."""
        found, has_duplicates = super().get_search_results(request, queryset, term)
        if " " in term:
            for name in self.phrase_fields:
                found |= queryset.filter(**{f"{name}__folded__startswith": term})
        return found, has_duplicates

    def people_found(self, request, term):
        """The ids of the users whom the term finds, unless there are too many to name.

        Their rows are then read by the index of the column `person`.
        """
        if self.person is None or not term:
            return None
        model = get_user_model()
        users = self.admin_site.get_model_admin(model)
        found, _ = users.rows_called(request, model.objects.order_by(), term)
        ids = [*found.values_list("pk", flat=True)[: MOST_PEOPLE + 1]]
        return ids if len(ids) <= MOST_PEOPLE else None

    def first_keys(self, found):
        """The ids of the rows to which the list leads, in its order.

        All that were found are read, by indexes, before they are ordered. PostgreSQL
        would walk through the whole table in the order of the list, past the rows of
        others.
        """
        names = [name.removeprefix("-") for name in self.ordering]
        rows, given = found.order_by().values("pk", *names).query.sql_with_params()
        order = ", ".join(
            f"{place} DESC" if name.startswith("-") else f"{place}"
            for place, name in enumerate(self.ordering, 2)
        )
        first = f"SELECT * FROM ({rows} OFFSET 0) f ORDER BY {order} LIMIT %s"
        with planned_by_index():
            return [row[0] for row in rows_of(first, [*given, MOST_LISTED + 1])]


class IsOneOf(Func):
    """A comparison with a list that is one parameter, however long it is."""

    template = "%(expressions)s)"
    arg_joiner = " = ANY ("
    output_field = models.BooleanField()
