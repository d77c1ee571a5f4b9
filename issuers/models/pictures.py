"""Re-encodes uploaded pictures. Importing this module loads Pillow."""

import io
import struct

from django.core.exceptions import ValidationError
from PIL import Image, ImageCms, ImageOps

MOST_PIXELS = 4_096
"""Of a side of a picture: decoded it takes 64 MB."""
JPEG_QUALITY = 90
KEPT_MODES = {
    "PNG": ("1", "L", "LA", "P", "RGB", "RGBA"),
    "JPEG": ("L", "RGB"),
    "WEBP": ("RGB", "RGBA"),
}


def encoded_anew(name: str, format_: str, content: bytes) -> bytes:
    try:
        picture = Image.open(io.BytesIO(content), formats=[format_])
        if max(picture.size) > MOST_PIXELS:
            raise ValidationError(
                f"{name} is {picture.width} × {picture.height} pixels; make it at most "
                f"{MOST_PIXELS} on each side."
            )
        # Phones append more pictures to the first one of a JPEG.
        if format_ != "JPEG" and getattr(picture, "is_animated", False):
            raise ValidationError(f"{name} is animated; send a still picture.")
        picture.load()
        upright = in_srgb(ImageOps.exif_transpose(picture))
    except (
        OSError,
        SyntaxError,
        TypeError,
        ValueError,
        EOFError,
        struct.error,
    ) as error:
        raise ValidationError(
            f"{name} is no {format_} picture that can be read; save it anew."
        ) from error
    except Image.DecompressionBombError as error:
        raise ValidationError(
            f"{name} has far too many pixels; make it at most {MOST_PIXELS} on each "
            "side."
        ) from error
    if upright.mode.startswith("I"):
        # Sixteen bits per pixel, reduced to eight.
        upright = upright.point(lambda value: value * (1 / 256)).convert("L")
    if upright.mode not in KEPT_MODES[format_]:
        transparent = upright.has_transparency_data and format_ != "JPEG"
        upright = upright.convert("RGBA" if transparent else "RGB")
    colour = upright.info.get("transparency")
    upright.info = {} if colour is None else {"transparency": colour}
    buffer = io.BytesIO()
    upright.save(buffer, format_, quality=JPEG_QUALITY)
    return buffer.getvalue()


def in_srgb(picture: Image.Image) -> Image.Image:
    """The picture converted to sRGB, the colours shown without a profile.

    A profile that is unreadable, or for another kind of pixels, is ignored.
    """
    profile = picture.info.get("icc_profile")
    if not profile:
        return picture
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
    elif picture.mode == "P":
        picture = picture.convert("RGB")
    mode = "RGBA" if picture.mode == "RGBA" else "RGB"
    try:
        transform = ImageCms.buildTransform(
            ImageCms.ImageCmsProfile(io.BytesIO(profile)),
            ImageCms.createProfile("sRGB"),
            picture.mode,
            mode,
        )
        return ImageCms.applyTransform(picture, transform) or picture
    except (ImageCms.PyCMSError, OSError):
        return picture
