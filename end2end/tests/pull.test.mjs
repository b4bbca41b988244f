import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { after, afterEach, before, describe, test } from "node:test";

import { assertAccessible } from "../support/browser.mjs";
import { MODES, WORKFLOWS, begin, openDesk } from "../support/desk.mjs";

/** The narrowest that WCAG 2.2 (1.4.10) asks for: 1280 px at four times the size. */
const NARROW = { width: 320, height: 640 };

/** A destination that lists `records` one a page, and breaks at the second one where `isBroken`. */
async function openLedger() {
  const ledger = { records: [], isBroken: false };
  const server = createServer((request, answer) => {
    const at = Number(new URL(request.url, "http://ledger").searchParams.get("at") ?? 0);
    if (ledger.isBroken && at > 0) return answer.writeHead(503).end();
    const next = at + 1 < ledger.records.length ? `?at=${at + 1}` : null;
    answer.writeHead(200, { "content-type": "application/json" });
    answer.end(JSON.stringify({ items: ledger.records.slice(at, at + 1), next }));
  });
  await new Promise((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  const close = () => new Promise((resolve) => server.close(resolve).closeAllConnections());
  return Object.assign(ledger, { url: `http://127.0.0.1:${server.address().port}`, close });
}

const workflows = (url) =>
  WORKFLOWS.replace('title = "Accounting handoff"', 'title = "Accounting handoff"\ndestination = "ledger"') +
  `
[[destination]]
name = "ledger"
base_url = "${url}"

[destination.list]
path = "/records?of={{ company }}&since={{ from[:10] }}"
records = "$.items[*]"
next_page = "$.next"
record = { destination_reference = "$.id", amount = "$.total", currency = "$.currency" }
`;

describe("pulling a destination's list", () => {
  let ledger, desk;
  before(async () => {
    ledger = await openLedger();
    const people = { olga: ["--role", "operator"], vera: ["--role", "viewer"] };
    desk = await openDesk({ workflows: workflows(ledger.url), people });
  });
  after(async () => {
    await desk?.close();
    await ledger?.close();
  });
  afterEach(() => desk.endPages());

  async function pullNow(page) {
    await page.visit("/reconciliation");
    const form = page.getByRole("region", { name: "Pull what the destination holds" });
    await form.getByLabel("Workflow to pull").selectOption("accounting-handoff");
    await form.getByLabel("Company to pull").fill("acme");
    await form.getByRole("button", { name: "Pull now" }).click();
    return form;
  }

  for (const { mode, scripts } of MODES) {
    test(`${mode}: a list is pulled to its end, and one that breaks is not compared`, async () => {
      const [kept, hand] = [`task-${randomUUID()}`, `hand-${randomUUID()}`];
      await desk.worker.confirm({ ...begin(), payload: { currency: "EUR", amount: "10.00" } }, kept);
      ledger.records.push({ id: kept, total: "10.00", currency: "EUR" }, { id: hand, total: "7.50", currency: "EUR" });
      const page = await desk.page({ as: "olga", scripts });

      ledger.isBroken = true;
      const form = await pullNow(page);
      await form.getByRole("alert").getByText(/at page 2: it answered 503/).waitFor();
      assert.equal(await form.getByLabel("Company to pull").inputValue(), "acme", "what was written stays");
      ledger.isBroken = false;

      await pullNow(page);
      await page.getByText("Reconciled. This is what it came to.").waitFor();
      const path = new URL(page.url()).pathname;
      await page.getByText("records pulled from ledger").waitFor();
      await page.getByRole("navigation", { name: "Buckets" }).getByRole("link", { name: /Unguarded/ }).click();
      await page.getByRole("link", { name: `Act on it ${hand}` }).waitFor();
      await pullNow(page);
      await page.getByText(/nothing was changed/).waitFor();
      assert.equal(new URL(page.url()).pathname, path, "the same list is the same reconciliation");
    });
  }

  test("axe finds nothing, and a viewer sees why they may not", async () => {
    for (const colorScheme of ["light", "dark"]) {
      const page = await desk.page({ as: "vera", colorScheme });
      await page.visit("/reconciliation");
      assert.ok(await page.getByRole("button", { name: "Pull now" }).isDisabled());
      await page.getByText("Only an operator, finance or an administrator pulls records; you are a viewer.").waitFor();
      await assertAccessible(page);
      await page.setViewportSize(NARROW);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth));
    }
  });
});
