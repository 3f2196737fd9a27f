//! A synthetic trial shaped like a stroke trial: 6,000 patients, six context columns, two arms
//! drawn by a fair coin, four kinds of events. Nobody's data: every number comes from this file.
//!
//! How a patient is made (`z` standard normal, `logit⁻¹(s) = 1/(1+e⁻ˢ)`):
//!
//! ```text
//! age        72 + 11 z, cut to 30…99          systolic   160 + 27 z, cut to 80…259
//! sex        F with probability 0.42 + 0.006 (age − 70)
//! stroke     LACS 24%, POCS 12%, PACS 40%, TACS 24%
//! conscious  drowsy  logit⁻¹(−1.9 + 0.02 (age − 72) + 1.0 [TACS]),
//!            unconscious with a tenth of that, else alert
//! woke       Y with probability 0.29 (symptoms noticed on waking)
//! arm        treat or control, one half each
//! severity   s = 0.04 (age − 72) + 1.0 [drowsy] + 2.2 [unconscious] + 0.7 [TACS] − 0.5 [LACS]
//! dead       logit⁻¹(−3.0 + s + t (−0.5 + 0.05 (age − 72) + 0.5 [not alert]))
//! ischaemic  logit⁻¹(−3.1 + 0.2 s − 0.6 t)
//! haemorrhage logit⁻¹(−5.0 + 1.2 t + 0.01 (systolic − 160))
//! bleed      logit⁻¹(−4.6 + 1.1 t)            (t = 1 in the treat arm)
//! site       one of 24: P(s|patient) ∝ exp(0.35 a_s z + 0.08 b_s (cost − 0.47)), cost as in the study,
//!            a_s and b_s standard normal, one pair a site
//! ```
//!
//! Sites are drawn last, from numbers of their own, given the patient: so they differ in age, and in what
//! happens to patients who are alike.
//!
//! The treatment helps younger, alert patients and harms older, drowsy ones: a rule for all must choose,
//! and a shift of the population changes which rule is best.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::fmt::Write;

/// The seed of the trial.
const SEED: u64 = 2024;
/// The seed of the sites.
const SITE_SEED: u64 = 16;
/// Patients.
const PATIENTS: usize = 6000;
/// Sites.
const SITES: usize = 24;

/// The study file that goes with the trial.
pub const STUDY: &str = include_str!("demo.toml");
/// The name that the study file knows the data by.
pub const DATA: &str = "trial.csv";

/// The trial as CSV; the same bytes every time.
pub fn trial() -> String {
    let mut random = Random(ChaCha8Rng::seed_from_u64(SEED));
    let mut text = String::from(
        "patient,conscious,sex,age,woke,systolic,stroke,arm,ischaemic,haemorrhage,bleed,dead,site\n",
    );
    let mut sites = Sites::new();
    for patient in 1..=PATIENTS {
        random.patient(patient, &mut sites, &mut text);
    }
    text
}

/// What draws a patient to each site.
struct Sites {
    random: Random,
    /// Older patients, and worse outcomes.
    draws: Vec<(f64, f64)>,
}

impl Sites {
    fn new() -> Self {
        let mut random = Random(ChaCha8Rng::seed_from_u64(SITE_SEED));
        let draws = (0..SITES).map(|_| (random.normal(), random.normal())).collect();
        Sites { random, draws }
    }

    /// The site of a patient, counted from 1.
    fn site(&mut self, older: f64, cost: f64) -> usize {
        let pull = |(a, b): &(f64, f64)| (0.35 * a * older / 11.0 + 0.08 * b * (cost - 0.47)).exp();
        let pulls: Vec<f64> = self.draws.iter().map(pull).collect();
        let mut left = self.random.uniform() * pulls.iter().sum::<f64>();
        let mut site = 1;
        for pull in &pulls[..SITES - 1] {
            left -= pull;
            if left < 0.0 {
                break;
            }
            site += 1;
        }
        site
    }
}

struct Random(ChaCha8Rng);

impl Random {
    /// Uniform on (0, 1).
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    fn normal(&mut self) -> f64 {
        let (u, v) = (self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// True with the probability that a logit stands for.
    fn event(&mut self, logit: f64) -> bool {
        self.chance(1.0 / (1.0 + (-logit).exp()))
    }

    fn patient(&mut self, number: usize, sites: &mut Sites, text: &mut String) {
        let age = (72.0 + 11.0 * self.normal()).clamp(30.0, 99.0).floor();
        let systolic = (160.0 + 27.0 * self.normal()).clamp(80.0, 259.0).floor();
        let sex = if self.chance(0.42 + 0.006 * (age - 70.0)) { "F" } else { "M" };
        let stroke = match self.uniform() {
            u if u < 0.24 => "LACS",
            u if u < 0.36 => "POCS",
            u if u < 0.76 => "PACS",
            _ => "TACS",
        };
        let is = |holds: bool| f64::from(u8::from(holds));
        let older = age - 72.0;
        let drowsy = 1.0 / (1.0 + (1.9 - 0.02 * older - is(stroke == "TACS")).exp());
        let conscious = match self.uniform() {
            u if u < 0.1 * drowsy => "unconscious",
            u if u < 1.1 * drowsy => "drowsy",
            _ => "alert",
        };
        let woke = if self.chance(0.29) { "Y" } else { "N" };
        let treat = self.chance(0.5);
        let t = is(treat);
        let severity = 0.04 * older
            + is(conscious == "drowsy")
            + 2.2 * is(conscious == "unconscious")
            + 0.7 * is(stroke == "TACS")
            - 0.5 * is(stroke == "LACS");
        let harm = -0.5 + 0.05 * older + 0.5 * is(conscious != "alert");
        let dead = if self.event(-3.0 + severity + t * harm) { "Y" } else { "N" };
        let ischaemic = u8::from(self.event(-3.1 + 0.2 * severity - 0.6 * t));
        let haemorrhage = u8::from(self.event(-5.0 + 1.2 * t + 0.01 * (systolic - 160.0)));
        let bleed = u8::from(self.event(-4.6 + 1.1 * t));
        let arm = if treat { "treat" } else { "control" };
        let events = f64::from(ischaemic + haemorrhage + bleed);
        let site = sites.site(older, events + 3.0 * is(dead == "Y"));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{number},{conscious},{sex},{age},{woke},{systolic},{stroke},{arm},{ischaemic},\
             {haemorrhage},{bleed},{dead},S{site:02}"
        );
    }
}
