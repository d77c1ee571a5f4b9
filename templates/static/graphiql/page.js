"use strict";

const configuration = JSON.parse(
  document.getElementById("configuration").textContent,
);
const { endpoint, examples } = configuration;
const asText = (headers) => (headers ? JSON.stringify(headers, null, 2) : "");
const defaultHeaders = asText(configuration.headers);

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

// A mutation needs a key that no other has had.
const edited = chosen?.query ?? local.getItem("graphiql:query") ?? "";
const isMutation = /^\s*mutation\b/m.test(edited) && crypto.randomUUID;
const headers = isMutation
  ? { ...configuration.headers, "Idempotency-Key": crypto.randomUUID() }
  : configuration.headers;

// What GraphiQL leaves out for those who do not see it: names of its editors, a way
// into them by the keyboard, and tabs that may hold two buttons each.
const EDITORS = [
  [".graphiql-query-editor", "Operation"],
  [".graphiql-editor-tool .graphiql-editor:nth-of-type(1)", "Variables"],
  [".graphiql-editor-tool .graphiql-editor:nth-of-type(2)", "Headers"],
  [".result-window", "Answer"],
];
const root = document.getElementById("graphiql");
const watched = { childList: true, subtree: true, attributeFilter: ["aria-selected"] };
new MutationObserver(() => {
  for (const [place, name] of EDITORS) {
    const area = root.querySelector(`${place} textarea`);
    if (area) area.ariaLabel = name;
  }
  for (const area of root.querySelectorAll(".CodeMirror-scroll")) area.tabIndex = 0;
  root.querySelector(".graphiql-tabs")?.removeAttribute("role");
  for (const tab of root.querySelectorAll(".graphiql-tab[aria-selected]")) {
    tab.querySelector("button").ariaCurrent = tab.ariaSelected;
    tab.removeAttribute("aria-selected");
    tab.removeAttribute("role");
  }
}).observe(root, watched);

// The nonce under which GraphiQL's dialogs may add their style element.
globalThis.__webpack_nonce__ = configuration.nonce;

// The schema is asked for at each opening: the sandbox's key pays, not the address.
const plain = GraphiQL.createFetcher({ url: endpoint });
const keyed = GraphiQL.createFetcher({
  url: endpoint,
  headers: configuration.headers ?? {},
});
const fetcher = (asked, options) =>
  (asked.operationName === "IntrospectionQuery" ? keyed : plain)(asked, options);

ReactDOM.createRoot(root).render(
  React.createElement(
    GraphiQL,
    {
      fetcher,
      storage,
      defaultQuery: examples[0].query,
      defaultHeaders,
      headers: asText(headers) || undefined,
      shouldPersistHeaders: false,
      defaultEditorToolsVisibility:
        chosen?.variables && !isMutation ? "variables" : "headers",
    },
    React.createElement(GraphiQL.Logo, null, " "),
  ),
);
