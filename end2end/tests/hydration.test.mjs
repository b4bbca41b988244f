import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { assertAccessible, launch, openPage } from "../support/browser.mjs";
import { serve } from "../support/server.mjs";

describe("the first page", () => {
  let server, browser;
  before(async () => {
    server = await serve();
    browser = await launch();
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });

  test("hydrates under its content security policy with a silent console", async () => {
    const { page, problems } = await openPage(browser);
    const answer = await page.goto(server.url);
    assert.match(answer.headers()["content-security-policy"], /script-src 'nonce-[^']+' 'wasm-unsafe-eval';/);
    assert.equal(answer.headers()["cache-control"], "no-store");

    await page.waitForFunction(() => document.documentElement.dataset.hydrated === "true");
    assert.deepEqual(problems, []);
  });

  test("loads every file of the site compressed, and for ever", async () => {
    const { page } = await openPage(browser);
    const files = [];
    page.on("response", (response) => {
      if (new URL(response.url()).pathname.startsWith("/pkg/")) files.push(response);
    });
    await page.goto(server.url, { waitUntil: "networkidle" });

    assert.ok(files.some((file) => file.url().endsWith(".wasm")), "the WebAssembly was loaded");
    for (const file of files) {
      const headers = await file.allHeaders();
      assert.equal(file.status(), 200, file.url());
      assert.equal(headers["cache-control"], "public, max-age=31536000, immutable", file.url());
      if (Number(headers["content-length"]) > 1024) {
        assert.match(headers["content-encoding"] ?? "", /^(br|gzip)$/, file.url());
      }
    }
  });

  test("reads the same without scripts, and axe finds nothing", async () => {
    const { page } = await openPage(browser, { javaScriptEnabled: false });
    await page.goto(server.url);
    assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1);

    const { page: scripted } = await openPage(browser);
    await scripted.goto(server.url);
    await assertAccessible(scripted);
  });
});
