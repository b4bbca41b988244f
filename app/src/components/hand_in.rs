//! The form that hands in what a destination holds.

use guard::{
    person::Person,
    reconciliation::{FIELDS, Format},
};
use leptos::prelude::*;

use super::{
    icon::{Icon, Picture},
    plain::Plain,
    tokens::WhyNot,
};
use crate::{notice::reconciliation::HandInDraft, wording};

/// A form of several parts: it works as it is, with script and without.
#[component]
pub(crate) fn HandIn(
    person: Person,
    /// Name and title of each workflow.
    workflows: Vec<(String, String)>,
    /// The key fields of the workflow in hand.
    key_fields: Vec<String>,
    /// What stands in the fields.
    draft: HandInDraft,
    /// Why nothing was stored, with what is wrong with the file.
    refused: Option<(String, Vec<String>)>,
) -> impl IntoView {
    let why_not = (!person.role.may_reconcile()).then(|| {
        format!(
            "Handing records in needs the role operator, finance or admin; you are {}.",
            wording::role_phrase(person.role)
        )
    });
    let is_barred = why_not.is_some();
    let chosen = draft.text("workflow");
    let workflows = workflows.into_iter().map(|(name, title)| {
        let selected = name == chosen;
        view! { <option value=name selected=selected>{title}</option> }
    });
    let text = |name: &'static str, label: &'static str, hint: &'static str| {
        let (id, value) = (format!("hand-in-{}", name.replace('.', "-")), draft.text(name));
        let target = id.clone();
        view! {
            <div class="field">
                <label for=target>{label}</label>
                <input id=id name=name value=value disabled=is_barred maxlength="200" autocomplete="off" placeholder=hint />
            </div>
        }
        .into_any()
    };
    let columns = FIELDS.map(str::to_owned).into_iter().chain(key_fields).map(|field| {
        let name = format!("map.{field}");
        let id = format!("hand-in-{}", name.replace(['.', '/'], "-"));
        let (value, target) = (draft.text(&name), id.clone());
        view! {
            <div class="field">
                <label for=target>"Column of " <code>{field}</code></label>
                <input id=id name=name value=value disabled=is_barred maxlength="200" autocomplete="off" />
            </div>
        }
    });
    let columns = columns.collect_view();
    let format = draft.text("format");
    let formats = Format::ALL.map(|known| {
        view! { <option value=known.as_str() selected={format == known.as_str()}>{wording::reconciliation::format_word(known)}</option> }
    });
    let decimal = draft.text("decimal");
    let is_refused = refused.is_some();
    let refused = refused.map(|(sentence, faults)| view! { <Unread sentence faults /> });
    view! {
        <section class="panel no-print" id="hand-in" tabindex="-1" aria-labelledby="hand-in-title">
            <h2 id="hand-in-title">"Hand in what the destination holds"</h2>
            <p class="note">
                "A CSV, a JSON array, a bank statement (camt.053) or Tally's XML. Everything is read before anything is stored; the same file again changes nothing."
            </p>
            {refused}
            <form method="post" action="/reconciliation/file" enctype="multipart/form-data">
                <div class="fields">
                    <div class="field">
                        <label for="hand-in-workflow">"Workflow of the records"</label>
                        <select id="hand-in-workflow" name="workflow" required disabled=is_barred>
                            {workflows.collect_view()}
                        </select>
                    </div>
                    <div class="field">
                        <label for="hand-in-company">"Company of the records"</label>
                        <input id="hand-in-company" name="company" value=draft.text("company") required disabled=is_barred maxlength="200" autocomplete="off" />
                    </div>
                    <div class="field">
                        <label for="hand-in-from">"Operations from"</label>
                        <input id="hand-in-from" name="from" type="date" value=draft.text("from") disabled=is_barred />
                    </div>
                    <div class="field">
                        <label for="hand-in-to">"Operations to"</label>
                        <input id="hand-in-to" name="to" type="date" value=draft.text("to") disabled=is_barred />
                    </div>
                    <div class="field is-wide">
                        <label for="hand-in-file">"File"</label>
                        <input id="hand-in-file" name="file" type="file" required disabled=is_barred accept=".csv,.tsv,.txt,.json,.xml" />
                    </div>
                </div>
                <details open=is_refused>
                    <summary>"How it is written, where the workflow does not say it"</summary>
                    <div class="fields">
                        <div class="field">
                            <label for="hand-in-format">"Format"</label>
                            <select id="hand-in-format" name="format" disabled=is_barred>
                                <option value="">"As its beginning tells"</option>
                                {formats.into_iter().collect_view()}
                            </select>
                        </div>
                        <div class="field">
                            <label for="hand-in-decimal">"Decimal mark"</label>
                            <select id="hand-in-decimal" name="decimal" disabled=is_barred>
                                <option value="">"As the workflow says"</option>
                                <option value="point" selected={decimal == "point"}>"Point, as in 1,234.56"</option>
                                <option value="comma" selected={decimal == "comma"}>"Comma, as in 1.234,56"</option>
                            </select>
                        </div>
                        {text("date_format", "Date format", "%d.%m.%Y or excel")}
                        {text("delimiter", "Delimiter", "; or tab")}
                        {text("encoding", "Encoding", "windows-1252")}
                        {text("every_currency", "Currency of every record", "EUR")}
                        {text("void_value", "Written where a record is void", "VOIDED")}
                        {columns}
                    </div>
                    <label class="check">
                        <input type="checkbox" name="minor_units" value="true" checked={draft.text("minor_units") == "true"} disabled=is_barred />
                        <span>"Amounts are whole numbers of the currency's smallest unit"</span>
                    </label>
                    <label class="check">
                        <input type="checkbox" name="open" value="all" checked={draft.text("open") == "all"} disabled=is_barred />
                        <span>"Open contradictions although more than half of what is compared disagrees"</span>
                    </label>
                </details>
                <WhyNot button="Reconcile" id="hand-in-why-not" why_not />
            </form>
        </section>
    }
    .into_any()
}

/// Why nothing was stored.
#[component]
pub(super) fn Unread(sentence: String, faults: Vec<String>) -> impl IntoView {
    let faults = faults.into_iter().map(|fault| view! { <li><Plain text=fault /></li> }).collect::<Vec<_>>();
    let list = (!faults.is_empty()).then(|| view! { <ul>{faults}</ul> });
    view! {
        <div class="banner is-refused" role="alert">
            <Icon picture=Picture::Warning />
            <div>
                <p>
                    <strong>"Nothing was stored"</strong>
                </p>
                <p>
                    <Plain text=sentence />
                </p>
                {list}
            </div>
        </div>
    }
    .into_any()
}
