"use strict";

const configuration = JSON.parse(
  document.getElementById("configuration").textContent,
);
const { endpoint, examples } = configuration;
const defaultHeaders = configuration.headers
  ? JSON.stringify(configuration.headers, null, 2)
  : "";

// GraphiQL's history keeps the headers of every request, keys included. What is
// stored here has none; the sandbox's own headers are put back when it is read.
const local = GraphiQL.createLocalStorage({ namespace: "partner-api" });
const storage = {
  ...local,
  setItem: (name, value) => local.setItem(name, withHeaders(name, value, undefined)),
  getItem: (name) =>
    withHeaders(name, local.getItem(name), defaultHeaders || undefined),
};

function withHeaders(name, value, headers) {
  const list = name.replace("graphiql:", "");
  if (!value || !["queries", "favorites"].includes(list)) return value;
  const items = JSON.parse(value)[list].map((item) => ({ ...item, headers }));
  return JSON.stringify({ [list]: items });
}

// An example is put where GraphiQL finds the text last edited: it then opens in a
// tab of its own, and a reload shows what became of it.
const asked = new URLSearchParams(location.search).get("example");
const chosen = examples.find((example) => example.name === asked);
if (chosen) {
  storage.setItem("graphiql:query", chosen.query);
  storage.setItem("graphiql:variables", chosen.variables);
  history.replaceState(null, "", location.pathname);
}

// The nonce under which GraphiQL's dialogs may add their style element.
globalThis.__webpack_nonce__ = configuration.nonce;

ReactDOM.createRoot(document.getElementById("graphiql")).render(
  React.createElement(
    GraphiQL,
    {
      fetcher: GraphiQL.createFetcher({ url: endpoint }),
      storage,
      defaultQuery: examples[0].query,
      defaultHeaders,
      shouldPersistHeaders: false,
      defaultEditorToolsVisibility: chosen?.variables ? "variables" : "headers",
    },
    React.createElement(GraphiQL.Logo, null, " "),
  ),
);
