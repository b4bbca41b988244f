// Pictures of every page, empty and full, light and dark, wide and narrow: `npm run screenshots -- FOLDER`.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { eventually } from "./support/desk.mjs";
import { fill, openStage } from "./support/scene.mjs";

const FOLDER = process.argv[2] ?? "screenshots";
const THEMES = ["light", "dark"];
const SIZES = [
  { name: "wide", viewport: { width: 1440, height: 900 } },
  { name: "narrow", viewport: { width: 390, height: 844 } },
];

/** Takes each page in each theme and size. */
async function take(desk, scene, as, pages) {
  for (const colorScheme of THEMES) {
    for (const { name: size, viewport } of SIZES) {
      const page = await desk.page({ as, colorScheme, viewport, refusals: true });
      for (const [name, path] of Object.entries(pages)) {
        await page.visit(path);
        await page.screenshot({ path: join(FOLDER, `${scene}-${name}-${size}-${colorScheme}.png`), fullPage: true });
      }
      await desk.endPages();
    }
  }
}

/** Hands in what the ledger holds: a record that nobody guards before the others. Answers the path of the report. */
async function reconcile({ url, worker }) {
  const { operations } = await worker.ask("GET", "/operations?company=acme-eu&workflow=accounting-handoff&state=confirmed");
  const rows = operations.slice(1).map(({ destination_reference: reference }, at) => `${reference},${at},EUR`);
  const answer = await fetch(`${url}/api/v1/reconciliations?workflow=accounting-handoff&company=acme-eu&open=all`, {
    method: "POST",
    headers: { authorization: `Bearer ${worker.token}`, "content-type": "text/csv" },
    body: ["destination_reference,amount,currency", "by-hand-1,12.50,EUR", ...rows].join("\n"),
  });
  return new URL((await answer.json()).reconciliation.report_url).pathname;
}

await mkdir(FOLDER, { recursive: true });
const desk = await openStage();
try {
  await take(desk, "empty", "ada", {
    overview: "/",
    operations: "/operations",
    unknown: "/unknown",
    reconciliation: "/reconciliation",
    developers: "/developers",
  });
  const { unknown, conflict, ending, released } = await fill(desk);
  await eventually(async () => {
    const states = await Promise.all([ending, released].map(({ operation }) => desk.worker.state(operation.id)));
    if (`${states}` !== "unknown,released") throw new Error(`they are ${states}`);
  });
  const report = await reconcile(desk);
  await take(desk, "full", "ada", {
    reconciliation: "/reconciliation",
    report,
    act: `${report}?bucket=unguarded&row=1`,
    overview: "/",
    operations: "/operations",
    filtered: "/operations?company=acme-in&state=confirmed&state=unknown",
    "no-match": "/operations?document=order-1",
    unknown: "/unknown",
    decide: `/unknown?decide=${unknown.operation.id}`,
    "operation-unknown": `/operations/${unknown.operation.id}`,
    "operation-conflict": `/operations/${conflict.operation.id}`,
    activity: "/activity",
    developers: "/developers",
    reference: "/developers/reference",
    settings: "/settings",
    missing: "/operations/0192f0c1-2345-7890-abcd-0123456789ab",
  });
  await take(desk, "barred", "vera", { decide: `/unknown?decide=${unknown.operation.id}`, settings: "/settings" });
  await take(desk, "stranger", undefined, { login: "/login", refused: "/login?refused=credentials&email=ada@example.com" });
} finally {
  await desk.close();
}
console.log(`The pictures are in ${FOLDER}.`);
