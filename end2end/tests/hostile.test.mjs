import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";

import { MODES, begin, openDesk } from "../support/desk.mjs";

/** Markup that would show itself: by a request that no page makes. */
const MARKUP = `"'><img src=/executed onerror=fetch('/executed')></script><script>fetch('/executed')</script>{{7*7}}`;
/** Text that runs backwards from its middle on, with characters that nobody sees. */
const HIDDEN = "in\u{200b}voice\u{202e}gnp.exe\u{2066}\u{feff}";
/** As much of one word as a payload of 256 KiB holds beside the rest. */
const LONG = "x".repeat(200 * 1024);
const DEPTH_MAX = 64;
const CHANGES = 5_000;

describe("what others send stays text", () => {
  let desk;
  before(async () => {
    desk = await openDesk({ people: { olga: ["--role", "operator"] } });
  });
  after(() => desk?.close());
  afterEach(() => desk.endPages());

  /** Opens a page, and counts what it must never ask for. */
  const watched = async (scripts, options = {}) => {
    const page = await desk.page({ as: "olga", scripts, ...options });
    const executed = [];
    page.on("request", (request) => new URL(request.url()).pathname === "/executed" && executed.push(request.url()));
    page.on("dialog", (dialog) => executed.push(dialog.message()));
    return { page, executed };
  };

  for (const { mode, scripts } of MODES) {
    test(`${mode}: markup in every part of an operation`, async () => {
      const asked = {
        ...begin(`${MARKUP} ${mode}`),
        company: MARKUP,
        source_system: MARKUP,
        worker: MARKUP,
        delivery_id: MARKUP,
        payload: { [MARKUP]: [MARKUP], amount: "12.00", currency: "EUR", __proto__: { polluted: MARKUP } },
      };
      const grant = await desk.worker.lose(asked, MARKUP);
      await desk.worker.begin({ ...asked, payload: { [MARKUP]: `${MARKUP}\u{2028}` } });

      const { page, executed } = await watched(scripts);
      const query = new URLSearchParams({ document: asked.document, company: MARKUP });
      await page.visit(`/operations?${query}`);
      const link = page.getByRole("link", { name: asked.document });
      await link.waitFor();
      assert.equal(await page.getByLabel("Document").inputValue(), asked.document);
      await page.visit(`/unknown?decide=${grant.operation.id}`);
      await page.getByRole("region", { name: "Confirm with reference" }).waitFor();
      await page.visit(`/operations/${grant.operation.id}`);
      assert.ok((await page.getByRole("heading", { level: 1 }).innerText()).includes(asked.document));
      assert.ok((await payloadOf(page).innerText()).includes("</script>"));
      assert.match(await page.getByRole("article").innerText(), /Open conflict/);

      // Also what a person writes.
      const notApplied = page.getByRole("region", { name: "Not applied" });
      await notApplied.getByLabel("Reason").fill(MARKUP);
      await notApplied.getByLabel("Link to evidence").fill("https://tickets.example/4711");
      await notApplied.getByRole("button", { name: "Mark as not applied" }).click();
      await page.getByText(`Proven not applied: ${MARKUP}`).waitFor();
      await page.visit("/");
      assert.deepEqual(executed, []);
    });

    test(`${mode}: what nobody sees is named, and turns nothing around`, async () => {
      const asked = { ...begin(`${HIDDEN} ${mode}`), payload: { note: HIDDEN, amount: "12.00", currency: "EUR" } };
      const { operation } = await desk.worker.lose(asked, `${HIDDEN} timed out`);
      const { page } = await watched(scripts);
      await page.visit(`/operations/${operation.id}`);
      for (const place of [page.getByRole("heading", { level: 1 }), payloadOf(page)]) {
        const text = await place.innerText();
        for (const code of ["U+200B", "U+202E", "U+2066", "U+FEFF"]) assert.ok(text.includes(code), `${code} in ${text}`);
        assert.ok(!/[\u{200b}\u{202a}-\u{202e}\u{2066}-\u{2069}\u{feff}]/u.test(text), "the characters themselves are not there");
      }
    });

    test(`${mode}: a payload of one long word, and one as deep as may be`, async () => {
      const nested = Array.from({ length: DEPTH_MAX - 1 }).reduce((inner) => [inner], "the bottom");
      const refused = await desk.worker.begin({ payload: { nested: [nested] } });
      assert.deepEqual([refused.status, refused.code], [400, "invalid_json"], JSON.stringify(refused));

      const depth = (levels) => Array.from({ length: levels }).reduce((inner) => [inner], "the bottom");
      // The request and the payload are two levels themselves.
      const { operation: deep } = await desk.worker.begin({ payload: { nested: depth(DEPTH_MAX - 2) } });
      const { operation: long } = await desk.worker.begin({ payload: { long: LONG } });
      const { page } = await watched(scripts, { viewport: { width: 1280, height: 800 } });
      for (const [operation, text] of [[deep, "the bottom"], [long, LONG]]) {
        await page.visit(`/operations/${operation.id}`);
        const payload = payloadOf(page);
        assert.ok((await payload.innerText()).includes(text));
        await assertFits(page);
      }
    });

    test(`${mode}: a key as long as keys may be`, async () => {
      const part = (letter) => letter.repeat(200);
      const asked = { ...begin(part("d").slice(0, -1) + (scripts ? "1" : "0")), company: part("c"), source_system: part("s") };
      const { operation } = await desk.worker.lose(asked);
      const { page } = await watched(scripts, { viewport: { width: 1024, height: 768 } });
      for (const path of ["/", "/operations", "/unknown", `/unknown?decide=${operation.id}`, `/operations/${operation.id}`]) {
        await page.visit(path);
        await assertFits(page);
      }
    });
  }

  test("a conflict in five thousand places lists a hundred and counts the rest", async () => {
    const numbers = (shift) => Object.fromEntries(Array.from({ length: CHANGES }, (_, index) => [`n${index}`, index + shift]));
    const asked = { ...begin(), payload: numbers(0) };
    const { operation } = await desk.worker.confirm(asked);
    const conflict = await desk.worker.begin({ ...asked, payload: numbers(1) });
    assert.equal(conflict.conflict.changes_total, CHANGES);
    const { page } = await watched(true);
    await page.visit(`/operations/${operation.id}`);
    const card = page.getByRole("article");
    await card.getByText(/4,900\schanges more are not listed/).waitFor();
    assert.equal(await card.getByRole("row").count(), 101);
  });
});

const payloadOf = (page) => page.getByRole("region", { name: "The payload as JSON" });

/** Fails when the page as a whole has to be scrolled sideways. */
async function assertFits(page) {
  const [wanted, given] = await page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return [scrollWidth, clientWidth];
  });
  assert.ok(wanted <= given, `${new URL(page.url()).pathname} is ${wanted} px wide on ${given} px`);
}
