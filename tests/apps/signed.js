/* A database that checks signatures, on which the applications may do what apps/*.json allow and nothing else. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { BUILD, ROOT, start } from "./browser.js";

export const NAMES = ["calls", "calendar", "reconciliation", "tickets", "tasks"];
export const KEYS = { root: ["AKIAROOTROOTROOTROOT", "root-secret-for-tests"], apps: ["AKIAAPPSAPPSAPPSAPPS", "apps-secret-for-tests"] };

function writeUsers(directory) {
  const policies = Object.fromEntries(NAMES.map((name) => [name, `apps/${name}/policy.json`]));
  policies.insight = "apps/insight-policy.json";
  const user = (name, attached) => ({ name, policies: attached, keys: [{ id: KEYS[name][0], secret: KEYS[name][1] }] });
  const file = path.join(directory, "users.json");
  writeFileSync(file, JSON.stringify({
    users: [user("root", []), user("apps", Object.keys(policies))],
    policies: Object.entries(policies).map(([name, where]) => ({ name, document: JSON.parse(readFileSync(path.join(ROOT, where))) })),
  }), { mode: 0o600 });
  return file;
}

/* The server, with its data and its file of users in `directory`. */
export function startSignedDatabase(directory) {
  return start("gramme", ["serve", "--listen", "127.0.0.1:0", "--store", `rocksdb:${path.join(directory, "data")}`, "--auth", "on",
    "--users", writeUsers(directory)]);
}

/* gramme-apps with the key of "root" or of "apps". */
export function startAppsAs(key, database, ...options) {
  return start("apps/gramme-apps", ["--db", database.url, "--listen", "127.0.0.1:0", "--pages", path.join(BUILD, "pages"), ...options],
    { AWS_ACCESS_KEY_ID: KEYS[key][0], AWS_SECRET_ACCESS_KEY: KEYS[key][1], AWS_REGION: "us-east-1" });
}
