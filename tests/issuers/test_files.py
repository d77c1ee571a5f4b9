"""What is kept of files that staff upload."""

import io
import struct
import zlib

import pytest
from django.core.exceptions import ValidationError
from PIL import Image, ImageCms
from pypdf import PdfWriter

from issuers.models import Document
from tests.pictures import picture_bytes

SECRET = "Photographed by Ines at home"


def kept(content: bytes) -> Image.Image:
    document = Document.objects.new_document("file", content)
    assert document.size_bytes == len(document.content)
    return Image.open(io.BytesIO(document.content))


def pdf(password: str = "", pages: int = 1) -> bytes:
    writer = PdfWriter()
    for _ in range(pages):
        writer.add_blank_page(100, 100)
    if password:
        writer.encrypt(password)
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def huge() -> bytes:
    """A PNG that says it is 60,000 pixels wide and high, and has nothing."""
    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    return (
        b"\x89PNG\r\n\x1a\n\0\0\0\r"
        + chunk
        + struct.pack(">I", zlib.crc32(chunk))
        + picture_bytes()[33:]
    )


@pytest.mark.parametrize("format_", ["PNG", "JPEG", "WEBP"])
def test_of_a_picture_only_the_pixels_are_kept(format_: str):
    exif = Image.Exif()
    exif[0x010E], exif[0x0112] = SECRET, 6
    sent = picture_bytes(format_, (30, 20), exif=exif)
    assert SECRET.encode() in sent
    found = kept(sent)
    assert (found.format, found.info.get("exif")) == (format_, None)
    assert SECRET.encode() not in found.tobytes()
    # It was turned as the camera had said.
    assert found.size == (20, 30)


def profile_with_red_as_green() -> bytes:
    """sRGB with the primaries of red and green in each other's place."""
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    return (
        srgb.replace(b"rXYZ", b"????", 1)
        .replace(b"gXYZ", b"rXYZ", 1)
        .replace(b"????", b"gXYZ", 1)
    )


@pytest.mark.parametrize(
    ("format_", "mode", "is_profile", "expected"),
    [
        ("PNG", "RGB", True, (0, 255, 0)),
        ("PNG", "RGBA", True, (0, 255, 0)),
        ("PNG", "P", True, (0, 255, 0)),
        ("JPEG", "RGB", True, (0, 255, 0)),
        ("WEBP", "RGB", True, (0, 255, 0)),
        ("PNG", "RGB", False, (255, 0, 0)),
        # A profile of other pixels does not count.
        ("JPEG", "CMYK", True, (255, 0, 0)),
    ],
)
def test_the_colours_of_a_profile_are_kept_without_it(
    format_: str, mode: str, is_profile: bool, expected: tuple[int, int, int]
):
    red = Image.new("RGB", (8, 8), (255, 0, 0)).convert(mode)
    profile = profile_with_red_as_green() if is_profile else b"no profile"
    buffer = io.BytesIO()
    red.save(buffer, format_, icc_profile=profile, quality=100)
    found = kept(buffer.getvalue())
    assert "icc_profile" not in found.info
    assert found.convert("RGB").getpixel((4, 4)) == pytest.approx(expected, abs=8)


def test_what_follows_the_pixels_is_lost():
    document = Document.objects.new_document("a.png", picture_bytes() + SECRET.encode())
    assert SECRET.encode() not in document.content


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_pictures_of_all_kinds_are_kept(mode: str):
    assert kept(picture_bytes(mode=mode)).size == (3, 2)
    assert kept(picture_bytes("JPEG", mode="CMYK")).mode == "RGB"


def test_of_sixteen_bits_a_pixel_the_upper_eight_are_kept():
    picture = Image.new("I;16", (4, 1))
    picture.putdata([0, 20_000, 40_000, 65_535])
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    grey = kept(buffer.getvalue()).convert("L")
    assert [grey.getpixel((x, 0)) for x in range(4)] == [0, 78, 156, 255]


def test_of_the_pictures_in_a_jpeg_the_first_is_kept():
    buffer = io.BytesIO()
    first, second = Image.new("RGB", (8, 8), "red"), Image.new("RGB", (8, 8), "blue")
    first.save(buffer, "MPO", save_all=True, append_images=[second])
    found = kept(buffer.getvalue())
    assert (found.format, getattr(found, "n_frames", 1)) == ("JPEG", 1)
    assert found.getpixel((4, 4))[0] > 250


def test_a_picture_may_have_4096_pixels_a_side():
    assert kept(picture_bytes(size=(4_096, 1))).size == (4_096, 1)


REFUSED = {
    "larger": (picture_bytes(size=(4_097, 1)), "4097 × 1 pixels; make it at most 4096"),
    "a bomb": (huge(), "far too many pixels"),
    "cut off": (picture_bytes(size=(500, 500))[:-30], "no PNG picture that can be"),
    "a head only": (b"\x89PNG\r\n\x1a\n", "no PNG picture that can be read"),
    "no JPEG": (b"\xff\xd8\xff and more", "no JPEG picture that can be read"),
    "no WebP": (b"RIFF\0\0\0\0WEBP", "no WEBP picture that can be read"),
    "no PDF": (b"%PDF-1.7 and more", "no PDF that can be read"),
    "half a PDF": (pdf()[:200], "no PDF that can be read"),
    "a PDF whose trailer is a name": (
        pdf().replace(b"trailer\n<<", b"trailer\n/<"),
        "no PDF that can be read",
    ),
    "a locked PDF": (pdf("secret"), "is encrypted"),
    "a PDF without pages": (pdf(pages=0), "has no pages"),
    "text": (b"<svg/>", "not a PNG, JPEG, WebP or PDF"),
    "an animation": (
        picture_bytes("WEBP", save_all=True, append_images=[Image.new("1", (3, 2), 1)]),
        "is animated",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_not_be_kept_is_refused(name: str):
    content, why = REFUSED[name]
    with pytest.raises(ValidationError, match=why):
        Document.objects.new_document("file", content)


def test_a_pdf_is_kept_as_it_is():
    assert Document.objects.new_document("a.pdf", pdf()).content == pdf()
