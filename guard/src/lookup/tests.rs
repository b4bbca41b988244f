//! What follows from the records of an answer.

use super::*;

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).unwrap()
}

fn record(external_reference: &str, reference: &str) -> Record {
    Record {
        external_references: vec![Json::String(external_reference.to_owned())],
        references: vec![Json::String(reference.to_owned())],
        ..Record::default()
    }
}

fn wanted(external_reference: &str) -> Wanted<'_> {
    Wanted { external_reference, void_values: &[], key_fields: &[], payload: None }
}

fn judged(wanted: Wanted<'_>, records: &[Record]) -> (Finding, Vec<Candidate>) {
    let mut judge = Judge::new(wanted);
    for record in records {
        judge.take(record);
    }
    judge.finish()
}

fn found(reference: &str) -> Finding {
    Finding::Found { destination_reference: reference.to_owned() }
}

#[test]
fn c27_only_the_exact_reference_is_taken() {
    let near = ["INV-10", "XINV-1", "INV-1-CN", "inv-1", "INV-1 "];
    let mut records: Vec<Record> = near.iter().map(|near| record(near, &format!("id of {near}"))).collect();
    let (finding, candidates) = judged(wanted("INV-1"), &records);
    assert_eq!(finding, Finding::Absent);
    let shown: Vec<&str> = candidates.iter().map(|candidate| candidate.external_reference.as_str()).collect();
    assert_eq!(shown, near);

    records.push(record("INV-1", "907"));
    assert_eq!(judged(wanted("INV-1"), &records).0, found("907"));
    assert_eq!(judged(wanted("1814"), &[record("14", "1")]).1.len(), 1, "a part of ours is shown too");
    assert_eq!(judged(wanted("INV-1"), &[record("RE-7", "1"), record("", "2")]), (Finding::Absent, Vec::new()));
}

#[test]
fn candidates_are_bounded() {
    let long = "x".repeat(500);
    let records: Vec<Record> = (0..50).map(|index| record(&format!("INV-1{index}{long}"), "1")).collect();
    let (_, candidates) = judged(wanted("INV-1"), &records);
    assert_eq!(candidates.len(), CANDIDATES_MAX);
    assert_eq!(candidates[0].external_reference.chars().count(), CANDIDATE_CHARACTERS_MAX + 1);
}

fn key_fields() -> Vec<KeyField> {
    let field = |payload: &str, record: &str, compare| KeyField {
        payload: payload.parse().unwrap(),
        record: record.to_owned(),
        compare,
    };
    vec![
        field("/total", "$.ValDtls.TotInvVal", Comparison::Decimal),
        field("/buyer", "$.BuyerDtls.Gstin", Comparison::Exact),
    ]
}

#[test]
fn c21_the_same_number_with_another_total_is_not_ours() {
    let payload = Payload::parse(br#"{"total":"561.80","buyer":"29AAAAA0000A1Z5"}"#).unwrap();
    let fields = key_fields();
    let wanted = Wanted { key_fields: &fields, payload: Some(&payload), ..wanted("SINV-42") };
    let held = |total: &str| Record {
        key_fields: vec![vec![json(total)], vec![json(r#""29AAAAA0000A1Z5""#)]],
        ..record("SINV-42", "irn-1")
    };
    assert_eq!(judged(wanted, &[held("561.8")]).0, found("irn-1"));
    let (finding, _) = judged(wanted, &[held("651.80")]);
    let Finding::Differs { destination_reference, differences } = finding else { panic!("{finding:?}") };
    assert_eq!(destination_reference, "irn-1");
    assert_eq!(
        differences,
        [Difference {
            payload: "/total".parse().unwrap(),
            record: "$.ValDtls.TotInvVal".to_owned(),
            compare: Comparison::Decimal,
            ours: Some(json(r#""561.80""#)),
            theirs: Some(json("651.80")),
        }]
    );
}

#[test]
fn a_key_field_that_cannot_be_read_does_not_agree() {
    let payload = Payload::parse(br#"{"total":"561.80"}"#).unwrap();
    let fields = key_fields();
    let wanted = Wanted { key_fields: &fields, payload: Some(&payload), ..wanted("SINV-42") };
    let two_totals = vec![json("561.80"), json("561.80")];
    let records = [Record { key_fields: vec![two_totals, Vec::new()], ..record("SINV-42", "irn-1") }];
    let (finding, _) = judged(wanted, &records);
    let Finding::Differs { differences, .. } = finding else { panic!("{finding:?}") };
    assert_eq!(differences.len(), 2, "several values, and none on either side");
    assert_eq!((&differences[0].theirs, &differences[1].ours), (&None, &None));

    let forgotten = Wanted { payload: None, ..wanted };
    assert!(matches!(judged(forgotten, &records).0, Finding::Differs { .. }));
}

#[test]
fn c24_two_live_records_are_never_one() {
    let both = [record("oo-1", "task-1"), record("oo-1", "task-2")];
    let references = vec!["task-1".to_owned(), "task-2".to_owned()];
    assert_eq!(judged(wanted("oo-1"), &both).0, Finding::Several { destination_references: references });
    let overlap = [record("oo-1", "task-1"), record("oo-1", "task-1")];
    assert_eq!(judged(wanted("oo-1"), &overlap).0, found("task-1"), "pages that overlap show one record twice");
}

#[test]
fn what_overlapping_pages_show_differently_disagrees() {
    let payload = Payload::parse(br#"{"total":"561.80","buyer":"B"}"#).unwrap();
    let fields = key_fields();
    let wanted = Wanted { key_fields: &fields, payload: Some(&payload), ..wanted("oo-1") };
    let held =
        |total: &str| Record { key_fields: vec![vec![json(total)], vec![json(r#""B""#)]], ..record("oo-1", "task-1") };
    assert!(matches!(judged(wanted, &[held("561.80"), held("1")]).0, Finding::Differs { .. }));
    assert!(matches!(judged(wanted, &[held("1"), held("561.80")]).0, Finding::Differs { .. }));
}

#[test]
fn a_void_record_is_not_live() {
    let values = ["VOIDED".to_owned(), "true".to_owned()];
    let wanted = Wanted { void_values: &values, ..wanted("oo-1") };
    let marked = |mark: &str, reference: &str| Record { void_marks: vec![json(mark)], ..record("oo-1", reference) };
    let only_void = Finding::VoidOnly { destination_references: vec!["task-1".to_owned(), "task-2".to_owned()] };
    assert_eq!(judged(wanted, &[marked(r#""VOIDED""#, "task-1"), marked("true", "task-2")]).0, only_void);
    assert_eq!(judged(wanted, &[marked(r#""VOIDED""#, "task-1"), marked(r#""OPEN""#, "task-2")]).0, found("task-2"));
    assert_eq!(judged(wanted, &[marked("null", "task-1")]).0, found("task-1"));
    assert_eq!(judged(wanted, &[marked(r#""voided""#, "task-1")]).0, found("task-1"), "byte for byte");
}

#[test]
fn ids_keep_their_digits_and_must_be_readable() {
    let numbered = Record { references: vec![json("820982911946154508")], ..record("oo-1", "") };
    assert_eq!(judged(wanted("oo-1"), &[numbered]).0, found("820982911946154508"));
    for unreadable in ["null", "{}", r#"" ""#, "true", r#""a\u0000""#] {
        let record = Record { references: vec![json(unreadable)], ..record("oo-1", "") };
        let (finding, _) = judged(wanted("oo-1"), &[record]);
        assert!(
            matches!(finding, Finding::Inconclusive { class: AnswerClass::Unreadable, .. }),
            "{unreadable}: {finding:?}"
        );
    }
    let without = Record { references: Vec::new(), ..record("oo-1", "") };
    let several = [without.clone(), record("oo-1", "task-2")];
    assert!(matches!(judged(wanted("oo-1"), &several).0, Finding::Several { .. }), "two are two");
    assert!(matches!(judged(wanted("oo-1"), &[without]).0, Finding::Inconclusive { .. }));
}

#[test]
fn classes_survive_their_names() {
    for class in AnswerClass::ALL {
        assert_eq!(AnswerClass::parse(class.as_str()), Some(class));
    }
    let down: Vec<&str> =
        AnswerClass::ALL.iter().filter(|class| class.means_down()).map(|class| class.as_str()).collect();
    assert_eq!(down, ["timeout", "unreachable", "too_many", "server_error"]);
}

#[test]
fn a_look_survives_its_journey_to_the_browser() {
    let looked = Looked {
        request: "GET /tasks?external_reference=oo-1".to_owned(),
        status: Some(200),
        pages: 1,
        took_milliseconds: 12,
        finding: Finding::Several { destination_references: vec!["task-1".to_owned()] },
        candidates: vec![Candidate { external_reference: "oo-10".to_owned(), destination_reference: None }],
    };
    let text = serde_json::to_string(&looked).unwrap();
    assert_eq!(serde_json::from_str::<Looked>(&text).unwrap(), looked);
}
