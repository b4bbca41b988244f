//! One call of the API, with its request and a command that repeats it.

use guard::clock::Timestamp;
use leptos::prelude::*;

use super::list_calls::CallRow;
use crate::{encoding::Json, failure::Failure};

/// A call, as its page shows it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct CallView {
    /// When it was true.
    pub as_of: Timestamp,
    /// What its row shows.
    pub row: CallRow,
    /// Its path with the query.
    pub path: String,
    /// What the problem that it was answered with told.
    pub detail: Option<String>,
    /// What it was about, part by part.
    pub about: Vec<(String, String)>,
    /// Its request, as it may be shown; none where there was none, or it is not kept.
    pub request: Option<String>,
    /// What is missing in the request, in a sentence.
    pub missing: Option<String>,
    /// A command that repeats it.
    pub command: Option<String>,
}

/// Reads a call within reach.
#[server(prefix = "/fn", endpoint = "read_call", input = Json, output = Json)]
pub(crate) async fn read_call(id: String) -> Result<CallView, Failure> {
    use guard::refusal::Refusal;

    let visit = crate::context::Visit::current()?;
    let (person, guard) = (visit.person()?, &visit.guard);
    let id = id.parse().map_err(|_| Refusal::not_found("call"))?;
    let (call, request) = guard.call(&person.reach, id).await?;
    let tokens = guard.tokens().await?;
    let command = reading::command(&visit.address, &call, &request);
    let (request, missing) = reading::shown(&request);
    Ok(CallView {
        as_of: guard.now(),
        row: super::list_calls::reading::row(&call, &tokens),
        about: reading::about(&call.about),
        path: call.path,
        detail: call.detail,
        request,
        missing,
        command,
    })
}

#[cfg(feature = "ssr")]
mod reading {
    use guard::{
        call::{About, Call, CallRequest, LEFT_OUT},
        json::Json,
        veil::MASK,
    };

    use crate::wording;

    /// The parts of a key that are known, by their names in the API.
    pub(super) fn about(about: &About) -> Vec<(String, String)> {
        let About { workflow, company, source_system, document, action, revision } = about.clone();
        let revision = revision.map(|revision| revision.to_string());
        let parts = [
            ("Workflow", workflow),
            ("Company", company),
            ("Source system", source_system),
            ("Document", document),
            ("Action", action),
            ("Revision", revision),
        ];
        parts.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?))).collect()
    }

    /// The request with its members below each other, and what is missing in it.
    pub(super) fn shown(request: &CallRequest) -> (Option<String>, Option<String>) {
        match request {
            CallRequest::Empty => (None, None),
            CallRequest::Kept { text, bytes } => {
                let indented = Json::parse(text.as_bytes()).map(|json| json.indented());
                let missing = (text.contains(MASK) || text.contains(LEFT_OUT)).then(|| {
                    format!("{} came. What is secret or sensitive is masked, and long parts are left out: fill them in before you send it again.", bytes_in_words(*bytes))
                });
                (Some(seen(&indented.unwrap_or_else(|_| text.clone()))), missing)
            }
            CallRequest::Left { bytes } => {
                let bytes = bytes_in_words(*bytes);
                (
                    None,
                    Some(format!(
                        "{bytes} came, and are not kept: they are no JSON that could be masked, or too many."
                    )),
                )
            }
        }
    }

    fn bytes_in_words(bytes: u64) -> String {
        wording::counted(bytes, "byte", "bytes")
    }

    /// JSON with everything escaped that nobody would see: it means the same.
    fn seen(json: &str) -> String {
        let mut text = String::with_capacity(json.len());
        for character in json.chars() {
            if character == '\n' || wording::invisible(character).is_none() {
                text.push(character);
                continue;
            }
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        }
        text
    }

    /// A command for a POSIX shell that makes the same request with the token of `ONCEOVER_TOKEN`. What went through the proxy is not
    /// kept, so that it cannot be repeated.
    pub(super) fn command(address: &str, call: &Call, request: &CallRequest) -> Option<String> {
        if call.path == call.endpoint && call.endpoint.contains('{') {
            return None;
        }
        let url = format!("{address}{}", call.path);
        let mut command = String::from("curl -sS");
        // Otherwise curl takes these for patterns.
        if url.contains(['[', ']', '{', '}']) {
            command.push_str(" --globoff");
        }
        if !matches!(
            (call.method.as_str(), request),
            ("GET", CallRequest::Empty) | ("POST", CallRequest::Kept { .. } | CallRequest::Left { .. })
        ) {
            command.push_str(&format!(" -X {}", quoted(&call.method)));
        }
        command.push_str(&format!(" {} \\\n  -H \"Authorization: Bearer $ONCEOVER_TOKEN\"", quoted(&url)));
        match request {
            CallRequest::Empty => {}
            CallRequest::Kept { text, .. } => {
                command.push_str(&format!(
                    " \\\n  -H 'Content-Type: application/json' \\\n  --data-raw {}",
                    quoted(&seen(text))
                ));
            }
            CallRequest::Left { .. } => {
                command.push_str(" \\\n  -H 'Content-Type: application/json' \\\n  --data-binary @request.json");
            }
        }
        Some(command)
    }

    /// A text as one word of a POSIX shell, whatever it holds.
    fn quoted(text: &str) -> String {
        format!("'{}'", text.replace('\'', "'\\''"))
    }

    #[cfg(test)]
    mod tests {
        use guard::clock::Timestamp;
        use guard::id::{CallId, TokenId};

        use super::*;

        fn call(method: &str, path: &str) -> Call {
            Call {
                id: CallId::from_u128(1),
                token: TokenId::from_u128(2),
                at: Timestamp::UNIX_EPOCH,
                microseconds: 1,
                method: method.to_owned(),
                endpoint: "/api/v1/operations".to_owned(),
                path: path.to_owned(),
                status: 200,
                problem: None,
                detail: None,
                about: About::default(),
                operation: None,
                decision: None,
                request_id: "r".to_owned(),
            }
        }

        /// What a shell makes of a command: each word in a line of its own, with curl's name replaced.
        fn words(command: &str) -> Vec<String> {
            let script = command.replacen("curl", "printf '%s\\0'", 1);
            let done = std::process::Command::new("sh").arg("-c").arg(script).env("ONCEOVER_TOKEN", "oo_1").output();
            let told = String::from_utf8(done.unwrap().stdout).unwrap();
            told.trim_end_matches('\0').split('\0').map(ToOwned::to_owned).collect()
        }

        #[test]
        fn a_shell_reads_what_was_sent_whatever_it_holds() {
            let body = r#"{"document":"it's $(touch x) `id` \"$HOME\" !! \\n @file","payload":{"a":1.10}}"#;
            let request = CallRequest::Kept { text: body.to_owned(), bytes: 1 };
            let command = command("http://desk.example", &call("POST", "/api/v1/operations"), &request).unwrap();
            assert_eq!(
                words(&command),
                [
                    "-sS",
                    "http://desk.example/api/v1/operations",
                    "-H",
                    "Authorization: Bearer oo_1",
                    "-H",
                    "Content-Type: application/json",
                    "--data-raw",
                    body
                ]
            );
        }

        #[test]
        fn a_question_has_no_body_and_its_address_stays_whole() {
            let path = "/api/v1/operations?company=a'b&state[]=unknown";
            let command = command("http://desk.example", &call("GET", path), &CallRequest::Empty).unwrap();
            let address = format!("http://desk.example{path}");
            assert_eq!(words(&command), ["-sS", "--globoff", &address, "-H", "Authorization: Bearer oo_1"]);
            let mut proxied = call("POST", "/proxy/{workflow}/{path}");
            proxied.endpoint.clone_from(&proxied.path);
            assert_eq!(super::command("http://desk.example", &proxied, &CallRequest::Empty), None);
        }

        #[test]
        fn what_nobody_sees_is_escaped() {
            let text = "{\"a\":\"x\u{202e}y\u{e0001}\"}";
            assert_eq!(seen(text), r#"{"a":"x\u202ey\udb40\udc01"}"#);
        }
    }
}
