//! The plans of a phase together: dependencies, cycles, waves and claims on files.
//!
//! It never follows a dependency without bound, and never reports one mistake under two names: inside a cycle, for
//! example, no wave can be right, so only the cycle is reported. Every walk is iterative, because plans come from
//! models and a long chain must not overflow the stack.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::Serialize;

use tribunal_core::contract::{clean, covers};

use crate::names::PlanId;
use crate::{Dependency, Plan};

/// How many cycles are reported. A phase with more is wrong beyond doubt.
const CYCLES_MAX: usize = 20;

/// A phase, with those of its plans that could be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// The phase number, with at least two digits.
    pub number: String,
    /// The slug or name of the phase.
    pub name: String,
    /// The plans that could be read.
    pub plans: Vec<Plan>,
}

/// What is known of plans of other phases: whether each has a SUMMARY with status complete.
///
/// The caller fills it from the summaries on the disk; nothing here reads them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completions {
    known: BTreeMap<PlanId, bool>,
}

/// How far something in another phase is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// Its SUMMARY says that it is complete.
    Complete,
    /// It exists, without such a SUMMARY.
    Open,
    /// There is no plan of that name.
    Unknown,
}

impl Completions {
    /// Notes whether one plan is complete.
    pub fn note(&mut self, id: PlanId, complete: bool) {
        self.known.insert(id, complete);
    }

    /// How far a dependency in another phase is. Without a plan the whole phase is meant, and one open plan keeps it
    /// open.
    pub fn of(&self, phase: &str, plan: Option<&str>) -> Completion {
        let matching =
            self.known.iter().filter(|(id, _)| id.phase == phase && plan.is_none_or(|plan| id.plan == plan));
        let mut found = Completion::Unknown;
        for (_, complete) in matching {
            found = match (complete, found) {
                // One plan that is not complete decides for the whole phase.
                (true, Completion::Unknown | Completion::Complete) => Completion::Complete,
                _ => return Completion::Open,
            };
        }
        found
    }
}

/// The kinds of mistakes between plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// Two plans have the same id.
    DuplicateId,
    /// A plan waits for itself.
    SelfDependency,
    /// A plan waits for one that does not exist in the phase.
    MissingDependency,
    /// Plans wait for each other.
    Cycle,
    /// The wave of a plan is not above the waves of its dependencies.
    WaveOrder,
    /// Two plans of one wave claim the same file.
    FileClaim,
    /// A dependency in another phase does not exist or is not complete.
    CrossPhase,
}

/// One mistake, reported for one plan.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// The plan for which it is reported.
    pub plan: PlanId,
    /// What kind of mistake it is.
    pub kind: ProblemKind,
    /// The other plan, the file or the cycle that it is about.
    pub subject: String,
    /// What is wrong, as a sentence.
    pub message: String,
    /// What would make it right.
    pub fix: String,
    /// The line in the plan's file.
    pub line: u32,
    /// The path of that file.
    #[serde(skip)]
    pub path: String,
}

impl Problem {
    /// The problem as `validate-plan` prints it.
    pub fn line_for_validation(&self) -> String {
        let prefix = match self.kind {
            ProblemKind::CrossPhase => "cross_phase",
            _ => "depends_on",
        };
        format!("{prefix}: {}. Fix: {}", self.message, self.fix)
    }
}

/// Everything that is wrong between the plans of a phase.
///
/// Use it for a whole phase. For one plan whose neighbours may still be unwritten, [`crate::structural_check`] leaves
/// out what only a complete phase can tell.
pub fn validate(phase: &Phase, others: &Completions) -> Vec<Problem> {
    let plans: Vec<&Plan> = phase.plans.iter().collect();
    let graph = Graph::new(&plans);
    let mut problems = graph.duplicates();
    problems.extend(graph.dependency_problems(others));
    problems.extend(graph.cycle_problems());
    problems.extend(graph.wave_problems());
    problems.extend(graph.claim_problems());
    problems.sort();
    problems
}

/// The mistakes of one plan that the structural check knows: all except missing and foreign dependencies.
pub(crate) fn structural_problems(plan: &Plan, others: &[&Plan]) -> Vec<Problem> {
    let plans: Vec<&Plan> = others.iter().copied().chain([plan]).collect();
    let graph = Graph::new(&plans);
    let own = plans.len() - 1;
    let mut problems = graph.duplicates();
    problems.extend(graph.cycle_problems());
    problems.extend(graph.wave_problems());
    problems.extend(graph.self_dependencies());
    // The neighbours' own mistakes are reported where they are checked.
    problems.retain(|problem| problem.plan == plan.id);
    // For a whole phase a claim is reported for the later plan only; here both sides have to learn of it.
    problems.extend(graph.claims_of(own));
    problems.sort();
    problems.dedup();
    problems
}

/// The wave of each plan: as declared, otherwise one above its dependencies.
///
/// Plans of one wave are built side by side. In a cycle the numbers mean nothing, so validate the phase first.
pub fn waves(plans: &[Plan]) -> BTreeMap<PlanId, u32> {
    let refs: Vec<&Plan> = plans.iter().collect();
    let graph = Graph::new(&refs);
    let ids = refs.iter().map(|plan| plan.id.clone());
    ids.zip(graph.waves).collect()
}

/// The files of `plan` that other plans of its wave claim too, with those plans.
pub fn same_wave_claims(plan: &Plan, others: &[&Plan]) -> BTreeMap<String, Vec<PlanId>> {
    let plans: Vec<&Plan> = others.iter().copied().chain([plan]).collect();
    let graph = Graph::new(&plans);
    graph.rivals(plans.len() - 1)
}

/// How many dependencies were examined, and how many failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// Whether no dependency failed.
    pub valid: bool,
    /// How many dependencies were examined.
    pub checked: usize,
    /// How many of them failed.
    pub failed: usize,
}

/// What `validate-plan` answers for one plan.
///
/// Its form and its exit codes are read by scripts, so neither may change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PlanValidation {
    /// Dependencies within the phase.
    pub depends_on: Counted,
    /// Dependencies on other phases.
    pub cross_phase: Counted,
    /// Each failure with its prefix and its fix.
    pub errors: Vec<String>,
}

impl PlanValidation {
    /// The exit code: 0 if all are satisfied, 1 if all failed, 2 if some failed.
    pub fn exit_code(&self) -> u8 {
        let failed = self.depends_on.failed + self.cross_phase.failed;
        let checked = self.depends_on.checked + self.cross_phase.checked;
        // A plan that is not in the phase has an error without any dependency examined, which counts as all failed.
        match failed {
            0 if self.errors.is_empty() => 0,
            _ if failed >= checked => 1,
            _ => 2,
        }
    }
}

/// Checks the dependencies of the plan `id` of a phase.
pub fn validate_plan(id: &PlanId, phase: &Phase, others: &Completions) -> PlanValidation {
    let plans: Vec<&Plan> = phase.plans.iter().collect();
    let graph = Graph::new(&plans);
    // A file whose name gives another id than its frontmatter ends up here.
    let Some(own) = plans.iter().position(|plan| plan.id == *id) else {
        return PlanValidation {
            errors: vec![format!(
                "depends_on: plan {id} is not in phase {}. Fix: check the plan's file name",
                phase.number
            )],
            ..PlanValidation::default()
        };
    };
    let mut answer = PlanValidation::default();
    for (dependency, target) in graph.dependencies(own) {
        let problem = graph
            .dependency_problem(own, dependency, &target, others)
            // A dependency that exists can still be part of a cycle.
            .or_else(|| graph.cycle_through(own, &target));
        let count = match target {
            Target::Foreign(..) => &mut answer.cross_phase,
            _ => &mut answer.depends_on,
        };
        count.checked += 1;
        count.failed += usize::from(problem.is_some());
        answer.errors.extend(problem.map(|p| p.line_for_validation()));
    }
    answer.errors.sort();
    answer.errors.dedup();
    answer.depends_on.valid = answer.depends_on.failed == 0;
    answer.cross_phase.valid = answer.cross_phase.failed == 0;
    answer
}

/// What a dependency points at.
enum Target {
    /// A plan of this phase, by its index.
    Own(usize),
    /// A plan that should be in this phase and is not.
    Missing(PlanId),
    /// Another phase, or one plan of it.
    Foreign(String, Option<String>),
}

struct Graph<'a> {
    plans: &'a [&'a Plan],
    by_id: BTreeMap<&'a PlanId, usize>,
    edges: Vec<Vec<usize>>,
    components: Vec<usize>,
    cycles: Vec<Vec<usize>>,
    waves: Vec<u32>,
}

impl<'a> Graph<'a> {
    fn new(plans: &'a [&'a Plan]) -> Self {
        let mut by_id = BTreeMap::new();
        for (place, plan) in plans.iter().enumerate() {
            // The first plan keeps an id; later ones are reported as duplicates.
            by_id.entry(&plan.id).or_insert(place);
        }
        let mut graph = Graph {
            plans,
            by_id,
            edges: vec![Vec::new(); plans.len()],
            components: Vec::new(),
            cycles: Vec::new(),
            waves: vec![1; plans.len()],
        };
        for place in 0..plans.len() {
            let targets = graph.dependencies(place);
            let own = targets.into_iter().filter_map(|(_, target)| match target {
                Target::Own(to) => Some(to),
                _ => None,
            });
            // A set, because the same dependency may be written twice.
            graph.edges[place] = own.collect::<BTreeSet<_>>().into_iter().collect();
        }
        // Dependencies come before the plans that need them, so one pass is enough for the waves.
        let order = Graph::postorder(&graph.edges);
        graph.components = Graph::components(&graph.edges, &order);
        graph.cycles = graph.find_cycles();
        for place in order {
            let above = graph.edges[place].iter().map(|to| graph.waves[*to]).max();
            // The declared wave wins, even if it is wrong: a mistake is reported and not corrected.
            let computed = above.map_or(1, |wave| wave.saturating_add(1));
            graph.waves[place] = plans[place].wave_number().unwrap_or(computed);
        }
        graph
    }

    fn dependencies(&self, place: usize) -> Vec<(&'a Dependency, Target)> {
        let plan = self.plans[place];
        plan.depends_on
            .iter()
            .chain(&plan.cross_phase_deps)
            .map(|dependency| (dependency, self.target(&plan.id, dependency)))
            .collect()
    }

    fn target(&self, from: &PlanId, dependency: &Dependency) -> Target {
        let written = dependency.written.trim().to_ascii_lowercase();
        let by_name = || {
            let named = |id: &&&PlanId| id.to_string() == written || id.plan == written;
            self.by_id.keys().find(named).map(|id| self.by_id[*id])
        };
        let phase = dependency.phase.as_deref().unwrap_or(&from.phase);
        let foreign = phase != from.phase;
        match dependency.id(&from.phase) {
            // Without a plan the whole phase is meant.
            None => Target::Foreign(phase.to_owned(), None),
            Some(id) => match self.by_id.get(&id) {
                Some(place) => Target::Own(*place),
                None if foreign => Target::Foreign(id.phase, Some(id.plan)),
                // A slug may have been taken apart as a number; the author's own words have the last chance.
                None => by_name().map_or(Target::Missing(id), Target::Own),
            },
        }
    }

    /// Every plan after the plans it leads to along `edges`.
    fn postorder(edges: &[Vec<usize>]) -> Vec<usize> {
        let mut seen = vec![false; edges.len()];
        let mut order = Vec::with_capacity(edges.len());
        for root in 0..edges.len() {
            if std::mem::replace(&mut seen[root], true) {
                continue;
            }
            // Each entry is a plan on the current path, with how many of its edges were walked.
            let mut path = vec![(root, 0usize)];
            while let Some((place, walked)) = path.last_mut() {
                let Some(&next) = edges[*place].get(*walked) else {
                    order.push(*place);
                    path.pop();
                    continue;
                };
                *walked += 1;
                if !std::mem::replace(&mut seen[next], true) {
                    path.push((next, 0));
                }
            }
        }
        order
    }

    /// Numbers the strongly connected components: plans that can reach each other have the same number.
    fn components(edges: &[Vec<usize>], order: &[usize]) -> Vec<usize> {
        let mut backwards = vec![Vec::new(); edges.len()];
        for (from, targets) in edges.iter().enumerate() {
            for to in targets {
                backwards[*to].push(from);
            }
        }
        let mut numbers = vec![usize::MAX; edges.len()];
        // Kosaraju's algorithm: against the edges, in reverse postorder.
        for root in order.iter().rev() {
            let mut open = vec![*root];
            while let Some(place) = open.pop() {
                if numbers[place] == usize::MAX {
                    numbers[place] = *root;
                    open.extend(&backwards[place]);
                }
            }
        }
        numbers
    }

    /// Cycles that together cover every plan that is in one, each as short as possible.
    ///
    /// Listing all cycles could take exponential time, and an author needs one per plan to find the mistake.
    fn find_cycles(&self) -> Vec<Vec<usize>> {
        let mut covered = BTreeSet::new();
        let mut cycles = Vec::new();
        for place in 0..self.plans.len() {
            // One cycle for each plan is enough to repair it.
            if cycles.len() == CYCLES_MAX || covered.contains(&place) {
                continue;
            }
            // A dependency on itself has a message of its own.
            let next = self.edges[place].iter().filter(|to| **to != place);
            let shortest = next.filter_map(|to| self.way(*to, place)).min_by_key(Vec::len);
            if let Some(cycle) = shortest {
                covered.extend(cycle.iter().copied());
                cycles.push(self.smallest_first(cycle));
            }
        }
        cycles
    }

    /// The shortest way between two plans that can reach each other, `to` first: the plans of a cycle in order.
    fn way(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        // Only plans of one component can lie on a cycle, which spares most searches.
        if !self.share_cycle(from, to) {
            return None;
        }
        let mut came_from = BTreeMap::from([(from, from)]);
        let mut open = VecDeque::from([from]);
        while let Some(place) = open.pop_front() {
            if place == to {
                let mut back = vec![to];
                let mut at = to;
                while at != from {
                    at = came_from[&at];
                    back.push(at);
                }
                // Walked backwards from `to`; the cycle reads `to`, `from`, and so on.
                back[1..].reverse();
                return Some(back);
            }
            for next in &self.edges[place] {
                if self.share_cycle(place, *next) && !came_from.contains_key(next) {
                    came_from.insert(*next, place);
                    open.push_back(*next);
                }
            }
        }
        None
    }

    /// A cycle rotated so that its smallest id comes first. The same cycle then reads the same wherever it was found.
    fn smallest_first(&self, mut cycle: Vec<usize>) -> Vec<usize> {
        let smallest = (0..cycle.len()).min_by_key(|at| &self.plans[cycle[*at]].id);
        cycle.rotate_left(smallest.unwrap_or(0));
        cycle
    }

    fn problem(
        &self,
        place: usize,
        kind: ProblemKind,
        subject: String,
        message: String,
        fix: String,
    ) -> Problem {
        let key = match kind {
            ProblemKind::DuplicateId => "plan",
            ProblemKind::WaveOrder => "wave",
            ProblemKind::FileClaim => "files_modified",
            ProblemKind::CrossPhase => "cross_phase_deps",
            _ => "depends_on",
        };
        Problem {
            plan: self.plans[place].id.clone(),
            kind,
            subject,
            message,
            fix,
            line: self.plans[place].line_of(key),
            path: self.plans[place].path.clone(),
        }
    }

    fn duplicates(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        for (place, plan) in self.plans.iter().enumerate() {
            let first = self.by_id[&plan.id];
            if first != place {
                let other = &self.plans[first].path;
                let message = format!("plan id {} is also that of {other}", plan.id);
                let fix = "give each plan of the phase its own number".to_owned();
                let id = plan.id.to_string();
                found.push(self.problem(place, ProblemKind::DuplicateId, id, message, fix));
            }
        }
        found
    }

    fn self_dependencies(&self) -> Vec<Problem> {
        let selfish = (0..self.plans.len()).filter(|place| self.edges[*place].contains(place));
        selfish.map(|place| self.self_dependency(place)).collect()
    }

    fn self_dependency(&self, place: usize) -> Problem {
        let id = self.plans[place].id.to_string();
        let message = format!("plan {id} depends on itself");
        let fix = format!("remove {id} from its own depends_on");
        self.problem(place, ProblemKind::SelfDependency, id, message, fix)
    }

    fn dependency_problems(&self, others: &Completions) -> Vec<Problem> {
        let mut found = Vec::new();
        for place in 0..self.plans.len() {
            for (dependency, target) in self.dependencies(place) {
                found.extend(self.dependency_problem(place, dependency, &target, others));
            }
        }
        found
    }

    fn dependency_problem(
        &self,
        place: usize,
        dependency: &Dependency,
        target: &Target,
        others: &Completions,
    ) -> Option<Problem> {
        let own = &self.plans[place].id;
        match target {
            Target::Own(to) if *to == place => Some(self.self_dependency(place)),
            Target::Own(_) => None,
            Target::Missing(id) => {
                let message = format!(
                    "plan {own} depends on {id} (written `{}`), which is not in the phase",
                    dependency.written
                );
                let fix = format!("write plan {id} or remove it from depends_on");
                let kind = ProblemKind::MissingDependency;
                Some(self.problem(place, kind, id.to_string(), message, fix))
            }
            Target::Foreign(phase, plan) => {
                let name = match plan {
                    Some(plan) => format!("plan {phase}-{plan}"),
                    None => format!("phase {phase}"),
                };
                let (what, fix) = match others.of(phase, plan.as_deref()) {
                    Completion::Complete => return None,
                    Completion::Open => ("is not complete", format!("run phase {phase} first")),
                    Completion::Unknown => {
                        ("does not exist", format!("plan and run phase {phase}, or correct cross_phase_deps"))
                    }
                };
                let message = format!("plan {own} needs {name}, which {what}");
                Some(self.problem(place, ProblemKind::CrossPhase, name, message, fix))
            }
        }
    }

    fn cycle_problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        for cycle in &self.cycles {
            found.extend(cycle.iter().map(|place| self.cycle_problem(cycle, *place)));
        }
        found
    }

    fn cycle_problem(&self, cycle: &[usize], place: usize) -> Problem {
        let ids = cycle.iter().chain(cycle.first());
        let ids: Vec<String> = ids.map(|p| self.plans[*p].id.to_string()).collect();
        let name = ids.join(" → ");
        let message = format!("dependency cycle {name}");
        let fix = "remove one of these dependencies".to_owned();
        self.problem(place, ProblemKind::Cycle, name, message, fix)
    }

    /// The cycle that the step from `place` to its target is part of.
    fn cycle_through(&self, place: usize, target: &Target) -> Option<Problem> {
        let Target::Own(to) = target else { return None };
        let cycle = self.smallest_first(self.way(*to, place)?);
        Some(self.cycle_problem(&cycle, place))
    }

    fn wave_problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        for (place, plan) in self.plans.iter().enumerate() {
            let Some(wave) = plan.wave_number() else {
                continue;
            };
            for to in &self.edges[place] {
                let below = self.waves[*to];
                // Each of these is reported elsewhere, or is right.
                if *to == place || wave > below || self.share_cycle(place, *to) {
                    continue;
                }
                let other = &self.plans[*to].id;
                let message =
                    format!("plan {} is in wave {wave}, but depends on {other} in wave {below}", plan.id);
                let fix = format!("set its wave to {} or more", below.saturating_add(1));
                let other = other.to_string();
                found.push(self.problem(place, ProblemKind::WaveOrder, other, message, fix));
            }
        }
        found
    }

    /// Whether two plans wait for each other. Within a cycle no waves can be right, so the cycle is reported instead.
    fn share_cycle(&self, one: usize, other: usize) -> bool {
        one != other && self.components[one] == self.components[other]
    }

    /// The claims of each wave: which plans claim a file, itself or by a folder or pattern that holds it, in order.
    fn claims(&self) -> BTreeMap<(u32, String), Vec<usize>> {
        let mut claims: BTreeMap<(u32, String), BTreeSet<usize>> = BTreeMap::new();
        for (place, plan) in self.plans.iter().enumerate() {
            for file in plan.claimed_files() {
                // The same file in two spellings must meet.
                let file = clean(&file).unwrap_or(file);
                claims.entry((self.waves[place], file)).or_default().insert(place);
            }
        }
        // Only patterns need to be compared with every file; folders are found by their path.
        let wide: Vec<(u32, String)> =
            claims.keys().filter(|(_, file)| file.contains(['*', '?'])).cloned().collect();
        let mut held: BTreeMap<(u32, String), Vec<usize>> = BTreeMap::new();
        for ((wave, file), who) in &claims {
            let mut all = who.clone();
            // A claim on a folder is a claim on every file in it.
            let above = std::iter::successors(file.rsplit_once('/'), |(path, _)| path.rsplit_once('/'));
            let above = above.map(|(path, _)| path.to_owned());
            // The cheap test first: `covers` is asked for very few of all pairs.
            let met = wide.iter().filter(|(other, pattern)| other == wave && could_cover(pattern, file));
            let met = met.filter(|(_, pattern)| covers(pattern, file));
            for path in above.chain(met.map(|(_, pattern)| pattern.clone())) {
                all.extend(claims.get(&(*wave, path)).into_iter().flatten());
            }
            if all.len() > 1 {
                held.insert((*wave, file.clone()), all.into_iter().collect());
            }
        }
        held
    }

    /// Whether both plans call a file sequential, which makes it theirs one after the other by their own word.
    fn is_sequential(&self, file: &str, one: usize, other: usize) -> bool {
        let named = |place: usize| {
            let files = &self.plans[place].sequential_files;
            files.iter().any(|f| covers(f, file))
        };
        named(one) && named(other)
    }

    fn claim_problem(&self, file: &str, place: usize, other: usize) -> Problem {
        let (own, rival) = (&self.plans[place].id, &self.plans[other].id);
        let wave = self.waves[place];
        let message = format!("plans {rival} and {own} of wave {wave} both claim {file}");
        let fix = "put one of them in a later wave, or give the file to one plan".to_owned();
        self.problem(place, ProblemKind::FileClaim, file.to_owned(), message, fix)
    }

    fn claim_problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        for ((_, file), who) in self.claims() {
            // The first plan keeps its claim; each later one is told.
            for place in &who[1..] {
                if !self.is_sequential(&file, who[0], *place) {
                    found.push(self.claim_problem(&file, *place, who[0]));
                }
            }
        }
        found
    }

    fn rivals(&self, own: usize) -> BTreeMap<String, Vec<PlanId>> {
        let mut found: BTreeMap<String, Vec<PlanId>> = BTreeMap::new();
        for ((_, file), who) in self.claims() {
            if !who.contains(&own) {
                continue;
            }
            let rivals = who.iter().filter(|place| **place != own);
            let rivals = rivals.filter(|place| !self.is_sequential(&file, own, **place));
            let rivals: Vec<PlanId> = rivals.map(|p| self.plans[*p].id.clone()).collect();
            if !rivals.is_empty() {
                found.insert(file, rivals);
            }
        }
        found
    }

    fn claims_of(&self, own: usize) -> Vec<Problem> {
        let mut found = Vec::new();
        for (file, rivals) in self.rivals(own) {
            // One problem for each file, however many plans claim it.
            let first = rivals.first().and_then(|id| self.by_id.get(id));
            found.extend(first.map(|other| self.claim_problem(&file, own, *other)));
        }
        found
    }
}

/// Whether the fixed ends of a pattern are those of the path. That alone tells most paths apart.
fn could_cover(pattern: &str, path: &str) -> bool {
    let before = pattern.split(['*', '?']).next().unwrap_or_default();
    let after = pattern.rsplit(['*', '?']).next().unwrap_or_default();
    // `a/**` covers `a`, and `**/b` covers `b`.
    path.starts_with(before.trim_end_matches('/')) && path.ends_with(after.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is ruled out at a glance is not covered.
        #[test]
        fn a_glance_loses_no_claim(pattern in "([a-b]|\\*|\\*\\*|\\?|/){1,7}", path in "[a-b]{1,2}(/[a-b]{1,2}){0,3}") {
            let pattern = clean(&pattern).unwrap_or_else(|| "a".to_owned());
            prop_assume!(pattern.contains(['*', '?']));
            prop_assert!(!covers(&pattern, &path) || could_cover(&pattern, &path), "{pattern} {path}");
        }
    }
}
