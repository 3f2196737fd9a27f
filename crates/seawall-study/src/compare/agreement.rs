//! Which sets agree on the decision, which do not count, what is feared, and what chance leaves of it.

use super::answer::{Agreement, Choice, ComparedSet, Feared, OnLog};
use seawall::evaluate::Estimate;
use seawall::{Direction, Set};

impl OnLog {
    /// Words it.
    pub(super) fn new(
        (policy, against): (&str, &str),
        difference: Estimate,
        direction: Direction,
    ) -> Self {
        let ends = difference.interval.map(|i| match direction {
            Direction::Cost => (i.lower, i.upper),
            Direction::Reward => (-i.upper, -i.lower),
        });
        let told = ends.is_some_and(|(_, high)| high < 0.0);
        let start = format!(
            "As fitted; on the log itself the difference {policy} − {against} is {}",
            crate::words::estimate(&difference)
        );
        let sentence = match (told, ends.is_some_and(|(low, _)| low > 0.0)) {
            (true, _) => format!("{start}: {policy} is better by more than noise."),
            (_, true) => format!(
                "{start}: {against} is better there by more than noise, so {policy} is chosen for the \
                 shift alone."
            ),
            _ => format!("{start}: too close to call, so no set crowns anybody."),
        };
        OnLog { policy: policy.to_owned(), against: against.to_owned(), difference, told, sentence }
    }
}

impl Agreement {
    /// Of the sets that count, each once.
    pub(super) fn of(sets: &[ComparedSet], policies: &[String]) -> Self {
        let mut counted: Vec<&ComparedSet> = Vec::new();
        for one in sets.iter().filter(|s| s.counts()) {
            if !counted.iter().any(|c| c.set.also() == one.set.also()) {
                counted.push(one);
            }
        }
        let (mut choices, mut fears): (Vec<Choice>, Vec<Feared>) = (Vec::new(), Vec::new());
        for policy in policies.iter().filter(|_| policies.len() > 1) {
            let own = counted.iter().filter(|s| s.best.contains(policy)).map(|s| s.set);
            choices.push(Choice { policy: policy.clone(), sets: own.collect() });
        }
        choices.retain(|c| !c.sets.is_empty());
        for one in &counted {
            match fears.iter_mut().find(|f| f.change == one.fears) {
                Some(feared) => feared.sets.push(one.set),
                None => fears.push(Feared { change: one.fears.clone(), sets: vec![one.set] }),
            }
        }
        // Stable: of equally many the first stays first.
        choices.sort_by_key(|c| std::cmp::Reverse(c.sets.len()));
        fears.sort_by_key(|f| std::cmp::Reverse(f.sets.len()));
        let agree = choices.first().map(|c| c.sets.len() == counted.len());
        let mut found = Agreement { agree, choices, fears, sentences: Vec::new() };
        found.sentences.extend(found.chosen(&counted, policies));
        found.sentences.extend(tied(&counted));
        found.sentences.extend(found.feared(counted.len()));
        found.sentences.extend(not_counted(sets, &counted));
        found
    }

    /// Who is chosen.
    fn chosen(&self, counted: &[&ComparedSet], policies: &[String]) -> Option<String> {
        let count = counted.len();
        let Some(first) = self.choices.first() else {
            return Some(match (count, policies) {
                (0, _) => "No set has an answer that counts.".to_owned(),
                (_, [only]) => format!("{only} stands alone: a choice needs two policies or more."),
                _ => "No set chooses anybody.".to_owned(),
            });
        };
        if self.agree == Some(true) {
            let all = self.choices.iter().filter(|c| c.sets.len() == count);
            let all: Vec<String> = all.map(|c| c.policy.clone()).collect();
            let whom = alike(&all, str::to_owned);
            return Some(match count {
                1 => format!("{} chooses {whom}, as fitted.", listed(&first.sets)),
                2 => format!("Both sets choose {whom}, as fitted."),
                _ => format!("All {count} sets choose {whom}, as fitted."),
            });
        }
        let mut others: Vec<(&[String], Vec<Set>)> = Vec::new();
        for one in counted.iter().filter(|s| !s.best.contains(&first.policy)) {
            match others.iter_mut().find(|(best, _)| *best == &one.best[..]) {
                Some((_, sets)) => sets.push(one.set),
                None => others.push((&one.best, vec![one.set])),
            }
        }
        let told = |(best, sets): &(&[String], Vec<Set>)| {
            format!("{} by {}", alike(best, str::to_owned), listed(sets))
        };
        let others: Vec<String> = others.iter().map(told).collect();
        Some(format!(
            "The sets do not agree: as fitted, {} is chosen by {} of {count}; {}.",
            first.policy,
            first.sets.len(),
            others.join("; ")
        ))
    }

    /// What is feared, by whom.
    fn feared(&self, count: usize) -> Option<String> {
        let told = |f: &Feared| match &f.change {
            Some(change) => format!("{change} by {}", listed(&f.sets)),
            None => format!("nothing by {}", listed(&f.sets)),
        };
        let feared: Vec<String> = self.fears.iter().map(told).collect();
        Some(match &self.fears[..] {
            [] => return None,
            [only] if count > 1 => match &only.change {
                Some(change) if count == 2 => format!("Both fear {change}."),
                Some(change) => format!("All {count} fear {change}."),
                None => "None fears anything.".to_owned(),
            },
            _ => format!("Feared: {}.", feared.join("; ")),
        })
    }
}

/// Sets of which several policies are best alike.
fn tied(counted: &[&ComparedSet]) -> Vec<String> {
    let mut all: Vec<(&[String], Vec<Set>)> = Vec::new();
    for one in counted.iter().filter(|s| s.best.len() > 1) {
        match all.iter_mut().find(|(best, _)| *best == &one.best[..]) {
            Some((_, sets)) => sets.push(one.set),
            None => all.push((&one.best, vec![one.set])),
        }
    }
    let told = |(best, sets): (&[String], Vec<Set>)| {
        format!("{}: {}.", listed(&sets), alike(best, str::to_owned))
    };
    all.into_iter().map(told).collect()
}

/// Sets that have an answer and do not count, with the reason.
fn not_counted(sets: &[ComparedSet], counted: &[&ComparedSet]) -> Vec<String> {
    let beyond: Vec<Set> = sets.iter().filter(|s| s.beyond).map(|s| s.set).collect();
    let mut all = Vec::new();
    if !beyond.is_empty() {
        all.push(format!("{}: already beyond the goal at radius 0: not counted.", listed(&beyond)));
    }
    let twice = sets.iter().filter(|s| s.counts() && !counted.iter().any(|c| c.set == s.set));
    for one in twice {
        let same = counted.iter().find(|c| c.set.also() == one.set.also());
        all.extend(same.map(|c| {
            format!("{} is {} with a radius of another unit: counted once.", one.set, c.set)
        }));
    }
    all
}

/// Policies that are best alike, in words: `a`, `a and b alike`.
pub fn alike(best: &[String], tell: impl Fn(&str) -> String) -> String {
    let names: Vec<String> = best.iter().map(|name| tell(name)).collect();
    match &names[..] {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last} alike", first.join(", ")),
    }
}

fn listed(sets: &[Set]) -> String {
    sets.iter().map(Set::to_string).collect::<Vec<_>>().join(", ")
}
