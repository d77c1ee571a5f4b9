"""Bank accounts that are paid: IBAN (ISO 13616) and names as SEPA allows them."""

import re
import unicodedata

from stdnum import iban
from stdnum.exceptions import InvalidChecksum, ValidationError

NAME_LENGTH = 70
LETTERS = str.maketrans(
    {"ß": "ss", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE",
     "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "&": "+", "’": "'"}
)  # fmt: skip
ALLOWED = re.compile(r"[A-Za-z0-9/?:().,'+ -]+")
"""The characters of a SEPA credit transfer (EPC217-08)."""
SHAPE = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")


class WrongIban(Exception):
    """The text is not a valid IBAN; the message says why."""


def checked_iban(text: str) -> str:
    """The IBAN without spaces, in capitals.

    Raises:
        WrongIban
    """
    found: str = iban.compact(text)
    if not SHAPE.fullmatch(found):
        raise WrongIban(
            "an IBAN has two letters, two digits, and 11 to 30 letters or digits"
        )
    try:
        iban.validate(found)
    except InvalidChecksum:
        raise WrongIban(
            "its check digits do not fit; a character is wrong, missing or too many"
        ) from None
    except ValidationError:
        raise WrongIban(f"accounts in {found[:2]} have no such IBAN") from None
    return found


def sepa_name(name: str) -> str:
    """A name in the letters that a SEPA payment may carry; "": it has others."""
    plain = unicodedata.normalize("NFKD", name.translate(LETTERS))
    kept = "".join(sign for sign in plain if not unicodedata.combining(sign))
    kept = " ".join(kept.split())
    fits = len(kept) <= NAME_LENGTH and ALLOWED.fullmatch(kept)
    return kept if fits else ""
