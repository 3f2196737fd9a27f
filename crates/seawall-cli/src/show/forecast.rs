//! What a long command will take, on standard error, once.
//!
//! Of a solve it is known before it is begun. Of what is repeated (draws, halves, groups, fits) it is
//! told by the first of them.

use seawall::{Progress, Stage};
use seawall_study::forecast::{Forecast, Work};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What takes less than this is not worth a word.
const LONG: Duration = Duration::from_secs(60);
/// The first of what is repeated are looked at for so long.
const FIRST: Duration = Duration::from_secs(3);

/// Evaluations in a worst case, about.
const EVALUATIONS: f64 = 12.0;

/// Whether something was said: once is enough.
static SAID: AtomicBool = AtomicBool::new(false);

/// Says it, if there is anything to say.
pub fn say(forecast: Option<Forecast>) {
    if let Some(forecast) = forecast {
        once(&words(&forecast));
    }
}

fn once(words: &str) {
    if !SAID.swap(true, Ordering::Relaxed) {
        super::complain("note", words);
    }
}

/// Says what was not known before: that it has taken long, and how far it is.
pub fn overdue(taken: Duration, progress: &Progress<'_>) {
    if taken >= LONG {
        once(&format!(
            "more than a minute ({progress}), and nothing says how much is left; Ctrl-C ends it"
        ));
    }
}

/// Looks at what is repeated, one thing perhaps within the other.
#[derive(Default)]
pub struct Repeated(Mutex<Vec<Begun>>);

/// When the first of them began.
#[derive(Debug)]
struct Begun {
    stage: &'static str,
    of: usize,
    done: usize,
    /// How much was done when it was looked at last.
    last: usize,
    at: Instant,
}

impl Begun {
    /// How much was done since, and in what time. Less done than before is a new beginning: one evaluation
    /// follows another under the same name. Threads that tell a little late begin nothing.
    fn since(&mut self, done: usize, now: Instant) -> (usize, Duration) {
        if 2 * done < self.last || done < self.done {
            (self.done, self.at) = (done, now);
        }
        self.last = done;
        (done - self.done, now.duration_since(self.at))
    }
}

impl Repeated {
    /// Looks at how far it has got, and says how long it takes if that is long.
    pub fn look(&self, progress: &Progress<'_>) {
        let (Some((stage, less)), Some(of)) = (repeated(progress.stage), progress.of) else {
            return;
        };
        // Whoever else is looking sees as much.
        let Ok(mut begun) = self.0.try_lock() else { return };
        let (done, at) = (progress.done, Instant::now());
        let Some(first) = begun.iter_mut().find(|b| b.stage == stage && b.of == of) else {
            begun.push(Begun { stage, of, done, last: done, at });
            return;
        };
        let (done, took) = first.since(done, at);
        if took < FIRST || done == 0 {
            return;
        }
        let times = if progress.stage == Stage::Evaluating { EVALUATIONS } else { 1.0 };
        let seconds = took.as_secs_f64();
        let whole = times * seconds * of as f64 / done as f64;
        if whole >= LONG.as_secs_f64() {
            let whole = time(whole);
            once(&format!(
                "about {whole}: {stage}, {done} of {of} took {seconds:.0} seconds; {less}"
            ));
        }
    }
}

/// What is repeated in a stage, if anything is whose number is known, and what takes less.
fn repeated(stage: Stage<'_>) -> Option<(&'static str, &'static str)> {
    Some(match stage {
        Stage::Halving => ("halving the rows", "fewer halves (--splits) take less"),
        Stage::Halves => ("distances by chance", "fewer splits (--splits) take less"),
        Stage::Groups => ("leaving out recorded groups", "fewer groups take less"),
        Stage::Policy(_) => ("solving set by set", "fewer sets (--set) take less"),
        Stage::Descending => ("stochastic steps", "fewer (--steps) take less"),
        Stage::Fitting => ("fitting models", "a simpler kind under [model] takes less"),
        Stage::Evaluating => (
            "a dozen evaluations for each worst case, of the first of which",
            "wider bins, fewer columns or --support observed take less",
        ),
        Stage::Outcomes => ("worst cases of outcomes", "fewer leaves or cost radii take less"),
        _ => return None,
    })
}

/// How long, why, and what else there is.
fn words(forecast: &Forecast) -> String {
    let (points, columns) = (grouped(forecast.points), forecast.columns);
    let columns = if columns == 1 { "1 column".to_owned() } else { format!("{columns} columns") };
    let (place, how, else_there_is) = match forecast.work {
        Work::Pairs => (
            "points",
            "every pair of them is looked at".to_owned(),
            "--support space takes seconds with a tree or an additive model, and columns in bins \
             take less",
        ),
        Work::Branches => (
            "points",
            "a tree of them is searched for each".to_owned(),
            "columns in bins take less",
        ),
        Work::Cells => (
            "cells",
            "all of them are passed over at every step".to_owned(),
            "wider bins or fewer columns take less, and so does --support observed",
        ),
        Work::Systems(set) => (
            "points",
            format!("systems with all of them are solved for {}", set.name()),
            "wider bins or --support observed take less, and other sets far less",
        ),
        Work::Trees(depth) => (
            "places",
            format!(
                "trees of depth {depth} are searched for among all of them, some dozens of times"
            ),
            "a lower depth takes far less, and so do wider bins or fewer columns",
        ),
        Work::Plan(others) => (
            "points",
            format!("a plan to {} others is found", grouped(others)),
            "wider bins or fewer columns, so that rows coincide, take less",
        ),
    };
    format!(
        "about {}: {points} {place} in {columns}, {how}; {else_there_is}",
        time(forecast.seconds)
    )
}

/// Seconds as people say them.
fn time(seconds: f64) -> String {
    let (count, unit) = match seconds {
        s if s < 90.0 => (s, "second"),
        s if s < 5400.0 => (s / 60.0, "minute"),
        s if s < 130_000.0 => (s / 3600.0, "hour"),
        s => (s / 86_400.0, "day"),
    };
    let count = count.round();
    format!("{count} {unit}{}", if count == 1.0 { "" } else { "s" })
}

/// 100,000.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_evaluation_after_another_is_not_one_long_one() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut begun = Begun { stage: "one", of: 8000, done: 400, last: 400, at: start };
        assert_eq!(begun.since(7600, at(1)), (7200, Duration::from_secs(1)));
        // The next evaluation passes where the first one was seen first.
        assert_eq!(begun.since(600, at(2)), (0, Duration::ZERO));
        assert_eq!(begun.since(7600, at(3)), (7000, Duration::from_secs(1)));
        // A thread that tells late.
        assert_eq!(begun.since(7590, at(4)), (6990, Duration::from_secs(2)));
    }

    #[test]
    fn long_solves_are_told_in_words() {
        let pairs = Forecast { seconds: 243.0, points: 100_000, columns: 30, work: Work::Pairs };
        assert_eq!(
            words(&pairs),
            "about 4 minutes: 100,000 points in 30 columns, every pair of them is looked at; \
             --support space takes seconds with a tree or an additive model, and columns in bins \
             take less"
        );
        let grid = Forecast { seconds: 5400.0, points: 12_345_678, columns: 1, work: Work::Cells };
        assert!(
            words(&grid).starts_with("about 2 hours: 12,345,678 cells in 1 column, all of them")
        );
        let mmd = Work::Systems("mmd".parse().unwrap());
        let systems = Forecast { seconds: 70.0, points: 5000, columns: 2, work: mmd };
        assert!(words(&systems).starts_with(
            "about 70 seconds: 5,000 points in 2 columns, systems with all of them are solved for mmd"
        ));
        assert_eq!(
            [time(12.4), time(60.0 * 1.6), time(1e6)],
            ["12 seconds", "2 minutes", "12 days"]
        );
    }
}
