// Suspends your first active account, exactly once.
// Needs PARTNER_API_URL, PARTNER_API_KEY and:
// npm install @apollo/client@4 graphql rxjs
import {
  ApolloClient,
  ApolloLink,
  HttpLink,
  InMemoryCache,
  ServerError,
  gql,
} from "@apollo/client";
import { RetryLink } from "@apollo/client/link/retry";

const PASSING = [409, 429, 500, 502, 503, 504];
const retryIf = (error) =>
  !ServerError.is(error) || PASSING.includes(error.statusCode);

const client = new ApolloClient({
  cache: new InMemoryCache(),
  link: ApolloLink.from([
    // Retries with the same body and key when a response is lost or asks to wait.
    new RetryLink({ attempts: { max: 5, retryIf } }),
    new HttpLink({
      uri: process.env.PARTNER_API_URL,
      headers: { "X-Token-Auth": process.env.PARTNER_API_KEY },
    }),
  ]),
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
  const { data } = await client.mutate({
    mutation: UPDATE,
    variables: { input: { accountID, status } },
    context: { headers: { "Idempotency-Key": key } },
  });
  return data.updateAccountStatus;
}

const { data } = await client.query({ query: ACCOUNTS });
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
  // Not executed, as with an unknown key: then the status is not 200.
  const answer = ServerError.is(error) ? JSON.parse(error.bodyText) : error;
  if (!answer.errors) throw error;
  const { code, allowedStatuses } = answer.errors[0].extensions;
  console.log("refused:", code, allowedStatuses);
}
