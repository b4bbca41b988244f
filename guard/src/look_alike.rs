//! Look-alikes: operations under different keys that may be the same business effect all the same, or two that are equal by right. They
//! are hinted to people, and never change what a worker is told.

use rust_decimal::Decimal;
use sha2::{Digest as _, Sha256};

use crate::canonical::canonical;
use crate::json::Json;
use crate::key::{OperationKey, first_half, with_parts};
use crate::lookup::folded;
use crate::money::Money;
use crate::operation::Operation;
use crate::payload::Payload;
use crate::pointer::Pointer;
use crate::workflow::DefinitionFault;

/// Operations that lie at most so many days apart may look alike where the workflow says nothing else.
pub const LOOK_ALIKE_DAYS_DEFAULT: u32 = 30;

/// A workflow looks for them at most so many days apart.
pub const LOOK_ALIKE_DAYS_MAX: u32 = 366;

/// Of the operations that look alike, at most so many begun before an operation are shown, the nearest ones, and as many begun after it.
pub const LOOK_ALIKES_SIDE_ROWS_MAX: u32 = 10;

/// When operations of a workflow look alike: same company, amount, currency and counterparty, not far apart, about different documents.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookAlikeRules {
    /// Where the counterparty stands in a payload: a customer, a supplier, an account.
    pub counterparty: Pointer,
    /// They lie at most this many days apart.
    #[serde(default = "days_default")]
    pub days: u32,
}

const fn days_default() -> u32 {
    LOOK_ALIKE_DAYS_DEFAULT
}

impl LookAlikeRules {
    /// Checks what the shape alone cannot say.
    pub(crate) fn validate(&self, has_amount: bool) -> Result<(), DefinitionFault> {
        let fault = |key, message: &str| Err(DefinitionFault::new(key, message));
        if self.counterparty.tokens().is_empty() {
            return fault(
                "look_alikes.counterparty",
                "names the whole payload (\"\"); name the place of the counterparty, for example \"/customer\"",
            );
        }
        if !has_amount {
            return fault("look_alikes.counterparty", "needs amount and currency, to know which amounts are equal");
        }
        if !(1..=LOOK_ALIKE_DAYS_MAX).contains(&self.days) {
            return fault("look_alikes.days", "is out of bounds; 1 to 366 days are possible");
        }
        Ok(())
    }
}

/// What operations that look alike have in common, as sixteen bytes of a SHA-256: a store finds them by it, and the counterparty is in
/// no index as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Look([u8; 16]);

impl Look {
    /// The look of an operation; none where its amount, its currency or its counterparty is not there or says nothing.
    ///
    /// Amounts are equal as exact decimals (`1180` and `1180.00`), with their sign, since a credit note is no invoice. Currencies are equal byte for
    /// byte. A text names the same counterparty with white space and case folded; a number, a list or an object as the fingerprint sees it.
    pub fn of(rules: &LookAlikeRules, key: &OperationKey, money: Option<&Money>, payload: &Payload) -> Option<Self> {
        let Money { amount, currency } = money?;
        let counterparty = match rules.counterparty.find(payload.content())? {
            Json::Null => return None,
            Json::String(text) => canonical(&Json::String(Some(folded(text)).filter(|text| !text.is_empty())?), &[]),
            value @ (Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_)) => canonical(value, &[]),
        };
        // A zero has a sign, too, and means nothing by it.
        let amount = if amount.is_zero() { Decimal::ZERO } else { amount.normalize() }.to_string();
        let parts = [key.company.as_str(), key.workflow.as_str(), &amount, currency, &counterparty];
        Some(Self(first_half(with_parts(Sha256::new(), parts))))
    }

    /// The look with these bytes, as a store keeps it.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The sixteen bytes, as a store keeps them.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// The operations that look like one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookAlikes {
    /// They lie at most this many days apart, by the rule of its workflow.
    pub days: u32,
    /// The newest first, at most [`LOOK_ALIKES_SIDE_ROWS_MAX`] begun before it and as many begun after it.
    pub rows: Vec<Operation>,
    /// Whether there may be more, further away in time.
    pub has_more: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KeyPart;

    fn look(company: &str, payload: &str) -> Option<Look> {
        let part = |text: &str| KeyPart::new(text).unwrap();
        let key = OperationKey {
            workflow: part("handoff"),
            company: part(company),
            source_system: part("shop"),
            document: part("812"),
            action: part("create"),
            revision: 1,
        };
        let payload = Payload::parse(payload.as_bytes()).unwrap();
        let money = Money::read(&payload, &"/amount".parse().unwrap(), &"/currency".parse().unwrap());
        let rules = LookAlikeRules { counterparty: "/customer".parse().unwrap(), days: 30 };
        Look::of(&rules, &key, money.as_ref(), &payload)
    }

    fn of(amount: &str, currency: &str, customer: &str) -> Option<Look> {
        look("ACME", &format!(r#"{{"amount":{amount},"currency":"{currency}","customer":{customer}}}"#))
    }

    #[test]
    fn equal_amounts_and_counterparties_look_alike_however_they_are_written() {
        let first = of("1180", "INR", r#""C-7""#);
        assert!(first.is_some());
        for (amount, customer) in [(r#""1180.00""#, r#""C-7""#), ("1.18e3", r#""c-7""#), ("1180.0", r#"" C-7 ""#)] {
            assert_eq!(of(amount, "INR", customer), first, "{amount} {customer}");
        }
        assert_eq!(of("0", "INR", "7"), of(r#""-0.00""#, "INR", "7.0"));
        let whole = |text| of("5", "EUR", text);
        assert_eq!(whole(r#"{"id":7,"name":"A"}"#), whole(r#"{"name":"A","id":7.0}"#));
    }

    #[test]
    fn what_differs_does_not_look_alike() {
        let mut looks = vec![
            of("1180", "INR", r#""C-7""#),
            of("-1180", "INR", r#""C-7""#),
            of("1180.01", "INR", r#""C-7""#),
            of("1180", "EUR", r#""C-7""#),
            of("1180", "INR", r#""C-8""#),
            of("1180", "INR", "7"),
            of("1180", "INR", r#""7""#),
            look("Globex", r#"{"amount":1180,"currency":"INR","customer":"C-7"}"#),
        ];
        let number = looks.len();
        assert!(looks.iter().all(Option::is_some));
        looks.sort_unstable();
        looks.dedup();
        assert_eq!(looks.len(), number);
    }

    #[test]
    fn what_says_nothing_looks_like_nothing() {
        for payload in [
            r#"{"currency":"INR","customer":"C-7"}"#,
            r#"{"amount":1180,"customer":"C-7"}"#,
            r#"{"amount":1180,"currency":"INR"}"#,
            r#"{"amount":1180,"currency":"INR","customer":null}"#,
            r#"{"amount":1180,"currency":"INR","customer":"  "}"#,
        ] {
            assert_eq!(look("ACME", payload), None, "{payload}");
        }
    }
}
