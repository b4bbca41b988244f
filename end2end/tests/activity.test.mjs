// Who did what, and how far the trail is known to be whole.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";

import { assertAccessible } from "../support/browser.mjs";
import { MODES, address, openDesk, sentence } from "../support/desk.mjs";
import { run } from "../support/server.mjs";

describe("the activity", () => {
  let desk, unknown;
  before(async () => {
    desk = await openDesk({
      people: {
        ada: ["--role", "admin"],
        olga: ["--role", "operator", "--company", "acme"],
        gert: ["--role", "operator", "--company", "globex"],
      },
    });
    unknown = await desk.worker.lose({ document: "order-1" });
    const olga = await desk.page({ as: "olga", scripts: false });
    await olga.goto(`/operations/${unknown.operation.id}`);
    await olga.getByRole("button", { name: "Claim" }).click();
    const ada = await desk.page({ as: "ada", scripts: false });
    await ada.goto("/settings");
    const form = ada.getByRole("region", { name: "Make a token" });
    await form.getByLabel("Name", { exact: true }).fill("second");
    await form.getByRole("button", { name: "Make the token" }).click();
    await desk.endPages();
  });
  afterEach(() => desk?.endPages());
  after(() => desk?.close());

  for (const { mode, scripts } of MODES) {
    test(`${mode}: people's acts are listed, filtered and taken out`, async () => {
      const page = await desk.page({ as: "ada", scripts });
      await page.visit("/");
      await page.getByRole("link", { name: "Activity" }).click();
      await page.getByRole("heading", { level: 1, name: "Activity" }).waitFor();
      const rows = page.getByRole("table").getByRole("row");
      assert.ok((await rows.count()) >= 3, "the head, the claim and the token");
      await rows.filter({ hasText: "token created" }).filter({ hasText: address("ada") }).first().waitFor();
      await rows.filter({ hasText: sentence("order-1") }).filter({ hasText: address("olga") }).first().waitFor();

      await page.getByLabel("Person").fill(address("olga"));
      await page.getByRole("button", { name: "Filter" }).click();
      await page.waitForURL(/person=olga/);
      await page.alive();
      assert.equal(await rows.filter({ hasText: "token created" }).count(), 0);
      const href = await page.getByRole("link", { name: "CSV" }).getAttribute("href");
      const answer = await page.context().request.get(href);
      const text = await answer.text();
      assert.match(answer.headers()["content-type"], /^text\/csv/);
      assert.ok(text.includes(address("olga")) && !text.includes(`person:${address("ada")},`), text);

      await page.visit("/activity?kind=token_created");
      assert.equal(await rows.count(), 2);
      await page.visit("/activity?person=nobody");
      await page.getByText(/^Nobody did anything like that/).waitFor();
      // Axe is a script.
      if (scripts) await assertAccessible(page);
    });
  }

  test("nothing of another company, and nothing of the administration, to whoever is limited", async () => {
    const gert = await desk.page({ as: "gert" });
    await gert.visit("/activity");
    await gert.getByText(/^Nobody has done anything yet/).waitFor();
    const olga = await desk.page({ as: "olga" });
    await olga.visit("/activity");
    await olga.getByRole("table").getByText(sentence("order-1")).first().waitFor();
    assert.equal(await olga.getByRole("table").getByText("token created").count(), 0);
    await assertAccessible(olga);
  });

  test("tells what the last verification of the trail showed", async () => {
    const page = await desk.page({ as: "ada" });
    await page.visit("/activity");
    await page.getByText(/^Never verified\./).waitFor();
    await run(desk.server.database, ["trail", "verify"]);
    await page.visit("/activity");
    await page.getByText(/ago: whole, \d+ entries/).waitFor();
  });
});
