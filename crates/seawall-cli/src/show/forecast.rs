//! What a long solve will take, on standard error.

use seawall_study::forecast::Forecast;

/// Says it, if there is anything to say.
pub fn say(forecast: Option<Forecast>) {
    if let Some(forecast) = forecast {
        super::complain("note", &words(&forecast));
    }
}

/// How long, why, and what else there is.
fn words(forecast: &Forecast) -> String {
    let (points, columns) = (grouped(forecast.points), forecast.columns);
    let place = if forecast.pairs { "points" } else { "cells" };
    let columns = if columns == 1 { "1 column".to_owned() } else { format!("{columns} columns") };
    let (how, else_there_is) = match forecast.pairs {
        true => (
            "every pair of them is looked at",
            "--support space takes seconds with a tree or an additive model, and columns in bins \
             take less",
        ),
        false => (
            "all of them are passed over at every step",
            "wider bins or fewer columns take less, and so does --support observed",
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
    fn long_solves_are_told_in_words() {
        let pairs = Forecast { seconds: 243.0, points: 100_000, columns: 30, pairs: true };
        assert_eq!(
            words(&pairs),
            "about 4 minutes: 100,000 points in 30 columns, every pair of them is looked at; \
             --support space takes seconds with a tree or an additive model, and columns in bins \
             take less"
        );
        let grid = Forecast { seconds: 5400.0, points: 12_345_678, columns: 1, pairs: false };
        assert!(
            words(&grid).starts_with("about 2 hours: 12,345,678 cells in 1 column, all of them")
        );
        assert_eq!(
            [time(12.4), time(60.0 * 1.6), time(1e6)],
            ["12 seconds", "2 minutes", "12 days"]
        );
    }
}
