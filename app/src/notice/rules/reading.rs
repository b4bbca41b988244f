//! What a person wrote, read as a change of rules.

use guard::{
    pointer::Pointer,
    refusal::Refusal,
    rules::RuleChange,
    workflow::{AmendmentRules, Comparison, Correction, KeyField},
};

use super::RuleDraft;

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

fn places<T: std::str::FromStr<Err: std::fmt::Display>>(field: &str, text: &str) -> Result<Vec<T>, Refusal> {
    lines(text).map(|line| line.parse().map_err(|wrong| Refusal::field(field, format!("{line:?}: {wrong}")))).collect()
}

/// Reads `/amount = $.total (decimal)`; without brackets the two are compared byte for byte.
fn key_field(line: &str) -> Result<KeyField, Refusal> {
    let wrong = |message: &str| Refusal::field("key_fields", format!("{line:?}: {message}"));
    let (payload, record) = line.split_once(" = ").ok_or_else(|| {
        wrong("write the place in the payload, \" = \" and the path in the record: /amount = $.total (decimal)")
    })?;
    let (record, compare) = match record.trim().rsplit_once(" (") {
        None => (record.trim(), Comparison::Exact),
        Some((record, compare)) => {
            let compare = match compare.trim_end_matches(')') {
                "exact" => Comparison::Exact,
                "decimal" => Comparison::Decimal,
                "date" => Comparison::Date,
                "text" => Comparison::Text,
                _ => return Err(wrong("compare as (exact), (decimal), (date) or (text)")),
            };
            (record.trim(), compare)
        }
    };
    let payload: Pointer = payload.trim().parse().map_err(|error| wrong(&format!("{error}")))?;
    Ok(KeyField { payload, record: record.to_owned(), compare })
}

impl RuleDraft {
    /// The change that is meant.
    ///
    /// # Errors
    /// The field with the line that cannot be read.
    pub(crate) fn change(&self) -> Result<RuleChange, Refusal> {
        let volatile = self.volatile.as_deref().map(|text| places("volatile", text)).transpose()?;
        let key_fields = self.key_fields.as_deref().map(|text| lines(text).map(key_field).collect()).transpose()?;
        let amendment = match (&self.amendable, self.before, self.after) {
            (Some(amendable), Some(before), Some(after)) => Some(self.amendment(amendable, before, after)?),
            (None | Some(_), None | Some(_), None | Some(_)) => None,
        };
        Ok(RuleChange { volatile, key_fields, amendment })
    }

    fn amendment(&self, amendable: &str, before: Correction, after: Correction) -> Result<AmendmentRules, Refusal> {
        let some = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let days = some(&self.proposal_days);
        let days = days.map(|text| {
            text.parse().map_err(|_| Refusal::field("amendment.proposal_days", "is no whole number of days"))
        });
        Ok(AmendmentRules {
            amendable: places("amendment.amendable", amendable)?,
            before_reconciliation: before,
            after_reconciliation: after,
            second_approval_over: some(&self.second_approval_over),
            proposal_days: days.transpose()?,
            tell: lines(&self.tell).map(ToOwned::to_owned).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_says_which_line_cannot_be_read() {
        let draft = |volatile: &str, key_fields: &str| RuleDraft {
            volatile: Some(volatile.to_owned()),
            key_fields: Some(key_fields.to_owned()),
            ..RuleDraft::default()
        };
        let change = draft("/a\n\n /b \n", "/amount = $.total (decimal)\n/name = $.name").change().unwrap();
        assert_eq!(change.volatile.unwrap().len(), 2);
        let fields: Vec<String> = change.key_fields.unwrap().iter().map(guard::rules::field_text).collect();
        assert_eq!(fields, ["/amount = $.total (decimal)", "/name = $.name (exact)"]);
        assert_eq!(change.amendment, None, "what the form did not offer stays");
        let wrong = |volatile: &str, fields: &str| draft(volatile, fields).change().unwrap_err().to_string();
        assert!(wrong("/a\nb", "").starts_with(r#"volatile: "b": a JSON Pointer"#));
        assert!(wrong("", "/amount $.total").starts_with(r#"key_fields: "/amount $.total": write the place"#));
        assert!(wrong("", "/amount = $.total (number)").ends_with("compare as (exact), (decimal), (date) or (text)"));
    }
}
