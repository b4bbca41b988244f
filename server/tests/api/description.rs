//! The API's description says what the server does.

use reqwest::Method;
use serde_json::Value;

use crate::answer::Answer;
use crate::desk::Desk;
use crate::support::{Fresh, on_both};

on_both!(what_is_described_is_answered,);

async fn what_is_described_is_answered(fresh: Fresh) {
    let desk = Desk::over(fresh).await;
    let answer = desk.stranger().get("/api/v1/openapi.json").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let description = answer.json();
    assert!(description["openapi"].as_str().unwrap().starts_with("3.1"));
    let paths = description["paths"].as_object().unwrap();
    assert_eq!(paths.len(), 14);
    let worker = desk.worker("worker").await;
    for (path, methods) in paths {
        let address = path.replace("{id}", "00000000-0000-7000-8000-000000000000").replace("{revision}", "1");
        for (name, operation) in methods.as_object().unwrap() {
            let method = Method::from_bytes(name.to_uppercase().as_bytes()).unwrap();
            let request = worker.request(method, &address).header("content-type", "application/json").body("{}");
            let answer = Answer::of(request.send().await.unwrap()).await;
            assert_ne!(answer.status, 405, "{name} {path}");
            assert!(operation["responses"].get(answer.status.to_string()).is_some(), "{name} {path}: {answer:?}");
        }
    }
    let mut names = Vec::new();
    references(&description, &mut names);
    for name in names {
        let schema = name.strip_prefix("#/components/schemas/").unwrap();
        assert!(description["components"]["schemas"].get(schema).is_some(), "{name} leads nowhere");
    }
    desk.close().await;
}

fn references(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            names.extend(members.get("$ref").and_then(Value::as_str).map(ToOwned::to_owned));
            members.values().for_each(|member| references(member, names));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
