// Look-alikes are hinted where people look and decide; the queue is kept waiting in bulk, and its views are kept.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";

import { WORKFLOWS, MODES, begin, openDesk, sentence } from "../support/desk.mjs";

const ALIKE = WORKFLOWS.replace('currency = "/currency"', 'currency = "/currency"\nlook_alikes = { counterparty = "/customer" }');

describe("look-alikes", () => {
  let desk;
  before(async () => {
    desk = await openDesk({ workflows: ALIKE, people: { olga: ["--role", "operator"] } });
  });
  after(() => desk?.close());
  afterEach(() => desk.endPages());

  /** A document of a customer that nothing else in the test has. */
  const invoice = (customer, amount) => {
    const asked = begin();
    return { ...asked, payload: { ...asked.payload, customer, amount } };
  };

  for (const { mode, scripts } of MODES) {
    test(`${mode}: both pages hint at each other, and nothing was blocked`, async () => {
      const customer = `C-${mode}`;
      const [paid, again] = [invoice(customer, "840.00"), invoice(customer.toUpperCase(), 840)];
      const { operation: first } = await desk.worker.confirm(paid);
      const { operation: second } = await desk.worker.lose(again);
      const page = await desk.page({ as: "olga", scripts });
      for (const [shown, other] of [
        [first, again],
        [second, paid],
      ]) {
        await page.visit(`/operations/${shown.id}`);
        const hint = page.getByRole("region", { name: "Looks alike" });
        await hint.getByText("nothing is blocked").waitFor();
        await hint.getByRole("link", { name: sentence(other.document) }).waitFor();
        assert.equal(await hint.getByText(customer).count(), 0, "the counterparty is not shown");
      }

      await page.visit(`/unknown?decide=${second.id}`);
      const row = page.getByRole("row", { name: sentence(again.document) }).first();
      await row.getByText("Looks like 1 other").waitFor();
      const hint = page.getByRole("note", { name: "Looks alike" });
      await hint.getByText("it may be done already").waitFor();
      await hint.getByRole("link", { name: sentence(paid.document) }).click();
      await page.waitForURL(new RegExp(first.id));
    });

    test(`${mode}: a part of the queue is kept waiting for one reason`, async () => {
      const company = `kept-${scripts}`;
      const [one, other] = [begin(), begin()].map((asked) => ({ ...asked, company }));
      await desk.worker.lose(one);
      await desk.worker.lose(other);
      const page = await desk.page({ as: "olga", scripts, refusals: true });
      await page.visit(`/unknown?company=${company}`);
      await page.getByRole("button", { name: "Keep all waiting…" }).click();
      await page.getByRole("heading", { level: 1, name: "Keep many waiting" }).waitFor();
      await page.getByText("2 operations, as the filter said a moment ago. Nothing has been done yet.").waitFor();
      await page.getByText("2,360.00").waitFor();
      await page.getByLabel("Reason, for all of them").fill("the bank answers tomorrow");
      await page.getByRole("button", { name: "Begin with 2 operations" }).click();
      for (let tries = 0; tries < 40 && !(await page.getByText("It has ended").count()); tries += 1) {
        await page.waitForTimeout(500);
        if (!scripts) await page.reload();
      }
      await page.getByText("It has ended: 2 operations have their result.").waitFor();
      await page.getByRole("row", { name: new RegExp(one.document) }).getByText("it is kept waiting").waitFor();

      await page.visit(`/unknown?company=${company}`);
      await page.getByText("Nothing here.").waitFor();
      await page.getByRole("link", { name: "Kept waiting" }).click();
      await page.getByRole("row", { name: sentence(other.document, company) }).getByText("the bank answers tomorrow").waitFor();
    });

    test(`${mode}: a view of the queue is kept, found, and forgotten`, async () => {
      const name = `Lost of ${mode}`;
      const company = `seen-${scripts}`;
      const asked = { ...begin(), company };
      await desk.worker.lose(asked);
      const page = await desk.page({ as: "olga", scripts });
      await page.visit(`/unknown?sort=longest&company=${company}`);
      await page.getByText("Save or export").click();
      await page.getByLabel("Keep these filters as a view named").fill(name);
      await page.getByRole("button", { name: "Save view" }).click();
      const views = page.getByRole("navigation", { name: "Views" });
      await views.getByRole("link", { name, exact: true }).waitFor();

      await page.visit("/unknown");
      await views.getByRole("link", { name, exact: true }).click();
      await page.waitForURL(new RegExp(`company=${company}`));
      await page.getByRole("row", { name: sentence(asked.document, company) }).waitFor();
      await views.locator("a[aria-current=page]").getByText(name, { exact: true }).waitFor();
      await views.getByRole("link", { name: "Mine", exact: true }).waitFor();

      await views.getByRole("button", { name: `Forget the view ${name}` }).click();
      await views.getByRole("link", { name, exact: true }).waitFor({ state: "detached" });
    });
  }
});
