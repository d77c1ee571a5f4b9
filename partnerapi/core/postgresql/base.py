"""Django's PostgreSQL backend; its connections are lent, and checked at no cost."""

from functools import cached_property
from typing import Any

from django.db import InterfaceError, OperationalError, connections
from django.db.backends.postgresql import base
from django.db.utils import DEFAULT_DB_ALIAS, DatabaseErrorWrapper
from psycopg.errors import Diagnostic
from psycopg.pq import TransactionStatus

from partnerapi.core import authors
from partnerapi.core.postgresql import lending, timing
from partnerapi.core.postgresql.faults import OutcomeUnknown, is_unconfirmed
from partnerapi.core.postgresql.naming import application_name
from partnerapi.core.postgresql.schema import SchemaEditor

NEW_EVENTS = "PEV01"
"""The code of the notice with which `events_write` says that a transaction has events
of partners."""


class ErrorWrapper(DatabaseErrorWrapper):  # type: ignore[misc]
    """Around each statement and each commit."""

    wrapper: "DatabaseWrapper"

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if self.wrapper.is_unconfirmed:
            self.wrapper.is_unconfirmed = False
            self.wrapper.errors_occurred = True
            raise OutcomeUnknown(
                "A commit was cancelled while it waited for a standby: a failover may "
                "lose it."
            ) from None
        super().__exit__(kind, error, traceback)
        if self.wrapper.has_news:
            self.wrapper.pass_on_news()


class DatabaseWrapper(base.DatabaseWrapper):
    """A commit that no standby has confirmed, where one is to, raises OutcomeUnknown,
    and so does one in which the connection ended. One that has events is passed on."""

    SchemaEditorClass = SchemaEditor
    loan: lending.Loan | None = None
    is_unconfirmed = False
    has_news = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.execute_wrappers.append(timing.time_statement)

    @cached_property
    def wrap_database_errors(self) -> ErrorWrapper:
        return ErrorWrapper(self)

    def hear(self, notice: Diagnostic) -> None:
        self.is_unconfirmed |= is_unconfirmed(notice)
        self.has_news |= notice.sqlstate == NEW_EVENTS

    def pass_on_news(self) -> None:
        """Notify those who wait for events, once others see them."""
        if self.connection.info.transaction_status is TransactionStatus.IDLE:
            self.has_news = False
            # Most commands write no events, and do without redis.
            from partnerapi.core.news import notify

            notify()

    def get_new_connection(self, conn_params: dict[str, Any]) -> lending.Raw:
        raw = self.get_connection(conn_params)
        raw.add_notice_handler(self.hear)
        return raw

    def get_connection(self, conn_params: dict[str, Any]) -> lending.Raw:
        connect = super().get_new_connection
        named = {"application_name": application_name()}
        conn_params = named | conn_params
        lender = lending.lender_of_thread()
        if lender is None or self.alias != DEFAULT_DB_ALIAS:
            return connect(conn_params)
        if lending.reads_replica():
            assert lending.standby is not None
            lender = lending.standby
            replica = connections[lending.REPLICA].get_connection_params()
            conn_params = named | replica
        self.loan = lender.borrow(lambda: connect(conn_params))
        return self.loan.raw

    def set_autocommit(self, autocommit: bool, *options: Any, **named: Any) -> None:
        """Django begins a transaction with it; the transaction gets its author."""
        super().set_autocommit(autocommit, *options, **named)
        if not autocommit and (said := authors.said.get()):
            authors.tell_transaction(self.connection, said)

    def _commit(self) -> None:
        try:
            super()._commit()  # type: ignore[misc]
        except (OperationalError, InterfaceError) as error:
            if self.connection.closed or self.connection.broken:
                raise OutcomeUnknown(
                    f"The connection ended during the commit: {error}"
                ) from error.__cause__
            raise

    def _close(self) -> None:
        # What was heard is of this connection, and the next one may never be made.
        self.is_unconfirmed = self.has_news = False
        loan, self.loan = self.loan, None
        if loan is None:
            super()._close()  # type: ignore[misc]
        else:
            loan.raw.remove_notice_handler(self.hear)
            loan.lender.give_back(loan)

    def close_if_unusable_or_obsolete(self) -> None:
        """Django asks at the beginning and at the end of each request."""
        if self.loan is None:
            super().close_if_unusable_or_obsolete()
        else:
            self.close()

    def is_usable(self) -> bool:
        """Whether statements can be sent; each request asks before its first."""
        if self.connection.info.transaction_status is TransactionStatus.INERROR:
            return False
        return lending.is_open(self.connection) or super().is_usable()
