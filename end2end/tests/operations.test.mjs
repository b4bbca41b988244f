import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";

import { MODES, address, begin, openDesk, sentence } from "../support/desk.mjs";

/** More than the two pages that the journey turns. */
const MANY = 120;

describe("the table of operations", () => {
  let desk;
  before(async () => {
    desk = await openDesk({ people: { vera: ["--role", "viewer"] } });
    const many = Array.from({ length: MANY }, (_, index) => begin(`order-${String(index).padStart(4, "0")}`));
    const { results } = await desk.worker.ask("POST", "/operations/batch", { operations: many });
    assert.ok(results.every(({ status }) => status === 201), JSON.stringify(results[0]));
    await desk.worker.confirm({ ...begin("invoice-1"), company: "globex", source_system: "erp" });
    await desk.worker.lose({ ...begin("invoice-2"), company: "globex", source_system: "erp" });
    await desk.worker.fail({ ...begin("invoice-3"), company: "globex" });
    const conflicted = { ...begin("invoice-5"), company: "initech" };
    await desk.worker.confirm(conflicted);
    await desk.worker.begin({ ...conflicted, payload: {} });
    await desk.worker.begin({ ...begin("invoice 4 & more"), workflow: "shipping-label", company: "globex" });
  });
  after(() => desk?.close());
  afterEach(() => desk.endPages());

  const documents = async (page) => {
    const names = await page.getByRole("rowheader").getByRole("link").allInnerTexts();
    return names.map((name) => name.match(/for (.+?) (?:in|of) /)?.[1]);
  };
  const parameters = (page) => [...new URL(page.url()).searchParams].filter(([, value]) => value !== "");

  for (const { mode, scripts } of MODES) {
    test(`${mode}: the address is the state`, async () => {
      const page = await desk.page({ as: "vera", scripts });
      await page.visit("/operations");
      const search = page.getByRole("search");
      await search.getByLabel("Company").fill("globex");
      await search.getByLabel("Unknown").check();
      await search.getByLabel("Failed").check();
      await search.getByRole("button", { name: "Filter" }).click();
      await page.waitForURL(/company=globex/);
      await page.getByText(/^2\soperations, the newest first$/).waitFor();
      assert.deepEqual(await documents(page), ["invoice-3", "invoice-2"]);
      assert.deepEqual(parameters(page).sort(), [["company", "globex"], ["state", "failed"], ["state", "unknown"]]);

      // Whoever is sent the address sees the same, with the form filled in.
      const other = await desk.page({ as: "vera", scripts });
      await other.visit(page.url());
      assert.deepEqual(await documents(other), ["invoice-3", "invoice-2"]);
      assert.equal(await other.getByLabel("Company").inputValue(), "globex");
      assert.ok(await other.getByLabel("Failed").isChecked());
      assert.ok(!(await other.getByLabel("Confirmed").isChecked()));

      // Another filter, and back.
      await search.getByLabel("Failed").uncheck();
      await search.getByRole("button", { name: "Filter" }).click();
      await page.getByText(/^1\soperation, the newest first$/).waitFor();
      assert.deepEqual(await documents(page), ["invoice-2"]);
      await page.goBack();
      await page.getByText(/^2\soperations, the newest first$/).waitFor();
      assert.ok(await search.getByLabel("Failed").isChecked());
      assert.equal(await search.getByLabel("Company").inputValue(), "globex");

      await search.getByRole("link", { name: "Clear" }).click();
      await page.getByText(/^50\soperations, the newest first$/).waitFor();
      assert.equal(await search.getByLabel("Company").inputValue(), "");
      assert.equal(new URL(page.url()).search, "");
    });

    test(`${mode}: texts in a filter are taken letter by letter`, async () => {
      const page = await desk.page({ as: "vera", scripts });
      await page.visit("/operations");
      const search = page.getByRole("search");
      await search.getByLabel("Document").fill("invoice 4 & more");
      await search.getByLabel("Workflow").selectOption({ label: "Shipping label" });
      await search.getByRole("button", { name: "Filter" }).click();
      await page.getByRole("link", { name: "print the label for invoice 4 & more of globex" }).waitFor();
      await page.getByText(/^1\soperation, the newest first$/).waitFor();

      await search.getByLabel("Document").fill("Invoice 4 & more");
      await search.getByRole("button", { name: "Filter" }).click();
      await page.getByText("No operation is like that.").waitFor();
      assert.equal(await page.getByRole("table").count(), 0);
      await page.getByRole("link", { name: "clear the filters" }).click();
      await page.getByText(/^50\soperations, the newest first$/).waitFor();
    });

    test(`${mode}: open conflicts, from the view that everybody has`, async () => {
      const page = await desk.page({ as: "vera", scripts });
      await page.visit("/operations");
      await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Open conflicts" }).click();
      await page.getByText(/^1\soperation, the newest first$/).waitFor();
      assert.deepEqual(await documents(page), ["invoice-5"]);
      assert.ok(await page.getByLabel("Open conflict").isChecked());
    });

    test(`${mode}: a span of time, as an address may write it`, async () => {
      const page = await desk.page({ as: "vera", scripts });
      await page.visit("/operations?from=2026-03-01&to=2526-03-01T14:00:05%2B02:00&company=globex");
      const from = page.getByLabel("Created from (UTC)");
      assert.equal(await from.inputValue(), "2026-03-01T00:00");
      assert.equal(await page.getByLabel("Created before (UTC)").inputValue(), "2526-03-01T12:00:05");
      await page.getByText(/^4\soperations, the newest first$/).waitFor();
      await from.fill("2525-01-01T00:00");
      await page.getByRole("button", { name: "Filter" }).click();
      await page.getByText("No operation is like that.").waitFor();
      assert.match(page.url(), /from=2525-01-01T00%3A00&to=2526-03-01T12%3A00%3A05/);
    });

    test(`${mode}: pages do not overlap, and the way back is the browser's`, async () => {
      const page = await desk.page({ as: "vera", scripts });
      await page.visit("/operations?company=acme");
      const seen = [];
      const next = page.getByRole("link", { name: "Older operations" });
      for (const rows of [50, 50, 20]) {
        await page.getByText(new RegExp(`^${rows}\\soperations, the newest first$`)).waitFor();
        const shown = await documents(page);
        assert.equal(new Set([...seen, ...shown]).size, seen.length + rows, "no row twice");
        seen.push(...shown);
        if (rows === 50) {
          const address = await next.getAttribute("href");
          await next.click();
          await page.waitForURL((url) => `${url.pathname}${url.search}` === address);
          await page.getByRole("link", { name: sentence(shown[0]) }).waitFor({ state: "detached" });
          assert.equal(await page.getByLabel("Company").inputValue(), "acme", "the filter stays");
        }
      }
      assert.equal(seen.length, MANY);
      assert.equal(await next.count(), 0);

      await page.goBack();
      await page.getByRole("link", { name: sentence(seen[50]) }).waitFor();
      await page.getByRole("link", { name: "Back to the newest" }).click();
      await page.getByRole("link", { name: sentence(seen[0]) }).waitFor();
      assert.ok(!page.url().includes("cursor"));
    });

    test(`${mode}: a page that does not exist any more is said, not broken`, async () => {
      const page = await desk.page({ as: "vera", scripts, refusals: true });
      for (const query of ["state=lost", "cursor=nonsense"]) {
        const answer = await page.visit(`/operations?${query}`);
        assert.equal(answer.status(), 422, query);
        await page.getByRole("heading", { level: 2, name: "That address cannot be read" }).waitFor();
        if (query === "state=lost") await page.getByText('is "lost", which is no state').waitFor();
        await page.getByRole("search").waitFor();
      }
      const answer = await page.visit("/operations/0192f0c1-2345-7890-abcd-0123456789ab");
      assert.equal(answer.status(), 404);
      await page.getByRole("heading", { level: 1, name: "Not found" }).waitFor();
      const missing = await page.visit("/nowhere");
      assert.equal(missing.status(), 404);
      await page.getByRole("heading", { level: 1, name: "There is no such page" }).waitFor();
      // It is a page of the desk like any other.
      await page.getByRole("banner").getByText(address("vera")).waitFor();
      await page.getByRole("navigation", { name: "Desk" }).getByRole("link", { name: "Operations" }).click();
      await page.getByRole("heading", { level: 1, name: "Operations" }).waitFor();
    });
  }

  test("a row is a link that opens in a tab of its own", async () => {
    const page = await desk.page({ as: "vera" });
    await page.visit("/operations?document=invoice-2");
    const link = page.getByRole("link", { name: sentence("invoice-2", "globex") });
    const [tab] = await Promise.all([page.context().waitForEvent("page"), link.click({ modifiers: ["ControlOrMeta"] })]);
    await tab.getByRole("heading", { level: 1, name: sentence("invoice-2", "globex") }).waitFor();
    assert.equal(new URL(tab.url()).pathname, await link.getAttribute("href"));
    assert.equal(new URL(page.url()).search, "?document=invoice-2", "the list stays where it is");
  });

  test("what is begun meanwhile does not move the pages behind", async () => {
    const page = await desk.page({ as: "vera" });
    await page.visit("/operations?source_system=shop");
    const next = await page.getByRole("link", { name: "Older operations" }).getAttribute("href");
    await page.visit(next);
    const second = await documents(page);
    await desk.worker.begin({ ...begin("latest"), company: "initech" });
    await page.visit(next);
    assert.deepEqual(await documents(page), second);
    await page.getByRole("link", { name: "Back to the newest" }).click();
    await page.getByRole("link", { name: sentence("latest", "initech") }).waitFor();
  });

  test("the name of who is signed in stands on every page", async () => {
    const page = await desk.page({ as: "vera" });
    for (const path of ["/", "/operations", "/unknown", "/settings"]) {
      await page.visit(path);
      await page.getByRole("banner").getByText(address("vera")).waitFor();
    }
  });
});
