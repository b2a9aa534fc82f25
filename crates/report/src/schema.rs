//! Holds `docs/run.schema.json` and `docs/run-format.md` to the record as it is written.
//!
//! Not a validator: it knows the few keywords that our schema uses, and refuses any other. Besides what JSON Schema demands it
//! demands that every field of the record is described.

use crate::{Format, Style, fixture};
use serde_json::Value;

const SCHEMA: &str = include_str!("../../../docs/run.schema.json");
const DOCUMENT: &str = include_str!("../../../docs/run-format.md");

struct Schema {
    root: Value,
}

impl Schema {
    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        match schema.get("$ref").and_then(Value::as_str) {
            Some(path) => self
                .root
                .pointer(path.trim_start_matches('#'))
                .expect("a $ref that leads somewhere"),
            None => schema,
        }
    }

    fn check(&self, value: &Value, schema: &Value, at: &str) -> Result<(), String> {
        let schema = self.resolve(schema);
        let object = schema.as_object().ok_or(format!("{at}: the schema is no object"))?;
        for (keyword, rule) in object {
            let holds = match keyword.as_str() {
                "$schema" | "$id" | "$defs" | "title" | "description" => true,
                "type" => has_type(value, rule),
                "const" => value == rule,
                "enum" => rule.as_array().is_some_and(|values| values.contains(value)),
                "minimum" => value.as_f64().is_none_or(|number| Some(number) >= rule.as_f64()),
                "maximum" => value.as_f64().is_none_or(|number| Some(number) <= rule.as_f64()),
                "minItems" => value
                    .as_array()
                    .is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap_or(0)),
                "maxItems" => value
                    .as_array()
                    .is_none_or(|items| items.len() as u64 <= rule.as_u64().unwrap_or(0)),
                "required" => rule.as_array().is_some_and(|names| {
                    names.iter().filter_map(Value::as_str).all(|name| value.get(name).is_some())
                }),
                "properties" => {
                    for (name, field) in value.as_object().into_iter().flatten() {
                        let schema =
                            rule.get(name).ok_or(format!("{at}.{name} is not described"))?;
                        self.check(field, schema, &format!("{at}.{name}"))?;
                    }
                    let required =
                        schema.get("required").and_then(Value::as_array).map_or(0, Vec::len);
                    required == rule.as_object().map_or(0, serde_json::Map::len)
                }
                "additionalProperties" if rule == &Value::Bool(true) => true,
                "additionalProperties" => {
                    for (name, field) in value.as_object().into_iter().flatten() {
                        self.check(field, rule, &format!("{at}.{name}"))?;
                    }
                    true
                }
                "items" => {
                    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(item, rule, &format!("{at}[{i}]"))?;
                    }
                    true
                }
                "anyOf" => rule
                    .as_array()
                    .is_some_and(|any| any.iter().any(|s| self.check(value, s, at).is_ok())),
                _ => return Err(format!("{at}: this test does not know {keyword}")),
            };
            if !holds {
                return Err(format!("{at}: {keyword} does not hold for {value}"));
            }
        }
        Ok(())
    }
}

fn has_type(value: &Value, rule: &Value) -> bool {
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64(),
        _ => false,
    };
    match rule {
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        name => name.as_str().is_some_and(is),
    }
}

fn schema() -> Schema {
    Schema { root: serde_json::from_str(SCHEMA).expect("the schema is JSON") }
}

fn check(value: &Value) -> Result<(), String> {
    let schema = schema();
    schema.check(value, &schema.root, "run")
}

#[test]
fn every_record_obeys_the_schema_and_every_field_is_in_it() {
    for run in fixture::odd_runs().iter().chain([&fixture::several()]) {
        check(&serde_json::to_value(run).unwrap()).unwrap();
    }
}

#[test]
fn the_schema_refuses_what_is_no_record() {
    let good = serde_json::to_value(fixture::run()).unwrap();
    check(&good).unwrap();
    let cases = [
        ("/schema", Value::from("vfscale.run/2")),
        ("/seed", Value::from(-1)),
        ("/plan/partial", Value::from("no")),
        ("/host/cpus/0", Value::from(0.5)),
        ("/curves/0/mode", Value::from("fibre")),
        ("/curves/0/points/0/tasks", Value::from(0)),
        ("/curves/0/points/0/fairness", Value::from(1.5)),
        ("/curves/0/points/0/ci95", Value::from(vec![1.0])),
        ("/curves/0/points/0/ops_per_s", Value::Null),
        ("/curves/0/points/0/samples/0/ops", Value::from(-3)),
        ("/curves/0/points/0/samples/0/cpu", Value::from(vec![0, 1, 2])),
    ];
    for (path, bad) in cases {
        let mut run = good.clone();
        *run.pointer_mut(path).expect(path) = bad;
        assert!(check(&run).is_err(), "{path}");
    }
    for missing in ["seed", "curves"] {
        let mut run = good.clone();
        run.as_object_mut().unwrap().remove(missing);
        assert!(check(&run).is_err(), "{missing}");
    }
}

#[test]
fn the_document_names_every_field() {
    fn names(schema: &Value, out: &mut Vec<String>) {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            out.extend(properties.keys().cloned());
        }
        match schema {
            Value::Object(object) => object.values().for_each(|value| names(value, out)),
            Value::Array(items) => items.iter().for_each(|value| names(value, out)),
            _ => {}
        }
    }
    let mut fields = Vec::new();
    names(&schema().root, &mut fields);
    assert!(fields.len() > 60, "{fields:?}");
    for field in fields {
        assert!(
            DOCUMENT.contains(&format!("\n| `{field}` |")),
            "{field} is not in docs/run-format.md"
        );
    }
    let csv = Format::by_name("csv").expect("a format");
    for column in
        (csv.render)(&fixture::run(), &Style::default()).lines().next().unwrap().split(',')
    {
        assert!(DOCUMENT.contains(&format!("`{column}`")), "{column} is not in docs/run-format.md");
    }
}
