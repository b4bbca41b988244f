// The keys of those who settle things: through the queue, to an outcome, and on to the next item.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";

import { WORKFLOWS, begin, openDesk } from "../support/desk.mjs";

const AMENDABLE = WORKFLOWS.replace(
  'volatile = ["/meta/sent_at"]',
  'volatile = ["/meta/sent_at"]\n[workflow.amendment]\namendable = ["/amount"]\nbefore_reconciliation = "amend"',
);

describe("keys", () => {
  let desk;
  before(async () => {
    desk = await openDesk({
      workflows: AMENDABLE,
      people: { olga: ["--role", "operator"], fay: ["--role", "finance"], vera: ["--role", "viewer"] },
    });
  });
  after(() => desk?.close());
  afterEach(() => desk.endPages());

  /** The title of the form that the focus is in. */
  const form = (page) =>
    page.evaluate(() => document.activeElement.closest(".decision-form")?.querySelector("h3").innerText);

  /** Presses a key where no field takes it. */
  const press = async (page, key) => {
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press(key);
  };

  const keysOf = async (page) => {
    await press(page, "?");
    const list = page.getByRole("dialog", { name: "Keys of this page" });
    const told = await list.innerText();
    await page.keyboard.press("Escape");
    return told;
  };

  test("walk the queue of what is unknown, lead to its outcomes, and the next item opens", async () => {
    for (const document of ["order-1", "order-2", "order-3"]) await desk.worker.lose(begin(document));
    const page = await desk.page({ as: "olga" });
    await page.visit("/unknown");
    assert.ok(!(await keysOf(page)).includes("Choose an outcome"), "nothing is opened yet");
    await page.getByRole("link", { name: /^Decide/ }).first().click();
    const title = page.locator("#decide-title");
    await title.waitFor();
    const first = await title.innerText();
    const told = await keysOf(page);
    assert.ok(told.includes("Choose an outcome") && told.includes("The next one in the queue"), told);
    assert.ok(!told.includes("The one before"), "there is none before the first");

    await press(page, "]");
    await page.waitForFunction((first) => document.querySelector("#decide-title")?.innerText !== first, first);
    const second = await title.innerText();
    await press(page, "[");
    await page.waitForFunction((first) => document.querySelector("#decide-title")?.innerText === first, first);

    await press(page, "1");
    assert.equal(await form(page), "Confirm with reference");
    await press(page, "2");
    assert.equal(await form(page), "Not applied");
    await press(page, "3");
    assert.equal(await form(page), "Keep waiting");
    await press(page, "4");
    assert.equal(await form(page), "Drop it");
    assert.equal(await page.getByRole("table").getByRole("link", { name: /^Decide/ }).count() >= 2, true, "nothing is decided");

    await press(page, "1");
    await page.keyboard.type("task-1");
    await page.keyboard.press("Tab");
    await page.keyboard.type("the ledger shows it");
    await page.getByRole("region", { name: "Confirm with reference" }).getByRole("button", { name: "Confirm" }).press("Enter");
    await page.waitForFunction((second) => document.querySelector("#decide-title")?.innerText === second, second);
  });

  test("lead to the outcomes on an operation's page, and to none where somebody may not decide", async () => {
    const { operation } = await desk.worker.lose(begin("order-11"));
    const olga = await desk.page({ as: "olga" });
    await olga.visit(`/operations/${operation.id}`);
    await press(olga, "2");
    assert.equal(await form(olga), "Not applied");
    const vera = await desk.page({ as: "vera" });
    await vera.visit(`/operations/${operation.id}`);
    await press(vera, "2");
    assert.equal(await form(vera), undefined, "what is barred is not reached by a key");
  });

  test("walk the queue of conflicts and choose what is right", async () => {
    let path;
    for (const document of ["order-21", "order-22"]) {
      const asked = begin(document);
      await desk.worker.confirm(asked);
      const { conflict } = await desk.worker.begin({ ...asked, payload: { ...asked.payload, amount: "1.00" } });
      path = new URL(conflict.review_url).pathname;
    }
    const page = await desk.page({ as: "olga" });
    await page.visit(path);
    for (const [key, name] of [["1", "Keep the approved one"], ["2", "Propose an amendment"], ["3", "It is another document"]]) {
      await press(page, key);
      assert.ok(await page.getByRole("radio", { name }).isChecked(), key);
    }
    const told = await keysOf(page);
    assert.ok(told.includes("Choose an outcome"), told);
    const key = told.includes("The next one in the queue") ? "]" : "[";
    await press(page, key);
    await page.waitForURL((url) => url.pathname.startsWith("/conflicts/") && url.pathname !== path);
    await page.waitForFunction(() => document.activeElement.tagName === "H1");
  });

  test("lead to the decisions on an amendment", async () => {
    const { operation } = await desk.worker.confirm(begin("order-31"));
    const payload = { ...begin("order-31").payload, amount: "1200.00" };
    const proposed = await desk.worker.ask("POST", `/operations/${operation.id}/amendments`, { payload, reason: "one more" });
    assert.equal(proposed.status, 201, JSON.stringify(proposed));
    const page = await desk.page({ as: "fay" });
    await page.visit(`/amendments/${proposed.amendment.id}`);
    await press(page, "1");
    assert.equal(await form(page), "Approve");
    await press(page, "2");
    assert.equal(await form(page), "Reject");
  });
});
