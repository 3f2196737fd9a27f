//! The query, layer by layer.

use super::conditions::{NUMBER, Need, condition, float, is_zoned, padded, without_zone};
use super::dialect::{Carried, Dialect, dialect, dialect_names};
use super::layers::Layers;
use crate::counted::{LEFT_OUT, LeftOut, N, Role};
use crate::spec::{Actions, Condition, Context, DataSpec, Term};
use seawall::{Error, Kind, Result};

/// Numbers beyond this are carried as they are: they have no bin that could be listed.
const FARTHEST: &str = "1e300";

/// The query that makes a study's counted table in an engine that speaks `name`. `table` is put into it
/// as it is: a table's name, or whatever else may stand after FROM; if it is not said, the name of the
/// study's data file.
pub fn query(data: &DataSpec, name: &str, table: Option<&str>) -> Result<String> {
    let Some(dialect) = dialect(name) else {
        let known = dialect_names();
        return Err(Error::config(format!("no dialect named {name:?}; expected one of {known}")));
    };
    if data.counted {
        let path = data.declared.path.display();
        return Err(Error::config(format!(
            "{path}: says counted = true; a query is for rows that are not counted yet"
        )));
    }
    let table = match table {
        Some(table) => table.to_owned(),
        None => {
            let name = table_name(data);
            if let Some(what) = dialect.refuses(&name) {
                let path = data.declared.path.display();
                return Err(Error::config(format!(
                    "{path}: the table {name:?} cannot be named in a query: it has {what}"
                )));
            }
            dialect.identifier(&name)
        }
    };
    Query::new(data, dialect)?.text(&table)
}

/// The data file's name without what follows its first point.
fn table_name(data: &DataSpec) -> String {
    let name = data.path.file_name().map(|n| n.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    name.split('.').next().filter(|name| !name.is_empty()).unwrap_or("data").to_owned()
}

/// A column that the study names.
struct Column {
    name: String,
    text: bool,
    number: bool,
    time: bool,
}

struct Query<'s> {
    data: &'s DataSpec,
    dialect: &'s dyn Dialect,
    columns: Vec<Column>,
}

impl<'s> Query<'s> {
    fn new(data: &'s DataSpec, dialect: &'s dyn Dialect) -> Result<Self> {
        let mut query = Query { data, dialect, columns: Vec::new() };
        for (name, condition) in query.conditions() {
            let need = Need::of(condition);
            let column = query.column(name);
            column.text = true;
            column.number |= need == Need::Number;
            column.time |= need == Need::Time;
        }
        if let Actions::Column { column, propensity } = &data.actions {
            query.column(column).text = true;
            if let Some(name) = propensity {
                query.column(name);
            }
        }
        for context in &data.contexts {
            let binned = context.bin.is_some();
            let column = query.column(&context.name);
            column.text |= binned;
            column.number |= binned;
        }
        for (name, _) in &data.outcome.terms {
            query.column(name);
        }
        for (_, name) in query.numbers() {
            query.column(&name);
        }
        for name in data.rows.cluster.iter().chain(&data.rows.groups) {
            query.column(name);
        }
        for column in &query.columns {
            if let Some(what) = dialect.refuses(&column.name) {
                return Err(Error::config(format!(
                    "{}: the column {:?} cannot be named in a query: it has {what}",
                    data.declared.path.display(),
                    column.name
                )));
            }
        }
        let texts = query.conditions().into_iter().flat_map(|(_, condition)| match condition {
            Condition::OneOf(texts) | Condition::Not(texts) => texts.clone(),
            _ => Vec::new(),
        });
        let rules = match &data.actions {
            Actions::Rules(rules) => rules.iter().map(|rule| rule.0.clone()).collect(),
            Actions::Column { .. } => Vec::new(),
        };
        if let Some(text) = texts.chain(rules).find(|text| text.contains('\0')) {
            return Err(Error::config(format!(
                "{}: {text:?} cannot be written in a query: it has a NUL character",
                data.declared.path.display()
            )));
        }
        Ok(query)
    }

    /// Every condition, of rows and of actions.
    fn conditions(&self) -> Vec<(&'s str, &'s Condition)> {
        let rules: &[_] = match &self.data.actions {
            Actions::Rules(rules) => rules,
            Actions::Column { .. } => &[],
        };
        let of_rules = rules.iter().flat_map(|(_, conditions)| conditions);
        let all = self.data.rows.filters.iter().chain(of_rules);
        all.map(|(name, condition)| (name.as_str(), condition)).collect()
    }

    fn column(&mut self, name: &str) -> &mut Column {
        let at = match self.columns.iter().position(|c| c.name == name) {
            Some(at) => at,
            None => {
                let (text, number, time) = (false, false, false);
                self.columns.push(Column { name: name.to_owned(), text, number, time });
                self.columns.len() - 1
            }
        };
        &mut self.columns[at]
    }

    /// The place of a column, which is there.
    fn place(&self, name: &str) -> usize {
        self.columns.iter().position(|c| c.name == name).unwrap_or_default()
    }

    /// The columns that are read as numbers.
    fn numbers(&self) -> Vec<(Role, String)> {
        let data = self.data;
        let mut all = Vec::new();
        if let Actions::Column { propensity: Some(p), .. } = &data.actions {
            all.push((Role::Propensity, p.clone()));
        }
        all.extend(data.rows.weight.iter().map(|w| (Role::Weight, w.clone())));
        all.extend(data.rows.survey_weight.iter().map(|w| (Role::SurveyWeight, w.clone())));
        if let Some(said) = &data.predictions {
            for (_, name) in &said.columns {
                let one = (Role::Prediction, name.clone());
                if !all.contains(&one) {
                    all.push(one);
                }
            }
        }
        all
    }

    /// The contexts that are cut into bins, by their columns' places.
    fn binned(&self) -> impl Iterator<Item = (usize, &Context)> {
        let binned = self.data.contexts.iter().filter(|c| c.bin.is_some());
        binned.map(|context| (self.place(&context.name), context))
    }

    fn text(&self, table: &str) -> Result<String> {
        let mut layers = Layers::new(self.dialect.fence());
        let column = |(k, c): (usize, &Column)| (format!("c{k}"), self.dialect.identifier(&c.name));
        layers.add("seawall_rows", table, self.columns.iter().enumerate().map(column).collect());
        let with = |chosen: fn(&Column) -> bool| {
            let all = self.columns.iter().enumerate();
            all.filter(move |(_, c)| chosen(c)).map(|(k, _)| k)
        };
        let value = |k: usize| {
            let value = self.dialect.value(&format!("c{k}"));
            (format!("t{k}"), format!("NULLIF({value}, '')"))
        };
        layers.extend("seawall_texts", with(|c| c.text).map(value).collect());
        let number = |k: usize| {
            let text = format!("t{k}");
            let (mut is, number) =
                (self.dialect.matches(&text, NUMBER), self.dialect.number(&text));
            if let Some(numeric) = self.dialect.is_numeric(&format!("c{k}")) {
                is = format!("{numeric} OR {is}");
            }
            (format!("x{k}"), format!("CASE WHEN {is} THEN {number} END"))
        };
        let time = |k: usize| (format!("s{k}"), without_zone(self.dialect, k));
        let numbers = with(|c| c.number).map(number);
        layers.extend("seawall_numbers", numbers.chain(with(|c| c.time).map(time)).collect());
        let padded = |k: usize| (format!("m{k}"), padded(self.dialect, k));
        let floor = |(k, context): (usize, &Context)| {
            let width = float(context.bin.unwrap_or(1.0));
            (format!("b{k}"), format!("FLOOR(x{k} / {width})"))
        };
        let floors = self.binned().map(floor);
        layers.extend("seawall_bins", floors.chain(with(|c| c.time).map(padded)).collect());
        let exact = |(k, context): (usize, &Context)| exact_bin(self.dialect, k, context);
        layers.extend("seawall_exact_bins", self.binned().map(exact).collect());
        layers.extend("seawall_conditions", self.truths());
        layers.extend("seawall_actions", self.standing());
        let groups = self.groups();
        let keys = groups.iter().flat_map(|group| group.keys.clone());
        let away = groups.iter().filter_map(|group| group.away.clone());
        let from = layers.last.clone();
        layers.add("seawall_groups", &from, keys.chain(away).collect());
        layers.count("seawall_counts", "times", groups.iter().filter_map(Group::place).collect());
        let mut shown: Vec<(String, String)> = groups.iter().flat_map(Group::shown).collect();
        shown.push((self.dialect.identifier(N), "times".to_owned()));
        Ok(layers.query(&shown))
    }

    /// 1 or 0 for: every condition holds, a time has another zone, each action's rule holds.
    fn truths(&self) -> Vec<(String, String)> {
        let all = |conditions: &[(String, Condition)]| {
            let one = |(name, c): &(String, Condition)| {
                let (k, levels) = (self.place(name), self.data.has_levels(name));
                condition(self.dialect, c, k, levels)
            };
            let all: Vec<String> = conditions.iter().map(one).collect();
            if all.is_empty() {
                "1".to_owned()
            } else {
                format!("CASE WHEN {} THEN 1 ELSE 0 END", all.join(" AND "))
            }
        };
        let mut truths = Vec::new();
        if !self.data.rows.filters.is_empty() {
            truths.push(("kept".to_owned(), all(&self.data.rows.filters)));
        }
        let times = self.columns.iter().enumerate().filter(|(_, c)| c.time);
        let zoned: Vec<String> = times.map(|(k, _)| is_zoned(self.dialect, k)).collect();
        if !zoned.is_empty() {
            let zoned = format!("CASE WHEN {} THEN 1 ELSE 0 END", zoned.join(" OR "));
            truths.push(("zoned".to_owned(), zoned));
        }
        if let Actions::Rules(rules) = &self.data.actions {
            let rules = rules.iter().enumerate();
            truths.extend(rules.map(|(k, (_, conditions))| (format!("a{k}"), all(conditions))));
        }
        truths
    }

    /// Why a row is left out, if it is; and its action, where rules say which.
    fn standing(&self) -> Vec<(String, String)> {
        let because = |when: &str, why: LeftOut| format!("WHEN {when} THEN '{}'", why.word());
        let mut reasons = Vec::new();
        if self.columns.iter().any(|c| c.time) {
            reasons.push(because("zoned = 1", LeftOut::OtherZone));
        }
        if !self.data.rows.filters.is_empty() {
            reasons.push(because("kept = 0", LeftOut::Conditions));
        }
        let mut found = Vec::new();
        match &self.data.actions {
            Actions::Column { column, .. } => {
                let none = format!("t{} IS NULL", self.place(column));
                reasons.push(because(&none, LeftOut::NoAction));
            }
            Actions::Rules(rules) => {
                let met: Vec<String> = (0..rules.len()).map(|k| format!("a{k}")).collect();
                let met = met.join(" + ");
                reasons.push(because(&format!("{met} = 0"), LeftOut::NoAction));
                reasons.push(because(&format!("{met} > 1"), LeftOut::TwoActions));
                let name = |(k, rule): (usize, &(String, _))| {
                    format!("WHEN a{k} = 1 THEN {}", self.dialect.text(&rule.0))
                };
                let names: Vec<String> = rules.iter().enumerate().map(name).collect();
                found.push(("rule".to_owned(), format!("CASE {} END", names.join(" "))));
            }
        }
        found.push(("why".to_owned(), format!("CASE {} END", reasons.join(" "))));
        found
    }

    /// The columns of the counted table but the count.
    fn groups(&self) -> Vec<Group> {
        let mut groups = Vec::new();
        let mut add = |name: String, expressions: Vec<String>, held: Option<Held>| {
            let keys = expressions.into_iter().enumerate();
            let place = groups.len();
            let keys =
                keys.map(|(k, e)| (format!("{}{place}", ["g", "h"][k]), e)).collect::<Vec<_>>();
            let shown = match &keys[..] {
                // Put into words once a group, not once a row.
                [(number, _), (other, _)] => {
                    let text = self.dialect.number_text(number);
                    format!("CASE WHEN {number} IS NULL THEN {other} ELSE {text} END")
                }
                keys => keys[0].0.clone(),
            };
            let away = held.as_ref().map(|held| (format!("d{place}"), held.away.clone()));
            groups.push(Group { name, keys, shown, away, held });
        };
        let named = |role: Role, name: &str| self.dialect.identifier(&role.column(name));
        let used = |expression: String| format!("CASE WHEN why IS NULL THEN {expression} END");
        let carried = |name: &str, carried: Carried| {
            self.dialect.carried(&format!("c{}", self.place(name)), carried)
        };
        let action = match &self.data.actions {
            Actions::Rules(_) => "rule".to_owned(),
            Actions::Column { column, .. } => carried(column, Carried::Level),
        };
        add(self.dialect.identifier(LEFT_OUT), vec!["why".to_owned()], None);
        add(named(Role::Action, ""), vec![used(action)], None);
        for context in &self.data.contexts {
            let expressions = match (context.bin.is_some(), context.kind) {
                (true, _) => self.in_bin(context).map(used).to_vec(),
                (false, Kind::Numeric) => vec![used(carried(&context.name, Carried::Number))],
                (false, _) => vec![used(carried(&context.name, Carried::Level))],
            };
            let held = context.bin.map(|_| Held {
                mean: named(Role::Mean, &context.name),
                sd: named(Role::Deviation, &context.name),
                away: used(format!(
                    "x{} - ({})",
                    self.place(&context.name),
                    self.in_bin(context)[0]
                )),
            });
            add(named(Role::Context, &context.name), expressions, held);
        }
        for (name, term) in &self.data.outcome.terms {
            let expression = match term {
                // Which levels there are is looked for in every row.
                Term::Levels(_) => carried(name, Carried::Level),
                Term::Weight(_) => used(carried(name, Carried::Number)),
            };
            add(named(Role::Outcome, name), vec![expression], None);
        }
        if let Some(name) = &self.data.rows.cluster {
            add(named(Role::Cluster, name), vec![used(carried(name, Carried::Level))], None);
        }
        for name in &self.data.rows.groups {
            add(named(Role::History, name), vec![used(carried(name, Carried::Level))], None);
        }
        for (role, name) in self.numbers() {
            add(named(role, &name), vec![used(format!("c{}", self.place(&name)))], None);
        }
        groups
    }

    /// A number that stands for the bin and is in the declared range; and what has no bin, as it is.
    fn in_bin(&self, context: &Context) -> [String; 2] {
        let k = self.place(&context.name);
        let last = context.bins().map_or(f64::INFINITY, |bins| bins.last());
        let (min, max) = context.range;
        let mut beyond = vec![format!("x{k} IS NULL"), format!("ABS(x{k}) > {FARTHEST}")];
        beyond.extend(min.is_finite().then(|| format!("x{k} < {}", float(min))));
        beyond.extend(max.is_finite().then(|| format!("x{k} > {}", float(max))));
        let mut start = start_of(self.dialect, context, &format!("k{k}"));
        if last.is_finite() {
            let last = float(last);
            let closed = format!("(CASE WHEN k{k} > {last} THEN {last} ELSE k{k} END)");
            start = start_of(self.dialect, context, &closed);
        }
        if min.is_finite() {
            let least = float(min);
            start = format!("CASE WHEN {start} < {least} THEN {least} ELSE {start} END");
        }
        let beyond = beyond.join(" OR ");
        [
            format!("CASE WHEN {beyond} THEN NULL ELSE {start} END"),
            format!("CASE WHEN {beyond} THEN t{k} END"),
        ]
    }
}

/// A column of the counted table: what is grouped by, and what is shown of it.
struct Group {
    name: String,
    keys: Vec<(String, String)>,
    shown: String,
    /// Of a bin: how far a number is from the one that stands for its bin.
    away: Option<(String, String)>,
    held: Option<Held>,
}

/// What is told of the numbers in a bin.
struct Held {
    /// The columns' names.
    mean: String,
    sd: String,
    away: String,
}

impl Group {
    /// The column whose mean and mean square are taken.
    fn place(&self) -> Option<String> {
        self.away.as_ref().map(|(name, _)| name.clone())
    }

    /// Its columns of the counted table: what is grouped by, and mean and standard deviation in a bin.
    fn shown(&self) -> Vec<(String, String)> {
        let mut shown = vec![(self.name.clone(), self.shown.clone())];
        if let (Some((away, _)), Some(held)) = (&self.away, &self.held) {
            let (start, mean, square) =
                (&self.keys[0].0, format!("mean_{away}"), format!("square_{away}"));
            let variance = format!("{square} - {mean} * {mean}");
            shown.push((held.mean.clone(), format!("{start} + {mean}")));
            shown.push((
                held.sd.clone(),
                // Rounding may take a variance of nothing below it.
                format!(
                    "CASE WHEN {mean} IS NULL THEN NULL WHEN {variance} > 0e0 THEN SQRT({variance}) ELSE \
                     0e0 END"
                ),
            ));
        }
        shown
    }
}

/// Where bin `k` begins: `k · digits / 10^places`, rounded once.
fn start_of(dialect: &dyn Dialect, context: &Context, k: &str) -> String {
    match context.bins().and_then(|bins| bins.width_fraction()) {
        Some((digits, 0)) => format!("{k} * {}", float(digits)),
        Some((digits, places)) => {
            let number = format!("{k} * {}", float(digits));
            dialect.quotient(&number, &format!("1e{places}"), k)
        }
        None => format!("{k} * {}", float(context.bin.unwrap_or(1.0))),
    }
}

/// The bin, where the quotient of floats may be one off.
fn exact_bin(dialect: &dyn Dialect, k: usize, context: &Context) -> (String, String) {
    let exact = context.bins().and_then(|bins| bins.width_fraction()).is_some();
    let expression = if exact {
        let (this, next) = (
            start_of(dialect, context, &format!("b{k}")),
            start_of(dialect, context, &format!("(b{k} + 1)")),
        );
        format!(
            "CASE WHEN x{k} < {this} THEN b{k} - 1 WHEN x{k} >= {next} THEN b{k} + 1 ELSE b{k} END"
        )
    } else {
        format!("b{k}")
    };
    (format!("k{k}"), expression)
}
