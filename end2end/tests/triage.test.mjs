// Deciding without leaving the queue: both sides beside the forms, the evidence in the same form, and what waits in sight of everybody.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, afterEach, before, describe, test } from "node:test";

import { assertAccessible } from "../support/browser.mjs";
import { MODES, begin, eventually, openDesk, sentence } from "../support/desk.mjs";

/** A destination whose record of each operation has another amount than was sent. */
async function openLedger() {
  const server = createServer((request, response) => {
    const reference = new URL(request.url, "http://ledger").searchParams.get("reference");
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify([{ id: "task-907", reference, amount: "102.00", iban: "DE00-HELD" }]));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

describe("the queue as the place where things are decided", () => {
  let desk;
  let ledger;
  before(async () => {
    ledger = await openLedger();
    desk = await openDesk({
      workflows: `
[[destination]]
name = "ledger"
base_url = "${ledger.url}"
[destination.lookup]
method = "GET"
path = "/tasks?reference={{ external_reference }}"
records = "$[*]"
external_reference = "$.reference"
reference = "$.id"

[[workflow]]
name = "bank-transfer"
description = "transfer {document} of {company}"
destination = "ledger"
amount = "/amount"
currency = "/currency"
sensitive = ["/iban"]
key_fields = [
  { payload = "/amount", record = "$.amount", compare = "decimal" },
  { payload = "/iban", record = "$.iban" },
]

[[workflow]]
name = "accounting-handoff"
title = "Accounting handoff"
description = "create the accounting handoff for {document} in {company}"
amount = "/amount"
currency = "/currency"
[workflow.amendment]
amendable = ["/amount"]
before_reconciliation = "amend"
`,
      people: {
        olga: ["--role", "operator"],
        fay: ["--role", "finance"],
        finn: ["--role", "finance"],
        vera: ["--role", "viewer"],
      },
    });
  });
  after(async () => {
    await desk?.close();
    ledger?.close();
  });
  afterEach(() => desk.endPages());

  /** A transfer of which the ledger holds something else: disputed. */
  const disputed = async () => {
    const asked = begin();
    const payload = { ...asked.payload, iban: "DE00-SENT", customer: "C-77" };
    const lost = await desk.worker.lose({ ...asked, workflow: "bank-transfer", payload });
    await eventually(async () => assert.equal(await desk.worker.state(lost.operation.id), "disputed"));
    return { ...lost.operation, document: asked.document };
  };

  for (const { mode, scripts } of MODES) {
    test(`${mode}: what was sent and what is held stand beside the decision, masked until they are opened`, async () => {
      const { id, document } = await disputed();
      const page = await desk.page({ as: "olga", scripts });
      await page.visit("/unknown");
      assert.ok(!(await page.content()).includes("C-77"), "the list reads no payloads");
      await page.getByRole("link", { name: new RegExp(`^Decide.*${document}`) }).click();
      const panel = page.getByRole("region", { name: new RegExp(`^Decide: .*${document}`) });
      const sent = panel.getByRole("region", { name: "What was sent" });
      await sent.getByText("C-77").first().waitFor();
      await sent.getByText("1180.00").first().waitFor();
      const held = panel.getByRole("region", { name: "What the destination holds" });
      await held.getByText("2 key fields differ").waitFor();
      const row = held.getByRole("row", { name: /amount/ });
      assert.match(await row.innerText(), /1180\.00[^]*102\.00/);
      const shown = await panel.innerText();
      assert.ok(!shown.includes("DE00-") && /masked,.another.value/.test(shown), shown);
      if (scripts) await assertAccessible(page);

      // What is written stays while the fields are opened, and the destination is asked.
      const reason = panel.getByRole("region", { name: "Not applied" }).getByLabel("Reason");
      if (scripts) await reason.fill("half a sentence");
      await panel.getByRole("button", { name: /^Open/ }).click();
      await held.getByText("DE00-HELD").first().waitFor();
      await panel.getByRole("button", { name: "Look up now" }).click();
      await panel.getByRole("status").getByText(/asked just now.*It stays disputed/).waitFor();
      if (scripts) assert.equal(await reason.inputValue(), "half a sentence");
      assert.ok(page.url().includes(`decide=${id}`), "nobody left the queue");
      assert.equal(await desk.worker.state(id), "disputed");
      const vera = await desk.page({ as: "vera", scripts });
      await vera.visit(`/unknown?decide=${id}`);
      await vera.getByText("2 key fields differ").waitFor();
      assert.ok(!(await vera.content()).includes("DE00-"), "for whoever opened it alone");
    });

    test(`${mode}: evidence comes in the form of the decision, and a refusal keeps what was written`, async () => {
      const asked = begin();
      const { operation } = await desk.worker.lose(asked);
      const next = begin();
      await desk.worker.lose(next);
      const page = await desk.page({ as: "olga", scripts });
      await page.visit("/unknown?sort=longest");
      await page.getByRole("link", { name: new RegExp(`^Decide.*${asked.document}`) }).click();
      const form = page.getByRole("region", { name: "Not applied" });
      await form.getByText(/^Evidence is needed/).waitFor();
      await form.getByText("The operation becomes").getByText("Failed").waitFor();
      await form.getByLabel("Reason").fill("searched by document: none");
      await form.getByRole("button", { name: "Mark as not applied" }).click();
      await form.getByRole("alert").getByText(/Evidence is needed/).waitFor();
      assert.equal(await form.getByLabel("Reason").inputValue(), "searched by document: none");
      assert.equal(await desk.worker.state(operation.id), "unknown");

      await form.getByLabel(/^File/).setInputFiles({ name: "search.txt", mimeType: "text/plain", buffer: Buffer.from("0 records") });
      await form.getByRole("button", { name: "Mark as not applied" }).click();
      const effect = page.getByRole("status").filter({ hasText: sentence(asked.document) });
      await effect.getByText("Not applied: the operation is Failed.").waitFor();
      assert.match(await effect.innerText(), /^\s*Decided: /);
      await page.getByRole("region", { name: /^Decide: / }).waitFor();
      assert.equal(await desk.worker.state(operation.id), "failed");
      await page.visit(`/operations/${operation.id}`);
      await page.getByRole("region", { name: "Evidence", exact: true }).getByRole("link", { name: "search.txt" }).waitFor();
    });

    test(`${mode}: a decision on a page that is no longer true keeps what was written, on the page that is`, async () => {
      const asked = begin();
      const { operation } = await desk.worker.lose(asked);
      const page = await desk.page({ as: "olga", scripts, refusals: true });
      await page.visit(`/unknown?decide=${operation.id}`);
      const form = page.getByRole("region", { name: "Confirm with reference" });
      await form.getByLabel(/^Destination reference/).fill("task-1");
      await form.getByLabel("Reason").fill("the bank shows it");
      const other = await desk.page({ as: "fay", scripts: false });
      await other.visit(`/operations/${operation.id}`);
      const evidence = other.getByRole("region", { name: "Evidence", exact: true });
      await evidence.getByLabel("Note").fill("look at the bank first");
      await evidence.getByRole("button", { name: "Add evidence" }).click();
      await other.getByText("The evidence is kept.").waitFor();

      await form.getByRole("button", { name: "Confirm" }).click();
      await form.getByRole("alert").getByText(/Meanwhile it is unknown: fay@example\.com changed it/).waitFor();
      assert.equal(await form.getByLabel("Reason").inputValue(), "the bank shows it");
      await page.getByText("look at the bank first").first().waitFor();
      // It is the page as it is now: the same decision counts.
      await form.getByRole("button", { name: "Confirm" }).click();
      await page.getByRole("status").filter({ hasText: sentence(asked.document) }).getByText("Confirmed", { exact: true }).waitFor();
      assert.equal(await desk.worker.state(operation.id), "confirmed");
    });

    test(`${mode}: rules that wait are counted for whoever may approve them`, async () => {
      const proposer = await desk.page({ as: "fay", scripts });
      await proposer.visit("/settings/rules?workflow=accounting-handoff");
      const counted = async (page) => {
        await page.visit("/");
        return (await page.getByRole("navigation", { name: "Desk" }).getByRole("link", { name: /^Rules/ }).innerText()).trim();
      };
      const form = proposer.getByRole("region", { name: "Propose a change" });
      await form.getByLabel(/^Left out of the fingerprint/).fill(`/meta/${scripts ? "a" : "b"}`);
      await form.getByLabel("Reason").fill("it says nothing");
      await form.getByRole("button", { name: "Propose" }).click();
      await proposer.getByRole("status").filter({ hasText: "is proposed" }).waitFor();
      assert.match(await counted(proposer), /^Rules$/, "nobody approves their own");
      const finn = await desk.page({ as: "finn", scripts });
      assert.match(await counted(finn), /^Rules\s*1/);
      const figure = finn.getByRole("listitem").filter({ has: finn.getByRole("link", { name: "Rules to approve" }) });
      assert.match(await figure.innerText(), /1/);
      const olga = await desk.page({ as: "olga", scripts });
      assert.match(await counted(olga), /^Rules$/);
      assert.equal(await olga.getByRole("link", { name: "Rules to approve" }).count(), 0);

      await finn.getByRole("link", { name: "Rules to approve" }).click();
      await finn.getByRole("link", { name: "Accounting handoff" }).first().click();
      const reject = finn.getByRole("region", { name: "Reject" });
      await reject.getByLabel("Reason").fill("it says much");
      await reject.getByRole("button", { name: "Reject" }).click();
      await finn.getByRole("status").filter({ hasText: "rejected" }).waitFor();
      assert.match(await counted(finn), /^Rules$/);
    });

    test(`${mode}: on a phone the header is a line, and the menu opens and closes`, async () => {
      await desk.worker.lose(begin());
      for (const width of [390, 320]) {
        const page = await desk.page({ as: "olga", scripts, viewport: { width, height: 844 } });
        await page.visit("/operations");
        const header = page.getByRole("banner");
        assert.ok((await header.boundingBox()).height < 64, `${width} px`);
        const nav = page.getByRole("navigation", { name: "Desk" });
        assert.equal(await nav.count(), 0, "it is closed");
        const menu = header.getByText("Menu", { exact: false }).first();
        assert.match(await menu.innerText(), /\d/, "what waits is counted on it");
        await menu.click();
        await nav.getByRole("link", { name: /^Unknown/ }).waitFor();
        await page.getByRole("button", { name: "Sign out" }).waitFor();
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing sticks out");
        if (scripts) await assertAccessible(page);
        await nav.getByRole("link", { name: /^Unknown/ }).click();
        await page.getByRole("heading", { name: "Unknown", level: 1 }).waitFor();
        assert.ok((await header.boundingBox()).height < 64, "it is closed where one has gone");
      }
    });
  }

  test("keys walk the amendments, and nobody is offered what their role cannot do", async () => {
    const paths = [];
    for (const document of ["order-41", "order-42", "order-43"]) {
      const { operation } = await desk.worker.confirm(begin(document));
      const payload = { ...begin(document).payload, amount: "1200.00" };
      const { amendment } = await desk.worker.ask("POST", `/operations/${operation.id}/amendments`, { payload, reason: "one more" });
      paths.unshift(`/amendments/${amendment.id}`);
    }
    const page = await desk.page({ as: "fay" });
    await page.visit("/amendments");
    const press = async (key, path) => {
      await page.evaluate(() => document.activeElement.blur());
      await page.keyboard.press(key);
      await page.waitForURL((url) => url.pathname === path);
      await page.waitForFunction(() => document.activeElement.tagName === "H1");
    };
    await press("]", paths[0]);
    await press("]", paths[1]);
    await press("[", paths[0]);
    await page.keyboard.press("?");
    const told = await page.getByRole("dialog", { name: "Keys of this page" }).innerText();
    assert.ok(told.includes("The next one in the queue") && !told.includes("The one before"), told);

    const vera = await desk.page({ as: "vera" });
    await vera.visit(paths[1]);
    await vera.getByRole("region", { name: "Approve", exact: true }).waitFor();
    assert.equal(await vera.getByRole("region", { name: "Withdraw", exact: true }).count(), 0);
  });
});
