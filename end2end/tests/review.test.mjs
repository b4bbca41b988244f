import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { after, afterEach, before, describe, test } from "node:test";

import { MODES, WORKFLOWS, address, begin, openDesk, sentence } from "../support/desk.mjs";

const STRICT = `
[[workflow]]
name = "refund"
title = "Refund"
description = "refund {document} in {company}"
amount = "/amount"
currency = "/currency"
sensitive = ["/iban"]
[workflow.review]
second_person_over = "1000.00"
warn_after_minutes = 1
late_after_minutes = 2
`;

/** A refund over the amount that one person decides alone. */
const refund = () => {
  const asked = begin();
  return { ...asked, workflow: "refund", payload: { ...asked.payload, iban: "DE89370400440532013000" } };
};

describe("what people do before and while they settle", () => {
  let desk;
  before(async () => {
    desk = await openDesk({
      workflows: WORKFLOWS + STRICT,
      people: { olga: ["--role", "operator"], oskar: ["--role", "operator"], fay: ["--role", "finance"], vera: ["--role", "viewer"] },
    });
  });
  after(() => desk?.close());
  afterEach(() => desk.endPages());

  for (const { mode, scripts } of MODES) {
    test(`${mode}: who is on it is seen, and taken over in the open`, async () => {
      const asked = begin();
      const { operation } = await desk.worker.lose(asked);
      const mine = await desk.page({ as: "olga", scripts });
      await mine.visit(`/operations/${operation.id}`);
      await mine.getByText("Nobody is on it.").waitFor();
      await mine.getByRole("button", { name: "Claim", exact: true }).click();
      await mine.getByText(/^You are on it until/).waitFor();

      const theirs = await desk.page({ as: "oskar", scripts });
      await theirs.visit("/unknown");
      const row = theirs.getByRole("row", { name: sentence(asked.document) }).filter({ hasNot: theirs.getByRole("heading") });
      await row.getByText(new RegExp(`^${address("olga")}, for`)).waitFor();
      await theirs.visit(`/operations/${operation.id}`);
      await theirs.getByRole("button", { name: "Take over" }).click();
      await theirs.getByText(/^You are on it until/).waitFor();
      await theirs.getByText(`taken over from ${address("olga")}`).waitFor();
      await theirs.getByRole("button", { name: "Give it back" }).click();
      await theirs.getByText("Nobody is on it.").waitFor();
    });

    test(`${mode}: evidence with a file is kept, and comes back as it went in`, async () => {
      const { operation } = await desk.worker.lose();
      const page = await desk.page({ as: "fay", scripts });
      await page.visit(`/operations/${operation.id}`);
      const panel = page.getByRole("region", { name: "Evidence" });
      await panel.getByLabel("Note").fill("The bank shows it");
      await panel.getByLabel("File").setInputFiles({ name: "page.html", mimeType: "text/html", buffer: Buffer.from("<p>") });
      await panel.getByRole("button", { name: "Add evidence" }).click();
      await panel.getByText("Nothing was kept").waitFor();
      assert.equal(await panel.getByLabel("Note").inputValue(), "The bank shows it");

      const content = Buffer.from("date;amount\n2026-03-01;118,00 \u20ac\n");
      await page.alive();
      await panel.getByLabel("File").setInputFiles({ name: "statement.csv", mimeType: "text/csv", buffer: content });
      await panel.getByRole("button", { name: "Add evidence" }).click();
      await panel.getByText("The evidence is kept.").waitFor();
      await panel.getByText(createHash("sha256").update(content).digest("hex"), { exact: true }).waitFor();
      const coming = page.waitForEvent("download");
      await panel.getByRole("link", { name: "statement.csv" }).click();
      assert.deepEqual(await readFile(await (await coming).path()), content);
      // It may be added, and not decided.
      assert.ok(await page.getByRole("button", { name: "Mark as not applied" }).isDisabled());
      assert.equal(await desk.worker.state(operation.id), "unknown");
    });

    test(`${mode}: what is kept waiting leaves the queue and stands where the waiting are`, async () => {
      const asked = begin();
      const { operation } = await desk.worker.lose(asked);
      const page = await desk.page({ as: "olga", scripts });
      await page.visit(`/unknown?decide=${operation.id}`);
      const form = page.getByRole("region", { name: "Keep waiting" });
      await form.getByLabel("Reason").fill("The bank posts at ten");
      await form.getByRole("button", { name: "Keep waiting" }).click();
      await page.getByText(/It is kept waiting until/).waitFor();
      await page.visit("/unknown");
      assert.equal(await page.getByRole("row", { name: sentence(asked.document) }).count(), 0);
      await page.getByRole("link", { name: "Kept waiting" }).click();
      await page.getByRole("row", { name: sentence(asked.document) }).getByText(/The bank posts at ten/).waitFor();
      assert.equal(new URL(page.url()).searchParams.get("show"), "waiting");
    });

    test(`${mode}: over an amount a second person confirms`, async () => {
      const asked = refund();
      const { operation } = await desk.worker.lose(asked);
      const first = await desk.page({ as: "olga", scripts });
      await first.visit(`/operations/${operation.id}`);
      await first.getByText("a decision needs a second person").waitFor();
      const confirm = first.getByRole("region", { name: "Confirm with reference" });
      await confirm.getByLabel("Destination reference").fill("refund-1");
      await confirm.getByLabel("Reason").fill("The bank shows it");
      await confirm.getByRole("button", { name: "Confirm" }).click();
      await first.getByText("It is proposed. Nothing else has changed").waitFor();
      assert.equal(await desk.worker.state(operation.id), "unknown");
      await first.getByText("You proposed it: another person has to confirm it.").waitFor();
      assert.ok(await first.getByRole("button", { name: "Confirm the proposal" }).isDisabled());

      const second = await desk.page({ as: "oskar", scripts });
      await second.visit(`/operations/${operation.id}`);
      await second.getByText(`${address("olga")} proposed`).first().waitFor();
      await second.getByRole("button", { name: "Confirm the proposal" }).click();
      await second.getByText("It was applied, once.").waitFor();
      await second.getByText(`Proposed by ${address("olga")}`).waitFor();
      assert.equal(await desk.worker.state(operation.id), "confirmed");
    });

    test(`${mode}: masked fields are opened in the open`, async () => {
      const asked = refund();
      const { operation } = await desk.worker.lose(asked);
      const viewer = await desk.page({ as: "vera", scripts });
      await viewer.visit(`/operations/${operation.id}`);
      assert.ok(await viewer.getByRole("button", { name: /^Open/ }).isDisabled());
      const page = await desk.page({ as: "olga", scripts });
      await page.visit(`/operations/${operation.id}`);
      const payload = page.getByRole("region", { name: "The payload as JSON" });
      await payload.getByText("masked").waitFor();
      assert.equal((await page.content()).includes(asked.payload.iban), false, "not in the page either");
      await page.getByRole("button", { name: /^Open/ }).click();
      await payload.getByText(asked.payload.iban).waitFor();
      await page.getByText("Opened masked fields: /iban").waitFor();
      await viewer.visit(`/operations/${operation.id}`);
      assert.equal((await viewer.content()).includes(asked.payload.iban), false);
      // The automation reads what it sent.
      const read = await desk.worker.ask("GET", `/operations/${operation.id}/payloads/1`);
      assert.equal(read.iban ?? read.payload?.iban, asked.payload.iban);
    });

    test(`${mode}: the queue is filtered by its address, and steps from item to item`, async () => {
      const company = `acme-${scripts}`;
      const [large, small] = [{ ...begin(), company }, { ...begin(), company }];
      small.payload = { ...small.payload, amount: "10.00" };
      await desk.worker.lose(small);
      const { operation } = await desk.worker.lose(large);
      const page = await desk.page({ as: "olga", scripts });
      await page.visit("/unknown");
      await page.getByLabel("Company").fill(company);
      await page.getByRole("button", { name: "Apply" }).click();
      await page.waitForURL((url) => url.searchParams.get("company") === company);
      await page.alive();
      const names = await page.getByRole("table").getByRole("rowheader").getByRole("link").allTextContents();
      assert.deepEqual(names, [sentence(large.document, company), sentence(small.document, company)]);
      await page.getByRole("link", { name: new RegExp(`^Decide.*${large.document}`) }).click();
      const panel = (document) => page.getByRole("region", { name: `Decide: ${sentence(document, company)}` });
      await panel(large.document).waitFor();
      await page.getByRole("link", { name: "Next item" }).click();
      await panel(small.document).waitFor();
      await page.getByRole("link", { name: "Previous item" }).click();
      const confirm = panel(large.document).getByRole("region", { name: "Confirm with reference" });
      await confirm.getByLabel("Destination reference").fill("task-1");
      await confirm.getByLabel("Reason").fill("It is in the ledger");
      await confirm.getByRole("button", { name: "Confirm" }).click();
      // The next one opens, and the filter stays.
      await panel(small.document).waitFor();
      assert.equal(new URL(page.url()).searchParams.get("company"), company);
      assert.equal(await desk.worker.state(operation.id), "confirmed");
    });
  }
});
