// The TypeScript of docs/recipes, as it stands there: compiled strictly, then run against a server and the sandbox.
// The other recipes are run by server/tests/recipes.rs.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

import { BINARY, run, serve } from "../support/server.mjs";

const RECIPE = new URL("../../docs/recipes/typescript.md", import.meta.url);
const MODULES = new URL("../node_modules", import.meta.url).pathname;
const COMPILER = join(MODULES, "typescript/bin/tsc");
/** A lost answer is looked up within this time, in milliseconds. */
const KNOWN_MS = 30_000;

const execute = promisify(execFile);
let folder, sandbox, server, environment;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "onceover-recipes-"));
  sandbox = await startSandbox();
  const printed = await run("sqlite://unused", ["sandbox", "--print-config"]);
  server = await serve({ configuration: printed.replaceAll("http://127.0.0.1:9090", sandbox.url) });
  const token = (await run(server.database, ["token", "create", "--name", "recipe"])).trim();
  environment = { ...process.env, ONCEOVER: server.url, DESTINATION: sandbox.url, TOKEN: token };
});

after(async () => {
  await server?.stop();
  sandbox?.process.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

test("the TypeScript recipes compile strictly and make one record for each order", async () => {
  const text = await readFile(RECIPE, "utf8");
  const blocks = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1]);
  assert.equal(blocks.length, 3);
  const names = ["proxied.ts", "onceover.ts", "handoff.ts"];
  for (const [index, name] of names.entries()) await writeFile(join(folder, name), blocks[index]);
  // A top-level await needs a module, which a file without import or export is by this alone.
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await mkdir(join(folder, "node_modules"));
  await symlink(join(MODULES, "@types"), join(folder, "node_modules/@types"));
  await symlink(join(MODULES, "undici-types"), join(folder, "node_modules/undici-types"));
  const strictly = "--strict --noUncheckedIndexedAccess --target es2022 --module nodenext --moduleDetection force --types node";
  await execute(process.execPath, [COMPILER, ...strictly.split(" "), ...names], { cwd: folder }).catch((error) => {
    assert.fail(error.stdout);
  });

  assert.equal(await ran("proxied.js"), "task-1\n");
  assert.equal(await ran("proxied.js"), "task-1\n");
  assert.equal(await ran("handoff.js", "order-1"), "task-2\n");
  assert.equal(await ran("handoff.js", "order-1"), "task-2\n");

  await fetch(`${sandbox.url}/sandbox/faults?fault=cut_after&requests=1`, { method: "POST" });
  await assert.rejects(ran("handoff.js", "order-2"), /Later/);
  const deadline = Date.now() + KNOWN_MS;
  let known;
  while (known === undefined) {
    assert.ok(Date.now() < deadline, "it is never known");
    await sleep(100);
    known = await ran("handoff.js", "order-2").catch((error) => {
      assert.match(error.stderr, /Later/);
    });
  }
  assert.equal(known, "task-3\n");

  await fetch(`${sandbox.url}/sandbox/faults?fault=refuse&requests=1`, { method: "POST" });
  await assert.rejects(ran("handoff.js", "order-3"), /the destination answered 422/);
  assert.equal(await ran("handoff.js", "order-3"), "task-4\n");
  const count = await (await fetch(`${sandbox.url}/sandbox/count`)).json();
  assert.equal(count.live, 4);
});

/** Runs a compiled recipe and returns what it printed. */
async function ran(...commandLine) {
  return (await execute(process.execPath, commandLine, { cwd: folder, env: environment })).stdout;
}

async function startSandbox() {
  const child = spawn(BINARY, ["sandbox", "--listen", "127.0.0.1:0", "--data", join(folder, "sandbox.db")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  process.once("exit", () => child.kill("SIGKILL"));
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text) => (printed += text));
  const deadline = Date.now() + KNOWN_MS;
  while (!printed.includes("\n")) {
    assert.ok(child.exitCode === null && Date.now() < deadline, "the sandbox did not start");
    await sleep(20);
  }
  return { process: child, url: /http:\/\/\S+/.exec(printed)[0] };
}
