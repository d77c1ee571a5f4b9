"""The arguments that narrow the list of accounts."""

import django_filters

from accounts.accounts.models import Account


class AccountFilter(django_filters.FilterSet):
    user_id = django_filters.Filter()
    status = django_filters.Filter()
    created_after = django_filters.Filter("created_at", "gt")
    updated_since = django_filters.Filter("recorded_at", "gte")

    class Meta:
        model = Account
        fields = ["user_id", "status", "created_after", "updated_since"]
