// A desk with people in front of it and a worker behind it: one for each file of tests.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { launch, openPage } from "./browser.mjs";
import { run, serve } from "./server.mjs";

export const PASSWORD = "nine bright shiners";
/** How long something may take to become so, in milliseconds, before it counts as never. */
const PATIENCE_MS = 30_000;
const POLL_MS = 100;
/** What a refused request writes into the console of whoever made it. */
const REFUSAL = /^Failed to load resource: the server responded with a status of 4\d\d/;

/** What the head of a page names for a script that does not run. */
const UNUSED = /was preloaded using link preload but not used/;

/** Journeys are made twice: the desk works without WebAssembly, and does the same with it. */
export const MODES = [
  { mode: "with scripts", scripts: true },
  { mode: "without scripts", scripts: false },
];

export const WORKFLOWS = `
[[workflow]]
name = "accounting-handoff"
title = "Accounting handoff"
description = "create the accounting handoff for {document} in {company}"
amount = "/amount"
currency = "/currency"
volatile = ["/meta/sent_at"]

[[workflow]]
name = "shipping-label"
title = "Shipping label"
description = "print the label for {document} of {company}"
two_step = true
`;

/**
 * Starts a server, a browser, and whoever is named in `people` (an object from name to arguments of `user create`);
 * with a worker, unless there shall be no token yet.
 * @returns the desk; whoever opens it closes it.
 */
export async function openDesk({ workflows = WORKFLOWS, people = {}, hasWorker = true, ...options } = {}) {
  const server = await serve({ configuration: workflows, ...options });
  try {
    for (const [name, more] of Object.entries(people)) {
      await run(server.database, ["user", "create", "--email", address(name), ...more], PASSWORD);
    }
    const token = hasWorker && (await run(server.database, ["token", "create", "--name", "shop"])).trim();
    return new Desk(server, await launch(), token ? new Worker(server.url, token) : undefined);
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** The address of a person. */
export const address = (name) => `${name}@example.com`;

class Desk {
  #cookies = new Map();
  #opened = [];

  constructor(server, browser, worker) {
    this.server = server;
    this.browser = browser;
    this.url = server.url;
    this.worker = worker;
  }

  /**
   * Opens a page, signed in as a person or as a stranger. `refusals` says that the journey runs into refusals, which a
   * browser writes into its console; everything else there fails the test at its end.
   */
  async page({ as, scripts = true, refusals = false, ...options } = {}) {
    const opened = await openPage(this.browser, { javaScriptEnabled: scripts, baseURL: this.url, ...options });
    if (as) await opened.context.addCookies([await this.#cookie(as)]);
    this.#opened.push({ ...opened, refusals, scripts });
    const { page } = opened;
    return Object.assign(page, {
      /** Opens a page of the desk, and waits until it is alive. */
      visit: async (path) => {
        const answer = await page.goto(path);
        await page.alive();
        return answer;
      },
      /** Waits until the browser's half has taken over, where there is one. */
      alive: async () => {
        if (scripts) await page.locator("html[data-hydrated=true]").waitFor({ state: "attached" });
      },
    });
  }

  async #cookie(name) {
    if (!this.#cookies.has(name)) {
      const answer = await fetch(`${this.url}/login`, {
        method: "POST",
        redirect: "manual",
        body: new URLSearchParams({ email: address(name), password: PASSWORD }),
      });
      const [pair] = answer.headers.getSetCookie()[0].split(";");
      const [key, value] = pair.split("=");
      this.#cookies.set(name, { name: key, value, url: this.url });
    }
    return this.#cookies.get(name);
  }

  /** Ends the pages of a test, and fails when one of them complained. */
  async endPages() {
    const opened = this.#opened.splice(0);
    const problems = opened.flatMap(({ problems, refusals, scripts }) =>
      problems.filter((problem) => !(refusals && REFUSAL.test(problem)) && (scripts || !UNUSED.test(problem))),
    );
    await Promise.all(opened.map(({ context }) => context.close()));
    assert.deepEqual(problems, [], "what the console says");
  }

  async close() {
    await this.browser.close();
    await this.server.stop();
  }
}

/** An automation: it asks before it sends, and tells how it went. */
export class Worker {
  constructor(url, token) {
    this.url = url;
    this.token = token;
  }

  /** Asks the API; answers its status and what it says. */
  async ask(method, path, body) {
    const answer = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json" },
      body: typeof body === "object" ? JSON.stringify(body) : body,
    });
    return { status: answer.status, ...(await answer.json()) };
  }

  begin(more = {}) {
    return this.ask("POST", "/operations", { ...begin(), ...more });
  }

  outcome({ operation, lease }, more) {
    return this.ask("POST", `/operations/${operation.id}/outcome`, { lease_token: lease.token, ...more });
  }

  /** Begins an operation and says how it went; answers the grant. */
  async send(more, outcome) {
    const grant = await this.begin(more);
    assert.equal(grant.decision, "proceed", JSON.stringify(grant));
    const settled = await this.outcome(grant, outcome);
    assert.equal(settled.status, 200, JSON.stringify(settled));
    return grant;
  }

  confirm(more, reference = `task-${randomUUID()}`) {
    return this.send(more, { outcome: "confirmed", destination_reference: reference });
  }

  fail(more, reason = "the destination answered 422") {
    return this.send(more, { outcome: "failed", reason });
  }

  lose(more, reason = "no answer within 10 s") {
    return this.send(more, { outcome: "unknown", reason });
  }

  state(id) {
    return this.ask("GET", `/operations/${id}`).then(({ state }) => state);
  }
}

/** A begin that the first workflow takes, of a document that nothing else in the test has. */
export function begin(document = `order-${randomUUID()}`) {
  return {
    workflow: "accounting-handoff",
    company: "acme",
    source_system: "shop",
    document,
    payload: { customer: "C-77", currency: "EUR", amount: "1180.00" },
  };
}

/** The plain sentence of such a begin. */
export const sentence = (document, company = "acme") => `create the accounting handoff for ${document} in ${company}`;

/** Tries until it holds; after a long while it fails as the last try did. */
export async function eventually(check) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await sleep(POLL_MS);
  }
}
