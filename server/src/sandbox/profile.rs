//! The configuration that makes Onceover guard the sandbox.

/// A workflow and a destination for `onceover apply`, for a sandbox at this address (`http://127.0.0.1:9090`).
pub fn configuration(base_url: &str) -> String {
    format!(
        r#"# Onceover guards the sandbox at {base_url}.

[[workflow]]
name = "sandbox-task"
title = "Sandbox task"
description = "create the task for {{document}} in {{company}}"
destination = "sandbox"
lease_seconds = 60
amount = "/amount"
currency = "/currency"
key_fields = [{{ payload = "/amount", record = "$.amount", compare = "decimal" }}]

# Pulled and reconciled by schedule, where these lines are taken in:
# [workflow.pull]
# every_hours = 24
# companies = ["acme"]

[[destination]]
name = "sandbox"
base_url = "{base_url}"
timeout_seconds = 5
finality_seconds = 10                                # no answer comes later than this after its request
idempotency_header = "Idempotency-Key"               # honoured where it is started with --idempotency

[destination.create]
method = "POST"
path = "/tasks"
reference = "$.id"
confirmed = ["201"]
failed = ["400-404", "410", "422"]
exists = ["409"]
external_reference_header = "X-Reference"

[destination.lookup]
method = "GET"
path = "/tasks?external_reference={{{{ external_reference }}}}"
records = "$.items[*]"
external_reference = "$.external_reference"
reference = "$.id"
next_page = "$.next"
void = {{ path = "$.status", values = ["VOIDED"] }}
inconclusive = ["403", "429", "500-599"]

[destination.list]
path = "/tasks?company={{{{ company }}}}&from={{{{ from }}}}&to={{{{ to }}}}"
records = "$.items[*]"
next_page = "$.next"
record = {{ date = "$.created_at" }}
"#
    )
}

#[cfg(test)]
mod tests {
    use crate::config::Configuration;

    #[test]
    fn it_is_a_configuration() {
        let text = super::configuration("http://127.0.0.1:9090");
        let read = Configuration::parse("sandbox.toml", &text).unwrap();
        assert_eq!(read.definitions.destinations[0].base_url, "http://127.0.0.1:9090");
        assert_eq!(read.definitions.workflows[0].destination.as_deref(), Some("sandbox"));
    }
}
