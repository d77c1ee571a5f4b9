#!/bin/sh
# Suspends your first active account, exactly once.
# Needs PARTNER_API_URL, PARTNER_API_KEY and curl 7.84 or newer.
set -eu

answer=$(mktemp)
trap 'rm -f "$answer"' EXIT

accounts='query { accounts(first: 3, status: ACTIVE) { nodes { id } } }'
update='mutation ($input: UpdateAccountStatusInput!) {'
update="$update updateAccountStatus(input: \$input)"
update="$update { changedAt account { id status } } }"

# Retries with the same body and key after a lost connection, 429 or 5xx.
post() {
  curl --silent --show-error --max-time 15 --retry 4 --retry-all-errors \
    --header 'Content-Type: application/json' \
    --header "X-Token-Auth: $PARTNER_API_KEY" \
    --output "$answer" --data "$@" "$PARTNER_API_URL"
  cat "$answer"
  echo
}
change_status() {
  input="{\"accountID\": \"$account\", \"status\": \"$1\"}"
  post "{\"query\": \"$update\", \"variables\": {\"input\": $input}}" \
    --header "Idempotency-Key: $2" \
    --write-out 'replayed: %header{idempotent-replayed}\n'
}
first() {
  grep -o "\"$1\":\"[^\"]*\"" "$answer" | head -n 1 | cut -d '"' -f 4
}
new_key() { uuidgen 2>/dev/null || cat /proc/sys/kernel/random/uuid; }

post "{\"query\": \"$accounts\"}"
account=$(first id)
test -n "$account"

# One key per change; keep it until you have the response.
key=$(new_key)
change_status SUSPENDED "$key"

# A repeated request changes nothing and returns the first response.
change_status SUSPENDED "$key"

# Branch on the code: messages are for people and may change.
change_status PENDING "$(new_key)"
echo "refused: $(first code)"
