import assert from "node:assert/strict";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { after, afterEach, before, describe, test } from "node:test";

import { assertAccessible } from "../support/browser.mjs";
import { MODES, begin as asked, openDesk, sentence } from "../support/desk.mjs";

/** The narrowest that WCAG 2.2 (1.4.10) asks for. */
const NARROW = { width: 320, height: 640 };

/** The figures of a period are those of five seconds ago. */
const MARGIN_MS = 6_000;

/** A destination that answers each reference with the records that a test gave it, and breaks for every other. */
async function openLedger() {
  const held = new Map();
  const server = createServer((request, response) => {
    const reference = new URL(request.url, "http://ledger").searchParams.get("reference");
    response.statusCode = held.has(reference) ? 200 : 500;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(held.get(reference) ?? { error: "out of order" }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { held, url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

const workflows = (ledger) => `
[[workflow]]
name = "accounting-handoff"
description = "create the accounting handoff for {document} in {company}"
amount = "/amount"
currency = "/currency"
[workflow.amendment]
amendable = ["/quantity", "/amount", "/lines[sku]/quantity"]
before_reconciliation = "amend"
second_approval_over = "5000.00"

[[workflow]]
name = "ledger-entry"
destination = "ledger"
[workflow.amendment]
amendable = ["/quantity"]
before_reconciliation = "replace"

[[destination]]
name = "ledger"
base_url = "${ledger}"
[destination.lookup]
method = "GET"
path = "/tasks?reference={{ external_reference }}"
records = "$[*]"
external_reference = "$.reference"
reference = "$.id"
`;

describe("amendments", () => {
  let desk;
  let ledger;
  before(async () => {
    ledger = await openLedger();
    desk = await openDesk({
      workflows: workflows(ledger.url),
      people: {
        olga: ["--role", "operator"],
        fay: ["--role", "finance"],
        finn: ["--role", "finance"],
        vera: ["--role", "viewer"],
        gwen: ["--role", "finance", "--company", "globex"],
      },
    });
  });
  after(async () => {
    await desk?.close();
    ledger?.close();
  });
  afterEach(() => desk.endPages());

  /** A document that is confirmed. */
  const confirmed = async (more = {}, workflow = "accounting-handoff", about = {}) => {
    const event = { ...asked(), workflow, ...about };
    event.payload = { ...event.payload, quantity: 2, lines: [{ sku: "A", quantity: 1 }], ...more };
    return { event, grant: await desk.worker.confirm(event) };
  };

  /** Opens the form of a proposal from the operation's page. */
  const openForm = async (page, { grant }) => {
    await page.visit(`/operations/${grant.operation.id}`);
    await page.getByRole("link", { name: "Propose an amendment" }).click();
    await page.getByRole("heading", { name: /^Propose an amendment/, level: 1 }).waitFor();
    return page.getByRole("region", { name: "The change" });
  };

  /** Proposes another quantity; answers the path of the amendment. */
  const propose = async (page, document, { quantity = "3", place = "/quantity", reason = "the customer rang" } = {}) => {
    const form = await openForm(page, document);
    await form.getByLabel(place, { exact: true }).fill(quantity);
    await form.getByLabel("Reason").fill(reason);
    await form.getByRole("button", { name: "Propose" }).click();
    await page.getByRole("status").filter({ hasText: "It is proposed, as revision 2" }).waitFor();
    return new URL(page.url()).pathname;
  };

  const region = (page, name) => page.getByRole("region", { name, exact: true });

  const decide = async (page, what, reason) => {
    const form = region(page, what);
    if (reason) await form.getByLabel(/^Reason/).fill(reason);
    await form.getByRole("button", { name: what }).click();
  };

  for (const { mode, scripts } of MODES) {
    test(`${mode}: proposed by one, approved by another, begun once, and the old event is superseded`, async () => {
      const document = await confirmed();
      const proposer = await desk.page({ as: "fay", scripts });
      const path = await propose(proposer, document);
      const row = proposer.getByRole("row", { name: "/quantity" });
      assert.match(await row.innerText(), /2[^]*3/);
      assert.ok(await region(proposer, "Approve").getByRole("button").isDisabled());
      await proposer.getByText("You proposed it; somebody else approves it.").waitFor();
      // The server refuses what the screen does not offer.
      const hidden = Object.fromEntries(
        await region(proposer, "Approve")
          .locator("input[type=hidden]")
          .evaluateAll((inputs) => inputs.map(({ name, value }) => [name, value])),
      );
      const answer = await proposer.request.post("/fn/decide_amendment", { form: hidden, headers: { origin: desk.url } });
      assert.equal(answer.status(), 403, await answer.text());
      assert.match(await answer.text(), /you proposed it/);

      const revision = { ...document.event, revision: 2, payload: { ...document.event.payload, quantity: 3 } };
      assert.equal((await desk.worker.begin(revision)).decision, "awaiting_approval");

      const viewer = await desk.page({ as: "vera", scripts });
      await viewer.visit(path);
      for (const name of ["Approve", "Reject"]) {
        assert.ok(await region(viewer, name).getByRole("button").isDisabled(), name);
      }
      assert.equal(await region(viewer, "Withdraw").count(), 0, "it is not theirs to take back");

      const page = await desk.page({ as: "finn", scripts });
      await page.visit("/");
      await page.getByRole("link", { name: "Amendments to approve" }).click();
      await page.getByRole("row", { name: sentence(document.event.document) }).getByRole("link", { name: /quantity 2 → 3/ }).click();
      await page.getByText("Yes: it is confirmed as it was").waitFor();
      await page.alive();
      await decide(page, "Approve", "seen the mail");
      await page.getByRole("status").filter({ hasText: "It is approved, as revision 2" }).waitFor();
      await region(page, "Approvals: 1 of 1").getByText("seen the mail").waitFor();

      const grant = await desk.worker.begin(revision);
      assert.deepEqual([grant.decision, grant.correction], ["proceed", "amend"], JSON.stringify(grant));
      await desk.worker.outcome(grant, { outcome: "confirmed", destination_reference: "task-2" });
      const old = await desk.worker.begin(document.event);
      assert.equal(old.decision, "superseded");
      await page.visit(`/operations/${document.grant.operation.id}`);
      await region(page, "Revisions of the document").getByRole("link", { name: "Revision 2" }).click();
      await page.getByRole("link", { name: "The amendment that proposed this revision" }).click();
      await page.getByText("A worker was permitted to send it at").waitFor();
    });

    test(`${mode}: rejected with a reason, readable, and proposed anew`, async () => {
      const document = await confirmed();
      const proposer = await desk.page({ as: "olga", scripts });
      const path = await propose(proposer, document, { reason: `rejected ${mode}` });
      await proposer.visit(`/operations/${document.grant.operation.id}`);
      const again = proposer.getByRole("button", { name: "Propose an amendment" });
      assert.ok(await again.isDisabled(), "one proposal at a time");
      const page = await desk.page({ as: "fay", scripts });
      await page.visit(path);
      await decide(page, "Reject", "the customer changed their mind");
      await page.getByRole("status").filter({ hasText: "It is rejected" }).waitFor();
      await page.getByText(/fay@example\.com rejected it at .*: the customer changed their mind/).waitFor();
      await page.visit("/amendments?state=rejected");
      await page.getByRole("row", { name: sentence(document.event.document) }).waitFor();
      const file = page.getByRole("link", { name: "CSV", exact: true });
      const rows = (await (await page.request.get(await file.getAttribute("href"))).text()).split("\r\n");
      const exported = rows.find((row) => row.includes(document.event.document));
      assert.match(rows[0], /^id,state,operation,.*ended_reason,review_url$/);
      assert.match(exported, /,rejected,.*the customer changed their mind,http/);
      const next = await propose(proposer, document, { quantity: "4" });
      assert.notEqual(next, path);
      await decide(proposer, "Withdraw", "it was a slip");
      await proposer.getByRole("status").filter({ hasText: "It is withdrawn" }).waitFor();
    });

    test(`${mode}: a conflict becomes a proposal, which is rejected`, async () => {
      const document = await confirmed();
      const changed = { ...document.event, payload: { ...document.event.payload, quantity: 5 } };
      const { conflict } = await desk.worker.begin(changed);
      const deciding = await desk.page({ as: "olga", scripts });
      await deciding.visit(`/conflicts/${conflict.id}`);
      await deciding.alive();
      await deciding.getByLabel("Propose an amendment").check();
      await deciding.getByLabel("Reason").fill("the customer wants five");
      await deciding.getByRole("button", { name: "Decide" }).click();
      await deciding.getByText(/is proposed as revision 2/).first().waitFor();
      const page = await desk.page({ as: "fay", scripts });
      await page.visit("/amendments");
      await page
        .getByRole("row", { name: sentence(document.event.document) })
        .getByRole("link", { name: /quantity 2 → 5/ })
        .click();
      await region(page, "The proposal").getByRole("link", { name: "a conflict" }).waitFor();
      await page.alive();
      await decide(page, "Reject", "three are enough");
      await page.getByRole("status").filter({ hasText: "It is rejected" }).waitFor();
      await page.getByText(/Rejected by fay@example\.com at .*UTC\. Reason: three are enough/).waitFor();
      const begun = await desk.worker.begin({ ...changed, revision: 2 });
      assert.equal(begun.decision, "rejected");
    });

    test(`${mode}: of two people one decides, and the other is told by whom and when`, async () => {
      const document = await confirmed();
      const path = await propose(await desk.page({ as: "olga", scripts }), document);
      const [first, second] = [await desk.page({ as: "fay", scripts }), await desk.page({ as: "finn", scripts, refusals: true })];
      await first.visit(path);
      await second.visit(path);
      await decide(first, "Reject", "no");
      await first.getByRole("status").filter({ hasText: "It is rejected" }).waitFor();
      await decide(second, "Approve", "looks right");
      const told = second.getByRole("alert");
      await told.waitFor();
      assert.match(await told.innerText(), /fay@example\.com changed it at \d{4}-/);
      await second.getByText("looks right").waitFor();
    });

    test(`${mode}: a base that moved cannot be approved on`, async () => {
      const document = await confirmed();
      const path = await propose(await desk.page({ as: "olga", scripts }), document);
      const page = await desk.page({ as: "fay", scripts, refusals: true });
      await page.visit(path);
      await desk.worker.outcome(document.grant, { outcome: "confirmed", destination_reference: "another-task" });
      assert.equal(await desk.worker.state(document.grant.operation.id), "disputed");
      await decide(page, "Approve");
      await page.getByRole("alert").filter({ hasText: "The base has moved: revision 1 is disputed" }).waitFor();
      await page.getByText(/^No: revision 1 is disputed/).waitFor();
      assert.ok(await region(page, "Approve").getByRole("button").isDisabled());
    });

    test(`${mode}: a period that is closed in between takes an approval back`, async () => {
      const company = `closed-${scripts ? "one" : "two"}`;
      const [document, other] = [await confirmed({}, undefined, { company }), await confirmed({}, undefined, { company })];
      const proposer = await desk.page({ as: "olga", scripts });
      const path = await propose(proposer, document);
      const approvedPath = await propose(proposer, other);
      const page = await desk.page({ as: "fay", scripts, refusals: true });
      await page.visit(approvedPath);
      await decide(page, "Approve");
      await page.getByRole("status").filter({ hasText: "It is approved" }).waitFor();
      await page.visit(path);

      await sleep(MARGIN_MS);
      const today = new Date().toISOString().slice(0, 10);
      const closing = await desk.page({ as: "finn", scripts });
      await closing.visit("/amendments");
      await closing.getByRole("link", { name: "Periods", exact: true }).first().click();
      await closing.getByRole("heading", { name: "Periods", level: 1 }).waitFor();
      await closing.visit(`/periods?company=${company}&from=${today}&to=${today}`);
      const sign = closing.getByRole("region", { name: "Sign and close" });
      await closing.alive();
      await sign.getByLabel("Your name").fill("Finn Finance");
      await sign.getByLabel("Why it is closed although something is open").fill("the changes belong to the next one");
      await sign.getByRole("button", { name: "Sign and close" }).click();
      await closing.getByRole("heading", { name: new RegExp(`Certificate of ${company}`) }).waitFor();

      await decide(page, "Approve");
      const told = page.getByRole("alert");
      await told.filter({ hasText: /The base has moved: the correction was "amend" when it was proposed and is "forbid" now/ }).waitFor();
      await told.filter({ hasText: `the period ${today} to ${today} is closed` }).waitFor();
      // What was approved before is void when it is begun.
      const revision = { ...other.event, revision: 2, payload: { ...other.event.payload, quantity: 3 } };
      const begun = await desk.worker.begin(revision);
      assert.equal(begun.decision, "previous_revision");
      assert.match(begun.detail, /the approval holds no longer: .*is closed/);
      await page.visit(approvedPath);
      await page.getByText(/^Its base moved, noticed at /).waitFor();
      await proposer.visit(`/operations/${document.grant.operation.id}`);
      assert.ok(await proposer.getByRole("button", { name: "Propose an amendment" }).isDisabled());
    });

    test(`${mode}: a record is taken back once, asked by one and approved by another`, async () => {
      const document = await confirmed();
      const { operation } = document.grant;
      const { destination_reference: record } = await desk.worker.ask("GET", `/operations/${operation.id}`);
      const asking = await desk.page({ as: "fay", scripts, refusals: true });
      await asking.visit(`/operations/${operation.id}`);
      await asking.getByRole("link", { name: "Take a record back" }).click();
      await asking.getByRole("heading", { name: /^Take a record back/, level: 1 }).waitFor();
      const form = region(asking, "The record");
      assert.ok(await form.getByLabel(record).isChecked(), "the only one there is");
      await asking.alive();
      await form.getByLabel("Reason").fill("posted twice");
      await form.getByRole("button", { name: "Ask to take it back" }).click();
      await asking.getByRole("status").filter({ hasText: "It is proposed, as a reversal of revision 1" }).waitFor();
      const path = new URL(asking.url()).pathname;
      await region(asking, "What is taken back").getByText(record).first().waitFor();
      assert.ok(await region(asking, "Approve").getByRole("button").isDisabled());

      const viewer = await desk.page({ as: "vera", scripts });
      await viewer.visit(`/operations/${operation.id}/reverse`);
      assert.ok(await viewer.getByRole("button", { name: "Ask to take it back" }).isDisabled());

      const page = await desk.page({ as: "finn", scripts });
      await page.visit("/amendments");
      await page.getByRole("link", { name: `${record} is taken back` }).click();
      await page.getByText("Yes: the record stands as it did when this was asked.").waitFor();
      await page.alive();
      await decide(page, "Approve", "seen both");
      await page.getByRole("status").filter({ hasText: "It is approved, as a reversal of revision 1" }).waitFor();
      await region(page, "Approvals: 1 of 1").getByText(`Seen: the record ${record} of revision 1`).waitFor();

      const listed = await desk.worker.ask("GET", `/operations?action=reverse&state=released&document=${document.event.document}`);
      const [reversal] = listed.operations;
      const event = {
        ...document.event,
        action: "reverse",
        payload: { reverses: { operation: operation.id, revision: 1, destination_reference: record } },
      };
      const grant = await desk.worker.begin(event);
      assert.deepEqual(
        [grant.decision, grant.correction, grant.previous.destination_reference, grant.operation.id],
        ["proceed", "reverse", record, reversal.id],
      );
      await desk.worker.outcome(grant, { outcome: "confirmed", destination_reference: "credit-1" });
      assert.equal((await desk.worker.begin(event)).decision, "replay");

      await page.visit(`/operations/${operation.id}`);
      await page.getByText("Reversed by").waitFor();
      await region(page, "Timeline").getByText(`Its record ${record} was taken back`).waitFor();
      await region(page, "Records that are taken back").getByRole("link", { name: "The reversal" }).click();
      await region(page, "What it takes back").getByRole("link", { name: "the operation, revision 1" }).waitFor();
      await asking.visit(`/operations/${operation.id}/reverse`);
      await asking.getByText(`has a reversal already, which is confirmed`).waitFor();
      // The second wish is refused, and what was written stays.
      await form.getByLabel("Another one").check();
      await form.getByLabel("Its id at the destination").fill(record);
      await form.getByLabel("Reason").fill("once more");
      await form.getByRole("button", { name: "Ask to take it back" }).click();
      await form.getByRole("alert").filter({ hasText: "no record is taken back twice" }).waitFor();
      assert.equal(await form.getByLabel("Reason").inputValue(), "once more");
    });

    test(`${mode}: what the rules forbid is told at its place, and nothing that was written is lost`, async () => {
      const document = await confirmed();
      const page = await desk.page({ as: "olga", scripts, refusals: true });
      const form = await openForm(page, document);
      const fixed = region(page, "What may not change");
      await fixed.getByText("/customer").waitFor();
      await fixed.getByText("/lines/0/sku").waitFor();
      const payload = form.getByLabel(/^The whole payload/);
      await payload.fill((await payload.inputValue()).replace("C-77", "C-78"));
      await form.getByLabel("/lines/0/quantity").fill("7");
      await form.getByLabel("Reason").fill("another customer");
      await form.getByRole("button", { name: "Propose" }).click();
      await page.getByRole("alert").filter({ hasText: "The workflow forbids this change: /customer" }).waitFor();
      await fixed.getByRole("listitem").filter({ hasText: "/customer" }).getByText("Changed in your proposal").waitFor();
      assert.match(await payload.inputValue(), /C-78/);
      assert.equal(await form.getByLabel("/lines/0/quantity").inputValue(), "7");
      assert.equal(await form.getByLabel("Reason").inputValue(), "another customer");
      await page.alive();
      await form.getByLabel("/lines/0/quantity").fill("seven");
      await form.getByRole("button", { name: "Propose" }).click();
      await form.getByText("Is no number; write it as 12.50.", { exact: true }).waitFor();
      assert.equal(await form.getByLabel("/lines/0/quantity").getAttribute("aria-invalid"), "true");
    });

    test(`${mode}: above the workflow's amount two people approve`, async () => {
      const document = await confirmed({ amount: "9000.00" });
      const path = await propose(await desk.page({ as: "olga", scripts }), document, { place: "/amount", quantity: "9100.00" });
      const first = await desk.page({ as: "fay", scripts });
      await first.visit(path);
      await decide(first, "Approve");
      await first.getByRole("status").filter({ hasText: "1 more approval is needed" }).waitFor();
      await first.getByText("You have approved it; a second person is needed.").waitFor();
      assert.ok(await region(first, "Approve").getByRole("button").isDisabled());
      const second = await desk.page({ as: "finn", scripts });
      await second.visit(path);
      await decide(second, "Approve");
      await second.getByRole("status").filter({ hasText: "It is approved" }).waitFor();
    });

    test(`${mode}: the destination is looked at before an approval`, async () => {
      const document = await confirmed({}, "ledger-entry");
      const { operation } = document.grant;
      const held = await desk.worker.ask("GET", `/operations/${operation.id}`);
      const path = await propose(await desk.page({ as: "olga", scripts }), document);
      const page = await desk.page({ as: "fay", scripts, refusals: true });
      await page.visit(path);
      await decide(page, "Approve", "checked");
      await page.getByRole("alert").filter({ hasText: "could not be asked whether it still holds the base" }).waitFor();
      assert.equal(await region(page, "Approve").getByLabel(/^Reason/).inputValue(), "checked");
      // It holds another record than the one that is to be amended.
      ledger.held.set(held.external_reference, [{ id: "somebody-elses", reference: held.external_reference }]);
      await page.alive();
      await region(page, "Approve").getByLabel("Approve although the destination could not tell").check();
      await decide(page, "Approve");
      await page.getByRole("alert").filter({ hasText: "the destination shows the record \"somebody-elses\"" }).waitFor();
      ledger.held.set(held.external_reference, [{ id: held.destination_reference, reference: held.external_reference }]);
      await page.alive();
      await decide(page, "Approve");
      await page.getByRole("status").filter({ hasText: "It is approved" }).waitFor();
      await page.getByText("The destination showed the base as it is held.").waitFor();
    });
  }

  test("of another company nothing is found", async () => {
    const document = await confirmed({ amount: "4711.00" });
    const path = await propose(await desk.page({ as: "olga", scripts: false }), document);
    const page = await desk.page({ as: "gwen", scripts: false, refusals: true });
    for (const address of [path, `/operations/${document.grant.operation.id}/amend`]) {
      assert.equal((await page.visit(address)).status(), 404);
      assert.doesNotMatch(await page.content(), new RegExp(`${document.event.document}|4711`));
    }
    await page.visit("/amendments?state=all");
    await page.getByText("No amendment is like that.").waitFor();
    assert.equal((await page.visit("/amendments?state=lost")).status(), 422);
  });

  test("everybody can use it, on a narrow screen too", async () => {
    const document = await confirmed();
    const other = await confirmed();
    const path = await propose(await desk.page({ as: "olga", scripts: false }), document);
    for (const colorScheme of ["light", "dark"]) {
      const page = await desk.page({ as: "fay", colorScheme, viewport: NARROW });
      const base = `/operations/${other.grant.operation.id}`;
      for (const address of ["/amendments?state=all", path, `${base}/amend`, `${base}/reverse`, "/periods", "/settings/rules"]) {
        await page.visit(address);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= NARROW.width, `${address} is ${wide} px wide`);
        await assertAccessible(page);
      }
    }
  });
});
