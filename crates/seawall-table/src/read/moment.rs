//! Dates and times as ISO 8601 writes them: `2019-11-27`, `2019-11-27T10:00:00.5+01:00`.
//!
//! A time without a zone is taken for UTC, as the reader writes those of other zones.

const DAY: i128 = 86_400_000_000_000;

/// A day, or an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Nanoseconds since 1970 at its start.
    first: i128,
    /// And at its end: a day's last one, an instant itself.
    last: i128,
}

impl Moment {
    /// A text as a date or a time, if it is one.
    pub fn parse(text: &str) -> Option<Self> {
        let (date, time) = match text.find(['T', 't', ' ']) {
            Some(at) => (&text[..at], Some(&text[at + 1..])),
            None => (text, None),
        };
        let midnight = i128::from(days(date)?) * DAY;
        match time {
            None => Some(Moment { first: midnight, last: midnight + DAY - 1 }),
            Some(time) => {
                let first = midnight + nanoseconds(time)?;
                Some(Moment { first, last: first })
            }
        }
    }

    /// Its first and its last nanosecond, written `2019-11-27T10:00:00.000000000`: so that texts are in
    /// the order of times.
    pub fn written(self) -> (String, String) {
        (stamp(self.first), stamp(self.last))
    }

    /// Whether it begins no earlier than another does.
    pub(crate) fn not_before(self, other: Moment) -> bool {
        self.first >= other.first
    }

    /// Whether it begins no later than another ends: a day's last second is of that day.
    pub fn not_after(self, other: Moment) -> bool {
        self.first <= other.last
    }
}

/// Nanoseconds since 1970 as a time of the years 0 to 9999.
fn stamp(at: i128) -> String {
    let (day, rest) = (at.div_euclid(DAY), at.rem_euclid(DAY));
    // Years that begin in March, in eras of 400 years: the inverse of `days`.
    let days = day as i64 + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * march + 2) / 5 + 1, (march + 2) % 12 + 1);
    let year = (era * 400 + year + i64::from(month <= 2)).clamp(0, 9999);
    let (seconds, part) = (rest / 1_000_000_000, rest % 1_000_000_000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{part:09}")
}

/// Digits alone, so many of them.
fn digits(text: &str, count: usize) -> Option<i64> {
    let fits = text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    if fits { text.parse().ok() } else { None }
}

/// Days from 1970 to a date `YYYY-MM-DD`.
fn days(date: &str) -> Option<i64> {
    let mut parts = date.split('-');
    let year = digits(parts.next()?, 4)?;
    let month = digits(parts.next()?, 2).filter(|m| (1..=12).contains(m))?;
    let day = digits(parts.next()?, 2)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if parts.next().is_some() || !(1..=length).contains(&day) {
        return None;
    }
    // Years that begin in March: the leap day is then a year's last.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let before = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(before + (153 * month + 2) / 5 + day - 1 - 719_468)
}

/// Nanoseconds from midnight of UTC to `HH:MM[:SS[.fraction]][zone]`.
fn nanoseconds(time: &str) -> Option<i128> {
    let (clock, east) = match time.find(['Z', 'z', '+', '-']) {
        None => (time, 0),
        Some(at) if time[at..].eq_ignore_ascii_case("z") => (&time[..at], 0),
        Some(at) => {
            let zone = time[at + 1..].replace(':', "");
            let minutes = digits(zone.get(..2)?, 2)? * 60
                + if zone.len() == 2 { 0 } else { digits(&zone[2..], 2)? };
            (&time[..at], if time[at..].starts_with('-') { -minutes } else { minutes })
        }
    };
    let (clock, fraction) = clock.trim_end().split_once('.').unwrap_or((clock.trim_end(), "0"));
    let mut parts = clock.split(':');
    let hour = digits(parts.next()?, 2).filter(|h| *h < 24)?;
    let minute = digits(parts.next()?, 2).filter(|m| *m < 60)?;
    let second = parts.next().map_or(Some(0), |s| digits(s, 2).filter(|s| *s <= 60))?;
    if parts.next().is_some() || fraction.is_empty() || fraction.len() > 18 {
        return None;
    }
    let part = digits(fraction, fraction.len())?;
    let part = i128::from(part) * 1_000_000_000 / 10i128.pow(fraction.len() as u32);
    let seconds = ((hour * 60 + minute) * 60 + second) - east * 60;
    Some(i128::from(seconds) * 1_000_000_000 + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for day in (-719_000..2_900_000).step_by(367) {
            let at = i128::from(day) * DAY + 45_296_000_000_007;
            assert_eq!(Moment::parse(&stamp(at)).unwrap().first, at, "{}", stamp(at));
        }
        let (first, last) = Moment::parse("2020-02-29").unwrap().written();
        assert_eq!(
            (&*first, &*last),
            ("2020-02-29T00:00:00.000000000", "2020-02-29T23:59:59.999999999")
        );
    }

    #[test]
    fn days_and_instants() {
        let first = |text: &str| Moment::parse(text).unwrap().first;
        assert_eq!(first("1970-01-01"), 0);
        assert_eq!(first("2019-11-27"), 1_574_812_800_000_000_000);
        assert_eq!(first("2000-02-29") + DAY, first("2000-03-01"));
        assert_eq!(first("1969-12-31T23:59:59.5"), -500_000_000);
        assert_eq!(first("2019-11-27T10:00:00+01:00"), first("2019-11-27 09:00:00Z"));
        assert_eq!(first("2019-11-27 09:00:00 +0000"), first("2019-11-27T09:00"));
        for text in ["2019", "2019-13-01", "2019-02-29", "27.11.2019", "2019-11-27T25:00", "NA"] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
        let (day, noon) = (Moment::parse("2019-11-27").unwrap(), Moment::parse("2019-11-27T12:00"));
        assert!(noon.unwrap().not_after(day) && noon.unwrap().not_before(day));
        assert!(!Moment::parse("2019-11-28").unwrap().not_after(day));
    }
}
