//! The words for reconciliation.

#[cfg(feature = "ssr")]
use guard::id::ReconciliationId;
use guard::reconciliation::{Bucket, Format, LinkVerdict, Origin};

/// The page on which something is done about a record.
#[cfg(feature = "ssr")]
pub(crate) fn row_address(run: ReconciliationId, number: u64) -> String {
    format!("/reconciliation/{run}?bucket=unguarded&after={}&row={number}#act", number.saturating_sub(1))
}

/// What a person said of a record and an operation, before the operation's name.
pub(crate) const fn link_verdict(verdict: LinkVerdict) -> &'static str {
    match verdict {
        LinkVerdict::Confirmed => "belongs to",
        LinkVerdict::Refused => "does not belong to",
        LinkVerdict::Adopted => "was adopted as",
    }
}

/// The word for a bucket.
pub(crate) const fn bucket_word(bucket: Bucket) -> &'static str {
    match bucket {
        Bucket::Matched => "Matched",
        Bucket::Missing => "Missing there",
        Bucket::Duplicated => "Duplicated there",
        Bucket::Mismatched => "Mismatched",
        Bucket::Unguarded => "Unguarded",
        Bucket::Pending => "Pending",
        Bucket::Void => "Void",
        Bucket::NotExpected => "Not expected",
        Bucket::TakenBack => "Taken back",
    }
}

/// What lies in a bucket, in a sentence.
pub(crate) const fn bucket_meaning(bucket: Bucket) -> &'static str {
    match bucket {
        Bucket::Matched => "Both sides hold it, and they agree.",
        Bucket::Missing => {
            "It was confirmed, and the destination shows no live record of it. No state is moved by that."
        }
        Bucket::Duplicated => "More than one live record of one operation: the effect was doubled.",
        Bucket::Mismatched => "Both sides hold it, and they disagree.",
        Bucket::Unguarded => {
            "The destination holds it, and no operation belongs to it: it did not come through Onceover."
        }
        Bucket::Pending => {
            "The operation is not settled yet, or was confirmed too shortly before the list was pulled to be in it."
        }
        Bucket::Void => "Records that count for nothing: they were voided.",
        Bucket::NotExpected => "Operations that should have left no live record, and left none.",
        Bucket::TakenBack => {
            "It was confirmed, its record was taken back since, and no live record is there any more: as it should be."
        }
    }
}

/// Where the records came from, in a few words.
pub(crate) fn origin(origin: &Origin) -> String {
    match origin {
        Origin::File { format, .. } => format!("a file, {}", format_word(*format)),
        Origin::Pulled { destination, .. } => format!("records pulled from {destination}"),
    }
}

/// The name of a format, for people.
pub(crate) const fn format_word(format: Format) -> &'static str {
    match format {
        Format::Csv => "CSV",
        Format::Json => "JSON",
        Format::Camt053 => "bank statement (camt.053)",
        Format::Tally => "Tally XML",
    }
}
