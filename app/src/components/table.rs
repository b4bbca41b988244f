//! Tables, all in one frame: each scrolls by itself where it is wider than its page, and becomes cards on a phone.

use leptos::prelude::*;

/// The head of a column.
pub(crate) struct Column {
    head: AnyView,
    is_number: bool,
    sort: Option<&'static str>,
}

impl Column {
    /// A head of its own making.
    pub(crate) fn of(head: impl IntoView + 'static) -> Self {
        Self { head: head.into_any(), is_number: false, sort: None }
    }

    /// How the table is sorted by it, in the words of `aria-sort`.
    pub(crate) const fn sorted(mut self, sort: &'static str) -> Self {
        self.sort = Some(sort);
        self
    }
}

/// A column of words.
pub(crate) fn words(name: &'static str) -> Column {
    Column::of(name)
}

/// A column of numbers: they stand under each other by their places.
pub(crate) fn numbers(name: &'static str) -> Column {
    Column { is_number: true, ..Column::of(name) }
}

/// A table with these rows. The cells of a row bear the name of their column as `data-label`, for the phone.
#[component]
pub(crate) fn Table<R: IntoView + 'static>(
    /// What the region that scrolls is called; each landmark of a page has a name of its own.
    #[prop(into)]
    region: String,
    /// What the table tells, and in which order; for those who hear it.
    #[prop(into)]
    caption: String,
    /// What the style knows the table by, if it differs from others.
    #[prop(optional)]
    class: &'static str,
    /// The heads of its columns.
    #[prop(into)]
    columns: Vec<Column>,
    /// Its rows.
    rows: R,
    /// The rows below a line that add up those above.
    #[prop(optional)]
    sums: Option<AnyView>,
) -> impl IntoView {
    let columns = columns.into_iter().map(|column| {
        view! {
            <th scope="col" class:number=column.is_number aria-sort=column.sort>
                {column.head}
            </th>
        }
    });
    view! {
        <div class="scroll" tabindex="0" role="region" aria-label=region>
            <table class=format!("cards {class}")>
                <caption class="hidden">{caption}</caption>
                <thead>
                    <tr>{columns.collect_view()}</tr>
                </thead>
                <tbody>{rows.into_any()}</tbody>
                {sums.map(|sums| view! { <tbody class="sums">{sums}</tbody> })}
            </table>
        </div>
    }
    .into_any()
}
