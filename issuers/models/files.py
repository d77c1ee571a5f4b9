"""The stored form of uploaded files: pictures re-encoded, PDFs if readable."""

import io

from django.core.exceptions import ValidationError

FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WEBP"}


def sniff_content_type(content: bytes) -> str | None:
    """The media type that the bytes show; None if that type is not stored."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    if content.startswith(b"%PDF-"):
        return "application/pdf"
    return None


def kept_bytes(name: str, content_type: str, content: bytes) -> bytes:
    """The bytes to store for a file of this media type.

    Only the pixels of a picture are kept: place, author and any other hidden data are
    removed.

    Raises:
        ValidationError: the file is damaged, or a picture is too large or animated.
    """
    if content_type == "application/pdf":
        check_pdf(name, content)
        return content
    # Most processes receive no file and need not load it.
    from issuers.models.pictures import encoded_anew

    return encoded_anew(name, FORMATS[content_type], content)


def check_pdf(name: str, content: bytes) -> None:
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(io.BytesIO(content))
        if reader.is_encrypted:
            raise ValidationError(f"{name} is encrypted; send it without a password.")
        pages = len(reader.pages)
    except (
        PyPdfError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise ValidationError(
            f"{name} is no PDF that can be read; save it anew."
        ) from error
    if not pages:
        raise ValidationError(f"{name} has no pages.")
