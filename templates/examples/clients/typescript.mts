// Suspends your first active account, exactly once, with types made of the schema.
// Needs PARTNER_API_URL, PARTNER_API_KEY, codegen.cjs (below) and:
// npm install graphql@17 typescript@7 @types/node@26 \
//   @graphql-codegen/cli@7 @graphql-codegen/client-preset@6
// curl -sO ${PARTNER_API_URL%/graphql}/scalars.json
// npx graphql-codegen --config codegen.cjs
// npx tsc --strict --module nodenext --target esnext --types node typescript.mts
// node typescript.mjs
import { setTimeout as pause } from "node:timers/promises";
import { graphql } from "./gql/index.js";
import type { TypedDocumentString, UpdateAccountStatusInput } from "./gql/graphql.js";

const { PARTNER_API_URL: url = "", PARTNER_API_KEY: apiKey = "" } = process.env;
const PASSING = [409, 429, 500, 502, 503, 504];
const ATTEMPTS = 5;

interface Failure {
  message: string;
  extensions: { code: string; allowedStatuses?: string[] };
}

interface Answer<Data> {
  data?: Data | null;
  errors?: Failure[];
}

class Refused extends Error {
  readonly extensions: Failure["extensions"];

  constructor({ message, extensions }: Failure) {
    super(`${extensions.code}: ${message}`);
    this.extensions = extensions;
  }
}

// Sends the same body and key again when a response is lost or asks to wait.
async function send<Data, Variables>(
  query: TypedDocumentString<Data, Variables>,
  variables: Variables,
  key?: string,
): Promise<Data> {
  const headers = new Headers({
    "Content-Type": "application/json",
    "X-Token-Auth": apiKey,
  });
  if (key) headers.set("Idempotency-Key", key);
  const body = JSON.stringify({ query, variables });
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(url, { method: "POST", headers, body }).catch(
      (error: Error) => error,
    );
    const lost = response instanceof Error;
    if ((lost || PASSING.includes(response.status)) && attempt < ATTEMPTS) {
      const seconds = lost ? 0.2 : Number(response.headers.get("Retry-After") ?? 1);
      await pause(1000 * seconds);
      continue;
    }
    if (lost) throw response;
    const { data, errors }: Answer<Data> = await response.json();
    if (errors?.[0]) throw new Refused(errors[0]);
    if (!data) throw new Error(`HTTP ${response.status} without data`);
    if (response.headers.get("Idempotent-Replayed")) console.log("replayed: true");
    return data;
  }
}

const ACCOUNTS = graphql(`
  query Accounts($after: String) {
    accounts(first: 20, status: ACTIVE, after: $after) {
      nodes { id user { displayName } }
      pageInfo { hasNextPage endCursor }
    }
  }
`);
const UPDATE = graphql(`
  mutation Update($input: UpdateAccountStatusInput!) {
    updateAccountStatus(input: $input) { changedAt account { id status } }
  }
`);
const EVENTS = graphql(`
  query Events($accountID: ID!, $after: String) {
    events(accountID: $accountID, first: 100, after: $after) {
      nodes { sequence type }
      pageInfo { hasNextPage endCursor }
    }
  }
`);

// Walks a connection page by page.
async function* accounts() {
  for (let after: string | null | undefined; ; ) {
    const { nodes, pageInfo } = (await send(ACCOUNTS, { after })).accounts;
    yield* nodes;
    if (!pageInfo.hasNextPage) return;
    after = pageInfo.endCursor;
  }
}

const all = await Array.fromAsync(accounts());
const [account] = all;
if (!account) throw new Error("You have no active account.");
console.log("account", account.id, account.user.displayName, "of", all.length);

async function update(
  accountID: string,
  status: UpdateAccountStatusInput["status"],
  key: string,
) {
  const data = await send(UPDATE, { input: { accountID, status } }, key);
  if (!data.updateAccountStatus) throw new Error("No change without an error.");
  return data.updateAccountStatus;
}

// One key per change; keep it until you have the response.
const key = crypto.randomUUID();
const change = await update(account.id, "SUSPENDED", key);
console.log(change.account.status, change.changedAt);

// A repeated request changes nothing and returns the first response.
const again = await update(account.id, "SUSPENDED", key);
console.log(again.account.status, again.changedAt);

// Every change is an event. Keep the last cursor: the next poll begins after it.
let after: string | null | undefined;
for (let more = true; more; ) {
  const page = { accountID: account.id, after };
  const { nodes, pageInfo } = (await send(EVENTS, page)).events;
  for (const { sequence, type } of nodes) console.log("event", sequence, type);
  after = pageInfo.endCursor ?? after;
  more = pageInfo.hasNextPage;
}

// Branch on the code: messages are for people and may change.
try {
  await update(account.id, "PENDING", crypto.randomUUID());
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  console.log("refused:", error.extensions.code, error.extensions.allowedStatuses);
}
