//! Money at risk and money saved, read from a payload.

use std::collections::BTreeMap;

use rust_decimal::Decimal;

use crate::json::Json;
use crate::payload::Payload;
use crate::pointer::Pointer;

/// A currency code has at most this many characters.
pub const CURRENCY_CHARACTERS_MAX: usize = 12;

/// The most that one operation adds to a sum of money, in ten-thousandths: a hundred trillion.
pub const STAKE_MAX: i64 = 1_000_000_000_000_000_000;

/// An amount in a currency. Amounts of different currencies are never added.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Money {
    /// The exact amount (up to 28 digits).
    pub amount: Decimal,
    /// The currency as the payload names it.
    pub currency: String,
}

impl Money {
    /// Reads the amount and the currency that the pointers name; nothing where either is missing or unreadable: a payload is
    /// never refused for it.
    pub fn read(payload: &Payload, amount: &Pointer, currency: &Pointer) -> Option<Self> {
        let amount = match amount.find(payload.content())? {
            Json::Number(number) => exact(&number.plain(28)?)?,
            Json::String(text) => exact(text)?,
            Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => return None,
        };
        let currency = currency.find(payload.content())?.as_str()?;
        let length = currency.chars().count();
        let readable = (1..=CURRENCY_CHARACTERS_MAX).contains(&length) && currency.chars().all(char::is_alphanumeric);
        readable.then(|| Self { amount, currency: currency.to_owned() })
    }

    /// The money that a sum of ten-thousandths says, with two digits after the point or as many as it needs.
    pub fn from_ten_thousandths(ten_thousandths: i128, currency: String) -> Self {
        let mut amount = Decimal::try_from_i128_with_scale(ten_thousandths, 4).unwrap_or(Decimal::MAX).normalize();
        if amount.scale() < 2 {
            amount.rescale(2);
        }
        Self { amount, currency }
    }

    /// How much is at stake, in ten-thousandths, for orders and sums in a store. A credit note is as much at stake as an invoice, so
    /// that the sign does not count and the two never cancel out. Further digits are cut; beyond [`STAKE_MAX`] it stays there.
    pub fn stake(&self) -> i64 {
        let scaled = self.amount.abs().checked_mul(Decimal::from(10_000)).map(|scaled| scaled.trunc());
        scaled.and_then(|scaled| i64::try_from(scaled).ok()).map_or(STAKE_MAX, |stake| stake.min(STAKE_MAX))
    }
}

/// A sum for each currency, by its name; amounts count without their sign, as for [`Money::stake`].
pub fn sums<'a>(amounts: impl Iterator<Item = &'a Money>) -> Vec<Money> {
    let mut sums: BTreeMap<&str, i128> = BTreeMap::new();
    for money in amounts {
        *sums.entry(&money.currency).or_default() += i128::from(money.stake());
    }
    sums.into_iter().map(|(currency, sum)| Money::from_ten_thousandths(sum, currency.to_owned())).collect()
}

/// What [`Money::stake`] is for an amount as a person writes it; none where the text is no amount.
pub fn stake_of(text: &str) -> Option<i64> {
    exact(text).map(|amount| Money { amount, currency: String::new() }.stake())
}

/// The decimal with exactly these digits; a text of separators, or of more digits than are kept, is no amount.
fn exact(text: &str) -> Option<Decimal> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.'));
    is_plain.then(|| Decimal::from_str_exact(text).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Money> {
        let payload = Payload::parse(text.as_bytes()).unwrap();
        Money::read(&payload, &"/amount".parse().unwrap(), &"/currency".parse().unwrap())
    }

    #[test]
    fn text_and_numbers_are_amounts() {
        assert_eq!(read(r#"{"amount":"1180.00","currency":"INR"}"#).unwrap().amount.to_string(), "1180.00");
        assert_eq!(read(r#"{"amount":1.18e3,"currency":"INR"}"#).unwrap().stake(), 11_800_000);
        assert_eq!(read(r#"{"amount":-5.00005,"currency":"EUR"}"#).unwrap().stake(), 50_000);
    }

    #[test]
    fn sums_show_two_digits_or_as_many_as_they_need() {
        let text = |sum| Money::from_ten_thousandths(sum, "EUR".to_owned()).amount.to_string();
        assert_eq!([11_800_000, 5_000, 1_205, 0].map(text), ["1180.00", "0.50", "0.1205", "0.00"]);
        assert_eq!(text(10_000 * i128::from(STAKE_MAX)), "1000000000000000000.00");
    }

    #[test]
    fn what_is_no_money_is_none() {
        for text in [
            r#"{"amount":"12,50","currency":"EUR"}"#,
            r#"{"amount":"1_000","currency":"EUR"}"#,
            r#"{"amount":"0.00000000000000000000000000000000001","currency":"EUR"}"#,
            r#"{"amount":"1"}"#,
            r#"{"amount":1,"currency":""}"#,
            r#"{"amount":[1],"currency":"EUR"}"#,
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn huge_amounts_stay_in_bounds() {
        let stake = |text: &str| read(text).unwrap().stake();
        assert_eq!(stake(r#"{"amount":95000000000,"currency":"IDR"}"#), 950_000_000_000_000);
        assert_eq!(stake(r#"{"amount":9e27,"currency":"EUR"}"#), STAKE_MAX);
        assert_eq!(stake(r#"{"amount":-9e27,"currency":"EUR"}"#), STAKE_MAX);
    }
}
