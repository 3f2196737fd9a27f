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
//! ```
//!
//! So the treatment helps younger, alert patients and harms older, drowsy ones: a rule for all
//! must choose, and a shift of the population changes which rule is best.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::fmt::Write;

/// The seed of the trial.
const SEED: u64 = 2024;
/// Patients.
const PATIENTS: usize = 6000;

/// The study file that goes with the trial.
pub const STUDY: &str = include_str!("demo.toml");
/// The name that the study file knows the data by.
pub const DATA: &str = "trial.csv";

/// The trial as CSV; the same bytes every time.
pub fn trial() -> String {
    let mut random = Random(ChaCha8Rng::seed_from_u64(SEED));
    let mut text = String::from(
        "patient,conscious,sex,age,woke,systolic,stroke,arm,ischaemic,haemorrhage,bleed,dead\n",
    );
    for patient in 1..=PATIENTS {
        random.patient(patient, &mut text);
    }
    text
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

    fn patient(&mut self, number: usize, text: &mut String) {
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
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{number},{conscious},{sex},{age},{woke},{systolic},{stroke},{arm},{ischaemic},\
             {haemorrhage},{bleed},{dead}"
        );
    }
}
