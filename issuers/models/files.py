"""What is kept of files that are sent: pictures anew, PDFs that can be read."""

import io

from django.core.exceptions import ValidationError

FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WEBP"}


def sniff_content_type(content: bytes) -> str | None:
    """The media type that the bytes show; None if documents of it are not stored."""
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
    """The bytes to be kept of a file of this media type.

    Of a picture only the pixels are kept: where and by whom it was taken is lost, and
    so is whatever else a file may hide.

    Raises:
        ValidationError: the file is damaged, or a picture is too large or moves.
    """
    if content_type == "application/pdf":
        check_pdf(name, content)
        return content
    # Most processes of the platform are sent no file, and would load it for nothing.
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
