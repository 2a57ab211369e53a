//! The best one-to-one assignment over sparse edges: by connected component, exact where a component is small enough.
//!
//! A greedy choice would be simpler, but one wrong early pair pushes its neighbours into wrong pairs, too. Two indexes
//! without an edge are never paired.

use std::collections::BTreeMap;

/// Larger components are assigned greedily, as the exact method costs their cube; nothing people write comes near.
const EXACT_MAX: usize = 160;

/// An edge between a left and a right index; only positive gains are worth a pair.
///
/// Gains are log-odds above the cut of the scorer, so zero is where a pair stops being worth it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// Index among the earlier findings.
    pub left: usize,
    /// Index among the later findings.
    pub right: usize,
    /// How much the pair is worth.
    pub gain: f64,
}

/// The pairs with the greatest total gain, each index at most once, in order of left index.
pub fn assign(edges: &[Edge]) -> Vec<Edge> {
    let edges: Vec<Edge> = edges.iter().copied().filter(|edge| edge.gain > 0.0).collect();
    let mut chosen: Vec<Edge> =
        components(&edges).into_iter().flat_map(|component| solve(&component)).collect();
    chosen.sort_by_key(|edge| (edge.left, edge.right));
    chosen
}

/// Groups edges that share an index: only those can compete for a partner.
fn components(edges: &[Edge]) -> Vec<Vec<Edge>> {
    // Union-find over edges; the lower root wins, so components come out in the order of their first edge.
    let mut parent: Vec<usize> = (0..edges.len()).collect();
    fn root(parent: &mut [usize], mut at: usize) -> usize {
        while parent[at] != at {
            parent[at] = parent[parent[at]];
            at = parent[at];
        }
        at
    }
    let mut lefts: BTreeMap<usize, usize> = BTreeMap::new();
    let mut rights: BTreeMap<usize, usize> = BTreeMap::new();
    for (n, edge) in edges.iter().enumerate() {
        for seen in [lefts.insert(edge.left, n), rights.insert(edge.right, n)].into_iter().flatten() {
            let (a, b) = (root(&mut parent, n), root(&mut parent, seen));
            parent[a.max(b)] = a.min(b);
        }
    }
    let mut found: BTreeMap<usize, Vec<Edge>> = BTreeMap::new();
    for (n, edge) in edges.iter().enumerate() {
        let at = root(&mut parent, n);
        found.entry(at).or_default().push(*edge);
    }
    found.into_values().collect()
}

/// Solves one component, exactly where its size allows.
fn solve(component: &[Edge]) -> Vec<Edge> {
    if component.len() == 1 {
        return component.to_vec();
    }
    let index = |side: fn(&Edge) -> usize| -> Vec<usize> {
        let mut all: Vec<usize> = component.iter().map(side).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let (lefts, rights) = (index(|e| e.left), index(|e| e.right));
    if lefts.len().max(rights.len()) > EXACT_MAX {
        return greedy(component);
    }
    exact(component, &lefts, &rights)
}

/// Takes the best edge that is still free, again and again. Ties go by index, so that the result is always the same.
fn greedy(component: &[Edge]) -> Vec<Edge> {
    let mut order: Vec<Edge> = component.to_vec();
    order.sort_by(|a, b| b.gain.total_cmp(&a.gain).then((a.left, a.right).cmp(&(b.left, b.right))));
    let (mut left, mut right) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
    order.retain(|edge| {
        let free = !left.contains(&edge.left) && !right.contains(&edge.right);
        if free {
            left.insert(edge.left);
            right.insert(edge.right);
        }
        free
    });
    order
}

/// The Hungarian method with potentials; a pair without an edge costs nothing and is dropped at the end.
fn exact(component: &[Edge], lefts: &[usize], rights: &[usize]) -> Vec<Edge> {
    // The method needs at least as many columns as rows; the extra ones stand for "unpaired".
    let (rows, columns) = (lefts.len(), rights.len().max(lefts.len()));
    let mut cost = vec![vec![0.0f64; columns]; rows];
    for edge in component {
        let (Ok(row), Ok(column)) = (lefts.binary_search(&edge.left), rights.binary_search(&edge.right))
        else {
            continue;
        };
        // Two edges of one pair: the better one counts.
        cost[row][column] = cost[row][column].min(-edge.gain);
    }
    let column_row = hungarian(&cost, rows, columns);
    let mut chosen = Vec::new();
    for (column, row) in column_row.iter().enumerate().skip(1) {
        let Some(row) = row.checked_sub(1) else { continue };
        let Some(right) = rights.get(column - 1) else { continue };
        let gain = -cost[row][column - 1];
        if gain > 0.0 {
            chosen.push(Edge { left: lefts[row], right: *right, gain });
        }
    }
    chosen
}

/// For every column (from 1) the row (from 1) it is given to, 0 for none.
///
/// Requires `rows <= columns`. Index 0 is the usual artificial column where each augmenting path begins.
fn hungarian(cost: &[Vec<f64>], rows: usize, columns: usize) -> Vec<usize> {
    let mut row_price = vec![0.0; rows + 1];
    let mut column_price = vec![0.0; columns + 1];
    let mut given = vec![0usize; columns + 1];
    let mut way = vec![0usize; columns + 1];
    for row in 1..=rows {
        given[0] = row;
        let mut at = 0;
        let mut least = vec![f64::INFINITY; columns + 1];
        let mut used = vec![false; columns + 1];
        loop {
            used[at] = true;
            let here = given[at];
            let (mut step, mut next) = (f64::INFINITY, 0);
            for column in 1..=columns {
                if used[column] {
                    continue;
                }
                let reduced = cost[here - 1][column - 1] - row_price[here] - column_price[column];
                if reduced < least[column] {
                    least[column] = reduced;
                    way[column] = at;
                }
                if least[column] < step {
                    step = least[column];
                    next = column;
                }
            }
            // Adjusts the potentials, so that one more column becomes reachable at no cost.
            for column in 0..=columns {
                if used[column] {
                    row_price[given[column]] += step;
                    column_price[column] -= step;
                } else {
                    least[column] -= step;
                }
            }
            at = next;
            if given[at] == 0 {
                break;
            }
        }
        // Walks the augmenting path back and shifts every row one column along.
        while at != 0 {
            let before = way[at];
            given[at] = given[before];
            at = before;
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn total(edges: &[Edge]) -> f64 {
        edges.iter().map(|edge| edge.gain).sum()
    }

    /// The best total by trying everything.
    fn brute(edges: &[Edge], used: &mut Vec<Edge>) -> f64 {
        let mut best = total(used);
        for (n, edge) in edges.iter().enumerate() {
            if used.iter().all(|u| u.left != edge.left && u.right != edge.right) {
                used.push(*edge);
                best = best.max(brute(&edges[n + 1..], used));
                used.pop();
            }
        }
        best
    }

    proptest! {
        #[test]
        fn the_assignment_is_one_to_one_and_the_best(raw in prop::collection::btree_map((0usize..5, 0usize..5), -3i32..9, 0..12)) {
            let edges: Vec<Edge> = raw.iter().map(|((left, right), gain)| Edge { left: *left, right: *right, gain: f64::from(*gain) }).collect();
            let chosen = assign(&edges);
            for (n, edge) in chosen.iter().enumerate() {
                prop_assert!(edge.gain > 0.0 && edges.contains(edge));
                prop_assert!(chosen[n + 1..].iter().all(|other| other.left != edge.left && other.right != edge.right));
            }
            let positive: Vec<Edge> = edges.iter().copied().filter(|edge| edge.gain > 0.0).collect();
            prop_assert!((total(&chosen) - brute(&positive, &mut Vec::new())).abs() < 1e-6);
        }
    }
}
