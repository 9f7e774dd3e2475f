//! Which script a transaction runs: drawn by weight, or dealt from a deck; in each group of clients
//! among the scripts of its own.

use dbdyno_model::{Plan, Purpose, ScriptChoice, Stream};

/// A group of clients, and the scripts that they choose among.
#[derive(Debug)]
struct Group {
    /// The number after that of its last client.
    clients_end: u64,
    /// The number of its first script.
    first: usize,
    weights: Vec<u64>,
    total_weight: u64,
    choice: ScriptChoice,
}

/// The groups of clients, in the order of their numbers.
#[derive(Debug)]
pub(crate) struct Choices {
    seed: u64,
    groups: Vec<Group>,
}

impl Choices {
    pub(crate) fn new(plan: &Plan) -> Self {
        let all = (u64::MAX, plan.scripts.len(), plan.script_choice);
        let sizes = plan
            .groups
            .iter()
            .map(|group| (u64::from(group.clients), group.scripts as usize, group.choice));
        let sizes: Vec<_> = if plan.groups.is_empty() { vec![all] } else { sizes.collect() };
        let (mut clients_end, mut first) = (0_u64, 0);
        let groups = sizes
            .into_iter()
            .map(|(clients, scripts, choice)| {
                clients_end = clients_end.saturating_add(clients);
                let own = &plan.scripts[first..first + scripts];
                let weights: Vec<u64> = own.iter().map(|script| script.weight.into()).collect();
                let total_weight = weights.iter().sum();
                let group = Group { clients_end, first, weights, total_weight, choice };
                first += scripts;
                group
            })
            .collect();
        Self { seed: plan.seed, groups }
    }

    /// The script of a client's transaction, or of an arrival.
    pub(crate) fn script(&self, who: u64, number: u64) -> usize {
        let belongs = |group: &&Group| who < group.clients_end;
        let group = self.groups.iter().find(belongs).unwrap_or(&self.groups[0]);
        group.first + group.choose(self.seed, who, number)
    }
}

impl Group {
    fn choose(&self, seed: u64, who: u64, number: u64) -> usize {
        let Self { weights, total_weight, .. } = self;
        if weights.len() == 1 {
            return 0;
        }
        if self.choice == ScriptChoice::Deck {
            let (deck, place) = (number / total_weight, number % total_weight);
            let chance = Stream::keyed(seed, Purpose::Choice, who, deck);
            return card_at(place, chance, weights.clone(), *total_weight);
        }
        let chance = &mut Stream::keyed(seed, Purpose::Choice, who, number);
        holder_of(chance.up_to(total_weight - 1), weights)
    }
}

/// Which of those with these weights has the unit at `place`, counted over all of them.
fn holder_of(mut place: u64, weights: &[u64]) -> usize {
    let is_it = |weight: &u64| {
        let hit = place < *weight;
        place = place.saturating_sub(*weight);
        hit
    };
    weights.iter().position(is_it).unwrap_or(0)
}

/// Deals a deck with so many cards of each script, up to the card at `place`.
fn card_at(place: u64, mut chance: Stream, mut cards: Vec<u64>, total: u64) -> usize {
    let mut dealt = 0;
    for left in (total - place..=total).rev() {
        dealt = holder_of(chance.up_to(left - 1), &cards);
        cards[dealt] -= 1;
    }
    dealt
}
