//! Which radii are recommended, and why, in words.

use super::TargetDistance;
use crate::words::{percent, short};
use seawall::Set;

/// How much further than chance a radius goes that is to cover more, where there is no target.
const FURTHER: f64 = 10.0;

/// What the radii are around, and what none of them covers, where there is a target.
pub(super) fn centre_words(target: Option<&TargetDistance>, around_target: bool) -> String {
    let Some(target) = target else { return String::new() };
    let mut words = if around_target {
        format!(
            ". Radii are around the target, as evaluate's are with this study; from the log it is {} away",
            short(target.distance)
        )
    } else {
        ". Radii are around the log; evaluate --target starts at the target, and only chance \
                  is left to cover there"
            .to_owned()
    };
    if let Some(strata) = target.strata.as_ref().filter(|s| s.total_variation > 0.0) {
        words.push_str(&format!(
            ". The shift of {} by {} no radius covers",
            strata.columns.join(", "),
            percent(strata.total_variation)
        ));
    }
    words
}

/// What to ask for, and why.
pub(super) fn recommended(chance: f64, saturation: f64, target: Option<f64>) -> (Vec<f64>, String) {
    if saturation <= 0.0 {
        let words = "the values do not vary within reach: no radius changes anything".to_owned();
        return (vec![0.0], words);
    }
    // Past saturation nothing changes.
    let last = rounded(saturation);
    let noise = rounded(chance).min(last);
    let covers = if chance < saturation {
        format!("{} covers chance alone", short(noise))
    } else {
        format!("nothing short of {}, where all is said, covers chance", short(noise))
    };
    let (beyond, why) = match target {
        Some(far) if far <= noise => {
            (noise, format!("the target is {} away, no further than chance: {covers}", short(far)))
        }
        Some(far) if far >= saturation => {
            (last, format!("{covers}; the target is {} away, beyond all that matters", short(far)))
        }
        Some(far) => {
            let up = rounded(far).min(last);
            (up, format!("{covers}; the target is {} away: {} covers it", short(far), short(up)))
        }
        None => {
            let more = rounded(FURTHER * chance).min(last);
            let words =
                format!("{covers}; {} is up to ten times that, for more than chance", short(more));
            (more, words)
        }
    };
    let all = if beyond > noise { vec![noise, beyond] } else { vec![noise] };
    let end = short(saturation);
    let words = format!(
        "{why}. Beyond {end} everyone sits where the values are worst: larger radii say nothing more"
    );
    (all, words)
}

/// Two significant digits, upwards: a radius is to cover something.
fn rounded(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let exponent = x.log10().floor() - 1.0;
    let digits = (x / 10f64.powf(exponent) - 1e-9).ceil();
    format!("{digits}e{exponent}").parse().unwrap_or(x)
}

/// The line for the study file.
pub(super) fn line(set: Set, radii: &[f64]) -> String {
    let list = radii.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    let parameters: String =
        set.parameters().iter().map(|(name, value)| format!(", {name} = {value}")).collect();
    format!("context = {{ set = \"{}\"{parameters}, radius = [{list}] }}", set.name())
}
