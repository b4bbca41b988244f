import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";

import { MODES, begin, eventually, openDesk, sentence } from "../support/desk.mjs";

describe("what a worker does, seen at the desk", () => {
  let desk;
  before(async () => {
    desk = await openDesk({ people: { olga: ["--role", "operator"] } });
  });
  after(() => desk?.close());
  afterEach(() => desk.endPages());

  for (const { mode, scripts } of MODES) {
    test(`${mode}: permitted, confirmed, and repetitions counted`, async () => {
      const asked = begin();
      const grant = await desk.worker.begin({ ...asked, worker: "shop-worker-3", delivery_id: "evt_9f2" });
      const page = await desk.page({ as: "olga", scripts });
      await page.visit(`/operations/${grant.operation.id}`);
      await page.getByRole("heading", { level: 1, name: sentence(asked.document) }).waitFor();
      await page.getByText("Worker shop-worker-3 may be writing it at the destination right now").waitFor();
      assert.equal(await fact(page, "Asked again and held back"), "0");
      assert.match(await fact(page, "Money"), /^1,180\.00\sEUR$/);
      await page.getByRole("listitem").filter({ hasText: "Attempt 1 was permitted" }).waitFor();

      await desk.worker.outcome(grant, { outcome: "confirmed", destination_reference: "task-907" });
      for (const _ of [1, 2, 3]) {
        const again = await desk.worker.begin(asked);
        assert.deepEqual([again.status, again.decision], [200, "replay"]);
      }
      // Repetitions are written behind their answers.
      await eventually(async () => {
        await page.visit(`/operations/${grant.operation.id}`);
        assert.equal(await fact(page, "Asked again and held back"), "3");
      });
      await page.getByText("It was applied, once.").waitFor();
      assert.match(await fact(page, "Destination reference"), /^task-907/);
      await page.getByText("Attempt 1 was reported confirmed as task-907").waitFor();
      await page.getByText(/^Asked again: told to use the result that is there \(3\stimes since/).waitFor();
    });

    test(`${mode}: a changed payload is a conflict with its changes`, async () => {
      const asked = begin();
      const { operation } = await desk.worker.confirm(asked);
      const changed = { ...asked.payload, amount: "1280.00", note: "urgent", customer: undefined };
      for (const _ of [1, 2]) {
        const conflict = await desk.worker.begin({ ...asked, payload: changed });
        assert.deepEqual([conflict.status, conflict.decision], [422, "conflict"]);
      }

      const page = await desk.page({ as: "olga", scripts });
      await page.visit(`/operations?document=${asked.document}`);
      await page.getByRole("row", { name: sentence(asked.document) }).getByText(/^1\sconflict$/).waitFor();
      await page.getByRole("link", { name: sentence(asked.document) }).click();
      // Whoever reloads before the page has come reloads the one before it.
      await page.waitForURL(/\/operations\/[0-9a-f-]{36}/);
      const conflict = page.getByRole("article").filter({ hasText: "Open conflict" });
      // That it came again is written behind its answer.
      await eventually(async () => {
        await page.reload();
        assert.match(await conflict.innerText({ timeout: 500 }), /came 2\stimes/);
      });
      const change = (name) => conflict.getByRole("row", { name }).getByRole("cell").allInnerTexts();
      assert.deepEqual(await change("/amount"), ["~ changed", '"1180.00"', '"1280.00"']);
      assert.deepEqual(await change("/note"), ["+ added", "nothing", '"urgent"']);
      assert.deepEqual(await change("/customer"), ["\u{2212} removed", '"C-77"', "nothing"]);
      // The operation itself is what it was.
      await page.getByText("It was applied, once.").waitFor();
      await page.getByText(/^1\sconflict is open: another payload came under the same key/).waitFor();
      await page.getByRole("heading", { name: "First payload" }).waitFor();
      assert.equal(await desk.worker.state(operation.id), "confirmed");
      // The timeline tells of each begin once: the one that opened the conflict, and the one after it.
      const told = await page.getByRole("region", { name: "Timeline" }).getByRole("listitem").allInnerTexts();
      assert.deepEqual(
        [told.filter((line) => line.includes("Another payload came")).length, told.filter((line) => line.includes("with a changed payload")).length],
        [1, 1],
        told.join("\n"),
      );
      // Nothing is cut off on a phone: both values stand below their place.
      await page.setViewportSize({ width: 390, height: 844 });
      const table = conflict.getByRole("region");
      assert.ok(await table.evaluate((element) => element.scrollWidth <= element.clientWidth), "no value is behind a scroll bar");
      await page.setViewportSize({ width: 1280, height: 720 });
      assert.equal(await page.getByRole("heading", { name: /^Decide/ }).count(), 0);
    });

    test(`${mode}: a lease that ends while it may have been written is unknown, and a late report settles it`, async () => {
      const asked = begin();
      const grant = await desk.worker.begin({ ...asked, lease_seconds: 1 });
      const page = await desk.page({ as: "olga", scripts });
      const row = page.getByRole("row", { name: sentence(asked.document) });
      await eventually(async () => {
        await page.visit("/unknown");
        assert.equal(await row.count(), 1);
      });
      await row.getByText("Unknown", { exact: true }).waitFor();
      const again = await desk.worker.begin(asked);
      assert.deepEqual([again.status, again.decision, again.next], [409, "unknown", "wait"]);

      // The link of the answer leads to the place where a person decides.
      await page.visit(again.review_url);
      await page.getByRole("heading", { level: 1, name: sentence(asked.document) }).waitFor();
      await page.getByText("It may have been applied:").waitFor();
      await page.getByText("The lease of attempt 1 ended while a write was possible: unknown").waitFor();

      const settled = await desk.worker.outcome(grant, { outcome: "confirmed", destination_reference: "late-1" });
      assert.deepEqual([settled.status, settled.state], [200, "confirmed"]);
      await page.visit("/unknown");
      assert.equal(await row.count(), 0);
    });

    test(`${mode}: a lease that ends before sending was marked is released`, async () => {
      const asked = { ...begin(), workflow: "shipping-label", lease_seconds: 1 };
      const { operation } = await desk.worker.begin(asked);
      const page = await desk.page({ as: "olga", scripts });
      await eventually(async () => {
        await page.visit(`/operations/${operation.id}`);
        await page.getByText("The lease of attempt 1 ended before anything could be sent.").waitFor({ timeout: 500 });
      });
      await page.getByText("The next begin with the same payload gets attempt 2.").waitFor();
      await page.visit("/unknown");
      assert.equal(await page.getByRole("row", { name: `print the label for ${asked.document} of acme` }).count(), 0);
      const again = await desk.worker.begin(asked);
      assert.deepEqual([again.decision, again.attempt], ["proceed", 2]);
    });
  }
});

/** What stands beside a term of an operation's page. */
function fact(page, name) {
  return page
    .getByRole("term")
    .filter({ hasText: new RegExp(`^${name}$`) })
    .locator("xpath=following-sibling::dd")
    .innerText();
}
