import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, afterEach, before, describe, test } from "node:test";

import { assertAccessible } from "../support/browser.mjs";
import { MODES, begin, openDesk, sentence } from "../support/desk.mjs";

/** The narrowest that WCAG 2.2 (1.4.10) asks for: 1280 px at four times the size. */
const NARROW = { width: 320, height: 640 };

const csv = (rows) => ["destination_reference,document,source_system,amount,currency", ...rows].join("\n");
const file = (rows) => ({ name: "ledger.csv", mimeType: "text/csv", buffer: Buffer.from(csv(rows)) });

/** A begin of this amount, which nothing else in the test has. */
const of = (amount, document) => ({ ...begin(document), payload: { customer: "C-77", currency: "EUR", amount } });

/** Hands rows in at the desk, and waits for the report. */
async function handIn(page, rows) {
  await page.visit("/reconciliation");
  const form = page.getByRole("region", { name: "Hand in what the destination holds" });
  await form.getByLabel("Workflow of the records").selectOption("accounting-handoff");
  await form.getByLabel("Company of the records").fill("acme");
  await form.getByLabel("File").setInputFiles(file(rows));
  await form.getByRole("button", { name: "Reconcile" }).click();
}

describe("reconciliation", () => {
  let desk;
  before(async () => {
    desk = await openDesk({
      people: { olga: ["--role", "operator"], vera: ["--role", "viewer"], greta: ["--role", "finance", "--company", "globex"] },
    });
  });
  after(() => desk?.close());
  afterEach(() => desk.endPages());

  test("axe finds nothing before anything was reconciled, and a viewer sees why they may not", async () => {
    for (const colorScheme of ["light", "dark"]) {
      const page = await desk.page({ as: "vera", colorScheme });
      await page.visit("/reconciliation");
      await page.getByText("Nothing was reconciled yet.").waitFor();
      await assertAccessible(page);
      assert.ok(await page.getByRole("button", { name: "Reconcile" }).isDisabled());
      await page.getByText("needs the role operator, finance or admin; you are a viewer").waitFor();
      await page.setViewportSize(NARROW);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth));
    }
  });

  for (const { mode, scripts } of MODES) {
    test(`${mode}: a file is handed in, read, and what nobody guarded is adopted`, async () => {
      const [here, there, hand] = [randomUUID(), randomUUID(), randomUUID()];
      const held = of("10.00", `order-${here}`);
      const { operation: kept } = await desk.worker.confirm(held, `task-${here}`);
      const { operation: gone } = await desk.worker.confirm(of("20.00"), `task-${there}`);
      const page = await desk.page({ as: "olga", scripts });

      await handIn(page, [`task-${here},,,ten,EUR`]);
      const refused = page.getByRole("region", { name: "Hand in what the destination holds" }).getByRole("alert");
      await refused.getByText(/line 2, column 4 \(amount\)/).waitFor();
      assert.equal(await page.getByLabel("Company of the records").inputValue(), "acme", "what was written stays");

      const rows = [`task-${here},,,10.00,EUR`, `hand-${hand},order-${hand},shop,7.50,EUR`];
      await handIn(page, rows);
      await page.getByRole("heading", { name: "Reconciliation of Accounting handoff in acme" }).waitFor();
      await page.getByText("Reconciled. This is what it came to.").waitFor();
      const path = new URL(page.url()).pathname;
      const totals = page.getByRole("table", { name: /Numbers and money of both sides/ });
      await totals.getByRole("row").filter({ hasText: "Unguarded" }).getByText("7.50 EUR").first().waitFor();
      await page.getByRole("navigation", { name: "Buckets" }).getByRole("link", { name: /Missing there/ }).click();
      await page.getByRole("row").getByRole("link", { name: gone.document }).first().waitFor();

      await page.getByRole("navigation", { name: "Buckets" }).getByRole("link", { name: /Unguarded/ }).click();
      await page.getByRole("link", { name: `Act on it hand-${hand}` }).click();
      const act = page.getByRole("region", { name: `The record hand-${hand}` });
      await act.waitFor();
      assert.equal(await act.getByLabel("Document").inputValue(), `order-${hand}`);
      await act.getByLabel("Why it is adopted").fill("entered by hand before the automation ran");
      await act.getByRole("button", { name: "Adopt this record" }).click();
      await act.getByText(/was adopted as/).waitFor();
      const answer = await desk.worker.begin(of("7.50", `order-${hand}`));
      assert.equal(answer.decision, "replay", JSON.stringify(answer));
      assert.equal(answer.operation.destination_reference, `hand-${hand}`);
      await page.visit(`/operations/${answer.operation.id}`);
      await page.getByText(/Adopted: registered for a record .* entered by hand before the automation ran/).waitFor();

      await handIn(page, rows);
      await page.getByText(/reconciled before, with the same parameters: nothing was changed/).waitFor();
      assert.equal(new URL(page.url()).pathname, path, "the same file is the same reconciliation");
      await page.visit(`/operations/${kept.id}`);
      await page.getByText(/Reconciled: the destination holds it, and everything that was compared agrees/).waitFor();
    });

    test(`${mode}: a person says to which operation a record belongs`, async () => {
      const cents = scripts ? "01" : "02";
      const asked = of(`431.${cents}`);
      const { operation } = await desk.worker.lose(asked);
      const page = await desk.page({ as: "olga", scripts });
      const record = `found-${randomUUID()}`;
      await handIn(page, [`${record},,,431.${cents},EUR`]);
      await page.getByRole("navigation", { name: "Buckets" }).getByRole("link", { name: /Unguarded/ }).click();
      await page.getByRole("link", { name: `Act on it ${record}` }).click();
      const act = page.getByRole("region", { name: `The record ${record}` });
      await act.getByRole("link", { name: sentence(asked.document) }).waitFor();
      await act.getByLabel("How you know").fill("the customer's name is in its text");
      await act.getByRole("button", { name: "Decide" }).click();
      await act.getByText(/belongs to:/).waitFor();
      assert.equal(await desk.worker.state(operation.id), "confirmed");
    });
  }

  test("what is there twice stands first on the overview; axe finds nothing on full pages", async () => {
    const { operation } = await desk.worker.confirm(of("99.00"), "task-twice");
    const named = `oo-${operation.id.replaceAll("-", "")}`;
    const body = `destination_reference,external_reference,amount,currency\ntask-twice,${named},99.00,EUR\ntask-again,${named},99.00,EUR\n`;
    const answer = await fetch(`${desk.url}/api/v1/reconciliations?workflow=accounting-handoff&company=acme`, {
      method: "POST",
      headers: { authorization: `Bearer ${desk.worker.token}`, "content-type": "text/csv" },
      body,
    });
    assert.equal(answer.status, 201);
    const { reconciliation } = await answer.json();
    assert.equal(reconciliation.counts.duplicated, 1, JSON.stringify(reconciliation));
    const report = new URL(reconciliation.report_url).pathname;
    for (const colorScheme of ["light", "dark"]) {
      const page = await desk.page({ as: "olga", colorScheme });
      await page.visit("/");
      await page.getByRole("region", { name: "A destination holds an effect more than once" }).waitFor();
      await assertAccessible(page);
      await page.visit("/reconciliation");
      await assertAccessible(page);
      await page.visit(report);
      await page.getByText("task-again").waitFor();
      await assertAccessible(page);
      await page.setViewportSize(NARROW);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth));
    }
    const abroad = await desk.page({ as: "greta", refusals: true });
    assert.equal((await abroad.visit(report)).status(), 404);
    await abroad.visit("/");
    assert.ok(!(await abroad.content()).includes("more than once"), "nothing of another company");
  });
});
