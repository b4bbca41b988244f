import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, afterEach, before, describe, test } from "node:test";

import { assertAccessible } from "../support/browser.mjs";
import { MODES, openDesk } from "../support/desk.mjs";

/** A destination that holds one record, and answers with whatever resembles what it is asked for. */
async function openLedger() {
  const asked = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify([{ id: "task-907", reference: "INV-1" }, { id: "task-908", reference: "INV-10" }]));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { asked, url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

describe("a destination's lookup", () => {
  let desk;
  let ledger;
  before(async () => {
    ledger = await openLedger();
    desk = await openDesk({
      workflows: `
[[workflow]]
name = "accounting-handoff"
destination = "ledger"
[[destination]]
name = "ledger"
base_url = "${ledger.url}"
headers = { X-Tenant = "s3cret-tenant" }
[destination.lookup]
method = "GET"
path = "/tasks?reference={{ external_reference }}"
records = "$[*]"
external_reference = "$.reference"
reference = "$.id"
[[destination]]
name = "mailer"
base_url = "https://mail.example"
`,
      people: { olga: ["--role", "operator"], vera: ["--role", "viewer"] },
    });
  });
  after(async () => {
    await desk?.close();
    ledger?.close();
  });
  afterEach(() => desk.endPages());

  for (const { mode, scripts } of MODES) {
    test(`${mode}: it is tried, and tells what came back and how it was read`, async () => {
      const page = await desk.page({ as: "olga", scripts });
      await page.visit("/settings");
      const card = page.getByRole("article", { name: "ledger" });
      assert.match(await card.innerText(), /X-Tenant \*{8}/);
      ledger.asked.length = 0;
      await card.getByLabel(/^Look for/).fill("INV-1");
      await card.getByRole("button", { name: "Test lookup" }).click();
      await card.getByText("One live record carries it: task-907.").waitFor();
      const told = await card.innerText();
      for (const part of ["GET /tasks?reference=INV-1", "status 200", "2 records", "Only resembles the reference"]) {
        assert.ok(told.includes(part), `${part} in ${told}`);
      }
      assert.deepEqual(ledger.asked, ["GET /tasks?reference=INV-1"], "asked once");
      assert.ok(!(await page.content()).includes("s3cret-tenant"));
      if (scripts) await assertAccessible(page);
    });
  }

  test("who may not decide may not ask, and is told why", async () => {
    const page = await desk.page({ as: "vera", scripts: false });
    await page.visit("/settings");
    const card = page.getByRole("article", { name: "ledger" });
    assert.ok(await card.getByRole("button", { name: "Test lookup" }).isDisabled());
    await card.getByText("Deciding needs the role operator or admin; you are a viewer.").waitFor();
  });
});
