#!/bin/sh
# Buys one unit for a client, exactly once, and finds it in the register.
# Needs PARTNER_API_URL, PARTNER_API_KEY and curl 7.84 or newer.
set -eu

answer=$(mktemp)
trap 'rm -f "$answer"' EXIT

# Retries with the same body and key after a lost connection, 429 or 5xx.
post() {
  curl --silent --show-error --max-time 15 --retry 4 --retry-all-errors \
    --header 'Content-Type: application/json' \
    --header "X-Token-Auth: $PARTNER_API_KEY" \
    --output "$answer" --data "$@" "$PARTNER_API_URL"
  cat "$answer"
  echo
}
first() {
  grep -o "\"$1\":\"*[^\",}]*" "$answer" | head -n 1 | sed 's/^[^:]*:"*//'
}
new_key() { uuidgen 2>/dev/null || cat /proc/sys/kernel/random/uuid; }

# The deposit: a client's bank transfer names the reference of the account.
post '{"query": "{ accounts(last: 1, status: ACTIVE) { nodes { id cash { available depositReference } } } }"}'
account=$(first id)
echo "deposit: name $(first depositReference); available: $(first available) cents"

post '{"query": "{ token(symbol: \"TIDEWICK\") { id market { phase tickSize capPrice } } }"}'
token=$(first id)
tick=$(first tickSize)
limit=$(($(first capPrice) / tick * tick))

# The order: at the worst price allowed, immediately or not at all.
place='mutation ($input: PlaceOrderInput!) { placeOrder(input: $input) {'
place="$place order { id status filledQuantity filledValue }"
place="$place executions { price quantity ledgerSequence } } }"
key=$(new_key)
order="\"accountID\": \"$account\", \"tokenID\": \"$token\", \"side\": \"BUY\""
order="$order, \"quantity\": 1, \"limitPrice\": $limit, \"timeInForce\": \"IOC\""
order="$order, \"clientOrderID\": \"$key\""
post "{\"query\": \"$place\", \"variables\": {\"input\": {$order}}}" \
  --header "Idempotency-Key: $key" \
  --write-out 'replayed: %header{idempotent-replayed}\n'

# The fill, also in the first response: your name for the order finds it.
mine='query ($account: ID!, $name: String!) {'
mine="$mine order(accountID: \$account, clientOrderID: \$name) { status"
mine="$mine filledQuantity executions { nodes { price quantity at } } } }"
post "{\"query\": \"$mine\", \"variables\": {\"account\": \"$account\", \"name\": \"$key\"}}"
echo "order: $(first status)"

# The capitalization table, updated in the order's transaction.
table='query ($account: String!) { account(id: $account) {'
table="$table holdings { balance token { symbol } } }"
table="$table issuer(slug: \\\"tidewick-instruments\\\") {"
table="$table capitalizationTable { date holderCount } } }"
post "{\"query\": \"$table\", \"variables\": {\"account\": \"$account\"}}"
echo "holders: $(first holderCount)"
