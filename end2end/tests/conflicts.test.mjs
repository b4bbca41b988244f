import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";

import { assertAccessible } from "../support/browser.mjs";
import { MODES, begin, openDesk, sentence } from "../support/desk.mjs";

const CHANGES = 5_000;

describe("settling conflicts", () => {
  let desk;
  before(async () => {
    desk = await openDesk({
      people: {
        olga: ["--role", "operator"],
        oskar: ["--role", "operator"],
        vera: ["--role", "viewer"],
        gwen: ["--role", "operator", "--company", "globex"],
      },
    });
  });
  after(() => desk?.close());
  afterEach(() => desk.endPages());

  /** An operation that is done, and another payload that came under its key. */
  const conflicted = async (change = {}, asked = begin()) => {
    const { operation } = await desk.worker.confirm(asked);
    const changed = { ...asked, payload: { ...asked.payload, ...change } };
    const answer = await desk.worker.begin(changed);
    assert.equal(answer.decision, "conflict", JSON.stringify(answer));
    return { asked, changed, operation, conflict: answer.conflict, path: new URL(answer.conflict.review_url).pathname };
  };

  const decide = async (page, choice, reason = "asked the customer") => {
    const form = page.getByRole("region", { name: "Decide" });
    await form.getByRole("radio", { name: choice }).check();
    await form.getByLabel("Reason").fill(reason);
    return form;
  };

  for (const { mode, scripts } of MODES) {
    test(`${mode}: the approved one is kept, and stays so`, async () => {
      const { asked, changed, operation, path } = await conflicted({ amount: "1018.00" });
      const page = await desk.page({ as: "olga", scripts });
      await page.visit("/");
      await page.getByRole("link", { name: "Open conflicts" }).click();
      await page.getByRole("heading", { name: /accounting-handoff: \/amount/ }).waitFor();
      await page.visit(`${path}?group=`);
      const row = page.getByRole("row", { name: "/amount" });
      assert.match(await row.innerText(), /1180\.00[^]*1018\.00[^]*\u{2212}162\.00 EUR \(\u{2212}13\.7 %\)/u);
      const form = await decide(page, "Keep the approved one");
      await form.getByRole("button", { name: "Decide" }).click();
      const told = page.getByRole("status").filter({ hasText: "the approved payload stands" });
      await told.waitFor();
      assert.match(await told.innerText(), /by olga@example\.com/);
      const again = await desk.worker.begin(changed);
      assert.equal(again.conflict.decision.outcome, "kept_approved");
      assert.equal((await desk.worker.ask("GET", `/operations/${operation.id}`)).open_conflicts, 0);
      await page.visit(path);
      await page.getByRole("region", { name: "The decision" }).getByText("asked the customer").waitFor();
      assert.equal(await page.getByRole("region", { name: "Decide" }).count(), 0);
      await page.visit("/conflicts?state=decided");
      await page.getByRole("row", { name: sentence(asked.document) }).getByText("the approved payload stands").waitFor();
    });

    test(`${mode}: another document is registered, and its worker sends it`, async () => {
      const { asked, changed, path } = await conflicted({ amount: "20.00" });
      const page = await desk.page({ as: "olga", scripts });
      await page.visit(path);
      const form = await decide(page, "It is another document");
      await form.getByLabel("Its number").fill(`${asked.document}-R2`);
      await form.getByRole("button", { name: "Decide" }).click();
      await page.getByRole("status").filter({ hasText: "it is another document" }).waitFor();
      const told = await desk.worker.begin(changed);
      assert.equal(told.conflict.decision.key.document, `${asked.document}-R2`);
      const sent = await desk.worker.begin({ ...changed, document: told.conflict.decision.key.document });
      assert.deepEqual([sent.decision, sent.operation.attempt], ["proceed", 1]);
    });

    test(`${mode}: a number that is taken is refused, and nothing that was written is lost`, async () => {
      const { path } = await conflicted({ amount: "21.00" });
      const taken = begin();
      await desk.worker.confirm(taken);
      const page = await desk.page({ as: "olga", scripts, refusals: true });
      await page.visit(path);
      const form = await decide(page, "It is another document", "two refunds for one bill");
      await form.getByLabel("Its number").fill(taken.document);
      await form.getByRole("button", { name: "Decide" }).click();
      await page.getByRole("alert").filter({ hasText: "has an operation already" }).waitFor();
      assert.equal(await form.getByLabel("Reason").inputValue(), "two refunds for one bill");
      assert.equal(await form.getByLabel("Its number").inputValue(), taken.document);
      assert.ok(await form.getByRole("radio", { name: "It is another document" }).isChecked());
    });

    test(`${mode}: of two people one decides, and the other is told by whom and when`, async () => {
      const { path } = await conflicted({ amount: "22.00" });
      const [first, second] = [await desk.page({ as: "olga", scripts }), await desk.page({ as: "oskar", scripts, refusals: true })];
      await first.visit(path);
      await second.visit(path);
      for (const page of [first, second]) {
        const form = await decide(page, "Keep the approved one", `decided in ${mode}`);
        await form.getByRole("button", { name: "Decide" }).click();
        await page.getByRole(page === first ? "status" : "alert").first().waitFor();
      }
      const told = second.getByRole("alert");
      assert.match(await told.innerText(), /Nothing was changed\s+olga@example\.com decided it at \d{4}-/);
      await second.getByText(`decided in ${mode}`).first().waitFor();
    });

    test(`${mode}: a page that is no longer true cannot decide`, async () => {
      const asked = begin();
      const grant = await desk.worker.begin(asked);
      const { conflict } = await desk.worker.begin({ ...asked, payload: { ...asked.payload, amount: "23.00" } });
      const page = await desk.page({ as: "olga", scripts, refusals: true });
      await page.visit(new URL(conflict.review_url).pathname);
      await desk.worker.outcome(grant, { outcome: "confirmed", destination_reference: "task-23" });
      const form = await decide(page, "Keep the approved one");
      await form.getByRole("button", { name: "Decide" }).click();
      await page.getByRole("alert").filter({ hasText: "Meanwhile it is confirmed" }).waitFor();
      await page.getByRole("region", { name: "Decide" }).getByRole("button", { name: "Decide" }).click();
      await page.getByRole("status").filter({ hasText: "the approved payload stands" }).waitFor();
    });

    test(`${mode}: five thousand places are shown page by page`, async () => {
      const numbers = (shift) => Object.fromEntries(Array.from({ length: CHANGES }, (_, index) => [`n${index}`, index + shift]));
      const asked = { ...begin(), payload: numbers(0) };
      const { path } = await conflicted(numbers(1), asked);
      const page = await desk.page({ as: "olga", scripts });
      await page.visit(path);
      await page.getByText("Changes 1 to 500 of 5,000.").waitFor();
      const table = page.getByRole("region", { name: /^What differs: 5,000/ });
      assert.equal(await table.getByRole("row").count(), 501);
      await page.getByRole("link", { name: "Show the next 500" }).click();
      await page.getByText("Changes 501 to 1,000 of 5,000.").waitFor();
      await page.visit(`${path}?row=4500`);
      await page.getByRole("row", { name: "/n4999" }).waitFor();
    });

    test(`${mode}: what looks alike is told apart, and the whole stands behind`, async () => {
      const asked = { ...begin(), payload: { memo: "Pay  now", name: "Caf\u{e9}", to: "ACME", lines: [1, 2, 3, 4, 5, 6, 7, 8, 9] } };
      const { operation, path } = await conflicted({ memo: "Pay\nnow", name: "Cafe\u{301}", to: "\u{410}CME" }, asked);
      const page = await desk.page({ as: "vera", scripts });
      await page.visit(path);
      const cell = (name) => page.getByRole("row", { name });
      await cell("/memo").getByText("two spaces against a line break").waitFor();
      await cell("/name").getByText("U+00E9 against U+0065 U+0301").waitFor();
      await cell("/to").getByText("U+0041 against U+0410").waitFor();
      await page.getByText("The whole payload").click();
      await page.getByText(/unchanged lines/).waitFor();
      await page.getByRole("link", { name: "Side by side" }).click();
      await page.locator(".whole-lines.is-split").waitFor();
      await page.visit(`/operations/${operation.id}/compare?left=1&right=1`);
      await page.getByText("Nothing that counts differs.").waitFor();
      // Who may not decide sees why.
      await page.visit(path);
      const button = page.getByRole("region", { name: "Decide" }).getByRole("button", { name: "Decide" });
      assert.ok(await button.isDisabled());
    });
  }

  test("noise is proposed to be left out, once for all that are alike", async () => {
    const one = await conflicted({ run: "2026-04-01T07:00:00Z" });
    const two = await conflicted({ run: "2026-04-01T08:00:00Z" });
    for (const { path } of [one, two]) {
      const page = await desk.page({ as: "olga", scripts: false });
      await page.visit(path);
      const form = await decide(page, "Noise", "the hour of the job");
      await form.getByText(/alone, it would have avoided [12] of the last/).waitFor();
      await form.getByRole("checkbox", { name: "/run" }).check();
      await form.getByRole("button", { name: "Decide" }).click();
      await page.getByRole("status").filter({ hasText: "what differs is noise" }).waitFor();
    }
  });

  test("of another company nothing is found", async () => {
    const { asked, path, operation } = await conflicted({ amount: "24.00" });
    const page = await desk.page({ as: "gwen", scripts: false, refusals: true });
    for (const address of [path, `/operations/${operation.id}/compare`]) {
      const answer = await page.visit(address);
      assert.equal(answer.status(), 404);
      assert.doesNotMatch(await page.content(), new RegExp(`${asked.document}|24\\.00`));
    }
    await page.visit("/conflicts");
    await page.getByText("No conflict is open.").waitFor();
  });
});

describe("a list that little fits", () => {
  // More than a page looks through.
  const OPERATIONS = 26;
  const CONFLICTS = 40;
  let desk;
  before(async () => {
    desk = await openDesk({ people: { olga: ["--role", "operator"] } });
    const fill = async () => {
      const { document, ...asked } = begin();
      await desk.worker.confirm({ document, ...asked });
      for (let number = 0; number < CONFLICTS; number += 1) {
        await desk.worker.begin({ document, ...asked, payload: { ...asked.payload, amount: `${2_000 + number}.00` } });
      }
    };
    await Promise.all(Array.from({ length: OPERATIONS }, fill));
  });
  after(() => desk?.close());
  afterEach(() => desk.endPages());

  for (const { mode, scripts } of MODES) {
    test(`${mode}: says that there may be more behind, and goes on there`, async () => {
      const page = await desk.page({ as: "olga", scripts });
      await page.visit("/conflicts");
      await page.getByRole("heading", { name: /accounting-handoff: \/amount 1,000\+ conflicts/ }).waitFor();
      await page.getByLabel("Place").fill("/nowhere");
      await page.getByRole("button", { name: "Filter" }).click();
      await page.getByText("So far no conflict is like that.").waitFor();
      await page.getByRole("status").filter({ hasText: "there may be more behind" }).waitFor();
      // It checks by script.
      if (scripts) await assertAccessible(page);
      await page.getByRole("link", { name: "Look further" }).click();
      await page.getByText("No open conflict is like that.").waitFor();
      assert.equal(await page.getByRole("link", { name: "Look further" }).count(), 0);
    });
  }
});
