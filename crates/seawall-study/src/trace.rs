//! Stochastic runs as they went: mean and standard deviation over runs, as CSV and as a picture.

use crate::words::printable;
use seawall::learn::State;
use seawall_table::write::csv_field;
use std::fmt::Write as _;
use std::io::Write;

/// One traced quantity: its name, and mean and standard deviation at each step.
struct Line {
    name: String,
    points: Vec<(usize, f64, f64)>,
}

fn lines(state: &State, names: &[String]) -> Vec<Line> {
    let traces: Vec<_> = state.traces().collect();
    let steps = traces.iter().map(|t| t.len()).min().unwrap_or(0);
    let of = |name: String, value: &dyn Fn(&seawall::learn::TracePoint) -> f64| {
        let point = |k: usize| {
            let all: Vec<f64> = traces.iter().map(|t| value(&t[k])).collect();
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            let squares: f64 = all.iter().map(|x| (x - mean).powi(2)).sum();
            let sd = (squares / (all.len() as f64 - 1.0).max(1.0)).sqrt();
            (traces[0][k].step, mean, sd)
        };
        Line { name, points: (0..steps).map(point).collect() }
    };
    let mut lines = vec![of("lambda".to_owned(), &|p| p.lambda)];
    for (j, name) in names.iter().enumerate() {
        lines.push(of(name.clone(), &|p| p.theta[j]));
    }
    lines
}

/// Writes the traces as CSV: the step, then mean and standard deviation of λ and each parameter.
pub fn csv(state: &State, names: &[String], out: &mut dyn Write) -> std::io::Result<()> {
    let lines = lines(state, names);
    write!(out, "step")?;
    for line in &lines {
        for what in ["mean", "sd"] {
            write!(out, ",{}", csv_field(&format!("{} {what}", line.name)))?;
        }
    }
    writeln!(out)?;
    for k in 0..lines[0].points.len() {
        write!(out, "{}", lines[0].points[k].0)?;
        for line in &lines {
            write!(out, ",{},{}", line.points[k].1, line.points[k].2)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 240.0;
const MARGIN: f64 = 48.0;
const COLOURS: [&str; 6] = ["#0b6e99", "#b5482a", "#3f7d20", "#7a4ea3", "#946200", "#5a5a5a"];

/// The traces as SVG: λ above, the parameters below, a band of one standard deviation each.
pub fn svg(state: &State, names: &[String]) -> String {
    let all = lines(state, names);
    let (lambda, parameters) = all.split_at(1);
    let panels = if parameters.is_empty() { 1.0 } else { 2.0 };
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" \
         fill=\"white\"/>\n",
        panels * HEIGHT
    );
    panel(lambda, 0.0, "dual variable λ", &mut text);
    if !parameters.is_empty() {
        panel(parameters, HEIGHT, "policy parameters", &mut text);
    }
    text.push_str("</svg>\n");
    // A drawing that holds a control character is none.
    printable(&text).into_owned()
}

fn panel(lines: &[Line], top: f64, title: &str, text: &mut String) {
    let points = || lines.iter().flat_map(|l| &l.points);
    let most = points().map(|p| p.0).max().unwrap_or(1) as f64;
    let low = points().map(|p| p.1 - p.2).fold(f64::INFINITY, f64::min);
    let high = points().map(|p| p.1 + p.2).fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = if high > low { (low, high) } else { (low - 0.5, high + 0.5) };
    let x = |step: usize| MARGIN + (WIDTH - 2.0 * MARGIN) * step as f64 / most;
    let y = |v: f64| top + HEIGHT - MARGIN - (HEIGHT - 2.0 * MARGIN) * (v - low) / (high - low);
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "<text x=\"{MARGIN}\" y=\"{:.1}\">{title}, mean ± sd over runs</text>\n\
         <text x=\"4\" y=\"{:.1}\">{high:.3}</text>\n<text x=\"4\" y=\"{:.1}\">{low:.3}</text>\n\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{most} steps</text>",
        top + 20.0,
        y(high) + 4.0,
        y(low) + 4.0,
        WIDTH - MARGIN,
        top + HEIGHT - 16.0
    );
    for (k, line) in lines.iter().enumerate() {
        let colour = COLOURS[k % COLOURS.len()];
        let upper = line.points.iter().map(|p| format!("{:.1},{:.1}", x(p.0), y(p.1 + p.2)));
        let lower = line.points.iter().rev().map(|p| format!("{:.1},{:.1}", x(p.0), y(p.1 - p.2)));
        let band: Vec<String> = upper.chain(lower).collect();
        let mean: Vec<String> =
            line.points.iter().map(|p| format!("{:.1},{:.1}", x(p.0), y(p.1))).collect();
        let name = line.name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = writeln!(
            text,
            "<polygon points=\"{}\" fill=\"{colour}\" opacity=\"0.2\"/>\n<polyline points=\"{}\" \
             fill=\"none\" stroke=\"{colour}\"><title>{name}</title></polyline>",
            band.join(" "),
            mean.join(" ")
        );
    }
}
