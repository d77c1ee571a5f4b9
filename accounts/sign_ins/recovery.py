"""Recovery codes: each stands in once for the authenticator of a member of staff."""

import re
from base64 import b32encode
from hashlib import sha256
from secrets import token_bytes

from accounts.people.models import User
from partnerapi.core.database import execute, value_of

NUMBER_OF_CODES = 10
CODE_BYTES = 10
FORM = re.compile("[A-Z2-7]{16}")


def make_codes(person: User) -> list[str]:
    """Ten new codes, which are kept nowhere; the codes of before end.

    The author of the transaction is the person: the database refuses others.
    """
    codes = [
        b32encode(token_bytes(CODE_BYTES)).decode() for _ in range(NUMBER_OF_CODES)
    ]
    execute(MAKE, [person.pk, [digest_of(code) for code in codes]])
    return ["-".join(re.findall("....", code)) for code in codes]


def use_code(person: User, typed: str) -> bool:
    """Whether this was an unused code; it is used now, and the authenticator removed.

    The author of the transaction is the person: the database refuses others.
    """
    code = re.sub(r"[\s-]", "", typed).upper()
    return bool(FORM.fullmatch(code) and value_of(USE, [person.pk, digest_of(code)]))


def digest_of(code: str) -> str:
    return sha256(code.encode()).hexdigest()


MAKE = "SELECT sign_in_make_codes(%s, %s)"
USE = "SELECT sign_in_use_code(%s, %s)"
