//! Why the desk cannot do what was asked. It arrives in the browser as the variant that it is.

use guard::refusal::{Refusal, StoreFault};
use leptos::server_fn::error::{FromServerFnError, ServerFnErrorErr};

use crate::encoding::JsonText;

/// A failure of a page or a server function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The guard refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Nobody is signed in, or no longer.
    #[error("you are not signed in")]
    SignedOut,
    /// The request could not be read: a form that was not made by this desk, or by an older one.
    #[error("the request could not be read: {message}")]
    Malformed {
        /// What was wrong.
        message: String,
    },
    /// The server could not be reached, or its answer could not be read. Whether it did what was asked is not known.
    #[error("the server could not be reached: {message}")]
    Transport {
        /// What happened.
        message: String,
    },
    /// Something broke on the server; the log says what.
    #[error("something broke on the server; its log says what")]
    Internal,
}

impl From<StoreFault> for Failure {
    fn from(fault: StoreFault) -> Self {
        Self::Refused(fault.into())
    }
}

impl Failure {
    /// The HTTP status that goes with it.
    #[must_use]
    pub const fn status(&self) -> http::StatusCode {
        use http::StatusCode;
        match self {
            Self::Refused(refusal) => match refusal {
                Refusal::InvalidField { .. } | Refusal::RuleViolation { .. } => StatusCode::UNPROCESSABLE_ENTITY,
                Refusal::UnknownWorkflow { .. } | Refusal::NotFound { .. } => StatusCode::NOT_FOUND,
                Refusal::Forbidden { .. } => StatusCode::FORBIDDEN,
                Refusal::LeaseExpired
                | Refusal::StaleLease
                | Refusal::OutcomeDisagrees { .. }
                | Refusal::Impossible { .. }
                | Refusal::Stale { .. }
                | Refusal::Unconfirmed { .. }
                | Refusal::AmendmentOpen { .. }
                | Refusal::ReversalExists { .. }
                | Refusal::NoChange
                | Refusal::BaseMoved { .. }
                | Refusal::BaseUncertain { .. }
                | Refusal::Taken { .. }
                | Refusal::Rules(_)
                | Refusal::Period(_)
                | Refusal::Conflict(_) => StatusCode::CONFLICT,
                Refusal::Store(fault) => match fault {
                    StoreFault::Unavailable | StoreFault::Contended { .. } => StatusCode::SERVICE_UNAVAILABLE,
                    StoreFault::Full => StatusCode::INSUFFICIENT_STORAGE,
                    StoreFault::Corrupt { .. } => StatusCode::INTERNAL_SERVER_ERROR,
                },
            },
            Self::SignedOut => StatusCode::UNAUTHORIZED,
            Self::Malformed { .. } => StatusCode::BAD_REQUEST,
            Self::Transport { .. } => StatusCode::BAD_GATEWAY,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl FromServerFnError for Failure {
    type Encoder = JsonText;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        match error {
            ServerFnErrorErr::Args(message) | ServerFnErrorErr::MissingArg(message) => Self::Malformed { message },
            // On the server it is what came that could not be read; in the browser, what came back.
            ServerFnErrorErr::Deserialization(message) if cfg!(feature = "ssr") => Self::Malformed { message },
            ServerFnErrorErr::UnsupportedRequestMethod(message)
            | ServerFnErrorErr::Request(message)
            | ServerFnErrorErr::Deserialization(message)
            | ServerFnErrorErr::Serialization(message) => Self::Transport { message },
            ServerFnErrorErr::Registration(_)
            | ServerFnErrorErr::ServerError(_)
            | ServerFnErrorErr::MiddlewareError(_)
            | ServerFnErrorErr::Response(_) => Self::Internal,
        }
    }

    /// The text that the browser reads; the answer takes the status that goes with the failure, unless it redirects already.
    fn ser(&self) -> leptos::server_fn::Bytes {
        #[cfg(feature = "ssr")]
        if let Some(answer) = leptos::prelude::use_context::<leptos_axum::ResponseOptions>() {
            let mut parts = answer.0.write().unwrap_or_else(std::sync::PoisonError::into_inner);
            parts.status = parts.status.or(Some(self.status()));
        }
        serde_json::to_vec(self).unwrap_or_default().into()
    }
}
