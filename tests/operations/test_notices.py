"""Deciders get an e-mail of each change of staff: once, with retries that end."""

import socketserver
import threading
from collections.abc import Iterator
from datetime import timedelta
from email import message_from_bytes
from email.policy import default

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.utils import timezone

from accounts.desk.models import DeskNotice
from accounts.history import notices
from accounts.history.models import MOST_TRIES, StaffNotice
from accounts.history.notices import send_notices, take
from accounts.keys.models import Partner
from accounts.people.models import User
from partnerapi.core.authors import written_by
from partnerapi.operations import tasks
from partnerapi.operations.diagnosis.findings import State
from partnerapi.operations.diagnosis.jobs import mail
from tests.desks import invited_member
from tests.owner import superuser, tamper

pytestmark = pytest.mark.django_db
SECONDS = 60


class Mailbox(socketserver.ThreadingTCPServer):
    """A mail server on the loopback; it refuses recipients, and keeps what it takes."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Talk)
        self.refused: set[str] = set()
        self.taken: list[tuple[str, str]] = []

    def to(self, recipient: str) -> list[str]:
        return [text for address, text in self.taken if address == recipient]


class Talk(socketserver.StreamRequestHandler):
    """One client's SMTP (RFC 5321), as far as Django speaks it."""

    server: Mailbox

    def say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())

    def handle(self) -> None:
        self.say("220 mailbox")
        recipient = ""
        while line := self.rfile.readline().decode().strip():
            verb = line[:4].upper()
            if verb == "QUIT":
                self.say("221 bye")
                return
            if verb == "RCPT":
                recipient = line.partition("<")[2].partition(">")[0]
                is_refused = recipient in self.server.refused
                self.say("550 no such mailbox" if is_refused else "250 ok")
            elif verb == "DATA":
                self.say("354 go on")
                lines = []
                while (part := self.rfile.readline()) != b".\r\n":
                    lines.append(part)
                parsed = message_from_bytes(b"".join(lines), policy=default)
                heads = [f"{name}: {value}" for name, value in parsed.items()]
                text = "\n".join([*heads, "", parsed.get_content()])
                self.server.taken.append((recipient, text))
                self.say("250 taken")
            else:
                self.say("250 ok")


@pytest.fixture
def mailbox(settings) -> Iterator[Mailbox]:
    with Mailbox() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        settings.EMAIL_URL = "smtp://127.0.0.1"
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = server.server_address[:2]
        yield server
        server.shutdown()
        thread.join()


ANA, SAM, ILSE = "ana@staff.example", "sam@staff.example", "ilse@staff.example"


@pytest.fixture
def changed(db: None) -> User:
    """Sam has set Ilse's password; Ana and Sam decide, and Ilse does not."""
    names = {"type": "INDIVIDUAL", "last_name": "Staff"}
    for email in (ANA, SAM):
        superuser(email, first_name=email[:3], **names)
    ilse = User.objects.create_user(ILSE, first_name="Ilse", is_staff=True, **names)
    tamper("DELETE FROM accounts_staffnotice", "DELETE FROM accounts_staffchange")
    ilse.set_password("another horse battery")
    with written_by(SAM, "page /admin/accounts/user/"):
        ilse.save()
    return ilse


def waiting() -> set[str]:
    return {
        *StaffNotice.objects.filter(sent_at=None).values_list("recipient", flat=True)
    }


def an_hour_passes() -> None:
    StaffNotice.objects.update(next_try_at=timezone.now() - timedelta(seconds=1))


def test_each_is_told_once_who_did_what_to_whom(changed, mailbox):
    assert waiting() == {ANA, SAM, ILSE}
    assert send_notices(SECONDS) == (3, 0)
    an_hour_passes()
    assert send_notices(SECONDS) == (0, 0)
    assert sorted(address for address, _ in mailbox.taken) == [ANA, ILSE, SAM]
    [text] = mailbox.to(ANA)
    assert "Subject: A colleague's access has changed" in text
    assert f"- {ILSE}: password set, by {SAM}, page /admin/accounts/user/" in text
    assert "/admin/accounts/staffchange/" in text


def test_the_former_address_is_told_of_a_new_one(changed, mailbox):
    StaffNotice.objects.update(sent_at=timezone.now())
    tamper("UPDATE accounts_staffchange SET at = now() - interval '1 hour'")
    changed.email = "sam2@staff.example"
    with written_by(SAM, "page"):
        changed.save()
    assert waiting() == {ANA, SAM, ILSE, "sam2@staff.example"}
    send_notices(SECONDS)
    [text] = mailbox.to(ILSE)
    assert f"({ILSE} → sam2@staff.example)" in text


def test_a_change_that_is_undone_sends_no_email(changed):
    StaffNotice.objects.update(sent_at=timezone.now())
    with pytest.raises(ZeroDivisionError), written_by(SAM, "page"):
        promote_and_fail(changed)
    assert waiting() == set()


def promote_and_fail(user: User) -> None:
    with transaction.atomic():
        user.set_password("a third horse battery")
        user.save()
        1 / 0  # noqa: B018


def test_one_that_is_refused_is_tried_again_and_stops_no_other(changed, mailbox):
    mailbox.refused = {ANA}
    assert send_notices(SECONDS) == (2, 1)
    row = StaffNotice.objects.get(recipient=ANA)
    assert (row.tries, row.sent_at) == (1, None)
    assert "no such mailbox" in row.error
    # Not before its minute is over.
    assert send_notices(SECONDS) == (0, 0)
    mailbox.refused = set()
    an_hour_passes()
    assert send_notices(SECONDS) == (1, 0)
    assert len(mailbox.to(ANA)) == 1


def test_it_is_given_up_after_ten_attempts(changed, mailbox, caplog):
    mailbox.refused = {ANA}
    for _ in range(MOST_TRIES + 3):
        an_hour_passes()
        send_notices(SECONDS)
    assert StaffNotice.objects.get(recipient=ANA).tries == MOST_TRIES
    assert waiting() == {ANA}
    [line] = [
        r.getMessage() for r in caplog.records if "is not retried" in r.getMessage()
    ]
    assert "no such mailbox" in line


def test_waits_grow(changed, mailbox):
    mailbox.refused = {ANA}
    gaps = []
    for _ in range(4):
        an_hour_passes()
        send_notices(SECONDS)
        row = StaffNotice.objects.get(recipient=ANA)
        gaps.append(round((row.next_try_at - timezone.now()).total_seconds() / 60))
    assert gaps == [1, 2, 4, 8]


def test_of_a_worker_that_dies_nothing_is_lost(changed, mailbox):
    """It took one, and never came to say what became of it."""
    assert take()
    assert send_notices(SECONDS) == (2, 0)
    an_hour_passes()
    assert send_notices(SECONDS) == (1, 0)
    assert waiting() == set()


def test_while_the_server_is_away_all_wait(changed, mailbox, settings):
    settings.EMAIL_PORT = 1
    assert send_notices(SECONDS) == (0, 3)
    an_hour_passes()
    settings.EMAIL_PORT = mailbox.server_address[1]
    assert send_notices(SECONDS) == (3, 0)


@pytest.mark.parametrize("address", ["a\nBcc: b@example.com", "no address", "ä@ö,"])
def test_an_address_that_is_none_stops_no_other(changed, mailbox, address):
    text = address.replace("\n", "\\n")
    tamper(
        f"UPDATE accounts_staffnotice SET recipient = E'{text}'"
        f" WHERE recipient = '{ANA}'"
    )
    sent, failed = send_notices(SECONDS)
    assert sent >= 2
    an_hour_passes()
    send_notices(SECONDS)
    assert mailbox.to(SAM)
    assert all("Bcc" not in text for _, text in mailbox.taken)


def test_without_a_server_all_wait_and_the_command_says_so(changed, settings):
    settings.EMAIL_URL = ""
    assert send_notices(SECONDS) == (0, 0)
    with pytest.raises(CommandError, match="EMAIL_URL is not set"):
        call_command("run", "notices")
    assert set(StaffNotice.objects.values_list("tries", flat=True)) == {0}


def test_the_worker_and_the_command_send(changed, mailbox, capsys):
    mailbox.refused = {ANA}
    with pytest.raises(CommandError, match="Sent 2 e-mails; 1 failed"):
        call_command("run", "notices")
    mailbox.refused = set()
    an_hour_passes()
    tasks.send_notices()
    assert waiting() == set()
    assert notices.SUBJECT in mailbox.to(ANA)[0]


def test_doctor_names_emails_that_are_not_sent(changed, settings, mailbox):
    settings.EMAIL_URL = ""
    [found] = mail()
    assert found.state is State.WARNING
    assert "EMAIL_URL is not set" in found.says
    assert "Set EMAIL_URL" in found.remedy
    settings.EMAIL_URL = "smtp://127.0.0.1"
    [found] = mail()
    assert found.state is State.OK
    mailbox.refused = {ANA}
    StaffNotice.objects.update(tries=MOST_TRIES - 1)
    assert send_notices(SECONDS) == (2, 1)
    [found] = mail()
    assert (found.state, found.figures["givenUp"]) == (State.WARNING, 1)
    assert "1 were abandoned" in found.says
    assert "no such mailbox" in found.says
    mailbox.refused = set()
    _, remedy = found.remedy.split("UPDATE")
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE{remedy.partition(' has them')[0]}")
    assert send_notices(SECONDS) == (1, 0)
    [found] = mail()
    assert found.state is State.OK
    maia = invited_member(Partner.objects.create(login="b", name="B"), "m@b.example")
    DeskNotice.objects.update(tries=1, error="no such mailbox")
    [found] = mail()
    assert (found.state, found.figures["waiting"]) == (State.WARNING, 1)
    DeskNotice.objects.filter(member=maia).update(sent_at=timezone.now())
    StaffNotice.objects.filter(sent_at=None).update(sent_at=timezone.now())
    long_ago = timezone.now() - timedelta(days=31)
    StaffNotice.objects.update(sent_at=None, tries=MOST_TRIES, next_try_at=long_ago)
    [found] = mail()
    assert found.state is State.OK
