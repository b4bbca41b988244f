//! What keeps a file from being read, and where.

use std::fmt;
use std::io;

/// So many faults of a file are told at once.
pub const FAULTS_MAX: usize = 20;

/// A fault of a file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Fault {
    /// The line, or the place of the record, from 1; none where it concerns the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The column, as the file names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What is wrong.
    pub message: String,
    /// The parameter that settles it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<&'static str>,
    /// Whether nothing can be read behind it.
    #[serde(skip)]
    pub is_last: bool,
}

impl Fault {
    /// A fault of the whole file.
    pub(super) fn whole(message: impl Into<String>) -> Self {
        Self { line: None, column: None, name: None, message: message.into(), parameter: None, is_last: true }
    }

    /// A fault of a record.
    pub(super) fn at(line: u64, message: impl Into<String>) -> Self {
        Self { line: Some(line), is_last: false, ..Self::whole(message) }
    }

    /// In this column.
    pub(super) fn in_column(mut self, column: Option<u64>, name: &str) -> Self {
        self.column = column;
        self.name = Some(name.to_owned());
        self
    }

    /// A parameter settles it.
    pub(super) fn settled_by(mut self, parameter: &'static str) -> Self {
        self.parameter = Some(parameter);
        self
    }

    /// Nothing can be read behind it.
    pub(super) fn last(mut self) -> Self {
        self.is_last = true;
        self
    }

    /// What went wrong below: our own faults travel inside of it.
    pub(super) fn of_io(error: &io::Error) -> Self {
        error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<Self>())
            .cloned()
            .unwrap_or_else(|| Self::whole(format!("the file cannot be read: {error}")))
    }

    /// Travels through what reads.
    pub(super) fn into_io(self) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, self)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(formatter, "line {line}")?;
            if let Some(column) = self.column {
                write!(formatter, ", column {column}")?;
            }
            if let Some(name) = &self.name {
                write!(formatter, " ({name})")?;
            }
            formatter.write_str(": ")?;
        } else if let Some(name) = &self.name {
            write!(formatter, "column {name}: ")?;
        }
        formatter.write_str(&self.message)?;
        match self.parameter {
            Some(parameter) => write!(formatter, "; the parameter {parameter} settles it"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}
