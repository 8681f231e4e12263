/* Sign-in through a real OpenID Connect provider, in Chromium: its own pages, redirects and cookies. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before } from "node:test";
import { checkAxe, startAppsOn, startBrowser, startProvider, testBoth } from "./browser.js";
import { freePort } from "../support/loopback.js";

const directory = mkdtempSync(path.join(tmpdir(), "gramme-oidc-"));
const running = {};

/* Every start has the same key of sessions and the same address. */
function startSite() {
  return startAppsOn("memory:", running.address, "--samples", "--auth", "oidc", "--oidc-issuer", running.issuer,
    "--oidc-client-id", "apps", "--oidc-client-secret", path.join(directory, "secret"),
    "--oidc-scopes", "openid profile email roles", "--session-key", path.join(directory, "session.key"));
}

before(async () => {
  const [port, ownPort] = [await freePort(), await freePort()];
  writeFileSync(path.join(directory, "secret"), "a secret/with+signs\n");
  running.address = `127.0.0.1:${ownPort}`;
  running.issuer = `http://127.0.0.1:${port}`;
  running.provider = await startProvider(port, `http://${running.address}/auth/callback`);
  running.apps = await startSite();
  running.browser = await startBrowser();
});
after(async () => {
  await running.browser?.close();
  await running.apps?.stop();
  running.provider?.kill();
  rmSync(directory, { recursive: true, force: true });
});

/* A page of a person who has no session anywhere. The provider's pages name a font of another host, which is not needed. */
async function openPage(where, size) {
  const context = await running.browser.newContext({ locale: "en-GB", timezoneId: "UTC", ...size });
  await context.route((url) => url.hostname !== "127.0.0.1", (route) => route.abort());
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  await page.goto(running.apps.url + where);
  return page;
}

async function signIn(page, name) {
  await page.waitForURL(`${running.issuer}/**`);
  await page.locator("input[name=login]").fill(name);
  await page.locator("input[name=password]").fill("any");
  await page.locator("button[type=submit]").click();
  await page.getByRole("button", { name: "Continue" }).click(); /* the consent */
}

testBoth("a page leads to the provider and back to where the person was", async (context, width) => {
  const page = await openPage("/calls/?user=ana", context);
  await signIn(page, "ana");
  await page.waitForURL(`${running.apps.url}/calls/?user=ana`);
  await page.getByRole("button", { name: "Signed in as Name of ana" }).waitFor();
  await page.locator("[data-call]").first().waitFor();
  const [cookie] = (await page.context().cookies(running.apps.url)).filter(({ name }) => name === "gramme_apps_session");
  assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, "Lax"]);
  assert.equal(await page.evaluate(() => document.cookie.includes("gramme_apps_session")), false);

  /* What is written has the name of who signed in. */
  await page.getByRole("button", { name: "New call" }).click();
  await page.getByRole("dialog").getByLabel("Provider").fill(`dr-oidc-${width}`);
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("region", { name: "Upcoming" }).getByText(`with dr-oidc-${width}`).waitFor();
  await page.goto(`${running.apps.url}/reconciliation/`);
  await page.getByText("You may not do this").first().waitFor(); /* a member is no operator */
  await page.context().close();
});

testBoth("roles come from the provider", async (context) => {
  const page = await openPage("/reconciliation/", context);
  await signIn(page, "operator-1");
  await page.locator("[data-call]").first().waitFor();
  await page.goto(`${running.apps.url}/tasks/`);
  await page.getByText("You have no account here yet.").waitFor(); /* the role says nothing of tasks */
  assert.equal(await page.getByRole("button", { name: "New task" }).count(), 0);
  await page.context().close();
});

testBoth("signing out ends the session here and at the provider", async (context) => {
  const page = await openPage("/tickets/", context);
  await signIn(page, "poc-user-001");
  await page.getByRole("link", { name: "Email not working" }).waitFor();
  await page.getByRole("button", { name: /^Signed in as/ }).click();
  await page.getByRole("dialog").waitFor();
  await checkAxe(page, "the account");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Yes, sign me out" }).click(); /* at the provider */
  await page.waitForURL(`${running.issuer}/interaction/**`); /* back here, nobody is signed in */
  assert.deepEqual((await page.context().cookies(running.apps.url)).filter(({ name }) => name === "gramme_apps_session"), []);
  await signIn(page, "poc-user-002"); /* somebody else at the same computer */
  await page.getByRole("button", { name: "Signed in as Name of poc-user-002" }).waitFor();
  await page.context().close();
});

testBoth("a session outlives the server, and what is typed stays", async (context) => {
  const page = await openPage("/tickets/", context);
  await signIn(page, "poc-user-001");
  await page.getByRole("link", { name: "Email not working" }).click();
  await page.getByLabel("Comment", { exact: true }).fill("half a thought");
  await running.apps.kill();
  await page.getByText("Connection lost, trying again").waitFor();
  running.apps = await startSite();
  await page.getByText("Connection lost, trying again").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Add comment" }).click();
  const comment = page.getByRole("listitem").filter({ hasText: "half a thought" });
  await comment.getByText("Name of poc-user-001").waitFor();
  await page.context().close();
});

testBoth("a user who refuses at the provider gets a message and can try again", async (context) => {
  const page = await openPage("/calls/", context);
  await page.waitForURL(`${running.issuer}/**`);
  await page.getByRole("link", { name: "Cancel" }).click();
  await page.waitForURL(`${running.apps.url}/?signIn=failed`);
  await page.getByText("Signing in did not work.").waitFor();
  await checkAxe(page, "signing in did not work");
  await page.getByRole("link", { name: "Sign in" }).click();
  await page.waitForURL(`${running.issuer}/**`);
  await page.context().close();
});
