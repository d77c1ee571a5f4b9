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

const form = document.querySelector("form.search");
if (form) {
  const MOST_SHOWN = 12;
  const input = form.querySelector("input");
  const found = form.querySelector("#found");
  let asked;

  // [address, title, page, text] of each place, as /docs/search.json has them.
  const places = () =>
    (asked ??= fetch("/docs/search.json").then((answer) => answer.json()));

  // A word in the title counts more than one in the text, a whole title most.
  function rank(words, [, title, , text]) {
    const name = title.toLowerCase();
    let points = 0;
    for (const word of words) {
      if (name === word) points += 9;
      else if (name.startsWith(word)) points += 5;
      else if (name.includes(word)) points += 3;
      else if (text.toLowerCase().includes(word)) points += 1;
      else return 0;
    }
    return points;
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
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const ranked = (await places())
      .map((place) => [rank(words, place), place])
      .filter(([points]) => words.length && points)
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
