/* Signature version 4 in the browser. Web Crypto computes the hashes; it exists only on https and on this machine's own
 * addresses, so a page that was opened in another way uses the implementation below. */
const encoder = new TextEncoder();
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/* --- SHA-256 and HMAC without Web Crypto (FIPS 180-4, RFC 2104) --- */

const primes = [];
for (let n = 2; primes.length < 64; n++) {
  if (primes.every((prime) => n % prime !== 0)) {
    primes.push(n);
  }
}
const fraction = (value) => ((value - Math.floor(value)) * 2 ** 32) >>> 0;
const ROUNDS = primes.map((prime) => fraction(Math.cbrt(prime)));
const START = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const rotate = (word, bits) => (word >>> bits) | (word << (32 - bits));

function mixBlock(state, words) {
  for (let i = 16; i < 64; i++) {
    const a = words[i - 15];
    const b = words[i - 2];
    words[i] = (words[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ (a >>> 3)) + words[i - 7]
      + (rotate(b, 17) ^ rotate(b, 19) ^ (b >>> 10))) | 0;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i++) {
    const first = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[i] + words[i]) | 0;
    const second = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => {
    state[i] = (state[i] + word) | 0;
  });
}

function plainSha256(bytes) {
  const padded = new Uint8Array(((bytes.length + 8) >> 6 << 6) + 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, bytes.length << 3);
  const state = Int32Array.from(START);
  const words = new Int32Array(64);
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 16; i++) {
      words[i] = view.getInt32(at + 4 * i);
    }
    mixBlock(state, words);
  }
  const out = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => out.setInt32(4 * i, word));
  return new Uint8Array(out.buffer);
}

function plainHmac(key, data) {
  const block = new Uint8Array(64);
  block.set(key.length > 64 ? plainSha256(key) : key);
  const inner = plainSha256(Uint8Array.of(...block.map((byte) => byte ^ 0x36), ...data));
  return plainSha256(Uint8Array.of(...block.map((byte) => byte ^ 0x5c), ...inner));
}

/* --- the same with Web Crypto, where there is one --- */

async function sha256(bytes) {
  return crypto.subtle ? new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)) : plainSha256(bytes);
}

async function hmac(key, text) {
  const data = encoder.encode(text);
  if (!crypto.subtle) {
    return plainHmac(key, data);
  }
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, data));
}

/* The key of a day, a region and a secret is used for many requests. */
let cached = { of: "", key: null };
async function signingKey(secret, day, region) {
  const of = `${secret}/${day}/${region}`;
  if (cached.of !== of) {
    let key = encoder.encode(`AWS4${secret}`);
    for (const part of [day, region, "dynamodb", "aws4_request"]) {
      key = await hmac(key, part);
    }
    cached = { of, key };
  }
  return cached.key;
}

export const encodePart = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

function canonicalQuery(search) {
  return [...new URLSearchParams(search)].map(([name, value]) => `${encodePart(name)}=${encodePart(value)}`).sort().join("&");
}

/* The headers to add to a request: {method, path, search, headers, body} with lower-case names of headers, signed with
 * {accessKeyId, secretAccessKey, sessionToken?} for a region at a time. */
export async function sign(request, credentials, region, now = new Date()) {
  const stamp = now.toISOString().replace(/[-:]|\.\d+/g, "");
  const day = stamp.slice(0, 8);
  const added = { "x-amz-date": stamp, ...(credentials.sessionToken && { "x-amz-security-token": credentials.sessionToken }) };
  const headers = { ...request.headers, ...added, host: request.host };
  const names = Object.keys(headers).sort();
  const canonical = [request.method, request.path, canonicalQuery(request.search ?? ""),
    ...names.map((name) => `${name}:${headers[name]}`), "", names.join(";"),
    hex(await sha256(encoder.encode(request.body ?? "")))].join("\n");
  const scope = `${day}/${region}/dynamodb/aws4_request`;
  const toSign = ["AWS4-HMAC-SHA256", stamp, scope, hex(await sha256(encoder.encode(canonical)))].join("\n");
  const signature = hex(await hmac(await signingKey(credentials.secretAccessKey, day, region), toSign));
  return {
    ...added,
    authorization: `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names.join(";")}, Signature=${signature}`,
  };
}
