import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";

import { MODES, address, begin, eventually, openDesk, sentence } from "../support/desk.mjs";

describe("settling what is uncertain", () => {
  let desk;
  before(async () => {
    desk = await openDesk({
      people: { olga: ["--role", "operator"], oskar: ["--role", "operator"], vera: ["--role", "viewer"] },
    });
  });
  after(() => desk?.close());
  afterEach(() => desk.endPages());

  /** Opens the queue at the forms of one operation. */
  const openForms = async (page, document) => {
    await page.visit("/unknown");
    const row = page.getByRole("row", { name: sentence(document) }).filter({ hasNot: page.getByRole("heading") });
    await row.getByText("no answer within 10 s").waitFor();
    await page.getByRole("link", { name: new RegExp(`^Decide.*${document}`) }).click();
    return {
      row,
      confirm: page.getByRole("region", { name: "Confirm with reference" }),
      notApplied: page.getByRole("region", { name: "Not applied" }),
    };
  };

  for (const { mode, scripts } of MODES) {
    test(`${mode}: confirmed with a reference, after a reason was missing`, async () => {
      const asked = begin();
      const { operation } = await desk.worker.lose(asked);
      const page = await desk.page({ as: "olga", scripts, refusals: true });
      const { row, confirm } = await openForms(page, asked.document);

      // A browser that lets an empty field pass is told by the server, and nothing that was written is lost.
      await confirm.getByLabel("Destination reference").fill("task-907");
      await confirm.getByLabel("Reason").fill("   ");
      await confirm.getByLabel("Link to evidence").fill("https://tickets.example/4711");
      await confirm.getByRole("button", { name: "Confirm" }).click();
      const mistake = confirm.getByRole("alert");
      await mistake.getByText("Nothing was changed").waitFor();
      assert.match(await mistake.innerText(), /reason/i);
      assert.equal(await confirm.getByLabel("Destination reference").inputValue(), "task-907");
      assert.equal(await confirm.getByLabel("Link to evidence").inputValue(), "https://tickets.example/4711");
      assert.equal(await desk.worker.state(operation.id), "unknown");

      await confirm.getByLabel("Reason").fill("The ledger shows it");
      await confirm.getByRole("button", { name: "Confirm" }).click();
      const effect = page.getByRole("status").filter({ hasText: sentence(asked.document) });
      await effect.getByText("Confirmed", { exact: true }).waitFor();
      assert.match(await effect.innerText(), /Unknown.*Confirmed.*task-907.*olga@example\.com/s);
      await row.waitFor({ state: "detached" });
      // What was acted on is gone; the focus is on what became of it.
      if (scripts) await page.waitForFunction(() => document.activeElement.getAttribute("role") === "status");

      const again = await desk.worker.begin(asked);
      assert.deepEqual([again.status, again.decision, again.operation.destination_reference], [200, "replay", "task-907"]);

      // The effect is told once; what stays is in the timeline and the evidence.
      await page.visit(`/operations/${operation.id}`);
      assert.equal(await page.getByRole("status").filter({ hasText: "became" }).count(), 0);
      await page.getByText("Decided: unknown → confirmed as task-907: The ledger shows it").waitFor();
      const evidence = page.getByRole("region", { name: "Evidence" });
      await evidence.getByText("The ledger shows it").waitFor();
      assert.equal(
        await evidence.getByRole("link", { name: /tickets/ }).getAttribute("href"),
        "https://tickets.example/4711",
      );
    });

    test(`${mode}: "Decide" brings the forms into view, with the focus and what to search for`, async () => {
      const many = Array.from({ length: 4 }, () => begin());
      for (const asked of many) await desk.worker.lose({ ...asked, worker: "billing-7" });
      const { document } = many.at(-1);
      const { operation } = await desk.worker.begin(many.at(-1));
      for (const viewport of [{ width: 390, height: 844 }, { width: 1440, height: 500 }]) {
        const page = await desk.page({ as: "olga", scripts, viewport });
        await page.visit("/unknown");
        await page.getByRole("link", { name: new RegExp(`^Decide.*${document}`) }).click();
        const panel = page.getByRole("region", { name: `Decide: ${sentence(document)}` });
        await panel.waitFor();
        await isAtTop(page, panel, sentence(document));
        await panel.getByText(operation.external_reference, { exact: true }).waitFor();
        await panel.getByText("1,180.00 EUR").waitFor();
        await panel.getByText("billing-7").waitFor();
        await panel.getByRole("link", { name: /^Open the operation/ }).click();
        await page.waitForURL(`**/operations/${operation.id}`);

        // An address that leads there does the same, and the name of the operation stays in view.
        await page.goto("about:blank");
        await page.visit(`/operations/${operation.id}#decide`);
        await isAtTop(page, panel, sentence(document));
        await page.visit("/");
        const need = page.getByRole("region", { name: "What needs you now" }).getByRole("listitem").getByRole("link").first();
        const name = await need.innerText();
        await need.click();
        await isAtTop(page, page.locator("#decide"), name);
      }
    });

    test(`${mode}: not applied, with a reason, so that the next begin is attempt 2`, async () => {
      const asked = begin();
      await desk.worker.lose(asked);
      const page = await desk.page({ as: "olga", scripts, refusals: true });
      const { row, notApplied } = await openForms(page, asked.document);
      await notApplied.getByLabel("Reason").fill("\t");
      await notApplied.getByRole("button", { name: "Mark as not applied" }).click();
      assert.match(await notApplied.getByRole("alert").innerText(), /reason/i);

      await notApplied.getByLabel("Reason").fill("Searched the ledger by document: none");
      await notApplied.getByLabel("Link to evidence").fill("https://tickets.example/4712");
      await notApplied.getByRole("button", { name: "Mark as not applied" }).click();
      const effect = page.getByRole("status").filter({ hasText: sentence(asked.document) });
      await effect.getByText("Failed", { exact: true }).waitFor();
      await effect.getByText("The next begin with the same payload may send it again.").waitFor();
      await row.waitFor({ state: "detached" });

      const again = await desk.worker.begin(asked);
      assert.deepEqual([again.status, again.decision, again.attempt], [201, "proceed", 2]);
    });

    test(`${mode}: dropped, with a reason, so that nothing sends it again until a record turns up`, async () => {
      const asked = begin();
      const lost = await desk.worker.lose(asked);
      const page = await desk.page({ as: "olga", scripts });
      const { row } = await openForms(page, asked.document);
      const drop = page.getByRole("region", { name: "Drop it" });
      await drop.getByLabel("Reason").fill("The reminder's day is over");
      await drop.getByRole("button", { name: "Drop it" }).click();
      const effect = page.getByRole("status").filter({ hasText: sentence(asked.document) });
      await effect.getByText("Rejected", { exact: true }).waitFor();
      await effect.getByText("It is never sent again: every repetition is told to stop.").waitFor();
      await row.waitFor({ state: "detached" });
      assert.equal((await desk.worker.begin(asked)).decision, "rejected");

      await page.visit(`/operations/${lost.operation.id}`);
      await page.getByText("A person dropped it at").waitFor();
      await page.getByText("Only what is unknown or disputed is decided by a person.").waitFor();
      await desk.worker.outcome(lost, { outcome: "confirmed", destination_reference: "task-9" });
      // Only the fragment would change: without scripts nothing would be asked for.
      await page.goto("about:blank");
      await page.visit(`/operations/${lost.operation.id}#decide`);
      const again = page.getByRole("region", { name: "Drop it" });
      assert.ok(await again.getByRole("button", { name: "Drop it" }).isDisabled());
      await again.getByText("Two truths contradict each other: say whether it was applied.").waitFor();
    });

    test(`${mode}: a page that is no longer true cannot decide`, async () => {
      const asked = begin();
      const { operation } = await desk.worker.lose(asked);
      const late = await desk.page({ as: "olga", scripts, refusals: true });
      const { notApplied } = await openForms(late, asked.document);

      const page = await desk.page({ as: "oskar", scripts });
      await page.visit(`/operations/${operation.id}`);
      const confirm = page.getByRole("region", { name: "Confirm with reference" });
      await confirm.getByLabel("Destination reference").fill("task-1");
      await confirm.getByLabel("Reason").fill("It is in the ledger");
      await confirm.getByRole("button", { name: "Confirm" }).click();
      await page.getByText("It was applied, once.").waitFor();

      await notApplied.getByLabel("Reason").fill("I do not see it");
      await notApplied.getByRole("button", { name: "Mark as not applied" }).click();
      const refusal = late.getByRole("alert").filter({ hasText: "Nothing was changed" });
      const { updated_at: at } = await desk.worker.ask("GET", `/operations/${operation.id}`);
      const when = `${at.slice(0, 19).replace("T", " ")} UTC`;
      await refusal.getByText(`Meanwhile it is confirmed: ${address("oskar")} changed it at ${when}.`).waitFor();
      // The words that were written are still there, though it has left the queue.
      await late.getByRole("definition").filter({ hasText: "I do not see it" }).waitFor();
      assert.equal(await desk.worker.state(operation.id), "confirmed");
    });

    test(`${mode}: a viewer sees the controls, why not, and is refused by the server`, async () => {
      const asked = begin();
      const { operation } = await desk.worker.lose(asked);
      const page = await desk.page({ as: "vera", scripts });
      const { confirm, notApplied } = await openForms(page, asked.document);
      for (const [form, button] of [[confirm, "Confirm"], [notApplied, "Mark as not applied"]]) {
        assert.ok(await form.getByRole("button", { name: button }).isDisabled());
        assert.ok(await form.getByLabel("Reason").isDisabled());
        await form.getByText("Deciding needs the role operator or admin; you are a viewer.").waitFor();
      }

      const field = (name) => confirm.locator(`[name="draft[${name}]"]`).getAttribute("value");
      const forged = {
        "draft[operation]": await field("operation"),
        "draft[version]": await field("version"),
        "draft[fingerprint]": await field("fingerprint"),
        "draft[verdict]": "confirmed",
        "draft[origin]": "operation",
        "draft[destination_reference]": "task-1",
        "draft[reason]": "because I can",
      };
      const answer = await page.context().request.post("/fn/resolve", { form: forged });
      assert.equal(answer.status(), 403, await answer.text());
      // As a form it is told on the page.
      const headers = { accept: "text/html" };
      await page.context().request.post("/fn/resolve", { form: forged, headers, maxRedirects: 0 });
      await page.visit(`/operations/${operation.id}`);
      await page.getByRole("alert").first().getByText("Not allowed: deciding needs the role operator or admin").waitFor();
      assert.equal(await desk.worker.state(operation.id), "unknown");
    });
  }

  test("the queue looks again by itself, and shows what came once it is asked to", async () => {
    const fresh = await openDesk({ people: { olga: ["--role", "operator"] } });
    try {
      const [first, second] = [begin(), begin()];
      const { operation } = await fresh.worker.lose(first);
      const sent = begin();
      const grant = await fresh.worker.begin(sent);
      const pages = { "/unknown": await fresh.page({ as: "olga" }), "/operations": await fresh.page({ as: "olga" }) };
      const overview = await fresh.page({ as: "olga" });
      await overview.visit("/");
      for (const [path, page] of Object.entries(pages)) {
        await page.visit(path);
        await page.getByRole("row", { name: sentence(first.document) }).waitFor();
      }
      const places = Object.values(pages).map((page) => page.getByRole("table").boundingBox());
      const before = await Promise.all(places);
      await fresh.worker.lose(second);
      for (const [index, page] of Object.values(pages).entries()) {
        const show = page.getByRole("button", { name: "1 new: show" });
        await show.waitFor();
        assert.equal(await page.getByRole("row", { name: sentence(second.document) }).count(), 0, "nothing moves by itself");
        assert.deepEqual(await page.getByRole("table").boundingBox(), before[index], "the offer moves nothing either");
        await show.click();
        await page.getByRole("row", { name: sentence(second.document) }).waitFor();
        await show.waitFor({ state: "detached" });
      }
      await overview.getByRole("link", { name: sentence(second.document) }).waitFor();

      // What only changes is shown where it is.
      await pages["/operations"].getByRole("heading", { level: 1 }).hover();
      await fresh.worker.outcome(grant, { outcome: "confirmed", destination_reference: "task-1" });
      await pages["/operations"].getByRole("row", { name: sentence(sent.document) }).getByText("Confirmed", { exact: true }).waitFor();

      // While somebody decides, nothing is taken from under the hand.
      const page = pages["/unknown"];
      await page.getByRole("link", { name: new RegExp(`^Decide.*${first.document}`) }).click();
      const reason = page.getByRole("region", { name: "Not applied" }).getByLabel("Reason");
      await reason.fill("I am still looking");
      await fresh.worker.lose(begin());
      await page.getByRole("button", { name: "1 new: show" }).waitFor();
      assert.equal(await reason.inputValue(), "I am still looking");
      assert.equal(await fresh.worker.state(operation.id), "unknown");
      await fresh.endPages();
    } finally {
      await fresh.close();
    }
  });

  test("an empty queue says when something comes", async () => {
    const fresh = await openDesk({ people: { olga: ["--role", "operator"] } });
    try {
      const page = await fresh.page({ as: "olga" });
      await page.visit("/unknown");
      await page.getByText("Nothing is uncertain.").waitFor();
      assert.equal(await page.getByRole("table").count(), 0);
      await fresh.endPages();
    } finally {
      await fresh.close();
    }
  });
});

/** Fails unless the panel starts within the window, its name in view, and the focus is in it. */
async function isAtTop(page, panel, name) {
  const { height } = page.viewportSize();
  await eventually(async () => {
    const { y } = await panel.boundingBox();
    assert.ok(y >= 0 && y < height / 2, `the panel starts at ${y} of ${height}`);
    assert.equal(await page.evaluate(() => Boolean(document.activeElement.closest("#decide"))), true, "the focus is in it");
  });
  const title = await panel.getByRole("heading", { name }).boundingBox();
  assert.ok(title.y >= 0 && title.y + title.height <= height, "the name of the operation is in view");
}
