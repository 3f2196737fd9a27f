//! Charts against the radius, as numbers for the page's SVG template: worst cases, and differences.
//!
//! Lines are the curves' own vertices, bands the limits at the slider's stops.

use crate::axis::{RadiusAxis, padded, ticks};
use crate::live::{Live, Texts};
use crate::marks::Mark;
use seawall::Curve;
use seawall_study::report::Stops;
use seawall_study::words::{number, short};
use serde::Serialize;

/// A chart, in units of its view box.
#[derive(Debug, Serialize)]
pub(super) struct Chart {
    /// What tells the wide one from the narrow one.
    name: &'static str,
    width: f64,
    height: f64,
    /// The plot within.
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x_ticks: Vec<Tick>,
    /// What the axis of radii is called.
    x_label: &'static str,
    y_ticks: Vec<Tick>,
    /// Where no difference is, if that is shown.
    zero: Option<f64>,
    lines: Vec<Line>,
    marks: Vec<Tick>,
    /// Where the slider is.
    slider: Live,
}

/// Where something is told along an axis.
#[derive(Debug, Serialize)]
pub(super) struct Tick {
    pub at: f64,
    pub text: String,
}

#[derive(Debug, Serialize)]
struct Line {
    /// The path of the curve.
    path: String,
    /// The outline of the band, if there is one.
    band: Option<String>,
    /// Where the curve is at the slider's radius.
    dot: Live,
    colour: usize,
    broken: bool,
}

/// How large a chart is: width, height, and the room at its left.
const WIDE: (&str, f64, f64, f64) = ("wide", 760.0, 360.0, 64.0);
const NARROW: (&str, f64, f64, f64) = ("narrow", 352.0, 300.0, 56.0);

/// One line of a chart.
pub(super) struct Series<'a> {
    /// The curve, and what multiplies its values.
    pub curve: Option<(&'a Curve, f64)>,
    /// The value at every stop.
    pub values: Vec<f64>,
    /// The interval at every stop, if there is one.
    pub band: Option<Vec<(f64, f64)>>,
    /// Which colour.
    pub colour: usize,
    /// Whether the line is broken: the better end of a difference.
    pub broken: bool,
}

/// Along what lines are drawn: the stops, the scale of their radii, and the marks.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub stops: &'a Stops,
    pub axis: RadiusAxis,
    pub marks: &'a [Mark],
}

/// The chart for wide pages and the one for narrow ones; with `zero`, that height is shown.
pub(super) fn charts(
    series: &[Series<'_>],
    zero: bool,
    ground: Ground<'_>,
    texts: &mut Texts,
) -> Vec<Chart> {
    [WIDE, NARROW].map(|size| chart(series, zero, ground, texts, size)).into()
}

fn chart(
    series: &[Series<'_>],
    zero: bool,
    Ground { stops, axis, marks }: Ground<'_>,
    texts: &mut Texts,
    (name, width, height, left): (&'static str, f64, f64, f64),
) -> Chart {
    let (right, top, bottom) = (width - 14.0, 26.0, height - 44.0);
    let (low, high) = range(series, zero);
    let x = |radius: f64| left + (right - left) * axis.share(radius);
    let y = |value: f64| bottom - (bottom - top) * (value - low) / (high - low);
    let mut lines = Vec::new();
    for one in series {
        let at = |(radius, value): (&f64, &f64)| {
            format!("translate({:.1} {:.1})", x(*radius), y(*value))
        };
        let dot = texts.add(stops.radii.iter().zip(&one.values).map(at));
        let (path, band) = (path(one, stops, axis, x, y), band(one, stops, x, y));
        lines.push(Line { path, band, dot, colour: one.colour, broken: one.broken });
    }
    let tick = |at: f64, value: f64| Tick { at, text: number(value) };
    let apart = if name == "wide" { 1.0 / 9.0 } else { 1.0 / 5.0 };
    Chart {
        name,
        width,
        height,
        left,
        right,
        top,
        bottom,
        x_ticks: axis.ticks(apart).into_iter().map(|r| tick(x(r), r)).collect(),
        x_label: axis.label(),
        y_ticks: ticks(low, high, 5.0).map(|v| Tick { at: y(v), text: short(v) }).collect(),
        zero: zero.then(|| y(0.0)),
        lines,
        marks: merged(marks.iter().map(|m| x(m.radius)).collect()),
        slider: texts.add(stops.radii.iter().map(|r| format!("translate({:.1} 0)", x(*r)))),
    }
}

/// The marks; of those too close for letters of their own the first carries them all.
fn merged(spots: Vec<f64>) -> Vec<Tick> {
    let mut ticks: Vec<Tick> = Vec::new();
    let mut first = 0;
    for (k, &at) in spots.iter().enumerate() {
        if k > 0 && at - spots[first] < 30.0 {
            ticks[first].text = format!("{}–{}", letter(first), letter(k));
            ticks.push(Tick { at, text: String::new() });
        } else {
            first = k;
            ticks.push(Tick { at, text: letter(k) });
        }
    }
    ticks
}

/// How a mark is called on the chart and in the list below it.
pub(super) fn letter(k: usize) -> String {
    char::from(b'A' + (k % 26) as u8).to_string()
}

/// The lowest and highest value shown, with some room.
fn range(series: &[Series<'_>], zero: bool) -> (f64, f64) {
    let mut ends = if zero { (0.0, 0.0) } else { (f64::INFINITY, f64::NEG_INFINITY) };
    for one in series {
        let bands = one.band.iter().flatten().flat_map(|(low, high)| [*low, *high]);
        for value in one.values.iter().copied().chain(bands).filter(|v| v.is_finite()) {
            ends = (ends.0.min(value), ends.1.max(value));
        }
    }
    padded(ends)
}

/// The curve as a path: its vertices, but for those that fall on the same spot.
fn path(
    one: &Series<'_>,
    stops: &Stops,
    axis: RadiusAxis,
    x: impl Fn(f64) -> f64,
    y: impl Fn(f64) -> f64,
) -> String {
    let Some((curve, factor)) = one.curve else { return String::new() };
    let inside = curve.vertices().iter().filter(|v| v.radius < stops.largest);
    let mut points: Vec<(f64, f64)> = inside.map(|v| (v.radius, v.value)).collect();
    let first = points.first().map_or(0.0, |p| p.0);
    let between = axis.bends().into_iter().filter(|r| *r > first);
    points.extend(between.chain([stops.largest]).map(|r| (r, curve.at(r).value)));
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let spots: Vec<(f64, f64)> = points.iter().map(|(r, v)| (x(*r), y(factor * v))).collect();
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (k, spot) in spots.iter().enumerate() {
        let near = |last: &(f64, f64)| (last.0 - spot.0).abs().max((last.1 - spot.1).abs()) < 0.5;
        if k + 1 == spots.len() || !kept.last().is_some_and(near) {
            kept.push(*spot);
        }
    }
    outline(&kept)
}

/// The band as a path: along the upper ends, back along the lower ones.
fn band(
    one: &Series<'_>,
    stops: &Stops,
    x: impl Fn(f64) -> f64,
    y: impl Fn(f64) -> f64,
) -> Option<String> {
    let ends = stops.radii.iter().zip(one.band.as_ref()?).map(|(radius, &(low, high))| {
        (low.is_finite() && high.is_finite()).then(|| (x(*radius), y(low), y(high)))
    });
    let ends: Vec<(f64, f64, f64)> = ends.collect::<Option<_>>()?;
    let upper = ends.iter().map(|e| (e.0, e.2));
    let lower = ends.iter().rev().map(|e| (e.0, e.1));
    Some(format!("{}Z", outline(&upper.chain(lower).collect::<Vec<_>>())))
}

/// A path through these spots.
pub(super) fn outline(spots: &[(f64, f64)]) -> String {
    let words: Vec<String> = spots.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
    format!("M{}", words.join("L"))
}
