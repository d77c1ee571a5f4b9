"""The Industry Classification Benchmark, for looking up."""

from django.contrib import admin

from issuers.models import (
    IndustryClassificationBenchmark,
)


@admin.register(IndustryClassificationBenchmark)
class IndustryClassificationBenchmarkAdmin(admin.ModelAdmin):
    """The classification is imported whole, by import_industry_classification."""

    list_display = [
        "subsector_code", "subsector", "sector", "supersector", "industry"
    ]  # fmt: skip
    list_filter = ["industry", "supersector"]
    search_fields = ["^subsector_code", "subsector", "sector", "supersector"]
    ordering = ["subsector_code"]

    def has_add_permission(self, request):
        return False

    def has_change_permission(self, request, obj=None):
        return False

    def has_delete_permission(self, request, obj=None):
        return False
