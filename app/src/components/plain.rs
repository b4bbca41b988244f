//! Text from elsewhere, shown as what it is: kept apart from the text around it, and nothing in it hidden.

use leptos::prelude::*;

use crate::wording;

/// A longer text is shown in pieces of so many bytes: browsers may cut a text of 65,536 characters in two, and the page that is taken
/// over must have the pieces that it was rendered with.
const PIECE_BYTES_MAX: usize = 16 * 1024;

/// A text that somebody else wrote: a key, a reason, a reference. Its direction does not reach out of it, and characters that
/// nobody would see are named.
#[component]
pub(crate) fn Plain(#[prop(into)] text: String) -> impl IntoView {
    if text.len() <= PIECE_BYTES_MAX && text.chars().all(|character| wording::invisible(character).is_none()) {
        return view! { <bdi>{text}</bdi> }.into_any();
    }
    let pieces = pieces(&text).into_iter().map(|piece| match piece {
        Piece::Text(text) => view! { <span>{text}</span> }.into_any(),
        Piece::Invisible(character, name) => {
            let code = format!("U+{:04X}", u32::from(character));
            let title = format!("{code} {name}");
            view! { <span class="invisible" title=title>{code}</span> }.into_any()
        }
    });
    view! { <bdi>{pieces.collect_view()}</bdi> }.into_any()
}

/// A link that somebody gave as evidence. The guard takes web addresses only; nothing of this desk goes with it.
#[component]
pub(crate) fn Outside(link: String) -> impl IntoView {
    let address = link.clone();
    view! {
        <a href=address rel="external noopener noreferrer nofollow">
            <Plain text=link />
        </a>
    }
    .into_any()
}

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Invisible(char, &'static str),
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for character in text.chars() {
        match (wording::invisible(character), pieces.last_mut()) {
            (Some(name), _) => pieces.push(Piece::Invisible(character, name)),
            (None, Some(Piece::Text(before))) if before.len() < PIECE_BYTES_MAX => before.push(character),
            (None, Some(Piece::Text(_) | Piece::Invisible(..)) | None) => {
                pieces.push(Piece::Text(character.to_string()));
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_named() {
        assert_eq!(
            pieces("a\u{202E}bc"),
            [
                Piece::Text("a".to_owned()),
                Piece::Invisible('\u{202E}', "direction override"),
                Piece::Text("bc".to_owned())
            ]
        );
    }

    #[test]
    fn a_long_text_comes_in_pieces_that_browsers_leave_whole() {
        let text = "x".repeat(2 * PIECE_BYTES_MAX + 1);
        let piece = |bytes| Piece::Text("x".repeat(bytes));
        assert_eq!(pieces(&text), [piece(PIECE_BYTES_MAX), piece(PIECE_BYTES_MAX), piece(1)]);
    }
}
