/* The page of the simulation. The state is kept by this test in the place of the server, as docs/internals/insight-api.md has it, so that it
 * works with servers that do not simulate. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAxe, close, useSite } from "./site.js";

const site = useSite(async (own) => {
  await own.call("CreateTable", { TableName: "Orders", BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }], KeySchema: [{ AttributeName: "id", KeyType: "HASH" }] });
});

/* Answers GET and POST of the simulation; gives the bodies that were posted. */
async function simulate(page) {
  const state = { seed: 1, tables: {}, counts: { throttled: 7, errors: 1, conflicts: 0, staleReads: 3, delayed: 100 } };
  const posted = [];
  await page.route("**/_gramme/api/simulation", async (route) => {
    if (route.request().method() === "POST") {
      const body = route.request().postDataJSON();
      posted.push(body);
      state.seed = body.seed ?? state.seed;
      for (const [table, rule] of Object.entries(body.tables ?? {})) {
        if (rule === null) {
          delete state.tables[table];
        } else {
          state.tables[table] = { ...state.tables[table], ...rule };
        }
      }
    }
    await route.fulfill({ json: state });
  });
  return posted;
}

test("simulation: presets, rules of one table, seed, off", async () => {
  const page = await site.open("tables");
  const posted = await simulate(page);
  await page.getByRole("link", { name: "Simulation" }).click();
  await page.getByRole("heading", { name: "Everything works as it should" }).waitFor();
  await page.getByRole("definition").filter({ hasText: "100" }).waitFor();
  await checkAxe(page, "simulation: off");
  await page.getByRole("button", { name: /^Flaky/ }).click();
  await page.getByText("Simulation is on").waitFor();
  assert.deepEqual(posted.at(-1), { tables: { "*": { errorRate: 0.05 } } });
  await page.getByText("5 % errors").waitFor();

  await page.getByRole("button", { name: "Add rule" }).click();
  const dialog = page.getByRole("dialog", { name: "Simulation rule" });
  await dialog.getByLabel("All tables that have no rule of their own").uncheck();
  await dialog.getByRole("button", { name: "Apply" }).click();
  await dialog.getByText("Choose a table.").waitFor();
  await dialog.getByLabel("Table", { exact: true }).fill("Orders");
  await dialog.getByLabel("Throttling").selectOption("provisioned");
  await dialog.getByLabel("Read units per second").fill("3");
  await dialog.getByLabel("Added latency").fill("25");
  await dialog.getByLabel("Stale reads").fill("12.5");
  await checkAxe(page, "simulation: rule", { element: "dialog" });
  await dialog.getByRole("button", { name: "Apply" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.deepEqual(posted.at(-1), { tables: { Orders: { throttle: "provisioned", readUnits: 3, writeUnits: 5, partitionLimits: false, latencyMs: 25, latencyJitterMs: 0, indexLagMs: 0, errorRate: 0, conflictRate: 0, staleReadRate: 0.125 } } });
  await page.getByText("throttled at 3 read and 5 write units").waitFor();
  await checkAxe(page, "simulation: on");

  await page.getByRole("textbox", { name: "Seed" }).fill("42");
  await page.getByRole("button", { name: "Start anew" }).click();
  await page.getByText("The sequence starts anew").waitFor();
  assert.deepEqual(posted.at(-1), { seed: 42 });
  await page.getByRole("button", { name: "Remove the rule for Orders" }).click();
  await page.getByText("throttled at 3").waitFor({ state: "detached" });
  assert.deepEqual(posted.at(-1), { tables: { Orders: null } });
  await page.getByRole("button", { name: "Turn all off" }).click();
  await page.getByRole("heading", { name: "Everything works as it should" }).waitFor();
  await close(page);
});
