"""The QuickFIX project's acceptance scripts for FIX 4.4 servers, as a command.

The scripts lie in that project's repository, in test/definitions/server/fix44.

python -m tests.marketdata.fix.acceptance --help
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.progress import track

from tests.installation import throw_away_installation
from tests.marketdata.fix.scripts import Partner, run_script
from tests.system import limited

PROFILES = {
    "scripts": {
        "FIX_CONNECTIONS_PER_ADDRESS": "1000",
        **limited(
            FIX_MIN_HEARTBEAT=2,
            FIX_REQUIRE_RESET=False,
            FIX_MESSAGES_PER_SECOND=1_000,
            FIX_FAILED_LOGONS_PER_MINUTE=1_000,
        ),
    },
    "default": {},
}
"""What the acceptor runs with: what the scripts presume, or what partners meet."""
CLOCK = "a Logon by a wrong clock is answered: the Logout tells the difference"
GAP_FILL = "PersistMessages=N: a ResendRequest is answered with a gap fill"
HEARTBEAT = "HeartBtInt(108)=2 is refused"
RESET = "neither ResetSeqNumFlag(141)=Y nor MsgSeqNum(34)=1"
INCUMBENT = (
    "a second Logon gets the reason of its refusal, and the session is asked first"
)
WITHIN = "a Logon within a session is refused"
RULES = {
    "scripts": {
        "1b_DuplicateIdentity": INCUMBENT,
        "AlreadyLoggedOn": INCUMBENT,
        "SessionReset": WITHIN,
        "1d_InvalidLogonBadSendingTime": CLOCK,
        "20_SimultaneousResendRequest": GAP_FILL,
        "8_AdminAndApplicationMessages": GAP_FILL,
        "8_OnlyApplicationMessages": GAP_FILL,
    }
}
RULES["default"] = RULES["scripts"] | {
    "14a_BadField": HEARTBEAT,
    "14b_RequiredFieldMissing": HEARTBEAT,
    "14c_TagNotDefinedForMsgType": HEARTBEAT,
    "14d_TagSpecifiedWithoutValue": HEARTBEAT,
    "14e_IncorrectEnumValue": HEARTBEAT,
    "14f_IncorrectDataFormat": HEARTBEAT,
    "14g_HeaderBodyTrailerFieldsOutOfOrder": HEARTBEAT,
    "14h_RepeatedTag": HEARTBEAT,
    "14i_RepeatingGroupCountNotEqual": HEARTBEAT,
    "15_HeaderAndBodyFieldsOrderedDifferently": HEARTBEAT,
    "19a_PossResendMessageThatHAsAlreadyBeenSent": HEARTBEAT,
    "19b_PossResendMessageThatHasNotBeenSent": HEARTBEAT,
    "1a_ValidLogonMsgSeqNumTooHigh": RESET,
    "21_RepeatingGroupSpecifierWithValueOfZero": HEARTBEAT,
}
"""Scripts that miss, by profile, and our rule that makes them."""


def main() -> None:
    options = parser().parse_args()
    scripts = sorted(options.definitions.glob("*.def"))
    if not scripts:
        sys.exit(f"{options.definitions}: no *.def there; name fix44 of the scripts")
    if options.only:
        scripts = [path for path in scripts if path.stem in options.only]
    with throw_away_installation(), tempfile.TemporaryDirectory() as directory:
        # Models can be imported from here on.
        from tests.marketdata.fix.acceptor_process import running_acceptor
        from tests.marketdata.fix.market import new_member

        log = Path(directory) / "acceptor.log"
        member = new_member(1)
        profile = PROFILES[options.profile]
        with running_acceptor(log, [member], **profile) as acceptor:
            names = {"TW44": member.comp_id, "ISLD": acceptor.comp_id}
            partner = Partner(acceptor.host, acceptor.port, member.key, names)
            found = {}
            for path in track(scripts, console=Console(stderr=True)):
                found[path.stem] = run_script(path, partner)
                # The session of the last connection must end before the next begins.
                time.sleep(0.2)
        if options.log:
            options.log.write_bytes(log.read_bytes())
    sys.exit(report(found, RULES[options.profile]))


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.marketdata.fix.acceptance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  python -m tests.marketdata.fix.acceptance --definitions server/fix44
  python -m tests.marketdata.fix.acceptance --definitions fix44 --profile default
  python -m tests.marketdata.fix.acceptance --definitions fix44 \\
      --only 14b_RequiredFieldMissing""",
    )
    parser.add_argument("--definitions", type=Path, required=True, metavar="DIRECTORY")
    parser.add_argument("--profile", choices=PROFILES, default="scripts")
    parser.add_argument("--only", action="append", metavar="NAME", help="this script")
    parser.add_argument("--log", type=Path, help="keep the acceptor's log there")
    return parser


def report(found: dict[str, str | None], rules: dict[str, str]) -> int:
    """Print each miss; 1 if one has no rule, or a rule no miss."""
    misses = {name: miss for name, miss in found.items() if miss is not None}
    for name, miss in misses.items():
        rule = rules.get(name, "NOT EXPLAINED")
        sys.stdout.write(f"miss {name}: {rule}\n  {miss}\n")
    stale = [name for name in rules if found.get(name, "") is None]
    for name in stale:
        sys.stdout.write(f"{name} passes, though a rule says it misses\n")
    passed = len(found) - len(misses)
    sys.stdout.write(f"{passed} of {len(found)} scripts pass.\n")
    return int(bool(stale) or not set(misses) <= set(rules))


if __name__ == "__main__":
    main()
