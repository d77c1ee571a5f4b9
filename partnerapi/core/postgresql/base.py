"""Django's PostgreSQL backend; its connections are lent, and checked at no cost."""

from typing import Any

from django.db import connections
from django.db.backends.postgresql import base
from django.db.utils import DEFAULT_DB_ALIAS
from psycopg.pq import TransactionStatus

from partnerapi.core import authors
from partnerapi.core.postgresql import lending
from partnerapi.core.postgresql.naming import application_name


class DatabaseWrapper(base.DatabaseWrapper):
    loan: lending.Loan | None = None

    def get_new_connection(self, conn_params: dict[str, Any]) -> lending.Raw:
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
        """Django begins a transaction with it, which is told who writes."""
        super().set_autocommit(autocommit, *options, **named)
        if not autocommit and (said := authors.said.get()):
            authors.tell_transaction(self.connection, said)

    def _close(self) -> None:
        loan, self.loan = self.loan, None
        if loan is None:
            super()._close()  # type: ignore[misc]
        else:
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
