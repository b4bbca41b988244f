import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";

import { assertAccessible } from "../support/browser.mjs";
import { MODES, begin, eventually, openDesk, sentence } from "../support/desk.mjs";

const NARROW = { width: 320, height: 640 };
const PATH = "/metrics-board?days=7";

const today = () => new Date().toISOString().slice(0, 10);
/** The first whole number of a text. */
const number = (text) => Number(/[\d,]+/.exec(text)[0].replaceAll(",", ""));
/** The figure with this heading. */
const figure = (page, name) => page.getByRole("listitem").filter({ has: page.getByRole("heading", { name }) });

describe("the metrics of a desk where nothing was asked", () => {
  let desk;
  before(async () => {
    desk = await openDesk({ people: { vera: ["--role", "viewer"] } });
  });
  after(() => desk?.close());
  afterEach(() => desk.endPages());

  for (const { mode, scripts } of MODES) {
    test(`${mode}: it says so, and how it counts`, async () => {
      const page = await desk.page({ as: "vera", scripts });
      await page.visit("/metrics-board");
      await page.getByText("Nothing was counted in this period or the one before it.").waitFor();
      await page.getByText("How this is counted").click();
      await page.getByText(/Each operation counts once, with its amount once/).waitFor();
    });
  }
});

describe("the metrics", () => {
  let desk, doubled;
  before(async () => {
    desk = await openDesk({
      people: { vera: ["--role", "viewer"], greta: ["--role", "viewer", "--company", "globex"] },
    });
    doubled = begin();
    const first = await desk.worker.begin(doubled);
    for (let asks = 0; asks < 4; asks += 1) await desk.worker.begin(doubled);
    await desk.worker.outcome(first, { outcome: "confirmed", destination_reference: "task-1" });
    for (let asks = 0; asks < 3; asks += 1) await desk.worker.begin(doubled);
    await desk.worker.lose();
    const changed = begin();
    await desk.worker.confirm(changed);
    await desk.worker.begin({ ...changed, payload: { ...changed.payload, amount: "1.00" } });
    await eventually(async () => {
      const answer = await fetch(`${desk.url}/metrics`, { headers: { authorization: `Bearer ${desk.worker.token}` } });
      assert.match(await answer.text(), /onceover_duplicates_prevented_total\{.*kind="in_progress"\} 1/);
    });
  });
  after(() => desk?.close());
  afterEach(() => desk.endPages());

  for (const { mode, scripts } of MODES) {
    test(`${mode}: a worker that polls is one duplicate, with its original`, async () => {
      const page = await desk.page({ as: "vera", scripts });
      await page.visit(PATH);
      const prevented = await figure(page, "Duplicates prevented").innerText();
      assert.match(prevented, /\n1\n/);
      assert.match(prevented, /1 more than before \(0\)/);
      assert.match(prevented, /1,180\.00 EUR/);
      assert.ok(number((await figure(page, "Repetitions held back").innerText()).split(/\n+/)[1]) >= 7);
      const kinds = page.getByRole("table", { name: "Duplicates prevented by kind" });
      const held = await kinds.getByRole("row").filter({ hasText: "Held while it was under way" }).innerText();
      assert.match(held, /1[\s\S]*1,180\.00 EUR/);
      await page.getByRole("link", { name: sentence(doubled.document) }).click();
      await page.getByRole("heading", { level: 1, name: sentence(doubled.document) }).waitFor();
    });

    test(`${mode}: the address says which numbers`, async () => {
      const page = await desk.page({ as: "vera", scripts });
      await page.visit("/metrics-board");
      await page.getByRole("link", { name: "7 days" }).click();
      await page.waitForURL(/days=7/);
      await page.locator("a[aria-current=true]", { hasText: "7 days" }).waitFor();
      await page.getByLabel("First day").fill("2020-01-01");
      await page.getByLabel("Last day").fill("2020-01-31");
      await page.getByRole("button", { name: "Show" }).click();
      await page.waitForURL(/from=2020-01-01&to=2020-01-31/);
      await page.getByText("2020-01-01 to 2020-01-31").waitFor();
      await page.getByText("Nothing was counted in this period").waitFor();
      await page.visit(`/metrics-board?from=${today()}&to=${today()}&workflow=accounting-handoff`);
      assert.equal(await page.getByLabel("Workflow", { exact: true }).inputValue(), "accounting-handoff");
      assert.match(await figure(page, "Duplicates prevented").innerText(), /\n1\n/);
    });

    test(`${mode}: every drawing has its sentence and its table`, async () => {
      const page = await desk.page({ as: "vera", scripts });
      await page.visit(PATH);
      const drawing = page.getByRole("img", { name: /^Duplicates prevented over time\. In all: / });
      await drawing.waitFor();
      const panel = page.getByRole("region", { name: "Duplicates prevented over time", exact: true });
      await panel.getByText("Show the numbers").click();
      const row = panel.getByRole("row").filter({ hasText: today() });
      assert.match(await row.innerText(), /\b1\b/);
      for (const name of ["Uncertain outcomes over time", "Time to truth", "Who brought the truth", "Conflicts by changed field"]) {
        await page.getByRole("region", { name, exact: true }).getByText("Show the numbers").waitFor();
      }
      await page.getByRole("region", { name: "Conflicts by changed field" }).getByText("/amount").first().waitFor();
    });

    test(`${mode}: nobody sees numbers of another company`, async () => {
      const page = await desk.page({ as: "greta", scripts });
      await page.visit(PATH);
      await page.getByText("Nothing was counted in this period").waitFor();
      assert.ok(!(await page.content()).includes(doubled.document));
    });
  }

  test("the files say the same", async () => {
    const page = await desk.page({ as: "vera" });
    await page.visit(PATH);
    const shown = number((await figure(page, "Duplicates prevented").innerText()).split(/\n+/)[1]);
    const link = await page.getByRole("link", { name: "JSON" }).getAttribute("href");
    const file = await (await page.request.get(link)).json();
    const rows = file.rows.filter((row) => row.measure === "duplicates_prevented" && !row.workflow && !row.company);
    assert.equal(rows.reduce((sum, row) => sum + row.value, 0), shown);
    assert.match(await (await page.request.get(link.replace("json", "csv"))).text(), /^measure,of,workflow,company,currency,value,before,from,to\r\n/);
  });

  test("g m goes there", async () => {
    const page = await desk.page({ as: "vera" });
    await page.visit("/operations");
    await page.keyboard.press("g");
    await page.keyboard.press("m");
    await page.getByRole("heading", { level: 1, name: "Metrics" }).waitFor();
    await figure(page, "Duplicates prevented").waitFor();
  });

  for (const colorScheme of ["light", "dark"]) {
    test(`axe finds nothing in ${colorScheme}`, async () => {
      const page = await desk.page({ as: "vera", colorScheme });
      for (const path of [PATH, "/metrics-board?from=2020-01-01&to=2020-01-31"]) {
        await page.visit(path);
        await assertAccessible(page);
      }
    });
  }

  test("it fits 320 px", async () => {
    const page = await desk.page({ as: "vera", viewport: NARROW });
    await page.visit(PATH);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(over, 0, "nothing is wider than the window");
  });
});
