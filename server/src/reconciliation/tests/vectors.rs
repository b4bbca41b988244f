//! Published tables, where they lie beside the repository in `../shared/vectors` (or where `ONCEOVER_SHARED` points); where they are
//! not, nothing is said. Where what they ask for may be answered in two ways, the one that is ours is asserted.

use std::path::PathBuf;

use super::*;
use crate::reconciliation::export::{neutral, original};

fn published(folder: &str) -> Option<PathBuf> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let shared = std::env::var_os("ONCEOVER_SHARED").map_or_else(beside, PathBuf::from);
    let path = shared.join("vectors").join(folder);
    path.exists().then_some(path)
}

/// A workflow that compares these columns as texts, and the mapping that reads them as they stand; one column is the reference.
fn columns(names: &[&str], reference: &str) -> (Workflow, Mapping) {
    let place = |at: usize| format!("/column_{at}");
    let key_fields = (0..names.len()).map(|at| KeyField {
        payload: place(at).parse().unwrap(),
        record: format!("$.column_{at}"),
        compare: Comparison::Text,
    });
    let workflow = Workflow { key_fields: key_fields.collect(), ..Workflow::named(KeyPart::new("published").unwrap()) };
    let fields = names.iter().enumerate().map(|(at, name)| (place(at), (*name).to_owned())).collect();
    let nothing = || Some(String::new());
    let mapping = Mapping {
        destination_reference: Some(reference.to_owned()),
        external_reference: nothing(),
        document: nothing(),
        source_system: nothing(),
        amount: nothing(),
        currency: nothing(),
        date: nothing(),
        status: nothing(),
        fields,
        ..Mapping::default()
    };
    (workflow, mapping)
}

/// The texts of these columns, row by row.
fn texts(bytes: &[u8], names: &[&str], reference: &str) -> Vec<Vec<String>> {
    let (workflow, mapping) = columns(names, reference);
    let plan = Plan::of(&workflow, None, mapping);
    let mut records = Records::open(&plan, bytes, Some(Format::Csv), None).unwrap();
    let mut rows = Vec::new();
    while let Some((record, _)) = records.next_record().unwrap() {
        let text = |value: &Option<Json>| value.as_ref().and_then(Json::as_str).unwrap_or_default().to_owned();
        rows.push(record.key_fields.iter().map(text).collect());
    }
    rows
}

#[test]
fn tables_of_the_spectrum_are_read_as_they_should() {
    let Some(folder) = published("csv-spectrum") else { return };
    let mut looked_at = 0;
    for entry in std::fs::read_dir(folder.join("csvs")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let expected = std::fs::read(folder.join("json").join(format!("{name}.json"))).unwrap();
        let expected: serde_json::Value = serde_json::from_slice(&expected).unwrap();
        // One of them is the object itself.
        let rows = expected.as_array().cloned().unwrap_or_else(|| vec![expected.clone()]);
        let mut names: Vec<&str> = rows[0].as_object().unwrap().keys().map(String::as_str).collect();
        // There the two sides of the publication tell two different numbers.
        names.retain(|column| *column != "Contact Phone Number");
        let of = |column: &str| rows.iter().map(|row| row[column].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        // A reference is a line of text, and stands in each row.
        let is_reference = |column: &&&str| of(column).iter().all(|text| !text.is_empty() && !text.contains('\n'));
        let reference = names.iter().find(is_reference).unwrap();
        let found = texts(&std::fs::read(&path).unwrap(), &names, reference);
        let expected: Vec<Vec<String>> = rows
            .iter()
            .map(|row| names.iter().map(|column| row[*column].as_str().unwrap().to_owned()).collect())
            .collect();
        assert_eq!(found, expected, "{name}");
        looked_at += 1;
    }
    assert_eq!(looked_at, 12);
}

/// A published table of our own making.
struct Published {
    folder: PathBuf,
    looked_at: usize,
}

impl Published {
    fn bytes(&mut self, number: &str) -> Vec<u8> {
        self.looked_at += 1;
        let is_it = |name: &str| name.starts_with(number) && !name.ends_with(".json");
        let mut found = std::fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().path());
        let path = found.find(|path| is_it(path.file_name().unwrap().to_str().unwrap())).unwrap();
        std::fs::read(path).unwrap()
    }

    fn expected(&self, number: &str) -> serde_json::Value {
        let mut found = std::fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().path());
        let is_it = |name: &str| name.starts_with(number) && name.ends_with(".json");
        let path = found.find(|path| is_it(path.file_name().unwrap().to_str().unwrap())).unwrap();
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }
}

fn keyed() -> Mapping {
    Mapping { destination_reference: Some("operation_key".to_owned()), ..Mapping::default() }
}

#[test]
fn tricky_tables_are_read_or_refused_as_they_should() {
    let Some(folder) = published("csv-guard") else { return };
    let mut tables = Published { folder, looked_at: 0 };
    let comma = Mapping { decimal: Some(DecimalMark::Comma), ..keyed() };

    // One row, however the file begins and ends.
    for number in ["01", "02", "03", "04", "05"] {
        let rows = good(&tables.bytes(number), &keyed());
        let expected = tables.expected(number);
        let expected = expected.get("rows").unwrap_or(&expected["rows_or_clear_error"])[0].clone();
        assert_eq!(rows.len(), 1, "{number}");
        assert_eq!(rows[0].destination_reference.as_deref(), expected["operation_key"].as_str(), "{number}");
        assert_eq!(rows[0].amount.unwrap().to_string(), expected["amount"].as_str().unwrap(), "{number}");
        assert_eq!(rows[0].currency.as_deref(), expected["currency"].as_str(), "{number}");
        assert_eq!(rows[0].date.unwrap().to_string(), expected["date"].as_str().unwrap(), "{number}");
    }
    let declared = tables.bytes("06");
    let (row, refusal) = (good(&declared, &comma), refused(&declared, &keyed()));
    assert_eq!(
        (amounts(&row), row[0].date.unwrap().to_string()),
        (vec!["1234.56".to_owned()], "2026-03-31".to_owned())
    );
    assert!(refusal.contains("(amount)") && refusal.contains("decimal"), "{refusal}");

    // Amounts.
    let thousands = tables.bytes("07");
    assert_eq!(amounts(&good(&thousands, &comma)), ["-1000", "1488.69", "-89.9", "1000"]);
    let lines: Vec<_> = read(&thousands, &keyed()).faults.iter().map(|fault| fault.line).collect();
    assert!([Some(2), Some(5)].iter().all(|line| lines.contains(line)), "{lines:?}");
    assert_eq!(amounts(&good(&tables.bytes("08"), &keyed())), ["123456.78", "250000", "10000000.00"]);
    // Two rows have a decimal comma, two a point: as it is declared, the others are told cell by cell.
    let spaces = tables.bytes("09");
    for (mark, refused) in [(DecimalMark::Comma, [4, 5]), (DecimalMark::Point, [2, 3])] {
        let read = read(&spaces, &Mapping { decimal: Some(mark), ..keyed() });
        assert_eq!(amounts(&read.records), ["1234.56", "1234.56"], "{mark:?}");
        let lines: Vec<_> = read.faults.iter().map(|fault| fault.line).collect();
        assert_eq!(lines, refused.map(Some), "{mark:?}");
    }
    let negatives = read(&tables.bytes("10"), &keyed());
    assert_eq!(amounts(&negatives.records), ["-12.50", "-12.50", "-12.50", "-12.50", "0.00"]);
    assert_eq!(negatives.faults.iter().map(|fault| fault.line).collect::<Vec<_>>(), [Some(6)], "12.50 CR");
    let written = read(&tables.bytes("34"), &document());
    assert_eq!(ids(&written.records), ["A", "B", "C", "D"]);
    assert_eq!(amounts(&written.records), ["1234.56", "12.50", "12.5", "12.500"]);
    assert_eq!(written.faults.len(), 8, "{:?}", written.faults);

    // Documents.
    assert_eq!(ids(&good(&tables.bytes("11"), &document())), ["000123", "000123", "123"]);
    let long = read(&tables.bytes("12"), &document());
    assert_eq!(ids(&long.records), ["12345678901234567890", "1.23457E+19", "314659E2", "3E5"]);
    assert_eq!(long.warnings.len(), 1, "{:?}", long.warnings);
    assert_eq!(ids(&good(&tables.bytes("31"), &document())), ["PMT-9", "PMT-10"]);
    assert_eq!(ids(&good(&tables.bytes("32"), &document())), ["PMT-9", "PMT-9"], "the matching counts it once");
    assert_eq!(amounts(&good(&tables.bytes("33"), &document())), ["54.00", "45.00"], "the matching tells it");
    let twins = good(&tables.bytes("36"), &document());
    assert_ne!(twins[0].destination_reference, twins[1].destination_reference, "byte for byte");
    assert_eq!(ids(&good(&tables.bytes("37"), &document())), ["INV-1", "INV-1", "inv-1", "INV-10"]);

    // Days.
    let days = tables.bytes("13");
    let plain = read(&days, &document());
    let told = |read: &Read| -> Vec<String> {
        let day =
            |record: &Record| format!("{} {}", record.destination_reference.as_deref().unwrap(), record.date.unwrap());
        read.records.iter().map(day).collect()
    };
    assert_eq!(told(&plain), ["C 2026-03-31", "D 2026-03-31", "F 2026-03-31"]);
    let serial = read(&days, &Mapping { date_format: Some("excel".to_owned()), ..document() });
    assert!(told(&serial).contains(&"A 2026-03-31".to_owned()), "{serial:?}");
    assert!(!told(&serial).iter().any(|row| row.starts_with("G ")), "the 29th of February 1900");
    let english = read(&days, &Mapping { date_format: Some("%d-%b-%y".to_owned()), ..document() });
    assert_eq!(told(&english), ["E 2026-03-31"]);

    // Quotes and shapes.
    for number in ["14", "15"] {
        let names = ["document", "memo"];
        let rows = texts(&tables.bytes(number), &names, "document");
        let memos: Vec<&str> = rows.iter().map(|row| row[1].as_str()).collect();
        let expected = tables.expected(number);
        let expected: Vec<&str> =
            expected["memos"].as_array().unwrap().iter().map(|memo| memo.as_str().unwrap()).collect();
        assert_eq!(memos, expected, "{number}");
    }
    let unclosed = read(&tables.bytes("16"), &document());
    assert!(unclosed.records.is_empty() && unclosed.faults[0].to_string().starts_with("line 2"), "{unclosed:?}");
    let ragged = read(&tables.bytes("17"), &document());
    assert_eq!(ids(&ragged.records), ["C"]);
    assert_eq!(ragged.faults.iter().map(|fault| fault.line).collect::<Vec<_>>(), [Some(2), Some(3)]);
    assert!(refused(&tables.bytes("18"), &document()).contains("(amount): stands twice"));
    let cased = good(&tables.bytes("19"), &document());
    assert_eq!((ids(&cased), amounts(&cased)), (vec!["A"], vec!["1.00".to_owned()]));
    assert!(refused(&tables.bytes("20"), &document()).contains("\"document\" is missing"));
    assert_eq!(refused(&tables.bytes("21"), &document()), "the file is empty");
    assert_eq!(good(&tables.bytes("22"), &keyed()), []);
    assert_eq!(ids(&good(&tables.bytes("23"), &document())), ["A", "B"]);
    assert_eq!(ids(&good(&tables.bytes("24"), &document())), ["A"]);
    let old = tables.bytes("25");
    assert!(refused(&old, &document()).contains("offset 23"));
    let encoded = Mapping { encoding: Some("windows-1252".to_owned()), ..document() };
    assert_eq!(ids(&good(&old, &encoded)), ["A"]);
    assert!(refused(&tables.bytes("26"), &document()).contains("control character"));
    for number in ["27", "28"] {
        let rows = good(&tables.bytes(number), &document());
        assert_eq!((ids(&rows), amounts(&rows)), (vec!["A"], vec!["1.00".to_owned()]), "{number}");
    }
    assert_eq!(ids(&good(&tables.bytes("35"), &document())), ["A"]);

    // What a spreadsheet would run: as it stands when it comes, neutral when it goes, and the same when it comes back.
    for (number, neutralised) in [("29", 8), ("30", 2)] {
        let bytes = tables.bytes(number);
        let memos: Vec<String> =
            texts(&bytes, &["document", "memo"], "document").into_iter().map(|row| row[1].clone()).collect();
        let changed = memos.iter().filter(|memo| neutral(memo) != **memo).count();
        assert_eq!(changed, neutralised, "{memos:?}");
        assert!(memos.iter().all(|memo| original(&neutral(memo)) == memo));
        let left = memos.iter().map(|memo| format!("R,\"{}\"\n", neutral(memo).replace('"', "\"\"")));
        let left = format!("document,memo\n{}", left.collect::<String>());
        let again = texts(left.as_bytes(), &["document", "memo"], "document");
        assert_eq!(again.into_iter().map(|row| row[1].clone()).collect::<Vec<_>>(), memos);
        for amount in amounts(&good(&bytes, &document())) {
            assert_eq!(neutral(&amount), amount, "a number stays a number");
        }
    }
    assert_eq!(tables.looked_at, 37);
}
