// What automations asked, and what the API takes and answers.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, afterEach, before, describe, test } from "node:test";
import { promisify } from "node:util";

import { assertAccessible } from "../support/browser.mjs";
import { MODES, begin, eventually, openDesk } from "../support/desk.mjs";

const WORKFLOWS = `
[[workflow]]
name = "accounting-handoff"
description = "create the accounting handoff for {document} in {company}"
amount = "/amount"
currency = "/currency"
sensitive = ["/customer"]
`;

describe("the developers' pages", () => {
  let desk;
  before(async () => {
    desk = await openDesk({
      workflows: WORKFLOWS,
      people: {
        ada: ["--role", "admin"],
        gert: ["--role", "operator", "--company", "globex"],
      },
    });
    await desk.worker.confirm({ ...begin("order-1"), worker: "it's $HOME \u202e" }, "task-1");
    await desk.worker.begin(begin("order-1"));
    await desk.worker.ask("POST", "/operations", { ...begin("order-2"), revision: 0 });
    await desk.worker.ask("POST", "/operations", "{");
  });
  afterEach(() => desk?.endPages());
  after(() => desk?.close());

  for (const { mode, scripts } of MODES) {
    test(`${mode}: calls are found by what they were answered, and one is repeated by its command`, async () => {
      const page = await desk.page({ as: "ada", scripts });
      await page.visit("/");
      await page.getByRole("navigation", { name: "Desk" }).getByRole("link", { name: "Developers" }).click();
      await page.getByRole("heading", { level: 1, name: "Developers" }).waitFor();
      const rows = page.getByRole("table").getByRole("row");
      await eventually(async () => {
        await page.visit("/developers");
        assert.ok((await rows.count()) >= 6, "the head and five calls");
      });
      await page.getByLabel("Decision").selectOption("replay");
      await page.getByRole("button", { name: "Filter" }).click();
      await page.waitForURL(/decision=replay/);
      await page.alive();
      assert.equal(await rows.count(), 2);
      assert.match(await rows.nth(1).innerText(), /POST \/operations[^]*order-1[^]*200\s+replay[^]*shop[^]*ms/);

      await page.visit("/developers?problem=invalid_field");
      await rows.nth(1).getByRole("rowheader").getByRole("link").click();
      await page.getByRole("heading", { level: 1, name: "POST /operations" }).waitFor();
      await page.getByRole("link", { name: "About invalid_field" }).waitFor();
      const call = await page.getByRole("main").innerText();
      assert.ok(!call.includes("C-77"), "what is sensitive is masked");
      assert.ok(!call.includes(desk.worker.token), "the token is nowhere");
      const command = await page.getByRole("region", { name: "curl command" }).innerText();
      const env = { ...process.env, ONCEOVER_TOKEN: desk.worker.token, no_proxy: "127.0.0.1" };
      const { stdout } = await promisify(execFile)("sh", ["-c", command], { env });
      assert.equal(JSON.parse(stdout).code, "invalid_field", "the same request, the same answer");

      await page.visit("/developers?decision=proceed");
      await rows.nth(1).getByRole("rowheader").getByRole("link").click();
      const request = await page.getByRole("region", { name: "request", exact: true }).innerText();
      assert.ok(request.includes("\\u202e") && request.includes('"amount": "1180.00"'), request);
      await page.getByRole("link", { name: "What became of it" }).click();
      await page.getByRole("heading", { level: 1, name: /order-1/ }).waitFor();

      await page.visit("/developers?problem=invalid_json");
      await rows.nth(1).getByRole("rowheader").getByRole("link").click();
      await page.getByText("the text ends too early").waitFor();
      await page.getByText("No request is kept.").waitFor();

      await page.visit("/developers?problem=none-like-that");
      await page.getByText("No call is like that.").waitFor();
    });

    test(`${mode}: the reference tells endpoints, fields, decisions and problem codes, with this server's address`, async () => {
      const page = await desk.page({ as: "ada", scripts });
      await page.visit("/developers");
      await page.getByRole("link", { name: "API reference" }).click();
      await page.getByRole("heading", { level: 1, name: "API reference" }).waitFor();
      await page.getByRole("heading", { name: "POST /api/v1/operations/{id}/outcome" }).waitFor();
      await page.getByRole("table", { name: "Decisions on a begin" }).getByText("use_result").first().waitFor();
      await page.getByRole("table", { name: "Every problem code" }).getByRole("link", { name: "conflict", exact: true }).waitFor();
      await page.getByRole("region", { name: "Example: first begin" }).getByText(`${desk.url}/api/v1/operations`).waitFor();
      await page.getByRole("table", { name: "Answers of POST /api/v1/operations", exact: true }).getByRole("link", { name: "Granted" }).click();
      await page.waitForURL(/#type-Granted$/);
      assert.ok(await page.getByRole("heading", { name: "Granted", exact: true }).isVisible());
      // Axe is a script.
      if (scripts) await assertAccessible(page);
    });
  }

  test("nothing of another company", async () => {
    const gert = await desk.page({ as: "gert" });
    await gert.visit("/developers");
    await gert.getByText(/^No automation has asked anything/).waitFor();
  });

  test("a call appears by itself", async () => {
    const page = await desk.page({ as: "ada" });
    await page.visit("/developers?decision=in_progress");
    await page.getByText("No call is like that.").waitFor();
    const asked = begin("order-9");
    await desk.worker.begin(asked);
    await desk.worker.begin(asked);
    await page.getByRole("table").getByText("in_progress").waitFor({ timeout: 15_000 });
  });
});
