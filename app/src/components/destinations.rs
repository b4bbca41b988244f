//! Destinations and their profiles, and a look at one to see whether the profile is right.

use guard::{
    destination::{Create, Destination, Lookup},
    lookup::{Candidate, Difference, Finding, Looked, ShownRecord, Trial, Verdict},
};
use leptos::{form::ActionForm, prelude::*};

use super::{
    banner::Refused,
    facts::{Fact, Told},
    plain::Plain,
    tokens::WhyNot,
};
use crate::{
    failure::Failure,
    functions::test_lookup::TestLookup,
    notice::{LookedUp, LookupDraft},
    wording,
};

/// One destination with its profile, and the form that tries its lookup.
#[component]
pub(crate) fn DestinationCard(
    destination: Destination,
    /// What was looked for here before, and what came of it.
    #[prop(into)]
    tried: Option<(LookupDraft, Result<LookedUp, Failure>)>,
    /// Why the one who looks may not ask.
    why_not: Option<String>,
) -> impl IntoView {
    let name = destination.name.clone();
    let anchor = wording::destination_anchor(&name);
    let title = format!("{anchor}-title");
    let headers = destination.headers.iter().map(|(name, value)| {
        let (name, value) = (name.clone(), in_words(value));
        view! {
            <li>
                <code>{name}</code>
                " "
                <Plain text=value />
            </li>
        }
    });
    let headers = headers.collect::<Vec<_>>();
    let idempotency = destination.idempotency_header.clone().map(|header| match destination.idempotency_ttl_seconds {
        Some(seconds) => format!("in {header}, remembered {}", wording::seconds(seconds)),
        None => format!("in {header}"),
    });
    let finality = match destination.finality_seconds {
        Some(seconds) => format!("proof {} after the last possible write", wording::seconds(seconds)),
        None => "never proof".to_owned(),
    };
    let has_lookup = destination.lookup.is_some();
    let per_second = destination.lookups_per_second();
    view! {
        <article class="panel destination" id=anchor aria-labelledby=title>
            <h3 id=title.clone()>
                <Plain text=name.clone() />
            </h3>
            <p class="note">
                <Plain text=destination.base_url.clone() />
            </p>
            <dl class="facts">
                <Told name="An answer is awaited" text=wording::seconds(destination.timeout_seconds) />
                {idempotency.map(|text| view! { <Told name="Idempotency key" text /> })}
                {(!headers.is_empty())
                    .then(|| {
                        view! {
                            <Fact name="Headers">
                                <ul class="words">{headers}</ul>
                            </Fact>
                        }
                    })}
                {destination.create.as_ref().map(creation)}
                {destination.lookup.as_ref().map(lookup)}
                {has_lookup.then(|| view! { <Told name="Nothing found" text=finality /> })}
                {has_lookup.then(|| view! { <Told name="Asked by recovery" text=format!("at most {per_second} times a second") /> })}
            </dl>
            {if has_lookup {
                view! { <TryForm name anchor=anchor.clone() tried why_not /> }.into_any()
            } else {
                view! { <p class="empty">"It has no lookup: every uncertain case goes to a person."</p> }.into_any()
            }}
        </article>
    }
    .into_any()
}

#[component]
fn TryForm(
    name: String,
    anchor: String,
    tried: Option<(LookupDraft, Result<LookedUp, Failure>)>,
    why_not: Option<String>,
) -> impl IntoView {
    let act = ServerAction::<TestLookup>::new();
    let is_barred = why_not.is_some();
    let (sought, before) = match tried {
        Some((draft, result)) => (draft.sought, Some(result)),
        None => (String::new(), None),
    };
    let before = StoredValue::new(before);
    let field = format!("{anchor}-sought");
    let shown = move || {
        let result = act.value().get().or_else(|| before.get_value())?;
        Some(match result {
            Ok(looked) => view! { <Tried looked /> }.into_any(),
            Err(failure) => view! { <Refused what="Nothing was asked" failure /> }.into_any(),
        })
    };
    view! {
        <div class="try">
            <ActionForm action=act>
                <input type="hidden" name="draft[destination]" value=name />
                <label for=field.clone()>
                    "Look for "
                    <span class="optional">"an external reference, or the id of an operation"</span>
                </label>
                <input
                    id=field
                    name="draft[sought]"
                    value=sought
                    required
                    disabled=is_barred
                    maxlength="200"
                    autocomplete="off"
                    spellcheck="false"
                />
                <WhyNot button="Test lookup" id=format!("{anchor}-why-not") why_not />
            </ActionForm>
            <div role="status">{shown}</div>
        </div>
    }
    .into_any()
}

/// What was asked, what came back, and how it was read.
#[component]
fn Tried(looked: LookedUp) -> impl IntoView {
    let LookedUp { draft, sentence, trial } = looked;
    let Trial { looked, records, shown } = trial;
    let Looked { request, status, pages, took_milliseconds, finding, candidates } = looked;
    let what = sentence.unwrap_or_else(|| draft.sought.trim().to_owned());
    let came = match status {
        Some(status) => format!("status {status}"),
        None => "no answer".to_owned(),
    };
    let came = format!(
        "{came}, {}, {}, in {} ms",
        wording::counted(pages.into(), "page read", "pages read"),
        wording::counted(records, "record", "records"),
        wording::number(took_milliseconds)
    );
    let hidden = records.saturating_sub(u64::try_from(shown.len()).unwrap_or(u64::MAX));
    let rows = shown.into_iter().map(|shown| view! { <Shown shown /> }).collect::<Vec<_>>();
    let has_rows = !rows.is_empty();
    view! {
        <section class=format!("tried is-{}", finding.as_str())>
            <p>
                <strong>{wording::finding_word(&finding)}</strong>
                " "
                <Plain text=finding.sentence() />
            </p>
            {differences(&finding)}
            <dl class="facts">
                <Told name="Looked for" text=what />
                <Told name="Asked" text=request />
                <Told name="Came back" text=came />
            </dl>
            {candidate_list(candidates)}
            {has_rows.then(|| view! { <ol class="records">{rows}</ol> })}
            {(has_rows && hidden > 0)
                .then(|| {
                    view! { <p class="note">{format!("{} more, not shown.", wording::number(hidden))}</p> }
                })}
        </section>
    }
    .into_any()
}

#[component]
fn Shown(shown: ShownRecord) -> impl IntoView {
    let ShownRecord { record, reading } = shown;
    let reference = reading.external_reference.unwrap_or_else(|| "none".to_owned());
    let id = reading.destination_reference.unwrap_or_else(|| "not readable".to_owned());
    let label = format!("The record {id} as JSON");
    let word = match &reading.verdict {
        Verdict::Live { differences } if differences.is_empty() => "Ours",
        Verdict::Live { .. } => "Carries the reference, and disagrees",
        Verdict::Void => "Carries the reference, and is void",
        Verdict::Candidate => "Only resembles the reference: never taken",
        Verdict::Other => "Something else",
    };
    view! {
        <li>
            <p>
                <strong>{word}</strong>
                " · external reference "
                <code>
                    <Plain text=reference />
                </code>
                " · id "
                <code>
                    <Plain text=id />
                </code>
            </p>
            <details>
                <summary>"The record"</summary>
                <pre class="payload" tabindex="0" role="region" aria-label=label>
                    <code>
                        <Plain text=record />
                    </code>
                </pre>
            </details>
        </li>
    }
    .into_any()
}

/// Which key fields disagree.
fn differences(finding: &Finding) -> Option<impl IntoView + use<>> {
    let Finding::Differs { differences, .. } = finding else { return None };
    let text = |value: &Option<guard::json::Json>| match value {
        Some(value) => value.to_string(),
        None => "not readable".to_owned(),
    };
    let rows = differences.iter().map(|difference: &Difference| {
        let (ours, theirs) = (text(&difference.ours), text(&difference.theirs));
        view! {
            <li>
                <code>{difference.payload.to_string()}</code>
                " is "
                <code>
                    <Plain text=ours />
                </code>
                " here and "
                <code>
                    <Plain text=theirs />
                </code>
                " there"
            </li>
        }
    });
    Some(view! { <ul class="disagreements">{rows.collect_view()}</ul> })
}

fn candidate_list(candidates: Vec<Candidate>) -> Option<impl IntoView> {
    if candidates.is_empty() {
        return None;
    }
    let rows = candidates.into_iter().map(|candidate| {
        let id = candidate.destination_reference.unwrap_or_else(|| "without a readable id".to_owned());
        view! {
            <li>
                <code>
                    <Plain text=candidate.external_reference />
                </code>
                " "
                <Plain text=id />
            </li>
        }
    });
    Some(view! {
        <p class="note">"These resemble it, and are never taken:"</p>
        <ul class="words">{rows.collect_view()}</ul>
    })
}

fn creation(create: &Create) -> impl IntoView + use<> {
    let list = |statuses: &[String]| if statuses.is_empty() { "none".to_owned() } else { statuses.join(", ") };
    let carried = match (&create.external_reference_header, &create.external_reference_pointer) {
        (Some(header), Some(pointer)) => format!("in the header {header} and in the body at {pointer}"),
        (Some(header), None) => format!("in the header {header}"),
        (None, Some(pointer)) => format!("in the body at {pointer}"),
        (None, None) => "not written by the proxy".to_owned(),
    };
    view! {
        <Told name="Creates" text=format!("{} {}, its id at {}", create.method, create.path, create.reference) />
        <Told name="Means confirmed" text=list(&create.confirmed) />
        <Told name="Proves not applied" text=list(&create.failed) />
        <Told name="Means that it exists" text=list(&create.exists) />
        <Told name="External reference" text=carried />
    }
}

fn lookup(lookup: &Lookup) -> impl IntoView + use<> {
    let read = format!(
        "records at {}, ours where {} is the external reference, its id at {}",
        lookup.records, lookup.external_reference, lookup.reference
    );
    let pages = lookup.next_page.clone().map(|path| format!("the next one named at {path}"));
    let void = lookup.void.as_ref().map(|void| format!("where {} is {}", void.path, void.values.join(" or ")));
    let absent = (!lookup.absent.is_empty()).then(|| lookup.absent.join(", "));
    view! {
        <Told name="Looks up" text=format!("{} {}", lookup.method, lookup.path) />
        <Told name="Reads" text=read />
        {pages.map(|text| view! { <Told name="Pages" text /> })}
        {void.map(|text| view! { <Told name="Void" text /> })}
        {absent.map(|text| view! { <Told name="Means absent" text /> })}
    }
}

/// Where a header's value comes from.
fn in_words(value: &str) -> String {
    if let Some(name) = value.strip_prefix("env:") {
        return format!("from the environment variable {name}");
    }
    value.strip_prefix("file:").map_or_else(|| value.to_owned(), |path| format!("from the file {path}"))
}
