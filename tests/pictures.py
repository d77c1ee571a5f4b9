"""Files as staff upload them."""

import io
import secrets
from typing import Any

from PIL import Image


def picture_bytes(
    format_: str = "PNG",
    size: tuple[int, int] = (3, 2),
    mode: str = "RGB",
    **options: Any,
) -> bytes:
    """A picture of one colour; `options` are what Pillow saves with it."""
    buffer = io.BytesIO()
    Image.new(mode, size).save(buffer, format_, **options)
    return buffer.getvalue()


def noise(size: int) -> bytes:
    """A PNG of about so many bytes, which nothing makes smaller."""
    side = int((size / 3) ** 0.5)
    buffer = io.BytesIO()
    Image.frombytes("RGB", (side, side), secrets.token_bytes(3 * side * side)).save(
        buffer, "PNG"
    )
    return buffer.getvalue()
