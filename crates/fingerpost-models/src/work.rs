//! How is work spread over threads and gathered in order?

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Does each item of work once, on so many threads, and returns the results in the order of the
/// items. Work is taken in the order of `schedule`, so the longest can go first. `run` gets the
/// number of its worker and the item.
///
/// After an error the items not yet begun are left; of several errors that of the first item in
/// `schedule` is returned.
pub(crate) fn in_order<T: Send, E: Send>(
    workers: usize,
    schedule: &[usize],
    run: impl Fn(usize, usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let done = Mutex::new(Vec::with_capacity(schedule.len()));
    let work = |worker: usize| {
        while !stop.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(&item) = schedule.get(at) else { break };
            let result = run(worker, item);
            if result.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            done.lock().expect("no worker panics holding it").push((at, item, result));
        }
    };
    let workers = workers.clamp(1, schedule.len().max(1));
    // A rayon thread that waits for an engine's own pool takes up other work of its own meanwhile, here
    // the next text, which waits in turn, until the stack is full. A thread of our own just waits.
    if workers == 1 && rayon::current_thread_index().is_none() {
        work(0);
    } else {
        std::thread::scope(|scope| {
            for worker in 0..workers {
                scope.spawn(move || work_on(worker, &work));
            }
        });
    }
    let mut done = done.into_inner().expect("no worker panics holding it");
    done.sort_by_key(|&(at, _, _)| at);
    let mut results = Vec::with_capacity(done.len());
    for (_, item, result) in done {
        results.push((item, result?));
    }
    results.sort_by_key(|&(item, _)| item);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

fn work_on(worker: usize, work: &(impl Fn(usize) + Sync)) {
    work(worker);
}

/// The order that leaves no core waiting for one long item at the end: longest first.
pub(crate) fn longest_first(lengths: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&at| (std::cmp::Reverse(lengths[at]), at));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_whatever_the_schedule() {
        let schedule = longest_first(&[1, 5, 3, 5]);
        assert_eq!(schedule, [1, 3, 2, 0]);
        for workers in [1, 2, 7] {
            let squares = in_order(workers, &schedule, |_, item| Ok::<_, ()>(item * item));
            assert_eq!(squares, Ok(vec![0, 1, 4, 9]));
        }
        assert_eq!(in_order(3, &[], |_, item| Ok::<_, ()>(item)), Ok(vec![]));
    }

    #[test]
    fn work_never_runs_on_a_thread_of_rayon() {
        let inside = || in_order(1, &[0], |_, _| Ok::<_, ()>(rayon::current_thread_index()));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        assert_eq!(pool.install(inside), Ok(vec![None]));
        assert_eq!(inside(), Ok(vec![None]));
    }

    #[test]
    fn an_error_ends_it() {
        let failed =
            in_order(1, &[0, 1, 2], |_, item| if item == 1 { Err(item) } else { Ok(item) });
        assert_eq!(failed, Err(1));
    }
}
