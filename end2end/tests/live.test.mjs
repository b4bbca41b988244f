// What keeps an open page up to date, the keys, and the time zone.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";

import { assertAccessible } from "../support/browser.mjs";
import { openDesk, sentence } from "../support/desk.mjs";

/** An event comes at most this late, in milliseconds; looking again without a stream would take ten seconds. */
const SOON_MS = 6_000;

describe("an open page", () => {
  let desk;
  before(async () => {
    desk = await openDesk({
      people: {
        ada: ["--role", "admin"],
        olga: ["--role", "operator", "--company", "acme"],
      },
    });
    await desk.worker.confirm({ document: "order-1" });
    await desk.worker.confirm({ document: "order-2" });
  });
  afterEach(() => desk?.endPages());
  after(async () => {
    await desk?.close();
  });

  test("hears at once what is begun, holds it back, and does not move", async () => {
    const [ada, olga] = [await desk.page({ as: "ada" }), await desk.page({ as: "olga" })];
    for (const page of [ada, olga]) {
      await watchShifts(page);
      await page.visit("/operations");
      await page.getByText("Live", { exact: true }).waitFor();
    }
    const first = ada.getByRole("row").nth(1);
    const before = await first.boundingBox();
    await desk.worker.confirm({ document: "order-3" });
    for (const page of [ada, olga]) {
      await page.getByRole("button", { name: "1 new: show" }).waitFor({ timeout: SOON_MS });
      assert.equal(await page.getByText(sentence("order-3")).count(), 0);
    }
    assert.deepEqual(await first.boundingBox(), before);
    assert.deepEqual(await shifts(ada), [], "what moved by itself");

    await ada.getByRole("button", { name: "1 new: show" }).click();
    await ada.getByText(sentence("order-3")).waitFor();
  });

  test("hears nothing of another company", async () => {
    const olga = await desk.page({ as: "olga" });
    const asked = [];
    await olga.visit("/operations");
    await olga.getByText("Live", { exact: true }).waitFor();
    olga.on("request", (request) => asked.push(request.url()));
    await desk.worker.confirm({ document: "order-1", company: "globex" });
    await olga.waitForTimeout(SOON_MS / 2);
    assert.deepEqual(asked, [], "nothing is looked at, since nothing was told");
  });

  test("of an operation changes with it", async () => {
    const grant = await desk.worker.begin({ document: "order-10" });
    const page = await desk.page({ as: "olga" });
    await page.visit(`/operations/${grant.operation.id}`);
    await page.getByText("Live", { exact: true }).waitFor();
    await desk.worker.outcome(grant, { outcome: "confirmed", destination_reference: "task-10" });
    await page.getByText("task-10").first().waitFor({ timeout: SOON_MS });
  });

  test("stands still while it is paused, and looks when it goes on", async () => {
    const page = await desk.page({ as: "ada" });
    await page.visit("/operations");
    await page.getByRole("button", { name: "Pause live updates" }).click();
    await page.getByText("Paused", { exact: true }).waitFor();
    await desk.worker.confirm({ document: "order-20" });
    await page.waitForTimeout(SOON_MS / 2);
    assert.equal(await page.getByRole("button", { name: /new: show/ }).count(), 0);
    await page.getByRole("button", { name: "Resume live updates" }).click();
    await page.getByRole("button", { name: "1 new: show" }).waitFor({ timeout: SOON_MS });
  });

  test("goes by keys", async () => {
    const page = await desk.page({ as: "ada" });
    await page.visit("/");
    await page.keyboard.press("g");
    await page.keyboard.press("o");
    await page.getByRole("heading", { level: 1, name: "Operations" }).waitFor();
    await page.getByRole("row").nth(2).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    const link = page.getByRole("row").nth(1).getByRole("link");
    assert.ok(await link.evaluate((link) => link === document.activeElement), "the first row has the focus");

    await page.keyboard.press("/");
    const search = page.getByRole("search").locator(":focus");
    await page.keyboard.type("gogo?");
    assert.equal(await search.inputValue(), "gogo?", "in a field, keys write");
    await search.fill("");
    await search.blur();

    await page.keyboard.press("?");
    const list = page.getByRole("dialog", { name: "Keys of this page" });
    await list.getByText("Go to the operations").waitFor();
    assert.equal(await list.getByText("Look up now").count(), 0, "what does nothing here is not listed");
    await assertAccessible(page);
    await list.getByLabel("Keys without Ctrl or Alt").uncheck();
    await list.getByRole("button", { name: "Close" }).click();
    await page.keyboard.press("?");
    assert.equal(await list.count(), 0);

    await page.visit("/operations");
    await page.keyboard.press("g");
    await page.keyboard.press("u");
    assert.equal(new URL(page.url()).pathname, "/operations", "turned off, also on the next page");
    await page.getByRole("button", { name: "Keys" }).click();
    await list.getByLabel("Keys without Ctrl or Alt").check();
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await page.keyboard.press("u");
    await page.getByRole("heading", { level: 1, name: "Unknown" }).waitFor();
  });

  test("shows moments in the zone that is chosen, and in that of the address before it", async () => {
    const page = await desk.page({ as: "ada", timezoneId: "America/New_York" });
    await page.visit("/operations");
    const moment = page.getByRole("row").nth(1).locator("time").last();
    assert.match(await moment.innerText(), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
    const exact = new Date(await moment.getAttribute("datetime"));
    const at = (hours) => new Date(exact.getTime() + hours * 3_600_000).toISOString().slice(0, 19).replace("T", " ");

    await page.getByLabel("Time zone").fill("Asia/Kolkata");
    await page.getByRole("button", { name: "Set the time zone" }).click();
    await page.alive();
    await page.getByText(`${at(5.5)} GMT+5:30`).first().waitFor();
    assert.match(await moment.getAttribute("title"), / UTC$/);

    await page.visit("/operations?tz=Asia/Tokyo");
    await page.getByText(`${at(9)} GMT+9`).first().waitFor();
    await page.visit("/operations?tz=Nowhere/AtAll");
    await page.getByText(`${at(0)} UTC`).first().waitFor();
    await page.visit("/operations?tz=browser");
    await page.getByText(/ GMT[-−][45]$/).first().waitFor();
  });

  test("without scripts shows UTC, and its choice of a zone changes nothing else", async () => {
    const page = await desk.page({ as: "ada", scripts: false });
    await page.visit("/operations");
    await page.getByLabel("Time zone").fill("Asia/Kolkata");
    await page.getByRole("button", { name: "Set the time zone" }).click();
    assert.equal(new URL(page.url()).pathname, "/operations");
    assert.equal(await page.getByLabel("Time zone").inputValue(), "Asia/Kolkata");
    assert.match(await page.getByRole("row").nth(1).locator("time").last().innerText(), / UTC$/);
    assert.equal(await page.getByRole("button", { name: "Pause live updates" }).isVisible(), false);
  });
});

/** Takes note of what moves by itself, from now on and on every page. */
const watchShifts = (page) =>
  page.addInitScript(() => {
    window.shifts = [];
    addEventListener("load", () =>
      setTimeout(() => {
        new PerformanceObserver((list) => {
          for (const { value, sources } of list.getEntries()) {
            window.shifts.push({ value, moved: sources.map(({ node }) => (node?.parentElement ?? node)?.outerHTML?.slice(0, 200)) });
          }
        }).observe({ type: "layout-shift" });
      }, 500),
    );
  });

const shifts = (page) => page.evaluate(() => window.shifts);
