//! What does a library look like from above?
//!
//! Every skill is a tile of the same area. A rectangle is cut in two again and again, each time
//! across its longer side, and the skills are dealt to the halves by their place on the first two
//! principal axes: first whole regions (buckets of like skills), then the neighborhoods of each,
//! then the skills of each. So what is alike lies together, neighborhoods are blocks of one color,
//! and sixteen thousand skills still have a place each. Grey tiles are skills without look-alikes.

mod answer;
mod draw;
mod labels;
mod layout;

pub use self::answer::{MapAnswer, MapRegion};
pub use self::draw::draw;
