import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { after, afterEach, before, describe, test } from "node:test";

import { assertAccessible } from "../support/browser.mjs";
import { begin, eventually, openDesk } from "../support/desk.mjs";

const THEMES = ["light", "dark"];
/** The narrowest that WCAG 2.2 (1.4.10) asks for: 1280 px at four times the size. */
const NARROW = { width: 320, height: 640 };
/** The figures of a period are those of five seconds ago. */
const MARGIN_MS = 6_000;

describe("everybody can use an empty desk", () => {
  let desk;
  before(async () => {
    desk = await openDesk({ people: { ada: ["--role", "admin"] } });
  });
  after(() => desk?.close());
  afterEach(() => desk.endPages());

  for (const colorScheme of THEMES) {
    test(`axe finds nothing in ${colorScheme}`, async () => {
      const page = await desk.page({ as: "ada", colorScheme });
      await assertEvery(page, [
        "/",
        "/operations",
        "/unknown",
        "/conflicts",
        "/amendments",
        "/periods",
        "/reconciliation",
        "/metrics-board",
        "/metrics-board?from=2020-01-01&to=2020-01-31",
        "/activity",
        "/developers",
        "/developers/reference",
        "/settings",
        "/settings/rules",
      ]);
      const stranger = await desk.page({ colorScheme });
      await assertEvery(stranger, ["/login?refused=credentials", "/welcome?refused=differ"]);
    });
  }
});

describe("everybody can use a full desk", () => {
  let desk, paths;
  before(async () => {
    desk = await openDesk({ people: { ada: ["--role", "admin"], fay: ["--role", "finance"], vera: ["--role", "viewer"] } });
    const conflicted = begin();
    const { operation: confirmed } = await desk.worker.confirm(conflicted);
    const answer = await desk.worker.begin({ ...conflicted, payload: { ...conflicted.payload, amount: "1.00", note: "new" } });
    const conflict = new URL(answer.conflict.review_url).pathname;
    await desk.worker.begin(conflicted);
    await desk.worker.fail();
    const { operation: unknown } = await desk.worker.lose();
    const disputed = await desk.worker.fail();
    await desk.worker.outcome(disputed, { outcome: "confirmed", destination_reference: "task-2" });
    await desk.worker.begin({ ...begin(), workflow: "shipping-label" });
    const today = new Date().toISOString().slice(0, 10);
    const period = `/periods?company=acme&from=${today}&to=${today}`;
    const { run, certificate } = await act(desk, period);
    paths = [
      "/?span=7d",
      "/operations?state=confirmed&state=disputed",
      "/operations?document=none-like-that",
      `/operations/${confirmed.id}`,
      `/operations/${unknown.id}`,
      `/unknown?decide=${unknown.id}`,
      "/conflicts",
      "/conflicts?path=/amount",
      `${conflict}?line=0`,
      `/operations/${confirmed.id}/compare?whole=split&line=0`,
      run,
      period,
      certificate,
      "/metrics-board?days=7",
      "/metrics-board?days=90&workflow=accounting-handoff",
      "/activity",
      "/developers",
      "/developers?problem=none-like-that",
      await refusedCall(desk),
      "/developers/reference",
      "/settings",
      "/settings/rules?workflow=accounting-handoff",
    ];
  });
  after(() => desk?.close());
  afterEach(() => desk.endPages());

  for (const colorScheme of THEMES) {
    test(`axe finds nothing in ${colorScheme}`, async () => {
      const page = await desk.page({ as: "ada", colorScheme });
      await assertEvery(page, paths);
    });
  }

  test("axe finds nothing where controls are barred, and where pages are missing", async () => {
    const page = await desk.page({ as: "vera", refusals: true });
    await assertEvery(page, [paths.find((path) => path.startsWith("/unknown")), "/settings"]);
    await assertEvery(page, ["/operations?state=lost", "/operations/0192f0c1-2345-7890-abcd-0123456789ab"]);
    await page.goto("/nowhere");
    await assertAccessible(page);
  });

  test("nothing is wider than a narrow screen, and axe finds nothing there", async () => {
    const page = await desk.page({ as: "ada", viewport: NARROW });
    for (const path of paths) {
      await page.visit(path);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= NARROW.width, `${path} is ${wide} px wide`);
    }
    await assertEvery(page, ["/operations", paths.find((path) => path.startsWith("/unknown"))]);
  });

  test("the theme that was chosen stays, with scripts and without", async () => {
    for (const scripts of [true, false]) {
      const page = await desk.page({ as: "ada", scripts, colorScheme: "light" });
      const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
      await page.visit("/operations");
      const light = await background();
      await page.getByRole("button", { name: "Dark" }).click();
      await page.locator("html[data-theme=dark]").waitFor({ state: "attached" });
      assert.equal(new URL(page.url()).pathname, "/operations");
      const dark = await background();
      assert.notEqual(dark, light);
      await page.visit("/unknown");
      assert.equal(await background(), dark);
    }
  });

  test("the keyboard goes everywhere: skip link, rail, page", async () => {
    const page = await desk.page({ as: "ada" });
    await page.visit("/operations");
    const focused = () => page.evaluate(() => document.activeElement.textContent.trim().replace(/\s+/g, " "));
    await page.keyboard.press("Tab");
    assert.equal(await focused(), "Skip to the page");
    const skip = page.getByRole("link", { name: "Skip to the page" });
    assert.ok((await skip.boundingBox()).y >= 0, "the skip link is seen once it has the focus");
    const outline = await skip.evaluate((element) => getComputedStyle(element).outlineStyle);
    assert.notEqual(outline, "none");
    const pages = await page.getByRole("navigation", { name: "Desk" }).getByRole("link").allTextContents();
    assert.ok(pages.length >= 6, pages.join());
    for (const name of ["Onceover", ...pages]) {
      await page.keyboard.press("Tab");
      assert.equal(await focused(), name.trim().replace(/\s+/g, " "));
    }
    await skip.focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement.id === "main");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.closest("main")?.id), "main");
  });

  test("after a navigation the focus is on the heading, and the title is that of the page", async () => {
    const page = await desk.page({ as: "ada" });
    await page.visit("/");
    await page.evaluate(() => (globalThis.stayed = true));
    const onHeading = (name) =>
      page.waitForFunction(
        (name) => document.activeElement.tagName === "H1" && document.activeElement.innerText.includes(name),
        name,
      );
    for (const name of ["Operations", "Unknown", "Settings", "Overview", "Unknown"]) {
      await page.getByRole("navigation", { name: "Desk" }).getByRole("link", { name }).click();
      await onHeading(name);
      await page.waitForFunction((title) => document.title === title, `${name} · Onceover`);
      assert.equal(
        await page.getByRole("navigation", { name: "Desk" }).locator("[aria-current=page]").innerText().then((text) => text.split(/\s/)[0]),
        name,
      );
    }
    const link = page.getByRole("table").getByRole("link", { name: "create the accounting handoff" }).first();
    const name = await link.innerText();
    await link.click();
    await onHeading(name);
    await page.goBack();
    await onHeading("Unknown");
    assert.ok(await page.evaluate(() => globalThis.stayed), "no page was loaded anew");
  });

  test("a person who wants less motion gets none", async () => {
    const page = await desk.page({ as: "ada", reducedMotion: "reduce" });
    await page.visit("/unknown");
    const moving = await page.evaluate(() =>
      document.getAnimations().filter(({ effect }) => effect.getTiming().duration > 1).length,
    );
    assert.equal(moving, 0);
  });
});

/** Makes what only people make: a run and a certificate; answers where they are. */
async function act(desk, period) {
  const ada = await desk.page({ as: "ada", scripts: false });
  await ada.visit("/operations?state=unknown");
  await ada.getByRole("button", { name: "Claim all…" }).click();
  await ada.getByRole("heading", { level: 1, name: "Claim many" }).waitFor();
  const fay = await desk.page({ as: "fay", scripts: false });
  await sleep(MARGIN_MS);
  await fay.visit(period);
  const sign = fay.getByRole("region", { name: "Sign and close" });
  await sign.getByLabel("Your name").fill("Fay Finance");
  await sign.getByLabel("Why it is closed although something is open").fill("the answer is being looked for");
  await sign.getByRole("button", { name: "Sign and close" }).click();
  await fay.getByRole("heading", { name: /^Certificate of/ }).waitFor();
  const [run, certificate] = [ada, fay].map((page) => new URL(page.url()).pathname);
  await desk.endPages();
  return { run, certificate };
}

/** Where the desk shows a call that was refused. */
async function refusedCall(desk) {
  await desk.worker.ask("POST", "/operations", { ...begin(), revision: 0 });
  const ada = await desk.page({ as: "ada", scripts: false });
  const call = ada.getByRole("row").filter({ hasText: "invalid_field" }).getByRole("rowheader").getByRole("link");
  await eventually(async () => {
    await ada.visit("/developers?status=4xx");
    assert.ok((await call.count()) > 0, "it is kept a moment later");
  });
  const path = await call.first().getAttribute("href");
  await desk.endPages();
  return path;
}

async function assertEvery(page, paths) {
  for (const path of paths) {
    await page.visit(path);
    await assertAccessible(page);
  }
}
