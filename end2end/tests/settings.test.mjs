import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";

import { MODES, PASSWORD, Worker, address, begin, eventually, openDesk, sentence } from "../support/desk.mjs";

describe("settings", () => {
  let desk;
  before(async () => {
    desk = await openDesk({
      people: {
        ada: ["--role", "admin"],
        greta: ["--role", "admin", "--company", "globex"],
        olga: ["--role", "operator"],
      },
    });
  });
  after(() => desk?.close());
  afterEach(() => desk.endPages());

  for (const { mode, scripts } of MODES) {
    const name = scripts ? "billing-worker" : "billing worker & co";

    test(`${mode}: a token is made for one company, and revoked`, async () => {
      const page = await desk.page({ as: "ada", scripts, refusals: true });
      await page.visit("/settings");
      const form = page.getByRole("region", { name: "Make a token" });
      await form.getByLabel("Name", { exact: true }).fill(name);
      await form.getByLabel(/^Companies/).fill(" globex , initech ");
      await form.getByLabel("Accounting handoff").check();
      await form.getByLabel(/^metrics:read/).check();
      await form.getByRole("button", { name: "Make the token" }).click();
      const made = page.getByRole("status").filter({ hasText: "never shown again" });
      const token = (await made.getByRole("region", { name: "token" }).innerText()).trim();

      const row = page.getByRole("row").filter({ hasText: name }).filter({ hasText: "operations:write" });
      const cells = await row.getByRole("cell").allInnerTexts();
      assert.deepEqual(cells.slice(0, 3).map((text) => text.split(/\s+/)), [
        ["operations:write", "operations:read", "metrics:read"],
        ["globex", "initech"],
        ["accounting-handoff"],
      ]);

      const worker = new Worker(desk.url, token);
      assert.equal((await worker.begin({ company: "globex" })).status, 201);
      assert.equal((await worker.begin({ company: "acme" })).status, 403);

      const question = page.getByRole("row").filter({ hasText: "This cannot be undone." });
      await row.getByRole("link", { name: "Revoke" }).click();
      await question.getByText(name, { exact: true }).waitFor();
      await question.getByRole("link", { name: "Keep" }).click();
      await question.waitFor({ state: "detached" });
      assert.equal((await worker.begin({ company: "globex" })).status, 201, "asking changed nothing");
      await row.getByRole("link", { name: "Revoke" }).click();
      await question.getByRole("button", { name: "Revoke for good" }).click();
      await page.getByRole("status").filter({ hasText: "is revoked: whoever uses it is refused" }).waitFor();
      await row.getByText(/^revoked/).waitFor();
      // A process that knows the token looks it up again after two seconds.
      await eventually(async () => assert.equal((await worker.begin({ company: "globex" })).status, 401));
    });

    test(`${mode}: a mistake in a form is told, and nothing is lost`, async () => {
      const page = await desk.page({ as: "ada", scripts, refusals: true });
      await page.visit("/settings");
      const form = page.getByRole("region", { name: "Make a token" });
      await form.getByLabel("Name", { exact: true }).fill("no-scopes");
      await form.getByLabel(/^operations:write/).uncheck();
      await form.getByLabel(/^operations:read/).uncheck();
      await form.getByLabel(/^Companies/).fill("globex");
      await form.getByRole("button", { name: "Make the token" }).click();
      await form.getByRole("alert").getByText("No token was made").waitFor();
      assert.equal(await form.getByLabel("Name", { exact: true }).inputValue(), "no-scopes");
      assert.equal(await form.getByLabel(/^Companies/).inputValue(), "globex");
      assert.ok(!(await form.getByLabel(/^operations:write/).isChecked()));

      const people = page.getByRole("region", { name: "Add a person" });
      await people.getByLabel("Address").fill(address("olga"));
      await people.getByLabel("Role").selectOption("finance");
      await people.getByRole("button", { name: "Add the person" }).click();
      await people.getByRole("alert").getByText("Nobody was added").waitFor();
      assert.match(await people.getByRole("alert").innerText(), /olga@example\.com.* exists already/);
      assert.equal(await people.getByLabel("Address").inputValue(), address("olga"));
      assert.equal(await people.getByLabel("Role").inputValue(), "finance");
    });

    test(`${mode}: somebody added for one company sees nothing of another`, async () => {
      const newcomer = scripts ? "gus" : "gabi";
      const [acme, globex] = [begin(), { ...begin(), company: "globex" }];
      const hidden = await desk.worker.lose(acme);
      await desk.worker.begin({ ...acme, payload: { changed: true } });
      const mine = await desk.worker.lose(globex);

      const page = await desk.page({ as: "ada", scripts });
      await page.visit("/settings");
      const form = page.getByRole("region", { name: "Add a person" });
      await form.getByLabel("Address").fill(address(newcomer));
      await form.getByLabel("Role").selectOption({ label: "operator: decides what is uncertain" });
      await form.getByLabel(/^Companies/).fill("globex");
      await form.getByLabel(/^Password/).fill(PASSWORD);
      await form.getByRole("button", { name: "Add the person" }).click();
      await page.getByRole("status").filter({ hasText: `${address(newcomer)} can sign in` }).waitFor();
      const row = page.getByRole("row").filter({ hasText: address(newcomer) });
      assert.deepEqual(await row.getByRole("cell").allInnerTexts(), ["operator", "globex"]);

      const theirs = await desk.page({ as: newcomer, scripts, refusals: true });
      await theirs.visit("/operations");
      await theirs.getByRole("banner").getByText("operator · globex").waitFor();
      const companies = theirs.getByRole("table").getByRole("row");
      await theirs.getByRole("link", { name: sentence(globex.document, "globex") }).waitFor();
      assert.equal(await companies.filter({ hasText: "acme" }).count(), 0);
      await theirs.visit("/operations?company=acme");
      await theirs.getByText("No operation is like that.").waitFor();

      const answer = await theirs.visit(`/operations/${hidden.operation.id}`);
      assert.equal(answer.status(), 404);
      assert.ok(!(await theirs.content()).includes(acme.document), "an error names nothing either");
      assert.equal((await theirs.visit(`/operations/${mine.operation.id}`)).status(), 200);

      await theirs.visit("/unknown");
      await theirs.getByRole("row", { name: sentence(globex.document, "globex") }).waitFor();
      assert.equal(await companies.filter({ hasText: "acme" }).count(), 0);
      const rows = await theirs.getByRole("link", { name: /^Decide/ }).count();
      const waiting = async (on) => {
        const text = await on.getByRole("navigation", { name: "Desk" }).getByRole("link", { name: "Unknown" }).getByText(/\d+ waiting/).innerText();
        return Number.parseInt(text, 10);
      };
      assert.equal(await waiting(theirs), rows, "the count holds what the list holds");
      await page.visit("/unknown");
      assert.ok((await waiting(page)) > rows, "and who sees every company counts more");

      await theirs.visit("/");
      const conflicts = theirs.getByRole("listitem").filter({ has: theirs.getByRole("heading", { name: "Open conflicts" }) });
      assert.match(await conflicts.innerText(), /Open conflicts\s+0\s/);
    });
  }

  test("a password that was made signs in, and is shown once", async () => {
    const page = await desk.page({ as: "ada" });
    await page.visit("/settings");
    const form = page.getByRole("region", { name: "Add a person" });
    await form.getByLabel("Address").fill("nora@example.com");
    await form.getByRole("button", { name: "Add the person" }).click();
    const password = (await page.getByRole("region", { name: "password" }).innerText()).trim();
    await page.reload();
    await page.getByRole("row").filter({ hasText: "nora@example.com" }).waitFor();
    assert.ok(!(await page.content()).includes(password));

    const theirs = await desk.page();
    await theirs.visit("/login");
    await theirs.getByLabel("Address").fill("nora@example.com");
    await theirs.getByLabel("Password").fill(password);
    await theirs.getByRole("button", { name: "Sign in" }).click();
    await theirs.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  });

  test("an administrator of one company gives no more than that", async () => {
    const page = await desk.page({ as: "greta", refusals: true });
    await page.visit("/settings");
    await page.getByRole("row").filter({ hasText: address("greta") }).waitFor();
    assert.equal(await page.getByRole("row").filter({ hasText: address("ada") }).count(), 0);
    assert.equal(await page.getByRole("row").filter({ hasText: "shop" }).count(), 0, "tokens of every company");
    const form = page.getByRole("region", { name: "Make a token" });
    await form.getByLabel("Name", { exact: true }).fill("too-much");
    await form.getByLabel(/^Companies/).fill("acme");
    await form.getByRole("button", { name: "Make the token" }).click();
    await form.getByRole("alert").getByText(/go beyond what you reach yourself: globex/).waitFor();
  });

  test("who may not administer sees why, and is refused by the server", async () => {
    const page = await desk.page({ as: "olga" });
    await page.visit("/settings");
    for (const name of ["Make the token", "Add the person"]) {
      const button = page.getByRole("button", { name });
      assert.ok(await button.isDisabled());
    }
    assert.equal(await page.getByText("This needs the role admin; you are an operator.").count(), 2);
    assert.ok(!(await page.content()).includes(address("ada")));
    await page.getByRole("heading", { level: 3, name: "Accounting handoff" }).waitFor();

    const post = (path, form) => page.context().request.post(path, { form });
    const answers = await Promise.all([
      post("/fn/create_token", { "draft[name]": "forged", "draft[scopes][]": "operations:write" }),
      post("/fn/add_person", { "draft[email]": "mallory@example.com", "draft[role]": "admin" }),
      post("/fn/revoke_token", { id: "0192f0c1-2345-7890-abcd-0123456789ab" }),
    ]);
    assert.deepEqual(answers.map((answer) => answer.status()), [403, 403, 403]);
  });
});
