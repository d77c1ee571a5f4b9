"use strict";

// What Django's widgets lack: names of fields that look things up, and of their parts.
function nameWidgets() {
  for (const field of document.querySelectorAll("select.admin-autocomplete")) {
    const label = document.querySelector(`label[for="${field.id}"]`);
    const shown = field.parentElement.querySelector(".select2-selection");
    if (!label || !shown) continue;
    const name = label.textContent.trim().replace(/:$/, "");
    shown.removeAttribute("aria-labelledby");
    shown.setAttribute("aria-label", name);
    shown.querySelector("[role=textbox]")?.setAttribute("aria-label", name);
  }
  for (const tip of document.querySelectorAll("span[aria-label]:not([role])")) tip.setAttribute("role", "img");
  for (const wide of document.querySelectorAll(".inline-group, .results, .wide")) wide.tabIndex = 0;
}
addEventListener("load", () => {
  nameWidgets();
  window.django?.jQuery?.(document).on("select2:open", ({ target }) => {
    const name = document.querySelector(`label[for="${target.id}"]`)?.textContent.trim();
    document.querySelector(".select2-search__field")?.setAttribute("aria-label", `Search ${name}`);
  });
  new MutationObserver(nameWidgets).observe(document.body, { childList: true, subtree: true });
});

// What a cell cuts off is read in its title.
function titleWhatIsCut() {
  for (const cell of document.querySelectorAll(":is(td, th):not([title])")) {
    const inner = cell.querySelector(".cut") ?? cell;
    if (cell.scrollWidth > cell.clientWidth || inner.scrollHeight > inner.clientHeight + 1) cell.title = cell.textContent.trim();
  }
}
addEventListener("load", titleWhatIsCut);

// The log has each register that is printed.
addEventListener("beforeprint", () => {
  if (!document.querySelector(".printed")) return;
  const { form } = document.querySelector("[name=csrfmiddlewaretoken]");
  fetch(location.href, { method: "POST", body: new FormData(form), keepalive: true });
});

// One menu is open at a time.
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

// Copies a text of the page; if the browser refuses, selects it instead.
for (const button of document.querySelectorAll("button[data-copy]")) {
  const text = document.getElementById(button.dataset.copy);
  const status = button.parentElement.querySelector("[role=status]");
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      status.textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(text);
      status.textContent = "Selected: press Ctrl-C or ⌘-C.";
    }
  });
}

// Offers rows while someone types into a field that takes an identifier.
for (const field of document.querySelectorAll("input[data-pick]")) {
  const list = document.createElement("datalist");
  list.id = `${field.id || field.name}-offers`;
  field.after(list);
  field.setAttribute("list", list.id);
  let asked = "", waits;
  field.addEventListener("input", () => {
    clearTimeout(waits);
    waits = setTimeout(async () => {
      const text = asked = field.value.trim();
      if (text === "" || [...list.children].some((one) => one.value === text)) return;
      const answer = await fetch(`/admin/pick/${field.dataset.pick}/?q=${encodeURIComponent(text)}`, { redirect: "error" });
      if (!answer.ok || text !== asked) return;
      const { choices } = await answer.json();
      list.replaceChildren(...choices.map(({ value, label }) => new Option(`${label} (${value})`, value)));
    }, 150);
  });
}

// A live part of a page is read anew every ten seconds, while no one works in it.
for (const part of document.querySelectorAll("[data-poll]")) {
  setInterval(async () => {
    if (document.hidden || part.contains(document.activeElement)) return;
    try {
      const answer = await fetch(part.dataset.poll, { cache: "no-store", redirect: "error", signal: AbortSignal.timeout(8000) });
      if (answer.ok) part.innerHTML = await answer.text();
    } catch {
      // The part says of when it is; the next answer comes in ten seconds.
    }
  }, 10_000);
}
