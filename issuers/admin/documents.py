"""Documents: files that are stored once and never changed."""

from django import forms
from django.contrib import admin
from django.utils.html import format_html

from issuers.models import Document
from issuers.offerings.models import Offering
from partnerapi.core.backoffice import KnownLater


class DocumentForm(forms.ModelForm):
    file = forms.FileField(
        help_text=(
            "PNG, JPEG or WebP with at most 4,096 pixels on each side, or PDF; at "
            "most 5 MiB. Metadata of pictures is removed."
        )
    )

    class Meta:
        model = Document
        fields: list[str] = []

    def clean_file(self):
        file = self.cleaned_data["file"]
        # Refuse an oversized file before reading it into memory.
        if file.size > Document.MAX_BYTES:
            raise forms.ValidationError(
                f"{file.name} has {file.size} bytes; the limit is {Document.MAX_BYTES}."
            )
        document = Document.objects.new_document(file.name, file.read())
        try:
            document.clean_fields(exclude=["content"])
        except forms.ValidationError as error:
            raise forms.ValidationError(
                f"{file.name}: {' '.join(error.messages)} Rename the file: use at most "
                "100 letters, digits, dots, hyphens and underscores."
            ) from None
        self.instance = document
        return file


@admin.register(Document)
class DocumentAdmin(KnownLater):
    """Documents are never changed: a new file is a new document."""

    form = DocumentForm
    list_display = ["name", "content_type", "size_bytes", "created_at"]
    list_filter = ["content_type"]
    search_fields = ["^name", "=checksum_sha256"]
    ordering = ["-id"]
    readonly_fields = [
        "id", "name", "content_type", "size_bytes", "checksum_sha256", "created_at",
        "served_at", "address",
    ]  # fmt: skip

    def get_queryset(self, request):
        return super().get_queryset(request).defer("content")

    def get_fields(self, request, obj=None):
        return ["file"] if obj is None else self.readonly_fields

    def has_change_permission(self, request, obj=None):
        return False

    def has_delete_permission(self, request, obj=None):
        # No foreign key keeps the documents that an offering names.
        if obj is not None and Offering.objects.naming([obj.pk]).exists():
            return False
        return super().has_delete_permission(request, obj)

    @admin.display(description="address")
    def address(self, document):
        path = f"/documents/{document.pk}/{document.name}"
        return format_html('<a href="{0}">{0}</a>', path)
