//! Faults that happen by themselves: to the next requests, to all, or at random.

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::fault::{Fault, Step};

/// At most so many rules are in force.
pub const RULES_MAX: usize = 100;

/// When a rule applies.
#[derive(Debug)]
pub enum Times {
    /// To every request.
    Every,
    /// To so many requests more.
    Next(u32),
    /// At random, with this probability between 0 and 1; the same seed gives the same choices.
    Random {
        /// The probability.
        probability: f64,
        /// Makes the choices.
        dice: Box<StdRng>,
    },
}

impl Times {
    /// At random with this probability and seed.
    ///
    /// # Errors
    /// It is no probability.
    pub fn random(probability: f64, seed: u64) -> Result<Self, String> {
        if !(0.0..=1.0).contains(&probability) {
            return Err(format!("{probability} is no probability; write one from 0 to 1"));
        }
        Ok(Self::Random { probability, dice: Box::new(StdRng::seed_from_u64(seed)) })
    }
}

/// A fault, where and when it happens.
#[derive(Debug)]
pub struct Rule {
    /// What happens.
    pub fault: Fault,
    /// To which requests.
    pub step: Step,
    /// How often.
    pub times: Times,
}

impl Rule {
    /// The rule for people.
    pub(super) fn in_words(&self) -> String {
        let times = match &self.times {
            Times::Every => "every".to_owned(),
            Times::Next(left) => format!("the next {left}"),
            Times::Random { probability, .. } => format!("at random, probability {probability}"),
        };
        format!("{} on {}: {times}", self.fault, self.step.as_str())
    }
}

/// The rules in force.
#[derive(Debug, Default)]
pub(super) struct Rules(Vec<Rule>);

impl Rules {
    pub(super) fn add(&mut self, rule: Rule) -> Result<(), String> {
        if self.0.len() >= RULES_MAX {
            return Err(format!("there are {RULES_MAX} rules already; DELETE /sandbox/faults ends them all"));
        }
        self.0.push(rule);
        Ok(())
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn in_words(&self) -> Vec<String> {
        self.0.iter().map(Rule::in_words).collect()
    }

    /// The faults that happen to the request that just arrived.
    pub(super) fn hit(&mut self, step: Step) -> Vec<Fault> {
        let mut faults = Vec::new();
        self.0.retain_mut(|rule| {
            if rule.step != step {
                return true;
            }
            match &mut rule.times {
                Times::Every => faults.push(rule.fault),
                Times::Next(left) => {
                    faults.push(rule.fault);
                    *left = left.saturating_sub(1);
                    return *left > 0;
                }
                Times::Random { probability, dice } => {
                    if dice.random_bool(*probability) {
                        faults.push(rule.fault);
                    }
                }
            }
            true
        });
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(times: Times) -> Rules {
        let mut rules = Rules::default();
        rules.add(Rule { fault: Fault::CutAfter, step: Step::Create, times }).unwrap();
        rules
    }

    #[test]
    fn the_next_requests_of_the_step_and_no_others() {
        let mut rules = rules(Times::Next(2));
        assert_eq!(rules.hit(Step::Search), []);
        assert_eq!(rules.hit(Step::Create), [Fault::CutAfter]);
        assert_eq!(rules.hit(Step::Create), [Fault::CutAfter]);
        assert_eq!(rules.hit(Step::Create), []);
        assert_eq!(rules.in_words(), [""; 0]);
    }

    #[test]
    fn the_same_seed_makes_the_same_choices() {
        let choices = |seed| {
            let mut rules = rules(Times::random(0.5, seed).unwrap());
            (0..100).map(|_| rules.hit(Step::Create).len()).collect::<Vec<_>>()
        };
        assert_eq!(choices(7), choices(7));
        assert_ne!(choices(7), choices(8));
        let hits: usize = choices(7).into_iter().sum();
        assert!((30..70).contains(&hits), "{hits} of 100");
        assert!(Times::random(1.1, 7).is_err() && Times::random(f64::NAN, 7).is_err());
    }
}
