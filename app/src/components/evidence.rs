//! Evidence of an operation, and the form that adds some. The form is posted as several parts, with script or without.

use guard::{
    clock::Timestamp,
    evidence::{Evidence, FILE_BYTES_MAX, File, MediaType},
    id::OperationId,
    person::Person,
};
use leptos::prelude::*;

use super::{
    age::Moment,
    banner::{Done, Refused},
    copy::Copyable,
    plain::{Outside, Plain},
};
use crate::{
    notice::EvidenceNotice,
    wording::{self, review},
};

/// What is known of an operation, and where more is added.
#[component]
pub(crate) fn EvidencePanel(
    operation: OperationId,
    evidence: Vec<Evidence>,
    /// When retention dropped content last: that of files that came before.
    dropped: Option<Timestamp>,
    person: Person,
    #[prop(into)] notice: Option<EvidenceNotice>,
) -> impl IntoView {
    let notes = (!evidence.is_empty()).then(|| view! { <Pieces evidence dropped /> });
    let (told, note, link) = match notice {
        None => (None, String::new(), String::new()),
        Some(EvidenceNotice::Added) => (
            Some(view! { <Done><p>"The evidence is kept. It decides nothing by itself."</p></Done> }.into_any()),
            String::new(),
            String::new(),
        ),
        Some(EvidenceNotice::Refused { note, link, failure }) => {
            (Some(view! { <Refused what="Nothing was kept" failure /> }.into_any()), note, link)
        }
    };
    let why_not = review::why_not_add_evidence(person.role);
    let is_barred = why_not.is_some();
    view! {
        <section class="panel" id="evidence" aria-labelledby="evidence-title">
            <h2 id="evidence-title">"Evidence"</h2>
            {told}
            {match notes {
                None => view! { <p class="empty">"None yet. A decision adds its reason, its link and its file here."</p> }.into_any(),
                Some(notes) => notes.into_any(),
            }}
            <form class="evidence-form" method="post" enctype="multipart/form-data" action=format!("/operations/{operation}/evidence")>
                <label for="evidence-note">"Note"</label>
                <Note note is_barred />
                <label for="evidence-link">"Link " <span class="optional">"optional"</span></label>
                <input id="evidence-link" name="link" type="url" value=link disabled=is_barred maxlength="2000" placeholder="https://…" />
                <FileField id="evidence-file" is_barred />
                <p class="actions">
                    <button type="submit" class="is-quiet" disabled=is_barred aria-describedby=is_barred.then_some("evidence-why-not")>
                        "Add evidence"
                    </button>
                    {why_not.map(|why| view! { <span class="why-not" id="evidence-why-not"><Plain text=why /></span> })}
                </p>
            </form>
            <h3>"Evidence pack"</h3>
            <p class="note">"All of it as one file that can be printed, and checked without Onceover. The trail tells who took it."</p>
            <p class="actions">
                <a class="button is-quiet" rel="external" download href=format!("/operations/{operation}/evidence-pack?format=html")>"As a page"</a>
                " "
                <a class="button is-quiet" rel="external" download href=format!("/operations/{operation}/evidence-pack?format=json")>"As JSON"</a>
            </p>
        </section>
    }
    .into_any()
}

/// What people added, oldest first.
#[component]
pub(crate) fn Pieces(
    evidence: Vec<Evidence>,
    dropped: Option<Timestamp>,
    /// Whether no script takes it over: then there is nothing to press.
    #[prop(optional)]
    is_still: bool,
) -> impl IntoView {
    let pieces = evidence.into_iter().map(|evidence| view! { <Piece evidence dropped is_still /> }).collect::<Vec<_>>();
    view! { <ul class="evidence">{pieces}</ul> }.into_any()
}

/// The field of a file, of a form of several parts.
#[component]
pub(crate) fn FileField(#[prop(into)] id: String, is_barred: bool) -> impl IntoView {
    let endings: Vec<String> =
        MediaType::ALL.into_iter().flat_map(MediaType::endings).map(|ending| format!(".{ending}")).collect();
    view! {
        <label for=id.clone()>"File " <span class="optional">"optional, up to "{FILE_BYTES_MAX / (1024 * 1024)}" MiB"</span></label>
        <input id=id name="file" type="file" disabled=is_barred accept=endings.join(",") />
        <p class="note">"Pictures, PDF, text, CSV, JSON and saved e-mails. A file has to be chosen again after a refusal."</p>
    }
    .into_any()
}

#[component]
fn Piece(evidence: Evidence, dropped: Option<Timestamp>, is_still: bool) -> impl IntoView {
    let Evidence { id, at, actor, note, link, file, .. } = evidence;
    view! {
        <li>
            {(!note.is_empty()).then(|| view! { <p><Plain text=note /></p> })}
            {link.map(|link| view! { <p><Outside link /></p> })}
            {file
                .map(|File { name, media_type, bytes, sha256 }| {
                    view! {
                        <p class="evidence-file">
                            {match dropped.filter(|dropped| at <= *dropped) {
                                None => view! {
                                    <a href=format!("/evidence/{id}") rel="external" download>
                                        <Plain text=name />
                                    </a>
                                }
                                .into_any(),
                                Some(dropped) => view! {
                                    <Plain text=name />
                                    <span class="note">" content dropped "{wording::moment(dropped)}</span>
                                }
                                .into_any(),
                            }}
                            <span class="note">" "{media_type.as_str()}", "{wording::number(bytes)}" bytes"</span>
                        </p>
                        <p class="evidence-hash">
                            "SHA-256 "
                            {if is_still {
                                view! { <code>{sha256.to_string()}</code> }.into_any()
                            } else {
                                view! { <Copyable value=sha256.to_string() what="SHA-256 of the file" /> }.into_any()
                            }}
                        </p>
                    }
                })}
            <p class="note">
                <Plain text=wording::actor(&actor) />
                " · "
                <Moment at />
            </p>
        </li>
    }
    .into_any()
}

/// The field of the note. An empty text would be rendered as a space, and that is one in a text area.
#[component]
fn Note(note: String, is_barred: bool) -> impl IntoView {
    let area =
        leptos::html::textarea().id("evidence-note").name("note").disabled(is_barred).rows("2").maxlength("4000");
    if note.is_empty() { area.into_any() } else { area.child(note).into_any() }
}
