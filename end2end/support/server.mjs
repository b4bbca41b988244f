// The real binary on a database of its own and a free port of the loopback.

import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** The binary under test: what `make test` built, or what ONCEOVER_BINARY names. */
export const BINARY =
  process.env.ONCEOVER_BINARY ?? new URL("../../target/debug/onceover", import.meta.url).pathname;
/** How long a start may take, in milliseconds, before it counts as failed. */
const START_MS = 30_000;
const POLL_MS = 50;

/**
 * Starts `onceover serve` on SQLite in a fresh folder, or on the database given, with a configuration file where its
 * text is given; whoever starts it stops it.
 * @returns {Promise<{url: string, database: string, output: () => string, stop: () => Promise<void>}>}
 */
export async function serve({ database, configuration, arguments: more = [], environment = {} } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "onceover-"));
  const file = join(folder, "onceover.toml");
  if (configuration !== undefined) await writeFile(file, configuration);
  const configured = configuration === undefined ? [] : ["--config", file];
  const store = database ?? `sqlite://${join(folder, "onceover.db")}`;
  const listen = `127.0.0.1:${await freePort()}`;
  const url = `http://${listen}`;

  let output = "";
  const server = spawn(BINARY, ["serve", ...configured, ...more], {
    cwd: folder,
    env: { ...process.env, ONCEOVER_DATABASE: store, ONCEOVER_LISTEN: listen, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [server.stdout, server.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => (output += text));
  }
  const ended = new Promise((resolve) => {
    server.once("close", resolve);
    server.once("error", (error) => {
      output += `${BINARY}: ${error.message}`;
      resolve();
    });
  });

  // Also where the tests are broken off.
  const kill = () => server.kill("SIGKILL");
  process.once("exit", kill);
  const stop = async () => {
    process.off("exit", kill);
    server.kill("SIGTERM");
    await ended;
    await rm(folder, { recursive: true, force: true });
  };

  const deadline = Date.now() + START_MS;
  while (!(await answers(url))) {
    if (server.exitCode !== null || server.pid === undefined || Date.now() > deadline) {
      await stop();
      throw new Error(`onceover did not start:\n${output}`);
    }
    await sleep(POLL_MS);
  }
  return { url, database: store, output: () => output, stop };
}

/** Runs one `onceover` command against a database and returns its standard output; throws when it fails. */
export async function run(database, commandLine, input = "") {
  const command = spawn(BINARY, commandLine, {
    env: { ...process.env, ONCEOVER_DATABASE: database },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let output = "";
  let complaint = "";
  command.stdout.setEncoding("utf8").on("data", (text) => (output += text));
  command.stderr.setEncoding("utf8").on("data", (text) => (complaint += text));
  command.stdin.end(input);
  const code = await new Promise((resolve, reject) => {
    command.once("error", reject);
    command.once("close", resolve);
  });
  if (code !== 0) {
    throw new Error(`onceover ${commandLine.join(" ")} ended with ${code}:\n${complaint}`);
  }
  return output;
}

async function answers(url) {
  try {
    await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(START_MS) });
    return true;
  } catch {
    return false;
  }
}

async function freePort() {
  const probe = createServer();
  await new Promise((resolve, reject) => probe.once("error", reject).listen(0, "127.0.0.1", resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
