import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { promisify } from "node:util";

import { MODES, PASSWORD, eventually, openDesk, sentence } from "../support/desk.mjs";
import { run } from "../support/server.mjs";

const LINK = /http:\/\/\S+\/welcome\?link=\w+/;

for (const { mode, scripts } of MODES) {
  describe(`the first start, ${mode}`, () => {
    let desk, folder, link;
    before(async () => {
      desk = await openDesk({ workflows: "", hasWorker: false });
      folder = await mkdtemp(join(tmpdir(), "onceover-"));
      link = desk.server.output().match(LINK)?.[0];
      assert.ok(link, desk.server.output());
    });
    after(async () => {
      await desk?.close();
      await rm(folder, { recursive: true, force: true });
    });
    afterEach(() => desk.endPages());

    test("leads from the printed link to the first operation", async () => {
      const page = await desk.page({ scripts });
      await page.goto("/operations");
      assert.equal(new URL(page.url()).pathname, "/login");
      await page.getByText("There is nobody yet.").waitFor();

      // The administrator, with a slip that costs nothing but the passwords.
      await page.goto(link);
      await page.getByLabel("Address").fill("ada@example.com");
      await page.getByLabel(/^Password at least/).fill(PASSWORD);
      await page.getByLabel("Password again").fill("something else entirely");
      await page.getByRole("button", { name: "Make the administrator" }).click();
      await page.getByRole("alert").getByText("The two passwords differ.").waitFor();
      assert.equal(await page.getByLabel("Address").inputValue(), "ada@example.com");
      await page.getByLabel(/^Password at least/).fill(PASSWORD);
      await page.getByLabel("Password again").fill(PASSWORD);
      await page.getByRole("button", { name: "Make the administrator" }).click();
      await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
      await page.getByText("ada@example.com").waitFor();

      // The workflow, by the file that the page shows.
      const file = join(folder, "onceover.toml");
      const shown = (name) => page.getByRole("region", { name, exact: true }).innerText();
      await writeFile(file, await shown("configuration"));
      await run(desk.server.database, ["apply", file]);
      const step = (name) => page.getByRole("listitem").filter({ hasText: name });
      await eventually(async () => {
        if (!scripts) await page.reload();
        assert.match(await step("Say what your automation does").innerText({ timeout: 500 }), /done/);
      });

      // The token, which is shown once.
      await page.getByRole("link", { name: "Make a token" }).click();
      await page.getByLabel("Name", { exact: true }).fill("first-automation");
      await page.getByRole("button", { name: "Make the token" }).click();
      const made = page.getByRole("status").filter({ hasText: "never shown again" });
      const token = (await made.getByRole("region", { name: "token" }).innerText()).trim();
      assert.match(token, /^oo_\w+$/);
      await page.getByRole("row", { name: /first-automation/ }).waitFor();
      await page.reload();
      await page.getByRole("row", { name: /first-automation/ }).waitFor();
      assert.ok(!(await page.content()).includes(token), "the token is gone");

      // The begin, by the command that the page shows.
      await page.getByRole("link", { name: "Overview" }).click();
      const command = async (text) => {
        const environment = { ...process.env, ONCEOVER_TOKEN: token };
        const { stdout } = await promisify(execFile)("sh", ["-c", text], { env: environment });
        return JSON.parse(stdout);
      };
      const report = await shown("outcome command");
      const grant = await command(await shown("begin command"));
      assert.equal(grant.decision, "proceed", JSON.stringify(grant));

      // It appears, on this page by itself.
      if (!scripts) await page.reload();
      await page.getByRole("heading", { name: "Duplicates prevented" }).waitFor();
      await page.getByRole("link", { name: "Operations" }).click();
      const { document, company } = grant.operation;
      await page.getByRole("link", { name: sentence(document, company) }).click();
      await page.getByRole("heading", { level: 1, name: sentence(document, company) }).waitFor();
      await page.getByText("may be writing it at the destination right now").waitFor();

      // And then its end, again as the guide said.
      const settled = await command(
        report.replace("OPERATION_ID", grant.operation.id).replace("LEASE_TOKEN", grant.lease.token),
      );
      assert.equal(settled.state, "confirmed", JSON.stringify(settled));
      await page.reload();
      await page.getByText("It was applied, once.").waitFor();
      await page.getByRole("definition").filter({ hasText: "task-907" }).waitFor();
    });

    test("happens once: the link is no good afterwards", async () => {
      const page = await desk.page({ scripts });
      for (const used of [link, "/welcome?link=0123", "/welcome"]) {
        await page.goto(used);
        await page.getByRole("heading", { level: 1, name: "This link does not work" }).waitFor();
        assert.equal(await page.getByRole("textbox").count(), 0);
      }
      await page.getByRole("link", { name: "Sign in" }).click();
      await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
      await page.goto("/");
      assert.equal(new URL(page.url()).pathname, "/login");
    });
  });
}
