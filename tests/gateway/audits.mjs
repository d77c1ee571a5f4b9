// Runs the audits of the package graphql-http against the address that is given,
// and prints one JSON list of {id, name, status, reason}.
import { serverAudits } from "graphql-http";

const results = [];
for (const audit of serverAudits({ url: process.argv[2] })) {
  const { id, name } = audit;
  const { status, reason } = await audit.fn();
  results.push({ id, name, status, reason });
}
console.log(JSON.stringify(results));
