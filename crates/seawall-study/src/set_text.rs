//! What people read of each ambiguity set: one paragraph for each, by its name.

use seawall::Set;

/// What is said of a set.
pub struct SetText {
    name: &'static str,
    /// What a radius measures, in sentences.
    pub away: &'static str,
    /// What it is called among statisticians and how it is solved; a parameter's name in braces stands for
    /// its value.
    method: &'static str,
    /// What a fixed column means, as the rest of a sentence; None where nobody moves across it.
    pub fixed: Option<&'static str>,
    /// How columns count, as the rest of a sentence, where the ground cost does not say it.
    pub coding: Option<&'static str>,
    /// What makes its worst case worse where contexts stay as they are, in a few words.
    pub fears: Option<&'static str>,
    /// What becomes of the people of a set that moves nobody, in a few words.
    pub fate: &'static str,
}

/// What is said of a set that moves mass, where it says nothing else.
const MOVES: SetText = SetText {
    name: "",
    away: "“Away” is measured by what it costs to turn one population into the other.",
    method: "{set}, solved exactly",
    fixed: None,
    coding: None,
    fears: None,
    fate: "nobody moves; people are weighed anew",
};

/// The same of one that does not.
const REWEIGHTS: SetText = SetText {
    fixed: Some("nobody moves, and people are weighed anew: shares of its levels may shift"),
    ..MOVES
};

const TEXTS: &[SetText] = &[
    SetText { name: "wasserstein", method: "Wasserstein, solved exactly", ..MOVES },
    SetText { name: "entropic", method: "entropic Wasserstein, η = {eta}", ..MOVES },
    SetText {
        name: "kl",
        away: "“Away” is a Kullback–Leibler divergence, in nats: nobody moves, people are weighed \
               anew, and contexts that nobody was seen in keep no weight.",
        method: "Kullback–Leibler, solved exactly",
        ..REWEIGHTS
    },
    SetText {
        name: "tv",
        away: "“Away” is the share of the people who are replaced by others, of any context there is, \
               seen or not, however far it is.",
        method: "total variation, solved exactly",
        fixed: Some("people are replaced by others of any level, of a fixed column too"),
        fate: "people are replaced by others, wherever those are",
        ..REWEIGHTS
    },
    SetText {
        name: "chi2",
        away: "“Away” is a χ² divergence: nobody moves, people are weighed anew, and contexts that \
               nobody was seen in keep no weight.",
        method: "χ², solved exactly",
        ..REWEIGHTS
    },
    SetText {
        name: "cressie-read",
        away: "“Away” is a Cressie–Read divergence: nobody moves, people are weighed anew; contexts that \
               nobody was seen in may gain weight if k is below 1, however far they are, and keep none \
               otherwise.",
        method: "Cressie–Read, k = {k}, solved exactly",
        ..REWEIGHTS
    },
    SetText {
        name: "hellinger",
        away: "“Away” is a squared Hellinger distance, from 0 to 2: nobody moves, people are weighed \
               anew, and contexts that nobody was seen in may gain weight, however far they are.",
        method: "Hellinger, solved exactly",
        ..REWEIGHTS
    },
    SetText {
        name: "burg",
        away: "“Away” is a reverse Kullback–Leibler divergence (Burg), in nats: nobody moves, people are \
               weighed anew but none of them to nothing, and contexts that nobody was seen in may gain \
               weight, however far they are.",
        method: "reverse Kullback–Leibler (Burg), solved exactly",
        ..REWEIGHTS
    },
    SetText {
        name: "cvar",
        away: "“Away” is the share of the people who are left out (1 − α of CVaR at level α): nobody \
               moves, people are weighed anew, and contexts that nobody was seen in keep no weight.",
        method: "conditional value at risk, solved exactly",
        ..REWEIGHTS
    },
    SetText {
        name: "couplings",
        away: "Only populations that meet what is known of the target count. “Away” is measured by \
               what it costs to turn one population into the other. Without a radius every population \
               that meets what is known counts.",
        ..MOVES
    },
    SetText {
        name: "sinkhorn",
        away: "“Away” is what it costs to move people who are spread out: everybody is spread over \
               the places around where they were, at radius 0 too, and the further the larger kappa \
               is; being anywhere more surely than that costs kappa for every nat.",
        ..MOVES
    },
    SetText {
        name: "moments",
        away: "“Away” scales a moment set: at radius 1 means may shift by √gamma1 standard deviations and \
               second moments grow by the factor gamma2, wherever people are then, seen or not.",
        fixed: Some("shares of its levels may shift, as any mean may"),
        coding: Some(
            "a nominal or fixed column counts as an indicator of each level but the commonest, a missing \
             value as one of its own: its means are the shares of these levels, and may shift too",
        ),
        fate: "means and spreads may shift, wherever people are then",
        ..REWEIGHTS
    },
    SetText {
        name: "mmd",
        away: "“Away” is a maximum mean discrepancy: how far apart two populations' means can be for a \
               function of norm 1 of the kernel, whose values are those of neighbours but for the \
               bandwidth. People are weighed anew and may be where nobody was seen.",
        fixed: Some(
            "the kernel is 0 across levels of a fixed column, so people of one level say nothing of \
             another; their shares may shift",
        ),
        fate: "means of a kernel's features may shift, wherever people are then",
        ..REWEIGHTS
    },
    SetText {
        name: "joint-kl",
        away: "“Away” is a Kullback–Leibler divergence, in nats: nobody moves; people and what happens \
               to them are weighed anew together, so that outcomes too may be worse than those seen.",
        fears: Some("more people with bad outcomes"),
        ..REWEIGHTS
    },
    SetText {
        name: "joint-kl-dr",
        away: "“Away” is a Kullback–Leibler divergence, in nats: nobody moves; people and what happens \
               to them are weighed anew together, so that outcomes too may be worse than those seen. \
               What the policy would have met is estimated doubly robustly.",
        fears: Some("more people with bad outcomes"),
        ..REWEIGHTS
    },
    SetText {
        name: "joint-wasserstein",
        away: "“Away” is measured by what it costs to turn one population into the other: people move to \
               other contexts at the ground cost, and what would happen to them under each action may \
               change, each unit of it at a price, kappa, that says how dear that is.",
        fears: Some("worse outcomes for the same people"),
        ..MOVES
    },
];

/// What is said of a set.
pub fn of(set: Set) -> &'static SetText {
    let general = if set.moves_mass() { &MOVES } else { &REWEIGHTS };
    TEXTS.iter().find(|text| text.name == set.name()).unwrap_or(general)
}

/// What a set is called among statisticians, and how it is solved.
pub fn method(set: Set) -> String {
    let mut text = of(set).method.replace("{set}", &set.to_string());
    for (name, _) in set.parameters() {
        if let Some(value) = set.parameter(name) {
            text = text.replace(&format!("{{{name}}}"), &value.to_string());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_set_has_its_paragraph_and_no_name_is_left_in_braces() {
        let named: Vec<&str> = TEXTS.iter().map(|text| text.name).collect();
        assert_eq!(named, Set::names().collect::<Vec<_>>());
        for name in named {
            let set = Set::example(name, &[]).unwrap();
            assert!(!of(set).away.is_empty() && !method(set).contains('{'), "{}", method(set));
        }
    }
}
