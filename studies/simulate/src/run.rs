//! One simulated log through the program's own pipeline, held against the truth.

use crate::world::{Truth, World};
use seawall::solve::{Problem, Settings};
use seawall::{Direction, Error, Result, Set, Watch};
use seawall_study::evaluate::{
    Assumption, Claim, Claims, Decision, DifferenceValue, Evaluation, Halving, HeldOutEstimate,
    Question, RobustValue, Statement, Verdict, evaluate,
};
use seawall_study::prepare::load;
use seawall_study::study::study;
use std::path::Path;

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Case {
    pub truth: Truth,
    pub model: String,
    pub rows: usize,
    pub rewards: bool,
    /// Worst cases around a target's sample of so many people.
    pub target: Option<usize>,
    pub set: String,
    pub radii: Vec<f64>,
    pub support: String,
    pub splits: Option<usize>,
}

/// What became of one number.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Found {
    pub truth: f64,
    pub value: f64,
    pub held_out: Option<f64>,
    pub held_out_se: Option<f64>,
    pub plug_in_se: Option<f64>,
    pub limits: Option<seawall::inference::Limits>,
    /// What is claimed, and whether it is true.
    pub claims: Vec<Claimed>,
    /// The verdict of a pair.
    pub verdict: Option<Verdict>,
    /// Whether it is strict: it holds though two columns act together beyond the model.
    pub strict: bool,
    /// Whether the verdict is wrong.
    pub wrong: bool,
}

/// A claim and the truth.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Claimed {
    pub statement: Statement,
    pub assumes: Option<Assumption>,
    pub holds: bool,
}

/// What an evaluation found of one number at one radius.
struct Answer<'a> {
    value: f64,
    held_out: Option<HeldOutEstimate>,
    plug_in_se: Option<f64>,
    limits: Option<seawall::inference::Limits>,
    claims: &'a Claims,
    decision: Option<&'a Decision>,
}

impl<'a> Answer<'a> {
    fn of_value(r: &'a RobustValue) -> Self {
        Answer {
            value: r.worst.value,
            held_out: r.noise.held_out,
            plug_in_se: r.noise.plug_in_se,
            limits: r.noise.limits,
            claims: &r.claims,
            decision: None,
        }
    }

    fn of_difference(r: &'a DifferenceValue) -> Self {
        Answer {
            value: r.bounds.worst.value,
            held_out: r.noise.held_out,
            plug_in_se: None,
            limits: r.noise.limits,
            claims: &r.claims,
            decision: Some(&r.decision),
        }
    }
}

/// A policy's worst cases, or a pair's worst differences, by radius; and the estimate without a shift.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Numbers {
    pub name: String,
    pub against: Option<String>,
    /// How a difference is modelled.
    pub class: Option<String>,
    /// Whether the estimate's interval holds the truth.
    pub plain: Option<(f64, f64, f64)>,
    pub at: Vec<Found>,
}

impl Case {
    fn study(&self) -> String {
        let model = match self.model.as_str() {
            "tree" => "kind = \"tree\"\nmax_depth = [1, 2, 3, 4]\nmin_samples_leaf = 20".to_owned(),
            kind => format!("kind = {kind:?}"),
        };
        let (propensity, actions): (&str, &[&str]) = match self.truth {
            Truth::Confounded => ("estimate = \"logistic\"", &["treat", "control"]),
            Truth::Four => (
                "design = { one = 0.1, two = 0.2, three = 0.3, four = 0.4 }",
                &["one", "two", "three", "four"],
            ),
            _ => ("design = { treat = 0.5, control = 0.5 }", &["treat", "control"]),
        };
        let rules: Vec<String> =
            actions.iter().map(|name| format!("{name} = {{ arm = {name:?} }}")).collect();
        let policies = match self.truth {
            Truth::Four => "[[policy]]\nkind = \"greedy\"\n\n[[policy]]\nkind = \"constant\"\naction = \"four\"\n".to_owned(),
            _ => actions
                .iter()
                .map(|a| format!("[[policy]]\nkind = \"constant\"\naction = {a:?}\n\n"))
                .collect(),
        };
        let clusters = if self.truth == Truth::Clusters { "cluster = \"site\"\n" } else { "" };
        let outcome = if self.rewards { "reward" } else { "cost" };
        let target = self.target.map_or("", |_| "[target]\npath = \"target.csv\"\n\n");
        format!(
            "[data]\npath = \"data.csv\"\n{clusters}\n[context]\n\
             a = {{ kind = \"numeric\", bin = 1, min = 0, max = 6 }}\n\
             b = {{ kind = \"numeric\", bin = 1, min = 0, max = 6 }}\n\
             c = {{ kind = \"numeric\", bin = 1, min = 0, max = 6 }}\n\
             d = {{ kind = \"nominal\", levels = [\"x\", \"y\", \"z\"] }}\n\
             e = {{ kind = \"nominal\", levels = [\"p\", \"q\"] }}\n\n\
             [action]\n{}\n\n[propensity]\n{propensity}\n\n[outcome]\n{outcome} = {{ y = 1 }}\n\n\
             [model]\n{model}\nunseen = \"mean\"\n\n{policies}{target}[robust]\n\
             context = {{ set = {:?}, radius = {:?} }}\nsupport = {:?}\n",
            rules.join("\n"),
            self.set,
            self.radii,
            self.support
        )
    }

    /// Writes one log of the world, its study and its target.
    pub fn write(&self, world: &World, seed: u64, folder: &Path) -> Result<()> {
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(|e| Error::io(&path, e))
        };
        write("data.csv", world.csv(self.rows, seed))?;
        if let Some(rows) = self.target {
            write("target.csv", world.target_csv(rows, seed))?;
        }
        write("study.toml", self.study())
    }

    /// Answers one log of the world.
    pub fn run(&self, world: &World, seed: u64) -> Result<Vec<Numbers>> {
        let folder = tempfile::tempdir().map_err(|e| Error::io(Path::new("a folder"), e))?;
        self.write(world, seed, folder.path())?;
        let study = study(&folder.path().join("study.toml"))?;
        let prepared = load(study, Watch::NOBODY)?;
        let prepared = prepared.toward(None, Watch::NOBODY)?.unwrap_or(prepared);
        let mut question = Question::from_study(&prepared);
        question.wanted.worst = false;
        if let (Some(count), Some(halving)) = (self.splits, question.halves) {
            question.halves = Some(Halving { count, fewer: false, ..halving });
        }
        let found = evaluate(&prepared, &question, Watch::NOBODY)?;
        self.numbers(world, &found)
    }

    fn numbers(&self, world: &World, found: &Evaluation) -> Result<Vec<Numbers>> {
        let chances = |at: usize| found.policies[at].policy.probabilities();
        let mut all = Vec::new();
        for (k, policy) in found.policies.iter().enumerate() {
            let values = chances(k).weighing(&world.means);
            let plain = policy.estimate().and_then(|e| e.interval);
            let at = policy.results.iter().map(Answer::of_value).collect();
            all.push(self.judged(world, (&policy.name, None), &values, plain, at)?);
        }
        for c in &found.comparisons {
            let place =
                |name: &str| found.policies.iter().position(|p| p.name == name).unwrap_or(0);
            let apart = chances(place(&c.policy)).minus(chances(place(&c.against)));
            let values = apart.weighing(&world.means);
            let plain = c.estimate().and_then(|e| e.interval);
            let at = c.results.iter().map(Answer::of_difference).collect();
            let names = (c.policy.as_str(), Some(c.against.as_str()));
            let found = self.judged(world, names, &values, plain, at)?;
            all.push(Numbers { class: c.effect.map(|e| format!("{e:?}").to_lowercase()), ..found });
        }
        Ok(all)
    }

    fn judged(
        &self,
        world: &World,
        (name, against): (&str, Option<&str>),
        values: &[f64],
        plain: Option<seawall::Interval>,
        at: Vec<Answer<'_>>,
    ) -> Result<Numbers> {
        let population = world.population_of(self.target.is_some())?;
        let direction = if world.rewards { Direction::Reward } else { Direction::Cost };
        let sign = direction.sign();
        let set: Set = self.set.parse()?;
        let negated: Vec<f64> = values.iter().map(|v| -v).collect();
        let problem = Problem::new(&population, values)?.direction(direction);
        let turned = Problem::new(&population, &negated)?.direction(direction);
        let mut worst = set.solver(&problem, Settings::default())?;
        let mut best = set.solver(&turned, Settings::default())?;
        let found = |(radius, answer): (&f64, Answer<'_>)| -> Result<Found> {
            // Of the number itself, and of the other policy less this one.
            let (truth, other) =
                (worst.worst_case(*radius)?.value(), best.worst_case(*radius)?.value());
            let tiny = 1e-9;
            let claimed = |claim: &Claim| {
                // A claim of the pair in the other order is about the other number.
                let truth = if claim.estimand.policy == name { truth } else { other };
                let past = sign * (truth - claim.value);
                let holds = match claim.statement {
                    Statement::NoneWorse => past <= tiny,
                    Statement::SomeAsBad => past >= -tiny,
                };
                Claimed { statement: claim.statement, assumes: claim.assumes, holds }
            };
            let verdict = answer.decision.map(|d| d.verdict);
            let (worse, better) = (sign * truth > tiny, sign * other > tiny);
            let wrong = match verdict {
                Some(Verdict::Better) => worse,
                Some(Verdict::Worse) => better,
                Some(Verdict::Depends) => !(worse && better),
                _ => false,
            };
            Ok(Found {
                truth,
                value: answer.value,
                held_out: answer.held_out.map(|h| h.value),
                held_out_se: answer.held_out.map(|h| h.se),
                plug_in_se: answer.plug_in_se,
                limits: answer.limits,
                claims: answer.claims.claims.iter().map(claimed).collect(),
                verdict,
                strict: answer.decision.is_some_and(Decision::is_strict),
                wrong,
            })
        };
        let at: Vec<Found> = self.radii.iter().zip(at).map(found).collect::<Result<_>>()?;
        let mean = population.mean(values)?;
        Ok(Numbers {
            name: name.to_owned(),
            against: against.map(str::to_owned),
            class: None,
            plain: plain.map(|i| (mean, i.lower, i.upper)),
            at,
        })
    }
}
