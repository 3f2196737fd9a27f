//! Plain SVG pictures: lines with bands, and dots or bars, on one pair of axes.

use seawall_study::words::short;
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 20.0;
const BOTTOM: f64 = 52.0;
const COLOURS: [&str; 6] = ["#0b6e99", "#b5482a", "#3f7d20", "#7a4ea3", "#946200", "#5a5a5a"];

/// One line of a picture.
pub struct Line {
    /// What it is.
    pub name: String,
    /// Its points: x, y, and half the height of its band.
    pub points: Vec<(f64, f64, f64)>,
    /// Whether each point is a bar from 0.
    pub bars: bool,
}

/// A picture.
pub struct Plot {
    /// Above it.
    pub title: String,
    /// What x is.
    pub x: String,
    /// What y is.
    pub y: String,
    /// Whether both axes are logarithmic.
    pub logarithmic: bool,
    /// Its lines.
    pub lines: Vec<Line>,
}

impl Plot {
    /// The picture as SVG.
    pub fn svg(&self) -> String {
        let scale = |v: f64| if self.logarithmic { v.log10() } else { v };
        let points = || self.lines.iter().flat_map(|l| &l.points);
        let low_of = |p: &(f64, f64, f64)| if self.logarithmic { scale(p.1) } else { p.1 - p.2 };
        let high_of = |p: &(f64, f64, f64)| if self.logarithmic { scale(p.1) } else { p.1 + p.2 };
        let mut x_ends = ends(points().map(|p| scale(p.0)));
        let bars = self.lines.iter().any(|l| l.bars);
        let zero = bars.then_some(0.0);
        let y_ends = ends(points().flat_map(|p| [low_of(p), high_of(p)]).chain(zero));
        if bars {
            let half = 0.5 * (x_ends.1 - x_ends.0) / points().count().max(2) as f64;
            x_ends = (x_ends.0 - half, x_ends.1 + half);
        }
        let x =
            |v: f64| LEFT + (WIDTH - LEFT - RIGHT) * (scale(v) - x_ends.0) / (x_ends.1 - x_ends.0);
        // Room for the names of the lines.
        let top = 30.0 + 14.0 * self.lines.len() as f64;
        let height = HEIGHT - top - BOTTOM;
        let y = |v: f64| top + height * (y_ends.1 - scale(v)) / (y_ends.1 - y_ends.0);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"16\" font-weight=\"bold\">{}</text>\n",
            escaped(&self.title)
        );
        let unscaled = |v: f64| if self.logarithmic { 10f64.powf(v) } else { v };
        // Writing to a string cannot fail.
        for at in ticks(y_ends).map(unscaled) {
            let _ = writeln!(
                text,
                "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{:.1}\" y2=\"{1:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                y(at),
                LEFT - 6.0,
                y(at) + 4.0,
                short(at)
            );
        }
        for at in ticks(x_ends).map(unscaled) {
            let _ = writeln!(
                text,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                x(at),
                HEIGHT - BOTTOM + 16.0,
                short(at)
            );
        }
        let _ = writeln!(
            text,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text x=\"{LEFT}\" y=\"32\" fill=\"#444\">{}</text>",
            0.5 * (LEFT + WIDTH - RIGHT),
            HEIGHT - 8.0,
            escaped(&self.x),
            escaped(&self.y)
        );
        for (k, line) in self.lines.iter().enumerate() {
            draw(line, k, self.lines.len(), &x, &y, &mut text);
        }
        text.push_str("</svg>\n");
        text
    }
}

fn draw(
    line: &Line,
    k: usize,
    count: usize,
    x: &dyn Fn(f64) -> f64,
    y: &dyn Fn(f64) -> f64,
    text: &mut String,
) {
    let colour = COLOURS[k % COLOURS.len()];
    let _ = writeln!(
        text,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"{colour}\">{}</text>",
        WIDTH - RIGHT,
        14.0 + 14.0 * k as f64,
        escaped(&line.name)
    );
    if line.bars {
        let apart = (WIDTH - LEFT - RIGHT) / line.points.len().max(1) as f64;
        let wide = 0.8 * apart / count as f64;
        for (at, value, _) in &line.points {
            let left = x(*at) - 0.4 * apart + wide * k as f64;
            let _ = writeln!(
                text,
                "<rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" height=\"{:.1}\" \
                 fill=\"{colour}\"/>",
                y(*value),
                y(0.0) - y(*value)
            );
        }
        return;
    }
    if line.points.iter().any(|p| p.2 > 0.0) {
        let upper = line.points.iter().map(|p| format!("{:.1},{:.1}", x(p.0), y(p.1 + p.2)));
        let lower = line.points.iter().rev().map(|p| format!("{:.1},{:.1}", x(p.0), y(p.1 - p.2)));
        let outline: Vec<String> = upper.chain(lower).collect();
        let _ = writeln!(
            text,
            "<polygon points=\"{}\" fill=\"{colour}\" opacity=\"0.2\"/>",
            outline.join(" ")
        );
    }
    let middle: Vec<String> =
        line.points.iter().map(|p| format!("{:.1},{:.1}", x(p.0), y(p.1))).collect();
    let _ = writeln!(
        text,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
        middle.join(" ")
    );
}

/// The smallest and the largest, apart in any case.
fn ends(all: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |e, v| (e.0.min(v), e.1.max(v)));
    if high > low { (low, high) } else { (low - 0.5, low + 0.5) }
}

/// About four round numbers between two ends.
fn ticks((low, high): (f64, f64)) -> impl Iterator<Item = f64> {
    let rough = (high - low) / 4.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|s| s * power).into_iter().find(|s| *s >= rough);
    let step = step.unwrap_or(rough);
    let (first, last) = ((low / step).ceil() as i64, (high / step + 1e-9).floor() as i64);
    (first..=last).map(move |k| k as f64 * step)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
