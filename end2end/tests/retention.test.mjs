import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";

import { assertAccessible } from "../support/browser.mjs";
import { MODES, begin, openDesk } from "../support/desk.mjs";

/** What the payload holds that nobody else may read any more once it is erased. */
const SECRET = "Schillerstrasse 12";

describe("what is kept, held and erased", () => {
  let desk;
  before(async () => {
    desk = await openDesk({ people: { fay: ["--role", "finance"], vera: ["--role", "viewer"] } });
  });
  after(() => desk?.close());
  afterEach(() => desk.endPages());

  const payload = { currency: "EUR", amount: "10.00", address: SECRET };

  for (const { mode, scripts } of MODES) {
    test(`${mode}: what is on hold is not erased, what is erased is still recognised`, async () => {
      const intention = { ...begin(), payload };
      const { operation } = await desk.worker.confirm(intention);
      const page = await desk.page({ as: "fay", scripts });
      await page.visit(`/operations/${operation.id}`);
      const content = page.getByRole("region", { name: "Content", exact: true });
      await content.getByLabel("Hold this operation").check();
      await content.getByLabel("Reason").fill("An auditor asked for it");
      await content.getByRole("button", { name: "Change the hold" }).click();
      await content.getByText("It is on legal hold: nothing of it is dropped.").waitFor();

      await content.getByRole("link", { name: "Erase the content" }).click();
      await page.getByRole("heading", { name: /^Content: / }).waitFor();
      const erase = page.getByRole("region", { name: "Erase the content now" });
      assert.ok(await erase.getByRole("button", { name: "Erase the content" }).isDisabled(), "it is on hold");

      await page.getByRole("link", { name: "Back to the operation" }).click();
      await content.getByLabel("Lift the hold on this operation").check();
      await content.getByLabel("Reason").fill("The audit is over");
      await content.getByRole("button", { name: "Change the hold" }).click();
      await content.getByText("The hold is lifted.").waitFor();

      await content.getByRole("link", { name: "Erase the content" }).click();
      await page.getByRole("heading", { name: /^Content: / }).waitFor();
      await erase.getByLabel("Reason").fill("The customer asked for it");
      await erase.getByRole("button", { name: "Erase the content" }).click();
      await erase.getByText(/^Erased in 1 operation: /).waitFor();

      await page.visit(`/operations/${operation.id}`);
      await content.getByText(/^The content was dropped /).waitFor();
      assert.ok(!(await page.locator("main").innerText()).includes(SECRET));
      const again = await desk.worker.begin(intention);
      assert.equal(again.decision, "replay", "the same document is known");
      const changed = await desk.worker.begin({ ...intention, payload: { ...payload, amount: "100.00" } });
      assert.equal(changed.decision, "conflict", "and a changed one is told from it");
    });
  }

  test("axe finds nothing, and a viewer sees why they may not", async () => {
    const intention = { ...begin(), payload };
    const { operation } = await desk.worker.confirm(intention);
    for (const colorScheme of ["light", "dark"]) {
      const page = await desk.page({ as: "vera", colorScheme });
      await page.visit(`/operations/${operation.id}/content`);
      assert.ok(await page.getByRole("button", { name: "Erase the content" }).isDisabled());
      await assertAccessible(page);
    }
  });
});
