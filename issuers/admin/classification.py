"""The Industry Classification Benchmark, for looking up."""

from django.contrib import admin

from issuers.models import IndustryClassificationBenchmark
from partnerapi.core.backoffice import ReadOnlyAdmin


@admin.register(IndustryClassificationBenchmark)
class IndustryClassificationBenchmarkAdmin(ReadOnlyAdmin):
    """The command import industry-classification imports the whole classification."""

    list_display = [
        "subsector_code", "subsector", "sector", "supersector", "industry"
    ]  # fmt: skip
    list_filter = ["industry", "supersector"]
    search_fields = ["^subsector_code", "subsector", "sector", "supersector"]
    ordering = ["subsector_code"]
