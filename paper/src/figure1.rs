//! Figure 1: why KL is not enough. Distributions with the stated divergences, constructed.
//!
//! (a) Ages that differ at 55 and 60 only: KL is infinite, the transport distance is small.
//! (b) A risk index on 0, 1, …, 20: two distributions at KL 0.21 of a third, at transport distances
//! 2.07 and 1.42. `P` is a discretised bell of width σ; `Q₁ ∝ P exp(−t x)`, less risky; `Q₂ ∝ P exp(b x
//! + c (x − 10)²)`, wider and riskier. (σ, t) and (b, c) solve two equations each by Newton's method.

use crate::page::{Folder, csv, markdown, row};
use crate::plot::{Line, Plot};
use seawall::distance::{distance, kl};
use seawall::{Error, Feature, Population, Result, Space, Watch};
use std::sync::Arc;

const KL: f64 = 0.21;
const FIRST: f64 = 2.07;
const SECOND: f64 = 1.42;

/// Writes both examples.
pub fn write(out: &Folder) -> Result<()> {
    let ages: Vec<f64> = (0..8).map(|k| 40.0 + 5.0 * f64::from(k)).collect();
    let space = space("age", &ages)?;
    let p = on(&space, vec![0.05, 0.1, 0.2, 0.3, 0.0, 0.2, 0.1, 0.05])?;
    let q = on(&space, vec![0.05, 0.1, 0.2, 0.0, 0.3, 0.2, 0.1, 0.05])?;
    let (infinite, missing) = kl(&p, &q)?;
    let far = distance(&p, &q, Watch::NOBODY)?.value;
    picture("figure1a", "Patients' ages", "age", &ages, &[("P", &p), ("Q", &q)], out)?;

    let risks: Vec<f64> = (0..=20).map(f64::from).collect();
    let space = self::space("risk", &risks)?;
    let bell = |width: f64| risks.iter().map(move |x| (-0.5 * ((x - 10.0) / width).powi(2)).exp());
    let tilted = |width: f64, tilt: &dyn Fn(f64) -> f64| {
        on(&space, bell(width).zip(&risks).map(|(p, x)| p * tilt(*x).exp()).collect())
    };
    let apart = |p: &Population, q: &Population, far: f64| -> Result<[f64; 2]> {
        Ok([kl(p, q)?.0 - KL, distance(p, q, Watch::NOBODY)?.value - far])
    };
    let [width, t] = newton([2.2, 0.3], &|[width, t]| {
        apart(&tilted(width, &|_| 0.0)?, &tilted(width, &|x| -t * x)?, FIRST)
    })?;
    let p = tilted(width, &|_| 0.0)?;
    let first = tilted(width, &|x| -t * x)?;
    let bent = |b: f64, c: f64| tilted(width, &move |x| b * x + c * (x - 10.0).powi(2));
    let [b, c] = newton([0.08, 0.05], &|[b, c]| apart(&p, &bent(b, c)?, SECOND))?;
    let second = bent(b, c)?;
    let shown = [("P", &p), ("Q₁", &first), ("Q₂", &second)];
    picture("figure1b", "A risk index", "risk", &risks, &shown, out)?;

    let mut rows = vec![row(["pair", "KL(Q‖P)", "W(P, Q)", "mean of P", "mean of Q"])];
    for (name, q) in [("Q₁", &first), ("Q₂", &second)] {
        rows.push(vec![
            name.to_owned(),
            format!("{:.6}", kl(&p, q)?.0),
            format!("{:.6}", distance(&p, q, Watch::NOBODY)?.value),
            format!("{:.3}", p.mean(&risks)?),
            format!("{:.3}", q.mean(&risks)?),
        ]);
    }
    let text = format!(
        "# Figure 1: why KL is not enough\n\n**(a)** Two populations whose ages differ at 55 and 60 \
         only. KL(Q‖P) is {infinite}: {missing} age of Q never occurs in P. The transport distance is \
         {far:.2} (30% of the people move 5 years, squared).\n\n![ages](figure1a.svg)\n\n**(b)** \
         Constructed to the paper's numbers (KL {KL} twice, transport {FIRST} and {SECOND}): P is a \
         bell of width {width:.4} around 10; Q₁ is P tilted to lower risks (t = {t:.4}); Q₂ is \
         wider and riskier (b = {b:.4}, c = {c:.4}). To KL they are equally far from P; to \
         transport the one with more high risks is the nearer.\n\n![risks](figure1b.svg)\n\n{}",
        markdown(&rows)
    );
    out.write("figure1.csv", &csv(&rows))?;
    out.write("figure1.md", &text)
}

fn space(name: &str, levels: &[f64]) -> Result<Arc<Space>> {
    let feature = Feature::numeric(name).levels(levels.iter().copied()).weight(1.0);
    Ok(Arc::new(Space::grid([feature])?))
}

fn on(space: &Arc<Space>, weights: Vec<f64>) -> Result<Population> {
    Population::from_weights(space.clone(), weights)
}

fn picture(
    name: &str,
    title: &str,
    x: &str,
    levels: &[f64],
    shown: &[(&str, &Population)],
    out: &Folder,
) -> Result<()> {
    let line = |(name, p): &(&str, &Population)| Line {
        name: (*name).to_owned(),
        points: levels.iter().zip(p.weights()).map(|(x, p)| (*x, *p, 0.0)).collect(),
        bars: true,
    };
    let plot = Plot {
        title: title.to_owned(),
        x: x.to_owned(),
        y: "probability".to_owned(),
        logarithmic: false,
        lines: shown.iter().map(line).collect(),
    };
    out.write(&format!("{name}.svg"), &plot.svg())
}

/// Two equations in two unknowns.
fn newton(mut at: [f64; 2], equations: &dyn Fn([f64; 2]) -> Result<[f64; 2]>) -> Result<[f64; 2]> {
    const STEP: f64 = 1e-6;
    for _ in 0..100 {
        let f = equations(at)?;
        if f[0].abs().max(f[1].abs()) < 1e-10 {
            return Ok(at);
        }
        let slope = |moved: [f64; 2]| -> Result<[f64; 2]> {
            let g = equations(moved)?;
            Ok([(g[0] - f[0]) / STEP, (g[1] - f[1]) / STEP])
        };
        let (x, y) = (slope([at[0] + STEP, at[1]])?, slope([at[0], at[1] + STEP])?);
        let determinant = x[0] * y[1] - x[1] * y[0];
        let step =
            [(f[0] * y[1] - f[1] * y[0]) / determinant, (x[0] * f[1] - x[1] * f[0]) / determinant];
        // Half steps at most, lest it leaves where the equations make sense.
        let long = (step[0] / at[0]).abs().max((step[1] / at[1]).abs()).max(1e-300);
        let share = (0.5 / long).min(1.0);
        at = [at[0] - share * step[0], at[1] - share * step[1]];
    }
    Err(Error::numeric("Newton's method did not settle on figure 1's distributions"))
}
