"use strict";

// Asks for the ladder while someone looks at it: it is at most a second old where the
// server answers in a tenth of one.
const ladder = document.getElementById("ladder");
const down = document.getElementById("down");
const EVERY_MS = 900, GIVE_UP_MS = 1500, DOWN_AFTER_MS = 2000;
let tag = "", answered = performance.now(), changed = performance.now();

async function ask() {
  if (document.hidden) return;
  try {
    const answer = await fetch(ladder.dataset.address, {
      headers: tag ? { "If-None-Match": tag } : {},
      cache: "no-store",
      redirect: "error",
      signal: AbortSignal.timeout(GIVE_UP_MS),
    });
    if (answer.status === 200) {
      ladder.innerHTML = await answer.text();
      tag = answer.headers.get("ETag");
      changed = performance.now();
    } else if (answer.status !== 304) return;
    answered = performance.now();
  } catch {
    // The banner says so; the next question is asked anyway.
  }
}

function tell() {
  const now = performance.now();
  down.hidden = now - answered < DOWN_AFTER_MS;
  down.querySelector("span").textContent = Math.round((now - answered) / 1000);
  const age = ladder.querySelector("[data-age]");
  if (age) age.textContent = Math.floor(Number(age.dataset.age) + (now - changed) / 1000).toLocaleString("en");
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) answered = performance.now();
});
(async function follow() {
  const began = performance.now();
  await ask();
  setTimeout(follow, Math.max(0, EVERY_MS - (performance.now() - began)));
})();
setInterval(tell, 250);
