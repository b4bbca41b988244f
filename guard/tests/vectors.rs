//! Published vectors, and a few of our own.
//!
//! The published ones lie beside the repository, in `../shared/vectors`, or where `ONCEOVER_SHARED` points; where they are not,
//! only our own run. Where a vector and the contract differ, the contract stands and the test says so.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]

use std::path::PathBuf;

use guard::canonical::canonical;
use guard::fingerprint::Fingerprint;
use guard::json::{Json, JsonFault};
use guard::payload::Payload;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

fn vectors(folder: &str) -> Option<PathBuf> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let shared = std::env::var_os("ONCEOVER_SHARED").map_or_else(beside, PathBuf::from);
    let path = shared.join("vectors").join(folder);
    path.exists().then_some(path)
}

fn canonical_of(text: &str) -> String {
    canonical(&Json::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}")), &[])
}

fn fingerprint_of(text: &str) -> Option<Fingerprint> {
    Payload::parse(text.as_bytes()).ok().map(|payload| Fingerprint::of(&payload, &[]))
}

#[test]
fn our_own_pairs() {
    let same = [
        (r#"{"qty":1e2,"doc":"SO-7"}"#, r#"{ "doc" : "SO-7", "qty" : 100.000 }"#),
        (r#"{"name":"Zo\u00eb"}"#, "{\"name\":\"Zo\u{eb}\"}"),
        (r#"{"path":"a\/b"}"#, r#"{"path":"a/b"}"#),
    ];
    for (left, right) in same {
        assert_eq!(fingerprint_of(left), fingerprint_of(right), "{left} {right}");
    }
    let different = [
        (r#"{"qty":"100"}"#, r#"{"qty":100}"#),
        (r#"{"id":9007199254740993}"#, r#"{"id":9007199254740992}"#),
        (r#"{"rate":1e-400}"#, r#"{"rate":0}"#),
        ("{\"name\":\"Zo\u{eb}\"}", "{\"name\":\"Zoe\u{308}\"}"),
        (r#"{"memo":"Pay  now"}"#, r#"{"memo":"Pay\nnow"}"#),
    ];
    for (left, right) in different {
        let (left_made, right_made) = (fingerprint_of(left).unwrap(), fingerprint_of(right).unwrap());
        assert_ne!(left_made, right_made, "{left} {right}");
    }
    for refused in [r#"{"a":1,"\u0061":1}"#, r#"{"a":"\udead"}"#, r#"{"a":1}{}"#, "[]", r#"{"a":1e1001}"#] {
        assert_eq!(fingerprint_of(refused), None, "{refused}");
    }
}

#[test]
fn fingerprint_pairs() {
    let Some(path) = vectors("guard-json/fingerprint_pairs.jsonl") else { return };
    let mut seen = 0;
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let pair: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| pair[name].as_str().unwrap_or_default();
        let (id, left, right) = (text("id"), text("a"), text("b"));
        let (made, other) = (fingerprint_of(left), fingerprint_of(right));
        match text("expect") {
            "SAME" | "DIFFERENT" => {
                assert_eq!(canonical_of(left), text("jcs_a"), "{id}");
                assert_eq!(canonical_of(right), text("jcs_b"), "{id}");
                assert_eq!(made.unwrap().to_string(), format!("sha256:{}", text("sha256_a")), "{id}");
                assert_eq!(other.unwrap().to_string(), format!("sha256:{}", text("sha256_b")), "{id}");
                assert_eq!(made == other, text("expect") == "SAME", "{id}");
            }
            "REFUSE_OR_DIFFERENT" => assert!(made.is_some() && other.is_some() && made != other, "{id}: kept exact"),
            // The contract: numbers up to 1,000 digits and exponents up to 1,000 are kept exact.
            "REFUSE" if text("why") == "overflow" => assert_eq!(made, other, "{id}"),
            "REFUSE" => assert_eq!(made, None, "{id}"),
            // The contract refuses members that stand twice, at every level.
            "OWN_RULE" => assert_eq!(made, None, "{id}"),
            other => panic!("{id} expects {other}"),
        }
        seen += 1;
    }
    assert!(seen >= 39, "only {seen}");
}

#[test]
fn json_of_the_test_suite() {
    let Some(path) = vectors("jsontestsuite") else { return };
    let mut seen = 0;
    for line in std::fs::read_to_string(path.join("EXPECT_GUARD.tsv")).unwrap().lines().skip(1) {
        let mut fields = line.split('\t');
        let (file, _, expected, why) =
            (fields.next().unwrap(), fields.next(), fields.next().unwrap(), fields.next().unwrap_or_default());
        let parsed = Json::parse(&std::fs::read(path.join("test_parsing").join(file)).unwrap());
        match expected {
            "ACCEPT" => assert!(parsed.is_ok(), "{file}: {why}: {:?}", parsed.err()),
            // The contract keeps a number exact that no double holds, up to an exponent of 1,000.
            "REFUSE" if why.starts_with("out of double range") => match parsed {
                Ok(kept) => assert_ne!(canonical(&kept, &[]), "[0]", "{file}"),
                Err(error) => assert!(matches!(error.fault, JsonFault::UnsafeNumber(_)), "{file}: {error}"),
            },
            "REFUSE" | "REFUSE_OR_STRIP" => assert!(parsed.is_err(), "{file}: {why}"),
            "REFUSE_OR_EXACT" => {
                if let Ok(kept) = parsed {
                    assert_ne!(canonical(&kept, &[]), "[0]", "{file}");
                }
            }
            // That it answers at all is the point.
            "ACCEPT_OR_REFUSE_CLEANLY" => {}
            other => panic!("{file} expects {other}"),
        }
        seen += 1;
    }
    assert!(seen >= 318, "only {seen}");
}

#[test]
fn canonical_files_of_rfc_8785() {
    let Some(path) = vectors("jcs-rfc8785/testdata") else { return };
    for name in ["arrays", "french", "structures", "unicode", "values", "weird"] {
        let file = format!("{name}.json");
        let input = std::fs::read(path.join("input").join(&file)).unwrap();
        // The published texts went through doubles; ours keep digits that a double bends, so the input goes through them first.
        let input: Value = serde_json::from_slice(&input).unwrap();
        let expected = std::fs::read_to_string(path.join("output").join(&file)).unwrap();
        assert_eq!(canonical_of(&input.to_string()), expected.trim_end(), "{name}");
    }
}

#[test]
fn numbers_of_rfc_8785() {
    let Some(path) = vectors("jcs-rfc8785") else { return };
    let check = |bits: &str, expected: &str| {
        let double = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
        if double.is_finite() {
            assert_eq!(expected.parse::<f64>(), Ok(double), "{bits}");
            assert_eq!(canonical_of(expected), expected, "{bits}");
        } else {
            assert_eq!(expected, "ERROR", "{bits}");
            assert!(Json::parse(double.to_string().as_bytes()).is_err(), "{bits}");
        }
    };
    let mut seen = 0;
    for line in std::fs::read_to_string(path.join("es6numbers_10k.txt")).unwrap().lines() {
        let (bits, expected) = line.split_once(',').unwrap();
        check(bits, expected);
        seen += 1;
    }
    for line in std::fs::read_to_string(path.join("appendixB_numbers.tsv")).unwrap().lines().skip(1) {
        let (bits, expected) = line.split_once('\t').unwrap();
        check(bits, expected.split('\t').next().unwrap());
        seen += 1;
    }
    assert!(seen >= 10_020, "only {seen}");
}

#[test]
fn names_that_look_alike_stay_apart() {
    let Some(path) = vectors("unicode/name_pairs.tsv") else { return };
    let mut seen = 0;
    for line in std::fs::read_to_string(path).unwrap().lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [id, left, right, is_same, ..] = fields[..] else { panic!("{line}") };
        let made = |name: &str| canonical_of(&format!("{{\"supplier\":\"{name}\"}}"));
        assert_eq!(made(left) == made(right), is_same == "true", "{id}");
        for (name, digest) in [(left, fields[7]), (right, fields[8])] {
            let found: String = Sha256::digest(made(name)).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(found, digest, "{id}");
        }
        seen += 1;
    }
    assert!(seen >= 28, "only {seen}");
}
