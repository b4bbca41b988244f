// A desk as it looks after a working morning: several automations, companies and currencies, every state that there is.

import { openDesk } from "./desk.mjs";

const WORKFLOWS = `
[[destination]]
name = "ledger"
base_url = "https://ledger.example/api"
finality_seconds = 30
[destination.lookup]
method = "GET"
path = "/tasks?external_reference={{ external_reference }}"
records = "$.items[*]"
external_reference = "$.external_reference"
reference = "$.id"

[[workflow]]
name = "accounting-handoff"
title = "Accounting handoff"
description = "create the accounting handoff for {document} in {company}"
destination = "ledger"
amount = "/amount"
currency = "/currency"
volatile = ["/meta/attempt", "/meta/sent_at"]
key_fields = [{ payload = "/amount", record = "$.total", compare = "decimal" }]
[workflow.retention]
payload_days = 400
[workflow.amendment]
amendable = ["/quantity", "/lines"]
before_reconciliation = "amend"
after_reconciliation = "reverse_and_repost"

[[workflow]]
name = "supplier-payment"
title = "Supplier payment"
description = "pay {document} for {company}"
amount = "/total/value"
currency = "/total/currency"
two_step = true
lease_seconds = 120

[[workflow]]
name = "shipping-label"
title = "Shipping label"
description = "print the label for {document} of {company}"
`;

const COMPANIES = [
  { company: "acme-in", currency: "INR", scale: 83 },
  { company: "acme-eu", currency: "EUR", scale: 1 },
  { company: "globex-us", currency: "USD", scale: 1.1 },
];

/** Opens the empty desk of the scene, with an administrator (ada), an operator (olga) and a viewer (vera). */
export function openStage() {
  return openDesk({
    workflows: WORKFLOWS,
    people: {
      ada: ["--role", "admin"],
      olga: ["--role", "operator"],
      vera: ["--role", "viewer", "--company", "acme-in", "--company", "acme-eu"],
    },
  });
}

/** Fills the stage; answers the operations that are worth a look, by what they show. */
export async function fill({ worker }) {
  const repeat = async (asked, times) => {
    for (let time = 0; time < times; time += 1) await worker.begin(asked);
  };
  let number = 800;
  for (let round = 0; round < 24; round += 1) {
    const { company, currency, scale } = COMPANIES[round % COMPANIES.length];
    const asked = handoff((number += 1), company, currency, (37.5 + round * 61.25) * scale);
    await worker.confirm(asked, `task-${1_000 + round}`);
    await repeat(asked, [0, 1, 0, 3, 0, 0, 7][round % 7]);
  }
  for (let round = 0; round < 6; round += 1) {
    const { company, currency, scale } = COMPANIES[round % COMPANIES.length];
    const asked = payment(4_400 + round, company, currency, (1_250 + round * 980) * scale);
    const grant = await worker.begin(asked);
    if (round === 1) continue;
    await worker.ask("POST", `/operations/${grant.operation.id}/sending`, { lease_token: grant.lease.token });
    if (round === 2) continue;
    await worker.outcome(grant, { outcome: "confirmed", destination_reference: `pay-${77_120 + round}` });
    await repeat(asked, round);
  }
  for (let round = 0; round < 5; round += 1) {
    await worker.confirm({ ...base("shipping-label", "shop", `parcel-${5_001 + round}`, "globex-us"), payload: { to: "Zürich", kg: "1.2" } });
  }

  // What went wrong, each in its own way.
  const lost = handoff(901, "acme-in", "INR", 118_000);
  const unknown = await worker.lose(lost, "the ledger did not answer within 10 s");
  await repeat(lost, 2);
  await worker.lose(payment(4_410, "acme-eu", "EUR", 12_480.5), "connection reset after the request was sent").catch(() => {});
  await worker.lose(handoff(902, "globex-us", "USD", 640), "502 from the gateway in front of the ledger");
  const failed = handoff(903, "acme-eu", "EUR", 89.9);
  await worker.fail(failed, "the ledger answered 422: period is closed");
  const twice = handoff(904, "acme-eu", "EUR", 2_310);
  const first = await worker.send(twice, { outcome: "failed", reason: "the ledger answered 404" });
  await worker.outcome(first, { outcome: "confirmed", destination_reference: "task-1188" });

  const changed = handoff(905, "acme-in", "INR", 45_900);
  const conflict = await worker.confirm(changed, "task-1201");
  const other = structuredClone(changed.payload);
  other.amount = "54900.00";
  other.lines[1].quantity = 3;
  other.lines.push({ sku: "EXPRESS", quantity: 1, price: "900.00" });
  delete other.note;
  await repeat({ ...changed, payload: other }, 2);
  await repeat(changed, 4);

  const ending = await worker.begin({ ...handoff(906, "globex-us", "USD", 75), lease_seconds: 1 });
  const released = await worker.begin({ ...payment(4_411, "acme-in", "INR", 9_000), lease_seconds: 1 });
  return { unknown, conflict, ending, released };
}

function base(workflow, source_system, document, company) {
  return { workflow, company, source_system, document, worker: `${source_system}-worker-${document.length % 3}` };
}

function handoff(number, company, currency, amount) {
  const payload = {
    customer: `C-${70 + (number % 20)}`,
    currency,
    amount: amount.toFixed(2),
    note: "deliver before noon",
    lines: [
      { sku: "TEA-500", quantity: 2, price: (amount / 4).toFixed(2) },
      { sku: "CUP-BLUE", quantity: 1, price: (amount / 2).toFixed(2) },
    ],
    meta: { attempt: 1, sent_at: "2026-03-02T09:00:00Z" },
  };
  return { ...base("accounting-handoff", "shop", `order-${number}`, company), delivery_id: `evt_${number}`, payload };
}

function payment(number, company, currency, amount) {
  const payload = { supplier: `S-${number % 9}`, iban: "DE02120300000000202051", total: { value: amount.toFixed(2), currency } };
  return { ...base("supplier-payment", "erp", `bill-${number}`, company), payload };
}
