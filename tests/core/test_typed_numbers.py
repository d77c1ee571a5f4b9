"""Numbers as people type them are read as they are meant, or refused."""

from argparse import ArgumentTypeError
from decimal import Decimal

import pytest

from issuers.management.register_command import whole
from partnerapi.core.typed_numbers import NotANumber, typed_number, typed_whole

THIN, NO_BREAK = "\N{NARROW NO-BREAK SPACE}", "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1250", "1250"), (" 1250 ", "1250"), ("007", "7"),
        ("1 250", "1250"), (f"1{THIN}250", "1250"), (f"1{NO_BREAK}250", "1250"),
        ("1'250.50", "1250.50"), ("1_250", "1250"),
        ("1,250.00", "1250.00"), ("1.250,00", "1250.00"), ("1 250,5", "1250.5"),
        ("1,250,000", "1250000"), ("1.250.000", "1250000"),
        ("1,5", "1.5"), ("2.5", "2.5"), ("12,50", "12.50"),
        ("0,125", "0.125"), ("12500.125", "12500.125"), ("1,2500", "1.2500"),
        ("-5", "-5"), ("−5,5", "-5.5"), ("+5", "5"),
    ],
)  # fmt: skip
def test_what_has_one_meaning_is_understood(text: str, number: str):
    assert typed_number(text) == Decimal(number)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("1,250", "Write 1250 or 1.25."),
        ("1.250", "Write 1250 or 1.25."),
        ("10.000", "Write 10000 or 10."),
        ("999,999", "Write 999999 or 999.9990."),
        ("-1,250", "Write 1250 or 1.25."),
    ],
)
def test_what_has_two_meanings_is_refused_with_both(text: str, remedy: str):
    for read in (typed_number, typed_whole):
        with pytest.raises(NotANumber, match="can mean") as raised:
            read(text)
        assert str(raised.value).endswith(remedy)
    # What the remedy says is understood.
    assert typed_number(remedy.split()[1])
    assert typed_number(remedy.split()[3].removesuffix("."))


@pytest.mark.parametrize(
    "text",
    [
        "", " ", ",", "5.", ".5", "1..5", "1,25.00", "1.250.00", "1,250,00", "1 25",
        "12 34", "1 250'000", "1e3", "0x10", "NaN", "Infinity", "٣", "１", "5 %", "€5",
        "--5", "5-", "9" * 41, "1\n2",
    ],
)  # fmt: skip
def test_what_is_no_number_is_refused(text: str):
    with pytest.raises(NotANumber, match="is not a number. Write digits"):
        typed_number(text)


@pytest.mark.parametrize("text", ["1,5", "1.0", "12,00", "1.250,00"])
def test_a_whole_number_has_no_decimals(text: str):
    with pytest.raises(NotANumber, match="is not a whole number"):
        typed_whole(text)


@pytest.mark.parametrize("text", ["1,250", "1.250", "12,50", "12,00", "-1", "+1", "x"])
def test_commands_refuse_what_they_would_have_to_guess(text: str):
    with pytest.raises(ArgumentTypeError, match="Write|digits only"):
        whole(text)
    assert whole("1 250") == whole("1_250") == whole("1250") == 1250
