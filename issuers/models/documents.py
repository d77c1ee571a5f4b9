"""Documents: files that are stored with their bytes."""

import hashlib

import uuid_utils.compat as uuid
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Func, Q, Value
from django.db.models.functions import Length, Now

from issuers.models.files import kept_bytes, sniff_content_type
from partnerapi.core.constraints import check


class DocumentQuerySet(models.QuerySet):
    def new_document(self, name: str, content: bytes) -> "Document":
        """An unsaved document with the media type that its bytes show.

        Raises:
            ValidationError: not a PNG, JPEG, WebP or PDF, damaged, or too large.
        """
        content_type = sniff_content_type(content)
        if content_type is None:
            raise ValidationError(
                f"{name} is not a PNG, JPEG, WebP or PDF file; convert it first."
            )
        check_size(name, content)
        content = kept_bytes(name, content_type, content)
        check_size(name, content)
        return Document(
            name=name,
            content_type=content_type,
            content=content,
            size_bytes=len(content),
            checksum_sha256=hashlib.sha256(content).hexdigest(),
        )


def check_size(name: str, content: bytes) -> None:
    if len(content) > Document.MAX_BYTES:
        raise ValidationError(
            f"{name} has {len(content)} bytes; at most {Document.MAX_BYTES} are stored."
        )


class Document(models.Model):
    """A file kept with its bytes; served at /documents/<uuid>/<name>, never changed."""

    MAX_BYTES = 5 * 1024 * 1024

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    name = models.CharField(
        max_length=100,
        validators=[RegexValidator(r"^[A-Za-z0-9][A-Za-z0-9._-]*$")],
        help_text="File name.",
    )
    content_type = models.CharField(
        max_length=50, help_text="Media type, checked against the bytes when stored."
    )
    content = models.BinaryField()
    size_bytes = models.PositiveBigIntegerField()
    checksum_sha256 = models.CharField(
        max_length=64, help_text="SHA-256 of the bytes, lower-case hexadecimal."
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    served_at = models.DateTimeField(
        null=True,
        editable=False,
        help_text="When it was first served. Once withdrawn, a document that was "
        "served is reported as withdrawn, and one that was never served as not found.",
    )

    objects = DocumentQuerySet.as_manager()

    class Meta:
        constraints = [
            check(
                "document_name_is_safe_in_an_address",
                Q(name__regex=r"^[A-Za-z0-9][A-Za-z0-9._-]*$"),
            ),
            check(
                "document_type_is_served",
                Q(
                    content_type__in=[
                        "image/png",
                        "image/jpeg",
                        "image/webp",
                        "application/pdf",
                    ]
                ),
            ),
            check(
                "document_size_is_its_bytes",
                Q(size_bytes=Length("content"), size_bytes__lte=5 * 1024 * 1024),
            ),
            check(
                "document_checksum_is_its_bytes",
                Q(
                    checksum_sha256=Func(
                        Func(
                            F("content"),
                            function="sha256",
                            output_field=models.BinaryField(),
                        ),
                        Value("hex"),
                        function="encode",
                        output_field=models.CharField(),
                    )
                ),
            ),
        ]

    def __str__(self):
        return self.name
