// Check offline what the platform has signed. Needs Node 20.
// verify.mjs proof PROOF KEYS             a holding proof, or the answer of holdingProof
// verify.mjs statements|compare FILE... KEYS       /statements/NUMBER as one history
// verify.mjs witnesses FILE LISTED KEYS NAMED...   whether the keys you name signed it too
// verify.mjs ledger EXPORT [KEPT...]      TRANSACTIONS or PRICES, and kept ledgerHeads
// verify.mjs ledger EXPORT STATED KEYS    the same, and the answer of Token.statement
// KEYS is /.well-known/partner-api-keys.json. Its first key, or KEYS#ID, is trusted.
// Answers are JSON. Exit code: 0 proved, 1 refused, 2 used wrongly.

import { createReadStream, readFileSync, statSync } from "node:fs";
import { inflateSync } from "node:zlib";
const MOST = 1 << 20; // bytes of a file; an export is read by lines
class Refused extends Error {}
function need(isSo, sentence) { if (!isSo) throw new Refused(sentence); }
function read(path) {
  need(statSync(path).size <= MOST, `${path} is too long.`);
  return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path));
}
// Whole numbers become texts, as in lines: JSON's own do not hold 64 bits.
function parsed(text) {
  const quoted = /"(?:[^"\\]|\\.)*"|-?\d+(?![\d.eE])/g;
  JSON.parse(text);
  return JSON.parse(text.replace(quoted, (it) => (it[0] === '"' ? it : `"${it}"`)));
}
function answer(path, member) {
  let said = parsed(read(path));
  while (!(member in said)) said = Object.values(said).find((it) => it instanceof Object);
  return said;
}
const canonical = (said) => JSON.stringify(said, Object.keys(said).sort());
const importKey = (raw) => crypto.subtle.importKey("raw", raw, "Ed25519", true, ["verify"]);
const bytes = (text, encoding) => Buffer.from(text, encoding);
const sha256 = async (...of) => Buffer.from(await crypto.subtle.digest("SHA-256", Buffer.concat(of)));
const digest = async (text) => (await sha256(bytes(text))).toString("hex");
async function check(text, signature, keys, kid, what) {
  need(keys.has(kid), `${what} is signed by ${kid}, a key that is not trusted.`);
  const isOwn = await crypto.subtle.verify("Ed25519", keys.get(kid), signature, bytes(text));
  need(isOwn, `${what} is not signed by its key: it was altered.`);
}
// The trusted key, and those that it or a key after it has introduced.
async function publicKeys(named) {
  const [[path, trust], keys] = [named.split("#"), new Map()];
  for (const key of parsed(read(path)).keys) {
    const { kid, introducedBy: by, since, x } = key;
    const raw = bytes(x, "base64url");
    const isId = (await sha256(raw)).toString("hex").startsWith(kid) && kid.length === 16;
    need(isId, `${kid} is not the id of its key.`);
    const said = canonical({ introducedBy: by, kid, since, x });
    if (keys.has(by)) await check(said, bytes(key.signature, "base64"), keys, by, `Key ${kid}`);
    if (keys.has(by) || (kid === (trust || kid) && !keys.size)) keys.set(kid, await importKey(raw));
  }
  return keys;
}
async function recordOf(line, signature, record, salt, path, keys) {
  const said = parsed(line);
  await check(line, signature, keys, said.key, `Statement ${said.number}`);
  let node = await sha256(bytes([0]), salt, bytes(record));
  for (const [side, sibling] of path)
    node = await sha256(bytes([1]), ...(side === "L" ? [sibling, node] : [node, sibling]));
  const what = `statement ${said.number} of ${said.at}, signed by ${said.key}`;
  need(node.toString("hex") === said.tokensRoot, `The record is not in ${what}.`);
  return [parsed(record), what];
}
function units(text) {
  const isSum = /^\d{1,20}$/.test(text) && BigInt(text) < 1n << 64n;
  need(isSum, `${text} units are none, or more than 64 bits hold.`);
  return bytes(BigInt(text).toString(16).padStart(16, "0"), "hex");
}
async function proof([path, named]) {
  const [keys, text] = [await publicKeys(named), read(path).trim()];
  const given = text[0] === "{" ? answer(path, "proof") : { proof: text };
  need(given.proof, "No proof: no units then, or the holder's name was erased.");
  const raw = bytes(given.proof, "base64url");
  const tail = raw.subarray(2 + raw.readUInt16BE(0));
  const deflated = raw.subarray(2, raw.length - tail.length);
  const said = parsed(inflateSync(deflated, { maxOutputLength: MOST }).toString());
  const [sides, size] = [said.path, 32 * (3 + said.path.length + said.recordPath.length)];
  need(tail.length === size, "The proof was cut off, or has too much.");
  const hash = (place) => tail.subarray(96 + 32 * place, 128 + 32 * place);
  const siblings = [...said.recordPath].map((side, n) => [side, hash(sides.length + n)]);
  const of = [said.statement, tail.subarray(0, 64), said.record, tail.subarray(80, 96)];
  const [record, by] = await recordOf(...of, siblings, keys);
  need(said.user.length === 41, `${said.user} is not the id of a user.`);
  const own = units(said.units);
  const commitment = await sha256(tail.subarray(64, 80), bytes(said.user + said.name));
  let node = Buffer.concat([own, await sha256(bytes([0]), own, commitment)]);
  for (const [place, side] of sides.entries()) {
    const pair = [node, Buffer.concat([units(side.slice(1)), hash(place)])];
    if (side[0] === "L") pair.reverse();
    const total = pair[0].readBigUInt64BE() + pair[1].readBigUInt64BE();
    node = Buffer.concat([units(`${total}`), await sha256(bytes([1]), ...pair)]);
  }
  const root = Buffer.concat([units(record.held), bytes(record.holdingsRoot, "hex")]);
  need(node.equals(root), "The path does not lead to the root and units of the holdings.");
  let [balance, before, entries] = [BigInt(said.units), 0n, BigInt(record.entries)];
  for (const line of (given.entriesSince ?? []).map(parsed)) {
    const side = line.target === said.user ? "target" : "source";
    const isOwn = line[side] === said.user && line.token === record.token;
    const [last, now] = [BigInt(line[`${side}Before`]), BigInt(line.sequence)];
    const follows = before ? last === before : last <= entries && entries < now;
    need(isOwn && follows, `Before entry ${now}, one of the holder's is missing.`);
    [balance, before] = [balance + BigInt(line.amount) * (side === "target" ? 1n : -1n), now];
  }
  const later = before ? `entries to number ${before}, to ${balance}` : "what came later";
  return `${said.name} (${said.user}) held ${said.units} ${record.symbol}, by ${by}. Not proved: ${later}.`;
}
async function statements(files) {
  const [keys, known, listed] = [await publicKeys(files.at(-1)), new Map(), new Map()];
  for (const text of files.slice(0, -1).map(read)) {
    const rows = text.startsWith('{"statements"') && JSON.parse(text).statements;
    for (const row of rows && !rows.length ? [{ number: 0 }] : rows || []) listed.set(row.number, row.digest);
    if (rows) continue;
    const [line, signature, ...rest] = text.replace(/\n+$/, "").split("\n");
    const said = { ...JSON.parse(line), digest: await digest(line) };
    const [number, signed] = [said.number, bytes(signature, "base64")];
    await check(line, signed, keys, said.key, `Statement ${number}`);
    const isWhole = `${await Promise.all(rest.map(digest))}` === (said.details ?? "");
    need(isWhole, `The details of statement ${number} were altered.`);
    if (!known.has(number)) known.set(number, said);
    const [one, other] = [known.get(number).digest, said.digest];
    need(one === other, `Two histories: statement ${number} is ${one} and ${other}.`);
  }
  const [first, last] = [Math.min(...known.keys()), Math.max(...known.keys())];
  for (let number = first; number <= last; number += 1) {
    need(known.has(number), `Statement ${number} is not among the files.`);
    const [said, before] = [known.get(number), known.get(number - 1)];
    const follows = !before || said.previousDigest === before.digest;
    need(follows, `Statement ${number} does not follow the one before it.`);
    const isSame = number < Math.min(...listed.keys()) || listed.get(number) === said.digest;
    need(isSame, `The listing has another statement ${number}, or took it back.`);
  }
  return `Statements ${first} to ${last} are one history, to ${known.get(last).digest}.`;
}
async function witnesses([path, list, trusted, ...others]) {
  const [history, line] = [await statements([path, trusted]), read(path).split("\n")[0]];
  const listed = new Map(answer(list, "witnesses").witnesses.map((it) => [it.publicKey, it.signature]));
  const named = [...new Set(others)].sort();
  for (const key of named) {
    need(listed.has(key), `Witness ${key} has not signed this statement.`);
    const known = new Map([[key, await importKey(bytes(key, "base64"))]]);
    await check(line, bytes(listed.get(key), "base64"), known, key, `It, by witness ${key},`);
  }
  return `${history} ${named.length} witnesses signed it: ${named.join(", ")}.`;
}
async function* rows(path, rest = "") {
  for await (const part of createReadStream(path, "utf-8")) {
    const lines = (rest + part).split("\n");
    rest = lines.pop();
    yield* lines.map(parsed);
  }
  if (rest) yield parsed(rest);
}
async function ledger([path, ...others]) {
  let [kind, record, by, count, head, heads, held] = ["", null, "a kept head", 0, null, new Map(), new Map()];
  const keep = (n, is, m, was) => heads.set(`sequence ${n}`, is).set(`number ${m}`, was);
  if (others.length === 2 && "keys" in parsed(read(others[1].split("#")[0]))) {
    const it = answer(others[0], "record");
    const siblings = it.path.map((one) => [one[0], bytes(one.slice(1), "hex")]);
    const of = [it.line, bytes(it.signature, "base64"), it.record, bytes(it.salt, "hex")];
    [record, by] = await recordOf(...of, siblings, await publicKeys(others[1]));
    keep(record.entries, record.entryDigest, record.prices, record.priceDigest);
  }
  for (const it of record ? [] : others.map((one) => answer(one, "digest")))
    keep(it.sequence, it.digest, it.priceNumber, it.priceDigest);
  for await (const row of rows(path)) {
    [kind, count] = ["amount" in row ? "sequence" : "number", count + 1];
    need(row[kind] === `${count}`, `Line ${count} is of ${row[kind]}: one is missing.`);
    const { id, ...line } = { ...row, token: row.token ? row.token.id : record.token };
    for (const [side, sign] of kind === "sequence" ? [["source", -1n], ["target", 1n]] : []) {
      line[side] = row[side] && row[side].user.id;
      held.set(line[side], (held.get(line[side]) ?? 0n) + sign * BigInt(row.amount));
    }
    if (!line.reason) delete line.reason; // of version 3
    if (head || row.lineVersion !== "1")
      head = await sha256(head ?? bytes(row.previousDigest, "hex"), bytes(canonical(line)));
    const [now, was] = [head?.toString("hex"), heads.get(`${kind} ${count}`)];
    need(was === undefined || was === now, `The head after line ${count} is another: a line was altered.`);
    if (record && kind === "sequence" && `${count}` === record.entries) {
      const has = [...held].filter(([user, sum]) => user !== null && sum).map((it) => it[1]);
      const given = `The entries give ${has.reduce((a, b) => a + b, 0n)} units to ${has.length} holders.`;
      need(given.includes(` ${record.held} units to ${record.holders} h`), given);
    }
  }
  const last = Math.max(0, ...[...heads.keys()].map((it) => it.startsWith(kind) && it.split(" ")[1]));
  need(last <= count, `The export ends at line ${count}: lines were taken away.`);
  const said = `${count} lines follow each other, to the head ${head ? head.toString("hex") : ""}`;
  return heads.size ? `${said}, to line ${last} as says ${by}.` : `${said}.`;
}
const [name, ...files] = process.argv.slice(2);
const [, run, least] = [["proof", proof, 2], ["statements", statements, 2], ["ledger", ledger, 1],
  ["compare", statements, 3], ["witnesses", witnesses, 4]].find((it) => it[0] === name) ?? [];
if (!run || files.length < least)
  process.exit(console.log(read(new URL(import.meta.url)).split("\n\n")[0]) ?? 2);
try {
  console.log(`Proved: ${await run(files)}`);
} catch (error) {
  const other = "a file is not there, is not what it should be, or was cut off.";
  console.error(`Refused: ${error instanceof Refused ? error.message : other}`);
  process.exit(1);
}
