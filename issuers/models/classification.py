import uuid_utils.compat as uuid
from django.db import models
from django.db.models import Q

from partnerapi.core.constraints import check


class IndustryClassificationBenchmark(models.Model):
    """A subsector of the four-level taxonomy, with the levels above it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    industry_code = models.CharField(max_length=2)
    industry = models.CharField(max_length=100, help_text="Top-level industry name.")
    supersector_code = models.CharField(max_length=4)
    supersector = models.CharField(max_length=100, help_text="Second level.")
    sector_code = models.CharField(max_length=6)
    sector = models.CharField(max_length=100, help_text="Third level.")
    subsector_code = models.CharField(
        max_length=8,
        unique=True,
        help_text="Numeric code of the subsector, eight digits carried as a string.",
    )
    subsector = models.CharField(max_length=100, help_text="Fourth level.")
    description = models.TextField(help_text="What the subsector covers.")

    class Meta:
        ordering = ["subsector_code"]
        verbose_name = "industry classification (ICB)"
        verbose_name_plural = "industry classification (ICB)"
        constraints = [
            check(
                "icb_subsector_code_has_eight_digits",
                Q(subsector_code__regex=r"^[0-9]{8}$"),
            ),
            check(
                "icb_codes_are_prefixes_of_the_subsector",
                Q(sector_code=models.functions.Left("subsector_code", 6))
                & Q(supersector_code=models.functions.Left("subsector_code", 4))
                & Q(industry_code=models.functions.Left("subsector_code", 2)),
            ),
        ]

    def __str__(self):
        return f"{self.subsector_code} {self.subsector}"
