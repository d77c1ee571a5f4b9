"""Logos and covers, drawn; each follows from the company's name."""

import colorsys
import hashlib
import io
from datetime import datetime

from PIL import Image, ImageDraw, ImageFont

from issuers.models import Document
from partnerapi.core.uuids import derived_uuid7
from partnerapi.sandbox.data.chance import dice
from partnerapi.sandbox.data.companies import Company

Colour = tuple[int, int, int]


def palette(company: Company) -> tuple[Colour, Colour]:
    """A dark ground and a light colour that stands out from it."""
    hue = dice("hue", company.slug).random()
    return shade(hue, 0.28, 0.55), shade(hue + 0.12, 0.82, 0.75)


def shade(hue: float, lightness: float, saturation: float) -> Colour:
    red, green, blue = colorsys.hls_to_rgb(hue % 1, lightness, saturation)
    return round(red * 255), round(green * 255), round(blue * 255)


def logo(company: Company, at: datetime) -> Document:
    """Initials over a polygon, 256 pixels square."""
    ground, light = palette(company)
    image = Image.new("RGB", (256, 256), ground)
    draw = ImageDraw.Draw(image)
    chance = dice("logo", company.slug)
    draw.regular_polygon(
        (128, 128, 112),
        n_sides=chance.randrange(3, 9),
        rotation=chance.randrange(360),
        fill=shade(chance.random(), 0.4, 0.5),
    )
    initials = "".join(word[0] for word in company.name.split())[:2]
    font = ImageFont.load_default(size=110)
    draw.text((128, 128), initials, fill=light, font=font, anchor="mm")
    return png(image, f"{company.slug}-logo.png", at)


def cover(company: Company, number: int, at: datetime) -> Document:
    """Hills in the company's colours, 800 by 420 pixels."""
    ground, light = palette(company)
    image = Image.new("RGB", (800, 420), light)
    draw = ImageDraw.Draw(image)
    chance = dice("cover", company.slug, number)
    for hill in range(5):
        share = (hill + 1) / 5
        top = 120 + 60 * hill
        ridge = [(x, top + chance.randrange(-45, 45)) for x in range(0, 900, 100)]
        colour = tuple(
            round(a + (b - a) * share) for a, b in zip(light, ground, strict=True)
        )
        draw.polygon([(0, 420), *ridge, (800, 420)], fill=colour)
    return png(image, f"{company.slug}-cover-{number}.png", at)


def png(image: Image.Image, name: str, at: datetime) -> Document:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    content = buffer.getvalue()
    return Document(
        id=derived_uuid7(at, name),
        name=name,
        content_type="image/png",
        content=content,
        size_bytes=len(content),
        checksum_sha256=hashlib.sha256(content).hexdigest(),
        created_at=at,
    )
