"""Mutations that drive a sandbox: what staff, banks and other partners do elsewhere."""

import uuid

import graphene
from django.db import transaction
from django.db.models import F, Q, Sum
from graphql import GraphQLSchema, print_type

from accounts.access import Scope, check_scope
from accounts.accounts.models import Account as AccountModel
from accounts.accounts.models import AccountNotActive, Actor
from accounts.accounts.schema import Account, own_account
from accounts.approvals.models import ApprovalKind
from accounts.cash.bank_statements import OtherBalance
from accounts.cash.models import BankLine, CashAccount
from accounts.people.schema import UserHolder
from issuers.models import Token as TokenModel
from issuers.schema.tokens import Token
from marketdata.replay.own_book import PARTNER
from marketdata.trading import locked, market, phases
from marketdata.trading.errors import OrderNotOpen
from marketdata.trading.models import Market as MarketModel
from marketdata.trading.models import Order as OrderModel
from marketdata.trading.models import OrderStatus, Phase
from marketdata.trading.phases import PhaseRefused
from marketdata.trading.queues import BUY
from marketdata.trading.round import Request
from marketdata.trading.schema.answers import OrderRow
from marketdata.trading.schema.enums import MarketPhase
from marketdata.trading.schema.mutations import own_order, within_time
from marketdata.trading.schema.orders import Order
from partnerapi import schema as base
from partnerapi.core.database import value_of
from partnerapi.core.errors import BadUserInput, NotFound, RequestTimeout
from partnerapi.graphql.cost import MUTATION, OBJECT, Field
from partnerapi.graphql.pages import read_rows
from partnerapi.graphql.relay import key_of
from partnerapi.graphql.resolvers import bind, check_first
from partnerapi.graphql.scalars import Uint64
from partnerapi.sandbox.data.approvals import (
    ASKER,
    carry_out_requests,
    file_and_approve,
)
from partnerapi.sandbox.data.money import book
from partnerapi.sandbox.schema_conformance import (
    SandboxReportConformanceInput,
    SandboxReportConformancePayload,
    keep,
)

MOST_CENTS = 100_000_000_000
"""Of one deposit."""
STAFF = Actor(ASKER, is_staff=True)


class SandboxActivateInput(graphene.InputObjectType):
    """The account to activate."""

    account_id = graphene.ID(
        name="accountID", required=True, description="One of your accounts."
    )


class SandboxDepositInput(graphene.InputObjectType):
    """The account and the amount."""

    account_id = graphene.ID(
        name="accountID",
        required=True,
        description="One of your accounts, ACTIVE or SUSPENDED.",
    )
    amount = Uint64(required=True, description=f"Euro cents, from 1 to {MOST_CENTS:,}.")


class SandboxFillInput(graphene.InputObjectType):
    """The order to fill."""

    order_id = graphene.ID(
        name="orderID",
        required=True,
        description="One of your orders, OPEN or FILLED.",
    )


class SandboxAdvanceMarketInput(graphene.InputObjectType):
    """The market and its phase."""

    token_id = graphene.ID(
        name="tokenID", required=True, description="A token with an internal market."
    )
    phase = MarketPhase(
        required=True,
        description="CONTINUOUS, CLOSED or HALTED: another than its present one. A "
        "HALTED market becomes CALL or CLOSED.",
    )


class OfAccount:
    account = graphene.Field(
        Account, required=True, description="The account after the change."
    )

    def resolve_account(payloads, info):
        accounts = AccountModel.objects.of_partner(info.context.caller)
        return read_rows("Account", info, accounts, [str(p.pk) for p in payloads])


class SandboxActivatePayload(OfAccount, graphene.ObjectType):
    """The account, ACTIVE."""


class SandboxDepositPayload(OfAccount, graphene.ObjectType):
    """The account with its cash."""


class SandboxFillPayload(graphene.ObjectType):
    """The order after the trades."""

    order = Field(
        Order,
        required=True,
        cost=OBJECT,
        description="The order: FILLED, or still OPEN if no client of the sandbox has "
        "what it needs.",
    )

    def resolve_order(payloads, info):
        return [OrderRow(order) for order in payloads]


class SandboxAdvanceMarketPayload(graphene.ObjectType):
    """The token after its market's change."""

    token = graphene.Field(
        Token, required=True, description="The token, with its `market`."
    )

    def resolve_token(payloads, info):
        tokens = TokenModel.objects.visible_to(info.context.caller)
        return read_rows("Token", info, tokens, [str(m.token_id) for m in payloads])


def check_done(context):
    if context.trial is not None:
        raise BadUserInput(
            "A mutation of the sandbox has no dry run; send it without "
            "X-Validate-Only. Nothing was done."
        )


def check_account(context, input):
    check_scope(context.caller, Scope.ACCOUNTS_WRITE)
    check_done(context)


def check_deposit(context, input):
    check_account(context, input)
    if input and not 1 <= input["amount"] <= MOST_CENTS:
        raise BadUserInput(
            f"`amount` is {input['amount']}; send 1 to {MOST_CENTS}.",
            argument="input.amount",
            maximum=MOST_CENTS,
        )


def check_trading(context, input):
    check_scope(context.caller, Scope.TRADING_WRITE)
    check_done(context)


def check_report(context, input):
    check_scope(
        context.caller, Scope.TRADING_WRITE, Scope.TRADING_READ, Scope.MARKETDATA_READ
    )
    check_done(context)


def counterparties(order):
    """Accounts of the sandbox's clients, other people's than the order's."""
    return (
        AccountModel.objects.filter(partner__login=PARTNER, status="ACTIVE")
        .exclude(user_id=order.user_id)
        .order_by("created_at", "id")
    )


def units_before(order):
    """Units of the open orders that precede it on its side of the book."""
    better = "gt" if order.side == BUY else "lt"
    precedes = Q(**{f"limit_price__{better}": order.limit_price})
    precedes |= Q(limit_price=order.limit_price, priority__lt=order.priority)
    book = OrderModel.objects.filter(
        precedes, token=order.token_id, side=order.side, status=OrderStatus.OPEN
    )
    return book.aggregate(units=Sum(F("quantity") - F("filled")))["units"] or 0


def fill(order):
    """Fill an order, and those before it, from the sandbox's clients."""
    for account in counterparties(order):
        # A client with too little for all of them may have enough for a part.
        for before in (units_before(order), 0):
            if order.status != OrderStatus.OPEN:
                return order
            request = Request(
                account.pk,
                1 - order.side,
                order.remaining + before,
                order.limit_price,
                PARTNER,
                time_in_force="IOC",
            )
            market.place_each(order.token_id, [request])
            order.refresh_from_db()
    return order


def advance(market, phase):
    """Move a market to a phase, as the clock does, or as two people do after a halt.

    Raises:
        PhaseRefused
        RequestTimeout: another change of its phase came first.
    """
    if phase == Phase.CALL and market.phase != Phase.HALTED:
        raise PhaseRefused(
            "Calls begin by the clock, after a halt, or where a trade is outside bands."
        )
    known, requests, reason = market.last_phase_event, [], "Halted in the sandbox"
    if market.phase == Phase.HALTED:
        content, reason = phases.reopening_content(market, phase), ""
        requests = file_and_approve(ApprovalKind.REOPEN, content)
    locked.books([market.token_id])
    market.refresh_from_db()
    if market.last_phase_event != known:
        raise RequestTimeout(
            "Another change of the market's phase came first. Nothing was changed; "
            "send the same request again."
        )
    with carry_out_requests(requests):
        phases.change_phase(market.token_id, phase, ASKER, reason)


class Mutation(graphene.ObjectType):
    """The mutations that a sandbox has in addition."""

    sandbox_activate = Field(
        SandboxActivatePayload,
        cost=MUTATION,
        input=SandboxActivateInput(required=True, description="The account."),
        description="Sandbox only: activate a PENDING account, as staff do after their "
        "checks. Needs the scope `accounts:write`.",
    )
    sandbox_deposit = Field(
        SandboxDepositPayload,
        cost=MUTATION,
        input=SandboxDepositInput(
            required=True, description="The account and the amount."
        ),
        description="Sandbox only: pay cash into an account, as a bank's statement "
        "brings it. Needs the scope `accounts:write`.",
    )
    sandbox_fill = Field(
        SandboxFillPayload,
        cost=MUTATION,
        input=SandboxFillInput(required=True, description="The order."),
        description="Sandbox only: clients of the sandbox trade with an open order at "
        "its limit price, after the orders that precede it in the book. An order that "
        "is FILLED stays as it is. Needs the scope `trading:write`.",
    )

    sandbox_advance_market = Field(
        SandboxAdvanceMarketPayload,
        cost=MUTATION,
        input=SandboxAdvanceMarketInput(
            required=True, description="The market and its phase."
        ),
        description="Sandbox only: move a market to its next phase, as staff do. A "
        "CLOSED market keeps the orders of the day and waits for you or for its next "
        "session. A HALTED one waits for you; it reopens by a CALL of five minutes. "
        "Needs the scope `trading:write`.",
    )

    sandbox_report_conformance = Field(
        SandboxReportConformancePayload,
        cost=MUTATION,
        input=SandboxReportConformanceInput(
            required=True, description="The verdicts of one run."
        ),
        description="Sandbox only: keep what conformance.py found, for your account "
        "manager. The program sends it itself. Needs the scope `trading:write`, "
        "`trading:read` or `marketdata:read`.",
    )

    @check_first(check_account)
    def resolve_sandbox_activate(roots, info, input):
        account = own_account(info.context.caller, input["account_id"])
        with within_time():
            account.change_status("ACTIVE", STAFF, "Activated in the sandbox")
        return [account]

    @check_first(check_deposit)
    def resolve_sandbox_deposit(roots, info, input):
        account = own_account(info.context.caller, input["account_id"])
        if account.status not in ("ACTIVE", "SUSPENDED"):
            raise AccountNotActive(
                f"The account is {account.status}; activate it first.",
                status=account.status,
            )
        named = CashAccount.objects.get(account=account).deposit_reference
        line = BankLine(
            reference=f"SANDBOX {uuid.uuid4()}",
            text=f"Deposit {named}",
            amount=input["amount"],
            date=value_of("SELECT current_date"),
        )
        try:
            with within_time():
                book([line])
        except OtherBalance as error:
            raise RequestTimeout(
                "Another deposit was booked meanwhile. Nothing was changed; send the "
                "same request again."
            ) from error
        return [account]

    @check_first(check_trading)
    def resolve_sandbox_fill(roots, info, input):
        order = own_order(info.context.caller, input["order_id"])
        if order.status not in (OrderStatus.OPEN, OrderStatus.FILLED):
            raise OrderNotOpen(f"The order is {order.status}.", status=order.status)
        with within_time():
            return [fill(order)]

    @check_first(check_report)
    def resolve_sandbox_report_conformance(roots, info, input):
        return [keep(info.context.caller, input)]

    @check_first(check_trading)
    def resolve_sandbox_advance_market(roots, info, input):
        tokens = TokenModel.objects.visible_to(info.context.caller)
        token = tokens.filter(pk=key_of(input["token_id"], "Token")).first()
        market = MarketModel.objects.filter(token=token).first()
        if market is None:
            raise NotFound(
                "There is no token with this id that you may see and that has an "
                "internal market.",
                argument="input.tokenID",
            )
        try:
            with within_time(), transaction.atomic():
                advance(market, input["phase"])
        except PhaseRefused as error:
            raise BadUserInput(str(error), argument="input.phase") from error
        return [market]


def extended() -> GraphQLSchema:
    """The schema of a sandbox: all of production's, and these mutations."""

    class Extended(Mutation, base.Mutation):
        class Meta:
            name = "Mutation"
            description = base.Mutation._meta.description

    made = graphene.Schema(query=base.Query, mutation=Extended, types=[UserHolder])
    return bind(made.graphql_schema)


def sdl() -> str:
    """The text that extends production's schema by these mutations."""
    own = graphene.Schema(query=base.Query, mutation=Mutation).graphql_schema
    mutation = own.mutation_type
    assert mutation is not None
    mutation.description = None
    added = sorted(set(own.type_map) - set(base.schema.type_map))
    parts = [f"extend {print_type(mutation)}"]
    return "\n\n".join([*parts, *(print_type(own.type_map[n]) for n in added)]) + "\n"
