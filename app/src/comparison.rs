//! Comparisons of two payloads, rendered by the server for [`crate::components::diff::Diff`].

mod reading;

use guard::{
    diff::{ChangeKind, Difference, compare, line::Line},
    json::Json,
    payload::Payload,
    pointer::Pointer,
};
use leptos::prelude::*;
use reading::Piece;

use crate::{
    components::{
        diff::{DiffQuery, Diffed},
        plain::Plain,
    },
    wording,
};

/// A page of the table has at most this many rows.
const ROWS_MAX: usize = 500;

/// A page of the whole payloads has at most this many lines.
const LINES_MAX: usize = 2_000;

/// At most this many places that were left out are listed; all of them stand in the whole.
const LEFT_OUT_ROWS_MAX: usize = 100;

/// So many unchanged lines are shown around what differs; the rest of them is folded.
const CONTEXT_LINES: usize = 3;

/// Fewer unchanged lines than this are not worth a fold.
const FOLDED_LINES_MIN: usize = 4;

/// A list or an object in the table shows this many lines; the rest opens.
const VALUE_LINES_MAX: usize = 12;

/// A text in the table that differs from nothing shows this many characters; the rest opens.
const VALUE_CHARACTERS_MAX: usize = 400;

/// How an item of a list is called: by the first of these members that it has.
const ITEM_NAMES: [&str; 8] = ["sku", "id", "key", "code", "number", "reference", "name", "description"];

/// One of the two payloads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side<'a> {
    /// What it is called in the head of the table: "Approved payload", "Revision 2".
    pub label: &'a str,
    /// Its JSON text; none where retention dropped it.
    pub payload: Option<&'a str>,
}

/// Where the comparison stands, so that it can link to its other parts.
#[derive(Clone, Debug)]
pub(crate) struct Place<'a> {
    /// The path of the page.
    pub path: &'a str,
    /// What else its address says, kept in every link.
    pub query: Vec<(&'a str, String)>,
    /// What its address says about the comparison.
    pub shown: &'a DiffQuery,
}

impl Place<'_> {
    fn address(&self, row: usize, line: Option<usize>, is_split: bool, anchor: &str) -> String {
        let mut query = self.query.clone();
        if row > 0 {
            query.push(("row", row.to_string()));
        }
        if let Some(line) = line {
            query.push(("line", line.to_string()));
        }
        if is_split {
            query.push(("whole", "split".to_owned()));
        }
        let query = serde_urlencoded::to_string(query).unwrap_or_default();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{mark}{query}#{anchor}", self.path)
    }
}

/// Compares two payloads; the places in `volatile` are listed apart.
pub(crate) fn diff([approved, received]: [Side<'_>; 2], volatile: &[Pointer], place: &Place<'_>) -> Diffed {
    let parsed = |side: &Side<'_>| side.payload.and_then(|text| Payload::parse(text.as_bytes()).ok());
    let (Some(left), Some(right)) = (parsed(&approved), parsed(&received)) else {
        let gone = if parsed(&approved).is_none() { approved.label } else { received.label };
        let text =
            format!("{gone}: it was dropped by retention, so there is nothing to compare with. Its fingerprint stays.");
        return Diffed { changes: 0, html: view! { <p class="empty">{text}</p> }.to_html() };
    };
    let compared = compare(&left, &right, volatile);
    let differences = compared.differences();
    let left_out = compared.left_out();
    let labels = (approved.label, received.label);
    let contents = (left.content(), right.content());
    let html = view! {
        {table(&differences, labels, contents, place)}
        {left_out_table(&left_out, labels, contents)}
        {whole(&compared.lines(), labels, place)}
    }
    .to_html();
    Diffed { changes: differences.len(), html }
}

/// What differs between two short contents; their other parts are known from elsewhere.
pub(crate) fn differences([left, right]: [Side<'_>; 2]) -> Diffed {
    let parsed = |side: &Side<'_>| side.payload.and_then(|text| Payload::parse(text.as_bytes()).ok());
    // What is no object has no places that could differ.
    let Some((before, after)) = parsed(&left).zip(parsed(&right)) else {
        return Diffed { changes: 0, html: String::new() };
    };
    let compared = compare(&before, &after, &[]);
    let differences = compared.differences();
    let shown = DiffQuery::default();
    let place = Place { path: "", query: Vec::new(), shown: &shown };
    let html = table(&differences, (left.label, right.label), (before.content(), after.content()), &place).to_html();
    Diffed { changes: differences.len(), html }
}

fn table(differences: &[Difference<'_>], labels: (&str, &str), contents: (&Json, &Json), place: &Place<'_>) -> AnyView {
    if differences.is_empty() {
        return view! { <p class="empty">"Nothing that counts differs."</p> }.into_any();
    }
    let total = differences.len();
    let from = if place.shown.row < total { place.shown.row } else { 0 };
    let until = total.min(from + ROWS_MAX);
    let rows = differences[from..until].iter().filter_map(|found| row(found, labels, contents)).collect_view();
    let link = |row: usize, text: String| {
        let address = place.address(row, place.shown.line, place.shown.is_split, "changes");
        view! { <a class="button is-quiet" href=address>{text}</a> }
    };
    let pages = (total > ROWS_MAX).then(|| {
        let number = |number: usize| wording::number(number as u64);
        let before = (from > 0).then(|| link(from.saturating_sub(ROWS_MAX), "Show the ones before".to_owned()));
        let next = (until < total).then(|| link(until, format!("Show the next {}", (total - until).min(ROWS_MAX))));
        view! {
            <p class="pages">
                {format!("Changes {} to {} of {}.", number(from + 1), number(until), number(total))} " "
                {before} " " {next}
            </p>
        }
    });
    let title = format!("What differs: {}", wording::counted(total as u64, "change", "changes"));
    view! {
        <div id="changes" class="scroll" tabindex="0" role="region" aria-label=title>
            <table class="cards changes">
                <caption class="hidden">{title.clone()}</caption>
                {head(labels)}
                <tbody>{rows}</tbody>
            </table>
        </div>
        {pages}
    }
    .into_any()
}

fn head((approved, received): (&str, &str)) -> AnyView {
    view! {
        <thead>
            <tr>
                <th scope="col">"Change"</th>
                <th scope="col">"Place"</th>
                <th scope="col">{approved.to_owned()}</th>
                <th scope="col">{received.to_owned()}</th>
            </tr>
        </thead>
    }
    .into_any()
}

/// One row; none for the second half of an item that moved.
fn row(found: &Difference<'_>, (approved, received): (&str, &str), contents: (&Json, &Json)) -> Option<AnyView> {
    let kind = found.kind();
    if kind == ChangeKind::Added && found.moved.is_some() {
        return None;
    }
    let (sign, word, class) = match (kind, found.moved) {
        (ChangeKind::Removed, Some(_)) => ("\u{2195}", "moved", "moved"),
        (ChangeKind::Changed, _) => ("~", "changed", kind.as_str()),
        (ChangeKind::Added, _) => ("+", "added", kind.as_str()),
        (ChangeKind::Removed, None) => ("\u{2212}", "removed", kind.as_str()),
    };
    let (path, content) = match kind {
        ChangeKind::Changed | ChangeKind::Removed => (&found.approved_path, contents.0),
        ChangeKind::Added => (&found.received_path, contents.1),
    };
    let (parent, name) = split(path);
    let moved = found
        .moved
        .map(|to| view! { <p class="note">{format!("Item {} here, item {} there.", item(&name), to + 1)}</p> });
    let elsewhere = (kind == ChangeKind::Changed && found.approved_path != found.received_path).then(|| {
        view! { <p class="note">"There: " <code><Plain text=found.received_path.to_string() /></code></p> }
    });
    let of = item_name(path, content).map(|named| view! { <p class="note">"Of " <Plain text=named /></p> });
    let (left, right, delta, notes) = values(found, &name, contents);
    let (left, right) = if found.moved.is_some() {
        (left, Some(view! { <span class="none">"the same, elsewhere"</span> }.into_any()))
    } else {
        (left, right)
    };
    let nothing = || view! { <span class="none">"nothing"</span> }.into_any();
    Some(
        view! {
            <tr class=format!("change is-{class}")>
                <td class="change-kind" data-label="Change">
                    <span aria-hidden="true">{sign}</span>
                    " "
                    {word}
                </td>
                <th scope="row" data-label="Place">
                    <code>
                        <span class="parent-path"><Plain text=parent /></span>
                        <Plain text=format!("/{name}") />
                    </code>
                    {of}{moved}{elsewhere}
                </th>
                <td data-label=approved.to_owned()>{left.unwrap_or_else(nothing)}</td>
                <td data-label=received.to_owned()>
                    {right.unwrap_or_else(nothing)}
                    {delta.map(|delta| view! { <p class="delta">{delta}</p> })}
                    {notes.into_iter().map(|note| view! { <p class="note">{note}</p> }).collect_view()}
                </td>
            </tr>
        }
        .into_any(),
    )
}

/// The number of an item as people count; anything else as it is.
fn item(name: &str) -> String {
    name.parse::<usize>().map_or_else(|_| name.to_owned(), |index| (index + 1).to_string())
}

/// The path of the parent, and the last name as RFC 6901 writes it.
fn split(path: &Pointer) -> (String, String) {
    let text = path.to_string();
    match text.rsplit_once('/') {
        Some((parent, name)) => (parent.to_owned(), name.to_owned()),
        None => (String::new(), text),
    }
}

/// What the innermost item of a list is called in which the place lies: `sku "A-7"`.
fn item_name(path: &Pointer, content: &Json) -> Option<String> {
    let tokens = path.tokens();
    let is_item = |length: &usize| tokens[*length - 1].parse::<usize>().is_ok();
    let length = (1..tokens.len()).rev().find(is_item)?;
    let item = Pointer::from_tokens(tokens[..length].to_vec());
    let item = item.find(content)?;
    ITEM_NAMES.iter().find_map(|name| match item.member(name)? {
        Json::String(text) if text.chars().count() <= 80 => Some(format!("{name} {text}")),
        Json::Number(number) => Some(format!("{name} {}", number.as_written())),
        Json::String(_) | Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
    })
}

/// Both values, by how much they differ, and what else there is to know.
fn values(
    found: &Difference<'_>,
    name: &str,
    (approved, _): (&Json, &Json),
) -> (Option<AnyView>, Option<AnyView>, Option<String>, Vec<String>) {
    match (found.approved, found.received) {
        (Some(Json::String(left)), Some(Json::String(right))) => {
            let (ours, theirs, mut notes) = reading::texts(left, right);
            let read = both(found, name, approved);
            notes.extend(read.notes);
            (Some(text(left, &ours)), Some(text(right, &theirs)), read.delta, notes)
        }
        (Some(left), Some(right)) => {
            let read = both(found, name, approved);
            (Some(value(left)), Some(value(right)), read.delta, read.notes)
        }
        (left, right) => (left.map(value), right.map(value), None, Vec::new()),
    }
}

fn both(found: &Difference<'_>, name: &str, approved: &Json) -> reading::Reading {
    let Some((left, right)) = found.approved.zip(found.received) else { return reading::Reading::default() };
    // The currency that stands beside the amount, or that of the whole payload.
    let tokens = found.approved_path.tokens();
    let parent = Pointer::from_tokens(tokens[..tokens.len().saturating_sub(1)].to_vec());
    let beside = parent.find(approved).and_then(|parent| parent.member("currency")).or(approved.member("currency"));
    let currency = beside.and_then(Json::as_str).filter(|_| {
        const AMOUNTS: [&str; 12] =
            ["amount", "total", "price", "net", "gross", "tax", "fee", "sum", "cost", "balance", "discount", "paid"];
        let lower = name.to_lowercase();
        AMOUNTS.iter().any(|amount| lower.contains(amount))
    });
    reading::of(name, left, right, currency)
}

/// A text with what differs in it marked; the whole of it behind, where it was cut.
fn text(whole: &str, pieces: &[Piece]) -> AnyView {
    let is_cut = pieces.iter().any(|piece| matches!(piece, Piece::Cut(_)));
    let shown = pieces.iter().map(|piece| match piece {
        Piece::Same(text) => view! { <Plain text=text.clone() /> }.into_any(),
        Piece::Differs(text) => view! { <mark><Plain text=text.clone() /></mark> }.into_any(),
        Piece::Space(character, name) => {
            let sign = match character {
                '\t' => "\u{21E5}",
                '\n' => "\u{21B5}\n",
                '\r' => "\u{240D}",
                _ => "\u{B7}",
            };
            view! { <mark class="space" title=*name>{sign}</mark> }.into_any()
        }
        Piece::Cut(count) => {
            let title = wording::counted(*count as u64, "character", "characters");
            view! { <span class="cut" title=title>" … "</span> }.into_any()
        }
    });
    let shown = shown.collect_view();
    let behind = is_cut.then(|| {
        let length = wording::counted(whole.chars().count() as u64, "character", "characters");
        view! {
            <details class="rest">
                <summary>{format!("The whole text ({length})")}</summary>
                <code class="value"><Plain text=whole.to_owned() /></code>
            </details>
        }
    });
    view! {
        <code class="value">"\"" {shown} "\""</code>
        {behind}
    }
    .into_any()
}

/// A value that is shown as it is; the rest of it behind, where it is long.
fn value(value: &Json) -> AnyView {
    let text = value.indented();
    let lines = text.lines().count();
    let characters = text.chars().count();
    if lines <= VALUE_LINES_MAX && characters <= VALUE_CHARACTERS_MAX * 2 {
        return view! { <code class="value"><Plain text /></code> }.into_any();
    }
    let start: String = text.lines().take(VALUE_LINES_MAX).collect::<Vec<_>>().join("\n");
    let start: String = start.chars().take(VALUE_CHARACTERS_MAX).collect();
    let length = if lines > 1 {
        wording::counted(lines as u64, "line", "lines")
    } else {
        wording::counted(characters as u64, "character", "characters")
    };
    view! {
        <code class="value"><Plain text=start /> <span class="cut">" …"</span></code>
        <details class="rest">
            <summary>{format!("The whole value ({length})")}</summary>
            <code class="value"><Plain text /></code>
        </details>
    }
    .into_any()
}

fn left_out_table(left_out: &[Difference<'_>], labels: (&str, &str), contents: (&Json, &Json)) -> Option<AnyView> {
    if left_out.is_empty() {
        return None;
    }
    let rows = left_out.iter().take(LEFT_OUT_ROWS_MAX).filter_map(|found| row(found, labels, contents)).collect_view();
    let count = wording::counted(left_out.len() as u64, "place differs", "places differ");
    let more = (left_out.len() > LEFT_OUT_ROWS_MAX).then(
        || view! { <p class="note">"The first 100 are listed; all of them stand in the whole payload below."</p> },
    );
    Some(
        view! {
            <details class="left-out">
                <summary>{format!("Left out: {count} that the workflow calls volatile")}</summary>
                <p class="note">"They are not part of the fingerprint, and never make a conflict."</p>
                <div class="scroll" tabindex="0" role="region" aria-label="Left out">
                    <table class="cards changes">
                        <caption class="hidden">"What differs and was left out"</caption>
                        {head(labels)}
                        <tbody>{rows}</tbody>
                    </table>
                </div>
                {more}
            </details>
        }
        .into_any(),
    )
}

fn whole(lines: &[Line], labels: (&str, &str), place: &Place<'_>) -> AnyView {
    let total = lines.len();
    let from = place.shown.line.filter(|line| *line < total).unwrap_or(0);
    let until = total.min(from + LINES_MAX);
    let is_split = place.shown.is_split;
    let is_open = place.shown.line.is_some();
    let mut parts: Vec<AnyView> = Vec::new();
    for stretch in stretches(&lines[from..until]) {
        match stretch {
            Stretch::Shown(lines) => {
                parts.push(lines.iter().map(|line| line_view(line, is_split)).collect_view().into_any());
            }
            Stretch::Folded(lines) => {
                let count = wording::counted(lines.len() as u64, "unchanged line", "unchanged lines");
                let lines = lines.iter().map(|line| line_view(line, is_split)).collect_view();
                parts.push(
                    view! {
                        <details class="fold">
                            <summary>{count}</summary>
                            {lines}
                        </details>
                    }
                    .into_any(),
                );
            }
        }
    }
    let choice = |split: bool, text: &'static str| {
        let address = place.address(place.shown.row, Some(from), split, "whole");
        let current = (split == is_split).then_some("true");
        view! { <a class="choice" href=address aria-current=current>{text}</a> }
    };
    let link = |line: usize, text: &'static str| {
        let address = place.address(place.shown.row, Some(line), is_split, "whole");
        view! { <a class="button is-quiet" href=address>{text}</a> }
    };
    let pages = (total > LINES_MAX).then(|| {
        let number = |number: usize| wording::number(number as u64);
        let before = (from > 0).then(|| link(from.saturating_sub(LINES_MAX), "Show the lines before"));
        let next = (until < total).then(|| link(until, "Show the next lines"));
        view! {
            <p class="pages">
                {format!("Lines {} to {} of {}.", number(from + 1), number(until), number(total))} " "
                {before} " " {next}
            </p>
        }
    });
    let heads = is_split.then(|| {
        view! {
            <div class="whole-heads" aria-hidden="true">
                <span>{labels.0.to_owned()}</span>
                <span>{labels.1.to_owned()}</span>
            </div>
        }
    });
    let name = format!("{} and {}, line by line", labels.0, labels.1);
    view! {
        <details id="whole" class="whole" open=is_open>
            <summary>"The whole payload"</summary>
            <p class="whole-choice">{choice(false, "Unified")} " " {choice(true, "Side by side")}</p>
            {heads}
            <div class="whole-lines" class:is-split=is_split tabindex="0" role="region" aria-label=name>
                {parts.collect_view()}
            </div>
            {pages}
        </details>
    }
    .into_any()
}

/// A run of lines.
enum Stretch<'a> {
    Shown(&'a [Line]),
    Folded(&'a [Line]),
}

/// Lines with what is far from every difference folded.
fn stretches(lines: &[Line]) -> Vec<Stretch<'_>> {
    let is_plain = |line: &Line| matches!(line, Line::Same(_));
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let same = lines[at..].iter().take_while(|line| is_plain(line)).count();
        let end = at + same;
        let before = if at == 0 { 0 } else { CONTEXT_LINES };
        let behind = if end == lines.len() { 0 } else { CONTEXT_LINES };
        if same >= before + behind + FOLDED_LINES_MIN {
            found.push(Stretch::Shown(&lines[at..at + before]));
            found.push(Stretch::Folded(&lines[at + before..end - behind]));
            found.push(Stretch::Shown(&lines[end - behind..end]));
        } else {
            found.push(Stretch::Shown(&lines[at..end]));
        }
        let different = lines[end..].iter().take_while(|line| !is_plain(line)).count();
        found.push(Stretch::Shown(&lines[end..end + different]));
        at = end + different;
    }
    found.retain(|stretch| match stretch {
        Stretch::Shown(lines) | Stretch::Folded(lines) => !lines.is_empty(),
    });
    found
}

fn line_view(line: &Line, is_split: bool) -> AnyView {
    let one = |class: &'static str, sign: &'static str, word: &'static str, text: &str| {
        view! {
            <div class=class>
                <span class="sign" aria-hidden="true">{sign}</span>
                <span class="hidden">{word}</span>
                <code><Plain text=text.to_owned() /></code>
            </div>
        }
        .into_any()
    };
    let blank = || view! { <div class="line is-blank" aria-hidden="true"></div> }.into_any();
    let removed = |text: &str| one("line is-removed", "\u{2212}", "removed: ", text);
    let added = |text: &str| one("line is-added", "+", "added: ", text);
    let left_out = |text: &str| one("line is-left-out", "\u{2205}", "left out: ", text);
    let pair = |left: AnyView, right: AnyView| view! { <div class="pair">{left}{right}</div> }.into_any();
    match line {
        Line::Same(text) if is_split => {
            let again = view! {
                <div class="line is-again" aria-hidden="true"><span class="sign"></span><code><Plain text=text.clone() /></code></div>
            };
            pair(one("line", "", "", text), again.into_any())
        }
        Line::Same(text) => one("line", "", "", text),
        Line::Changed(approved, received) if is_split => pair(removed(approved), added(received)),
        Line::Changed(approved, received) => view! { {removed(approved)}{added(received)} }.into_any(),
        Line::Removed(text) if is_split => pair(removed(text), blank()),
        Line::Removed(text) => removed(text),
        Line::Added(text) if is_split => pair(blank(), added(text)),
        Line::Added(text) => added(text),
        Line::LeftOut(approved, received) => {
            let shown = |text: &Option<String>| text.as_deref().map(left_out);
            let (left, right) = (shown(approved), shown(received));
            if is_split {
                pair(left.unwrap_or_else(blank), right.unwrap_or_else(blank))
            } else {
                view! { {left}{right} }.into_any()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(approved: &str, received: &str, volatile: &[&str], shown: &DiffQuery) -> String {
        let volatile: Vec<Pointer> = volatile.iter().map(|pointer| pointer.parse().unwrap()).collect();
        let place = Place { path: "/x", query: vec![("left", "1".to_owned())], shown };
        let sides =
            [Side { label: "Approved", payload: Some(approved) }, Side { label: "Received", payload: Some(received) }];
        Owner::new().with(|| diff(sides, &volatile, &place).html)
    }

    #[test]
    fn markup_in_a_payload_stays_text() {
        let hostile = r#"{"memo":"<script>alert(1)</script>","<img src=x onerror=alert(1)>":1}"#;
        let shown = html(r#"{"memo":"x"}"#, hostile, &[], &DiffQuery { line: Some(0), ..DiffQuery::default() });
        assert!(!shown.contains("<script") && !shown.contains("<img"), "{shown}");
        assert!(shown.contains("&lt;script&gt;"), "{shown}");
    }

    #[test]
    fn thousands_of_changes_are_shown_page_by_page() {
        let many = |value: u32| {
            let members: Vec<String> = (0..5_000).map(|at| format!(r#""m{at}":{value}"#)).collect();
            format!("{{{}}}", members.join(","))
        };
        let rows = |row| {
            let shown = html(&many(1), &many(2), &[], &DiffQuery { row, ..DiffQuery::default() });
            (shown.matches("<tr class=\"change").count(), shown)
        };
        let (count, first) = rows(0);
        assert_eq!(count, ROWS_MAX);
        assert!(
            first.contains("Changes 1 to 500 of 5,000.") && first.contains("/x?left=1&amp;row=500#changes"),
            "links"
        );
        let (count, last) = rows(4_900);
        assert_eq!(count, 100);
        assert!(last.contains("Changes 4,901 to 5,000 of 5,000.") && !last.contains("Show the next 500"));
    }

    #[test]
    fn what_does_not_differ_is_folded() {
        let list = |amount: &str| {
            let members: Vec<String> = (0..30).map(|at| format!(r#""m{at}":1"#)).collect();
            format!(r#"{{{},"amount":"{amount}"}}"#, members.join(","))
        };
        let shown = html(&list("1.00"), &list("2.00"), &[], &DiffQuery::default());
        assert!(shown.contains("28 unchanged lines"), "{shown}");
    }

    #[test]
    fn an_item_that_moved_is_one_row() {
        let shown = html(r#"{"l":["a","b","c"]}"#, r#"{"l":["b","c","a"]}"#, &[], &DiffQuery::default());
        assert_eq!(shown.matches("<tr class=\"change").count(), 1, "{shown}");
        assert!(shown.contains("Item 1 here, item 3 there."), "{shown}");
    }

    #[test]
    fn what_was_left_out_stands_apart() {
        let shown = html(r#"{"a":1,"at":"x"}"#, r#"{"a":2,"at":"y"}"#, &["/at"], &DiffQuery::default());
        assert!(shown.contains("Left out: 1 place differs"), "{shown}");
        assert!(shown.contains("What differs: 1 change"), "{shown}");
    }
}
