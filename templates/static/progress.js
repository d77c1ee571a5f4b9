"use strict";

// Asks how far a delivery has come, every two seconds until it ends or stops.
const progress = document.getElementById("progress");
const EVERY_MS = 2000, GIVE_UP_MS = 5000;
const moves = () => progress.querySelector("[data-moves]") !== null;

async function follow() {
  if (!moves()) return;
  if (!document.hidden) {
    try {
      const answer = await fetch(progress.dataset.address, {
        cache: "no-store",
        redirect: "error",
        signal: AbortSignal.timeout(GIVE_UP_MS),
      });
      if (answer.ok) progress.innerHTML = await answer.text();
      // The lines below have their results now.
      if (!moves()) return location.reload();
    } catch {
      // The server does not answer now; it is asked again.
    }
  }
  setTimeout(follow, EVERY_MS);
}
setTimeout(follow, EVERY_MS);
