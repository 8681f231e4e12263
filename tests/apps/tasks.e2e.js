/* The page of tasks in Chromium. */
import assert from "node:assert/strict";
import { loseAnswer, testBoth, useSite } from "./browser.js";

const site = useSite("--samples"); /* ana is an admin */
let numbers = 0;

async function newUser() {
  const userId = `user-${++numbers}`;
  const { status } = await site.rest("POST", "/tasks/api/users", { userId, email: `${userId}@example.com` });
  assert.equal(status, 201);
  return userId;
}

async function makeTask(title, user = "ana") {
  const { status, body } = await site.rest("POST", "/tasks/api/tasks", { title, priority: "HIGH" }, { "X-User-Id": user });
  assert.equal(status, 201);
  return body;
}

async function assign(task, userId) {
  const { status } = await site.rest("POST", `/tasks/api/tasks/${task.taskId}/assignments`, { userId }, { "X-User-Id": "ana" });
  assert.equal(status, 201);
}

const statusOf = async (task) => (await site.rest("GET", `/tasks/api/tasks/${task.taskId}`)).body.status;

testBoth("one's own tasks come first, as the user that is signed in", async (context) => {
  const user = await newUser();
  const task = await makeTask(`for ${user}`);
  await assign(task, user);
  const page = await site.open("/tasks/", { user, ...context });
  await page.locator(`[data-task="${task.taskId}"] .task-title`).getByText(`for ${user}`).waitFor();
  assert.equal(await page.locator("[data-task]").count(), 1);
  assert.equal(await page.getByRole("tab", { name: "Users" }).count(), 0, "members do not administer");
  await site.close(page);
});

testBoth("create a task, assign it, and its member sees and completes it", async (context) => {
  const member = await newUser();
  const title = `Renew the passport of ${member}`;
  const page = await site.open("/tasks/?status=OPEN", { user: "ana", ...context });
  await page.getByRole("button", { name: "New task" }).click();
  const create = page.getByRole("dialog");
  await create.getByLabel("Title").fill(title);
  await create.getByLabel("Description").fill("It ends on the 28th.");
  await create.getByLabel("Priority").selectOption("HIGH");
  await create.getByRole("button", { name: "Create" }).click();
  const row = page.locator("[data-task]", { hasText: title });
  await row.getByText("It ends on the 28th.").waitFor();
  await row.getByRole("button", { name: "Who" }).click();
  await row.getByText("Nobody yet.").waitFor();
  await row.getByRole("button", { name: /^Assign/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("User").fill(member);
  await dialog.getByRole("button", { name: "Assign" }).click();
  await row.locator(".assigned .badge", { hasText: member }).waitFor();
  await site.close(page);

  const mine = await site.open("/tasks/", { user: member, ...context });
  await mine.getByLabel(`Status of ${title}`).selectOption("COMPLETED");
  await mine.getByText(`${title}: Completed`).waitFor();
  await site.close(mine);
  const all = await site.open("/tasks/?status=COMPLETED", { user: "ana", ...context });
  await all.locator("[data-task]", { hasText: title }).waitFor();
  await all.getByRole("tab", { name: "Open" }).click();
  await all.getByRole("tab", { name: "Open", selected: true }).waitFor();
  await all.locator("[data-task]", { hasText: title }).waitFor({ state: "detached" });
  await site.close(all);
});

testBoth("members see the tasks that they created or that are assigned to them, live", async (context) => {
  const member = await newUser();
  const other = await newUser();
  const created = await makeTask(`created by ${member}`, member);
  const assigned = await makeTask(`assigned to ${member}`);
  await assign(assigned, member);
  const page = await site.open("/tasks/?status=OPEN", { user: member, ...context });
  const row = (task) => page.locator(`[data-task="${task.taskId}"]`);
  await row(assigned).waitFor();
  assert.deepEqual(await page.getByRole("tab").allTextContents(), ["My tasks", "Created by me"]);
  assert.equal(await page.locator("[data-task]").count(), 1);
  const setStatus = (task, status, user) =>
    site.rest("PUT", `/tasks/api/tasks/${task.taskId}/status`, { status }, { "X-User-Id": user });
  for (const [status, user] of [["IN_PROGRESS", "ana"], ["COMPLETED", member]]) { /* by an admin; by oneself, elsewhere */
    await setStatus(assigned, status, user);
    const select = page.getByLabel(`Status of ${assigned.title}`);
    await page.waitForFunction(([control, value]) => control.value === value, [await select.elementHandle(), status]);
  }
  await page.getByRole("tab", { name: "Created by me" }).click();
  await row(created).waitFor();
  assert.equal(await page.locator("[data-task]").count(), 1);
  await row(created).getByRole("button", { name: /^Who/ }).click();
  await row(created).getByText("Nobody yet.").waitFor();
  await assign(created, other);
  await row(created).locator(".assigned .badge", { hasText: other }).waitFor();
  await site.close(page);
});

testBoth("a user who is not assigned gets an error and the current status", async (context) => {
  const member = await newUser();
  const task = await makeTask(`not for ${member}`, member); /* who creates a task is not assigned to it */
  const page = await site.open("/tasks/?status=CREATED", { user: member, refusals: [403], ...context });
  const select = page.getByLabel(`Status of not for ${member}`, { exact: true });
  await select.selectOption("CLOSED");
  await page.getByText("Only someone assigned, or an admin").waitFor();
  await page.waitForFunction((control) => control.value === "OPEN", await select.elementHandle());
  assert.equal(await statusOf(task), "OPEN");
  await site.close(page);
});

testBoth("an assignment that is refused says why, in the dialog", async (context) => {
  const member = await newUser();
  const task = await makeTask(`shared ${++numbers}`);
  await assign(task, member);
  const gone = await newUser();
  await site.rest("PUT", `/tasks/api/users/${gone}/status`, { status: "DEACTIVATED" });
  const page = await site.open("/tasks/?status=OPEN", { user: "ana", refusals: [404, 409], ...context });
  const row = page.locator(`[data-task="${task.taskId}"]`);
  await row.getByRole("button", { name: "Who" }).click();
  await row.getByRole("button", { name: /^Assign/ }).click();
  const dialog = page.getByRole("dialog");
  for (const [user, message] of [[member, `${member} is already assigned to this task`],
                                 [gone, `${gone} is deactivated`], ["nobody-at-all", "There is no user “nobody-at-all”"]]) {
    await dialog.getByLabel("User").fill(user);
    await dialog.getByRole("button", { name: "Assign" }).click();
    await dialog.getByRole("alert").getByText(message).waitFor();
    assert.equal(await dialog.getByLabel("User").inputValue(), user);
  }
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await row.locator(".assigned .badge").first().waitFor();
  assert.deepEqual(await row.locator(".assigned .badge").allTextContents(), [`${member}×`]); /* with its button to unassign */
  await site.close(page);
});

testBoth("more tasks than a page", async (context) => {
  const member = await newUser();
  for (let number = 0; number < 27; number++) {
    await assign(await makeTask(`many ${number}`), member);
  }
  const page = await site.open("/tasks/", { user: member, ...context });
  await page.locator("[data-task]").nth(24).waitFor();
  assert.equal(await page.locator("[data-task]").count(), 25);
  await page.getByRole("button", { name: "Show more" }).focus();
  await page.keyboard.press("Enter");
  await page.locator("[data-task]").nth(26).waitFor();
  await page.locator("[data-task]").nth(25).locator(":focus").waitFor(); /* the first of the new ones, as the button is gone */
  await page.getByRole("button", { name: "Notifications 27 unread" }).click();
  const old = page.getByRole("dialog").getByRole("listitem");
  await old.first().waitFor();
  const count = await old.count();
  await page.getByRole("button", { name: "Older" }).focus();
  await page.keyboard.press("Enter");
  await old.nth(26).waitFor();
  await old.nth(count).locator(":focus").waitFor();
  await site.close(page);
});

testBoth("choosing a status by arrow key does not save at once", async (context) => {
  const task = await makeTask(`by key ${++numbers}`);
  const page = await site.open("/tasks/?status=OPEN", { user: "ana", ...context });
  const select = page.getByLabel(`Status of ${task.title}`, { exact: true });
  await select.focus();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("button", { name: "Save" }).waitFor();
  assert.equal(await select.inputValue(), "IN_PROGRESS");
  assert.equal(await statusOf(task), "OPEN");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Save" }).waitFor({ state: "detached" });
  assert.equal(await select.inputValue(), "OPEN");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByText(`${task.title}: Completed`).waitFor();
  assert.equal(await statusOf(task), "COMPLETED");
  await site.close(page);
});

testBoth("tabs move by arrow keys", async (context) => {
  const page = await site.open("/tasks/", { user: "ana", ...context });
  await page.getByRole("tab", { name: "Users" }).waitFor();
  await page.getByRole("tab", { name: "My tasks" }).focus();
  for (const [key, name] of [["ArrowRight", "Open"], ["End", "Users"], ["ArrowRight", "My tasks"], ["ArrowLeft", "Users"], ["Home", "My tasks"]]) {
    await page.keyboard.press(key);
    await page.getByRole("tab", { name, selected: true }).waitFor();
    assert.match(await page.evaluate(() => document.activeElement.textContent), new RegExp(name), key);
    await page.getByRole("tabpanel", { name }).waitFor();
  }
  await site.close(page);
});

testBoth("a created task is seen at once wherever one is, with medium priority unless chosen", async (context) => {
  const title = `seen at once ${++numbers}`;
  const page = await site.open("/tasks/", { user: "ben", ...context });
  await page.getByRole("button", { name: "New task" }).click();
  assert.equal(await page.getByLabel("Priority").inputValue(), "MEDIUM");
  await page.getByLabel("Title").fill(title);
  await page.getByRole("button", { name: "Create" }).click();
  const row = page.locator("[data-task]", { hasText: title });
  await row.getByText("medium").waitFor();
  await page.waitForFunction(() => {
    const box = document.querySelector(".fresh")?.getBoundingClientRect();
    return box && box.top >= 0 && box.top < innerHeight;
  });
  await site.close(page);
});

testBoth("a task is edited; editing an outdated one gives an error", async (context) => {
  const task = await makeTask(`to edit ${++numbers}`);
  const page = await site.open("/tasks/?status=OPEN", { user: "ana", refusals: [412], ...context });
  await page.getByRole("button", { name: `Edit ${task.title}`, exact: true }).click();
  const dialog = page.getByRole("dialog");
  assert.equal(await dialog.getByLabel("Priority").inputValue(), "HIGH");
  await dialog.getByLabel("Title").fill(`${task.title} mine`);
  await site.rest("PUT", `/tasks/api/tasks/${task.taskId}`, { title: `${task.title} theirs`, seen: task.updatedAt }, { "X-User-Id": "ana" });
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByRole("alert").getByText(`${task.title} theirs`).waitFor();
  assert.equal(await dialog.getByLabel("Title").inputValue(), `${task.title} mine`);
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.locator(".task-title", { hasText: `${task.title} mine` }).waitFor();
  await site.close(page);
});

testBoth("what is typed about a task stays when somebody else takes the task out of the list", async (context) => {
  const member = await newUser();
  const edited = await makeTask(`moves away ${++numbers}`);
  const page = await site.open("/tasks/?status=OPEN", { user: "ana", refusals: [412], ...context });
  const setStatus = (task, status) => site.rest("PUT", `/tasks/api/tasks/${task.taskId}/status`, { status }, { "X-User-Id": "ana" });
  const dialog = page.getByRole("dialog");
  const row = page.locator(`[data-task="${edited.taskId}"]`);

  await page.getByRole("button", { name: `Edit ${edited.title}`, exact: true }).click();
  await dialog.getByLabel("Title").fill(`${edited.title} mine`);
  await dialog.getByLabel("Description").fill("half a thought");
  await setStatus(edited, "CLOSED");
  await row.waitFor({ state: "detached" });
  assert.equal(await dialog.getByLabel("Title").inputValue(), `${edited.title} mine`);
  assert.equal(await dialog.getByLabel("Description").inputValue(), "half a thought");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByRole("alert").getByText("its status Closed").waitFor();
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  const { title, description, status } = (await site.rest("GET", `/tasks/api/tasks/${edited.taskId}`)).body;
  assert.deepEqual({ title, description, status }, { title: `${edited.title} mine`, description: "half a thought", status: "CLOSED" });

  await setStatus(edited, "OPEN");
  await row.getByRole("button", { name: /^Who/ }).click();
  await row.getByRole("button", { name: /^Assign/ }).click();
  await dialog.getByLabel("User").fill(member);
  await setStatus(edited, "IN_PROGRESS");
  await row.waitFor({ state: "detached" });
  assert.equal(await dialog.getByLabel("User").inputValue(), member);
  await dialog.getByRole("button", { name: "Assign" }).click();
  await page.getByText(`Assigned to ${member}`).waitFor();
  await site.close(page);
});

testBoth("an open page notices that its account or its role has changed", async (context) => {
  const userId = await newUser();
  const put = (part, body) => site.rest("PUT", `/tasks/api/users/${userId}/${part}`, body, { "X-User-Id": "ana" });
  const page = await site.open("/tasks/", { user: userId, refusals: [403], ...context });
  const users = page.getByRole("tab", { name: "Users" });
  await page.getByText("Nothing is assigned to you.").waitFor();
  assert.equal(await users.count(), 0);
  await put("role", { role: "admin" });
  await users.waitFor();
  await put("role", { role: "member" });
  await users.waitFor({ state: "detached" });

  await put("status", { status: "DEACTIVATED" });
  await page.getByText("Your account is deactivated.").waitFor();
  await put("status", { status: "ACTIVE" });
  await page.getByText("Nothing is assigned to you.").waitFor();

  await page.getByRole("button", { name: "New task" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Title").fill("half a thought");
  const noticed = page.waitForResponse((response) => response.url().endsWith("/tasks/api/me"));
  await put("status", { status: "DEACTIVATED" });
  await noticed;
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByRole("alert").getByText(/./).waitFor();
  assert.equal(await dialog.getByLabel("Title").inputValue(), "half a thought", "what is typed stays");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("Your account is deactivated.").waitFor();
  await site.close(page);
});

testBoth("the focus stays near where it was: unassigning, and a status that is saved by the button", async (context) => {
  const member = await newUser();
  const task = await makeTask(`focus ${++numbers}`);
  await assign(task, member);
  const page = await site.open("/tasks/", { user: member, ...context });
  const select = page.getByLabel(`Status of ${task.title}`, { exact: true });
  await select.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Tab");
  await page.locator("button:focus", { hasText: "Save" }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByText(`${task.title}: In progress`).waitFor();
  assert.equal(await select.evaluate((element) => element === document.activeElement), true);
  await site.close(page);

  const desk = await site.open("/tasks/?status=IN_PROGRESS", { user: "ana", ...context });
  await desk.getByRole("button", { name: `Who: ${task.title}`, exact: true }).click();
  await desk.getByRole("button", { name: `Unassign ${member} from ${task.title}` }).focus();
  await desk.keyboard.press("Enter");
  await desk.locator(`[data-task="${task.taskId}"]`).getByText("Nobody yet.").waitFor();
  await desk.locator(`[data-task="${task.taskId}"] .assigned:focus`).waitFor();
  await desk.keyboard.press("Tab");
  await desk.locator("button:focus", { hasText: "Assign" }).waitFor();
  await site.close(desk);
});

testBoth("assigning notifies, unassigning can be undone, counts follow", async (context) => {
  const member = await newUser();
  const task = await makeTask(`to tell ${++numbers}`);
  const mine = await site.open("/tasks/", { user: member, ...context });
  await mine.getByText("Nothing is assigned to you.").waitFor();
  await assign(task, member);
  await mine.locator(`[data-task="${task.taskId}"]`).waitFor();
  await mine.getByRole("button", { name: "Notifications 1 unread" }).click();
  await mine.getByRole("dialog").getByRole("listitem").filter({ hasText: task.title }).waitFor();
  await mine.keyboard.press("Escape");
  await mine.getByRole("button", { name: "Notifications", exact: true }).waitFor();
  await site.close(mine);

  const page = await site.open("/tasks/?status=OPEN", { user: "ana", ...context });
  await page.getByRole("button", { name: `Who: ${task.title}`, exact: true }).click();
  await page.getByRole("button", { name: `Unassign ${member} from ${task.title}` }).click();
  await page.locator(`[data-task="${task.taskId}"]`).getByText("Nobody yet.").waitFor();
  await page.locator(".toast").getByRole("button", { name: "Undo" }).click();
  await page.locator(`[data-task="${task.taskId}"]`).getByText(member).waitFor();
  const { body } = await site.rest("GET", "/tasks/api/tasks/counts");
  await page.getByRole("tab", { name: `Open ${body.byStatus.OPEN}` }).waitFor();
  await page.getByText(`${body.byStatusAndPriority.OPEN.HIGH} high`).waitFor();
  await site.close(page);
});

testBoth("an admin administers users", async (context) => {
  const userId = `made-${++numbers}`;
  const page = await site.open("/tasks/?status=USERS", { user: "ana", refusals: [409], ...context });
  await page.getByRole("button", { name: "New user" }).click();
  await page.getByLabel("Email").fill(`${userId}@example.com`);
  await page.getByLabel("User id").fill(userId);
  await page.getByRole("button", { name: "Create" }).click();
  const row = page.locator(`[data-user="${userId}"]`);
  await row.getByRole("button", { name: /^Make admin/ }).click();
  await row.getByText("admin", { exact: true }).waitFor();
  await row.getByRole("button", { name: /^Deactivate/ }).click();
  await row.getByText("deactivated").waitFor();
  await page.getByLabel("Find by id").fill("ana"); /* the list has a page of the newest */
  await page.keyboard.press("Enter");
  await page.getByRole("status", { name: "Found" }).getByRole("button", { name: /^Deactivate/ }).click();
  await page.locator(".toast.error").waitFor(); /* nobody locks themselves out */
  await site.close(page);
});

testBoth("without an active account the page names the administrator to contact", async (context) => {
  const user = await newUser();
  for (const [who, text] of [["a-stranger", "You have no account here yet."], [user, "Your account is deactivated."]]) {
    if (who === user) {
      assert.equal((await site.rest("PUT", `/tasks/api/users/${user}/status`, { status: "DEACTIVATED" })).status, 204);
    }
    const page = await site.open("/tasks/?status=OPEN", { user: who, ...context });
    await page.getByText(text).waitFor();
    await page.getByText(who, { exact: true }).last().waitFor();
    assert.equal(await page.getByRole("button", { name: "New task" }).count(), 0);
    assert.equal(await page.locator("[data-task]").count(), 0);
    await site.close(page);
  }
});

testBoth("a task that would be larger than 4 KB is refused before it is sent", async (context) => {
  const page = await site.open("/tasks/", context);
  const sent = [];
  page.on("request", (request) => request.method() === "POST" && sent.push(request.url()));
  await page.getByRole("button", { name: "New task" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Title").fill("Large");
  await dialog.getByLabel("Description").fill("é".repeat(1800));
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByRole("alert").getByText("Title and description are too long together").waitFor();
  assert.equal(await dialog.getByLabel("Title").inputValue(), "Large");
  assert.deepEqual(sent, []);
  await site.close(page);
});

testBoth("a task whose answer is lost is there once when it is sent again", async (context, width) => {
  const title = `Sent twice at ${width}`;
  const page = await site.open("/tasks/", { user: "ana", ...context });
  await page.getByRole("button", { name: "New task" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Title").fill(title);
  await loseAnswer(page, "POST", "/tasks");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByRole("alert").getByText(/./).waitFor();
  await dialog.getByRole("button", { name: "Create" }).click();
  await page.locator("[data-task]", { hasText: title }).waitFor();
  const { items } = (await site.rest("GET", "/tasks/api/tasks?status=OPEN&limit=100")).body;
  assert.equal(items.filter((task) => task.title === title).length, 1);
  page.troubles = page.troubles.filter((text) => !text.includes("ERR_CONNECTION_RESET"));
  await site.close(page);
});

testBoth("more than 99 unread notifications are 99+", async (context) => {
  const user = await newUser();
  for (let number = 0; number < 101; number++) {
    await assign(await makeTask(`Task ${number} of ${user}`), user);
  }
  const page = await site.open("/tasks/", { user, ...context });
  await page.getByRole("button", { name: "Notifications 99+ unread" }).waitFor();
  await site.close(page);
});
