import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";

import { MODES, PASSWORD, address, begin, openDesk } from "../support/desk.mjs";

/** More than anybody may try at once. */
const TRIES_MAX = 30;

describe("sign-in", () => {
  let desk;
  before(async () => {
    desk = await openDesk({ people: { olga: ["--role", "operator"] } });
  });
  after(() => desk?.close());
  afterEach(() => desk.endPages());

  const signIn = async (page, email, password) => {
    await page.getByLabel("Address").fill(email);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
  };

  for (const { mode, scripts } of MODES) {
    test(`${mode}: leads to the page that was asked for, and out again`, async () => {
      const page = await desk.page({ scripts });
      await page.visit("/operations?state=unknown");
      assert.equal(new URL(page.url()).pathname, "/login");
      await signIn(page, address("olga"), PASSWORD);
      await page.getByRole("heading", { level: 1, name: "Operations" }).waitFor();
      assert.equal(new URL(page.url()).search, "?state=unknown");

      const [cookie] = await page.context().cookies();
      assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path], [true, "Lax", "/"]);

      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
      await page.context().addCookies([{ name: cookie.name, value: cookie.value, url: desk.url }]);
      await page.visit("/operations");
      assert.equal(new URL(page.url()).pathname, "/login", "the session is over, not only its cookie");
    });

    test(`${mode}: a wrong password and an unknown address are answered alike`, async () => {
      const page = await desk.page({ scripts });
      const answers = [];
      for (const email of [address("olga"), "nobody@example.com"]) {
        await page.visit("/login?next=/settings");
        await signIn(page, email, "a wrong password");
        await page.getByRole("alert").getByText("E-mail address and password do not go together.").waitFor();
        assert.equal(await page.getByLabel("Address").inputValue(), email);
        assert.equal(await page.getByLabel("Password").inputValue(), "");
        answers.push((await page.getByRole("main").innerText()) + new URL(page.url()).search.replace(encodeURIComponent(email), ""));
      }
      assert.equal(answers[0], answers[1]);
      assert.deepEqual(await page.context().cookies(), []);
    });

    test(`${mode}: what another site posts is refused`, async () => {
      const page = await desk.page({ as: "olga", scripts, refusals: true });
      // Another site: the loopback by another name.
      const { port } = new URL(desk.url);
      const elsewhere = `http://localhost:${port}/elsewhere`;
      await page.route(elsewhere, (route) =>
        route.fulfill({
          contentType: "text/html",
          body: `<form method="post" action="${desk.url}/logout"><button>Win a prize</button></form>`,
        }),
      );
      await page.goto(elsewhere);
      const [answer] = await Promise.all([
        page.waitForResponse((response) => new URL(response.url()).pathname === "/logout"),
        page.getByRole("button", { name: "Win a prize" }).click(),
      ]);
      assert.equal(answer.status(), 403);
      await page.visit("/operations");
      await page.getByRole("banner").getByText(address("olga")).waitFor();
    });
  }

  test("leads to no other site", async () => {
    for (const next of ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]) {
      const answer = await fetch(`${desk.url}/login`, {
        method: "POST",
        redirect: "manual",
        body: new URLSearchParams({ email: address("olga"), password: PASSWORD, next }),
      });
      assert.deepEqual([answer.status, answer.headers.get("location")], [303, "/"], next);
    }
  });

  test("a session that ended while a page stood open loses nothing", async () => {
    const asked = begin();
    const { operation } = await desk.worker.lose(asked);
    const page = await desk.page({ as: "olga", refusals: true });
    await page.visit(`/operations/${operation.id}`);
    const form = page.getByRole("region", { name: "Confirm with reference" });
    await form.getByLabel("Destination reference").fill("task-907");
    await form.getByLabel("Reason").fill("a long story");
    await page.context().clearCookies();
    await form.getByRole("button", { name: "Confirm" }).click();
    await form.getByRole("alert").getByText("You are not signed in").waitFor();
    assert.equal(await form.getByLabel("Reason").inputValue(), "a long story");
    assert.equal(await desk.worker.state(operation.id), "unknown");
  });

  test("too many tries are told to wait, also with the right password", async () => {
    const page = await desk.page();
    const attempt = async (password) => {
      const form = { email: address("olga"), password };
      const answer = await page.context().request.post("/login", { form, maxRedirects: 0 });
      return answer.headers();
    };
    let answer = await attempt("guess");
    for (let tries = 1; tries < TRIES_MAX && answer.location.includes("refused=credentials"); tries += 1) {
      answer = await attempt("guess");
    }
    assert.match(answer.location, /refused=rate/);
    assert.ok(Number(answer["retry-after"]) > 0);
    assert.match((await attempt(PASSWORD)).location, /refused=rate/);
    await page.visit(answer.location);
    await page.getByRole("alert").getByText("Too many tries. Wait a minute, then try again.").waitFor();
  });
});

describe("sign-in behind TLS", () => {
  let desk;
  before(async () => {
    desk = await openDesk({
      people: { olga: ["--role", "operator"] },
      arguments: ["--public-url", "https://desk.example"],
    });
  });
  after(() => desk?.close());

  test("its cookie is for this host and TLS alone", async () => {
    const answer = await fetch(`${desk.url}/login`, {
      method: "POST",
      redirect: "manual",
      body: new URLSearchParams({ email: address("olga"), password: PASSWORD }),
    });
    const [cookie] = answer.headers.getSetCookie();
    assert.match(cookie, /^__Host-/);
    for (const part of ["Secure", "HttpOnly", "SameSite=Lax", "Path=/"]) assert.ok(cookie.includes(part), cookie);
    assert.ok(!/domain=/i.test(cookie));
    assert.match(answer.headers.get("strict-transport-security") ?? "", /max-age=\d+/);
  });
});
