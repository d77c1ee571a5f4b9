"""The words after `manage.py`: commands by duty, and those that were renamed.

It imports no application: the help is shown where nothing else can be.
"""

import sys

from django.core.management import ManagementUtility

DUTIES = {
    "Start and set up": {
        "up": "run the whole system as a sandbox",
        "sandbox": "fill a sandbox with companies, show its logins and keys",
        "migrate": "bring the database schema up to date",
        "grant_application_role": "give a role of the database its rights",
        "createsuperuser": "create the first member of staff",
        "runserver": "run Django's development server",
        "flush": "delete all data",
        "write": "write files generated from the code",
    },
    "Partners and access": {
        "key": "issue, list and revoke API keys",
        "account": "open accounts, change their status",
        "erase_person": "erase a person whom the register does not need",
        "run_webhooks": "send events to partners' webhooks",
    },
    "Register": {
        "ledger": "show a ledger, mint, burn, transfer, reverse, set a price",
        "restrict": "freeze holders, lock units, set a token's rules",
        "import": "import holders, issuers, figures, legacy shares, OCF packages",
        "export": "write capitalization tables, extracts, statements, records",
        "offering": "draft or withdraw an offering, request its steps, settle it",
        "deliver_legacy_shares": "turn legacy shares into tokens",
    },
    "Cash": {
        "cash": "book bank statements",
    },
    "Market and FIX": {
        "market": "open, halt and reopen markets, manage orders and busts",
        "run_market_clock": "open and close markets on schedule",
        "book": "show an order book, replay a file into it",
        "simulate_market": "simulate trading in a sandbox",
        "fix_session": "issue, list and switch CompIDs",
        "fix_client": "try the FIX feed as a partner",
        "run_fix_acceptor": "serve the FIX feed",
    },
    "Monitor and maintain": {
        "doctor": "check everything that an installation needs",
        "verify": "check the register, order books, cash, markets",
        "prune": "delete data past its retention",
        "run": "run a scheduled job now",
        "rehearse": "rehearse recovery from the loss of a database",
        "serve_metrics": "serve /metrics for Prometheus",
    },
}
"""What each command is for; a command stands with one duty."""

RENAMED = {
    "announce_articles": "run articles",
    "book_bank_statement": "cash book-statement",
    "burn": "ledger burn",
    "bust_trade": "market bust",
    "cancel_orders": "market cancel-orders",
    "captable": "export captable",
    "change_account_status": "account status",
    "change_market_phase": "market phase",
    "create_account": "account open",
    "export_market_records": "export market-records",
    "freeze_holder": "restrict freeze",
    "holder_statement": "export holder-statement",
    "import_financial_data": "import financial-data",
    "import_holders": "import holders",
    "import_industry_classification": "import industry-classification",
    "import_issuers": "import issuers",
    "import_legacy_shareholders": "import legacy-shareholders",
    "import_ocf": "import ocf",
    "issue_api_key": "key issue",
    "issue_fix_session": "fix_session issue",
    "lift_restriction": "restrict lift",
    "list_api_keys": "key list",
    "list_fix_sessions": "fix_session list",
    "list_peppers": "key peppers",
    "lock_units": "restrict lock",
    "mint": "ledger mint",
    "open_market": "market open",
    "open_secondary_market": "market open-secondary",
    "print_schema": "write schema",
    "prune_book_log": "prune book-log",
    "prune_events": "prune events",
    "prune_exports": "prune exports",
    "prune_failed_sign_ins": "prune failed-sign-ins",
    "prune_idempotency_records": "prune idempotency-records",
    "register_extract": "export register-extract",
    "register_statement": "export register-statement",
    "replay_book": "book replay",
    "reverse_entry": "ledger reverse",
    "revoke_api_key": "key revoke",
    "sandbox_access": "sandbox access",
    "seed_sandbox": "sandbox seed",
    "send_notices": "run notices",
    "set_price": "ledger set-price",
    "set_token_rule": "restrict rule",
    "show_book": "book show",
    "show_orders": "market orders",
    "switch_fix_session": "fix_session switch",
    "transfer": "ledger transfer",
    "verify_books": "verify books",
    "verify_cash": "verify cash",
    "verify_market": "verify market",
    "verify_register": "verify register",
    "write_docs": "write docs",
    "write_exports": "run exports",
    "write_guards": "write sql",
    "write_sql": "write sql",
}
"""Names of the last release, which answer for one more."""

LEDGER_VERBS = ("show", "mint", "burn", "transfer", "reverse", "set-price")


def translate_old_name(argv: list[str]) -> list[str]:
    """The arguments with the command's present name; says so where it was renamed."""
    old, rest = "".join(argv[1:2]), argv[2:]
    if rest and (verb := respell(old, rest[0])):
        old, new, rest = f"{old} {rest[0]}", verb, rest[1:]
    elif old == "ledger" and rest and rest[0] not in (*LEDGER_VERBS, "-h", "--help"):
        new = "ledger show"
    elif old in RENAMED:
        new = RENAMED[old]
    else:
        return argv
    sys.stderr.write(f"manage.py {old} is now manage.py {new}.\n")
    return [argv[0], *new.split(), *rest]


def respell(group: str, verb: str) -> str | None:
    """The present subcommand that was written with an underscore, if there is one."""
    if "_" not in verb:
        return None
    spelled = (RENAMED.get(verb), f"{group} {verb.replace('_', '-')}")
    verbs = [new for new in RENAMED.values() if new.startswith(f"{group} ")]
    return next((new for new in spelled if new in verbs), None)


class CommandLine(ManagementUtility):
    """Django's, with a help of duties, old names, and `help NAME VERB`."""

    def __init__(self, argv: list[str]) -> None:
        if argv[1:2] == ["help"] and len(argv) > 2 and argv[2][0] != "-":
            argv = [argv[0], *argv[2:], "--help"]
        super().__init__(translate_old_name(argv))

    def main_help_text(self, commands_only: bool = False) -> str:
        if commands_only or "--all" in self.argv:
            return super().main_help_text(commands_only)
        lines = []
        for duty, commands in DUTIES.items():
            lines += [duty, *(f"  {n:<24}{does}" for n, does in commands.items()), ""]
        lines += [
            f"'{self.prog_name} help NAME' and 'help NAME VERB' show details.",
            f"'{self.prog_name} help --all' also lists Django's commands.",
        ]
        if self.settings_exception is not None:
            lines.append(f"The settings are wrong: {self.settings_exception}")
        return "\n".join(lines)
