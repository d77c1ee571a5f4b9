// PostGraphile with its Amber preset, as its documentation shows it: no plugins.
// Copied beside the packages that it imports, and run there.

import { createServer } from "node:http";
import { postgraphile } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import { grafserv } from "postgraphile/grafserv/node";
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";

const where = JSON.parse(process.env.BENCHMARK_DATABASE);
const poolConfig = {
  host: where.HOST,
  port: Number(where.PORT),
  user: where.USER,
  password: where.PASSWORD,
  database: where.NAME,
};
const instance = postgraphile({
  extends: [PostGraphileAmberPreset],
  pgServices: [makePgService({ poolConfig, schemas: ["public"] })],
  grafserv: { graphqlPath: "/graphql", graphiql: false },
});
const server = createServer();
await instance.createServ(grafserv).addTo(server);
server.listen(Number(process.argv[2]), "127.0.0.1");
