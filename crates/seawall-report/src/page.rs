//! From a report to its page. Every text is escaped by the template; the texts that follow the
//! slider travel as JSON in which no tag can begin.

use crate::report::Report;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Value, context};
use seawall::{Error, Result};
use seawall::{Estimate, Interval};
use seawall_study::words::{self, level, number, percent, printable, short};

const PAGE: &str = concat!(include_str!("figure.html"), include_str!("page.html"));
const TRANSFER: &str = concat!(include_str!("figure.html"), include_str!("transfer.html"));
const SETS: &str = concat!(include_str!("figure.html"), include_str!("sets.html"));
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(include_str!("page.js"), include_str!("figure.js"));

impl Report {
    /// The page.
    pub fn html(&self) -> Result<String> {
        render(self)
    }
}

/// The page as HTML.
fn render(report: &Report) -> Result<String> {
    let failed = |e: minijinja::Error| Error::numeric(format!("the report's page: {e:#}"));
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    environment.add_filter("number", number);
    environment.add_filter("short", short);
    environment.add_filter("percent", percent);
    environment.add_filter("level", level);
    // A share that is told as less than something is drawn as that.
    environment.add_filter("width", |share: String| share.replace('<', ""));
    environment.add_filter("estimate", estimate);
    environment.add_filter("letter", crate::chart::letter);
    environment.add_template("page", PAGE).map_err(failed)?;
    environment.add_template("transfer", TRANSFER).map_err(failed)?;
    environment.add_template("sets", SETS).map_err(failed)?;
    let texts = serde_json::to_string(&report.texts)
        .map_err(|e| Error::numeric(format!("the report's texts: {e}")))?
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026");
    let rendered = |name: &str, context: Value| {
        environment.get_template(name).and_then(|template| template.render(context)).map_err(failed)
    };
    let transfer = match &report.transfer {
        Some(_) => rendered("transfer", context! { report => Serde(report) })?,
        None => String::new(),
    };
    let sets = match &report.sets {
        Some(_) => rendered("sets", context! { report => Serde(report) })?,
        None => String::new(),
    };
    let (style, script) = (STYLE, SCRIPT);
    let of_page = context! { report => Serde(report), transfer, sets, texts, style, script };
    let page = rendered("page", of_page)?;
    // A drawing that holds a control character is none.
    Ok(printable(&page).into_owned())
}

/// An estimate with its interval, to the digits that its standard error supports.
fn estimate(of: Value) -> String {
    let part = |name: &str| {
        let part = of.get_attr(name).ok().and_then(|part| f64::try_from(part).ok());
        part.filter(|x: &f64| !x.is_nan())
    };
    let (Some(value), Some(se)) = (part("value"), part("se")) else {
        return words::estimate_if(None);
    };
    let ends = part("lower").zip(part("upper"));
    let interval = ends.map(|(lower, upper)| Interval { lower, upper });
    words::estimate(&Estimate { value, se, interval })
}
