import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";

import { MODES, address, begin, openDesk, sentence } from "../support/desk.mjs";

describe("rules", () => {
  let desk;
  before(async () => {
    desk = await openDesk({
      people: {
        fay: ["--role", "finance"],
        finn: ["--role", "finance"],
        olga: ["--role", "operator"],
        vera: ["--role", "viewer"],
      },
    });
  });
  after(() => desk?.close());
  afterEach(() => desk.endPages());

  for (const { mode, scripts } of MODES) {
    const field = scripts ? "printed_at" : "printed_by";

    test(`${mode}: noise is proposed, refused for its proposer, and approved by another`, async () => {
      const noisy = begin();
      noisy.payload[field] = "09:00";
      await desk.worker.confirm(noisy);
      const again = { ...noisy, payload: { ...noisy.payload, [field]: "09:05" } };
      assert.equal((await desk.worker.begin(again)).decision, "conflict");

      const page = await desk.page({ as: "fay", scripts });
      await page.visit("/settings/rules");
      await page.getByRole("link", { name: "Accounting handoff" }).click();
      const form = page.getByRole("region", { name: "Propose a change" });
      const volatile = form.getByLabel(/^Left out of the fingerprint/);
      await volatile.fill(`${await volatile.inputValue()}\n/${field}`);
      await form.getByLabel("Reason").fill("the printer writes the time");
      await form.getByRole("button", { name: "Propose" }).click();
      await page.getByRole("status").filter({ hasText: "is proposed" }).waitFor();

      const waiting = page.getByRole("region", { name: "Waits for approval" });
      await waiting.getByRole("row").filter({ hasText: `/${field}` }).waitFor();
      const whatIf = waiting.getByRole("region", { name: /^What if/ });
      await whatIf.getByRole("link", { name: sentence(noisy.document) }).first().waitFor();
      assert.ok(await waiting.getByRole("button", { name: "Approve" }).isDisabled(), "its proposer cannot approve");
      await waiting.getByText("whoever proposed it cannot decide it").waitFor();
      assert.equal((await desk.worker.begin(again)).decision, "conflict", "a proposal changes nothing");

      const viewer = await desk.page({ as: "vera", scripts });
      await viewer.visit("/settings/rules?workflow=accounting-handoff");
      assert.ok(await viewer.getByRole("button", { name: "Approve" }).isDisabled());
      assert.ok(await viewer.getByRole("button", { name: "Propose" }).isDisabled());

      const theirs = await desk.page({ as: "finn", scripts });
      await theirs.visit("/settings/rules?workflow=accounting-handoff");
      const decision = theirs.getByRole("region", { name: "Approve" });
      await decision.getByLabel("Reason").fill("seen on the conflicts");
      await decision.getByRole("button", { name: "Approve" }).click();
      await theirs.getByRole("status").filter({ hasText: "is approved" }).waitFor();
      const versions = theirs.getByRole("region", { name: "Versions" });
      const newest = versions.getByRole("listitem").first();
      await newest.getByText("the printer writes the time").waitFor();
      assert.match(await newest.innerText(), new RegExp(`${address("finn")}[\\s\\S]*the printer writes the time`));

      const later = begin();
      later.payload[field] = "10:00";
      const grant = await desk.worker.confirm(later);
      assert.equal((await desk.worker.begin({ ...later, payload: { ...later.payload, [field]: "10:01" } })).decision, "replay");
      const { events } = await desk.worker.ask("GET", `/operations/${grant.operation.id}/events`);
      const version = Number.parseInt(/Version (\d+)/.exec(await newest.innerText())[1], 10);
      assert.equal(events[0].detail.policy_version, version, "what is begun since is stamped with the version");
    });

    test(`${mode}: a rule that does not hold is told in the form, and nothing is lost`, async () => {
      const page = await desk.page({ as: "fay", scripts, refusals: true });
      await page.visit("/settings/rules?workflow=shipping-label");
      const form = page.getByRole("region", { name: "Propose a change" });
      await form.getByLabel(/^Key fields/).fill("/amount = total (decimal)");
      await form.getByLabel(/^After reconciliation/).selectOption("reverse_and_repost");
      await form.getByLabel("Reason").fill("a reason that stays");
      await form.getByRole("button", { name: "Propose" }).click();
      const alert = form.getByRole("alert");
      await alert.getByText(/is no JSONPath/).waitFor();
      assert.equal(await form.getByLabel("Reason").inputValue(), "a reason that stays");
      assert.equal(await form.getByLabel(/^Key fields/).inputValue(), "/amount = total (decimal)");
      assert.equal(await form.getByLabel(/^After reconciliation/).inputValue(), "reverse_and_repost");
    });

    test(`${mode}: an operator proposes noise, and cannot touch amendments`, async () => {
      const page = await desk.page({ as: "olga", scripts });
      await page.visit("/settings/rules?workflow=shipping-label");
      const form = page.getByRole("region", { name: "Propose a change" });
      assert.ok(await form.getByLabel(/^May be amended/).isDisabled());
      const place = scripts ? "/noise" : "/other-noise";
      await form.getByLabel(/^Left out of the fingerprint/).fill(place);
      await form.getByLabel("Reason").fill("it changes with every print");
      await form.getByRole("button", { name: "Propose" }).click();
      const waiting = page.getByRole("region", { name: "Waits for approval" });
      const withdraw = waiting.getByRole("region", { name: "Withdraw" });
      await withdraw.getByLabel("Reason").fill("it was another field");
      await withdraw.getByRole("button", { name: "Withdraw" }).click();
      await page.getByRole("status").filter({ hasText: "is withdrawn" }).waitFor();
      await waiting.waitFor({ state: "detached" });
      const decided = page.getByRole("region", { name: "Proposals that were decided" });
      await decided.getByText(/withdrawn by its proposer.*it was another field/).first().waitFor();
    });
  }
});
