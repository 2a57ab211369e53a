//! What was measured, as one table for people or one object for programs.

use std::fmt::Write as _;

/// One measured value.
struct Row {
    key: &'static str,
    value: f64,
    goal: Option<f64>,
    conditions: String,
}

/// Everything measured on one machine.
pub struct Table {
    machine: String,
    rows: Vec<Row>,
    details: Vec<String>,
}

impl Table {
    /// An empty table.
    pub fn new(machine: String) -> Table {
        Table { machine, rows: Vec::new(), details: Vec::new() }
    }

    /// Adds a value that should not be above its goal.
    pub fn add(&mut self, key: &'static str, value: f64, goal: f64, conditions: impl Into<String>) {
        self.rows.push(Row { key, value, goal: Some(goal), conditions: conditions.into() });
    }

    /// Adds a value without a goal.
    pub fn add_plain(&mut self, key: &'static str, value: f64, conditions: impl Into<String>) {
        self.rows.push(Row { key, value, goal: None, conditions: conditions.into() });
    }

    /// Adds a line that explains a value.
    pub fn detail(&mut self, text: impl Into<String>) {
        self.details.push(text.into());
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.machine);
        let _ = writeln!(text, "{:<20} {:>10} {:>8}      conditions", "measure", "value", "goal");
        for row in &self.rows {
            let goal = row.goal.map_or(String::new(), |goal| format!("{goal}"));
            let met = match row.goal {
                Some(goal) if row.value <= goal => "ok",
                Some(_) => "MISS",
                None => "",
            };
            let _ = writeln!(
                text,
                "{:<20} {:>10.2} {:>8} {:<4} {}",
                row.key, row.value, goal, met, row.conditions
            );
        }
        if !self.details.is_empty() {
            text.push('\n');
        }
        for line in &self.details {
            let _ = writeln!(text, "{line}");
        }
        text.trim_end().to_owned()
    }

    /// For programs: one object, the measured keys beside the machine.
    pub fn json(&self) -> String {
        let mut object = serde_json::Map::new();
        object.insert("machine".to_owned(), self.machine.clone().into());
        for row in &self.rows {
            // Three digits are more than any of this is exact to.
            let value = (row.value * 1000.0).round() / 1000.0;
            object.insert(row.key.to_owned(), value.into());
        }
        serde_json::Value::Object(object).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_object_with_the_keys() {
        let mut table = Table::new("a machine".to_owned());
        table.add("fold_x", 1.23456, 2.0, "");
        table.add_plain("resume_ms", 250.0, "");
        let json: serde_json::Value = serde_json::from_str(&table.json()).unwrap();
        assert_eq!(json["fold_x"], 1.235);
        assert_eq!(json["resume_ms"], 250.0);
        assert_eq!(json["machine"], "a machine");
    }

    #[test]
    fn a_goal_that_is_missed_says_so() {
        let mut table = Table::new(String::new());
        table.add("fold_x", 1.9, 2.0, "");
        table.add("startup_x", 4.1, 4.0, "");
        let text = table.text();
        let line = |key| text.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
        assert!(line("fold_x").contains("ok"));
        assert!(line("startup_x").contains("MISS"));
    }
}
