//! Which item of one array is which of another.
//!
//! Items that are the same by value are matched in order: first those that stand once on each side, then the rest by the shortest
//! edit. What is left between two matches is paired by likeness. Where items share a member that names them, they are matched by it.
//! All of it is bounded by a `Budget`; what lies beyond is matched by number.

use std::collections::HashMap;

use crate::canonical::canonical;
use crate::json::Json;

/// Looking for the shortest edits of all arrays of a payload takes at most this many steps; what is left then is paired by likeness.
pub const STEPS_MAX: usize = 8_000_000;

/// An edit between two matches is looked for up to this many removed and added items: what is remembered grows with its square.
pub const EDITS_MAX: usize = 1_000;

/// At most this many pairs of items of a payload are weighed for their likeness; beyond, items are paired by number.
pub const PAIRINGS_MAX: usize = 1_000_000;

/// Two items are paired where they are at least this alike, in thousandths: members of one name count half, equal ones whole.
const LIKENESS_MIN: u32 = 500;

/// As [`LIKENESS_MIN`], for two items that are named differently.
const LIKENESS_OF_OTHERS_MIN: u32 = 750;

/// How items name themselves, the strongest first; a member is one where its name ends so, in whatever case.
const NAMING_MEMBERS: [&str; 11] =
    ["id", "uuid", "key", "sku", "reference", "ref", "code", "number", "line", "no", "name"];

/// What a comparison may still spend.
#[derive(Debug)]
pub(super) struct Budget {
    steps: usize,
    pairings: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { steps: STEPS_MAX, pairings: PAIRINGS_MAX }
    }
}

/// An item with its counterpart; one of the two at least is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) left: Option<usize>,
    pub(super) right: Option<usize>,
    /// Where the same item stands on the other side, where it moved.
    pub(super) moved: Option<usize>,
}

/// Every item with the one of the same number.
pub(super) fn by_number(left: usize, right: usize) -> Vec<Pair> {
    let there = |index: usize, length: usize| (index < length).then_some(index);
    (0..left.max(right))
        .map(|index| Pair { left: there(index, left), right: there(index, right), moved: None })
        .collect()
}

/// Every item of both arrays, once and in order.
pub(super) fn align(left: &[Json], right: &[Json], budget: &mut Budget) -> Vec<Pair> {
    let mut known = Interner::default();
    let values = (
        left.iter().map(|item| known.number(canonical(item, &[]))).collect::<Vec<u32>>(),
        right.iter().map(|item| known.number(canonical(item, &[]))).collect::<Vec<u32>>(),
    );
    let same_start = values.0.iter().zip(&values.1).take_while(|(left, right)| left == right).count();
    let shorter = left.len().min(right.len()) - same_start;
    let same_end = values
        .0
        .iter()
        .rev()
        .zip(values.1.iter().rev())
        .take(shorter)
        .take_while(|(left, right)| left == right)
        .count();
    let middle = Gap { left: (same_start, left.len() - same_end), right: (same_start, right.len() - same_end) };

    let named = Named::of(left, right, middle);
    let mut matches: Vec<(usize, usize)> = (0..same_start).map(|index| (index, index)).collect();
    matches.extend(match &named {
        Some(named) => increasing(named.common()),
        None => equal_items(&values, middle, budget),
    });
    matches.extend((0..same_end).map(|offset| (middle.left.1 + offset, middle.right.1 + offset)));

    let moved = moved(&values, left.len(), right.len(), &matches);
    let mut likeness = Likeness { left, right, known, shapes: HashMap::new() };
    let mut paired = Vec::with_capacity(matches.len());
    for gap in gaps(&matches, left.len(), right.len()) {
        let stays = |range: (usize, usize), moved: &HashMap<usize, usize>, is_common: &dyn Fn(usize) -> bool| {
            (range.0..range.1).filter(|index| !moved.contains_key(index) && !is_common(*index)).collect::<Vec<_>>()
        };
        let named = named.as_ref();
        let rows = stays(gap.left, &moved.0, &|index| named.is_some_and(|named| named.is_common_left(index)));
        let columns = stays(gap.right, &moved.1, &|index| named.is_some_and(|named| named.is_common_right(index)));
        let enough = if named.is_some() { LIKENESS_OF_OTHERS_MIN } else { LIKENESS_MIN };
        paired.extend(alike_items(&mut likeness, &rows, &columns, enough, budget));
    }
    matches.extend(paired);
    matches.sort_unstable();
    in_order(&matches, left.len(), right.len(), &moved)
}

/// A stretch of both arrays, each from its first index to before its last.
#[derive(Clone, Copy, Debug)]
struct Gap {
    left: (usize, usize),
    right: (usize, usize),
}

/// The stretches between matches.
fn gaps(matches: &[(usize, usize)], left: usize, right: usize) -> Vec<Gap> {
    let mut from = (0, 0);
    let mut found = Vec::new();
    for &(at_left, at_right) in matches.iter().chain([&(left, right)]) {
        if from.0 < at_left && from.1 < at_right {
            found.push(Gap { left: (from.0, at_left), right: (from.1, at_right) });
        }
        from = (at_left + 1, at_right + 1);
    }
    found
}

/// All items in order: what has no counterpart stands before the next match, the left ones first.
fn in_order(
    matches: &[(usize, usize)],
    left: usize,
    right: usize,
    moved: &(HashMap<usize, usize>, HashMap<usize, usize>),
) -> Vec<Pair> {
    let mut pairs = Vec::with_capacity(left.max(right));
    let mut from = (0, 0);
    for &(at_left, at_right) in matches.iter().chain([&(left, right)]) {
        pairs.extend((from.0..at_left).map(|index| Pair {
            left: Some(index),
            right: None,
            moved: moved.0.get(&index).copied(),
        }));
        pairs.extend((from.1..at_right).map(|index| Pair {
            left: None,
            right: Some(index),
            moved: moved.1.get(&index).copied(),
        }));
        if at_left < left && at_right < right {
            pairs.push(Pair { left: Some(at_left), right: Some(at_right), moved: None });
        }
        from = (at_left + 1, at_right + 1);
    }
    pairs
}

/// The items without a match that stand on the other side too, by their value: from left to right, and back.
fn moved(
    values: &(Vec<u32>, Vec<u32>),
    left: usize,
    right: usize,
    matches: &[(usize, usize)],
) -> (HashMap<usize, usize>, HashMap<usize, usize>) {
    let mut is_matched = (vec![false; left], vec![false; right]);
    for &(at_left, at_right) in matches {
        is_matched.0[at_left] = true;
        is_matched.1[at_right] = true;
    }
    let mut waiting: HashMap<u32, Vec<usize>> = HashMap::new();
    for index in (0..right).rev().filter(|&index| !is_matched.1[index]) {
        waiting.entry(values.1[index]).or_default().push(index);
    }
    let mut found = (HashMap::new(), HashMap::new());
    for index in (0..left).filter(|&index| !is_matched.0[index]) {
        if let Some(other) = waiting.get_mut(&values.0[index]).and_then(Vec::pop) {
            found.0.insert(index, other);
            found.1.insert(other, index);
        }
    }
    found
}

/// Matches items of equal value in order: those that stand once on each side, and between them the shortest edit.
fn equal_items(values: &(Vec<u32>, Vec<u32>), middle: Gap, budget: &mut Budget) -> Vec<(usize, usize)> {
    let mut places: HashMap<u32, (Vec<usize>, Vec<usize>)> = HashMap::new();
    for index in middle.left.0..middle.left.1 {
        places.entry(values.0[index]).or_default().0.push(index);
    }
    for index in middle.right.0..middle.right.1 {
        places.entry(values.1[index]).or_default().1.push(index);
    }
    let unique = places.values().filter_map(|(left, right)| match (left.as_slice(), right.as_slice()) {
        ([left], [right]) => Some((*left, *right)),
        _ => None,
    });
    let anchors = increasing(unique.collect());
    let mut found = anchors.clone();
    let mut from = (middle.left.0, middle.right.0);
    for &(at_left, at_right) in anchors.iter().chain([&(middle.left.1, middle.right.1)]) {
        let gap = Gap { left: (from.0, at_left), right: (from.1, at_right) };
        found.extend(shortest_edit(values, gap, budget));
        from = (at_left + 1, at_right + 1);
    }
    found.sort_unstable();
    found
}

/// The longest run of pairs that increases on both sides.
fn increasing(mut pairs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    pairs.sort_unstable();
    // The index of the pair that ends the best run of each length, and what stands before each pair in its run.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (index, &(_, right)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|&end| pairs[end].1 < right);
        before.push(length.checked_sub(1).map(|length| ends[length]));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut run: Vec<(usize, usize)> =
        std::iter::successors(ends.last().copied(), |&index| before[index]).map(|index| pairs[index]).collect();
    run.reverse();
    run
}

/// The items that stay in the shortest edit of one stretch into the other (Myers 1986, the greedy form); none where it takes more
/// edits or steps than are allowed.
fn shortest_edit(values: &(Vec<u32>, Vec<u32>), gap: Gap, budget: &mut Budget) -> Vec<(usize, usize)> {
    let left = &values.0[gap.left.0..gap.left.1];
    let right = &values.1[gap.right.0..gap.right.1];
    if left.is_empty() || right.is_empty() {
        return Vec::new();
    }
    let edits_max = (left.len() + right.len()).min(EDITS_MAX);
    // For each number of edits, how far along the left each diagonal came. A diagonal is right minus left; of `edits` edits there are
    // those from `-edits` to `edits` in steps of two, counted from 0.
    let mut trace: Vec<Vec<Option<usize>>> = Vec::new();
    for edits in 0..=edits_max {
        let mut reached = Vec::with_capacity(edits + 1);
        for diagonal in 0..=edits {
            budget.steps = budget.steps.saturating_sub(1);
            let Some(entered) = entered(&trace, edits, diagonal, (left.len(), right.len())) else {
                reached.push(None);
                continue;
            };
            let (mut at_left, mut at_right) = entered.at;
            while at_left < left.len() && at_right < right.len() && left[at_left] == right[at_right] {
                at_left += 1;
                at_right += 1;
                budget.steps = budget.steps.saturating_sub(1);
            }
            reached.push(Some(at_left));
            if at_left == left.len() && at_right == right.len() {
                return stayed(&trace, edits, (at_left, at_right), gap);
            }
        }
        trace.push(reached);
        if budget.steps == 0 {
            break;
        }
    }
    Vec::new()
}

/// Where the last edit led, before anything that stays.
struct Entered {
    at: (usize, usize),
    /// Whether that edit took one of the right; otherwise one of the left.
    took_right: bool,
}

/// The farthest that a diagonal can be entered with this many edits; none where that lies outside of both stretches.
fn entered(
    trace: &[Vec<Option<usize>>],
    edits: usize,
    diagonal: usize,
    (left, right): (usize, usize),
) -> Option<Entered> {
    let Some(before) = edits.checked_sub(1).and_then(|before| trace.get(before)) else {
        return (edits == 0).then_some(Entered { at: (0, 0), took_right: false });
    };
    let right_of = |at_left: usize| (at_left + 2 * diagonal).checked_sub(edits).filter(|at_right| *at_right <= right);
    let by_right = diagonal.checked_sub(1).and_then(|diagonal| before.get(diagonal).copied().flatten());
    let by_left = before.get(diagonal).copied().flatten().map(|at| at + 1).filter(|at| *at <= left);
    let by_right = by_right.and_then(|at| Some((at, right_of(at)?)));
    let by_left = by_left.and_then(|at| Some((at, right_of(at)?)));
    match (by_right, by_left) {
        (Some(at), Some(other)) if at.0 >= other.0 => Some(Entered { at, took_right: true }),
        (Some(at), None) => Some(Entered { at, took_right: true }),
        (_, Some(at)) => Some(Entered { at, took_right: false }),
        (None, None) => None,
    }
}

/// Walks an edit back from its end and collects what stayed.
fn stayed(trace: &[Vec<Option<usize>>], edits: usize, end: (usize, usize), gap: Gap) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let (mut left, mut right) = end;
    for edits in (0..=edits).rev() {
        let diagonal = (right + edits).saturating_sub(left) / 2;
        let Some(entered) = entered(trace, edits, diagonal, end) else { break };
        while (left, right) != entered.at && left > 0 && right > 0 {
            left -= 1;
            right -= 1;
            found.push((gap.left.0 + left, gap.right.0 + right));
        }
        if entered.took_right {
            right = right.saturating_sub(1);
        } else {
            left = left.saturating_sub(1);
        }
    }
    found.reverse();
    found
}

/// The items of a stretch by the member that names them.
struct Named {
    left: HashMap<usize, usize>,
    right: HashMap<usize, usize>,
}

impl Named {
    /// By the member that every item of the stretch has, each with another text or number; none where there is no such member, or
    /// where it only counts the items.
    fn of(left: &[Json], right: &[Json], gap: Gap) -> Option<Self> {
        let (left, right) = (&left[gap.left.0..gap.left.1], &right[gap.right.0..gap.right.1]);
        let Some(Json::Object(members)) = left.first() else { return None };
        let mut names: Vec<(usize, &str)> = members
            .iter()
            .filter_map(|(name, _)| {
                let lower = name.to_lowercase();
                Some((NAMING_MEMBERS.iter().position(|ending| lower.ends_with(ending))?, name.as_str()))
            })
            .collect();
        names.sort_by_key(|(rank, _)| *rank);
        names.iter().find_map(|(_, name)| {
            let (ours, theirs) = (names_by(left, name)?, names_by(right, name)?);
            let pairs: Vec<(usize, usize)> = ours
                .iter()
                .filter_map(|(name, index)| Some((gap.left.0 + index, gap.right.0 + theirs.get(name)?)))
                .collect();
            Some(Self {
                left: pairs.iter().copied().collect(),
                right: pairs.iter().map(|&(left, right)| (right, left)).collect(),
            })
        })
    }

    fn common(&self) -> Vec<(usize, usize)> {
        self.left.iter().map(|(&left, &right)| (left, right)).collect()
    }

    fn is_common_left(&self, index: usize) -> bool {
        self.left.contains_key(&index)
    }

    fn is_common_right(&self, index: usize) -> bool {
        self.right.contains_key(&index)
    }
}

/// The index of each item by the text or number of this member; none where one lacks it, two share it, or it counts them.
fn names_by(items: &[Json], name: &str) -> Option<HashMap<String, usize>> {
    let mut found = HashMap::with_capacity(items.len());
    let mut counts = items.len() > 1;
    let mut before: Option<i64> = None;
    for (index, item) in items.iter().enumerate() {
        let text = match item.member(name)? {
            Json::String(text) => text.clone(),
            Json::Number(number) => number.canonical(),
            Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => return None,
        };
        let number = text.parse::<i64>().ok();
        counts &= number.is_some() && before.is_none_or(|before| number == before.checked_add(1));
        before = number;
        if found.insert(text, index).is_some() {
            return None;
        }
    }
    (!counts).then_some(found)
}

/// Numbers for texts: two texts are equal where their numbers are.
#[derive(Default)]
struct Interner {
    numbers: HashMap<String, u32>,
}

impl Interner {
    fn number(&mut self, text: String) -> u32 {
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        *self.numbers.entry(text).or_insert(next)
    }
}

/// How alike items are.
struct Likeness<'a> {
    left: &'a [Json],
    right: &'a [Json],
    known: Interner,
    shapes: HashMap<(bool, usize), Shape>,
}

/// What of an item is compared.
#[derive(Debug)]
enum Shape {
    Scalar,
    /// The number of each name with the number of its value, ordered.
    Parts(Vec<(u32, u32)>),
}

impl Likeness<'_> {
    fn learn(&mut self, is_left: bool, index: usize) {
        if self.shapes.contains_key(&(is_left, index)) {
            return;
        }
        let items = if is_left { self.left } else { self.right };
        let known = &mut self.known;
        let mut part = |name: String, value: &Json| (known.number(name), known.number(canonical(value, &[])));
        let mut parts: Vec<(u32, u32)> = match items.get(index) {
            Some(Json::Object(members)) => {
                members.iter().map(|(name, value)| part(format!(".{name}"), value)).collect()
            }
            Some(Json::Array(items)) => {
                items.iter().enumerate().map(|(at, value)| part(format!("#{at}"), value)).collect()
            }
            Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_)) | None => {
                self.shapes.insert((is_left, index), Shape::Scalar);
                return;
            }
        };
        parts.sort_unstable();
        self.shapes.insert((is_left, index), Shape::Parts(parts));
    }

    /// In thousandths; both must have been learnt.
    fn of(&self, left: usize, right: usize) -> u32 {
        match (self.shapes.get(&(true, left)), self.shapes.get(&(false, right))) {
            (Some(Shape::Scalar), Some(Shape::Scalar)) => LIKENESS_OF_OTHERS_MIN,
            (Some(Shape::Parts(left)), Some(Shape::Parts(right))) => parts_alike(left, right),
            (_, None)
            | (None, _)
            | (Some(Shape::Scalar), Some(Shape::Parts(_)))
            | (Some(Shape::Parts(_)), Some(Shape::Scalar)) => 0,
        }
    }
}

fn parts_alike(left: &[(u32, u32)], right: &[(u32, u32)]) -> u32 {
    let (mut union, mut points) = (0_u32, 0_u32);
    let (mut at_left, mut at_right) = (0, 0);
    while let (Some(one), Some(other)) = (left.get(at_left), right.get(at_right)) {
        union += 1;
        match one.0.cmp(&other.0) {
            std::cmp::Ordering::Less => at_left += 1,
            std::cmp::Ordering::Greater => at_right += 1,
            std::cmp::Ordering::Equal => {
                points += if one.1 == other.1 { 2 } else { 1 };
                at_left += 1;
                at_right += 1;
            }
        }
    }
    let rest = (left.len() - at_left) + (right.len() - at_right);
    union = union.saturating_add(u32::try_from(rest).unwrap_or(u32::MAX));
    points.saturating_mul(500).checked_div(union).unwrap_or(0)
}

/// Pairs items that are alike, in order, so that the pairs are the most alike in all; by number where there are too many to weigh.
fn alike_items(
    likeness: &mut Likeness<'_>,
    left: &[usize],
    right: &[usize],
    enough: u32,
    budget: &mut Budget,
) -> Vec<(usize, usize)> {
    if left.is_empty() || right.is_empty() {
        return Vec::new();
    }
    for &index in left {
        likeness.learn(true, index);
    }
    for &index in right {
        likeness.learn(false, index);
    }
    // As many columns around the diagonal as may be paid for; the lengths must not differ by more than that.
    let width = budget.pairings / left.len();
    let reach = if width < right.len() { width / 2 } else { right.len() };
    if reach <= left.len().abs_diff(right.len()) {
        let pairs = left.iter().copied().zip(right.iter().copied());
        return pairs.filter(|&(left, right)| likeness.of(left, right) >= enough).collect();
    }
    let columns = |row: usize| {
        let middle = row * right.len() / left.len();
        (middle.saturating_sub(reach), (middle + reach + 1).min(right.len()))
    };
    // The best sum of each row's columns, and how it was come by.
    let mut best = vec![0_u64; right.len() + 1];
    let mut steps: Vec<(usize, Vec<Step>)> = Vec::with_capacity(left.len());
    for (row, &at_left) in left.iter().enumerate() {
        let (from, until) = columns(row);
        budget.pairings = budget.pairings.saturating_sub(until - from);
        let mut came = Vec::with_capacity(until - from);
        let mut diagonal = best[from];
        for column in from..until {
            let alike = likeness.of(at_left, right[column]);
            let (above, beside) = (best[column + 1], best[column]);
            let paired = if alike >= enough { diagonal + u64::from(alike) } else { 0 };
            let step = if paired > above && paired > beside {
                Step::Paired
            } else if above >= beside {
                Step::SkippedLeft
            } else {
                Step::SkippedRight
            };
            diagonal = above;
            best[column + 1] = paired.max(above).max(beside);
            came.push(step);
        }
        // What lies right of the band is at least as good as its last column.
        let last = best[until];
        for value in &mut best[until + 1..] {
            if *value >= last {
                break;
            }
            *value = last;
        }
        steps.push((from, came));
    }
    let mut found = Vec::new();
    let (mut row, mut column) = (left.len(), right.len());
    while let (Some(above), Some(beside)) = (row.checked_sub(1), column.checked_sub(1)) {
        let (from, came) = &steps[above];
        let step = beside.checked_sub(*from).map(|at| came.get(at).copied().unwrap_or(Step::SkippedRight));
        match step.unwrap_or(Step::SkippedLeft) {
            Step::Paired => {
                found.push((left[above], right[beside]));
                (row, column) = (above, beside);
            }
            Step::SkippedLeft => row = above,
            Step::SkippedRight => column = beside,
        }
    }
    found.reverse();
    found
}

/// How the best sum of a place in the table was come by.
#[derive(Clone, Copy, Debug)]
enum Step {
    Paired,
    SkippedLeft,
    SkippedRight,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(values: &[u32]) -> Vec<Json> {
        values.iter().map(|value| Json::Number(crate::number::Number::from_integer(i64::from(*value)))).collect()
    }

    /// What of two lists of numbers stays, by their values.
    fn kept(left: &[u32], right: &[u32], budget: &mut Budget) -> Vec<u32> {
        let pairs = align(&numbers(left), &numbers(right), budget);
        let both = pairs.iter().filter_map(|pair| Some((left[pair.left?], right[pair.right?])));
        both.filter(|(left, right)| left == right).map(|(left, _)| left).collect()
    }

    /// The length of the longest common subsequence, by the table of the textbook.
    fn longest(left: &[u32], right: &[u32]) -> usize {
        let mut best = vec![vec![0; right.len() + 1]; left.len() + 1];
        for (row, one) in left.iter().enumerate() {
            for (column, other) in right.iter().enumerate() {
                best[row + 1][column + 1] =
                    if one == other { best[row][column] + 1 } else { best[row][column + 1].max(best[row + 1][column]) };
            }
        }
        best[left.len()][right.len()]
    }

    #[test]
    fn the_edit_is_the_shortest() {
        let lists = [
            (vec![1, 2, 1, 2, 1, 3], vec![2, 1, 3, 1, 2]),
            (vec![1, 1, 2, 2, 3, 3], vec![3, 3, 2, 2, 1, 1]),
            (vec![5, 5, 5], vec![5, 5]),
            (vec![1, 2], vec![]),
            (vec![1, 2, 3, 1, 2, 3, 1, 2, 3], vec![2, 3, 1, 1, 3, 2, 2, 1, 3, 3]),
        ];
        for (left, right) in lists {
            let values = (left.clone(), right.clone());
            let whole = Gap { left: (0, left.len()), right: (0, right.len()) };
            let found = shortest_edit(&values, whole, &mut Budget::default());
            assert!(found.iter().all(|&(at, other)| left[at] == right[other]), "{left:?} {right:?} {found:?}");
            assert!(found.is_sorted_by(|one, other| one.0 < other.0 && one.1 < other.1), "{found:?}");
            assert_eq!(found.len(), longest(&left, &right), "{left:?} {right:?}");
        }
    }

    #[test]
    fn beyond_the_budget_items_are_matched_by_number() {
        let (left, right): (Vec<u32>, Vec<u32>) =
            ((0..40).map(|at| at % 2).collect(), (0..40).map(|at| at % 3).collect());
        let spent = &mut Budget { steps: 0, pairings: 0 };
        let pairs = align(&numbers(&left), &numbers(&right), spent);
        assert!(pairs.len() >= 40 && pairs.len() <= 80, "{pairs:?}");
        assert!(!kept(&left, &right, &mut Budget::default()).is_empty());
    }

    #[test]
    fn thousands_of_changed_lines_stay_in_bounds() {
        let line =
            |at: usize, sent: &str| Json::parse(format!(r#"{{"text":"t{}","sent":"{sent}{at}"}}"#, at % 7).as_bytes());
        let left: Vec<Json> = (0..5_000).map(|at| line(at, "a").unwrap()).collect();
        let mut right: Vec<Json> = (0..5_000).map(|at| line(at, "b").unwrap()).collect();
        right.insert(2_000, line(9_999, "c").unwrap());
        let budget = &mut Budget::default();
        let pairs = align(&left, &right, budget);
        assert_eq!(pairs.iter().filter(|pair| pair.left.is_some() && pair.right.is_some()).count(), 5_000);
        assert_eq!(pairs.iter().filter(|pair| pair.left.is_none()).count(), 1);
        assert!(budget.steps > 0, "the shortest edit is given up in time");
    }
}
