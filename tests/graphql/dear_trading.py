"""Further bodies that ask for what trading adds."""

from tests.graphql.hostile import times

# Of the partner's own clients, and of a market
TRADING = {
    "trading: the orders": "{ orders(first: 100) { nodes { id clientOrderID side type "
    "limitPrice quantity filledQuantity filledValue remainingQuantity timeInForce "
    "expiresAt status statusReason version createdAt a§: updatedAt } } }",
    "trading: orders that none is": "{ a§: orders(first: 100, status: EXPIRED, "
    'tokenID: "x") { nodes { id } } }',
    "trading: orders of a status, counted": times(
        15, "a#: orders(first: 1, status: FILLED) { totalCount }"
    ).join(["{", " b§: __typename }"]),
    "trading: executions of orders": "{ orders(first: 50) { nodes { executions(first: "
    "4) { nodes { id price at a§: bustedAt } } } } }",
    "trading: orders of accounts": "{ accounts(first: 50) { nodes { orders(first: 4) { "
    "nodes { id a§: status } } } } }",
    "trading: orders of accounts, counted": "{ accounts(first: 100) { nodes { orders("
    "first: 1, status: CANCELLED) { a§: totalCount } } } }",
    "trading: executions of accounts": "{ accounts(first: 50) { nodes { executions("
    'first: 4, tradedAfter: "2020-01-01T00:00:00Z") { nodes { id a§: price } } } } }',
    "trading: executions of accounts, counted": "{ accounts(first: 100) { nodes { "
    "executions(first: 1) { a§: totalCount } } } }",
    "trading: executions of accounts, their orders": "{ accounts(first: 25) { nodes { "
    "executions(first: 4) { nodes { order { id account { id } token { a§: symbol } } "
    "} } } } }",
    "trading: executions after all": "{ accounts(first: 100) { nodes { executions("
    'first: 1, tradedAfter: "2100-01-01T00:00:00Z") { nodes { a§: id } } } } }',
    "trading: positions of accounts": "{ accounts(first: 50) { nodes { positions("
    "first: 4) { nodes { quantity reserved locked available a§: lockedUntil } } } } }",
    "trading: positions, one figure": "{ accounts(first: 100) { nodes { positions("
    "first: 1) { nodes { a§: available } } } } }",
    "trading: positions, counted": "{ accounts(first: 100) { nodes { positions("
    "first: 1) { a§: totalCount } } } }",
    "trading: cash": "{ accounts(first: 100) { nodes { cash { balance reserved "
    "available a§: depositReference } } } }",
    "trading: cash entries": "{ accounts(first: 50) { nodes { cashEntries(first: 4) { "
    "nodes { id kind amount balanceAfter reference at execution { a§: id } } } } } }",
    "trading: cash entries, counted": "{ accounts(first: 100) { nodes { cashEntries("
    "first: 1) { a§: totalCount } } } }",
    "trading: withdrawals": "{ accounts(first: 100) { nodes { withdrawals(first: 1) { "
    "nodes { a§: id } } } } }",
    "trading: investors": "{ accounts(first: 100) { nodes { investor { pending "
    "verification verifiedUntil country { code } investorClass a§: frozen } } } }",
    "trading: the tape": "{ orders(first: 1) { nodes { token { trades(first: 100) { "
    "nodes { sequence price at a§: busted } } } } } }",
    "trading: the tape, counted": "{ orders(first: 1) { nodes { token { trades(first: "
    "1) { a§: totalCount } } } } }",
    "trading: markets of tokens": "{ orders(first: 100) { nodes { token { market { "
    "phase floorPrice a§: capPrice } } } } }",
    "trading: rules of tokens": "{ orders(first: 100) { nodes { token { transferRules "
    "{ kind a§: text } } } } }",
    "trading: events": "{ events(first: 100) { nodes { sequence type price quantity "
    "remainingQuantity reason order { id status } execution { a§: id } } } }",
    "trading: an order by its client's id": times(
        15,
        'a#: order(accountID: "Account|00000000-0000-7000-8000-000000000000", '
        'clientOrderID: "x#") { id }',
    ).join(["{", " b§: __typename }"]),
}
