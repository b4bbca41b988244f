// A real Chromium, and the pages in it.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";

import { AxeBuilder } from "@axe-core/playwright";
import { chromium } from "playwright-core";

const BROWSERS = [process.env.ONCEOVER_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
/** How long a page may keep a test waiting, in milliseconds. */
const PATIENCE_MS = 15_000;

/** Starts a browser with a fresh profile; whoever starts it closes it. */
export async function launch() {
  const executablePath = BROWSERS.find((path) => path && existsSync(path));
  assert.ok(executablePath, "no Chromium found: install it, or name it in ONCEOVER_CHROMIUM");
  return chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/**
 * Opens an empty page in a session of its own. `problems` collects what a person would see in the console: errors,
 * warnings, what the policy refused, failed requests.
 */
export async function openPage(browser, options = {}) {
  const context = await browser.newContext({ locale: "en-GB", timezoneId: "UTC", ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("requestfailed", (request) => {
    const reason = request.failure()?.errorText;
    // A request that a navigation breaks off is no fault of the page, nor is a script that this browser is told not to run.
    const isRefusedScript = options.javaScriptEnabled === false && reason === "csp" && request.url().endsWith(".js");
    if (reason !== "net::ERR_ABORTED" && !isRefusedScript) problems.push(`${request.url()}: ${reason}`);
  });
  return { page, context, problems };
}

/** Fails when axe finds anything against WCAG 2.2 AA on the page. */
export async function assertAccessible(page) {
  const path = new URL(page.url()).pathname;
  const { violations } = await new AxeBuilder({ page })
    .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"])
    .analyze();
  const found = violations.map(({ id, help, nodes }) => `${id}: ${help}\n  ${nodes.map(({ html }) => html).join("\n  ")}`);
  assert.deepEqual(found, [], `what axe finds on ${path}`);
}
