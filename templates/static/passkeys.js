"use strict";

// A form with data-passkey is sent with what the person's device has signed.
const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

async function ask(form, submitter) {
  const body = new FormData(form, submitter);
  body.append("options", "");
  const answer = await fetch(location.href, { method: "POST", body });
  if (!answer.ok) throw new Error("The server has not answered. Reload this page.");
  const options = await answer.json();
  if (options.problem) throw new Error(options.problem);
  options.challenge = bytes(options.challenge);
  if (options.user) options.user.id = bytes(options.user.id);
  for (const one of [...(options.allowCredentials ?? []), ...(options.excludeCredentials ?? [])]) one.id = bytes(one.id);
  return options;
}

async function sign(form, submitter) {
  const publicKey = await ask(form, submitter);
  const credential = await navigator.credentials[form.dataset.passkey]({ publicKey });
  const response = {};
  for (const name of ["attestationObject", "authenticatorData", "clientDataJSON", "signature"]) {
    if (credential.response[name] instanceof ArrayBuffer) response[name] = text(credential.response[name]);
  }
  return JSON.stringify({ id: credential.id, rawId: text(credential.rawId), type: credential.type, response });
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  form.addEventListener("submit", async (event) => {
    const { answer } = form.elements, status = form.querySelector("[role=status]");
    if (answer.value) return;
    event.preventDefault();
    try {
      answer.value = await sign(form, event.submitter);
    } catch (error) {
      status.textContent = error.name === "NotAllowedError" ? "Not signed: the device refused, or took too long." : error.message;
      return;
    }
    form.requestSubmit(event.submitter);
  });
}
