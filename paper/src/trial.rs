//! The trial, real or synthetic, and its splits: half of the rows to train on, of whose patients
//! that are not fully conscious half are then left out at random; the other half to test on.

use crate::page::Folder;
use seawall::evaluate::{Robust, Support};
use seawall::outcome::Values;
use seawall::policy::{Partition, Parts};
use seawall::{Error, Log, Result, Settings, Wasserstein, Watch};
use seawall_study::demo;
use seawall_study::prepare::{PreparedStudy, load};
use seawall_study::study::study;
use std::path::{Path, PathBuf};

/// The trial.
pub struct Trial {
    loaded: PreparedStudy,
    /// The feature that tells how conscious a patient is, and its level for fully alert ones.
    conscious: (&'static str, &'static str),
    /// Whether this is the stroke trial rather than a synthetic one.
    pub real: bool,
}

/// One split of the trial.
pub struct Split {
    /// The training rows, biased.
    pub train: Log,
    /// The testing rows.
    pub test: Log,
    /// What each action costs in each context, by the trees of the training rows.
    pub values: Values,
    /// Every context.
    pub full: Robust,
    /// The contexts of the training rows.
    pub observed: Robust,
}

const FILE: &str = "IST_corrected.csv.gz";

impl Trial {
    /// Reads the stroke trial, or makes the synthetic one.
    pub fn read(data: Option<&Path>, out: &Folder) -> Result<Self> {
        let (study_file, data, conscious) = match data {
            Some(path) => {
                let studies = concat!(env!("CARGO_MANIFEST_DIR"), "/../studies/ist.toml");
                (PathBuf::from(studies), Some(found(path)?), ("RCONSC", "F"))
            }
            None => {
                println!("No --data: a synthetic trial stands in.");
                out.write("synthetic-trial.csv", &demo::trial())?;
                out.write("synthetic-study.toml", demo::STUDY)?;
                let data = out.path("synthetic-trial.csv");
                (out.path("synthetic-study.toml"), Some(data), ("conscious", "alert"))
            }
        };
        let real = conscious.0 == "RCONSC";
        let mut asked = study(&study_file)?;
        if let Some(data) = data {
            asked.data.path = data;
        }
        Ok(Trial { loaded: load(asked, Watch::NOBODY)?, conscious, real })
    }

    /// What every table begins with.
    pub fn words(&self) -> String {
        let rows = self.loaded.log().total();
        if self.real {
            format!("International Stroke Trial, {rows} patients.\n\n")
        } else {
            format!(
                "**A synthetic trial of {rows} made-up patients, not the International Stroke \
                 Trial: the paper's numbers do not apply.**\n\n"
            )
        }
    }

    /// The groups of the paper's policy: not fully alert, and fully alert.
    pub fn groups(&self) -> Result<Vec<Partition>> {
        let space = self.loaded.log().contexts();
        let k = space.feature(self.conscious.0)?;
        let others = space.levels(k).iter().filter(|l| *l != self.conscious.1);
        let others: Vec<Option<String>> = others.cloned().map(Some).collect();
        let levels = vec![others, vec![Some(self.conscious.1.to_owned())]];
        let feature = self.conscious.0.to_owned();
        Ok(vec![Partition { feature, missing: false, parts: Parts::Levels(levels) }])
    }

    /// The names of the actions.
    pub fn actions(&self) -> &[String] {
        self.loaded.log().actions()
    }

    /// One split.
    pub fn split(&self, seed: u64) -> Result<Split> {
        let log = self.loaded.log();
        let halves = log.folds_of(2, seed)?;
        let (whole, test) = (halves.only(0)?, halves.only(1)?);
        let train = self.biased(&whole, seed)?;
        let settings = Settings::default();
        let costs = Wasserstein.at(0.0);
        let model = self.loaded.model.recipe.fit(&train, Watch::NOBODY)?;
        let values = model.values(&train, costs, self.loaded.study.unseen, settings)?;
        let full = Robust::new(&train, Support::All)?;
        let observed = Robust::new(&train, Support::Observed)?;
        Ok(Split { train, test, values, full, observed })
    }

    /// Leaves out half of the patients that are not fully alert.
    fn biased(&self, log: &Log, seed: u64) -> Result<Log> {
        let space = log.contexts();
        let k = space.feature(self.conscious.0)?;
        let alert = space.levels(k).iter().position(|l| l == self.conscious.1);
        let alert = alert.ok_or_else(|| Error::input("nobody in the trial is fully alert"))?;
        // Another deal than that of the two halves.
        let deal = log.folds_of(2, seed.wrapping_add(1 << 32))?;
        log.reweighted(|entry, e| {
            if space.code(e.context as usize, k) as usize == alert {
                e.weight
            } else {
                deal.weight(entry, 0)
            }
        })
    }
}

/// The trial's file, given it or a folder that holds it.
fn found(path: &Path) -> Result<PathBuf> {
    let places = [path.to_owned(), path.join(FILE), path.join("ist").join(FILE)];
    places.into_iter().find(|p| p.is_file()).ok_or_else(|| {
        Error::input(format!("{}: expected {FILE}, or a folder that holds it", path.display()))
    })
}

/// The mean outcome of a log, which is what a policy costs that does as the log did.
pub fn mean(log: &Log) -> f64 {
    log.entries().iter().map(|e| e.weight * log.value(e)).sum::<f64>() / log.total()
}
