import io

import pytest
from django.core.management import CommandError, call_command

from accounts.people.models import HolderImport, User, UserHolder
from tests.owner import superuser

STAFF = "ana@example.com"
WALLET = "0x52908400098527886E0F7030069857D2E4169EE7"
OTHER_WALLET = f"{WALLET.lower()[:-1]}0"
LEI = "529900T8BM49AURSDO55"
HEADER = "name,kind,email,wallet,lei,country"
BO = "Bo van Berg,INDIVIDUAL,Bo@example.com,,,NO"
ACME = f"Acme AS,company,,{WALLET},{LEI},"


@pytest.fixture
def staff(db):
    return superuser(
        STAFF, "a long password", type="INDIVIDUAL", first_name="Ana", last_name="Lund"
    )


@pytest.fixture
def load(tmp_path, staff):
    def load(*lines, content=None, dry_run=False):
        file = tmp_path / "holders.csv"
        file.write_bytes(content or "\n".join([HEADER, *lines]).encode())
        output = io.StringIO()
        call_command(
            "import", "holders", file, staff=STAFF, dry_run=dry_run, stdout=output
        )
        return output.getvalue().strip()

    return load


def stored():
    return list(
        UserHolder.objects.order_by("name").values_list(
            "name", "wallet_address", "user__type", "user__email", "user__first_name",
            "user__last_name", "user__company_name", "user__lei", "user__country",
        )
    )  # fmt: skip


def test_makes_users_and_profiles_once(load):
    said = "Holders: 2 created, 0 completed, 0 unchanged"
    assert load(BO, ACME, dry_run=True) == f"{said} (dry run: nothing was written)"
    assert stored() == []
    assert load(BO, ACME) == said
    assert stored() == [
        ("Acme AS", WALLET, "COMPANY", None, "", "", "Acme AS", LEI, None),
        ("Bo van Berg", None, "INDIVIDUAL", "bo@example.com", "Bo van", "Berg", None,
         None, "NO"),
    ]  # fmt: skip
    bo = User.objects.get(email="bo@example.com")
    assert (bo.is_active, bo.is_staff, bo.is_superuser) == (True, False, False)
    assert not bo.has_usable_password()
    assert load(BO, ACME) == (
        "holders.csv has already been imported; nothing was written."
    )
    assert HolderImport.objects.get().imported_by == STAFF


def test_completes_who_is_known_and_keeps_what_is_stored(load, capsys):
    load(BO, ACME)
    again = (
        f"Bo Berg,INDIVIDUAL,bo@example.com,{OTHER_WALLET},,SE",
        f"Acme AS,COMPANY,legal@example.com,{WALLET.lower()},,",
    )
    assert load(*again) == "Holders: 0 created, 2 completed, 0 unchanged"
    assert "1 known holders have another name" in capsys.readouterr().err
    assert [row[:4] + row[8:] for row in stored()] == [
        ("Acme AS", WALLET, "COMPANY", "legal@example.com", None),
        (
            "Bo van Berg",
            OTHER_WALLET,
            "INDIVIDUAL",
            "bo@example.com",
            "NO",
        ),
    ]
    assert load(*again, "") == "Holders: 0 created, 0 completed, 2 unchanged"


@pytest.mark.parametrize("separator", [";", "\t"])
def test_semicolons_and_tabs_separate_as_well(load, separator):
    text = "\r\n".join([HEADER, BO, ACME]).replace(",", separator)
    said = load(content=b"\xef\xbb\xbf" + text.encode())
    assert said == "Holders: 2 created, 0 completed, 0 unchanged"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (BO.replace("Bo van Berg", ""), "line 3, name: is empty"),
        (BO.replace("INDIVIDUAL", "PERSON"), "line 3, kind: 'PERSON' is neither IND"),
        (BO.replace("Bo@", "Bo"), "line 3, email: 'Boexample.com' is not an e-mail"),
        (BO.replace("Bo@example.com", ""), "line 3, email: is blank, as are wal"),
        (BO.replace(",,,NO", f",{WALLET}0,,NO"), f"line 3, wallet: '{WALLET}0' is not"),
        (BO.replace(",,,NO", f",,{LEI},NO"), "line 3, lei: an individual has no LEI"),
        (BO.replace("NO", "ZZ"), "line 3, country: 'ZZ' is not an ISO 3166"),
        ("Ace,COMPANY,,,529900T8BM49AURSDO56,", "line 3, lei: '529900T8BM49AURSDO56'"),
        (ACME, f"line 3, wallet: {WALLET} is already on line 2"),
        (BO.replace("Bo van", "Bo\u200bvan"),
            "line 3, name: contains the invisible character U+200B (ZERO WIDTH "
            "SPACE) as its character 3; remove it"),
        (BO.replace("Berg", "Berg\xa0"),
            "line 3, name: contains the invisible character U+00A0 (NO-BREAK SPACE) "
            "as its character 12; remove it"),
        (BO.replace("Bo@", "\ufeffBo@"), "line 3, email: contains the invisible "
            "character U+FEFF"),
        (BO.replace("Berg", "\u202eBerg"),
            "line 3, name: contains the invisible character U+202E (RIGHT-TO-LEFT "
            "OVERRIDE)"),
        (BO.replace("Berg", "Be\0rg"), "line 3, name: contains the control char"),
        ("Bo,INDIVIDUAL,bo@example.com", "line 3: 3 fields, the header has 6"),
    ],
)  # fmt: skip
def test_a_wrong_line_is_named_and_none_is_written(load, capsys, line, problem):
    with pytest.raises(CommandError, match="Nothing was changed"):
        load(ACME, line)
    assert capsys.readouterr().err.startswith(f"holders.csv, {problem}")
    assert (stored(), HolderImport.objects.count()) == ([], 0)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            f"Bo,INDIVIDUAL,bo@example.com,{WALLET},,",
            ("wallet: names a different user from"),
        ),
        ("Bo,COMPANY,bo@example.com,,,", "kind: is COMPANY, but user "),
        (f"Acme,COMPANY,,{WALLET[:-1]}8,{LEI},", "wallet: user "),
    ],
)
def test_who_is_known_is_not_contradicted(load, capsys, line, problem):
    load(BO, ACME)
    before = stored()
    with pytest.raises(CommandError, match="Nothing was changed"):
        load(line)
    assert f"line 2, {problem}" in capsys.readouterr().err
    assert stored() == before


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"PK\x03\x04rest", "line 1: is an Excel workbook (.xlsx)"),
        ("name".encode("utf-16"), "line 1: is UTF-16; save the file as UTF-8"),
        ("name".encode("utf-16-be"), "line 1: is UTF-16 or UTF-32 without a byte"),
        (b"\x1f\x8b\x08", "line 1: is compressed (gzip)"),
        (b"name,kind\nB\xe9,COMPANY", "line 2: byte 0xe9 is not UTF-8"),
        (b"\xef\xbb\xbf\xef\xbb\xbfname,kind\nB,COMPANY", "line 1, \\ufeffname: cont"),
    ],
)
def test_another_kind_of_file_is_named_as_what_it_is(load, capsys, content, problem):
    with pytest.raises(CommandError):
        load(content=content)
    assert capsys.readouterr().err.startswith(f"holders.csv, {problem}")


def test_a_hundred_problems_are_told_and_the_others_counted(load, capsys):
    with pytest.raises(CommandError, match="has 1,233 problems"):
        load(*[",INDIVIDUAL,bo@example.com,,,"] * 617)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 101
    assert said[-1] == "and 1,133 more"
