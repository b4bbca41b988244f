import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { after, afterEach, before, describe, test } from "node:test";

import { MODES, WORKFLOWS, begin, openDesk, sentence } from "../support/desk.mjs";
import { run } from "../support/server.mjs";

const MESSAGES = `
[[workflow]]
name = "reminder"
title = "Reminder"
description = "send the reminder {document} to the customer of {company}"
kind = "message"
amount = "/amount"
currency = "/currency"
`;
/** Figures are those of five seconds ago. */
const MARGIN_MS = 6_000;

const today = () => new Date().toISOString().slice(0, 10);

describe("periods", () => {
  let desk;
  before(async () => {
    desk = await openDesk({
      workflows: WORKFLOWS + MESSAGES,
      people: { fay: ["--role", "finance"], olga: ["--role", "operator"], greta: ["--role", "finance", "--company", "globex"] },
    });
  });
  after(() => desk?.close());
  afterEach(() => desk.endPages());

  for (const { mode, scripts } of MODES) {
    test(`${mode}: what is open stands there, a person signs, and it is opened again`, async () => {
      const company = `acme-${scripts ? "one" : "two"}`;
      const mine = (document) => ({ ...begin(document), company });
      await desk.worker.confirm(mine());
      const lost = mine();
      await desk.worker.lose(lost);
      await sleep(MARGIN_MS);

      const page = await desk.page({ as: "fay", scripts, refusals: true });
      await page.visit("/periods");
      await page.getByLabel("Company").fill(company);
      await page.getByLabel("First day").fill(today());
      await page.getByLabel("Last day").fill(today());
      await page.getByRole("button", { name: "Show the figures" }).click();
      await page.getByRole("row").filter({ hasText: "Confirmed" }).getByText(/1,180\.00 EUR/).waitFor();
      await page.getByText(/1 · Unknown/).waitFor();

      const sign = page.getByRole("region", { name: "Sign and close" });
      await page.alive();
      await sign.getByLabel("Your name").fill("Fay Finance");
      await sign.getByLabel("Why it is closed although something is open").fill("the answer is being looked for");
      await desk.worker.confirm(mine());
      await sleep(MARGIN_MS);
      await sign.getByRole("button", { name: "Sign and close" }).click();
      await sign.getByRole("alert").getByText(/figures have changed since the page was made/).waitFor();
      assert.equal(await sign.getByLabel("Your name").inputValue(), "Fay Finance", "nothing that was written is lost");
      await page.visit(`/periods?company=${company}&from=${today()}&to=${today()}`);
      await sign.getByLabel("Your name").fill("Fay Finance");
      await sign.getByLabel("Why it is closed although something is open").fill("the answer is being looked for");
      await sign.getByRole("button", { name: "Sign and close" }).click();

      await page.getByRole("heading", { name: new RegExp(`Certificate of ${company}`) }).waitFor();
      await page.getByText(/^sha256:[0-9a-f]{64}$/).waitFor();
      await page.getByText("the answer is being looked for").waitFor();
      await page.getByRole("link", { name: sentence(lost.document, company) }).waitFor();
      await page.getByRole("row").filter({ hasText: "Confirmed" }).getByText(/2,360\.00 EUR/).waitFor();
      const path = new URL(page.url()).pathname;
      assert.match(await run(desk.server.database, ["trail", "verify"]), /certificates? of/);

      const theirs = await desk.page({ as: "olga", scripts });
      await theirs.visit(path);
      assert.ok(await theirs.getByRole("button", { name: "Open it again" }).isDisabled());
      await theirs.visit(`/periods?company=${company}&from=${today()}&to=${today()}`);
      assert.ok(await theirs.getByRole("button", { name: "Sign and close" }).isDisabled());
      const abroad = await desk.page({ as: "greta", scripts, refusals: true });
      assert.equal((await abroad.visit(path)).status(), 404);
      await abroad.visit("/periods");
      assert.ok(!(await abroad.content()).includes(company), "nothing of another company");

      const reopen = page.getByRole("region", { name: "Open it again" });
      await page.alive();
      await reopen.getByLabel("Reason").fill("an invoice came late");
      await reopen.getByRole("button", { name: "Open it again" }).click();
      await page.getByText(/by fay@example\.com at .*an invoice came late/).waitFor();
      await page.visit("/periods");
      await page.getByRole("row").filter({ hasText: company }).getByText("opened again").waitFor();
    });

    test(`${mode}: a message's page says what the customer received`, async () => {
      const reminder = {
        ...begin(`reminder-${randomUUID()}`),
        workflow: "reminder",
        payload: { text: "please pay", amount: "100.00", currency: "EUR" },
      };
      await desk.worker.fail(reminder, "550 no such mailbox");
      const { operation } = await desk.worker.lose(reminder, "the mail server hung up");
      const page = await desk.page({ as: "olga", scripts });
      await page.visit(`/operations/${operation.id}`);
      const panel = page.getByRole("region", { name: "What the customer received" });
      await panel.getByText("Nobody knows whether the customer received it.").waitFor();
      await panel.getByText("attempt 2 was permitted").waitFor();

      const sent = page.getByRole("region", { name: "Confirm with reference" });
      await sent.getByLabel("Destination reference").fill("mail-7");
      await sent.getByLabel("Reason").fill("the customer answered");
      await sent.getByRole("button", { name: "Confirm" }).click();
      await panel.getByText("The customer received version 1.").waitFor();
      assert.match(await panel.innerText(), /as mail-7[\s\S]*a person decided: confirmed/);
      assert.equal((await desk.worker.begin(reminder)).decision, "replay", "it is never sent again");
    });
  }
});
