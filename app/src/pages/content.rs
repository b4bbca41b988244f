//! `/operations/{id}/content`: what is kept of a document, and its erasure.

use guard::retention::{Erasable, Keeping};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use crate::{
    components::{
        age::AsOf,
        awaited::{Body, page_of},
        badge::Badge,
        banner::{Done, Refused},
        heading::Heading,
        plain::Plain,
        table::{Table, words},
        tokens::WhyNot,
    },
    functions::read_content::{ContentReport, read_content},
    notice::retention::EraseNotice,
    wording,
};

/// The content of a document.
#[component]
pub(crate) fn ContentPage() -> impl IntoView {
    let params = use_params_map();
    let id = Memo::new(move |_| params.with(|params| params.get("id").unwrap_or_default()));
    let report = Resource::new(move || id.get(), read_content);
    let page = page_of(report, move |report| view! { <Shown report /> }.into_any());
    view! { <Body body=page /> }.into_any()
}

#[component]
fn Shown(report: ContentReport) -> impl IntoView {
    let ContentReport { as_of, operation, keeping, why_not, notice } = report;
    let Keeping { operations, has_more, holds, payload_days } = keeping;
    let title = format!("Content: {}", operation.sentence);
    let rule = match payload_days {
        Some(days) => format!(
            "Its workflow drops content {} after the last change.",
            wording::counted(days.into(), "day", "days")
        ),
        None => "Its workflow keeps content for ever.".to_owned(),
    };
    let in_the_way = operations.iter().find_map(|held| {
        held.obstacle.as_ref().filter(|_| !held.bodies.is_empty()).map(|obstacle| {
            let name = format!("{}, revision {}", held.operation.key.action, held.operation.key.revision);
            format!("{name}: {}", wording::retention::obstacle(obstacle))
        })
    });
    let nothing = operations.iter().all(|held| held.bodies.is_empty());
    let why_not = why_not
        .or_else(|| has_more.then(|| "The document has too many operations to be erased at the desk.".to_owned()))
        .or_else(|| nothing.then(|| "Nothing is kept of the document any more.".to_owned()))
        .or(in_the_way);
    let seen: Vec<String> =
        operations.iter().map(|held| format!("{}:{}", held.operation.id, held.operation.version)).collect();
    let (told, reason) = match notice {
        None => (None, String::new()),
        Some(EraseNotice::Done(_, erased)) => {
            let went: Vec<_> = erased.iter().flat_map(|erased| erased.bodies.clone()).collect();
            let text = format!(
                "Erased in {}: {}.",
                wording::counted(erased.len() as u64, "operation", "operations"),
                wording::retention::bodies(&went)
            );
            (Some(view! { <Done><p>{text}</p></Done> }.into_any()), String::new())
        }
        Some(EraseNotice::Refused(draft, failure)) => {
            (Some(view! { <Refused what="The content was not erased" failure /> }.into_any()), draft.reason)
        }
    };
    let is_barred = why_not.is_some();
    let rows = operations.into_iter().map(|held| view! { <Row held /> }).collect_view();
    view! {
        <div class="page-head">
            <Heading title>
                "Content: "
                <Plain text=operation.sentence.clone() />
            </Heading>
            <AsOf at=as_of />
        </div>
        <p class="note">
            <a href=format!("/operations/{}", operation.id)>"Back to the operation"</a> " · " {rule}
        </p>
        {holds.iter().map(|hold| view! { <p class="held"><Plain text=wording::retention::hold(hold) /></p> }).collect_view()}
        <section class="panel" aria-labelledby="kept-title">
            <h2 id="kept-title">"What is kept of the document"</h2>
            <p class="note">
                "Every operation under document "
                <code><Plain text=operation.key.document.as_str().to_owned() /></code>
                " of "
                <Plain text=operation.key.source_system.as_str().to_owned() />
                " in "
                <Plain text=operation.key.company.as_str().to_owned() />
                "."
            </p>
            <Table
                region="What is kept of each revision"
                caption="What is kept of each revision"
                columns=[words("Operation"), words("State"), words("Kept"), words("In the way")]
                rows
            />
        </section>
        <section class="panel decision" id="erase" tabindex="-1" aria-labelledby="erase-title">
            <h2 id="erase-title">"Erase the content now"</h2>
            {told}
            <p>
                "What is listed above goes at once and cannot be brought back: payloads, the destination's responses, files, and requests in the log of calls."
            </p>
            <p>
                "What stays: keys, fingerprints, states, references, amounts, decisions with their reasons, notes, names and SHA-256 of files, and the trail. A document that is sent again is still recognised. Backups keep the content until they expire."
            </p>
            <form method="post" action="/fn/erase_content" autocomplete="off">
                <input type="hidden" name="draft[operation]" value=operation.id.to_string() />
                <input type="hidden" name="draft[seen]" value=seen.join(" ") />
                <label for="erase-reason">"Reason"</label>
                <input id="erase-reason" name="draft[reason]" value=reason required disabled=is_barred maxlength="2000" />
                <WhyNot button="Erase the content" id="erase-why-not" why_not />
            </form>
        </section>
    }
    .into_any()
}

#[component]
fn Row(held: Erasable) -> impl IntoView {
    let Erasable { operation, dropped_at, bodies, obstacle } = held;
    let kept = match (bodies.is_empty(), dropped_at) {
        (true, Some(at)) => format!("nothing; dropped {}", wording::moment(at)),
        (true, None) => "nothing".to_owned(),
        (false, Some(at)) => {
            format!(
                "{}, that came after the payload was dropped {}",
                wording::retention::bodies(&bodies),
                wording::moment(at)
            )
        }
        (false, None) => wording::retention::bodies(&bodies),
    };
    let obstacle = obstacle.filter(|_| !bodies.is_empty());
    view! {
        <tr>
            <th scope="row" data-label="Operation">
                <a href=format!("/operations/{}", operation.id)>
                    <Plain text=operation.key.action.as_str().to_owned() />
                    ", revision "
                    {operation.key.revision}
                </a>
            </th>
            <td data-label="State"><Badge state=operation.state.name() /></td>
            <td data-label="Kept">{kept}</td>
            <td data-label="In the way">
                <Plain text=obstacle.map_or_else(|| "nothing".to_owned(), |obstacle| wording::retention::obstacle(&obstacle)) />
            </td>
        </tr>
    }
    .into_any()
}
