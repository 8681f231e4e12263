/* A database that checks signatures, on which each application has a key of its own and may do what its policy.json allows. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { BUILD, ROOT, start } from "./browser.js";
import { storeUrl } from "../support/store.js";

export const NAMES = ["calls", "calendar", "reconciliation", "tickets", "tasks"];
export const ROOT_KEY = { id: "AKIAROOTROOTROOTROOT", secret: "root-secret-for-tests" };
const PREFIX = "apps-"; /* of the profiles */

const keyOf = (name) => ({ id: `AKIA${name.toUpperCase().padEnd(16, "X").slice(0, 16)}`, secret: `${name}-secret-for-tests` });

function writeUsers(directory) {
  const policies = Object.fromEntries(NAMES.map((name) => [name, `apps/${name}/policy.json`]));
  policies.insight = "apps/insight-policy.json";
  const file = path.join(directory, "users.json");
  writeFileSync(file, JSON.stringify({
    users: [{ name: "root", policies: [], keys: [ROOT_KEY] },
      ...NAMES.map((name) => ({ name, policies: [name, "insight"], keys: [keyOf(name)] }))],
    policies: Object.entries(policies).map(([name, where]) => ({ name, document: JSON.parse(readFileSync(path.join(ROOT, where))) })),
  }), { mode: 0o600 });
  return file;
}

function writeCredentials(directory) {
  const file = path.join(directory, "credentials");
  writeFileSync(file, NAMES.map((name) =>
    `[${PREFIX}${name}]\naws_access_key_id=${keyOf(name).id}\naws_secret_access_key=${keyOf(name).secret}\n`).join(""), { mode: 0o600 });
  return file;
}

/* The server, with its data and its file of users in `directory`. */
export async function startSignedDatabase(directory) {
  const database = await start("gramme", ["serve", "--listen", "127.0.0.1:0", "--store", storeUrl(`rocksdb:${path.join(directory, "data")}`),
    "--auth", "on", "--users", writeUsers(directory)]);
  return { ...database, credentials: writeCredentials(directory) };
}

const startAppsWith = (variables, database, options) =>
  start("apps/gramme-apps", ["--db", database.url, "--listen", "127.0.0.1:0", "--pages", path.join(BUILD, "pages"), ...options],
    { AWS_REGION: "us-east-1", ...variables });

/* gramme-apps with root's key, which may make tables. */
export function startAppsAsRoot(database, ...options) {
  return startAppsWith({ AWS_ACCESS_KEY_ID: ROOT_KEY.id, AWS_SECRET_ACCESS_KEY: ROOT_KEY.secret }, database, options);
}

/* gramme-apps with the key of each application. */
export function startAppsAsThemselves(database, ...options) {
  return startAppsWith({ AWS_SHARED_CREDENTIALS_FILE: database.credentials }, database, ["--profiles", PREFIX, ...options]);
}
