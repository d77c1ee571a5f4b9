"use strict";

// Additions to pages, which can be read without them.

for (const block of document.querySelectorAll("pre")) {
  if (!navigator.clipboard) break;
  const text = block.textContent.trimEnd();
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  const frame = document.createElement("div");
  frame.className = "copyable";
  block.replaceWith(frame);
  frame.append(block, button);
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
}

// The forms of a step, such as curl and Python, as tabs: one choice for all steps.
const steps = [...document.querySelectorAll(".forms")].map((step, number) => {
  const list = document.createElement("div");
  list.className = "tabs";
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Language");
  const forms = [...step.children].map((panel) => {
    const name = panel.dataset.form;
    panel.id = `form-${number}-${name}`;
    panel.setAttribute("role", "tabpanel");
    panel.querySelector(":scope > p").remove();
    const tab = document.createElement("button");
    tab.type = "button";
    tab.id = `tab-${number}-${name}`;
    tab.textContent = name;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panel.id);
    panel.setAttribute("aria-labelledby", tab.id);
    tab.addEventListener("click", () => {
      // The page must not jump under the pointer when steps above it change.
      const before = tab.getBoundingClientRect().top;
      choose(name);
      scrollBy(0, tab.getBoundingClientRect().top - before);
    });
    list.append(tab);
    return { name, panel, tab };
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = forms.findIndex(({ tab }) => tab === document.activeElement);
    if (!step || at < 0) return;
    const next = forms[(at + step + forms.length) % forms.length];
    choose(next.name);
    next.tab.focus();
  });
  step.prepend(list);
  return forms;
});

function choose(chosen) {
  for (const { name, panel, tab } of steps.flat()) {
    const isChosen = name === chosen;
    panel.hidden = !isChosen;
    tab.setAttribute("aria-selected", isChosen);
    tab.tabIndex = isChosen ? 0 : -1;
  }
  try {
    localStorage.setItem("form", chosen);
  } catch {
    // Some browsers keep nothing for a page: the choice ends with it.
  }
}

if (steps.length) {
  const names = steps[0].map(({ name }) => name);
  let kept;
  try {
    kept = localStorage.getItem("form");
  } catch {
    kept = null;
  }
  choose(names.includes(kept) ? kept : names[0]);
}

// The reference was one page once; its anchors lead to what stands on pages now.
const [, anchor] = location.href.split("/docs/schema#");
if (anchor && !document.getElementById(decodeURIComponent(anchor))) {
  const [name] = anchor.match(/^(Query\.|Mutation\.|error\.)?[^.]+/);
  location.replace(`/docs/schema/${name}${name === anchor ? "" : `#${anchor}`}`);
}

const form = document.querySelector("form.search");
if (form) {
  const MOST_SHOWN = 12;
  const input = form.querySelector("input");
  const found = form.querySelector("#found");
  let asked;

  // [address, title, page, text] of each place, as /docs/search.json has them.
  const places = () =>
    (asked ??= fetch("/docs/search.json").then((answer) => answer.json()));

  // What questions are made of, and no answer is found by.
  const IDLE = new Set(
    ("a all an and any are as at be can do does for from get have how i in is it me " +
      "mean means my need of on or should that the there this to what when where " +
      "which who why will with").split(" "),
  );
  // The documents explain, the reference lists, operators' pages are for others.
  const WEIGHTS = [
    [/^\/docs\/(guide|first-trade|tasks|concepts)/, 5],
    [/^\/docs\/(scopes|limits|errors|exports|proof|deprecations|clients|fix)/, 3],
    [/^\/docs\/(deployment|production|settings|commands|register|licences)/, 0.5],
  ];

  const tokens = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  // `paging`, `pages` and `pagination` begin alike.
  const stem = (word) => word.replace(/(?<=...)((?:in)?ations?|ings?|ies|ed|es|s|e|y)$/, "");

  function wordsOf(text) {
    const all = tokens(text);
    const meant = all.filter((word) => !IDLE.has(word));
    return (meant.length ? meant : all).map(stem);
  }

  function pointsOf(word, name, page, inside) {
    if (name.some((token) => stem(token) === word)) return 6;
    if (name.some((token) => token.startsWith(word))) return 4;
    if (name.some((token) => token.includes(word))) return 2;
    if (page.some((token) => stem(token) === word)) return 3;
    const times = inside.filter((token) => token.startsWith(word)).length;
    return times && 1 + Math.min(times, 9) / 9;
  }

  // A word in the title counts more than one in the text, a whole title most.
  function rank(words, asked, [address, title, page, text]) {
    if (title.toLowerCase() === asked) return 1000;
    const read = [title, page, text].map(tokens);
    const points = words.map((word) => pointsOf(word, ...read));
    const share = points.filter(Boolean).length / words.length;
    const [, weight] = WEIGHTS.find(([pages]) => pages.test(address)) ?? [null, 1];
    return share < 0.5 ? 0 : points.reduce((a, b) => a + b, 0) * share * weight;
  }

  function show(matches, words) {
    const links = matches.slice(0, MOST_SHOWN).map(([address, title, page, text]) => {
      const link = document.createElement("a");
      link.href = address;
      for (const [kind, part] of [["b", title], ["small", page], ["span", text.slice(0, 160)]]) {
        link.append(Object.assign(document.createElement(kind), { textContent: part }));
      }
      return link;
    });
    const more = matches.length > MOST_SHOWN ? `, the first ${MOST_SHOWN}` : "";
    const count = `${matches.length || "Nothing"} found${more}`;
    found.querySelector("p").textContent = count;
    found.querySelector("div").replaceChildren(...links);
    found.hidden = !words.length;
  }

  async function search() {
    const asked = input.value.trim().toLowerCase();
    const words = wordsOf(asked);
    const ranked = (await places())
      .map((place) => [words.length && rank(words, asked, place), place])
      .filter(([points]) => points)
      .sort(([a], [b]) => b - a);
    show(ranked.map(([, place]) => place), words);
  }

  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    found.querySelector("a")?.click();
  });
  input.addEventListener("focus", places, { once: true });
  input.addEventListener("input", search);
  found.addEventListener("click", () => (found.hidden = true));
  document.addEventListener("click", (event) => {
    if (!form.contains(event.target)) found.hidden = true;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") found.hidden = true;
    if (event.key !== "/" || event.target.closest("input, textarea")) return;
    event.preventDefault();
    input.focus();
  });
  form.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const stops = [input, ...found.querySelectorAll("a")];
    const next = stops[stops.indexOf(document.activeElement) + step];
    if (!step || found.hidden || !next) return;
    event.preventDefault();
    next.focus();
  });
}
