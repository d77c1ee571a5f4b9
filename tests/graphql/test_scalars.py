"""Wire forms of Time, Uint64, Int64 and Int, in both directions."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from graphql import GraphQLError, GraphQLInt, parse_value
from hypothesis import given
from hypothesis import strategies as st

from issuers.models import IssuerFinancialData
from partnerapi.core.numbers import MAX_EXACT_INTEGER, MAX_UINT64
from partnerapi.core.times import from_rfc3339, to_rfc3339
from partnerapi.graphql.scalars import Int64, Time, Uint64, int64, serialize_int, uint64
from tests.characters import Ask, World
from tests.owner import tamper


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-01-31T12:00:00Z", "2026-01-31 12:00:00"),
        ("2026-01-31t12:00:00z", "2026-01-31 12:00:00"),
        ("2026-01-31 12:00:00Z", "2026-01-31 12:00:00"),
        ("2026-01-31T12:00:00+00:00", "2026-01-31 12:00:00"),
        ("2026-01-31T12:00:00-00:00", "2026-01-31 12:00:00"),
        ("2026-01-31T12:00:00+05:30", "2026-01-31 06:30:00"),
        ("2026-01-31T12:00:00-11:59", "2026-01-31 23:59:00"),
        ("2026-01-31T00:30:00+14:00", "2026-01-30 10:30:00"),
        ("2026-01-31T12:00:00.5Z", "2026-01-31 12:00:00.500000"),
        ("2026-01-31T12:00:00.000001Z", "2026-01-31 12:00:00.000001"),
        ("2026-01-31T12:00:00.123456789Z", "2026-01-31 12:00:00.123456"),
        ("2026-01-31T12:00:00.9999999999999Z", "2026-01-31 12:00:00.999999"),
        ("2026-01-31", "2026-01-31 00:00:00"),
        ("2024-02-29", "2024-02-29 00:00:00"),
        ("0001-01-01", "0001-01-01 00:00:00"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31 23:59:59.999999"),
    ],
)
def test_a_time_is_rfc_3339_or_a_date(text, instant):
    expected = datetime.fromisoformat(instant).replace(tzinfo=UTC)
    assert from_rfc3339(text) == expected
    assert Time.parse_literal(parse_value(f'"{text}"')) == expected


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31T12:00:00",
        "2026-01-31T12:00:00.5",
        "2026-01-31T12:00Z",
        "2026-01-31T12Z",
        "2026-1-31T12:00:00Z",
        "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00,5Z",
        "2026-01-31T12:00:00+0530",
        "2026-01-31T12:00:00+05",
        "2026-01-31T12:00:00+24:00",
        "2026-01-31T12:00:00+05:60",
        "2026-02-29",
        "2026-13-01",
        "2026-00-01",
        "0000-01-01",
        "2026-01-31T24:00:00Z",
        "2026-01-31T12:60:00Z",
        "2016-12-31T23:59:60Z",
        "20260131T120000Z",
        "2026-W05-6",
        "10000-01-01",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "٢٠٢٦-01-31",
        "2026-01-31Z",
        "2026-01-31T12:00:00Z ",
        "2026-01-31\n",
        "now",
        "",
        0,
        None,
        True,
    ],
)
def test_anything_else_is_no_time(text):
    with pytest.raises(ValueError, match="Time cannot represent"):
        from_rfc3339(text)


def test_a_literal_time_is_a_string():
    for literal in ("2026", "true", "A", "[1]", "{a: 1}"):
        with pytest.raises(ValueError, match="Time cannot represent"):
            Time.parse_literal(parse_value(literal))


offsets = st.timedeltas(timedelta(hours=-14), timedelta(hours=14)).map(
    lambda offset: timezone(timedelta(minutes=offset // timedelta(minutes=1)))
)
times = st.datetimes(
    datetime(1, 1, 2),  # noqa: DTZ001
    datetime(9999, 12, 30),  # noqa: DTZ001
    timezones=st.just(UTC) | offsets,
)


@given(times)
def test_a_time_that_was_answered_means_the_same_instant(instant):
    wire = to_rfc3339(instant)
    assert from_rfc3339(wire) == instant
    assert wire.endswith("Z")
    assert not wire.endswith((".Z", "0Z")) or "." not in wire


@given(times, st.text("0123456789", max_size=10))
def test_any_offset_is_read_and_further_digits_are_cut(instant, digits):
    text = instant.isoformat(timespec="microseconds")
    text = f"{text[:26]}{digits}{text[26:]}"
    assert from_rfc3339(text) == instant


@pytest.mark.parametrize(
    ("stored", "wire"),
    [
        ("2026-01-31T12:00:00", "2026-01-31T12:00:00Z"),
        ("2026-01-31T12:00:00.500000", "2026-01-31T12:00:00.5Z"),
        ("2026-01-31T12:00:00.000010", "2026-01-31T12:00:00.00001Z"),
        ("0001-01-01T00:00:00", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_stored_times_are_answered_in_utc(stored, wire, world: World, stranger: Ask):
    instant = datetime.fromisoformat(stored).replace(tzinfo=UTC)
    token = world.public_token.pk
    tamper(f"UPDATE issuers_token SET created_at = '{stored}+00' WHERE id = '{token}'")
    answer = stranger('{ issuer(slug: "lumen") { tokens { nodes { createdAt } } } }')
    [token] = answer.data["issuer"]["tokens"]["nodes"]
    assert token == {"createdAt": wire}
    assert to_rfc3339(instant) == wire
    assert from_rfc3339(wire) == instant


@pytest.mark.parametrize("number", [0, 1, 2**53, 2**63, MAX_UINT64])
def test_uint64_is_exact(number):
    assert uint64(number) == number
    assert uint64(str(number)) == number
    assert Uint64.parse_literal(parse_value(str(number))) == number
    assert Uint64.parse_literal(parse_value(f'"{number}"')) == number


@pytest.mark.parametrize(
    "value",
    [
        -1,
        "-1",
        2**64,
        str(2**64),
        "9" * 30,
        "",
        "1.0",
        "1e3",
        "+1",
        " 1",
        "1_000",
        "٣",
        1.0,
        1.5,
        True,
        None,
        [],
    ],
)
def test_uint64_never_wraps_or_rounds(value):
    with pytest.raises(ValueError, match="Uint64 cannot represent"):
        uint64(value)


def test_a_literal_uint64_is_an_integer_or_a_string():
    for literal in ("-1", "1.5", "1e3", "true", "A", "[1]"):
        with pytest.raises(ValueError, match="Uint64 cannot represent"):
            Uint64.parse_literal(parse_value(literal))


@pytest.mark.parametrize("number", [-(2**63), -(2**53) - 1, 0, 2**63 - 1])
def test_int64_is_exact(number):
    assert int64(number) == number
    assert int64(str(number)) == number
    assert Int64.parse_literal(parse_value(str(number))) == number
    assert Int64.parse_literal(parse_value(f'"{number}"')) == number


@pytest.mark.parametrize("value", [-(2**63) - 1, 2**63, "--1", "1.0", 1.0, True, None])
def test_int64_never_wraps_or_rounds(value):
    with pytest.raises(ValueError, match="Int64 cannot represent"):
        int64(value)


@pytest.mark.parametrize("number", [0, 2**31, -(2**31) - 1, MAX_EXACT_INTEGER])
def test_int_is_answered_exactly_beyond_32_bits(number):
    assert serialize_int(number) == number
    assert serialize_int(-number) == -number
    assert GraphQLInt.serialize(number) == number


@pytest.mark.parametrize("value", [2**53, -(2**53), 1.0, "1", True, None])
def test_int_is_never_rounded(value):
    with pytest.raises(ValueError, match="Int cannot represent"):
        serialize_int(value)


def test_int_given_as_an_argument_has_32_bits():
    assert GraphQLInt.parse_value(2**31 - 1) == 2**31 - 1
    with pytest.raises(GraphQLError, match="32-bit"):
        GraphQLInt.parse_value(2**31)
    with pytest.raises(GraphQLError, match="32-bit"):
        GraphQLInt.parse_literal(parse_value(str(2**31)))


def test_amounts_beyond_32_bits_are_answered_and_not_taken(world: World, partner: Ask):
    figures = IssuerFinancialData.objects.filter(pk=world.figures[0].pk)
    document = """
    query ($first: Int) {
      issuer(slug: "lumen") { financialData(first: $first) { nodes { revenue } } }
    }
    """
    for amount in (MAX_EXACT_INTEGER, -MAX_EXACT_INTEGER, 2**31, None):
        figures.update(revenue_cents=amount)
        answer = partner(document, {"first": 1})
        [node] = answer.data["issuer"]["financialData"]["nodes"]
        assert node == {"revenue": amount}
    assert partner(document, {"first": 2**31}).code == "BAD_USER_INPUT"
    literal = document.replace("($first: Int)", "").replace("$first", str(2**31))
    assert partner(literal).code == "GRAPHQL_VALIDATION_FAILED"
