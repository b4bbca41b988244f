//! Both sides of an operation, beside the forms that decide on it in the queue: nobody has to leave it to know what is compared.

use guard::{id::OperationId, person::Person};
use leptos::{children::ViewFn, prelude::*};

use super::payload::Opening;
use crate::{
    failure::Failure,
    functions::{list_unknown::Asked, open_fields::OpenFields, read_sides::BothSides},
    notice::Origin,
};

/// What is read of the operation whose forms are open; none where none are.
pub(crate) type Read = Resource<Result<Option<BothSides>, Failure>>;

/// What is shown of it, where it is still that of this operation: while another one is opened, what was read before is not its own.
pub(crate) fn of(
    read: Read,
    operation: OperationId,
    shown: impl Fn(BothSides) -> AnyView + Send + Sync + Clone + 'static,
) -> ViewFn {
    ViewFn::from(move || {
        let shown = shown.clone();
        Suspend::new(async move {
            match read.await {
                Ok(Some(sides)) if sides.operation == operation => shown(sides),
                Ok(Some(_) | None) => view! { <p class="note">"Loading…"</p> }.into_any(),
                Err(failure) => view! { <p class="note">{super::fault::sentence(&failure)}</p> }.into_any(),
            }
        })
    })
}

/// Whether somebody has opened a part of it: it does not move under them then.
pub(crate) fn is_unfolded() -> bool {
    #[cfg(feature = "hydrate")]
    let is_unfolded = document().query_selector(".sides details[open]").is_ok_and(|found| found.is_some());
    #[cfg(not(feature = "hydrate"))]
    let is_unfolded = false;
    is_unfolded
}

/// What was sent, what the destination holds, and what people know.
#[component]
pub(crate) fn SidesPanel(
    sides: BothSides,
    person: Person,
    /// The queue as it is.
    place: Asked,
    /// The act, so that the page can read anew.
    open: ServerAction<OpenFields>,
) -> impl IntoView {
    let BothSides { operation, html, veil, lacks_evidence: _ } = sides;
    view! {
        <div class="sides" inner_html=html></div>
        <Opening operation veil person origin=Origin::Queue place act=open />
    }
    .into_any()
}
