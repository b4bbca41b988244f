//! Reads the destination's answers: RFC 9535 paths over exact numbers.

use guard::json::Json;
use guard::lookup::Record;
use serde_json::Value;
use serde_json_path::{JsonPath, PathElement};

/// Answers nest at most this deep.
const ANSWER_NESTING_MAX: usize = 100;

/// An answer, readable by paths.
///
/// The paths are evaluated on a twin whose numbers may have lost digits; what they select is then taken from the exact tree. Only
/// comparisons inside of a path's filter see the twin's numbers.
pub struct Answer {
    exact: Json,
    twin: Value,
}

impl Answer {
    /// Reads the bytes of an answer.
    ///
    /// # Errors
    /// Why they are no JSON that two readers would understand alike.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        // Some servers write a byte order mark although RFC 8259 forbids it: what follows it is clear.
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let exact = Json::parse_nested(bytes, ANSWER_NESTING_MAX).map_err(|error| error.to_string())?;
        Ok(Self::of(exact))
    }

    /// The answer with this content.
    pub fn of(exact: Json) -> Self {
        let twin = twin(&exact);
        Self { exact, twin }
    }

    /// The content.
    pub fn content(&self) -> &Json {
        &self.exact
    }

    /// What a path selects, each place once.
    pub fn select(&self, path: &JsonPath) -> Vec<&Json> {
        let located = path.query_located(&self.twin).dedup();
        located.locations().filter_map(|place| find(&self.exact, place.iter())).collect()
    }

    fn select_owned(&self, path: &JsonPath) -> Vec<Json> {
        self.select(path).into_iter().cloned().collect()
    }
}

fn twin(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        // A number that no double holds stays what it is: a number, of some size.
        Json::Number(number) => serde_json::from_str(number.as_written())
            .unwrap_or_else(|_| Value::from(if number.as_written().starts_with('-') { f64::MIN } else { f64::MAX })),
        Json::String(text) => Value::String(text.clone()),
        Json::Array(items) => Value::Array(items.iter().map(twin).collect()),
        Json::Object(members) => {
            Value::Object(members.iter().map(|(name, member)| (name.clone(), twin(member))).collect())
        }
    }
}

fn find<'a, 'b>(tree: &'a Json, mut place: impl Iterator<Item = &'b PathElement<'b>>) -> Option<&'a Json> {
    place.try_fold(tree, |value, step| match (value, step) {
        (Json::Object(_), PathElement::Name(name)) => value.member(name),
        (Json::Array(items), PathElement::Index(index)) => items.get(*index),
        (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_), _) => None,
    })
}

/// Where the records of an answer stand.
pub struct Records {
    path: JsonPath,
    /// The list that the path takes its records out of, where it has one: without that list, an empty selection says nothing.
    holder: Option<Box<Records>>,
    /// Whether the path's last step chooses among what a list holds, so that choosing nothing is an answer.
    chooses: bool,
}

impl Records {
    /// The records at a path.
    ///
    /// # Errors
    /// The path is none.
    pub fn at(path: &str) -> Result<Self, String> {
        let parsed = JsonPath::parse(path).map_err(|error| error.to_string())?;
        let step = last_step(path.trim());
        let chooses = step.is_some_and(|(_, step)| !is_name(step));
        let holder = step.and_then(|(before, _)| Self::at(before).ok()).map(Box::new);
        Ok(Self { path: parsed, holder, chooses })
    }

    /// The records of an answer; none where the answer does not have the shape that could hold some.
    pub fn of<'a>(&self, answer: &'a Answer) -> Option<Vec<&'a Json>> {
        let selected = answer.select(&self.path);
        if selected.is_empty() {
            return self.may_be_empty(answer).then(Vec::new);
        }
        Some(selected.into_iter().filter(|record| **record != Json::Null).collect())
    }

    /// Whether it is an answer that nothing was selected: a list was there and held nothing of it. `{"error": …}` where a list
    /// was expected is no empty list.
    fn may_be_empty(&self, answer: &Answer) -> bool {
        let Some(holder) = self.holder.as_deref() else { return false };
        let holders = answer.select(&holder.path);
        if holders.is_empty() {
            return holder.may_be_empty(answer);
        }
        self.chooses && holders.iter().all(|holder| matches!(holder, Json::Array(_) | Json::Object(_)))
    }
}

/// A path without its last step, and that step: `$.items[*]` is `$.items` and `[*]`. None for `$`, and where the step looks at
/// every depth.
fn last_step(path: &str) -> Option<(&str, &str)> {
    let mut start = None;
    let (mut depth, mut quote) = (0_usize, None);
    let mut characters = path.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (Some(_), '\\') => _ = characters.next(),
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '[') => {
                // A bracket behind `..` belongs to the step that the dots began.
                if depth == 0 && !path[..at].ends_with("..") {
                    start = Some(at);
                }
                depth += 1;
            }
            (None, ']') => depth = depth.saturating_sub(1),
            (None, '.') if depth == 0 && !path[..at].ends_with('.') => start = Some(at),
            (None, _) => {}
        }
    }
    let (before, step) = path.split_at(start?);
    (!step.starts_with("..")).then_some((before.trim_end(), step))
}

/// Whether a step names one member: `.items`, `['items']`.
fn is_name(step: &str) -> bool {
    match step.strip_prefix('[') {
        Some(inside) => {
            let inside = inside.trim_start();
            // Several names between commas are a choice of none of them, too; the whole answer is then not understood.
            inside.starts_with(['\'', '"'])
        }
        None => step.trim_start_matches('.').trim() != "*",
    }
}

/// The places of a record that count.
pub struct Places {
    /// Where the external reference stands.
    pub external_reference: JsonPath,
    /// Where the destination reference stands.
    pub reference: JsonPath,
    /// Where it says that it is void.
    pub void: Option<JsonPath>,
    /// Where the key fields stand.
    pub key_fields: Vec<JsonPath>,
}

impl Places {
    /// What a record says at these places.
    pub fn read(&self, record: &Json) -> Record {
        let record = Answer::of(record.clone());
        Record {
            external_references: record.select_owned(&self.external_reference),
            references: record.select_owned(&self.reference),
            void_marks: self.void.as_ref().map(|path| record.select_owned(path)).unwrap_or_default(),
            key_fields: self.key_fields.iter().map(|path| record.select_owned(path)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Answer {
        Answer::parse(text.as_bytes()).unwrap()
    }

    fn selected(path: &str, text: &str) -> Vec<String> {
        answer(text).select(&JsonPath::parse(path).unwrap()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn digits_stay() {
        let text = r#"{"items":[{"id":820982911946154508,"total":561.80},{"id":9007199254740993,"total":1e400}]}"#;
        assert_eq!(selected("$.items[*].id", text), ["820982911946154508", "9007199254740993"]);
        assert_eq!(selected("$.items[?@.total < 600].total", text), ["561.80"]);
        assert_eq!(selected("$.items[1].total", text), ["1e400"]);
    }

    #[test]
    fn strange_names_are_found() {
        assert_eq!(selected("$['a.b'][\"c'd\"]", r#"{"a.b":{"c'd":1}}"#), ["1"]);
        assert_eq!(selected("$..x", r#"{"x":{"x":2}}"#), [r#"{"x":2}"#, "2"]);
    }

    /// The records as text; none where the answer is not understood.
    fn records(path: &str, text: &str) -> Option<usize> {
        Records::at(path).unwrap().of(&answer(text)).map(|records| records.len())
    }

    #[test]
    fn an_empty_list_is_an_answer_and_an_error_is_none() {
        for path in
            ["$.items[*]", "$['items'][*]", "$.items.*", "$.items[?@.kind == 'a]b']", "$.items[0]", "$.items[:2]"]
        {
            assert_eq!(records(path, r#"{"items":[]}"#), Some(0), "{path}");
            assert_eq!(records(path, r#"{"error":"try later"}"#), None, "{path}");
            assert_eq!(records(path, r#"{"items":"none"}"#), None, "{path}");
            assert_eq!(records(path, r#"{"items":null}"#), None, "{path}");
        }
        assert_eq!(records("$[*]", "[]"), Some(0));
        assert_eq!(records("$[*]", r#""busy""#), None);
        assert_eq!(records("$.pages[*].items[*]", r#"{"pages":[]}"#), Some(0));
        assert_eq!(records("$.pages[*].items[*]", r#"{"pages":[{}]}"#), None);
    }

    #[test]
    fn one_object_is_there_or_null_or_not_understood() {
        assert_eq!(records("$.task", r#"{"task":{"id":1}}"#), Some(1));
        assert_eq!(records("$.task", r#"{"task":null}"#), Some(0));
        assert_eq!(records("$.task", r#"{"message":"timed out"}"#), None);
        assert_eq!(records("$", r#"{"id":1}"#), Some(1));
        assert_eq!(records("$", "null"), Some(0));
    }

    /// C20: one tax portal tells of a duplicate in three shapes; the entry is told by its code, whatever stands around it.
    #[test]
    fn c20_the_entry_is_picked_by_its_code() {
        let path = "$..[?@.Code == 'DUPLICATE']";
        let entry = r#"{"Code":"DUPLICATE","Known":{"Number":"f00d","Receipt":112010012345678}}"#;
        let other = r#"{"Code":"DISTANCE","Text":"2467 km"}"#;
        for shape in [
            format!(r#"{{"Status":0,"Details":[{entry}]}}"#),
            format!(r#"{{"Status":0,"Details":{entry}}}"#),
            format!(r#"{{"Status":0,"Details":[{other},{entry}]}}"#),
        ] {
            let answer = answer(&shape);
            let found = Records::at(path).unwrap().of(&answer).unwrap();
            let [record] = found[..] else { panic!("{shape}: {found:?}") };
            let places = Places {
                external_reference: JsonPath::parse("$.Known.Number").unwrap(),
                reference: JsonPath::parse("$.Known.Receipt").unwrap(),
                void: None,
                key_fields: Vec::new(),
            };
            assert_eq!(places.read(record).references[0].to_string(), "112010012345678", "{shape}");
        }
        assert_eq!(records(path, r#"{"message":"the request timed out"}"#), None, "says nothing about the record");
    }

    #[test]
    fn a_byte_order_mark_is_overlooked_and_garbage_is_not() {
        assert!(Answer::parse(b"\xEF\xBB\xBF{}").is_ok());
        for garbage in ["", "<html>", r#"{"a":1,"a":2}"#] {
            assert!(Answer::parse(garbage.as_bytes()).is_err(), "{garbage}");
        }
    }
}
