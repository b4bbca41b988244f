//! Files as they come out of spreadsheets, banks and accounting, and what is made of them.

mod vectors;

use guard::json::Json;
use guard::key::KeyPart;
use guard::reconciliation::{DecimalMark, Mapping};
use guard::workflow::{Comparison, KeyField, Workflow};

use super::*;

fn workflow() -> Workflow {
    let field = |payload: &str, record: &str, compare| KeyField {
        payload: payload.parse().unwrap(),
        record: record.to_owned(),
        compare,
    };
    Workflow {
        amount: Some("/amount".parse().unwrap()),
        currency: Some("/currency".parse().unwrap()),
        key_fields: vec![
            field("/amount", "$.total", Comparison::Decimal),
            field("/customer", "$.customer", Comparison::Text),
        ],
        ..Workflow::named(KeyPart::new("handoff").unwrap())
    }
}

fn document() -> Mapping {
    Mapping { destination_reference: Some("document".to_owned()), ..Mapping::default() }
}

#[derive(Debug)]
struct Read {
    records: Vec<Record>,
    warnings: Vec<String>,
    faults: Vec<Fault>,
}

fn read(bytes: &[u8], mapping: &Mapping) -> Read {
    read_as(bytes, mapping, Format::Csv)
}

fn read_as(bytes: &[u8], mapping: &Mapping, format: Format) -> Read {
    let plan = Plan::of(&workflow(), None, mapping.clone());
    let mut read = Read { records: Vec::new(), warnings: Vec::new(), faults: Vec::new() };
    let mut records = match Records::open(&plan, bytes, Some(format), None) {
        Ok(records) => records,
        Err(fault) => {
            read.faults.push(fault);
            return read;
        }
    };
    loop {
        match records.next_record() {
            Ok(None) => return read,
            Ok(Some((record, warnings))) => {
                read.records.push(record);
                read.warnings.extend(warnings);
            }
            Err(faults) => read.faults.extend(faults),
        }
    }
}

fn good(bytes: &[u8], mapping: &Mapping) -> Vec<Record> {
    let read = read(bytes, mapping);
    assert_eq!(read.faults, [], "{}", String::from_utf8_lossy(bytes));
    read.records
}

fn refused(bytes: &[u8], mapping: &Mapping) -> String {
    let read = read(bytes, mapping);
    read.faults
        .first()
        .unwrap_or_else(|| panic!("{:?} was taken: {read:?}", String::from_utf8_lossy(bytes)))
        .to_string()
}

fn ids(records: &[Record]) -> Vec<&str> {
    records.iter().map(|record| record.destination_reference.as_deref().unwrap_or("")).collect()
}

fn amounts(records: &[Record]) -> Vec<String> {
    records.iter().map(|record| record.amount.map_or_else(String::new, |amount| amount.to_string())).collect()
}

#[test]
fn a_table_is_the_same_however_its_lines_end_and_it_begins() {
    let lines = ["document,amount,currency,date", "INV-001,1234.56,EUR,2026-03-31"];
    let plain = good(format!("{}\n{}\n", lines[0], lines[1]).as_bytes(), &document());
    assert_eq!((ids(&plain), amounts(&plain)), (vec!["INV-001"], vec!["1234.56".to_owned()]));
    assert_eq!(
        (plain[0].currency.as_deref(), plain[0].date.unwrap().to_string()),
        (Some("EUR"), "2026-03-31".to_owned())
    );
    let mark = "\u{feff}";
    for text in [
        format!("{mark}{}\n{}\n", lines[0], lines[1]),
        format!("{}\r\n{}\r\n", lines[0], lines[1]),
        format!("{}\r{}\r", lines[0], lines[1]),
        format!("{}\n{}", lines[0], lines[1]),
        format!("\n{}\n\n{}\n\n", lines[0], lines[1]),
        format!("sep=;\n{}\n{}\n", lines[0].replace(',', ";"), lines[1].replace(',', ";")),
        format!("{}\n{}\n", lines[0].replace(',', "\t"), lines[1].replace(',', "\t")),
        format!("{}\n{}\n", lines[0].replace(',', "|"), lines[1].replace(',', "|")),
        format!(" Document , AMOUNT,currency,date\n{}\n", lines[1]),
    ] {
        let mut found = good(text.as_bytes(), &document());
        found[0].line = plain[0].line;
        assert_eq!(found, plain, "{text:?}");
    }
    let utf16: Vec<u8> =
        format!("{mark}{}\n{}\n", lines[0], lines[1]).encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(good(&utf16, &document())[0].destination_reference, plain[0].destination_reference);
}

#[test]
fn a_decimal_comma_is_declared_or_refused() {
    let text = b"document;amount;date\nINV-001;1.234,56;31.03.2026\n";
    let declared = Mapping { decimal: Some(DecimalMark::Comma), ..document() };
    assert_eq!(amounts(&good(text, &declared)), ["1234.56"]);
    insta::assert_snapshot!(refused(text, &document()), @r#"line 2, column 2 (amount): "1.234,56" is written with a decimal comma, which is not declared; the parameter decimal settles it"#);
    let thousands = b"document;amount\nK1;-1.000\nK2;1.488,69\nK3;-89,9\nK4;1.000\n";
    assert_eq!(amounts(&good(thousands, &declared)), ["-1000", "1488.69", "-89.9", "1000"]);
    let faults = read(thousands, &document()).faults;
    assert_eq!(faults.iter().map(|fault| fault.line).collect::<Vec<_>>(), [2, 3, 4, 5].map(Some));
}

#[test]
fn document_numbers_stay_text() {
    let records = good(b"document,amount\n000123,5\n\"000123\",5\n123,5\n", &document());
    assert_eq!(ids(&records), ["000123", "000123", "123"]);
    let read = read(b"document,amount\n12345678901234567890,1\n1.23457E+19,1\n314659E2,1\n3E5,1\n", &document());
    assert_eq!(ids(&read.records), ["12345678901234567890", "1.23457E+19", "314659E2", "3E5"]);
    assert_eq!(
        read.warnings,
        [
            "line 3, column 1 (document): 1.23457E+19 looks like a long number that a spreadsheet has rounded; its digits are lost"
        ]
    );
    let records =
        good("document,amount\nINV-1 ,1.00\ninv-1,1.00\nCaf\u{e9}-1,1\nCafe\u{301}-1,1\n".as_bytes(), &document());
    assert_eq!(
        ids(&records),
        ["INV-1", "inv-1", "Caf\u{e9}-1", "Cafe\u{301}-1"],
        "trimmed, and otherwise byte for byte"
    );
}

#[test]
fn an_ambiguous_date_is_refused_with_its_place() {
    insta::assert_snapshot!(refused(b"document,date\nA,2026-03-31\nB,03/04/2026\n", &document()), @r#"line 3, column 2 (date): "03/04/2026" may be the 2026-04-03 or the 2026-03-04; the parameter date_format settles it"#);
    let declared = Mapping { date_format: Some("%d/%m/%Y".to_owned()), ..document() };
    assert_eq!(good(b"document,date\nB,03/04/2026\n", &declared)[0].date.unwrap().to_string(), "2026-04-03");
}

#[test]
fn what_is_no_table_is_refused() {
    let cases: [(&[u8], &str); 9] = [
        (b"", "the file is empty"),
        (b"amount,currency\n1.00,EUR\n", r#"line 1: the column "document" is missing; there are: amount, currency"#),
        (b"document,amount,amount\nA,1.00,2.00\n", "line 1, column 3 (amount): stands twice in the header"),
        (b"document,memo\nA,\"never closed\nB,x\n", "line 2: a quote is opened and never closed"),
        (b"document,amount,currency\nA,1.00\n", "line 2: has 2 columns, and the header has 3"),
        (b"document,memo\nA,x\0y\n", "line 2, column 2 (memo): holds a control character"),
        (
            b"document,amount\nA,$12.50\n",
            "line 2, column 2 (amount): \"$12.50\" is no amount: digits alone are taken, without a currency, an exponent or a word",
        ),
        (
            b"document;amount,currency\nA;1,EUR\n",
            "line 1: may be separated by more than one character; the parameter delimiter settles it",
        ),
        (
            b"document,supplier\nA,Caf\xe9\n",
            "the bytes at offset 23 are not UTF-8; save it as UTF-8 or declare its encoding (windows-1252, for example); the parameter encoding settles it",
        ),
    ];
    for (bytes, told) in cases {
        assert_eq!(refused(bytes, &document()), told);
    }
    let declared =
        Mapping { encoding: Some("windows-1252".to_owned()), document: Some("supplier".to_owned()), ..document() };
    assert_eq!(good(b"document,supplier\nA,Caf\xe9\n", &declared)[0].document.as_deref(), Some("Caf\u{e9}"));
    assert_eq!(good(b"document,amount\n", &document()), []);
    let ragged = read(b"document,amount,currency\nA,1.00\nB,2.00,EUR,extra\nC,3.00,EUR\n", &document());
    assert_eq!((ids(&ragged.records), ragged.faults.len()), (vec!["C"], 2));
    let long = format!("document,memo\nA,{}\n", "x".repeat(100_000));
    assert_eq!(good(long.as_bytes(), &document()).len(), 1);
    let endless = format!("document,memo\nA,\"{}\n", "x\n".repeat(RECORD_BYTES_MAX));
    assert!(refused(endless.as_bytes(), &document()).contains("a record has over 1048576 bytes"));
}

#[test]
fn quotes_hold_what_they_hold() {
    let mapping = Mapping { source_system: Some("memo".to_owned()), ..document() };
    let text = b"document,memo\nA,\"say \"\"hi\"\"\"\nB,say \"hi\"\nC,\"a,b;c\"\nD,\"\"\nE,\n";
    let memos: Vec<Option<String>> = good(text, &mapping).into_iter().map(|record| record.source_system).collect();
    assert_eq!(
        memos,
        [Some("say \"hi\"".to_owned()), Some("say \"hi\"".to_owned()), Some("a,b;c".to_owned()), None, None]
    );
    assert_eq!(good(b"document,memo\nA,\"line one\nline two\"\nB,\"line one\r\nline two\"\n", &document()).len(), 2);
}

#[test]
fn minor_units_follow_their_currency() {
    let mapping = Mapping { minor_units: true, ..document() };
    let text = b"document,amount,currency\nA,8000,JPY\nB,80,JPY\nC,1234,KWD\nD,80,EUR\nE,80,ZZZ\n";
    assert_eq!(amounts(&good(text, &mapping)), ["8000", "80", "1.234", "0.80", ""]);
    let refusal = refused(b"document,amount\nA,80\n", &mapping);
    assert!(refusal.ends_with("the parameter every_currency settles it"), "{refusal}");
}

#[test]
fn json_keeps_every_digit_and_finds_by_name_pointer_and_path() {
    let mapping = Mapping {
        destination_reference: Some("$.ids[?(@.kind == 'bank')].value".to_owned()),
        external_reference: Some("/meta/reference".to_owned()),
        ..Mapping::default()
    };
    let text =
        br#" [ {"ids":[{"kind":"x","value":1},{"kind":"bank","value":820982911946154508}],"meta":{"reference":"oo-1"},
        "total":12.50,"customer":"A, [b] \"c\"}"} , {"total":"7"} ] "#;
    let read = read_as(text, &mapping, Format::Json);
    assert_eq!(read.faults, []);
    assert_eq!(ids(&read.records), ["820982911946154508", ""]);
    assert_eq!(amounts(&read.records), ["12.5", "7"]);
    assert_eq!(read.records[0].external_reference.as_deref(), Some("oo-1"));
    assert_eq!(read.records[0].key_fields[1], Some(Json::String("A, [b] \"c\"}".to_owned())));
    for (text, told) in [
        ("{}", "line 1, column 1 (body): is no JSON array; send the records as one array of objects"),
        (
            "[{},\n {\"a\":1,\"a\":2}]",
            "line 2, column 9 (body): the member \"a\" stands twice in one object; readers would disagree which one counts",
        ),
        ("[1]", "line 1: record 1 is a number; an object is needed"),
        ("[{}", "line 1, column 4 (body): the text ends too early"),
        ("[{}] x", "line 1, column 6 (body): something follows after the array"),
    ] {
        let faults = read_as(text.as_bytes(), &mapping, Format::Json).faults;
        assert_eq!(faults.first().map(ToString::to_string).as_deref(), Some(told), "{text}");
    }
    assert!(read_as(b"[]", &mapping, Format::Json).records.is_empty());
}

#[test]
fn a_bank_statement_gives_its_transactions() {
    let text = br#"<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt>
<Ntry><Amt Ccy="EUR">10.50</Amt><CdtDbtInd>DBIT</CdtDbtInd><BookgDt><Dt>2026-04-01</Dt></BookgDt><AcctSvcrRef>B-1</AcctSvcrRef>
<NtryDtls><TxDtls><Refs><EndToEndId>oo-1</EndToEndId></Refs><RmtInf><Ustrd>Tea &amp; &#x2615;</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>
<Ntry><Amt Ccy="EUR">30.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><BookgDt><Dt>2026-04-02</Dt></BookgDt><AcctSvcrRef>B-2</AcctSvcrRef>
<NtryDtls><TxDtls><Refs><AcctSvcrRef>B-2a</AcctSvcrRef><EndToEndId>oo-2</EndToEndId></Refs><Amt Ccy="EUR">12.00</Amt></TxDtls>
<TxDtls><Refs><EndToEndId>NOTPROVIDED</EndToEndId></Refs><AmtDtls><TxAmt><Amt Ccy="EUR">18.00</Amt></TxAmt></AmtDtls></TxDtls></NtryDtls></Ntry>
</Stmt></BkToCstmrStmt></Document>"#;
    let mapping = Mapping { document: Some("Ustrd".to_owned()), ..Mapping::default() };
    let plan = Plan::of(&workflow(), None, mapping.clone());
    assert_eq!(Records::open(&plan, &text[..], None, None).unwrap().format(), Format::Camt053, "told by its beginning");
    let read = read_as(text, &mapping, Format::Camt053);
    assert_eq!(read.faults, []);
    assert_eq!(ids(&read.records), ["B-1", "B-2a", ""]);
    assert_eq!(amounts(&read.records), ["10.50", "12.00", "18.00"]);
    let references: Vec<_> = read.records.iter().map(|record| record.external_reference.as_deref()).collect();
    assert_eq!(references, [Some("oo-1"), Some("oo-2"), None]);
    assert_eq!(read.records[0].document.as_deref(), Some("Tea & \u{2615}"));
    assert_eq!(read.records[2].date.unwrap().to_string(), "2026-04-02");
    assert_eq!(read.records[0].currency.as_deref(), Some("EUR"));
}

#[test]
fn vouchers_are_read_as_they_are_exported_and_as_they_are_sent() {
    let text = br#"<ENVELOPE><BODY><DATA><TALLYMESSAGE>
<VOUCHER REMOTEID="R-1" VCHTYPE="Sales"><DATE>20260401</DATE><VOUCHERNUMBER>S-1</VOUCHERNUMBER>
<ALLLEDGERENTRIES.LIST><AMOUNT>-118000.00</AMOUNT></ALLLEDGERENTRIES.LIST>
<ALLLEDGERENTRIES.LIST><AMOUNT>100000.00</AMOUNT></ALLLEDGERENTRIES.LIST>
<ALLLEDGERENTRIES.LIST><AMOUNT>18000.00</AMOUNT></ALLLEDGERENTRIES.LIST></VOUCHER>
<VOUCHER><GUID>G-9</GUID><DATE>2026-04-02</DATE><VOUCHERNUMBER>9</VOUCHERNUMBER><ISCANCELLED>Yes</ISCANCELLED>
<ALLLEDGERENTRIES.LIST><AMOUNT><AMOUNT>54</AMOUNT><CURRENCY>&#8377;</CURRENCY><ISDEBIT>true</ISDEBIT></AMOUNT></ALLLEDGERENTRIES.LIST>
<ALLLEDGERENTRIES.LIST><AMOUNT><AMOUNT>54</AMOUNT><ISDEBIT>false</ISDEBIT></AMOUNT></ALLLEDGERENTRIES.LIST></VOUCHER>
</TALLYMESSAGE></DATA></BODY></ENVELOPE>"#;
    let read = read_as(text, &Mapping::default(), Format::Tally);
    assert_eq!(read.faults, []);
    assert_eq!(ids(&read.records), ["R-1", "G-9"]);
    assert_eq!(amounts(&read.records), ["118000.00", "54"]);
    assert_eq!((read.records[1].currency.as_deref(), read.records[1].is_void), (Some("INR"), true));
    assert_eq!(read.records[0].document.as_deref(), Some("S-1"));
}

#[test]
fn what_xml_could_smuggle_in_is_refused() {
    let nested = format!("<ENVELOPE>{}", "<A>".repeat(100));
    let inner = format!("<ENVELOPE><VOUCHER>{}", "<A>".repeat(100));
    let long = format!("<ENVELOPE><VOUCHER><A>{}</A></VOUCHER></ENVELOPE>", "x".repeat(RECORD_BYTES_MAX));
    let cases = [
        ("<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><ENVELOPE/>", "document type"),
        ("<ENVELOPE><VOUCHER><GUID>&xxe;</GUID></VOUCHER></ENVELOPE>", "the entity \"xxe\""),
        ("<ENVELOPE><VOUCHER><GUID>1</GUID>", "ends inside of an element"),
        (nested.as_str(), "nest over 64 levels"),
        (inner.as_str(), "nest over 64 levels"),
        (long.as_str(), "over 1,048,576 bytes"),
    ];
    for (text, told) in cases {
        let faults = read_as(text.as_bytes(), &Mapping::default(), Format::Tally).faults;
        assert!(faults.first().is_some_and(|fault| fault.to_string().contains(told)), "{told}: {faults:?}");
    }
}

#[test]
fn a_long_table_is_read_row_by_row() {
    // Made as they are read: what is kept of them would show as memory.
    let rows = (0..100_000_u32).flat_map(|row| format!("R-{row},{row}.25\n").into_bytes());
    let bytes = b"document,amount\n".iter().copied().chain(rows);
    struct Made<I>(I);
    impl<I: Iterator<Item = u8>> std::io::Read for Made<I> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            Ok(into.iter_mut().zip(&mut self.0).map(|(place, byte)| *place = byte).count())
        }
    }
    let plan = Plan::of(&workflow(), None, document());
    let mut records = Records::open(&plan, Made(bytes), None, None).unwrap();
    let mut sum = rust_decimal::Decimal::ZERO;
    let mut number = 0_u32;
    while let Some((record, _)) = records.next_record().unwrap() {
        number += 1;
        sum += record.amount.unwrap();
    }
    assert_eq!((number, sum.to_string()), (100_000, "4999975000.00".to_owned()));
}

#[test]
fn a_record_knows_the_line_on_which_it_starts_however_lines_end() {
    for end in ["\n", "\r\n", "\r"] {
        let text = ["document,memo", "A,one", "", "B,\"two", "lines\"", "C,three", ""].join(end);
        let lines: Vec<u64> = good(text.as_bytes(), &document()).iter().map(|record| record.line).collect();
        assert_eq!(lines, [2, 4, 6], "{end:?}");
        let text = ["document,memo", "A,one", "B"].join(end);
        assert!(refused(text.as_bytes(), &document()).starts_with("line 3: "), "{end:?}");
    }
}
