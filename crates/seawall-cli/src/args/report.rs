//! The words of `seawall report`.

use super::known::KnownArgs;
use super::study::SupportName;
use super::transfer::HistoryArgs;
use crate::failure::Failure;
use crate::request::ReportRequest;
use clap::Args as ClapArgs;
use seawall::{Error, Field, Wording};
use seawall_study::evaluate::{HALVINGS, Halving};
use seawall_study::fields::FrontEnd;
use seawall_study::learn::Spec;
use seawall_study::report::LEARN;
use seawall_study::study::PolicySpec;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
One self-contained HTML page: it needs no network, prints, and works by keyboard. Its slider moves
through radii at each of which everything was solved for. In the study file, [report] title = \"…\"
and outcome = \"…\" say what things are called.

Where something is known of a target ([target], --target, --target-facts) or past groups are recorded
([history], --by), the page has what `seawall transport` says, with the balance of the columns and the
past groups drawn.

Examples:
  As the study file asks, with a learned tree of depth 1:
    seawall report study.toml

  Three policies, a learned policy by group, and how far another hospital is:
    seawall report study.toml --policy uniform --policy constant:treat --policy constant:control \\
        --learn groups:SEX --target other-hospital.csv --out report.html

  With every other kind of shift beside the study's own:
    seawall report study.toml --compare

  From here to a hospital that sent its margins, hospitals as history:
    seawall report study.toml --target-facts AGE:mean=71.4 --target-facts SEX:F=0.47,M=0.53 --by HOSPNUM";

/// The arguments of `seawall report`. What is not said is as in the study file.
#[derive(Debug, ClapArgs)]
pub struct Report {
    /// The study file
    study: PathBuf,
    /// The page to write
    #[arg(long, value_name = "OUT.html", default_value = "report.html")]
    out: PathBuf,
    /// A sample of the other population (the context columns are enough): marks its distance
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,
    #[command(flatten)]
    known: KnownArgs,
    #[command(flatten)]
    history: HistoryArgs,
    /// A policy: an action, uniform, behavior, greedy, a policy file (.json) or a table of
    /// probabilities by context (.csv, .parquet); may be given several times
    #[arg(long, value_name = "POLICY")]
    policy: Vec<String>,
    /// Which contexts mass may move to: every combination of levels, or those observed, where alone
    /// the outcome model then needs values
    #[arg(long, value_enum)]
    support: Option<SupportName>,
    /// Learn a policy at the study's first radius: greedy, groups:COL, tree:DEPTH or softmax; may
    /// be given several times
    #[arg(long, value_name = "KIND", default_value = LEARN)]
    learn: Vec<String>,
    /// Learn no policy
    #[arg(long, conflicts_with = "learn")]
    no_learn: bool,
    /// Add the same policies under every set of populations, at radii that cover the target, or else
    /// chance: which sets agree, and which population each fears (as seawall sensitivity)
    #[arg(long)]
    compare: bool,
    /// How often the rows are halved to say how much is noise: the bands of the charts; 0 for none.
    /// By default 5 to 20, as many as the random error of the limits asks for
    #[arg(long = "splits", value_name = "R", allow_negative_numbers = true)]
    halves: Option<usize>,
    /// The level of limits and intervals, and how often bounds in the target are to hold
    #[arg(long, value_name = "LEVEL", default_value_t = 0.95, allow_negative_numbers = true)]
    level: f64,
    /// The seed of everything random
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

impl Report {
    /// What the words ask for.
    pub fn meaning(self) -> Result<ReportRequest, Failure> {
        let count = self.halves.unwrap_or(HALVINGS);
        let fewer = self.halves.is_none();
        let halving = Halving { count, level: self.level, seed: self.seed, fewer };
        // A level counts without halves, too: bounds in the target have it.
        Halving { count: count.max(1), ..halving }.check_counts()?;
        let kinds = if self.no_learn { Vec::new() } else { self.learn };
        let mut learn = Vec::new();
        for text in kinds {
            match Spec::typed(&text).map_err(|e| learned(&e))? {
                Spec::Given(_) => {
                    return Err(Failure::usage(format!(
                        "--learn {text}: expected greedy, groups:COL[=PARTS][,COL...], tree:DEPTH \
                         or softmax; a given policy goes with --policy"
                    )));
                }
                spec => learn.push((text, spec)),
            }
        }
        Ok(ReportRequest {
            study: self.study,
            out: self.out,
            toward: self.known.toward(self.target)?,
            history: self.history.meaning(),
            level: self.level,
            policies: self.policy.iter().map(|text| PolicySpec::typed(text)).collect(),
            support: self.support.map(SupportName::meaning),
            learn,
            compare: self.compare,
            halves: (count > 0).then_some(halving),
            seed: self.seed,
        })
    }
}

/// The kind of policy is the value of `--learn` here.
struct OfLearn;

impl Wording for OfLearn {
    fn subject(&self, field: Field) -> String {
        match field {
            Field::Policy => "--learn".to_owned(),
            field => FrontEnd::Cli.subject(field),
        }
    }

    fn setting(&self, field: Field, value: &str) -> String {
        FrontEnd::Cli.setting(field, value)
    }
}

fn learned(error: &Error) -> Failure {
    Failure::usage(error.worded(&OfLearn))
}
