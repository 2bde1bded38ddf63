//! Where does the word of a point stand, so that no two words lie on each other?
//!
//! One word after the other takes the best of some places around its point: a free one, near, to the right
//! if possible, not on a point and not on a line.

use std::f64::consts::TAU;

/// A word beside a point.
#[derive(Debug, Clone)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) point: (i32, i32),
    pub(super) size: (i32, i32),
}

/// A rectangle in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rect {
    pub(super) left: i32,
    pub(super) top: i32,
    pub(super) right: i32,
    pub(super) bottom: i32,
}

/// How far a word is from its point, from near to far.
const DISTANCES: [f64; 8] = [12.0, 18.0, 28.0, 42.0, 60.0, 84.0, 116.0, 160.0];
const ANGLES: usize = 16;
/// A point takes so much room around its middle.
const POINT: i32 = 9;

impl Rect {
    pub(super) fn middle(&self) -> (i32, i32) {
        ((self.left + self.right) / 2, (self.top + self.bottom) / 2)
    }

    /// The place within it that is nearest to a point.
    pub(super) fn nearest(&self, (x, y): (i32, i32)) -> (i32, i32) {
        (x.clamp(self.left, self.right), y.clamp(self.top, self.bottom))
    }

    /// A place for what has no better one.
    fn corner(&self, (wide, high): (i32, i32)) -> Self {
        Self { right: self.left + wide, bottom: self.top + high, ..*self }
    }

    fn around((x, y): (i32, i32), room: i32) -> Self {
        Self { left: x - room, top: y - room, right: x + room, bottom: y + room }
    }

    /// How many pixels two of them share.
    fn overlap(&self, other: &Self) -> i32 {
        let wide = self.right.min(other.right) - self.left.max(other.left);
        let high = self.bottom.min(other.bottom) - self.top.max(other.top);
        wide.max(0) * high.max(0)
    }

    fn holds(&self, other: &Self) -> bool {
        let across = self.left <= other.left && other.right <= self.right;
        across && self.top <= other.top && other.bottom <= self.bottom
    }

    /// Does a line go through it?
    fn is_crossed(&self, from: (i32, i32), to: (i32, i32)) -> bool {
        (0..=32).any(|step| {
            let along = |from: i32, to: i32| from + (to - from) * step / 32;
            let (x, y) = (along(from.0, to.0), along(from.1, to.1));
            self.nearest((x, y)) == (x, y)
        })
    }
}

/// A place within the room for each word, in their order.
pub(super) fn place(words: &[Word], paths: &[Vec<(i32, i32)>], room: Rect) -> Vec<Rect> {
    let mut placed: Vec<Rect> = Vec::with_capacity(words.len());
    for word in words {
        let cost = |spot: &Rect| {
            let on_words: i32 = placed.iter().map(|other| spot.overlap(other)).sum();
            let points = paths.iter().flatten();
            let on_points: i32 =
                points.map(|&point| spot.overlap(&Rect::around(point, POINT))).sum();
            let lines = paths.iter().flat_map(|path| path.windows(2));
            let on_lines = lines.filter(|pair| spot.is_crossed(pair[0], pair[1])).count();
            f64::from(on_words) * 1000.0 + f64::from(on_points) * 20.0 + on_lines as f64 * 40.0
        };
        let spots = spots(word).filter(|(spot, _)| room.holds(spot));
        let best = spots
            .map(|(spot, far)| (cost(&spot) + far, spot))
            .min_by(|(one, _), (other, _)| one.total_cmp(other));
        placed.push(best.map_or_else(|| room.corner(word.size), |(_, spot)| spot));
    }
    placed
}

/// Places for a word, each with what it costs to be there.
fn spots(word: &Word) -> impl Iterator<Item = (Rect, f64)> + '_ {
    let (wide, high) = word.size;
    DISTANCES.iter().flat_map(move |&distance| {
        (0..ANGLES).map(move |angle| {
            let turn = TAU * angle as f64 / ANGLES as f64;
            // The middle of the word is so far out that its edge has the distance.
            let x = f64::from(word.point.0) + turn.cos() * (distance + f64::from(wide) / 2.0);
            let y = f64::from(word.point.1) + turn.sin() * (distance + f64::from(high) / 2.0);
            let (left, top) = (x as i32 - wide / 2, y as i32 - high / 2);
            let spot = Rect { left, top, right: left + wide, bottom: top + high };
            (spot, distance + 6.0 * (1.0 - turn.cos()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_words_lie_on_each_other_even_where_points_do() {
        let paths: Vec<Vec<(i32, i32)>> = (0..14)
            .map(|path| vec![(300 + path * 7, 300 - path * 4), (420 + path * 5, 200 - path % 3)])
            .collect();
        let words: Vec<Word> = paths
            .iter()
            .flatten()
            .map(|&point| Word { text: "full-boundary".to_owned(), point, size: (90, 17) })
            .collect();
        let room = Rect { left: 60, top: 60, right: 900, bottom: 560 };
        let placed = place(&words, &paths, room);
        assert_eq!(placed.len(), 28);
        for (at, one) in placed.iter().enumerate() {
            assert!(room.holds(one), "{one:?}");
            for other in &placed[..at] {
                assert_eq!(one.overlap(other), 0, "{one:?} {other:?}");
            }
        }
    }
}
