//! Small line drawings, 16 by 16, that go with a word and never stand for one.

use leptos::prelude::*;

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picture {
    /// A ring with a check mark.
    Check,
    /// A ring with a question mark.
    Question,
    /// A triangle with an exclamation mark.
    Warning,
    /// An arrow to the right.
    Arrow,
    /// A padlock.
    Lock,
    /// An arrow that turns back.
    Back,
    /// A ring with a cross.
    Cross,
    /// A clock.
    Clock,
    /// A ring with a stroke through it.
    Barred,
    /// Four tiles.
    Tiles,
    /// Three lines.
    Lines,
    /// Two sliders.
    Sliders,
    /// Two sheets.
    Sheets,
    /// A door with an arrow.
    Door,
    /// An unequal sign.
    Unequal,
    /// A pair of scales.
    Scales,
    /// Two angle brackets.
    Angles,
    /// Three columns.
    Columns,
}

impl Picture {
    const fn path(self) -> &'static str {
        match self {
            Self::Check => "M8 1.75a6.25 6.25 0 1 0 0 12.5a6.25 6.25 0 0 0 0-12.5M5.2 8.2l2 2l3.7-4.3",
            Self::Question => {
                "M8 1.75a6.25 6.25 0 1 0 0 12.5a6.25 6.25 0 0 0 0-12.5M6.1 6.3a1.9 1.9 0 1 1 2.8 1.7c-.6.3-.9.6-.9 1.2M8 11.3v.1"
            }
            Self::Warning => "M8 2.2l6.2 11H1.8ZM8 6.4v3M8 11.3v.1",
            Self::Arrow => "M2.5 8h10.6M9 3.9l4.1 4.1l-4.1 4.1",
            Self::Lock => "M3.5 7.2h9v6.3h-9ZM5.6 7V5a2.4 2.4 0 0 1 4.8 0v2",
            Self::Back => "M5.6 3.2l-3.1 3.1l3.1 3.1M2.8 6.3h6.9a3.4 3.4 0 0 1 0 6.8H7",
            Self::Cross => "M8 1.75a6.25 6.25 0 1 0 0 12.5a6.25 6.25 0 0 0 0-12.5M5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4",
            Self::Clock => "M8 1.75a6.25 6.25 0 1 0 0 12.5a6.25 6.25 0 0 0 0-12.5M8 4.5V8l2.4 1.6",
            Self::Barred => "M8 1.75a6.25 6.25 0 1 0 0 12.5a6.25 6.25 0 0 0 0-12.5M3.7 12.3l8.6-8.6",
            Self::Tiles => "M2.5 2.5h4.4v4.4H2.5ZM9.1 2.5h4.4v4.4H9.1ZM2.5 9.1h4.4v4.4H2.5ZM9.1 9.1h4.4v4.4H9.1Z",
            Self::Lines => "M2.5 4h11M2.5 8h11M2.5 12h11",
            Self::Sliders => "M2.5 5h5.6M12 5h1.5M2.5 11H4M7.9 11h5.6M10 3.2v3.6M6 9.2v3.6",
            Self::Sheets => "M5.5 5.5h8v8h-8ZM10.5 5.2V2.5h-8v8h2.7",
            Self::Door => "M9.2 2.5H3.5v11h5.7M6.6 8h6.9M10.9 5.2L13.7 8l-2.8 2.8",
            Self::Scales => "M8 2v11.5M5.2 13.5h5.6M3 4h10M3 4L1.2 8.6h3.6ZM13 4l-1.8 4.6h3.6Z",
            Self::Columns => "M2.5 13.5h11M4 13.5V9M8 13.5V2.5M12 13.5V6",
            Self::Unequal => "M3 6h10M3 10h10M10.6 2.8l-5.2 10.4",
            Self::Angles => "M5.5 4.2L1.8 8l3.7 3.8M10.5 4.2L14.2 8l-3.7 3.8M9.2 3l-2.4 10",
        }
    }
}

/// A drawing beside a word.
#[component]
pub(crate) fn Icon(picture: Picture) -> impl IntoView {
    view! {
        <svg class="icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
            <path d=picture.path() />
        </svg>
    }
    .into_any()
}
