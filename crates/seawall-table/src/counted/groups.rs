//! Rows counted by everything that a study looks at: what becomes a counted table.

use super::layout::{LEFT_OUT, LeftOut, N, Role};
use super::table::{Cells, CountedTable};
use crate::combine::{BinColumn, Sums, Tuples};
use crate::read::{BinnedColumn, Columns, Distinct, Reading, Seen};
use crate::spec::{DataSpec, Term};
use seawall::{Error, Kind, Result};

/// A column that rows are counted by: its role, its name, where it is read.
pub(crate) type Place = (Role, String, usize);

/// Codes of a group beside those of its columns: why it is left out, and its action.
const FIRST: usize = 2;

struct Column {
    place: Place,
    /// Whether it is read as numbers and not by codes.
    numbers: bool,
    /// Whether it is kept of rows that are left out: levels of an outcome are looked for in every row.
    always: bool,
    /// Where it is cut into bins: what they hold, group by group.
    held: Option<BinColumn>,
}

/// What was counted so far.
pub(crate) struct Groups {
    columns: Vec<Column>,
    /// How many columns have codes, those beside the table's among them, and how many have numbers.
    kinds: (usize, usize),
    /// A group is in one of them only.
    shards: Vec<Counted>,
}

/// Groups that were counted together.
struct Counted {
    /// By why they are left out, their action, and each column's code or number: not by a counter's own
    /// numbers, which start anew when counts go to a file.
    ids: Tuples,
    counts: Vec<u64>,
    /// For each column that is cut into bins, what each group holds there.
    sums: Vec<Vec<Sums>>,
    /// The numbers of a row.
    numbers: Vec<f64>,
}

/// Takes in the rows of some groups.
pub(crate) struct GroupShard<'g> {
    columns: &'g [Column],
    counted: &'g mut Counted,
}

impl GroupShard<'_> {
    /// Counts a row with its action, or one that is left out and why; `times` rows in all.
    pub(crate) fn take(
        &mut self,
        (columns, row): (&Columns<'_>, usize),
        action: std::result::Result<u32, LeftOut>,
        times: f64,
    ) {
        let used = action.is_ok();
        let first = match action {
            Ok(action) => [0, action],
            Err(LeftOut::Conditions) => [1, 0],
            Err(_) => [2, 0],
        };
        let number = |column: &Column| match columns.numbers[column.place.2][row] {
            x if used && !x.is_nan() => x + 0.0,
            _ => f64::NAN,
        };
        let Counted { ids, counts, sums, numbers } = &mut *self.counted;
        numbers.clear();
        numbers.extend(self.columns.iter().filter(|column| column.numbers).map(number));
        let code = |column: &Column| {
            if used || column.always { columns.codes[column.place.2][row] } else { 0 }
        };
        let codes = self.columns.iter().filter(|column| !column.numbers).map(code);
        let group = ids.id(first.into_iter().chain(codes), numbers) as usize;
        if group == counts.len() {
            counts.push(0);
        }
        counts[group] += times as u64;
        for (column, sums) in self.columns.iter().filter_map(|c| c.held.as_ref()).zip(sums) {
            sums.resize(counts.len(), Sums::default());
            if let Some(numbers) = column.numbers(columns, row).filter(|_| used) {
                sums[group].add(times, numbers);
            }
        }
    }
}

impl Groups {
    /// Nothing counted yet, by columns in the order of the table.
    pub(crate) fn new(
        data: &DataSpec,
        readings: &[Reading],
        places: Vec<Place>,
        binned: &[BinColumn],
    ) -> Self {
        let by_level = |name: &str| {
            data.outcome.terms.iter().any(|(n, term)| n == name && matches!(term, Term::Levels(_)))
        };
        let held = |place: &Place| {
            binned.iter().find(|b| place.0 == Role::Context && b.column == place.2).cloned()
        };
        let column = |place: Place| Column {
            numbers: matches!(readings[place.2], Reading::Line(_) | Reading::Numbers),
            always: place.0 == Role::Outcome && by_level(&place.1),
            held: held(&place),
            place,
        };
        let columns: Vec<Column> = places.into_iter().map(column).collect();
        let numbers = columns.iter().filter(|column| column.numbers).count();
        let kinds = (FIRST + columns.len() - numbers, numbers);
        Groups { columns, kinds, shards: Vec::new() }
    }

    /// So many shards, always as many, for the rows of a batch. Rows of one group must go to one of them;
    /// rows that are left out all go to one.
    pub(crate) fn shards(
        &mut self,
        count: usize,
        batch: &Columns<'_>,
    ) -> impl Iterator<Item = GroupShard<'_>> {
        self.columns.iter_mut().filter_map(|c| c.held.as_mut()).for_each(|c| c.prepare(batch));
        let (codes, numbers) = self.kinds;
        let held = self.columns.iter().filter(|column| column.held.is_some()).count();
        let empty = || Counted {
            ids: Tuples::new(codes, numbers),
            counts: Vec::new(),
            sums: vec![Vec::new(); held],
            numbers: Vec::new(),
        };
        self.shards.resize_with(count, empty);
        let columns = &self.columns;
        self.shards.iter_mut().map(move |counted| GroupShard { columns, counted })
    }

    /// How many groups there are.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.counts.len()).sum()
    }

    /// About how many bytes they take.
    pub(crate) fn bytes(&self) -> usize {
        let of = |shard: &Counted| {
            let each = size_of::<u64>() + shard.sums.len() * size_of::<Sums>();
            shard.ids.bytes() + shard.counts.len() * each
        };
        self.shards.iter().map(of).sum()
    }

    /// The table, its rows in order of their values; `action` names one.
    pub(crate) fn finish(
        self,
        data: &DataSpec,
        seen: &Seen<'_>,
        action: impl Fn(u32) -> Option<String>,
    ) -> Result<CountedTable> {
        let (mut codes, mut numbers) =
            (vec![Vec::new(); self.kinds.0], vec![Vec::new(); self.kinds.1]);
        let held = self.columns.iter().filter(|column| column.held.is_some()).count();
        let (mut counts, mut sums) = (Vec::new(), vec![Vec::new(); held]);
        for shard in self.shards {
            let (own_codes, own_numbers) = shard.ids.into_columns();
            codes.iter_mut().zip(own_codes).for_each(|(all, own)| all.extend(own));
            numbers.iter_mut().zip(own_numbers).for_each(|(all, own)| all.extend(own));
            counts.extend(shard.counts);
            sums.iter_mut().zip(shard.sums).for_each(|(all, own)| all.extend(own));
        }
        let lost = || Error::internal("a column that was not counted");
        let (mut codes, mut numbers, mut sums) =
            (codes.into_iter(), numbers.into_iter(), sums.into_iter());
        let why = codes.next().ok_or_else(lost)?;
        let taken = codes.next().ok_or_else(lost)?;
        let reason = |why: &u32| match why {
            0 => None,
            1 => Some(LeftOut::Conditions.word().to_owned()),
            _ => Some(LeftOut::NoAction.word().to_owned()),
        };
        let named = |(why, code): (&u32, &u32)| action(*code).filter(|_| *why == 0);
        let mut columns = vec![
            (LEFT_OUT.to_owned(), Cells::Texts(why.iter().map(reason).collect())),
            (Role::Action.column(""), Cells::Texts(why.iter().zip(&taken).map(named).collect())),
        ];
        for column in &self.columns {
            let (role, name, at) = &column.place;
            let mut bins_of = None;
            let cells = if column.numbers {
                Cells::Numbers(numbers.next().ok_or_else(lost)?)
            } else {
                let own = codes.next().ok_or_else(lost)?;
                bins_of = column.held.is_some().then(|| own.clone());
                // None of rows that are left out.
                let kept = |k: usize| (why[k] == 0 || column.always).then_some(own[k]);
                let kept = (0..own.len()).map(kept);
                match &seen.binned[*at] {
                    Some(binned) => Cells::Numbers(in_bins(data, name, binned, kept)),
                    None => by_value(data, column, &seen.distinct[*at], kept),
                }
            };
            columns.push((role.column(name), cells));
            if let (Some(binned), Some(codes)) = (&column.held, &bins_of) {
                let sums = sums.next().ok_or_else(lost)?;
                columns.extend(moments(name, binned, &sums, codes));
            }
        }
        columns.push((N.to_owned(), Cells::Counts(counts)));
        Ok(CountedTable::new(columns))
    }
}

/// The columns of means and standard deviations in bins; none where nobody knows them.
fn moments(name: &str, binned: &BinColumn, sums: &[Sums], codes: &[u32]) -> Vec<(String, Cells)> {
    if !binned.is_known() {
        return Vec::new();
    }
    let of = |(sums, code): (&Sums, &u32)| sums.moments(binned.middle(*code));
    let all: Vec<Option<(f64, f64)>> = sums.iter().zip(codes).map(of).collect();
    let column = |of: fn((f64, f64)) -> f64| {
        Cells::Numbers(all.iter().map(|m| m.map_or(f64::NAN, of)).collect())
    };
    vec![
        (Role::Mean.column(name), column(|(mean, _)| mean)),
        (Role::Deviation.column(name), column(|(_, sd)| sd)),
    ]
}

/// For each bin a number that is in it and in the range that the study declares.
fn in_bins(
    data: &DataSpec,
    name: &str,
    binned: &BinnedColumn,
    codes: impl Iterator<Item = Option<u32>>,
) -> Vec<f64> {
    let context = data.contexts.iter().find(|context| context.name == name);
    let start = |bin: f64| {
        let bins = context.and_then(|context| Some((context.bins()?, context.range.0)));
        bins.map_or(f64::NAN, |(bins, least)| bins.start(bin).max(least))
    };
    let number = |code: u32| Some(binned.bin(code)).filter(|bin| !bin.is_nan()).map(start);
    codes.map(|code| code.and_then(number).unwrap_or(f64::NAN)).collect()
}

/// Values as texts, or as truths if they all are.
fn by_value(
    data: &DataSpec,
    column: &Column,
    distinct: &Distinct,
    codes: impl Iterator<Item = Option<u32>>,
) -> Cells {
    let (role, name, _) = &column.place;
    let texts = codes.map(|code| distinct.text(code? as usize).cloned()).collect();
    let is_numeric = |kind: Kind| kind == Kind::Numeric;
    let numeric = *role == Role::Context
        && data.contexts.iter().any(|c| c.name == *name && is_numeric(c.kind));
    match role {
        Role::Cluster | Role::History => Cells::Texts(texts),
        _ => Cells::of_values(texts, all_truths(distinct), numeric),
    }
}

/// Whether a column holds true and false alone.
fn all_truths(distinct: &Distinct) -> bool {
    let mut present = (0..distinct.len()).filter(|&code| !distinct.is_missing(code)).peekable();
    present.peek().is_some() && present.all(|code| distinct.is_truth(code))
}
