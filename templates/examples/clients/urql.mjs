// Suspends your first active account, exactly once.
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
  fetchOptions: { headers },
  exchanges: [
    // Retries with the same body and key when a response is lost or asks to wait.
    retryExchange({ maxNumberAttempts: 5, retryIf }),
    fetchExchange,
  ],
});

const ACCOUNTS = gql`
  query {
    accounts(first: 3, status: ACTIVE) { nodes { id user { displayName } } }
  }
`;
const UPDATE = gql`
  mutation ($input: UpdateAccountStatusInput!) {
    updateAccountStatus(input: $input) { changedAt account { id status } }
  }
`;

async function update(accountID, status, key) {
  const variables = { input: { accountID, status } };
  // These headers replace the client's, so they repeat the API key.
  const fetchOptions = { headers: { ...headers, "Idempotency-Key": key } };
  const result = await client.mutation(UPDATE, variables, { fetchOptions });
  if (result.error) throw result.error;
  return result.data.updateAccountStatus;
}

const { data, error } = await client.query(ACCOUNTS, {});
if (error) throw error;
const [account] = data.accounts.nodes;
console.log("account", account.id, account.user.displayName);

// One key per change; keep it until you have the response.
const key = crypto.randomUUID();
const change = await update(account.id, "SUSPENDED", key);
console.log(change.account.status, change.changedAt);

// A repeated request changes nothing and returns the first response.
const again = await update(account.id, "SUSPENDED", key);
console.log(again.account.status, again.changedAt);

// Branch on the code: messages are for people and may change.
try {
  await update(account.id, "PENDING", crypto.randomUUID());
} catch (error) {
  if (!error.graphQLErrors?.length) throw error;
  const { code, allowedStatuses } = error.graphQLErrors[0].extensions;
  console.log("refused:", code, allowedStatuses);
}
