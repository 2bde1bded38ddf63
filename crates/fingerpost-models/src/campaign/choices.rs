//! How does a model answer many requests, with a choice or whatever else is asked of it?
//!
//! Nothing is measured before all is answered, because a request that a server failed to answer is not
//! one that the chooser got wrong.

use std::fmt::{Debug, Display};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fingerpost::atlas::{Outbox, Spent};
use fingerpost::chat::{Chat, ChatError};
use fingerpost::reply::Tally;
use fingerpost::route::llm::ChooseError;

use super::{Campaign, CampaignError, Event, Pass};

/// Requests in a row that a server fails in spite of all patience; then it is down.
const MAX_FAILURES: usize = 3;

/// What a model answered, with what its replies were like, or why it did not.
pub type Said<A> = Result<(A, Tally), ChooseError>;

/// What has a model answer a request: finds candidates and has it choose among them, say.
pub trait Choosing: Sync {
    /// What one thread keeps between requests.
    type State: Default;
    /// What comes of a request: a route, say.
    type Answer: Clone + Send;
    /// Why candidates could not be found.
    type Error: Debug + Display + Send + From<ChooseError>;

    /// The model's answer, and what its replies were like.
    fn choose(
        &self,
        request: &str,
        chat: &dyn Chat,
        state: &mut Self::State,
    ) -> Result<Said<Self::Answer>, Self::Error>;

    /// What is answered where the model, for this reason, does not.
    fn without(
        &self,
        request: &str,
        chat: &dyn Chat,
        why: &str,
        state: &mut Self::State,
    ) -> Result<Self::Answer, Self::Error>;
}

/// Requests to be answered.
pub struct Choices<'a, C> {
    /// By whom.
    pub campaign: &'a Campaign<'a>,
    /// Among what.
    pub choosing: &'a C,
    /// The requests.
    pub requests: Vec<&'a str>,
}

/// What became of them.
pub struct Answered<A> {
    /// In the order of the requests.
    pub answers: Vec<Option<A>>,
    /// What the answers were like.
    pub tally: Tally,
    /// The last trouble with the model; the one that ended the work, if one did.
    pub stopped: Option<ChatError>,
}

/// What became of requests, and what it cost.
pub type Ran<A> = (Answered<A>, Spent);

/// A request whose prompt was rejected; whether that was at fault is known at the end.
struct Rejected {
    at: usize,
    key: String,
    message: String,
}

/// What threads have done so far.
struct Done<A> {
    answered: Answered<A>,
    rejected: Vec<Rejected>,
}

impl<A> Done<A> {
    /// What ends the work is not forgotten for what came after it.
    fn stop(&mut self, error: ChatError) {
        if !self.answered.stopped.as_ref().is_some_and(ChatError::ends_run) {
            self.answered.stopped = Some(error);
        }
    }
}

impl<C: Choosing> Choices<'_, C> {
    /// Has a server answer them, so many at a time, as far as it and the limits allow.
    pub fn run(&self, threads: usize) -> Result<Ran<C::Answer>, CampaignError<C::Error>> {
        let (all, done) = (self.requests.len(), AtomicUsize::new(0));
        let asked = self.campaign.with_chat(|chat, spent| {
            let on_answer = || {
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                self.campaign.tell(Event::Progress { done, all, spent: spent() });
            };
            let answered = self.answer_all(chat, threads, &on_answer);
            (answered, spent())
        });
        let (answered, spent) = asked.map_err(CampaignError::widen)?;
        Ok((answered.map_err(CampaignError::Work)?, spent))
    }

    /// What the ledger's replies give, and what it cannot answer.
    pub fn pass(&self) -> Result<Pass<Answered<C::Answer>>, CampaignError<C::Error>> {
        let outbox = Outbox::new(self.campaign.model(), &self.campaign.ledger);
        let outcome = self.answer_all(&outbox, 1, &|| ()).map_err(CampaignError::Work)?;
        let known = outbox.known();
        match outcome.stopped {
            None | Some(ChatError::Cancelled) => {
                Ok(Pass { outcome, waiting: outbox.into_waiting(), known })
            }
            Some(error) => Err(error.into()),
        }
    }

    /// What comes out depends on the answers alone, not on the number of threads.
    fn answer_all(
        &self,
        chat: &dyn Chat,
        threads: usize,
        on_answer: &(dyn Fn() + Sync),
    ) -> Result<Answered<C::Answer>, C::Error> {
        let answers = vec![None; self.requests.len()];
        let answered = Answered { answers, tally: Tally::default(), stopped: None };
        let done = Mutex::new(Done { answered, rejected: Vec::new() });
        let broken = Mutex::new(None);
        let (next, failures) = (AtomicUsize::new(0), AtomicUsize::new(0));
        // No more requests are taken after this one.
        let end = || next.store(self.requests.len(), Ordering::Relaxed);
        let work = || {
            let state = &mut C::State::default();
            loop {
                if self.campaign.is_cancelled() {
                    end();
                }
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(request) = self.requests.get(at) else { break };
                let chosen = self.choosing.choose(request, chat, state);
                let mut done = done.lock().expect("nothing panics while holding it");
                match chosen {
                    Ok(Ok((answer, tally))) => {
                        failures.store(0, Ordering::Relaxed);
                        done.answered.answers[at] = Some(answer);
                        done.answered.tally += tally;
                        drop(done);
                        on_answer();
                    }
                    Ok(Err(ChooseError::Rejected { key, message })) => {
                        done.rejected.push(Rejected { at, key, message });
                    }
                    // Asked for elsewhere: others may be answered already.
                    Ok(Err(ChooseError::Chat(ChatError::Deferred))) => {}
                    Ok(Err(ChooseError::Chat(error))) => {
                        let in_a_row = failures.fetch_add(1, Ordering::Relaxed) + 1;
                        if error.ends_run() || in_a_row >= MAX_FAILURES {
                            end();
                        }
                        done.stop(error);
                    }
                    Ok(Err(error @ ChooseError::Index(_))) => {
                        *broken.lock().expect("nothing panics while holding it") =
                            Some(error.into());
                        end();
                    }
                    Err(error) => {
                        *broken.lock().expect("nothing panics while holding it") = Some(error);
                        end();
                    }
                }
            }
        };
        let threads = threads.clamp(1, self.requests.len().max(1));
        std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
        if let Some(error) = broken.into_inner().expect("no thread panicked") {
            return Err(error);
        }
        let mut done = done.into_inner().expect("no thread panicked");
        self.settle(&mut done, chat, on_answer)?;
        let Done { mut answered, .. } = done;
        if self.campaign.is_cancelled() {
            answered.stopped = Some(ChatError::Cancelled);
        }
        Ok(answered)
    }

    /// A request whose prompt a server rejects while it answers others is done without the model; where it
    /// answers nobody, the request is left.
    fn settle(
        &self,
        done: &mut Done<C::Answer>,
        chat: &dyn Chat,
        on_answer: &(dyn Fn() + Sync),
    ) -> Result<(), C::Error> {
        let doubt = chat.doubt();
        for Rejected { at, key, message } in std::mem::take(&mut done.rejected) {
            let doubt = doubt.as_ref().filter(|doubt| doubt.keys.contains(&key));
            if let Some(doubt) = doubt {
                done.stop(ChatError::Refused { message: doubt.message.clone() });
            } else {
                let state = &mut C::State::default();
                let answer = self.choosing.without(self.requests[at], chat, &message, state)?;
                done.answered.answers[at] = Some(answer);
                on_answer();
            }
        }
        Ok(())
    }
}
