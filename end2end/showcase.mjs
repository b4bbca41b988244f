// The pictures of the README, taken of a running demonstration: `npm run showcase -- URL PASSWORD [FOLDER]`, beside `make demo`.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { launch } from "./support/browser.mjs";

const [url, password, folder = "docs/images"] = process.argv.slice(2);
if (!url || !password) {
  console.error("usage: npm run showcase -- URL PASSWORD [FOLDER]");
  process.exit(2);
}

/** The first item of a queue: its row leads to it. */
const firstOf = (queue, link) => async (page) => {
  await page.goto(`${url}${queue}`);
  await page.goto(url + (await page.locator(link).first().getAttribute("href")));
};

const PICTURES = [
  { name: "overview", colorScheme: "light", open: (page) => page.goto(`${url}/`) },
  { name: "unknown", colorScheme: "light", open: (page) => page.goto(`${url}/unknown`) },
  { name: "operation", colorScheme: "dark", open: firstOf("/unknown", "main table a[href^='/operations/']") },
  { name: "conflict", colorScheme: "light", open: firstOf("/conflicts", "main a[href^='/conflicts/']") },
];

await mkdir(folder, { recursive: true });
const browser = await launch();
try {
  for (const { name, colorScheme, open } of PICTURES) {
    const context = await browser.newContext({ colorScheme, viewport: { width: 1600, height: 1000 } });
    const page = await context.newPage();
    await page.goto(`${url}/login`);
    await page.getByLabel("E-mail address").fill("operator@demo.example");
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(`${url}/`);
    await open(page);
    await page.locator("html[data-hydrated]").waitFor();
    await page.screenshot({ path: join(folder, `${name}.png`) });
    await context.close();
  }
} finally {
  await browser.close();
}
console.log(`The pictures are in ${folder}.`);
