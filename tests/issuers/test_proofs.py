"""Proofs of holdings, checked offline by the programs that partners download."""

import base64
import hashlib
import io
import json
import secrets
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pypdf import PdfReader

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.people.models import User, UserHolder
from issuers.register import ledger
from issuers.register.ledger import Entry
from issuers.register.reasons import ReasonCode
from issuers.register.statement_models import RecordInstant, Statement
from issuers.register.witnesses import acknowledge
from partnerapi.sandbox.data.approvals import approved_key
from tests.approved import approved_price, approved_record, desk
from tests.characters import Ask, World
from tests.issuers.register import SET_BACK, new_statement_key, people
from tests.owner import superuser, tamper
from tests.packages import node

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("one_person", "unlimited_budgets"),
]

PROOF = """query ($token: ID!, $account: ID!, $date: Time) {
  holdingProof(tokenID: $token, accountID: $account, date: $date) {
    statement at units proof entriesSince unproved
} }"""
STATED = """query ($id: ID!) { token(id: $id) {
  statement { record salt path line signature }
  ledgerHead { sequence digest priceNumber priceDigest }
} }"""
ENTRIES = """query ($id: ID!) { token(id: $id) { transactions(first: 100) { nodes {
  id sequence kind amount effectiveAt supplyAfter heldAfter holdersAfter chainReference
  reverses sourceBefore targetBefore lineVersion privateDigest previousDigest
  reason token { id } source { id user { id } } target { id user { id } } } } } }"""
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def write(settings: Any, tmp_path: Path) -> Any:
    settings.PARTNER_API_STATEMENT_KEY = new_statement_key()

    def write() -> None:
        call_command(
            "export",
            "register-statement",
            directory=tmp_path / "operator",
            stdout=io.StringIO(),
        )

    return write


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run both downloaded programs over files; their one answer and sentence."""
    for name in ("verify.py", "verify.mjs"):
        answer = Client().get(f"/docs/{name}")
        assert answer.status_code == 200
        assert len(answer.content.splitlines()) <= 200
        (tmp_path / name).write_bytes(answer.content)

    def run(*arguments: str) -> tuple[int, str]:
        found = [
            subprocess.run(
                [sys.executable, "-I", "verify.py", *arguments],
                check=False,
                cwd=tmp_path,
                capture_output=True,
                text=True,
            ),
            node("verify.mjs", *arguments, cwd=tmp_path),
        ]
        said = [(one.returncode, (one.stdout + one.stderr).strip()) for one in found]
        assert said[0] == said[1]
        code, sentence = said[0]
        assert "\n" not in sentence
        return code, sentence

    return run


@pytest.fixture
def holders(world: World) -> list[Any]:
    """80 holders of the public token; the first is a client of the partner's."""
    users = people(80)
    accounts = [*ledger.holder_accounts(user.pk for user in users).values()]
    UserHolder.objects.filter(user=users[0]).update(name='Zoë "\u2028" 👤')
    token = world.public_token.pk
    approved_record(
        [Entry(token, "MINT", 10 + n, None, a) for n, a in enumerate(accounts)], "me"
    )
    given = Entry(token, "TRANSFER", 4, accounts[1], accounts[0], code=ReasonCode.GIFT)
    approved_record([given], "me")
    approved_price(token, 500, "NAV", "me")
    return accounts


@pytest.fixture
def account(world: World, holders: list[Any]) -> Account:
    user = User.objects.get(ledger_account=holders[0])
    return Account.objects.open(world.partner, user, desk(), timezone.now())


def person_of_staff() -> User:
    names = {"first_name": "Ana", "last_name": "Lund"}
    return superuser("ana@example.com", "a long password", type="INDIVIDUAL", **names)


def save(directory: Path, name: str, content: Any) -> str:
    text = content if isinstance(content, str) else json.dumps(content)
    (directory / name).write_text(text, newline="")
    return name


def keys(directory: Path) -> str:
    said = Client().get("/.well-known/partner-api-keys.json").json()
    return save(directory, "keys.json", said)


def ask_proof(ask: Ask, world: World, account: Account, date: Any = None) -> Any:
    names = {
        "token": f"Token|{world.public_token.pk}",
        "account": f"Account|{account.pk}",
    }
    return ask(PROOF, names | {"date": date}).data["holdingProof"]


def opened(proof: str) -> tuple[dict[str, Any], bytes]:
    """What a proof says; its signature, salts and hashes."""
    raw = base64.urlsafe_b64decode(proof + "==")
    end = 2 + int.from_bytes(raw[:2], "big")
    return json.loads(zlib.decompress(raw[2:end])), raw[end:]


def closed(said: dict[str, Any], tail: bytes) -> str:
    deflated = zlib.compress(json.dumps(said, ensure_ascii=False).encode())
    raw = len(deflated).to_bytes(2, "big") + deflated + tail
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def statement(directory: Path, number: int, name: str = "") -> str:
    content = Client().get(f"/statements/{number}").content.decode()
    return save(directory, name or f"{number}.txt", content)


def with_sibling(place: int, side: str) -> Callable[[dict[str, Any], bytes], Any]:
    def change(said: dict[str, Any], tail: bytes) -> Any:
        said["path"][place] = side or said["path"][place][0] + "7"
        return said, tail

    return change


def with_member(
    name: str, old: str, new: str
) -> Callable[[dict[str, Any], bytes], Any]:
    def change(said: dict[str, Any], tail: bytes) -> Any:
        assert old in said[name]
        return said | {name: said[name].replace(old, new)}, tail

    return change


NOT_THERE = "The path does not lead to the root and units of the holdings."
CUT = "The proof was cut off, or has too much."
FORGED = {
    "an invented sum of the last sibling": (with_sibling(-1, ""), NOT_THERE),
    "an invented sum of the first": (with_sibling(0, "R1"), NOT_THERE),
    "a sum beyond 64 bits": (
        with_sibling(-1, "R18446744073709551615"),
        "units are none, or more than 64 bits hold.",
    ),
    "fewer than no units": (with_sibling(-1, "L-4"), "units are none, or more than"),
    "the other side": (with_sibling(-1, "X0"), NOT_THERE),
    "more units": (with_member("units", "14", "15"), NOT_THERE),
    "another name": (with_member("name", "Zo", "Zu"), NOT_THERE),
    "another person": (with_member("user", "User|0", "User|1"), NOT_THERE),
    "a name that begins later": (
        lambda said, tail: (
            said | {"user": said["user"] + said["name"][:2], "name": said["name"][2:]},
            tail,
        ),
        "is not the id of a user.",
    ),
    "a name that begins in the id": (
        lambda said, tail: (
            said | {"user": said["user"][:9], "name": said["user"][9:] + said["name"]},
            tail,
        ),
        "is not the id of a user.",
    ),
    "another record": (
        with_member("record", '"symbol":"LUM"', '"symbol":"LUX"'),
        "The record is not in statement 1",
    ),
    "another statement": (
        with_member("statement", '"at":"2', '"at":"3'),
        "Statement 1 is not signed by its key: it was altered.",
    ),
    "another signer": (
        with_member("statement", '"key":"', '"key":"x'),
        "a key that is not trusted.",
    ),
    "no hashes": (lambda said, tail: (said, b""), CUT),
    "one hash fewer": (lambda said, tail: (said, tail[:-32]), CUT),
    "one too many": (lambda said, tail: (said, tail + bytes(32)), CUT),
    "another salt": (
        lambda said, tail: (said, tail[:64] + bytes(16) + tail[80:]),
        NOT_THERE,
    ),
    "another signature": (
        lambda said, tail: (said, bytes(64) + tail[64:]),
        "Statement 1 is not signed by its key",
    ),
    "no path": (lambda said, tail: (said | {"path": []}, tail), CUT),
}
BROKEN = "a file is not there, is not what it should be, or was cut off."


def test_what_was_forged_is_refused_with_its_sentence(
    world: World, account: Account, write: Any, partner: Ask, run: Run, tmp_path: Path
):
    write()
    proof = ask_proof(partner, world, account)["proof"]
    trusted = keys(tmp_path)
    assert run("proof", save(tmp_path, "own", closed(*opened(proof))), trusted)[0] == 0
    for name, (change, sentence) in FORGED.items():
        forged = save(tmp_path, "forged", closed(*change(*opened(proof))))
        code, said = run("proof", forged, trusted)
        assert code == 1, name
        assert said.startswith("Refused: "), name
        assert sentence in said, (name, said)
    for content in (
        "", "{", "{}", "[]", "x" * 40, proof[:-8], proof[8:], "\x00", '{"proof": 7}',
        "{" + '"a":{' * 9_000, "9" * 9_999, '{"proof": {"proof": null}}',
    ):  # fmt: skip
        code, said = run("proof", save(tmp_path, "garbage", content), trusted)
        assert code == 1, content[:20]
        assert said.startswith("Refused: "), said
    code, said = run("proof", save(tmp_path, "huge", "A" * 2_000_000), trusted)
    assert (code, said) == (1, "Refused: huge is too long.")
    bomb = closed({"name": "a" * 5_000_000}, bytes(96))
    assert run("proof", save(tmp_path, "bomb", bomb), trusted) == (
        1, f"Refused: {BROKEN}"
    )  # fmt: skip
    assert run("proof", "missing", trusted) == (1, f"Refused: {BROKEN}")


@pytest.mark.parametrize(
    "arguments", ["", "proof a", "compare a b", "witnesses a b c", "constructor a b"]
)
def test_what_proves_nothing_is_used_wrongly(arguments: str, run: Run, tmp_path: Path):
    own = [sys.executable, "-I", "verify.py", *arguments.split()]
    found = subprocess.run(own, check=False, cwd=tmp_path, capture_output=True)
    assert (found.returncode, found.stdout[:13]) == (2, b"Check offline")
    other = node("verify.mjs", *arguments.split(), cwd=tmp_path)
    assert (other.returncode, other.stdout[:16]) == (2, "// Check offline")


def test_a_name_that_the_terminal_has_no_letters_for_is_proved(
    world: World, account: Account, write: Any, partner: Ask, run: Run, tmp_path: Path
):
    write()
    proof = save(tmp_path, "proof", ask_proof(partner, world, account)["proof"])
    said = subprocess.run(
        [sys.executable, "verify.py", "proof", proof, keys(tmp_path)],
        check=True,
        cwd=tmp_path,
        env={"PYTHONIOENCODING": "ascii"},
        capture_output=True,
    )
    assert "Proved: Zoë" in said.stdout.decode()


def test_a_statement_of_another_key_is_refused(
    world: World, account: Account, write: Any, partner: Ask, run: Run, tmp_path: Path,
    settings: Any,
):  # fmt: skip
    write()
    first = keys(tmp_path)
    own = json.loads((tmp_path / first).read_text())["keys"][0]["kid"]
    following = secrets.token_bytes(32)
    public = Ed25519PrivateKey.from_private_bytes(following).public_key()
    text = base64.b64encode(public.public_bytes_raw()).decode()
    call_command("export", "register-statement", introduce=text, stdout=io.StringIO())
    settings.PARTNER_API_STATEMENT_KEY = base64.b64encode(following).decode()
    write()
    proof = save(tmp_path, "proof", ask_proof(partner, world, account))
    code, said = run("proof", proof, first)
    assert (code, said[-26:]) == (1, "a key that is not trusted.")
    both = keys(tmp_path)
    assert run("proof", proof, both)[0] == 0
    files = [statement(tmp_path, 1), statement(tmp_path, 2)]
    assert run("statements", *files, both)[0] == 0
    assert run("statements", *files, f"{both}#{own}")[0] == 0
    later = json.loads((tmp_path / both).read_text())["keys"][1]["kid"]
    code, said = run("statements", *files, f"{both}#{later}")
    assert (code, said) == (
        1,
        f"Refused: Statement 1 is signed by {own}, a key that is not trusted.",
    )
    said = json.loads((tmp_path / both).read_text())
    said["keys"][1]["since"] = "2020-01-01T00:00:00Z"
    code, told = run("proof", proof, save(tmp_path, "forged.json", said))
    assert (code, told) == (
        1,
        f"Refused: Key {later} is not signed by its key: it was altered.",
    )
    settings.PARTNER_API_STATEMENT_KEY = base64.b64encode(bytes(32)).decode()
    write()
    lost = [*files, statement(tmp_path, 3)]
    code, said = run("statements", *lost, keys(tmp_path))
    assert code == 1
    assert "Statement 3 is signed by" in said


def test_two_histories_and_a_rollback_are_seen(
    holders: list[Any], write: Any, run: Run, tmp_path: Path
):
    for _ in range(3):
        write()
    trusted = keys(tmp_path)
    kept = [statement(tmp_path, n, f"kept{n}.txt") for n in (1, 2, 3)]
    listing = save(tmp_path, "listing", Client().get("/statements").content.decode())
    code, said = run("statements", *kept, listing, trusted)
    assert (code, said[:45]) == (0, "Proved: Statements 1 to 3 are one history, to")
    assert run("compare", kept[0], kept[0], trusted)[0] == 0
    emptied = save(tmp_path, "emptied", '{"statements": []}')
    code, said = run("statements", kept[0], emptied, trusted)
    assert (code, said) == (
        1, "Refused: The listing has another statement 1, or took it back."
    )  # fmt: skip
    code, said = run("statements", kept[0], kept[2], trusted)
    assert (code, said) == (1, "Refused: Statement 2 is not among the files.")
    text = (tmp_path / kept[1]).read_text()
    altered = save(tmp_path, "altered", text.replace('"deciders":[', '"deciders":["x"'))
    code, said = run("statements", kept[0], altered, trusted)
    assert (code, said) == (1, "Refused: The details of statement 2 were altered.")
    tamper(SET_BACK)
    for file in (tmp_path / "operator").iterdir():
        file.unlink()
    write()
    other = statement(tmp_path, 1, "other.txt")
    code, said = run("compare", kept[0], other, trusted)
    digests = [
        hashlib.sha256((tmp_path / f).read_bytes().split(b"\n")[0]).hexdigest()
        for f in (kept[0], other)
    ]
    assert (code, said) == (
        1,
        f"Refused: Two histories: statement 1 is {digests[0]} and {digests[1]}.",
    )
    now = save(tmp_path, "now", Client().get("/statements").content.decode())
    code, said = run("statements", kept[1], kept[2], now, trusted)
    assert (code, said) == (
        1, "Refused: The listing has another statement 2, or took it back."
    )  # fmt: skip
    code, said = run("statements", other, kept[1], trusted)
    assert (code, said) == (
        1, "Refused: Statement 2 does not follow the one before it."
    )  # fmt: skip


def test_only_witnesses_that_the_user_names_count(
    holders: list[Any], write: Any, run: Run, tmp_path: Path, world: World
):
    write()
    write()
    trusted = keys(tmp_path)
    file, line = statement(tmp_path, 2), Statement.objects.get(pk=2).said
    known, other, absent = [Ed25519PrivateKey.generate() for _ in range(3)]
    names = [
        base64.b64encode(key.public_key().public_bytes_raw()).decode()
        for key in (known, other, absent)
    ]
    for key, name in zip((known, other), names, strict=False):
        signature = base64.b64encode(key.sign(line.encode())).decode()
        acknowledge(
            str(world.partner.pk), Statement.objects.get(pk=2), name, signature,
            timezone.now(),
        )  # fmt: skip
    listed = Client().get("/statements/2/witnesses").json()
    list_of_all = save(tmp_path, "witnesses.json", listed)
    history = f"Statements 2 to 2 are one history, to {digest_of(line)}."
    for named in (names[:1], sorted(names[:2]), names[:1] * 2):
        code, said = run("witnesses", file, list_of_all, trusted, *named)
        counted = sorted(set(named))
        assert (code, said) == (
            0,
            f"Proved: {history} {len(counted)} witnesses signed it: "
            f"{', '.join(counted)}.",
        )
    code, said = run("witnesses", file, list_of_all, trusted, *names)
    assert (code, said) == (
        1, f"Refused: Witness {names[2]} has not signed this statement."
    )  # fmt: skip
    # A signature of another statement, and a list that gives a key another's.
    code, said = run(
        "witnesses", statement(tmp_path, 1), list_of_all, trusted, names[0]
    )
    altered = f"Refused: It, by witness {names[0]}, is not signed by its key: it was"
    assert (code, said) == (1, f"{altered} altered.")
    first, second = listed["witnesses"]
    forged = {"witnesses": [first | {"signature": second["signature"]}]}
    code, said = run(
        "witnesses", file, save(tmp_path, "forged", forged), trusted, first["publicKey"]
    )
    assert (code, said[:25]) == (1, "Refused: It, by witness " + first["publicKey"][:1])
    code, said = run("witnesses", file, list_of_all, trusted, "no key")
    assert (code, said) == (
        1, "Refused: Witness no key has not signed this statement."
    )  # fmt: skip


def digest_of(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()


def test_an_exported_ledger_is_checked(
    world: World, holders: list[Any], write: Any, partner: Ask, run: Run, tmp_path: Path
):
    write()
    token = {"id": f"Token|{world.public_token.pk}"}
    found = partner(STATED, token).data["token"]
    rows = partner(ENTRIES, token).data["token"]["transactions"]["nodes"]
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    stated = save(tmp_path, "stated.json", found["statement"])
    kept = save(tmp_path, "kept.json", {"ledgerHead": found["ledgerHead"]})
    export, trusted = save(tmp_path, "all.jsonl", "".join(lines)), keys(tmp_path)
    head = found["ledgerHead"]["digest"]
    code, said = run("ledger", export, stated, trusted)
    assert code == 0, said
    whole = (
        f"Proved: 81 lines follow each other, to the head {head}, to line 81 as says "
    )
    assert said.startswith(f"{whole}statement 1 of ")
    assert run("ledger", export, kept) == (0, f"{whole}a kept head.")
    # What follows the last line that the platform signed is not its.
    invented = json.dumps(rows[-1] | {"sequence": 82, "amount": 9, "lineVersion": 1})
    longer = save(tmp_path, "longer", "".join([*lines, invented]))
    for given, by in (([kept], "a kept head"), ([stated, trusted], "statement 1 of ")):
        code, said = run("ledger", longer, *given)
        assert (code, said[:25]) == (0, "Proved: 82 lines follow e")
        assert f", to line 81 as says {by}" in said
        assert head not in said
        code, said = run("ledger", save(tmp_path, "emptied", ""), *given)
        ends = "Refused: The export ends at line 0: lines were taken away."
        assert (code, said) == (1, ends)
    shorter = save(tmp_path, "shorter", "".join(lines[:-1]))
    for given in ([kept], [stated, trusted]):
        code, said = run("ledger", shorter, *given)
        ends = "Refused: The export ends at line 80: lines were taken away."
        assert (code, said) == (1, ends)
    code, said = run("ledger", save(tmp_path, "gap", "".join(lines[1:])), kept)
    assert (code, said) == (1, "Refused: Line 1 is of 2: one is missing.")
    for old, new in (('"amount": 12,', '"amount": 13,'), ("MINT", "BURN")):
        altered = lines.copy()
        altered[2] = altered[2].replace(old, new)
        assert altered != lines
        code, said = run("ledger", save(tmp_path, "altered", "".join(altered)), kept)
        assert (code, said) == (
            1,
            "Refused: The head after line 81 is another: a line was altered.",
        )


def test_an_invented_holder_is_seen_by_who_has_all_entries(
    world: World, holders: list[Any], write: Any, partner: Ask, run: Run, tmp_path: Path
):
    [invented] = ledger.holder_accounts([people(1)[0].pk]).values()
    token = world.public_token.pk
    tamper(f"""
        INSERT INTO issuers_holderbalance (token_id, account_id, balance, last_seq)
            VALUES ('{token}', {invented}, 500, 81);
        UPDATE issuers_tokenledgerhead SET held = held + 500, supply = supply + 500,
            holder_count = holder_count + 1 WHERE token_id = '{token}'
    """)
    write()
    named = {"id": f"Token|{token}"}
    rows = partner(ENTRIES, named).data["token"]["transactions"]["nodes"]
    export = save(tmp_path, "all.jsonl", "".join(json.dumps(r) + "\n" for r in rows))
    stated = partner(STATED, named).data["token"]["statement"]
    stated = save(tmp_path, "stated.json", stated)
    code, said = run("ledger", export, stated, keys(tmp_path))
    assert (code, said) == (1, "Refused: The entries give 3960 units to 80 holders.")


def test_staff_hand_out_a_statement_with_its_proofs(
    world: World, account: Account, write: Any, run: Run, tmp_path: Path, client: Client
):
    write()
    client.force_login(person_of_staff())
    page = reverse("admin:holder", args=[account.user_id])
    address = reverse("admin:holder_statement", args=[account.user_id])
    assert address in client.get(page).content.decode()
    answer = client.get(address)
    assert answer.status_code == 200
    with ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.namelist() == ["statement.pdf", "LUM.proof.json"]
        archive.extractall(tmp_path)
    code, said = run("proof", "LUM.proof.json", keys(tmp_path))
    assert (code, "held 14 LUM, by statement 1 of" in said) == (0, True)
    text = PdfReader(tmp_path / "statement.pdf").pages[0].extract_text()
    line = Client().get("/statements/1").content.split(b"\n")[0]
    digest = hashlib.sha256(line).hexdigest()
    assert "/statements/1 SHA-256" in text
    assert digest in text
    file = tmp_path / "held.pdf"
    call_command(
        "export",
        "holder-statement",
        str(account.user_id),
        output=file,
        stdout=io.StringIO(),
    )
    assert run("proof", "held.LUM.proof.json", "keys.json") == (0, said)


def test_the_page_of_a_token_verifies_its_last_statement(
    world: World, holders: list[Any], write: Any, client: Client
):
    client.force_login(person_of_staff())
    page = reverse("admin:token", args=[world.public_token.pk])
    assert "No statement has this token yet." in client.get(page).content.decode()
    write()
    digest = Client().get("/statements").json()["statements"][0]["digest"]
    assert digest in client.get(page).content.decode()
    verified = client.get(f"{page}?verify=now").content.decode()
    assert "81 entries and 1 prices are those that it states." in verified
    assert "errornote" not in verified
    tamper("UPDATE issuers_ledgertransaction SET holders_after = 3 WHERE seq = 7")
    verified = client.get(f"{page}?verify=now").content.decode()
    wrong = "The entries up to 81 are not those that were stated."
    assert f'<p class="errornote" role="alert">{wrong}' in verified
    assert "Verified:" not in verified
    RecordInstant.objects.create(at="2099-06-30T22:00Z", reason="General meeting")
    shown = client.get(page).content.decode()
    assert "Will be stated, UTC: 2099-06-30 22:00:00 (General meeting)." in shown


def test_a_hidden_holder_has_no_proof(
    world: World, account: Account, write: Any, partner: Ask, run: Run, tmp_path: Path,
    holders: list[Any],
):  # fmt: skip
    tamper(f"""
        UPDATE issuers_holderbalance SET balance = 0 WHERE account_id = {holders[0]};
        UPDATE issuers_holderbalance SET balance = balance + 14
            WHERE account_id = {holders[1]}
    """)
    write()
    found = ask_proof(partner, world, account)
    assert found["proof"] is None
    code, said = run("proof", save(tmp_path, "p.json", found), keys(tmp_path))
    assert code == 1
    assert said.startswith("Refused: No proof: no units then")


def test_who_may_ask_for_a_proof(
    world: World, account: Account, write: Any, partner: Ask, observer: Ask,
    stranger: Ask, holders: list[Any],
):  # fmt: skip
    write()
    names = {
        "token": f"Token|{world.public_token.pk}",
        "account": f"Account|{account.pk}",
    }
    assert stranger(PROOF, names).code == "UNAUTHENTICATED"
    assert observer(PROOF, names).code == "FORBIDDEN"
    other = names | {"account": f"Account|{world.public_token.pk}"}
    assert partner(PROOF, other).data["holdingProof"] is None
    other = names | {"token": f"Token|{account.pk}"}
    assert partner(PROOF, other).data["holdingProof"] is None
    _, key = approved_key(world.partner, [Scope.TRADING_READ])
    trader = Ask(key)
    assert trader(PROOF, names).data["holdingProof"]["units"] == 14
    token = world.public_token.pk
    approved_record(
        [
            Entry(token, "TRANSFER", 10 + n, holders[n], holders[0])
            for n in range(2, 30)
        ],
        "me",
    )
    write()
    assert trader(PROOF, names).code == "FORBIDDEN"
    assert partner(PROOF, names).data["holdingProof"]["statement"] == 2


def test_a_proof_takes_as_many_statements_for_any_holder(
    world: World, account: Account, write: Any, partner: Ask, holders: list[Any]
):
    write()
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            ask_proof(partner, world, account)
        counts.append(len(queries))
        approved_record(
            [Entry(world.public_token.pk, "MINT", 1, None, holders[0])], "m"
        )
    assert counts[1] <= counts[0] <= 16


def test_a_holder_proves_units_offline(
    world: World, account: Account, write: Any, partner: Ask, run: Run, tmp_path: Path,
    holders: list[Any],
):  # fmt: skip
    assert ask_proof(partner, world, account) is None
    write()
    found = ask_proof(partner, world, account)
    assert (found["units"], found["entriesSince"], found["unproved"]) == (14, [], None)
    assert len(found["proof"]) <= 2500
    answered = save(tmp_path, "p.json", {"data": {"holdingProof": found}})
    code, said = run("proof", answered, keys(tmp_path))
    assert code == 0, said
    assert (
        f"(User|{account.user_id}) held 14 LUM, by statement 1 of {found['at']}" in said
    )
    assert said.endswith("Not proved: what came later.")
    assert run("proof", save(tmp_path, "p.txt", found["proof"]), "keys.json")[0] == 0
    token = world.public_token.pk
    approved_record(
        [
            Entry(token, "TRANSFER", 3, holders[0], holders[5]),
            Entry(token, "TRANSFER", 9, holders[6], holders[0]),
        ],
        "me",
    )
    later = ask_proof(partner, world, account)
    assert (later["proof"], later["units"]) == (found["proof"], 14)
    assert later["unproved"].startswith("2 of the user's entries are newer than")
    code, said = run("proof", save(tmp_path, "l.json", later), "keys.json")
    assert (code, said.partition("Not proved")[2]) == (
        0,
        ": entries to number 83, to 20.",
    )
    hidden = later | {"entriesSince": later["entriesSince"][1:]}
    code, said = run("proof", save(tmp_path, "h.json", hidden), "keys.json")
    assert (code, said) == (
        1,
        "Refused: Before entry 83, one of the holder's is missing.",
    )
    write()
    assert ask_proof(partner, world, account)["units"] == 20
    before = ask_proof(partner, world, account, found["at"])
    assert before == found
