//! The tables of worst cases: at the radius chosen, at the study's own radii, and every number of them to
//! save.

use crate::csv;
use crate::digits::{estimated, worst_case};
use crate::live::{Live, Texts};
use seawall_study::evaluate::{Evaluation, PolicyResult, RobustValue};
use seawall_study::report::Slider;
use seawall_study::words::{gap, number, percent, short, supported};
use serde::Serialize;

/// A policy's line of the table below the chart.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    policy: String,
    nominal: String,
    value: Live,
    honest: Option<Live>,
    interval: Option<Live>,
    exact: Option<Live>,
    gap: Live,
    status: Live,
    lambda: Live,
    unobserved: Live,
}

/// The worst cases at the study's own radii.
#[derive(Debug, Serialize)]
pub(super) struct Studied {
    /// The radius and the cost radius of each column.
    columns: Vec<(String, Option<String>)>,
    /// A policy and its values each.
    rows: Vec<(String, Vec<String>)>,
}

/// A policy's line.
pub(super) fn row(policy: &PolicyResult, texts: &mut Texts) -> Row {
    let results = &policy.results;
    let mut place = |text: &dyn Fn(&RobustValue) -> String| texts.add(results.iter().map(text));
    let digits = |r: &RobustValue| worst_case(policy, r);
    let has_interval = results.iter().any(|r| r.shown().is_some());
    let has_honest = results.iter().any(|r| r.noise.held_out.is_some());
    let smoothed = results.iter().any(|r| r.solve.exact_lower.is_some());
    let exact = |r: &RobustValue| match (r.solve.exact_lower, r.solve.exact_upper) {
        (Some(lower), Some(upper)) => {
            format!("{} to {}", digits(r).of(lower), digits(r).of(upper))
        }
        _ => String::new(),
    };
    let plain = policy.estimate();
    Row {
        policy: policy.name.clone(),
        nominal: estimated(plain),
        value: place(&|r| digits(r).of(r.worst.value)),
        honest: has_honest.then(|| {
            place(&|r| r.noise.held_out.map_or(String::new(), |h| supported(h.value, h.se)))
        }),
        interval: has_interval
            .then(|| place(&|r| r.shown().map_or(String::new(), |ends| digits(r).ends(ends)))),
        exact: smoothed.then(|| place(&exact)),
        gap: place(&|r| gap(r.worst.gap)),
        status: place(&|r| r.worst.status.to_string()),
        lambda: place(&|r| r.solve.lambda.map_or("infinite".to_owned(), short)),
        unobserved: place(&|r| percent(r.solve.unobserved_mass)),
    }
}

/// The worst cases at the study's own radii, for every cost radius.
pub(super) fn studied(
    found: &Evaluation,
    others: &Option<Evaluation>,
    Slider { stops, own, costs, .. }: &Slider,
) -> Studied {
    let several = costs.iter().any(|r| *r > 0.0) || costs.len() > 1;
    let column = |cost: &f64| {
        let cost = several.then(|| number(*cost));
        own.iter().map(move |r| (number(*r), cost.clone())).collect::<Vec<_>>()
    };
    let row = |(k, policy): (usize, &PolicyResult)| {
        let told = |r: &RobustValue| worst_case(policy, r).of(r.worst.value);
        let first = own.iter().map(|r| told(&policy.results[stops.nearest(*r)]));
        let rest = others.iter().flat_map(|e| e.policies[k].results.iter().map(told));
        (policy.name.clone(), first.chain(rest).collect())
    };
    Studied {
        columns: costs.iter().flat_map(column).collect(),
        rows: found.policies.iter().enumerate().map(row).collect(),
    }
}

/// Every worst case, to save.
pub(super) fn saved(found: &Evaluation) -> String {
    let columns = [
        "radius",
        "policy",
        "worst_case",
        "limit_low",
        "limit_high",
        "certified_low",
        "certified_high",
        "lambda",
        "unobserved",
    ];
    let rows = found.policies.iter().flat_map(|policy| {
        policy.results.iter().map(|r| {
            let limits = r.shown();
            vec![
                csv::exact(r.shift.radius),
                policy.name.clone(),
                csv::exact(r.worst.value),
                csv::exact_if(limits.map(|l| l.0)),
                csv::exact_if(limits.map(|l| l.1)),
                csv::exact(r.worst.lower),
                csv::exact(r.worst.upper),
                csv::exact_if(r.solve.lambda),
                csv::exact(r.solve.unobserved_mass),
            ]
        })
    });
    csv::table(&columns, rows)
}
