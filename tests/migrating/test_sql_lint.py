"""Rules that the files of SQL keep, and that their contracts say what they do."""

import re
from collections.abc import Callable, Iterator

import pytest

from partnerapi.core.sql_files import ROOMS, SqlFile, every_file, sql_files
from partnerapi.core.sql_locks import COMMENT, TEXT, locks
from partnerapi.core.sql_objects import SqlFunction, respace

SEARCH_PATH = "search_path=pg_catalog, public, pg_temp"
DYNAMIC = {
    "erasure_rows": "its tables are the list of erasure_places; format quotes them",
    "erasure_erase": "its tables are the list of erasure_places; format quotes them",
    "partnerapi_analyze": "ANALYZE takes no parameter; format quotes the table's name",
}
"""Functions that run a text, and why they cannot do without."""
SETTINGS = {
    "lock_timeout",
    "partnerapi.approvals",
    "partnerapi.author",
    "partnerapi.reason",
    "register.marks",
    "transaction_isolation",
    "transaction_read_only",
}
"""The settings of a session that functions read."""
INLINED = {
    "accounts_written_directly": "in conditions of triggers; a setting makes it a call",
    "accounts_read_committed": "once a call of a writer",
    "cash_entry_detail": "twice a payment",
    "cash_entry_line": "twice a payment",
    "cash_names": "once a bank line",
    "register_entry_detail": "twice an entry",
    "register_price_detail": "twice a price",
    "register_api_time": "up to four times a line",
    "register_chain": "once a line of an entry",
    "search_fold": "for each name of a search; a call of it takes a multiple",
}
"""Functions without a setting, and why: each name in them has its schema."""
NAMES_LATER = {
    # A holder's units do not move while its profile changes.
    "binds_attest": {"issuers_ledgeraccount"},
    "binds_decide": {"issuers_ledgeraccount"},
    # Which issuer an amount counts for.
    "approvals_use": {"issuers_token"},
    # Texts of all tables name persons.
    "erasure_places": {
        "partnerapi_jobrun",
        "trading_bust",
        "trading_market",
        "trading_marketparameters",
        "trading_orderblock",
        "trading_orderevent",
        "trading_refusedorder",
        "trading_tariff",
    },
    # Which entries settle an auction.
    "register_broken_entries": {"trading_execution"},
    # Both sides of a trade learn of the request.
    "approvals_file_request": {"trading_announce_bust"},
    # What is recorded of an internal market.
    "marketdata_record": {"trading_judge_book"},
}
"""What functions name of apps after theirs."""
RULES: dict[str, Callable[[SqlFile], bool]] = {}


def rule(judge: Callable[[SqlFile], bool]) -> Callable[[SqlFile], bool]:
    RULES[judge.__name__] = judge
    return judge


def bodies(file: SqlFile) -> Iterator[tuple[SqlFunction, str]]:
    """Functions, and their bodies without comments and texts."""
    for function in file.functions():
        yield function, TEXT.sub("''", COMMENT.sub("", function.body))


def contract(file: SqlFile, of: str) -> list[str]:
    """What a line of the comment above lists."""
    said = re.search(rf"^-- {of}: (.*(?:\n--     .*)*)", file.text, re.MULTILINE)
    if said is None:
        return []
    return re.split(r", (?![^(]*\))", respace(said[1].replace("\n--", "")))


@rule
def names_are_looked_up_in_pg_temp_last(file: SqlFile) -> bool:
    return all(
        SEARCH_PATH in function.settings or function.name in INLINED
        for function in file.functions()
    )


@rule
def no_text_is_run(file: SqlFile) -> bool:
    return file.path.stem in DYNAMIC or not any(
        re.search(r"\bEXECUTE\b", body) for _, body in bodies(file)
    )


@rule
def no_cursor_and_no_temporary_table_is_used(file: SqlFile) -> bool:
    return not any(
        re.search(r"\b(?:refcursor|CURSOR|pg_temp|CREATE|TEMP(?:ORARY)?)\b", body)
        for _, body in bodies(file)
    )


@rule
def only_named_settings_of_a_session_are_read(file: SqlFile) -> bool:
    read = re.findall(r"current_setting\(\s*'([^']*)'", file.text)
    return {*read} <= SETTINGS


@rule
def every_argument_has_a_name(file: SqlFile) -> bool:
    return all(
        re.fullmatch(r"[a-z_]+ [a-z].*", argument)
        for function in file.functions()
        if function.arguments
        for argument in function.arguments.split(", ")
    )


@rule
def what_acts_as_its_owner_is_closed_to_the_public(file: SqlFile) -> bool:
    return not any(
        function.is_public and "SECURITY DEFINER" in function.attributes
        for function in file.functions()
    )


@rule
def the_contract_names_the_errors(file: SqlFile) -> bool:
    # What is raised as INFO ends nothing: a session that hears it goes on.
    errors = re.sub(r"RAISE INFO[^;]*;", "", file.text)
    raised = re.findall(r"ERRCODE = '(\w+)'", errors)
    return contract(file, "raises") == sorted({*raised})


@rule
def the_contract_names_the_locks(file: SqlFile) -> bool:
    taken = {str(lock) for one in file.functions() for lock in locks(one.body)}
    return contract(file, "locks") == sorted(taken)


@rule
def the_contract_names_the_callers(file: SqlFile) -> bool:
    names = {one.name for one in file.functions()}
    if not names:
        return file.callers == []
    called = [caller for caller in file.callers if caller not in WHO]
    triggers = TRIGGERED & names
    return (
        called == sorted(set().union(*(USED.get(name, set()) for name in names)))
        and ("triggers" in file.callers) == bool(triggers)
        and ("anyone" in file.callers) == all(one.is_public for one in file.functions())
        and bool(file.callers)
    )


@rule
def an_app_names_no_table_of_an_app_after_it(file: SqlFile) -> bool:
    [label] = [
        label
        for label, files in sql_files().items()
        if file.path in [one.path for one in files]
    ]
    later = [*ROOMS][[*ROOMS].index(label) + 1 :]
    said = COMMENT.sub("", file.text)
    named = re.findall(rf"\b(?:{'|'.join(later)})_\w+", said) if later else []
    return {*named} - COLUMNS == NAMES_LATER.get(file.path.stem, set())


COLUMNS = {"trading_name"}
WHO = {"application", "release before", "anyone", "owner", "triggers"}
NAMES = {one.name for file in every_file() for one in file.functions()}
TRIGGERED = {
    name
    for file in every_file()
    for trigger in file.triggers()
    for name in re.findall(r"EXECUTE FUNCTION public\.(\w+)\(", trigger.says)
}
USED: dict[str, set[str]] = {}
for calling in every_file():
    for text in (
        *(body for _, body in bodies(calling)),
        *(TEXT.sub("''", view.query) for view in calling.views()),
    ):
        for called in NAMES.intersection(re.findall(r"\w+", text)):
            if called != calling.path.stem:
                USED.setdefault(called, set()).add(calling.path.stem)


@pytest.mark.parametrize("name", RULES)
def test_every_file_keeps_the_rule(name: str):
    broken = [file.path.name for file in every_file() if not RULES[name](file)]
    assert broken == [], name.replace("_", " ")


def test_no_exception_is_left_over():
    names = {file.path.stem for file in every_file()}
    assert {*DYNAMIC, *INLINED, *NAMES_LATER} <= names
    read = {
        name
        for file in every_file()
        for name in re.findall(r"current_setting\(\s*'([^']*)'", file.text)
    }
    assert read == SETTINGS


BREACHES = {
    "names_are_looked_up_in_pg_temp_last": ("SET search_path", "SET work_mem"),
    "no_text_is_run": ("    RETURN QUERY ", "    RETURN QUERY EXECUTE "),
    "no_cursor_and_no_temporary_table_is_used": ("DECLARE", "DECLARE c refcursor;"),
    "only_named_settings_of_a_session_are_read": (
        "pg_current_xact_id()",
        "current_setting('app.user')",
    ),
    "every_argument_has_a_name": ("entries uuid[]", "uuid[]"),
    "what_acts_as_its_owner_is_closed_to_the_public": ("REVOKE ALL", "-- REVOKE ALL"),
    "the_contract_names_the_errors": ("'restrict_violation'", "'check_violation'"),
    "the_contract_names_the_locks": ("FOR NO KEY UPDATE OF h", "FOR SHARE OF h"),
    "the_contract_names_the_callers": ("called by: application", "called by: anyone"),
    "an_app_names_no_table_of_an_app_after_it": ("accounts_cashhead", "trading_fill"),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_a_breach_is_found(name: str):
    [file] = [f for f in every_file() if f.path.stem == "accounts_write"]
    before, after = BREACHES[name]
    assert before in file.text
    broken = SqlFile(file.path, file.text.replace(before, after))
    assert (RULES[name](file), RULES[name](broken)) == (True, False)
