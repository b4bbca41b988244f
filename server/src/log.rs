//! What the process tells about itself, on standard error: one line each, with fields, never a payload, a token or a password.

use std::io::{IsTerminal as _, stderr};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::settings::LogFormat;

/// Starts the log of this process, and makes every panic a line of it, with the request it fell in. Later calls change nothing.
///
/// # Errors
/// A filter that is none.
pub fn start(filter: &str, format: LogFormat) -> Result<(), tracing_subscriber::filter::ParseError> {
    let filter = EnvFilter::builder().parse(filter)?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr).with_span_events(FmtSpan::NONE);
    let is_terminal = stderr().is_terminal();
    let is_json = match format {
        LogFormat::Auto => !is_terminal,
        LogFormat::Text => false,
        LogFormat::Json => true,
    };
    let started = if is_json {
        builder.json().flatten_event(true).with_span_list(false).try_init()
    } else {
        builder.with_ansi(is_terminal).try_init()
    };
    // An error here means that a test or an embedding program has a log of its own, which is then used.
    if started.is_ok() {
        std::panic::set_hook(Box::new(tell_panic));
    }
    Ok(())
}

/// The message of a panic may quote what it fell over; the place is told, and the message only where it is a constant of the program.
fn tell_panic(panic: &std::panic::PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let message = panic.payload().downcast_ref::<&'static str>().copied().unwrap_or("(not a constant text)");
    tracing::error!(place, message, "a part of the program panicked; this is a fault of Onceover, please report it");
}
