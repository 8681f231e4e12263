// Prints the rows of the console's access-pattern table as JSON: node pattern_rows.mjs ENDPOINT COUNT. Waits until there are COUNT rows.
import { close, open, startBrowser } from "../console/site.js";

const [, , endpoint, count] = process.argv;
const browser = await startBrowser();
try {
  const page = await open(browser, endpoint, "patterns");
  await page.getByRole("table", { name: "Access patterns" }).locator("tbody tr").nth(Number(count) - 1).waitFor();
  console.log(JSON.stringify(await page.getByRole("table", { name: "Access patterns" }).locator("tbody tr").evaluateAll((rows) => rows.map((row) => ({
    name: row.querySelector(".pattern a").textContent,
    badges: [...row.querySelectorAll(".pattern .badge")].map((badge) => badge.textContent),
    parts: [...row.querySelectorAll(".pattern code")].map((part) => part.textContent),
    calls: row.cells[1].textContent,
    perCall: row.cells[5].textContent,
  })))));
  await close(page);
} finally {
  await browser.close();
}
