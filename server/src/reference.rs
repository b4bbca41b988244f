//! The reference of the API as HTML, made of the API's own description: what `/developers/reference` shows. It needs nothing from elsewhere,
//! and no script.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use app::context::Developers;
use guard::decision::DecisionName;
use serde_json::Value;

use crate::api::openapi::description;
use crate::problem::Code;
use crate::state::Server;

/// The recipes of `docs/recipes`, in the binary: the name of each, and its text.
const RECIPES: [(&str, &str); 6] = [
    ("curl", include_str!("../../docs/recipes/curl.md")),
    ("Python", include_str!("../../docs/recipes/python.md")),
    ("TypeScript", include_str!("../../docs/recipes/typescript.md")),
    ("n8n", include_str!("../../docs/recipes/n8n.md")),
    ("Make", include_str!("../../docs/recipes/make.md")),
    ("Zapier", include_str!("../../docs/recipes/zapier.md")),
];

/// What the desk tells those who write automations.
pub fn told(server: &Server) -> Developers {
    let settings = &server.settings;
    let public_url = settings.public_url.clone();
    Developers::new(move || reference(&public_url), settings.call_days)
}

/// The reference, with this address of the server in its examples.
pub fn reference(public_url: &str) -> String {
    // The description is made of constants; one that cannot be read would describe nothing.
    let api: Value = serde_json::from_str(description()).unwrap_or_default();
    let endpoints = endpoints(&api);
    let mut html = String::with_capacity(128 * 1024);
    write_start(&mut html, public_url, &endpoints);
    write_decisions(&mut html);
    for endpoint in &endpoints {
        endpoint.write(&mut html, public_url);
    }
    write_types(&mut html, &api);
    write_problems(&mut html, public_url);
    write_recipes(&mut html);
    html
}

/// One endpoint of the description.
struct Endpoint<'a> {
    method: String,
    path: &'a str,
    id: &'a str,
    tag: &'a str,
    content: &'a Value,
}

/// Every endpoint, in the order of the tags.
fn endpoints(api: &Value) -> Vec<Endpoint<'_>> {
    let tags: Vec<&str> = api["tags"].as_array().into_iter().flatten().filter_map(|tag| tag["name"].as_str()).collect();
    let paths = api["paths"].as_object().into_iter().flatten();
    let mut endpoints: Vec<Endpoint<'_>> = paths
        .flat_map(|(path, methods)| {
            methods.as_object().into_iter().flatten().map(move |(method, content)| Endpoint {
                method: method.to_uppercase(),
                path,
                id: content["operationId"].as_str().unwrap_or_default(),
                tag: content["tags"][0].as_str().unwrap_or_default(),
                content,
            })
        })
        .collect();
    endpoints.sort_by_key(|endpoint| {
        let place = tags.iter().position(|tag| *tag == endpoint.tag).unwrap_or(tags.len());
        (place, endpoint.method != "POST", endpoint.path)
    });
    endpoints
}

fn write_start(html: &mut String, public_url: &str, endpoints: &[Endpoint<'_>]) {
    let url = Escaped(public_url);
    let _ = write!(
        html,
        "<section class=\"panel\" aria-labelledby=\"start\"><h2 id=\"start\">Before you send anything</h2>\
         <p>Ask with the six parts of the key and the payload. <code>next</code> in the answer is the one instruction: \
         <code>send</code>, <code>use_result</code>, <code>wait</code> or <code>stop</code>. Then report how it went.</p>\
         <p>Every request needs the header <code>Authorization: Bearer &lt;token&gt;</code>; tokens are made under \
         <a href=\"/settings#tokens\">Settings</a>. Bodies are JSON, numbers keep every digit, moments are RFC 3339 in UTC.</p>"
    );
    write_code(html, "first begin", &curl("POST", &format!("{public_url}/api/v1/operations"), example("begin")));
    let _ = write!(
        html,
        "<p>The address of this server is <code>{url}</code>. Its description in OpenAPI 3.1: \
         <a rel=\"external\" href=\"/api/v1/openapi.json\">openapi.json</a>.</p>\
         <nav aria-label=\"Endpoints\"><ul>"
    );
    for endpoint in endpoints {
        let (id, method, path) = (Escaped(endpoint.id), Escaped(&endpoint.method), Escaped(endpoint.path));
        let _ = write!(html, "<li><a rel=\"external\" href=\"#{id}\"><code>{method} {path}</code></a></li>");
    }
    for (id, name) in
        [("decisions", "Decisions"), ("types", "Types"), ("problems", "Problem codes"), ("recipes", "Recipes")]
    {
        let _ = write!(html, "<li><a rel=\"external\" href=\"#{id}\">{name}</a></li>");
    }
    html.push_str("</ul></nav></section>");
}

/// What a decision means for whoever asked.
const fn meaning(decision: DecisionName) -> &'static str {
    match decision {
        DecisionName::Proceed => "The attempt is yours, under a lease. Send, then report the outcome.",
        DecisionName::Replay => "It was done. Use the destination's reference in the answer.",
        DecisionName::Superseded => "It was done, and a newer revision is done too. Use that one.",
        DecisionName::InProgress => "Another attempt holds a live lease. Ask again later.",
        DecisionName::Unknown => {
            "An earlier attempt may have reached the destination. A person decides; ask again later."
        }
        DecisionName::AwaitingApproval => "The amendment is proposed and waits for approval. Ask again later.",
        DecisionName::ApprovalMissing => "A revision above 1 is an amendment, and nobody proposed it. Propose it.",
        DecisionName::PreviousRevision => {
            "The revision before it is not confirmed, or has moved on since the approval."
        }
        DecisionName::Rejected => "The amendment was rejected, or a person dropped the operation; the answer says why.",
        DecisionName::Conflict => "The same key was begun with another payload. Nothing is sent; a person decides.",
    }
}

fn write_decisions(html: &mut String) {
    html.push_str(
        "<section class=\"panel\" aria-labelledby=\"decisions\"><h2 id=\"decisions\" tabindex=\"-1\">Decisions</h2>",
    );
    let head = ["decision", "next", "Status", "What it means"];
    write_table(
        html,
        "Decisions on a begin",
        &head,
        DecisionName::ALL.iter().map(|decision| {
            let done = if *decision == DecisionName::Proceed { 201 } else { 200 };
            let status = Code::of_decision(*decision).map_or(done, |code| code.status().as_u16());
            let code = |text: &str| format!("<code>{text}</code>");
            vec![
                code(decision.as_str()),
                code(decision.next().as_str()),
                status.to_string(),
                meaning(*decision).to_owned(),
            ]
        }),
    );
    html.push_str("</section>");
}

impl Endpoint<'_> {
    fn write(&self, html: &mut String, public_url: &str) {
        let (id, method, path) = (Escaped(self.id), Escaped(&self.method), Escaped(self.path));
        let _ = write!(
            html,
            "<section class=\"panel\" aria-labelledby=\"{id}\"><h2 id=\"{id}\" tabindex=\"-1\"><code>{method} {path}</code></h2>"
        );
        for text in ["summary", "description"] {
            if let Some(text) = self.content[text].as_str() {
                let _ = write!(html, "<p>{}</p>", Prose(text));
            }
        }
        let parameters = self.content["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
        if !parameters.is_empty() {
            html.push_str("<h3>Parameters</h3>");
            let caption = format!("Parameters of {} {}", self.method, self.path);
            write_table(
                html,
                &caption,
                &["Name", "In", "Type", "What it is"],
                parameters.iter().map(|parameter| {
                    let is_required = parameter["required"].as_bool().unwrap_or_default();
                    let place = parameter["in"].as_str().unwrap_or_default();
                    vec![
                        named(parameter["name"].as_str().unwrap_or_default(), is_required),
                        Escaped(place).to_string(),
                        kind(&parameter["schema"]),
                        Prose(parameter["description"].as_str().unwrap_or_default()).to_string(),
                    ]
                }),
            );
        }
        if let Some(contents) = self.content["requestBody"]["content"].as_object() {
            html.push_str("<h3>Body</h3><p>");
            let bodies = contents
                .iter()
                .map(|(media, content)| format!("<code>{}</code>: {}", Escaped(media), kind(&content["schema"])));
            html.push_str(&bodies.collect::<Vec<_>>().join("; "));
            html.push_str("</p>");
        }
        html.push_str("<h3>Answers</h3>");
        let caption = format!("Answers of {} {}", self.method, self.path);
        let answers = self.content["responses"].as_object().into_iter().flatten();
        write_table(
            html,
            &caption,
            &["Status", "When", "Body"],
            answers.map(|(status, answer)| {
                let contents = answer["content"].as_object().into_iter().flatten();
                let bodies: Vec<String> = contents.map(|(_, content)| kind(&content["schema"])).collect();
                let told = Prose(answer["description"].as_str().unwrap_or_default()).to_string();
                vec![Escaped(status).to_string(), told, bodies.join(" or ")]
            }),
        );
        html.push_str("<h3>Example</h3>");
        let body = self.content.get("requestBody").and_then(|_| example(self.id).or(Some("@request.json")));
        let path = self.path.replace("{id}", "$ID").replace("{revision}", "1");
        write_code(html, self.id, &curl(&self.method, &format!("{public_url}{path}"), body));
        html.push_str("</section>");
    }
}

/// A body that the endpoint takes.
fn example(id: &str) -> Option<&'static str> {
    Some(match id {
        "begin" => {
            r#"{"workflow": "accounting-handoff", "company": "acme", "source_system": "shop", "document": "order-812",
      "payload": {"amount": "1180.00", "currency": "EUR"}}"#
        }
        "begin_batch" => {
            r#"{"operations": [{"workflow": "accounting-handoff", "company": "acme", "source_system": "shop",
      "document": "order-812", "payload": {"amount": "1180.00"}}]}"#
        }
        "mark_sending" => r#"{"lease_token": "LEASE_TOKEN"}"#,
        "heartbeat" => r#"{"lease_token": "LEASE_TOKEN", "lease_seconds": 60}"#,
        "report_outcome" => {
            r#"{"lease_token": "LEASE_TOKEN", "outcome": "confirmed", "destination_reference": "task-907"}"#
        }
        "propose_amendment" => {
            r#"{"payload": {"amount": "1200.00", "currency": "EUR"}, "reason": "one more was bought"}"#
        }
        _ => return None,
    })
}

/// A command of a shell; a body that starts with `@` is a file.
fn curl(method: &str, url: &str, body: Option<&str>) -> String {
    let quote = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let mut command = String::from("curl -sS");
    if method != "GET" && !(method == "POST" && body.is_some()) {
        command.push_str(&format!(" -X {method}"));
    }
    // `$ID` is the reader's.
    let url = if url.contains('$') { format!("\"{url}\"") } else { quote(url) };
    command.push_str(&format!(" {url} \\\n  -H \"Authorization: Bearer $ONCEOVER_TOKEN\""));
    match body {
        Some(file) if file.starts_with('@') => command.push_str(&format!(" \\\n  --data-binary {file}")),
        Some(body) => {
            command.push_str(&format!(" \\\n  -H 'Content-Type: application/json' \\\n  --data-raw {}", quote(body)));
        }
        None => {}
    }
    command
}

fn write_types(html: &mut String, api: &Value) {
    html.push_str("<section class=\"panel\" aria-labelledby=\"types\"><h2 id=\"types\" tabindex=\"-1\">Types</h2>");
    for (name, schema) in api["components"]["schemas"].as_object().into_iter().flatten() {
        let shown = Escaped(name);
        let _ = write!(html, "<h3 id=\"type-{shown}\" tabindex=\"-1\">{shown}</h3>");
        if let Some(told) = schema["description"].as_str() {
            let _ = write!(html, "<p>{}</p>", Prose(told));
        }
        let mut parts = Vec::new();
        let fields = fields(schema, &mut parts);
        if fields.is_empty() {
            let _ = write!(html, "<p>{}</p>", kind(schema));
            continue;
        }
        if !parts.is_empty() {
            let _ = write!(html, "<p>All of {}, and:</p>", parts.join(" and "));
        }
        write_table(
            html,
            &format!("Fields of {name}"),
            &["Field", "Type", "What it is"],
            fields.into_iter().map(|(field, (schema, is_required))| {
                let told = schema["description"].as_str().unwrap_or_default();
                vec![named(field, is_required), kind(schema), Prose(told).to_string()]
            }),
        );
    }
    html.push_str("</section>");
}

/// The fields of an object, each with whether it must be there, and the types that it is made of besides.
fn fields<'a>(schema: &'a Value, parts: &mut Vec<String>) -> BTreeMap<&'a str, (&'a Value, bool)> {
    let mut found = BTreeMap::new();
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        found.insert(name.as_str(), (field, required.contains(&name.as_str())));
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        if part["$ref"].is_string() {
            parts.push(kind(part));
        } else {
            found.append(&mut fields(part, parts));
        }
    }
    found
}

/// What a value may be, as HTML.
fn kind(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = Escaped(reference.rsplit('/').next().unwrap_or_default());
        return format!("<a rel=\"external\" href=\"#type-{name}\">{name}</a>");
    }
    for several in ["oneOf", "anyOf", "allOf"] {
        if let Some(choices) = schema[several].as_array() {
            let choices = choices.iter().filter(|choice| choice["type"] != "null").map(kind);
            return choices.collect::<Vec<_>>().join(if several == "allOf" { " with " } else { " or " });
        }
    }
    if let Some(values) = schema["enum"].as_array() {
        let values = values.iter().map(|value| format!("<code>{}</code>", Escaped(&plain(value))));
        return values.collect::<Vec<_>>().join(" ");
    }
    let name = match &schema["type"] {
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            names.collect::<Vec<_>>().join(" or ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => "any JSON".to_owned(),
    };
    let mut told = match name.as_str() {
        "array" => format!("list of {}", kind(&schema["items"])),
        "string" => "text".to_owned(),
        "integer" => "whole number".to_owned(),
        other => Escaped(other).to_string(),
    };
    if let Some(format) = schema["format"].as_str().filter(|format| !["int32", "int64"].contains(format)) {
        let _ = write!(told, " ({})", Escaped(format));
    }
    let bound = |name: &str| schema.get(name).map(plain);
    for (least, most, unit) in [("minLength", "maxLength", " characters"), ("minimum", "maximum", "")] {
        match (bound(least), bound(most)) {
            (Some(least), Some(most)) => told.push_str(&format!(", {least} to {most}{unit}")),
            (None, Some(most)) => told.push_str(&format!(", at most {most}{unit}")),
            (Some(least), None) => told.push_str(&format!(", {least}{unit} or more")),
            (None, None) => {}
        }
    }
    told
}

/// A value without the quotes of a text.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

fn named(name: &str, is_required: bool) -> String {
    let required = if is_required { " <span class=\"note\">required</span>" } else { "" };
    format!("<code>{}</code>{required}", Escaped(name))
}

fn write_problems(html: &mut String, public_url: &str) {
    let _ = write!(
        html,
        "<section class=\"panel\" aria-labelledby=\"problems\"><h2 id=\"problems\" tabindex=\"-1\">Problem codes</h2>\
         <p>A refusal is a problem document (RFC 9457). <code>code</code> is for programs and never changes its meaning; \
         <code>type</code> is <code>{}/problems/</code> with the code.</p>",
        Escaped(public_url)
    );
    write_table(
        html,
        "Every problem code",
        &["code", "Status", "What happened", "What to do"],
        Code::ALL.iter().map(|code| {
            let name = code.as_str();
            vec![
                format!("<a rel=\"external\" href=\"/problems/{name}\"><code>{name}</code></a>"),
                code.status().as_u16().to_string(),
                Prose(code.title()).to_string(),
                Prose(code.advice()).to_string(),
            ]
        }),
    );
    html.push_str("</section>");
}

fn write_recipes(html: &mut String) {
    html.push_str(
        "<section class=\"panel\" aria-labelledby=\"recipes\"><h2 id=\"recipes\" tabindex=\"-1\">Recipes</h2>",
    );
    for (name, text) in RECIPES {
        let _ = write!(html, "<details><summary>{}</summary>", Escaped(name));
        write_code(html, &format!("recipe for {name}"), text);
        html.push_str("</details>");
    }
    html.push_str("</section>");
}

/// Something to copy, which can be scrolled with the keyboard too.
fn write_code(html: &mut String, name: &str, code: &str) {
    let (name, code) = (Escaped(name), Escaped(code));
    let _ =
        write!(html, "<pre tabindex=\"0\" role=\"region\" aria-label=\"Example: {name}\"><code>{code}</code></pre>");
}

/// A table, whose cells are HTML; the first of each row is its header. Where it is narrow, rows become cards.
fn write_table(html: &mut String, caption: &str, head: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let caption = Escaped(caption);
    let _ = write!(
        html,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table class=\"cards\">\
         <caption class=\"hidden\">{caption}</caption><thead><tr>"
    );
    for name in head {
        let _ = write!(html, "<th scope=\"col\">{}</th>", Escaped(name));
    }
    html.push_str("</tr></thead><tbody>");
    for row in rows {
        html.push_str("<tr>");
        for (place, (cell, name)) in row.iter().zip(head).enumerate() {
            let (element, scope) = if place == 0 { ("th", " scope=\"row\"") } else { ("td", "") };
            let _ = write!(html, "<{element}{scope} data-label=\"{}\">{cell}</{element}>", Escaped(name));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
}

/// A text as HTML.
struct Escaped<'a>(&'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => formatter.write_str("&amp;")?,
                '<' => formatter.write_str("&lt;")?,
                '>' => formatter.write_str("&gt;")?,
                '"' => formatter.write_str("&quot;")?,
                other => formatter.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// A description as HTML: what stands between backticks is code.
struct Prose<'a>(&'a str);

impl std::fmt::Display for Prose<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (place, piece) in self.0.split('`').enumerate() {
            let is_code = place % 2 == 1;
            let (start, end) = if is_code { ("<code>", "</code>") } else { ("", "") };
            write!(formatter, "{start}{}{end}", Escaped(piece))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_the_api_has_is_told() {
        let html = reference("https://desk.example");
        let api: Value = serde_json::from_str(description()).unwrap();
        let endpoints = endpoints(&api);
        assert!(endpoints.len() >= 14);
        for endpoint in &endpoints {
            assert!(html.contains(&format!("id=\"{}\"", endpoint.id)), "{}", endpoint.id);
        }
        for name in api["components"]["schemas"].as_object().unwrap().keys() {
            assert!(html.contains(&format!("id=\"type-{name}\"")), "{name}");
        }
        for code in Code::ALL {
            assert!(html.contains(&format!("/problems/{}\"", code.as_str())), "{}", code.as_str());
        }
        for decision in DecisionName::ALL {
            assert!(html.contains(&format!("<code>{}</code>", decision.as_str())), "{}", decision.as_str());
        }
        assert!(html.contains("https://desk.example/api/v1/operations"));
    }

    #[test]
    fn every_link_leads_to_a_place_of_the_page() {
        let html = reference("https://desk.example");
        let mut links = 0;
        for link in html.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(html.contains(&format!(" id=\"{link}\"")), "{link}");
            links += 1;
        }
        assert!(links > 50, "{links}");
        let mut ids: Vec<&str> = html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let number = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), number, "no id stands twice");
        // Regions that are told apart have names that are.
        let mut regions: Vec<&str> =
            html.split("role=\"region\" aria-label=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let number = regions.len();
        regions.sort_unstable();
        regions.dedup();
        assert_eq!(regions.len(), number, "{regions:?}");
    }

    #[test]
    fn nothing_comes_from_elsewhere_and_nothing_is_taken_for_markup() {
        let html = reference("https://desk.example/\"><script>");
        assert!(!html.contains("<script") && !html.contains("src="), "only text and links");
        assert_eq!(Prose("a <b> `c&d` e").to_string(), "a &lt;b&gt; <code>c&amp;d</code> e");
    }

    #[test]
    fn a_type_is_told_in_words() {
        let kind = |schema: &str| kind(&serde_json::from_str(schema).unwrap());
        assert_eq!(kind(r#"{"type":"string","minLength":1,"maxLength":200}"#), "text, 1 to 200 characters");
        assert_eq!(kind(r#"{"type":["integer","null"],"format":"int32","minimum":1}"#), "whole number, 1 or more");
        assert_eq!(
            kind(r##"{"type":"array","items":{"$ref":"#/x/A"}}"##),
            "list of <a rel=\"external\" href=\"#type-A\">A</a>"
        );
        assert_eq!(kind(r#"{"type":"string","enum":["a","b"]}"#), "<code>a</code> <code>b</code>");
        assert_eq!(
            kind(r##"{"oneOf":[{"type":"null"},{"$ref":"#/x/A"}]}"##),
            "<a rel=\"external\" href=\"#type-A\">A</a>"
        );
    }
}
