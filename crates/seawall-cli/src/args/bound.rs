//! The words of `seawall bound`.

use super::{SET, is_plain, set_help, set_text};
use crate::failure::Failure;
use crate::request::BoundOutputs;
use clap::{Args as ClapArgs, ValueEnum};
use seawall::{Direction, EngineKind, Kind, Wasserstein};
use seawall_study::bound::{Context, Request, SupportKind};
use seawall_study::evaluate::SetChange;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
A radius is in units of the ground cost: with the default weights, moving everyone across the
whole range of one numeric column, or to another level of one nominal column, costs 1. It bounds a
mean squared distance, not its root. For --set sinkhorn it is the same for people who are spread out,
kappa a nat, and 0 moves them too. For --set kl it is a divergence in nats, for
--set tv the share of the people who are replaced, fixed columns or not, for --set cvar the
share of the people who are left out (1 - alpha), for chi2, cressie-read, hellinger and burg that
divergence. For --set moments it scales how far means may shift and spreads grow: at 1 by gamma1 and
gamma2. For --set mmd it is a maximum mean discrepancy, from 0 to √2.

Examples:
  How bad could a model's mean loss get if ages and sites shift?
    seawall bound losses.csv --value loss --context age --context site:nominal --radius 0.01,0.05

  Sex may not shift, and ten years of age cost 0.01 x 10^2 = 1; for a program:
    seawall bound losses.parquet --value loss --context age:numeric:0.01 --context sex:fixed \\
        --radius 0.05 --json

  Clicks are good: the lowest mean, the whole curve, and where the mass goes:
    seawall bound log.csv.gz --value click --reward --context hour --context device \\
        --radius 0.02 --curve curve.csv --plan plan.csv";

/// The arguments of `seawall bound`.
#[derive(Debug, ClapArgs)]
pub struct Bound {
    /// CSV (.csv, .tsv), Parquet (.parquet) or JSON lines (.jsonl, .ndjson), also with .gz or .zst
    file: PathBuf,
    /// The column whose mean is asked for; higher is worse unless --reward
    #[arg(long, value_name = "COL")]
    value: String,
    /// A column of weights ≥ 0; a row of weight 0 is a place mass may move to
    #[arg(long, value_name = "COL")]
    weight: Option<String>,
    /// A column that may shift. KIND: numeric (squared difference), ordinal (levels evenly on
    /// [0, 1]), nominal (any change costs the same), fixed (nobody moves across it; sets that move nobody
    /// weigh its levels anew all the same). ORDER is an ordinal column's levels, stage:ordinal:'I<II<III';
    /// if left out, in order of appearance unless numbers. WEIGHT multiplies its cost; if left out,
    /// 1/range² for numeric, 1 otherwise
    #[arg(long, value_name = "NAME[:KIND[:ORDER][:WEIGHT]]", required = true, value_parser = context)]
    context: Vec<Context>,
    /// How far the population may be, in what the set measures by: see below
    #[arg(
        long,
        value_name = "R[,R...]",
        required = true,
        value_delimiter = ',',
        allow_negative_numbers = true
    )]
    radius: Vec<f64>,
    #[arg(long, value_name = SET, value_parser = set_text, default_value = "wasserstein",
          help = set_help("The set of populations", is_plain))]
    set: String,
    /// The sharpness of the entropic set, in units of 1/value
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    eta: Option<f64>,
    /// Whether rows are points, or the cells of the grid of all levels
    #[arg(long, value_enum, default_value_t = SupportName::Points)]
    support: SupportName,
    /// How the inner maxima are found; every engine is exact
    #[arg(long, value_enum, default_value_t = EngineName::Auto)]
    engine: EngineName,
    /// Higher values are better: the worst case is the lowest mean
    #[arg(long)]
    reward: bool,
    /// Write the whole curve of the worst case against the radius
    #[arg(long, value_name = "OUT.csv")]
    curve: Option<PathBuf>,
    /// Write where the mass goes, for every radius
    #[arg(long, value_name = "OUT.csv")]
    plan: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SupportName {
    Points,
    Grid,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum EngineName {
    Auto,
    Grid,
    Tree,
    Scan,
}

impl Bound {
    /// What the words ask for.
    pub fn meaning(self) -> Result<(Request, BoundOutputs), Failure> {
        let change = SetChange { name: Some(self.set), eta: self.eta };
        let set = change.apply(Wasserstein.into())?;
        if self.eta.is_some() && set.parameter("eta").is_none() {
            return Err(Failure::usage("--eta belongs to --set entropic"));
        }
        let outputs = BoundOutputs::new(self.curve, self.plan, &self.file, self.json)?;
        let request = Request {
            path: self.file,
            value: self.value,
            weight: self.weight,
            contexts: self.context,
            radii: self.radius,
            set,
            support: match self.support {
                SupportName::Points => SupportKind::Points,
                SupportName::Grid => SupportKind::Grid,
            },
            engine: match self.engine {
                EngineName::Auto => EngineKind::Auto,
                EngineName::Grid => EngineKind::Grid,
                EngineName::Tree => EngineKind::Tree,
                EngineName::Scan => EngineKind::Scan,
            },
            direction: if self.reward { Direction::Reward } else { Direction::Cost },
            curve: outputs.curve.is_some(),
            plan: outputs.plan.is_some(),
            moves: !outputs.json,
        };
        Ok((request, outputs))
    }
}

/// Parses `NAME[:KIND[:WEIGHT]]`; a name may hold colons of its own.
pub(super) fn context(text: &str) -> Result<Context, String> {
    let kind = |word: &str| {
        [Kind::Numeric, Kind::Ordinal, Kind::Nominal, Kind::Fixed]
            .into_iter()
            .find(|k| k.name() == word)
    };
    let named = |name: &str, kind, weight| Context {
        name: name.to_owned(),
        kind,
        order: Vec::new(),
        weight,
    };
    if let Some((rest, order, weight)) = ordered(text) {
        let order = order.split('<').map(|level| level.trim().to_owned()).collect();
        let weight = weight.map(|text| number(text).map_err(|e| format!("{e}; {EXPECTED}")));
        let (kind, weight) = (Some(Kind::Ordinal), weight.transpose()?);
        return Ok(Context { order, ..named(rest, kind, weight) });
    }
    let Some((before, last)) = text.rsplit_once(':') else {
        return Ok(named(text, None, None));
    };
    if let Some(kind) = kind(last) {
        return Ok(named(before, Some(kind), None));
    }
    match before.rsplit_once(':').and_then(|(name, word)| Some((name, kind(word)?))) {
        Some((name, kind)) => match number(last) {
            Ok(weight) => Ok(named(name, Some(kind), Some(weight))),
            Err(what) => Err(format!("{what}; {EXPECTED}")),
        },
        None => Err(format!(
            "{last:?} is not a kind; {EXPECTED} (a name with a colon needs its kind after it)"
        )),
    }
}

/// What a context is written as.
const EXPECTED: &str = "expected NAME[:KIND[:ORDER][:WEIGHT]], KIND one of numeric, ordinal, nominal, \
                        fixed, ORDER as I<II<III";

/// A column with an order, `NAME:ordinal:I<II<III[:WEIGHT]`: its name, the order and the weight.
fn ordered(text: &str) -> Option<(&str, &str, Option<&str>)> {
    let (before, last) = text.rsplit_once(':')?;
    let (before, order, weight) = if last.contains('<') {
        (before, last, None)
    } else {
        let (before, order) = before.rsplit_once(':')?;
        (before, order, Some(last))
    };
    let name = before.strip_suffix(":ordinal").filter(|_| order.contains('<'))?;
    Some((name, order, weight))
}

/// A weight.
fn number(text: &str) -> Result<f64, String> {
    let fits = |weight: &f64| *weight >= 0.0 && weight.is_finite();
    let weight = text.parse().ok().filter(fits);
    weight.ok_or_else(|| format!("the weight {text:?} is not a finite number ≥ 0"))
}
