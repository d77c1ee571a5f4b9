// Buys one unit for a client, exactly once, and finds it in the register.
// Needs PARTNER_API_URL, PARTNER_API_KEY and:
// npm install @urql/core@6 @urql/exchange-retry@2
import { Client, fetchExchange, gql } from "@urql/core";
import { retryExchange } from "@urql/exchange-retry";

const PASSING = [409, 429, 500, 502, 503, 504];
const retryIf = (error) =>
  error.networkError || PASSING.includes(error.response?.status);
const headers = { "X-Token-Auth": process.env.PARTNER_API_KEY };

const client = new Client({
  url: process.env.PARTNER_API_URL,
  preferGetMethod: false, // urql sends short queries by GET otherwise
  requestPolicy: "network-only",
  fetchOptions: { headers },
  exchanges: [
    // Retries with the same body and key when a response is lost or asks to wait.
    retryExchange({ maxNumberAttempts: 5, retryIf }),
    fetchExchange,
  ],
});

const START = gql`
  query {
    accounts(last: 1, status: ACTIVE) {
      nodes { id cash { available depositReference } }
    }
    token(symbol: "TIDEWICK") { id market { phase tickSize capPrice } }
  }
`;
const PLACE = gql`
  mutation ($input: PlaceOrderInput!) {
    placeOrder(input: $input) {
      order { id status filledQuantity filledValue }
      executions { price quantity ledgerSequence }
    }
  }
`;
const MINE = gql`
  query ($account: ID!, $name: String!) {
    order(accountID: $account, clientOrderID: $name) {
      status filledQuantity executions { nodes { price quantity at } }
    }
  }
`;
const TABLE = gql`
  query ($account: String!) {
    account(id: $account) { holdings { balance token { symbol } } }
    issuer(slug: "tidewick-instruments") {
      capitalizationTable { date holderCount }
    }
  }
`;

async function answer(result) {
  const { data, error } = await result;
  if (error) throw error;
  return data;
}

// The deposit: a client's bank transfer names the reference of the account.
const { accounts, token } = await answer(client.query(START, {}));
const [account] = accounts.nodes;
const { available, depositReference } = account.cash;
console.log("deposit: name", depositReference, "available:", available);

// The order: at the worst price allowed, immediately or not at all.
const key = crypto.randomUUID();
const { tickSize, capPrice } = token.market;
const input = {
  accountID: account.id,
  tokenID: token.id,
  side: "BUY",
  quantity: 1,
  limitPrice: Math.floor(capPrice / tickSize) * tickSize,
  timeInForce: "IOC",
  clientOrderID: key,
};
// These headers replace the client's, so they repeat the API key.
const fetchOptions = { headers: { ...headers, "Idempotency-Key": key } };
const { placeOrder } = await answer(
  client.mutation(PLACE, { input }, { fetchOptions }),
);
for (const { quantity, price } of placeOrder.executions) {
  console.log("filled:", quantity, "at", price, "cents");
}

// If the response was lost, your name for the order finds it.
const named = { account: account.id, name: key };
const { order } = await answer(client.query(MINE, named));
console.log("order:", order.status);

// The capitalization table, updated in the order's transaction.
const told = await answer(client.query(TABLE, { account: account.id }));
const { holderCount } = told.issuer.capitalizationTable;
console.log("holders:", holderCount);
