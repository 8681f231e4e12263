/* Sample data: the tables of five applications, with the items that their documents describe. The schemas are those of
 * apps/; the items are made here, the same ones each time but for today's date. A chunk of its own. */
import calendar from "../../../apps/calendar/schema.json";
import calls from "../../../apps/calls/schema.json";
import reconciliation from "../../../apps/reconciliation/schema.json";
import tasks from "../../../apps/tasks/schema.json";
import tickets from "../../../apps/tickets/schema.json";

const DAY = 86_400_000;
const S = (text) => ({ S: text });
const N = (number) => ({ N: String(number) });

/* Numbers that look random and are the same each time (mulberry32). */
function randomFrom(seed) {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
const pick = (random, list) => list[random(list.length)];
const id = (random) => "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx".replaceAll("x", () => random(16).toString(16));
const iso = (at) => new Date(at).toISOString();
const date = (at) => iso(at).slice(0, 10);

const PEOPLE = ["ana", "ben", "chloe", "dario", "emil", "farah", "gita", "hugo", "ines", "jonas", "kofi", "lena", "mika", "nora"];

function taskItems(now) {
  const random = randomFrom(1);
  const users = PEOPLE.map((user, i) => {
    const at = iso(now - (60 - i) * DAY);
    return { PK: S(`USER#${user}`), SK: S("PROFILE"), EntityType: S("USER"), UserId: S(user), Email: S(`${user}@example.com`), UserStatus: S(i === 4 ? "DEACTIVATED" : "ACTIVE"),
      Groups: { L: [S(i === 0 ? "Admins" : "Members")] }, CreatedAt: S(at), GSI2PK: S("USERS"), GSI2SK: S(`CREATED_AT#${at}`) };
  });
  const verbs = ["Renew", "Write down", "Move", "Order", "Find out about", "Close", "Test", "Review", "Plan", "Archive"];
  const things = ["the certificate of the shop", "how orders are refunded", "the nightly report", "chairs for the meeting room", "slow searches on Mondays", "the old account", "the new invoices", "the backup of March"];
  const rows = [];
  for (let i = 0; i < 60; i++) {
    const task = id(random);
    const at = iso(now - random(45) * DAY - random(DAY));
    const status = pick(random, ["OPEN", "OPEN", "OPEN", "IN_PROGRESS", "IN_PROGRESS", "COMPLETED", "CLOSED"]);
    rows.push({ PK: S(`TASK#${task}`), SK: S("METADATA"), EntityType: S("TASK"), TaskId: S(task), Title: S(`${pick(random, verbs)} ${pick(random, things)}`), Status: S(status),
      Priority: S(pick(random, ["LOW", "MEDIUM", "HIGH"])), CreatedBy: S(pick(random, PEOPLE)), CreatedAt: S(at), UpdatedAt: S(at), GSI2PK: S(`STATUS#${status}`), GSI2SK: S(`CREATED_AT#${at}`) });
    for (const user of new Set([pick(random, PEOPLE), pick(random, PEOPLE), pick(random, PEOPLE)].slice(0, random(4)))) {
      rows.push({ PK: S(`TASK#${task}`), SK: S(`ASSIGNMENT#${user}`), EntityType: S("ASSIGNMENT"), TaskId: S(task), UserId: S(user), AssignedBy: S("ana"), AssignedAt: S(at),
        GSI1PK: S(`USER#${user}`), GSI1SK: S(`TASK#${task}`) });
    }
  }
  return [...users, ...rows];
}

function ticketItems(now) {
  const random = randomFrom(2);
  const issues = ["My laptop won't turn on after pressing the power button", "Email not working in Outlook", "The VPN asks for my password every few minutes", "The printer on the second floor prints blank pages",
    "I need access to the shared calendar of my team", "The monitor flickers", "Please reset my password", "The web shop is slow today"];
  const comments = ["Tried restarting but it is still not working", "Checked the internet connection: it's working fine", "It happens on the office network too", "New toner, the same", "Solved, thank you"];
  return [...Array(48).keys()].map(() => {
    const created = now - random(30) * DAY - random(DAY);
    const list = [...Array(random(4)).keys()].map((i) => ({ M: { comment_text: S(pick(random, comments)), added_at: S(iso(created + (i + 1) * 180_000)) } }));
    return { ticket_id: S(id(random)), caller_id: S(`poc-user-00${1 + random(6)}`), issue_description: S(pick(random, issues)), status: S(pick(random, ["open", "open", "in_progress", "closed"])),
      created_at: S(iso(created)), updated_at: S(iso(created + list.length * 180_000)), comments: { L: list } };
  });
}

function callItems(now) {
  const random = randomFrom(3);
  const today = Math.floor(now / DAY) * DAY;
  return [...Array(160).keys()].map((i) => {
    const user = pick(random, PEOPLE);
    const at = today + (random(60) - 30) * DAY + (8 + random(10)) * 3_600_000;
    const call = `call-${1000 + i}`;
    const status = at < now ? "COMPLETED" : random(12) === 0 ? "CANCELED" : "SCHEDULED";
    return { userId: S(user), sk: S(`${at}#${call}`), callId: S(call), providerId: S(pick(random, ["dr-lund", "dr-moreau", "dr-osei"])), scheduledFor: N(at), status: S(status),
      userStatus: S(`${user}#${status}`), version: N(at < now ? 2 : 1) };
  });
}

function calendarItems(now) {
  const random = randomFrom(4);
  const rows = [];
  let day = Math.floor(now / DAY) - 30;
  for (let i = 0; i < 16; i++) {
    day += 1 + random(4);
    const nights = 2 + random(6);
    const event = id(random);
    rows.push({ PK: S("EVENT"), SK: S(event), title: S(pick(random, ["Ana", "Ben and Kofi", "Chloe", "Dana", "The Lunds", "Works on the roof", "Family Osei"])), startDate: S(date(day * DAY)), endDate: S(date((day + nights) * DAY)), version: N(1) });
    for (let night = 0; night < nights; night++) {
      rows.push({ PK: S("SLOT"), SK: S(date((day + night) * DAY)), eventId: S(event) });
    }
    day += nights;
  }
  return rows;
}

function callRecordItems(now) {
  const random = randomFrom(5);
  return [...Array(320).keys()].map((i) => {
    const at = iso(now - i * 31 * 60_000).replace(/\.\d+/, "");
    const tenant = pick(random, ["north", "south", "harbour", "airport"]);
    const call = `call-${960000 - i}`;
    const hasAudio = random(17) !== 3;
    const status = random(23) === 5 ? "FAILED" : random(29) === 7 ? "PENDING" : "SUCCESS";
    return { PK: S(`TENANT#${tenant}`), SK: S(`CALL#${call}`), TenantId: S(tenant), CallId: S(call), CallDateTime: S(at), AudioReceived: { BOOL: hasAudio }, ProcessingStatus: S(status),
      ...((!hasAudio || status !== "SUCCESS") && { GSI_Recon_PK: S(`STATUS#PENDING#${random(5)}`), GSI_Recon_SK: S(`${at}#${tenant}`) }) };
  });
}

/* {title, about, schema, items(now)} */
export const SAMPLES = [
  { title: "Tasks", about: "users, tasks and assignments in one table", schema: tasks, items: taskItems },
  { title: "Tickets", about: "tickets of a service desk, by caller", schema: tickets, items: ticketItems },
  { title: "Calls", about: "a user's calls with providers, by time and status", schema: calls, items: callItems },
  { title: "Calendar", about: "a house that is booked by the night", schema: calendar, items: calendarItems },
  { title: "Reconciliation", about: "call records, with a sparse index of those that need a second look", schema: reconciliation, items: callRecordItems },
];
