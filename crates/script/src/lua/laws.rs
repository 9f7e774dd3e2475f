//! The distributions of `sysbench.rand` with the parameters of the command line (`--rand-…`).

use super::settings::Settings;
use crate::dist::{Pareto, Span, Special, Zipf, bates, uniform};
use dbdyno_model::Stream;

/// Distributions over a range, by their names on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Law {
    Uniform,
    Gaussian,
    Special,
    Pareto,
    Zipfian,
}

/// The distributions, with their names.
pub(super) const NAMES: [(&str, Law); 5] = [
    ("uniform", Law::Uniform),
    ("gaussian", Law::Gaussian),
    ("special", Law::Special),
    ("pareto", Law::Pareto),
    ("zipfian", Law::Zipfian),
];

/// All distributions with their parameters.
#[derive(Clone, Debug)]
pub(super) struct Laws {
    default: Law,
    special: Special,
    pareto: Pareto,
    zipf: Zipf,
}

impl Laws {
    /// The distributions with their parameters, sysbench 1.0's where none is given.
    pub(super) fn new(settings: &Settings) -> Result<Self, String> {
        let number = |name: &str, default: f64| match settings.argument(name) {
            None => Ok(default),
            Some(text) => {
                text.parse().map_err(|_| format!("--{name} takes a number, not '{text}'"))
            }
        };
        let special = Special {
            draws: whole("rand_spec_iter", number("rand_spec_iter", 12.0)?)?,
            hot_percent: number("rand_spec_pct", 1.0)?,
            hot_draws_percent: number("rand_spec_res", 75.0)?,
        };
        check_percent("rand_spec_pct", special.hot_percent)?;
        check_percent("rand_spec_res", special.hot_draws_percent)?;
        Ok(Self {
            default: default_law(settings)?,
            special,
            pareto: Pareto::new(number("rand_pareto_h", 0.2)?)?,
            zipf: Zipf::new(number("rand_zipfian_exp", 0.8)?)?,
        })
    }

    /// The distribution of `sysbench.rand.default`.
    pub(super) fn default_law(&self) -> Law {
        self.default
    }

    /// Draws an integer from `low` to `high`.
    pub(super) fn draw(
        &self,
        law: Law,
        chance: &mut Stream,
        low: f64,
        high: f64,
    ) -> Result<i64, String> {
        let span = Span::new(low as i64, high as i64)?;
        Ok(match law {
            Law::Uniform => uniform(chance, span),
            Law::Gaussian => bates(chance, span, self.special.draws),
            Law::Special => self.special.draw(chance, span),
            Law::Pareto => self.pareto.draw(chance, span),
            Law::Zipfian => self.zipf.draw(chance, span),
        })
    }
}

fn default_law(settings: &Settings) -> Result<Law, String> {
    let Some(text) = settings.argument("rand_type") else { return Ok(Law::Special) };
    let found = NAMES.iter().find(|(name, _)| *name == text);
    found.map(|(_, law)| *law).ok_or_else(|| {
        let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        format!("--rand-type is one of {}, not '{text}'", names.join(", "))
    })
}

fn whole(name: &str, number: f64) -> Result<u32, String> {
    if number >= 1.0 && number <= f64::from(u32::MAX) && number.fract() == 0.0 {
        return Ok(number as u32);
    }
    Err(format!("--{name} takes a whole number above 0, not {number}"))
}

fn check_percent(name: &str, percent: f64) -> Result<(), String> {
    if (0.0..100.0).contains(&percent) {
        return Ok(());
    }
    Err(format!("--{name} takes a percentage below 100, not {percent}"))
}
