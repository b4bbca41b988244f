//! Conflicts: what differs between the payload that stands and the one that came.

use guard::{
    clock::Timestamp,
    conflict::Conflict,
    diff::{Change, ChangeKind},
    json::Json,
};
use leptos::prelude::*;

use super::{
    age::{Age, Moment},
    copy::Copyable,
    icon::{Icon, Picture},
    plain::Plain,
    table::{Table, words},
};
use crate::wording;

/// One conflict with its changes.
#[component]
pub(crate) fn ConflictCard(
    conflict: Conflict,
    /// What the payload that stands is called.
    stands: &'static str,
    now: Timestamp,
) -> impl IntoView {
    let is_open = conflict.is_open();
    let listed = conflict.changes.len() as u64;
    let total = u64::from(conflict.changes_total);
    // Without any, what stood was dropped before this came, or both were dropped since.
    let rest = if listed == 0 && total == 0 {
        Some("What differs is not known: the payload that stands was dropped by retention before. The fingerprints differ.".to_owned())
    } else if listed == 0 {
        Some(format!("What differed ({}) was dropped by retention.", wording::counted(total, "change", "changes")))
    } else {
        (total > listed)
            .then(|| format!("{} more are not listed.", wording::counted(total - listed, "change", "changes")))
    };
    let title = format!("What differs in the payload that came {}", wording::moment(conflict.opened_at));
    let caption = title.clone();
    view! {
        <article class="conflict" id=format!("conflict-{}", conflict.id)>
            <p class="conflict-head">
                <span class="badge is-conflict">
                    <Icon picture=Picture::Unequal />
                    {if is_open { "Open conflict" } else { "Closed conflict" }}
                </span>
                " came "
                {wording::counted(conflict.hits, "time", "times")}
                ", first at "
                <Moment at=conflict.opened_at />
                " ("
                <Age since=conflict.opened_at now />
                " ago)"
            </p>
            <Table
                region=title
                caption=caption
                class="changes"
                columns=[words("Change"), words("Place"), words(stands), words("Received payload")]
                rows=conflict.changes.into_iter().map(|change| view! { <ChangeRow change stands /> }).collect_view()
            />
            <p>
                <a href=format!("/conflicts/{}", conflict.id)>
                    {if is_open { "Look at it and decide" } else { "See the decision" }}
                </a>
                " · "
                <a href=format!("/operations/{}/compare?right={}", conflict.operation, conflict.id)>"Compare both payloads"</a>
            </p>
            {rest.map(|rest| view! { <p class="note">{rest}</p> })}
            <p class="note">
                "Fingerprint of what came: " <Copyable value=conflict.fingerprint.to_string() what="received fingerprint" />
            </p>
        </article>
    }
    .into_any()
}

/// One place that differs, as a row of a table.
#[component]
pub(crate) fn ChangeRow(change: Change, stands: &'static str) -> impl IntoView {
    let (sign, word) = match change.kind {
        ChangeKind::Changed => ("~", "changed"),
        ChangeKind::Added => ("+", "added"),
        ChangeKind::Removed => ("\u{2212}", "removed"),
    };
    view! {
        <tr class=format!("change is-{}", change.kind.as_str())>
            <td class="change-kind" data-label="Change">
                <span aria-hidden="true">{sign}</span>
                " "
                {word}
            </td>
            <th scope="row" data-label="Place">
                <code>
                    <Plain text=change.path.to_string() />
                </code>
            </th>
            <td data-label=stands>
                <Value value=change.approved />
            </td>
            <td data-label="Received payload">
                <Value value=change.received />
            </td>
        </tr>
    }
    .into_any()
}

#[component]
fn Value(value: Option<Json>) -> impl IntoView {
    match value {
        Some(value) => view! {
            <code class="value">
                <Plain text=value.indented() />
            </code>
        }
        .into_any(),
        None => view! { <span class="none">"nothing"</span> }.into_any(),
    }
}
