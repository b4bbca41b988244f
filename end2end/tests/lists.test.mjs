// Lists: what is pasted is found, orders turn, views are kept, files leave, and everything that a filter says is acted on.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";

import { MODES, begin, openDesk } from "../support/desk.mjs";

describe("lists", () => {
  let desk;
  before(async () => {
    desk = await openDesk({ people: { olga: ["--role", "operator"], vera: ["--role", "viewer"] } });
    await desk.worker.confirm({ ...begin("invoice-1"), company: "globex", worker: "night shift" });
    await desk.worker.lose({ ...begin("invoice-2"), company: "globex" });
    await desk.worker.lose({ ...begin("invoice-3"), company: "initech" });
    await desk.worker.fail({ ...begin("invoice-4"), company: "globex" });
  });
  after(() => desk?.close());
  afterEach(() => desk.endPages());

  const documents = async (page) => {
    const names = await page.getByRole("rowheader").getByRole("link").allInnerTexts();
    return names.map((name) => name.match(/for (.+?) in /)?.[1]);
  };

  for (const { mode, scripts } of MODES) {
    test(`${mode}: what is pasted is found`, async () => {
      const page = await desk.page({ as: "vera", scripts });
      await page.visit("/operations?document=invoice-2");
      const address = await page.getByRole("rowheader").getByRole("link").getAttribute("href");
      const id = address.split("/").at(-1);
      for (const [text, found] of [
        [id, "invoice-2"],
        [`oo-${id.replaceAll("-", "")}`, "invoice-2"],
        ["invoice-4", "invoice-4"],
      ]) {
        await page.visit("/operations");
        await page.getByLabel("Find").fill(text);
        await page.getByRole("button", { name: "Filter" }).click();
        await page.getByText(/^1\soperation, the newest first$/).waitFor();
        assert.deepEqual(await documents(page), [found]);
        assert.equal(new URL(page.url()).searchParams.get("q"), text, "the address is the state");
      }
    });

    test(`${mode}: the order turns and the address tells it`, async () => {
      const page = await desk.page({ as: "vera", scripts });
      await page.visit("/operations?company=globex");
      const begun = page.getByRole("columnheader", { name: /^Begun/ });
      assert.equal(await begun.getAttribute("aria-sort"), "descending");
      assert.deepEqual(await documents(page), ["invoice-4", "invoice-2", "invoice-1"]);
      await begun.getByRole("link").click();
      await page.getByText(/^3\soperations, the oldest first$/).waitFor();
      assert.deepEqual(await documents(page), ["invoice-1", "invoice-2", "invoice-4"]);
      assert.equal(await begun.getAttribute("aria-sort"), "ascending");
      assert.equal(new URL(page.url()).searchParams.get("order"), "oldest");
    });

    test(`${mode}: a view is kept, found, and forgotten`, async () => {
      const page = await desk.page({ as: "vera", scripts });
      const name = `Globex lost ${mode}`;
      await page.visit("/operations?company=globex&state=unknown");
      await page.getByText("Save or export").click();
      await page.getByLabel("Keep these filters as a view named").fill(name);
      await page.getByRole("button", { name: "Save view" }).click();
      const views = page.getByRole("navigation", { name: "Views" });
      await views.getByRole("link", { name, exact: true }).waitFor();

      await page.visit("/operations");
      await views.getByRole("link", { name, exact: true }).click();
      await page.waitForURL(/company=globex/);
      await page.getByText(/^1\soperation, the newest first$/).waitFor();
      assert.deepEqual(await documents(page), ["invoice-2"]);
      assert.equal(await views.getByRole("link", { name, exact: true }).getAttribute("aria-current"), "page");

      await views.getByRole("button", { name: `Forget the view ${name}` }).click();
      await views.getByRole("link", { name, exact: true }).waitFor({ state: "detached" });
      await page.visit("/operations");
      assert.equal(await views.getByRole("link", { name, exact: true }).count(), 0);
    });

    test(`${mode}: what the filter says leaves as a file`, async () => {
      const page = await desk.page({ as: "vera", scripts });
      await page.visit("/operations?company=globex&state=failed");
      await page.getByText("Save or export").click();
      const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "CSV" }).click()]);
      assert.match(file.suggestedFilename(), /^onceover-operations-\d{8}T\d{6}Z\.csv$/);
      const lines = await text(await file.createReadStream());
      assert.equal(lines.trim().split("\r\n").length, 2);
      assert.ok(lines.includes(",globex,") && lines.includes("invoice-4"), lines);
    });

    test(`${mode}: everything that a filter says is acted on, once somebody says so`, async () => {
      const page = await desk.page({ as: "olga", scripts, refusals: true });
      await page.visit("/operations?state=unknown&state=failed&company=globex");
      await page.getByRole("button", { name: "Claim all…" }).click();
      await page.getByRole("heading", { level: 1, name: "Claim many" }).waitFor();
      await page.getByText("2 operations, as the filter said a moment ago. Nothing has been done yet.").waitFor();
      await page.getByLabel("Reason, for all of them").fill("mine today");
      await page.getByRole("button", { name: "Begin with 2 operations" }).click();
      // Without scripts, the page tells more each time that it is loaded.
      for (let tries = 0; tries < 40 && !(await page.getByText("It has ended").count()); tries += 1) {
        await page.waitForTimeout(500);
        if (!scripts) await page.reload();
      }
      await page.getByText("It has ended: 2 operations have their result.").waitFor();
      await page.getByRole("row", { name: /invoice-2/ }).getByText("you are on it").waitFor();
      await page.getByRole("row", { name: /invoice-4/ }).getByText("it is failed by now: nobody has to be on it").waitFor();
    });

    test(`${mode}: a viewer sees why nothing can be begun`, async () => {
      const page = await desk.page({ as: "vera", scripts });
      await page.visit("/operations?state=unknown");
      assert.ok(await page.getByRole("button", { name: "Look up all…" }).isDisabled());
      await page.getByText("Deciding needs the role operator or admin; you are a viewer.").waitFor();
    });
  }
});

async function text(stream) {
  let whole = "";
  for await (const part of stream) whole += part;
  return whole;
}
