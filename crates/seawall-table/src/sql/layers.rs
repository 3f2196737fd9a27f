//! The `WITH` tables of a query as text.

/// Tables of a query, each made from the one before.
#[derive(Default)]
pub(super) struct Layers {
    /// What ends each of them.
    fence: &'static str,
    text: Vec<String>,
    pub(super) last: String,
    /// The columns of the last.
    columns: Vec<String>,
}

impl Layers {
    /// None yet; each will end with `fence`.
    pub(super) fn new(fence: &'static str) -> Self {
        Layers { fence, ..Layers::default() }
    }

    /// A table of these columns alone.
    pub(super) fn add(&mut self, name: &str, from: &str, columns: Vec<(String, String)>) {
        let lines = listed(&columns, "    ");
        let fence = self.fence;
        self.text.push(format!("{name} AS (\n  SELECT\n{lines}\n  FROM {from}{fence}\n)"));
        self.last = name.to_owned();
        self.columns = columns.into_iter().map(|c| c.0).collect();
    }

    /// A table of these columns and those of the last, if there are any.
    pub(super) fn extend(&mut self, name: &str, columns: Vec<(String, String)>) {
        if columns.is_empty() {
            return;
        }
        let kept = self.columns.iter().map(|c| (c.clone(), c.clone()));
        let all = kept.chain(columns).collect();
        let from = self.last.clone();
        self.add(name, &from, all);
    }

    /// The rows of the last table that agree in everything, how many they are, and of some columns that
    /// need not agree the mean and the mean square.
    pub(super) fn count(&mut self, name: &str, times: &str, means: Vec<String>) {
        let agree: Vec<&String> = self.columns.iter().filter(|c| !means.contains(c)).collect();
        let agree: Vec<&str> = agree.into_iter().map(String::as_str).collect();
        let (from, columns) = (&self.last, agree.join(", "));
        let mean =
            |c: &String| format!(",\n    AVG({c}) AS mean_{c},\n    AVG({c} * {c}) AS square_{c}");
        let means: String = means.iter().map(mean).collect();
        self.text.push(format!(
            "{name} AS (\n  SELECT\n    {columns},\n    COUNT(*) AS {times}{means}\n  FROM {from}\n  \
             GROUP BY {columns}\n)"
        ));
        self.last = name.to_owned();
    }

    /// The whole query, which shows these columns.
    pub(super) fn query(&self, columns: &[(String, String)]) -> String {
        let (with, lines, from) = (self.text.join(",\n"), listed(columns, "  "), &self.last);
        format!("WITH {with}\nSELECT\n{lines}\nFROM {from}")
    }
}

/// Columns with their names, one a line; those that only pass through on one.
fn listed(columns: &[(String, String)], margin: &str) -> String {
    let passed: Vec<&str> =
        columns.iter().filter(|(name, e)| name == e).map(|(name, _)| name.as_str()).collect();
    let made = columns.iter().filter(|(name, e)| name != e);
    let mut lines: Vec<String> = Vec::new();
    lines.extend((!passed.is_empty()).then(|| format!("{margin}{}", passed.join(", "))));
    lines.extend(made.map(|(name, expression)| format!("{margin}{expression} AS {name}")));
    lines.join(",\n")
}
