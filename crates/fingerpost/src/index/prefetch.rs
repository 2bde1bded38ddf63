//! How is memory brought near before it is needed?
//!
//! What a search reads lies far apart: slots of a hash table, terms, the starts of short lists. A
//! processor that waits for each of them is late for all.

/// Has the first lines of a list brought near.
pub(super) fn prefetch<T>(list: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const LINE: usize = 64;
        const LINES: usize = 8;
        for line in list.chunks(LINE / size_of::<T>()).take(LINES) {
            // SAFETY: every x86-64 has the instruction, and it is a hint that reads nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = list;
}
