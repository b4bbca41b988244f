//! The evidence pack as a page of its own: it loads nothing, runs nothing, reads well on paper, and holds the data that it can be
//! checked by.

use guard::{
    clock::Timestamp,
    conflict::Conflict,
    diff::Change,
    service::{Pack, PackedVersion, Version},
    trail::{ChainHash, Entry},
};
use leptos::prelude::*;

use crate::{
    components::{changes::ChangeRow, plain::Plain, timeline},
    wording,
};

/// The page's only style: it has to look the same wherever it is opened.
const STYLE: &str = include_str!("pack.css");

/// What the page shows.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The pack.
    pub pack: &'a Pack,
    /// Who took it out.
    pub by: &'a str,
    /// The seal that holds it; none where nothing of it is sealed yet.
    pub sealed: Option<Sealed>,
    /// The same pack as JSON, which the page carries.
    pub json: &'a str,
    /// The program that checks it.
    pub verify: &'a str,
}

/// A seal that holds an entry of the operation.
#[derive(Clone, Copy, Debug)]
pub struct Sealed {
    /// Its number.
    pub number: u64,
    /// When it was made.
    pub at: Timestamp,
    /// Its hash.
    pub hash: ChainHash,
    /// The entry that it holds.
    pub sequence: u64,
}

/// What an entry of the trail tells, in words.
pub fn sentence(entry: &Entry) -> String {
    timeline::sentence(entry)
}

/// The whole page.
pub fn page(page: &Page<'_>) -> String {
    let body = body(page).to_html();
    // Nothing in it can end the element that holds it, whatever a payload says. The sign stands in texts alone.
    let json = page.json.replace('<', "\\u003c");
    // Leptos marks where texts end, and a title would show that.
    let title = page.pack.view.sentence.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Evidence: {title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n{body}\n\
         <script type=\"application/json\" id=\"onceover-evidence\">{json}</script>\n</body>\n</html>\n"
    )
}

fn body(page: &Page<'_>) -> AnyView {
    let Page { pack, by, sealed, verify, .. } = *page;
    let (now, next) = wording::standing(&pack.view);
    let masked = (!pack.masked.is_empty()).then(|| {
        view! { <p class="note">"Masked as sensitive: " <Plain text=pack.masked.join(", ") /></p> }
    });
    let entries = pack.entries.iter().map(|packed| packed.entry.clone()).collect::<Vec<_>>();
    let left_out = (pack.before.0 > 0).then(|| {
        let count = wording::counted(pack.before.0, "older entry is", "older entries are");
        view! { <p class="note">{format!("{count} left out.")}</p> }
    });
    view! {
        <main>
            <header>
                <p class="kind">"Evidence pack"</p>
                <h1><Plain text=pack.view.sentence.clone() /></h1>
                <p class="state">
                    <strong>{wording::state_word(pack.operation.state.name())}</strong> ". " <Plain text=now />
                </p>
                <p>{next}</p>
                <p class="note">
                    "Made at " {wording::exact_moment(pack.made_at)} " by " <Plain text=by.to_owned() /> "."
                </p>
                {masked}
            </header>
            {facts(pack)}
            <section>
                <h2>"What happened"</h2>
                {left_out}
                <timeline::Timeline entries deliveries=pack.deliveries.clone() is_oldest_first=true />
            </section>
            {amendments(pack)}
            {conflicts(pack)}
            {evidence(pack)}
            <section>
                <h2>"Payloads"</h2>
                {pack.versions.iter().map(version).collect_view()}
            </section>
            {proof(pack, sealed, verify)}
        </main>
    }
    .into_any()
}

fn fact(name: &'static str, value: impl Into<String>) -> AnyView {
    view! { <div><dt>{name}</dt><dd><Plain text=value.into() /></dd></div> }.into_any()
}

fn facts(pack: &Pack) -> AnyView {
    let (view, key) = (&pack.view, &pack.view.key);
    let reference = view.state.destination_reference().unwrap_or("not known");
    let money = view.money.as_ref().map_or_else(|| "no amount".to_owned(), wording::money);
    let superseded = view.superseded_by.map(|newer| fact("Superseded by", newer.to_string()));
    view! {
        <section>
            <h2>"Facts"</h2>
            <dl>
                {fact("Workflow", key.workflow.as_str())}
                {fact("Company", key.company.as_str())}
                {fact("Source system", key.source_system.as_str())}
                {fact("Document", key.document.as_str())}
                {fact("Action", key.action.as_str())}
                {fact("Revision", key.revision.to_string())}
                {fact("Money", money)}
                {fact("Attempts", view.attempt.to_string())}
                {fact("Asked again and held back", wording::number(view.duplicates_prevented))}
                {fact("Destination reference", reference)}
                {fact("External reference", view.external_reference.clone())}
                {fact("Fingerprint", view.fingerprint.to_string())}
                {fact("Policy version", view.policy_version.to_string())}
                {fact("Operation", view.id.to_string())}
                {fact("First begun", wording::exact_moment(view.created_at))}
                {fact("Last changed", wording::exact_moment(view.updated_at))}
                {superseded}
            </dl>
        </section>
    }
    .into_any()
}

/// A table of what differs; none where nothing is listed.
fn changes(listed: &[Change], total: u32, stands: &'static str) -> AnyView {
    let more = u64::from(total).saturating_sub(listed.len() as u64);
    let more = (more > 0).then(|| {
        let text = format!("{} more are in the payloads below.", wording::counted(more, "change", "changes"));
        view! { <p class="note">{text}</p> }
    });
    let rows = listed.iter().cloned().map(|change| view! { <ChangeRow change stands /> }).collect_view();
    view! {
        <table>
            <thead>
                <tr>
                    <th scope="col">"Change"</th>
                    <th scope="col">"Place"</th>
                    <th scope="col">{stands}</th>
                    <th scope="col">"Received payload"</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
        {more}
    }
    .into_any()
}

fn amendments(pack: &Pack) -> Option<AnyView> {
    let items = pack.amendments.iter().map(|amendment| {
        let (now, next) = wording::amendment::standing(amendment);
        let proposed = format!(
            "Proposed at {} by {}, on revision {}: {}",
            wording::exact_moment(amendment.proposed_at),
            wording::actor(&amendment.proposed_by),
            amendment.base.revision,
            amendment.reason
        );
        let approvals = amendment.approvals.iter().map(|approval| {
            let text = format!("Approved by {} at {}", approval.by, wording::exact_moment(approval.at));
            view! { <li><Plain text /></li> }
        });
        view! {
            <article>
                <h3>{format!("Amendment to revision {}", amendment.revision)}</h3>
                <p><Plain text=proposed /></p>
                <p><Plain text=now /></p>
                <p>{next}</p>
                <ul>{approvals.collect_view()}</ul>
                {changes(&amendment.changes, amendment.changes_total, "Revision before")}
                <p class="hash">{amendment.fingerprint.to_string()}</p>
            </article>
        }
    });
    let items = items.collect_view();
    (!pack.amendments.is_empty()).then(|| view! { <section><h2>"Amendments"</h2>{items}</section> }.into_any())
}

fn conflicts(pack: &Pack) -> Option<AnyView> {
    let items = pack.conflicts.iter().map(conflict).collect_view();
    (!pack.conflicts.is_empty()).then(|| {
        view! {
            <section>
                <h2>"Conflicts"</h2>
                <p class="note">"The same key came with another payload. Nothing of it was sent."</p>
                {items}
            </section>
        }
        .into_any()
    })
}

fn conflict(conflict: &Conflict) -> AnyView {
    let came = format!(
        "It came {}, first at {}.",
        wording::counted(conflict.hits, "time", "times"),
        wording::exact_moment(conflict.opened_at)
    );
    let decided = conflict.decision().map_or_else(
        || "Nobody has decided about it.".to_owned(),
        |decision| {
            format!(
                "{} decided at {} that {}: {}",
                decision.by,
                wording::exact_moment(decision.at),
                decision.outcome.sentence(),
                decision.reason
            )
        },
    );
    view! {
        <article>
            <h3>{format!("Received {}", wording::moment(conflict.opened_at))}</h3>
            <p>{came} " " <Plain text=decided /></p>
            {changes(&conflict.changes, conflict.changes_total, "Approved payload")}
            <p class="hash">{conflict.fingerprint.to_string()}</p>
        </article>
    }
    .into_any()
}

fn evidence(pack: &Pack) -> Option<AnyView> {
    let items = pack.evidence.iter().map(|piece| {
        let who = format!("{}, {}", wording::exact_moment(piece.at), wording::actor(&piece.actor));
        let file = piece.file.as_ref().map(|file| {
            let told = format!("{}, {} bytes, SHA-256 {}", file.name, wording::number(file.bytes), file.sha256);
            view! { <p class="hash"><Plain text=told /></p> }
        });
        let link = piece.link.clone().map(|link| view! { <p><Plain text=link /></p> });
        view! {
            <li>
                <p><Plain text=piece.note.clone() /></p>
                {link}
                {file}
                <p class="note"><Plain text=who /></p>
            </li>
        }
    });
    let items = items.collect_view();
    (!pack.evidence.is_empty()).then(|| view! { <section><h2>"Evidence"</h2><ul>{items}</ul></section> }.into_any())
}

fn version(packed: &PackedVersion) -> AnyView {
    let name = match packed.version {
        Version::Revision(revision) => format!("Revision {revision}"),
        Version::Received(_) => format!("Received {}, and not sent", wording::moment(packed.at)),
    };
    let text = packed.payload.as_ref().map(|payload| {
        guard::json::Json::parse(payload.as_bytes()).map_or_else(|_| payload.clone(), |json| json.indented())
    });
    let payload = match text {
        Some(text) => view! { <pre><Plain text /></pre> }.into_any(),
        None => {
            let when = packed.dropped_at.map(|at| format!(" {}", wording::exact_moment(at))).unwrap_or_default();
            let text = format!(
                "Its content was dropped{when} by retention; \"What happened\" tells under which rule. Its fingerprint stays."
            );
            view! { <p class="note">{text}</p> }.into_any()
        }
    };
    view! { <article><h3>{name}</h3><p class="hash">{packed.fingerprint.to_string()}</p>{payload}</article> }.into_any()
}

fn proof(pack: &Pack, sealed: Option<Sealed>, verify: &str) -> AnyView {
    let seal = match sealed {
        Some(Sealed { number, at, hash, sequence }) => view! {
            <p>
                {format!("Entry {sequence} is held by seal {number}, made at {}:", wording::exact_moment(at))}
            </p>
            <p class="hash">{hash.to_string()}</p>
            <p>
                "Whoever kept that hash elsewhere knows that nothing up to that entry was written since: every later seal is \
                chained to it."
            </p>
        }
        .into_any(),
        None => view! { <p>"No entry is sealed yet; seals are made about every minute."</p> }.into_any(),
    };
    let rows = pack.entries.iter().map(|packed| {
        view! {
            <tr>
                <td>{packed.entry.sequence}</td>
                <td>{packed.entry.kind.as_str()}</td>
                <td class="hash">{packed.entry.hash.to_string()}</td>
            </tr>
        }
    });
    view! {
        <section>
            <h2>"Proof"</h2>
            <p>
                "Each entry is chained to the one before it: its hash is the SHA-256 of the hash before it (32 bytes; zeros before the \
                first) and of its canonical text. A fingerprint is the SHA-256 of the canonical payload without its volatile \
                fields. The texts are in the data of this file; the program below checks all of it with Python 3 alone: save it as \
                verify.py, then run " <code>"python3 verify.py FILE"</code> "."
            </p>
            {seal}
            <table>
                <thead>
                    <tr><th scope="col">"Entry"</th><th scope="col">"Kind"</th><th scope="col">"Hash"</th></tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
            <details>
                <summary>"verify.py"</summary>
                <pre>{verify.to_owned()}</pre>
            </details>
        </section>
    }
    .into_any()
}
