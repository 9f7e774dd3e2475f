//! A queue that mostly holds one element.

use std::collections::VecDeque;

/// First in, first out. The oldest element is stored in the queue itself, and only further ones are
/// allocated: a client mostly waits for one thing, and each additional memory access costs a cache
/// miss when hundreds of clients take turns.
#[derive(Clone, Debug)]
pub struct Queue<T> {
    oldest: Option<T>,
    /// Empty while there is no oldest element.
    others: VecDeque<T>,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { oldest: None, others: VecDeque::new() }
    }
}

impl<T> Queue<T> {
    /// Appends an element.
    #[inline]
    pub fn push_back(&mut self, element: T) {
        if self.oldest.is_none() {
            self.oldest = Some(element);
        } else {
            self.others.push_back(element);
        }
    }

    /// Removes the oldest element.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        std::mem::replace(&mut self.oldest, self.others.pop_front())
    }

    /// The oldest element.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.oldest.as_ref()
    }

    /// The oldest element, mutable.
    #[inline]
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.oldest.as_mut()
    }

    /// All elements, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.oldest.iter().chain(&self.others)
    }

    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.oldest.is_some()) + self.others.len()
    }

    /// Whether it is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.oldest.is_none()
    }

    /// Removes all elements.
    pub fn clear(&mut self) {
        self.oldest = None;
        self.others.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::Queue;
    use proptest::prelude::{any, prop_assert_eq, proptest};
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn it_does_what_the_standard_one_does(steps in proptest::collection::vec(any::<u8>(), 0..100)) {
            let (mut queue, mut reference) = (Queue::default(), VecDeque::new());
            for step in steps {
                match step % 8 {
                    0 => (queue.clear(), reference.clear()).0,
                    1..=3 => prop_assert_eq!(queue.pop_front(), reference.pop_front()),
                    _ => (queue.push_back(step), reference.push_back(step)).0,
                }
                prop_assert_eq!(queue.front(), reference.front());
                prop_assert_eq!(queue.front_mut(), reference.front_mut());
                prop_assert_eq!((queue.len(), queue.is_empty()), (reference.len(), reference.is_empty()));
                prop_assert_eq!(queue.iter().collect::<Vec<_>>(), reference.iter().collect::<Vec<_>>());
            }
        }
    }
}
