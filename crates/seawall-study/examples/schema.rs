//! Prints the JSON schema of every answer: `cargo run -p seawall-study --features schema --example schema`.
//!
//! `answers` says which definition each question's answer is, `$defs` are all of them. `scripts/schema` makes
//! the Python classes and the book's reference of results from it.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use seawall_study::check::Check;
use seawall_study::compare::Compared;
use seawall_study::distance::SampleDistance;
use seawall_study::evaluate::Evaluation;
use seawall_study::explain::Explanation;
use seawall_study::learn::LearnedPolicy;
use seawall_study::radius::SuggestedRadii;
use seawall_study::transfer::{Backtest, Transfers};
use serde_json::{Map, Value, json};

/// Notes what a question's answer is called among the definitions.
fn note<T: JsonSchema>(
    question: &str,
    generator: &mut SchemaGenerator,
    all: &mut Map<String, Value>,
) {
    generator.subschema_for::<T>();
    all.insert(question.to_owned(), T::schema_name().into());
}

fn main() -> Result<(), serde_json::Error> {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let (all, g) = (&mut Map::new(), &mut generator);
    note::<Check>("check", g, all);
    note::<Explanation>("explain", g, all);
    note::<Evaluation>("evaluate", g, all);
    note::<LearnedPolicy>("learn", g, all);
    note::<SampleDistance>("distance", g, all);
    note::<SuggestedRadii>("radius", g, all);
    note::<Transfers>("transfer", g, all);
    note::<Backtest>("backtest", g, all);
    note::<Compared>("compare", g, all);
    let schema = json!({ "answers": all, "$defs": generator.take_definitions(true) });
    println!("{}", serde_json::to_string_pretty(&schema)?);
    Ok(())
}
